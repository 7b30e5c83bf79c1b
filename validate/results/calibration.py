"""Result of ``calibrate``."""

from __future__ import annotations

from dataclasses import dataclass

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.solvers.design.calibration.calibrate import Calibration


@dataclass(frozen=True, kw_only=True)
class CalibrationResult:
    """The quantity that keeps a target epsilon.

    Attributes
    ----------
    variable : str
        noise (variances), clip or participation.
    value : ndarray, shape (K,)
    target : float
        Greatest epsilon that is allowed for any device.
    epsilon : ndarray, shape (K,)
        Exact epsilon with these values, never below the truth.
    delta : float
    adjacency : Adjacency
    observer : Observer
    rounds : int
    monotone : bool
        Whether epsilon is monotone in the variable.
    unsettled : tuple of (float, float)
        Intervals of the scale for which no proof was found that they violate the target.
    """

    variable: str
    value: FloatArray
    target: float
    epsilon: FloatArray
    delta: float
    adjacency: Adjacency
    observer: Observer
    rounds: int
    monotone: bool
    unsettled: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, found: Calibration, target: float, rounds: int, observer: Observer) -> CalibrationResult:
        system = found.system
        return cls(
            variable=found.variable.value,
            value=found.value,
            target=target,
            epsilon=found.epsilon,
            delta=system.delta,
            adjacency=system.adjacency,
            observer=observer,
            rounds=rounds,
            monotone=found.monotone,
            unsettled=found.unsettled,
        )
