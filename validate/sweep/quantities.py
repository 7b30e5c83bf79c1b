"""What can be computed of every system of a sweep: the numbers of the results, by their place, and names for the usual ones."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, cast

import numpy as np

from analytics.checks import FloatArray, ParameterError
from analytics.federated import quantizers
from analytics.federated.device import DeviceFleet
from analytics.inference import accuracy, distortion
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification, observers
from solvers.energy.utility import EnergySolution
from validate.config import meant
from validate.description import Description, Task
from validate.results import federated, inference
from validate.results.energy import DeviceBounds
from validate.sweep.axes import QUESTIONS, Key

REDUCTIONS: Mapping[str, Callable[[FloatArray], Any]] = {"max": np.max, "min": np.min, "mean": np.mean, "sum": np.sum}
DEFAULT_EPSILON = 1.0


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The least epsilon of every device against the observer asked about lies between `lower` and `epsilon`."""

    epsilon: FloatArray
    lower: FloatArray


@dataclass(frozen=True, kw_only=True)
class DeltaAt:
    """delta of every device at ``at_epsilon``, against the observer asked about, lies between `lower` and `delta`."""

    delta: FloatArray
    lower: FloatArray


@dataclass(frozen=True, kw_only=True)
class Alpha:
    """What a quantizer of CorBin-FL puts out."""

    alpha: float


@dataclass(frozen=True)
class Part:
    """A result, what it is computed from, and what it holds.

    Attributes
    ----------
    name : str
        The place of its numbers: that of the JSON of ``bounds`` or ``solve energy``.
    kind : type
        The dataclass that holds them.
    of : callable
        That result of a description; the number is ``at_epsilon``.
    reads : tuple of str
        Tables of the system file.
    ignores : frozenset of str
        Keys of these tables on which no number depends.
    asks : frozenset of str
        Questions that stand in no file.
    quick : mapping
        Ways to single numbers that are much cheaper than the whole.
    rows : bool
        Whether every number is one a device.
    units : mapping
        By the last part of a number's name; 1 by default.
    """

    name: str
    kind: type
    of: Callable[[Description, float], Any]
    reads: tuple[str, ...]
    ignores: frozenset[str] = frozenset()
    asks: frozenset[str] = frozenset()
    quick: Mapping[str, Callable[[Description], Any]] = field(default_factory=dict)
    rows: bool = False
    units: Mapping[str, str] = field(default_factory=dict)

    def depends_on(self, key: Key) -> bool:
        """Whether a key can change a number."""
        if key.name in QUESTIONS:
            return key.name in self.asks
        return key.table in self.reads and key.meaning not in self.ignores

    def leaves(self) -> dict[str, bool]:
        """Its numbers: whether there is one a device."""
        return {path: many or self.rows for path, many in _leaves(self.kind)}

    def values(self, description: Description, paths: Iterable[str], at_epsilon: float) -> dict[str, Any]:
        """The numbers at these paths."""
        wanted = list(paths)
        if all(path in self.quick for path in wanted):
            return {path: self.quick[path](description) for path in wanted}
        found = self.of(description, at_epsilon)
        return {path: _at(found, path) for path in wanted}


def _leaves(kind: type) -> list[tuple[str, bool]]:
    hints, found = typing.get_type_hints(kind), []
    for each in fields(kind):
        held = hints[each.name]
        if typing.get_origin(held) in (types.UnionType, typing.Union):
            held = next(option for option in typing.get_args(held) if option is not type(None))
        if held in (float, int, bool):
            found.append((each.name, False))
        elif typing.get_origin(held) is np.ndarray and "str" not in str(held):
            found.append((each.name, True))
        elif typing.get_origin(held) is tuple:
            found += [(f"{each.name}.{i}", False) for i in range(len(typing.get_args(held)))]
        elif isinstance(held, type) and is_dataclass(held):
            found += [(f"{each.name}.{path}", many) for path, many in _leaves(held)]
    return found


def _at(found: Any, path: str) -> Any:
    for name in path.split("."):
        if found is None:
            return np.nan
        found = found[int(name)] if isinstance(found, tuple) else getattr(found, name)
    return found


