"""Selection probabilities against enumeration, closed forms, 30-digit integration and one another."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import selection
from airtight.analytics.inference import participation
from airtight.validate.claims import reference_integrals

SCORES = np.array([0.2, 0.5, 0.9, 1.3, 0.4])
NOISE = np.array([0.3, 0.1, 0.5, 0.2, 0.4])


@st.composite
def problems(draw, least=1, most=8, decades=(-6.0, 6.0)):
    K = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    score = rng.random(K) * 10 ** draw(st.floats(-3, 3))
    if draw(st.booleans()):
        score = np.round(score, 1)
    noise = 10 ** rng.uniform(*decades, K)
    return score, noise, draw(st.integers(0, K))


def test_the_values_of_the_ledger():
    expected = [0.841927707841, 0.411605532516, 0.167425863869, 0.000113898508, 0.578926997266]
    assert selection.probability(SCORES, NOISE, 2) == pytest.approx(expected, abs=2e-12)


def test_one_device_at_thirty_digits():
    """The defining integral, straight, for five devices."""
    with mpmath.workdps(30):

        def integrand(x):
            f = [
                mpmath.ncdf((x - mpmath.mpf(float(u))) / mpmath.mpf(float(s)))
                for u, s in zip(SCORES, NOISE, strict=True)
            ]
            others = [f[j] for j in (0, 1, 3, 4)]
            none = mpmath.fprod(1 - g for g in others)
            one = mpmath.fsum(others[i] * mpmath.fprod(1 - others[j] for j in range(4) if j != i) for i in range(4))
            return mpmath.npdf(x, mpmath.mpf(float(SCORES[2])), mpmath.mpf(float(NOISE[2]))) * (none + one)

        truth = mpmath.quad(integrand, np.linspace(-4.0, 3.5, 36).tolist())
    assert selection.probability(SCORES, NOISE, 2)[2] == pytest.approx(float(truth), abs=1e-14)


@given(problems(decades=(-1.5, 1.0), least=2, most=6))
def test_enumeration(problem):
    score, noise, m = problem
    score = score / (1 + np.max(score))
    if 0 < m < score.size:
        assert selection.probability(score, noise, m) == pytest.approx(
            reference_integrals.selection_probabilities(score, noise, m), abs=1e-11
        )


@given(problems())
def test_sum_range_and_bounds(problem):
    score, noise, m = problem
    p = selection.probability(score, noise, m)
    assert np.all((p >= 0) & (p <= 1)) and p.sum() == pytest.approx(m, abs=1e-11)
    if m >= 1:
        lower, upper = participation.proven_bounds(score, noise, m)
        assert np.all(lower <= p + 1e-12) and np.all(p <= upper + 1e-12)


@given(problems(), st.integers(0, 10**6), st.integers(-60, 60))
def test_permutation_scale_and_mirror(problem, seed, power):
    score, noise, m = problem
    p = selection.probability(score, noise, m)
    order = np.random.default_rng(seed).permutation(score.size)
    assert selection.probability(score[order], noise[order], m) == pytest.approx(p[order], abs=1e-11)
    assert selection.probability(score * 2.0**power, noise * 2.0**power, m) == pytest.approx(p, abs=1e-11)
    highest = selection.probability(-score, noise, score.size - m)
    assert 1 - highest == pytest.approx(p, abs=1e-11)


@given(problems(least=2), st.floats(0.01, 2.0))
def test_a_higher_score_is_selected_less(problem, raise_by):
    score, noise, m = problem
    raised = score.copy()
    raised[0] += raise_by * noise[0]
    before, after = selection.probability(score, noise, m), selection.probability(raised, noise, m)
    assert after[0] <= before[0] + 1e-11 and np.all(after[1:] >= before[1:] - 1e-11)


def test_limits_and_ties():
    score = [0.3, 0.1, 0.2, 0.2]
    assert selection.probability(score, 0.0, 2).tolist() == [0, 1, 1, 0]
    assert selection.probability(score, 1e-300, 2) == pytest.approx([0, 1, 0.5, 0.5], abs=1e-12)
    assert selection.probability(score, 1e12, 2) == pytest.approx([0.5] * 4, abs=1e-10)
    assert selection.probability([1.0, 1.0, 1.0], [1e-300, 1e-300, 0.0], 1) == pytest.approx([0.375, 0.375, 0.25])
    assert selection.probability([0.0], 1.0, 0) == [0.0] and selection.probability([0.0], 1.0, 1) == [1.0]


def test_some_without_noise():
    """A device without noise is a step for the others: conditioning on which side of it they fall."""
    p = selection.probability([0.0, 0.5, 1.0], [1.0, 0.0, 2.0], 1)
    below, after = mpmath.ncdf(0.5), mpmath.ncdf(-0.25)
    assert p[1] == pytest.approx(float((1 - below) * (1 - after)), abs=1e-13)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)


def test_scores_a_rounding_apart():
    """Scores that differ in the last bits, noise of the same size: differences decide, not places."""
    tiny = 2.0**-50
    near = selection.probability([1.0, 1.0 + tiny, 1.0 + 3 * tiny], [tiny, 2 * tiny, tiny], 1)
    assert near == pytest.approx(selection.probability([0.0, 1.0, 3.0], [1.0, 2.0, 1.0], 1), abs=1e-12)


@pytest.mark.parametrize("devices", [40, 400])
def test_almost_equal_scores_share_alike(devices):
    """Distinct devices whose scores differ by roundings only: each is selected with probability k~/K."""
    score = 1.0 + np.arange(devices) * 2.0**-50
    for selected in (1, devices // 3, devices - 1):
        p = selection.probability(score, 0.7, selected)
        assert p == pytest.approx(np.full(devices, selected / devices), abs=1e-11)


def test_forty_devices_by_dynamic_programming():
    rng = np.random.default_rng(9)
    score, noise, m = rng.random(40), rng.uniform(0.2, 2.0, 40), 17
    node, weight = np.polynomial.legendre.leggauss(24)
    edges = np.linspace(-20.0, 21.0, 300)
    x = (edges[:-1, None] + np.diff(edges)[:, None] * (node + 1) / 2).ravel()
    dx = (np.diff(edges)[:, None] * weight / 2).ravel()
    below = special.ndtr((x[:, None] - score) / noise)
    for k in (0, 13, 39):
        law = np.zeros((x.size, 41))
        law[:, 0] = 1.0
        for j in range(40):
            if j != k:
                f = below[:, j, None]
                law[:, 1:] = law[:, 1:] * (1 - f) + law[:, :-1] * f
                law[:, 0] *= 1 - f[:, 0]
        density = np.exp(-0.5 * ((x - score[k]) / noise[k]) ** 2) / (noise[k] * np.sqrt(2 * np.pi))
        truth = np.sum(dx * density * law[:, :m].sum(axis=1))
        assert selection.probability(score, noise, m)[k] == pytest.approx(truth, abs=1e-12)


def test_unequal_noise_has_another_limit():
    s = 1000.0
    rho = s * s / (s * s + 1)
    expected = 0.25 + np.arcsin(rho) / (2 * np.pi)
    assert selection.probability([0.0, 0.0, 0.0], [s, 1.0, 1.0], 1)[0] == pytest.approx(expected, abs=1e-12)


def test_a_thousand_devices_of_twelve_decades():
    rng = np.random.default_rng(3)
    score, noise = rng.random(1000), 10 ** rng.uniform(-6, 6, 1000)
    p = selection.probability(score, noise, 500)
    assert p.sum() == pytest.approx(500, abs=1e-9)
    draws = 20_000
    hits = np.zeros(1000)
    for _ in range(draws // 1000):
        noisy = score + noise * rng.standard_normal((1000, 1000))
        hits += np.sum(noisy <= np.partition(noisy, 499, axis=1)[:, 499:500], axis=0)
    deviation = np.sqrt(np.maximum(p * (1 - p), 1 / draws) / draws)
    assert np.all(np.abs(hits / draws - p) < 5.5 * deviation)


def test_a_million_devices_of_five_kinds():
    score = np.repeat(np.arange(5) / 10, 200_000)
    p = selection.probability(score, 0.3, 500_000)
    assert p.sum() == pytest.approx(500_000, rel=1e-12) and np.all(np.diff(p[::200_000]) < 0)


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (([0.1, np.nan], 1.0, 1), "score[1] = nan"),
        (([0.1, 0.2], -1.0, 1), "noise = -1.0"),
        (([0.1, 0.2], [1.0, 1.0, 1.0], 1), "noise"),
        (([0.1, 0.2], 1.0, 3), "selected = 3"),
        (([0.1, 0.2], 1.0, 0.5), "selected = 0.5"),
        (([], 1.0, 0), "score"),
        ((0.5, 1.0, 1), "score"),
    ],
)
def test_bad_input(arguments, needle):
    with pytest.raises(ParameterError) as error:
        selection.probability(*arguments)
    assert needle in str(error.value)
