"""Parameters of value types: symbol, unit, interval and typical range of each, defined once, in the type itself.

The parameters are descriptors: ``weight: Vector = Vector("w_k", "[0, inf)", "...")`` in a dataclass accepts any
array_like and holds a checked array. The tables of the system file, the documentation and the domains of claims read
these definitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from html import escape
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray

Held = TypeVar("Held")
Given = TypeVar("Given")
Member = TypeVar("Member", bound=StrEnum)
_REQUIRED: Any = object()


class Parameter(Generic[Given, Held]):
    """One parameter of a value type.

    Parameters
    ----------
    symbol : str
        Symbol in the papers (LaTeX).
    interval : str
        Allowed values, such as ``"(0, 1]"``.
    meaning : str
    unit : str
    typical : tuple of float, optional
        Least and greatest value that the papers use.
    default : optional
        Default value; without it, the parameter is required.

    Attributes
    ----------
    name : str
        Name in code and files.
    holds : str
        Type of the value, in words.
    """

    holds = ""

    def __init__(
        self,
        symbol: str,
        interval: str,
        meaning: str,
        *,
        unit: str = "",
        typical: tuple[float, float] | None = None,
        default: Any = _REQUIRED,
    ) -> None:
        self.symbol, self.interval, self.meaning, self.unit, self.typical = symbol, interval, meaning, unit, typical
        self.default = default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Held: ...
    def __get__(self, instance: object | None, owner: type) -> Self | Held:
        """The value of an instance; on the class, the default, from which a dataclass learns whether one exists."""
        if instance is not None:
            held: Held = instance.__dict__[self.name]
            return held
        if self.required:
            raise AttributeError(self.name)
        default: Self = self.default
        return default

    def __set__(self, instance: object, value: Given) -> None:
        instance.__dict__[self.name] = self.checked(value)

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    def checked(self, value: Any) -> Any:
        """The value in the form in which it is held; a ParameterError if it is not allowed."""
        raise NotImplementedError


class Number(Parameter[float, float]):
    """One real number."""

    holds = "number"

    def checked(self, value: Any) -> float:
        return checks.scalar(self.name, value, self.interval)


class Count(Parameter[int, int]):
    """One integer."""

    holds = "integer"

    def checked(self, value: Any) -> int:
        return checks.count(self.name, value, self.interval)


class Vector(Parameter[ArrayLike, FloatArray]):
    """One number, or one per device; the value type repeats a single number for all its devices."""

    holds = "number or one per device"

    def checked(self, value: Any) -> FloatArray:
        return checks.real(self.name, value, self.interval)


class OptionalNumber(Parameter[float | None, float | None]):
    """One real number, or None where it is left out."""

    holds = "number"

    def checked(self, value: Any) -> float | None:
        return None if value is None else checks.scalar(self.name, value, self.interval)


class OptionalCount(Parameter[int | None, int | None]):
    """One integer, or None where it is left out."""

    holds = "integer"

    def checked(self, value: Any) -> int | None:
        return None if value is None else checks.count(self.name, value, self.interval)


class OptionalVector(Parameter[ArrayLike | None, FloatArray | None]):
    """One number or one per device, or None where it is left out."""

    holds = "number or one per device"

    def checked(self, value: Any) -> FloatArray | None:
        return None if value is None else checks.real(self.name, value, self.interval)


class Flag(Parameter[bool, bool]):
    """True or false."""

    holds = "true or false"

    def checked(self, value: Any) -> bool:
        return checks.flag(self.name, value)


class Choice(Parameter[Given, Held]):
    """A member of the enumeration to which `default` belongs."""

    holds = "name"

    def checked(self, value: Any) -> Any:
        kinds: type[StrEnum] = type(self.default)
        return checks.choice(self.name, value, kinds)


class OneOf(Parameter[Given, Held]):
    """One of some members of an enumeration; None only where that is the default."""

    holds = "name"

    def __init__(self, *allowed: StrEnum, default: StrEnum | None) -> None:
        super().__init__("", "", "", default=default)
        self.allowed = allowed

    def checked(self, value: Any) -> StrEnum | None:
        return None if value is None is self.default else checks.member(self.name, value, self.allowed)


class SomeOf(Parameter[Given, tuple[Member, ...]], Generic[Given, Member]):
    """Members of an enumeration, each once: at least one of some, all of them unless there is a default."""

    holds = "names"

    def __init__(self, *allowed: Member, default: tuple[Member, ...] = ()) -> None:
        super().__init__("", "", "", default=default or allowed)
        self.allowed = allowed

    def checked(self, value: Any) -> tuple[Member, ...]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise checks.ParameterError(self.name, value, f"a list of {', '.join(self.allowed)}")
        members = dict.fromkeys(checks.member(self.name, each, self.allowed) for each in value)
        if not members:
            raise checks.ParameterError(self.name, [], f"at least one of {', '.join(self.allowed)}")
        return tuple(members)


def with_unit(meaning: str, unit: str) -> str:
    """A meaning with its unit after the first clause.

    Examples
    --------
    >>> with_unit("greatest energy; more is refused", "J")
    'greatest energy (J); more is refused'
    """
    clause, mark, rest = meaning.partition(";")
    return f"{clause} ({unit}){mark}{rest}" if unit else meaning


def of(kind: type) -> dict[str, Parameter[Any, Any]]:
    """The parameters of a value type by name.

    Examples
    --------
    >>> from airtight.analytics.federated.corbin.federated_system import FederatedSystem
    >>> of(FederatedSystem)["shared_bits"].interval
    '[0, 60]'
    """
    return {name: value for name, value in vars(kind).items() if isinstance(value, Parameter)}


class Described:
    r"""Base class of value types made of parameters: comparison, conversion to a dictionary, display in a notebook.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from airtight.analytics.federated.corbin.federated_system import FederatedSystem
    >>> system = FederatedSystem(clients=51, parameters=10, epsilon=1.0)
    >>> system == replace(system), system == replace(system, clients=50)
    (True, False)
    >>> system.to_dict()["clients"], FederatedSystem(**system.to_dict()) == system
    (51, True)
    >>> system._repr_latex_()[:31]
    '$n = 51,\\; m = 10,\\; \\epsilon_p'
    """

    def to_dict(self) -> dict[str, Any]:
        """The values by name, suitable for JSON and for the constructor.

        Equal device entries become one number, complex numbers pairs; what is absent (None) is left out.
        """
        parameters = of(type(self))
        held = {name: vars(self)[name] for name in parameters}
        return {name: _plain(x, collapse="devices" in parameters) for name, x in held.items() if x is not None}

    def derived(self, **values: Any) -> Self:
        """A copy with other values that follow from those of this object, so that nothing is checked again."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self), **values)
        return copy

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(vars(self)[name], vars(other)[name]) for name in of(type(self)))

    def __hash__(self) -> int:
        values = (vars(self)[name] for name in of(type(self)))
        return hash((type(self), *(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)))

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><td><code>{name}</code></td><td>{escape(_short_text(vars(self)[name]))}</td><td>{escape(p.unit)}</td>"
            f"<td>{escape(p.meaning)}</td></tr>"
            for name, p in of(type(self)).items()
        )
        head = f"<caption>{type(self).__name__}</caption><tr><th>parameter</th><th>value</th><th>unit</th><th>meaning</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>"

    def _repr_latex_(self) -> str:
        equations = (f"{p.symbol} = {_short_text(vars(self)[name])}" for name, p in of(type(self)).items() if p.symbol)
        return "$" + r",\; ".join(equations) + "$"


def _plain(value: Any, *, collapse: bool) -> Any:
    if isinstance(value, Described):
        return value.to_dict()
    if isinstance(value, np.ndarray) and np.iscomplexobj(value):
        value = np.stack([value.real, value.imag], axis=-1)
    if isinstance(value, np.ndarray):
        return float(value.flat[0]) if collapse and value.size and np.all(value == value.flat[0]) else value.tolist()
    return value.value if isinstance(value, StrEnum) else value


def _short_text(value: Any) -> str:
    plain = _plain(value, collapse=True)
    if isinstance(plain, list):
        entries = ", ".join(f"{x:.4g}" for x in plain[:6])
        return entries + (f", ... ({len(plain)})" if len(plain) > 6 else "")
    return f"{plain:.6g}" if isinstance(plain, float) else str(plain)
