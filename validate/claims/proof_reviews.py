"""When each proof by hand was last read, and whether what it speaks of has changed since.

``proofs.toml`` beside the evidence of a paper has a line for each row that is argued: the day on which the proof was last read
against the code, a digest of the code (:mod:`airtight.validate.claims.code_digest`) and one of the text of the proof. Where
a digest is no longer that of the line, the row is shown as *argued, to be read again*. A reader then compares the proof with the
code and renews the line::

    python -m airtight.validate.claims.proof_reviews              # names the rows to be read again, and the functions to be read
    python -m airtight.validate.claims.proof_reviews FDP-T1a CB   # these have been read today
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

from airtight.validate import program
from airtight.validate.claims import code_digest, proofs, sources
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.proofs import Section
from airtight.validate.claims.sources import INSTALLED, OURS, Source
from airtight.validate.files import whole
from airtight.validate.packages import SourceError, error_text

NAME = "proofs.toml"
_HEAD = """\
# For each argued row: the day on which its proof was last read against the code that it speaks of, a digest of this code, and
# one of the proof. `make read` names the rows of which one has changed; `make read ID="FDP-T1a CB"` renews lines after reading.
"""


@dataclass(frozen=True)
class Line:
    """A line of the record.

    Attributes
    ----------
    read : datetime.date
        When the proof was last read against the code.
    code, proof : str
        Digests at this day.
    """

    read: date
    code: str
    proof: str

    def changed(self, now: Line) -> str:
        """What is no longer as it was read: ``code``, ``proof``, ``code and proof``, or nothing.

        Examples
        --------
        >>> day = date(2026, 11, 25)
        >>> Line(day, "a", "b").changed(Line(day, "c", "b")), Line(day, "a", "b").changed(Line(day, "a", "b"))
        ('code', '')
        """
        return " and ".join(name for name in ("code", "proof") if getattr(self, name) != getattr(now, name))


@dataclass(frozen=True)
class Reading:
    """The last reading of a proof.

    Attributes
    ----------
    read : datetime.date
    changed : str
        What has changed since: ``code``, ``proof``, ``code and proof``, or nothing.
    """

    read: date
    changed: str


def record(source: Source = INSTALLED) -> dict[str, Line]:
    """The lines of the installed papers, by row.

    Raises
    ------
    SourceError
        When the record of another package cannot be read.

    Examples
    --------
    >>> record()["CB-A2"].read.year
    2026
    """
    lines: dict[str, Line] = {}
    for file, papers in _files(source).items():
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
            lines |= {row: Line(**line) for paper in papers for row, line in tables.get(paper, {}).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise SourceError(f"{file}: no readings of proofs: {error_text(error)}") from error
    return lines


def _files(source: Source = INSTALLED) -> dict[Path, list[str]]:
    """The files of the record, and the papers of which each has the lines."""
    files: dict[Path, list[str]] = {}
    for paper in source.papers():
        files.setdefault(source.records(paper) / NAME, []).append(paper)
    return files


def of(claim: Claim) -> Reading | None:
    """The last reading of the proof of an installed claim; None for other claims, and where the record has no line.

    Examples
    --------
    >>> from airtight.validate.claims.sources import INSTALLED
    >>> of(INSTALLED.claims()["FDP-D2"]) is None
    True
    """
    if claim.argued:
        for source in (OURS, INSTALLED):  # ours needs no other package, which may not import
            if source.claims().get(claim.id) is claim:
                return _of_installed(claim.id, source)
    return None


@cache
def _of_installed(row: str, source: Source) -> Reading | None:
    line = _record(source).get(row)
    return None if line is None else Reading(line.read, line.changed(today(source.claims()[row], source)))


_record, _sections = cache(record), cache(proofs.sections)


def today(claim: Claim, source: Source = INSTALLED) -> Line:
    """The line of a claim whose proof is read today (UTC)."""
    section = proofs.of(claim, _sections(claim.paper, source))
    return Line(datetime.now(UTC).date(), code_digest.digest(claim), _of_text(section))


def _of_text(section: Section | None) -> str:
    """The digest of the text of a proof, whose lines may be broken elsewhere."""
    return "" if section is None else code_digest.short([section.hypotheses.split(), section.body.split()])


def text(lines: dict[str, Line], papers: Iterable[str]) -> str:
    """The contents of the record of these papers; lines of rows that are not argued are dropped."""
    made = _HEAD
    for paper in papers:
        claims = INSTALLED.papers()[paper].claims
        if here := [claim.id for claim in claims if claim.argued and claim.id in lines]:
            made += f"\n[{paper}]\n" + "".join(_line(row, lines[row]) for row in here)
    return made


def _line(row: str, line: Line) -> str:
    return f'"{row}" = {{ read = {line.read}, code = "{line.code}", proof = "{line.proof}" }}\n'


def main(names: Sequence[str]) -> None:
    """Renew the lines of the named rows, or name the rows whose proofs are to be read again."""
    argued = {name: claim for name, claim in INSTALLED.claims().items() if claim.argued}
    if names:
        read = sources.select(names, list(argued))
        lines = record() | {name: today(argued[name]) for name in read}
        for file, papers in _files().items():
            if any(argued[name].paper in papers for name in read):
                with whole(file) as stream:
                    stream.write(text(lines, papers).encode())
        print(f"read today: {', '.join(read)}")
        return
    readings = {name: of(claim) for name, claim in argued.items()}
    for name, reading in readings.items():
        if reading is None or reading.changed:
            since = "never read" if reading is None else f"read on {reading.read}, since then new {reading.changed}"
            covered = ", ".join(part.rpartition(":")[0] or part for part in sorted(code_digest.covered(argued[name])))
            print(f"{name}: {since}. The proof: {argued[name].argued}. The code: {covered or 'an expression'}")
    left = sum(reading is None or bool(reading.changed) for reading in readings.values())
    print(f"{left} of {len(readings)} proofs are to be read again")


if __name__ == "__main__":
    program.run(main, "airtight.validate.claims.proof_reviews [ID ...]")
