"""Quantizers of few bits with exact laws, and the mechanisms to which CorBin-FL is compared."""
