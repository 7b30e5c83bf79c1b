"""Both ends of privacy curves: families of pairs, releases of very unlike scales, and how near the ends are said to be."""

import math
import pickle

import flint
import numpy as np
import pytest
from hunt.curves import between, on_a_line, signal, subsampled_aggregate, subsampled_pair, subsampled_signal, together
from support.systems import unlike

import airtight
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.privacy.accounting import numerical_composition
from airtight.analytics.privacy.accounting.numerical_composition import Joint
from airtight.analytics.privacy.accounting.subsampled import Subsampled
from airtight.analytics.privacy.mechanisms import laplace
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.over_the_air import rounds

QUIET = {
    "adjacency": "silent",
    "participation": [0.3, 0.5, 0.5, 0.5],
    "noise_variance": [0.05, 2.0, 2.0, 2.0],
    "weight": 1.0,
    "receiver": 0.05,
    "epsilon": 0.5,
}
LOUD = {"participation": 0.8, "noise_variance": 1e5, "weight": 0.4, "receiver_noise_variance": 3.0}
LATE = {
    "participation": [0.1219, 2.1e-7, 0.782, 1 - 1.4e-12, 1.93e-9, 0],
    "noise_variance": [23.75, 0.139, 93.31, 28.44, 38.02, 0.0319],
    "weight": [0.369, 0.332, 0.553, 0.491, 0.389, 0.758],
    "receiver_noise_variance": 1.0,
}


def system(devices, *, adjacency="absent", **given):
    rest = {"clip": 1.0, "alignment": 1.0, "dimension": 1, "delta": 1e-3, "delta_prime": 1e-5}
    return airtight.InferenceSystem(devices=devices, adjacency=adjacency, **rest, **given)


def aggregate(clients=20, dropout=0.0):
    return airtight.aggregation(
        airtight.FederatedSystem(clients=clients, parameters=3, epsilon=1.0, ldp_fraction=1.0, dropout=dropout)
    )


def signal_curve():
    others = {
        "noise_variance": QUIET["noise_variance"],
        "participation": QUIET["participation"],
        "weight": [1.0, 0, 0, 0],
    }
    return airtight.curve(system(4, adjacency="silent", receiver_noise_variance=0.05, **others), observer="signal")


# A family of pairs, subsampled


@pytest.mark.parametrize("chance", [1.0, 0.5, 1e-3])
def test_a_subsampled_interval_stays_an_interval(chance):
    """The others say nothing here, so that the truth is what y alone gives away: the lower end of `others` was 187 times that."""
    assert signal(QUIET) <= 1 + 1e-9
    assert subsampled_signal({**QUIET, "chance": chance}) <= 1 + 1e-9


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_family_that_surely_happens_is_that_family(dropout):
    curve = aggregate(dropout=dropout)
    ends, same = (one.bracket(epsilon=0.1) for one in (curve, airtight.subsampled(curve, 1.0)))
    assert ends.lower > 0 and np.allclose(ends, same, rtol=1e-9)


def test_the_lower_end_of_a_subsampled_family_comes_from_a_pair_of_it():
    curve = airtight.subsampled(aggregate(), 0.5)
    low, high = curve.bracket(epsilon=0.1)
    assert 0.9 * high < low <= high
    low, high = curve.compose(2).bracket(epsilon=0.1)
    assert 0 < low < high
    assert subsampled_aggregate({"clients": 5, "loss": 1.0, "chance": 0.4, "epsilon": 0.05}) <= 1


def test_a_joint_release_is_its_composition():
    factors = airtight.compose([airtight.gaussian(0.5), airtight.laplace(0.3)], [1, 2]).factors
    joint, eps = Joint(factors), np.array([0.0, 0.4])
    low, high = joint.delta_bracket(eps)
    ends = airtight.compose([airtight.gaussian(0.5), airtight.laplace(0.3)], [1, 2]).bracket(epsilon=eps)
    assert np.all(low <= ends.upper) and np.all(ends.lower <= high)
    assert joint.greatest_loss() == math.inf == joint.reached_loss() and joint.bounded_below and joint.unit == ""
    with pytest.raises(NotImplementedError, match="no JSON form"):
        Subsampled(joint, 0.5).release.parameters()


def test_subsampled_families_survive_json():
    curve = airtight.subsampled(signal_curve(), 0.25)
    again = airtight.PrivacyCurve.from_json(curve.to_json())
    assert again.bracket(epsilon=0.5) == curve.bracket(epsilon=0.5)


def test_subsampled_laws_on_outcomes():
    pair = {"p": [0.7, 0.2, 0.1], "q": [0.1, 0.3, 0.6], "chance": 0.3, "epsilon": 0.2, "count": 2}
    for direction in ("forward", "reverse", "worst"):
        assert subsampled_pair({**pair, "direction": direction}) <= 1


