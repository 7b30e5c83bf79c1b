"""Enclosures contain what mpmath computes at 50 digits, and are narrow."""

import math
from fractions import Fraction

import flint
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import device_balls as device
from support import distortion_balls as enclosed_distortion
from support import quadratic_form_balls as quadratic_form
from support import quantizers_balls as exact_quantizers

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import poisson_binomial as numeric_poisson
from airtight.analytics.distributions import quadratic_form as numeric_form
from airtight.analytics.distributions import selection as numeric_selection
from airtight.analytics.federated.corbin import central_privacy, quantizers
from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.forms import theorem1
from airtight.analytics.forms.balls import amplified_delta, energy_plan, gaussian_divergence, selection_probability
from airtight.analytics.forms.balls.ball import ball, ends, refine
from airtight.analytics.inference import distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.solvers import energy as energy_utility


def contains(value, reference, digits=14):
    lower, upper = ends(value)
    assert lower <= reference <= upper
    assert upper - lower <= 10.0**-digits * abs(reference) + 1e-300


@given(st.fractions(0, 20, max_denominator=50), st.fractions(Fraction(1, 20), 10, max_denominator=50))
def test_gaussian_delta(epsilon, mu):
    with mp.workdps(80):
        e, m = mp.mpf(epsilon.numerator) / epsilon.denominator, mp.mpf(mu.numerator) / mu.denominator
        truth = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
        if truth < mp.mpf(10) ** -40:
            return
        contains(gaussian_divergence.delta(epsilon, sensitivity=mu, sigma=1), float(truth))


@pytest.mark.parametrize("dimension", [1, 2, 16, 784])
def test_noncentral_chi_square(dimension):
    x, lam = dimension * 1.2, 3.5
    with mp.workdps(50):
        half, mean = mp.mpf(x) / 2, mp.mpf(lam) / 2
        truth = mp.nsum(
            lambda j: (
                mp.exp(-mean)
                * mean**j
                / mp.factorial(j)
                * mp.gammainc(mp.mpf(dimension) / 2 + j, half, mp.inf, regularized=True)
            ),
            [0, 120],
        )
    contains(refine(lambda: gaussian_divergence.chi_square_above(ball(x), dimension, ball(lam))), float(truth))
    both = (
        gaussian_divergence.chi_square_above(ball(x), dimension, ball(lam)),
        gaussian_divergence.chi_square_below(ball(x), dimension, ball(lam)),
    )
    assert sum(both).contains(1)


@pytest.mark.parametrize("tail", [gaussian_divergence.chi_square_above, gaussian_divergence.chi_square_below])
def test_terms_left_out_are_part_of_the_ball(tail, monkeypatch):
    """With far too few terms the balls are wide, and still hold the truth."""
    enough = tail(ball(30), 4, ball(20))
    monkeypatch.setattr(gaussian_divergence, "_last_term", lambda mean, half, df: 14)
    wide = tail(ball(30), 4, ball(20))
    assert wide.contains(enough.mid()) and float(wide.rad()) > 1e-3


@given(
    st.floats(1e-3, 400.0), st.integers(1, 30), st.floats(0.0, 300.0), st.sampled_from([64, 200]), st.sampled_from("<>")
)
def test_tails_are_true_and_as_accurate_as_the_precision(x, df, noncentrality, bits, side):
    """Against ten times the precision, where nothing that matters is left out."""
    tail = gaussian_divergence.chi_square_above if side == ">" else gaussian_divergence.chi_square_below
    with flint.ctx.workprec(bits):
        found = tail(ball(x), df, ball(noncentrality))
    with flint.ctx.workprec(10 * bits):
        true = tail(ball(x), df, ball(noncentrality))
    assert found.overlaps(true) and true.rel_accuracy_bits() > 5 * bits
    assert found.rel_accuracy_bits() >= bits - 26 - 2 * (x + noncentrality) ** 0.5


