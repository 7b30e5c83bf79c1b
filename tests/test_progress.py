"""Progress of long work in Python: how many parts are done, on stderr, and the same numbers without it."""

import numpy as np
import pytest

import airtight
from airtight.analytics import progress
from airtight.analytics.checks import ParameterError


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
