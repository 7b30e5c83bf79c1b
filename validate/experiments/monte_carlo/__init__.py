"""Monte Carlo simulations of the systems: independent estimates of what the library computes."""
