"""Sources of claims: the installed papers (folders here, entry points ``airtight.papers``), or a Python file of a user.

Users select claims by identifiers, or by common beginnings of identifiers.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

from airtight.analytics.checks import AirtightError, ParameterError
from airtight.validate.claims.claim import Claim, Item, Paper

GROUP = "airtight.papers"


class SourceError(AirtightError):
    """Claims cannot be had; one line that names the file or the entry point, and why."""


@dataclass(frozen=True)
class Source:
    """All papers installed, or those of one file. It travels between processes; the claims do not."""

    path: str = ""

    def papers(self) -> dict[str, Paper]:
        """Papers by identifier.

        Raises
        ------
        SourceError
            When something does not import, holds no claim, or uses an identifier twice.
        """
        return _of_file(self.path) if self.path else _installed()

    def claims(self) -> dict[str, Claim]:
        """Claims by identifier, in the order of the papers."""
        return {claim.id: claim for paper in self.papers().values() for claim in paper.claims}

    def digest(self, paper: str) -> str:
        """SHA-256 of the source of a paper: of the file, or of the modules of its package, in the order of their names."""
        if self.path:
            files = [Path(self.path)]
        else:
            home = self.home(paper)
            files = sorted(home.parent.glob("*.py")) if home.name == "__init__.py" else [home]
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

    def home(self, paper: str) -> Path:
        """The file that a paper is read from."""
        return Path(self.path) if self.path else _home(self.papers()[paper])

    def items(self) -> dict[str, Item]:
        """What is numbered and no claim."""
        return {item.id: item for paper in self.papers().values() for item in paper.items}


INSTALLED = Source()


def _home(paper: Paper) -> Path:
    """The file whose module holds the paper."""
    holding = [
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__file__", None) and any(value is paper for value in vars(module).values())
    ]
    if not holding:
        raise SourceError(f"{paper.id}: no module holds it")
    first = min(
        holding, key=lambda name: (name == "__main__", not name.startswith("airtight.validate.papers."))
    )  # not who imports it
    return Path(str(sys.modules[first].__file__))


@cache
def _installed() -> dict[str, Paper]:
    from airtight.validate import papers

    found = papers.found()
    for point in metadata.entry_points(group=GROUP):
        try:
            paper = point.load()
        except Exception as error:
            raise SourceError(f"entry point {GROUP}: {point.name} = {point.value}: {_said(error)}") from error
        if not isinstance(paper, Paper):
            raise SourceError(f"entry point {GROUP}: {point.name} = {point.value}: must be a Paper, is {paper!r}")
        found.append(paper)
    return _distinct(found, f"entry points {GROUP}")


@cache
def _of_file(path: str) -> dict[str, Paper]:
    module = _imported(path)
    papers = [value for value in vars(module).values() if isinstance(value, Paper)]
    if not papers:
        loose = [value for value in vars(module).values() if isinstance(value, Claim)]
        for value in vars(module).values():
            if isinstance(value, list | tuple):
                loose += [claim for claim in value if isinstance(claim, Claim)]
        if not loose:
            raise SourceError(f"{path}: no Paper and no Claim at the top level")
        try:
            papers = [Paper(Path(path).stem, Path(path).stem, "", 0, list({id(c): c for c in loose}.values()))]
        except ValueError as error:
            raise SourceError(f"{path}: {error}") from None
    return _distinct(papers, path)


def _imported(path: str) -> ModuleType:
    file = Path(path)
    if not file.is_file():
        raise SourceError(f"{path}: no such file")
    name = f"airtight_tried_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise SourceError(f"{path}: must be a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise SourceError(f"{path}: {_place(error, path)}{_said(error)}") from error
    return module


def _place(error: Exception, path: str) -> str:
    """The last line of the file itself that the error came through."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == Path(path).absolute():
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"line {line}: " if line else ""


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _distinct(papers: list[Paper], where: str) -> dict[str, Paper]:
    seen: dict[str, str] = {}
    for paper in papers:
        for name in paper.names():
            if name in seen:
                raise SourceError(f"{where}: {name} stands in {seen[name]} and in {paper.id}")
            seen[name] = paper.id
    for paper in papers:
        for claim in paper.claims:
            if claim.ruling.corrected_by and claim.ruling.corrected_by not in seen:
                raise SourceError(
                    f"{where}: {claim.id} is corrected by {claim.ruling.corrected_by}, which there is not"
                )
    return {paper.id: paper for paper in papers}


_SHOWN = 30


def select(ids: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names with these identifiers, or beginning with them; all by default.

    Examples
    --------
    >>> select(["CB-2", "UF-1"], ["CB-1", "CB-2a", "CB-2b", "UF-1", "UF-10"])
    ['CB-2a', 'CB-2b', 'UF-1']
    """
    found: list[str] = []
    for given in ids:
        matching = [given] if given in names else [name for name in names if given and name.startswith(given)]
        if not matching:
            raise ParameterError("ID", given, f"one of {_some(given, names)}, or what several of them begin with")
        found += matching
    return list(dict.fromkeys(found)) if ids else list(names)


def _some(given: str, names: Sequence[str]) -> str:
    if len(names) <= _SHOWN:
        return ", ".join(names)
    written = {name.upper(): name for name in names}
    near = [written[name] for name in difflib.get_close_matches(given.upper(), written, 6, 0.3)] or names[:6]
    return ", ".join(near) + f" ... ({len(names)} in all)"
