r"""Proofs by hand: sections of the Markdown files in a paper's folder, and Notes of docstrings.

Each proof is written once: the documentation includes the files and prints the docstrings, and ``airtight paper``
converts them to LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pydoc import locate

from airtight.analytics import checks
from airtight.validate.claims.claim import Claim, docstring
from airtight.validate.claims.sources import INSTALLED, Source

_LABEL = re.compile(r"^\(([\w-]+)\)=\n", re.M)
_HYPOTHESES = re.compile(r"\*Hypotheses\.\*\s+(.*?)(?:\n\n|\Z)", re.S)
_NOTES = re.compile(r"^Notes\n-----\n(.*?)(?=^\w+\n-{3,}\n|\Z)", re.M | re.S)
_MATH = re.compile(r"^( *)\.\. math:: *(.*(?:\n(?:\1 +\S.*|(?=\n\1 +\S)))*)", re.M)


@dataclass(frozen=True)
class Section:
    """One proof, or a section on which several proofs rest.

    Attributes
    ----------
    label, heading : str
        Label and text of the heading. The heading lists identifiers of rows; for a docstring both are the name of the
        documented object.
    hypotheses, body : str
        Markdown.
    preamble : str
        The text before the first section of the file, which defines the notation.
    """

    label: str
    heading: str
    hypotheses: str
    body: str
    preamble: str = ""


def sections(paper: str, source: Source = INSTALLED) -> dict[str, Section]:
    """All sections in the folder of a paper, by label, in the order of the files.

    Examples
    --------
    >>> sections("corbin-fl")["cb-e1"].hypotheses
    '$|c| \\\\le 1 \\\\le A$; sums over $n$ and over $n-1$ clients, both divided by $n$.'
    """
    return {section.label: section for _, section in _beside(source.home(paper))}


def proofs_beside(module: str) -> dict[str, str]:
    """Addresses of the proofs in the folder of a module, by the rows that their headings name.

    Parameters
    ----------
    module : str
        Path of the module (``__file__``).

    Examples
    --------
    >>> from airtight.validate.papers import corbin_fl
    >>> proofs_beside(corbin_fl.__file__)["CB-T1*-bits"]
    'docs/proofs.md#cb-t1'
    """
    return {
        row: f"docs/{page}#{section.label}"
        for page, section in _beside(Path(checks.instance("module", module, str)))
        for row in section.heading.split(", ")
    }


def _beside(module: Path) -> Iterator[tuple[str, Section]]:
    """Names of the Markdown files in a module's folder, and the sections of each."""
    for path in sorted(module.parent.glob("*.md")):
        preamble, *parts = _LABEL.split(path.read_text(encoding="utf-8"))
        for label, text in zip(parts[::2], parts[1::2], strict=True):
            heading, _, body = text.partition("\n")
            yield path.name, _section(label, heading.lstrip("# "), body, preamble.strip())


def of(claim: Claim, known: dict[str, Section]) -> Section | None:
    """The proof that a claim names: a section, by the label of its link, or the Notes of a docstring."""
    if "#" in claim.argued:
        return known.get(claim.argued.partition("#")[2])
    notes = _NOTES.search(docstring(locate(claim.argued))) if claim.argued else None
    return _section(claim.argued, claim.argued, markdown(notes[1])) if notes else None


def _section(label: str, heading: str, body: str, preamble: str = "") -> Section:
    hypotheses = _HYPOTHESES.match(body.strip())
    proof = body.strip()[hypotheses.end() :] if hypotheses else body
    return Section(label, heading, " ".join(hypotheses[1].split()) if hypotheses else "", proof.strip(), preamble)


def markdown(docstring: str) -> str:
    r"""Notes of a docstring as Markdown.

    Examples
    --------
    >>> markdown("By :math:`x^2 \\ge 0` and ``f``,\n\n.. math:: x\n   \\ge 0")
    'By $x^2 \\ge 0$ and `f`,\n\n$$x \\ge 0$$'
    """
    made = _MATH.sub(lambda m: f"$${' '.join(m[2].split())}$$", docstring)
    made = re.sub(r":math:`([^`]+)`", r"$\1$", made)
    made = re.sub(r":\w+:`([^`]+)`", r"`\1`", made)
    return made.replace("``", "`")
