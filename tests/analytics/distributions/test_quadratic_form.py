"""Tails of weighted noncentral chi-squares against closed forms, SciPy, mpmath and from both sides."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import quadratic_form


def test_one_term_against_scipy():
    rng = np.random.default_rng(0)
    degrees = np.round(10 ** rng.uniform(0, 3, 400))
    delta = 10 ** rng.uniform(-3, 4, 400)
    weight = 10 ** rng.uniform(-8, 8, 400)
    x = np.maximum(degrees + delta + 2 * rng.normal(size=400) * np.sqrt(2 * (degrees + 2 * delta)), 0.01 * degrees)
    terms = {"weight": weight[:, None], "degrees": degrees[:, None], "noncentrality": delta[:, None]}
    lower, upper = stats.ncx2.cdf(x, degrees, delta), stats.ncx2.sf(x, degrees, delta)
    sure = np.minimum(lower, upper) > 1e-9  # SciPy is right to 1e-12 absolute
    assert quadratic_form.cdf(weight * x, **terms)[sure] == pytest.approx(lower[sure], rel=1e-9)
    assert quadratic_form.sf(weight * x, **terms)[sure] == pytest.approx(upper[sure], rel=1e-9)


def test_two_exponentials_exactly():
    """Weights 1 and 2 with two degrees each: a sum of exponentials of means 2 and 4."""
    x = np.array([1e-8, 1e-3, 1.0, 10.0, 100.0, 1400.0])
    with mpmath.workdps(60):
        upper = [2 * mpmath.exp(-mpmath.mpf(v) / 4) - mpmath.exp(-mpmath.mpf(v) / 2) for v in x.tolist()]
        lower = [float(1 - u) for u in upper]
    assert quadratic_form.cdf(x, weight=[1.0, 2.0], degrees=2) == pytest.approx(lower, rel=1e-12)
    assert quadratic_form.sf(x, weight=[1.0, 2.0], degrees=2) == pytest.approx([float(u) for u in upper], rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_vertical_line_at_thirty_digits(seed):
    rng = np.random.default_rng(seed)
    terms = rng.integers(1, 5)
    weight = 10 ** rng.uniform(-3, 0, terms)
    degrees = rng.integers(2, 30, terms)
    delta = 10 ** rng.uniform(-2, 2, terms) * (rng.random(terms) < 0.7)
    mean = float(np.sum(weight * (degrees + delta)))
    x = mean * rng.uniform(0.3, 0.9)
    with mpmath.workdps(30):
        lam, n, d = ([mpmath.mpf(float(v)) for v in values] for values in (weight, degrees, delta))

        def log_mgf(t):
            return mpmath.fsum(
                -m / 2 * mpmath.log(1 - 2 * a * t) + a * b * t / (1 - 2 * a * t)
                for a, m, b in zip(lam, n, d, strict=True)
            )

        start = -(sum(n) / 2 + 1) / mpmath.mpf(x) / 2

        def integrand(u):
            t = start * (1 - 1j * u + -u * u / 30)
            return mpmath.im(mpmath.exp(log_mgf(t) - t * x) / t * start * (-1j - u / 15))

        truth = -mpmath.quad(integrand, [0, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 512]) / mpmath.pi
    assert quadratic_form.cdf(x, weight=weight, degrees=degrees, noncentrality=delta) == pytest.approx(
        float(truth), rel=1e-10
    )


@st.composite
def forms(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    terms = draw(st.integers(1, 5))
    weight = 10 ** rng.uniform(-9, 0, terms)
    degrees = 10 ** rng.uniform(0, 3, terms)
    delta = 10 ** rng.uniform(-3, 5, terms) * (rng.random(terms) < 0.7)
    mean, sd = np.sum(weight * (degrees + delta)), np.sqrt(np.sum(2 * weight**2 * (degrees + 2 * delta)))
    return weight, degrees, delta, mean, sd


@given(forms(), st.floats(-0.3, 0.3))
def test_both_contours_agree_near_the_mean(form, where):
    weight, degrees, delta, mean, sd = form
    scale = weight.max()
    x = np.array([(mean + where * sd) / scale])
    row = weight[None] / scale, degrees[None], delta[None]
    sides = [quadratic_form._smaller_tail(x, *row, negative=side)[0] for side in (True, False)]
    assert sum(sides) == pytest.approx(1.0, abs=1e-11)


@given(forms(), st.floats(-8, 8), st.integers(-200, 200))
def test_law(form, where, power):
    """In [0, 1], monotone, complementary, scale invariant, unchanged by splitting a term or adding a zero weight."""
    weight, degrees, delta, mean, sd = form
    x = max(mean + where * sd, mean * 1e-3)
    terms = {"weight": weight, "degrees": degrees, "noncentrality": delta}
    lower, upper = quadratic_form.cdf(x, **terms), quadratic_form.sf(x, **terms)
    assert 0 <= lower <= 1 and lower + upper == pytest.approx(1, abs=1e-12)
    assert quadratic_form.cdf(x * 1.01, **terms) >= lower * (1 - 1e-10)
    scaled = {**terms, "weight": weight * 2.0**power}
    assert quadratic_form.cdf(x * 2.0**power, **scaled) == pytest.approx(lower, rel=1e-9, abs=1e-300)
    wider = {
        "weight": np.append(np.repeat(weight, 2), 0.0),
        "degrees": np.append(np.repeat(degrees, 2) / 2 + 0.5, 3.0),
        "noncentrality": np.append(np.repeat(delta, 2) / 2, 1.0),
    }
    longer = {**terms, "degrees": degrees + 1}
    assert quadratic_form.cdf(x, **wider) == pytest.approx(quadratic_form.cdf(x, **longer), rel=1e-8, abs=1e-300)
    assert quadratic_form.cdf(x, **longer) <= lower * (1 + 1e-10)


def test_far_tails_settle_as_far_as_rounding_allows():
    """A probability of exp(-6e5): its complement is 1, and nothing is raised."""
    terms = {"weight": [1.8e-6], "degrees": [1.0], "noncentrality": [1.2e5]}
    assert quadratic_form.cdf(4.0, **terms) == 1.0 and quadratic_form.sf(4.0, **terms) == 0.0
    rng = np.random.default_rng(1)
    for _ in range(200):
        weight, delta = 10 ** rng.uniform(-8, 2), 10 ** rng.uniform(-3, 8)
        x = weight * (1 + delta) * 10 ** rng.uniform(-3, 3)
        sides = [
            f(x, weight=[weight], degrees=[2.0], noncentrality=[delta]) for f in (quadratic_form.cdf, quadratic_form.sf)
        ]
        assert sum(sides) == pytest.approx(1.0, abs=1e-9)


def test_edges():
    assert quadratic_form.cdf([-1.0, 0.0, 1.0], weight=[1.0], degrees=1)[:2].tolist() == [0.0, 0.0]
    assert quadratic_form.sf(-1.0, weight=[1.0], degrees=1) == 1.0
    assert quadratic_form.cdf(0.0, weight=[0.0], degrees=3) == 1.0
    assert quadratic_form.cdf(-1e-9, weight=[0.0], degrees=3) == 0.0
    assert quadratic_form.cdf(1e-60, weight=[1.0], degrees=8) == pytest.approx(1e-240 / 384, rel=1e-10)
    for bad in (
        {"weight": [-1.0], "degrees": 1},
        {"weight": [1.0], "degrees": 0.5},
        {"weight": [np.nan], "degrees": 1},
    ):
        with pytest.raises(ParameterError):
            quadratic_form.cdf(1.0, **bad)
    with pytest.raises(ParameterError, match="broadcastable"):
        quadratic_form.cdf(1.0, weight=[1.0, 2.0], degrees=[1, 2, 3])


def test_every_mixture_is_answered():
    """Noncentralities to 1e15, scales to 1e12 apart: in [0, 1], and in the interval that the central limit theorem proves."""
    for seed in range(900):
        rng = np.random.default_rng(seed)
        terms = int(rng.integers(1, 6))
        weight = 10 ** rng.uniform(-12, 0, terms) * 10 ** rng.uniform(-5, 5)
        degrees, delta = 10 ** rng.uniform(0, 4, terms), 10 ** rng.uniform(-3, 15, terms) * (rng.random(terms) < 0.8)
        mean = np.sum(weight * (degrees + delta))
        sd = np.sqrt(np.sum(2 * weight**2 * (degrees + 2 * delta)))
        x = (max(mean + rng.uniform(-8, 8) * sd, 1e-3 * mean), mean * 10 ** rng.uniform(-3, 3))[seed % 2]
        form = {"weight": weight, "degrees": degrees, "noncentrality": delta}
        lower, upper = quadratic_form.cdf(x, **form), quadratic_form.sf(x, **form)
        assert 0 <= lower <= 1 and 0 <= upper <= 1 and lower + upper == pytest.approx(1, abs=1e-7)
        away = abs(x - mean) / sd
        assert (upper if x > mean else lower) <= 1 / (1 + away**2) + 1e-7  # Cantelli


@pytest.mark.parametrize("delta", [1e6, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("where", [-5.0, -0.4, 0.0, 1.3, 6.0])
def test_one_degree_of_great_noncentrality(delta, where):
    """chi^2_1(delta) is the square of a normal variable: its tails are the normal law's."""
    x = (np.sqrt(delta) + where) ** 2
    with mpmath.workdps(50):
        root, mean = mpmath.sqrt(mpmath.mpf(x)), mpmath.sqrt(mpmath.mpf(delta))
        lower, upper = mpmath.ncdf(root - mean) - mpmath.ncdf(-root - mean), mpmath.ncdf(mean - root)
    error = 1e-11 + 1e-14 * (20 + np.sqrt(delta))
    form = {"weight": [3.0], "degrees": [1.0], "noncentrality": [delta]}
    if where <= 0:
        assert quadratic_form.cdf(3 * x, **form) == pytest.approx(float(lower), rel=error)
    if where >= 0:
        assert quadratic_form.sf(3 * x, **form) == pytest.approx(float(upper), rel=error)
