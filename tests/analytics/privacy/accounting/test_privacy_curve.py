"""Many points of a curve at once: the same curve as point by point, whatever the points beside them."""

import itertools
import json
import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.accounting import numerical_composition, privacy_curve
from airtight.analytics.privacy.mechanisms import gaussian as gaussian_mechanism

CURVES = {
    "gaussian": airtight.gaussian(0.7),
    "laplace": airtight.laplace(0.8),
    "responses": airtight.randomized_response(2.0, 3),
    "subsampled": airtight.subsampled(1.0, 0.02),
    "many subsampled": airtight.subsampled(1.0, 0.02).compose(300),
    "unlike": airtight.compose([airtight.gaussian(0.3), airtight.laplace(0.2)], [3, 10]),
    "infinite losses": airtight.discrete_pair([0.7, 0.2, 0.1], [0.6, 0.4, 0.0]).compose(7),
    "nothing": airtight.gaussian(1.0).compose(0),
}
DELTAS = np.concatenate([[0.0, 0.5, 1.0, 2.0], 10.0 ** -np.linspace(0.3, 14, 16)])
EPSILONS = np.concatenate([[0.0, np.inf], np.linspace(0.05, 6, 12), -np.linspace(0.1, 4, 5)])


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("direction", ["worst", "forward", "reverse"])
def test_brackets_of_many_points_meet_those_of_one(name, direction):
    curve = CURVES[name]
    together = curve.bracket(delta=DELTAS, direction=direction)
    alone = [curve.bracket(delta=x, direction=direction) for x in DELTAS]
    assert np.all(together.lower <= together.upper)
    for i, one in enumerate(alone):
        assert together.lower[i] <= one.upper * (1 + 1e-12) and one.lower <= together.upper[i] * (1 + 1e-12)
        assert together.reached[i] or not one.reached
    together = curve.bracket(epsilon=EPSILONS, direction=direction)
    alone = [curve.bracket(epsilon=x, direction=direction) for x in EPSILONS]
    assert np.all(together.lower <= together.upper)
    for i, one in enumerate(alone):
        assert together.lower[i] <= one.upper * (1 + 1e-12) and one.lower <= together.upper[i] * (1 + 1e-12)
        assert together.reached[i] or not one.reached


@pytest.mark.parametrize("name", CURVES)
def test_a_point_does_not_depend_on_those_beside_it(name):
    curve, again = CURVES[name], airtight.PrivacyCurve.from_json(CURVES[name].to_json())
    chosen = np.array([3, 5, 6, 7, 9, 11, 13, 15, 16, 18])
    assert np.array_equal(curve.epsilon(DELTAS)[chosen], again.epsilon(DELTAS[chosen]))
    assert np.array_equal(curve.delta(EPSILONS)[chosen - 2], again.delta(EPSILONS[chosen - 2]))


@pytest.mark.parametrize("name", CURVES)
def test_an_order_does_not_depend_on_the_other_one_being_asked_before(name):
    """Both orders share the values of their sketches."""
    asked, written = DELTAS[[4, 9, 14]], CURVES[name].to_json()
    for direction, other in (("reverse", "forward"), ("forward", "reverse")):
        first, second = (airtight.PrivacyCurve.from_json(written) for _ in range(2))
        second.epsilon(asked[0], direction=other)
        for delta in asked:
            assert np.array_equal(*(each.bracket(delta=delta, direction=direction) for each in (first, second)))


@pytest.mark.parametrize("name", CURVES)
def test_many_points_keep_their_shape_and_order(name):
    curve = CURVES[name]
    assert curve.epsilon(DELTAS.reshape(4, 5)).shape == (4, 5) and curve.epsilon(np.empty((0,))).shape == (0,)
    assert curve.delta(np.empty((3, 0))).shape == (3, 0) and curve.beta(np.full((2, 6), 0.3)).shape == (2, 6)
    grid = np.sort(DELTAS)
    bracket = curve.bracket(delta=grid)
    assert np.all(bracket.lower[1:] <= bracket.upper[:-1] * (1 + 1e-12)), "epsilon falls in delta"


