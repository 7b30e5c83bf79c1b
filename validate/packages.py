"""What other installed packages bring along: papers, figures, commands and tables of the system file, by their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Generic, TypeVar

from airtight.analytics.checks import AirtightError

PAPERS, FIGURES, COMMANDS, TABLES = "airtight.papers", "airtight.figures", "airtight.commands", "airtight.tables"

_Kind = TypeVar("_Kind")


class SourceError(AirtightError):
    """Something cannot be loaded; the message is one line with the file or the entry point, and the reason."""


@dataclass(frozen=True)
class Brought(Generic[_Kind]):
    """An object of another package.

    Attributes
    ----------
    object : object
    place : str
        The entry point, as errors name it.
    module : str
        The module that the entry point names.
    package : str
        Name and version of the installed package.
    """

    object: _Kind
    place: str
    module: str
    package: str


def brought(group: str, kind: type[_Kind]) -> Iterator[Brought[_Kind]]:
    """The objects that the entry points of a group name, in the order of their names.

    Raises
    ------
    SourceError
        When an entry point does not import, or names an object of another kind.
    """
    for point in sorted(metadata.entry_points(group=group), key=lambda point: (point.name, point.value)):
        place = f"entry point {group}: {point.name} = {point.value}"
        try:
            brought_object = point.load()
        except (Exception, SystemExit) as error:  # a module that exits must not end a trial with exit code 0
            raise SourceError(f"{place}: {error_text(error)}") from error
        if not isinstance(brought_object, kind):
            raise SourceError(f"{place}: must be a {kind.__name__}, is {brought_object!r}")
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "a package without a name"
        yield Brought(brought_object, place, point.value.partition(":")[0].strip(), package)


def error_text(error: BaseException) -> str:
    """Type and message of an exception, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
