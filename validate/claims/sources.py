"""Sources of claims: our papers and those of installed packages (entry points ``airtight.papers``), or a Python file of a user.

Users select claims by identifiers, or by prefixes of identifiers.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from airtight.analytics.checks import ParameterError
from airtight.validate import papers
from airtight.validate.claims.claim import Claim, Item, Paper
from airtight.validate.packages import PAPERS as GROUP
from airtight.validate.packages import SourceError, brought, error_text


@dataclass(frozen=True)
class Source:
    """All installed papers, or the papers of one file. A source can be pickled; the claims cannot.

    Attributes
    ----------
    path : str
        The file; empty for the installed papers.
    packages : bool
        Whether the papers of other installed packages count.
    """

    path: str = ""
    packages: bool = True

    def papers(self) -> dict[str, Paper]:
        """Papers by identifier.

        Raises
        ------
        SourceError
            When something does not import, holds no claim, or uses an identifier twice.
        """
        return _of_file(self.path) if self.path else {name: each.paper for name, each in self._installed().items()}

    def claims(self) -> dict[str, Claim]:
        """Claims by identifier, in the order of the papers."""
        return {claim.id: claim for paper in self.papers().values() for claim in paper.claims}

    def digest(self, paper: str) -> str:
        """SHA-256 of the source of a paper: the file, or the modules of its package in the order of their names."""
        if self.path:
            files = [Path(self.path)]
        else:
            home = self.home(paper)
            files = sorted(home.parent.glob("*.py")) if home.name == "__init__.py" else [home]
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

    def home(self, paper: str) -> Path:
        """The file that defines a paper."""
        return Path(self.path) if self.path else self._installed()[paper].home

    def records(self, paper: str) -> Path:
        """The folder with the records of an installed paper, its evidence and the readings of its proofs.

        Ours are together, in the folder of our papers; another package has its own beside the module of the paper.
        """
        each = self._installed()[paper]
        return each.home.parent if each.package else Path(papers.__path__[0])

    def package(self, paper: str) -> str:
        """Name and version of the package that brings a paper; empty for our papers and those of a file."""
        return "" if self.path else self._installed()[paper].package

    def _installed(self) -> dict[str, _Installed]:
        """Our papers, and those of other packages if they count."""
        return _all() if self.packages else _ours()

    def items(self) -> dict[str, Item]:
        """The numbered items that are not claims, by identifier."""
        return {item.id: item for paper in self.papers().values() for item in paper.items}


INSTALLED, OURS = Source(), Source(packages=False)


def named(claim: str, file: str | Path | None = None) -> Claim:
    """The claim with this identifier, of the installed papers or of a Python file.

    Raises
    ------
    ParameterError, SourceError
    """
    known = (INSTALLED if file is None else Source(str(file))).claims()
    if claim not in known:
        near = [name for name in known if name.startswith(claim[:3])] or list(known)
        raise ParameterError("claim", claim, f"an identifier of a claim, such as {', '.join(near[:4])}")
    return known[claim]


@dataclass(frozen=True)
class _Installed:
    """An installed paper, the module that holds it, and the package that brings it: empty for our papers."""

    paper: Paper
    module: str
    package: str = ""

    @property
    def home(self) -> Path:
        """The file of the module."""
        file = getattr(sys.modules.get(self.module), "__file__", None)
        if file is None:
            raise SourceError(f"{self.paper.id}: the module {self.module} has no file")
        return Path(file)


@cache
def _ours() -> dict[str, _Installed]:
    return {paper.id: _Installed(paper, module) for module, paper in papers.found()}


@cache
def _all() -> dict[str, _Installed]:
    others = [_Installed(each.object, each.module, each.package) for each in brought(GROUP, Paper)]
    installed = [*_ours().values(), *others]
    where = f"entry points {GROUP}"
    for each in installed:
        if strangers := [claim.id for claim in each.paper if claim.paper != each.paper.id]:
            raise SourceError(f"{where}: {', '.join(strangers)} in {each.paper.id} must have no other paper")
    _distinct([each.paper for each in installed], where)
    return {each.paper.id: each for each in installed}


@cache
def _of_file(path: str) -> dict[str, Paper]:
    module = _imported(path)
    papers = [value for value in vars(module).values() if isinstance(value, Paper)]
    if not papers:
        loose_claims = [value for value in vars(module).values() if isinstance(value, Claim)]
        for value in vars(module).values():
            if isinstance(value, list | tuple):
                loose_claims += [claim for claim in value if isinstance(claim, Claim)]
        if not loose_claims:
            raise SourceError(f"{path}: there is no Paper and no Claim at the top level of the file")
        try:
            stem = Path(path).stem
            papers = [Paper(re.sub(r"[^\w-]", "-", stem), stem, "", 0, list({id(c): c for c in loose_claims}.values()))]
        except ValueError as error:
            raise SourceError(f"{path}: {error}") from None
    return _distinct(papers, path)


def _imported(path: str) -> ModuleType:
    """The module of a Python file, imported under a name of its own."""
    file = Path(path)
    try:
        there = file.is_file()
    except OSError:  # a name that is too long
        there = False
    if not there:
        raise SourceError(f"{path}: there is no such file")
    name = f"airtight_tried_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise SourceError(f"{path}: must be a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a file that exits would end the trial as if all were well
        del sys.modules[name]
        raise SourceError(f"{path}: {_failing_line(error, path)}{error_text(error)}") from error
    return module


def _failing_line(error: BaseException, path: str) -> str:
    """The line of the file in the last frame of the traceback that belongs to the file; empty if there is none."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == Path(path).absolute():
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"line {line}: " if line else ""


