"""What other installed packages bring along: papers, figures, commands and tables of the system file, by their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import TypeVar

from airtight.analytics.checks import AirtightError

PAPERS, FIGURES, COMMANDS, TABLES = "airtight.papers", "airtight.figures", "airtight.commands", "airtight.tables"

_Kind = TypeVar("_Kind")


class SourceError(AirtightError):
    """Something cannot be loaded; the message is one line with the file or the entry point, and the reason."""


def brought(group: str, kind: type[_Kind]) -> Iterator[tuple[str, _Kind]]:
    """The objects that the entry points of a group name, each with the place of its entry point.

    Raises
    ------
    SourceError
        When an entry point does not import, or names an object of another kind.
    """
    for point in metadata.entry_points(group=group):
        place = f"entry point {group}: {point.name} = {point.value}"
        try:
            brought_object = point.load()
        except Exception as error:
            raise SourceError(f"{place}: {error_text(error)}") from error
        if not isinstance(brought_object, kind):
            raise SourceError(f"{place}: must be a {kind.__name__}, is {brought_object!r}")
        yield place, brought_object


def error_text(error: Exception) -> str:
    """Type and message of an exception, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
