"""Speed of compositions and of attacks, beside dp-accounting in the same run."""

import dataclasses

import numpy as np
import pytest

import airtight
from airtight.analytics.federated.corbin import central_privacy
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting.numerical_composition import Composition
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.over_the_air import rounds
from airtight.validate.attack import system_attack

SYSTEM = InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.1,
    weight=1 / 12,
    clip=1.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=784,
    delta=1e-5,
    delta_prime=1e-5,
)
RATES = np.linspace(0.01, 0.5, 50)


def peer(sigma, rate, count, step, delta):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    one = pld.from_gaussian_mechanism(sigma, sampling_prob=rate, value_discretization_interval=step)
    return one.self_compose(count).get_epsilon_for_delta(delta)


@pytest.mark.benchmark(group="50 rates, 20 rounds")
def test_rates(benchmark):
    benchmark.pedantic(lambda: [airtight.subsampled(1.0, q).compose(20).epsilon(1e-5) for q in RATES], rounds=2)


@pytest.mark.benchmark(group="50 rates, 20 rounds")
def test_rates_dp_accounting(benchmark):
    benchmark.pedantic(lambda: [peer(1.0, q, 20, 1e-3, 1e-5) for q in RATES], rounds=1)


@pytest.mark.benchmark(group="200 Gaussian releases")
def test_gaussians_on_a_grid(benchmark):
    benchmark.pedantic(lambda: Composition(((Gaussian(0.1), 200),)).epsilon(1e-5), rounds=5)


@pytest.mark.benchmark(group="200 Gaussian releases")
def test_gaussians_dp_accounting(benchmark):
    benchmark.pedantic(lambda: peer(10.0, 1.0, 200, 1e-4, 1e-5), rounds=3)


@pytest.mark.benchmark(group="12 equal devices, r = 784, 200 rounds")
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize("observer", ["participants", "others", "signal"])
def test_systems(benchmark, adjacency, observer):
    system = dataclasses.replace(SYSTEM, adjacency=adjacency)
    benchmark.pedantic(lambda: rounds.bracket(system, rounds=200, observer=observer), rounds=1)


@pytest.mark.benchmark(group="CorBin-FL, 20000 others, paired, 5 bits")
def test_one_parameter(benchmark):
    benchmark.pedantic(
        lambda: central_privacy.update_epsilon(20_000, 1, epsilon=1.0, client="paired", delta=1e-5, bits=5), rounds=2
    )


@pytest.mark.benchmark(group="CorBin-FL, 1000 clients, 100 parameters, 7 rounds, both ends")
def test_aggregation(benchmark):
    system = airtight.FederatedSystem(clients=1000, parameters=100, epsilon=1.0, ldp_fraction=1.0)
    benchmark.pedantic(lambda: airtight.aggregation(system).compose(7).bracket(delta=1e-5), rounds=2)


@pytest.mark.benchmark(group="attack on training, 8 clients, 650 parameters, 4 x 100 runs of 3 rounds")
def test_attack_on_training(benchmark):
    system = airtight.FederatedSystem(clients=8, parameters=1, epsilon=0.03, ldp_fraction=1.0, delta=1e-2)
    benchmark.pedantic(lambda: airtight.attack_training(system, "ldp", runs=100), rounds=1)


@pytest.mark.benchmark(group="attack, 12 devices, 100000 samples")
def test_attack(benchmark):
    benchmark.pedantic(lambda: system_attack.attacked(SYSTEM), rounds=2)
