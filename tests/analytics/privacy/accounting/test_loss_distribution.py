"""Privacy loss distributions against closed forms, direct convolution, and a peer; always on the safe side."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.accounting import connect_the_dots, loss_distribution
from airtight.analytics.privacy.accounting.envelope import Envelope
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution, Product
from airtight.analytics.privacy.mechanisms import gaussian

PROBABILITY = st.floats(0.01, 1.0)


def laws(draw, size):
    p = np.array(draw(st.lists(PROBABILITY, min_size=size, max_size=size)))
    return p / p.sum()


def product_delta(p, q, count, epsilon):
    """Every outcome of `count` releases."""
    total = 0.0
    for outcome in itertools.product(range(len(p)), repeat=count):
        a, b = math.prod(p[i] for i in outcome), math.prod(q[i] for i in outcome)
        total += max(a - math.exp(epsilon) * b, 0.0)
    return total


@given(st.data(), st.integers(2, 4), st.integers(1, 4), st.floats(0, 3))
def test_against_every_outcome(data, size, count, epsilon):
    p, q = laws(data.draw, size), laws(data.draw, size)
    found = loss_distribution.of_pair(p, q, step=1e-4).delta(epsilon, count=count)
    exact = product_delta(p, q, count, epsilon)
    assert exact * (1 - 1e-12) <= found <= exact + 3e-4 * count


@given(st.data(), st.integers(2, 4), st.floats(1e-6, 0.5))
def test_epsilon_inverts_delta(data, count, delta):
    p, q = laws(data.draw, 3), laws(data.draw, 3)
    law = loss_distribution.of_pair(p, q, step=1e-3)
    epsilon = float(law.epsilon(delta, count=count))
    assert product_delta(p, q, count, epsilon) <= delta * (1 + 1e-9)
    if epsilon > 1e-6:
        assert float(law.delta(epsilon * (1 - 1e-6), count=count)) >= delta * (1 - 1e-3)


@pytest.mark.parametrize("mu, count", [(1.0, 1), (0.1, 100), (0.01, 10_000), (0.3, 1000)])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-15, 1e-100, 1e-300])
def test_gaussian_at_any_depth(mu, count, delta):
    """M releases of mu are one of mu sqrt(M): right to 3e-4, never below, at 1e-300 as at 1e-5."""
    found = float(loss_distribution.gaussian(mu).epsilon(delta, count=count))
    exact = float(gaussian.epsilon(delta, sensitivity=mu * math.sqrt(count), sigma=1.0))
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 3e-4) + 1e-4


@given(st.floats(0.02, 2.0), st.integers(1, 2000), st.floats(0, 20))
def test_gaussian_delta_is_never_below(mu, count, epsilon):
    found = float(loss_distribution.gaussian(mu).delta(epsilon, count=count))
    exact = float(gaussian.delta(epsilon, sensitivity=mu * math.sqrt(count), sigma=1.0))
    assert exact * (1 - 1e-9) - 1e-300 <= found


def test_against_dp_accounting():
    """Equal grids, pessimistic both; ours is the tighter (chords), theirs rounds up."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    theirs = pld.from_gaussian_mechanism(5.0997950132688, value_discretization_interval=1e-3).self_compose(200)
    ours = loss_distribution.gaussian(1 / 5.0997950132688, step=1e-3)
    assert float(ours.epsilon(1e-5, count=200)) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=1e-3)
    assert float(ours.epsilon(1e-5, count=200)) == pytest.approx(15.069269611, rel=1e-4)


def test_infinite_losses():
    """Mass that Q cannot make stays, whatever epsilon: 1 - (1 - a)^M."""
    law = loss_distribution.of_pair([0.1, 0.9], [0.0, 1.0])
    assert float(law.delta(50.0, count=3)) == pytest.approx(1 - 0.9**3, rel=1e-9)
    assert float(law.epsilon(0.2, count=3)) == math.inf and float(law.epsilon(0.28, count=3)) == 0.0
    disjoint = loss_distribution.of_pair([1.0, 0.0], [0.0, 1.0])
    assert float(disjoint.delta(5.0, count=7)) == 1.0 and float(disjoint.epsilon(0.5, count=2)) == math.inf


