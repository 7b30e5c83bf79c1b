"""Sweeps over a channel: every number is that of `bounds`, and what ignores the channel is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import airtight
from airtight import Channel, InferenceSystem, ParameterError

pytest.importorskip("xarray")

TABLES = {
    "inference": {
        "devices": 3, "noise_variance": 0.2, "weight": 0.4, "clip": 1.0, "alignment": 1.0, "receiver_noise_variance": 0.1,
        "dimension": 4, "delta": 1e-3, "adjacency": "replace", "participation": 0.8,
        "channel": {"antennas": 2, "fading": "rayleigh", "states": 5},
    }
}  # fmt: skip
SYSTEM = InferenceSystem(**{k: v for k, v in TABLES["inference"].items() if k != "channel"})


def test_epsilon_and_delta_over_antennas_and_noise() -> None:
    found = airtight.sweep(
        TABLES,
        {"antennas": [1, 2, 4], "noise_variance": [0.1, 0.5]},
        quantities=["epsilon", "delta", "epsilon_participants"],
    )
    for M in (1, 2, 4):
        channel = Channel(antennas=M, fading="rayleigh", states=5)
        for noise in (0.1, 0.5):
            system = replace(SYSTEM, noise_variance=noise)
            at = found.sel(antennas=M, noise_variance=noise)
            assert float(at["epsilon"]) == np.max(airtight.epsilon(system.replace(channel=channel)))
            assert float(at["epsilon_lower"]) <= float(at["epsilon"])
            assert float(at["delta"]) == np.max(airtight.delta(system.replace(channel=channel), 1.0))
            assert float(at["epsilon_participants"]) == pytest.approx(float(at["epsilon"]), rel=1e-9)


def test_a_power_limit_and_the_eavesdropper() -> None:
    inference = {k: v for k, v in TABLES["inference"].items() if k != "participation"}
    inference["channel"] = {
        **inference["channel"], "max_power": 2.0, "eavesdropper": {"antennas": 2, "mean_power": 1.0},
    }  # fmt: skip
    found = airtight.sweep(
        {"inference": inference},
        {"max_power": [0.5, 5.0]},
        quantities=["inference.channel.participation", "epsilon", "inference.channel.eavesdropper.epsilon.max"],
    )
    sends = found["inference.channel.participation"].values
    assert sends.shape == (2, 3) and np.all(sends[1] > sends[0])
    for i, power in enumerate((0.5, 5.0)):
        channel = Channel(
            antennas=2, fading="rayleigh", states=5, max_power=power, eavesdropper={"antennas": 2, "mean_power": 1.0}
        )
        system = channel.with_participation(SYSTEM)
        np.testing.assert_allclose(sends[i], system.participation)
        assert found["epsilon"].values[i] == np.max(airtight.epsilon(system.replace(channel=channel)))


def test_what_ignores_the_channel_is_refused() -> None:
    for name in (
        "epsilon_proven",
        "epsilon_published",
        "mse",
        "accuracy",
        "inference.privacy.exact.epsilon",
        "epsilon_signal",
    ):
        with pytest.raises(ParameterError, match="channel"):
            airtight.sweep(TABLES, {"antennas": [1, 2]}, quantities=[name])
    with pytest.raises(ParameterError, match="antennas"):
        airtight.sweep(TABLES, {"antennas": [0]}, quantities=["epsilon"])


def test_a_store_is_recomputed_when_the_looks_change(tmp_path: Path) -> None:
    table = np.array([[[1.0, 0.5], [1.0, -0.5], [1.0, 0.1]]])
    np.savez(tmp_path / "looks.npz", looks=table)
    text = "[inference]\n" + "".join(
        f"{k} = {v!r}\n" if not isinstance(v, str) else f'{k} = "{v}"\n'
        for k, v in TABLES["inference"].items()
        if k != "channel"
    )
    path = tmp_path / "system.toml"
    path.write_text(text + '[inference.channel]\nfile = "looks.npz"\n')
    first = airtight.sweep(path, {"noise_variance": [0.1, 0.2]}, quantities=["epsilon"], out=tmp_path / "store").load()
    np.savez(tmp_path / "looks.npz", looks=4 * table)
    second = airtight.sweep(path, {"noise_variance": [0.1, 0.2]}, quantities=["epsilon"], out=tmp_path / "other").load()
    assert np.all(first["epsilon"].values != second["epsilon"].values)
    over = {"noise_variance": [0.1, 0.2]}
    third = airtight.sweep(path, over, quantities=["epsilon"], out=tmp_path / "store", replace=True).load()
    np.testing.assert_array_equal(third["epsilon"].values, second["epsilon"].values)
