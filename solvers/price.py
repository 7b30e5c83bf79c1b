"""What an optimum changes by for a unit more of a limit: the Lagrange multiplier of the limit, as a price."""

from __future__ import annotations

import math
from dataclasses import dataclass

from airtight.analytics.records import Record
from airtight.analytics.tidy import Entry

_SAME = 1e-3  # relative difference of the two derivatives below which they count as one: both are computed to 1e-4 or better


@dataclass(frozen=True, eq=False)
class ShadowPrice(Record):
    """The derivatives of an optimum with respect to a limit, from the right and from the left.

    Attributes
    ----------
    of, by, unit : str
        The optimum, the limit, and the unit of their quotient.
    rising : float
        Change of the optimum for a unit more of the limit. It is 0 where the limit does not bind, and nan where the
        answer is not proved optimal, so that it has no price.
    falling : float
        The same for a unit less, divided by -1. It differs from `rising` where the problem is degenerate, and is infinite
        where the problem with a smaller limit has no solution.

    Examples
    --------
    >>> print(ShadowPrice("error", "epsilon", "", -0.25, -0.25))
    d error / d epsilon = -0.25
    >>> print(ShadowPrice("energy", "deadline", "J/s", 0.0, 0.0))
    d energy / d deadline = 0 J/s: the limit does not bind
    >>> print(ShadowPrice("error", "epsilon", "", -0.25, float("-inf")))
    d error / d epsilon = -0.25 upwards, -inf downwards: degenerate, each derivative holds on its side only
    """

    of: str
    by: str
    unit: str
    rising: float
    falling: float

    def tidy(self) -> dict[str, object]:
        """The numbers of a table."""
        sides = {name: Entry(value=getattr(self, name), unit=self.unit) for name in ("rising", "falling")}
        return {f"d {self.of} / d {self.by}": sides}

    @property
    def one_sided(self) -> bool:
        """Whether the two derivatives differ."""
        if math.isnan(self.rising) or math.isnan(self.falling):
            return math.isnan(self.rising) != math.isnan(self.falling)
        if math.isinf(self.rising) or math.isinf(self.falling):
            return self.rising != self.falling
        return abs(self.rising - self.falling) > _SAME * max(abs(self.rising), abs(self.falling))

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        name = f"d {self.of} / d {self.by} ="
        if self.one_sided:
            sides = f"{self.rising:.4g}{unit} upwards, {self.falling:.4g}{unit} downwards"
            return f"{name} {sides}: degenerate, each derivative holds on its side only"
        if math.isnan(self.rising):
            return f"{name} nan: not proved optimal, so that no price is known"
        return f"{name} {self.rising:.4g}{unit}" + ("" if self.rising else ": the limit does not bind")
