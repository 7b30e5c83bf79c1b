"""Prices of designs over a channel: against roots and designs at both sides of the limit, and nan where nothing is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from support.over_channel import FEATURES, SYSTEM

import airtight
from airtight import Channel, InferenceSystem
from airtight.analytics.inference import combiner, transmission
from airtight.solvers.design import channel_prices
from airtight.solvers.errors import NotSettledError

NOISE = ("noise_variance",)


def least_scale(system: InferenceSystem, channel: Channel, limit: float, **asked) -> float:
    """By the library's epsilon alone."""

    def excess(log_scale: float) -> float:
        louder = replace(system, noise_variance=np.exp(log_scale) * system.noise_variance)
        return float(np.max(airtight.epsilon(louder.replace(channel=channel), **asked))) / limit - 1

    return float(np.exp(brentq(excess, np.log(1e-3), np.log(1e4), xtol=1e-13, rtol=1e-14)))


def value(system: InferenceSystem, channel: Channel, scale: float, minimise: str) -> float:
    louder = replace(system, noise_variance=scale * system.noise_variance)
    if minimise == "energy":
        return float(np.sum(transmission.transmit_energy(louder.derived(channel=channel))))
    return float(np.mean(combiner.best(louder, FEATURES, channel).mse))


CASES = {
    "one antenna": ({}, Channel(fading="rayleigh", states=5), {}, 2.0),
    "complex": ({}, Channel(model="complex", antennas=4, fading="rayleigh", states=10), {}, 1.5),
    "replace": ({"adjacency": "replace"}, Channel(antennas=2, fading="rayleigh", states=10), {}, 4.0),
    "absent, idle": (
        {"adjacency": "absent", "idle_noise": True}, Channel(antennas=2, fading="rayleigh", states=6), {}, 1.0,
    ),
    "seen": ({"participation": [0.5, 0.7, 1.0]}, Channel(antennas=2, fading="rayleigh", states=6), {}, 2.0),
    "hidden, idle": (
        {"participation": [0.5, 0.7, 1.0], "idle_noise": True, "adjacency": "absent"},
        Channel(antennas=2, fading="rayleigh", states=6), {"observer": "others"}, 2.0,
    ),
    "static rounds": ({}, Channel(antennas=2, fading="rayleigh", states=6, fresh=False), {"rounds": 3}, 3.0),
    "energy": ({}, Channel(antennas=2, fading="nakagami", shape=2.0, states=6), {}, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_price_is_the_derivative_of_the_optimum(name: str) -> None:
    """Roots of the library's epsilon on both sides, and designs that are solved again."""
    changes, channel, asked, limit = CASES[name]
    system, minimise = replace(SYSTEM, **changes), "energy" if name == "energy" else "error"
    given, whole = {"minimise": minimise, "free": NOISE, **asked}, system.replace(channel=channel)
    found = airtight.design(whole, FEATURES, epsilon_at_most=limit, **given)
    (price,) = airtight.sensitivities(found)
    assert price.of == minimise and price.by == "epsilon" and not price.one_sided and price.rising < 0
    h = 1e-3 * limit
    at = {
        side: value(system, channel, least_scale(system, channel, limit + side * h, **asked), minimise)
        for side in (-2, -1, 1, 2)
    }
    slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    assert price.rising == pytest.approx(slope, rel=1e-4)
    ends = [
        airtight.design(whole, FEATURES, epsilon_at_most=limit * (1 + side * 0.02), **given).value for side in (1, -1)
    ]
    for side, end in zip((1, -1), ends, strict=True):  # the value is convex in the limit at most to second order
        assert side * (end - found.value) / (0.02 * limit) == pytest.approx(price.rising, rel=0.1)
    assert (ends[0] - ends[1]) / (0.04 * limit) == pytest.approx(price.rising, rel=5e-3)


def test_the_ends_of_slopes_enclose_them() -> None:
    """Chords of a concave function whose derivative is known, with values that are known to 1e-9 only."""
    rng = np.random.default_rng(0)

    def ends(t: float):
        exact, error = np.sqrt(t + np.array([0.0, 1.0, 9.0])), 1e-9
        off = rng.uniform(-error, error, 3)
        return exact + off - error, exact + off + error

    low, high = channel_prices._chords(ends, 1 - 1e-9, 1 + 1e-9)
    slope = 0.5 / np.sqrt(np.array([1.0, 2.0, 10.0]))
    assert np.all(low <= slope) and np.all(slope <= high) and np.all(high - low < 2e-4)


def test_the_lower_end_of_the_error_is_one() -> None:
    rng = np.random.default_rng(2)
    for M in (1, 3):
        channel = Channel(model="complex", antennas=M, fading="rayleigh", states=8)
        best = combiner.best(SYSTEM, FEATURES, channel)
        assert np.all(best.least <= best.mse) and np.all(best.mse - best.least <= 1e-12)
        drawn = channel.draw(SYSTEM)
        for _ in range(20):
            moved = best.combination * (1 + 1e-3 * rng.standard_normal(best.combination.shape))
            assert np.all(combiner.errors(SYSTEM, FEATURES, drawn, moved) >= best.least)
    silent = replace(SYSTEM, receiver_noise_variance=0.0)
    assert np.all(combiner.best(silent, FEATURES, Channel(antennas=4)).least == 0)


@pytest.mark.parametrize(
    ("changes", "channel", "asked"),
    [
        ({}, {"known": False}, {}),  # no lower end, so no gap
        ({"participation": [0.5, 1.0, 1.0]}, {"fresh": True, "states": 2}, {"rounds": 2, "observer": "participants"}),
        ({"adjacency": "absent"}, {"antennas": 1}, {"epsilon_at_most": 8.0}),
        ({}, {}, {"free": ("weight", "noise_variance"), "effort": 20_000}),
    ],
)
def test_without_a_proof_there_is_no_price(changes: dict, channel: dict, asked: dict) -> None:
    air = Channel(**{"antennas": 2, "fading": "rayleigh", "states": 4, **channel})
    given = {"minimise": "error", "epsilon_at_most": 3.0, "free": NOISE, **asked}
    (price,) = airtight.sensitivities(airtight.design(replace(SYSTEM, **changes).replace(channel=air), FEATURES, **given))
    assert np.isnan(price.rising) and "not proved optimal" in str(price)


def test_limits_that_do_not_bind() -> None:
    whole = SYSTEM.replace(channel=Channel(antennas=2, fading="nakagami", shape=2.0, states=6))
    given = {"minimise": "energy", "free": NOISE}
    alone = airtight.design(whole, FEATURES, epsilon_at_most=2.0, **given)
    both = airtight.design(whole, FEATURES, epsilon_at_most=2.0, error_at_most=alone.error * 1.01, **given)
    assert both.value == alone.value and both.gap is not None
    by = {price.by: price for price in airtight.sensitivities(both)}
    assert by["error"].rising == 0 and by["epsilon"].rising == airtight.sensitivities(alone)[0].rising < 0
    quiet = airtight.design(whole, FEATURES, epsilon_at_most=1e3, **given)
    assert not np.any(quiet.system.noise_variance) and airtight.sensitivities(quiet)[0].rising == 0
    binding = {"epsilon_at_most": 2.0, "error_at_most": alone.error * 0.99, "effort": 20_000}
    with pytest.raises(NotSettledError, match="effort"):
        airtight.design(whole, FEATURES, **given, **binding)


def test_two_devices_that_bind_with_other_slopes_have_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hull of both is too wide: either may be the one that binds."""
    found = airtight.design(
        SYSTEM.replace(channel=Channel(antennas=2, states=3)), FEATURES, minimise="error", epsilon_at_most=2.0, free=NOISE
    )
    assert airtight.sensitivities(found)[0].rising < 0
    monkeypatch.setattr(channel_prices._Scale, "_growth", lambda *_: iter([(1.0, 1.0), (1.001, 1.001)]))
    assert np.isnan(airtight.sensitivities(found)[0].rising)