# Pure epsilon


def test_no_pure_epsilon_is_claimed_that_is_not_reached():
    """What is not known to have an infinite loss had one at both ends."""
    assert airtight.gaussian(0.0).bracket(delta=0.0) == (0.0, 0.0)
    low, high = airtight.compose([airtight.gaussian(0.0), airtight.laplace(1.0)]).bracket(delta=0.0)
    assert low == pytest.approx(1.0) == high
    one = airtight.curve(
        system(2, participation=[0.3, 0.5], noise_variance=[0.05, 2.0], weight=1.0, receiver_noise_variance=0.1)
    )
    low, high = one.bracket(delta=0.0, direction="reverse")  # Q / (p P + (1 - p) Q) is at most 1 / (1 - p)
    assert low <= -math.log1p(-0.3) < high
    assert one.bracket(delta=0.0, direction="forward") == (math.inf, math.inf)
    pytest.importorskip("dp_accounting")
    peer = airtight.PrivacyCurve.from_dp_accounting(airtight.laplace(1.0).to_dp_accounting(1e-2)[0])
    assert peer.bracket(delta=0.0)[0] <= 1.0


def test_pure_ends_of_laws_and_mixtures():
    assert airtight.discrete_pair([0.75, 0.25], [0.25, 0.75]).bracket(delta=0.0).reached
    low, high = airtight.subsampled(airtight.laplace(1.0), 0.5).bracket(delta=0.0)
    assert low == pytest.approx(math.log1p(0.5 * math.expm1(1.0))) == high
    silent = {"participation": 0.5, "noise_variance": 0.1, "weight": [0.0, 0.5], "receiver_noise_variance": 0.05}
    assert airtight.curve(system(2, adjacency="silent", **silent), device=0).bracket(delta=0.0) == (0.0, 0.0)


# Releases of very unlike scales


@pytest.mark.parametrize("tiny", [airtight.randomized_response(1e-7), airtight.laplace(1e-12)])
@pytest.mark.parametrize("delta", [1e-5, 1e-100])
def test_a_tiny_release_does_not_force_its_grid(tiny, delta):
    """It asked for 56 TiB. epsilon is that of the Gaussian alone, but for the pure loss of the tiny one."""
    alone = float(airtight.gaussian(1.0).epsilon(delta))
    ends = airtight.compose([airtight.gaussian(1.0), tiny]).bracket(delta=delta)
    assert ends.lower <= alone + 1e-7 and ends.upper >= alone * (1 - 1e-9)
    assert ends.reached and ends.width < 1e-3


@pytest.mark.parametrize(
    ("great", "loss", "count", "excess"),
    [
        (1.0, 1e-12, 10**6, 2e-3),
        (1.0, 1e-7, 10**6, 2e-2),
        (1.0, 1e-4, 10**6, 2e-2),
        (10.0, 1e-3, 10**6, 1e-2),
        (1e3, 1e-12, 10**6, 2e-3),
        (1e3, 1.0, 1, 2e-3),
        (1e-3, 1e-9, 10**3, 2e-3),
    ],
)
@pytest.mark.parametrize("delta", [1e-5, 1e-60])
def test_mixes_of_scales(great, loss, count, excess, delta):
    """One Laplace release beside many small ones: between it alone, and what a few deviations of the small ones add."""
    ends = airtight.compose([airtight.laplace(great), airtight.laplace(loss)], [1, count]).bracket(delta=delta)
    alone = airtight.laplace(great).bracket(delta=delta)
    spread = math.sqrt(-2 * math.log(delta)) + 1
    most = great + min(count * loss, spread * math.sqrt(count) * loss + count * loss * loss / 2)
    assert alone.lower <= ends.upper <= most * (1 + excess) + 1e-300
    assert ends.lower <= most and ends.width < 3 * excess
    assert ends.lower >= alone.upper * (1 - 3 * excess)


@pytest.mark.parametrize("kind", ["nothing", "gaussian", "threshold", "utility", "subsampled"])
@pytest.mark.parametrize("loss", [[1e-12, 0.5], [1e-7, 1e-3], [0.2, 30.0], [1e3, 1e-9]])
def test_mixes_against_sums_over_all_answers(kind, loss):
    case = {
        "kind": kind,
        "mu": 0.7,
        "noise": 1.1,
        "chance": 0.3,
        "loss": loss,
        "count": [3, 2],
        "share": 0.3,
        "shape": 2,
    }
    ratio = together(case)
    assert not ratio > 1


# How near the ends are


