"""Designs against devices that help the server, and what one more of them costs (docs/colluders.md, theorem 13)."""

from __future__ import annotations

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.solvers.design import whole_system
from airtight.solvers.design.requirements import InferenceRequirements

MU_SQUARED = 1 / 13.917612  # of the Gaussian mechanism of epsilon 1 at delta 1e-5
SYSTEM = airtight.InferenceSystem(
    devices=12, participation=1.0, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=0.1,
    dimension=8, delta=1e-5, adjacency="silent",
)  # fmt: skip
UNLIKE = airtight.InferenceSystem(
    devices=4, participation=[0.9, 0.6, 0.9, 0.8], noise_variance=[0.4, 0.9, 0.2, 0.6], weight=1.0, clip=1.0, alignment=1.0,
    receiver_noise_variance=0.2, dimension=2, delta=1e-3, adjacency="silent",
)  # fmt: skip


def test_price_of_one_more_colluder_is_between_its_bounds():
    found = airtight.colluder_price(SYSTEM, [0, 1, 2, 5], epsilon=1.0)
    least = (1 / MU_SQUARED - 0.1) / (12 - found.colluding)
    assert np.all(found.noise_lower < least * (1 + 1e-6)) and np.all(least * (1 - 1e-6) < found.noise)
    price = np.diff(least) / np.diff(found.colluding)
    assert np.all(found.price[:, 0] <= price) and np.all(price <= found.price[:, 1])
    assert np.all(found.price[:, 1] - found.price[:, 0] < 2e-4)


@pytest.mark.parametrize(("observer", "devices"), [("participants", 4), ("others", 2)])
def test_least_noise_of_unlike_devices_is_that_against_each_set(observer, devices):
    """Below the lower bound some set of colluders exceeds the target, and at the noise none does."""
    first = {key: getattr(UNLIKE, key)[:devices] for key in ("participation", "noise_variance", "weight", "clip")}
    system, target = UNLIKE.replace(devices=devices, observer=observer, **first), 1.5
    found = airtight.colluder_price(system, [1], epsilon=target)

    def worst(noise: float) -> float:
        scaled = system.replace(noise_variance=system.noise_variance * noise / np.max(system.noise_variance))
        sets = (system_privacy.epsilon(scaled.replace(colluding=list(J))) for J in combinations(range(devices), 1))
        return max(float(np.max(ends[np.isfinite(ends)])) for ends in sets)

    assert worst(float(found.noise[0])) <= target * (1 + 1e-9)
    assert found.noise_lower[0] > 0 and worst(float(found.noise_lower[0]) * 0.98) > target


def test_plot_of_epsilon_against_the_number_that_help():
    axes = airtight.colluder_price(SYSTEM, [0, 2], epsilon=1.0).plot()
    assert axes.get_title(loc="left") == "Epsilon at most 3.763 if 0 help, 4.143 if 2 help"
    plt.close("all")


@pytest.mark.parametrize("colluding", [[], [1, 0], [12], 3, "2", [1.5]])
def test_numbers_of_colluders_are_checked(colluding):
    with pytest.raises(ParameterError, match="colluding"):
        airtight.colluder_price(SYSTEM, colluding, epsilon=1.0)


_NOISE_STAYS = [("silent", False, 1.0), ("replace", False, 1.0), ("silent", True, 0.7)]


