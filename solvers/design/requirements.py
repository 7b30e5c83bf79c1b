"""The table [design] of a system file: what a design optimises, the limits that it keeps, and what it may change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self, TypeAlias, TypedDict

from airtight.analytics import parameters
from airtight.analytics.checks import ParameterError
from airtight.analytics.parameters import Choice, Count, Flag, Number, OneOf, OptionalCount, OptionalNumber, SomeOf
from airtight.solvers.design.effort import DEFAULT
from airtight.solvers.design.known import Designs


class Goal(StrEnum):
    """An optimised quantity; each type of requirements allows some of them, and utility is the one that is maximised."""

    ENERGY = "energy"
    EPSILON = "epsilon"
    ERROR = "error"
    BITS = "bits"
    UTILITY = "utility"


GoalName: TypeAlias = Goal | Literal["energy", "epsilon", "error", "bits", "utility"]


class Free(StrEnum):
    """A variable that a design may change; each type of requirements allows some of them."""

    WEIGHT = "weight"
    NOISE = "noise_variance"
    CLIP = "clip"
    PARTICIPATION = "participation"
    ALIGNMENT = "alignment"
    GAIN = "decoder_gain"
    IDLE = "idle_noise"
    EPSILON = "epsilon"
    SHARED_BITS = "shared_bits"


FreeName: TypeAlias = (
    Free
    | Literal[
        "weight",
        "noise_variance",
        "clip",
        "participation",
        "alignment",
        "decoder_gain",
        "idle_noise",
        "epsilon",
        "shared_bits",
    ]
)

JOINTLY_FREE = (Free.WEIGHT, Free.NOISE, Free.CLIP, Free.PARTICIPATION, Free.ALIGNMENT, Free.GAIN)
"""The free variables of a joint design that names none: all except idle noise."""


class HeardCopies(StrEnum):
    """The copies of the global model that an observing device receives: its own, or those of all devices."""

    OWN = "own"
    ALL = "all"


HeardCopiesName: TypeAlias = HeardCopies | Literal["own", "all"]


class _DesignKeys(TypedDict, total=False):
    """What requirements of every system may say."""

    minimise: GoalName
    epsilon_at_most: float


class InferenceKeys(_DesignKeys, total=False):
    """The keys of :class:`InferenceRequirements`."""

    error_at_most: float
    accuracy_at_least: float
    energy_at_most: float
    power_at_most: float
    outage_at_most: float
    free: Iterable[FreeName]
    alike: bool
    effort: int


class FederatedKeys(_DesignKeys, total=False):
    """The keys of :class:`FederatedRequirements`."""

    error_at_most: float
    bits_at_most: int
    free: Iterable[FreeName]


class FleetKeys(_DesignKeys, total=False):
    """The keys of :class:`FleetRequirements` but rounds, which is an argument of :func:`airtight.design` itself."""

    maximise: GoalName
    noise_at_most: float
    energy_at_most: float
    utility_at_least: float
    delta: float
    theta: float
    hears: HeardCopiesName


class DesignKeys(InferenceKeys, total=False):
    """The keys of all requirements, for a system that a file describes."""

    bits_at_most: int
    maximise: GoalName
    noise_at_most: float
    utility_at_least: float
    delta: float
    theta: float
    hears: HeardCopiesName


@dataclass(frozen=True)
class Requirements(ABC):
    """Base class of the requirements of a design: one frozen dataclass of parameters for each designed system."""

    @property
    @abstractmethod
    def goal(self) -> Goal:
        """The optimised quantity."""

    @property
    def designs(self) -> Designs:
        """The class of designs among which the best is sought, and for which a bound is."""
        return Designs.ALL

    @property
    def limits(self) -> list[str]:
        """The names of the quantities' limits."""
        return [name for name, row in parameters.of(type(self)).items() if isinstance(row, OptionalNumber | OptionalCount)]

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """The requirements of these names and values."""
        names = parameters.of(cls)
        for name, value in given.items():
            if name not in names:
                raise ParameterError(name, value, f"absent; the requirements are {', '.join(names)}")
        requirements: Callable[..., Self] = cls
        return requirements(**given)


