r"""Discrete Laplace noise, also called geometric: the integer k with a probability proportional to exp(-abs(k)/scale)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms.lattice_losses import LatticeLosses
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, around, register


@dataclass(frozen=True)
class DiscreteLaplace(LatticeLosses):
    r"""Discrete Laplace noise of scale b for a whole number of sensitivity s.

    Notes
    -----
    With :math:`r = e^{-1/b}`, :math:`Q(K \ge k) = r^k/(1+r)` for :math:`k \ge 0`. The loss is :math:`L_k = (2k-s)/b` for
    :math:`0 \le k \le s`, and :math:`\pm s/b` outside. So at these losses

    .. math:: \delta(L_k) = 1 - \frac{r^{s-k}}{1+r} - e^{L_k}\frac{r^{k+1}}{1+r} = 1 - r^{s-k},

    the curve of continuous Laplace noise of the same scale; between two losses the curve is a chord of that curve. From
    s/b on delta is 0.
    """

    scale: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", checks.scalar("scale", self.scale, "[1e-290, 1e290]"))

    @property
    def half_spacing(self) -> float:
        return 1 / self.scale

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return float(np.nextafter(self.sensitivity / self.scale, np.inf))

    def reached_loss(self, *, reverse: bool = False) -> float:
        return float(np.nextafter(self.sensitivity / self.scale, 0.0))

    def at_losses(self, place: FloatArray) -> BracketArrays:
        return around(0.0 - np.expm1(np.minimum(place - self.sensitivity / 2, 0.0) / self.scale))


register(DiscreteLaplace, "discrete_laplace")
