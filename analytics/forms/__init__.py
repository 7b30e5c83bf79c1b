"""Closed forms as SymPy expressions: LaTeX, fifty digits and derivatives come from them; ``balls`` encloses what needs
an algorithm."""
