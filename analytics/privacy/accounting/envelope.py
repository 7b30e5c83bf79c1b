r"""The greatest hockey-stick divergence among finitely many pairs of laws on finite sets.

For a pair (P, Q) with outcomes ordered by falling loss and cumulative sums :math:`P_k, Q_k`,

.. math:: \delta(\epsilon) = \max_k\,(P_k - e^\epsilon Q_k)_+, \qquad
          \epsilon(\delta) = \max_k\,\log\frac{P_k - \delta}{Q_k},

which needs no root finder and is rounded up termwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, real
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution, from_curve
from airtight.analytics.rounding import UNIT

_LEAST = np.finfo(float).tiny
_AT_ONCE, _ROWS = 1 << 17, 128  # probabilities, and pairs


@dataclass(frozen=True)
class _Sorted:
    """Pairs, one a row, losses falling: probabilities, and sums of p, q and p - q from the greatest loss down, from zero on.

    Rows of fewer outcomes end with impossible ones.
    """

    losses: FloatArray
    each: tuple[FloatArray, FloatArray]
    p: FloatArray
    q: FloatArray
    gap: FloatArray

    @classmethod
    def of(cls, pairs: Sequence[tuple[FloatArray, FloatArray]]) -> _Sorted:
        p, q = np.zeros((2, len(pairs), max(p.size for p, _ in pairs)))
        for row, pair in enumerate(pairs):
            p[row, : pair[0].size], q[row, : pair[1].size] = pair
        if not (np.all(np.isfinite(p)) and np.all(np.isfinite(q))):
            raise checks.ParameterError("pairs", "a law with a probability that is not finite", "probabilities")
        q[q < _LEAST] = 0.0  # not known to full precision; a lesser q only raises the divergence
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            near = np.abs(p - q) <= q / 2  # there the difference is exact, and the loss accurate however small
            loss = np.where(near, np.log1p((p - q) / q), np.log(p / q))
        loss[(p == 0) & (q == 0)] = -np.inf
        order = np.argsort(-loss, axis=1, kind="stable")
        return cls._summed(*(np.take_along_axis(part, order, axis=1) for part in (loss, p, q)))

    @classmethod
    def _summed(cls, losses: FloatArray, p: FloatArray, q: FloatArray) -> _Sorted:
        sums = np.zeros((3, len(p), p.shape[1] + 1))
        for row, part in zip(sums, (p, q, p - q), strict=True):
            row[:, 1:] = np.cumsum(part, axis=1, dtype=np.longdouble)
        return cls(losses, (p, q), *sums)

    def reverse(self) -> _Sorted:
        """With p and q exchanged."""
        p, q = self.each
        return self._summed(-self.losses[:, ::-1], q[:, ::-1], p[:, ::-1])

    def excess(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Sum of :math:`(p - e^\epsilon q)_+` of each pair at each of rising epsilons >= 0, and a bound on its error.

        As the sum of p - q less :math:`(e^\epsilon-1)q`: nothing near one has to cancel when the losses are small. An
        outcome whose loss is taken for one on the other side of epsilon costs a few roundings of p - q.
        """
        q, gap = self.above(eps, self.q, self.gap)
        with np.errstate(over="ignore", invalid="ignore"):
            rest = np.where(q > 0, np.expm1(eps) * q, 0.0)
        return np.maximum(gap - rest, 0.0), 2 * self.rounding * (gap + rest)

    def above(self, eps: FloatArray, *sums: FloatArray) -> list[FloatArray]:
        """Sums over the outcomes whose loss is above each of rising epsilons."""
        rows, places = len(self.losses), eps.size + 1
        passed = np.searchsorted(eps, self.losses, side="left") + np.arange(rows)[:, None] * places
        histogram = np.bincount(passed.ravel(), minlength=rows * places).reshape(rows, places)
        count = np.cumsum(histogram[:, :0:-1], axis=1)[:, ::-1]
        return [np.take_along_axis(part, count, axis=1) for part in sums]

    @property
    def rounding(self) -> float:
        """Relative error of the cumulative sums."""
        return float(self.losses.shape[1] * np.finfo(np.longdouble).eps + 4 * UNIT)


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
        each = [(np.asarray(p, dtype=float), np.asarray(q, dtype=float)) for p, q in pairs]
        rows = max(min(_AT_ONCE // max((p.size for p, _ in each), default=1), _ROWS), 1)
        self._pairs = [_Sorted.of(each[i : i + rows]) for i in range(0, len(each), rows)]
        self._lost, self._error = lost, error
        self.loss_error = loss_error

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """The least delta at each epsilon >= 0 that serves every pair, rounded up."""
        eps = real("epsilon", epsilon, "[0, inf)")
        rising, back = np.unique(eps, return_inverse=True)
        value = np.zeros(rising.shape)
        for some in self._pairs:
            p, q = some.above(rising, some.p, some.q)
            each = _minus(p * (1 + some.rounding), rising, q * (1 - some.rounding))
            value = np.maximum(value, np.max(each, axis=0))
        return np.minimum(value * (1 + self._error) + self._lost, 1.0)[back].reshape(eps.shape)[()]

    def bracket(self, epsilon: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Both ends of the greatest divergence at each epsilon >= 0.

        Examples
        --------
        >>> low, high = Envelope([([0.75, 0.25], [0.25, 0.75])]).bracket(0.0)
        >>> bool(low <= 0.5 <= high)
        True
        """
        eps = real("epsilon", epsilon, "[0, inf)")
        rising, back = np.unique(eps, return_inverse=True)
        lower, upper = np.zeros(rising.shape), np.zeros(rising.shape)
        for some in self._pairs:
            value, error = some.excess(rising)
            lower = np.maximum(lower, np.max(value - error, axis=0))
            upper = np.maximum(upper, np.max(value + error, axis=0))
        lower, upper = lower * (1 - self._error), np.minimum(upper * (1 + self._error) + self._lost, 1.0)
        return lower[back].reshape(eps.shape)[()], upper[back].reshape(eps.shape)[()]

    def epsilon(self, delta: ArrayLike) -> FloatArray:
        """The least epsilon >= 0 at each delta that serves every pair, rounded up; infinite when there is none."""
        level = real("delta", delta, "[0, 1]")
        left = np.where(level < 1, (level - self._lost) / (1 + self._error), 1.0)
        out = np.where(left < 0, np.inf, 0.0)
        for some in self._pairs:
            p, q = some.p[:, 1:] * (1 + some.rounding), some.q[:, 1:] * (1 - some.rounding)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_q = np.log(q)
                pure = np.max(some.losses[:, 0] + 2 * UNIT * (np.abs(np.log(p[:, 0])) + np.abs(log_q[:, 0])))
                for place in np.ndindex(left.shape):
                    over = np.where(p > left[place], p - left[place], np.nan)
                    log_over = np.log(over)
                    bound = log_over - log_q + 2 * UNIT * (np.abs(log_over) + np.abs(log_q))
                    worst = pure if left[place] == 0 else np.max(np.where(over > 0, bound, -np.inf))
                    if level[place] < 1:
                        out[place] = max(out[place], worst * (1 + 4 * UNIT) + 4 * UNIT)
        return np.asarray(out)[()]

    def reach(self, delta: float, *, default: float) -> float:
        """A loss beyond which there is less than `delta`; the greatest finite loss, or the default, when there is none."""
        top = float(self.epsilon(np.asarray(min(delta + self._lost * 2, 0.5))))
        if np.isfinite(top):
            return top
        finite = [some.losses[np.isfinite(some.losses)] for some in self._pairs]
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
        for some in self._pairs:
            for curve, error, value in (
                (upper[last:], upper_error[last:], some.excess(eps[last:])),
                (lower[last::-1], lower_error[last::-1], some.reverse().excess(eps[last:])),
            ):
                np.maximum(curve, np.max(value[0], axis=0), out=curve)
                np.maximum(error, np.max(value[1], axis=0), out=error)
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
