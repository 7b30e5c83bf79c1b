"""Prints the evidence of trials: how many verdicts are reproduced, what is refuted, and each claim."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from airtight.console import Sheet, next_step, notes, say, screen
from airtight.results.numerals import plain
from airtight.validate.claims.certificates.writing import writable
from airtight.validate.claims.claim import REFUTED, Item, Severity, Verdict
from airtight.validate.claims.evidence import Evidence, How
from airtight.validate.claims.relation import Sign
from airtight.validate.claims.sources import INSTALLED

_NUMBERED = re.compile(r"(?:Theorem|Lemma|Proposition|Corollary) \d+")
_EXAMPLES = 5  # numbered statements that the first screen shows
_COLOURS = {
    Verdict.HOLDS: "green",
    Verdict.HOLDS_UNDER: "green",
    Verdict.FALSE: "red",
    Verdict.OTHER_READING: "yellow",
    Verdict.ILL_DEFINED: "yellow",
    Verdict.NOT_REPRODUCIBLE: "yellow",
}


def verdicts(
    evidence: Sequence[Evidence], *, listed: bool = True, refuted_only: bool = False, steps: Sequence[tuple[str, str]] = ()
) -> None:
    """Print how many verdicts are as ruled and what is refuted, and, if asked for, every claim; its first word says how we know.

    Parameters
    ----------
    listed, refuted_only : bool
        Whether every claim, or every refuted one, follows.
    steps : sequence of (str, str)
        Commands that help from here, each with what it is for.
    """
    console = screen()
    right = sum(e.as_expected for e in evidence)
    counts, failing = severities(evidence), sum(e.verdict in REFUTED for e in evidence)
    verb = "claim is" if failing == 1 else "claims are"
    say(
        console,
        f"{right} of {len(evidence)} verdicts reproduced; {failing} {verb} refuted.",
        style="bold green" if right == len(evidence) else "bold red",
    )
    for e in evidence:
        if not e.as_expected:
            say(console, f"{e.claim.id}: {e.fault or f'{e.said}, expected {e.claim.expected}'}", style="bold red")
    if len(evidence) > 1 or right == 0:  # one claim as ruled is shown itself
        _counted(console, evidence, counts)
    if listed or refuted_only:
        console.print()
        for e in evidence:
            if not refuted_only or e.verdict in REFUTED:
                _shown(console, e)
    else:
        _statements(console, evidence)
    if steps:
        next_step(console, *steps)


def _counted(console: Console, evidence: Sequence[Evidence], counts: Mapping[Severity, int]) -> None:
    """Print the numbers of claims by verdict."""
    readings = sum(e.verdict is Verdict.OTHER_READING for e in evidence)
    failing = sum(e.verdict in REFUTED for e in evidence)
    table = Sheet(("", "claims"))
    by_whom = "" if all(e.claim.kind == "statement" for e in evidence) else f" ({refuted(evidence)})"
    table.add_row(f"refuted{by_whom}", f"{failing}")
    for severity, count in counts.items():
        table.add_row(f"  {severity.value}", f"{count}")
    if failing > sum(counts.values()):  # the file expects them to hold
        table.add_row("  against the ruling", f"{failing - sum(counts.values())}")
    table.add_row("false as printed, true as the authors may mean it", f"{readings}")
    table.add_row("not refuted", f"{len(evidence) - failing - readings}")
    console.print(table)
    if ways := known(evidence):
        notes(console, [f"Known by: {format_counts(ways)}."])


def _statements(console: Console, evidence: Sequence[Evidence]) -> None:
    """Print the first numbered statements that fail, with a counterexample each."""
    failing = dict[tuple[str, str], str]()
    for e in evidence:
        statement = _NUMBERED.search(e.claim.location)
        if e.verdict in REFUTED and e.claim.ruling.severity is Severity.THEOREM and statement and e.leading is not None:
            numbers = f"claimed {plain(e.leading.claimed)}, true {bound(e)}{plain(e.leading.actual)}"
            failing.setdefault((e.claim.paper, statement[0]), f"{e.claim.id}: {e.claim.paper}, {statement[0]}: {numbers}")
    if not failing:
        return
    console.print()
    say(console, f"Numbered statements that fail ({len(failing)}), for example", indent=2)
    for example in list(failing.values())[:_EXAMPLES]:
        say(console, example, indent=4)


def _shown(console: Console, e: Evidence) -> None:
    """Print a claim with both quantities, and its counterexample on lines of its own."""
    witness = e.leading
    line = Text(f"{e.claim.id}  ")
    line.append(e.said, style=_COLOURS.get(e.verdict, "bold red"))
    if e.verdict is not e.claim.expected:
        line.append(f", expected {e.claim.expected}", style="bold red")
    claimed, actual = (witness.claimed, witness.actual) if witness else (e.claimed, e.actual)
    if not math.isnan(claimed):
        line.append(f"; claimed {plain(claimed)}, true {bound(e)}{plain(actual)}")
    if not (e.fault or math.isnan(e.tightness) or e.claim.relation.sign is Sign.EQUAL):
        line.append(f", tight to a factor {e.tightness:.3g}")
    console.print(line)
    say(console, f"{e.claim.location} ({e.claim.paper})", indent=4)
    if e.fault:
        say(console, e.fault, indent=4)
    elif witness:
        at = ", ".join(f"{name}={value}" for name, value in witness.text().items()) or "the values of the statement"
        proof = "certified" if writable(e.claim, e.witness) else "proved in interval arithmetic"
        proof = f" ({proof})" if witness.certified else ""
        see = f"; see {e.claim.ruling.corrected_by}" if e.claim.ruling.corrected_by else ""
        say(console, f"at {at}{proof}{see}", indent=4)


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
    return {(claim.paper, statement[0]) for claim in failing if (statement := _NUMBERED.search(claim.location))}


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


def items(further: Sequence[Item]) -> None:
    """Print the numbered items that are not claims."""
    console = screen()
    console.print()
    say(console, f"{len(further)} further items: definitions, or beyond computation", style="bold")
    for item in further:
        say(console, f"{item.id}  {item.verdict.value}, {item.location}")
        say(console, item.reason, indent=4)
