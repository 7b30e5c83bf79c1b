"""Results of the full effort, shipped as JSON next to this module, so that captions and ledger rows need no long run.

``make findings`` computes them again.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airtight.validate.files import whole

if TYPE_CHECKING:
    import xarray as xr

FOLDER = "full"
_DIGITS = 6  # significant digits of shipped numbers


def finding(name: str) -> str:
    """The outcome of the paper's statement about a figure, in one sentence.

    Examples
    --------
    >>> finding("CB-1").startswith('"the proposed mechanisms outperform')
    True
    """
    return str(_tree(name)["finding"])


def read(name: str) -> xr.Dataset:
    """The shipped data of a figure."""
    import xarray as xr

    dataset = xr.Dataset.from_dict(_tree(name)["data"])
    return dataset.map(lambda values: values.astype(float) if values.dtype.kind in "Oiuf" else values, keep_attrs=True)


def write(folder: Path, name: str, data: xr.Dataset, finding: str) -> None:
    """Write FOLDER/NAME.json, with numbers of six significant digits."""
    tree = {"id": name, "finding": finding, "data": _rounded(plain(data.to_dict()))}
    with whole(folder / f"{name}.json") as stream:
        stream.write((json.dumps(tree, separators=(",", ":")) + "\n").encode())


def plain(value: object) -> object:
    """The value with nan replaced by None, for strict JSON."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and value != value:
        return None
    return value


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _tree(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(FOLDER, f"{name}.json").read_text(encoding="utf-8")
    tree: dict[str, Any] = json.loads(text)
    return tree
