"""The contents of a system file, as validated value types."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.requirements import Requirements
from airtight.validate.experiments.training.training_plan import Plan

if TYPE_CHECKING:
    from airtight.analytics.privacy.accounting.privacy_curve import Bracket


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


_WIDTH = 0.01  # relative distance of both ends where the worst noise is searched for: each halving of it doubles the time


@dataclass(frozen=True, eq=False)
class NoiseRange:
    """Noise variances that are known to lie in a range only: [low, high], or a row of both for each device."""

    ends: FloatArray
    key = "noise_variance_range"
    sentence = "Epsilon is the greatest over all noise variances in noise_variance_range."
    note = "Errors, energy and the published bound: at noise_variance."

    def bracket(self, system: InferenceSystem) -> Bracket:
        """Both bounds of each device's greatest epsilon over the range."""
        from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
        from airtight.analytics.privacy.over_the_air import observers, uncertain_noise

        visible = system.idle_noise or observers.resolved(system, system.observer).sees_device
        return uncertain_noise.epsilon_over_noise(system, self.ends, width=DEFAULT_RELATIVE_WIDTH if visible else _WIDTH)

    def estimated(self, system: InferenceSystem) -> bool:
        """Whether these rest on an error that is estimated."""
        from airtight.analytics.privacy.over_the_air import system_privacy, uncertain_noise

        quiet = system.replace(noise_variance=uncertain_noise.ends(system, self.ends)[0])
        return system_privacy.estimated(quiet)


@dataclass(frozen=True, eq=False)
class Scenarios:
    """Participation that depends on a scenario: the probability of each, and a row of the participations in it."""

    probability: FloatArray
    participation: FloatArray
    hidden: bool
    key = "scenarios"
    sentence = "Epsilon counts the scenarios, which correlate participation."
    note = "The published bound is about independent participation: here, with the mean of each device over the scenarios."

    def bracket(self, system: InferenceSystem) -> Bracket:
        """Both bounds of each device's epsilon."""
        from airtight.analytics.privacy.over_the_air import scenarios

        return scenarios.epsilon_over_scenarios(system, self.probability, self.participation, hidden=self.hidden)

    def estimated(self, system: InferenceSystem) -> bool:
        """Whether these rest on an error that is estimated."""
        from airtight.analytics.privacy.over_the_air import system_privacy

        return any(system_privacy.estimated(system.replace(participation=row)) for row in self.participation)


Uncertainty: TypeAlias = NoiseRange | Scenarios


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
    uncertainty : NoiseRange or Scenarios, optional
        What [inference] leaves open of the noise or of the participation. `inference` has the nominal noise, and the mean
        participation; only :func:`airtight.bounds` counts the rest.
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
    uncertainty: Uncertainty | None = None

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
