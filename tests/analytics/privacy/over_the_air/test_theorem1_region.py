"""Where Theorem 1 is true: its greatest dimension, and the least constants with which it would be."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls import gaussian_divergence
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, system_privacy
from airtight.analytics.privacy.over_the_air.theorem1_region import LONGEST, theorem1_region


def one_random_device(p=0.9, noise=0.1, receiver=0.1, signal=0.25, dimension=784, devices=12, **more):
    """Device 0 takes part with probability p, the others always."""
    given = {"delta": 1e-5, "delta_prime": 1e-5, "adjacency": "absent", **more}
    return InferenceSystem(
        devices=devices, participation=[p, *[1.0] * (devices - 1)], noise_variance=noise, weight=signal, clip=1.0, alignment=1.0,
        receiver_noise_variance=receiver, dimension=dimension, **given,
    )  # fmt: skip


def test_the_greatest_dimension_by_a_rigorous_series():
    system = one_random_device()
    claim = amplification.published(system, form="eq23")
    region = theorem1_region(system, form="eq23", observer="others", device=0)
    assert region.dimension_lower == region.dimension_upper
    greatest, p, lost = int(region.dimension_lower[0]), 0.9, 11 * 0.1 + 0.1

    def delta(dimension):  # ball arithmetic; the order from present to absent is the greater one here
        odds = math.log1p(math.expm1(float(claim.epsilon[0])) / p)
        given = {"distance": 0.25, "variance_p": lost + 0.1, "variance_q": lost, "dimension": dimension}
        return p * float(gaussian_divergence.hockey_stick(odds, **given).mid())

    assert delta(greatest) <= claim.delta[0] < delta(greatest + 1)


@settings(max_examples=8)
@given(
    p=st.floats(0.05, 1.0),
    noise=st.floats(0.01, 1.0),
    receiver=st.floats(0.01, 1.0),
    signal=st.floats(0.0, 2.0),
    delta_prime=st.sampled_from([1e-12, 1e-5, 0.01, 0.2]),
)
@example(p=1.0, noise=1.0, receiver=1.0, signal=5e-324, delta_prime=1e-12)
def test_both_inequalities_enclose_the_greatest_dimension(p, noise, receiver, signal, delta_prime):
    system = one_random_device(p, noise, receiver, signal, delta_prime=delta_prime, devices=20)
    region = theorem1_region(system, form="eq23", observer="others", device=0)
    epsilon, claimed = float(region.epsilon[0]), float(region.delta[0])
    if epsilon == math.inf or claimed >= p:
        assert region.dimension_lower == math.inf
        return
    without = 19 * noise + receiver
    ratio = noise / without
    short = (4 * (claimed / p) ** 2 - signal**2 / without) / (ratio - math.log1p(ratio))
    theta = (1 + 1 / ratio) * math.log1p(ratio)
    long = math.log((math.expm1(epsilon) + 2 * p) / (p - claimed)) / ((theta - 1 - math.log(theta)) / 2)
    assert math.floor(short) <= region.dimension_lower
    assert region.dimension_upper <= math.ceil(long)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize("observer", ["others", "signal", "participants"])
def test_with_its_constants_the_theorem_says_the_exact_epsilon(adjacency, observer):
    system = one_random_device(signal=0.5, dimension=40, adjacency=adjacency)
    region = theorem1_region(system, form="eq23", observer=observer, device=0)
    p, delta_prime, mean = 0.9, 1e-5, 11.9 * 0.1
    c = 0.5 * math.sqrt(2 * math.log(1.25e5))
    exact = system_privacy.epsilon_bracket(system, delta=float(region.delta[0]), observer=observer, device=0)
    for side in ("lower", "upper"):
        end = float(getattr(exact, side))
        if end == math.inf:
            assert getattr(region, f"factor_{side}") == math.inf
            assert getattr(region, f"t_{side}") == pytest.approx(mean)
            continue
        t, factor = float(getattr(region, f"t_{side}")[0]), float(getattr(region, f"factor_{side}")[0])
        printed = c / math.sqrt(mean - region.t)
        assert math.log1p(p / (1 - delta_prime) * math.expm1(c / math.sqrt(mean - t))) == pytest.approx(end, rel=1e-9)
        assert math.log1p(factor * p / (1 - delta_prime) * math.expm1(printed)) == pytest.approx(end, rel=1e-9)


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), adjacency=st.sampled_from(["absent", "silent", "replace"]))
def test_what_the_ends_say_is_so(seed, adjacency):
    rng = np.random.default_rng(seed)
    devices = int(rng.integers(1, 5))
    system = InferenceSystem(
        devices=devices, participation=rng.uniform(0, 1, devices), noise_variance=rng.choice([0, 0.1, 1.0], devices),
        weight=rng.uniform(0, 1, devices), clip=1.0, alignment=1.0, receiver_noise_variance=0.5,
        dimension=int(rng.integers(1, 200)), delta=1e-4, delta_prime=1e-3, adjacency=adjacency, idle_noise=bool(rng.integers(2)),
    )  # fmt: skip
    signal = theorem1_region(system, form="eq23", observer="signal")
    others = theorem1_region(system, form="eq23", observer="others")
    for name in ("delta", "dimension", "t", "factor", "t_any_dimension"):
        for region in (signal, others):
            assert np.all(getattr(region, f"{name}_lower") <= getattr(region, f"{name}_upper")), name
    assert np.array_equal(signal.dimension_lower, others.dimension_lower)
    assert np.all(signal.dimension_upper >= others.dimension_lower)
    inside = system.dimension <= others.dimension_lower
    assert np.all(others.delta_upper[inside] <= others.delta[inside] * (1 + 1e-12))
    assert np.all(others.false[system.dimension > others.dimension_upper])
    assert not np.any(others.true & others.false)
    needs_less = others.t_upper <= others.t  # then the printed t is long enough
    assert np.all(others.true[needs_less])


def test_where_the_dimension_does_not_matter():
    idle = theorem1_region(one_random_device(idle_noise=True, devices=40), observer="others", device=0)
    assert idle.dimension_lower == np.inf
    quiet = one_random_device(noise=[0.0, *[0.1] * 39], devices=40)
    assert theorem1_region(quiet, observer="others", device=0).dimension_lower in (0.0, np.inf)
    seen = theorem1_region(one_random_device(devices=40), observer="participants", device=0)
    assert seen.observer is Observer.PARTICIPANTS
    assert (seen.delta_upper, seen.dimension_upper) == (0.9, 0.0)
    assert seen.factor_lower == np.inf
    many = theorem1_region(one_random_device(devices=40, noise=[1e-7, *[0.1] * 39]), observer="others", device=0)
    assert (many.dimension_lower, many.dimension_upper) == (LONGEST, np.inf)


def test_the_least_t_where_exponentials_leave_the_doubles():
    """(exp(epsilon) - 1) / p is above every double: its logarithm is not."""
    system = one_random_device(p=1e-8, signal=38.5, dimension=1, adjacency="silent", delta=1e-12, delta_prime=1e-12)
    region = theorem1_region(system, observer="participants", device=0)
    exact = system_privacy.epsilon_bracket(system, delta=float(region.delta[0]), observer="participants", device=0)
    assert 692 < exact.lower < 700
    least = [11.00000001 * 0.1 - 38.5**2 * 2 * math.log(1.25e12) / (end - math.log(1e-8)) ** 2 for end in exact[:2]]
    assert region.t_lower < least[0] < least[1] < region.t_upper
    assert (region.t_lower, region.t_upper) == (pytest.approx(least[0], rel=1e-9), pytest.approx(least[1], rel=1e-9))


def test_against_y_alone_the_dimension_counts_without_own_noise():
    """In 784 dimensions the norm shows the others' noise; in one, with their codes 0, delta is that of a mixture."""
    noise, weight = [0.0, *[1.0] * 5], [11.66446554092426, *[0.0] * 5]
    system = InferenceSystem(
        devices=6, participation=[1.0, *[0.9] * 5], noise_variance=noise, weight=weight, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.01, dimension=784, delta=0.01, delta_prime=0.01, adjacency="silent",
    )  # fmt: skip
    region = theorem1_region(system, form="eq23", observer="signal", device=0)
    assert region.false[0] and 1 <= region.dimension_upper[0] < 784
    short = theorem1_region(system.replace(dimension=1), form="eq23", observer="signal", device=0)
    assert not short.false[0] and short.dimension_upper == region.dimension_upper


