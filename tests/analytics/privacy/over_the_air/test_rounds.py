"""Curves and compositions against closed forms, enumeration, quadrature and a peer: the truth lies between the ends."""

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from support.systems import unlike

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting import connect_the_dots, loss_distribution
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution, Product
from airtight.analytics.privacy.accounting.numerical_composition import Composition
from airtight.analytics.privacy.accounting.privacy_curve import Direction, PrivacyCurve
from airtight.analytics.privacy.accounting.subsampled import Subsampled
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete, discrete
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse
from airtight.analytics.privacy.over_the_air import observers, rounds, system_privacy
from airtight.analytics.privacy.over_the_air.multi_antenna.shared_curves import SharedCurves, edges_of
from airtight.analytics.privacy.over_the_air.participation_mixture import hidden_divergence, signal_lower_bound
from airtight.analytics.privacy.over_the_air.participation_mixture.build import participations
from airtight.analytics.privacy.over_the_air.participation_mixture.noise_interpolant import NoiseInterpolant

LEVELS = [0.3, 1e-3, 1e-5, 1e-15, 1e-100, 1e-250]


def inside(low, value, high, slack=0.0):
    assert low * (1 - slack) - 1e-300 <= value <= high * (1 + slack) + 1e-300, (low, value, high)


def small(**changed):
    values = {
        "devices": 3,
        "participation": [0.3, 0.6, 0.8],
        "noise_variance": [0.5, 0.3, 1.1],
        "weight": 1.0,
        "clip": 0.8,
        "alignment": 1.0,
        "receiver_noise_variance": 0.2,
        "dimension": 1,
        "delta": 1e-3,
        "delta_prime": 1e-3,
        "adjacency": "silent",
    }
    return InferenceSystem(**{**values, **changed})


@pytest.mark.parametrize("mu, count", [(1.0, 4), (0.1, 64), (0.01, 10_000), (3.0, 10), (0.3, 1000)])
@pytest.mark.parametrize("delta", LEVELS)
def test_gaussians_on_a_grid_hold_the_closed_form(mu, count, delta):
    """Without the closed form: never below, never above, and no wider than asked, down to 1e-250."""
    exact = float(gaussian.epsilon(delta, sensitivity=mu * math.sqrt(count), sigma=1.0))
    low, high = Composition(((Gaussian(mu), count),)).epsilon(delta)
    inside(low, exact, high)
    assert high - low <= 1e-3 * high
    low, high = Composition(((Gaussian(mu), count),)).delta(exact)
    inside(low, delta, high, slack=1e-9)


@pytest.mark.parametrize("mu, count, delta", [(0.1, 64, 1e-250), (0.5, 9, 1e-100), (1.0, 1, 1e-300)])
def test_gaussian_in_many_digits(mu, count, delta):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        whole = mpmath.mpf(mu) * mpmath.sqrt(count)

        def curve(eps):
            a, b = eps / whole - whole / 2, eps / whole + whole / 2
            return (mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.exp(eps) * mpmath.erfc(b / mpmath.sqrt(2))) / 2

        for release in (Composition(((Gaussian(mu), count),)), airtight.gaussian(mu).compose(count)._orders["forward"]):
            low, high = release.epsilon(delta)
            assert curve(mpmath.mpf(low) * (1 - mpmath.mpf(10) ** -12)) >= delta >= curve(mpmath.mpf(high))


def product_delta(pairs, epsilon):
    """Every outcome of every release."""
    total = 0.0
    for outcome in itertools.product(*[range(len(p)) for p, _ in pairs]):
        a = math.prod(p[i] for (p, _), i in zip(pairs, outcome, strict=True))
        b = math.prod(q[i] for (_, q), i in zip(pairs, outcome, strict=True))
        total += max(a - math.exp(epsilon) * b, 0.0)
    return total


PROBABILITY = st.floats(0.0, 1.0)


@settings(max_examples=25)
@given(st.data(), st.integers(2, 4), st.integers(0, 2), st.integers(0, 2), st.floats(-1.0, 3.0))
def test_unlike_releases_against_every_outcome(data, size, one, two, epsilon):
    laws = []
    for _ in range(2):
        p, q = (np.array(data.draw(st.lists(PROBABILITY, min_size=size, max_size=size))) + 1e-3 for _ in "pq")
        laws.append((p / p.sum(), q / q.sum()))
    curve = airtight.compose([airtight.discrete_pair(*law) for law in laws], [one, two])
    pairs = [laws[0]] * one + [laws[1]] * two
    for direction, asked in ((Direction.FORWARD, pairs), (Direction.REVERSE, [(q, p) for p, q in pairs])):
        truth = product_delta(asked, epsilon) if asked else max(-math.expm1(epsilon), 0.0)
        low, high = curve.bracket(epsilon=epsilon, direction=direction)
        assert low - 1e-12 <= truth <= high + 1e-12


def test_many_random_compositions_are_never_below_the_truth():
    """An attack: laws with rare and common outcomes, any tilt, few and more releases."""
    rng = np.random.default_rng(0)
    for _ in range(80):
        size, count = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        p, q = (rng.dirichlet(10.0 ** rng.uniform(-2, 1, size)) + 1e-9 for _ in "pq")
        p, q = p / p.sum(), q / q.sum()
        release = Composition(((discrete(p, q), count),))
        # multinomial: counts of outcomes
        delta = 10.0 ** rng.uniform(-8, -0.5)
        low, high = release.epsilon(delta, 1e-2)
        counts = np.array([c for c in itertools.product(range(count + 1), repeat=size) if sum(c) == count])
        log_ways = math.lgamma(count + 1) - np.array([sum(math.lgamma(x + 1) for x in c) for c in counts])
        a, b = (np.exp(log_ways + counts @ np.log(law)) for law in (p, q))

        def truth(eps, a=a, b=b):
            return float(np.sum(np.maximum(a - math.exp(eps) * b, 0.0)))

        if high < np.inf:
            assert truth(high) <= delta * (1 + 1e-9), (p, q, count, delta)
        if low > 0:
            assert truth(low * (1 - 1e-9)) >= delta * (1 - 1e-9), (p, q, count, delta)


def test_the_lower_end_where_all_that_matters_is_one_loss():
    """Left of its grid the lower law's line once rose above the curve: 2e-4 too much delta after five releases."""
    p, q = [0.99892769, 0.00107231], [0.99471982, 0.00528018]
    low, high = airtight.discrete_pair(p, q).compose(5).bracket(epsilon=0.0155298, direction="forward")
    inside(low, product_delta([(p, q)] * 5, 0.0155298), high)


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_visible_participants_against_every_sequence_of_sets(adjacency, count):
    """Given who takes part in every round all is one Gaussian release; sets are enumerated."""
    system = small(
        adjacency=adjacency, devices=4, participation=[0.3, 0.6, 0.8, 0.1], noise_variance=[0.5, 0.3, 1.1, 2.0]
    )
    square = {}
    for others in itertools.product([0, 1], repeat=3):
        weight = np.prod([p if on else 1 - p for p, on in zip([0.6, 0.8, 0.1], others, strict=True)])
        v = 0.2 + 0.5 + np.dot(others, [0.3, 1.1, 2.0])
        mu = system.sensitivity[0] ** 2 / v
        square[mu] = square.get(mu, 0.0) + 0.3 * weight
    square[0.0] = 0.7
    laws = list(square.items())
    mus, weights = [], []
    for chosen in itertools.combinations_with_replacement(range(len(laws)), count):
        number = math.factorial(count) / math.prod(math.factorial(chosen.count(i)) for i in set(chosen))
        mus.append(math.sqrt(sum(laws[i][0] for i in chosen)))
        weights.append(number * math.prod(laws[i][1] for i in chosen))
    for eps in (0.1, 1.0, 4.0):
        exact = float(np.dot(weights, gaussian.delta(eps, sensitivity=np.array(mus), sigma=1.0)))
        low, high = airtight.curve(system, observer="participants").compose(count).bracket(epsilon=eps)
        inside(low, exact, high, 1e-12)
        assert rounds.delta_at(system, eps, rounds=count, device=0, observer="participants") == high
    level = 1e-4
    low, high = rounds.bracket(system, delta=level, rounds=count, device=0, observer="participants")
    assert np.dot(weights, gaussian.delta(high, sensitivity=np.array(mus), sigma=1.0)) <= level
    assert np.dot(weights, gaussian.delta(low, sensitivity=np.array(mus), sigma=1.0)) >= level * (1 - 1e-9)


