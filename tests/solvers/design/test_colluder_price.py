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


def test_joint_design_refuses_colluders_of_unlike_devices_by_name():
    asked = {"minimise": "error", "epsilon_at_most": 1.0, "free": ["noise_variance"]}
    for colluding, alike in ((2, False), ([3], True)):
        with pytest.raises(ParameterError, match=r"colluding = .*: must be 0, or a number of devices where all are designed"):
            airtight.design(SYSTEM.replace(colluding=colluding), alike=alike, **asked)
