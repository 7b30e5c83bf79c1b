"""Closed forms, exact values and enclosures: pure functions and value types that need only numpy and scipy."""
