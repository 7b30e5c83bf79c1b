"""Numbers for readers: few digits are shown, and the title holds all digits."""

from __future__ import annotations

import math

from markupsafe import Markup

from airtight.results.numerals import plain, rounded_down, rounded_up, share

_NOTHING = 1e-9  # a gap or a slack below this, in its unit, is rounding error and is shown as 0


def shown(value: float | None, digits: int = 4) -> Markup:
    """The number as HTML: powers of ten are typeset, and the title holds every digit.

    Examples
    --------
    >>> str(shown(0.25)), str(shown(None))
    ('<span title="0.25">0.25</span>', '')
    >>> str(shown(1.5e-7))
    '<span title="1.5e-07">1.5·10<sup>−7</sup></span>'
    """
    return Markup("") if value is None else _typeset(value, plain(float(value), digits))


def above(value: float, digits: int = 4) -> Markup:
    """An upper bound as HTML, rounded up.

    Examples
    --------
    >>> str(above(1.99991)), str(above(math.inf))
    ('<span title="1.99991">2.000</span>', '<span title="inf">∞</span>')
    """
    return _typeset(value, rounded_up(float(value), digits))


def below(value: float, digits: int = 4) -> Markup:
    """A lower bound as HTML, rounded down.

    Examples
    --------
    >>> str(below(0.98765, 3))
    '<span title="0.98765">0.987</span>'
    """
    return _typeset(value, rounded_down(float(value), digits))


def probability(value: float) -> Markup:
    """A probability that is a lower bound as HTML, rounded down.

    Examples
    --------
    >>> str(probability(0.160348)), str(probability(3.6e-42))
    ('<span title="0.160348">0.1603</span>', '<span title="3.6e-42">&lt; 0.001</span>')
    """
    return _typeset(value, share(float(value)).replace("<", "&lt;"))


def in_table(text: str) -> str:
    """A rounded bound for a table, where infinity is its sign."""
    return text.replace("infinite", "∞")


def _typeset(value: float, text: str) -> Markup:
    text = in_table(text)
    if "e" in text:
        mantissa, power = text.split("e")
        power = power.replace("-", "−")
        text = f"10<sup>{power}</sup>" if mantissa == "1" else f"{mantissa}·10<sup>{power}</sup>"
    return Markup(f'<span title="{float(value)!r}">{text}</span>')


def small(value: float | None, digits: int = 2) -> Markup:
    """A gap or a slack as HTML: 0 where it is below rounding error.

    Examples
    --------
    >>> str(small(2.8e-14)), str(small(-1.6e-06))
    ('<span title="2.8e-14">0</span>', '<span title="-1.6e-06">−1.6·10<sup>−6</sup></span>')
    """
    if value is None or abs(value) >= _NOTHING or math.isnan(value):
        return shown(value, digits)
    return Markup(f'<span title="{float(value)!r}">0</span>')


def span(values: list[float]) -> Markup:
    """One number, or the range from the least to the greatest."""
    low, high = min(values), max(values)
    return shown(low) if low == high else Markup("{} to {}").format(shown(low), shown(high))
