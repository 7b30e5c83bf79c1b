"""The adapter to Flower; needs the extra ``flower``, and ``flwr[simulation]`` for a real simulation."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

import airtight
from airtight import Meter, ParameterError

flwr_app = pytest.importorskip("flwr.app", reason="the extra flower is not installed")
from airtight.integrations import flower  # noqa: E402

Array, ArrayRecord, ConfigRecord = flwr_app.Array, flwr_app.ArrayRecord, flwr_app.ConfigRecord
RecordDict = flwr_app.RecordDict
SHAPES = {"W": (30, 10), "b": (10,)}


def _message(arrays: dict[str, np.ndarray], number: int = 1) -> object:
    record = RecordDict(
        {
            "arrays": ArrayRecord({k: Array(v) for k, v in arrays.items()}),
            "config": ConfigRecord({"server-round": number}),
        }
    )
    return SimpleNamespace(content=record)


def _sent(mod: object, update: float | np.ndarray, number: int = 1, node: int = 7) -> np.ndarray:
    """What a client sends beyond the model, as one vector."""
    start = {k: np.full(shape, 0.5) for k, shape in SHAPES.items()}

    def inner(message: object, context: object) -> object:
        after = {k: v + update for k, v in start.items()}
        arrays = ArrayRecord({k: Array(v) for k, v in after.items()})
        return SimpleNamespace(content=RecordDict({"arrays": arrays}), has_error=lambda: False)

    reply = mod(_message(start, number), SimpleNamespace(node_id=node, node_config={}), inner)  # type: ignore[operator]
    out = reply.content["arrays"]
    assert [a.numpy().shape for a in out.values()] == list(SHAPES.values())
    return np.concatenate([np.ravel(a.numpy() - start[k]) for k, a in out.items()])


def test_gaussian_mod_clips_the_whole_update_and_adds_noise() -> None:
    quiet = _sent(flower.GaussianMod(clip=2.0, noise_variance=0.0), 1.0)
    np.testing.assert_allclose(np.linalg.norm(quiet), 2.0)
    np.testing.assert_allclose(_sent(flower.GaussianMod(clip=1e3, noise_variance=0.0), 1.0), 1.0)
    mod = flower.GaussianMod(clip=2.0, noise_variance=9.0, seed=1)
    draws = np.array([_sent(mod, 1.0, number) for number in range(60)])
    assert np.var(draws - quiet) == pytest.approx(9.0, rel=0.05) and not np.array_equal(draws[0], draws[1])
    assert not np.array_equal(_sent(mod, 1.0, 1, node=7), _sent(mod, 1.0, 1, node=8))
    with pytest.raises(ParameterError, match="update"):
        _sent(mod, np.nan)
    for wrong in ({"clip": 0.0, "noise_variance": 1.0}, {"clip": 1.0, "noise_variance": float("nan")}):
        with pytest.raises(ParameterError):
            flower.GaussianMod(**wrong)


def test_bits_are_unbiased_and_pairs_correlated() -> None:
    mod = flower.LdpMod(epsilon=1.0, radius=1.0, seed=2)
    draws = np.array([_sent(mod, 0.3, number) for number in range(200)])
    assert np.unique(np.abs(draws)).size == 1 and np.mean(draws) == pytest.approx(0.3, abs=0.05)
    given = {"epsilon": 1.0, "radius": 1.0, "bits": 5}
    halves = [
        flower.CorBinMod(**given, pair=lambda context, lead=lead: (99, lead), seed=4 + lead) for lead in (True, False)
    ]
    sums = np.array([_sent(halves[0], 0.0, n) + _sent(halves[1], 0.0, n) for n in range(50)])
    assert np.mean(sums == 0) > 0.9
    assert not np.array_equal(_sent(halves[0], 0.0, 1) > 0, _sent(halves[0], 0.0, 2) > 0)
    alone = flower.CorBinMod(**given, pair=lambda context: None, seed=1)
    assert np.unique(np.abs(_sent(alone, 0.0))).size == 1 and not hasattr(halves[0], "release")


class Everyone:
    """A strategy that asks nodes 100 to 100 + N."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    def configure_train(self, server_round: int, arrays: object, config: object, grid: object) -> list[object]:
        return [SimpleNamespace(metadata=SimpleNamespace(dst_node_id=100 + k)) for k in range(self.nodes)]

    def aggregate_train(self, server_round: int, replies: list[object]) -> tuple[object, object]:
        raise AssertionError("nobody replied")