def test_a_composition_at_many_points_has_the_values_of_a_closed_form():
    """Gaussian releases composed on grids, as a family of unlike kinds would be: the truth is a Gaussian."""
    truth = airtight.gaussian(0.5 * np.sqrt(40))
    factors = ((privacy_curve.Gaussian(0.5), 40),)
    composed = numerical_composition.Composition(factors)
    deltas, epsilons = 10.0 ** -np.linspace(0.5, 40, 60), np.linspace(0.05, 30, 60)
    low, high = composed.epsilons(deltas)
    assert np.all(low <= truth.epsilon(deltas)) and np.all(truth.epsilon(deltas) <= high * (1 + 1e-12))
    assert np.all(high - low <= 1e-3 * high)
    low, high = composed.deltas(epsilons)
    assert np.all(low <= truth.delta(epsilons)) and np.all(truth.bracket(epsilon=epsilons).lower <= high)
    assert np.all(np.log(high / low) <= 0.05)


def test_grids_are_kept_within_bounds():
    """A curve that was asked everywhere stays small, and its pickle holds the releases alone."""
    curve = airtight.subsampled(1.0, 0.02).compose(300)
    once = curve.delta(np.linspace(0, 12, 40))
    assert np.array_equal(curve.delta(np.linspace(0, 12, 40)), once)
    for order in curve._orders.values():
        grids = order._above(1.0)._grids
        assert len(grids) <= 1 or sum(grid.size for grid in grids.values() if grid) <= numerical_composition._KEPT
    text = pickle.dumps(curve)
    assert len(text) < 2000 and pickle.loads(text) == curve


@given(st.floats(1e-3, 1e3), st.lists(st.floats(1e-300, 0.999), min_size=9, max_size=20), st.floats(0, 0.01))
@settings(deadline=None, max_examples=25)
def test_epsilons_of_a_gaussian_are_those_of_its_curve(mu, deltas, slack):
    release, level = privacy_curve.Gaussian(mu, "", slack), np.array(deltas)
    low, high = release.epsilons(level)
    at_high, at_low = release.delta_bracket(high)[1], release.delta_bracket(low)[0]
    assert (
        np.all(low <= high)
        and np.all(at_high <= level * (1 + 1e-11))
        and np.all((at_low >= level * (1 - 1e-11)) | (low == 0))
    )
    if slack == 0:
        assert np.all(high - low <= 1e-8 * high + 1e-12)


@given(st.integers(1, 30), st.integers(0, 10**6))
@settings(deadline=None, max_examples=25)
def test_hull_is_the_greatest_line(count, seed):
    rng = np.random.default_rng(seed)
    fall, start = np.sort(rng.random(count)), rng.random(count)
    alpha = rng.random(7)
    expected = np.max(start - fall * alpha[:, None], axis=1)
    assert privacy_curve._highest(1 - start, fall, alpha) == pytest.approx(expected)
    assert privacy_curve._highest(1 - start, fall, np.zeros(1)) == pytest.approx(np.max(start))


def test_sums_of_decayed_masses():
    from airtight.analytics.privacy.accounting import connect_the_dots

    rng = np.random.default_rng(0)
    for step in (1e-6, 1e-3, 0.7, 40.0):
        mass = rng.random(200) * 10.0 ** -rng.integers(0, 12, 200)
        expected, total = [], 0.0
        for each in mass:
            total = total * np.exp(-step) + each
            expected.append(total)
        assert connect_the_dots._decayed(mass, -np.arange(200), step) == pytest.approx(expected, rel=1e-12)
        assert connect_the_dots._decayed(np.zeros(0), np.arange(0), step).size == 0


