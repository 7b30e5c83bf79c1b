"""The numbered items of a paper: which rows try each, how these are known, and why none does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from airtight.validate.claims.claim import Claim, Item, Paper, Verdict
from airtight.validate.claims.evidence import Evidence, How
from airtight.validate.claims.sources import INSTALLED, Source


class Standing(StrEnum):
    """What the rows of an item have settled, the most first."""

    SETTLED = "proved or refuted"
    SEARCHED = "searched"
    DEFINED = "definition"
    OPEN = "not decided"


@dataclass(frozen=True)
class NumberedItem:
    """An item that a paper has numbered.

    Attributes
    ----------
    paper, kind : str
        The paper's identifier, and what the paper calls the item: ``Eq.``, ``Theorem``, ...
    number : int
    rows : tuple of str
        Identifiers of the claims and definitions at this place.
    known : tuple of str
        How the claims are known, each way once: ``proved``, ``argued``, ``witness``, ...
    standing : Standing
    reason : str
        Why nothing is decided; empty unless this is the standing.
    """

    paper: str
    kind: str
    number: int
    rows: tuple[str, ...]
    known: tuple[str, ...]
    standing: Standing
    reason: str = ""


def numbers(kind: str, location: str) -> set[int]:
    """Numbers of one kind in the place of a row.

    Examples
    --------
    >>> sorted(numbers("Eq.", "App. D, Eq. (48), (50)-(52)")), numbers("Definition", "Definitions 1, 2, Eq. (6)")
    ([48, 50, 51, 52], {1, 2})
    """
    named: set[int] = set()
    plural = kind if kind.endswith(".") else f"{kind}s?"
    one = r"\(?(\d+)\)?(?:\([a-c]\))?"
    item = rf"{one}(?:\s*(?:-|to)\s*{one})?"
    for group in re.finditer(rf"(?<![A-Z]){plural} ({item}(?:, {item})*)", location):
        for first, last in re.findall(item, group.group(1)):
            named |= set(range(int(first), int(last or first) + 1))
    return named


def numbered_items(evidence: Iterable[Evidence], source: Source = INSTALLED) -> Iterator[NumberedItem]:
    """All numbered items of the papers, in the order of the papers and of their numbers."""
    how = {e.claim.id: e.how for e in evidence}
    claims, items = source.claims(), source.items()
    for paper in source.papers().values():
        places: list[tuple[Claim | Item, str]] = [(claim, place) for claim in claims.values() for place in _places(claim, paper)]
        places += [(item, item.location) for item in items.values() if item.paper == paper.id]
        for kind, count in paper.numbered.items():
            at = [(row, numbers(kind, place)) for row, place in places]
            for number in range(1, count + 1):
                yield _item(paper.id, kind, number, [row for row, places_of in at if number in places_of], how)


def _places(claim: Claim, paper: Paper) -> list[str]:
    """Where in this paper the claim is stated."""
    elsewhere = [reference.location for reference in claim.also if reference.paper == paper.id]
    return [claim.location, *elsewhere] if claim.paper == paper.id else elsewhere


def _item(paper: str, kind: str, number: int, rows: list[Claim | Item], how: dict[str, How]) -> NumberedItem:
    tried = [row for row in rows if isinstance(row, Claim)]
    known = sorted({how[row.id].value for row in tried if row.id in how})
    undecided = [row for row in rows if isinstance(row, Item) and row.verdict is Verdict.UNDECIDABLE]
    if set(known) - {How.SEARCHED.value}:
        standing = Standing.SETTLED
    elif tried:
        standing = Standing.SEARCHED
    elif len(rows) > len(undecided):
        standing = Standing.DEFINED
    else:
        standing = Standing.OPEN
    reason = " ".join(row.reason for row in undecided) if standing is Standing.OPEN else ""
    return NumberedItem(paper, kind, number, tuple(row.id for row in rows), tuple(known), standing, reason)
