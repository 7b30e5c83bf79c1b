r"""A guarantee (epsilon, delta) as a mechanism: the pair of laws that shows the most of all that keep the guarantee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism, around, register


@dataclass(frozen=True)
class Approximate(Mechanism):
    r"""Whatever is (:math:`\epsilon_0`, :math:`\delta_0`)-private in both orders; `loss` is :math:`\epsilon_0`.

    Notes
    -----
    With probability :math:`\delta_0` an outcome tells which neighbour it is, otherwise the outcome is
    binary randomized response of pure epsilon :math:`\epsilon_0`. Hence, for :math:`\epsilon \ge 0`, in both orders,

    .. math:: \delta(\epsilon) = \delta_0 + (1-\delta_0)\,\frac{(1-e^{\epsilon-\epsilon_0})_+}{1+e^{-\epsilon_0}} .

    The pair dominates every pair with the guarantee at every :math:`\lambda > 0`. For it is private itself, and the
    trade-off function of a pair with the guarantee is at least :math:`\max(0, 1-\delta_0-e^{\epsilon_0}\alpha,
    e^{-\epsilon_0}(1-\delta_0-\alpha))`, which is the trade-off function of this pair (Kairouz, Oh and Viswanath 2015).
    So the curve of a composition is the least that holds for all mechanisms with these guarantees: both bounds are
    bounds of that optimum.
    """

    loss: float
    delta: float
    unit: str = ""
    symmetric = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "loss", checks.scalar("epsilon", self.loss, "[0, inf)"))
        object.__setattr__(self, "delta", checks.scalar("delta", self.delta, "[0, 1]"))

    @property
    def spacing(self) -> float | None:  # type: ignore[override]
        return self.loss or None

    def covers(self, release: Mechanism) -> bool:
        """Every pair of laws with the guarantee in both orders: a pair whose trade-off function is nowhere below that of
        another is its post-processing by one kernel (Blackwell)."""
        if super().covers(release):
            return True
        if not release.pair or not self._covers_unit(release):
            return False
        at_loss = np.array([self.loss])
        return all(release.delta_bracket(at_loss, reverse=order)[1][0] <= self.delta for order in (False, True))

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return np.inf if self.delta > 0 else self.loss

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.greatest_loss()

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        beyond = 0.0 - np.expm1(np.minimum(epsilon - self.loss, 0.0))
        lower, upper = around(self.delta + (1 - self.delta) * beyond / (1 + np.exp(-self.loss)))
        flat = epsilon >= self.loss  # there delta is the given number, without an error
        return np.where(flat, self.delta, np.maximum(lower, self.delta)), np.where(flat, self.delta, upper)


register(Approximate, "approximate")
