"""Constants of double rounding, used in error bounds."""

from __future__ import annotations

import numpy as np

UNIT = np.finfo(
    float
).eps  # 2^-52, from 1 to the next double: the relative error of one operation is at most half of it
SMALLEST = 5e-324  # the least positive double: upper bound of what an underflow loses
NORMAL = 1e-307  # at least the divergence of means one least normal double apart: systems are rescaled no more finely
