"""Sums of CorBin-FL's updates and utility-fair copies as privacy curves, against every outcome and every choice."""

import itertools
import json
import math
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import central_privacy, quantizers
from airtight.analytics.privacy.accounting.connect_the_dots import Majorant
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import gaussian_pair


def corner_pairs(system, kind):
    """Laws of the count under both updates at every corner of the others, in both orders."""
    low, high, _ = central_privacy.interval(system.epsilon)
    others = system.alone - (kind == "unpaired")
    pairs = []
    for up in range(others + 1):
        noise = np.ones(1)
        for q in [high] * up + [low] * (others - up):
            noise = np.convolve(noise, [1 - q, q])
        for p, q in central_privacy.contributions(kind, epsilon=system.epsilon, bits=system.shared_bits):
            one = np.convolve(noise, p), np.convolve(noise, q)
            pairs += [one, one[::-1]]
    return pairs


def chosen(pairs, count, y):
    """The greatest delta at exp(y) when every release may be any of the pairs, chosen with knowledge of those before."""
    if count == 0:
        return -math.expm1(y) if y < 0 else 0.0
    best = 0.0
    for p, q in pairs:
        sure = p > 0
        total = sum(
            a * (1.0 if b == 0 else chosen(pairs, count - 1, y - math.log(a / b)))
            for a, b in zip(p[sure], q[sure], strict=True)
        )
        best = max(best, total)
    return best


def fixed(pair, count, y):
    """The same when all are one pair."""
    p, q = np.ones(1), np.ones(1)
    for _ in range(count):
        p, q = np.outer(p, pair[0]).ravel(), np.outer(q, pair[1]).ravel()
    return float(np.sum(np.maximum(p - math.exp(y) * q, 0.0)))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 3), st.sampled_from([0.0, 1.0]), st.floats(0.05, 3.0), st.integers(0, 3),
    st.integers(1, 2), st.integers(1, 2), st.floats(-1.0, 3.0),
)  # fmt: skip
def test_never_below_any_choice_and_no_more_than_one(clients, fraction, local, bits, parameters, count, share):
    system = airtight.FederatedSystem(
        clients=clients + 1, parameters=parameters, epsilon=local, ldp_fraction=fraction, shared_bits=bits
    )
    kind = "unpaired" if system.alone else "paired"
    curve = airtight.aggregation(system, client=kind).compose(count)
    pairs, y = corner_pairs(system, kind), share * local
    most = chosen(pairs, parameters * count, y)
    low, high = (float(end) for end in curve.bracket(epsilon=y))
    assert low <= most * (1 + 1e-9) and most <= high * (1 + 1e-12) + 1e-300
    if low > 1e-13 and y >= 0:
        assert low <= max(fixed(pair, parameters * count, y) for pair in pairs) * (1 + 1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 3), st.floats(0.2, 2.0), st.floats(0.1, 1.5), st.floats(0.0, 1.0))
def test_aggregation_composed_with_randomized_response_is_bracketed(clients, local, answer, share):
    """Composed with randomized response, of which the outcomes are told, too."""
    system = airtight.FederatedSystem(clients=clients, parameters=1, epsilon=local, ldp_fraction=1.0)
    curve = airtight.compose([airtight.aggregation(system), airtight.randomized_response(answer)], [2, 1])
    y, pairs = share * (2 * local + answer), corner_pairs(system, "unpaired")
    truth = 1 / (1 + math.exp(-answer))
    most = truth * chosen(pairs, 2, y - answer) + (1 - truth) * chosen(pairs, 2, y + answer)
    low, high = (float(end) for end in curve.bracket(epsilon=y))
    assert low <= most * (1 + 1e-9) and most <= high * (1 + 1e-12) + 1e-300
    assert high <= 1.05 * most + 1e-3


@pytest.mark.parametrize(
    ("clients", "parameters", "fraction", "client"),
    [(10, 1, 1.0, "unpaired"), (10, 3, 1.0, "either"), (1000, 100, 0.5, "paired"), (1000, 100, 0.5, "unpaired")],
)
@pytest.mark.parametrize("rounds", [1, 7])
def test_the_upper_end_is_that_of_an_update(clients, parameters, fraction, client, rounds):
    system = airtight.FederatedSystem(clients=clients, parameters=parameters, epsilon=1.0, ldp_fraction=fraction)
    kind = "unpaired" if client == "either" else client
    known = central_privacy.update_epsilon(
        system.alone - (kind == "unpaired"), parameters, epsilon=1.0, client=kind, delta=1e-5, bits=5, rounds=rounds
    )
    low, high = airtight.aggregation(system, client=client).compose(rounds).bracket(delta=1e-5)
    assert 0.97 * known < low <= high < known * (1 + 1e-4)
    assert float(airtight.aggregation(system, client=client).compose(rounds).delta(high)) <= 1e-5 * (1 + 1e-6)


