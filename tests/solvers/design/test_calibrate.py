"""Calibration: what is returned keeps the target, nothing beyond does, for every adjacency and observer."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.common import GOOD, refused, run, written

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.privacy.over_the_air.participation_mixture import build, signal_lower_bound
from airtight.solvers.design import whole_system
from airtight.solvers.design.calibrate import calibrate
from airtight.solvers.errors import InfeasibleError

CASES = [
    (adjacency, idle, observer)
    for adjacency in ("absent", "silent", "replace")
    for idle in (False, True)
    for observer in ("participants", "others")
    if (adjacency, observer) != ("absent", "participants")  # told by the roll: no noise helps
]


def equal(**changes):
    values = {
        "devices": 6,
        "participation": 0.7,
        "noise_variance": 0.2,
        "weight": 0.3,
        "clip": 1.0,
        "alignment": 1.5,
        "receiver_noise_variance": 0.05,
        "dimension": 8,
        "delta": 1e-4,
        "delta_prime": 1e-4,
        "adjacency": "silent",
        **changes,
    }
    return InferenceSystem(**values)


@pytest.mark.parametrize(("adjacency", "idle", "observer"), CASES)
@pytest.mark.parametrize("variable", ["noise", "clip", "participation"])
def test_target_is_kept_and_nothing_just_beyond_keeps_it(adjacency, idle, observer, variable):
    system = equal(adjacency=adjacency, idle_noise=idle, receiver_noise_variance=0.4)
    target = 1.0
    if adjacency == "absent" and not idle:
        system, target = replace(system, dimension=1, participation=0.95), 2.0
    found = calibrate(system, target, variable=variable, observer=observer)
    key = {"noise": "noise_variance"}.get(variable, variable)
    kept = replace(system, **{key: found.value})
    assert np.max(observers.exact_epsilon(kept, observer=observer)) <= target
    np.testing.assert_array_equal(observers.exact_epsilon(kept, observer=observer), found.epsilon)
    beyond = found.value * (1 - 1e-4 if variable == "noise" else 1 + 1e-4)
    if variable == "participation" and found.value[0] == 1:
        return
    if variable == "noise" and found.value[0] == 0:
        return
    assert np.max(observers.exact_epsilon(replace(system, **{key: beyond}), observer=observer)) > target


def test_a_scan_finds_nothing_before_the_least_noise_where_epsilon_is_not_monotone():
    """Hidden silence: epsilon rises with the own noise before it falls."""
    system = equal(
        devices=2,
        participation=[0.1, 1.0],
        weight=[0.316, 0.0],
        noise_variance=[1.0, 0.0],
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.3,
        dimension=784,
    )
    rises = [
        float(observers.exact_epsilon(replace(system, noise_variance=[s, 0.0]), observer="others", device=0))
        for s in (0.0, 0.01, 0.03)
    ]
    assert rises[0] < rises[1] < rises[2]
    top = max(rises)
    found = calibrate(system, rises[0] * 1.02, observer="others")
    assert found.value[0] == 0.0 and not found.monotone
    target = 0.9 * rises[0]
    found = calibrate(system, target, observer="others")
    scan = np.geomspace(1e-4, found.value[0] * 0.999, 40)
    for s in scan:
        at = replace(system, noise_variance=[s, 0.0])
        epsilon = float(observers.exact_epsilon(at, observer="others", device=0))
        assert epsilon > target or any(low <= s <= high for low, high in found.unsettled)
    assert found.value[0] > 0 and top > target


def test_common_participation_is_not_monotone_and_the_greatest_is_found():
    """Visible silence: often absent is worse than rarely and than nearly always."""
    system = equal(
        devices=12, weight=1 / 12, clip=3.0, noise_variance=0.05, receiver_noise_variance=0.01, dimension=784
    )

    def at(p):
        return float(np.max(observers.exact_epsilon(replace(system, participation=p))))

    high, middle, low = at(1.0), at(0.2), at(0.001)
    assert middle > high and middle > low
    assert calibrate(system, high * 1.0001, variable="participation").value[0] == 1.0
    found = calibrate(system, high * 0.99, variable="participation")
    p = float(found.value[0])
    assert 0 < p < 0.2
    for q in np.linspace(p * 1.001, 1.0, 60):
        assert at(q) > high * 0.99 or any(low <= q <= high for low, high in found.unsettled)


def test_absent_may_be_hopeless_and_says_the_nearest():
    system = equal(adjacency="absent", dimension=784, participation=0.9)
    with pytest.raises(InfeasibleError, match="least epsilon found") as error:
        calibrate(system, 0.5)
    assert error.value.least_epsilon > 0.5
    for s in np.geomspace(1e-5, 1e5, 40):
        assert np.min(observers.exact_epsilon(replace(system, noise_variance=s), device=0)) > 0.5


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_different_devices(seed):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 6))
    system = equal(
        devices=K,
        participation=rng.uniform(0.2, 1, K),
        noise_variance=rng.uniform(0.05, 0.5, K),
        weight=rng.uniform(0.1, 0.5, K),
        clip=rng.uniform(0.5, 2, K),
        adjacency=str(rng.choice(["silent", "replace"])),
    )
    target = float(rng.uniform(0.3, 4))
    for variable in ("noise", "clip", "participation"):
        found = calibrate(system, target, variable=variable)
        assert np.all(found.epsilon <= target)
        if variable == "noise":
            np.testing.assert_allclose(found.value / found.value[0], system.noise_variance / system.noise_variance[0])
            assert np.max(observers.exact_epsilon(found.system)) > target * (1 - 1e-4)
        if variable == "clip":
            assert np.all(found.epsilon[np.isfinite(found.value)] > target * (1 - 1e-4))


def test_zero_noise_is_replaced_by_equal_noise_and_the_receiver_may_suffice():
    found = calibrate(equal(noise_variance=0.0), 1.0)
    assert np.ptp(found.value) == 0 < found.value[0]
    assert calibrate(equal(receiver_noise_variance=100.0), 1.0).value.max() == 0.0
    alone = calibrate(equal(receiver_noise_variance=0.0, adjacency="absent", dimension=1, participation=0.99), 8.0)
    assert alone.monotone and np.all(alone.epsilon <= 8.0)


def test_where_epsilon_does_not_move():
    for variable in ("noise", "participation"):
        with pytest.raises(ParameterError, match="weight"):
            calibrate(equal(weight=0.0), 1.0, variable=variable)
    with pytest.raises(ParameterError, match=r"weight.*2"):
        calibrate(equal(weight=[0.1, 0.1, 0.0, 0.1, 0.1, 0.1]), 1.0, variable="clip")
    rare = calibrate(equal(participation=[1e-9, *[0.5] * 5]), 1.0, variable="clip")
    assert np.isinf(rare.value[0]) and np.all(np.isfinite(rare.value[1:]))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_targets_out_of_range(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        calibrate(equal(), epsilon)
    with pytest.raises(ParameterError, match="variable"):
        calibrate(equal(), 1.0, variable="weight")


def test_command(tmp_path):
    path = written(tmp_path, GOOD + 'adjacency = "silent"\n')
    for variable in ("noise", "clip", "participation"):
        found = json.loads(run("calibrate", path, "--epsilon", 2, "--variable", variable, "--json").stdout)
        assert max(found["epsilon"]) <= 2.0 == found["target"] and found["adjacency"] == "silent"
        assert "epsilon" in run("calibrate", path, "--epsilon", 2, "--variable", variable).stdout
    assert refused(run("calibrate", path, "--epsilon", -2), "epsilon", "-2")
    assert refused(run("calibrate", path, "--epsilon", 2, "--variable", "weight"), "variable")
    hopeless = written(tmp_path, GOOD.replace("dimension = 4", "dimension = 5000"))
    result = run("calibrate", hopeless, "--epsilon", 0.01)
    assert result.exit_code == 3 and "least epsilon found" in result.stderr and result.stdout == ""


def test_the_verb():
    system = equal()
    value = airtight.calibrate(system, 1.0)
    assert np.max(airtight.epsilon(replace(system, noise_variance=value))) <= 1.0


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
@pytest.mark.parametrize("variable", ["noise", "clip", "participation"])
def test_many_rounds(adjacency, variable):
    system = equal(adjacency=adjacency)
    found = calibrate(system, 4.0, variable=variable, rounds=10)
    key = {"noise": "noise_variance"}.get(variable, variable)
    kept = replace(system, **{key: found.value})
    assert np.max(airtight.epsilon(kept, rounds=10)) <= 4.0
    if not (variable == "participation" and found.value[0] == 1):
        beyond = found.value * (1 - 1e-3 if variable == "noise" else 1 + 1e-3)
        assert np.max(airtight.epsilon(replace(system, **{key: beyond}), rounds=10)) > 4.0
    single = calibrate(system, 4.0, variable=variable).value
    assert np.all(found.value >= single) if variable == "noise" else np.all(found.value <= single)


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_one_threshold_is_below_the_divergence_of_every_quieter_system(seed):
    """`exceeds` never contradicts the exact upper end, `quieter` at no lower noises of the devices either."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(1, 5))
    adjacency = str(rng.choice(["absent", "silent", "replace"]))
    system = equal(
        devices=K,
        participation=rng.uniform(0.1, 1, K),
        noise_variance=10 ** rng.uniform(-3, 0.5, K),
        weight=rng.uniform(0.1, 1, K),
        clip=rng.uniform(0.5, 3, K),
        receiver_noise_variance=float(10 ** rng.uniform(-2, 0.5)),
        dimension=int(rng.choice([1, 8, 784])),
        adjacency=adjacency,
    )
    epsilon = float(10 ** rng.uniform(-1, 1))
    (law,) = build.participations(*_modelled(system), 0.0, observers.mixture_model(system, "others")[1])
    shown = signal_lower_bound.delta_at_least(law, epsilon)
    for factor in (1.0, rng.uniform(0, 1), rng.uniform(0, 1, K), 1e-9):
        quieter = replace(system, noise_variance=factor * system.noise_variance)
        truth = float(observers.exact_delta(quieter, epsilon, device=0, observer="others"))
        assert shown <= truth
        low, high = observers.exact_delta_bracket(quieter, epsilon, device=0, observer="others")
        for total in (0.5, 0.999999, 1.000001, 2.0):
            asked = replace(quieter, delta=min(total * truth, 0.9)) if truth > 1e-300 else quieter
            if observers.exceeds(asked, epsilon, device=0, observer="others"):
                assert high > asked.delta
            elif total < 1:
                assert not low > asked.delta