def _gaussian_json(**changes):
    release = {"constructor": "gaussian", "parameters": {"mu": 1.0}, "count": 1} | changes
    return json.dumps([release])


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '""',
        "null",
        "[1]",
        "[{}]",
        "[" * 100_000,
        '[{"constructor":"subsampled","parameters":{"p":1,"release":' * 2000,
        _gaussian_json(count=0),
        _gaussian_json(count=True),
        _gaussian_json(count=10**400),
        _gaussian_json(more=1),
        _gaussian_json(parameters=[]),
        _gaussian_json(parameters={"mu": 1.0, "unit": -1.0}),
        _gaussian_json(parameters={"mu": 1.0, "unit": "\x1b[31m"}),
        _gaussian_json(parameters={"mu": 1.0, "unit": "x" * 1000}),
        _gaussian_json(parameters={"mu": True}),
        _gaussian_json(parameters={"mu": "1"}),
        _gaussian_json(parameters={"mu": math.nan}),
        _gaussian_json(parameters={"mu": 1.0, "x": 1}),
        _gaussian_json(constructor="system", parameters={}),
        *(
            _gaussian_json(constructor="tabulated", parameters={"first": [0, 0], "infinite": [0, 0], **wrong})
            for wrong in (
                {"step": -1.0, "mass": [[1], [1]]},
                {"step": 1.0, "mass": [[-1], [1]]},
                {"step": 1.0, "mass": [[0.1], [0.2]]},
                {"step": 1.0, "mass": [[1]]},
                {"step": 1.0, "mass": [["x"], [1]]},
            )
        ),
        None,
        3,
        b"[]",
    ],
    ids=lambda text: str(text)[:40],
)
def test_only_the_json_of_a_curve_is_a_curve(text):
    with pytest.raises(airtight.ParameterError):
        airtight.PrivacyCurve.from_json(text)


def test_html_is_escaped():
    curve = airtight.gaussian(1.0, unit="<script>alert(1)</script>")
    assert "<script>" not in curve._repr_html_()
    assert "&lt;script&gt;" in curve._repr_html_()


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.3, 2.0, 9.0, 37.0])
def test_gaussian_trade_off_is_rounded_down(mu):
    """Against Phi(Phi^-1(1 - alpha) - mu) at 400 digits, where the difference of doubles alone would lie above it, too."""
    alpha = np.array([1e-300, 1e-40, 1e-9, 0.01, 0.5, 0.9, 1 - 1e-9, 1 - 1e-15])
    with mpmath.workdps(400):
        for level, beta in zip(alpha.tolist(), airtight.gaussian(mu).beta(alpha).tolist(), strict=True):
            threshold = mpmath.mpf(-float(special.ndtri(level)))
            for _ in range(12):  # Newton's method: the upper tail beyond the threshold is the level
                excess = mpmath.erfc(threshold / mpmath.sqrt(2)) / 2 - mpmath.mpf(level)
                threshold += excess * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(threshold**2 / 2)
            exact = mpmath.erfc((mu - threshold) / mpmath.sqrt(2)) / 2
            assert exact - 1e-11 <= mpmath.mpf(beta) <= exact


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.3, 2.0, 9.0, 37.0])
def test_gaussian_bayes_risk_is_rounded_down(mu):
    """Against the closed form at 60 digits."""
    prior = np.array([1e-12, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.999, 1 - 1e-12])
    with mpmath.workdps(60):
        for share, risk in zip(prior.tolist(), airtight.gaussian(mu).bayes_risk(prior).tolist(), strict=True):
            odds = mpmath.mpf(share) / (1 - mpmath.mpf(share))
            a, b = (mpmath.log(odds) / mu + sign * mpmath.mpf(mu) / 2 for sign in (-1, 1))
            delta = (mpmath.erfc(a / mpmath.sqrt(2)) - odds * mpmath.erfc(b / mpmath.sqrt(2))) / 2
            exact = (1 - mpmath.mpf(share)) * (1 - delta)
            assert exact - 1e-11 <= mpmath.mpf(risk) <= exact


def test_no_epsilon_is_above_the_pure_one():
    """Composed grids are coarser than the total loss where delta is small."""
    flips = airtight.discrete_pair([0.9, 0.1], [0.1, 0.9]).compose(23)
    deltas = np.geomspace(1e-300, 1e-3, 12)
    pure = 23 * math.log(9)
    assert np.all(flips.epsilon(deltas) <= pure * (1 + 1e-14))
    assert all(float(flips.epsilon(float(delta))) <= pure * (1 + 1e-14) for delta in deltas)


def test_outcomes_that_only_one_neighbour_has():
    """Infinite losses, alone or beside losses below 0: one minus the power of what remains."""
    nothing_hidden = airtight.subsampled(airtight.gaussian(math.inf), 0.1).compose(5)
    low, high = nothing_hidden.bracket(epsilon=[0.0, 1.0, 50.0])
    truth = 1 - 0.9**5
    assert np.all(low <= truth * (1 + 1e-15)) and np.all(truth <= high) and np.all(high <= 1.001 * truth)
    assert airtight.discrete_pair([0.377, 0.623], [0, 1]).compose(7).epsilon(1e-200) == math.inf
    close = airtight.discrete_pair([0.9064, 0.0936], [0.9065, 0.0935])
    rare = airtight.discrete_pair([1.0, 3.3036340325371546e-23], [0.0, 1.0])
    assert airtight.compose([close, rare], [8, 1]).bracket(epsilon=0.7)[0] > 1 - 1e-12


