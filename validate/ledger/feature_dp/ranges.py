"""Ranges that several claims about FDP share."""

from __future__ import annotations

from validate.claim import Range

PAPER = "feature-dp"
DELTA = Range(1e-12, 0.5, logarithmic=True)
EPSILON = Range(1e-3, 20.0, logarithmic=True)
PROBABILITY = Range(0.01, 1.0)
VARIANCE = Range(1e-2, 1e2, logarithmic=True)
DISTANCE = Range(1e-2, 10.0, logarithmic=True)
RESOLUTION = 1e-12  # added to both sides where the comparison is a numerical integral of that absolute accuracy
