"""A pair of laws on finitely many outcomes: bounds beside sums in 400 digits, in both orders."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete


def laws(pair, reverse):
    """Both laws in exact numbers, with the missing mass of each at its likeliest outcome."""
    with mp.workdps(400):
        p, q = ([mp.mpf(x) for x in law] for law in (pair.p, pair.q))
        for law in (p, q):
            law[int(np.argmax([float(x) for x in law]))] += 1 - mp.fsum(law)
        return (q, p) if reverse else (p, q)


def delta(pair, epsilon, reverse):
    with mp.workdps(400):
        p, q = laws(pair, reverse)
        return mp.fsum(max(x - mp.exp(epsilon) * y, 0) for x, y in zip(p, q, strict=True))


def greatest_loss(pair, reverse):
    with mp.workdps(400):
        return max(mp.log(x / y) if y else mp.inf for x, y in zip(*laws(pair, reverse), strict=True) if x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((5e-324, 1.0), (0.6, 0.4)), ((1e-320, 1.0), (0.34, 0.66)), ((1e-310, 1.0), (0.9, 0.1)), ((0.6, 0.4), (0.4, 0.6)),
        ((0.0, 0.5, 0.5), (0.25, 0.75, 0.0)), ((0.0, 1.0), (0.0, 1.0)), ((1e-150, 1.0), (1e-300, 1.0)),
    ],
)  # fmt: skip
def test_both_ends_about_each_loss(p, q, reverse):
    """Also where a ratio of probabilities is subnormal, and a little below a loss, where one outcome alone counts."""
    pair = Discrete(p, q)
    top = greatest_loss(pair, reverse)
    losses = [abs(float(mp.log(x / y))) for x, y in zip(*laws(pair, reverse), strict=True) if x and y]
    for epsilon in [0.0, *(loss * share for loss in losses for share in (1 - 1e-4, 1 - 1e-9, 1.0, 1 + 1e-9))]:
        lower, upper = (float(end[0]) for end in pair.delta_bracket(np.array([epsilon]), reverse=reverse))
        truth = delta(pair, epsilon, reverse)
        assert lower <= truth <= upper
        assert upper - lower <= 1e-9 * upper or epsilon >= min(losses) * (1 - 1e-6)
    if top < mp.inf:
        assert pair.reached_loss(reverse=reverse) * (1 - 1e-12) <= top <= pair.greatest_loss(reverse=reverse) * (1 + 1e-12)


@given(st.lists(st.floats(1e-320, 1.0), min_size=2, max_size=6), st.integers(0, 1000), st.booleans(), st.floats(0.0, 2.0))
def test_random_pairs(masses, seed, reverse, share):
    p = np.array(masses) / np.sum(masses)
    q = np.random.default_rng(seed).permutation(p)
    pair = Discrete(tuple(p), tuple(q))
    epsilon = share * float(greatest_loss(pair, reverse))
    if np.isfinite(epsilon):
        lower, upper = pair.delta_bracket(np.array([epsilon]), reverse=reverse)
        assert lower[0] <= delta(pair, epsilon, reverse) <= upper[0]
