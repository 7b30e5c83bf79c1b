"""Compares numeric functions with symbolic forms, evaluated to 50 digits, over the whole legal domain."""
