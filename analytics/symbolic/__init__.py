"""Closed forms as SymPy expressions, one module a subject, and the papers' algebra by machine; sympy is loaded here only."""
