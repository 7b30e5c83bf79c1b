r"""Lower bound of epsilon that an attack proves from outputs alone, with a confidence level.

(epsilon, delta)-differential privacy requires :math:`P(A) \le e^\epsilon Q(A) + \delta` for every set A, so any A gives

.. math:: \epsilon \ge \log\frac{P(A) - \delta}{Q(A)} .

Neither law needs to satisfy any assumption: A is a range of scores that is chosen on some of the samples and counted on
the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, real
from airtight.analytics.rounding import SMALLEST

_CHOOSING = 0.25  # share of the samples on which the set is chosen
_CANDIDATES = 100  # thresholds tried in each tail


@dataclass(frozen=True)
class Attack:
    """A test between two neighbours, and the lower bound of epsilon that its counts prove.

    Attributes
    ----------
    epsilon : float
        Lower bound of the least epsilon, with the stated confidence.
    threshold : float
    above : bool
        True if scores >= threshold indicate the first neighbour; False if scores <= threshold indicate the second.
    true_positive, false_positive : float
        Shares of the counted samples that lie in the chosen set.
    """

    epsilon: float
    threshold: float
    above: bool
    true_positive: float
    false_positive: float


def epsilon_at_least(first: ArrayLike, second: ArrayLike, *, delta: float, failure: float = 0.05) -> Attack:
    """Lower bound of the least epsilon at delta, from scores of outputs under each of two neighbours.

    Parameters
    ----------
    first, second : array_like, shape (N,), (M,)
        Scores of independent outputs under P and under Q, at least 8 of each, in the order in which they were drawn.
        Any score is valid; the log-likelihood ratio is the best one.
    delta : float
        In [0, 1).
    failure : float
        Greatest probability that the bound is above the true value.

    Notes
    -----
    A quarter of each sample is used to choose the order and the threshold. Given these, the counts in the other three
    quarters are binomial, and each of the two probabilities has a bound of Clopper and Pearson (1934) at half of
    `failure`. So the choice does not reduce the confidence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> attack = epsilon_at_least(rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000), delta=1e-5)
    >>> 2.0 < attack.epsilon < 4.377  # exact: 4.377
    True
    """
    scores = [_scores(name, x) for name, x in (("first", first), ("second", second))]
    level, risk = checks.scalar("delta", delta, "[0, 1)"), checks.scalar("failure", failure, "(0, 1)")
    cuts = [int(_CHOOSING * x.size) for x in scores]
    chosen_on = [np.sort(x[:cut]) for x, cut in zip(scores, cuts, strict=True)]
    counted = [x[cut:] for x, cut in zip(scores, cuts, strict=True)]
    pooled = np.sort(np.concatenate(chosen_on), kind="stable")  # which merges two that are sorted
    places = np.unique(np.concatenate([_tail(pooled.size), pooled.size - 1 - _tail(pooled.size)]))
    thresholds = pooled[places]
    below = [np.searchsorted(x, thresholds, side="left") for x in chosen_on]
    up_to = [np.searchsorted(x, thresholds, side="right") for x in chosen_on]
    sizes = [x.size for x in chosen_on]
    candidates = [
        _proved_epsilon(sizes[0] - below[0], sizes[0], sizes[1] - below[1], sizes[1], level, risk),
        _proved_epsilon(up_to[1], sizes[1], up_to[0], sizes[0], level, risk),
    ]
    above = bool(np.max(candidates[0]) >= np.max(candidates[1]))
    threshold = float(thresholds[int(np.argmax(candidates[0 if above else 1]))])
    hits, misses = (x >= threshold if above else x <= threshold for x in (counted if above else counted[::-1]))
    epsilon_lower = _proved_epsilon(
        np.array([hits.sum()]), hits.size, np.array([misses.sum()]), misses.size, level, risk
    )
    return Attack(max(float(epsilon_lower[0]), 0.0), threshold, above, float(hits.mean()), float(misses.mean()))


def _scores(name: str, values: ArrayLike) -> FloatArray:
    scores = real(name, values, "[-inf, inf]")
    if scores.ndim != 1 or scores.size < 8:
        raise ParameterError(name, f"array of shape {scores.shape}", "of shape (N,), N at least 8")
    return scores


def _tail(size: int) -> np.ndarray:
    """Indices of the thresholds tried in one tail, denser towards the end."""
    return np.unique(np.geomspace(1, size, _CANDIDATES).astype(np.int64)) - 1


def _proved_epsilon(
    hits: np.ndarray, of: int, misses: np.ndarray, among: int, delta: float, failure: float
) -> FloatArray:
    """The epsilon that such counts prove; -inf where they prove none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        hit_lower = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), of - hits + 1, failure / 2), 0.0)
        not_all = misses < among
        miss_upper = np.where(
            not_all, special.betaincinv(misses + 1, np.maximum(among - misses, 1), 1 - failure / 2), 1.0
        )
        return np.asarray(
            np.where(hit_lower > delta, np.log(np.maximum(hit_lower - delta, SMALLEST) / miss_upper), -np.inf)
        )
