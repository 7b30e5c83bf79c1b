"""Three observers: known numbers, independent quadratures, order, what is monotone and what is not, extremes."""

import dataclasses
import math
from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats
from scipy.interpolate import CubicSpline
from scipy.special import logsumexp
from support.common import GOOD, refused, run, written

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian, neyman_pearson
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture import hidden_divergence, signal_lower_bound
from airtight.analytics.privacy.over_the_air.participation_mixture.signal_lower_bound import gamma_cells
from airtight.system_file.config import load
from airtight.validate.claims import reference_integrals

ONE = np.ones(1)
TWENTY = InferenceSystem(
    devices=20,
    participation=[0.1] + 19 * [1.0],
    noise_variance=0.1,
    weight=0.31632347486426876,  # the Gaussian mechanism with all noise: epsilon .820
    clip=1.0,
    alignment=1.0,
    receiver_noise_variance=0.0,
    dimension=784,
    delta=1e-5,
    delta_prime=1e-5,
    adjacency="silent",
)


def with_(system, **changes):
    """Another system; of another size with what is not given as for the first device."""
    if changes.get("devices", system.devices) != system.devices:
        each = ("participation", "noise_variance", "weight", "clip")
        changes = {**{name: getattr(system, name)[0] for name in each}, **changes}
    return dataclasses.replace(system, **changes)


def log_curve(eps, p, d, v, s, r, replace):
    return [
        float(x[0])
        for x in hidden_divergence.log_curve(*(x * ONE for x in (eps, p, d, v, s)), dimension=r, replace=replace)
    ]


# Known numbers.


@pytest.mark.parametrize(
    ("dimension", "others"), [(1, 0.1194), (8, 0.1222), (64, 0.1444), (784, 0.3557), (25088, 0.6809)]
)
def test_twenty_devices(dimension, others):
    assert float(gaussian.epsilon(1e-5, sensitivity=TWENTY.weight[0], sigma=math.sqrt(2))) == pytest.approx(0.82)
    system = with_(TWENTY, dimension=dimension)
    assert float(airtight.epsilon(system, observer="participants")[0]) == pytest.approx(0.6823, abs=5e-5)
    assert float(airtight.epsilon(system, observer="others")[0]) == pytest.approx(others, abs=6e-5)
    low, high = observers.signal_bracket(system, device=0)  # the others' noise is constant
    assert low <= high <= low * (1 + 1e-8)


def test_codes_of_the_others_in_one_dimension():
    """One other device, p = .5: its code shifts y. Zero codes are the lower end, no code the upper."""
    system = with_(
        TWENTY,
        devices=2,
        participation=[0.3, 0.5],
        noise_variance=[0.05, 2.0],
        weight=1.0,
        receiver_noise_variance=0.05,
        dimension=1,
    )
    assert float(airtight.delta(system, 0.5, observer="others")[0]) == pytest.approx(0.1307, abs=5e-5)
    zero = signal_lower_bound.SignalTest(
        np.array([0.05, 2.05]), np.array([0.5, 0.5]), 0.0, 0.3, 1.0, 0.05, 1, Adjacency.SILENT
    )
    for code, truth in ((0.0, 0.0713), (-1.0, 0.1143), (-3.0, 0.1295)):
        P, Q = ([(0.15, x, 0.1), (0.15, x + code, 2.1), (0.35, 0.0, 0.05), (0.35, code, 2.05)] for x in (1.0, 0.0))
        found = reference_integrals.mixture_divergence(0.5, P, Q)
        assert found == pytest.approx(truth, abs=5e-5)
        if code == 0:
            assert zero.delta(0.5, 1e-12) == pytest.approx(found, rel=1e-5)
            assert zero.delta(0.5, 1e-12) <= found * (1 + 1e-9)


# Independent computations of the hidden device.


def with_many_digits(eps, p, d, v, s, r, replace):
    """The other order: over the axis, the norm across in closed form; 40 digits."""
    with mpmath.workdps(40):
        eps, p, d, v, s = map(mpmath.mpf, (eps, p, d, v, s))
        m, eta, lam, a = d / mpmath.sqrt(v + s), s / v, mpmath.exp(eps), mpmath.mpf(r - 1) / 2
        n, f = (m / 2, -m / 2) if replace else (m, mpmath.mpf(0))
        c, scale = (lam - 1) * (1 - p) / p, mpmath.sqrt(1 + eta)

        def edge(x):  # half the squared norm beyond which (x, norm) belongs to the best set
            gain = mpmath.exp(n * x - n * n / 2) - lam * mpmath.exp(f * x - f * f / 2)
            if gain <= 0:
                return None
            return (mpmath.log(c) + mpmath.mpf(r) / 2 * mpmath.log(1 + eta) - mpmath.log(gain)) / eta - x * x / 2

        def integrand(x):
            t = edge(x)
            if t is None:
                return mpmath.mpf(0)

            def beyond(k):
                return mpmath.mpf(1) if t <= 0 else mpmath.gammainc(a, k * t, mpmath.inf, regularized=True)

            signal = mpmath.npdf(x - n) - lam * mpmath.npdf(x - f)
            return signal * beyond(1) - c * scale * mpmath.npdf(x * scale) * beyond(1 + eta)

        start = eps / (n - f) + (n + f) / 2
        low, high = start + mpmath.mpf("1e-30"), start + 30
        if edge(high) is not None and edge(high) < 0:
            for _ in range(130):
                middle = (low + high) / 2
                low, high = (middle, high) if edge(middle) > 0 else (low, middle)
        ends = [start + (low - start) * k / 12 for k in range(13)] + [low + mpmath.mpf(k) / 2 for k in range(1, 25)]
        return float(mpmath.log(p * mpmath.quad(integrand, ends)))


