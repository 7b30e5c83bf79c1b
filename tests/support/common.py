"""Running the command as a user does: a good system file, and what a refusal must look like."""

from contextlib import contextmanager

import numpy as np
import pytest
from click.testing import CliRunner

from airtight import Features, InferenceSystem
from airtight.commands.cli import main
from airtight.validate.experiments.training import data, utility_training

GOOD = """
[inference]
devices = 3
participation = [0.9, 0.5, 1.0]
noise_variance = 0.1
weight = 0.3333333333333333
clip = 2.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 4
delta = 1e-5
delta_prime = 1e-5
"""


TASK = """
[inference.features]
file = "features.npz"
margin = 2.0
ideal_accuracy = 0.95
epsilon_cap = 4.0
[inference.selection]
score = [0.1, 0.3, 0.2]
score_noise = 0.3
threshold = 0.5
selected = 1
"""
FLEET = """
[energy]
distance = [50.0, 120.0, 200.0]
bandwidth = 250e3
center_frequency = 32e6
path_loss_exponent = 4.0
noise_density_dbm = -174.0
snr_gap_db = 9.8
model_bits = 875e3
deadline = 0.75
bits_per_iteration = 802816
seconds_per_bit = 7.5e-9
compute_power = 0.096
circuit_power = 0.0825
amplifier_efficiency = 0.45
max_power = 1.0
min_iterations = 10
utility_energy = 0.5
beta = [0.5, 0.05]
"""
TRAINING = """
[federated]
clients = 20
parameters = 1
epsilon = 2.0
radius = 1.0
shared_bits = 5
ldp_fraction = 0.2
delta = 1e-5
[training]
seeds = 1
rounds = 3
hidden = [8]
mechanisms = ["vanilla", "ldp", "corbin"]
"""


def archive(folder, **changes):
    rng = np.random.default_rng(0)
    arrays = {"f": rng.normal(size=(3, 5)), "W": rng.normal(size=(3, 4, 5)), "D": rng.normal(size=(5, 4)), **changes}
    np.savez(folder / "features.npz", **{k: v for k, v in arrays.items() if v is not None})


def two_classes(rng, inputs=2, samples=120):
    """A task to learn that is small enough to be learnt a thousand times."""
    x = rng.random((samples, inputs))
    part = data.Part(x, (x[:, 0] > 0.5).astype(np.int64))
    return data.Splits(part, part, part, 2)


@contextmanager
def few_rounds():
    """The training of a fleet ends after three rounds instead of fifty: what is shown of it is the same."""
    with pytest.MonkeyPatch.context() as patch:
        whole = utility_training.Plan
        patch.setattr(utility_training, "Plan", lambda **settings: whole(**{**settings, "rounds": 3}))
        yield


def run(*arguments, **environment):
    return CliRunner().invoke(main, [str(a) for a in arguments], env=environment)


def refused(result, *needles):
    """Exit 2, at most two lines on stderr, nothing on stdout, no traceback; every needle is named."""
    assert result.exit_code == 2, (result.exit_code, result.output)
    lines = result.stderr.strip().splitlines()
    assert 1 <= len(lines) <= 2 and lines[0].startswith("airtight: ") and result.stdout == ""
    assert "Traceback" not in result.stderr
    for needle in needles:
        assert needle in result.stderr, (needle, result.stderr)
    return True


def written(folder, text):
    path = folder / "system.toml"
    path.write_text(text, encoding="utf-8")
    return path


def weight_example(devices: int = 5, seed: int = 0) -> tuple[InferenceSystem, Features]:
    rng = np.random.default_rng(seed)
    system = InferenceSystem(
        devices=devices,
        participation=rng.uniform(0.3, 1.0, devices),
        noise_variance=0.5,
        weight=1 / devices,
        clip=2.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=3,
        delta=1e-3,
        adjacency="silent",
    )
    features = Features(
        f=rng.standard_normal((devices, 2)), W=rng.standard_normal((devices, 3, 2)), D=rng.standard_normal((2, 3))
    )
    return system, features
