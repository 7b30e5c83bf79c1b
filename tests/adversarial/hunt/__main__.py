"""`make hunt`: search for a given time, print what was tried and the worst ratio of each promise; exit 1 on a violation."""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from hunt.targets import TARGETS, Case, Target

CORPUS = Path(__file__).parent / "corpus.json"
_KEPT = 4  # nearest misses of each promise
_POOL = 30
_PATIENCE = 20.0  # seconds for one case
_FIXED = ("which", "piece", "side", "shape", "rounds", "cells", "selected", "dimension")
_WHOLE = ("others", "count", "clients", "parameters", "degrees")
_SHARES = ("participation", "dropout", "delta", "corner", "chance")


class _Slow(Exception):
    pass


def _alarm(number: int, frame: FrameType | None) -> None:
    raise _Slow


def tried(target: Target, case: Case) -> float:
    """The ratio, nan where judge or code takes too long."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
    try:
        return target.ratio(case)
    except (_Slow, SystemError):  # the second when the alarm comes inside of compiled code
        return math.nan
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def moved(case: Case, rng: np.random.Generator) -> Case:
    """A neighbour: a few numbers changed, each in its own way."""
    scale = float(10 ** rng.uniform(-6, 0))

    def change(name: str, value: Any) -> Any:
        if isinstance(value, list) and name not in _FIXED:
            return [change(name, x) if rng.random() < 0.5 else x for x in value]
        if name in _FIXED or isinstance(value, bool | str) or rng.random() < 0.5:
            return value
        if name in _WHOLE:
            return max(int(value + rng.integers(-1, 2)), 1)
        if isinstance(value, int):
            return value
        if name in _SHARES:
            if not 0 < value < 1:
                return value
            logit = math.log(value) - math.log1p(-value) + scale * rng.normal()
            return min(max(1 / (1 + math.exp(-logit)), 1e-300), 1 - 1e-12) if logit > -690 else value
        return float(value * math.exp(scale * rng.normal()))

    return {name: change(name, value) for name, value in case.items()}


def hunt(seconds: float, seed: int, names: list[str]) -> tuple[dict[str, dict[str, Any]], dict[str, list[Any]]]:
    """What each promise has gone through, and the nearest misses."""
    rng = np.random.default_rng(seed)
    chosen = [t for t in TARGETS if not names or any(n in t.name for n in names)]
    pools: dict[str, list[tuple[float, Case]]] = {t.name: [] for t in chosen}
    found = {t.name: {"tried": 0, "judged": 0, "worst": 0.0, "seconds": 0.0} for t in chosen}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        target = min(chosen, key=lambda t: found[t.name]["seconds"])
        pool, row = pools[target.name], found[target.name]
        case = target.draw(rng)
        if pool and rng.random() < 0.5:
            case = moved(pool[int(rng.integers(len(pool)))][1], rng)
        start = time.monotonic()
        try:
            ratio = tried(target, case)
        except Exception as error:
            print(json.dumps({"promise": target.name, "raised": repr(error), "case": case}), flush=True)
            ratio, row["worst"] = math.nan, math.inf
        row["seconds"] += time.monotonic() - start
        row["tried"] += 1
        if math.isnan(ratio):
            continue
        row["judged"] += 1
        row["worst"] = max(row["worst"], ratio)
        if ratio > 1:
            print(json.dumps({"promise": target.name, "ratio": ratio, "case": case}), flush=True)
        pool.append((ratio, case))
        pool.sort(key=lambda pair: -pair[0])
        del pool[_POOL:]
    return found, {name: [[ratio, case] for ratio, case in pool[:_KEPT]] for name, pool in pools.items()}


def main() -> int:
    """Hunt, tell, and keep the nearest misses beside those of earlier hunts."""
    parser = argparse.ArgumentParser(prog="make hunt")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("promise", nargs="*", help="parts of the names of what is to be hunted; everything by default")
    given = parser.parse_args()
    found, nearest = hunt(given.seconds, given.seed, given.promise)
    for name, row in found.items():
        print(f"{name:18} tried {row['tried']:8} judged {row['judged']:8} worst ratio {row['worst']:.6f}")
    kept = json.loads(given.corpus.read_text()) if given.corpus.exists() else {}
    for name, cases in nearest.items():
        known = {json.dumps(case): [ratio, case] for ratio, case in kept.get(name, []) + cases}
        kept[name] = sorted(known.values(), key=lambda pair: -pair[0])[:_KEPT]
    given.corpus.write_text(json.dumps(kept, indent=1) + "\n")
    return int(any(row["worst"] > 1 for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
