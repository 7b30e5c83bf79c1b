"""Speed of the privacy computations, beside named peers in the same run."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from airtight.analytics.distributions import poisson_binomial
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian, subsampling
from airtight.analytics.privacy.over_the_air import system_privacy
from benchmarks import peers

PAPER = InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.1,
    weight=1 / 12,
    clip=5.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=784,
    delta=1e-5,
    delta_prime=1e-5,
)
RNG = np.random.default_rng(0)


@pytest.mark.benchmark(group="exact epsilon, 12 devices, r = 784")
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_paper(benchmark, adjacency):
    benchmark(system_privacy.epsilon, dataclasses.replace(PAPER, adjacency=adjacency))


@pytest.mark.benchmark(group="exact epsilon, K = 1000 different devices")
@pytest.mark.parametrize("adjacency", ["absent", "silent"])
def test_thousand_devices(benchmark, adjacency):
    system = dataclasses.replace(
        PAPER,
        devices=1000,
        participation=RNG.random(1000),
        noise_variance=0.1,
        weight=RNG.random(1000) / 100,
        clip=RNG.uniform(1, 10, 1000),
        adjacency=adjacency,
    )
    benchmark.pedantic(system_privacy.epsilon, (system,), rounds=2)


@pytest.mark.benchmark(group="subsampled Gaussian, p = .01, epsilon at delta = 1e-6")
def test_idle_noise(benchmark):
    def epsilon():
        return subsampling.amplified(gaussian.epsilon(1e-6 / 0.01, sensitivity=1.0, sigma=1.0), 0.01)

    benchmark(epsilon)


@pytest.mark.benchmark(group="subsampled Gaussian, p = .01, epsilon at delta = 1e-6")
def test_idle_noise_dp_accounting(benchmark):
    pytest.importorskip("dp_accounting")
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.pld import PLDAccountant

    def epsilon():
        event = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
        return PLDAccountant(value_discretization_interval=1e-4).compose(event).get_epsilon(1e-6)

    benchmark.pedantic(epsilon, rounds=3)


@pytest.mark.parametrize("devices", [10_000, 100_000, 1_000_000])
def test_poisson_binomial(benchmark, devices):
    benchmark.group = f"Poisson-binomial law of {devices} trials"
    benchmark.pedantic(poisson_binomial.pmf, (np.random.default_rng(1).random(devices),), rounds=5)
    benchmark.extra_info["accuracy"] = 2e-11 if devices > 50_000 else devices * 2.2e-16  # proved, of every entry


@pytest.mark.benchmark(group="Poisson-binomial law of 10000 trials")
def test_poisson_binomial_scipy(benchmark):
    """Its accuracy is that of the median, beside airtight's."""
    stats = pytest.importorskip("scipy.stats")
    p = np.random.default_rng(1).random(10_000)
    found = benchmark.pedantic(lambda: stats.poisson_binom(p).pmf(np.arange(10_001)), rounds=1)
    benchmark.extra_info["accuracy"] = of_the_median(found, p)


@pytest.mark.parametrize("devices", [10_000, 100_000, 1_000_000])
def test_poisson_binomial_fast_poibin(benchmark, devices):
    """It is compiled before the clock runs; its accuracy is that of the median, beside airtight's."""
    benchmark.group = f"Poisson-binomial law of {devices} trials"
    law, p = peers.load("fast_poibin").PoiBin, np.random.default_rng(1).random(devices)
    found = benchmark.pedantic(lambda: law(p).pmf, rounds=3, warmup_rounds=1)
    benchmark.extra_info["accuracy"] = of_the_median(found, p)


def of_the_median(found, p):
    """The relative distance of the probability of the median from airtight's."""
    middle = round(float(np.sum(p)))
    return float(abs(found[middle] / poisson_binomial.pmf(p)[middle] - 1))


@pytest.mark.benchmark(group="import")
@pytest.mark.parametrize("module", ["airtight.analytics", "airtight.analytics.privacy.over_the_air.amplification"])
def test_import(benchmark, module):
    benchmark.pedantic(subprocess.run, ([sys.executable, "-c", f"import {module}"],), {"check": True}, rounds=3)
