"""Design of quantizers with few bits."""
