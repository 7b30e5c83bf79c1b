"""Intervals held by their two ends: what :mod:`airtight.validate.claims.proving.balls` needs of a ball, without what a
wide ball loses.

A ball of middle and radius loses the sign in [0, 2] * [0, 2] = 1 +- 3; ends do not. Each end is an exact ball of python-flint.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import flint

from airtight.analytics.forms.balls.ball import Ball, ball

_UNKNOWN = flint.arb("nan")
_RISING = ("exp", "log", "sqrt", "erf", "sinh", "tanh", "asinh", "atanh", "atan", "asin", "floor", "ceil")
_FALLING = ("erfc", "acos")


class Ends:
    """All numbers between two ends, with the operations of a ball.

    Where an operation is not defined on all of an interval nothing is known of the result, neither below nor above, and no
    comparison with it holds. Infinite is only what is infinite exactly.

    Examples
    --------
    >>> x = Ends.between(Fraction(0), Fraction(2))
    >>> float((x * x).low), float((x * x).high), x >= 0
    (0.0, 4.0, True)
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Ball, high: Ball) -> None:
        known = (low.is_finite() and high.is_finite()) or bool(low == high)
        self.low, self.high = (low, high) if known else (_UNKNOWN, _UNKNOWN)

    @classmethod
    def between(cls, low: Fraction, high: Fraction) -> Self:
        """The interval between two rational numbers, rounded outward."""
        return cls(ball(low).lower(), ball(high).upper())

    @classmethod
    def of(cls, value: Any) -> Self:
        """A number or ball as an interval."""
        if isinstance(value, cls):
            return value
        made = flint.arb(value)
        return cls(made.lower(), made.upper())

    def ball(self) -> Ball:
        """The ball that holds it."""
        return self.low.union(self.high)

    def __add__(self, other: Any) -> Ends:
        other = Ends.of(other)
        return Ends((self.low + other.low).lower(), (self.high + other.high).upper())

    __radd__ = __add__

    def __neg__(self) -> Ends:
        return Ends(-self.high, -self.low)

    def __sub__(self, other: Any) -> Ends:
        return self + -Ends.of(other)

    def __rsub__(self, other: Any) -> Ends:
        return Ends.of(other) + -self

    def __mul__(self, other: Any) -> Ends:
        other = Ends.of(other)
        a, b, c, d = self.low, self.high, other.low, other.high
        if not (a.is_finite() and b.is_finite() and c.is_finite() and d.is_finite()):
            return Ends(_UNKNOWN, _UNKNOWN)
        if c < 0 and not a < 0:  # the one without numbers below 0 counts as the second
            a, b, c, d = c, d, a, b
        if a >= 0:
            return Ends((a * c).lower(), (b * d).upper())
        if c >= 0:
            return Ends((a * d).lower(), (b * (d if b > 0 else c)).upper())
        if b <= 0:
            return Ends((b * d if d <= 0 else a * d).lower(), (a * c).upper())
        if d <= 0:
            return Ends((b * c).lower(), (a * c).upper())
        return Ends((a * d).lower().min((b * c).lower()), (a * c).upper().max((b * d).upper()))

    __rmul__ = __mul__

    def inverse(self) -> Ends:
        """1 / x; unknown where x may be 0."""
        if self.low > 0 or self.high < 0:
            return Ends((1 / self.high).lower(), (1 / self.low).upper())
        return Ends(_UNKNOWN, _UNKNOWN)

    def __truediv__(self, other: Any) -> Ends:
        return self * Ends.of(other).inverse()

    def __rtruediv__(self, other: Any) -> Ends:
        return Ends.of(other) * self.inverse()

    def __pow__(self, exponent: Any) -> Ends:
        if isinstance(exponent, int):
            return self._whole_power(exponent)
        other = Ends.of(exponent)
        if other.low == other.high and other.low.is_integer():
            return self._whole_power(int(other.low.mid().fmpq().p))
        if self.low == 0 and self.high > 0 and other.low > 0:
            return Ends(self.low, (Ends(self.high, self.high) ** other).high)
        return (self.log() * other).exp() if self.low > 0 else Ends(_UNKNOWN, _UNKNOWN)

    def __rpow__(self, base: Any) -> Ends:
        return Ends.of(base) ** self

    def _whole_power(self, n: int) -> Ends:
        if n <= 0:
            return self._whole_power(-n).inverse() if n else 1 + 0 * self
        base = self if n % 2 else abs(self)
        return Ends((base.low**n).lower(), (base.high**n).upper())

    def __abs__(self) -> Ends:
        if self.low >= 0:
            return self
        return -self if self.high <= 0 else Ends(flint.arb(0), self.high.max(-self.low))

    def max(self, other: Any) -> Ends:
        other = Ends.of(other)
        return Ends(self.low.max(other.low), self.high.max(other.high))

    def min(self, other: Any) -> Ends:
        return -((-self).max(-Ends.of(other)))

    def union(self, other: Any) -> Ends:
        """The least interval that holds both."""
        other = Ends.of(other)
        return Ends(self.low.min(other.low), self.high.max(other.high))

    def sgn(self) -> Ends:
        return self if not self.is_finite() else Ends(self.low.sgn(), self.high.sgn())

    def cosh(self) -> Ends:
        size = abs(self)
        return Ends(size.low.cosh().lower(), size.high.cosh().upper())

    def __getattr__(self, name: str) -> Callable[..., Ends]:
        """A function of balls: from its values at the ends where it is monotone, else of the ball."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _RISING:
            return lambda: Ends(getattr(self.low, name)().lower(), getattr(self.high, name)().upper())
        if name in _FALLING:
            return lambda: Ends(getattr(self.high, name)().lower(), getattr(self.low, name)().upper())
        function = getattr(self.ball(), name)
        return lambda *args: Ends.of(function(*(Ends.of(arg).ball() for arg in args)))

    # Comparisons hold where they hold for every pair of values

    def __lt__(self, other: Any) -> bool:
        return bool(self.high < Ends.of(other).low)

    def __le__(self, other: Any) -> bool:
        return bool(self.high <= Ends.of(other).low)

    def __gt__(self, other: Any) -> bool:
        return bool(self.low > Ends.of(other).high)

    def __ge__(self, other: Any) -> bool:
        return bool(self.low >= Ends.of(other).high)

    def __eq__(self, other: object) -> bool:
        one = Ends.of(other)
        return bool(self.low == self.high == one.low == one.high)

    def __ne__(self, other: object) -> bool:
        one = Ends.of(other)
        return bool(self.high < one.low or self.low > one.high)

    __hash__ = None  # type: ignore[assignment]

    def is_finite(self) -> bool:
        return bool(self.low.is_finite() and self.high.is_finite())

    def is_exact(self) -> bool:
        return bool(self.low == self.high)

    def unique_fmpz(self) -> Any:
        """The integer that it holds, or None."""
        return self.ball().unique_fmpz()

    def size(self) -> float:
        """The greatest absolute value."""
        return float(abs(self).high)
