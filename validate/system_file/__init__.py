"""The system file: TOML in, checked value types out."""
