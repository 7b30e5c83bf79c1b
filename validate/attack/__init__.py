"""Attacks on the simulated channel: what is shown from samples, beside what is exact and what is published."""
