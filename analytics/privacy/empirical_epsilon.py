r"""What an attack has shown: a lower bound on epsilon from outputs alone, with its confidence.

(epsilon, delta) holds only if :math:`P(A) \le e^\epsilon Q(A) + \delta` for every set A, so any A gives

.. math:: \epsilon \ge \log\frac{P(A) - \delta}{Q(A)} .

Nothing is assumed of either law: A is a range of scores, chosen on some of the samples and counted on the others.
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
_CANDIDATES = 400  # thresholds


@dataclass(frozen=True)
class Attack:
    """A test between two neighbours, and what its counts prove.

    Attributes
    ----------
    epsilon : float
        With the stated confidence the least epsilon is not below it.
    threshold : float
    above : bool
        Whether scores from the threshold on speak for the first neighbour, or scores up to it for the second.
    true_positive, false_positive : float
        Shares of the samples counted.
    """

    epsilon: float
    threshold: float
    above: bool
    true_positive: float
    false_positive: float


def epsilon_at_least(first: ArrayLike, second: ArrayLike, *, delta: float, failure: float = 0.05) -> Attack:
    r"""A lower bound on the least epsilon at delta, from scores of outputs under either of two neighbours.

    Parameters
    ----------
    first, second : array_like, shape (N,), (M,)
        Scores of independent outputs under P and under Q, at least 8 each, in the order in which they were drawn; the
        log-likelihood ratio is the best score, and any score is valid.
    delta : float
        In [0, 1).
    failure : float
        Probability that the bound is above the truth, at most.

    Notes
    -----
    A quarter of either sample chooses order and threshold; given these the counts in the other three quarters are
    binomial, and each probability has the bound of Clopper and Pearson (1934) at half of `failure`. So the choice costs no
    confidence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = epsilon_at_least(rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000), delta=1e-5)
    >>> 2.0 < found.epsilon < 4.377  # exact: 4.377
    True
    """
    scores = [_scores(name, x) for name, x in (("first", first), ("second", second))]
    level, risk = checks.scalar("delta", delta, "[0, 1)"), checks.scalar("failure", failure, "(0, 1)")
    cuts = [int(_CHOOSING * x.size) for x in scores]
    chosen_on = [np.sort(x[:cut]) for x, cut in zip(scores, cuts, strict=True)]
    counted = [x[cut:] for x, cut in zip(scores, cuts, strict=True)]
    pooled = np.sort(np.concatenate(chosen_on))
    places = np.unique(np.concatenate([_tail(pooled.size), pooled.size - 1 - _tail(pooled.size)]))
    thresholds = pooled[places]
    below = [np.searchsorted(x, thresholds, side="left") for x in chosen_on]
    upto = [np.searchsorted(x, thresholds, side="right") for x in chosen_on]
    sizes = [x.size for x in chosen_on]
    shown = [
        _shown(sizes[0] - below[0], sizes[0], sizes[1] - below[1], sizes[1], level, risk),
        _shown(upto[1], sizes[1], upto[0], sizes[0], level, risk),
    ]
    above = bool(np.max(shown[0]) >= np.max(shown[1]))
    threshold = float(thresholds[int(np.argmax(shown[0 if above else 1]))])
    hits, misses = (x >= threshold if above else x <= threshold for x in (counted if above else counted[::-1]))
    found = _shown(np.array([hits.sum()]), hits.size, np.array([misses.sum()]), misses.size, level, risk)
    return Attack(max(float(found[0]), 0.0), threshold, above, float(hits.mean()), float(misses.mean()))


def _scores(name: str, values: ArrayLike) -> FloatArray:
    found = real(name, values, "[-inf, inf]")
    if found.ndim != 1 or found.size < 8:
        raise ParameterError(name, f"array of shape {found.shape}", "of shape (N,), N at least 8")
    return found


def _tail(size: int) -> np.ndarray:
    """Places of thresholds, denser towards the end."""
    return np.unique(np.geomspace(1, size, _CANDIDATES).astype(np.int64)) - 1


def _shown(hits: np.ndarray, of: int, misses: np.ndarray, among: int, delta: float, failure: float) -> FloatArray:
    """epsilon that such counts prove; -inf where they prove none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        least = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), of - hits + 1, failure / 2), 0.0)
        few = misses < among
        most = np.where(few, special.betaincinv(misses + 1, np.maximum(among - misses, 1), 1 - failure / 2), 1.0)
        return np.asarray(np.where(least > delta, np.log(np.maximum(least - delta, SMALLEST) / most), -np.inf))
