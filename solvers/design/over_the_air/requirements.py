"""What a joint design is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.records import Record
from airtight.solvers.design.effort import DEFAULT


class Goal(StrEnum):
    """What is least: transmit energy of all devices and one query, the greatest epsilon, or the mean squared error."""

    ENERGY = "energy"
    EPSILON = "epsilon"
    ERROR = "error"


class Free(StrEnum):
    """What may be changed."""

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
        Mean squared error.
    accuracy_at_least : float, optional
        Kept by Markov's inequality: MSE at most :math:`\\Delta^2(1 - A/P_0)`; the exact accuracy of the answer is given.
    energy_at_most : float, optional
        Of all devices together, one query.
    power_at_most : float, optional
        Peak power of every device in a block of r symbols (Eq. (6) corrected): enough for alignment.
    outage_at_most : float
        In (0, 1/2]; the chance that it is not, in one query of one device: the noise has no bound.
    free : tuple of Free
        All but idle noise by default.
    effort : int
        Evaluations that the search may take (:class:`airtight.solvers.design.effort.Effort`); the answer depends on it,
        never on the clock.
    """

    minimise: Goal = Goal.ENERGY
    epsilon_at_most: float | None = None
    error_at_most: float | None = None
    accuracy_at_least: float | None = None
    energy_at_most: float | None = None
    power_at_most: float | None = None
    outage_at_most: float = 1e-3
    free: tuple[Free, ...] = tuple(free for free in Free if free is not Free.IDLE)
    effort: int = DEFAULT

    def __post_init__(self) -> None:
        object.__setattr__(self, "minimise", checks.choice("minimise", self.minimise, Goal))
        names = [checks.choice("free", name, Free) for name in self.free]
        if not names:
            raise ParameterError("free", [], f"at least one of {', '.join(Free)}")
        object.__setattr__(self, "free", tuple(dict.fromkeys(names)))
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
                f"{self.minimise}_at_most", "alone", f"another constraint: {self.minimise} is what is least"
            )
        if not self.kept:
            raise ParameterError(
                "epsilon_at_most",
                "absent",
                "given, or another constraint of epsilon_at_most, error_at_most, accuracy_at_least, energy_at_most",
            )

    @property
    def kept(self) -> set[Goal]:
        """What is constrained."""
        error = self.error_at_most is not None or self.accuracy_at_least is not None
        known = {
            Goal.EPSILON: self.epsilon_at_most is not None,
            Goal.ERROR: error,
            Goal.ENERGY: self.energy_at_most is not None,
        }
        return {goal for goal, given in known.items() if given}


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """What the server wants to know: one task or several of one codec, the margin and the accuracy without noise.

    Attributes
    ----------
    features : tuple of Features
    margin : float, optional
        One for all tasks; needed for an accuracy.
    ideal_accuracy : float
    """

    features: tuple[Features, ...]
    margin: float | None = None
    ideal_accuracy: float = 1.0

    @classmethod
    def of(
        cls, features: Features | Sequence[Features], margin: float | None = None, ideal_accuracy: float = 1.0
    ) -> Purpose:
        tasks = (features,) if isinstance(features, Features) else tuple(features)
        if not tasks:
            raise ParameterError("features", "empty", "at least one task")
        return cls(
            features=tasks,
            margin=None if margin is None else checks.scalar("margin", margin, "(0, inf)"),
            ideal_accuracy=checks.scalar("ideal_accuracy", ideal_accuracy, "[0, 1]"),
        )


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """What the output that ignores y reaches."""

    error: float
    accuracy: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class JointDesign(Record):
    """A design, what it reaches, and what is proved about it.

    Attributes
    ----------
    system : InferenceSystem
        As designed.
    minimised : Goal
    value : float
    lower_bound : float or None
        No design of the free variables that keeps the constraints has less; None where nothing is proved.
    epsilon : ndarray, shape (K,)
        Over all rounds, never below the truth.
    error, accuracy : float or None
        Exact, means over the tasks; None without features (margin).
    energy : float
        Of all devices, one query.
    nothing : Nothing or None
        The output that ignores y, to hold beside it.
    method : str
        "global: ..." or "local".
    boxes : int
        Examined by branch and bound.
    settled : bool
        Whether the search ended before the effort did, with the gap asked for where it has one.
    seconds : float
    """

    system: InferenceSystem
    minimised: Goal
    value: float
    lower_bound: float | None
    epsilon: FloatArray
    error: float | None
    accuracy: float | None
    energy: float
    nothing: Nothing | None
    method: str
    boxes: int
    settled: bool
    seconds: float = field(compare=False)

    @property
    def gap(self) -> float | None:
        """Value minus lower bound."""
        return None if self.lower_bound is None else self.value - self.lower_bound
