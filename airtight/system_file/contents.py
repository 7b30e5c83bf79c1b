"""The contents of a system file, as validated value types."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
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
class SystemFile:
    """The contents of a system file; a table that the file omits is None.

    Attributes
    ----------
    name : str
    inference : InferenceSystem, optional
        With its channel, rounds and observer.
    variants : dict of str to InferenceSystem
    task : Task, optional
        Features, margin and cap; :attr:`features` is the first task's.
    scores : Scores, optional
    federated : FederatedSystem, optional
    energy : DeviceFleet, optional
        The table [energy], also called :attr:`fleet`.
    training : Plan, optional
    design : optional
        What the table [design] requires, also called :attr:`requirements`.
    packages : dict
        Records of the tables that installed packages add, by name.
    names, fleet_names : tuple of str
        Names of the devices of [inference] and of [energy], where the input has them.
    groups : tuple of tuple of int
        Devices of one person each, of [inference].
    """

    name: str
    inference: InferenceSystem | None = None
    variants: dict[str, InferenceSystem] = field(default_factory=dict)
    task: Task | None = None
    scores: Scores | None = None
    federated: FederatedSystem | None = None
    energy: DeviceFleet | None = None
    training: Plan | None = None
    design: Requirements | None = None
    packages: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    fleet_names: tuple[str, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def labels(self) -> list[str]:
        """Number of each named device of [inference], counted from 0, with its name."""
        return _labels(self.names)

    def labels_of(self, name: str) -> list[str]:
        """The labels in a system or variant of this name: none in a variant that has other devices."""
        return self.labels if self.systems[name].devices == len(self.names) else []

    @property
    def fleet_labels(self) -> list[str]:
        """Number of each named device of [energy], counted from 0, with its name."""
        return _labels(self.fleet_names)

    @property
    def features(self) -> Features | None:
        """The first task's features."""
        return None if self.task is None else self.task.features

    @property
    def fleet(self) -> DeviceFleet | None:
        """The devices of the table [energy]."""
        return self.energy

    @property
    def requirements(self) -> Requirements | None:
        """What the table [design] requires."""
        return self.design

    @property
    def over_channel(self) -> bool:
        """Whether the inference system, and with it each of its variants, has a channel."""
        return self.inference is not None and self.inference.channel is not None

    def _repr_html_(self) -> str:
        held = [*self.systems.items(), ("federated", self.federated), ("energy", self.energy)]
        return "".join(f"<h4>{escape(name)}</h4>{one._repr_html_()}" for name, one in held if one is not None)

    @property
    def systems(self) -> dict[str, InferenceSystem]:
        """The inference system and its variants, by name."""
        return {} if self.inference is None else {self.name: self.inference, **self.variants}


def _labels(names: tuple[str, ...]) -> list[str]:
    return [f"{k} {name}" if name != str(k) else name for k, name in enumerate(names)]
