"""Quantities in ball arithmetic, each with a proved error."""
