"""The system file: reads TOML and returns checked value types."""
