r"""The greatest hockey-stick divergence among finitely many pairs of laws on finite sets.

For a pair (P, Q) with outcomes in order of decreasing loss and cumulative sums :math:`P_k, Q_k`,

.. math:: \delta(\epsilon) = \max_k\,(P_k - e^\epsilon Q_k)_+, \qquad
          \epsilon(\delta) = \max_k\,\log\frac{P_k - \delta}{Q_k}.

No root finder is needed, and every term is rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, real
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution, from_curve
from airtight.analytics.rounding import UNIT

_LEAST = np.finfo(float).tiny  # least normal double: smaller probabilities have lost digits
_AT_ONCE, _ROWS = 1 << 17, 128  # greatest number of probabilities, and of pairs, in one batch


@dataclass(frozen=True)
class _Sorted:
    """Pairs, one in a row, with their outcomes in order of decreasing loss; short rows end with impossible outcomes.

    `losses` and `each`, which is (p, q), have an entry for every outcome. `p`, `q` and `gap` are cumulative sums of p,
    q and p - q from the greatest loss on, beginning with zero.
    """

    losses: FloatArray
    each: tuple[FloatArray, FloatArray]

    @cached_property
    def p(self) -> FloatArray:
        return _summed(self.each[0])

    @cached_property
    def q(self) -> FloatArray:
        return _summed(self.each[1])

    @cached_property
    def gap(self) -> FloatArray:
        return _summed(self.each[0] - self.each[1])

    @classmethod
    def of(cls, pairs: Sequence[tuple[FloatArray, FloatArray]]) -> _Sorted:
        p, q = np.zeros((2, len(pairs), max(p.size for p, _ in pairs)))
        for row, pair in enumerate(pairs):
            p[row, : pair[0].size], q[row, : pair[1].size] = pair
        if not (np.all(np.isfinite(p)) and np.all(np.isfinite(q))):
            raise checks.ParameterError("pairs", "a law with an infinite or NaN entry", "laws of finite probabilities")
        q[q < _LEAST] = 0.0  # a lesser q only raises the divergence
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            near = np.abs(p - q) <= q / 2  # there p - q is exact, so that even a tiny loss is relatively accurate
            loss = np.where(near, np.log1p((p - q) / q), np.log(p / q))
        loss[(p == 0) & (q == 0)] = -np.inf
        order = np.argsort(-loss, axis=1, kind="stable")
        order += (np.arange(len(loss)) * loss.shape[1])[:, None]
        return cls(np.take(loss, order), (np.take(p, order), np.take(q, order)))

    def reverse(self) -> _Sorted:
        """The pairs with p and q exchanged."""
        p, q = self.each
        return _Sorted(-self.losses[:, ::-1], (q[:, ::-1], p[:, ::-1]))

    def excess(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Sum of :math:`(p - e^\epsilon q)_+` of each pair at increasing epsilons >= 0, and a bound on its error.

        It is computed as the sum of p - q less :math:`(e^\epsilon-1)q`, so that no terms near 1 cancel when the losses
        are small. Rounding may put the loss of an outcome on the wrong side of epsilon; this costs a few rounding
        errors of p - q.
        """
        q, gap = self.above(eps, self.q, self.gap)
        with np.errstate(over="ignore", invalid="ignore"):
            subtracted = np.where(q > 0, np.expm1(eps) * q, 0.0)
        return np.maximum(gap - subtracted, 0.0), 2 * self.rounding * (gap + subtracted)

    def above(self, eps: FloatArray, *sums: FloatArray) -> list[FloatArray]:
        """The given cumulative sums over the outcomes whose loss is above each of increasing epsilons."""
        rows, places = len(self.losses), eps.size + 1
        cell = np.searchsorted(eps, self.losses, side="left") + np.arange(rows)[:, None] * places
        histogram = np.bincount(cell.ravel(), minlength=rows * places).reshape(rows, places)
        outcome_count = np.cumsum(histogram[:, :0:-1], axis=1)[:, ::-1]
        place = outcome_count + (np.arange(rows) * (self.losses.shape[1] + 1))[:, None]
        return [np.take(cumulative, place) for cumulative in sums]

    @property
    def rounding(self) -> float:
        """Bound on the relative error of the cumulative sums."""
        return float(self.losses.shape[1] * np.finfo(np.longdouble).eps + 4 * UNIT)


