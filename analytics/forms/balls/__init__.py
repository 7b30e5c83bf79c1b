"""Quantities in ball arithmetic: a value with its proved error."""