def test_the_lower_end_among_many_is_the_divergence_at_the_worst_corner():
    """20 000 unpaired clients: the others are all at one end, with binomial laws by SciPy."""
    low, high, _ = central_privacy.interval(1.0)
    noise = stats.binom.pmf(np.arange(20_000), 19_999, low)
    p, q = np.convolve(noise, [1 - high, high]), np.convolve(noise, [1 - low, low])
    truth = optimize.brentq(lambda eps: np.maximum(q - math.exp(eps) * p, 0).sum() - 1e-5, 0.0, 0.1, xtol=1e-14)
    system = airtight.FederatedSystem(clients=20_000, parameters=1, epsilon=1.0, ldp_fraction=1.0)
    found = airtight.aggregation(system).bracket(delta=1e-5)
    assert found[0] == pytest.approx(truth, rel=1e-9) and truth <= found[1] < 1.01 * truth


@pytest.mark.parametrize("parameters", [1, 10])
@pytest.mark.parametrize("fraction", [0.2, 1.0])
def test_ends_of_a_hundred_thousand_clients_meet(parameters, fraction):
    system = airtight.FederatedSystem(clients=100_000, parameters=parameters, epsilon=1.0, ldp_fraction=fraction)
    low, high = airtight.aggregation(system).bracket(delta=1e-5)
    assert low <= high < 1.011 * low


@pytest.mark.parametrize("delta", [1e-20, 1e-100, 1e-250])
def test_deep_tails(delta):
    system = airtight.FederatedSystem(clients=40, parameters=30, epsilon=0.3, ldp_fraction=1.0)
    low, high = airtight.aggregation(system).compose(10).bracket(delta=delta)
    assert 0.985 * high < low <= high <= 0.3 * 300 * (1 + 1e-12)
    known = central_privacy.update_epsilon(39, 30, epsilon=0.3, client="unpaired", delta=delta, rounds=10)
    assert high == pytest.approx(known, rel=2e-3)


@pytest.mark.parametrize("drop", [0.1, 0.4])
def test_dropout_against_every_set_of_survivors(drop):
    system = airtight.FederatedSystem(clients=4, parameters=1, epsilon=1.0, ldp_fraction=1.0, dropout=drop)
    curve, (low, high, _) = airtight.aggregation(system), central_privacy.interval(1.0)
    for y in (0.0, 0.3, 0.8):
        worst = 0.0
        for ends in itertools.product([low, high], repeat=3):
            total = 0.0
            for here in itertools.product([0, 1], repeat=3):
                weight = math.prod(1 - drop if x else drop for x in here)
                noise = np.ones(1)
                for q, x in zip(ends, here, strict=True):
                    noise = np.convolve(noise, [1 - q, q]) if x else noise
                p, q = np.convolve(noise, [low, high]), np.convolve(noise, [high, low])
                total += weight * float(np.sum(np.maximum(p - math.exp(y) * q, 0.0)))
            worst = max(worst, total)
        least, most = curve.bracket(epsilon=y)
        assert least <= worst <= most


def test_pairs_among_few_have_no_guarantee():
    curve = airtight.aggregation(airtight.FederatedSystem(clients=20, parameters=300, epsilon=1.0, ldp_fraction=0.5))
    low, high = curve.bracket(delta=1e-5)
    assert low == high == math.inf
    assert 0 < float(curve.bracket(epsilon=math.inf)[0]) <= float(curve.delta(math.inf)) <= 1


def test_views_and_a_door_to_a_peer():
    pytest.importorskip("dp_accounting")
    system = airtight.FederatedSystem(clients=12, parameters=4, epsilon=0.2, ldp_fraction=1.0, center=3.0, radius=2.0)
    same = airtight.FederatedSystem(clients=12, parameters=4, epsilon=0.2, ldp_fraction=1.0, rounds=5)
    curve = airtight.aggregation(system).compose(3)
    assert airtight.aggregation(same).compose(3) == curve and "aggregation" in repr(curve)
    forward, _ = curve.to_dp_accounting(1e-3)
    low, high = curve.bracket(delta=1e-4)
    assert low <= forward.get_epsilon_for_delta(1e-4) == pytest.approx(float(high), rel=0.02)
    least, _ = curve.to_dp_accounting(1e-3, pessimistic=False)
    assert least.get_epsilon_for_delta(1e-4) <= high
    assert float(curve.beta(0.1)) <= 0.9 and 0 < curve.advantage() < 1


