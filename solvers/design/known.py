"""How the answer of a design is known: the method, its bound, and the class of designs that the bound is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """What the answer comes from; every method but `LOCAL` comes with a proved bound."""

    BOXES = "global: branch and bound"
    BISECTION = "global: branch and bound at each epsilon of a bisection"
    RELAXATION = "convex steps, lower bound by a relaxation"
    SCALE = "global: one scale of the noise"
    BITS = "global: every number of bits, a root in epsilon"
    ENERGY_PRICE = "global: a price of energy"
    LOCAL = "local"


    @property
    def domain(self) -> str:
        """Over which noise the bound holds, for sentences; empty where over any."""
        return DOMAIN if self in (Method.BOXES, Method.BISECTION) else ""


DOMAIN = "noise up to 1e8 times the receiver's, or the code's power where the weight is fixed"  # equal_devices._LOUDEST


class Designs(StrEnum):
    """The class of designs that a bound is for."""

    ALL = "every design"
    ALIKE = "designs that treat all devices alike"
    SCALED = "designs that scale the noise of all devices by one factor"

    @property
    def none(self) -> str:
        """The subject of a sentence that denies something of the whole class.

        Examples
        --------
        >>> Designs.ALIKE.none, Designs.ALL.none
        ('no design that treats all devices alike', 'no design')
        """
        return {
            Designs.ALL: "no design",
            Designs.ALIKE: "no design that treats all devices alike",
            Designs.SCALED: "no design that scales the noise of all devices by one factor",
        }[self]


@dataclass(frozen=True)
class Known:
    """A method with its bound; neither can be built without the other.

    Attributes
    ----------
    method : Method
    lower : float or None
        No design of the class that keeps the constraints has a smaller value; infinite where none keeps them.
    bound_for : Designs or None
        The class.

    Examples
    --------
    >>> Known(Method.BOXES)
    Traceback (most recent call last):
    ValueError: global: branch and bound: a bound and its class of designs are needed, and only for a method that is not local
    """

    method: Method
    lower: float | None = None
    bound_for: Designs | None = None

    def __post_init__(self) -> None:
        if {self.method is Method.LOCAL, self.lower is None, self.bound_for is None} not in ({True}, {False}):
            raise ValueError(
                f"{self.method}: a bound and its class of designs are needed, and only for a method that is not local"
            )

    def below(self, value: float) -> Known:
        """The same with a bound that rounding does not put above the value of a design."""
        return self if self.lower is None else Known(self.method, min(self.lower, value), self.bound_for)

    def scaled(self, factor: float) -> Known:
        """The same in another unit of the value."""
        return self if self.lower is None else Known(self.method, self.lower * factor, self.bound_for)

    @staticmethod
    def of_all(options: Sequence[Known]) -> Known:
        """What is known of the best of several options: nothing, unless every option has a bound."""
        bounds = [option.lower for option in options if option.lower is not None]
        if len(bounds) < len(options):
            return LOCAL
        weakest = options[bounds.index(min(bounds))]
        # the least bound holds for the designs for which all of them do
        narrowest = next((known.bound_for for known in options if known.bound_for is not Designs.ALL), Designs.ALL)
        return Known(weakest.method, weakest.lower, narrowest)


LOCAL = Known(Method.LOCAL)
