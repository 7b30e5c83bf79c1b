"""Utility-fair federated learning: fleets of wireless devices, iterations, noise scaled by each contribution."""
