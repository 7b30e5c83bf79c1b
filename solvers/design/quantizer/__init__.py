"""The design of quantizers of few bits."""
