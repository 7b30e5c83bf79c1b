"""The papers on trial. Each is a folder here, found by itself, or a package with an entry point ``airtight.papers``.

A folder holds an object ``PAPER``, or several in ``PAPERS``. No list names it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

_FIRST = ("feature_dp", "corbin_fl", "utility_fairness")  # their order in the ledger; the others follow by name


def found() -> list[Any]:
    """The objects of all folders.

    Examples
    --------
    >>> [paper.id for paper in found()][:2]
    ['feature-dp', 'feature-dp-short']
    """
    folders = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    folders.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    papers: list[Any] = []
    for name in folders:
        module = import_module(f"{__name__}.{name}")
        papers += getattr(module, "PAPERS", None) or [module.PAPER]
    return papers
