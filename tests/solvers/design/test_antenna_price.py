"""The price of an antenna: monotone in both directions, targets kept, and where more antennas turn from harm to help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import airtight
from airtight import Channel, Features, InferenceSystem, ParameterError
from airtight.analytics.inference import combiner
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.solvers.design.antenna_price import turning_noise

SYSTEM = InferenceSystem(
    devices=6, participation=1.0, noise_variance=0.2, weight=1 / 6, clip=1.5, alignment=1.0,
    receiver_noise_variance=0.01, dimension=4, delta=1e-4, adjacency="silent",
)  # fmt: skip
CHANNEL = Channel(model="complex", fading="rayleigh", states=12)
_RNG = np.random.default_rng(3)
FEATURES = Features(f=0.6 + 0.1 * _RNG.standard_normal((6, 4)), W=np.repeat(np.eye(4)[None], 6, axis=0), D=np.eye(4))


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_a_price_is_what_calibration_and_combination_say(adjacency: str) -> None:
    one = replace(SYSTEM, adjacency=adjacency)
    found = airtight.antenna_price(one.replace(channel=CHANNEL), [1, 4], epsilon=1.0, features=FEATURES)
    assert found.epsilon[0] < found.epsilon[1] and found.noise_factor[0] < found.noise_factor[1]
    assert found.error is not None and found.error_kept is not None and found.error[1] <= found.error[0]
    for i, M in enumerate((1, 4)):
        channel = replace(CHANNEL, antennas=M)
        kept = replace(one, noise_variance=found.noise_factor[i] * one.noise_variance)
        assert np.max(airtight.epsilon(kept.replace(channel=channel))) <= 1.0 * (1 + 1e-9)
        less = replace(kept, noise_variance=0.999 * kept.noise_variance)
        assert np.max(airtight.epsilon(less.replace(channel=channel))) > 1.0
        assert np.mean(combiner.best(kept, FEATURES, channel).mse) == pytest.approx(found.error_kept[i], rel=1e-9)
        assert found.method[i].startswith("global") and 0 <= found.gap[i] < 1e-4 * found.error_kept[i]
        quiet = replace(one, noise_variance=found.noise_factor_bound[i] * one.noise_variance)
        assert np.max(channel_privacy.bracket(quiet, channel).lower) > 1.0
        assert np.mean(combiner.best(quiet, FEATURES, channel).mse) >= found.error_bound[i]


def test_without_a_proof_it_says_local() -> None:
    """Another noise may keep the target where a power limit decides who sends, or where the lower end is 0."""
    for channel in (replace(CHANNEL, max_power=5.0), replace(CHANNEL, known=False)):
        found = airtight.antenna_price(SYSTEM.replace(channel=channel), [2], epsilon=1.0, features=FEATURES)
        assert found.method == ("local",) and np.isnan(found.gap[0]) and np.isnan(found.noise_factor_bound[0])
    tree = found.to_dict()
    assert tree["method"] == ["local"] and tree["error_bound"] == ["nan"] and tree["constant_output"] > 0


def test_absent_is_not_kept_by_noise_with_two_antennas() -> None:
    one = replace(SYSTEM, adjacency="absent", dimension=16)
    found = airtight.antenna_price(one.replace(channel=CHANNEL), [2], epsilon=1.0)
    assert found.method == ("none found",)
    assert found.noise_factor[0] == np.inf and found.error is None and found.helps is None
    idle = airtight.antenna_price(one.replace(idle_noise=True, channel=CHANNEL), [2], epsilon=1.0)
    assert np.isfinite(idle.noise_factor[0])


def test_antennas_harm_with_a_quiet_receiver_and_help_with_a_loud_one() -> None:
    given = {"epsilon": 1.0, "between": (1e-3, 100.0)}
    low, high = turning_noise(SYSTEM.replace(channel=CHANNEL), FEATURES, (1, 8), steps=5, **given)
    assert 1e-3 <= low < high <= 100
    for noise, helps in ((low, False), (high, True)):
        one = replace(SYSTEM, receiver_noise_variance=noise)
        assert airtight.antenna_price(one.replace(channel=CHANNEL), [1, 8], epsilon=1.0, features=FEATURES).helps is helps
    assert turning_noise(SYSTEM.replace(channel=CHANNEL), FEATURES, (1, 8), epsilon=1.0, between=(high, 2 * high)) is None


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"antennas": []}, "antennas"),
        ({"antennas": [0]}, "antennas"),
        ({"looks": True}, "looks"),
        ({"quiet": True}, "noise"),
        ({"features": "x"}, "features"),
    ],
)
def test_bad_input(changes: dict, name: str) -> None:
    channel = Channel(looks=np.ones((1, 6, 1))) if "looks" in changes else CHANNEL
    one = replace(SYSTEM, noise_variance=0.0) if "quiet" in changes else SYSTEM
    with pytest.raises(ParameterError, match=name):
        asked = {"epsilon": 1.0, "features": changes.get("features")}
        airtight.antenna_price(one.replace(channel=channel), changes.get("antennas", [1]), **asked)
