"""Design of a CorBin-FL federation."""
