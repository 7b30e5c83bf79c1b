"""Design: the noise, clip or participation that keeps a cap, and what is reached then."""
