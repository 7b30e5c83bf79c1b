"""What one rounding of a double costs: the constants that error bounds are made of."""

from __future__ import annotations

import numpy as np

UNIT = np.finfo(float).eps  # from 1 to the next double, 2^-52: an operation errs by half of it, relative to its result
SMALLEST = 5e-324  # the least positive double: what an underflow may have dropped
