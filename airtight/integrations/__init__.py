"""Adapters to frameworks of federated learning."""
