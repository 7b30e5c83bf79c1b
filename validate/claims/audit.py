"""The theorem audit: many claims, in parallel, within a time budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

from validate.claims import names
from validate.claims.claim import Claim, Evidence, Item
from validate.claims.search import audit
from validate.papers import claims

_LEAST_BUDGET = 0.2


def selected(ids: Sequence[str]) -> list[Claim]:
    """The claims with these identifiers, or beginning with them ("CB", "UF-E"); all of them by default."""
    every = claims()
    return [every[name] for name in names.select(ids, list(every))]


def run(
    ids: Sequence[str] = (), *, seed: int = 0, budget: float = 60.0, executor: Executor | None = None, workers: int = 1
) -> Iterator[Evidence]:
    """Audit claims and yield their evidence as it comes.

    Parameters
    ----------
    ids : sequence of str
        Identifiers, or what several of them begin with; all claims by default.
    seed : int
    budget : float
        Seconds for everything; shared evenly, claims that are settled early leave the rest unused.
    executor : concurrent.futures.Executor, optional
        Where to run them; here, one after the other, by default.
    workers : int
        How many the executor runs at a time.
    """
    wanted = [claim.id for claim in selected(ids)]
    share = max(budget * workers / len(wanted), _LEAST_BUDGET)
    if executor is None:
        for name in wanted:
            yield audit(claims()[name], seed=seed, budget=share)
        return
    pending = [executor.submit(_audit_by_name, name, seed, share) for name in wanted]
    try:
        for done in as_completed(pending):
            row = done.result()
            yield _with_claim(row)
    finally:
        for future in pending:
            future.cancel()


def _audit_by_name(name: str, seed: int, share: float) -> dict[str, Any]:
    """Claims hold functions and do not travel between processes; their names and findings do."""
    evidence = audit(claims()[name], seed=seed, budget=share)
    return {**evidence.__dict__, "claim": name}


def _with_claim(row: dict[str, Any]) -> Evidence:
    return Evidence(**{**row, "claim": claims()[row["claim"]]})


def as_json(evidence: Evidence) -> dict[str, Any]:
    """One row of the ``verify`` JSON."""
    claim, witness = evidence.claim, evidence.witness
    return {
        "id": claim.id,
        "paper": claim.paper,
        "location": claim.location,
        "statement": claim.statement,
        "expected": claim.expected.value,
        "verdict": evidence.verdict.value,
        "witness": witness.text() if witness else None,
        "published": witness.claimed if witness else evidence.claimed,
        "exact": witness.actual if witness else evidence.actual,
        "margin": evidence.margin,
        "tightest": evidence.tightest,
        "tightness": evidence.tightness,
        "certified": bool(witness and witness.certified),
        "samples": evidence.samples,
        "seconds": evidence.seconds,
    }


def item_as_json(item: Item) -> dict[str, Any]:
    """A row of the same shape for an item that is no claim."""
    nothing = dict.fromkeys(("witness", "published", "exact", "margin", "tightest", "tightness"))
    return {
        "id": item.id,
        "paper": item.paper,
        "location": item.location,
        "statement": "",
        "expected": item.verdict.value,
        "verdict": item.verdict.value,
        **nothing,
        "certified": False,
        "samples": 0,
        "seconds": 0.0,
    }