def test_trimming_moves_mass_up_and_loses_none(monkeypatch):
    """With a coarse threshold, so that it shows: the tail becomes infinite loss, the bottom the least loss kept."""
    monkeypatch.setattr(loss_distribution, "_NEGLIGIBLE", 1.0)
    law = loss_distribution.gaussian(1.0)
    kept = law.trimmed(0.01, 2)
    assert kept.mass.sum() + kept.infinite >= law.mass.sum() * (1 - 1e-14)
    assert kept.mass.size < law.mass.size and 0 < kept.infinite <= 0.01
    assert kept.first > law.first and kept.mass[0] > law.mass[kept.first - law.first]
    for epsilon in (0.0, 0.5, 2.0):
        assert float(kept.delta(epsilon)) >= float(law.delta(epsilon)) * (1 - 1e-12)


def test_pure_at_delta_zero():
    law = loss_distribution.of_pair([0.75, 0.25], [0.25, 0.75], step=math.log(3) / 10)
    assert float(law.epsilon(0.0, count=10)) == pytest.approx(10 * math.log(3), rel=1e-12)
    assert float(law.epsilon(1.0, count=10)) == 0.0


def test_equal_laws_give_nothing():
    law = loss_distribution.of_pair([0.3, 0.7], [0.3, 0.7], step=1e-3)
    assert float(law.epsilon(1e-9, count=5)) <= 5 * 1e-3
    assert float(law.delta(0.1, count=5)) <= 1e-12


@given(st.floats(0.01, 2.0), st.floats(0.005, 0.5), st.floats(0, 2))
def test_subsampled_gaussian_once(mu, rate, epsilon):
    """One release has closed forms in both orders."""
    from airtight.analytics.privacy.mechanisms import subsampling

    for reverse in (False, True):
        law = loss_distribution.subsampled_gaussian(mu, rate, reverse=reverse)
        found = float(law.delta(epsilon))
        if not reverse:
            exact = math.exp(float(subsampling.subsampled_gaussian_log_delta(epsilon, p=rate, mu=mu)))
            assert exact * (1 - 1e-9) <= found <= exact + 1e-3 * rate * mu
        assert 0 <= found <= 1


@pytest.mark.parametrize("rate, epsilon", [(0.01, 0.0868664), (0.1, 1.0735331)])
def test_subsampled_gaussian_of_the_ledger(rate, epsilon):
    """UF-C3: 200 rounds at the noise of (9), delta = 1e-5."""
    mu = 1 / 5.099795013268831
    found = max(
        float(loss_distribution.subsampled_gaussian(mu, rate, reverse=r).epsilon(1e-5, count=200))
        for r in (False, True)
    )
    assert found == pytest.approx(epsilon, rel=2e-3)


@given(st.data(), st.integers(2, 5), st.floats(0, 3))
def test_envelope_is_the_greatest_curve(data, size, epsilon):
    pairs = [(laws(data.draw, size), laws(data.draw, size)) for _ in range(3)]
    envelope = Envelope(pairs)
    exact = max(product_delta(p, q, 1, epsilon) for p, q in pairs)
    assert exact <= float(envelope.delta(epsilon)) <= exact * (1 + 1e-12) + 1e-14
    for delta in (1e-9, 1e-3, 0.2):
        found = float(envelope.epsilon(delta))
        assert max(product_delta(p, q, 1, found) for p, q in pairs) <= delta * (1 + 1e-9)
        assert found == 0 or float(envelope.delta(found * (1 - 1e-9))) >= delta * (1 - 1e-6)


def test_lost_mass_and_errors_count_against_privacy():
    pair = ([0.75, 0.25], [0.25, 0.75])
    plain, short = Envelope([pair]), Envelope([pair], lost=0.01, error=0.1)
    assert float(short.delta(0.0)) == pytest.approx(0.5 * 1.1 + 0.01)
    assert float(short.epsilon(0.005)) == math.inf
    assert float(short.epsilon(0.3)) == pytest.approx(float(plain.epsilon(0.29 / 1.1)))
    law, sound = (e.composable(step=0.01, reach=2.0) for e in (short, plain))
    assert law.infinite >= 0.01 and law.mass.sum() == pytest.approx(sound.mass.sum() * 1.1)