def test_where_nothing_is_claimed_nothing_is_false():
    seen = theorem1_region(one_random_device(devices=12), observer="participants", device=0)
    assert seen.epsilon == np.inf and seen.true[0] and not seen.false[0]


def test_it_says_where_it_is_estimated():
    many = one_random_device(devices=100, dimension=784, adjacency="silent").replace(participation=0.9)
    assert theorem1_region(many, observer="others", device=0).estimated
    assert not theorem1_region(many.replace(adjacency="absent"), observer="others", device=0).estimated


def test_what_it_refuses():
    with pytest.raises(ParameterError, match="rounds = 3"):
        theorem1_region(one_random_device().replace(rounds=3))
    with pytest.raises(ParameterError, match="form"):
        theorem1_region(one_random_device(), form="theorem2")
    with pytest.raises(ParameterError, match="system"):
        theorem1_region(3)


def test_the_observer_is_that_of_the_system():
    system = InferenceSystem(
        devices=4, participation=0.8, noise_variance=0.2, weight=0.25, clip=1.0, alignment=1.0, receiver_noise_variance=0.1,
        dimension=4, delta=1e-5, observer="signal",
    )  # fmt: skip
    assert theorem1_region(system).observer == "signal"
    assert theorem1_region(system, observer="others").observer == "others"
