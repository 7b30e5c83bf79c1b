"""Speed and memory of CorBin-FL: samplers, exact errors, central privacy; loss distributions beside dp-accounting."""

import numpy as np
import pytest

from airtight.analytics.federated.corbin import central_privacy, mean_estimation, quantizers
from airtight.analytics.privacy.accounting import loss_distribution

PARAMETERS = 10_000_000


@pytest.fixture(scope="module")
def updates():
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, PARAMETERS).astype(np.float32), rng.uniform(-1, 1, PARAMETERS).astype(np.float32)


@pytest.mark.benchmark(group="10^7 parameters, one client")
def test_ldpq(benchmark, updates):
    rng = np.random.default_rng(1)
    benchmark.pedantic(quantizers.ldpq, (updates[0],), {"epsilon": 1.0, "rng": rng}, rounds=3)


@pytest.mark.benchmark(group="10^7 parameters, a pair")
@pytest.mark.parametrize("bits", [5, None])
def test_corbinq(benchmark, updates, bits):
    rng = np.random.default_rng(1)
    benchmark.pedantic(quantizers.corbinq, updates, {"epsilon": 1.0, "bits": bits, "rng": rng}, rounds=3)


@pytest.mark.benchmark(group="10^7 parameters, one client")
def test_memory_of_ldpq(benchmark, updates):
    """Peak beyond the input, in bytes a parameter: the float32 output is 4."""
    import tracemalloc

    def peak():
        tracemalloc.start()
        quantizers.ldpq(updates[0], epsilon=1.0, rng=np.random.default_rng(1))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    benchmark.extra_info["bytes per parameter"] = benchmark.pedantic(peak, rounds=1) / PARAMETERS


@pytest.mark.benchmark(group="mean over pairings, n = 10^5")
def test_mean_over_pairings(benchmark):
    w = np.random.default_rng(2).uniform(-1, 1, 100_000)
    benchmark(mean_estimation.mean_over_pairings, w, epsilon=1.0)


@pytest.mark.benchmark(group="central epsilon of an update, N = 10^4, m = 10^5")
@pytest.mark.parametrize("client", ["unpaired", "paired"])
def test_central_epsilon(benchmark, client):
    call = {"epsilon": 1.0, "client": client, "delta": 1e-5}
    benchmark.pedantic(central_privacy.update_epsilon, (10_000, 100_000), call, rounds=2)


@pytest.mark.benchmark(group="200 Gaussian releases, grid 1e-4, epsilon at 1e-5")
def test_loss_distribution(benchmark):
    benchmark(lambda: loss_distribution.gaussian(0.196, step=1e-4).epsilon(1e-5, count=200))


@pytest.mark.benchmark(group="200 Gaussian releases, grid 1e-4, epsilon at 1e-5")
def test_loss_distribution_dp_accounting(benchmark):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

    def epsilon():
        one = pld.from_gaussian_mechanism(1 / 0.196, value_discretization_interval=1e-4)
        return one.self_compose(200).get_epsilon_for_delta(1e-5)

    benchmark.pedantic(epsilon, rounds=3)
