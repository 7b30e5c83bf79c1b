"""The evidence that comes with the version: what `make ledger` found, with its seed and effort."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from importlib import resources
from typing import Any

from airtight.validate.claims import EFFORT
from airtight.validate.claims.claim import Verdict
from airtight.validate.claims.evidence import Evidence, Extent, How, Witness
from airtight.validate.claims.sources import INSTALLED

NAME = "evidence.json"  # beside the papers


@dataclass(frozen=True)
class Shipped:
    """Evidence of an earlier audit, in the order of the papers.

    Attributes
    ----------
    seed, effort : int
    evidence : list of Evidence
        Of the claims that there still are.
    """

    seed: int
    effort: int
    evidence: list[Evidence]


def text(evidence: Sequence[Evidence], *, seed: int = 0, effort: int = EFFORT) -> str:
    """The file."""
    rows = {e.claim.id: {f.name: _plain(getattr(e, f.name)) for f in fields(e) if f.name != "claim"} for e in evidence}
    return json.dumps({"seed": seed, "effort": effort, "rows": rows}, indent=0) + "\n"


def shipped() -> Shipped:
    """What is installed.

    Examples
    --------
    >>> shipped().evidence[0].verdict.value
    'false'
    """
    read = json.loads(resources.files("airtight.validate.papers").joinpath(NAME).read_text(encoding="utf-8"))
    claims = INSTALLED.claims()
    found = [Evidence(claim=claims[name], **_back(row)) for name, row in read["rows"].items() if name in claims]
    return Shipped(read["seed"], read["effort"], found)


def _plain(value: Any) -> Any:
    if isinstance(value, Witness | Extent):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: _plain(x) for name, x in value.items()}
    return str(value) if isinstance(value, Fraction) else value


def _back(row: dict[str, Any]) -> dict[str, Any]:
    enums = {"verdict": Verdict(row["verdict"]), "how": How(row["how"])}
    enums |= {"form": How(row["form"])} if row.get("form") else {}
    witnesses = {name: _witness(row[name]) for name in ("witness", "near_paper")}
    return {**row, **enums, **witnesses, "extent": Extent(**row["extent"]) if row["extent"] else None}


def _witness(row: dict[str, Any] | None) -> Witness | None:
    if row is None:
        return None
    point = {name: Fraction(value) for name, value in row["point"].items()}
    balls = None if row["balls"] is None else tuple(tuple(ends) for ends in row["balls"])
    return Witness(**{**row, "point": point, "balls": balls})
