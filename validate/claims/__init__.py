"""What a claim is, how it is tried, and what the trial finds."""

EFFORT = 256  # evaluations of a claim