@dataclass(frozen=True, kw_only=True)
class InferenceRequirements(Requirements):
    """The table [design] of a file with [inference].

    Attributes
    ----------
    minimise : {"energy", "epsilon", "error"}
        Transmit energy of all devices in a query, greatest epsilon, or mean squared error.
    epsilon_at_most : float, optional
        For every device, over all rounds.
    error_at_most : float, optional
        The mean squared error.
    accuracy_at_least : float, optional
        Kept by Markov's inequality, as MSE at most :math:`\\Delta^2(1 - A/P_0)`; the result states the exact accuracy.
    energy_at_most : float, optional
        Of all devices together, for one query.
    power_at_most : float, optional
        Peak power of every device in a block of r symbols (Eq. (6) corrected), with which it must be able to send
        aligned.
    outage_at_most : float
        In (0, 1/2]; the probability, in one query of one device, that the peak power does not suffice. It cannot be 0
        because the noise is unbounded.
    free : tuple of Free
        The variables that the design may change; by default all except idle noise.
    alike : bool
        Whether all devices must have the same values. The design, its bound and a proof that there is none are then for such
        designs only.
    effort : int
        Evaluations that the search may use (:class:`airtight.solvers.design.effort.Effort`). The result depends on
        this number, not on the time that they take.
    """

    minimise: OneOf[GoalName, Goal] = OneOf(Goal.ENERGY, Goal.EPSILON, Goal.ERROR, default=Goal.ENERGY)
    epsilon_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest epsilon allowed for any device, over all rounds", default=None
    )
    error_at_most: OptionalNumber = OptionalNumber("", "[0, inf)", "greatest mean squared error allowed", default=None)
    accuracy_at_least: OptionalNumber = OptionalNumber(
        "",
        "[0, 1]",
        "least accuracy demanded; guaranteed by Markov's inequality, so the true one is often higher",
        default=None,
    )
    energy_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest transmit energy allowed, of all devices together in a round", unit="J", default=None
    )
    power_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest peak power allowed for any device", unit="W", default=None
    )
    outage_at_most: Number = Number(
        "", "(0, 0.5]", "probability, per device and round, that the peak power may not suffice", default=1e-3
    )
    free: SomeOf[Iterable[FreeName], Free] = SomeOf(*JOINTLY_FREE, Free.IDLE, default=JOINTLY_FREE)
    alike: Flag = Flag("", "", "whether all devices must get the same values", default=False)
    effort: Count = Count("", "[1, inf)", "evaluations that the search may use", default=DEFAULT)

    def __post_init__(self) -> None:
        if self.kept == {self.minimise}:
            raise ParameterError(
                f"{self.minimise}_at_most", "alone", f"given with another constraint: {self.minimise} is minimised"
            )
        if not self.kept:
            raise ParameterError(
                "epsilon_at_most",
                "absent",
                "given, or another constraint of epsilon_at_most, error_at_most, accuracy_at_least, energy_at_most",
            )

    @property
    def goal(self) -> Goal:
        return self.minimise

    @property
    def designs(self) -> Designs:
        return Designs.ALIKE if self.alike else Designs.ALL

    @property
    def kept(self) -> set[Goal]:
        """The constrained quantities."""
        limits = {
            Goal.EPSILON: (self.epsilon_at_most,),
            Goal.ERROR: (self.error_at_most, self.accuracy_at_least),
            Goal.ENERGY: (self.energy_at_most,),
        }
        return {goal for goal, values in limits.items() if any(value is not None for value in values)}


