"""Numbers for readers: few digits are shown, and the title holds all digits."""

from __future__ import annotations

import math

from markupsafe import Markup

from airtight.results.numerals import plain

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
    if value is None:
        return Markup("")
    text = plain(float(value), digits)
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