def _epsilon(mu: float, delta: float) -> float:
    def excess(eps: float) -> float:
        return ndtr(mu / 2 - eps / mu) - math.exp(eps) * ndtr(-mu / 2 - eps / mu) - delta

    return float(brentq(excess, 0, 100))


def test_the_wrapper_halts_and_counts(tmp_path: Path) -> None:
    mod = flower.GaussianMod(clip=1.0, noise_variance=4.0)
    meter = Meter([1.0, 3.0, 3.0], 1e-5, devices=3, adaptive=False)
    asked = flower.Metered(Everyone(3), meter, mod.release(3), log=tmp_path / "log.jsonl")
    seen = [len(list(asked.configure_train(t, None, None, None))) for t in range(12)]
    assert seen[0] == 2 and seen[-1] == 0 and sorted(seen, reverse=True) == seen
    rounds = sum(count > 0 for count in seen)
    spent = asked.spent()
    assert spent[100].epsilon == 0 and spent[101].epsilon <= 3 < _epsilon(math.sqrt(rounds + 1) / 2, 1e-5)
    assert spent[101].epsilon == pytest.approx(_epsilon(math.sqrt(rounds) / 2, 1e-5), rel=1e-9)
    assert Meter.from_json((tmp_path / "log.jsonl").read_text()).rounds == rounds
    assert asked.aggregate_train(1, []) == (None, None)
    with pytest.raises(ParameterError, match="log"):
        flower.Metered(Everyone(3), meter, mod.release(3), log=tmp_path / "log.jsonl")
    with pytest.raises(ParameterError, match="node"):
        flower.Metered(Everyone(4), Meter(1.0, 1e-5, devices=3), mod.release(3)).configure_train(1, None, None, None)


def test_bits_with_an_order_and_declared() -> None:
    curve = flower.LdpMod(epsilon=0.1, radius=1.0).release(50)
    for meter in (Meter(6.0, 1e-5, devices=2, order=8.0), Meter(6.0, 1e-5, devices=2, fixed=[(curve, 2)])):
        asked = flower.Metered(Everyone(2), meter, curve)
        seen = [len(list(asked.configure_train(t, None, None, None))) for t in range(40)]
        assert seen[0] == 2 and seen[-1] == 0
        assert 0 < asked.spent()[100].epsilon <= 6


def test_a_real_simulation(tmp_path: Path) -> None:
    """20 clients on digits: the clients that a mod protects, the wrapper that halts, epsilon by an own formula from the log."""
    pytest.importorskip("ray", reason="flwr[simulation] is not installed")
    program = Path(airtight.__file__).parents[1] / "examples" / "flower_digits.py"
    log = tmp_path / "log.jsonl"
    run = subprocess.run(
        [sys.executable, str(program), str(log)], capture_output=True, text=True, timeout=600, check=True
    )
    told = json.loads(run.stdout.splitlines()[-1])
    counts = np.zeros(20)
    for line in log.read_text().splitlines()[1:]:
        counts[json.loads(line)["participants"]] += 1
    expected = sorted(_epsilon(2 * math.sqrt(n), 1e-5) for n in counts if n)
    np.testing.assert_allclose(sorted(told["epsilon"]), expected, rtol=1e-9)
    assert max(told["epsilon"]) <= 25 and told["accuracy"] > 0.4