@pytest.mark.parametrize(("adjacency", "idle", "participation"), _NOISE_STAYS)
def test_joint_design_keeps_epsilon_whoever_colludes_with_a_bound_on_all_designs(adjacency, idle, participation):
    rng = np.random.default_rng(0)
    features = airtight.Features(f=rng.standard_normal((6, 2)), W=np.eye(2), D=np.eye(2))
    system = SYSTEM.replace(
        devices=6, participation=participation, dimension=2, adjacency=adjacency, idle_noise=idle, observer="participants",
        noise_variance=np.full(6, 0.1), weight=np.ones(6), clip=np.ones(6),
    )  # fmt: skip
    wanted = InferenceRequirements(minimise="energy", epsilon_at_most=1.0, free=["noise_variance", "decoder_gain"], alike=True)
    for m in (0, 4):
        helped = system.replace(colluding=m)
        found = whole_system.design(helped, wanted, features)
        assert np.all(airtight.epsilon(found.system) <= 1) and found.system.colluding == m
        least = float(whole_system.calibrate(helped, 1.0).value[0])
        assert found.system.noise_variance[0] == pytest.approx(least, rel=3e-3)
        assert str(found.bound_for) == "every design" and found.lower_bound is not None
        noise_energy = 6 * 2 * (least - float(found.system.noise_variance[0]))
        assert found.lower_bound <= found.value + noise_energy * (1 if idle else participation) + 1e-9


FOUR = SYSTEM.replace(
    devices=4, participation=[0.9, 0.8, 1.0, 0.7], noise_variance=[0.3, 0.2, 0.4, 0.1], weight=0.25, clip=1.0,
    receiver_noise_variance=0.05, dimension=3, delta=1e-3, adjacency="silent", observer="participants",
)  # fmt: skip


@pytest.mark.parametrize("idle", [False, True])
def test_designs_of_unlike_devices_keep_epsilon_whoever_colludes(idle):
    rng = np.random.default_rng(3)
    features = airtight.Features(f=rng.standard_normal((4, 3)), W=np.eye(3), D=np.eye(3))
    asked = {"minimise": "error", "epsilon_at_most": 2.0, "free": ["weight", "decoder_gain"], "features": features}
    found = [airtight.design(FOUR.replace(colluding=m, idle_noise=idle), **asked) for m in range(4)]
    for m, best in enumerate(found):
        assert str(best.bound_for) == "every design" and best.lower_bound <= best.value <= best.lower_bound * (1 + 1e-4)
        for partners in combinations(range(4), m):
            everyone = airtight.epsilon(best.system, colluding=list(partners))
            assert np.all(np.delete(everyone, partners) <= 2)
        # no weights that are tried and keep epsilon have a smaller error than the bound
        tried = best.system.weight * np.exp(rng.normal(scale=0.3, size=(20, 4)))
        for weight in tried:
            other = best.system.replace(weight=weight)
            other = other.replace(decoder_gain=airtight.best_gain(other, features))
            if np.all(airtight.epsilon(other) <= 2):
                assert airtight.mse(other, features) >= best.lower_bound
    values = [best.value for best in found]
    assert values == sorted(values) and values[3] > values[0] * 1.1
    # of three colluders all noise but the own and the receiver's is known: each weight is limited by the device's own epsilon
    for k in range(4):
        alone = found[3].system.replace(noise_variance=np.where(np.arange(4) == k, FOUR.noise_variance, 0.0), colluding=0)
        assert airtight.epsilon(alone)[k] == pytest.approx(airtight.epsilon(found[3].system)[k], rel=1e-9)


def test_designs_of_unlike_devices_find_noise_against_colluders():
    asked = {"minimise": "energy", "epsilon_at_most": 2.0, "free": ["noise_variance"]}
    found = [airtight.design(FOUR.replace(colluding=m), **asked) for m in (0, 2)]
    assert all(np.max(airtight.epsilon(best.system)) <= 2 and best.lower_bound is None for best in found)
    assert np.max(airtight.epsilon(found[0].system, colluding=2)) > 2 and found[1].value > found[0].value


def test_a_design_counts_no_named_colluders():
    asked = {"minimise": "error", "epsilon_at_most": 1.0, "free": ["noise_variance"]}
    for alike in (False, True):
        with pytest.raises(ParameterError, match=r"colluding = \[3\]: must be a number of devices, as 1: a design counts any"):
            airtight.design(SYSTEM.replace(colluding=[3]), alike=alike, **asked)
