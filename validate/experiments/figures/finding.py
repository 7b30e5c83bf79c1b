"""What became of what a paper says about a figure: differences over paired seeds, and the outcome that they allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from airtight.validate.experiments.seeds import LEVEL, student


class Outcome(StrEnum):
    """Of a statement in the experiment that stands in for the paper's."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    OPEN = "open"


@dataclass(frozen=True)
class Comparison:
    """One number that a paper's words speak of, measured once a seed.

    Attributes
    ----------
    name : str
        What the number is, such as "CorBin-FL - LDP-FL".
    values : tuple of float
        One a seed; of a difference both sides have the seed in common. nan where a run diverged.
    stated : tuple of float
        The least and the greatest value that the words allow.
    unit : str
        Behind the number.
    factor : float
        From the values to the unit.
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
        """From an array with one value a seed."""
        return cls(name, tuple(float(x) for x in np.ravel(values)), stated, unit, factor)

    @classmethod
    def points(cls, name: str, values: ArrayLike, stated: tuple[float, float]) -> Comparison:
        """Of accuracies, told in points."""
        return cls.of(name, values, stated, unit="points", factor=100.0)

    @property
    def mean(self) -> float:
        """Of all seeds."""
        return float(np.mean(self.values))

    def interval(self, level: float) -> tuple[float, float]:
        """Student's, of the mean; the whole line for one seed.

        Examples
        --------
        >>> Comparison("gain", (0.01, 0.02, 0.03), (0.0, 1.0)).interval(0.95)
        (-0.0048..., 0.0448...)
        """
        return student(self.values, level)

    def outcome(self, level: float) -> Outcome:
        """Confirmed when the interval lies in what is stated, contradicted when it lies outside, else open."""
        low, high = self.interval(level)
        if self.stated[0] <= low and high <= self.stated[1]:
            return Outcome.CONFIRMED
        return Outcome.CONTRADICTED if high < self.stated[0] or low > self.stated[1] else Outcome.OPEN

    def text(self, level: float) -> str:
        """Number, interval, unit and outcome."""
        low, high = self.interval(level)
        if not math.isfinite(low):
            return f"{self.name}: no interval ({self.outcome(level)})"
        mean, low, high = (self.factor * x for x in (self.mean, low, high))
        digits = max(0, min(4, 1 - math.floor(math.log10(high - low)))) if high > low else 2
        ends = f"{mean:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
        return f"{self.name} {ends}{' ' + self.unit if self.unit else ''} ({self.outcome(level)})"


@dataclass(frozen=True)
class Finding:
    """What a paper says about a figure, and what came out.

    Attributes
    ----------
    statement : str
        In the paper's words, or close to them.
    comparisons : tuple of Comparison
        All of them have to be as stated.
    """

    statement: str
    comparisons: tuple[Comparison, ...]

    @classmethod
    def of(cls, statement: str, comparisons: Sequence[Comparison]) -> Finding:
        """From any number of comparisons, at least one."""
        return cls(statement, tuple(comparisons))

    @property
    def seeds(self) -> int:
        """Paired seeds behind every number."""
        return len(self.comparisons[0].values)

    @property
    def level(self) -> float:
        """Of each interval, so that all hold together (Bonferroni)."""
        return 1 - (1 - LEVEL) / len(self.comparisons)

    @property
    def outcome(self) -> Outcome:
        """Confirmed when every comparison is, contradicted when one is, else open."""
        found = {one.outcome(self.level) for one in self.comparisons}
        if Outcome.CONTRADICTED in found:
            return Outcome.CONTRADICTED
        return Outcome.OPEN if Outcome.OPEN in found else Outcome.CONFIRMED

    def text(self) -> str:
        """One sentence for captions and rows.

        Examples
        --------
        >>> gain = Comparison("A - B", (0.011, 0.02, 0.031), (0.0, math.inf), "points", 100)
        >>> Finding("A beats B", (gain,)).text()
        '"A beats B": open, by A - B +2.1 [-0.4, +4.6] points (open); 3 paired seeds, 95 %.'
        """
        numbers = "; ".join(one.text(self.level) for one in self.comparisons)
        together = " together" if len(self.comparisons) > 1 else ""
        return f'"{self.statement}": {self.outcome}, by {numbers}; {self.seeds} paired seeds, {LEVEL:.0%}{together}.'.replace(
            "95%", "95 %"
        )


POSITIVE = (0.0, math.inf)
