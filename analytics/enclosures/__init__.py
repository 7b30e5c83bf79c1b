"""The exact quantities in ball arithmetic: rigorous lower and upper ends, whatever the rounding."""
