"""Constants of double precision, of which error bounds are made."""

from __future__ import annotations

import numpy as np

UNIT = np.finfo(float).eps  # 2^-52, from 1 to the next double: an operation has a relative error of half of it
SMALLEST = 5e-324  # the least positive double: an upper bound for a value that underflowed to 0