@pytest.mark.parametrize(
    ("eps", "p", "d", "v", "s", "r", "replace"),
    [
        (0.5, 0.5, 0.5, 1.0, 3.0, 2, False),
        (3.0, 0.1, 0.8, 1.0, 0.1, 5, True),
        (3.4, 0.9, 0.45, 1.0, 0.5, 5, False),  # delta 1e-30
        (0.66, 0.01, 0.15, 1.0, 1.8, 64, False),
        (1.2, 0.99, 0.4, 1.0, 1.4, 64, True),
    ],
)
def test_against_many_digits(eps, p, d, v, s, r, replace):
    value, _, error = log_curve(eps, p, d, v, s, r, replace)
    truth = with_many_digits(eps, p, d, v, s, r, replace)
    assert abs(math.log(p) + value - truth) <= error <= 1e-9


def convexity_bracket(eps, p, d, v, s, r, replace, cells=2000):
    """Both ends, as the best half-line's value is convex in the weight of the common component: chords and tangents of it."""
    m, eta, a = d / math.sqrt(v + s), s / v, (r - 1) / 2
    near = m / 2 if replace else m
    least, most = np.sqrt(special.gammaincinv(a, 1e-20)), np.sqrt(special.gammainccinv(a, 1e-250))
    u = np.linspace(least, most, cells + 1)
    t = u * u
    log_ratio = a * np.log1p(eta) - eta * t
    each = (np.full(t.size, x) for x in (eps, p, near, near - m))
    best = neyman_pearson.best(*each, log_ratio, np.full(t.size, eta))
    with np.errstate(all="ignore"):
        value, tilt = np.exp(best.log_value), np.exp(log_ratio)
        drop = value * best.common / tilt
        mass, tilted = gamma_cells(a, t), gamma_cells(a, (1 + eta) * t)
        below = np.fmax(value[1:] * mass + drop[1:] * (tilt[1:] * mass - tilted), value[:-1] * mass)
        share = np.nan_to_num((tilted - tilt[1:] * mass) / (tilt[:-1] - tilt[1:]), nan=0.0)
        above = value[1:] * mass + (value[:-1] - value[1:]) * np.clip(share, 0.0, mass)
    inside = special.gammaincc(a, t[-1])
    low = np.sum(below) + inside * value[-1]
    visible = math.exp(gaussian.log_curve(np.array([eps]), np.array([m]))[0][0])
    high = np.sum(above) + inside * visible + special.gammainc(a, t[0]) * value[0]
    return float(p * low), float(p * high)


HIDDEN = {
    "p": st.floats(-3, 0).map(lambda e: 10**e),
    "d": st.floats(-1, 0.7).map(lambda e: 10**e),
    "s": st.floats(-3, 1.5).map(lambda e: 10**e),
    "r": st.sampled_from([2, 3, 8, 64, 784, 25088]),
    "replace": st.booleans(),
}


@given(z=st.floats(0, 6), **HIDDEN)
def test_inside_the_bracket_that_convexity_proves(z, p, d, s, r, replace):
    m = d / math.sqrt(1 + s)
    eps = m * z + m * m / 2
    value, _, error = log_curve(eps, p, d, 1.0, s, r, replace)
    low, high = convexity_bracket(eps, p, d, 1.0, s, r, replace)
    found = p * math.exp(value)
    if found > 1e-200 and math.isfinite(error):
        assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)
        assert error < (1e-8 if found > 1e-40 else 1e-3)


@given(share=st.floats(0.001, 3), **{**HIDDEN, "replace": st.just(False)})
@settings(max_examples=25)
def test_the_other_order_is_not_above_the_first_and_has_its_slope(share, p, d, s, r, replace):
    """Below half the square of the distance the best set may have a hole."""
    eps = share * d * d / (1 + s) / 2
    problem = [x * ONE for x in (eps, p, d, 1.0, s)]
    value, slope, error = (
        float(x[0]) for x in hidden_divergence.log_curve(*problem, dimension=r, replace=False, reverse=True)
    )
    if p * math.exp(value) > 1e-200 and math.isfinite(error):
        assert error < 1e-6 and value - error <= log_curve(eps, p, d, 1.0, s, r, False)[0] + 1e-9
        near = (
            float(hidden_divergence.log_curve(x * ONE, *problem[1:], dimension=r, replace=False, reverse=True)[0][0])
            for x in (eps * (1 - 1e-5), eps * (1 + 1e-5))
        )
        assert -np.subtract(*near) / (2e-5 * eps) == pytest.approx(slope, rel=1e-3, abs=1e-6)