def test_true_positives_without_a_false_one():
    """Q(3) = 0 and P(3) = 1e-17; the least normal doubles; no outcome of a Gaussian release is impossible."""
    pair = airtight.discrete_pair([0.25, 0.75 - 1e-17, 1e-17], [0.5, 0.5, 0.0])
    assert 1e-17 <= pair.tpr(0.0) < 2e-17 and pair.beta(0.0) < 1
    assert 3e-17 * (1 - 1e-15) <= pair.compose(3).tpr(0.0) < 4e-17
    for curve in (airtight.gaussian(1.0), airtight.laplace(1.0), airtight.gaussian(1.0).compose(10)):
        assert curve.tpr(0.0) == 0.0 and curve.beta(0.0) == 1.0


@pytest.mark.parametrize("curve", [airtight.laplace(100.0).compose(10), airtight.randomized_response(40.0).compose(40)])
def test_errors_where_every_loss_is_huge(curve):
    assert curve.tpr([0.1, 1.0]).tolist() == [1.0, 1.0] and curve.beta([0.5, 1.0]).tolist() == [0.0, 0.0]
    assert 0 <= curve.tpr(0.0) < 1e-9


@pytest.mark.parametrize(("curve", "epsilon", "truth"), [
    (airtight.subsampled(1.0, 0.5), 41.0, "1e-324"), (airtight.laplace(5e-324), 0.0, "2.47e-324"),
    (airtight.subsampled(1.0904108738581082, 0.49502583355930785), 41.69401105723879, "1.029e-323"),
])  # fmt: skip
def test_the_least_doubles(curve, epsilon, truth):
    low, high = (mpmath.mpf(float(end)) for end in curve.bracket(epsilon=epsilon))
    assert low <= mpmath.mpf(truth) <= high


def test_losses_of_events_are_known_from_both_sides():
    event = pytest.importorskip("dp_accounting").dp_event
    scale = 0.006400080914317202
    curve, epsilon = airtight.PrivacyCurve.from_dp_accounting(event.LaplaceDpEvent(scale)), 156.2480245777777
    with mpmath.workdps(60):  # the loss 1 / scale is a hair below epsilon
        truth = max(1 - mpmath.exp((mpmath.mpf(epsilon) - 1 / mpmath.mpf(scale)) / 2), mpmath.mpf(0))
        low, high = (mpmath.mpf(float(end)) for end in curve.bracket(epsilon=epsilon))
        assert low <= truth <= high
    assert airtight.PrivacyCurve.from_json(curve.to_json()).bracket(epsilon=epsilon) == curve.bracket(epsilon=epsilon)
    with pytest.raises(ParameterError, match="a sample of a Gaussian or a Laplace release"):
        airtight.subsampled(airtight.randomized_response(1.0), 0.1).to_dp_event()


@pytest.mark.parametrize(("call", "name"), [
    (lambda: airtight.participation([1.0, 2.0], noise=5e-324, selected=1), "noise"),
    (lambda: airtight.spread_budget([1.0, 2.0], budget=5e-324), "budget"),
    (lambda: airtight.spread_budget([1.0, 2.0], budget=1.0, cost=1e308), "budget"),
    (lambda: airtight.Meter(1e308, 1e-5, devices=2), "budget_epsilon"),
    (lambda: airtight.Meter.from_json(None), "text"),
    (lambda: airtight.Channel(looks=[1.0, [2.0]]), "looks"),
    (lambda: airtight.utility_fair(0.1, epsilon=[], delta=1e-5, theta=0.5), "epsilon"),
    (lambda: airtight.laplace(1.0).to_dp_accounting(5e-324), "step"),
])  # fmt: skip
def test_extreme_arguments_are_named(call, name):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.name == name