def _modelled(system):
    return observers.mixture_model(system, "others")[0], np.array([0])


def test_one_threshold_is_sharp_where_the_receiver_has_all_the_noise():
    system = equal(adjacency="absent", noise_variance=1e-9, dimension=1, receiver_noise_variance=0.3)
    for epsilon in (0.5, 2.0, 5.0):  # the threshold lies within the code's length, and beyond
        (law,) = build.participations(system, np.array([0]), 0.0)
        truth = float(observers.exact_delta(system, epsilon, device=0))
        assert 0.97 * truth < signal_lower_bound.delta_at_least(law, epsilon) <= truth


def test_a_law_on_few_cells_and_on_many_agree():
    rng = np.random.default_rng(3)
    system = equal(
        devices=30,
        participation=rng.uniform(0.3, 1, 30),
        noise_variance=rng.uniform(0.05, 0.5, 30),
        adjacency="absent",
        receiver_noise_variance=0.2,
    )
    low, high = (float(x) for x in observers.exact_delta_bracket(system, 4.0, device=3))
    assert observers.exceeds(replace(system, delta=low * (1 - 1e-9)), 4.0, device=3)
    assert observers.exceeds(replace(system, delta=low * 0.9), 4.0, device=3)
    assert not observers.exceeds(replace(system, delta=high), 4.0, device=3)


