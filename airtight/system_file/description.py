"""The contents of a system file, as validated value types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.requirements import Requirements
from airtight.validate.experiments.training.training_plan import Plan


@dataclass(frozen=True)
class Task:
    """A classification task: features, the classifier's margin and its accuracy without noise, and a cap on epsilon.

    If the file holds several tasks, `features` is the first one and `samples` are all of them; designs use their mean.
    """

    features: Features
    margin: float
    ideal_accuracy: float
    epsilon_cap: float | None
    samples: tuple[Features, ...] = ()

    def fits(self, system: InferenceSystem) -> bool:
        """Whether system and features have the same number of devices and dimensions; a variant may differ."""
        return (system.devices, system.dimension) == (self.features.f.shape[0], self.features.D.shape[1])


@dataclass(frozen=True)
class Scores:
    """Uncertainty scores and the rules of Schemes 2.1 and 2.2."""

    score: FloatArray
    noise: FloatArray
    threshold: float
    selected: int
    sensitivity: float | None
    greatest: float | None


@dataclass(frozen=True)
class Description:
    """The contents of a system file; a table that the file omits is None."""

    name: str
    inference: InferenceSystem | None = None
    observer: Observer = Observer.AUTO  # against whom privacy is computed, for the system and its variants
    rounds: int = 1  # number of queries, each with independent participation and noise
    variants: dict[str, InferenceSystem] = field(default_factory=dict)
    channel: Channel | None = None  # of the system and its variants; None stands for superposition at one look
    task: Task | None = None
    scores: Scores | None = None
    federated: FederatedSystem | None = None
    energy: DeviceFleet | None = None
    training: Plan | None = None
    design: Requirements | None = None
    packages: dict[str, Any] = field(default_factory=dict)  # records of the tables that installed packages add, by name

    @property
    def systems(self) -> dict[str, InferenceSystem]:
        """The inference system and its variants, by name."""
        return {} if self.inference is None else {self.name: self.inference, **self.variants}
