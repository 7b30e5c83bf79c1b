"""All figures by identifier, and how they are written: an SVG, and a JSON of caption and data."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from analytics.checks import ParameterError
from validate.figures import collaborative, corbin, inference, utility
from validate.figures.figure import Advance, Effort, Redrawn
from validate.report import style

FIGURES: dict[str, Callable[[Effort, Advance], Redrawn]] = {
    **collaborative.FIGURES,
    **inference.FIGURES,
    **corbin.FIGURES,
    **utility.FIGURES,
}


def selected(ids: Sequence[str]) -> list[str]:
    """The figures with these identifiers, or beginning with them; all by default.

    Examples
    --------
    >>> selected(["CB-2", "UF-1"])
    ['CB-2a', 'CB-2b', 'CB-2c', 'UF-1']
    """
    found: list[str] = []
    for name in ids:
        matching = [name] if name in FIGURES else [full for full in FIGURES if name and full.startswith(name)]
        if not matching:
            raise ParameterError("ID", name, "one of " + ", ".join(FIGURES) + ", or what several of them begin with")
        found += matching
    return list(dict.fromkeys(found)) if ids else list(FIGURES)


def draw(ids: Sequence[str], effort: Effort, advance: Advance) -> Iterator[Redrawn]:
    """One figure after the other."""
    for name in selected(ids):
        yield FIGURES[name](effort, advance)


def write(out: Path, found: Redrawn) -> None:
    """OUT/ID.svg, OUT/ID.json (data and caption); each appears whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    tree = {"id": found.id, "caption": found.caption, "data": found.data.to_dict()}
    for name, text in ((f"{found.id}.svg", style.svg(found.figure)), (f"{found.id}.json", json.dumps(_plain(tree)))):
        with tempfile.NamedTemporaryFile("w", dir=out, delete=False, encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(stream.name, 0o644)
        os.replace(stream.name, out / name)


def _plain(value: object) -> object:
    """nan as None, for strict JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value != value:
        return None
    return value