def test_different_devices_that_leave():
    rng = np.random.default_rng(0)
    system = equal(
        devices=30,
        participation=rng.uniform(0.3, 1, 30),
        noise_variance=rng.uniform(0.05, 0.5, 30),
        clip=rng.uniform(1, 3, 30),
        adjacency="absent",
        delta=1e-5,
    )
    found = calibrate(system, 2.5)
    assert 2.499 < np.max(found.epsilon) <= 2.5 and len(found.unsettled) <= 3


def test_the_refused_epsilon_is_the_least_over_all_noise():
    """Under absent a little noise is best: 17.204 near a variance of 0.016; the noise where the search began gives 134."""
    system = InferenceSystem(
        devices=3,
        participation=0.9,
        noise_variance=0.1,
        weight=1.0,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=8,
        delta=1e-5,
    )
    with pytest.raises(InfeasibleError, match=r"variance of 0\.015.*idle_noise = true") as error:
        calibrate(system, 1.0)
    grid = [float(np.max(airtight.epsilon(replace(system, noise_variance=v)))) for v in np.geomspace(1e-3, 1.0, 25)]
    assert 17.20 < error.value.least_epsilon <= min(grid)


def test_least_noise_against_any_colluders_is_that_of_the_gaussian_mechanism():
    mu_squared = 1 / 13.917612  # of the Gaussian mechanism of epsilon 1 at delta 1e-5
    system = equal(devices=12, participation=1.0, weight=1.0, alignment=1.0, receiver_noise_variance=0.1, delta=1e-5)
    for colluders in (0, 1, 2, 5, 11):
        result = whole_system.calibrate(system.replace(colluding=colluders), 1.0)
        assert result.monotone and np.all(result.epsilon <= 1)
        np.testing.assert_allclose(result.value, (1 / mu_squared - 0.1) / (12 - colluders), rtol=1e-5)


