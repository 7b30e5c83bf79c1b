r"""A mechanism: a pair of laws (P, Q) known by both ends of its hockey-stick curve, in either order.

A curve holds for a whole family of neighbours when the pair dominates it: :math:`D_\lambda(P\|Q)` is the greatest of the family
at every :math:`\lambda > 0`, not only from 1 on. Only then do compositions of the pair hold for adaptively composed members
(Zhu, Dong and Wang 2022).

A new mechanism is a class with :meth:`Mechanism.ends` in a module of its own, which calls :func:`register`. Composition,
trade-off, JSON and the exchange with dp_accounting ask for nothing else.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.rounding import UNIT

SIDE = 1 / 16  # of a cell: how far from its middle the slope of a line below a curve is taken, if values cost little
Ends = tuple[FloatArray, FloatArray]


class Mechanism(ABC):
    """One mechanism, used once.

    Attributes
    ----------
    unit : str
        What neighbours differ in, such as "device 3, silent"; empty where it is left open.
    """

    unit: str
    symmetric = False  # whether both orders have one curve
    bounded_below = True  # whether the lower ends of both orders say something
    spacing: float | None = None  # losses are multiples of it
    side = SIDE  # of lines below its curve: 1/2 if values are costly
    sketched = 20  # points a decade of a first look at its curve
    pair = True  # whether it is one pair of laws, not a family of them
    closed = False  # whether several of its kind are one of that kind

    @abstractmethod
    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        """Both ends of the divergence at each epsilon in [0, inf]; of (Q, P) if `reverse`.

        Of a family of pairs the lower end is 0: the greatest of its curves is bounded from below by :meth:`attained` only.
        """

    def greatest_loss(self, *, reverse: bool = False) -> float:
        """What the pure epsilon of an order is at most; infinite where there is none, or none is known."""
        return np.inf

    def reached_loss(self, *, reverse: bool = False) -> float:
        """What the pure epsilon of an order is at least, for a pair; 0 where nothing is known."""
        return 0.0

    @property
    def kind(self) -> Hashable:
        """What those have in common that :meth:`composed` makes one."""
        return self

    def composed(self, factors: Factors) -> tuple[Mechanism, int]:
        """What releases of one kind, each some number of times, say together."""
        raise NotImplementedError(type(self).__name__)

    def dominating(self, level: float) -> Factors:
        """Releases that together give away no less than any pair of the family; `level` is about the delta that matters."""
        return ((self, 1),)

    def attained(self, level: float) -> Factors:
        """Releases that together give away no more than one pair of the family; none where none is known."""
        return ((self, 1),)

    def in_composition(self) -> Mechanism:
        """What stands for it among several: its ends need not be as near each other there."""
        return self

    @property
    def constructor(self) -> str:
        """The name by which JSON knows it."""
        return _NAMES[type(self)]

    def parameters(self) -> dict[str, Any]:
        """What makes it again: numbers, strings, lists of them."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def made(cls, parameters: Mapping[str, Any]) -> Mechanism:
        """The inverse of :meth:`parameters`."""
        return cls(**parameters)


Factors = tuple[tuple[Mechanism, int], ...]  # releases, and how often each occurs


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def around(value: FloatArray) -> Ends:
    """Both ends of a divergence that was computed in closed form: sixteen units in the last place to either side."""
    return value * (1 - 16 * UNIT), np.minimum(value * (1 + 16 * UNIT), 1.0)


@dataclass(frozen=True)
class Bounded(Mechanism, ABC):
    """One of a pure epsilon `loss` that both orders reach."""

    loss: float
    symmetric = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", checks.scalar("epsilon", self.loss, "[0, inf)"))

    @property
    def spacing(self) -> float:  # type: ignore[override]
        return self.loss

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self.loss

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.loss


_NAMES: dict[type[Mechanism], str] = {}
_ROOT = "airtight.analytics"
_HOMES = {  # of every mechanism of the package the module that registers it, by the name of its constructor in JSON
    "gaussian": "privacy.mechanisms.gaussian",
    "shown": "privacy.mechanisms.gaussian",
    "laplace": "privacy.mechanisms.laplace",
    "randomized_response": "privacy.mechanisms.randomized_response",
    "discrete": "privacy.mechanisms.discrete_pair",
    "subsampled": "privacy.accounting.subsampled",
    "tabulated": "privacy.accounting.interchange",
    "system": "privacy.over_the_air.rounds",
    "unequal_noise": "federated.fair.unequal_noise",
    "aggregation": "federated.corbin.aggregation",
}


def register(kind: type[Mechanism], name: str) -> None:
    """Make a class of mechanisms known to JSON by the name of its constructor."""
    _NAMES[kind] = name


def described(release: Mechanism) -> dict[str, Any]:
    """Constructor and parameters.

    Examples
    --------
    >>> from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
    >>> described(Gaussian(1.0))
    {'constructor': 'gaussian', 'parameters': {'mu': 1.0, 'unit': '', 'slack': 0.0}}
    """
    return {"constructor": release.constructor, "parameters": release.parameters()}


def release_of(description: Mapping[str, Any]) -> Mechanism:
    """The inverse of :func:`described`.

    Examples
    --------
    >>> release_of({"constructor": "gaussian", "parameters": {"mu": 1.0}})
    Gaussian(mu=1.0, unit='', slack=0.0)
    """
    name = description.get("constructor")
    if isinstance(name, str) and name in _HOMES:
        importlib.import_module(f"{_ROOT}.{_HOMES[name]}")
    kinds = {name: kind for kind, name in _NAMES.items()}
    if name not in kinds:
        raise ParameterError("constructor", name, "one of " + ", ".join(sorted({*kinds, *_HOMES})))
    return kinds[name].made(description.get("parameters", {}))
