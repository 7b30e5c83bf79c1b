"""Progress of long work in Python: how many parts are done, on stderr, and the same numbers without it."""

import numpy as np
import pytest

import airtight
from airtight.analytics import progress
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair.device import table_1
from airtight.solvers.weights.weight_problem import _example


@pytest.fixture
def system():
    return airtight.InferenceSystem(
        devices=3,
        participation=[0.5, 0.7, 0.9],
        noise_variance=0.1,
        weight=1 / 3,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=2,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
        idle_noise=True,
    )


@pytest.mark.parametrize("asked", [True, False])
def test_epsilon_and_delta_over_rounds(system, capsys, monkeypatch, asked):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    epsilon = airtight.epsilon(system, rounds=3, progress=asked)
    airtight.delta(system, 1.0, rounds=3, progress=asked)
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in said] == asked * 2 * [
        f"airtight: {n} of 3 kinds of devices" for n in (1, 2)
    ]
    assert np.array_equal(epsilon, airtight.epsilon(system, rounds=3))


def test_claims(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    airtight.verify(["FDP-D2", "FDP-R1"], progress=True)
    assert capsys.readouterr().err.startswith("airtight: 1 of 2 claims (")


def test_silent_while_it_is_quick_and_refused_where_no_flag(system, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 1e9)
    airtight.epsilon(system, rounds=3, progress=True)
    assert capsys.readouterr().err == ""
    with pytest.raises(ParameterError, match="progress"):
        airtight.epsilon(system, rounds=3, progress="yes")


LONG = {
    "devices": lambda system: airtight.epsilon(
        system.replace(channel=airtight.Channel(fading="rayleigh", states=3, fresh=True)), rounds=2, progress=True
    ),
    "claims": lambda system: airtight.try_claims(airtight.papers()["corbin-fl"].claims[:3], effort=32, progress=True),
    "blocks": lambda system: airtight.sweep(system, {"clip": [1.0, 2.0]}, quantities=["epsilon"], progress=True),
    "evaluations": lambda system: airtight.design(
        system, minimise="energy", epsilon_at_most=2.0, free=["noise_variance", "idle_noise"], progress=True
    ),
    "scales": lambda system: airtight.calibrate(
        system.replace(channel=airtight.Channel(antennas=2, fading="rayleigh", states=3)), 1.0, progress=True
    ),
    "prices": lambda system: airtight.design(
        table_1(distance=[50.0, 200.0]), energy_at_most=0.4, epsilon_at_most=2.0, rounds=10, progress=True
    ),
    "numbers of bits": lambda system: airtight.design(
        airtight.FederatedSystem(clients=50, parameters=1000, epsilon=1.0),
        minimise="epsilon", error_at_most=0.05, progress=True,
    ),
    "rounds": lambda system: airtight.train(
        airtight.FederatedSystem(clients=4, parameters=1, epsilon=1.0),
        np.eye(8).repeat(5, axis=0),
        np.arange(40) % 2,
        rounds=3,
        mechanisms=["ldp"],
        progress=True,
    ),
    "runs": lambda system: airtight.attack_training(
        airtight.FederatedSystem(clients=6, parameters=1, epsilon=1.0, ldp_fraction=1.0, delta=1e-2),
        "ldp",
        rounds=1,
        runs=8,
        progress=True,
    ),
    "designs": lambda system: airtight.frontier(
        *_example(), epsilon=[4.0, 8.0], error=[1.2], free=["weight", "noise_variance", "decoder_gain"], progress=True
    ),
}


@pytest.mark.parametrize("what", list(LONG))
def test_long_verbs(system, capsys, monkeypatch, what):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    LONG[what](system)
    said = capsys.readouterr().err.splitlines()
    assert said and all(line.startswith("airtight: ") and f" {what} (" in line for line in said)


def test_a_list_of_claims_has_its_time(system):
    """The limit counts from now on: with an hour, nothing is stopped."""
    found = airtight.try_claims(airtight.papers()["corbin-fl"].claims[:1], effort=32, limit=3600.0)
    assert "stopped" not in found[0].fault


@pytest.mark.parametrize("variable", ["noise", "clip", "participation"])
def test_calibrations(system, capsys, monkeypatch, variable):
    """The number of evaluations is not known beforehand; the answer does not depend on who listens."""
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    asked = {"variable": variable, "rounds": 2}
    found = airtight.calibrate(system, 0.5, progress=True, **asked)
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("airtight: 1 evaluations (") and len(said) > 3
    assert np.array_equal(found, airtight.calibrate(system, 0.5, **asked)) and capsys.readouterr().err == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_commands_on_a_terminal(capsys, monkeypatch, terminal):
    from click.testing import CliRunner

    from airtight.commands import design_command
    from airtight.commands.cli import main

    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    monkeypatch.setattr(design_command, "heard", lambda: terminal)
    for words in (["calibrate", "examples/good.toml", "--epsilon", "2"], ["design", "examples/good.toml"]):
        assert ("evaluations (" in CliRunner().invoke(main, words).stderr) == terminal


def test_a_terminal_is_heard_unless_quiet(monkeypatch):
    from airtight import running

    for there, asked in ((True, False), (True, True), (False, False)):
        monkeypatch.setattr(running.sys.stderr, "isatty", lambda there=there: there)
        monkeypatch.setattr(running, "quiet", lambda asked=asked: asked)
        assert running.heard() is (there and not asked)