def test_loud_own_noise_under_absent():
    """Losses of millions in a round: the ends were 183 times apart."""
    one = system(1, **LOUD)
    ends = rounds.bracket(one, delta=1e-3, rounds=100)
    assert ends.reached[0] and ends.width[0] <= 1e-3
    assert 2.1e6 < ends.lower[0] <= ends.upper[0] < 2.13e6


def test_a_narrow_interval_where_it_was_not_reached():
    ends = airtight.subsampled(1.0, 0.004).compose(15000).bracket(delta=1e-6, width=1e-5)
    assert ends.reached and ends.width <= 1e-5
    assert 3.0758 < ends.lower < ends.upper < 3.0759


def test_a_bracket_says_what_it_reached():
    curve = airtight.subsampled(1.0, 0.01).compose(100)
    ends = curve.bracket(delta=[1e-3, 1e-6])
    low, high = ends
    assert len(ends) == 2 and low is ends.lower is ends[0] and high is ends.upper is ends[1]
    assert np.all(ends.reached) and np.array_equal(ends.width, (high - low) / high)
    assert not np.any(curve.bracket(delta=[1e-3, 1e-6], width=1e-13).reached)
    wide = signal_curve().bracket(epsilon=0.5)
    assert not wide.reached and wide.width > 0.9 and "reached=" in repr(wide)
    both = airtight.gaussian(1.0).bracket(epsilon=[-0.5, 0.0, 2.0])
    assert np.all(both.reached) and np.all(both.width < 1e-9)
    again = pickle.loads(pickle.dumps(both))
    assert np.array_equal(again.lower, both.lower) and np.array_equal(again.reached, both.reached)


def test_where_nothing_is_known_from_below_it_is_said():
    idle = system(
        2,
        adjacency="silent",
        participation=0.5,
        noise_variance=[0.05, 2.0],
        weight=[0.5, 0.0],
        receiver_noise_variance=0.0,
    )
    ends = airtight.curve(idle, observer="signal").bracket(epsilon=0.5)
    assert ends.lower == 0 and ends.upper > 0 and ends.width == 1 and not ends.reached


def test_a_composition_gives_away_no_less_than_one_of_its_releases():
    """Total variation of four rounds of a device that is hardly ever there; both orders have one."""
    one = airtight.curve(system(6, **LATE), device=4)
    first = [(1.93e-9, 0.389, 39.02), (1 - 1.93e-9, 0.0, 1.0)]
    assert on_a_line(0.0, first, [(1.0, 0.0, 1.0)]) > 0
    single = one.bracket(epsilon=0.0)
    for direction in ("forward", "reverse"):
        ends = one.compose(4).bracket(epsilon=0.0, direction=direction, width=0.5)
        assert single.lower * (1 - 1e-8) <= ends.lower <= ends.upper <= 4 * single.upper * (1 + 1e-3)


# Signs


def test_no_negative_zero():
    eps = [0.0, 1.0, 2.0, np.inf]
    for curve in (
        airtight.laplace(1.0),
        airtight.laplace(0.0),
        airtight.randomized_response(1.0),
        airtight.gaussian(0.0),
    ):
        for ends in (curve, curve.compose(2), airtight.subsampled(curve, 0.5), airtight.subsampled(curve, 0.0)):
            for direction in ("forward", "reverse", "worst"):
                assert not np.any(np.signbit(ends.bracket(epsilon=eps, direction=direction)))
                assert not np.any(np.signbit(ends.bracket(delta=[0.0, 0.5, 1.0], direction=direction)))
        assert not np.signbit(curve.advantage())
        assert not np.any(np.signbit(curve.beta([0.0, 0.5, 1.0]))) and not np.any(np.signbit(curve.tpr([0.0, 1.0])))
        assert not np.any(np.signbit(curve.bayes_risk([0.0, 0.5, 1.0])))
    assert not np.any(np.signbit(laplace.delta(eps, sensitivity=1.0, scale=1.0)))


def test_the_judge_on_a_line():
    """Two unit Gaussians, whose divergence is in closed form."""
    found = on_a_line(1.0, [(1.0, 1.0, 1.0)], [(1.0, 0.0, 1.0)])
    with flint.ctx.workprec(100):
        a, root = ball(1) / 2, flint.arb(2).sqrt()
        truth = (a / root).erfc() / 2 - ball(1).exp() * ((a + 1) / root).erfc() / 2
    assert found == pytest.approx(float(truth), rel=1e-12) and between(found, found, found, found) == 1