def _system(description: Description) -> InferenceSystem:
    return cast(InferenceSystem, description.inference)


def _interval(description: Description, _: float) -> Interval:
    low, high = observers.epsilon_bracket(_system(description), observer=description.observer)
    return Interval(epsilon=np.asarray(high), lower=np.asarray(low))


def _delta(description: Description, at_epsilon: float) -> DeltaAt:
    low, high = observers.exact_delta_bracket(_system(description), at_epsilon, observer=description.observer)
    return DeltaAt(delta=np.asarray(high), lower=np.asarray(low))


def _distortion(description: Description, _: float) -> inference.Distortion:
    return inference.Distortion.of(_system(description), _task(description))


def _task(description: Description) -> Task:
    return cast(Task, description.task)


def _accuracy(description: Description, _: float) -> inference.Accuracy:
    system, task = _system(description), _task(description)
    return inference.Accuracy.of(system, task, inference.Distortion.of(system, task))


def _solved(fleet: DeviceFleet) -> EnergySolution:
    from solvers import energy

    return energy.solve(fleet)


_UNSEEN = frozenset({"delta_prime", "decoder_gain", "channel_gain"})  # by privacy
_UNPRIVATE = frozenset({"delta", "delta_prime", "adjacency", "observer", "channel_gain"})
_TABLE: tuple[Part, ...] = (
    Part("inference.privacy.interval", Interval, _interval, ("inference",), _UNSEEN),
    Part("inference.privacy.delta_at", DeltaAt, _delta, ("inference",), _UNSEEN | {"delta"}, frozenset({"at_epsilon"})),
    Part(
        "inference.privacy.exact",
        inference.Exact,
        lambda d, _: inference.Exact(
            epsilon=np.asarray(amplification.exact_epsilon(_system(d))), delta=_system(d).delta
        ),
        ("inference",),
        _UNSEEN | {"observer"},
    ),
    Part(
        "inference.privacy.proven",
        inference.EpsilonDelta,
        lambda d, _: inference.EpsilonDelta.of(amplification.proven(_system(d))),
        ("inference",),
        _UNSEEN | {"observer"},
    ),
    Part(
        "inference.privacy.published",
        inference.Published,
        lambda d, _: inference.Published(
            **{
                form.value: inference.TheoremBound.of(_system(d), form)
                for form in (amplification.TheoremForm.THEOREM1, amplification.TheoremForm.EQ23)
            }
        ),
        ("inference",),
        frozenset({"decoder_gain", "channel_gain", "observer"}),
    ),
    Part(
        "inference.privacy.observers",
        inference.Observers,
        lambda d, _: inference.Observers.of(_system(d), np.asarray(amplification.exact_epsilon(_system(d)))),
        ("inference",),
        _UNSEEN | {"observer"},
    ),
    Part(
        "inference.distortion",
        inference.Distortion,
        _distortion,
        ("inference", "inference.features"),
        _UNPRIVATE | {"margin", "ideal_accuracy", "epsilon_cap"},
        quick={
            "exact": lambda d: distortion.exact(_system(d), _task(d).features),
            "published": lambda d: distortion.published(_system(d), _task(d).features),
        },
    ),
    Part(
        "inference.accuracy",
        inference.Accuracy,
        _accuracy,
        ("inference", "inference.features"),
        _UNPRIVATE | {"epsilon_cap"},
        quick={
            "markov": lambda d: accuracy.markov(
                distortion.exact(_system(d), _task(d).features),
                margin=_task(d).margin,
                ideal_accuracy=_task(d).ideal_accuracy,
            ),
        },
    ),
    Part(
        "inference.selection",
        inference.Selection,
        lambda d, _: inference.Selection.of(_system(d), d.scores),  # type: ignore[arg-type]
        ("inference", "inference.selection"),
        frozenset({"observer", "decoder_gain", "channel_gain"}),
    ),
    Part(
        "federated.mse",
        federated.WorstError,
        lambda d, _: federated.WorstError.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"parameters", "center", "dropout"}),
        units=dict.fromkeys([each.name for each in fields(federated.WorstError)], "square of the parameter's unit"),
    ),
    Part(
        "federated.central",
        federated.Central,
        lambda d, _: federated.Central.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"center", "dropout"}),
    ),
    Part(
        "federated.server",
        federated.Server,
        lambda d, _: federated.Server.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"parameters", "center", "radius", "shared_bits", "dropout", "delta"}),
    ),
    Part(
        "federated.dropout",
        federated.Dropout,
        lambda d, _: federated.Dropout.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"center"}),
        units={"worst_mse": "square of the parameter's unit"},
    ),
    Part(
        "federated.communication",
        federated.Communication,
        lambda d, _: federated.Communication.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"epsilon", "center", "radius", "ldp_fraction", "dropout", "delta"}),
        units=dict.fromkeys(("model", "key_exchange", "shared_randomness", "update", "total"), "bit"),
    ),
    Part(
        "federated",
        Alpha,
        lambda d, _: Alpha(alpha=float(quantizers.alpha(d.federated.epsilon))),  # type: ignore[union-attr]
        ("federated",),
        frozenset(
            {"clients", "parameters", "center", "radius", "shared_bits", "ldp_fraction", "dropout", "delta", "rounds"}
        ),
    ),
    Part(
        "energy.device",
        DeviceBounds,
        lambda d, _: d.energy,
        ("energy",),
        rows=True,
        units={"gain": "1/W", "min_power": "W", "least_deadline": "s"},
    ),
    Part(
        "energy",
        EnergySolution,
        lambda d, _: _solved(d.energy),  # type: ignore[arg-type]
        ("energy",),
        units={
            **dict.fromkeys(("compute_time", "transmit_time", "slack"), "s"),
            "power": "W",
            "rate": "bit/s",
            "energy": "J",
        },
    ),
)
PARTS = {part.name: part for part in _TABLE}

