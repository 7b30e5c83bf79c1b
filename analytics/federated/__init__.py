"""Federated learning: quantizers, their errors, their communication cost and their privacy."""