def by_densities(eps, p, d, v, s, r, replace, reverse):
    """The divergence from the densities themselves, on a grid of the axis and of the norm across it."""
    here, there = (d / 2, -d / 2) if replace else (0.0, d) if reverse else (d, 0.0)
    w, a = v + s, (r - 1) / 2
    t = np.linspace(-9 * math.sqrt(w) - d, 9 * math.sqrt(w) + d, 6001)
    u, step = np.linspace(0, math.sqrt(2 * a * w) + 9 * math.sqrt(w), 2001, retstep=True)
    u = u[1:] - step / 2
    norm = (r - 2) * np.log(u) + (1 - a) * math.log(2) - math.lgamma(a)

    def density(variance, mean):
        along = np.exp(-((t - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        return along[:, None] * np.exp(norm - u * u / (2 * variance) - a * math.log(variance))

    common = (1 - p) * density(v, 0.0)
    gap = p * density(w, here) + common - math.exp(eps) * (p * density(w, there) + common)
    return float(np.trapezoid(np.sum(np.maximum(gap, 0.0), axis=1) * step, t))


@pytest.mark.parametrize("r", [2, 3, 8, 100])
@pytest.mark.parametrize("replace, reverse", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(
    "eps, p, d, v, s", [(0.3, 0.7, 0.8, 1.1, 0.2), (0.02, 0.2, 3.0, 0.3, 1.5), (2.0, 0.9, 4.0, 0.5, 0.6)]
)
def test_the_single_integral_is_that_of_the_densities(r, replace, reverse, eps, p, d, v, s):
    each = (np.array([x]) for x in (eps, p, d, v, s))
    value, _, error = hidden_divergence.log_curve(*each, dimension=r, replace=replace, reverse=reverse)
    assert p * math.exp(value[0]) == pytest.approx(by_densities(eps, p, d, v, s, r, replace, reverse), rel=3e-5)
    assert error[0] < 1e-9


def with_thirty_digits(eps, p, d, v, s, r, near):
    """The integral of the module's notes by tanh-sinh quadrature between its kinks."""
    with mpmath.workdps(30):
        eps, p, d, v, s = (mpmath.mpf(float(x)) for x in (eps, p, d, v, s))
        m, eta, a = d / mpmath.sqrt(v + s), s / v, mpmath.mpf(r - 1) / 2
        b = near * m
        level = (
            mpmath.log(p / (1 - p)) - mpmath.log(mpmath.expm1(eps)) - b * b / 2 - mpmath.mpf(r) / 2 * mpmath.log1p(eta)
        )

        def excess(x):
            zeta, chi = m * x, (eps / m - m / 2) + x + b
            return level + mpmath.log(-mpmath.expm1(-zeta)) + eta * chi * chi / 2 + b * chi

        def integrand(x):
            alpha, over = eps / m - m / 2 + x, excess(x)
            tau = -over / eta
            if a == 0:
                rest = max(-mpmath.expm1(-over), mpmath.mpf(0))
            elif tau <= 0:
                rest = 1 - mpmath.exp(-over) * (1 + eta) ** -a
            else:
                rest = mpmath.gammainc(a, tau, regularized=True)
                rest -= mpmath.exp(-over) * (1 + eta) ** -a * mpmath.gammainc(a, (1 + eta) * tau, regularized=True)
            return mpmath.npdf(alpha) * -mpmath.expm1(-m * x) * rest

        places = [mpmath.mpf(10) ** -k for k in range(12, 0, -1)] + [mpmath.mpf(k) / 50 for k in range(6, 1000)]
        signs = [excess(x) > 0 for x in places]
        pairs = zip(places, places[1:], signs, signs[1:], strict=False)
        kinks = [mpmath.findroot(excess, (x, y), solver="anderson") for x, y, one, other in pairs if one != other]
        ends = sorted([mpmath.mpf(0), *places[:12:3], *places[12::50], *kinks, places[-1]])
        return mpmath.log(mpmath.quad(integrand, ends))


@pytest.mark.parametrize(
    "p, d, s, r, eps",
    [
        (0.751, 1.8125, 0.11859, 100, 0.0182),
        (0.217, 5.8025, 1.59167, 8, 6.52837),
        (0.00225, 2.38211, 29.0747, 8, 0.008286),
        (0.7123678, 2.2975, 0.62309, 1, 1.00531),
        (0.7123678, 2.2975, 0.62309, 2, 1.00531),
    ],
)
def test_at_and_beside_kinks(p, d, s, r, eps):
    """Where an interval of the best set appears, or just does not: the proved error holds."""
    v = 0.3 if r > 2 else 0.12271
    for at in eps * (1 + 1e-3 * np.array([0.0, 1.0])):
        each = (np.array([x]) for x in (at, p, d, v, s))
        value, _, error = hidden_divergence.log_curve(*each, dimension=r, replace=False, reverse=True)
        assert abs(value[0] - with_thirty_digits(at, p, d, v, s, r, 0)) <= error[0] < 1e-9


@given(z=st.floats(0.1, 6), **HIDDEN)
@settings(max_examples=25)
def test_slope(z, p, d, s, r, replace):
    m = d / math.sqrt(1 + s)
    eps = m * z + m * m / 2
    (low, _, _), (_, slope, error), (high, _, _) = (
        log_curve(e, p, d, 1.0, s, r, replace) for e in (eps * (1 - 1e-5), eps, eps * (1 + 1e-5))
    )
    if math.isfinite(error) and low > -600:
        assert slope == pytest.approx((high - low) / (2e-5 * eps), rel=1e-3, abs=1e-6)


def test_monte_carlo_at_the_papers_dimension(paper):
    """The expected excess of a sampled likelihood ratio, K = 12, r = 784."""
    system = with_(paper, adjacency="silent", clip=3.0)
    eps, rng, n = 0.4, np.random.default_rng(1), 200_000
    present = rng.random(n) < 0.9
    v = 0.1 * (1 + rng.binomial(11, 0.9, n))
    spread = np.where(present, v + 0.1, v)
    axial = np.sqrt(spread) * rng.standard_normal(n) + 0.25 * present
    across = spread * rng.chisquare(783, n)

    def log_density(x, variance):
        return -(x * x + across) / (2 * variance) - 392 * np.log(variance)

    away = math.log(0.1) + log_density(axial, v)
    P, Q = (np.logaddexp(math.log(0.9) + log_density(axial - x, v + 0.1), away) for x in (0.25, 0.0))
    excess = np.maximum(-np.expm1(eps + Q - P), 0.0)
    truth = float(airtight.delta(system, eps, observer="others")[0])
    assert np.mean(excess) == pytest.approx(truth, abs=5 * np.std(excess) / math.sqrt(n))
    assert truth < float(airtight.delta(system, eps)[0])

    # y alone, the others' codes zero: the same samples under mixtures over how many of them take part
    count = np.arange(12)
    noise, chance = 0.1 * (1 + count), stats.binom.logpmf(count, 11, 0.9)

    def mixed(x, own):
        return logsumexp([w + log_density(x, u + own) for w, u in zip(chance, noise, strict=True)], axis=0)

    away = math.log(0.1) + mixed(axial, 0.0)
    P, Q = (np.logaddexp(math.log(0.9) + mixed(axial - x, 0.1), away) for x in (0.25, 0.0))
    excess = np.maximum(-np.expm1(eps + Q - P), 0.0)
    one = signal_lower_bound.SignalTest(noise, np.exp(chance), 0.0, 0.9, 0.25, 0.1, 784, Adjacency.SILENT)
    found = one.delta(eps, 1e-9)
    assert np.mean(excess) == pytest.approx(found, abs=5 * np.std(excess) / math.sqrt(n))
    assert found < truth


def test_zero_codes_of_nobody():
    """Others whose noise is constant: the lower end is the exact value, from below."""
    one = signal_lower_bound.SignalTest(np.array([1.1]), np.ones(1), 0.0, 0.9, 0.4, 0.1, 784, Adjacency.SILENT)
    truth = 0.9 * math.exp(log_curve(1.0, 0.9, 0.4, 1.1, 0.1, 784, False)[0])
    assert truth * (1 - 2e-4) <= one.delta(1.0, 1e-9) <= truth


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_all_sets_of_four_devices(adjacency):
    system = with_(
        TWENTY,
        devices=4,
        participation=[0.4, 0.2, 0.7, 1.0],
        noise_variance=[0.5, 0.3, 0.8, 0.1],
        weight=0.7,
        receiver_noise_variance=0.2,
        dimension=6,
        adjacency=adjacency,
    )
    for eps in (0.0, 0.3, 2.0):
        total = 0.0
        for chosen in product((0, 1), repeat=3):
            weight = math.prod(q if c else 1 - q for q, c in zip((0.2, 0.7, 1.0), chosen, strict=True))
            v = 0.2 + float(np.dot(chosen, (0.3, 0.8, 0.1)))
            d = 0.7 * (2 if adjacency == "replace" else 1)
            total += weight * 0.4 * math.exp(log_curve(eps, 0.4, d, v, 0.5, 6, adjacency == "replace")[0])
        low, high = observers.exact_delta_bracket(system, eps, observer="others", device=0)
        assert low <= total * (1 + 1e-13) and total * (1 - 1e-13) <= high <= low * (1 + 1e-9)


def test_noise_on_a_grid():
    """Sixteen different devices: all 32 768 sets, by a spline in log v."""
    rng = np.random.default_rng(3)
    noise = rng.uniform(0.05, 0.2, 16)
    p = rng.uniform(0.1, 0.9, 16)
    system = with_(
        TWENTY,
        devices=16,
        participation=p,
        noise_variance=noise,
        weight=0.4,
        receiver_noise_variance=0.1,
        dimension=64,
    )
    eps = 1.5
    values, weights = np.array([0.1]), np.ones(1)
    for q, s in zip(p[1:], noise[1:], strict=True):
        values, weights = np.concatenate([values, values + s]), np.concatenate([weights * (1 - q), weights * q])
    places = np.linspace(math.log(0.0999), math.log(values.max() * 1.001), 120)
    each = np.ones(120)
    curve = hidden_divergence.log_curve(
        eps * each, p[0] * each, 0.4 * each, np.exp(places), noise[0] * each, dimension=64, replace=False
    )[0]
    truth = p[0] * float(weights @ np.exp(CubicSpline(places, curve)(np.log(values))))
    low, high = observers.exact_delta_bracket(system, eps, observer="others", device=0)
    assert low * (1 - 1e-7) <= truth <= high * (1 + 1e-7)
    assert high / low < 1 + 1e-4


# The theorems.


def densities(d, v, s, weights, r):
    """Axis and norm across on a grid: f_d, f_0, h and the cell."""
    x, rho = np.linspace(-14, 14, 1401), np.linspace(1e-6, 14, 701)
    X, R = np.meshgrid(x, rho)

    def density(mean, variance):
        root = math.sqrt(variance)
        across = stats.chi.pdf(R / root, r - 1) / root if r > 1 else 1.0
        return stats.norm.pdf(X, mean, root) * across

    def mixed(mean, own):
        return sum(w * density(mean, u + own) for w, u in zip(weights, v, strict=True))

    return mixed, (x[1] - x[0]) * (rho[1] - rho[0])


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("eps", [0.2, 1.0])
def test_zero_codes_by_a_grid(adjacency, eps):
    """The concentric mixtures, both directions; the reverse of `silent` is the smaller."""
    v, weights, p, d, s, r = np.array([0.4, 1.1, 2.3]), np.array([0.3, 0.5, 0.2]), 0.45, 1.3, 0.6, 4
    mixed, cell = densities(d, v, s, weights, r)
    near, far = {"silent": (d, 0.0), "replace": (d / 2, -d / 2)}.get(adjacency.value, (d, None))
    common = mixed(0.0, 0.0)
    P = p * mixed(near, s) + (1 - p) * common
    Q = common if far is None else p * mixed(far, s) + (1 - p) * common
    lam = math.exp(eps)
    forward, reverse = (float(np.sum(np.maximum(A - lam * B, 0))) * cell for A, B in ((P, Q), (Q, P)))
    if adjacency is Adjacency.SILENT:
        assert reverse <= forward * (1 + 1e-6)
    one = signal_lower_bound.SignalTest(v, weights, 0.0, p, d, s, r, adjacency)
    found = one.delta(eps, 1e-12)
    assert found == pytest.approx(max(forward, reverse), rel=2e-4)


def test_the_axial_set_may_be_several_intervals():
    v, weights = np.array([0.05, 4.0]), np.array([0.5, 0.5])
    P, Q = ([(0.45, x, 0.1), (0.45, x, 4.05), (0.05, 0.0, 0.05), (0.05, 0.0, 4.0)] for x in (1.0, 0.0))
    x = np.linspace(0, 6, 60001)

    def density(parts):
        return sum(w * stats.norm.pdf(x, m, math.sqrt(u)) for w, m, u in parts)

    turns = x[np.flatnonzero(np.diff(np.sign(density(P) - 2 * density(Q))))]
    np.testing.assert_allclose(turns, [0.613, 1.704, 3.523], atol=2e-3)
    one = signal_lower_bound.SignalTest(v, weights, 0.0, 0.9, 1.0, 0.05, 1, Adjacency.SILENT)
    truth = reference_integrals.mixture_divergence(math.log(2), P, Q)
    assert one.delta(math.log(2), 1e-12) == pytest.approx(truth, rel=1e-4)


def _zero_codes_on_a_line(v, weights, p, d, s, epsilon):
    """delta of an absent device for zero codes of the others, in one dimension: a half-line, by mpmath."""
    lam = mpmath.exp(epsilon)

    def value(f, t):
        parts = ((p * f((t - d) / mpmath.sqrt(x + s)), (lam - 1 + p) * f(t / mpmath.sqrt(x))) for x in v)
        return sum(w * (present - absent) for w, (present, absent) in zip(weights, parts, strict=True))

    def density(t):
        parts = ((p * mpmath.npdf(t, d, mpmath.sqrt(x + s)), mpmath.npdf(t, 0, mpmath.sqrt(x))) for x in v)
        return sum(w * (present - (lam - 1 + p) * absent) for w, (present, absent) in zip(weights, parts, strict=True))

    low, high = mpmath.mpf(d) / 2, mpmath.mpf(d) * 20
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (low, middle) if density(middle) > 0 else (middle, high)
    return value(lambda z: mpmath.erfc(z / mpmath.sqrt(2)) / 2, high)


@pytest.mark.parametrize(("epsilon", "d"), [(600.0, 20.0), (520.0, 18.0), (350.0, 14.0), (40.0, 3.0), (600.0, 30.0)])
def test_zero_codes_where_tails_underflow(epsilon, d):
    """exp(epsilon) times a tail may be the greatest term although the tail is below all doubles."""
    v, weights, p, s = [1.0, 2.0], [0.5, 0.5], 0.5, 1.0
    mixture = signal_lower_bound.SignalTest(np.array(v), np.array(weights), 0.0, p, d, s, 1, Adjacency.ABSENT)
    with mpmath.workdps(60):
        assert mixture.delta(epsilon, 1e-200) <= _zero_codes_on_a_line(v, weights, p, d, s, epsilon)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("p", "epsilon"), [(1.0, 1.0), (1.0, 0.0), (0.5, 0.0)])
def test_zero_codes_where_a_term_vanishes(adjacency, p, epsilon):
    """The common component has the factor (lambda - 1)(1 - p); `silent` and `replace` are one Gaussian mechanism then."""
    delta = signal_lower_bound.SignalTest(np.ones(1), np.ones(1), 0.0, p, 1.3, 0.0, 1, adjacency).delta(epsilon, 1e-12)
    assert delta == pytest.approx(p * float(gaussian.delta(epsilon, sensitivity=1.3, sigma=1.0)), rel=1e-3)


def test_zero_codes_of_thousands_of_devices_whose_variances_are_rounded(paper):
    """In upper bounds a sum of noises is lowered for its rounding: the lower bound has to make up for it."""
    system = dataclasses.replace(
        paper, devices=4000, participation=0.999, noise_variance=1e-3, clip=1.0, weight=1.0, dimension=1, adjacency="silent"
    )
    (part,) = observers.participations(system, np.array([0]), 0.0, observers.mixture_model(system, Observer.OTHERS)[1])
    mixture = signal_lower_bound.SignalTest.of(part, 0)
    assert mixture.variance_error >= 8000 * 2.0**-52
    low = 1 - mixture.variance_error
    rounded = signal_lower_bound.SignalTest(
        np.array([low]), np.ones(1), 0.0, 0.999, 20.0, 1e-3, 1, Adjacency.ABSENT, mixture.variance_error
    )
    with mpmath.workdps(40):
        truth = _zero_codes_on_a_line([1.0], [1.0], 0.999, 20.0, 1e-3, 300.0)
        assert truth * (1 - 1e-6) <= rounded.delta(300.0, 1e-40) <= truth


@given(st.floats(0.0, 2), st.floats(0.05, 0.95), st.floats(0, 1), st.floats(0, math.pi), st.floats(0, 2))
@settings(max_examples=25)
def test_opposite_features_are_the_worst_pair_of_a_hidden_device(eps, p, length, angle, s):
    """Any other pair of features of norm at most a, in the plane, by a grid."""
    a, v = 0.8, 0.7
    x = np.linspace(-9, 9, 301)
    X, Y = np.meshgrid(x, x)

    def density(u, w, variance):
        return np.exp(-((X - u) ** 2 + (Y - w) ** 2) / (2 * variance)) / (2 * np.pi * variance)

    common = (1 - p) * density(0, 0, v)
    P = p * density(a, 0, v + s) + common
    Q = p * density(length * a * math.cos(angle), length * a * math.sin(angle), v + s) + common
    other = float(np.sum(np.maximum(P - math.exp(eps) * Q, 0))) * (x[1] - x[0]) ** 2
    assert other <= p * math.exp(log_curve(eps, p, 2 * a, v, s, 2, True)[0]) + 1e-4


# Order, and what is monotone.


@st.composite
def systems(draw):
    devices = draw(st.integers(1, 4))

    def each(values):
        return draw(st.lists(values, min_size=devices, max_size=devices))

    return InferenceSystem(
        devices=devices,
        participation=each(st.one_of(st.floats(0.01, 1), st.sampled_from([0.0, 1.0]))),
        noise_variance=each(st.one_of(st.floats(-2, 1).map(lambda e: 10**e), st.just(0.0))),
        weight=each(st.one_of(st.floats(-1, 0.5).map(lambda e: 10**e), st.just(0.0))),
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=draw(st.one_of(st.floats(-2, 1).map(lambda e: 10**e), st.just(0.0))),
        dimension=draw(st.sampled_from([1, 2, 9, 784])),
        delta=10 ** -draw(st.floats(1, 30)),
        delta_prime=1e-5,
        adjacency=draw(st.sampled_from(list(Adjacency))),
        idle_noise=draw(st.booleans()),
    )


@given(systems())
@settings(max_examples=12)
def test_who_sees_more_gets_more(system):
    seen, others, auto = (np.asarray(airtight.epsilon(system, observer=o)) for o in ("participants", "others", "auto"))
    assert np.all(seen >= others * (1 - 1e-9))
    known = seen if observers.default_observer(system) is Observer.PARTICIPANTS else others
    np.testing.assert_allclose(auto, known, rtol=1e-9)
    np.testing.assert_allclose(auto, system_privacy.epsilon(system), rtol=1e-12)
    assert np.all(np.asarray(airtight.epsilon(system, observer="signal")) == others)
    for k in np.flatnonzero(np.isfinite(others)):
        assert airtight.delta(system, float(others[k]), observer="others")[k] <= system.delta * (1 + 1e-9)


@given(systems())
@settings(max_examples=12)
def test_the_interval_of_the_signal(system):
    system = with_(system, dimension=min(system.dimension, 9))
    low, high = observers.signal_bracket(system)
    assert np.all((low >= 0) & (low <= high))


def _first(values, factor):
    return np.concatenate([[values[0] * factor], values[1:]])


@given(systems(), st.floats(1.0, 10.0))
@settings(max_examples=10)
def test_epsilon_of_others_never_falls_with(system, factor):
    """Less delta, more weight, alignment, own participation; less receiver noise, less noise or participation of the others."""
    before = float(observers.exact_epsilon(system, observer="others", device=0))
    rest = np.concatenate([[1.0], np.full(system.devices - 1, 1 / factor)])
    for change in (
        {"delta": system.delta / factor},
        {"weight": _first(system.weight, factor)},
        {"alignment": system.alignment * factor},
        {"participation": _first(system.participation, min(factor, 1 / max(system.participation[0], 0.1)))},
        {"receiver_noise_variance": system.receiver_noise_variance / factor},
        {"noise_variance": system.noise_variance * rest},
        {"participation": system.participation * rest},
    ):
        after = float(observers.exact_epsilon(with_(system, **change), observer="others", device=0))
        assert after >= before * (1 - 1e-9), change


def test_own_noise_may_give_a_hidden_device_away():
    """Not monotone in the own noise: epsilon rises, then falls."""
    own = [0.0, 0.1, 0.3, 1.0, 3.0]
    found = [
        float(observers.exact_epsilon(with_(TWENTY, noise_variance=[s] + 19 * [0.1]), observer="others", device=0))
        for s in own
    ]
    assert found[0] < found[1] < found[2] > found[3] > found[4]


# Extremes.


def test_a_roll_call_tells_an_absent_device():
    system = with_(TWENTY, adjacency="absent", participation=[1e-6, 1e-5] + 18 * [0.5], weight=0.0)
    seen = airtight.epsilon(system, observer="participants")
    assert list(seen[:3]) == [0.0, 0.0, np.inf]
    for epsilon in (7.0, np.inf):  # at infinity the limit, as for a curve
        np.testing.assert_array_equal(airtight.delta(system, epsilon, observer="participants"), system.participation)


def test_idle_noise_hides_nothing_from_who_sees_the_roll(paper):
    system = with_(paper, idle_noise=True, adjacency="silent", participation=0.3)
    sigma = math.sqrt(12 * 0.1 + 0.1)
    truth = gaussian.epsilon(1e-5 / 0.3, sensitivity=5 / 12, sigma=sigma)
    np.testing.assert_allclose(airtight.epsilon(system, observer="participants"), truth, rtol=1e-10)
    np.testing.assert_allclose(airtight.epsilon(system, observer="others"), airtight.epsilon(system), rtol=1e-12)


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_extremes_of_a_hidden_device(paper, adjacency):
    system = with_(paper, adjacency=adjacency)

    def epsilon(observer="others", **changes):
        return float(observers.exact_epsilon(with_(system, **changes), observer=observer, device=0))

    certain = {"participation": 1.0}
    assert epsilon(**certain) == pytest.approx(epsilon("participants", **certain), rel=1e-10)
    assert epsilon(participation=0.0) == epsilon(weight=0.0) == 0.0
    quiet = {"noise_variance": [0.0] + 11 * [0.1]}  # the device adds no noise: a subsampled Gaussian given the others
    assert 0 < epsilon(**quiet) < epsilon("participants", **quiet)
    alone = {"devices": 1, "participation": 0.5, "noise_variance": 0.3, "weight": 0.5, "clip": 1.0}
    silence = {**alone, "receiver_noise_variance": 0.0}  # away means exactly nothing is received: seen
    assert epsilon(**silence) == pytest.approx(epsilon("participants", **silence), rel=1e-9)
    assert epsilon(**{**silence, "noise_variance": 0.0}) == np.inf
    for delta in (1e-30, 1e-100, 1e-290):
        at = epsilon(delta=delta)
        low, high = observers.exact_delta_bracket(system, at, observer="others", device=0)
        assert high <= delta * (1 + 1e-12) and low > delta * (1 - 1e-7)
    assert float(observers.exact_delta(system, np.inf, observer="others", device=0)) == 0.0
    assert observers.exact_delta(system, np.ones((5, 1)), observer="others").shape == (5, 12)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_units_do_not_matter(paper, scale):
    system = with_(paper, adjacency="silent", dimension=16, participation=0.4)
    units = with_(
        system,
        weight=scale * system.weight,
        noise_variance=scale * (scale * system.noise_variance),
        receiver_noise_variance=scale * (scale * system.receiver_noise_variance),
    )
    for face in (observers.exact_epsilon, lambda s, **k: observers.signal_bracket(s, device=k["device"])[0]):
        found, truth = (float(face(s, observer="others", device=0)) for s in (units, system))
        assert found == pytest.approx(truth, rel=1e-6)


def test_many_equal_devices_share_the_work(paper):
    system = with_(paper, devices=1000, adjacency="silent", weight=1 / 1000)
    found = airtight.epsilon(system, observer="others")
    assert np.all(found == found[0]) and 0 < found[0] < float(airtight.epsilon(system)[0])


# The public face.


def test_names(paper, tmp_path):
    with pytest.raises(ParameterError, match="observer"):
        airtight.epsilon(paper, observer="nobody")
    text = GOOD.replace("dimension = 4", 'dimension = 4\nobserver = "others"')
    assert load(written(tmp_path, text)).inference.observer is Observer.OTHERS
    assert load(written(tmp_path, GOOD)).inference.observer is Observer.AUTO
    said = " ".join(run("bounds", written(tmp_path, text)).output.split())
    assert "against a server that sees which other devices send" in said
    assert refused(run("bounds", written(tmp_path, text.replace('"others"', '"nobody"'))), "inference.observer", "auto")


def left_over(delta, epsilon):
    """One device of two standard normal laws at distance 1, p = 1/2, its absence unseen: delta(epsilon) over what is given."""
    odds = 1 + 2 * mpmath.expm1(epsilon)
    return (mpmath.ncdf(0.5 - mpmath.log(odds)) - odds * mpmath.ncdf(-0.5 - mpmath.log(odds))) / 2 - delta


def test_lower_end_of_signal_where_the_inverse_is_ill_conditioned():
    """delta just below delta(0): an epsilon 1e-9 above the truth cannot be had, and its share is no lower end."""
    system = InferenceSystem(
        devices=1,
        participation=0.5,
        noise_variance=0.5,
        weight=1.0,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.5,
        dimension=1,
        delta=1e-3,
        delta_prime=1e-3,
        adjacency="silent",
        idle_noise=True,
    )
    start = mpmath.erf(1 / (2 * mpmath.sqrt(2))) / 2  # p times the total variation of N(0, 1) and N(1, 1)
    for share in (1e-11, 1e-8, 1e-3):
        delta = float(start) * (1 - share)
        low, high = observers.signal_bracket(system, delta=delta, device=0)
        with mpmath.workdps(40):
            truth = mpmath.findroot(partial(left_over, mpmath.mpf(delta)), share)
        assert low <= truth <= high


def test_the_lower_end_for_y_alone_at_weight_zero():
    """Two mixtures of chi-squares: the law is of the squared norm alone, and the best set an interval of it."""
    chances, variances = stats.binom.pmf(np.arange(12), 11, 0.9), 0.1 + 0.1 * np.arange(12)

    def gap(at, of):
        return sum(c * (of(at, v + 0.1) - of(at, v)) for c, v in zip(chances, variances, strict=True))

    crossing = optimize.brentq(lambda x: gap(x, lambda x, v: stats.chi2.pdf(x / v, 784) / v), 800, 1000)
    truth = 0.9 * -gap(crossing, lambda x, v: stats.chi2.cdf(x / v, 784))
    assert truth == pytest.approx(0.30355394, abs=1e-8)
    system = InferenceSystem(
        devices=12, participation=0.9, noise_variance=0.1, weight=0.0, clip=3.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5,
    )  # fmt: skip
    low, high = observers.exact_delta_bracket(system, 0.0, observer="signal", device=0)
    assert truth * (1 - 1e-3) < low <= truth < high
    assert high == pytest.approx(0.55554823, abs=1e-8)


def test_the_bracket_of_y_alone_is_no_point():
    """At epsilon 3.161 with clip 3 a simulation of y alone gives .01774 +- .00016 with zero codes of the others."""
    system = InferenceSystem(
        devices=12, participation=0.9, noise_variance=0.1, weight=1 / 12, clip=3.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5,
    )  # fmt: skip
    low, high = observers.exact_delta_bracket(system, [3.1609637829855153, 0.0], observer="signal", device=0)
    assert 0.0170 < low[0] < 0.0178 and high[0] == pytest.approx(0.0934298, abs=1e-7)
    at = observers.signal_bracket(system, device=0)
    assert np.all(observers.exact_delta_bracket(system, at, observer="signal", device=0)[0] >= [0.99e-5, 0])


@pytest.mark.parametrize("weight", [1e-300, 1.38e-150, 1e-30, 1e-6])
def test_a_signal_far_below_the_noise_costs_next_to_nothing(weight):
    """The root search used to shrink epsilon by a thousandth a step, and gave up."""
    system = InferenceSystem(
        devices=1,
        participation=[3.33e-9],
        noise_variance=[0.0],
        weight=weight,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=5.35e-8,
        dimension=2185,
        delta=1.8e-11,
        delta_prime=1e-5,
        adjacency="replace",
    )
    assert 0 <= float(observers.exact_epsilon(system, observer="others", device=0)) <= 1e-20


def test_delta_of_a_hidden_device_that_underflows_is_no_greater_than_its_neighbours():
    """Where quadrature has only an upper bound, this bound is taken, not the divergence of a visible device."""
    system = InferenceSystem(
        devices=1, participation=8e-8, noise_variance=0.002, weight=1.0, clip=0.1, alignment=1.0,
        receiver_noise_variance=2.0, dimension=2, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    delta = [float(observers.exact_delta(system, at, observer="others", device=0)) for at in (1e-6, 2e-6, 4e-6, 1e-4)]
    assert delta[0] < 1e-216 and max(delta[1:]) < 1e-300
