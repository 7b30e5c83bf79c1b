"""The result of ``airtight curve``: epsilon of a composition at each delta, between two proved bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.tidy import Entry
from airtight.results.numerals import plain, rounded_up
from airtight.results.result import Result


@dataclass(frozen=True, eq=False)
class CurveResult(Result):
    """Epsilon of a curve at some deltas.

    Attributes
    ----------
    headline : list of str
    releases : list of dict
        Constructor, parameters and count of each release, as ``PrivacyCurve.from_json`` reads them.
    neighbours : str
        What neighbours differ in; empty where it is left open.
    delta, epsilon, lower : ndarray
        The deltas; epsilon at each, never below the truth; a number that epsilon is never below.
    advantage : float
        Greatest advantage over guessing of an attacker who distinguishes the neighbours, rounded up.
    """

    headline: list[str]
    releases: list[dict[str, Any]]
    neighbours: str
    delta: FloatArray
    epsilon: FloatArray
    lower: FloatArray
    advantage: float

    @classmethod
    def of(cls, curve: PrivacyCurve, delta: ArrayLike) -> CurveResult:
        """The epsilons of a curve at these deltas, in [0, 1]."""
        deltas = np.atleast_1d(checks.real("delta", delta, "[0, 1]"))
        lower, upper = curve.bracket(delta=deltas)
        advantage = curve.advantage()
        headline = [
            f"EPSILON {rounded_up(float(upper[0]))} AT DELTA {plain(float(deltas[0]))}"
            + (f" ({curve.unit})." if curve.unit else "."),
            f"The best attacker tells the neighbours apart with an advantage of {rounded_up(advantage)} over guessing.",
        ]
        return cls(headline, curve.to_dict()["releases"], curve.unit, deltas, upper, lower, advantage)

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        ends = zip(self.delta.tolist(), self.epsilon, self.lower, strict=True)
        return {
            **{f"epsilon at delta {delta!r}": Entry(value=high, lower=low, upper=high) for delta, high, low in ends},
            "advantage": self.advantage,
        }
