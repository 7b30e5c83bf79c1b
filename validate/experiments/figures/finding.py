"""Tests a paper's statement about a figure: differences over paired seeds, their intervals, and the outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from airtight.validate.experiments.seeds import LEVEL, student


class Outcome(StrEnum):
    """The outcome of a paper's statement in our experiment."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    OPEN = "open"


@dataclass(frozen=True)
class Comparison:
    """One number to which a paper's statement refers, measured once per seed.

    Attributes
    ----------
    name : str
        The name of the number, such as "CorBin-FL - LDP-FL".
    values : tuple of float
        One value per seed; both terms of a difference have the same seed. nan where a run diverged.
    stated : tuple of float
        The least and the greatest value that the statement allows.
    unit : str
        The unit that is printed after the number.
    factor : float
        Converts the values to the unit.
    """

    name: str
    values: tuple[float, ...]
    stated: tuple[float, float]
    unit: str = ""
    factor: float = 1.0

    @classmethod
    def of(
        cls, name: str, values: ArrayLike, stated: tuple[float, float], *, unit: str = "", factor: float = 1.0
    ) -> Comparison:
        """A comparison from an array with one value per seed."""
        return cls(name, tuple(float(x) for x in np.ravel(values)), stated, unit, factor)

    @classmethod
    def points(cls, name: str, values: ArrayLike, stated: tuple[float, float]) -> Comparison:
        """A comparison of accuracies, printed in percentage points."""
        return cls.of(name, values, stated, unit="points", factor=100.0)

    @property
    def mean(self) -> float:
        """Mean over all seeds."""
        return float(np.mean(self.values))

    def interval(self, level: float) -> tuple[float, float]:
        """Student's confidence interval of the mean; the whole real line for one seed.

        Examples
        --------
        >>> Comparison("gain", (0.01, 0.02, 0.03), (0.0, 1.0)).interval(0.95)
        (-0.0048..., 0.0448...)
        """
        return student(self.values, level)

    def outcome(self, level: float) -> Outcome:
        """Confirmed when the interval lies in the stated range, contradicted when both are disjoint, otherwise open."""
        low, high = self.interval(level)
        if self.stated[0] <= low and high <= self.stated[1]:
            return Outcome.CONFIRMED
        return Outcome.CONTRADICTED if high < self.stated[0] or low > self.stated[1] else Outcome.OPEN

    def measured(self, level: float) -> str:
        """Our number with its interval and unit; empty where there is no interval."""
        low, high = self.interval(level)
        if not math.isfinite(low):
            return ""
        mean, low, high = (self.factor * x for x in (self.mean, low, high))
        digits = max(0, min(4, 1 - math.floor(math.log10(high - low)))) if high > low else 2
        mean_and_interval = f"{mean:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
        return f"{mean_and_interval}{' ' + self.unit if self.unit else ''}"

    @property
    def printed(self) -> str:
        """The values that the paper's statement allows, in words.

        Examples
        --------
        >>> Comparison("gain", (0.1,), (0.0, math.inf)).printed, Comparison("gain", (0.1,), (0.02, 0.03), "points", 100).printed
        ('at least 0', '2 to 3 points')
        """
        low, high = (self.factor * end for end in self.stated)
        unit = f" {self.unit}" if self.unit else ""
        if math.isinf(high):
            return f"at least {low:g}{unit}"
        return f"at most {high:g}{unit}" if math.isinf(low) else f"{low:g} to {high:g}{unit}"

    def text(self, level: float) -> str:
        """Number, interval, unit and outcome."""
        measured = self.measured(level)
        return f"{self.name}{' ' + measured if measured else ': no interval'} ({self.outcome(level)})"


@dataclass(frozen=True)
class FigureStatement:
    """A paper's statement about a figure, and the comparisons that test it.

    Attributes
    ----------
    statement : str
        In the paper's words, or close to them.
    comparisons : tuple of Comparison
        The statement is confirmed only if every one of them is.
    """

    statement: str
    comparisons: tuple[Comparison, ...]

    @classmethod
    def of(cls, statement: str, comparisons: Sequence[Comparison]) -> FigureStatement:
        """A statement with one or more comparisons."""
        return cls(statement, tuple(comparisons))

    @property
    def seeds(self) -> int:
        """Number of paired seeds of every comparison."""
        return len(self.comparisons[0].values)

    @property
    def level(self) -> float:
        """Confidence level of each interval, such that all hold simultaneously at LEVEL (Bonferroni)."""
        return 1 - (1 - LEVEL) / len(self.comparisons)

    @property
    def outcome(self) -> Outcome:
        """Confirmed when every comparison is, contradicted when one is, otherwise open."""
        outcomes = {comparison.outcome(self.level) for comparison in self.comparisons}
        if Outcome.CONTRADICTED in outcomes:
            return Outcome.CONTRADICTED
        return Outcome.OPEN if Outcome.OPEN in outcomes else Outcome.CONFIRMED

    def text(self) -> str:
        """One sentence for captions and ledger rows.

        Examples
        --------
        >>> gain = Comparison("A - B", (0.011, 0.02, 0.031), (0.0, math.inf), "points", 100)
        >>> FigureStatement("A beats B", (gain,)).text()
        '"A beats B": open, by A - B +2.1 [-0.4, +4.6] points (open); 3 paired seeds, 95 %.'
        """
        numbers = "; ".join(comparison.text(self.level) for comparison in self.comparisons)
        together = " together" if len(self.comparisons) > 1 else ""
        return f'"{self.statement}": {self.outcome}, by {numbers}; {self.seeds} paired seeds, {LEVEL:.0%}{together}.'.replace(
            "95%", "95 %"
        )


POSITIVE = (0.0, math.inf)  # stated range of a difference that the paper says is positive
