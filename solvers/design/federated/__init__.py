"""The design of a federation of CorBin-FL."""