class Envelope:
    """The greatest curve of many pairs of discrete laws.

    Parameters
    ----------
    pairs : iterable of (p, q)
        Arrays of equal length: probabilities of the same outcomes.
    lost : float
        Mass that was trimmed off the laws: it is added to every delta.
    error : float
        Relative error of the probabilities, the same for p and q of an outcome.
    loss_error : float
        Bound on the error of a loss, by which the errors of p and q of an outcome may differ. It is stored for callers
        that compose; the methods of this class do not use it.

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
        arrays = [(np.asarray(p, dtype=float), np.asarray(q, dtype=float)) for p, q in pairs]
        rows = max(min(_AT_ONCE // max((p.size for p, _ in arrays), default=1), _ROWS), 1)
        self._batches = [_Sorted.of(arrays[i : i + rows]) for i in range(0, len(arrays), rows)]
        self._lost, self._error = lost, error
        self.loss_error = loss_error

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """Least delta at each epsilon >= 0 that holds for every pair, rounded up."""
        eps = real("epsilon", epsilon, "[0, inf)")
        increasing, inverse = np.unique(eps, return_inverse=True)
        value = np.zeros(increasing.shape)
        for batch in self._batches:
            p, q = batch.above(increasing, batch.p, batch.q)
            values = _minus(p * (1 + batch.rounding), increasing, q * (1 - batch.rounding))
            value = np.maximum(value, np.max(values, axis=0))
        return np.minimum(value * (1 + self._error) + self._lost, 1.0)[inverse].reshape(eps.shape)[()]

    def bracket(self, epsilon: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound of the greatest divergence at each epsilon >= 0.

        Examples
        --------
        >>> low, high = Envelope([([0.75, 0.25], [0.25, 0.75])]).bracket(0.0)
        >>> bool(low <= 0.5 <= high)
        True
        """
        eps = real("epsilon", epsilon, "[0, inf)")
        increasing, inverse = np.unique(eps, return_inverse=True)
        lower, upper = np.zeros(increasing.shape), np.zeros(increasing.shape)
        for batch in self._batches:
            value, error = batch.excess(increasing)
            lower = np.maximum(lower, np.max(value - error, axis=0))
            upper = np.maximum(upper, np.max(value + error, axis=0))
        lower, upper = lower * (1 - self._error), np.minimum(upper * (1 + self._error) + self._lost, 1.0)
        return lower[inverse].reshape(eps.shape)[()], upper[inverse].reshape(eps.shape)[()]

    def epsilon(self, delta: ArrayLike) -> FloatArray:
        """Least epsilon >= 0 at each delta that holds for every pair, rounded up; infinite if there is none."""
        level = real("delta", delta, "[0, 1]")
        pair_delta = np.where(level < 1, (level - self._lost) / (1 + self._error), 1.0)
        out = np.where(pair_delta < 0, np.inf, 0.0)
        for batch in self._batches:
            p, q = batch.p[:, 1:] * (1 + batch.rounding), batch.q[:, 1:] * (1 - batch.rounding)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_q = np.log(q)
                pure = np.max(batch.losses[:, 0] + 2 * UNIT * (np.abs(np.log(p[:, 0])) + np.abs(log_q[:, 0])))
                for index in np.ndindex(pair_delta.shape):
                    over = np.where(p > pair_delta[index], p - pair_delta[index], np.nan)
                    log_over = np.log(over)
                    bound = log_over - log_q + 2 * UNIT * (np.abs(log_over) + np.abs(log_q))
                    pair_epsilon = pure if pair_delta[index] == 0 else np.max(np.where(over > 0, bound, -np.inf))
                    if level[index] < 1:
                        out[index] = max(out[index], pair_epsilon * (1 + 4 * UNIT) + 4 * UNIT)
        return np.asarray(out)[()]

    def reach(self, delta: float, *, default: float) -> float:
        """A loss beyond which the divergence is less than about `delta`.

        If there is none, the greatest finite loss; if no loss is finite, `default`.
        """
        greatest = float(self.epsilon(np.asarray(min(delta + self._lost * 2, 0.5))))
        if np.isfinite(greatest):
            return greatest
        finite_losses = [batch.losses[np.isfinite(batch.losses)] for batch in self._batches]
        return max((float(loss.max()) for loss in finite_losses if loss.size), default=default)

    def composable(self, *, step: float, reach: float) -> LossDistribution:
        """Loss distribution that dominates every pair, for compositions in which each release may be another pair.

        Parameters
        ----------
        step : float
            Distance of the grid points.
        reach : float
            Losses greater than `reach` count as infinite; losses less than -`reach` are raised to the first grid point.
        """
        checks.scalar("step", step, "(0, inf)")
        last = int(np.ceil(checks.scalar("reach", reach, "[0, inf)") / step)) + 1
        eps = np.asarray(np.arange(-last, last + 1) * step, dtype=np.float64)
        upper, lower = np.zeros(eps.size), np.zeros(eps.size)
        upper_error, lower_error = np.zeros(eps.size), np.zeros(eps.size)
        for batch in self._batches:
            for curve, error, value in (
                (upper[last:], upper_error[last:], batch.excess(eps[last:])),
                (lower[last::-1], lower_error[last::-1], batch.reverse().excess(eps[last:])),
            ):
                np.maximum(curve, np.max(value[0], axis=0), out=curve)
                np.maximum(error, np.max(value[1], axis=0), out=error)
        for values in (lower, lower_error):  # sum (e^eps Q - P)_+ = e^eps times the reverse divergence at -eps
            values[: last + 1] *= np.exp(eps[: last + 1])
        law = from_curve(upper, lower, first=-last, step=step, upper_error=upper_error, lower_error=lower_error)
        return LossDistribution(
            step, law.first, law.mass * (1 + self._error), law.infinite * (1 + self._error) + self._lost
        )


def _summed(terms: FloatArray) -> FloatArray:
    """Cumulative sums of each row, beginning with zero."""
    sums = np.zeros((len(terms), terms.shape[1] + 1))
    sums[:, 1:] = np.cumsum(terms, axis=1, dtype=np.longdouble)
    return sums


def _minus(p: FloatArray, eps: FloatArray, q: FloatArray) -> FloatArray:
    """p - e^eps q, at least 0; where q is 0, it is p also at infinite eps."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.maximum(p - np.where(q > 0, np.exp(eps) * q, 0.0), 0.0)