def test_a_curve_of_a_mechanism_takes_a_count():
    three = airtight.PrivacyCurve.of(Gaussian(0.5), 3)
    assert three == airtight.compose([airtight.gaussian(0.5)], [3]) and three.factors == ((Gaussian(0.5), 3),)
    for count in (0, -1, 1.5, True, "2"):
        with pytest.raises(airtight.ParameterError, match="count"):
            airtight.PrivacyCurve.of(Gaussian(0.5), count)
    for mechanism in ("gaussian", airtight.gaussian(0.5), Gaussian, None):
        with pytest.raises(airtight.ParameterError, match=r"mechanism(: missing; | = .*: )must be a Mechanism"):
            airtight.PrivacyCurve.of(mechanism)


@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-4, 0.3, np.inf])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_few_values_of_a_bracketed_curve_show_where_it_falls(apart, power):
    """A costly curve whose bounds are apart, with errors that come and go: both ends are on their sides, and as close as that."""
    asked = []

    def curve(epsilon):
        asked.append(epsilon.size)
        with np.errstate(over="ignore", under="ignore"):
            log_value = -(np.minimum(3 * epsilon, 1e4) ** power) - 1
            if apart == np.inf:
                return np.zeros(epsilon.shape), np.exp(log_value)
            log_value = log_value + apart / 200 * np.sin(np.minimum(epsilon, 1e4) * 1e7)
            return np.exp(log_value - apart / 2), np.exp(log_value + apart / 2)

    delta = np.array([0.9, 0.1, 1e-3, 1e-10, 1e-30])
    low, high = numerical_composition._crossings(curve, delta)
    assert low[0] == high[0] == 0
    assert np.all(curve(high)[1] <= delta) and np.all((curve(low)[0] > delta) | (low == 0))
    if apart < np.inf:
        narrowest = [((-1 - np.log(delta[1:]) + sign * apart / 2) ** (1 / power)) / 3 for sign in (-1, 1)]
        slack = 1e-12 * narrowest[1] + 0.03 * (narrowest[1] - narrowest[0])
        assert np.all(low[1:] >= narrowest[0] - slack) and np.all(high[1:] <= narrowest[1] + slack)
    else:  # no lower bound: the upper end is as close as for a curve that is known
        assert np.all(low == 0)
        np.testing.assert_allclose(high[1:], (-1 - np.log(delta[1:])) ** (1 / power) / 3, rtol=1e-12)
    assert sum(asked[:-2]) < 26 + 5 * (60 if 0 < apart < 1 else 120)


def test_an_order_below_another_one_is_not_searched(monkeypatch):
    """The epsilon of one release in the lesser order: below what the greater one reaches, one value of the curve suffices."""
    curve = rounds.curve(unlike(5, 0, "silent", 300), device=1, observer="others")
    deltas = [1e-3, 1e-5, 1e-7, 1e-9]
    forward, reverse, worst = (curve.bracket(delta=deltas, direction=each) for each in ("forward", "reverse", "worst"))
    asked = {False: 0, True: 0}
    divergences = rounds.Query._divergences

    def counted(query, eps, order):
        asked[order] += eps.size
        return divergences(query, eps, order)

    monkeypatch.setattr(rounds.Query, "_divergences", counted)
    again = rounds.curve(unlike(5, 0, "silent", 300), device=1, observer="others").bracket(delta=deltas)
    np.testing.assert_array_equal(again, worst)
    np.testing.assert_array_equal(worst.lower, np.maximum(forward.lower, reverse.lower))
    assert np.all(worst.upper <= np.maximum(forward.upper, reverse.upper)) and np.all(forward.lower > reverse.upper)
    assert asked[True] <= len(deltas) + 2 < asked[False]


def test_a_value_that_is_not_a_number_proves_nothing():
    """Neither a place where delta is above its target nor one where it is not; a floor of whole numbers stays a floor."""

    def curve(epsilon):
        value = np.exp(-epsilon)
        unknown = (epsilon > 0.5) & (epsilon < 3)
        return np.where(unknown, np.nan, value * 0.9), np.where(unknown & (epsilon < 1), np.nan, value * 1.1)

    delta = np.exp([-1.0, -2.0])
    low, high = numerical_composition._crossings(curve, delta)
    assert np.all(low <= -np.log(delta)) and np.all(high >= -np.log(delta)) and np.all(low > 0)


def test_a_floor_may_be_a_whole_number():
    one, delta = numerical_composition.Composition(((Subsampled(Gaussian(1.0, ""), 0.5), 1),)), np.array([0.1, 1e-3])
    low, high = one.epsilons(delta, floor=0)
    np.testing.assert_array_equal((low, high), one.epsilons(delta))
    assert np.all((low <= high) & (high < low * (1 + 1e-9))) and low[0] < 1 < low[1]
    np.testing.assert_array_equal(one.epsilons(delta, floor=np.array([1, 1])), [[0.0, low[1]], [1.0, high[1]]])
