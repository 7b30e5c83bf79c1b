"""Bounds of second derivatives against mpmath: a law on a grid rests on them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.systems import unlike

from airtight.analytics.privacy.over_the_air.participation_mixture import build, noise_interpolant

POSITIVE = st.floats(0.05, 3.0)


def _one(*values: float) -> list[np.ndarray]:
    return [np.array([value]) for value in values]


def _gaussian(epsilon: float, d: float, v: mp.mpf) -> mp.mpf:
    mu = d / mp.sqrt(v)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def _within(radius: mp.mpf, mean: mp.mpf, r: int) -> mp.mpf:
    """Probability that a standard normal vector of r = 1 or 3 coordinates, moved by `mean`, lies within `radius`."""
    found = mp.ncdf(radius - mean) - mp.ncdf(-radius - mean)
    return found if r == 1 else found - (mp.npdf(radius - mean) - mp.npdf(radius + mean)) / mean


def _pair(level: float, d: float, v: mp.mpf, s: float, r: int) -> mp.mpf:
    """D of N(d e_1, (v + s) I_r) from N(0, v I_r), the reverse for a negative level: set outside a sphere, and within it."""
    c = level + mp.mpf(r) / 2 * mp.log(1 + s / v) + mp.mpf(d) ** 2 / (2 * s)
    radius = mp.sqrt(2 * v * (v + s) / s * c)
    wide = _within(radius / mp.sqrt(v + s), d * (1 + v / s) / mp.sqrt(v + s), r)
    narrow = _within(radius / mp.sqrt(v), d * v / s / mp.sqrt(v), r)
    return 1 - wide - mp.exp(level) * (1 - narrow) if level >= 0 else narrow - mp.exp(-level) * wide


def _bend(function, v: float) -> float:
    """The second derivative at v, at 40 digits."""
    with mp.workdps(40):
        step = mp.mpf(v) * mp.mpf("1e-10")
        return float((function(v + step) - 2 * function(mp.mpf(v)) + function(v - step)) / step**2)


@settings(max_examples=25)
@given(epsilon=st.floats(0, 8), d=POSITIVE, low=POSITIVE, width=st.floats(0, 1), share=st.floats(0, 1))
def test_gaussian_between_its_bounds(epsilon, d, low, width, share):
    concave, convex = noise_interpolant.of_gaussian(*_one(epsilon, d, low, low + width, 0.0))
    bend = _bend(lambda v: _gaussian(epsilon, d, v), low + share * width)
    room = 1e-12 * (abs(bend) + 1e-300)
    assert -concave[0] - room <= bend <= convex[0] + room


@pytest.mark.parametrize(("epsilon", "d", "v"), [(0.1, 4.0, 0.5), (1.0, 6.0, 1.0), (2.0, 1.0, 1.0), (0.0, 0.3, 2.0)])
def test_gaussian_bounds_are_attained_at_a_point(epsilon, d, v):
    concave, convex = noise_interpolant.of_gaussian(*_one(epsilon, d, v, v, 0.0))
    assert convex[0] - concave[0] == pytest.approx(_bend(lambda x: _gaussian(epsilon, d, x), v), rel=1e-9)


@settings(max_examples=25)
@given(
    level=st.floats(-3, 6),
    d=POSITIVE,
    low=POSITIVE,
    width=st.floats(0, 0.5),
    gap=POSITIVE,
    r=st.sampled_from([1, 3]),
    share=st.floats(0, 1),
)
def test_slope_of_a_pair_between_its_bounds(level, d, low, width, gap, r, share):
    size, least, most = noise_interpolant.slope_of_pair(*_one(level, d, low, low + width, gap), float(r))
    if not np.isfinite(size[0]):
        return
    v = low + share * width
    with mp.workdps(40):
        step = mp.mpf(v) * mp.mpf("1e-10")
        at = [_pair(level, d, mp.mpf(v) + k * step, gap, r) for k in (-1, 0, 1)]
        slope, bend = (at[2] - at[0]) / (2 * step), (at[2] - 2 * at[1] + at[0]) / step**2
        if -slope < mp.mpf("1e-25"):
            return
        assert mp.log(-slope) <= size[0]
        assert least[0] - 1e-7 <= float(bend / slope) <= most[0] + 1e-7


@settings(max_examples=25)
@given(
    level=st.floats(-3, 6),
    d=POSITIVE,
    low=POSITIVE,
    above=st.floats(0, 2),
    gap=POSITIVE,
    r=st.sampled_from([1, 3]),
)
def test_concavity_of_a_pair_is_bounded(level, d, low, above, gap, r):
    if level + r / 2 * np.log1p(gap / (low + above)) + d * d / (2 * gap) <= 1e-3:
        return
    bound = noise_interpolant.concavity_of_pair(*_one(d, low, gap), float(r), reverse=level < 0)[0]
    assert -bound <= _bend(lambda v: _pair(level, d, v, gap, r), low + above)


@settings(max_examples=25)
@given(
    epsilon=st.floats(0, 3),
    near=st.floats(0, 3),
    far=st.floats(-3, 3),
    low=POSITIVE,
    own=st.floats(0, 3),
    odds=st.floats(0, 3),
)
def test_concavity_of_a_hidden_device_is_bounded(epsilon, near, far, low, own, odds):
    y = np.linspace(-30, 30, 60_001)

    def density(mean: float, variance: float) -> np.ndarray:
        return np.exp(-((y - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    def divergence(v: float) -> float:
        common = np.expm1(epsilon) * odds * density(0.0, v)
        gained = density(near, v + own) - np.exp(epsilon) * density(far, v + own) - common
        return float(np.sum(np.maximum(gained, 0.0)) * (y[1] - y[0]))

    step = 0.02 * low
    at = [divergence(low + step * (1 + k)) for k in (-1, 0, 1)]
    bound = noise_interpolant.concavity_of_hidden(*_one(near, abs(far - near), low, own), 1.0)[0]
    assert -bound - 1e-7 / step**2 <= (at[2] - 2 * at[1] + at[0]) / step**2


@pytest.mark.parametrize("width", [1e-12, 1e-3])
@pytest.mark.parametrize("gap", [1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("r", [1, 2, 784])
def test_slope_of_a_pair_whose_own_noise_is_faint(gap, r, width):
    """The terms cancel; the limit without own noise is a Gaussian mechanism, up to a share r times the gap."""
    epsilon, d, v = 1.0, 1.0, 1.0
    size, least, most = noise_interpolant.slope_of_pair(*_one(epsilon, d, v - width, v + width, gap), float(r))
    with mp.workdps(40):
        slope = mp.diff(lambda x: _gaussian(epsilon, d, x), v)
        rate = float(mp.diff(lambda x: mp.log(-mp.diff(lambda y: _gaussian(epsilon, d, y), x)), v))
    assert size[0] >= float(mp.log(-slope)) - 3 * r * gap
    assert least[0] - 3 * r * gap <= rate <= most[0] + 3 * r * gap


@pytest.mark.parametrize(("adjacency", "epsilon"), [("silent", 0.5), ("absent", 2.0)])
def test_noise_raised_by_the_slack_bounds_below_where_the_curvature_is_poor(adjacency, epsilon):
    """On 64 cells, by the exact law of 13 others: the curvature alone leaves no lower bound."""
    system, asked, row = unlike(14, 0, adjacency, 20), np.array([epsilon]), np.zeros(1, dtype=int)
    (exact,), (coarse,) = (build.participations(system, np.array([3]), 0.0, cells=cells) for cells in (1 << 14, 64))
    assert exact.slack == 0 < coarse.slack
    lower, truth = coarse.log_lower(asked, row)[0], exact.log_upper(asked, row)
    assert truth - 8 < lower <= truth <= coarse.log_upper(asked, row)
