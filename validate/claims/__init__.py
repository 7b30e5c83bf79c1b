"""Claims: their definition, the trial that searches for a violation, and the evidence of a trial."""

EFFORT = 256  # default number of evaluations for each claim
