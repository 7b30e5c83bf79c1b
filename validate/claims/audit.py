"""The theorem audit: tries many claims, of the installed papers or of a user's file."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

from airtight.analytics import checks
from airtight.validate.claims import EFFORT, sources
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.evidence import Evidence
from airtight.validate.claims.search import trial
from airtight.validate.claims.sources import INSTALLED, Source


def selected(ids: Sequence[str] = (), source: Source = INSTALLED) -> list[Claim]:
    """Claims with these identifiers or prefixes of identifiers ("CB", "UF-E"), or of these papers; by default all
    claims.

    The identifier of a reference in :attr:`Claim.also` selects the claim that has this reference.

    Examples
    --------
    >>> len(selected(["corbin-fl"])) == len(INSTALLED.papers()["corbin-fl"].claims)
    True
    """
    all_claims, papers = source.claims(), source.papers()
    ids = [
        name
        for identifier in ids
        for name in ([c.id for c in papers[identifier]] if identifier in papers else [identifier])
    ]
    aliases = {reference.id: claim.id for claim in all_claims.values() for reference in claim.also}
    selected_names = sources.select(ids, [*all_claims, *aliases])
    return [all_claims[name] for name in dict.fromkeys(aliases.get(name, name) for name in selected_names)]


def run(
    ids: Sequence[str] = (),
    *,
    seed: int = 0,
    effort: int = EFFORT,
    limit: float = math.inf,
    source: Source = INSTALLED,
    executor: Executor | None = None,
) -> Iterator[Evidence]:
    """Try claims and yield the evidence of each as soon as it is known.

    Parameters
    ----------
    ids : sequence of str
        Identifiers, prefixes of identifiers, or papers; all claims by default.
    seed : int
    effort : int
        Number of evaluations for each claim.
    limit : float
        Wall-clock seconds. A claim that is not finished by then is ``unsettled``, with the fault ``stopped``.
    source : Source
        The installed papers (default), or a file.
    executor : concurrent.futures.Executor, optional
        Runs the trials; by default they run in this process, one after the other. It must use processes, not threads,
        because all threads share one precision of ball arithmetic.
    """
    checks.count("effort", effort)
    deadline = time.time() + limit
    claims = selected(ids, source)
    if executor is None:
        for claim in claims:
            yield trial(claim, seed=seed, effort=effort, deadline=deadline)
        return
    by_name = {claim.id: claim for claim in claims}
    costly_first = sorted(claims, key=lambda claim: claim.effort)  # a costly claim has a small `effort`
    pending = [executor.submit(_tried, source, c.id, seed, effort, deadline) for c in costly_first]
    try:
        for finished in as_completed(pending):
            name, evidence_fields = finished.result()
            yield Evidence(claim=by_name[name], **evidence_fields)
    finally:
        for future in pending:
            future.cancel()


def _tried(source: Source, name: str, seed: int, effort: int, deadline: float) -> tuple[str, dict[str, Any]]:
    """Try one claim in a worker process; return its identifier and the fields of its evidence without the claim.

    A claim holds functions and cannot be pickled. Its source, its identifier and the other fields of the evidence can.
    """
    claim = source.claims()[name]
    evidence = trial(claim, seed=seed, effort=effort, deadline=deadline)
    return name, {key: value for key, value in vars(evidence).items() if key != "claim"}
