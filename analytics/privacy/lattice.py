r"""Hockey-stick divergence of finitely many pairs of laws on finite sets, greatest over the pairs.

For a pair (P, Q) with outcomes ordered by falling loss and cumulative sums :math:`P_k, Q_k`,

.. math:: \delta(\epsilon) = \max_k\,(P_k - e^\epsilon Q_k)_+, \qquad
          \epsilon(\delta) = \max_k\,\log\frac{P_k - \delta}{Q_k},

which needs no root finder and is rounded up termwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics import checks
from analytics.checks import FloatArray, IntArray, real
from analytics.privacy.loss_distribution import LossDistribution, from_curve

_UNIT = np.finfo(float).eps
_LEAST = np.finfo(float).tiny


@dataclass(frozen=True)
class _Sorted:
    """One pair, losses falling: probabilities, and their sums and those of p - q from the greatest loss down, from zero on."""

    losses: FloatArray
    each: tuple[FloatArray, FloatArray]
    p: FloatArray
    q: FloatArray
    gap: FloatArray

    @classmethod
    def of(cls, p: FloatArray, q: FloatArray) -> _Sorted:
        q = np.where(q < _LEAST, 0.0, q)  # not known to full precision; a lesser q only raises the divergence
        possible = (p > 0) | (q > 0)
        p, q = p[possible], q[possible]
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            near = np.abs(p - q) <= q / 2  # there the difference is exact, and the loss accurate however small
            loss = np.where(near, np.log1p((p - q) / q), np.log(p / q))
        order = np.argsort(-loss, kind="stable")
        return cls._summed(loss[order], p[order], q[order])

    @classmethod
    def _summed(cls, losses: FloatArray, p: FloatArray, q: FloatArray) -> _Sorted:
        sums = (np.cumsum(part, dtype=np.longdouble).astype(float) for part in (p, q, p - q))
        return cls(losses, (p, q), *(np.concatenate([[0.0], part]) for part in sums))

    def reverse(self) -> _Sorted:
        """With p and q exchanged."""
        p, q = self.each
        return self._summed(-self.losses[::-1], q[::-1], p[::-1])

    def excess(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Sum of :math:`(p - e^\epsilon q)_+` at each epsilon >= 0, and a bound on its error.

        As the sum of p - q less :math:`(e^\epsilon-1)q`: nothing near one has to cancel when the losses are small. An
        outcome whose loss is taken for one on the other side of epsilon costs a few roundings of p - q.
        """
        k = self.above(eps)
        with np.errstate(over="ignore", invalid="ignore"):
            rest = np.where(self.q[k] > 0, np.expm1(eps) * self.q[k], 0.0)
        return np.maximum(self.gap[k] - rest, 0.0), 2 * self.rounding * (self.gap[k] + rest)

    def above(self, eps: FloatArray) -> IntArray:
        """How many outcomes have a loss above each epsilon."""
        return np.asarray(np.searchsorted(-self.losses, -eps, side="left"))

    @property
    def rounding(self) -> float:
        """Relative error of the cumulative sums."""
        return float(self.losses.size * np.finfo(np.longdouble).eps + 4 * _UNIT)