@dataclass(frozen=True, kw_only=True)
class FederatedRequirements(Requirements):
    """The table [design] of a file with [federated].

    Attributes
    ----------
    minimise : {"error", "epsilon", "bits"}
        Worst mean squared error of a parameter of the mean, epsilon of one uplink, or bits of one client in one round.
    epsilon_at_most : float, optional
        Epsilon of one parameter of one uplink.
    error_at_most : float, optional
        The proven worst mean squared error of one parameter of the mean, over all updates.
    bits_at_most : int, optional
        Transmitted bits of one client in one round, with shared randomness under a stream cipher.
    free : tuple of Free
        The variables that the design may change: epsilon, shared_bits.
    """

    minimise: OneOf[GoalName, Goal] = OneOf(Goal.ERROR, Goal.EPSILON, Goal.BITS, default=Goal.ERROR)
    epsilon_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest local epsilon allowed for one parameter in one message of a client", default=None
    )
    error_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest mean squared error allowed for one parameter, in the worst case", default=None
    )
    bits_at_most: OptionalCount = OptionalCount(
        "", "[1, inf)", "greatest number of bits that a client may send in a round", default=None
    )
    free: SomeOf[Iterable[FreeName], Free] = SomeOf(Free.EPSILON, Free.SHARED_BITS)

    def __post_init__(self) -> None:
        needed = "epsilon_at_most" if self.minimise is Goal.ERROR else "error_at_most"
        if getattr(self, needed) is None and Free.EPSILON in self.free:
            raise ParameterError(
                needed, "absent", f"given where {self.minimise} is minimised: otherwise epsilon has no limit"
            )

    @property
    def goal(self) -> Goal:
        return self.minimise


@dataclass(frozen=True, kw_only=True)
class FleetRequirements(Requirements):
    """The table [design] of a file that has [energy] alone.

    Attributes
    ----------
    minimise : {"energy", "epsilon"}, optional
        Energy of all devices in a round, in J, or epsilon of the received copies.
    maximise : {"utility"}, optional
        Utility of all devices in a round; the default when neither is given.
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
        The copies that the observer receives.
    """

    minimise: OneOf[GoalName | None, Goal | None] = OneOf(Goal.ENERGY, Goal.EPSILON, default=None)
    maximise: OneOf[GoalName | None, Goal | None] = OneOf(Goal.UTILITY, default=None)
    epsilon_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest epsilon allowed over all rounds, against a device that receives the model", default=None
    )
    noise_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest noise allowed in the global model: standard deviation over sensitivity", default=None
    )
    energy_at_most: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "greatest energy allowed, of all devices together in a round", unit="J", default=None
    )
    utility_at_least: OptionalNumber = OptionalNumber(
        "", "(-inf, inf)", "least utility demanded, of all devices together in a round", default=None
    )
    rounds: Count = Count("T", "[1, inf)", "number of rounds", default=1)
    delta: Number = Number(r"\delta", "(0, 1)", "delta of the guarantee over all rounds", default=1e-5)
    theta: Number = Number(
        r"\theta",
        "[0, 1)",
        "how much noisier the model copy of a device gets as its deviation grows, UF Eq. (25)",
        default=0.0,
    )
    hears: Choice[HeardCopiesName, HeardCopies] = Choice(
        "",
        "",
        "copies of the model that the observing device receives: its own, or those of all devices",
        default=HeardCopies.OWN,
    )

    def __post_init__(self) -> None:
        if self.minimise is not None and self.maximise is not None:
            raise ParameterError("maximise", self.maximise, "absent where minimise is given")
        goal_limit = "utility_at_least" if self.goal is Goal.UTILITY else f"{self.goal}_at_most"
        if getattr(self, goal_limit) is not None:
            raise ParameterError(
                goal_limit, getattr(self, goal_limit), f"absent: {self.goal} is the optimised quantity"
            )
        if self.goal is Goal.EPSILON and self.noise_at_most is None:
            raise ParameterError(
                "noise_at_most", "absent", "given where epsilon is minimised: otherwise the noise has no limit"
            )
        first, *others = self.limits
        if all(getattr(self, name) is None for name in (first, *others)):
            raise ParameterError(first, "absent", f"given, or another of {', '.join(others)}")

    @property
    def goal(self) -> Goal:
        """The optimised quantity."""
        return self.minimise or self.maximise or Goal.UTILITY
