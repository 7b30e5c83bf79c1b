"""Utility-fair federated learning: fleets of wireless devices, local iterations, and noise scaled by contributions."""
