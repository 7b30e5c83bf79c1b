"""Design problems: the noise, clip, participation, weights or bits that keep a requirement at least cost."""
