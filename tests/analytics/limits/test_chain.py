"""Chains of data: no sequence of means is better than the least error, and the two-point problem is exact."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from airtight.analytics.limits.chain import _SHARES, distances, least_error
from airtight.analytics.limits.power import PowerFunction


def greatest(h, distance):
    """The left side of the conditions, the greatest over steps and shares."""
    bias = np.asarray(h) - np.arange(len(h))
    rise = np.diff(h)[:, None]
    return np.max(distance * rise**2 + _SHARES * bias[1:, None] ** 2 + (1 - _SHARES) * bias[:-1, None] ** 2)


@pytest.mark.parametrize("mu", [1e-3, 0.3, 1.0, 2.0, 4.0])
def test_two_points_in_gaussian_noise(mu):
    """Means at -1 and 1 with parameter 2 mu between them: 1 - E tanh(mu W), W normal with mean mu."""
    truth = float(1 - mp.quad(lambda w: mp.tanh(mu * w) * mp.npdf(w, mu, 1), [-30, -5, 0, mu, 5 + mu, 30 + mu]))
    bound = 4 * float(least_error(distances(PowerFunction.gaussian(2 * mu))[None], np.array([1]))[0])
    assert truth * (1 - 3e-3) <= bound <= truth * (1 + 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-3, 5.0), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_no_means_are_better(mu, steps, seed):
    rng = np.random.default_rng(seed)
    distance = distances(PowerFunction.gaussian(mu))
    bound = float(least_error(distance[None], np.array([steps]))[0])
    line = steps / 2 + rng.random() * (np.arange(steps + 1) - steps / 2)
    assert bound <= greatest(line, distance)
    assert bound <= greatest(line + 0.1 * rng.standard_normal(steps + 1), distance)


@pytest.mark.parametrize("mu, steps", [(0.5, 2), (1.5, 2), (1.0, 3), (1.5, 5), (0.8, 6)])
def test_least_error_is_that_of_a_general_solver(mu, steps):
    """The epigraph form of the convex problem."""
    distance = distances(PowerFunction.gaussian(mu))
    bound = float(least_error(distance[None], np.array([steps]))[0])

    def slack(v):
        bias, rise = v[:-1] - np.arange(steps + 1), np.diff(v[:-1])[:, None]
        sides = distance * rise**2 + _SHARES * bias[1:, None] ** 2 + (1 - _SHARES) * bias[:-1, None] ** 2
        return (v[-1] - sides).ravel()

    start = steps / 2 + 0.5 * (np.arange(steps + 1) - steps / 2)
    best = minimize(
        lambda v: v[-1],
        np.append(start, greatest(start, distance)),
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-12},
    )
    assert bound <= best.fun * (1 + 1e-7)
    assert bound >= best.fun * (1 - 1e-5)


def test_rows_are_independent_of_each_other():
    rows = np.array([distances(PowerFunction.gaussian(mu)) for mu in (0.1, 1.0, 3.0, 8.0, 400.0)])
    steps = np.array([1, 8, 3, 2, 24])
    together = least_error(rows, steps)
    alone = [least_error(row[None], np.array([step]))[0] for row, step in zip(rows, steps, strict=True)]
    assert np.allclose(together, alone, rtol=1e-7)
    assert together[-1] == 0


def test_perfect_privacy_leaves_half_of_the_chain():
    assert np.isclose(least_error(distances(PowerFunction.gaussian(0.0))[None], np.array([1]))[0], 0.25, rtol=1e-5)
