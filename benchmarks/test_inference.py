"""Speed and accuracy of the inference chain, beside simulation of equal wall time and named peers in the same run."""

import time

import numpy as np
import pytest

from airtight.analytics.distributions import quadratic_form, selection
from airtight.analytics.inference import accuracy, distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem

RNG = np.random.default_rng(0)
SETTINGS = {
    "K = 12": (0.1 * np.arange(12), np.full(12, 0.3), 11),
    "K = 12, noise 1e-6 to 1e6": (RNG.random(12), 10 ** RNG.uniform(-6, 6, 12), 6),
    "K = 1000": (RNG.random(1000), np.full(1000, 0.3), 500),
    "K = 1000, noise 1e-6 to 1e6": (RNG.random(1000), 10 ** RNG.uniform(-6, 6, 1000), 500),
}


def simulated(score, noise, selected, seconds):
    """Frequencies of selection after this much simulation."""
    rng, hits, draws, started = np.random.default_rng(1), np.zeros(score.size), 0, time.perf_counter()
    batch = max(200_000 // score.size, 1)
    while time.perf_counter() - started < seconds:
        noisy = score + noise * rng.standard_normal((batch, score.size))
        hits += np.sum(noisy <= np.partition(noisy, selected - 1, axis=1)[:, selected - 1 : selected], axis=0)
        draws += batch
    return hits / draws


@pytest.mark.benchmark(group="selection probabilities")
@pytest.mark.parametrize("name", SETTINGS)
def test_selection(benchmark, name):
    score, noise, selected = SETTINGS[name]
    exact = benchmark.pedantic(selection.probability, SETTINGS[name], rounds=3, warmup_rounds=1)
    error = np.max(np.abs(simulated(score, noise, selected, benchmark.stats.stats.min) - exact))
    benchmark.extra_info["error of simulation in the same time"] = float(error)
    benchmark.extra_info["sum minus selected"] = float(exact.sum() - selected)


def system_of(devices, dimension):
    system = InferenceSystem(
        devices=devices,
        participation=0.9,
        noise_variance=0.1,
        weight=1 / devices,
        clip=100.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=dimension,
        delta=1e-5,
        delta_prime=1e-5,
    )
    return system, Features(f=RNG.normal(size=(devices, dimension)), W=np.eye(dimension), D=np.eye(dimension))


@pytest.mark.benchmark(group="exact MSE, r = d = 64")
@pytest.mark.parametrize("devices", [1_000, 10_000, 100_000])
def test_mse(benchmark, devices):
    benchmark.pedantic(distortion.exact, system_of(devices, 64), rounds=3)


@pytest.mark.benchmark(group="probability of staying within the margin, 12 different devices, r = 784")
def test_within_margin(benchmark):
    benchmark.pedantic(accuracy.within_margin, system_of(12, 784), {"margin": 30.0}, rounds=3)


@pytest.mark.benchmark(group="4096 noncentral chi-square tails, r = 784")
def test_quadratic_form(benchmark):
    x, delta = np.linspace(600, 1400, 4096), np.linspace(1, 1000, 4096)
    benchmark(quadratic_form.cdf, x, weight=[1.0], degrees=[784], noncentrality=delta[:, None])


@pytest.mark.benchmark(group="4096 noncentral chi-square tails, r = 784")
def test_scipy(benchmark):
    from scipy import stats

    x, delta = np.linspace(600, 1400, 4096), np.linspace(1, 1000, 4096)
    benchmark(stats.ncx2.cdf, x, 784, delta)