# name: place, meaning, places of the ends of an interval that holds it
_NAMES: dict[str, tuple[str, str, str | None, str | None]] = {
    "epsilon": (
        "inference.privacy.interval.epsilon.max",
        "least epsilon against the observer asked about, worst device",
        "inference.privacy.interval.lower.max",
        None,
    ),
    "epsilon_per_device": (
        "inference.privacy.interval.epsilon",
        "least epsilon against the observer asked about",
        "inference.privacy.interval.lower",
        None,
    ),
    "epsilon_proven": ("inference.privacy.proven.epsilon.max", "closed form that holds, worst device", None, None),
    "epsilon_published": ("inference.privacy.published.theorem1.epsilon.max", "as Theorem 1 claims", None, None),
    "epsilon_eq23": ("inference.privacy.published.eq23.epsilon.max", "as Theorem 1 claims with Eq. (23)", None, None),
    "delta_claimed": ("inference.privacy.published.eq23.delta.max", "that Theorem 1 claims with Eq. (23)", None, None),
    "delta_true": (
        "inference.privacy.published.eq23.true_delta.max",
        "exact delta at the epsilon that Theorem 1 claims with Eq. (23)",
        None,
        None,
    ),
    "delta": (
        "inference.privacy.delta_at.delta.max",
        "least delta at at_epsilon, worst device",
        "inference.privacy.delta_at.lower.max",
        None,
    ),
    "epsilon_participants": ("inference.privacy.observers.participants.max", "who takes part is seen", None, None),
    "epsilon_others": ("inference.privacy.observers.others.max", "who of the others takes part is seen", None, None),
    "epsilon_signal": (
        "inference.privacy.observers.signal.epsilon.max",
        "the signal alone is seen",
        "inference.privacy.observers.signal.lower.max",
        None,
    ),
    "mse": ("inference.distortion.exact", "mean squared error of the decoded feature", None, None),
    "mse_published": ("inference.distortion.published", "as printed", None, None),
    "mse_proven": ("inference.distortion.proven", "bound that holds", None, None),
    "accuracy": (
        "inference.accuracy.exact",
        "that the error stays within the margin, times the accuracy there",
        "inference.accuracy.interval.0",
        "inference.accuracy.interval.1",
    ),
    "accuracy_published": ("inference.accuracy.published", "Theorem 2 with the printed MSE", None, None),
    "accuracy_markov": ("inference.accuracy.markov", "Theorem 2 with the exact MSE", None, None),
    "federated_mse": ("federated.mse.corbin_worst", "of CorBin-FL, worst update", None, None),
    "federated_mse_published": ("federated.mse.corbin_published", "of CorBin-FL as printed", None, None),
    "federated_mse_ldp": ("federated.mse.ldp", "of independent quantizers", None, None),
    "central_epsilon": (
        "federated.central.exact_epsilon_update",
        "of a whole update, against who sees the mean",
        None,
        None,
    ),
    "central_epsilon_published": ("federated.central.published_epsilon", "Theorem 3", None, None),
    "utility": ("energy.utility.sum", "greatest utility, of the fleet", None, None),
    "utility_per_device": ("energy.utility", "greatest utility", None, None),
    "fleet_energy": ("energy.energy.sum", "at the greatest utility, of the fleet", None, None),
    "iterations_per_device": ("energy.iterations", "at the greatest utility", None, None),
    "power_per_device": ("energy.power", "at the greatest utility", None, None),
}


