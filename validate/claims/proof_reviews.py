"""When each proof by hand was last read, and whether what it speaks of has changed since.

``proofs.toml`` in the folder of the papers has a line for each row that is argued: the day on which the proof was last read
against the code, a digest of the code (:mod:`airtight.validate.claims.code_digest`) and one of the text of the proof. Where
a digest is no longer that of the line, the row is shown as *argued, to be read again*. A reader then compares the proof with the
code and renews the line::

    python -m airtight.validate.claims.proof_reviews              # names the rows to be read again, and the functions to be read
    python -m airtight.validate.claims.proof_reviews FDP-T1a CB   # these have been read today
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from importlib import resources
from pathlib import Path

from airtight.validate import program
from airtight.validate.claims import code_digest, proofs, sources
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.proofs import Section
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.files import whole

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


def record() -> dict[str, Line]:
    """The lines of the installed version, by row.

    Examples
    --------
    >>> record()["CB-A2"].read.year
    2026
    """
    papers = tomllib.loads(_file().read_text(encoding="utf-8"))
    return {row: Line(**line) for lines in papers.values() for row, line in lines.items()}


def _file() -> Path:
    return Path(str(resources.files("airtight.validate.papers"))) / NAME


def of(claim: Claim) -> Reading | None:
    """The last reading of the proof of an installed claim; None for other claims, and where the record has no line.

    Examples
    --------
    >>> from airtight.validate.claims.sources import INSTALLED
    >>> of(INSTALLED.claims()["FDP-D2"]) is None
    True
    """
    return _of_installed(claim.id) if claim.argued and INSTALLED.claims().get(claim.id) is claim else None


@cache
def _of_installed(row: str) -> Reading | None:
    line = _record().get(row)
    return None if line is None else Reading(line.read, line.changed(today(INSTALLED.claims()[row])))


_record, _sections = cache(record), cache(proofs.sections)


def today(claim: Claim) -> Line:
    """The line of a claim whose proof is read today (UTC)."""
    section = proofs.of(claim, _sections(claim.paper))
    return Line(datetime.now(UTC).date(), code_digest.digest(claim), _of_text(section))


def _of_text(section: Section | None) -> str:
    """The digest of the text of a proof, whose lines may be broken elsewhere."""
    return "" if section is None else code_digest.short([section.hypotheses.split(), section.body.split()])


def text(lines: dict[str, Line]) -> str:
    """The contents of the record, in the order of the papers; lines of rows that are not argued are dropped."""
    made = _HEAD
    for paper in INSTALLED.papers().values():
        if here := [claim.id for claim in paper.claims if claim.argued and claim.id in lines]:
            made += f"\n[{paper.id}]\n" + "".join(_line(row, lines[row]) for row in here)
    return made


def _line(row: str, line: Line) -> str:
    return f'"{row}" = {{ read = {line.read}, code = "{line.code}", proof = "{line.proof}" }}\n'


def main(names: Sequence[str]) -> None:
    """Renew the lines of the named rows, or name the rows whose proofs are to be read again."""
    argued = {name: claim for name, claim in INSTALLED.claims().items() if claim.argued}
    if names:
        read = sources.select(names, list(argued))
        with whole(_file()) as stream:
            stream.write(text(record() | {name: today(argued[name]) for name in read}).encode())
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