@given(st.data(), st.floats(0, 2))
def test_envelope_composes_to_an_upper_bound(data, epsilon):
    """Each factor may come from another pair."""
    pairs = [(laws(data.draw, 3), laws(data.draw, 3)) for _ in range(2)]
    law = Envelope(pairs).composable(step=1e-2, reach=8.0)
    found = float(law.delta(epsilon, count=2))
    for (p, q), (s, t) in itertools.product(pairs, repeat=2):
        exact = np.maximum(np.outer(p, s) - math.exp(epsilon) * np.outer(q, t), 0).sum()
        assert exact <= found + 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: loss_distribution.of_pair([0.5, 0.5], [0.5, 0.5], step=0.0),
        lambda: loss_distribution.of_pair([0.5, math.nan], [0.5, 0.5]),
        lambda: loss_distribution.gaussian(0.0),
        lambda: loss_distribution.gaussian(1.0).epsilon(-0.1),
        lambda: loss_distribution.gaussian(1.0).epsilon(0.1, count=0),
        lambda: loss_distribution.gaussian(1.0).delta(math.nan),
        lambda: loss_distribution.subsampled_gaussian(1.0, 1.5),
        lambda: loss_distribution.of_pair([1.0, 1e-300], [1e-300, 1.0], step=1e-6),
    ],
)
def test_bad_input(call):
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize("count", [1, 1000, 10**5, 10**7])
def test_infinite_losses_are_enclosed(count):
    """prod(f + g) - prod(f) of the doubles themselves, with sixty digits; long runs lost 1e-9 of it by rounding."""
    rng = np.random.default_rng(count)
    for _ in range(20):
        infinite = 10.0 ** rng.uniform(-20, -1) / count
        mass = rng.random(int(2 ** rng.uniform(1, 14)))
        mass *= (1 - infinite) / mass.sum()
        product = Product(((LossDistribution(0.1, 0, mass, infinite), count),))
        with mpmath.workdps(60):
            finite = mpmath.fsum(mpmath.mpf(float(x)) for x in mass)
            true = (finite + mpmath.mpf(infinite)) ** count - finite**count
            low, high = (mpmath.mpf(end) for end in product.infinite_ends())
            assert low <= true <= high <= true * (1 + 1e-7)
        beyond = float(product.greatest) + 1.0
        assert product.least_delta(beyond) == float(low) and product.delta(beyond) == float(high)


@pytest.mark.parametrize("count", [2, 10**7])
def test_a_law_of_infinite_losses_alone_need_not_be_whole(count):
    """(f + g)^n, where another law has finite losses and this one has none."""
    rng = np.random.default_rng(count)
    for _ in range(20):
        whole = LossDistribution(0.1, 0, rng.dirichlet(np.ones(5000)), 0.0)
        alone = LossDistribution(0.1, 0, np.zeros(1), 1 - 2.0**-30)
        low, high = Product(((whole, count), (alone, 1))).infinite_ends()
        with mpmath.workdps(60):
            true = mpmath.fsum(mpmath.mpf(float(x)) for x in whole.mass) ** count * mpmath.mpf(alone.infinite)
            assert (1 - 1e-6) * true < mpmath.mpf(low) <= true
        assert high == 1.0
    assert Product(((LossDistribution(0.1, 0, np.zeros(1), 0.5), count),)).infinite_ends()[0] <= 0.5**count


@given(st.floats(0.05, 0.9), st.floats(0.1, 3.0), st.integers(2, 8), st.floats(0.0, 60.0))
def test_delta_with_infinite_losses(seen, loss, count, epsilon):
    """An outcome that tells neighbours apart: delta is never below its limit, and the bounds say truly whether they are close."""
    p = np.array([*(seen * x for x in (math.exp(loss), 1.0)), 0.0]) / (1 + math.exp(loss))
    p, q = p + np.array([0.0, 0.0, 1 - seen]), np.array([1.0, math.exp(loss), 0.0]) / (1 + math.exp(loss))
    curve = airtight.discrete_pair(p, q).compose(count)
    truth = sum(
        math.comb(count, k)
        * max(p[0] ** k * p[1] ** (count - k) - math.exp(epsilon) * q[0] ** k * q[1] ** (count - k), 0)
        for k in range(count + 1)
    ) - math.expm1(count * math.log(seen))
    bracket = curve.bracket(epsilon=epsilon, direction="forward")
    limit = -math.expm1(count * math.log(seen))
    assert max(limit * (1 - 1e-12), bracket.lower) <= truth * (1 + 1e-12) and truth <= bracket.upper * (1 + 1e-12)
    assert bracket.lower >= limit * (1 - 1e-12)
    if epsilon > count * loss:  # no finite loss is so great
        assert bracket.upper <= truth * (1 + 1e-3) and bracket.reached
    many = curve.delta(np.full(20, epsilon), direction="forward")
    assert np.all(many >= truth * (1 - 1e-12))