def densities(system, y):
    """With device 0 and its neighbour, r = 1 and no other device."""
    p, s, v, d = (
        system.participation[0],
        system.received_noise_variance[0],
        system.receiver_noise_variance,
        system.sensitivity[0],
    )

    def normal(mean, variance):
        return np.exp(-((y - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    absent = normal(0.0, v)
    near, far = {"absent": (d, None), "silent": (d, 0.0), "replace": (d / 2, -d / 2)}[system.adjacency.value]
    here = p * normal(near, v + s) + (1 - p) * absent
    return here, absent if far is None else p * normal(far, v + s) + (1 - p) * absent


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize("p", [0.15, 0.7])
def test_hidden_device_over_two_rounds_by_quadrature(adjacency, p):
    """The density of both rounds on a fine plane, in both orders."""
    system = small(devices=1, participation=p, noise_variance=0.6, adjacency=adjacency)
    y = np.linspace(-9.0, 9.0, 2401)
    a, b = densities(system, y)
    step = (y[1] - y[0]) ** 2
    curve = airtight.curve(system, observer="others").compose(2)
    for eps in (0.05, 0.4, 1.2):
        for direction, (one, other) in (("forward", (a, b)), ("reverse", (b, a))):
            exact = np.sum(np.maximum(np.outer(one, one) - math.exp(eps) * np.outer(other, other), 0.0)) * step
            bracket = curve.bracket(epsilon=eps, direction=direction)
            inside(bracket.lower, exact, bracket.upper, 2e-4)
            assert bracket.reached and bracket.upper - bracket.lower < 5e-3 * bracket.upper + 1e-12


def test_hidden_device_over_three_rounds_by_quadrature():
    system = small(devices=1, participation=0.4, noise_variance=1.5, clip=2.0)
    y, step = np.linspace(-8.0, 8.0, 241, retstep=True)
    a, b = densities(system, y)
    curve = airtight.curve(system, observer="others").compose(3)
    three = [np.multiply.outer(np.outer(one, one), one).ravel() * step**3 for one in (a, b)]
    for eps in (0.1, 2.0):
        for direction, (one, other) in (("forward", three), ("reverse", three[::-1])):
            exact = np.sum(np.maximum(one - math.exp(eps) * other, 0.0))
            low, high = curve.bracket(epsilon=eps, direction=direction)
            inside(low, exact, high, 1e-3)
            assert high - low < 4e-3 * high


def laws_of_y(system, theta, y):
    """Densities of y under both neighbours for device 0; device 1, if it sends, has the code -theta times its noise."""
    first, second = np.zeros(y.size), np.zeros(y.size)
    for on in (0.0, float(system.noise_variance[1])):
        alone = small(
            devices=1, participation=0.4, noise_variance=0.3, clip=1.5, receiver_noise_variance=0.2 + on,
            adjacency=system.adjacency,
        )  # fmt: skip
        a, b = densities(alone, y + theta * on)
        first, second = first + a / 2, second + b / 2
    return first, second


TWO = small(devices=2, participation=[0.4, 0.5], noise_variance=[0.3, 2.0], clip=1.5, adjacency="silent", dimension=1)
THETAS = [0.75 * share for share in signal_lower_bound._SHARES]  # device 1 may send 1.5


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_signal_with_codes_over_two_rounds_by_quadrature(adjacency):
    """The lower end is one for a data set that is legal: not above its exact value, and not below that of codes of 0."""
    system = TWO.replace(adjacency=adjacency)
    y, step = np.linspace(-12.0, 12.0, 2401, retstep=True)
    low, high = rounds.bracket(system, rounds=2, observer="signal", device=0)[:2]

    def delta(eps, theta):
        first, second = laws_of_y(system, theta, y)
        pair = np.outer(first, first), np.outer(second, second)
        return max(np.sum(np.maximum(one - math.exp(eps) * other, 0.0)) * step**2 for one, other in (pair, pair[::-1]))

    assert max(delta(low * 0.999, theta) for theta in THETAS) > system.delta > delta(low * 1.02, 0.0)
    assert low < high == rounds.bracket(system, rounds=2, observer="others", device=0)[1]


def test_one_round_is_the_exact_value():
    for adjacency, observer in itertools.product(["absent", "silent", "replace"], ["participants", "others"]):
        for idle in (False, True):
            system = small(adjacency=adjacency, dimension=5, idle_noise=idle)
            curve = airtight.curve(system, device=1, observer=observer)
            exact = airtight.epsilon(system, observer=observer)[1]
            assert float(curve.epsilon(system.delta)) == pytest.approx(float(exact), rel=1e-9)
            low, high = curve.bracket(delta=system.delta)
            assert high == np.inf or high - low <= 1e-6 * high


def test_equal_devices_are_computed_once():
    system = small(devices=12, participation=0.9, noise_variance=0.1)
    assert len(rounds.kinds(system, np.arange(12))[0]) == 1
    found = airtight.epsilon(system, rounds=50)
    assert found.shape == (12,) and np.all(found == found[0])


def test_a_roll_call_tells_in_one_round_of_many():
    system = small(adjacency="absent", participation=1e-4)
    assert airtight.epsilon(system, delta=1e-3, rounds=5, observer="participants")[0] == 0
    assert airtight.epsilon(system, delta=1e-3, rounds=50, observer="participants")[0] == np.inf
    assert airtight.delta(system, 3.0, rounds=50, observer="participants")[0] == pytest.approx(
        -np.expm1(50 * np.log1p(-1e-4)), rel=2e-3
    )


def test_rounds_of_idle_noise_are_a_subsampled_gaussian():
    system = small(idle_noise=True, dimension=9)
    mu = system.sensitivity[0] / math.sqrt(0.5 + 0.3 + 1.1 + 0.2)
    found = airtight.curve(system, observer="others").compose(100)
    peer = airtight.subsampled(mu, 0.3).compose(100)
    assert float(found.epsilon(1e-5)) == pytest.approx(float(peer.epsilon(1e-5)), rel=1e-9)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize("observer", ["participants", "others", "signal"])
def test_more_rounds_give_away_more(adjacency, observer):
    system = small(adjacency=adjacency, devices=2, participation=0.2, noise_variance=0.4)
    found = [float(airtight.epsilon(system, rounds=t, observer=observer)[0]) for t in (1, 2, 8)]
    assert found == sorted(found)
    low, high = rounds.bracket(system, rounds=8, observer=observer, device=0)
    assert low <= high == found[-1]


def test_neither_order_dominates_for_absent():
    """The reason for composing both."""
    curve = airtight.curve(small(adjacency="absent", dimension=4, participation=0.7)).compose(3)
    low = [float(curve.bracket(epsilon=e, direction="forward")[0]) for e in (-1.0, 1.0)]
    high = [float(curve.bracket(epsilon=e, direction="reverse")[1]) for e in (-1.0, 1.0)]
    assert low[1] > high[1] and low[0] < float(curve.bracket(epsilon=-1.0, direction="reverse")[0])


CURVES = [
    airtight.gaussian(0.7),
    airtight.laplace(0.5),
    airtight.randomized_response(1.0, 3),
    airtight.subsampled(1.0, 0.1),
    airtight.subsampled(airtight.laplace(1.0), 0.3),
    airtight.discrete_pair([0.2, 0.3, 0.5], [0.4, 0.3, 0.3]),
    airtight.curve(small(adjacency="absent")),
    airtight.compose([airtight.gaussian(0.2), airtight.laplace(0.1)], [3, 4]),
]


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_json_equality_and_views(curve):
    again = PrivacyCurve.from_json(curve.to_json())
    assert again == curve and hash(again) == hash(curve) and again.compose(2) != curve
    assert "epsilon" in curve._repr_html_() and curve.compose(0).advantage() == 0
    assert float(curve.epsilon(1.0)) == 0 == float(curve.epsilon(3.0))


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_what_an_attacker_reaches(curve):
    """Trade-off, risk and advantage are views of one curve; the curve of (Q, P) is tied to that of (P, Q)."""
    for x in (0.2, 1.0):
        forward = float(curve.delta(-x, direction="forward"))
        assert forward == pytest.approx(
            -np.expm1(-x) + np.exp(-x) * float(curve.delta(x, direction="reverse")), rel=1e-9
        )
    beta = curve.beta([0.0, 0.1, 0.5, 1.0])
    assert np.all(np.diff(beta) <= 0) and beta[-1] == 0 and np.all(beta <= 1 - np.array([0.0, 0.1, 0.5, 1.0]) + 1e-9)
    assert 1 - curve.advantage() == pytest.approx(2 * float(curve.bayes_risk(0.5)), rel=1e-9)
    assert float(curve.tpr(0.1)) == pytest.approx(1 - beta[1])
    assert np.all(curve.beta([0.1, 0.5], envelope=True) <= beta[1:3] + 1e-9)


def test_inverse_trade_offs_are_those_of_the_orders():
    curve = airtight.subsampled(1.5, 0.3)
    for alpha in (0.05, 0.3, 0.6):
        beta = float(curve.beta(alpha, direction="forward"))
        assert float(curve.beta(beta, direction="reverse")) == pytest.approx(alpha, abs=1e-6)


def test_published_trade_off_of_the_gaussian():
    """Dong, Roth and Su 2022, Eq. (6): G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu)."""
    from scipy.special import ndtr, ndtri

    alpha = np.array([1e-6, 0.01, 0.3, 0.9])
    assert airtight.gaussian(1.3).beta(alpha) == pytest.approx(ndtr(ndtri(1 - alpha) - 1.3), rel=1e-6)


def test_a_peer_agrees():
    """dp-accounting's pessimistic value is above the lower end, and no more than its grid above the upper one."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for mu, p, count, delta in ((1.0, 0.01, 1000, 1e-6), (0.5, 0.2, 30, 1e-5)):
        peer = pld.from_gaussian_mechanism(1 / mu, sampling_prob=p, value_discretization_interval=1e-3)
        theirs = peer.self_compose(count).get_epsilon_for_delta(delta)
        low, high = airtight.subsampled(mu, p).compose(count).bracket(delta=delta)
        assert low <= theirs * (1 + 1e-6) and theirs == pytest.approx(float(high), rel=2e-3)


@pytest.mark.parametrize("delta", [1e-15, 1e-16, 1e-50, 1e-300])
def test_where_peers_have_a_floor(delta):
    """A hundred Gaussians at 1e-15 (peer: off by 5e-2), at 1e-16 (inf), and one subsampled one at 1e-50 (inf)."""
    exact = float(gaussian.epsilon(delta, sensitivity=1.0, sigma=1.0))
    low, high = Composition(((Gaussian(0.1), 100),)).epsilon(delta)
    inside(low, exact, high)
    low, high = airtight.subsampled(1.0, 0.01).bracket(delta=delta)
    assert low <= high <= low * (1 + 1e-9) < np.inf
    low, high = airtight.subsampled(1.0, 0.01).compose(10).bracket(delta=delta)
    assert low <= high <= 1.05 * low


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: airtight.gaussian(float("nan")),
        lambda: airtight.gaussian(-1.0),
        lambda: airtight.laplace(float("nan")),
        lambda: airtight.subsampled(1.0, 1.5),
        lambda: airtight.subsampled(airtight.laplace(1.0).compose(2), 0.1),
        lambda: airtight.gaussian(1.0).compose(-1),
        lambda: airtight.gaussian(1.0).compose(1.5),
        lambda: airtight.gaussian(1.0).epsilon(float("nan")),
        lambda: airtight.gaussian(1.0).epsilon(-1e-5),
        lambda: airtight.gaussian(1.0).delta(float("nan")),
        lambda: airtight.gaussian(1.0).beta(1.1),
        lambda: airtight.gaussian(1.0).bracket(),
        lambda: airtight.compose([airtight.gaussian(1.0)], [1, 2]),
        lambda: airtight.discrete_pair([0.5, 0.6], [0.5, 0.5]),
        lambda: airtight.discrete_pair([0.5, 0.5], [1.0]),
        lambda: PrivacyCurve.from_json("[{}]"),
        lambda: PrivacyCurve.from_json("no"),
        lambda: airtight.epsilon(small(), rounds=0),
        lambda: airtight.epsilon(small(), rounds=2.5),
        lambda: airtight.curve(small(), device=3),
    ],
)
def test_bad_input_is_named(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_different_neighbours_are_not_composed():
    one, two = airtight.curve(small()), airtight.curve(small(adjacency="absent"))
    with pytest.raises(ParameterError, match=r"absent.*silent"):
        airtight.compose([one, two])
    assert airtight.compose([one, airtight.gaussian(0.1)]).unit == "device 0, silent"


def test_pure_epsilons():
    for release, exact in (
        (Laplace(0.5), 0.5),
        (RandomizedResponse(0.5, 4), 0.5),
        (Discrete((0.75, 0.25), (0.25, 0.75)), math.log(3)),
        (Subsampled(Laplace(1.0), 0.5), math.log1p(0.5 * math.expm1(1.0))),
        (Gaussian(1.0), math.inf),
    ):
        for count in (1, 7):
            assert Composition(((release, count),)).epsilon(0.0)[1] == pytest.approx(count * exact)


def test_rounds_of_a_system_file(tmp_path):
    import json

    from click.testing import CliRunner

    from airtight.commands.cli import main

    text = """[inference]
devices = 3
participation = 0.5
noise_variance = 0.5
weight = 1.0
clip = 0.8
alignment = 1.0
receiver_noise_variance = 0.2
dimension = 4
delta = 1e-3
delta_prime = 1e-3
adjacency = "silent"
rounds = 20
"""
    file = tmp_path / "s.toml"
    file.write_text(text)
    found = CliRunner().invoke(main, ["bounds", str(file), "--json"])
    composed = json.loads(found.stdout)["inference"]["privacy"]["composed"]
    assert composed["rounds"] == 20 and composed["observer"] == "participants"
    assert 0 < composed["lower"][0] <= composed["epsilon"][0] <= 1.001 * composed["lower"][0]
    shown = " ".join(CliRunner().invoke(main, ["bounds", str(file)]).stdout.split())
    assert "After 20 rounds" in shown and "against a server, even one that sees who sends" in shown
    for wrong in ("0", "1.5", "-3"):
        file.write_text(text.replace("rounds = 20", f"rounds = {wrong}"))
        refused = CliRunner().invoke(main, ["bounds", str(file)])
        assert refused.exit_code == 2 and "rounds" in refused.stderr


@pytest.mark.parametrize("count", [1, 30])
def test_a_door_to_a_peer_and_back(count):
    """Compositions on either side agree within the grid, from above and from below."""
    pytest.importorskip("dp_accounting")
    curve = airtight.subsampled(1.0, 0.2)
    low, high = curve.compose(count).bracket(delta=1e-5)
    for pessimistic in (True, False):
        orders = curve.to_dp_accounting(1e-3, pessimistic=pessimistic)
        theirs = max(order.self_compose(count).get_epsilon_for_delta(1e-5) for order in orders)
        assert theirs == pytest.approx(float(high), rel=5e-3)
        assert theirs >= low * (1 - 1e-6) if pessimistic else theirs <= high * (1 + 1e-6)


def test_a_door_from_a_peer():
    peer = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    pld = peer.from_gaussian_mechanism(2.0, sampling_prob=0.3, value_discretization_interval=1e-3)
    found = PrivacyCurve.from_dp_accounting(pld)
    assert PrivacyCurve.from_json(found.to_json()) == found
    for count in (1, 20):
        theirs = pld.self_compose(count).get_epsilon_for_delta(1e-5)
        low, high = found.compose(count).bracket(delta=1e-5)
        assert low == 0 and high == pytest.approx(theirs, rel=1e-4)
    rough = peer.from_gaussian_mechanism(2.0, pessimistic_estimate=False, value_discretization_interval=1e-3)
    with pytest.raises(ParameterError, match="optimistic"):
        PrivacyCurve.from_dp_accounting(rough)
    low, high = PrivacyCurve.from_dp_accounting(rough, optimistic=True).compose(4).bracket(delta=1e-5)
    exact = float(airtight.gaussian(1.0).epsilon(1e-5))
    assert low <= exact == pytest.approx(float(low), rel=2e-3) and high == np.inf


def test_of_a_server_that_sees_y_alone_a_curve_knows_both_ends():
    system = InferenceSystem(
        devices=3,
        participation=0.3,
        noise_variance=0.5,
        weight=1.0,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=8,
        delta=1e-3,
        delta_prime=1e-3,
    )
    for count in (1, 3):
        low, high = rounds.curve(system, observer="signal").compose(count).bracket(delta=1e-3)
        least, most = rounds.bracket(system, rounds=count, observer="signal", device=0)
        assert (
            0.98 * least < low <= least * (1 + 1e-12) < high == pytest.approx(most, rel=1e-10 if count == 1 else 1e-3)
        )
        below, above = rounds.curve(system, observer="signal").compose(count).bracket(epsilon=float(low) * (1 - 1e-9))
        assert 1e-3 * (1 - 1e-2) <= below < above  # of cells for another delta
    with_another = airtight.compose([rounds.curve(system, observer="signal"), airtight.gaussian(0.5)], [2, 1])
    assert low * 0.5 < with_another.bracket(delta=1e-3)[0] < with_another.bracket(delta=1e-3)[1]


def test_codes_of_one_query_by_quadrature():
    """What a curve of `signal` has below is not more than a legal data set gives away, in either order, nor much less in both."""
    y, step = np.linspace(-14.0, 14.0, 5601, retstep=True)
    curve, laws = airtight.curve(TWO, observer="signal"), [laws_of_y(TWO, theta, y) for theta in THETAS]
    for eps in (0.0, 0.1, 0.4):
        truth, of_order = [], {"forward": 0.0, "reverse": 0.0}
        for first, second in laws:
            ways = {"forward": (first, second), "reverse": (second, first)}
            deltas = {way: float(np.sum(np.maximum(a - math.exp(eps) * b, 0.0)) * step) for way, (a, b) in ways.items()}
            truth.append(max(deltas.values()))
            of_order = {way: max(of_order[way], delta) for way, delta in deltas.items()}
        low = float(curve.bracket(epsilon=eps)[0])
        assert 0.97 * truth[-1] - 1e-4 <= low <= max(truth) + 1e-5
        for way, most in of_order.items():
            assert float(curve.bracket(epsilon=eps, direction=way)[0]) <= most + 1e-5


def test_laws_that_differ_by_less_than_their_rounding_are_complete():
    p, q = (np.array([x, 1.0]) + 1e-9 for x in (9.59e-10, 0.0))
    p, q = p / p.sum(), q / q.sum()
    release, gap = discrete(p, q), float(p[0]) - float(q[0])
    for reverse in (False, True):
        low, high = release.delta_bracket(np.zeros(1), reverse=reverse)
        assert gap * (1 - 1e-13) <= low[0] <= gap <= high[0] <= gap * (1 + 1e-13)


def test_an_epsilon_below_the_losses_that_were_summed_is_sought_again():
    p = [0.0013655285696151371, 0.35015016443677843, 0.6484843069936064]
    q = [0.001381872559426882, 0.34384084223783273, 0.6547772852027405]
    low, high = Composition(((discrete(p, q), 4),)).epsilon(0.007220279099236432)
    counts = [c for c in itertools.product(range(5), repeat=3) if sum(c) == 4]
    first, second = (
        np.array(
            [
                math.factorial(4) * math.prod(x**k / math.factorial(k) for x, k in zip(law, c, strict=True))
                for c in counts
            ]
        )
        for law in (p, q)
    )
    assert 0.0092 < low <= high < 0.00931
    assert np.sum(np.maximum(first - np.exp(high) * second, 0)) <= 0.007220279099236432


@pytest.mark.parametrize(
    ("dimension", "adjacency", "observer"), [(784, "replace", "others"), (300, "silent", "others"), (50, "silent", "others")]
)
def test_a_hidden_device_among_many_needs_few_divergences(monkeypatch, dimension, adjacency, observer):
    """The law of the others' noise has 4096 to 16384 values; far out and at epsilon = 0, too, few of them are computed."""
    computed, original = [], hidden_divergence.log_curve

    def counted(eps, *arguments, **settings):
        computed.append(eps.size)
        return original(eps, *arguments, **settings)

    monkeypatch.setattr(hidden_divergence, "log_curve", counted)
    query = rounds.query(unlike(30, 0, adjacency, dimension), 23, observer).in_composition(3)
    epsilons = np.array([0.0, 1e-10, 1e-3, 0.05, 0.4, 1.0])
    lower, upper = query.delta_bracket(epsilons)
    assert np.all(lower <= upper) and np.all(lower[:4] > 0.99 * upper[:4])
    assert sum(computed) < 1500 * epsilons.size


@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("observer", ["auto", "participants", "others", "signal"])
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_delta_0_and_1(adjacency, observer, idle):
    """Devices that never take part, that send noise alone, and that are always there."""
    changed = {"participation": [0.0, 0.5, 1.0], "weight": [1.0, 0.0, 1.0], "dimension": 4, "idle_noise": idle}
    system = small(adjacency=adjacency, **changed)
    presence = adjacency == "absent" and (not idle or observer == "participants")  # is what the second gives away
    for count in (1, 3):
        found = airtight.epsilon(system, delta=0.0, rounds=count, observer=observer)
        np.testing.assert_array_equal(found, [0.0, np.inf if presence else 0.0, np.inf])
        assert not airtight.epsilon(system, delta=1.0, rounds=count, observer=observer).any()
    with pytest.raises(ParameterError, match="delta = -1"):
        airtight.epsilon(system, delta=-1.0)


@pytest.mark.parametrize(
    ("count", "changed"),
    [
        (20, {"participation": 1e-3, "noise_variance": 0.0, "clip": 60.0, "receiver_noise_variance": 1.0}),
        (10, {"participation": 1e-2, "noise_variance": 0.0, "clip": 40.0, "receiver_noise_variance": 1.0}),
        (20, {"participation": 1e-3, "noise_variance": 0.1, "clip": 40.0, "dimension": 784, "delta": 1e-5}),
        (3, {"participation": 0.2, "noise_variance": 4e-3, "clip": 26.0, "dimension": 25088, "adjacency": "absent"}),
        (4, {"participation": 0.3, "noise_variance": 1e3, "dimension": 30, "adjacency": "absent"}),
        (2, {"participation": 0.3, "noise_variance": 1e9, "dimension": 30, "adjacency": "absent"}),
    ],
)
def test_losses_that_lie_far_apart(count, changed):
    """Hundreds between the rounds in which the device takes part and the others: no less than one round gives away."""
    system = small(devices=1, **{"participation": 0.5, **changed})
    lower, upper = rounds.bracket(system, rounds=count)
    one, basic = airtight.epsilon(system), count * airtight.epsilon(system, delta=system.delta / count)
    assert one <= upper <= basic * (1 + 1e-6) and 0 < lower <= upper


def test_rare_rounds_with_a_sure_loss():
    """20 rounds, taking part in each with .001 and a mean of 60: twice or more with 1.9e-4, once shows 60 ** 2 / 2 and more."""
    system = small(
        devices=1, participation=1e-3, noise_variance=0.0, clip=60.0, receiver_noise_variance=1.0, dimension=4
    )
    once = 20 * 1e-3 * (1 - 1e-3) ** 19
    score = stats.norm.isf((1e-3 - 1.9e-4) / once)
    assert airtight.epsilon(system, rounds=20)[0] == pytest.approx(60**2 / 2 + 60 * score + math.log(20e-3), rel=0.02)


def rare_rounds(epsilon, mu, p, count):
    """delta of one visible device: a binomial mixture of Gaussians, in 40 digits."""
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for k in range(1, count + 1):
            shift, at = mpmath.mpf(mu) * mpmath.sqrt(k), mpmath.mpf(epsilon)
            one = mpmath.ncdf(shift / 2 - at / shift) - mpmath.exp(at) * mpmath.ncdf(-shift / 2 - at / shift)
            total += mpmath.binomial(count, k) * mpmath.mpf(p) ** k * (1 - mpmath.mpf(p)) ** (count - k) * one
        return total


@example(mu=1.0, log_p=-1.0, count=2, log_delta=-270.0)
@example(mu=1.4661761250570716e-4, log_p=math.log10(2.2072512308136475e-07), count=3, log_delta=-206.5176724)
@given(
    mu=st.floats(-4, 1.7).map(lambda x: 10**x),
    log_p=st.floats(-8, 0),
    count=st.sampled_from([2, 3, 7, 30]),
    log_delta=st.floats(-290, -1),
)
@settings(max_examples=25)
def test_rare_rounds_against_the_mixture(mu, log_p, count, log_delta):
    """Most of the law lies on the loss 0, and what is asked far from it: more tilt than moves the mean."""
    p, delta = 10**log_p, 10**log_delta
    system = small(devices=1, participation=p, noise_variance=0.0, clip=mu, receiver_noise_variance=1.0, delta=delta)
    low, high = (float(end[0]) for end in rounds.bracket(system, rounds=count))
    assert rare_rounds(high, mu, p, count) <= delta * (1 + 1e-12)
    assert low == 0 or rare_rounds(low * (1 - 1e-13), mu, p, count) >= delta * (1 - 1e-9)
    assert high - low <= 2e-3 * high


@example([(-1.88, -0.4), (2.08, -2.4), (2.96, -1.0), (3.65, 0.6)], 0.8, -1.6, connect_the_dots.SIDE, -7.0, 0.5, True, 1)
@example([(2.0, -9.0), (3.0, -12.0)], 0.0, -0.5, connect_the_dots.SIDE, -15.0, 1.0, False, 1)
@given(
    st.lists(st.tuples(st.floats(-4, 4), st.floats(-200, 3)), min_size=1, max_size=5),
    st.floats(-3, 1),
    st.floats(-2, 1),
    st.sampled_from([0.5, connect_the_dots.SIDE]),
    st.floats(-15, -7),
    st.sampled_from([0.5, 1.0]),
    st.booleans(),
    st.integers(1, 4),
)
@settings(max_examples=25)
def test_the_law_below_is_below_at_every_epsilon(outcomes, scale, cells, side, noise, share, aligned, widest):
    """Also between grid points and beyond them; rare outcomes, coarse grids, short and uneven ones, values with errors."""
    with mpmath.workdps(120):
        p = [mpmath.mpf(1), *(mpmath.exp(rare) for _, rare in outcomes)]
        q = [one * mpmath.exp(-(10**scale) * x) for one, x in zip(p, [0.5, *(x for x, _ in outcomes)], strict=True)]
        p, q = ([one / mpmath.fsum(law) for one in law] for law in (p, q))
        reals = [float(mpmath.log(a / b)) for a, b in zip(p, q, strict=True)]

        def exact(epsilon, of, against):
            x = mpmath.exp(mpmath.mpf(epsilon))
            return mpmath.fsum(max(a - x * b, 0) for a, b in zip(of, against, strict=True))

        def curve(of, against):
            def ends(epsilon):
                value = np.array([float(exact(e, of, against)) if e < np.inf else 0.0 for e in epsilon])
                at = np.where(epsilon < np.inf, epsilon, 0.0)  # an error that differs from point to point
                return value * (1 - 10**noise * abs(np.sin(1e4 * at))), value * (1 + 10**noise * abs(np.cos(3e4 * at)))

            return ends

        step = max(max(reals) - min(reals), 1e-9) * 10 ** (cells - 1)
        first, last = (
            min(math.floor(share * min(reals) / step), -2),
            max(math.ceil(share * max(reals) / step), 1),
        )
        every = np.arange(first, last + 1)
        nodes = every[(every % widest == 0) | (np.abs(every) <= 1) | (every <= first + 1) | (every == last)]
        law = connect_the_dots.below(
            curve(p, q), curve(q, p), step=step, first=first, last=last, side=side, nodes=nodes, aligned=aligned
        )
        assert law.offset == 0 or not aligned
        asked = [*reals, *(step * np.linspace(1.5 * first, 1.5 * last, 13))]
        for epsilon in asked:
            x = mpmath.exp(mpmath.mpf(float(epsilon)))
            masses = zip(law.mass.tolist(), range(law.first, law.first + law.mass.size), strict=True)
            lost = x * mpmath.exp(-mpmath.mpf(law.offset))
            found = mpmath.fsum(max(m * (1 - lost * mpmath.exp(-mpmath.mpf(i) * step)), 0) for m, i in masses)
            assert found + law.infinite <= exact(float(epsilon), p, q) * (1 + mpmath.mpf(10) ** -25)


def test_rare_strong_rounds_have_a_lower_end():
    """Losses below 0 fill a small part of a cell: the grid's law has them on one multiple of the step."""
    system = small(
        devices=1, participation=2e-5, noise_variance=1e-4, clip=9.0, receiver_noise_variance=0.3, dimension=100
    )
    low, high = (float(end[0]) for end in rounds.bracket(replace(system, delta=3.5e-11), rounds=3, observer="others"))
    assert 0.998 * high < low < high


def test_mass_beyond_the_window_is_not_forgotten():
    """A tilt that is too small sums losses near 0 alone: what lies beyond exceeds delta, and nothing can be said."""
    law = LossDistribution(0.1, 0, np.array([1 - 1e-9, *np.zeros(9), 1e-9]), 0.0)
    tail = Product(((law, 300),))._tail(0.0)
    assert tail.losses[0] < 30 * law.losses[-1] and tail.beyond > 0
    assert tail.deltas(tail.losses[:1])[0] >= tail.beyond


def test_mass_below_the_window():
    law = LossDistribution(
        0.05, -100, np.where(np.arange(201) == 200, 0.99, 0.0) + np.where(np.arange(201) == 0, 0.01, 0), 0.0
    )
    chance = stats.binom.pmf(np.arange(11), 10, 0.99)
    truth = float(chance @ np.maximum(-np.expm1(-5.0 * (2 * np.arange(11) - 10)), 0))
    assert truth <= law.delta(0.0, count=10) <= 1
    assert loss_distribution.gaussian(100).delta(499000, count=100) >= gaussian.delta(
        499000, sensitivity=1000.0, sigma=1.0
    )
    assert loss_distribution.gaussian(10).epsilon(1 - 1e-10, count=100) >= gaussian.epsilon(
        1 - 1e-10, sensitivity=100.0, sigma=1.0
    )


def test_rare_false_alarms():
    """At a level below every double's exponential the steepest lines say nothing: 10 rounds, a threshold no noise passes."""
    system = small(devices=1, participation=0.5, noise_variance=0.0, clip=63.0, receiver_noise_variance=1.0)
    found = airtight.curve(system).compose(10)
    assert found.tpr(1e-306) > 0.99 and found.beta(0.0) == 1.0


def test_reverse_loss_of_a_release_that_nearly_always_happens():
    p = 1 - 3.95e-12
    found = airtight.subsampled(airtight.laplace(36.9), p).epsilon(0.0, direction="reverse")
    with mpmath.workdps(40):
        truth = -mpmath.log(1 - mpmath.mpf(p) + mpmath.mpf(p) * mpmath.exp(-mpmath.mpf(36.9)))
    assert truth <= found <= truth * (1 + 1e-12)


def test_an_outcome_that_is_nearly_certain_leaves_a_lower_end():
    """The grid's lower law is empty there; one release alone says something."""
    p, q = [1.595790797211317e-06, 0.9999984042092028], [2.9323870567594416e-07, 0.9999997067612943]
    low, high = Composition(((discrete(p, q), 5),)).epsilon(5.028899619271343e-07)
    assert 1.3 < low < 1.62903 < high < 1.6291


@pytest.mark.parametrize("changed", [{"participation": 5e-324}, {"participation": 5e-324, "idle_noise": True}, {"clip": 1e300}])
@pytest.mark.parametrize("adjacency", ["silent", "replace", "absent"])
def test_extreme_systems_are_answered_without_a_warning(changed, adjacency):
    system = small(**changed, adjacency=adjacency)
    for observer in ("participants", "others"):
        for count in (1, 2):
            delta = float(rounds.delta_at(system, 1.0, rounds=count, device=0, observer=observer))
            assert 0 < delta <= (1.0 if "clip" in changed else 1e-300)


def test_a_tiny_signal_under_replace_is_not_nothing():
    """Two means 1e-178 deviations apart, and participation that the observer does not see."""
    system = small(adjacency="replace", idle_noise=True, clip=1e-178)
    mu = 2e-178 * math.sqrt(1 / (0.2 + 0.5 + 0.3 + 1.1))
    truth = 0.3 * mu / math.sqrt(2 * math.pi)
    assert truth * (1 - 1e-9) <= float(rounds.delta_at(system, 0.0, device=0, observer="others")) <= truth * (1 + 1e-9)


def test_own_noise_that_dwarfs_the_others_leaves_a_visible_device():
    """s / v overflows: what is sent is told from silence, whoever looks."""
    system = small(devices=1, participation=0.5, noise_variance=1e300, clip=1e145, receiver_noise_variance=1e-30)
    mu = 1e145 / 1e150
    one = 0.5 * mu / math.sqrt(2 * math.pi)
    low, high = rounds.curve(system, observer="others").compose(2).bracket(epsilon=0.0)
    assert one <= high and low <= 2 * one


def test_an_epsilon_that_rests_on_an_estimated_interpolation_says_so():
    """More than 72 sums of unlike noise: estimated where the device leaves with its noise; proved where all is seen."""
    rng = np.random.default_rng(0)
    unlike = InferenceSystem(
        devices=8, participation=0.5, noise_variance=rng.uniform(0.1, 1, 8), weight=0.1, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=8, delta=1e-5,
    )  # fmt: skip
    silent = replace(unlike, adjacency="silent")
    for count in (1, 2):
        assert rounds.estimated(unlike, rounds=count) == (count > 1)
        assert rounds.estimated(silent, rounds=count, observer="others")
        assert not rounds.estimated(silent, rounds=count)
        assert not rounds.estimated(replace(unlike, noise_variance=0.1), rounds=count)
        assert not rounds.estimated(replace(silent, dimension=100), rounds=count, observer="others")


def _sets(others: int) -> np.ndarray:
    """Every set of so many others, a row each."""
    return np.arange(2**others)[:, None] >> np.arange(others) & 1


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_cells_of_an_exact_noise_law_hold_the_mean_over_every_set(adjacency):
    system = unlike(10, 3, adjacency)
    query = rounds.query(system, 0, "participants")
    in_cells = query.in_composition(2)
    assert in_cells is not query
    epsilon = np.array([1e-3, 0.3, 1.0])
    low, high = in_cells.delta_bracket(epsilon)
    noise = system.received_noise_variance
    sets, p = _sets(9), system.participation[1:]
    weights = np.prod(np.where(sets, p, 1 - p), axis=1)
    deviation = np.sqrt(system.receiver_noise_variance + noise[0] + sets @ noise[1:])
    with mpmath.workdps(40):
        for place, e in enumerate(epsilon):
            exact = mpmath.mpf(0)
            for weight, sigma in zip(weights, deviation, strict=True):
                mu = mpmath.mpf(float(system.sensitivity[0])) / mpmath.mpf(float(sigma))
                a, b = e / mu - mu / 2, e / mu + mu / 2
                exact += mpmath.mpf(float(weight)) * (mpmath.ncdf(-a) - mpmath.exp(e) * mpmath.ncdf(-b))
            exact *= mpmath.mpf(float(system.participation[0]))
            assert low[place] <= exact * (1 + 1e-12) and exact * (1 - 1e-12) <= high[place]
            assert high[place] <= 1.03 * low[place]


def _over_every_set(system, epsilon):
    """delta of device 0 at each epsilon, as a sum over the sets of the others, for a server that sees who sends."""
    sets, p, noise = _sets(system.devices - 1), system.participation[1:], system.received_noise_variance
    weights = np.prod(np.where(sets, p, 1 - p), axis=1)
    mu = system.sensitivity[0] / np.sqrt(system.receiver_noise_variance + noise[0] + sets @ noise[1:])
    deltas = np.array([np.exp(gaussian.log_curve(np.full(mu.size, e), mu)[0]) @ weights for e in epsilon])
    return system.participation[0] * deltas


@pytest.mark.parametrize("cells", [32, 100, 400])
def test_cells_of_a_noise_law_on_a_grid_hold_the_mean_over_every_set(cells):
    system = unlike(10, 14).normalised()
    (part,) = participations(system, np.array([0]), 0.0, cells=cells)
    high = part.unrounded().variance
    curves = SharedCurves.of(
        part, edges_of(part, part.variance, high, part.weights), part.variance, high, part.weights, tabled=False
    )
    epsilon = np.geomspace(1e-3, 1.0, 12)
    low, high = curves.delta_bracket(epsilon, 0, reverse=False, doubt=0.0)
    exact = _over_every_set(system, epsilon)
    assert np.all(low <= exact * (1 + 1e-11)) and np.all(exact * (1 - 1e-11) <= high)


@pytest.mark.parametrize(("cells", "pieces"), [(60, 1), (200, 3), (400, 3), (400, 9)])
def test_gauss_rules_of_a_noise_law_on_a_grid_hold_the_mean_over_every_set(cells, pieces):
    system = unlike(10, 14).normalised()
    (part,) = participations(system, np.array([0]), 0.0, cells=cells)
    epsilon, rows = np.geomspace(1e-3, 1.0, 12), np.zeros(12, dtype=np.int64)
    few = part.ruled(pieces)
    low, high = np.exp(few.log_lower(epsilon, rows)[0]), np.exp(few.log_upper(epsilon, rows))
    exact = _over_every_set(system, epsilon)
    assert np.all(low <= exact * (1 + 1e-11)) and np.all(exact * (1 - 1e-11) <= high)


def test_a_device_alone_and_among_all_has_the_same_bounds():
    system = unlike(3, 6)
    together = rounds.bracket(system, rounds=2)
    for device in (2, 0):
        assert tuple(rounds.bracket(system, rounds=2, device=device)) == (together[0][device], together[1][device])


def test_a_heavy_tail_costs_no_values_of_the_curve(monkeypatch):
    asked = 0
    plain = rounds.Query._summed_ends

    def counted(self, epsilon, reverse, negligible):
        nonlocal asked
        asked += epsilon.size
        return plain(self, epsilon, reverse, negligible)

    # nobody else takes part with probability 1e-49, and then the loss may be in the hundreds
    monkeypatch.setattr(rounds.Query, "_summed_ends", counted)
    system = InferenceSystem(
        devices=50, participation=0.9, noise_variance=0.1, weight=0.02, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=50, delta=1e-5, adjacency="absent",
    )  # fmt: skip
    assert rounds.bracket(system, rounds=20, device=0).reached
    assert asked < 3000


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize("observer", ["others", "participants", "signal"])
def test_an_infinite_epsilon_leaves_what_is_singular(adjacency, observer):
    """Without any noise, when the other device is silent, what device 0 sends is seen: with probability 1/4 in a round."""
    system = airtight.InferenceSystem(
        devices=2, participation=0.5, noise_variance=[0.0, 0.1], weight=1.0, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.0, dimension=3, delta=1e-3, adjacency=adjacency,
    )  # fmt: skip
    once = 0.5 if (adjacency, observer) == ("absent", "participants") else 0.25
    for count in (1, 2):
        shown = system_privacy.delta(system, [1e299, np.inf], rounds=count, observer=observer, device=0)
        assert shown == pytest.approx(1 - (1 - once) ** count)
        low, high = system_privacy.delta_bracket(system, np.inf, rounds=count, observer=observer, device=0)
        assert low <= 1 - (1 - once) ** count <= high * (1 + 1e-9)


def test_few_values_of_the_noise_are_computed_one_by_one(monkeypatch):
    """No estimate is used where none is said; on a grid the curvature is one."""
    few = airtight.InferenceSystem(
        devices=50, participation=0.5, noise_variance=0.1, weight=0.02, clip=5.0, alignment=1.0, dimension=10,
        receiver_noise_variance=1.0, delta=1e-5, adjacency="silent", observer="others",
    )  # fmt: skip
    asked = []
    monkeypatch.setattr(NoiseInterpolant, "_estimate", lambda self, *arguments: asked.append(arguments))
    assert not system_privacy.estimated(few) and system_privacy.epsilon(few, device=0) > 0 and not asked
    alike = {"participation": 0.5, "noise_variance": 0.1, "weight": 0.02, "clip": 5.0, "channel_gain": 1.0}
    many = few.replace(devices=90, **alike)
    assert system_privacy.estimated(many) and system_privacy.epsilon(many, device=0) > 0 and asked
    noise = [*np.linspace(1e-9, 2e-9, 16), 0.3, 0.3, 0.1]
    assert system_privacy.estimated(few.replace(devices=19, **{**alike, "noise_variance": noise}))


UNLIKE = airtight.InferenceSystem(
    devices=9, participation=np.linspace(0.3, 0.95, 9), noise_variance=np.linspace(0.05, 0.2, 9), weight=1 / 9,
    clip=np.linspace(1, 5, 9), alignment=1.0, receiver_noise_variance=0.1, dimension=50, delta=1e-5, adjacency="silent",
)  # fmt: skip


@pytest.mark.parametrize(
    ("adjacency", "order", "greatest"),
    [("silent", False, 1.5), ("silent", True, 1.5), ("replace", False, 4.0), ("absent", False, 2.0), ("absent", True, 0.3)],
)
def test_many_epsilons_of_an_estimate_are_read_from_a_series(adjacency, order, greatest):
    composed = rounds.query(UNLIKE.replace(adjacency=adjacency), 4, "others").in_composition(2)
    computed, of_few = [], composed._summed_ends

    def counted(epsilon, reverse, negligible):
        computed.append(epsilon.size)
        return of_few(epsilon, reverse, negligible)

    object.__setattr__(composed, "_summed_ends", counted)
    rng = np.random.default_rng(8)
    epsilon = np.sort(np.append(0.0, greatest * rng.random(60)))
    composed.delta_bracket(epsilon, reverse=order)
    again = np.sort(np.concatenate([epsilon[0] + greatest * 0.9 * rng.random(400), np.geomspace(1e-9, 0.5 * greatest, 40)]))
    lower, upper = composed.delta_bracket(again, reverse=order)
    low, high = of_few(again, order and not composed.symmetric, 1e-25)
    assert sum(computed) < 200 and np.all((lower <= high) & (low <= upper))
    middle, distance = np.sqrt(low * high), np.log(upper / lower)
    assert np.all((lower <= middle) & (middle <= upper)) and np.all(distance[upper > 1e-6] < 1e-3)
    assert np.all(distance >= 0.6 * np.log(high / low)), "no more is known between the nodes than there"


def test_a_series_is_no_better_than_what_it_is_made_of():
    """Rough values, and a step that no polynomial has, are computed at each epsilon."""
    epsilon = np.arange(50) / 32  # no epsilon is rounded
    for change in (lambda at: (0.99, 1.0), lambda at: (1 + 1e-3 * (at > 0.7),) * 2):
        composed = rounds.query(UNLIKE, 4, "others").in_composition(2)
        of_few = composed._summed_ends

        def changed(at, reverse, negligible, of_few=of_few, change=change):
            return tuple(end * factor for end, factor in zip(of_few(at, reverse, negligible), change(at), strict=True))

        object.__setattr__(composed, "_summed_ends", changed)
        np.testing.assert_allclose(composed.delta_bracket(epsilon), changed(epsilon, False, 1e-25), rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.1085, 0.0505])
def test_a_narrower_width_brings_both_ends_closer(sigma):
    """Steps finer than the losses below 0, nearly all of which are the same, once moved the lower end away."""
    composed = airtight.subsampled(1 / sigma, 0.01).compose(1000)
    wide, narrow = (composed.bracket(delta=1e-5, width=width) for width in (1e-3, 1e-5))
    assert narrow.reached and wide.lower <= narrow.lower * (1 + 1e-12) and narrow.upper <= wide.upper * (1 + 1e-12)


def test_the_noise_of_twenty_others_is_fine_enough(monkeypatch):
    """Bounds that were a tenth apart for a loud device beside little noise; those of coarser laws of a round enclose them."""
    system, loud = unlike(20, 1, "absent", dimension=20), 3
    assert rounds.bracket(system, rounds=5, device=loud, observer="others").reached
    asked, bounds = np.array([0.3, 1.0, 2.0]), []
    for cells in (rounds._FINE_CELLS[64], 1 << 12):
        monkeypatch.setattr(rounds, "_FINE_CELLS", {20: cells})
        release = rounds.query(system, loud, "others").in_composition(5)
        bounds += np.concatenate([release.delta_bracket(asked, reverse=order) for order in (False, True)], axis=1).tolist()
    lower, upper, coarse_lower, coarse_upper = np.array(bounds)
    assert np.all((coarse_lower <= upper) & (lower <= coarse_upper)) and np.all(upper < 1.01 * lower)
    assert np.any(coarse_upper > 1.01 * coarse_lower)


@pytest.mark.parametrize(("adjacency", "dimension", "devices"), [("absent", 50, 30), ("silent", 784, 11), ("silent", 3, 20)])
def test_a_rough_query_shows_where_the_losses_are(adjacency, dimension, devices, monkeypatch):
    """Its curve is within a percent or so where delta counts; both ends of epsilon agree with those planned from all values."""
    system = unlike(devices, 4, adjacency, dimension=dimension)
    query = rounds.query(system, 1, "others").in_composition(2)
    rough, epsilon = query.for_sketch(), np.geomspace(1e-3, 3.0, 12)
    assert rough is not query and rough is query.for_sketch() and rough._part(0.0).weights.shape[1] < 60
    for reverse in (False, True):
        low, high = query.delta_bracket(epsilon, reverse=reverse)
        nearly = rough.delta_bracket(epsilon, reverse=reverse)[1]
        counts = low > 1e-8
        assert np.any(counts) and np.all(np.abs(nearly - high)[counts] < 0.02 * high[counts])
    asked = {"rounds": 2, "observer": "others", "device": [1]}
    planned = system_privacy.epsilon_bracket(system, **asked)
    monkeypatch.setattr(rounds.Query, "for_sketch", lambda self: self)
    slowly = system_privacy.epsilon_bracket(system, **asked)
    for bounds in (planned, slowly):
        assert np.all(bounds.upper - bounds.lower <= 1.001e-3 * bounds.upper)
    assert np.all(planned.lower <= slowly.upper) and np.all(slowly.lower <= planned.upper)


@pytest.mark.parametrize("participation", [0.5, 1e-20])
def test_a_tiny_epsilon_has_nearly_the_delta_of_0(participation):
    """Of a hidden device in many dimensions, however rare: from no value but that at 0, and within the bounds of it."""
    system = unlike(11, 4, "silent", dimension=784)
    p = np.array(system.participation)
    p[2] = participation
    query, epsilon = rounds.query(system.replace(participation=p), 2, "others"), np.append(0.0, np.geomspace(1e-30, 1e-4, 14))
    for reverse in (False, True):
        low, high = query.in_composition(200).delta_bracket(epsilon, reverse=reverse)
        least, most = query.delta_bracket(epsilon, reverse=reverse)
        assert np.all((low > 0) & (low <= most) & (least <= high) & (high <= low * (1 + 1e-3)))
        assert participation < 0.5 or (high[0] == high[1] and low[0] >= low[1])


def test_delta_falls_from_that_at_0_by_no_more_than_a_tiny_epsilon():
    """With the exact delta at 0, both bounds of the shortcut are within a few roundings of being wrong by a tenth of the fall."""
    query = rounds.query(unlike(11, 4, "silent", dimension=784), 2, "others")
    composed = query.in_composition(200)
    for reverse in (False, True):
        at_zero = query.delta_bracket(np.zeros(1), reverse=reverse)
        assert at_zero[1] - at_zero[0] < 1e-8 * at_zero[0]
        composed._at_zero[reverse] = at_zero
        epsilon = 0.99 * composed.tolerance * at_zero[0] * np.array([0.3, 1.0])
        low, high = composed.delta_bracket(epsilon, reverse=reverse)
        least, most = query.delta_bracket(epsilon, reverse=reverse)
        fall = at_zero[0] - least
        assert np.all(fall > 0.05 * epsilon) and np.all(low <= most) and np.all(least <= high)
        assert np.all(low > at_zero[0] - 1.01 * epsilon)
        beyond = composed.delta_bracket(20 * epsilon[-1:], reverse=reverse)
        assert beyond[1][0] < at_zero[0][0]  # no shortcut: delta itself


def test_a_query_of_few_values_is_its_own_sketch():
    assert (query := rounds.query(unlike(3, 0, "silent"), 0, "others").in_composition(2)).for_sketch() is query
    assert (query := rounds.query(unlike(30, 0, "silent"), 0, "participants").in_composition(2)).for_sketch() is query


@pytest.mark.parametrize(("adjacency", "dimension"), [("silent", 150), ("replace", 784)])
@pytest.mark.parametrize(("number", "delta"), [(200, 1e-5), (2, 1e-40)])
def test_a_hidden_device_that_nearly_always_sends_is_a_visible_one(adjacency, dimension, number, delta):
    """Gauss rules beside the mean of Gaussian curves that an observer of the participants sees."""
    system = unlike(11, 5, adjacency, dimension=dimension)
    participation = np.array(system.participation)
    participation[4] = 1 - 1e-13
    system = system.replace(participation=participation, delta=delta)
    asked = {"rounds": number, "device": [4]}
    hidden, seen = (system_privacy.epsilon_bracket(system, observer=each, **asked) for each in ("others", "participants"))
    assert hidden.upper >= seen.lower and seen.upper >= hidden.lower and hidden.width < 1e-3


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_an_exact_law_in_a_composition_agrees_with_that_on_a_grid(adjacency):
    """Gauss rules for 2^16 values of the others' noise, beside a series that is read at each value of a grid."""
    query = rounds.query(unlike(17, 1, adjacency, dimension=150), 3, "others")
    composed = query.in_composition(2)
    assert composed._part(rounds.NEGLIGIBLE).slack == 0 < query._part(rounds.NEGLIGIBLE).slack
    epsilon = np.array([0.05, 0.4, 1.5])
    for reverse in (False, True):
        (low, high), (other_low, other_high) = (each.delta_bracket(epsilon, reverse=reverse) for each in (composed, query))
        assert np.all((low <= other_high) & (other_low <= high) & (high < low * (1 + 2e-3)))


@pytest.mark.parametrize(
    "participation, noise",
    [
        ([0.5, 0.2, 0.7, 0.9], [1.0, 2.0, 4.1, 8.3]),
        ([0.5, 0.5, 0.3, 0.3, 0.3, 0.9], [1.0, 1.0, 1.0, 2.2, 2.2, 5.0]),
        ([0.0, 1.0, 0.5, 0.5, 0.3], [1.0, 2.0, 0.0, 4.0, 9.5]),
        ([1.0, 1.0], [1.0, 2.0]),
    ],
)
def test_how_many_values_the_noise_of_the_others_has(participation, noise):
    system = unlike(len(noise), 0).replace(participation=participation, noise_variance=noise, weight=1.0)
    values = [[0.0, x] if 0 < p < 1 else [p * x] for p, x in zip(participation, noise, strict=True)]
    others = [values[:device] + values[device + 1 :] for device in range(len(noise))]
    most = max(len({round(sum(each), 9) for each in itertools.product(*theirs)}) for theirs in others)
    assert most <= rounds._most_values(system) <= 2 * most


def test_more_values_than_a_double_can_count_are_infinitely_many():
    assert rounds._most_values(unlike(1100, 0)) == math.inf


def test_the_grid_of_rare_devices_is_finer():
    """Of thirty rare hidden devices the bounds are as close as asked; on the grid of others they were .3 % apart."""
    draw = np.random.default_rng(3).uniform
    usual = unlike(30, 2, "replace", dimension=784)
    rare = usual.replace(participation=draw(0.02, 0.2, 30))
    _, model = observers.mixture_model(rare, "others")
    cells, fine = (rounds._fine_cells(system, model, composed=True) for system in (usual, rare))
    assert fine == 4 * cells
    query = rounds.query(rare, 1, "others").in_composition(2)
    low, high = query.delta_bracket(np.array([0.1]))
    assert low < high < low * (1 + 1e-3)


@pytest.mark.parametrize("adjacency", ["silent", "replace", "absent"])
def test_an_infinite_epsilon_leaves_what_no_noise_hides(adjacency):
    """Without noise at the receiver, the probability that nobody else sends; with it, nothing."""
    system, alone = unlike(3, 0, adjacency), np.array([0.5, np.inf])
    for release in (rounds.query(system, 1, "others"), rounds.query(system, 1, "others").in_composition(3)):
        lower, upper = release.delta_bracket(alone)
        assert lower[1] == upper[1] == 0 and 0 < lower[0] <= upper[0]
    lower, upper = rounds.query(system.replace(receiver_noise_variance=0.0), 1, "others").delta_bracket(alone)
    seen = float(system.participation[1] * np.prod(1 - system.participation[[0, 2]]))
    assert lower[1] <= (seen if adjacency == "absent" else 0.0) <= upper[1] <= seen * (1 + 1e-12)
