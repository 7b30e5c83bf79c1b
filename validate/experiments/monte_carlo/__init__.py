"""The systems themselves, simulated: an independent estimate of what the library computes."""
