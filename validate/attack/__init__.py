"""Attacks on the simulated channel: lower bounds of epsilon from samples, beside exact and published values."""
