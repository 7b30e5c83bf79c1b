"""Design problems: what to set a system's free parameters to, with a certificate."""