@given(st.data(), st.integers(1, 3), st.floats(0.0, 4.0), st.booleans())
def test_lower_bounds_beside_a_law_that_reveals_or_has_one_loss(data, size, epsilon, reverse):
    """A law without a finite loss above 0 had a lower bound above its curve: .517 for .501 with the first of these laws."""
    hidden = data.draw(st.sampled_from([0.0, 6e-17, 0.3, 0.498, 0.9]))
    first = np.array([hidden, 1 - hidden]), np.array([0.0, 1.0])
    second = laws(data.draw, size + 1), laws(data.draw, size + 1)
    curve = airtight.compose([airtight.discrete_pair(*first), airtight.discrete_pair(*second)])
    p, q = (np.outer(a, b).ravel() for a, b in zip(first, second, strict=True))
    p, q = (q, p) if reverse else (p, q)
    truth = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))
    bracket = curve.bracket(epsilon=epsilon, direction="reverse" if reverse else "forward")
    assert bracket.lower <= truth * (1 + 1e-12) + 1e-300 and truth <= bracket.upper * (1 + 1e-12)


def test_probability_of_an_infinite_loss_of_many_releases():
    with mpmath.workdps(40):
        for tiny in (5e-17, 6e-17):
            revealing = airtight.discrete_pair([tiny, 1 - tiny], [0.0, 1.0])
            curve = airtight.compose([airtight.discrete_pair([0.4, 0.6], [0.0, 1.0]), *[revealing] * 300])
            truth = 1 - mpmath.mpf(0.6) * (1 - mpmath.mpf(tiny)) ** 300
            for epsilon in (50.0, math.inf):
                bracket = curve.bracket(epsilon=epsilon, direction="forward")
                assert bracket.lower <= truth <= bracket.upper


def test_curve_of_losses_beyond_the_range_of_exp():
    """exp(loss) overflows above 709 and the probabilities under Q underflow: no curve may fall below the true one."""
    with mpmath.workdps(60):
        truth = mpmath.mpf(1e-3) - mpmath.exp(710) * mpmath.mpf(1.9e-312)
        assert loss_distribution.from_bins([1e-3], [1.9e-312], first=710, step=1.0).delta(710.0) >= truth
        for mu, epsilon in ((38.0, 709.0), (40.0, 700.0), (40.0, 712.0), (45.0, 1100.0), (100.0, 5100.0)):
            a, b = (mpmath.mpf(epsilon) / mu + sign * mpmath.mpf(mu) / 2 for sign in (-1, 1))
            truth = mpmath.ncdf(-a) - mpmath.exp(epsilon) * mpmath.ncdf(-b)
            assert truth <= loss_distribution.gaussian(mu).delta(epsilon) <= truth * 1.05


