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
    """The claims with these identifiers, or beginning with them ("CB", "UF-E"), or of these papers; all of them by default.

    An identifier of the same theorem in another paper selects the row that tries it.

    Examples
    --------
    >>> len(selected(["corbin-fl"])) == len(INSTALLED.papers()["corbin-fl"].claims)
    True
    """
    every, papers = source.claims(), source.papers()
    ids = [name for given in ids for name in ([c.id for c in papers[given]] if given in papers else [given])]
    aliases = {reference.id: claim.id for claim in every.values() for reference in claim.also}
    found = sources.select(ids, [*every, *aliases])
    return [every[name] for name in dict.fromkeys(aliases.get(name, name) for name in found)]


def run(
    ids: Sequence[str] = (),
    *,
    seed: int = 0,
    effort: int = EFFORT,
    limit: float = math.inf,
    source: Source = INSTALLED,
    executor: Executor | None = None,
) -> Iterator[Evidence]:
    """Try claims and yield their evidence as it comes.

    Parameters
    ----------
    ids : sequence of str
        Identifiers, or common beginnings of identifiers; all claims by default.
    seed : int
    effort : int
        Evaluations for each claim.
    limit : float
        Wall-clock seconds after which the remaining claims are reported as ``unsettled: stopped``.
    source : Source
        The papers installed, by default, or a file.
    executor : concurrent.futures.Executor, optional
        Runs the trials; by default they run in this process, one after the other. It must use processes, not threads, because
        all threads share one precision of ball arithmetic.
    """
    checks.count("effort", effort)
    deadline = time.time() + limit
    wanted = selected(ids, source)
    if executor is None:
        for claim in wanted:
            yield trial(claim, seed=seed, effort=effort, deadline=deadline)
        return
    by_name = {claim.id: claim for claim in wanted}
    costly_first = sorted(wanted, key=lambda claim: claim.effort)
    pending = [executor.submit(_tried, source, c.id, seed, effort, deadline) for c in costly_first]
    try:
        for done in as_completed(pending):
            name, found = done.result()
            yield Evidence(claim=by_name[name], **found)
    finally:
        for future in pending:
            future.cancel()


def _tried(source: Source, name: str, seed: int, effort: int, deadline: float) -> tuple[str, dict[str, Any]]:
    """Try one claim in a worker. Claims hold functions and cannot be pickled; sources, names and evidence can."""
    claim = source.claims()[name]
    found = trial(claim, seed=seed, effort=effort, deadline=deadline)
    return name, {key: value for key, value in vars(found).items() if key != "claim"}