@pytest.mark.parametrize(("adjacency", "idle", "observer"), CASES)
def test_calibrated_system_keeps_the_target_whoever_colludes(adjacency, idle, observer):
    for variable in ("noise", "clip", "participation")[: 3 if observer == "participants" else 1]:
        given = {"receiver_noise_variance": 0.4} if variable == "noise" else {}
        system = equal(
            devices=3, noise_variance=[0.3, 0.3, 0.6], adjacency=adjacency, idle_noise=idle, observer=observer, colluding=1,
            dimension=2, delta=1e-2, **given,
        )  # fmt: skip
        target = float(np.max(airtight.epsilon(system))) * (0.9 if variable == "noise" else 0.97)
        try:
            result = whole_system.calibrate(system, target, variable=variable)
        except InfeasibleError:
            assert adjacency == "absent"
            continue
        everyone = [airtight.epsilon(result.system, colluding=[j]) for j in range(3)]
        reached = max(float(ends[k]) for j, ends in enumerate(everyone) for k in range(3) if k != j)
        assert reached <= target * (1 + 1e-9)
        if variable != "participation" and adjacency != "absent":  # where all of it, or no noise, may keep the target
            assert reached > target * (1 - 1e-3)


def test_named_colluders_keep_their_values_and_protect_nobody():
    system = equal(noise_variance=[0.1, 0.2, 0.3, 0.2, 0.1, 0.2], colluding=[1, 4])
    result = whole_system.calibrate(system, 1.0)
    smaller = equal(devices=4, noise_variance=[0.1, 0.3, 0.2, 0.2])
    honest = [0, 2, 3, 5]
    np.testing.assert_allclose(result.value[honest], calibrate(smaller, 1.0).value, rtol=1e-6)
    assert list(result.value[[1, 4]]) == [0.2, 0.1] and np.all(np.isinf(result.epsilon[[1, 4]]))
    assert result.system.colluding == (1, 4)
    np.testing.assert_allclose(airtight.epsilon(result.system)[honest], result.epsilon[honest], rtol=1e-9)


def test_no_clip_is_infeasible():
    """Where a device is left without any noise no clip above 0 keeps epsilon."""
    system = equal(devices=3, noise_variance=[0.0, 2.0, 0.5], receiver_noise_variance=0.0, adjacency="silent", colluding=2)
    with pytest.raises(InfeasibleError, match="no clip of device 0"):
        airtight.calibrate(system, 1.0, variable="clip")
