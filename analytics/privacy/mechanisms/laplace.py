r"""The Laplace mechanism for a scalar, the alternative of FDP Remark 6."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, broadcast, real
from airtight.analytics.privacy.mechanisms.mechanism import Bounded, BracketArrays, Mechanism, register


def epsilon(*, sensitivity: ArrayLike, scale: ArrayLike) -> FloatArray:
    r"""Pure epsilon of Laplace noise of the given scale b: :math:`\Delta/b`, exact (FDP Remark 6).

    Examples
    --------
    >>> float(epsilon(sensitivity=1.0, scale=2.0))
    0.5
    """
    sensitivities, scales = _pair(sensitivity, scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sensitivities == 0, 0.0, sensitivities / scales)[()]


def scale(epsilon: ArrayLike, *, sensitivity: ArrayLike) -> FloatArray:
    r"""Scale b of the noise for pure epsilon-DP: :math:`b = \Delta/\epsilon` (FDP Remark 6).

    Examples
    --------
    >>> float(scale(0.5, sensitivity=1.0))
    2.0
    """
    eps, sensitivities = broadcast(
        epsilon=real("epsilon", epsilon, "(0, inf]"), sensitivity=real("sensitivity", sensitivity, "[0, inf)")
    )
    return np.asarray(sensitivities / eps)[()]


def delta(epsilon: ArrayLike, *, sensitivity: ArrayLike, scale: ArrayLike) -> FloatArray:
    r"""Exact delta(epsilon) of the Laplace mechanism, :math:`(1 - e^{(\epsilon - \Delta/b)/2})_+`.

    Examples
    --------
    >>> float(delta(0.0, sensitivity=1.0, scale=1.0))
    0.39346...
    """
    eps = real("epsilon", epsilon, "[0, inf]")
    sensitivities, scales = _pair(sensitivity, scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(sensitivities == 0, 0.0, sensitivities / scales)
    eps, loss = broadcast(epsilon=eps, **{"sensitivity, scale": loss})
    slack = np.where(eps == np.inf, 0.0, np.minimum(np.where(eps == np.inf, 0.0, eps) - loss, 0.0))
    return np.asarray(0.0 - np.expm1(slack / 2))[()]


def _pair(sensitivity: ArrayLike, scale: ArrayLike) -> tuple[FloatArray, ...]:
    """The two arguments, checked and broadcast."""
    return broadcast(sensitivity=real("sensitivity", sensitivity, "[0, inf)"), scale=real("scale", scale, "[0, inf)"))


@dataclass(frozen=True)
class Laplace(Bounded):
    r"""Laplace noise whose scale is the sensitivity over `loss` = :math:`\epsilon_0`.

    :math:`\delta = (1-e^{(\epsilon-\epsilon_0)/2})_+`.
    """

    loss: float
    unit: str = ""

    def covers(self, release: Mechanism) -> bool:
        r"""Laplace noise of a greater scale b' > b: that of scale b plus a variable that is 0 with probability b^2/b'^2 and has
        the Laplace law of scale b' otherwise, as :math:`\frac{1 + b^2\omega^2}{1 + b'^2\omega^2} = \frac{b^2}{b'^2} +
        (1 - \frac{b^2}{b'^2})\frac1{1 + b'^2\omega^2}` (characteristic functions)."""
        return super().covers(release) or (isinstance(release, Laplace) and self._exceeds(release))

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        return self.ends_of(epsilon, lambda loss: 0.0 - np.expm1(np.minimum(epsilon - loss, 0.0) / 2))


register(Laplace, "laplace")
