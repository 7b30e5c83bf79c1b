"""What ``airtight curve`` prints: epsilon at each delta, between two bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airtight.console import Sheet, headline, screen
from airtight.results.numerals import plain, rounded_down, rounded_up

if TYPE_CHECKING:
    from airtight.results.bounds import CurveResult


def curve(name: str, result: CurveResult) -> None:
    """Print the headline of a curve, and epsilon at each delta."""
    console = screen()
    headline(console, name, result.headline)
    table = Sheet(("delta", "epsilon", "lower bound"))
    for delta, high, low in zip(result.delta.tolist(), result.epsilon, result.lower, strict=True):
        table.add_row(plain(delta), rounded_up(float(high)), rounded_down(float(low)))
    console.print(table)
