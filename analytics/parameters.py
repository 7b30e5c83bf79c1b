"""What a value type is made of: each parameter's name, symbol, unit, interval and typical range, said once.

The checks of the type, the tables of the system file, the documentation and the domains of claims are read from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from analytics import checks


class Kind(StrEnum):
    """What a parameter holds."""

    NUMBER = "number"
    COUNT = "integer"
    VECTOR = "number or one per device"
    FLAG = "true or false"
    CHOICE = "name"


REQUIRED: Any = object()


@dataclass(frozen=True)
class Parameter:
    """One parameter of a value type.

    Attributes
    ----------
    name, symbol : str
        In code and files, and in the papers (LaTeX).
    interval : str
        What is allowed, such as ``"(0, 1]"``.
    meaning : str
    kind : Kind
    unit : str
    typical : tuple of float or None
        The least and greatest value that the papers use.
    default : object
        `REQUIRED` where there is none.
    names : type of StrEnum or None
        Of a choice.
    """

    name: str
    symbol: str
    interval: str
    meaning: str
    kind: Kind = Kind.NUMBER
    unit: str = ""
    typical: tuple[float, float] | None = None
    default: Any = REQUIRED
    names: type[StrEnum] | None = None

    def checked(self, value: Any, devices: int = 1) -> Any:
        """The value as the type keeps it.

        Raises
        ------
        ParameterError
            When it is not allowed.

        Examples
        --------
        >>> Parameter("delta", r"\\delta", "(0, 1)", "of the guarantee").checked(1e-5)
        1e-05
        """
        match self.kind:
            case Kind.NUMBER:
                return checks.scalar(self.name, value, self.interval)
            case Kind.COUNT:
                return checks.count(self.name, value, self.interval)
            case Kind.VECTOR:
                return checks.vector(self.name, value, devices, self.interval)
            case Kind.FLAG:
                return checks.flag(self.name, value)
            case Kind.CHOICE:
                return checks.choice(self.name, value, self.names or StrEnum)
