"""The attack on a simulated system whose server has partners."""

import numpy as np
import pytest
from scipy import stats

import airtight
from airtight.analytics.checks import ParameterError

SYSTEM = airtight.InferenceSystem(
    devices=4, participation=[0.7, 0.8, 1.0, 0.6], noise_variance=[0.2, 0.5, 0.8, 0.3], weight=1.0, clip=1.0, alignment=1.0,
    receiver_noise_variance=0.1, dimension=4, delta=0.02, adjacency="silent",
)  # fmt: skip


def test_attacker_with_partners_reaches_the_bound_that_counts_them_and_exceeds_the_one_that_does_not():
    alone = airtight.epsilon(SYSTEM)
    result = airtight.attack(SYSTEM.replace(colluding=[1, 2]), samples=100_000)
    assert [one.devices for one in result.devices] == [[0], [3]]
    for one in result.devices:
        assert 0.85 * one.exact < one.attack <= one.exact and one.attack > alone[one.devices[0]]
        assert one.published_epsilon is None


def test_server_that_is_told_noise_and_rolls_finds_the_delta_that_is_computed():
    rng, draws, epsilon, device, partners = np.random.default_rng(5), 400_000, 1.0, 0, (1, 2)
    p, s, N = SYSTEM.participation, SYSTEM.noise_variance, SYSTEM.receiver_noise_variance
    rolls = rng.random((draws, 4)) < p
    noise = rng.standard_normal((draws, 4)) * np.sqrt(s)
    received = np.sum(rolls * noise, axis=1) + rolls[:, device] + np.sqrt(N) * rng.standard_normal(draws)
    # given all that the partners sent and who takes part, y is normal around what they sent
    told = np.sum((rolls * noise)[:, partners], axis=1)
    deviation = np.sqrt(N + rolls[:, 3] * s[3] + s[device])
    ratio = stats.norm.logpdf(received, told + 1, deviation) - stats.norm.logpdf(received, told, deviation)
    gain = np.where(rolls[:, device], np.maximum(-np.expm1(epsilon - ratio), 0), 0.0)
    low, high = np.mean(gain) + np.array([-4, 4]) * np.std(gain) / np.sqrt(draws)
    computed = float(airtight.delta(SYSTEM, epsilon, colluding=list(partners))[device])
    assert low < computed < high < 1.03 * computed


def test_attacker_with_any_so_many_partners_has_the_worst_of_them():
    """Of unlike sets for unlike devices, and reaches the bound with them."""
    system = SYSTEM.replace(colluding=1, participation=[0.7, 0.8, 1.0, 0.6], noise_variance=[0.2, 1.2, 0.8, 0.3])
    result = airtight.attack(system, samples=100_000)
    assert [one.devices for one in result.devices] == [[0], [1], [2], [3]]
    for one in result.devices:
        (k,) = one.devices
        assert one.exact == airtight.epsilon(system)[k] and 0.85 * one.exact < one.attack <= one.exact
        sets = [[j] for j in range(4) if j != k]
        assert one.exact == pytest.approx(max(airtight.epsilon(system, colluding=J)[k] for J in sets), rel=1e-9)


@pytest.mark.parametrize("colluding", [1, [1]])
def test_attack_refuses_partners_that_it_does_not_simulate(colluding):
    with pytest.raises(ParameterError, match="colluding"):
        airtight.attack(SYSTEM.replace(colluding=colluding, channel={"fading": "rayleigh", "antennas": 2}))
