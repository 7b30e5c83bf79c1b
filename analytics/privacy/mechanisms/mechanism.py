r"""A mechanism: a pair of laws (P, Q), given by lower and upper bounds of its hockey-stick curve in either order.

The curve of a pair holds for a whole family of neighbours when the pair dominates the family: :math:`D_\lambda(P\|Q)`
is at least that of every member at every :math:`\lambda > 0`, also below 1. Only then does a composition of the pair
bound every adaptive composition of members (Zhu, Dong and Wang 2022).

A new mechanism is a class with :meth:`Mechanism.delta_bracket` in a module of its own beside this one, which calls
:func:`register`. Composition, trade-off, JSON and the exchange with dp_accounting ask for nothing else. A mechanism with
a pure epsilon has :meth:`Mechanism.greatest_loss` and :meth:`Mechanism.reached_loss`, too: without them the epsilon at
delta = 0 is infinite.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.rounding import SMALLEST, UNIT

BracketArrays = tuple[FloatArray, FloatArray]


class Mechanism(ABC):
    """One mechanism, used once.

    Attributes
    ----------
    unit : str
        What neighbours differ in, such as "device 3, silent"; empty where it is left open.
    """

    unit: str
    symmetric = False  # whether (P, Q) and (Q, P) have the same curve
    bounded_below = True  # whether the lower bounds of both orders say something
    spacing: float | None = None  # every privacy loss is a multiple of it
    costly = False  # whether values of the curve cost much more than a composition
    sketched = 20  # points in a decade of epsilon at which a sketch of the curve is evaluated
    rough = False  # whether bounds of the curve, rather than a grid, may keep those of a composition apart
    pair = True  # whether it is one pair of laws, not a family of them
    closed = False  # whether a composition of mechanisms of this kind is one of this kind

    def __post_init__(self) -> None:
        """Check the parameters; a class with more of them extends it."""
        checks.text("unit", self.unit)

    @abstractmethod
    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        """Lower and upper bound of the hockey-stick divergence at each epsilon in [0, inf]; of (Q, P) if `reverse`.

        A family of pairs has the lower bound 0 here; :meth:`attained` gives a lower bound of its greatest curve.
        """

    def epsilons(self, delta: FloatArray, *, reverse: bool = False) -> BracketArrays | None:
        """Lower and upper bound of the least epsilon at each delta in (0, 1), where there is a direct way; else None.

        Without one, the bounds of the curve are searched.
        """
        return None

    def best_epsilons(self, alpha: FloatArray) -> FloatArray | None:
        r"""The epsilon at which :math:`1 - \delta(\epsilon) - e^\epsilon\alpha` is greatest, if there is a closed form.

        It is a hint: the trade-off function is bounded by the value at any epsilon.
        """
        return None

    def greatest_loss(self, *, reverse: bool = False) -> float:
        """An upper bound of the pure epsilon of (P, Q), or of (Q, P); infinite where none exists or none is known."""
        return np.inf

    def reached_loss(self, *, reverse: bool = False) -> float:
        """A lower bound of the pure epsilon of (P, Q), or of (Q, P); 0 where nothing is known."""
        return 0.0

    def fall(self, epsilon: float) -> float | None:
        """How fast log delta falls in epsilon, nearly; None where that takes many values of the curve."""
        return None

    @property
    def dominating_mu(self) -> float:
        """The mu of a Gaussian release that is proved to dominate this one; infinite where none is known."""
        return np.inf

    @property
    def renyi_lines(self) -> tuple[tuple[float, float], ...]:
        r"""Pairs (mu, s): the Renyi divergences of order a > 1 are at most :math:`a\mu^2/2 + s` in both orders."""
        return ((self.dominating_mu, 0.0),)

    def covers(self, release: Mechanism) -> bool:
        """Whether `release` is proved to be a post-processing of this mechanism: one kernel maps P to its P and Q to its Q.

        A mechanism covers itself. A class that covers more extends this method and has the kernel in its docstring. A curve
        that lies below, or a smaller pure epsilon, is no proof: other parameters may show more of the data.
        """
        return type(self) is type(release) and self.parameters() == release.parameters()

    def _covers_unit(self, release: Mechanism) -> bool:
        """Whether neighbours of the release are neighbours here: a unit that is left open stands for any."""
        return self.unit in ("", release.unit)

    @property
    def kind(self) -> Hashable:
        """A key: mechanisms with equal keys can be merged by :meth:`composed`."""
        return self

    def composed(self, factors: Factors) -> tuple[Mechanism, int]:
        """One mechanism, and how often it is used, in place of several of one kind."""
        raise NotImplementedError(type(self).__name__)

    def dominating(self, level: float) -> Factors:
        """Mechanisms whose composition dominates the family; `level` is the order of magnitude of delta in question."""
        return ((self, 1),)

    def attained(self, level: float) -> Factors:
        """Mechanisms whose composition is dominated by a pair of the family: lower bounds; empty if none is known."""
        return ((self, 1),)

    def for_sketch(self) -> Mechanism:
        """A mechanism with nearly the same curve that costs less to evaluate; sketches use it, and no bound rests on it."""
        return self

    def in_composition(self, releases: int) -> Mechanism:
        """The mechanism that replaces this one in a composition of so many, where looser bounds of the curve suffice."""
        return self

    @property
    def constructor(self) -> str:
        """The name of the constructor in JSON."""
        return _NAMES[type(self)]

    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor: numbers, strings and lists of them."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Mechanism:
        """The inverse of :meth:`parameters`."""
        return cls(**parameters)


Factors = tuple[tuple[Mechanism, int], ...]  # the mechanisms of a composition, and how often each is used


def _plain(value: Any) -> Any:
    """A tuple as a list, which is what JSON has; any other value unchanged."""
    return list(value) if isinstance(value, tuple) else value


def around(value: FloatArray) -> BracketArrays:
    """Lower and upper bound of a divergence whose computed value errs by less than sixteen units in the last place, or by
    the least double; 0 is exact."""
    least = np.where(value > 0, SMALLEST, 0.0)
    return np.maximum(value * (1 - 16 * UNIT) - least, 0.0), np.minimum(value * (1 + 16 * UNIT) + least, 1.0)


@dataclass(frozen=True)
class Bounded(Mechanism, ABC):
    """A mechanism with the pure epsilon `loss`, which both (P, Q) and (Q, P) attain.

    The loss is known up to a relative error of `slack`: it may be less than `loss` by so much.
    """

    loss: float
    symmetric = True
    slack: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "loss", checks.scalar("epsilon", self.loss, "[0, inf)"))
        object.__setattr__(self, "slack", checks.scalar("slack", self.slack, "[0, 1)"))

    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in super().parameters().items() if name != "slack" or value}

    def _exceeds(self, release: Bounded) -> bool:
        """Whether the loss is at least that of the release, for neighbours of its unit, whatever the slack of both hides."""
        return self._covers_unit(release) and Fraction(release.loss) <= Fraction(self.loss) * (1 - Fraction(self.slack))

    def ends_of(self, epsilon: FloatArray, curve: Callable[[float], FloatArray]) -> BracketArrays:
        """Lower and upper bound from the curve at each epsilon, a function of the loss; it is above 0 where epsilon is less."""

        def ends(loss: float) -> BracketArrays:
            return around(np.where(epsilon < loss, np.maximum(curve(loss), SMALLEST), 0.0))

        upper = ends(self.loss)
        return (ends(self.loss * (1 - self.slack)) if self.slack else upper)[0], upper[1]

    @property
    def spacing(self) -> float:  # type: ignore[override]
        return self.loss

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self.loss

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.loss * (1 - self.slack)


_NAMES: dict[type[Mechanism], str] = {}  # of the constructor in JSON
_ELSEWHERE = {  # constructor in JSON: the module that registers it, where that is not beside this one
    "fixed_size_sampled": "privacy.accounting.subsampled",
    "subsampled": "privacy.accounting.subsampled",
    "tabulated": "privacy.accounting.dp_accounting_interop",
    "system": "privacy.over_the_air.rounds",
    "system_with_channel": "privacy.over_the_air.multi_antenna.channel_privacy",
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
    if not isinstance(description, Mapping) or not {"constructor"} <= set(description) <= {"constructor", "parameters"}:
        raise ParameterError("release", description, "an object with the keys constructor and parameters")
    name = description["constructor"]
    if isinstance(name, str) and name in _ELSEWHERE:
        importlib.import_module(f"airtight.analytics.{_ELSEWHERE[name]}")
    elif name not in _NAMES.values():
        _register_package()
    classes = {name: kind for kind, name in _NAMES.items()}
    if name not in classes:
        raise ParameterError("constructor", name, "one of " + ", ".join(sorted({*classes, *_ELSEWHERE})))
    parameters = description.get("parameters", {})
    return classes[name].from_parameters({key: value if key == "unit" else _number(value) for key, value in parameters.items()})


def _number(value: Any) -> Any:
    """What strict JSON has a text for as a number, in lists too; any other value unchanged."""
    if isinstance(value, list):
        return [_number(each) for each in value]
    return math.inf if isinstance(value, str) and value == "inf" else value


def _register_package() -> None:
    """Import the modules beside this one: each registers its own mechanisms."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