def test_json_finds_its_constructor_in_a_fresh_process():
    system = airtight.FederatedSystem(clients=9, parameters=2, epsilon=0.8, dropout=0.1)
    fair = airtight.utility_fair(0.2, epsilon=0.9, delta=1e-5, theta=0.5, neighbour=0.3, dimension=7)
    for curve in (airtight.aggregation(system).compose(2), fair):
        assert PrivacyCurve.from_json(curve.to_json()) == curve
        code = (
            "import json, sys; from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve\n"
            "print(PrivacyCurve.from_json(json.load(sys.stdin)).to_json())"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(curve.to_json()), capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == curve.to_json()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: airtight.aggregation(airtight.FederatedSystem(clients=9, parameters=2, epsilon=1.0), client="x"), "client"),
        (lambda: airtight.aggregation(
            airtight.FederatedSystem(clients=9, parameters=2, epsilon=1.0, ldp_fraction=1.0), client="paired"), "client"),
        (lambda: airtight.utility_fair(2.0, epsilon=0.5, delta=1e-5, theta=0.6), "deviation"),
        (lambda: airtight.utility_fair(0.2, epsilon=0.5, delta=1e-5, theta=0.6, neighbour=0.3), "dimension"),
        (lambda: airtight.compose([airtight.utility_fair(0.2, epsilon=0.5, delta=1e-5, theta=0.6),
            airtight.aggregation(airtight.FederatedSystem(clients=9, parameters=2, epsilon=1.0))]), "curves"),
    ],
)  # fmt: skip
def test_bad_input(call, name):
    with pytest.raises(ParameterError, match=name):
        call()


@pytest.mark.parametrize("bits", [1, 5, 30])
def test_what_the_server_of_a_pair_sees_and_one_uplink(bits):
    """CorBin's joint law as a curve of its own, composed over two rounds against every outcome; an uplink alone."""
    sees = [quantizers.pair_law(w, 1.0, epsilon=0.7, bits=bits).ravel() for w in (1.0, -1.0)]
    joint = airtight.discrete_pair(*sees)
    assert float(joint.delta(0.0)) <= math.tanh(0.35) * (1 + 1e-12)
    for way, (p, q) in (("forward", sees), ("reverse", sees[::-1])):
        truth = float(np.sum(np.maximum(np.outer(p, p) - math.exp(0.4) * np.outer(q, q), 0.0)))
        low, high = joint.compose(2).bracket(epsilon=0.4, direction=way)
        assert low <= truth * (1 + 1e-12) and truth <= high * (1 + 1e-12) and high - low < 4e-3 * high
    uplink = [sum(quantizers.pair_law(w, 1.0, epsilon=0.7, bits=bits)[1]) for w in (1.0, -1.0)]
    coins = airtight.discrete_pair(*([x, 1 - x] for x in uplink))
    assert float(coins.epsilon(0.0)) == pytest.approx(0.7, rel=1e-9)
    assert float(coins.delta(0.3)) == pytest.approx(float(airtight.randomized_response(0.7).delta(0.3)), rel=1e-9)


def test_equal_factors_are_a_gaussian_release():
    one = airtight.utility_fair(0.25, epsilon=0.95, delta=1e-5, theta=0.6)
    noise = math.sqrt(2 * math.log(1.25e5)) / (0.95 * 0.85)
    low, high = one.compose(10).bracket(delta=1e-5)
    exact = float(airtight.gaussian(math.sqrt(10) / noise).epsilon(1e-5))
    assert low <= exact * (1 + 1e-12) and exact <= high * (1 + 1e-12) and high - low < 1e-12 * high


def test_a_variance_that_speaks_over_two_rounds_by_quadrature():
    """One dimension: the law of the sum of two losses from densities, both orders."""
    curve = airtight.utility_fair(0.1, epsilon=0.9, delta=0.5, theta=0.9, neighbour=0.6, dimension=1)
    release = curve.factors[0][0]
    y, step = np.linspace(-60, 60, 4801, retstep=True)
    p, q = (np.exp(-((y - m) ** 2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi)) * step
            for m, s in ((1.0, release.deviation), (0.0, release.neighbour)))  # fmt: skip
    for eps in (0.0, 0.5, 2.0):
        for way, (a, b) in (("forward", (p, q)), ("reverse", (q, p))):
            truth = float(np.sum(np.maximum(np.outer(a, a) - math.exp(eps) * np.outer(b, b), 0.0)))
            low, high = curve.compose(2).bracket(epsilon=eps, direction=way)
            assert low - 1e-5 <= truth <= high + 1e-5 and high - low < 5e-3 * high + 1e-9


