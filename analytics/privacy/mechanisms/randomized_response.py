"""Randomized response: one of two outputs, the likelier one with odds exp(epsilon)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, real


def alpha(epsilon: ArrayLike) -> FloatArray:
    r""":math:`(e^{\epsilon}+1)/(e^{\epsilon}-1) = \coth(\epsilon/2)`, without overflow or cancellation.

    The introduction of the paper prints it with the sign reversed (ledger CB-IIC).

    Examples
    --------
    >>> round(float(alpha(np.log(3))), 12)
    2.0
    """
    return np.asarray(1 / np.tanh(real("epsilon", epsilon, "(0, inf]") / 2))[()]
