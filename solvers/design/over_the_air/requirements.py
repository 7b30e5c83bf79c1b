"""Requirements and result of a joint design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.records import Record
from airtight.solvers.design.effort import DEFAULT
from airtight.solvers.design.known import Designs, Known, Method

ANY_ENERGY = 1e300  # a limit that every design keeps


class Goal(StrEnum):
    """The minimised quantity: transmit energy of all devices in a query, greatest epsilon, or mean squared error."""

    ENERGY = "energy"
    EPSILON = "epsilon"
    ERROR = "error"


class Free(StrEnum):
    """The variables that a design may change."""

    WEIGHT = "weight"
    NOISE = "noise_variance"
    CLIP = "clip"
    PARTICIPATION = "participation"
    ALIGNMENT = "alignment"
    GAIN = "decoder_gain"
    IDLE = "idle_noise"


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The table [design] of the system file.

    Attributes
    ----------
    minimise : Goal
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

    minimise: Goal = Goal.ENERGY
    epsilon_at_most: float | None = None
    error_at_most: float | None = None
    accuracy_at_least: float | None = None
    energy_at_most: float | None = None
    power_at_most: float | None = None
    outage_at_most: float = 1e-3
    free: tuple[Free, ...] = tuple(free for free in Free if free is not Free.IDLE)
    alike: bool = False
    effort: int = DEFAULT

    def __post_init__(self) -> None:
        object.__setattr__(self, "minimise", checks.choice("minimise", self.minimise, Goal))
        names = [checks.choice("free", name, Free) for name in self.free]
        if not names:
            raise ParameterError("free", [], f"at least one of {', '.join(Free)}")
        object.__setattr__(self, "free", tuple(dict.fromkeys(names)))
        object.__setattr__(self, "alike", checks.flag("alike", self.alike))
        object.__setattr__(self, "effort", checks.count("effort", self.effort))
        for name, interval in (
            ("epsilon_at_most", "(0, inf)"),
            ("error_at_most", "[0, inf)"),
            ("accuracy_at_least", "[0, 1]"),
            ("energy_at_most", "(0, inf)"),
            ("power_at_most", "(0, inf)"),
            ("outage_at_most", "(0, 0.5]"),
        ):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, checks.scalar(name, value, interval))
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
    def designs(self) -> Designs:
        """The class of designs among which the best is sought, and for which a bound is."""
        return Designs.ALIKE if self.alike else Designs.ALL

    @property
    def kept(self) -> set[Goal]:
        """The constrained quantities."""
        error = self.error_at_most is not None or self.accuracy_at_least is not None
        constrained = {
            Goal.EPSILON: self.epsilon_at_most is not None,
            Goal.ERROR: error,
            Goal.ENERGY: self.energy_at_most is not None,
        }
        return {goal for goal, is_constrained in constrained.items() if is_constrained}


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """The purpose of the queries: one or several tasks of one codec, the margin, and the accuracy without noise.

    Attributes
    ----------
    features : tuple of Features
    margin : float, optional
        Common to all tasks; needed for an accuracy.
    ideal_accuracy : float
    """

    features: tuple[Features, ...]
    margin: float | None = None
    ideal_accuracy: float = 1.0

    @classmethod
    def of(
        cls, features: Features | Sequence[Features], margin: float | None = None, ideal_accuracy: float = 1.0
    ) -> Purpose:
        given = (features,) if isinstance(features, Features) else checks.instance("features", features, list, tuple)
        tasks = tuple(checks.instance("features", each, Features) for each in given)
        if not tasks:
            raise ParameterError("features", "empty", "at least one task")
        return cls(
            features=tasks,
            margin=None if margin is None else checks.scalar("margin", margin, "(0, inf)"),
            ideal_accuracy=checks.scalar("ideal_accuracy", ideal_accuracy, "[0, 1]"),
        )


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """Error and accuracy of the best constant output, which ignores the received signal y."""

    error: float
    accuracy: float | None = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a design was asked for."""

    wanted: Requirements
    purpose: Purpose | None
    rounds: int
    observer: Observer
    channel: Channel | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class JointDesign(Record):
    """A design, its properties, and a bound on all other designs.

    Attributes
    ----------
    system : InferenceSystem
        The designed system.
    minimised : Goal
    value : float
        The minimised quantity.
    lower_bound : float or None
        No design of the class `bound_for` that keeps the constraints has a smaller value; None where nothing is proved.
    bound_for : Designs or None
        The class of designs that the bound is for: all values of the free variables, which may differ from device to device, or
        those that treat all devices alike.
    epsilon : ndarray, shape (K,)
        Upper bounds over all rounds.
    error, accuracy : float or None
        Exact means over the tasks; the error is None without features, the accuracy without a margin.
    energy : float
        Of all devices, for one query: the mean over the tasks, without features for codes as long as the clips.
    nothing : Nothing or None
        The output that ignores y, for comparison.
    method : Method
        How the bound is proved; "local" where nothing is.
    boxes : int
        Boxes examined by branch and bound.
    settled : bool
        Whether the search ended before its effort was spent, and reached the requested gap where it has one.
    seconds : float
    question : Question or None
        What was asked for, which :func:`airtight.prices` reads.
    """

    system: InferenceSystem
    minimised: Goal
    value: float
    lower_bound: float | None
    bound_for: Designs | None
    epsilon: FloatArray
    error: float | None
    accuracy: float | None
    energy: float
    nothing: Nothing | None
    method: Method
    boxes: int
    settled: bool
    seconds: float = field(compare=False)
    question: Question | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        Known(self.method, self.lower_bound, self.bound_for)  # no word without its bound

    @property
    def energy_of(self) -> str:
        """The codes that the energy is for: those of the features where they are known."""
        return "codes as long as the clips" if self.nothing is None else "the codes of the features"

    @property
    def gap(self) -> float | None:
        """Value minus lower bound."""
        return None if self.lower_bound is None else self.value - self.lower_bound
