"""Design problems: the noise, clip, participation, weights or bits that meet requirements at the least cost."""
