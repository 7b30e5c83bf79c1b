"""Numbers for readers: few digits are shown, and the title holds all digits."""

from __future__ import annotations

import math

from markupsafe import Markup

_NOTHING = 1e-9  # a gap or a slack below this, in its unit, is rounding error and is shown as 0


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