def test_what_would_take_for_ever_is_said_to_be_unknown():
    far = gaussian_divergence.hockey_stick(1.0, distance=1e6, variance_p=2.0, variance_q=1.0, dimension=3)
    assert far.contains(1) and float(far.rad()) > 0.5


def test_ledger_values():
    contains(
        gaussian_divergence.hockey_stick(0, distance=0, variance_p=2, variance_q=1, dimension=1),
        0.16606407498351293,
        14,
    )
    for dimension, truth in ((1, 0.0124107953), (16, 0.0572286318), (784, 0.3883085462), (25088, 0.9959257232)):
        value = gaussian_divergence.hockey_stick(0, distance=0, variance_p=20, variance_q=19, dimension=dimension)
        assert float(value.mid()) == pytest.approx(truth, abs=2e-10)


def test_bernstein_and_deviations_are_the_numbers_of_the_ledger():
    claimed, actual = amplified_delta.fair_signs(100, Fraction(3, 10), 1)
    assert float(claimed.mid()) == pytest.approx(2.7969e-4, rel=1e-4)
    assert float(actual.mid()) == pytest.approx(8.9497e-4, rel=1e-4)
    paper = {
        "devices": Fraction(12),
        "p": Fraction(9, 10),
        "variance": Fraction(1, 10),
        "delta_prime": Fraction(1, 10**5),
    }
    contains(amplified_delta.theorem_t(**paper), 1.349006361303290, 14)
    assert float(amplified_delta.proof_t(**paper).mid()) == pytest.approx(0.9421372731, abs=1e-10)
    delta_prime, probability = amplified_delta.deviation_of_the_proof(
        devices=Fraction(200), p=Fraction(86, 100), variance=Fraction(1), delta_prime=Fraction(1, 10**8)
    )
    assert float(probability.mid()) == pytest.approx(2.4706e-6, rel=1e-4)
    assert bool(probability > delta_prime)


def test_theorem1_fails_at_the_witness_of_the_ledger():
    from airtight.analytics.guarantee import Adjacency

    claimed, actual = amplified_delta.theorem1(
        devices=Fraction(100),
        p=Fraction(1),
        variance=Fraction(1),
        receiver=Fraction(1),
        alignment=Fraction(1),
        signal=Fraction(0),
        dimension=Fraction(1),
        delta=Fraction(1, 10**5),
        delta_prime=Fraction(1, 10**5),
        form="theorem1",
        adjacency=Adjacency.ABSENT,
    )
    assert float(claimed.mid()) == pytest.approx(2e-5, rel=1e-4)
    assert float(actual.mid()) == pytest.approx(2.4e-3, rel=2e-2)
    assert bool(actual > claimed)


def test_nothing_is_certain_without_precision():
    """An undecidable comparison stays undecided, and a non-finite ball has infinite ends."""
    assert not bool(ball("1/3") * 3 > 1) and not bool(ball("1/3") * 3 < 1)
    assert ends(flint.arb.nan()) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="finite"):
        ball(math.nan)


probability = st.floats(0, 1)


@given(st.lists(st.one_of(probability, st.sampled_from([0.0, 1.0, 1e-12])), min_size=1, max_size=40))
def test_poisson_binomial(p):
    law, sums = selection_probability.pmf(p), selection_probability.cdf(p)
    assert numeric_poisson.pmf(p) == pytest.approx([float(x.mid()) for x in law], rel=1e-12, abs=1e-290)
    assert numeric_poisson.cdf(p) == pytest.approx([float(x.mid()) for x in sums], rel=1e-12, abs=1e-290)
    exact = [Fraction(1)]
    for q in map(Fraction, p):
        exact = [a * (1 - q) + b * q for a, b in zip([*exact, 0], [0, *exact], strict=True)]
    assert all((x * t.denominator).contains(t.numerator) for x, t in zip(law, exact, strict=True))


