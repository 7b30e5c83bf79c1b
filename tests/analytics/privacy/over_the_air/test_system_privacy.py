"""The one entrance: what it refuses, what it says is estimated, and that it agrees with itself at the edges."""

import importlib
import pkgutil

import numpy as np
import pytest

import airtight.analytics
from airtight import Channel, InferenceSystem, ParameterError, PrivacyCurve
from airtight.analytics.inference.system import HomogeneousSystems
from airtight.analytics.privacy.mechanisms import mechanism
from airtight.analytics.privacy.over_the_air import system_privacy

COMMON = {"noise_variance": 0.1, "weight": 1 / 3, "clip": 1.0, "alignment": 1.0, "receiver_noise_variance": 0.1, "delta": 1e-5}


def system(**changes: object) -> InferenceSystem:
    return InferenceSystem(**{"devices": 3, "participation": 0.5, "dimension": 8, **COMMON, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("channel", [None, Channel(), Channel(antennas=2, fading="rayleigh", states=3)])
@pytest.mark.parametrize("adjacency", ["absent", "silent"])
def test_without_a_delta_a_device_that_only_adds_noise_is_seen_to_leave(channel: Channel | None, adjacency: str) -> None:
    """Its weight is 0; under `absent` its noise leaves with it."""
    quiet = system(weight=0.0, adjacency=adjacency, channel=channel)
    assert np.all(system_privacy.epsilon(quiet, delta=0.0) == (np.inf if adjacency == "absent" else 0.0))


@pytest.mark.parametrize(
    "given", [{"rounds": 100}, {"eavesdropper": True}, {"rounds": 2, "observer": "signal"}], ids=lambda given: next(iter(given))
)
def test_many_systems_at_a_time_refuse_what_they_do_not_count(given: dict[str, object]) -> None:
    many = HomogeneousSystems(devices=3, participation=[0.5, 0.9], dimension=8, **COMMON)  # type: ignore[arg-type]
    for ask in (system_privacy.epsilon, system_privacy.epsilon_bracket):
        with pytest.raises(ParameterError, match=next(iter(given))):
            ask(many, **given)  # type: ignore[operator]
    with pytest.raises(ParameterError, match="delta"):
        system_privacy.epsilon_bracket(many, delta=1e-3)
    if "rounds" in given:
        with pytest.raises(ParameterError, match="rounds"):
            system_privacy.delta(many, 1.0, rounds=2)


def test_devices_whose_products_underflow_are_not_one_kind() -> None:
    tiny = system(
        devices=2, weight=[0.0, 1e-200], clip=1e-200, noise_variance=0.0, receiver_noise_variance=0.0, adjacency="silent",
        participation=1.0,
    )  # fmt: skip
    for rounds in (1, 2):
        assert system_privacy.epsilon(tiny, rounds=rounds).tolist() == [0.0, np.inf]


def test_an_estimate_is_called_one_for_one_round_too() -> None:
    """Hidden participation in few dimensions, among more sums of noise than are enumerated."""
    hidden = system(devices=80, adjacency="silent", observer="others")
    assert system_privacy.estimated(hidden) and system_privacy.estimated(hidden, rounds=5)
    assert not system_privacy.estimated(hidden.replace(dimension=784))
    leaves = hidden.replace(adjacency="absent")
    assert not system_privacy.estimated(leaves) and system_privacy.estimated(leaves, rounds=5)
    assert not system_privacy.estimated(hidden.replace(observer="participants"))


def test_a_device_that_seldom_sends_sends_over_many_rounds() -> None:
    seldom = system(participation=[0.5, 1e-5, 9e-6])
    assert seldom.never_sends.tolist() == [False, True, True]
    assert seldom.replace(rounds=1000).never_sends.tolist() == [False, False, False]
    lasting = {"fading": "rayleigh", "max_power": 0.1, "known": False, "fresh": False}
    once = InferenceSystem(devices=3, dimension=8, rounds=1000, channel=lasting, **COMMON)  # type: ignore[arg-type]
    assert np.array_equal(once.never_sends, once.participation <= once.delta)


def test_every_mechanism_is_read_back_in_a_fresh_process() -> None:
    """Its module stands beside `mechanism`, or the table of modules names it."""
    for module in pkgutil.walk_packages(airtight.analytics.__path__, "airtight.analytics."):
        importlib.import_module(module.name)
    beside = mechanism.__name__.rpartition(".")[0]
    for kind, name in mechanism._NAMES.items():
        if kind.__module__.startswith("airtight.") and kind.__module__.rpartition(".")[0] != beside:
            assert f"airtight.analytics.{mechanism._ELSEWHERE[name]}" == kind.__module__, name
    over = system(channel=Channel(antennas=2, fading="rayleigh", states=3), adjacency="silent")
    curve = system_privacy.curve(over)
    assert PrivacyCurve.from_json(curve.to_json()).epsilon(1e-5) == curve.epsilon(1e-5)
