"""What a design of a utility-fair fleet is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError


class Goal(StrEnum):
    """What is greatest (utility) or least: of all devices in a round (energy in J), or epsilon of the global model's copies."""

    UTILITY = "utility"
    ENERGY = "energy"
    EPSILON = "epsilon"


class Hears(StrEnum):
    """Who is guarded against: a device that hears its own copy of the global model, or all of them together."""

    OWN = "own"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class FleetRequirements:
    """The table [design] of a file that has [energy] alone.

    Attributes
    ----------
    minimise : {"energy", "epsilon"}, optional
    maximise : {"utility"}, optional
        The default, where neither is given.
    epsilon_at_most : float, optional
        Of the copies heard over all rounds.
    noise_at_most : float, optional
        Noise multiplier of the global model: standard deviation over sensitivity, for a device that does not deviate.
    energy_at_most : float, optional
        J, of all devices in a round.
    utility_at_least : float, optional
        Sum over the devices, a round.
    rounds : int
        T >= 1.
    delta : float
        In (0, 1), of all rounds.
    theta : float
        Of UF Eq. (25), in [0, 1): a device of deviation E hears noise 1/(1 - theta E) times as great.
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
        own = {Goal.UTILITY: "utility_at_least", Goal.ENERGY: "energy_at_most", Goal.EPSILON: "epsilon_at_most"}[
            self.goal
        ]
        if getattr(self, own) is not None:
            raise ParameterError(own, getattr(self, own), f"absent: {self.goal} is what is sought")
        if self.goal is Goal.EPSILON and self.noise_at_most is None:
            raise ParameterError(
                "noise_at_most", "absent", "given where epsilon is least: else there is no end to the noise"
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
        """What is sought."""
        return self.minimise or self.maximise or Goal.UTILITY
