"""Quantizers of few bits with exact laws, and the mechanisms that CorBin-FL is compared with."""
