r"""What bounds of Renyi divergences say of a curve."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Factors, Mechanism, register
from airtight.analytics.rounding import SMALLEST, UNIT

_FARTHEST = 1e200  # an epsilon whose products are below the greatest double


@dataclass(frozen=True)
class RenyiBound(Mechanism):
    r"""Whatever has at most these Renyi divergences, in both orders of its laws: an upper bound of its curve.

    Notes
    -----
    For a > 1 and L the privacy loss under P, :math:`(1-e^{\epsilon-L})_+ \le c_a\,e^{(a-1)(L-\epsilon)}`
    with :math:`c_a = \frac1{a-1}\bigl(1-\frac1a\bigr)^a`, the greatest value of :math:`(1-e^{-x})e^{-(a-1)x}`. The mean
    over P is :math:`\delta(\epsilon) \le c_a\,e^{(a-1)(D_a-\epsilon)}` (Canonne, Kamath and Steinke 2020, proposition
    12). The divergence rises with the order, so the Kullback-Leibler divergence is at most each :math:`D_a`; hence
    :math:`\delta(\epsilon) \le \delta(0) \le \min(\sqrt{D/2}, \sqrt{1-e^{-D}})` (Pinsker; Bretagnolle and Huber). The
    least of these bounds is taken at every epsilon, of both orders of the laws. Divergences of releases add up, order
    by order.
    """

    orders: tuple[float, ...]
    divergences: tuple[float, ...]
    unit: str = ""
    symmetric = True
    bounded_below = False
    closed = True

    def __post_init__(self) -> None:
        super().__post_init__()
        orders = checks.real("order", self.orders, "(1, 1e9]")
        divergences = checks.real("divergence", self.divergences, "[0, inf]")
        if orders.ndim != 1 or not orders.size or orders.shape != divergences.shape:
            raise ParameterError("divergence", checks.array_text(divergences), f"one number for each of {orders.size} orders")
        object.__setattr__(self, "orders", tuple(orders.tolist()))
        object.__setattr__(self, "divergences", tuple(divergences.tolist()))

    @property
    def kind(self) -> Hashable:
        return RenyiBound, self.orders

    def composed(self, factors: Factors) -> tuple[Mechanism, int]:
        bounds = [(release, count) for release, count in factors if isinstance(release, RenyiBound)]
        totals = [sum(Fraction(n) * _whole(each.divergences[i]) for each, n in bounds) for i in range(len(self.orders))]
        infinite = [any(each.divergences[i] == np.inf for each, _ in bounds) for i in range(len(self.orders))]
        raised = (np.inf if lost else _above(total) for total, lost in zip(totals, infinite, strict=True))
        return RenyiBound(self.orders, tuple(raised), self.unit), 1

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        upper = np.ones(epsilon.shape)
        for a, divergence in zip(self.orders, self.divergences, strict=True):
            if divergence == np.inf:
                continue
            # log c_a, without cancellation on either side of 2
            log_factor = a * np.log1p(-1 / a) - np.log(a - 1) if a > 2 else (a - 1) * np.log(a - 1) - a * np.log(a)
            # errors of each logarithm and product, in units of the sum of their absolute values
            finite = np.minimum(epsilon, _FARTHEST)
            with np.errstate(over="ignore"):
                spread = (a - 1) * (divergence + finite) + abs(np.log(a - 1)) + 2
                exponent = (a - 1) * (divergence - finite) + log_factor + 16 * UNIT * spread
            far = np.where(epsilon < np.inf, np.exp(np.minimum(exponent, 0.0)) * (1 + 4 * UNIT) + SMALLEST, 0.0)
            near = min(np.sqrt(divergence) * np.sqrt(0.5), np.sqrt(-np.expm1(-divergence))) * (1 + 8 * UNIT)
            upper = np.minimum(upper, np.minimum(far, near + (SMALLEST if divergence > 0 else 0.0)))
        return np.zeros(epsilon.shape), upper


def _whole(divergence: float) -> Fraction:
    """As a fraction; an infinite one, which is counted apart, as 0."""
    return Fraction(divergence) if divergence < np.inf else Fraction(0)


def _above(total: Fraction | int) -> float:
    """The least double that is not below a sum; infinite where it exceeds them."""
    try:
        nearest = float(total)
    except OverflowError:
        return np.inf
    return nearest if Fraction(nearest) >= total else float(np.nextafter(nearest, np.inf))


register(RenyiBound, "renyi_bound")
