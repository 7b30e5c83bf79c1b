"""Closed forms, exact values and enclosures: pure functions and value types, on numpy and scipy alone."""
