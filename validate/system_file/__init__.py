"""Reads system files (TOML) into checked value types."""
