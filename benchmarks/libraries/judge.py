"""Judge the answers that `ask.py` kept: the worst ratio on either side of the truth, and where a function fails open.

    python benchmarks/libraries/judge.py ANSWERS OUT.json

Truths are airtight's certified curves (bounds on both sides where there is composition), or the closed form of the law.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf, ndtr, ndtri

import airtight
from airtight.analytics.privacy.mechanisms import gaussian

Columns = dict[str, np.ndarray]
Ends = tuple[np.ndarray, np.ndarray]

MOST = {"sampled": 60, "tree": 120}  # cases of these kinds that are judged: their truths are costly
ROUNDING = 1e-9  # relative difference that is rounding, or the tolerance that a library states


def epsilon(at: Columns) -> Ends:
    exact = gaussian.epsilon(at["delta"], sensitivity=1.0, sigma=at["sigma"])
    return exact * (1 - 1e-10), exact


def composed(at: Columns) -> Ends:
    exact = gaussian.epsilon(at["delta"], sensitivity=np.sqrt(at["rounds"]), sigma=at["sigma"])
    return exact * (1 - 1e-10), exact


def delta(at: Columns) -> Ends:
    exact = gaussian.delta(at["epsilon"], sensitivity=1.0, sigma=at["sigma"])
    return exact, exact


def sigma(at: Columns) -> Ends:
    exact = gaussian.sigma(at["epsilon"], at["delta"], sensitivity=1.0)
    return exact * (1 - 1e-10), exact


@cache
def _sampled(rate: float, sigma: float, rounds: int, delta: float) -> tuple[float, float]:
    low, high = airtight.subsampled(1 / sigma, rate).compose(rounds).bracket(delta=delta, width=1e-2)
    return float(low), float(high)


def sampled(at: Columns) -> Ends:
    both = [
        _sampled(float(q), float(s), int(t), float(d))
        for q, s, t, d in zip(at["rate"], at["sigma"], at["rounds"], at["delta"], strict=True)
    ]
    low, high = np.array(both).T
    return low, high


def laplace(at: Columns) -> Ends:
    exact = np.maximum(1 / at["scale"] + 2 * np.log1p(-at["delta"]), 0.0)
    return exact, exact


def laplace_scale(at: Columns) -> Ends:
    exact = 1 / (at["epsilon"] - 2 * np.log1p(-at["delta"]))
    return exact, exact


def response(at: Columns) -> Ends:
    exact = np.maximum(np.log(np.maximum(at["honest"] - at["delta"], 1e-300)) - np.log1p(-at["honest"]), 0.0)
    return exact, exact


def beta(at: Columns) -> Ends:
    exact = ndtr(-ndtri(at["alpha"]) - at["mu"])
    return exact, exact


def beta_of(at: Columns) -> Ends:
    e, d, a = at["epsilon"], at["delta"], at["alpha"]
    exact = np.maximum(np.maximum(1 - d - np.exp(e) * a, np.exp(-e) * (1 - d - a)), 0.0)
    return exact, exact


def advantage(at: Columns) -> Ends:
    exact = erf(at["mu"] / math.sqrt(8))
    return exact, exact


def mu(at: Columns) -> Ends:
    return 1 / at["sigma"], 1 / at["sigma"]


def _tree(steps: int, most: int, apart: int) -> float:
    """Greatest sum of squared counts over the nodes of the binary tree, over all ways to take part."""
    nodes = [
        range(start, start + size)
        for size in (2**k for k in range(steps.bit_length()))
        for start in range(0, steps - size + 1, size)
    ]
    best = 0
    for count in range(1, most + 1):
        for leaves in itertools.combinations(range(steps), count):
            if all(b - a > apart for a, b in itertools.pairwise(leaves)):
                best = max(best, sum(sum(leaf in node for leaf in leaves) ** 2 for node in nodes))
    return float(best)


def tree(at: Columns) -> Ends:
    exact = np.array(
        [_tree(int(s), int(m), int(a)) for s, m, a in zip(at["steps"], at["most"], at["apart"], strict=True)]
    )
    return exact, exact


TRUTH: dict[str, Callable[[Columns], Ends]] = {
    "epsilon": epsilon,
    "composed": composed,
    "delta": delta,
    "sigma": sigma,
    "sampled": sampled,
    "laplace": laplace,
    "laplace scale": laplace_scale,
    "response": response,
    "beta": beta,
    "beta of (epsilon, delta)": beta_of,
    "advantage": advantage,
    "mu": mu,
    "tree": tree,
}


def judged(about: dict[str, Any], at: Columns, answer: np.ndarray) -> dict[str, Any]:
    """Counts, and the worst ratio of an answer to the truth on the unsafe and on the safe side."""
    kind, asked = about["kind"], answer.size
    raised = {i for i, _ in about["raised"]}
    count = min(asked, MOST.get(kind, asked))
    at, found = {name: column[:count] for name, column in at.items()}, answer[:count]
    low, high = TRUTH[kind](at)
    up = not kind.startswith("beta")  # whether a greater answer promises less
    fine = np.isfinite(found) & (low > 1e-290) & np.isfinite(high)
    with np.errstate(all="ignore"):
        ratio_low, ratio_high = found / low, found / high
    unsafe = fine & ((ratio_low < 1 - ROUNDING) if up else (ratio_high > 1 + ROUNDING))
    nan = np.isnan(answer)
    nan[list(raised)] = False
    below, above = (ratio_low, ratio_high) if up else (1 / ratio_high, 1 / ratio_low)

    def worst(side: np.ndarray, best: Callable[..., Any]) -> dict[str, Any] | None:
        if not np.any(fine):
            return None
        i = int(np.flatnonzero(fine)[best(side[fine])])
        case = {name: float(column[i]) for name, column in at.items()}
        return {"ratio": float(side[i]), "answer": float(found[i]), "truth": [float(low[i]), float(high[i])], **case}

    texts: dict[str, int] = {}
    for _, text in about["raised"]:
        texts[text.split(":")[0] + ": " + text.split(":", 1)[1].strip()[:60]] = (
            texts.get(text.split(":")[0] + ": " + text.split(":", 1)[1].strip()[:60], 0) + 1
        )
    return {
        **{name: about[name] for name in ("library", "version", "function", "kind")},
        "asked": asked,
        "judged": int(np.sum(fine)),
        "raised": len(raised),
        "nan": int(np.sum(nan)),
        "negative": int(np.sum(answer < 0)),
        "infinite": int(np.sum(np.isinf(answer))),
        "zero where the truth is not": int(np.sum((found == 0) & (low > 0))) if up else 0,
        "unsafe": int(np.sum(unsafe)),
        "worst unsafe": worst(below, np.argmin),
        "worst safe": worst(above, np.argmax),
        "exceptions": dict(sorted(texts.items(), key=lambda item: -item[1])[:3]),
    }


def main(folder: str, out: str) -> None:
    """Judge every file of the folder."""
    rows = []
    for file in sorted(Path(folder).glob("*.npz")):
        with np.load(file) as kept:
            columns = {name: kept[name] for name in kept.files if name not in ("about", "answer")}
            row = judged(json.loads(str(kept["about"])), columns, kept["answer"])
        rows.append(row)
        unsafe, safe = row["worst unsafe"], row["worst safe"]
        print(
            f"{row['library']} {row['function']}: {row['asked']} asked, {row['judged']} judged, {row['raised']} raised, "
            f"{row['nan']} nan, {row['negative']} negative, {row['infinite']} infinite, {row['zero where the truth is not']} "
            f"zero; {row['unsafe']} unsafe; worst {unsafe and unsafe['ratio']}, {safe and safe['ratio']}",
            flush=True,
        )
    Path(out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
