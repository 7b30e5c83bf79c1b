"""The result of the command ``calibrate``."""

from __future__ import annotations

from dataclasses import dataclass

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.solvers.design.calibration.calibrate import Calibration


@dataclass(frozen=True, kw_only=True)
class CalibrationResult:
    """Values of one parameter with which every device keeps a target epsilon.

    Attributes
    ----------
    variable : str
        The parameter: noise (variances), clip or participation.
    value : ndarray, shape (K,)
    target : float
        The greatest epsilon that a device may have.
    epsilon : ndarray, shape (K,)
        Exact epsilon with these values, rounded up.
    delta : float
    adjacency : Adjacency
    observer : Observer
    rounds : int
    monotone : bool
        Whether epsilon is monotone in the variable.
    unsettled : tuple of (float, float)
        Intervals beyond `value`, in terms of its greatest entry, in which it is not proved that the target is exceeded.
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
    def of(cls, calibration: Calibration, target: float, rounds: int, observer: Observer) -> CalibrationResult:
        system = calibration.system
        return cls(
            variable=calibration.variable.value,
            value=calibration.value,
            target=target,
            epsilon=calibration.epsilon,
            delta=system.delta,
            adjacency=system.adjacency,
            observer=observer,
            rounds=rounds,
            monotone=calibration.monotone,
            unsettled=calibration.unsettled,
        )