def _distinct(papers: list[Paper], where: str) -> dict[str, Paper]:
    """Papers by identifier; every identifier must be used once, and every `corrected_by` must exist.

    A paper of a package can so replace neither one of ours nor a claim of it, under its own name or as a reference.
    """
    paper_of: dict[str, str] = {}
    for paper in papers:
        references = [reference.id for claim in paper.claims for reference in claim.also]
        for name in [*paper.names(), *references]:
            if name in paper_of:
                raise SourceError(f"{where}: the identifier {name} is used in {paper_of[name]} and in {paper.id}")
            paper_of[name] = paper.id
    ids = [paper.id for paper in papers]
    for paper in papers:
        if ids.count(paper.id) > 1:
            raise SourceError(f"{where}: two papers have the identifier {paper.id}")
        if not paper.names():
            raise SourceError(f"{where}: the paper {paper.id} holds no claim")
        for claim in paper.claims:
            if claim.ruling.corrected_by and claim.ruling.corrected_by not in paper_of:
                raise SourceError(
                    f"{where}: {claim.id} is corrected by {claim.ruling.corrected_by}, which does not exist"
                )
    return {paper.id: paper for paper in papers}


_STEM = re.compile(r"(\w+-[A-Za-z]+\d*).*")  # paper, kind and number of an identifier
_THEOREM = re.compile(r"\w+-T\d+")
_LIKE = 0.7  # likeness, at most 1, from which a name of another paper or kind may be meant
_LONGEST_LIST = 30  # up to this number an error message lists all names


def select(ids: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that equal one of these identifiers, or else begin with it; by default all names.

    Examples
    --------
    >>> select(["CB-2", "UF-1"], ["CB-1", "CB-2a", "CB-2b", "UF-1", "UF-10"])
    ['CB-2a', 'CB-2b', 'UF-1']
    """
    selected: list[str] = []
    for identifier in ids:
        matching = (
            [identifier]
            if identifier in names
            else [name for name in names if identifier and name.startswith(identifier)]
        )
        if not matching:
            raise ParameterError("ID", identifier, _allowed(identifier, names))
        selected += matching
    return list(dict.fromkeys(selected)) if ids else list(names)


def _allowed(identifier: str, names: Sequence[str]) -> str:
    """The allowed identifiers for an error message: all of a few, else the nearest ones, else the papers."""
    if len(names) <= _LONGEST_LIST:
        return f"one of {', '.join(names)}, or a prefix of several of them"
    if near := nearest(identifier, names):
        return f"an identifier of a claim, or its beginning; did you mean {', '.join(near)}? ({len(names)} in all)"
    papers = dict.fromkeys(name.partition("-")[0] + "-" for name in names)
    return f"an identifier of a claim, or its beginning, one of {', '.join(papers)} ({len(names)} in all)"


def nearest(identifier: str, names: Sequence[str]) -> list[str]:
    """At most three identifiers, or beginnings of some, that an unknown one may mean: of the same paper and kind, if there are.

    Examples
    --------
    >>> nearest("FDP-T9", ["CB-T9", "FDP-E9", "FDP-T1", "FDP-T1-eq23", "FDP-T2*", "FDP-T2*-far"])
    ['FDP-T1', 'FDP-T2']
    >>> nearest("t9", ["CB-T9", "FDP-T9", "FDP-T1"]), nearest("WRONG", ["CB-T9", "FDP-T1"])
    (['CB-T9', 'FDP-T9'], [])
    """
    wanted, ranked = identifier.upper(), list[tuple[int, float, str]]()
    for name in dict.fromkeys(part for each in names for part in (_STEM.sub(r"\1", each), each)):
        without_paper = name.partition("-")[2].upper()
        alike = [one == other for one, other in zip(wanted, name.upper(), strict=False)]
        shared = [*alike, False].index(False)
        likeness = max(difflib.SequenceMatcher(None, wanted, text).ratio() for text in (name.upper(), without_paper))
        paper_only = shared == len(name.partition("-")[0]) + 1
        if paper_only and _THEOREM.fullmatch(name):  # of an unknown kind: the theorems
            likeness = 1.0
        if shared > len(name.partition("-")[0]) or likeness >= _LIKE:
            ranked.append((-shared, -likeness, name))
    best = sorted(ranked, key=lambda each: each[:2])
    return [name for shared, likeness, name in best if (shared, likeness) == best[0][:2]][:3]
