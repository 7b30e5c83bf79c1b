"""The extras: what each one installs, and an error that names the extra whose module is missing."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from types import FrameType, ModuleType
from typing import Any

from airtight.analytics.errors import AirtightError

MODULES = {  # what each extra of pyproject.toml brings, as it is imported
    "verify": ("flint", "mpmath", "sympy"),
    "design": ("clarabel", "cvxpy"),
    "train": ("mlxtend", "networkx", "sklearn"),
    "sweep": ("xarray", "zarr"),
    "tables": ("openpyxl", "pandas", "pyarrow"),
    "report": ("jinja2", "latex2mathml", "markupsafe", "matplotlib", "xarray"),
    "watch": ("watchfiles",),
    "cluster": ("dask", "distributed"),
    "dp-accounting": ("dp_accounting",),
    "flower": ("flwr",),
    "protocol": ("cryptography",),
}
_HOLDS = {"cluster": ("sweep",), "report": ("verify", "train")}  # extras that an extra includes


class MissingExtraError(AirtightError, ModuleNotFoundError):
    """A package of an extra is not installed; the message says how to install it.

    Attributes
    ----------
    extra : str
    name : str
        The module that is missing.
    """

    def __init__(self, name: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"needs {name}, which is not installed: {installation(extra)}", name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.extra)


def installation(extra: str) -> str:
    """The command that installs an extra, where this copy came from: a folder, a file or address, or a package index.

    Examples
    --------
    >>> installation("report").startswith("pip install ")
    True
    """
    return _command(extra, _origin())


def _origin() -> Mapping[str, Any]:
    """What pip wrote down of where the package came from (PEP 610); nothing for an index."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow to load, and seldom needed

    try:
        text = distribution("airtight-dp").read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    return {} if text is None else dict(json.loads(text))


def _command(extra: str, origin: Mapping[str, Any]) -> str:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        return f"pip install '.[{extra}]' in {url2pathname(urlsplit(url).path)}"
    source = f" @ {url}" if url else ""
    return f"pip install 'airtight-dp[{extra}]{source}'"


def require(extra: str) -> None:
    """Raise MissingExtraError where a package of this extra is not installed; before work that would need it at its end.

    Examples
    --------
    >>> require("verify")
    """
    for name in (name for each in (extra, *_HOLDS.get(extra, ())) for name in MODULES[each]):
        if importlib.util.find_spec(name) is None:
            raise MissingExtraError(name, extra)


class _Finder(MetaPathFinder):
    """Import hook that turns a missing optional dependency of airtight into an error naming the extra to install.

    All other importers, and those who only ask whether a module is there, get the usual answer.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        extra = next((extra for extra, modules in MODULES.items() if name in modules), None)
        if path is not None or extra is None:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") in ("importlib", "importlib._bootstrap"):
            frame = frame.f_back
        if frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "airtight":
            raise MissingExtraError(name, extra)


def name_missing() -> None:
    """From now on a module of airtight that imports a missing package of an extra raises MissingExtraError."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
