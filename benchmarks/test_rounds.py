"""Speed of compositions and of attacks, beside dp-accounting in the same run."""

import dataclasses

import numpy as np
import pytest

import airtight
from airtight.analytics.federated.corbin import central_privacy
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting.numerical_composition import Composition
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.over_the_air import system_privacy
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
    benchmark.pedantic(lambda: system_privacy.epsilon_bracket(system, rounds=200, observer=observer), rounds=1)


def unlike(devices, adjacency):
    rng = np.random.default_rng(5)
    return dataclasses.replace(
        SYSTEM,
        devices=devices,
        participation=rng.uniform(0.3, 0.95, devices),
        noise_variance=rng.uniform(0.05, 0.2, devices),
        weight=rng.dirichlet(np.full(devices, 5.0)),
        clip=rng.uniform(1, 5, devices),
        adjacency=adjacency,
    )


@pytest.mark.parametrize("adjacency", ["silent", "absent"])
@pytest.mark.parametrize("devices", [12, 30])
def test_unlike_hidden(benchmark, devices, adjacency):
    benchmark.group = f"{devices} unlike hidden devices, r = 784, one round, {adjacency}"
    system = unlike(devices, adjacency)
    bounds = benchmark.pedantic(lambda: system_privacy.epsilon_bracket(system, observer="others"), rounds=2)
    benchmark.extra_info["accuracy"] = float(np.max(bounds.width))


@pytest.mark.parametrize("adjacency", ["silent", "absent"])
@pytest.mark.parametrize("devices", [12, 18, 30, 300])
def test_unlike_hidden_rounds(benchmark, devices, adjacency):
    benchmark.group = f"a device among {devices} unlike hidden ones, r = 784, 200 rounds, {adjacency}"
    system = unlike(devices, adjacency)
    asked = {"rounds": 200, "observer": "others", "device": [0]}
    bounds = benchmark.pedantic(lambda: system_privacy.epsilon_bracket(system, **asked), rounds=1)
    benchmark.extra_info["accuracy"] = float(np.max(bounds.width))


@pytest.mark.parametrize(("clients", "dropout"), [(1_000, 0.1), (10_000, 0.1), (100_000, 0.0)])
def test_aggregation_of_many(benchmark, clients, dropout):
    benchmark.group = f"CorBin-FL, {clients} clients, dropout {dropout:g}, both ends"
    system = airtight.FederatedSystem(clients=clients, parameters=1, epsilon=1.0, ldp_fraction=0.2, dropout=dropout)
    bounds = benchmark.pedantic(lambda: airtight.aggregation(system).bracket(delta=1e-5), rounds=1)
    benchmark.extra_info["accuracy"] = float(bounds.width)


@pytest.mark.benchmark(group="sweep of what Theorem 1 claims, 2000 cells")
def test_sweep(benchmark):
    pytest.importorskip("xarray")
    over = {"clip": np.linspace(1, 5, 40), "noise_variance": np.linspace(0.05, 0.2, 50)}
    airtight.sweep(SYSTEM, {"clip": [1.0]}, quantities=["epsilon_published"])  # its modules are loaded
    benchmark.pedantic(lambda: airtight.sweep(SYSTEM, over, quantities=["epsilon_published"]), rounds=3)


@pytest.mark.parametrize("adjacency", ["silent", "absent"])
def test_sweep_of_epsilon(benchmark, adjacency):
    pytest.importorskip("xarray")
    benchmark.group = f"sweep of epsilon, both ends, r = 784, 2000 systems of 12 equal devices, {adjacency}"
    system = dataclasses.replace(SYSTEM, adjacency=adjacency)
    over = {"clip": np.linspace(1, 5, 40), "noise_variance": np.linspace(0.05, 0.2, 50)}
    airtight.sweep(system, {"clip": [1.0]})  # its modules are loaded
    benchmark.pedantic(lambda: airtight.sweep(system, over), rounds=1)


@pytest.mark.benchmark(group="least noise of 30 unlike devices, r = 784, one round, absent")
def test_calibration(benchmark):
    benchmark.pedantic(lambda: airtight.calibrate(unlike(30, "absent"), 20.0), rounds=1)


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
