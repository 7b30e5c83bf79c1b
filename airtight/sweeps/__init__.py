"""Quantities over grids of systems: planned, computed in chunks, kept in a store, read as an xarray Dataset."""
