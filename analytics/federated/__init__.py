"""Federated learning: quantizers, and what they cost and protect."""
