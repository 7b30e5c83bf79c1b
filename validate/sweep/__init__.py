"""Quantities over grids of systems: planned, computed chunk by chunk, kept in a store, read as a Dataset."""