systems = st.builds(
    lambda n, p, s, c, m, r, adjacency, idle: InferenceSystem(
        devices=n,
        participation=(p * n)[:n],
        noise_variance=([s[0], s[1]] * n)[:n],
        weight=0.5,
        clip=c,
        alignment=1.0,
        receiver_noise_variance=m,
        dimension=r,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=adjacency,
        idle_noise=idle and adjacency != "replace",
    ),
    st.integers(1, 7),
    st.lists(st.one_of(st.floats(0.01, 0.99), st.just(1.0)), min_size=1, max_size=3),
    st.tuples(st.floats(0.1, 3), st.floats(0.1, 3)),
    st.floats(0.05, 5),
    st.floats(0.05, 2),
    st.sampled_from([1, 2, 16, 784]),
    st.sampled_from(["absent", "silent", "replace"]),
    st.booleans(),
)


@settings(deadline=None, max_examples=25)
@given(systems, st.floats(0, 4))
def test_delta_of_a_device(system, epsilon):
    lower, upper = ends(device.delta(system, epsilon))
    found = float(system_privacy.delta(system, epsilon, device=0))
    assert upper - lower <= 1e-12 * upper + 1e-280
    assert found == pytest.approx(lower, rel=1e-9, abs=1e-250)


@settings(deadline=None, max_examples=25)
@given(systems, st.floats(-12, -1))
def test_epsilon_of_a_device_is_never_too_small(system, exponent):
    """At the epsilon that the library gives, the enclosed delta is not above the asked one."""
    delta = 10.0**exponent
    epsilon = float(system_privacy.epsilon(system, delta=delta, device=0))
    if math.isfinite(epsilon):
        lower, upper = ends(device.delta(system, epsilon))
        assert lower <= delta and upper <= delta * (1 + 1e-13)


def test_systems_that_are_too_much():
    wide = theorem1.system_of(devices=14, noise_variance=np.linspace(1, 2, 14))
    with pytest.raises(ParameterError, match="4096"):
        device.delta(wide, 1.0)
    idle = theorem1.system_of(devices=3, idle_noise=True, adjacency="replace")
    with pytest.raises(ParameterError, match="idle_noise"):
        device.delta(idle, 1.0)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.floats(0.5, 4), st.integers(1, 6), st.floats(0, 8)), min_size=1, max_size=4),
    st.floats(0.2, 3),
)
def test_quadratic_form(terms, share):
    weight, degrees, pull = zip(*terms, strict=True)
    x = share * sum(w * (d + c) for w, d, c in terms)
    given_as = {"weight": weight, "degrees": degrees, "noncentrality": pull}
    as_arrays = {name: np.array(values, dtype=float) for name, values in given_as.items()}
    for enclosed, numeric in ((quadratic_form.sf, numeric_form.sf), (quadratic_form.cdf, numeric_form.cdf)):
        lower, upper = ends(enclosed(x, **given_as))
        assert upper - lower <= 1e-13 * upper + 1e-18
        assert float(numeric(x, **as_arrays)) == pytest.approx(lower, rel=1e-10, abs=1e-15)


def test_a_series_cut_short_is_wide_and_true(monkeypatch):
    arguments = {"weight": [1, 3], "degrees": [2, 1], "noncentrality": [1, 4]}
    narrow = quadratic_form.sf(9, **arguments)
    monkeypatch.setattr(quadratic_form, "_MOST_TERMS", 6)
    wide = quadratic_form.sf(9, **arguments)
    assert wide.contains(narrow.mid()) and float(wide.rad()) > 1e-3


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0.1, 2)), min_size=2, max_size=6),
    st.data(),
)
def test_selection(devices, data):
    score, noise = zip(*devices, strict=True)
    selected = data.draw(st.integers(1, len(score)))
    numeric = numeric_selection.probability(score, noise, selected)
    total = flint.arb(0)
    for k in range(len(score)):
        enclosed = selection_probability.probability(score, noise, selected, device=k)
        lower, upper = ends(enclosed)
        assert upper - lower < 1e-13
        assert lower - 1e-11 <= numeric[k] <= upper + 1e-11
        total += enclosed
    assert total.contains(selected)


