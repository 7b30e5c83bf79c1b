"""Results of the full effort, shipped as JSON beside this module: captions and ledger rows need no long run.

``make findings`` makes them anew.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airtight.validate.files import whole

if TYPE_CHECKING:
    import xarray as xr

_FOLDER = "full"
_DIGITS = 6


def finding(name: str) -> str:
    """What became of what the paper says of a figure, in one sentence.

    Examples
    --------
    >>> finding("CB-1").startswith('"the proposed mechanisms outperform')
    True
    """
    return str(_tree(name)["finding"])


def read(name: str) -> xr.Dataset:
    """The data of a figure."""
    import xarray as xr

    found = xr.Dataset.from_dict(_tree(name)["data"])
    return found.map(lambda values: values.astype(float) if values.dtype.kind in "Oiuf" else values, keep_attrs=True)


def write(folder: Path, name: str, data: xr.Dataset, finding: str) -> None:
    """FOLDER/NAME.json, numbers with six digits."""
    tree = {"id": name, "finding": finding, "data": _rounded(plain(data.to_dict()))}
    with whole(folder / f"{name}.json") as stream:
        stream.write((json.dumps(tree, separators=(",", ":")) + "\n").encode())


def plain(value: object) -> object:
    """nan as None, for strict JSON."""
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
    text = resources.files(__package__).joinpath(_FOLDER, f"{name}.json").read_text(encoding="utf-8")
    tree: dict[str, Any] = json.loads(text)
    return tree


def main(names: list[str]) -> None:
    """Run the studies with full effort, all or those named, and write what they found."""
    from airtight.validate.experiments.figures import gallery
    from airtight.validate.experiments.figures.figure import Effort, Study

    folder = Path(__file__).with_name(_FOLDER)
    folder.mkdir(exist_ok=True)
    for name in gallery.selected(names):
        study = gallery.FIGURES[name]
        if isinstance(study, Study):
            found = study(Effort.full(), lambda done: print(done, file=sys.stderr))
            if found.finding is not None:
                write(folder, name, found.data, found.finding.text())


if __name__ == "__main__":
    main(sys.argv[1:])
