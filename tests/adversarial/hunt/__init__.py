"""A search for a number below the truth: random systems, steered towards the greatest ratio of error to stated bound."""
