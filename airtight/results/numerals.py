"""Numbers as text: four digits in tables and sentences, bounds rounded to their safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

LEAST_SHARE = 1e-3  # a probability below this is shown as below it


def number(value: float) -> str:
    """The number with six digits; infinity as its sign."""
    return "∞" if value == float("inf") else f"{value:.6g}"


def plain(value: float, digits: int = 4) -> str:
    """The number with so many significant digits, as text.

    Examples
    --------
    >>> plain(22737812345.6), plain(0.000123456), plain(math.inf), plain(math.nan), plain(109386.0), plain(1e-5)
    ('2.274e10', '1.235e-4', '∞', '–', '109,386', '1e-5')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and 1e4 <= abs(value) < 1e9:
        return f"{int(value):,}"
    if value == 0 or 1e-3 <= abs(value) < 10**digits:
        return _signed(f"{value:.{digits}g}")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if abs(int(exponent)) <= digits and abs(value) >= 1:
        return _signed(f"{value:,.0f}")
    return _signed(f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}")


def _signed(text: str) -> str:
    return text.replace("-", "−", 1) if text.startswith("-") else text


def prose(value: float) -> str:
    """The number for a sentence: three digits, and all of a number of four or five digits.

    Examples
    --------
    >>> prose(1.9286), prose(973.17), prose(17866.2)
    ('1.93', '973', '17,866')
    """
    return plain(value, 3 if abs(value) < 1000 else 4)


def rounds(count: int) -> str:
    """A number of rounds in words.

    Examples
    --------
    >>> rounds(1), rounds(1000)
    ('1 round', '1,000 rounds')
    """
    return "1 round" if count == 1 else f"{count:,} rounds"


def rounded_up(value: float, digits: int = 4) -> str:
    """So many digits, never below the value: an upper bound.

    Examples
    --------
    >>> rounded_up(1.99999), rounded_up(0.85301), rounded_up(17866.2), rounded_up(math.inf), rounded_up(1e-12)
    ('2.000', '0.8531', '17,870', 'infinite', '1e-12')
    >>> rounded_up(0.99998499, 9), rounded_up(17866.25, 9)
    ('0.999984990', '17,866.2500')
    """
    return _rounded(value, ROUND_CEILING, digits)


def rounded_down(value: float, digits: int = 4) -> str:
    """So many digits, never above the value: a lower bound.

    Examples
    --------
    >>> rounded_down(1.99999), rounded_down(1e-3), rounded_down(0.0)
    ('1.999', '0.001000', '0')
    """
    return _rounded(value, ROUND_FLOOR, digits)


def _rounded(value: float, rounding: str, digits: int) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    exact = Context(prec=digits, rounding=rounding).create_decimal_from_float(float(value))
    shown = float(exact)
    if shown == 0:
        return "0"
    if 1e-3 <= abs(shown) < 1e4:
        return _signed(f"{shown:#.{digits}g}".rstrip("."))
    if 1e4 <= abs(shown) < 1e7:
        return _signed(f"{shown:,.{max(digits - 1 - exact.adjusted(), 0)}f}")
    return plain(shown, digits)


def share(value: float) -> str:
    """A probability that is a lower bound, rounded down.

    Examples
    --------
    >>> share(3.6e-42), share(0.160348), share(1.0)
    ('< 0.001', '0.1603', '1')
    """
    return "< 0.001" if 0 < value < LEAST_SHARE else rounded_down(value).rstrip("0").rstrip(".") or "0"