rationals = st.fractions(-1, 1, max_denominator=60)


@given(rationals, rationals, st.fractions(Fraction(11, 10), 50, max_denominator=20), st.integers(0, 7))
def test_corbinq(w1, w2, odds, bits):
    law = exact_quantizers.pair_law(w1, w2, odds=odds, radius=Fraction(1), bits=bits)
    assert sum(law.values()) == 1
    epsilon = math.log(odds)
    arguments = {"epsilon": epsilon, "radius": 1.0, "bits": bits}
    found = quantizers.pair_law(float(w1), float(w2), **arguments)
    A = exact_quantizers.alpha(odds)
    levels = [2**bits * (Fraction(1, 2) + w1 / (2 * A)), 2**bits * (Fraction(1, 2) - w2 / (2 * A))]
    if any(0 < abs(x - round(x)) < Fraction(1, 10**9) or x == round(x) for x in levels):
        return  # which cell a level is in is decided by rounding there
    for (i, j), chance in law.items():
        assert found[(i + 1) // 2, (j + 1) // 2] == pytest.approx(float(chance), rel=1e-9, abs=1e-12)
    mse = exact_quantizers.pair_mse(w1, w2, odds=odds, radius=Fraction(1), bits=bits)
    assert float(quantizers.pair_mse(float(w1), float(w2), **arguments)) == pytest.approx(
        float(mse), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("others", [0, 1, 9, 40])
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_divergence_of_the_count(others, epsilon):
    odds, factor = Fraction(math.e), Fraction(math.exp(epsilon))
    enclosed = exact_quantizers.worst_count_delta(others, odds=odds, factor=factor)
    found = float(central_privacy.one_parameter(others, epsilon=1.0, client="unpaired").delta(epsilon))
    lower, upper = ends(enclosed)
    assert upper - lower < 1e-14 and found >= lower * (1 - 1e-12)
    assert found == pytest.approx(lower, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("distance", [50, 66, 100, 150, 200])
@pytest.mark.parametrize("beta_1", ["0.02", "0.5"])
def test_the_optimum_of_the_energy_problem(distance, beta_1):
    fleet = table_1(distance=float(distance), beta_1=float(beta_1))
    solved = energy_utility.solve(fleet)
    one = energy_plan.Device.table_1(Fraction(distance), beta_1=beta_1)
    x = ball(float(solved.iterations[0] * fleet.iteration_time[0]) * (1 - 1e-13))  # inside, so that it can be proved
    Z = ball(float(fleet.log_rate(solved.power)[0]))
    lower, upper = ends(one.optimum(x, Z))
    assert upper - lower < 1e-11 and lower - 1e-11 <= solved.utility[0] <= upper + 1e-11
    assert not one.optimum(ball(10), Z).is_finite()
    worse = one.optimum(x / 2, Z)
    assert worse.contains(lower) and float(worse.rad()) > 1e-4


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 4), st.integers(1, 3), st.floats(0.1, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_mse(K, r, clip, seed, idle):
    rng = np.random.default_rng(seed)
    system = InferenceSystem(
        devices=K,
        participation=rng.random(K),
        noise_variance=rng.random(K),
        weight=rng.random(K),
        clip=clip,
        alignment=float(rng.uniform(0.5, 2)),
        receiver_noise_variance=float(rng.random()),
        dimension=r,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
        idle_noise=idle,
    )
    views = Features(f=rng.normal(size=(K, 3)), W=rng.normal(size=(K, r, 3)), D=rng.normal(size=(3, r)))
    lower, upper = ends(enclosed_distortion.mse(system, views))
    assert upper - lower <= 1e-14 * upper
    assert distortion.exact(system, views) == pytest.approx(lower, rel=1e-13)