def test_the_greatest_loss_of_the_narrower_law():
    release = airtight.utility_fair(0.1, epsilon=0.9, delta=0.5, theta=0.9, neighbour=0.3, dimension=5).factors[0][0]
    s, t, d, r = (mp.mpf(x) for x in (release.deviation, release.neighbour, release.distance, 5))
    place = d * t * t / (t * t - s * s)  # on the axis, where the loss is greatest
    loss = r * mp.log(t / s) - (place - d) ** 2 / (2 * s * s) + place**2 / (2 * t * t)
    assert float(loss) <= release.greatest_loss() < float(loss) * (1 + 1e-12)
    assert release.greatest_loss(reverse=True) == math.inf


def test_variance_alone_is_the_known_leak():
    low, high = airtight.utility_fair(0.2, epsilon=0.9, delta=1e-5, theta=0.6, neighbour=0.21, dimension=650).bracket(
        epsilon=0.9
    )
    ratio = ((1 - 0.6 * 0.21) / (1 - 0.6 * 0.2)) ** -2
    alone = max(float(gaussian_pair.log_hockey_stick(0.9, distance=0.0, variance_p=a, variance_q=b, dimension=650))
                for a, b in ((ratio, 1.0), (1.0, ratio)))  # fmt: skip
    assert math.exp(alone) < low <= high


def test_a_majorant_is_above_what_it_was_made_from():
    eps = np.linspace(0.0, 12.0, 49)
    values = np.asarray(airtight.gaussian(1.3).delta(eps))
    at = np.linspace(0.0, 20.0, 333)
    exact = np.asarray(airtight.gaussian(1.3).delta(at))
    for shift in (0.0, 1e-3):
        found = Majorant(eps, values, np.inf, shift).delta_bracket(at)[1]
        moved = np.asarray(airtight.gaussian(1.3).delta(at - shift))
        assert np.all(found >= np.minimum(moved, exact + shift) * (1 - 1e-12))
        assert np.all(np.diff(found) <= 1e-15)
    assert float(Majorant(eps[8:], values[8:]).delta_bracket(np.array([1.0]))[1][0]) == 1.0


@pytest.mark.parametrize("changed", [{}, {"dropout": 0.2}, {"ldp_fraction": 0.3}])
@pytest.mark.parametrize("local", [1e-300, 1e-16])
def test_a_local_epsilon_that_doubles_do_not_resolve(local, changed):
    """The total variation of one parameter is tanh(local/2) at most; both ends enclose it, and a usual delta costs nothing."""
    curve = airtight.aggregation(airtight.FederatedSystem(clients=50, parameters=1, epsilon=local, **changed))
    assert curve.bracket(delta=1e-5).upper == 0.0
    ends = curve.bracket(epsilon=0.0)
    assert ends.lower == 0.0 and math.tanh(local / 2) <= ends.upper <= 1e-9


@pytest.mark.parametrize(("local", "bits"), [(1e-9, 1), (1e-9, 5), (3.3e-9, 3)])
def test_lower_end_of_a_pair_of_tiny_local_epsilon_is_below_the_truth(local, bits):
    """Probabilities near 1/2 whose differences doubles round by 1e-7; every choice of ends, at 60 digits."""
    system = airtight.FederatedSystem(clients=2, parameters=1, epsilon=local, ldp_fraction=0.0, shared_bits=bits)
    with mp.workdps(60):
        half, cells = mp.tanh(mp.mpf(local) / 2) / 2, mp.mpf(2) ** bits
        ends = (mp.mpf(1) / 2 - half, mp.mpf(1) / 2, mp.mpf(1) / 2 + half)

        def law(own, partner):
            a, b = cells * own, cells * partner
            f, g = a - mp.floor(a), b - mp.floor(b)
            same = mp.floor(a) == mp.floor(b)
            none, both = ((1 - f) * g, f * (1 - g)) if same else (max(b - a, 0), max(a - b, 0))
            return none / cells, 1 - (none + both) / cells, both / cells

        pairs = [(law(a, w), law(b, w)) for a, b, w in itertools.product(ends, repeat=3)]
        truth = max(sum(max(0, x - y) for x, y in zip(p, q, strict=True)) for p, q in pairs)
        lower, upper = airtight.aggregation(system).bracket(epsilon=0.0)
        assert truth * (1 - mp.mpf(10) ** -4) < lower <= truth <= upper
