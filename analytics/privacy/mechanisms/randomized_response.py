"""Randomized response: one of several answers, the truth with odds of exp(epsilon) against each other one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, real
from airtight.analytics.privacy.mechanisms.mechanism import Bounded, BracketArrays, Mechanism, register


def alpha(epsilon: ArrayLike) -> FloatArray:
    r""":math:`(e^{\epsilon}+1)/(e^{\epsilon}-1) = \coth(\epsilon/2)`, without overflow or cancellation.

    The introduction of the paper prints it with the sign reversed (ledger CB-IIC).

    Examples
    --------
    >>> round(float(alpha(np.log(3))), 12)
    2.0
    """
    with np.errstate(over="ignore"):
        return np.asarray(1 / np.tanh(real("epsilon", epsilon, "(0, inf]") / 2))[()]


@dataclass(frozen=True)
class RandomizedResponse(Bounded):
    r"""Among ``symbols`` answers, the truth is :math:`e^{\epsilon_0}` times as likely as each other one; `loss` is
    :math:`\epsilon_0`."""

    loss: float
    symbols: int = 2
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "symbols", checks.count("symbols", self.symbols, "[2, inf)"))

    def covers(self, release: Mechanism) -> bool:
        r"""Randomized response of as many symbols and a smaller epsilon: the answer is kept with some probability, and else
        replaced by a uniform one. The channel keeps the truth with probability :math:`\lambda = (e^\epsilon - 1)/(e^\epsilon +
        k - 1)`, which rises with epsilon; the lambdas of two channels in a row are multiplied."""
        if not isinstance(release, RandomizedResponse) or release.symbols != self.symbols:
            return False
        return super().covers(release) or self._exceeds(release)

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        def curve(loss: float) -> FloatArray:
            beyond = 0.0 - np.expm1(np.minimum(epsilon - loss, 0.0))
            return np.asarray(beyond / (1 + (self.symbols - 1) * np.exp(-loss)))

        return self.ends_of(epsilon, curve)


register(RandomizedResponse, "randomized_response")