def test_noise_for_a_huge_epsilon():
    for epsilon in (1e100, 1e250, 1e307, 1e308):  # delta is Phi(-a) there, epsilon / mu - mu / 2 = a
        assert float(gaussian_mechanism.sigma(epsilon, 1e-5, sensitivity=1.0)) == pytest.approx(
            1 / math.sqrt(2) / math.sqrt(epsilon)
        )
    assert airtight.participation([0.0, 1e150], noise=1e-307, selected=1)[0] == pytest.approx(1.0, abs=1e-12)


def total_variation(mu):
    """erf(mu / sqrt 8), in enough digits for any mu."""
    with mpmath.workdps(60):
        return mpmath.erf(mpmath.mpf(mu) / mpmath.sqrt(8))


@pytest.mark.parametrize("mu", [5e-324, 3e-320, 2.3e-308, 1e-200, 1e-160, 3e-156, 1e-30])
@pytest.mark.parametrize("count", [1, 2, 10**6, 10**12])
def test_no_gaussian_is_too_small_for_its_advantage(mu, count):
    truth = total_variation(mpmath.mpf(mu) * mpmath.sqrt(count))
    low, high = airtight.gaussian(mu).compose(count).bracket(epsilon=0.0)
    assert float(low) <= truth <= float(high) <= truth * (1 + mpmath.mpf(1e-11)) + 1e-322


@given(
    mus=st.lists(st.floats(-307, 2).map(lambda x: 10**x), min_size=1, max_size=4),
    counts=st.lists(st.integers(1, 10**9), min_size=4, max_size=4),
    place=st.floats(0, 3),
)
def test_a_composition_of_gaussians_of_any_size_meets_the_closed_form(mus, counts, place):
    with mpmath.workdps(700):
        mu = mpmath.sqrt(sum(n * mpmath.mpf(x) ** 2 for n, x in zip(counts, mus, strict=False)))
        epsilon = min(place * float(mu), 100.0)
        at = mpmath.mpf(epsilon)
        truth = mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)
    curve = airtight.compose([airtight.gaussian(x) for x in mus], counts[: len(mus)])
    low, high = curve.bracket(epsilon=epsilon)
    assert float(low) <= truth <= float(high)


@pytest.mark.parametrize("delta", [1e-290, 1e-300, 1e-307])
def test_a_million_releases_keep_their_ends_together_at_any_delta(delta):
    low, high = airtight.randomized_response(1e-4).compose(10**6).bracket(delta=delta)
    assert 3.6 < low <= high < 1.001 * low


def test_deltas_far_beyond_every_loss_vanish():
    """The losses of a million rare releases end near 17; delta at 150 was once 1."""
    curve = airtight.subsampled(1, 1e-9).compose(10**6)
    assert all(curve.delta(x) < 1e-290 for x in (150.0, 300.0))


@given(
    name=st.sampled_from(["laplace", "responses", "subsampled"]),
    log_size=st.floats(-4, 0.5),
    log_p=st.floats(-4, 0),
    count=st.sampled_from([2, 30, 1000, 10**5]),
    epsilons=st.tuples(st.floats(-3, 2.5), st.floats(-3, 2.5)),
    log_deltas=st.tuples(st.floats(-300, -1), st.floats(-300, -1)),
)
@settings(max_examples=15)
def test_curves_fall_in_epsilon_and_rise_in_the_count(name, log_size, log_p, count, epsilons, log_deltas):
    """Up to the distance of the ends, which each point has of its own."""
    x, p = 10**log_size, 10**log_p
    makers = {
        "laplace": airtight.laplace,
        "responses": airtight.randomized_response,
        "subsampled": lambda y: airtight.subsampled(y, p),
    }
    curve, more = (makers[name](x).compose(times) for times in (count, 2 * count))
    left, right = (curve.bracket(epsilon=10**y) for y in sorted(epsilons))
    few, many = (curve.bracket(delta=10**y) for y in sorted(log_deltas))
    assert right.lower <= left.upper and many.lower <= few.upper
    assert not (left.reached and right.reached) or right.upper <= left.upper * (1 + right.width) + 1e-290
    assert not (few.reached and many.reached) or many.upper <= few.upper * 1.002
    assert curve.bracket(epsilon=10 ** epsilons[0]).lower <= more.bracket(epsilon=10 ** epsilons[0]).upper


