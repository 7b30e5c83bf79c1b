"""Requirements of a design of a utility-fair fleet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError


class Goal(StrEnum):
    """The optimised quantity: utility (maximised) or energy (J) of all devices in a round, or epsilon of the copies."""

    UTILITY = "utility"
    ENERGY = "energy"
    EPSILON = "epsilon"


class Hears(StrEnum):
    """The observer: a device that receives its own copy of the global model, or one that receives all copies."""

    OWN = "own"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class FleetRequirements:
    """The table [design] of a file that has [energy] alone.

    Attributes
    ----------
    minimise : {"energy", "epsilon"}, optional
    maximise : {"utility"}, optional
        The default when neither is given.
    epsilon_at_most : float, optional
        Epsilon of the received copies over all rounds.
    noise_at_most : float, optional
        Noise multiplier of the global model: standard deviation over sensitivity, for a device with deviation 0.
    energy_at_most : float, optional
        Energy of all devices in a round, in J.
    utility_at_least : float, optional
        Sum of the utility over the devices in a round.
    rounds : int
        T >= 1.
    delta : float
        In (0, 1), over all rounds.
    theta : float
        The parameter of UF Eq. (25), in [0, 1): a device of deviation E receives noise 1/(1 - theta E) times as great.
    hears : {"own", "all"}
    """

    minimise: Goal | None = None
    maximise: Goal | None = None
    epsilon_at_most: float | None = None
    noise_at_most: float | None = None
    energy_at_most: float | None = None
    utility_at_least: float | None = None
    rounds: int = 1
    delta: float = 1e-5
    theta: float = 0.0
    hears: Hears = Hears.OWN

    def __post_init__(self) -> None:
        self._goals()
        intervals = {
            "epsilon_at_most": "(0, inf)",
            "noise_at_most": "(0, inf)",
            "energy_at_most": "(0, inf)",
            "utility_at_least": "(-inf, inf)",
            "delta": "(0, 1)",
            "theta": "[0, 1)",
        }
        for name, interval in intervals.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, checks.scalar(name, value, interval))
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))
        object.__setattr__(self, "hears", checks.choice("hears", self.hears, Hears))
        goal_limit = {Goal.UTILITY: "utility_at_least", Goal.ENERGY: "energy_at_most", Goal.EPSILON: "epsilon_at_most"}[
            self.goal
        ]
        if getattr(self, goal_limit) is not None:
            raise ParameterError(
                goal_limit, getattr(self, goal_limit), f"absent: {self.goal} is the optimised quantity"
            )
        if self.goal is Goal.EPSILON and self.noise_at_most is None:
            raise ParameterError(
                "noise_at_most", "absent", "given where epsilon is minimised: otherwise the noise has no limit"
            )
        if all(getattr(self, name) is None for name in list(intervals)[:4]):
            raise ParameterError("epsilon_at_most", "absent", f"given, or another of {', '.join(list(intervals)[1:4])}")

    def _goals(self) -> None:
        if self.minimise is not None and self.maximise is not None:
            raise ParameterError("maximise", self.maximise, "absent where minimise is given")
        for name, allowed in (("minimise", (Goal.ENERGY, Goal.EPSILON)), ("maximise", (Goal.UTILITY,))):
            value = getattr(self, name)
            if value is not None and value not in list(allowed):
                raise ParameterError(name, value, f"one of {', '.join(allowed)}")
            object.__setattr__(self, name, None if value is None else Goal(value))

    @property
    def goal(self) -> Goal:
        """The optimised quantity."""
        return self.minimise or self.maximise or Goal.UTILITY