class Envelope:
    """The greatest curve of many pairs, each with what its laws may lack in mass.

    Parameters
    ----------
    pairs : iterable of (p, q)
        Arrays of equal length: probabilities of the same outcomes.
    lost : float
        Mass that was trimmed off the laws: it is added to every delta.
    error : float
        Relative error of the probabilities, the same for p and q of an outcome.
    loss_error : float
        What the errors of p and q may differ by: the error of a loss. Whoever composes adds it up.

    Examples
    --------
    >>> response = Envelope([([0.75, 0.25], [0.25, 0.75])])
    >>> round(float(response.delta(0.0)), 9), round(float(response.epsilon(0.25)), 6)
    (0.5, 0.693147)
    """

    def __init__(
        self,
        pairs: Iterable[tuple[ArrayLike, ArrayLike]],
        *,
        lost: float = 0.0,
        error: float = 0.0,
        loss_error: float = 0.0,
    ) -> None:
        self._pairs = [_Sorted.of(np.asarray(p, dtype=float), np.asarray(q, dtype=float)) for p, q in pairs]
        self._lost, self._error = lost, error
        self.loss_error = loss_error

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """The least delta at each epsilon >= 0 that serves every pair, rounded up."""
        eps = real("epsilon", epsilon, "[0, inf)")
        value = np.zeros(eps.shape)
        for pair in self._pairs:
            k, rounding = pair.above(eps), pair.rounding
            value = np.maximum(value, _minus(pair.p[k] * (1 + rounding), eps, pair.q[k] * (1 - rounding)))
        return np.minimum(value * (1 + self._error) + self._lost, 1.0)[()]

    def bracket(self, epsilon: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Both ends of the greatest divergence at each epsilon >= 0.

        Examples
        --------
        >>> low, high = Envelope([([0.75, 0.25], [0.25, 0.75])]).bracket(0.0)
        >>> bool(low <= 0.5 <= high)
        True
        """
        eps = real("epsilon", epsilon, "[0, inf)")
        lower, upper = np.zeros(eps.shape), np.zeros(eps.shape)
        for pair in self._pairs:
            value, error = pair.excess(eps)
            lower, upper = np.maximum(lower, value - error), np.maximum(upper, value + error)
        return (lower * (1 - self._error))[()], np.minimum(upper * (1 + self._error) + self._lost, 1.0)[()]

    def epsilon(self, delta: ArrayLike) -> FloatArray:
        """The least epsilon >= 0 at each delta that serves every pair, rounded up; infinite when there is none."""
        level = real("delta", delta, "[0, 1]")
        left = np.where(level < 1, (level - self._lost) / (1 + self._error), 1.0)
        out = np.where(left < 0, np.inf, 0.0)
        for pair in self._pairs:
            rounding = pair.rounding
            p, q = pair.p[1:] * (1 + rounding), pair.q[1:] * (1 - rounding)
            over = p - left[..., None]
            with np.errstate(divide="ignore", invalid="ignore"):
                log_over, log_q = np.log(over), np.log(q)
                bound = np.where(over > 0, log_over - log_q + 2 * _UNIT * (np.abs(log_over) + np.abs(log_q)), -np.inf)
                pure = pair.losses[0] + 2 * _UNIT * (abs(np.log(p[0])) + abs(np.log(q[0]))) if p.size else 0.0
            worst = np.where(left == 0, pure, np.max(bound, axis=-1, initial=-np.inf))
            out = np.maximum(out, np.where(level < 1, worst * (1 + 4 * _UNIT) + 4 * _UNIT, 0.0))
        return np.asarray(out)[()]

    def reach(self, delta: float, *, default: float) -> float:
        """A loss beyond which there is less than `delta`; the greatest finite loss, or the default, when there is none."""
        top = float(self.epsilon(np.asarray(min(delta + self._lost * 2, 0.5))))
        if np.isfinite(top):
            return top
        finite = [pair.losses[np.isfinite(pair.losses)] for pair in self._pairs]
        return max((float(loss.max()) for loss in finite if loss.size), default=default)

    def composable(self, *, step: float, reach: float) -> LossDistribution:
        """A loss distribution that dominates every pair, for products in which each factor may be another pair.

        Parameters
        ----------
        step : float
            Of the grid of losses.
        reach : float
            Losses beyond it are counted as infinite; at the other end they are raised to it.
        """
        checks.scalar("step", step, "(0, inf)")
        last = int(np.ceil(checks.scalar("reach", reach, "[0, inf)") / step)) + 1
        eps = np.asarray(np.arange(-last, last + 1) * step, dtype=np.float64)
        upper, lower = np.zeros(eps.size), np.zeros(eps.size)
        upper_error, lower_error = np.zeros(eps.size), np.zeros(eps.size)
        for pair in self._pairs:
            for curve, error, value in (
                (upper[last:], upper_error[last:], pair.excess(eps[last:])),
                (lower[last::-1], lower_error[last::-1], pair.reverse().excess(eps[last:])),
            ):
                better = value[0] > curve
                curve[better] = value[0][better]
                np.maximum(error, value[1], out=error)
        for values in (lower, lower_error):  # of the reversed pair at -eps
            values[: last + 1] *= np.exp(eps[: last + 1])
        found = from_curve(upper, lower, first=-last, step=step, upper_error=upper_error, lower_error=lower_error)
        return LossDistribution(
            step, found.first, found.mass * (1 + self._error), found.infinite * (1 + self._error) + self._lost
        )


def _minus(p: FloatArray, eps: FloatArray, q: FloatArray) -> FloatArray:
    """p - e^eps q, nothing where q vanishes, at least 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.maximum(p - np.where(q > 0, np.exp(eps) * q, 0.0), 0.0)
