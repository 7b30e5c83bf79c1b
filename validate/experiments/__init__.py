"""The embedded training loop, Monte Carlo simulations, and the figures of the papers."""
