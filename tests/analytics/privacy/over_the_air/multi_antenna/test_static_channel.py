"""Rounds over a channel that stays while participation is random: enumeration of losses, and limits."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from airtight import Channel, InferenceSystem
from airtight.analytics.privacy.accounting.known_states import _States, delta_ends
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy

TABLE = np.random.default_rng(3).standard_normal((3, 3, 2))


def _system(**changes: object) -> InferenceSystem:
    base: dict[str, object] = {
        "devices": 3, "participation": [0.6, 0.5, 1.0], "noise_variance": 0.3, "weight": 0.6, "clip": 1.0,
        "alignment": 1.0, "receiver_noise_variance": 0.2, "dimension": 2, "delta": 1e-2, "adjacency": "silent",
    }  # fmt: skip
    return InferenceSystem(**{**base, **changes})  # type: ignore[arg-type]


def _noises(one: InferenceSystem, state: np.ndarray, k: int) -> list[tuple[float, float]]:
    """v and probability of every set of the others, in units of the code."""
    found = []
    others = [j for j in range(3) if j != k]
    for bits in product((0, 1), repeat=2):
        chance = np.prod(
            [one.participation[j] if b else 1 - one.participation[j] for j, b in zip(others, bits, strict=True)]
        )
        V = np.eye(2) * one.receiver_noise_variance
        for j, b in zip(others, bits, strict=True):
            V = V + b * one.noise_variance[j] * np.outer(state[j], state[j])
        if chance > 0:
            found.append((1 / (state[k] @ np.linalg.solve(V, state[k])), float(chance)))
    return found


@pytest.mark.parametrize("rounds", [2, 4])
def test_mean_over_states_of_compositions(rounds: int) -> None:
    """Loss by loss: of T rounds in one state, i with the device and noises v, the loss is normal."""
    one, k = _system(), 0
    p = float(one.participation[k])

    def delta(epsilon: float) -> float:
        total = 0.0
        for state in TABLE:
            atoms = [(0.0, 1 - p)]
            for v, chance in _noises(one, state, k):
                atoms.append((0.36 / (v + one.noise_variance[k]), p * chance))
            for choice in product(atoms, repeat=rounds):
                mu = np.sqrt(sum(square for square, _ in choice))
                weight = np.prod([chance for _, chance in choice])
                if mu > 0:
                    tail = stats.norm.sf(epsilon / mu - mu / 2) - np.exp(epsilon) * stats.norm.sf(epsilon / mu + mu / 2)
                    total += weight * tail / len(TABLE)
        return float(total)

    found = channel_privacy.bracket(one, Channel(looks=TABLE, fresh=False), rounds=rounds, device=k)
    assert delta(float(found.upper)) <= one.delta <= delta(float(found.lower)) * (1 + 1e-9)
    assert found.upper - found.lower <= 5e-3 * found.upper


@pytest.mark.parametrize("adjacency", ["absent", "replace"])
def test_what_stays_shows_more_than_what_changes(adjacency: str) -> None:
    """One state alone: static and fresh are the same; an unknown channel has no lower end."""
    one = _system(adjacency=adjacency)
    for known in (True, False):
        static, fresh = (
            channel_privacy.bracket(one, Channel(looks=TABLE[:1], fresh=fresh, known=known), rounds=3, device=1)
            for fresh in (False, True)
        )
        assert static.upper == pytest.approx(fresh.upper, rel=2e-2) and static.lower <= fresh.upper
        assert known or static.lower == 0
    several = Channel(looks=TABLE, fresh=False)
    assert channel_privacy.epsilon(one, several, rounds=3, device=1) > channel_privacy.epsilon(one, several, rounds=2, device=1)


def test_an_observer_of_the_signal_learns_at_most_what_one_of_the_others_does() -> None:
    one, channel = _system(), Channel(looks=TABLE[:2], fresh=False)
    signal, others = (channel_privacy.bracket(one, channel, rounds=2, device=0, observer=seen) for seen in ("signal", "others"))
    assert signal.upper == others.upper and signal.lower == 0 < others.lower


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
def test_the_mean_over_many_states_contains_the_truth(value: float) -> None:
    """NumPy adds the rows one after the other: a margin of 1e-14 was exceeded a hundred times over."""

    class Known:
        """A composition whose delta is known."""

        def delta_bracket(self, epsilon: np.ndarray, *, reverse: bool) -> tuple[np.ndarray, np.ndarray]:
            return np.array([value]), np.array([value])

    states = _States((Known(),) * 100_000, symmetric=True)  # type: ignore[arg-type]
    low, high = states.delta_bracket(np.array([1.0]))
    assert Fraction(float(low[0])) <= Fraction(value) <= Fraction(float(high[0]))
    assert high[0] - low[0] < 1e-9


@pytest.mark.parametrize(("pair", "delta"), [(((1.0, 0.0), (0.0, 1.0)), 1.0), (((0.5, 0.5), (0.5, 0.5)), 0.0)])
def test_laws_of_one_loss_at_many_epsilons(pair: tuple[tuple[float, float], tuple[float, float]], delta: float) -> None:
    """All mass at one loss: the lower end was nan for more than sixteen epsilons."""
    low, high = delta_ends([Discrete(*pair)] * 2, np.linspace(0, 1, 33), rounds=3)
    assert np.all(low <= delta) and np.all(delta <= high) and np.all(high - low < 1e-11)
