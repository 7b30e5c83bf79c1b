"""Proofs by machine: ball arithmetic, boxes, slopes, rewriting."""
