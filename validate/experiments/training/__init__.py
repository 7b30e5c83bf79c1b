"""The embedded training loop: real handwritten digits, a NumPy network, federated rounds; no torch, no network access."""