@pytest.mark.parametrize("share", [1e-5, 0.01, 0.05, 0.1])
@pytest.mark.parametrize("step", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("excess", [1e-15, 1e-3, 1e-2])
def test_a_law_below_a_rough_curve(share, step, excess):
    """Losses below 0 in one cell: no value is above the curve, though upper bounds are loose in half of the first cell."""
    q = np.array([share, 1 - share])
    p = np.array([share * math.e, 1 - share * math.e])

    def curve(one, other, epsilon):
        return np.maximum(one - np.exp(np.minimum(epsilon, 700.0))[:, None] * other, 0.0).sum(axis=1)

    def forward(epsilon):
        value = curve(p, q, epsilon)
        return value * (1 - 1e-15), value * np.where(epsilon < step / 2, 1 + excess, 1 + 1e-15)

    def reverse(epsilon):
        value = curve(q, p, epsilon)
        return value * (1 - 1e-15), value * (1 + 1e-15)

    for aligned in (False, True):
        law = connect_the_dots.below(forward, reverse, step=step, first=-3, last=math.ceil(1 / step) + 1, aligned=aligned)
        epsilon = np.linspace(-step, 1.0, 2000)
        ours = law.infinite + law.mass @ np.maximum(-np.expm1(epsilon - law.losses[:, None]), 0.0)
        assert np.all(ours <= curve(p, q, epsilon) * (1 + 1e-13) + 1e-15)


@given(st.data(), st.integers(1, 5), st.floats(-1.0, 1.0), st.floats(0, 3), st.floats(0.01, 20))
def test_bounds_from_the_transform(data, count, offset, epsilon, tilt):
    """Against a direct convolution, for laws with an offset and any tilt."""
    step, first = 0.25, data.draw(st.integers(-6, 2))
    mass = np.array(data.draw(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.3, 1.0]), min_size=2, max_size=9)))
    mass = (mass + 1e-12) / (mass + 1e-12).sum()
    law = LossDistribution(step, first, mass, 0.0, offset)
    product = Product(((law, count),))
    whole = mass
    for _ in range(count - 1):
        whole = np.convolve(whole, mass)
    losses = (count * first + np.arange(whole.size)) * step + count * offset
    exact = math.fsum(whole * np.maximum(-np.expm1(epsilon - losses), 0.0))
    spectrum = loss_distribution._Spectrum.of(product, tilt, epsilon, epsilon)
    assert spectrum.delta(epsilon, upper=False)[0] <= exact * (1 + 1e-12) + 1e-300
    assert exact <= spectrum.delta(epsilon, upper=True)[0] * (1 + 1e-12) + 1e-300
    assert product.least_delta(epsilon) <= exact * (1 + 1e-12) <= product.delta(epsilon) * (1 + 1e-11)


@pytest.mark.parametrize(
    ("step", "first", "masses", "count", "epsilon", "truth"),
    [
        (0.44374506242976414, -2, [1.0, 1.567e-170, 3.009e-153, 6.19e-190, 3.1755e-192], 1, 0.8041400633, 2.5e-193),
        (50.09447503, -1, [1.0, 2.42e-128, 2.1e-140, 7.33e-78], 5, 353.53, 5e-324),
    ],
)
def test_delta_just_below_the_greatest_loss_is_not_rounded_to_nothing(step, first, masses, count, epsilon, truth):
    product = Product(((LossDistribution(step, first, np.array(masses), 0.0), count),))
    assert truth <= product.delta(epsilon) <= 1e-3


def test_epsilon_just_below_the_greatest_loss_is_close():
    """log delta is steep there: a short step of Newton's method is no end of the search (randomized response, ten rounds)."""
    p = math.exp(2) / (1 + math.exp(2))
    product = Product(((LossDistribution(2.0, -1, np.array([1 - p, 0.0, p]), 0.0), 10),))
    low, high = product.least_epsilon(1e-5), product.epsilon(1e-5)
    assert low <= high <= low * (1 + 1e-8) < 20


def every_sum(factors):
    """All total losses of a product, and their probabilities, with 50 digits."""
    sums = {0: mpmath.mpf(1)}
    for law, count in factors:
        for _ in range(count):
            sums, before = {}, sums
            for place, mass in before.items():
                for i in np.flatnonzero(law.mass):
                    sums[place + law.first + int(i)] = sums.get(place + law.first + int(i), 0) + mass * mpmath.mpf(law.mass[i])
    return sums


def delta_of(sums, step, epsilon):
    return mpmath.fsum(mass * -mpmath.expm1(epsilon - k * mpmath.mpf(step)) for k, mass in sums.items() if k * step > epsilon)


def law_with_rare_losses(draw, size):
    """Near-certain losses about 0, and great ones of probabilities down to 1e-60."""
    logs = draw(st.lists(st.one_of(st.floats(-60.0, -3.0), st.floats(-3.0, 0.0)), min_size=size, max_size=size))
    mass = np.array([1.0, *10.0 ** np.array(logs)])
    return LossDistribution(0.125, draw(st.integers(-2, 0)), mass / mass.sum(), 0.0)


