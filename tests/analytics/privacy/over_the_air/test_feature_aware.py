"""Scores, participation bounds, and the privacy of the feature-aware schemes."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import poisson_binomial
from airtight.analytics.inference import participation, uncertainty
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import feature_aware, system_privacy

LAWS = st.integers(2, 20).flatmap(
    lambda n: st.lists(st.floats(0, 1), min_size=n, max_size=n).filter(lambda p: sum(p) > 1e-3)
)
SYSTEM = InferenceSystem(
    devices=5,
    participation=1.0,
    noise_variance=[0.5, 1.0, 0.2, 2.0, 1.0],
    weight=0.5,
    clip=1.0,
    alignment=1.2,
    receiver_noise_variance=0.3,
    dimension=6,
    delta=1e-5,
    delta_prime=1e-5,
    adjacency="replace",
)


# Scores


@given(LAWS)
def test_entropies(weights):
    p = np.array(weights) / np.sum(weights)
    shannon, least = uncertainty.shannon(p), uncertainty.min_entropy(p)
    assert -1e-12 <= least <= shannon + 1e-12 and shannon <= uncertainty.sensitivity(p.size) + 1e-12
    assert uncertainty.shannon(p[::-1]) == pytest.approx(shannon, rel=1e-12, abs=1e-15)


def test_the_two_entropies_may_disagree_on_the_order():
    first, second = [0.6, 0.1, 0.1, 0.1, 0.1], [0.5, 0.5]
    assert uncertainty.shannon(first) > uncertainty.shannon(second)
    assert uncertainty.min_entropy(first) < uncertainty.min_entropy(second)


def test_scores_at_the_edge():
    assert uncertainty.shannon([1.0]) == uncertainty.min_entropy([1.0]) == uncertainty.sensitivity(1) == 0.0
    assert uncertainty.scaled(3.0, bound=0.0, labels=4) == 0.0
    assert uncertainty.scaled(3.0, bound=100.0, labels=4) == 3.0
    rng = np.random.default_rng(0)
    assert uncertainty.private(0.3, 0.0, rng) == 0.3
    noisy = uncertainty.private(np.zeros(50_000), 2.0, rng)
    assert abs(noisy.std() - 2) < 0.03
    for bad, needle in (([0.5, 0.4], "sum of probabilities"), ([1.2, -0.2], "probabilities"), (1.0, "probabilities")):
        with pytest.raises(ParameterError, match=needle):
            uncertainty.shannon(bad)
    with pytest.raises(ParameterError, match="least"):
        uncertainty.capped_min_entropy_sensitivity(0.5, 0.4)


def test_scale_of_the_papers_score():
    """Ledger: Eq. (16) at sigma0^2 = 0.1 costs 15.32 per unit of sensitivity by Eq. (10)."""
    assert gaussian.classical_epsilon(1e-5, sensitivity=1.0, sigma=np.sqrt(0.1)) == pytest.approx(15.3206, abs=1e-4)


# Participation


def test_threshold_limits():
    assert participation.threshold([0.1, 0.5, 0.9], 0.0, 0.5).tolist() == [1.0, 1.0, 0.0]
    assert participation.threshold_at(0.2, 0.5, 0.975) == pytest.approx(0.2 + 0.5 * 1.959963985)
    eta = participation.threshold_at([0.1, 0.9], 0.3, [0.2, 0.7])
    assert participation.threshold([0.1, 0.9], 0.3, eta) == pytest.approx([0.2, 0.7])
    assert participation.threshold(0.3, 1.0, np.inf) == 1.0 and participation.threshold(0.3, 0.0, -np.inf) == 0.0
    assert participation.threshold([0.25, 0.5, 0.7, 1.0], np.sqrt(0.1), 0.5) == pytest.approx(
        [0.7854023498, 0.5, 0.2635446284, 0.0569231490], abs=1e-10
    )


def test_theorem_three_as_printed():
    """The ledger's counterexamples."""
    assert participation.published_lower([0.0, 1.0], 0.1) == pytest.approx(0.99999999999923, abs=1e-14)
    assert participation.published_upper([0.0, 1.0, 2.0, 3.0], 1.0, 3)[0] == pytest.approx(0.4563566633, abs=1e-10)
    assert participation.published_upper([0.0, 0.1, 0.2], 100.0, 2)[2] == 0.5
    assert participation.published_lower([0.0, 10.0, 1.0], [0.5, 0.001, 0.5]) == pytest.approx(0.9544993042, abs=1e-10)
    assert participation.published_sorting([0.0, 10.0, 1.0], [0.5, 0.001, 0.5]) < 0.93
    assert participation.published_upper([1.0], 1.0, 1).tolist() == [1.0]
    assert participation.published_lower([1.0], 1.0) == 1.0
    assert participation.published_lower([1.0, 1.0, 1.0, 1.0], 1.0) == 0.0


