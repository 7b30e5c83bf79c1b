"""Selects identifiers by their whole names or common beginnings."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from airtight.analytics.checks import ParameterError

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