@dataclass(frozen=True)
class Place:
    """A number of a part: its path, and how the devices' are made one."""

    part: str
    path: str
    reduction: str | None

    @property
    def per_device(self) -> bool:
        """Whether there is one a device."""
        return PARTS[self.part].leaves()[self.path] and self.reduction is None

    @property
    def units(self) -> str:
        return PARTS[self.part].units.get(self.path.split(".")[-1], "1")


@dataclass(frozen=True)
class Quantity:
    """A variable of the sweep, and what certainly holds it."""

    name: str
    place: Place
    meaning: str = ""
    lower: Place | None = None
    upper: Place | None = None

    @property
    def part(self) -> Part:
        return PARTS[self.place.part]

    @property
    def variables(self) -> dict[str, Place]:
        """The arrays that it takes, by name."""
        ends = {f"{self.name}_lower": self.lower, f"{self.name}_upper": self.upper}
        return {self.name: self.place, **{name: place for name, place in ends.items() if place is not None}}


def named(name: str, tables: Iterable[str]) -> Quantity:
    """The quantity of a name, or at a place of the results such as ``federated.communication.seeded.total``.

    What is one a device ends in ``.max``, ``.min``, ``.mean`` or ``.sum`` to be one number.

    Raises
    ------
    ParameterError
        When there is none such, or no table that it needs.

    Examples
    --------
    >>> named("epsilon", ["inference"]).place
    Place(part='inference.privacy.interval', path='epsilon', reduction='max')
    >>> named("energy.power.max", ["energy"]).part.kind.__name__
    'EnergySolution'
    """
    path, meaning, lower, upper = _NAMES.get(name, (name, "", None, None))
    place = _place(path)
    if place is None:
        everything = [*_NAMES, *(f"{part.name}.{leaf}" for part in _TABLE for leaf in part.leaves())]
        near = meant(name, everything).split("allowed:")[0]
        raise ParameterError(
            "--quantity", name, f"a quantity; {near}allowed: {', '.join(_NAMES)}, or a place in the results"
        )
    missing = [table for table in PARTS[place.part].reads if table not in set(tables)]
    if missing:
        raise ParameterError("--quantity", name, f"one of a table that there is; it needs [{missing[0]}]")
    ends = [None if end is None else _place(end) for end in (lower, upper)]
    return Quantity(name, place, meaning, ends[0], ends[1])


def _place(name: str) -> Place | None:
    for part in sorted(_TABLE, key=lambda part: -len(part.name)):
        if name.startswith(part.name + "."):
            path, leaves = name[len(part.name) + 1 :], part.leaves()
            if path in leaves:
                return Place(part.name, path, None)
            path, _, last = path.rpartition(".")
            if last in REDUCTIONS and leaves.get(path):
                return Place(part.name, path, last)
    return None


def usual(tables: Iterable[str]) -> list[str]:
    """What is asked first of the tables that there are."""
    first = {
        "inference": ["epsilon"],
        "inference.features": ["mse", "accuracy"],
        "federated": ["federated_mse"],
        "energy": ["utility"],
    }
    return [name for table in tables for name in first.get(table, [])]


def names() -> dict[str, str]:
    """The usual quantities and what they are."""
    return {name: meaning for name, (_, meaning, _, _) in _NAMES.items()}
