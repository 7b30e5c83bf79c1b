"""The joint problem: constraints are kept, nothing found elsewhere beats the lower bound, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.common import GOOD, TASK, archive, refused, run, written
from support.paths import ROOT

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import accuracy, decoding, distortion, transmission
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import observers, rounds
from airtight.solvers.design import whole_system
from airtight.solvers.design.effort import Effort
from airtight.solvers.design.over_the_air import equal_devices
from airtight.solvers.design.over_the_air.box_bounds import Box, DeltaTest, ManyRounds
from airtight.solvers.design.over_the_air.joint import design
from airtight.solvers.design.over_the_air.joint_design import Purpose
from airtight.solvers.design.over_the_air.joint_problem import Job
from airtight.solvers.design.over_the_air.moments import Moments
from airtight.solvers.design.over_the_air.units import Units
from airtight.solvers.design.peak import Peak
from airtight.solvers.design.requirements import JOINTLY_FREE, Free, InferenceRequirements
from airtight.solvers.errors import InfeasibleError, NotSettledError
from airtight.solvers.weights.weight_problem import _example
from airtight.validate.experiments.monte_carlo import channel


def instance(seed, tasks=3, **changes):
    rng = np.random.default_rng(seed)
    K, d, r = 6, 5, 4
    W = rng.normal(size=(r, d)) / 2
    common = rng.normal(size=(tasks, d)) * 2
    features = [Features(f=c + 0.4 * rng.normal(size=(K, d)), W=W, D=np.linalg.pinv(W)) for c in common]
    values = {
        "devices": K,
        "participation": 0.8,
        "noise_variance": 0.1,
        "weight": 1 / K,
        "clip": 1.0,
        "alignment": 2.0,
        "receiver_noise_variance": 0.3,
        "dimension": r,
        "delta": 1e-4,
        "delta_prime": 1e-4,
        "adjacency": "silent",
        "channel_gain": 0.5,
        **changes,
    }
    return InferenceSystem(**values), features


def reached(system, tasks, observer="auto"):
    gain = decoding.best_gain(system, tasks)
    energy = np.mean([np.sum(transmission.transmit_energy(system, one)) for one in tasks])
    return float(np.max(observers.exact_epsilon(system, observer=observer))), gain.mse, float(energy)


@pytest.mark.parametrize(
    "case", [("silent", False), ("replace", False), ("silent", True), ("absent", True), ("absent", False)]
)
def test_no_random_design_beats_the_bound(case):
    adjacency, idle = case
    system, tasks = instance(1, adjacency=adjacency, idle_noise=idle)
    own = decoding.constant_output(tasks)
    most = 6.0 if adjacency == "replace" else 3.0
    wanted = InferenceRequirements(minimise="energy", epsilon_at_most=most, error_at_most=0.75 * own, alike=True)
    found = design(system, wanted, tasks, gap=0.03)
    assert found.bound_for == "designs that treat all devices alike"
    assert np.max(found.epsilon) <= most and found.error <= 0.75 * own * (1 + 1e-9)
    epsilon, error, energy = reached(found.system, tasks)
    assert (epsilon, energy) == (np.max(found.epsilon), found.energy) and error == pytest.approx(found.error)
    assert found.lower_bound <= found.value and found.gap <= 0.1 * found.value
    rng = np.random.default_rng(0)
    for _ in range(100):
        spread = rng.normal(size=4) * rng.choice([0.03, 0.3, 2.0])
        w, s, c, p = (
            getattr(found.system, name)[0] * np.exp(x)
            for name, x in zip(("weight", "noise_variance", "clip", "participation"), spread, strict=True)
        )
        other = replace(found.system, weight=w, noise_variance=s, clip=c, participation=min(p, 1.0))
        epsilon, error, energy = reached(other, tasks)
        if epsilon <= most and error <= 0.75 * own:
            assert energy >= found.lower_bound * (1 - 1e-9)


def test_least_error_and_least_epsilon_agree_with_least_energy():
    system, tasks = instance(2)
    own = decoding.constant_output(tasks)
    free = ["weight", "noise_variance", "participation", "decoder_gain"]
    kept = {"free": free, "error_at_most": 0.7 * own, "alike": True}
    energy = design(system, InferenceRequirements(minimise="energy", epsilon_at_most=3.0, **kept), tasks, gap=0.01)
    error = design(
        system,
        InferenceRequirements(minimise="error", epsilon_at_most=3.0, energy_at_most=energy.value, free=free, alike=True),
        tasks,
        gap=0.01,
    )
    assert error.lower_bound <= 0.7 * own * 1.001 and error.energy <= energy.value * (1 + 1e-9)
    assert error.value == pytest.approx(0.7 * own, rel=0.02)
    epsilon = design(
        system, InferenceRequirements(minimise="epsilon", energy_at_most=energy.value * 1.01, **kept), tasks, gap=0.01
    )
    assert epsilon.lower_bound <= 3.0 * 1.001 and epsilon.value <= 3.0 * 1.05
    assert epsilon.error <= 0.7 * own * (1 + 1e-9) and epsilon.energy <= energy.value * 1.01 * (1 + 1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=12)
def test_bounds_of_boxes_lie_below_the_values_inside(seed):
    rng = np.random.default_rng(seed)
    idle = bool(rng.integers(2))
    system, tasks = instance(
        seed, tasks=2, idle_noise=idle, adjacency="silent" if idle else str(rng.choice(["silent", "replace", "absent"]))
    )
    own = decoding.constant_output(tasks)
    goal = rng.choice(["energy", "error"])
    screen = DeltaTest(system, float(rng.uniform(1, 6)), observers.default_observer(system))
    free = frozenset(Free)
    error, energy = (rng.uniform(0.5, 0.95) * own, None) if goal == "energy" else (None, rng.uniform(0.1, 10))
    problem = equal_devices.Problem(
        system,
        free,
        Moments.of(tuple(tasks), None),
        screen,
        error,
        energy,
        InferenceRequirements(minimise=goal, energy_at_most=1.0, error_at_most=1.0).minimise,
    )
    low = rng.uniform(0, 0.9, (40, 3))
    high = np.minimum(low + rng.choice([0.01, 0.1, 0.5], (40, 1)) * rng.uniform(0, 1, (40, 3)), 1.0)
    bound = problem.bound(low, high)
    for share in rng.uniform(0, 1, (6, 1, 3)):
        inside = low + share * (high - low)
        assert np.all(bound <= problem.value(inside) * (1 + 1e-9))


def test_screen_and_moments_are_those_of_the_library():
    for adjacency, idle in (("silent", False), ("replace", False), ("silent", True), ("absent", False)):
        system, tasks = instance(3, adjacency=adjacency, idle_noise=idle)
        screen = DeltaTest(system, 1.5, observers.default_observer(system))
        p, s = system.participation[:1], system.received_noise_variance[:1]
        box = Box(p, p, s, s)
        delta = screen.delta(box, system.sensitivity[:1])
        assert delta[0] == pytest.approx(float(observers.exact_delta(system, 1.5, device=0)), rel=1e-9)
        most, kept = (screen.greatest(box, system.delta, kept=kept) for kept in (False, True))
        assert kept <= most
        if most > 0:
            assert screen.delta(box, most)[0] == pytest.approx(system.delta, rel=2e-2)
        moments = Moments.of(tuple(tasks), float(system.clip[0]))
        share = system.participation[0]
        sends = 1.0 if idle else share
        noise = system.devices * sends * system.noise_variance[0] + system.decoded_receiver_noise
        at = np.zeros(1, dtype=int)
        scaled = np.array([noise * moments.decoder / (share * system.weight[0]) ** 2])
        expected = decoding.best_gain(system, tasks).mse
        assert moments.error(at, at, p, scaled)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("case", [("silent", False), ("replace", False), ("silent", True), ("absent", False)])
@pytest.mark.parametrize("T", [4])
def test_boxes_of_many_rounds_lie_below_what_the_library_says(case, T):
    adjacency, idle = case
    rng = np.random.default_rng(T)
    for _ in range(2):
        p, s, d = rng.uniform(0.2, 1), rng.uniform(0, 0.3), rng.uniform(0.5, 2)
        system, _ = instance(0, adjacency=adjacency, idle_noise=idle, noise_variance=s, participation=p, alignment=1.0)
        system = replace(system, weight=d / (2 if adjacency == "replace" else 1))
        exact = float(np.max(rounds.epsilon(system, rounds=T)))
        if not 0.1 < exact < 30:
            continue
        screen = ManyRounds(system, exact * 0.985, observers.default_observer(system), T)
        at = np.array([[p], [p], [s], [s]])
        assert screen.delta(Box(*at), np.array([d]))[0] > system.delta  # no further below than 1.5 % of epsilon
        wide = Box(at[0] * [1, 0.9, 1], np.minimum(at[1] * [1, 1, 1.1], 1), at[2] * [0.9, 0, 1], at[3] * [1.1, 1, 1])
        here = replace(screen, epsilon=exact)
        assert np.all(here.delta(Box(*np.repeat(at, 3, axis=1)), np.full(3, d)) <= system.delta)
        assert np.all(here.delta(wide, np.full(3, d)) <= system.delta)


def test_many_rounds_are_certified():
    for case in (("silent", 0.8), ("absent", 0.8)):
        system, tasks = instance(1, adjacency=case[0], participation=case[1])
        own = decoding.constant_output(tasks)
        free = ["weight", "noise_variance", "decoder_gain"]
        wanted = InferenceRequirements(minimise="error", epsilon_at_most=5.0, energy_at_most=20.0, free=free, alike=True)
        found = design(system, wanted, tasks, rounds=5, gap=0.03)
        assert found.error < own and np.max(found.epsilon) <= 5.0
        if case[0] == "absent":  # the slopes that its boxes rest on have no proved error
            assert found.lower_bound is None and found.method == "local"
            continue
        assert found.gap <= 0.0301 * found.value
        rng = np.random.default_rng(0)
        for w, s in rng.normal(size=(12, 2)) * [0.05, 1.0]:
            noise = max(found.system.noise_variance[0], 1e-3) * np.exp(s)
            other = replace(found.system, weight=found.system.weight * np.exp(w), noise_variance=noise)
            _, error, energy = reached(other, tasks)
            if error < found.lower_bound and energy <= 20.0:
                assert np.max(rounds.epsilon(other, rounds=5)) > 5.0


def test_peak_power_is_kept():
    system, tasks = instance(1)
    free = ["weight", "noise_variance", "decoder_gain"]
    kept = {"minimise": "error", "epsilon_at_most": 6.0, "energy_at_most": 5.0, "free": free, "alike": True}
    loud = design(system, InferenceRequirements(**kept), tasks)
    most = 0.8 * Peak.needed(loud.system, 1e-3)
    quiet = design(system, InferenceRequirements(**kept, power_at_most=most), tasks)
    assert Peak.needed(quiet.system, 1e-3) <= most * (1 + 1e-6) and loud.error < quiet.lower_bound
    rng = np.random.default_rng(0)
    length = quiet.system.weight[0] * quiet.system.clip[0]
    sent = np.sqrt(quiet.system.noise_variance[0]) * rng.normal(size=(200000, 4)) + [length, 0, 0, 0]
    assert np.mean(2.0**2 / 0.5 * np.sum(sent**2, axis=1) > most * (1 + 1e-6)) < 1.4e-3
    hopeless = {**kept, "minimise": "energy", "energy_at_most": None, "error_at_most": quiet.error}
    with pytest.raises(InfeasibleError, match="power_at_most = ") as error:
        design(system, InferenceRequirements(**hopeless, power_at_most=most / 2), tasks, gap=0.01)
    named = float(str(error.value).split("power_at_most = ")[1])
    assert most / 2 < named <= most * 1.01
    design(system, InferenceRequirements(**hopeless, power_at_most=named * 1.001), tasks, gap=0.01)


def test_design_is_confirmed_by_simulation():
    system, tasks = instance(4, tasks=1)
    own = decoding.constant_output(tasks)
    wanted = InferenceRequirements(minimise="energy", epsilon_at_most=4.0, accuracy_at_least=0.5, alike=True)
    found = design(system, wanted, tasks, margin=float(np.sqrt(own)) * 0.95, ideal_accuracy=0.9, gap=0.05)
    rng = np.random.default_rng(5)
    designed, rounds = found.system, 20000
    tau = (rng.random((rounds, 6)) < designed.participation).astype(float)
    signal = np.broadcast_to(designed.weight[:, None] * tasks[0].clipped(designed.clip), (rounds, 6, 4))
    decoded = designed.decoder_gain / designed.alignment * channel.receive(designed, tau, signal, rng) @ tasks[0].D.T
    distance = np.linalg.norm(decoded - tasks[0].target, axis=1)
    assert abs(np.mean(distance**2) - found.error) < 5 * np.std(distance**2) / np.sqrt(rounds)
    share = 0.9 * np.mean(distance <= np.sqrt(own) * 0.95)
    assert abs(share - found.accuracy) < 0.02 and found.accuracy >= 0.5 > found.nothing.accuracy
    sent = 2.0 / np.sqrt(0.5) * (signal + np.sqrt(designed.noise_variance[0]) * rng.normal(size=signal.shape))
    spent = np.sum(tau[..., None] * sent**2, axis=(1, 2))
    assert abs(np.mean(spent) - found.energy) < 5 * np.std(spent) / np.sqrt(rounds)


def test_epsilon_of_a_design_is_confirmed_by_simulation():
    """The loss of what a server sees, drawn two million times: at epsilon as often exceeded as delta says."""
    system, tasks = instance(4, delta=0.01)
    own = decoding.constant_output(tasks)
    free = ["weight", "noise_variance", "decoder_gain"]
    designed = design(system, InferenceRequirements(minimise="error", epsilon_at_most=2.0, energy_at_most=9.0, free=free), tasks)
    assert 1.99 < np.max(designed.epsilon) <= 2.0 and designed.error < own
    rng, count = np.random.default_rng(7), 2_000_000
    one = designed.system
    there = rng.random(count) < one.participation[0]
    others = rng.binomial(5, one.participation[0], count)
    sigma = np.sqrt(one.receiver_noise_variance + (others + 1) * one.received_noise_variance[0])
    ratio = one.sensitivity[0] / sigma
    loss = ratio * rng.normal(size=count) + ratio**2 / 2
    exceeded = np.where(there, np.maximum(-np.expm1(2.0 - loss), 0.0), 0.0)
    noise = np.std(exceeded) / np.sqrt(count)
    assert abs(np.mean(exceeded) - 0.01) < 5 * noise + 2e-4


def test_rounds_with_everybody_present():
    system, tasks = instance(6, participation=1.0)
    own = decoding.constant_output(tasks)
    free = ["weight", "noise_variance", "decoder_gain"]
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=4.0, energy_at_most=100.0, free=free)
    one, many = (design(system, wanted, tasks, rounds=T, gap=0.02) for T in (1, 10))
    assert one.error < many.error < own and many.lower_bound is not None
    noise = np.sum(many.system.received_noise_variance) + many.system.receiver_noise_variance
    spent = gaussian.epsilon(1e-4, sensitivity=many.system.sensitivity * np.sqrt(10), sigma=np.sqrt(noise))
    np.testing.assert_allclose(spent, many.epsilon)
    assert np.max(many.epsilon) <= 4.0


def different(adjacency, idle, p):
    rng = np.random.default_rng(3)
    system, tasks = instance(7, weight=[0.1, 0.2, 0.1, 0.1, 0.3, 0.2], adjacency=adjacency, idle_noise=idle)
    share = p * (rng.uniform(0.8, 1, 6) if p < 1 else 1)
    gain, clip = rng.uniform(0.2, 1, 6), rng.uniform(0.5, 1.5, 6)
    return replace(system, channel_gain=gain, clip=clip, participation=share), tasks


@pytest.mark.parametrize(
    "case",
    [
        ("silent", False, 1.0, 1e-4),
        ("silent", True, 0.8, 1e-4),
        ("replace", False, 1.0, 1e-4),
        ("silent", False, 0.8, 0.1),
        ("absent", False, 0.8, 0.1),
    ],
)
def test_different_devices_keep_the_constraints_and_no_design_beats_the_bound(case):
    adjacency, idle, p, gap = case
    system, tasks = different(adjacency, idle, p)
    free = ["weight", "noise_variance", "decoder_gain"]
    most = 8.0 if adjacency == "replace" else 4.0
    kept = {"epsilon_at_most": most, "free": free}
    error = design(system, InferenceRequirements(minimise="error", energy_at_most=5.0, **kept), tasks)
    assert np.max(error.epsilon) <= most and error.energy <= 5.0
    energy = design(system, InferenceRequirements(minimise="energy", error_at_most=1.05 * error.error, **kept), tasks)
    assert np.max(energy.epsilon) <= most and energy.error <= 1.05 * error.error and energy.energy <= error.energy
    assert error.bound_for == energy.bound_for == "every design"
    assert 0 <= error.gap <= gap * error.value and 0 <= energy.gap <= 5 * gap * energy.value
    rng = np.random.default_rng(0)
    for spread in rng.choice([0.01, 0.1, 0.5], 60)[:, None, None] * rng.normal(size=(60, 2, 6)):
        start = error.system if rng.random() < 0.5 else energy.system
        noise = (start.noise_variance + 1e-6 * (rng.random() < 0.5)) * np.exp(spread[1])
        other = replace(start, weight=start.weight * np.exp(spread[0]), noise_variance=noise)
        epsilon, mse, spent = reached(other, tasks)
        if epsilon <= most:
            assert spent > 5.0 or mse >= error.lower_bound * (1 - 1e-9)
            assert mse > 1.05 * error.error or spent >= energy.lower_bound * (1 - 1e-9)


def test_different_and_equal_devices_agree():
    """Convex steps and branch and bound answer the same question where both can."""
    from airtight.solvers.design.over_the_air import unequal_devices as steps
    from airtight.solvers.design.over_the_air.joint_design import Purpose

    system, tasks = instance(5, participation=1.0)
    free = ["weight", "noise_variance", "decoder_gain"]
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=3.0, energy_at_most=2.0, free=free)
    boxes = design(system, wanted, tasks)
    asked = steps.UnequalProblem(wanted, Purpose.of(tasks), None, 1, observers.Observer.AUTO)
    cones = steps.best(system, asked, Effort(10**9))
    assert cones.lower <= boxes.value and cones.lower <= cones.value  # any weights, not equal ones alone
    same = [replace(one, f=np.repeat(one.f[:1], 6, axis=0)) for one in tasks]
    boxes = design(system, wanted, same)
    asked = replace(asked, purpose=Purpose.of(same))
    assert steps.best(system, asked, Effort(10**9)).value == pytest.approx(boxes.value, rel=2e-3)


def test_a_bound_knows_that_weights_are_nonnegative():
    """A device whose feature is turned round would want a negative weight: its weight is 0, and the gap stays closed."""
    system, tasks = different("silent", False, 1.0)
    tasks = [replace(one, f=np.concatenate([-one.f[:1], one.f[1:]])) for one in tasks]
    free = ["weight", "noise_variance", "decoder_gain"]
    found = design(system, InferenceRequirements(minimise="error", epsilon_at_most=3.0, energy_at_most=5.0, free=free), tasks)
    assert found.system.weight[0] < 1e-6 * np.max(found.system.weight)
    assert 0 <= found.gap <= 1e-5 * found.value
    rng = np.random.default_rng(0)
    for spread in rng.choice([0.01, 0.1, 0.5], 40)[:, None, None] * rng.normal(size=(40, 2, 6)):
        weight = (found.system.weight + 0.05 * (rng.random() < 0.5)) * np.exp(spread[0])
        other = replace(found.system, weight=weight, noise_variance=found.system.noise_variance * np.exp(spread[1]))
        epsilon, mse, spent = reached(other, tasks)
        assert epsilon > 3.0 or spent > 5.0 or mse >= found.lower_bound * (1 - 1e-9)


def unequal_views(u=1.0, **changes):
    """Two equal devices with unequal features; lengths in units of 1/u."""
    values = {
        "devices": 2,
        "participation": 1.0,
        "noise_variance": 0.1 * u**2,
        "weight": 0.5,
        "clip": 2.0 * u,
        "alignment": 1.0,
        "receiver_noise_variance": 0.1 * u**2,
        "dimension": 1,
        "delta": 1e-5,
        "adjacency": "silent",
    }
    return InferenceSystem(**{**values, **changes}), Features(f=[[2.0 * u], [-1.0 * u]], W=[[1.0]], D=[[1.0]])


WEIGHT = ("weight", "decoder_gain")
ASKED = [
    {"minimise": "error", "epsilon_at_most": 20.0, "energy_at_most": 1.0},
    {"minimise": "error", "epsilon_at_most": 5.0, "error_at_most": 0.12},
    {"minimise": "energy", "epsilon_at_most": 20.0, "error_at_most": 0.12},
    {"minimise": "epsilon", "error_at_most": 0.12},
]


@pytest.mark.parametrize(
    ("asked", "value"), list(zip(ASKED, (0.068182, 0.110757, 0.525, 4.58504), strict=True)), ids=range(4)
)
@pytest.mark.parametrize("more", [0.0, 1e-9], ids=["equal", "unequal"])
def test_equal_devices_with_unequal_features_get_unequal_weights(asked, value, more):
    """Weights (0.4, 0) have the error 0.0798 where equal ones have 0.163; (0.307, 0) keeps what no equal weights keep."""
    system, views = unequal_views(clip=[2.0, 2.0 + more])
    found = design(system, InferenceRequirements(**asked, free=WEIGHT), views)
    assert found.value == pytest.approx(value, rel=1e-4) and found.gap <= 1e-4 * value
    assert found.bound_for == "every design" and found.system.weight[1] < 1e-6


def test_what_is_proved_of_equal_weights_is_said_of_them_alone():
    system, views = unequal_views()
    found = design(system, InferenceRequirements(**ASKED[0], free=WEIGHT, alike=True), views)
    assert found.value == pytest.approx(0.163043, rel=1e-5) and found.bound_for == "designs that treat all devices alike"
    with pytest.raises(InfeasibleError, match=r"designs that treat all devices alike: error is at least 0\.19"):
        design(system, InferenceRequirements(**ASKED[1], free=WEIGHT, alike=True), views)
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=0.1, error_at_most=0.12, free=(*WEIGHT, "clip"), effort=2000)
    with pytest.raises(ParameterError, match="alike"):
        design(replace(system, clip=[2.0, 2.1]), InferenceRequirements(**ASKED[0], free=WEIGHT, alike=True), views)
    with pytest.raises(NotSettledError, match="alike: "):  # a free clip has no bound for unequal designs
        design(system, wanted, views, explain=False)


@given(st.integers(0, 10**6))
@settings(max_examples=4)
def test_no_unequal_values_of_equal_devices_beat_the_bound(seed):
    rng = np.random.default_rng(seed)
    K, adjacency = int(rng.integers(2, 4)), str(rng.choice(["silent", "replace", "absent"]))
    p, idle = float(rng.choice([1.0, 0.8])), bool(rng.integers(2)) and adjacency == "silent"
    system, _ = unequal_views(
        devices=K, participation=p, weight=1 / K, adjacency=adjacency, idle_noise=idle, delta=1e-3, dimension=2
    )
    views = Features(f=np.array([1.0, 0.0]) + rng.normal(size=(K, 2)), W=np.eye(2), D=np.eye(2))
    free = (*WEIGHT, "noise_variance") if adjacency == "absent" or rng.integers(2) else WEIGHT
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=6.0, energy_at_most=4.0, free=free, effort=20_000)
    found = design(system, wanted, views)
    assert found.lower_bound <= found.value and np.max(found.epsilon) <= 6.0
    for _ in range(40):
        spread = rng.choice([0.1, 1.0, 3.0])
        noise = 0.1 * np.exp(spread * rng.normal(size=K)) if "noise_variance" in free else 0.1
        weight = rng.random(K) * np.exp(spread * rng.normal(size=K)) * (rng.random(K) < 0.7)
        other = replace(system, weight=weight, noise_variance=noise)
        epsilon, error, energy = reached(other, [views])
        assert epsilon > 6.0 or energy > 4.0 or error >= found.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("asked", [ASKED[0], ASKED[2], ASKED[3]], ids=["error", "energy", "epsilon"])
@pytest.mark.parametrize("more", [0.0, 0.2], ids=["equal", "unequal"])
def test_a_design_does_not_depend_on_the_unit_of_length(asked, more):
    def designed(u):
        system, views = unequal_views(u, clip=[2.0 * u, (2.0 + more) * u])
        scale = {"error_at_most": u**2, "energy_at_most": u**2}
        scaled = {key: value * scale.get(key, 1.0) if key != "minimise" else value for key, value in asked.items()}
        found = design(system, InferenceRequirements(**scaled, free=WEIGHT), views)
        unit = {"epsilon": 1.0, "error": u**2, "energy": u**2}
        prices = [price.rising * unit[price.by] / unit[found.minimised] for price in airtight.sensitivities(found)]
        return [found.value / unit[found.minimised], found.lower_bound / unit[found.minimised], *prices]

    base = designed(1.0)
    np.testing.assert_array_equal(designed(2.0**20), base)
    for u in (1e-9, 1e-4, 1e4, 1e9):
        np.testing.assert_allclose(designed(u), base, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("free", [("weight", "decoder_gain"), ("noise_variance", "decoder_gain")])
@pytest.mark.parametrize("goal", ["epsilon", "energy"])
def test_limits_out_of_reach_are_infeasible(free, goal):
    """The bound is infinite: no number of it can be shown."""
    system, views = unequal_views(devices=1, weight=1.0)
    views = replace(views, f=views.f[:1])
    for limit in (0.01, 1e-300):
        wanted = InferenceRequirements(minimise=goal, error_at_most=limit, energy_at_most=limit, epsilon_at_most=0.1, free=free)
        with pytest.raises(InfeasibleError):
            design(system, wanted, views)
    wanted = InferenceRequirements(minimise="epsilon", error_at_most=0.5, energy_at_most=0.01, free=free)
    with pytest.raises(InfeasibleError):
        design(system, wanted, views)


def test_a_word_without_its_bound_cannot_be_built():
    from airtight.solvers.design.known import Designs, Known, Method

    for method, lower, bound_for in (
        (Method.BOXES, None, None),
        (Method.LOCAL, 1.0, Designs.ALL),
        (Method.BOXES, 1.0, None),
    ):
        with pytest.raises(ValueError, match="bound"):
            Known(method, lower, bound_for)
    system, views = unequal_views(adjacency="replace")
    wanted = InferenceRequirements(
        minimise="error", epsilon_at_most=9.0, energy_at_most=4.0, free=("clip", "weight", "decoder_gain", "idle_noise")
    )
    found = design(system, replace(wanted, alike=True, effort=3000), views, observer="participants")
    assert found.method == "local" and found.lower_bound is None and found.bound_for is None


def test_least_epsilon_of_different_devices():
    system, tasks = different("silent", False, 1.0)
    own = decoding.constant_output(tasks)
    free = ["weight", "noise_variance", "decoder_gain"]
    wanted = InferenceRequirements(minimise="epsilon", energy_at_most=5.0, error_at_most=0.9 * own, free=free)
    found = design(system, wanted, tasks)
    assert found.gap <= 1e-3 * found.value and found.error <= 0.9 * own and found.energy <= 5.0
    loud = Peak.needed(found.system, 1e-3)
    quiet = design(system, replace(wanted, power_at_most=0.8 * loud), tasks)
    assert Peak.needed(quiet.system, 1e-3) <= 0.8 * loud and quiet.value >= found.lower_bound


def test_what_is_not_free_is_local():
    system, tasks = different("silent", False, 1.0)
    own = decoding.constant_output(tasks)
    found = design(system, InferenceRequirements(minimise="energy", epsilon_at_most=5.0, error_at_most=0.85 * own), tasks)
    assert found.lower_bound is None and found.method == "local"
    assert np.max(found.epsilon) <= 5.0 and found.error <= 0.85 * own * (1 + 1e-9)


def test_infeasible_says_what_could_be_kept():
    system, tasks = instance(8)
    own = decoding.constant_output(tasks)
    with pytest.raises(InfeasibleError, match="error_at_most = ") as error:
        free = ["weight", "noise_variance", "decoder_gain"]
        wanted = InferenceRequirements(minimise="energy", epsilon_at_most=0.3, error_at_most=0.4 * own, free=free, alike=True)
        design(system, wanted, tasks, gap=0.01)
    assert 0.3 < error.value.least_epsilon < 100
    nearest = float(str(error.value).split("error_at_most = ")[1].split(",")[0])
    kept = InferenceRequirements(minimise="energy", epsilon_at_most=0.3, error_at_most=nearest * 1.002, free=free, alike=True)
    assert np.max(design(system, kept, tasks, gap=0.01).epsilon) <= 0.3


def test_without_features_the_error_is_that_of_the_worst_codes():
    system, _ = instance(9, noise_variance=np.linspace(0.05, 0.2, 6))
    free = ["weight", "noise_variance", "decoder_gain"]
    wanted = InferenceRequirements(minimise="energy", epsilon_at_most=6.0, error_at_most=0.8, free=free, effort=60)
    best = design(system, wanted)
    assert best.error <= 0.8 and best.nothing.error == 1 and np.max(best.epsilon) <= 6.0 and best.energy > 0
    rng = np.random.default_rng(0)
    ours = best.system
    for _ in range(200):  # codes are their own features; the decoder is the identity
        codes = rng.normal(size=(6, 4))
        codes *= ours.clip[:, None] / np.linalg.norm(codes, axis=1, keepdims=True)
        task = Features(f=codes, W=np.eye(4), D=np.eye(4))
        assert distortion.exact(ours, task) <= best.error * (1 + 1e-12)
    scaled = system.derived(
        clip=8 * system.clip,
        noise_variance=64 * system.noise_variance,
        receiver_noise_variance=64 * system.receiver_noise_variance,
    )
    assert design(scaled, replace(wanted, error_at_most=0.8 * 64)).error == 64 * best.error
    with pytest.raises(ParameterError, match="free = 'clip': must be another variable without features"):
        design(system, InferenceRequirements(minimise="error", epsilon_at_most=2.0))
    with pytest.raises(ParameterError, match=r"accuracy_at_least = 0\.9: must be absent without features"):
        design(system, InferenceRequirements(minimise="energy", epsilon_at_most=2.0, accuracy_at_least=0.9, free=free))
    over = system.derived(channel=airtight.Channel(fading="rayleigh", states=4))
    with pytest.raises(ParameterError, match="features: missing; must be given over a channel"):
        whole_system.design(over, wanted)


@pytest.mark.parametrize(
    ("changes", "needle"),
    [
        ({"free": []}, "free"),
        ({"free": ["weights"]}, "free"),
        ({"free": ["shared_bits"]}, "free = 'shared_bits': must be one of weight, "),
        ({"free": "weight"}, "free = 'weight': must be a list of weight, "),
        ({"free": 3}, "free = 3: must be a list of weight, "),
        ({"minimise": "bits"}, "minimise = 'bits': must be one of energy, epsilon, error$"),
        ({"outage_at_most": None}, "outage_at_most: missing; must be a number"),
        ({"minimise": "power"}, "minimise"),
        ({"epsilon_at_most": None}, "epsilon_at_most"),
        ({"epsilon_at_most": None, "energy_at_most": 1.0}, "energy_at_most"),
        ({"epsilon_at_most": -1.0}, "epsilon_at_most"),
        ({"accuracy_at_least": 1.5}, "accuracy_at_least"),
    ],
)
def test_requirements_that_make_no_sense(changes, needle):
    with pytest.raises(ParameterError, match=needle):
        InferenceRequirements(**{"minimise": "energy", "epsilon_at_most": 1.0, **changes})


def test_weight_zero_moves_nothing():
    system, tasks = instance(10, weight=0.0)
    with pytest.raises(ParameterError, match="weight"):
        design(system, InferenceRequirements(minimise="error", epsilon_at_most=1.0, free=["noise_variance"]), tasks)


DESIGN = """
[design]
minimise = "energy"
epsilon_at_most = 100.0
accuracy_at_least = 0.1
free = ["weight", "noise_variance", "decoder_gain"]
"""
EQUAL = GOOD.replace("[0.9, 0.5, 1.0]", "0.9") + 'adjacency = "silent"\n'


def test_command(tmp_path):
    rng = np.random.default_rng(1)
    D = np.linalg.pinv(rng.normal(size=(4, 5)))
    f = rng.normal(size=5) * 3 + 0.1 * rng.normal(size=(2, 3, 5))
    archive(tmp_path, f=f, W=np.linalg.pinv(D), D=D)
    margin = float(np.linalg.norm(f.mean(axis=(0, 1)))) * 0.9
    path = written(tmp_path, EQUAL + TASK.replace("margin = 2.0", f"margin = {margin}") + DESIGN)
    found = run("design", path, "--json")
    assert found.exit_code == 0, found.stderr
    tree = json.loads(found.stdout)
    assert tree["gap"] == tree["value"] - tree["lower_bound"] and max(tree["epsilon"]) <= 100.0
    assert tree["accuracy"] >= 0.1 and tree["error"] < tree["baseline"]["constant_output"]["error"]
    assert tree["beats_constant"] and set(tree["variables"]) >= {"weight", "noise_variance", "decoder_gain"}
    assert "no design has less" in " ".join(run("design", path).stdout.split())
    hopeless = written(tmp_path, path.read_text().replace("accuracy_at_least = 0.1", "error_at_most = 1e-6"))
    result = run("design", hopeless)
    assert result.exit_code == 3 and result.stdout == "" and "nearest" in result.stderr


def test_a_public_centre_is_subtracted(tmp_path):
    rng = np.random.default_rng(2)
    centre = rng.normal(size=(3, 5))
    archive(tmp_path, c=centre)
    path = written(tmp_path, GOOD + TASK)
    from airtight.system_file.config import load

    f = np.load(tmp_path / "features.npz")["f"]
    np.testing.assert_allclose(load(path).task.features.f, f - centre)


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        (GOOD, "design: missing"),
        (GOOD + "[design]\n", "epsilon_at_most"),
        (GOOD + "[design]\nepsilon_at_most = 1.0\nfree = []\n", "free"),
        (GOOD + "[design]\nepsilon_at_mots = 1.0\n", "did you mean epsilon_at_most?"),
        (GOOD + '[design]\nepsilon_at_most = 1.0\nfree = ["wieght"]\n', "free"),
        (GOOD + 'decoder_gain = 2.0\n[design]\nepsilon_at_most = 1.0\nfree = ["decoder_gain"]\n', "fixed and free"),
        ("[design]\nepsilon_at_most = 1.0\n", "inference"),
    ],
)
def test_files_that_are_refused(tmp_path, text, needle):
    assert refused(run("design", written(tmp_path, text)), needle)


def test_the_verb():
    system, tasks = instance(11)
    own = airtight.baseline(tasks)["mse"]
    free = ["weight", "noise_variance", "decoder_gain"]
    found = airtight.design(system, tasks, minimise="error", epsilon_at_most=3.0, energy_at_most=5.0, free=free)
    assert found.error < own == found.nothing.error
    at = [float(distortion.exact(found.system, one)) for one in tasks]
    assert found.error == pytest.approx(np.mean(at))
    assert accuracy.markov(found.error, margin=10.0) > 0


def test_the_example_that_works():
    """What design finds in it keeps epsilon and beats the constant output; train's codec is the file's."""

    from airtight.system_file.config import load
    from airtight.validate.experiments.training import inference_training, views

    description = load(ROOT / "examples" / "good.toml")
    system, tasks = description.inference, description.task.samples
    assert 1.99 < np.max(airtight.epsilon(system)) <= 2.0
    error = float(np.mean([distortion.exact(system, one) for one in tasks]))
    assert error < 0.32 * decoding.constant_output(tasks)
    found = design(system, description.design, tasks, gap=0.02)
    assert found.lower_bound <= error <= found.lower_bound * 1.03
    setup = views.prepare(devices=12, dimension=8, codec=description.training.codec, seed=0)
    np.testing.assert_allclose(setup.encoder, tasks[0].W)
    np.testing.assert_allclose((setup.public[0] - setup.centre), tasks[0].f, atol=1e-6)
    measured = inference_training.measure(setup, system, rounds=3)
    assert measured.accuracy > 0.85 * setup.ideal
    assert abs(measured.mse - measured.exact_mse) < 0.05 * measured.exact_mse


def test_no_classifier_exceeds_what_fano_allows():
    rng = np.random.default_rng(0)
    for spread in (0.2, 0.5, 1.0):
        means = spread * rng.normal(size=(10, 3))
        label = rng.integers(0, 10, 20000)
        y = means[label] + rng.normal(size=(20000, 3))
        distance = np.sum((y[:, None] - means) ** 2, axis=2)
        log_likelihood = -distance / 2
        whole = np.logaddexp.reduce(log_likelihood, axis=1) - np.log(10)
        nats = float(np.mean(log_likelihood[np.arange(20000), label] - whole))
        assert np.mean(distance.argmin(axis=1) == label) <= decoding.any_accuracy(nats * 1.05, 10) + 0.01


def test_rounds_of_the_file_are_meant(tmp_path):
    many = EQUAL.replace('adjacency = "silent"', 'adjacency = "silent"\nrounds = 5')
    found = json.loads(run("calibrate", written(tmp_path, many), "--epsilon", 4, "--json").stdout)
    once = json.loads(run("calibrate", written(tmp_path, EQUAL), "--epsilon", 4, "--json").stdout)
    assert found["rounds"] == 5 and found["value"][0] > once["value"][0]
    free = '[design]\nminimise = "energy"\nepsilon_at_most = 4.0\nfree = ["noise_variance"]\n'
    few = many.replace("rounds = 5", "rounds = 2").replace("participation = 0.9", "participation = 1.0")
    tree = json.loads(run("design", written(tmp_path, few + free), "--json").stdout)
    assert tree["lower_bound"] is None and tree["method"] == "local" and max(tree["epsilon"]) <= 4.0


@pytest.mark.parametrize(
    ("epsilon", "changes"),
    [
        (6.0592492672203, {"participation": 0.7, "noise_variance": 3.0, "delta": 2.6e-3}),
        (1.37796, {"adjacency": "replace", "participation": 0.5, "delta": 1.8e-4}),
        (2.2, {"adjacency": "replace", "participation": 0.05, "delta": 0.097}),  # any weight keeps epsilon
        (0.18, {"adjacency": "absent", "idle_noise": True, "participation": 0.05, "delta": 0.073}),
    ],
)
def test_the_least_error_keeps_epsilon(epsilon, changes):
    system, tasks = instance(5, tasks=1, **changes)
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=epsilon, free=("weight", "decoder_gain", "noise_variance"))
    found = design(system, wanted, tasks, gap=0.01)
    assert np.max(found.epsilon) <= epsilon and found.lower_bound <= found.error < decoding.constant_output(tasks)
    assert np.isfinite(found.system.weight).all()


def test_a_clip_without_a_weight_is_not_certified():
    """Below the shortest code a smaller clip is a smaller signal, which no other variable makes up for."""
    system, views = _example()
    wanted = InferenceRequirements(
        minimise="energy",
        epsilon_at_most=2.0,
        error_at_most=1.4,
        free=("clip", "noise_variance", "decoder_gain"),
        alike=True,
    )
    found = design(replace(system, weight=1.0), wanted, views)
    assert found.lower_bound is None and found.value < 0.01


def test_an_epsilon_is_not_excluded_within_the_gap_of_the_energy():
    system, views = _example()
    free = ("weight", "noise_variance", "clip", "participation", "decoder_gain")
    kept = {"error_at_most": 0.5, "free": free, "alike": True}
    least = design(system, InferenceRequirements(minimise="energy", epsilon_at_most=2.0, **kept), views)
    wanted = InferenceRequirements(minimise="epsilon", energy_at_most=least.value * 1.0002, **kept)
    found = design(system, wanted, views, gap=0.05, effort=30_000)
    assert found.lower_bound <= np.max(least.epsilon)


ROUNDS = """
[federated]
clients = 50
parameters = 1000
epsilon = 1.0
[design]
"""


def test_designs_of_corbin_fl(tmp_path):
    from airtight.analytics.federated.corbin.federated_system import FederatedSystem
    from airtight.solvers.design.federated import federated_design
    from airtight.solvers.design.requirements import FederatedRequirements

    base = FederatedSystem(clients=50, parameters=1000, epsilon=1.0, ldp_fraction=0.2)
    grid = [replace(base, epsilon=e, shared_bits=d) for e in np.geomspace(0.05, 20, 60) for d in (0, 2, 5, 10, 40)]
    least = federated_design.design(base, FederatedRequirements(minimise="epsilon", error_at_most=0.03))
    few = federated_design.design(base, FederatedRequirements(minimise="bits", epsilon_at_most=1.5, error_at_most=0.03))
    most = federated_design.bits_of(replace(base, shared_bits=4))
    exact = federated_design.design(base, FederatedRequirements(epsilon_at_most=1.5, bits_at_most=most))
    assert (
        least.error <= 0.03 and few.error <= 0.03 and few.epsilon <= 1.5 and exact.bits <= most and exact.epsilon <= 1.5
    )
    for one in grid:
        if federated_design.error(one) <= 0.03:
            assert one.epsilon >= least.value * (1 - 1e-9)
            assert one.epsilon > 1.5 or federated_design.bits_of(one) >= few.value
        if one.epsilon <= 1.5 and federated_design.bits_of(one) <= most:
            assert federated_design.error(one) >= exact.value * (1 - 1e-9)
    with pytest.raises(InfeasibleError, match="error_at_most = ") as error:
        federated_design.design(base, FederatedRequirements(epsilon_at_most=0.5, error_at_most=1e-3))
    named = dict(part.split(" = ") for part in str(error.value).split("alone: ")[1].split(", "))
    again = FederatedRequirements(epsilon_at_most=0.5, error_at_most=float(named["error_at_most"]) * 1.0001)
    assert federated_design.design(base, again).epsilon <= 0.5
    path = written(tmp_path, ROUNDS + 'minimise = "error"\nepsilon_at_most = 1.0\n')
    tree = json.loads(run("design", path, "--json").stdout)
    assert tree["beats_constant"] and tree["epsilon"] <= 1.0 and tree["gap"] < 1e-9
    assert "worst error" in run("design", path).stdout
    assert refused(run("design", written(tmp_path, ROUNDS + "energy_at_most = 1.0\n")), "design.energy_at_most")
    assert refused(run("design", written(tmp_path, ROUNDS + 'minimise = "power"\n')), "design.minimise", "bits")
    assert refused(run("design", written(tmp_path, ROUNDS)), "design.epsilon_at_most")


def test_surface():
    from airtight.solvers.design.over_the_air import frontier

    system, tasks = instance(2, participation=1.0)
    own = decoding.constant_output(tasks)
    options = {"free": ["weight", "noise_variance", "decoder_gain"], "margin": 0.9 * np.sqrt(own)}
    found = airtight.frontier(system, tasks, epsilon=[0.01, 2.0, 4.0], error=[0.6 * own, 0.8 * own], **options)
    assert np.isnan(found.energy.sel(epsilon=0.01)).all() and found.attrs["adjacency"] == "silent"
    there = found.sel(epsilon=[2.0, 4.0])
    energy = there.energy.values
    assert np.isfinite(energy).sum() == 3 and np.nanmax(there.energy_lower.values - energy) <= 0
    assert energy[1, 1] <= 1.002 * energy[0, 1] and energy[1, 1] < energy[1, 0]
    assert np.nanmax((there.epsilon_reached - there.epsilon).values) <= 0
    assert np.nanmax((there.error_reached - there.error).values) <= 0
    front = frontier.front(found)
    assert not any(np.all(a <= b) and np.any(a < b) for a in front for b in front)
    assert len(frontier.plot(found).lines) == 2
    with pytest.raises(ParameterError, match="accuracy"):
        airtight.frontier(system, tasks, epsilon=[1.0])


def leap(monkeypatch):
    """A clock that jumps by days at every look."""
    import itertools
    import time

    for name in ("time", "monotonic", "perf_counter", "process_time"):
        jumps = itertools.count(1.0, 1e6)
        monkeypatch.setattr(time, name, lambda jumps=jumps: next(jumps))


def two(**changes):
    _, tasks = instance(0)
    tasks = [Features(f=one.f[:2], W=one.W, D=one.D) for one in tasks]
    return InferenceSystem(**{**INSTANCE, **changes}), tasks


INSTANCE = {
    "devices": 2,
    "participation": 0.8,
    "noise_variance": 0.1,
    "weight": 0.5,
    "clip": 1.0,
    "alignment": 2.0,
    "receiver_noise_variance": 0.3,
    "dimension": 4,
    "delta": 1e-4,
    "delta_prime": 1e-4,
    "adjacency": "replace",
    "channel_gain": 0.5,
}


@pytest.mark.parametrize("kind", ["global", "epsilon", "error", "steps", "outer", "local"])
def test_no_clock_changes_an_answer(kind, monkeypatch):
    """Bit for bit, however long it takes."""
    if kind in ("global", "epsilon", "error"):
        system, tasks = two()
        own = decoding.constant_output(tasks)
        kept = {
            "global": {"minimise": "energy", "epsilon_at_most": 60.0, "error_at_most": 0.6 * own},
            "epsilon": {"minimise": "epsilon", "error_at_most": 0.5 * own},
            "error": {"minimise": "error", "epsilon_at_most": 60.0},
        }[kind]
        wanted = InferenceRequirements(**kept, effort=3000, alike=True)
    else:
        system, tasks = different("silent", False, 1.0)
        own = decoding.constant_output(tasks)
        free = ["weight", "noise_variance", "decoder_gain"] + (["clip"] if kind == "outer" else [])
        free = ["noise_variance", "clip"] if kind == "local" else free
        wanted = (
            InferenceRequirements(
                minimise="error" if kind != "local" else "energy", epsilon_at_most=5.0, energy_at_most=5.0, free=free
            )
            if kind != "local"
            else InferenceRequirements(minimise="energy", epsilon_at_most=5.0, free=free, effort=60)
        )
        wanted = replace(wanted, effort=60 if kind == "local" else 1500)
    calm = design(system, wanted, tasks)
    leap(monkeypatch)
    busy = design(system, wanted, tasks)
    assert calm == busy and calm.settled == busy.settled and calm.lower_bound == busy.lower_bound


def test_a_feasible_problem_is_never_called_infeasible():
    """Whatever the effort: a design, or not settled; and more effort is no worse."""
    system, tasks = two()
    own = decoding.constant_output(tasks)
    before = np.inf
    for effort in (1, 10, 100, 1000, 10_000):
        wanted = InferenceRequirements(minimise="epsilon", error_at_most=0.3 * own, effort=effort, alike=True)
        try:
            found = design(system, wanted, tasks)
        except NotSettledError as error:
            assert "effort" in str(error) and error.effort == effort and before == np.inf
            continue
        assert found.error <= 0.3 * own and found.lower_bound <= found.value <= before * (1 + 1e-12)
        assert not found.settled or found.gap <= 1e-2 * found.value
        before = found.value
    assert before < np.inf


def test_what_epsilon_has_no_time_for_is_not_settled():
    """The case of a review: 4 s found epsilon 6.156, with 1 s it was called infeasible."""
    system, views = _example()
    system = replace(
        system, devices=2, adjacency="replace", participation=0.8, noise_variance=2.0, weight=0.5, clip=4.0
    )
    pair = Features(f=views.f[:2], W=views.W, D=views.D)
    for effort in (10, 300, 3000):
        wanted = InferenceRequirements(minimise="epsilon", error_at_most=0.4906, effort=effort, alike=True)
        try:
            found = design(system, wanted, pair)
        except NotSettledError:
            continue
        assert found.error <= 0.4906 and not (found.settled and found.gap > 1e-2 * found.value)


def test_infeasible_names_the_bound_that_proves_it():
    system, tasks = two()
    own = decoding.constant_output(tasks)
    cases = [
        ({"minimise": "energy", "epsilon_at_most": 0.3, "error_at_most": 0.4 * own}, "error is at least "),
        ({"minimise": "epsilon", "error_at_most": 0.1 * own}, "error is at least "),
        ({"minimise": "error", "epsilon_at_most": 0.3, "error_at_most": 0.4 * own}, "error is at least "),
        ({"minimise": "epsilon", "epsilon_at_most": 0.3, "error_at_most": 0.4 * own}, "epsilon is above "),
        ({"minimise": "energy", "energy_at_most": 1e-6, "epsilon_at_most": 60.0, "error_at_most": 0.6 * own}, "energy"),
    ]
    for kept, needle in cases:
        with pytest.raises(InfeasibleError, match=needle) as error:
            design(system, InferenceRequirements(**kept, alike=True), tasks)
        assert "designs that treat all devices alike: " in str(error.value)
        bound = float(str(error.value).split(needle)[1].removeprefix(" is at least ").split(" ")[0])
        limit = (
            kept["epsilon_at_most"]
            if "epsilon" in needle
            else kept["energy_at_most"]
            if "energy" in needle
            else kept["error_at_most"]
        )
        assert bound >= limit * (1 - 1e-6)
    with pytest.raises(InfeasibleError):
        design(system, InferenceRequirements(**cases[0][0], alike=True), tasks, explain=False)


def test_a_limit_on_what_is_least_is_kept():
    system, tasks = two()
    own = decoding.constant_output(tasks)
    kept = {"minimise": "error", "epsilon_at_most": 40.0, "effort": 20_000, "alike": True}
    least = design(system, InferenceRequirements(**kept), tasks)
    for share in (1 + 1e-12, 1.3):
        wanted = InferenceRequirements(**kept, error_at_most=min(share * least.value, own))
        assert design(system, wanted, tasks).error <= share * least.value


def test_different_devices_without_effort_or_design():
    """No warning of the simplex, and no proof where only convex steps failed."""
    system, tasks = different("silent", False, 1.0)
    own = decoding.constant_output(tasks)
    wanted = InferenceRequirements(minimise="energy", epsilon_at_most=5.0, error_at_most=0.85 * own, effort=150)
    try:
        assert not design(system, wanted, tasks, explain=False).settled
    except NotSettledError as error:
        assert error.effort == 150
    free = ["weight", "noise_variance", "decoder_gain"]
    hopeless = InferenceRequirements(minimise="energy", epsilon_at_most=5.0, error_at_most=1e-6 * own, free=free)
    with pytest.raises(InfeasibleError, match="error is at least"):
        design(system, hopeless, tasks)
    with pytest.raises(NotSettledError):
        design(system, replace(hopeless, free=(*free, "clip"), effort=2000), tasks, explain=False)


def test_not_settled_on_the_command_line(tmp_path):
    rng = np.random.default_rng(1)
    D = np.linalg.pinv(rng.normal(size=(4, 5)))
    f = rng.normal(size=5) * 3 + 0.1 * rng.normal(size=(2, 3, 5))
    archive(tmp_path, f=f, W=np.linalg.pinv(D), D=D)
    own = decoding.constant_output([Features(f=one, W=np.linalg.pinv(D), D=D) for one in f])
    text = EQUAL + TASK + DESIGN.replace("accuracy_at_least = 0.1", f"error_at_most = {0.7 * own}")
    text = text.replace("epsilon_at_most = 100.0", "epsilon_at_most = 30.0").partition("free = ")[0]
    text += "alike = true\n"
    path = written(tmp_path, text + "effort = 40\n")
    found = run("design", path, "--json")
    assert found.exit_code == 4 and "not settled" in found.stderr and len(found.stderr.splitlines()) == 1
    if found.stdout:
        tree = json.loads(found.stdout)
        assert tree["settled"] is False and tree["gap"] == tree["value"] - tree["lower_bound"]
    assert refused(run("design", written(tmp_path, text + "effort = 0\n")), "design.effort")
    assert refused(run("design", written(tmp_path, text + "effort = 1.5\n")), "design.effort")
    assert refused(run("design", written(tmp_path, text + "seconds = 3\n")), "design.seconds")


def test_one_option_of_idle_noise_proves_nothing_of_the_other():
    """Whichever option the file begins with: over rounds, where the noise leaves with its device, no bound is proved."""
    system, tasks = instance(3, tasks=1, adjacency="absent")
    wanted = InferenceRequirements(minimise="error", epsilon_at_most=4.0, alike=True, free=[*JOINTLY_FREE, "idle_noise"])
    purpose = Purpose.of(tasks)
    jobs = [
        Job(Units.of(system, purpose), replace(system, idle_noise=idle), wanted, purpose, 2, Observer.OTHERS, None)
        for idle in (False, True)
    ]
    assert [job.proved for job in jobs] == [False, False]


def test_calibration_over_a_channel_proves_nothing_of_smaller_noise(tmp_path):
    """Where epsilon is not monotone in the noise, the search alone found the answer."""
    lines = ("antennas = 2", "fading = \"rayleigh\"", "distance = [20.0, 40.0]", "path_loss_exponent = 2.0", "max_power = 1000.0")
    keys = {"devices": 2, "noise_variance": 0.0013, "weight": 0.05, "clip": 1.2, "alignment": 1.0, "dimension": 8, "delta": 1e-5}
    text = "\n".join([f"{key} = {value}" for key, value in keys.items()])
    file = tmp_path / "link.toml"
    channel = "\n".join([*lines, "states = 5"])
    file.write_text(
        f'[inference]\n{text}\nreceiver_noise_variance = 0.01\nadjacency = "silent"\n[inference.channel]\n{channel}\n'
    )
    shown = run("calibrate", file, "--epsilon", "2").stdout
    assert "Undecided: smaller noise between 0 and" in shown and "Proved" not in shown