@given(st.integers(2, 7), st.integers(0, 10**6), st.integers(1, 7))
def test_proven_bounds_mirror(devices, seed, selected):
    rng = np.random.default_rng(seed)
    m = min(selected, devices - 1)
    score, noise = rng.random(devices), 10 ** rng.uniform(-2, 1, devices)
    lower, upper = participation.proven_bounds(score, noise, m)
    below, above = participation.proven_bounds(-score, noise, devices - m)
    assert lower == pytest.approx(1 - above, abs=1e-11) and upper == pytest.approx(1 - below, abs=1e-11)


# Privacy


def brute_threshold(system, k, noise, sensitivity, eta, epsilon, greatest=None):
    """E over the number of the others (equal noise) of the two-stage Gaussian curve."""
    p = participation.threshold(sensitivity if greatest is None else greatest, noise, eta)
    law = poisson_binomial.pmf([p] * (system.devices - 1))
    own = system.received_noise_variance[k]
    v = system.receiver_noise_variance + own * (1 + np.arange(system.devices))
    mu = np.sqrt((sensitivity / noise) ** 2 + system.sensitivity[k] ** 2 / v)
    return float(law @ gaussian.delta(epsilon, sensitivity=mu, sigma=1.0))


@given(st.floats(0.2, 5.0), st.floats(0.0, 2.0), st.floats(-1.0, 3.0), st.floats(-2.0, 5.0))
def test_threshold_scheme_is_tight(noise, sensitivity, eta, greatest):
    """Others whose score is the greatest allowed."""
    system = dataclasses.replace(SYSTEM, noise_variance=0.7)
    given_ = {"noise": noise, "sensitivity": sensitivity, "eta": eta, "greatest_score": greatest}
    epsilon = feature_aware.proven_threshold(system, **given_).epsilon[2]
    assert brute_threshold(system, 2, noise, sensitivity, eta, epsilon, greatest) <= system.delta * (1 + 1e-12)
    below = brute_threshold(system, 2, noise, sensitivity, eta, epsilon * (1 - 1e-7), greatest)
    assert epsilon == 0 or below > system.delta * (1 - 1e-6)


def two_stages(system, scores, others, noise, eta, epsilon):
    """delta of score and feature of device 0, its score changing between `scores`: an integral over the released score."""
    u, v = scores
    s = np.linspace(min(scores) - 12 * noise, max(scores) + 12 * noise, 100_001)
    left = epsilon - ((s - v) ** 2 - (s - u) ** 2) / (2 * noise**2)
    density = np.exp(-((s - u) ** 2) / (2 * noise**2)) / (np.sqrt(2 * np.pi) * noise) * (s[1] - s[0])
    law = poisson_binomial.pmf([participation.threshold(others, noise, eta)] * (system.devices - 1))
    total = 0.0
    for present, chance in enumerate(law):
        sigma = np.sqrt(system.receiver_noise_variance + system.received_noise_variance[0] * (1 + present))
        curve = gaussian.delta(np.abs(left), sensitivity=system.sensitivity[0], sigma=sigma)
        below = np.minimum(left, 0)
        curve = np.where(left >= 0, curve, -np.expm1(below) + np.exp(below) * curve)
        total += chance * density @ np.where(s <= eta, curve, -np.expm1(below))
    return total


