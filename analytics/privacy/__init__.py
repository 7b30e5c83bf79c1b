"""Privacy of one mechanism: divergences, calibration, amplification."""
