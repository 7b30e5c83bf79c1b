"""Our papers on trial: each is a folder here, found by itself. Those of other packages have an entry point ``airtight.papers``.

A folder holds an object of type :class:`airtight.validate.claims.claim.Paper`, or several. No list names it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from airtight.validate.claims.claim import Paper

_FIRST = ("feature_dp", "corbin_fl", "utility_fairness")  # their order in the ledger; the others follow by name


def found() -> list[tuple[str, Paper]]:
    """The papers of all folders, each with the name of its module.

    Examples
    --------
    >>> [paper.id for _, paper in found()]
    ['feature-dp', 'feature-dp-short', 'corbin-fl', 'utility-fairness', 'airtight']
    """
    folders = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    folders.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    modules = [import_module(f"{__name__}.{name}") for name in folders]
    return [(module.__name__, value) for module in modules for value in vars(module).values() if isinstance(value, Paper)]