@pytest.mark.parametrize(
    ("adjacency", "scores", "greatest", "noise", "eta", "old", "truth"),
    [
        ("replace", (3.32, 4.32), 4.32, 0.5, 2.0, 10.3096, 1.11e-3),
        ("silent", (0.0, 0.5), 1.0, 0.2, 0.5, 13.3406, 5.68e-5),
    ],
)
def test_the_change_of_a_score_does_not_bound_it(adjacency, scores, greatest, noise, eta, old, truth):
    """Scores in [3.32, 4.32], or a zeroed feature in the middle: participation as if scores began at 0 is too great."""
    system = InferenceSystem(
        devices=20,
        participation=1.0,
        noise_variance=1.0,
        weight=1.0,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.01,
        dimension=4,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=adjacency,
    )
    assert two_stages(system, scores, greatest, noise, eta, old) == pytest.approx(truth, rel=1e-2)
    given_ = {"noise": noise, "sensitivity": scores[1] - scores[0], "eta": eta, "greatest_score": greatest}
    epsilon = feature_aware.proven_threshold(system, **given_).epsilon[0]
    assert epsilon > old and two_stages(system, scores, greatest, noise, eta, epsilon) <= 1e-5


def test_lowest_scheme_takes_the_least_noise():
    """Three selected: the two quietest of the others send along."""
    guarantee = feature_aware.proven_lowest(SYSTEM, noise=1.0, sensitivity=0.3, selected=3)
    own = SYSTEM.received_noise_variance
    for k in range(5):
        v = own[k] + np.sum(np.sort(np.delete(own, k))[:2]) + SYSTEM.receiver_noise_variance
        mu = np.hypot(0.3, SYSTEM.sensitivity[k] / np.sqrt(v))
        truth = gaussian.epsilon(SYSTEM.delta, sensitivity=mu, sigma=1.0)
        assert truth <= guarantee.epsilon[k] <= truth * (1 + 1e-8)


def test_without_a_score_only_the_feature_counts():
    """Sensitivity 0 and everybody above the threshold: the exact epsilon of a system in which all take part."""
    alone = feature_aware.proven_threshold(SYSTEM, noise=1.0, sensitivity=0.0, eta=50.0, greatest_score=0.0).epsilon
    assert alone == pytest.approx(system_privacy.epsilon(SYSTEM), rel=1e-7)
    lowest = feature_aware.proven_lowest(SYSTEM, noise=1.0, sensitivity=0.0, selected=5).epsilon
    assert lowest == pytest.approx(alone, rel=1e-7)


def test_simulated_two_stage_release():
    """Scheme 2.1, one device, server sees score and signal: the privacy loss never exceeds what is proven."""
    system = dataclasses.replace(SYSTEM, devices=1, participation=1.0, noise_variance=0.7, weight=0.5, clip=1.0)
    noise, sensitivity, eta, epsilon = 1.0, 0.5, 0.6, 0.8
    rng = np.random.default_rng(1)
    rounds = 400_000
    u, v = 0.5, 0.0
    released = u + noise * rng.standard_normal(rounds)
    loss = ((released - v) ** 2 - (released - u) ** 2) / (2 * noise**2)
    sends = released <= eta
    deviation = np.sqrt(float(system.received_noise_variance[0]) + system.receiver_noise_variance)
    shift = float(system.sensitivity[0])
    y = shift + deviation * rng.standard_normal(rounds)
    loss = loss + sends * (y**2 - (y - shift) ** 2) / (2 * deviation**2)
    delta = np.maximum(-np.expm1(epsilon - loss), 0)
    bound = brute_threshold(system, 0, noise, sensitivity, eta, epsilon)
    assert delta.mean() - 4 * delta.std() / rounds**0.5 < bound


def test_published_adds_and_is_vacuous_where_theorem_one_is():
    lemma = feature_aware.published(SYSTEM, probability=0.5, score_epsilon=1.0, score_delta=1e-6)
    assert np.all(np.isinf(lemma.epsilon)) and lemma.adjacency.value == "absent"


@pytest.mark.parametrize(
    ("changes", "needle"),
    [
        ({"noise": 0.0}, "noise = 0.0"),
        ({"noise": [1.0, 2.0]}, "noise"),
        ({"sensitivity": -1.0}, "sensitivity = -1.0"),
        ({"selected": 6}, "selected = 6"),
        ({"system": dataclasses.replace(SYSTEM, adjacency="absent")}, "adjacency = 'absent'"),
    ],
)
def test_bad_input(changes, needle):
    arguments = {"noise": 1.0, "sensitivity": 1.0, "selected": 2, **changes}
    system = arguments.pop("system", SYSTEM)
    with pytest.raises(ParameterError) as error:
        feature_aware.proven_lowest(system, **arguments)
    assert needle in str(error.value)


