"""Request and result of a joint design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Face, Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.records import Record
from airtight.analytics.tidy import Entry
from airtight.solvers.design.known import Designs, Known, Method
from airtight.solvers.design.requirements import Goal, InferenceRequirements

ANY_ENERGY = 1e300  # a limit that every design keeps
WORST_CODES = "the worst codes within the clips"


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
        sequence = (features,) if isinstance(features, Features) else checks.instance("features", features, list, tuple)
        tasks = tuple(checks.instance("features", task, Features) for task in sequence)
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
class DesignRequest:
    """What a joint design was asked for."""

    wanted: InferenceRequirements
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
        Exact means over the tasks. Without features the error is that of the worst codes within the clips (None over a channel);
        the accuracy is None without a margin.
    energy : float
        Of all devices, for one query: the mean over the tasks, without features for codes as long as the clips.
    nothing : Nothing or None
        The output that ignores y, for comparison.
    worst_codes : bool
        Whether error and energy are those of the worst codes within the clips, where no features are given.
    method : Method
        How the bound is proved; "local" where nothing is.
    boxes : int
        Boxes examined by branch and bound.
    settled : bool
        Whether the search ended before its effort was spent, and reached the requested gap where it has one.
    seconds : float
    request : DesignRequest or None
        What was asked for, which :func:`airtight.sensitivities` reads.
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
    worst_codes: bool
    method: Method
    boxes: int
    settled: bool
    seconds: float = field(compare=False)
    request: DesignRequest | None = field(default=None, repr=False, compare=False)

    def tidy(self) -> dict[str, object]:
        """The numbers of a table; `auto` is told by the observer that it stands for."""
        conditions: dict[str, Any] = {} if self.request is None else {
            "rounds": self.request.rounds,
            "observer": observers.resolved(self.system, self.request.observer),
        }
        return {
            "minimised": self.minimised,
            "value": Entry(value=self.value, lower=math.nan if self.lower_bound is None else self.lower_bound),
            "bound_for": self.bound_for,
            "epsilon": Entry(value=self.epsilon, face=Face.EXACT, **conditions),
            "error": self.error,
            "accuracy": self.accuracy,
            "energy": Entry(value=self.energy, unit="W symbol periods"),
            "system": self.system,
            "constant_output": self.nothing,
            "method": self.method,
            "boxes": self.boxes,
            "settled": self.settled,
        }

    def __post_init__(self) -> None:
        Known(self.method, self.lower_bound, self.bound_for)  # no word without its bound

    @property
    def error_of(self) -> str:
        """The codes that the error is for."""
        return WORST_CODES if self.worst_codes else "the codes of the features"

    @property
    def energy_of(self) -> str:
        """The codes that the energy is for: those of the features where they are known."""
        return "codes as long as the clips" if self.worst_codes else "the codes of the features"

    @property
    def gap(self) -> float | None:
        """Value minus lower bound."""
        return None if self.lower_bound is None else self.value - self.lower_bound