@pytest.mark.parametrize("count", [10**9, 10**12])
def test_a_huge_number_of_releases_has_an_answer(count):
    """The mean loss, the count times the Kullback-Leibler divergence, is all that is left of epsilon."""
    low, high = airtight.laplace(0.1).compose(count).bracket(delta=1e-5)
    mean = count * (0.1 - 1 + math.exp(-0.1))
    assert low <= mean * (1 + 1e-2) and mean <= high <= mean * (1 + 1e-2)


def test_an_infinite_loss_is_no_privacy_for_every_mechanism_and_strict_json():
    def refuse(constant):
        raise AssertionError(constant)

    for curve in (airtight.gaussian(math.inf), airtight.laplace(math.inf), airtight.randomized_response(math.inf, 3)):
        assert curve.delta([0.0, 5.0, math.inf]).tolist() == [1.0, 1.0, 1.0]
        text = curve.to_json()
        assert json.loads(text, parse_constant=refuse)[0]["parameters"]["mu"] == "inf"
        assert airtight.PrivacyCurve.from_json(text) == curve
        assert airtight.PrivacyCurve.from_json(text.replace('"inf"', "Infinity")) == curve
    assert airtight.PrivacyCurve.from_json(airtight.gaussian(1.0, unit="inf").to_json()).unit == "inf"


def test_several_gaussian_releases_of_one_sample_are_one():
    composed = airtight.compose([airtight.gaussian(0.3), airtight.gaussian(0.2)], [1, 4])
    both = [float(airtight.subsampled(curve, 0.01).epsilon(1e-5)) for curve in (composed, 0.5)]
    assert both[0] == pytest.approx(both[1], rel=1e-9)  # .3^2 + 4 (.2^2) = .5^2
    assert airtight.subsampled(airtight.gaussian(0.5).compose(2), 0.01).epsilon(1e-5) == pytest.approx(0.065730, rel=1e-5)
    with pytest.raises(ParameterError, match="one release, or Gaussian ones alone"):
        airtight.subsampled(airtight.laplace(1.0).compose(2), 0.01)


def test_reconstruction_is_what_the_best_attack_gains_over_its_guess():
    """Gaussian noise, in closed form; two laws, of all sets of outcomes."""
    baseline = np.array([0.0, 1e-9, 0.1, 0.5, 1.0])
    exact = special.ndtr(special.ndtri(baseline) + 1.5)
    found = airtight.gaussian(1.5).reconstruction(baseline)
    assert np.all(exact <= found) and np.allclose(found, exact, rtol=1e-6, atol=1e-12)
    p, q = np.array([0.6, 0.3, 0.1, 0.0]), np.array([0.2, 0.3, 0.4, 0.1])
    chosen = [list(each) for size in range(5) for each in itertools.combinations(range(4), size)]
    sets = [(p[each].sum(), q[each].sum()) for each in chosen]
    curve = airtight.discrete_pair(p, q)
    for success, guess in [*sets, *((b, a) for a, b in sets)]:
        assert success <= curve.reconstruction(min(guess, 1.0)) + 1e-12
    assert curve.reconstruction(0.0) >= 0.1 and airtight.laplace(2.0).reconstruction(0.0) == 0.0
    # two targets of unlike orders, (1, 0, 0) and (1/4, 1/4, 1/2) against (1/2, 1/2, 0): sets {1} and {3}
    assert airtight.discrete_pair([1, 0], [0.5, 0.5]).reconstruction(0.25) >= (1 + 0.5) / 2


@pytest.mark.parametrize("prior", [0.0, 1e-12, 0.01, 0.3, 0.5, 0.9, 1.0])
def test_posterior_is_the_mean_of_the_greater_probability(prior):
    p, q = np.array([0.6, 0.3, 0.1, 0.0]), np.array([0.2, 0.3, 0.4, 0.1])
    exact = max(np.maximum(prior * a, (1 - prior) * b).sum() for a, b in ((p, q), (q, p)))
    found = airtight.discrete_pair(p, q).posterior(prior)
    assert exact <= found + 1e-15 and found <= exact + 1e-12
    half = special.ndtr(0.75)
    assert half <= airtight.gaussian(1.5).posterior(0.5) <= half + 1e-12
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ParameterError, match=r"prior|baseline"):
            airtight.gaussian(1.0).posterior(wrong)
        with pytest.raises(ParameterError, match=r"prior|baseline"):
            airtight.gaussian(1.0).reconstruction(wrong)