def test_extremes():
    huge = feature_aware.proven_lowest(SYSTEM, noise=1e-9, sensitivity=1.0, selected=1)
    assert np.all(huge.epsilon > 1e17)
    nothing = dataclasses.replace(SYSTEM, weight=0.0)
    assert np.all(feature_aware.proven_lowest(nothing, noise=1.0, sensitivity=0.0, selected=1).epsilon == 0)
    silent = dataclasses.replace(SYSTEM, noise_variance=0.0, receiver_noise_variance=0.0)
    assert np.all(
        np.isinf(
            feature_aware.proven_threshold(silent, noise=1.0, sensitivity=0.1, eta=0.5, greatest_score=0.1).epsilon
        )
    )


@pytest.mark.parametrize("sensitivity", [1e-6, 0.01, 0.1, 0.3, 3.0])
def test_one_device_is_one_gaussian_mechanism_at_every_size(sensitivity):
    """Also where epsilon is far below 1: score and feature together, mu the root of the sum of squares."""
    one = InferenceSystem(
        devices=1,
        participation=1.0,
        noise_variance=1.0,
        weight=sensitivity,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.0,
        dimension=1,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
    )
    mu = float(np.hypot(sensitivity / 2.0, sensitivity))
    exact = float(gaussian.epsilon(1e-5, sensitivity=mu, sigma=1.0))
    lowest = feature_aware.proven_lowest(one, noise=2.0, sensitivity=sensitivity, selected=1)
    threshold = feature_aware.proven_threshold(
        one, noise=2.0, sensitivity=sensitivity, eta=0.0, greatest_score=sensitivity
    )
    for found in (float(lowest.epsilon[0]), float(threshold.epsilon[0])):
        assert exact <= found <= exact * (1 + 1e-8) + 1e-12


def test_joint_curves_are_the_proven_bounds_and_compose():
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve

    asked = {"noise": 0.7, "sensitivity": 0.4}
    eta = {"eta": 0.5, "greatest_score": 0.8}
    lowest = feature_aware.proven_lowest(SYSTEM, selected=3, **asked).epsilon
    threshold = feature_aware.proven_threshold(SYSTEM, **eta, **asked).epsilon
    for k in range(5):
        one = feature_aware.lowest_curve(SYSTEM, selected=3, device=k, **asked)
        many = feature_aware.threshold_curve(SYSTEM, device=k, **eta, **asked)
        for curve, proven in ((one, lowest[k]), (many, threshold[k])):
            low, high = curve.bracket(delta=SYSTEM.delta)
            assert low <= proven * (1 + 1e-9) and high == pytest.approx(proven, rel=1e-9)
            assert PrivacyCurve.from_json(curve.to_json()) == curve and curve.unit == f"device {k}, replace"


def test_joint_curve_over_two_rounds_against_every_pair_of_sets():
    """Score and answer of both rounds are one Gaussian release, given who took part."""
    k, noise, change, eta, greatest = 1, 0.7, 0.4, 0.5, 0.8
    scaled = SYSTEM.normalised()
    own = np.delete(scaled.received_noise_variance, k)
    p = float(participation.threshold(greatest, noise, eta))
    squares, weights = [], []
    for mask in range(16):
        inside = np.array([mask >> i & 1 for i in range(4)])
        v = float(own @ inside) + scaled.received_noise_variance[k] + scaled.receiver_noise_variance
        squares.append((change / noise) ** 2 + scaled.sensitivity[k] ** 2 / v)
        weights.append(p ** inside.sum() * (1 - p) ** (4 - inside.sum()))
    mu = np.sqrt(np.add.outer(squares, squares))
    curve = feature_aware.threshold_curve(
        SYSTEM, noise=noise, sensitivity=change, eta=eta, greatest_score=greatest, device=k
    )
    for epsilon in (0.5, 2.0, 6.0):
        exact = float(np.sum(np.outer(weights, weights) * gaussian.delta(epsilon, sensitivity=mu, sigma=1.0)))
        low, high = curve.compose(2).bracket(epsilon=epsilon)
        assert low <= exact * (1 + 1e-9) and exact * (1 - 1e-9) <= high < low * 1.01
