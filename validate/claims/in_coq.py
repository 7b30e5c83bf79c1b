"""Which theorems of ``general.v``, in the papers' folders, Coq's kernel has accepted as they stand.

A row that is argued by hand may name a theorem of this file, which states it in general. ``make formal`` compiles the files and
writes ``coq.toml``: for each paper a digest of the text and of all that it requires. Where the text is no longer that of the
digest, the row is shown as *proved in Coq, to be compiled again*.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from airtight.validate.claims.claim import Claim
from airtight.validate.claims.sources import INSTALLED, OURS
from airtight.validate.files import whole

NAME, FILE = "coq.toml", "general.v"
_HEAD = """\
# For each paper with general.v: a digest of it and of all that it requires, as Coq's kernel accepted them in `make formal`.
"""
_LIBRARY = Path(__file__).parent / "certificates"
_REQUIRED = re.compile(r"^From Airtight Require (?:Import |Export )?([\w ]+)\.$", re.M)


def digest(file: Path, library: Path, head: str = "") -> str:
    """The hash of a text and of all texts that it requires."""
    text = file.read_text("utf-8")
    others = [digest(library / f"{name}.v", library, head) for line in _REQUIRED.findall(text) for name in line.split()]
    return hashlib.sha256("\n".join([head, text, *others]).encode()).hexdigest()


def accepted(claim: Claim) -> bool:
    """Whether Coq has accepted the theorem that an installed claim names, and the file is still the same.

    Examples
    --------
    >>> accepted(INSTALLED.claims()["FDP-D2"])
    False
    """
    if claim.coq:
        for source in (OURS, INSTALLED):  # ours needs no other package, which may not import
            if source.claims().get(claim.id) is claim:
                file, record = source.home(claim.paper).with_name(FILE), source.records(claim.paper) / NAME
                return claim.coq.rpartition(".")[2] in _accepted(file, record)
    return False


@cache
def _accepted(file: Path, record: Path) -> frozenset[str]:
    """The theorems of a paper's file, if Coq has accepted it as it stands."""
    if not (file.is_file() and record.is_file()):
        return frozenset()
    if tomllib.loads(record.read_text("utf-8")).get(file.parent.name) != digest(file, _LIBRARY):
        return frozenset()
    return frozenset(re.findall(r"^Theorem (\w+)", file.read_text("utf-8"), re.M))


def record(compiled: Mapping[Path, Path]) -> None:
    """Write the records of papers: of each file of a paper's folder, the digest of the copy that Coq has accepted."""
    records = {INSTALLED.home(paper).parent: INSTALLED.records(paper) for paper in INSTALLED.papers()}
    for place in {records[file.parent] for file in compiled}:
        copies = {file.parent.name: copy for file, copy in sorted(compiled.items()) if records[file.parent] == place}
        lines = [f'{name} = "{digest(copy, copy.parent)}"\n' for name, copy in copies.items()]
        with whole(place / NAME) as stream:
            stream.write((_HEAD + "".join(lines)).encode())
