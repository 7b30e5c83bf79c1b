"""Participation that a scenario correlates, against the sum over all rolls and against who is told more."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import system_privacy

PROBABILITY, PARTICIPATION = [0.4, 0.6], np.array([[1.0, 0.0, 0.9], [0.3, 1.0, 0.2]])
NOISE = np.array([0.4, 1.5, 0.8])


def made(**given: object) -> airtight.InferenceSystem:
    usual = {"weight": 1.0, "clip": 1.0, "alignment": 1.0, "receiver_noise_variance": 0.5, "dimension": 4, "delta": 1e-3}
    usual |= {"adjacency": "silent", **given}
    return airtight.InferenceSystem(devices=3, participation=0.5, noise_variance=NOISE, **usual)


def enumerated(device: int, epsilon: float, rounds: int, taken: tuple[int, ...] = (), factor: float = 1.0) -> float:
    """delta against who sees all rolls, from the sum over scenarios and rolls; the noise of `taken` is subtracted."""
    total, honest = 0.0, np.where(np.isin(np.arange(3), taken), 0.0, NOISE)
    for weight, p in zip(PROBABILITY, PARTICIPATION, strict=True):
        sets = [np.array(rolls) for rolls in product((0, 1), repeat=3)]
        chance = [float(np.prod(np.where(rolls, p, 1 - p))) for rolls in sets]
        for chosen in product(range(8), repeat=rounds):
            mass = math.prod(chance[i] for i in chosen)
            mu_squared = sum(sets[i][device] / (0.5 + honest @ sets[i]) for i in chosen)
            if mass and mu_squared:
                total += weight * mass * float(gaussian.delta(epsilon, sensitivity=factor * math.sqrt(mu_squared), sigma=1.0))
    return total


@pytest.mark.parametrize(
    ("adjacency", "rounds", "colluding", "hidden"),
    [("silent", 1, 0, False), ("silent", 1, 0, True), ("replace", 1, 0, True), ("silent", 1, [1], True)],
)
def test_visible_participation_is_the_sum_over_rolls(adjacency, rounds, colluding, hidden):
    system = made(adjacency=adjacency, rounds=rounds, colluding=colluding, observer="participants")
    found = airtight.epsilon_over_scenarios(system, PROBABILITY, PARTICIPATION, hidden=hidden)
    factor, taken = (2.0 if adjacency == "replace" else 1.0), tuple(colluding or ())
    for k in (0, 2):
        above, below = (enumerated(k, float(end[k]), rounds, taken, factor) for end in (found.upper, found.lower))
        assert above <= 1e-3 * (1 + 1e-9) and below >= 1e-3 * (1 - 1e-9)
        assert found.upper[k] <= found.lower[k] * (1 + 2e-3)
    if taken:
        assert found.upper[1] == np.inf and found.lower[1] == 0


def test_any_colluder_is_between_the_server_alone_and_the_worst_set():
    system = made(observer="participants", colluding=1)
    found = airtight.epsilon_over_scenarios(system, PROBABILITY, PARTICIPATION)
    sets = [airtight.epsilon_over_scenarios(system.replace(colluding=[j]), PROBABILITY, PARTICIPATION) for j in (1, 2)]
    worst = max(float(each.lower[0]) for each in sets)
    assert found.lower[0] <= worst <= found.upper[0]


def test_a_hidden_device_is_protected_no_better_than_by_its_mean_participation():
    """One device: the mean participation is the truth for who does not know the scenario, and knowing it reveals more."""
    system = airtight.InferenceSystem(
        devices=1, participation=0.35, noise_variance=0.4, weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=0.5,
        dimension=4, delta=1e-2, adjacency="silent", observer="others",
    )  # fmt: skip
    told, untold = (
        airtight.epsilon_over_scenarios(system, [0.5, 0.5], [[0.1], [0.6]], hidden=hidden) for hidden in (False, True)
    )
    truth = float(system_privacy.epsilon(system, device=0))
    assert truth < told.lower[0] <= told.upper[0] == untold.upper[0] and untold.lower[0] == 0


def test_one_scenario_is_independent_participation_bit_for_bit():
    for observer in ("participants", "others"):
        system = made(observer=observer, colluding=1)
        found = airtight.epsilon_over_scenarios(system, 1.0, [[0.3, 0.9, 0.5]])
        expected = system_privacy.epsilon_bracket(system.replace(participation=[0.3, 0.9, 0.5]))
        assert np.array_equal(found.upper, expected.upper) and np.array_equal(found.lower, expected.lower)


@pytest.mark.parametrize(
    ("probability", "participation", "message"),
    [
        ([0.5, 0.4], PARTICIPATION, "sum to 1"),
        ([0.5, float("nan")], PARTICIPATION, "probability"),
        ([0.4, 0.6], PARTICIPATION[:, :2], "2 rows, one for each scenario, of 3 numbers"),
        ([0.4, 0.6], 2 * PARTICIPATION, "participation"),
    ],
)
def test_scenarios_are_checked(probability, participation, message):
    with pytest.raises(ParameterError, match=message):
        airtight.epsilon_over_scenarios(made(), probability, participation)
    with pytest.raises(ParameterError, match="channel"):
        airtight.epsilon_over_scenarios(made(channel={"fading": "rayleigh"}), PROBABILITY, PARTICIPATION)
