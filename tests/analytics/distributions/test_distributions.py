"""Participation laws against exact fractions, enumeration and scipy."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import poisson_binomial, weighted_sum

probabilities = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-30, 0.5])), min_size=1, max_size=12)


def exact_pmf(p):
    law = [Fraction(1)]
    for q in map(Fraction, p):
        law = [a * (1 - q) + b * q for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return np.array([float(x) for x in law])


@given(probabilities)
def test_pmf_has_relative_accuracy(p):
    law, truth = poisson_binomial.pmf(p), exact_pmf(p)
    assert np.all(np.abs(law - truth) <= 1e-13 * truth + 1e-307)


@given(probabilities, st.randoms(use_true_random=False))
def test_pmf_does_not_depend_on_the_order(p, random):
    shuffled = random.sample(p, len(p))
    np.testing.assert_allclose(poisson_binomial.pmf(p), poisson_binomial.pmf(shuffled), rtol=1e-13, atol=1e-300)


@given(probabilities)
def test_cdf_sf_and_quantile_agree(p):
    law, cdf, sf = poisson_binomial.pmf(p), poisson_binomial.cdf(p), poisson_binomial.sf(p)
    np.testing.assert_allclose(cdf + sf, 1.0, rtol=1e-13)
    assert np.all(np.diff(cdf) >= 0) and law.shape == cdf.shape == (len(p) + 1,)
    for level in (0.0, 1e-6, 0.5, 1.0):
        n = int(poisson_binomial.quantile(p, level))
        assert cdf[n] >= level or n == len(p)
        assert n == 0 or cdf[n - 1] < level


def test_large_laws_stay_accurate():
    from scipy import stats

    rng = np.random.default_rng(1)
    for p in (rng.random(50_000), np.full(10**6, 0.9)):
        law = poisson_binomial.pmf(p)
        n = np.arange(p.size + 1)
        assert abs(law.sum() - 1) < 1e-11
        assert law @ n == pytest.approx(p.sum(), rel=1e-12)
        assert law @ (n - p.sum()) ** 2 == pytest.approx((p * (1 - p)).sum(), rel=1e-9)
    middle = np.arange(895_000, 905_000)
    np.testing.assert_allclose(law[middle], stats.binom.pmf(middle, 10**6, 0.9), rtol=1e-10)


def enclosed(p, least):
    """Every entry above least, as a double, by products of polynomials in balls."""
    flint = pytest.importorskip("flint")
    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        polynomials = [flint.arb_poly([1 - flint.arb(float(q)), flint.arb(float(q))]) for q in p]
        while len(polynomials) > 1:
            pairs = zip(polynomials[::2], [*polynomials[1::2], flint.arb_poly([1])], strict=False)
            polynomials = [a * b for a, b in pairs]
        exact = np.array([float(polynomials[0][i].mid()) for i in range(p.size + 1)])
    finally:
        flint.ctx.prec = before
    return exact, exact > least


def test_every_entry_is_relatively_accurate():
    """900 trials, all entries down to 1e-290."""
    p = np.random.default_rng(2).random(900) ** 3
    exact, known = enclosed(p, 1e-290)
    assert exact[known].min() < 1e-200
    np.testing.assert_allclose(poisson_binomial.pmf(p)[known], exact[known], rtol=1e-13)


def test_inversion_is_relatively_accurate():
    """Far below the variance from which on it is used, down to the least normal double."""
    p = 1 - np.random.default_rng(4).random(14_000) ** 2
    exact, known = enclosed(p, 2.3e-308)
    assert exact[known].min() < 1e-307
    law = poisson_binomial.law(p)
    np.testing.assert_allclose(law[known], exact[known], rtol=2e-12)
    assert law[~known].max() < 2.4e-308


def many(kind, rng):
    if kind == "unlike":
        return rng.random(90_200)
    if kind == "alike":
        return np.full(60_100, 0.5)
    if kind == "skew":
        return rng.random(240_000) ** 6
    return np.concatenate([np.zeros(999), np.ones(77), np.full(50_000, 1e-3), 1 - rng.random(220_000) * 0.18])


@pytest.mark.parametrize("kind", ["unlike", "alike", "skew", "mixed"])
def test_inversion_is_what_products_give(kind):
    p = many(kind, np.random.default_rng(5))
    assert poisson_binomial.LEAST_VARIANCE <= np.sum(p * (1 - p)) < 1.2 * poisson_binomial.LEAST_VARIANCE
    law, truth = poisson_binomial.pmf(p), poisson_binomial._by_products(p)
    assert not np.array_equal(law, truth)
    known = truth > 2.3e-308
    np.testing.assert_allclose(law[known], truth[known], rtol=2e-12)
    assert np.all(law >= 0) and law[~known].max() < 2.4e-308


def test_inversion_of_a_million_in_two_bulks():
    """Devices take part rarely or mostly: mass, mean and variance, the mean to a billionth of a device."""
    rng = np.random.default_rng(6)
    p = np.concatenate([0.4 * rng.random(500_000), 1 - 0.4 * rng.random(500_000)])
    law, n = poisson_binomial.pmf(p), np.arange(p.size + 1) - 500_000.0
    mean = float(np.sum(p[:500_000]) - np.sum(1 - p[500_000:]))
    assert law.sum() == pytest.approx(1.0, abs=1e-13)
    assert law[law > 0].min() < 1e-320
    assert law @ n == pytest.approx(mean, abs=1e-9)
    assert law @ (n - mean) ** 2 == pytest.approx(np.sum(p * (1 - p)), rel=1e-12)


@given(probabilities)
def test_leave_one_out_times_the_left_out_is_the_whole(p):
    distinct, multiplicity = np.unique(p, return_counts=True)
    for c, block in poisson_binomial.leave_one_out(distinct, multiplicity):
        whole = np.convolve(block.dense(len(p)), [1 - distinct[c], distinct[c]])
        np.testing.assert_allclose(whole, exact_pmf(p), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("multiplicity", [1, 3, 40])
def test_every_law_without_one_of_many_devices_has_its_relative_accuracy(multiplicity):
    """150 classes: nodes of several blocks of 64 trials, and classes too large for a block."""
    p = np.sort(np.random.default_rng(multiplicity).uniform(0, 1, 150))
    counts = np.where(np.arange(p.size) % 5 == 0, multiplicity, 1)
    laws = dict(poisson_binomial.leave_one_out(p, counts))
    assert sorted(laws) == list(range(p.size))
    for c in (0, 7, 63, 64, 100, 149):
        others = np.repeat(p, counts - (np.arange(p.size) == c))
        truth, law = poisson_binomial._by_products(others), laws[c].dense(others.size + 1)
        inside = truth > 1e-290
        error = poisson_binomial.relative_error(int(np.sum(counts)), p.size)
        assert np.all(np.abs(law - truth)[inside] <= 2 * error * truth[inside]) and error < 2e-11


def enumerated(p, x):
    law = {}
    for chosen in product((0, 1), repeat=len(p)):
        mass = np.prod([q if c else 1 - q for q, c in zip(p, chosen, strict=True)])
        value = float(np.dot(chosen, x))
        law[value] = law.get(value, 0.0) + mass
    return law


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 5)), min_size=1, max_size=7), st.sampled_from([8, 32, 4096]))
def test_weighted_sum_brackets_the_truth(pairs, cells):
    """Mass below any threshold: at least that of the upper ends, at most that of the lower ends."""
    p, x = zip(*pairs, strict=True)
    law = weighted_sum.law(p, x, cells=cells)
    truth = enumerated(p, x)
    assert law.probabilities.sum() == pytest.approx(1.0)
    if cells >= 2 ** len(p):
        assert law.slack == 0.0
    for threshold in [*truth, *law.values.tolist()]:
        below = sum(mass for value, mass in truth.items() if value <= threshold + 1e-12)
        lower = law.probabilities[law.values + law.slack <= threshold - 1e-12].sum()
        upper = law.probabilities[law.values <= threshold + law.slack + 2e-12].sum()
        assert lower - 1e-12 <= below <= upper + 1e-12


def test_weighted_sum_slack_shrinks_with_the_grid():
    rng = np.random.default_rng(3)
    p, x = rng.random(300), rng.random(300)
    coarse, fine = (weighted_sum.law(p, x, cells=cells) for cells in (512, 8192))
    assert fine.slack < coarse.slack / 10
    for law in (coarse, fine):
        mean = float(law.values @ law.probabilities)
        variance = float((law.values - mean) ** 2 @ law.probabilities)
        assert mean == pytest.approx(p @ x, rel=1e-12)
        assert 0 <= variance - float(p * (1 - p) @ x**2) <= law.spread


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 5)), min_size=2, max_size=7),
    st.sampled_from([8, 32]),
    st.floats(0.05, 3),
)
def test_both_ends_from_a_grid(pairs, cells, steepness):
    """Convex decreasing exp(-t v), whose second derivative is t^2 exp(-t v)."""
    p, x = zip(*pairs, strict=True)
    law = weighted_sum.law(p, x, cells=cells)
    truth = np.prod([1 - q + q * np.exp(-steepness * y) for q, y in pairs])
    above = float(law.probabilities @ np.exp(-steepness * law.values))
    curvature = steepness**2 * np.exp(-steepness * (law.values - law.slack))
    below = above - law.spread / 2 * float(law.probabilities @ curvature)
    assert below <= truth * (1 + 1e-12) and truth <= above * (1 + 1e-12)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 5)), min_size=9, max_size=30))
def test_leaving_out_negligible_mass_bounds_decreasing_functions(pairs):
    p, x = (np.array(column) for column in zip(*sorted(set(pairs)), strict=True))
    once = np.ones(p.size, dtype=np.int64)
    laws = dict(weighted_sum.leave_one_out(p, x, once, cells=64, negligible=1e-2))
    for c in (0, p.size - 1):
        others = np.delete(np.arange(p.size), c)
        truth = np.prod(1 - p[others] + p[others] * np.exp(-x[others]))
        law = laws[c]
        above = float(law.probabilities @ np.exp(-law.values)) + law.missing
        assert truth * (1 - 1e-12) <= above
        assert law.missing <= 1e-2 and above - 2 * law.missing <= truth + law.spread / 2 * np.exp(law.slack) + 1e-12


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000), st.integers(60, 120), st.floats(-3, -0.5), st.sampled_from([1e-12, 1e-6]))
def test_one_law_of_all_devices_bounds_the_sum_over_the_others(seed, devices, log_steepness, negligible):
    """Convex exp(-t V), whose mean is a product; the least value is above the slack, as where this law is used."""
    rng, t = np.random.default_rng(seed), 10**log_steepness
    p, x = rng.uniform(0.7, 1.0, devices), rng.uniform(1.0, 3.0, devices)
    total = weighted_sum.law(p, x, cells=512, negligible=negligible)
    law, offset = weighted_sum.without_one(weighted_sum.allowing_for_missing(total), p, x)
    assert law.values[0] - offset[0] > law.slack
    for k in range(5):
        truth = np.prod(np.delete(1 - p + p * np.exp(-t * x), k))
        mean = float(law.probabilities @ np.exp(-t * (law.values - offset[k])))
        bend = t**2 * float(law.probabilities @ np.exp(-t * (law.values - offset[k] - law.slack)))
        assert truth <= (mean + law.missing) * (1 + 1e-9)
        assert mean - 2 * law.missing - law.spread / 2 * bend <= truth * (1 + 1e-9)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([512, 520, 1300]), st.sampled_from([0.0, 30.0, 1e4]), st.floats(-2, 1))
def test_the_law_of_many_unlike_devices_adds_no_more_than_it_says(seed, devices, loudest, log_steepness):
    """Mean, variance, and convex exp(-t V), whose mean is a product; some devices are alike, and one may be loud."""
    rng = np.random.default_rng(seed)
    p, x = rng.random(devices), rng.lognormal(0.0, 1.0, devices)
    p, x = np.append(p, [0.3, 0.3, 0.6, 0.9]), np.append(x, [1.0, 1.0, 1.0, loudest])
    law = weighted_sum.law(p, x, cells=1024)
    mean, variance = float(p @ x), float(p * (1 - p) @ x**2)
    assert law.values.size <= 1025 and law.probabilities.sum() == pytest.approx(1.0)
    assert float(law.values @ law.probabilities) == pytest.approx(mean, rel=1e-12)
    added = float((law.values - mean) ** 2 @ law.probabilities) - variance
    assert -1e-9 * variance <= added <= law.spread * (1 + 1e-9) and law.slack < 0.06 * np.sum(x)
    t = 10**log_steepness / np.sqrt(variance)
    truth = np.exp(np.sum(np.log1p(p * np.expm1(-t * x))) + t * mean)
    above = float(law.probabilities @ np.exp(-t * (law.values - mean)))
    below = above - law.spread / 2 * t**2 * float(law.probabilities @ np.exp(-t * (law.values - law.slack - mean)))
    assert below <= truth * (1 + 1e-8) and truth <= above * (1 + 1e-8)


def test_many_rare_or_small_devices_raise_nothing():
    """Also where the caller has rounding to 0 raised as an error."""
    p, x = np.full(600, 1e-200), np.linspace(1.0, 2.0, 600)
    with np.errstate(all="raise"):
        for chances, values in ((p, x), (10.0 ** -np.linspace(0, 60, 600), x), (0 * p + 0.5, 10.0 ** np.linspace(-300, 0, 600))):
            law = weighted_sum.law(chances, values, cells=512)
            assert law.probabilities.sum() == pytest.approx(1.0) and np.isfinite(law.slack)


def test_what_is_missing_from_a_grid_counts_for_its_curvature_too():
    rng = np.random.default_rng(4)
    p, x = rng.random(40), rng.random(40)
    trimmed, exact = (weighted_sum.law(p, x, cells=64, negligible=share) for share in (1e-3, 0.0))
    allowed = weighted_sum.allowing_for_missing(trimmed)
    assert 0 < trimmed.missing < 1e-3 and allowed.missing == min(1000 * trimmed.missing, 1.0)
    assert allowed.spread == pytest.approx(trimmed.spread * 500 / 499) and weighted_sum.allowing_for_missing(exact) == exact


def test_quantile_of_a_law():
    law = weighted_sum.law([0.5, 0.5], [1.0, 2.0])
    assert [law.quantile(level) for level in (0.0, 0.2, 0.3, 0.6, 1.0)] == [0.0, 0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("p", [0.5, [0.5, 1.1], [np.nan], ["x"], [[0.1], [0.2, 0.3]]])
def test_bad_probabilities(p):
    with pytest.raises(ParameterError):
        poisson_binomial.pmf(p)


def test_bad_weights():
    with pytest.raises(ParameterError, match="x"):
        weighted_sum.law([0.5], [-1.0])
    with pytest.raises(ParameterError, match="cells"):
        weighted_sum.law([0.5], [1.0], cells=1)
    with pytest.raises(ParameterError, match="negligible = nan: must be a number in"):
        weighted_sum.law([0.5], [1.0], negligible=np.nan)
    with pytest.raises(ParameterError, match="broadcastable"):
        weighted_sum.law([0.5, 0.5], [1.0, 1.0, 1.0])