@given(st.data(), st.integers(1, 4), st.integers(0, 2), st.floats(0.0, 2.0), st.floats(-60.0, -2.0))
def test_one_great_loss_against_every_outcome(data, one, two, epsilon, log_delta):
    """The split by the number of great losses holds wherever it is made, and so do the public bounds."""
    factors = [(law_with_rare_losses(data.draw, 6), one), (law_with_rare_losses(data.draw, 4), two)]
    product = Product(tuple(sorted((factor for factor in factors if factor[1]), key=lambda factor: -factor[1])))
    delta = 10.0**log_delta
    with mpmath.workdps(50):
        sums = every_sum(product.factors)
        exact = delta_of(sums, 0.125, epsilon)
        parted = product._parted(delta)
        brackets = [(product.least_delta(epsilon), product.delta(epsilon))]
        ends = [(product.least_epsilon(delta), product.epsilon(delta))]
        if parted:
            brackets.append((parted.least_delta(epsilon), parted.delta(epsilon)))
            about = data.draw(st.floats(1e-3, 5.0))
            ends.append(tuple(parted.epsilon(delta, about, upper=upper) for upper in (False, True)))
        for low, high in brackets:
            assert low * (1 - 1e-15) <= exact <= high * (1 + 1e-15)
        for low, high in ends:
            assert high == np.inf or delta_of(sums, 0.125, high) <= delta * (1 + 1e-15)
            assert low == 0 or delta_of(sums, 0.125, low) >= delta * (1 - 1e-15)


def test_two_great_losses_are_counted_above_alone():
    """Where two of them make all of delta, and one or none nothing."""
    rare = 1e-8
    product = Product(((LossDistribution(5.0, 0, np.array([1.0, *7 * [0.0], rare]), 0.0), 3),))
    exact = 3 * rare**2 * -math.expm1(-20.0) + rare**3
    parted = product._parted(1.0)
    assert parted.least_delta(60.0) == 0 and exact < parted.delta(60.0) < 1.6 * exact
    assert parted.epsilon(exact, 60.0, upper=True) >= 60 and parted.epsilon(exact, 60.0, upper=False) <= 60
    assert product.least_delta(60.0) == pytest.approx(exact, rel=1e-9) == product.delta(60.0)


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("k", [20, 60])
def test_a_loss_in_a_valley_of_the_tilted_law(count, k):
    """Its probability is e^-40 and less of what any tilt makes of greater and of lesser losses: no transform shows it."""
    place = np.arange(200)
    mass = np.where(place == 0, 1.0, 10.0 ** -(14 + 6 * np.sqrt(place)))
    product = Product(((LossDistribution(0.125, 0, mass, 0.0), count),))
    epsilon = (k + 0.5) * 0.125
    sums = np.zeros(1 + count * 199)
    sums[0] = 1.0
    for _ in range(count):
        sums = np.convolve(sums[: sums.size - 199], mass)  # positive terms alone: each sum is right to rounding
    losses = np.arange(sums.size) * 0.125
    exact = math.fsum(sums * np.maximum(-np.expm1(epsilon - losses), 0.0))
    assert product._delta(epsilon)[0] > 100 * exact and product._least_delta(epsilon)[0] < exact / 100
    low, high = product.least_delta(epsilon), product.delta(epsilon)
    assert exact * (1 - 2e-6) <= low <= exact * (1 + 1e-12) and exact * (1 - 1e-12) <= high <= exact * (1 + 2e-6)
    low, high = product.least_epsilon(exact), product.epsilon(exact)
    assert epsilon * (1 - 1e-5) <= low <= epsilon * (1 + 1e-12) and epsilon * (1 - 1e-12) <= high <= epsilon * (1 + 1e-5)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_a_sure_loss_is_not_rounded_down(count):
    """No finite tilt belongs to a delta far below what rounding can tell: epsilon was half a unit below the loss."""
    step = 0.0014026863580017888
    law = LossDistribution(step, 0, np.array([*(9 // count) * [0.0], 1.0]), 0.0)
    with mpmath.workdps(50):
        high = law.epsilon(5.87e-22, count=count)
        assert -mpmath.expm1(mpmath.mpf(float(high)) - 9 * mpmath.mpf(step)) <= 5.87e-22 and high <= 9 * step * (1 + 1e-14)
