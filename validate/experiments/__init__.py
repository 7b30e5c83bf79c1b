"""The embedded learning loop, simulations, and the figures of the papers."""
