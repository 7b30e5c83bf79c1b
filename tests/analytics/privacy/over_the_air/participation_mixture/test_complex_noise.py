"""Bounds of the slope of a divergence at complex noise, against mpmath: the remainder of Gauss rules rests on them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair
from airtight.analytics.privacy.over_the_air.participation_mixture import complex_noise


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


def slope_of_gaussian(epsilon, d, s, v):
    """f = -dD/dv of a visible device, in closed form."""
    w = v + s
    square = mp.mpf(epsilon) ** 2 * w / mp.mpf(d) ** 2 + mp.mpf(d) ** 2 / (4 * w) - epsilon
    return d / (2 * w ** mp.mpf(1.5)) * mp.exp(-square / 2) / mp.sqrt(2 * mp.pi)


def slope_of_pair(level, d, s, r, v):
    """f = -dD/dv of a device whose noise leaves, in closed form."""
    d, s, half = mp.mpf(d), mp.mpf(s), mp.mpf(r) / 2
    w = v + s
    c = level + half * mp.log(w / v) + d * d / (2 * s)
    a, b = d * d * v / (2 * s * s), w * c / s
    bessel = mp.hyp0f1(half, a * b) / (2 ** (half - 1) * mp.gamma(half))
    return s / 2 * mp.exp(max(level, 0)) * (2 * b) ** half / (v * w) * mp.exp(-a - b) * bessel


@pytest.mark.parametrize(("epsilon", "d", "s", "r"), [(0.3, 0.8, 0.5, 1), (1.0, 0.4, 0.9, 3), (0.1, 1.5, 0.2, 20)])
def test_the_closed_forms_are_the_slopes(epsilon, d, s, r):
    step = 1e-4
    v = 1 + step * np.array([-2, -1, 1, 2])
    weights = np.array([-1, 8, -8, 1]) / (12 * step)
    pair = np.full(4, epsilon), np.full(4, d), v, np.full(4, s), np.full(4, float(r))
    for reverse in (False, True):
        slope = weights @ np.exp(gaussian_pair.log_curve(*pair, reverse=reverse)[0])
        assert slope == pytest.approx(float(slope_of_pair(-epsilon if reverse else epsilon, d, s, r, mp.mpf(1))), rel=1e-8)
    visible = weights @ np.exp(gaussian.log_curve(pair[0], d / np.sqrt(v + s))[0])
    assert visible == pytest.approx(float(slope_of_gaussian(epsilon, d, s, mp.mpf(1))), rel=1e-8)


@settings(max_examples=30, deadline=None)
@given(
    epsilon=log_uniform(1e-4, 100),
    d=log_uniform(1e-4, 10),
    s=log_uniform(1e-5, 100),
    r=st.sampled_from([1, 2, 3, 50, 784]),
    half=log_uniform(1e-3, 1),
    opening=log_uniform(1e-3, 1.2),
    angle=st.floats(0, float(np.pi)),
    reverse=st.booleans(),
)
@example(epsilon=50.0, d=10.0, s=1e-5, r=2, half=0.1, opening=0.6, angle=np.pi / 2, reverse=False)  # a = 0 at v = 1
def test_no_slope_on_the_ellipse_is_above_its_bound(epsilon, d, s, r, half, opening, angle, reverse):
    low, high = np.array([0.0]), np.array([2 * half])
    rho = opening / half + np.sqrt(1 + (opening / half) ** 2)
    boxes, level = complex_noise.arcs(low, high, np.array([rho])), -epsilon if reverse else epsilon
    of_gaussian = np.max(complex_noise.log_slope_of_gaussian(*(np.array(x) for x in (epsilon, d, s)), boxes))
    of_pair = np.max(complex_noise.log_slope_of_pair(*(np.array(x) for x in (level, d, s)), float(r), boxes))
    with mp.workdps(40):
        v = mp.exp(half + half * (rho * mp.expj(angle) + mp.expj(-angle) / rho) / 2)
        assert mp.log(abs(v * slope_of_gaussian(epsilon, d, s, v))) <= of_gaussian
        if of_pair < np.inf:
            assert mp.log(abs(v * slope_of_pair(level, d, s, r, v)) + mp.mpf("1e-10000")) <= of_pair


def test_a_narrow_ellipse_has_a_close_bound():
    boxes = complex_noise.arcs(np.array([0.0]), np.array([0.02]), np.array([3.0]))
    bound = np.max(complex_noise.log_slope_of_pair(*(np.array(x) for x in (0.5, 0.3, 0.05)), 50.0, boxes))
    assert bound == pytest.approx(float(mp.log(slope_of_pair(0.5, 0.3, 0.05, 50, mp.mpf(1)))), abs=0.3)


def test_nothing_is_proved_where_the_divergence_ends():
    """c changes its sign within the ellipse: the reverse divergence is 0 beyond."""
    boxes = complex_noise.arcs(np.array([0.0]), np.array([1.0]), np.array([2.0]))
    assert np.max(complex_noise.log_slope_of_pair(np.array(-0.4), np.array(0.1), np.array(0.5), 2.0, boxes)) == np.inf
