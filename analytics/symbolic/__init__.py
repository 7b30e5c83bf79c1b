"""Closed forms as SymPy expressions, one module a subject; sympy is loaded here only."""
