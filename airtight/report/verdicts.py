"""Prints the evidence of trials as tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from airtight.report.tables import number, screen
from airtight.validate.claims.certificates.writing import writable
from airtight.validate.claims.claim import REFUTED, Item, Severity, Verdict
from airtight.validate.claims.evidence import Evidence, How
from airtight.validate.claims.relation import Sign
from airtight.validate.claims.sources import INSTALLED

_NUMBERED = re.compile(r"(?:Theorem|Lemma|Proposition|Corollary) \d+")
_COLOURS = {
    Verdict.HOLDS: "green",
    Verdict.HOLDS_UNDER: "green",
    Verdict.FALSE: "red",
    Verdict.OTHER_READING: "yellow",
    Verdict.ILL_DEFINED: "yellow",
    Verdict.NOT_REPRODUCIBLE: "yellow",
}


def verdicts(evidence: Sequence[Evidence]) -> None:
    """Print one row for each claim; the first word of a verdict says how it is known."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", min_width=16)
    for heading in ("claimed", "actual", "tight"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("at", overflow="fold", min_width=24)
    for e in evidence:
        witness = e.leading
        at = ", ".join(f"{k}={v}" for k, v in witness.text().items()) if witness else ""
        shown = "certified" if writable(e.claim, e.witness) else "proved in balls"
        proof = f" ({shown})" if witness and witness.certified else ""
        verdict = Text(e.said, style=_COLOURS.get(e.verdict, "bold red"))
        if e.verdict is not e.claim.expected:
            verdict.append(f", expected {e.claim.expected}", style="bold red")
        if e.fault:
            at, proof = e.fault, ""
        elif witness and e.claim.ruling.corrected_by:
            proof += f"; see {e.claim.ruling.corrected_by}"
        claimed, found = (witness.claimed, witness.actual) if witness else (e.claimed, e.actual)
        actual = bound(e) + number(found)
        tight = "" if math.isnan(e.tightness) or e.claim.relation.sign is Sign.EQUAL else f"{e.tightness:.3g}"
        table.add_row(e.claim.id, verdict, number(claimed), actual, tight, at + proof)
    console = screen()
    console.print(table)
    right = sum(e.as_expected for e in evidence)
    style = "green" if right == len(evidence) else "red"
    console.print(f"{right} of {len(evidence)} claims as ruled", style=style)
    if ways := known(evidence):
        console.print(f"known by: {format_counts(ways)}", highlight=False)
    if counts := severities(evidence):
        statements = f"; {len(numbered(evidence))} distinct numbered statements" if Severity.THEOREM in counts else ""
        of_papers = all(e.claim.kind == "statement" for e in evidence)
        by_whom = "" if of_papers else f" ({refuted(evidence)})"
        console.print(f"{sum(counts.values())} refuted{by_whom}: {format_counts(counts)}{statements}", highlight=False)
    if readings := sum(e.verdict is Verdict.OTHER_READING for e in evidence):
        console.print(f"{readings} false in another reading only", highlight=False)


def packages(papers: Iterable[str]) -> None:
    """Print which of these papers other installed packages bring, a line for each package; nothing where there is none."""
    brought: dict[str, list[str]] = {}
    for paper in papers:
        brought.setdefault(INSTALLED.package(paper), []).append(paper)
    for package, named in brought.items():
        if package:
            screen().print(f"from the package {package}: {', '.join(named)}", highlight=False, markup=False)


def bound(e: Evidence) -> str:
    """The relation sign before the actual value of a witness, where this value is only a bound.

    Examples
    --------
    >>> from airtight.validate.claims.audit import run
    >>> [bound(e) for e in run(["FDP-L6-raw", "FDP-D2"])]
    ['≤ ', '']
    """
    if e.witness is None or not e.claim.relation.bounded:
        return ""
    return "≥ " if e.claim.relation.sign is Sign.AT_MOST else "≤ "


def severities(evidence: Sequence[Evidence]) -> dict[Severity, int]:
    """Number of refuted claims of each severity that occurs."""
    kinds = [e.claim.ruling.severity for e in evidence if e.verdict in REFUTED]
    return {kind: kinds.count(kind) for kind in Severity if kind in kinds}


_SAID = {"statement": "statements of papers", "implementation": "promises of code", "draft": "our own drafts"}


def refuted(evidence: Sequence[Evidence]) -> str:
    """The refuted claims by who states them, as text: a paper, published code, or a draft of ours.

    Examples
    --------
    >>> from airtight.validate.claims.evidence import shipped
    >>> refuted([e for e in shipped().evidence if e.claim.id in ("FDP-D2", "IM-CB-binary", "AT-V4-not-falling")])
    'statements of papers 1, our own drafts 1'
    """
    kinds = [e.claim.kind for e in evidence if e.verdict in REFUTED]
    return ", ".join(f"{said} {kinds.count(kind)}" for kind, said in _SAID.items() if kind in kinds)


def numbered(evidence: Sequence[Evidence]) -> set[tuple[str, str]]:
    """Paper and number of each theorem, lemma and proposition that fails in the authors' own model.

    Examples
    --------
    >>> from airtight.validate.claims.evidence import shipped
    >>> rows = {"FDP-T1", "FDP-T1-hidden-r", "FDP-MSE"}
    >>> sorted(numbered([e for e in shipped().evidence if e.claim.id in rows]))
    [('feature-dp', 'Theorem 1')]
    """
    failing = [e.claim for e in evidence if e.verdict in REFUTED and e.claim.ruling.severity is Severity.THEOREM]
    return {(claim.paper, found[0]) for claim in failing if (found := _NUMBERED.search(claim.location))}


def known(evidence: Sequence[Evidence]) -> dict[How, int]:
    """Number of settled claims that are known in each way that occurs."""
    ways = [e.how for e in evidence if e.verdict is not Verdict.UNSETTLED]
    return {way: ways.count(way) for way in How if way in ways}


def format_counts(counts: Mapping[Severity, int] | Mapping[How, int]) -> str:
    """Counts as text.

    Examples
    --------
    >>> format_counts({Severity.THEOREM: 2, Severity.MISPRINT: 1})
    '2 theorem, 1 misprint'
    """
    return ", ".join(f"{count} {kind.value}" for kind, count in counts.items())


def items(found: Sequence[Item]) -> None:
    """Print the numbered items that are not claims."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("item", "verdict", "where"):
        table.add_column(heading, no_wrap=True)
    table.add_column("why", overflow="fold", min_width=24)
    for item in found:
        table.add_row(item.id, item.verdict.value, item.location, item.reason)
    console = screen()
    console.print(table)
    console.print(f"{len(found)} further items: definitions, or beyond computation", highlight=False)
