"""Speed of what proves: enclosures beside the floats they confirm, a symbolic twin, the whole audit."""

import dataclasses
import subprocess
import sys

import pytest
from support import device_balls as device

from airtight.analytics.forms.balls import selection_probability
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.solvers.quantities import quantities

PAPER = InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.1,
    weight=1 / 12,
    clip=3.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=784,
    delta=1e-5,
    delta_prime=1e-5,
)


@pytest.mark.benchmark(group="T1a: delta of a device, 12 devices; goal: enclosed to 15 digits below 50 ms")
@pytest.mark.parametrize("dimension", [1, 784])
@pytest.mark.parametrize("kind", ["enclosed", "float"])
def test_delta_of_a_device(benchmark, kind, dimension):
    system = dataclasses.replace(PAPER, dimension=dimension)
    if kind == "float":
        benchmark(system_privacy.delta, system, 1.0, device=0)
    else:
        assert benchmark(device.delta, system, 1.0).rel_accuracy_bits() >= 50


@pytest.mark.benchmark(group="Poisson-binomial, K = 10 000, certified; peer: .52 s")
def test_poisson_binomial(benchmark):
    benchmark.pedantic(selection_probability.pmf, args=([0.1 + 0.8 * k / 10_000 for k in range(10_000)],), rounds=1)


@pytest.mark.benchmark(group="participation of one of 12 devices, enclosed")
def test_selection(benchmark):
    benchmark(selection_probability.probability, [0.1 * k for k in range(12)], [0.3] * 12, 6, device=3)


@pytest.mark.benchmark(group="one closed form to 50 digits")
def test_twin(benchmark):
    benchmark(
        quantities()["Theorem 3, epsilon"].evaluate,
        clients=1000,
        parameters=10,
        local_epsilon=1.0,
        delta=1e-5,
        fraction=0.5,
        radius=1.0,
    )


@pytest.mark.benchmark(group="check of the certificates FDP-T1t, with the standard library")
def test_check(benchmark, tmp_path):
    run = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([sys.executable, "-m", "airtight", "certify", "FDP-T1t", "--out", str(tmp_path)], **run)
    benchmark.pedantic(subprocess.run, ([sys.executable, str(tmp_path / "check.py")],), run, rounds=1)
