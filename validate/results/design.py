"""The result of the command ``design``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.solvers.design.federated.federated_design import FederatedDesign
from airtight.solvers.design.federated.federated_requirements import FederatedRequirements
from airtight.solvers.design.fleet.fleet_design import FleetDesign
from airtight.solvers.design.fleet.fleet_requirements import FleetRequirements
from airtight.solvers.design.fleet.fleet_requirements import Goal as FleetGoal
from airtight.solvers.design.over_the_air.requirements import Free, JointDesign


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Baselines: MSE (and accuracy) of the best output that ignores y, and of the system as described."""

    constant_output: dict[str, float]
    published_design: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class FederatedDesignResult:
    """A design of CorBin-FL.

    Attributes
    ----------
    minimised : str
    value, lower_bound, gap : float
        Of the minimised quantity: the proven worst error, epsilon, or the number of bits. No design has less than
        `lower_bound`; the gap is the rounding of a root.
    variables : dict
        The free parameters.
    epsilon : float
        Epsilon of one parameter against one uplink.
    error : float
        Proven worst-case mean squared error of one parameter of the mean.
    bits : int
        Bits that one client sends per round.
    baseline : dict
        The error of a constant output.
    beats_constant : bool
    method : str
    seconds : float
    """

    minimised: str
    value: float
    lower_bound: float
    gap: float
    variables: dict[str, float]
    epsilon: float
    error: float
    bits: int
    baseline: dict[str, dict[str, float]]
    beats_constant: bool
    method: str
    seconds: float

    @classmethod
    def of(cls, solved: FederatedDesign, requirements: FederatedRequirements) -> FederatedDesignResult:
        return cls(
            minimised=solved.minimised.value,
            value=solved.value,
            lower_bound=solved.lower_bound,
            gap=solved.value - solved.lower_bound,
            variables={name.value: getattr(solved.system, name.value) for name in requirements.free},
            epsilon=solved.epsilon,
            error=solved.error,
            bits=solved.bits,
            baseline={"constant_output": {"error": solved.nothing}},
            beats_constant=solved.error < solved.nothing,
            method="global: every number of bits, a root in epsilon",
            seconds=solved.seconds,
        )


@dataclass(frozen=True, kw_only=True)
class FleetDesignResult:
    """A design of a utility-fair fleet.

    Attributes
    ----------
    minimised, maximised : str or None
        The objective, under one of the two: energy or epsilon is minimised, utility is maximised.
    value : float
    lower_bound, upper_bound : float or None
        Proved bound of the objective over all designs: lower if it is minimised, upper if it is maximised.
    gap : float
    variables : dict
        iterations and power (W) of every device, and noise, the noise multiplier of the global model.
    epsilon : float
        Epsilon of the copies that the observer hears in all rounds, for arbitrary deviations.
    own_epsilon : ndarray, shape (K,)
        Epsilon of each device's copy, at its modelled deviation.
    noise_heard, deviation, energy, utility : ndarray, shape (K,)
    baseline : dict
        Energy and utility of the largest number of iterations at the greatest power.
    adjacency : str
        Neighbours differ in the data whose effect the sensitivity bounds; noise multipliers are in units of the
        sensitivity.
    rounds : int
    delta : float
    hears : str
        The observer: a device that hears its `own` copy, or one that hears `all` copies.
    method : str
    seconds : float
    """

    minimised: str | None
    maximised: str | None
    value: float
    lower_bound: float | None
    upper_bound: float | None
    gap: float
    variables: dict[str, Any]
    epsilon: float
    own_epsilon: FloatArray
    noise_heard: FloatArray
    deviation: FloatArray
    energy: FloatArray
    utility: FloatArray
    baseline: dict[str, dict[str, float]]
    adjacency: str
    rounds: int
    delta: float
    hears: str
    method: str
    seconds: float

    @classmethod
    def of(cls, solved: FleetDesign, requirements: FleetRequirements) -> FleetDesignResult:
        is_maximised = solved.goal is FleetGoal.UTILITY
        return cls(
            minimised=None if is_maximised else solved.goal.value,
            maximised=solved.goal.value if is_maximised else None,
            value=solved.value,
            lower_bound=None if is_maximised else solved.bound,
            upper_bound=solved.bound if is_maximised else None,
            gap=solved.gap,
            variables={"iterations": solved.iterations, "power": solved.power, "noise": solved.noise},
            epsilon=solved.epsilon,
            own_epsilon=solved.own_epsilon,
            noise_heard=solved.heard,
            deviation=solved.deviation,
            energy=solved.energy,
            utility=solved.utility,
            baseline={
                "greatest_power": {"energy": solved.benchmark_energy, "utility": solved.benchmark_utility},
            },
            adjacency="what the sensitivity bounds",
            rounds=requirements.rounds,
            delta=requirements.delta,
            hears=requirements.hears.value,
            method="global: a price of energy",
            seconds=solved.seconds,
        )


@dataclass(frozen=True, kw_only=True)
class DesignResult:
    """A joint design.

    Attributes
    ----------
    minimised : str
    value, lower_bound, gap : float
        `lower_bound` and `gap` are null where nothing is proved.
    variables : dict
        The free parameters: a number, or one number per device.
    epsilon : ndarray, shape (K,)
        Epsilon over all rounds.
    accuracy, error : float, optional
    energy : float
        Energy of all devices for one query.
    baseline : Beside, optional
    beats_constant : bool, optional
        Whether the error is below that of the best output that ignores y.
    method : str
    boxes : int
        Boxes that branch and bound examined.
    settled : bool
        Whether the search ended before it used up its effort.
    seconds : float
        Running time.
    """

    minimised: str
    value: float
    lower_bound: float | None
    gap: float | None
    variables: dict[str, Any]
    epsilon: FloatArray
    accuracy: float | None
    error: float | None
    energy: float
    baseline: Beside | None
    beats_constant: bool | None
    method: str
    boxes: int
    settled: bool
    seconds: float

    @classmethod
    def of(cls, solved: JointDesign, free: tuple[Free, ...], described_numbers: dict[str, float]) -> DesignResult:
        constant_design = solved.nothing
        baseline = None
        if constant_design is not None:
            constant = {"error": constant_design.error}
            if constant_design.accuracy is not None:
                constant["accuracy"] = constant_design.accuracy
            baseline = Beside(constant_output=constant, published_design=described_numbers)
        variables = {name.value: _plain(getattr(solved.system, name.value)) for name in free}
        return cls(
            minimised=solved.minimised.value,
            value=solved.value,
            lower_bound=solved.lower_bound,
            gap=solved.gap,
            variables=variables,
            epsilon=solved.epsilon,
            accuracy=solved.accuracy,
            error=solved.error,
            energy=solved.energy,
            baseline=baseline,
            beats_constant=None
            if constant_design is None or solved.error is None
            else solved.error < constant_design.error,
            method=solved.method,
            boxes=solved.boxes,
            settled=solved.settled,
            seconds=solved.seconds,
        )


def _plain(value: Any) -> Any:
    """A single number where all devices have the same one."""
    if isinstance(value, np.ndarray) and np.ptp(value) == 0:
        return float(value.flat[0])
    return value
