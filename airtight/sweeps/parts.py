"""The results that a sweep can compute for every system: the tables that each reads and the numbers that each holds."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from airtight.analytics import parameters
from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference import accuracy, distortion
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, system_privacy
from airtight.results import federated_results, inference_results
from airtight.results.energy import DeviceBounds
from airtight.solvers.energy.utility import EnergySolution
from airtight.sweeps.axes import QUESTIONS, Key
from airtight.system_file.contents import SystemFile, Task

if TYPE_CHECKING:
    from airtight.analytics.forms.quantity import Quantity

REDUCTIONS: Mapping[str, Callable[[FloatArray], Any]] = {"max": np.max, "min": np.min, "mean": np.mean, "sum": np.sum}
DEFAULT_EPSILON = 1.0


@dataclass(frozen=True, kw_only=True)
class EpsilonInterval:
    """Lower and upper bound, `lower` and `epsilon`, of each device's smallest epsilon, for the chosen observer."""

    epsilon: FloatArray
    lower: FloatArray


@dataclass(frozen=True, kw_only=True)
class DeltaAt:
    """Lower and upper bound, `lower` and `delta`, of each device's delta at ``at_epsilon``, for the chosen observer."""

    delta: FloatArray
    lower: FloatArray


@dataclass(frozen=True, kw_only=True)
class Delta:
    """Upper bound of each device's delta at ``at_epsilon``, for the chosen observer."""

    delta: FloatArray


@dataclass(frozen=True, kw_only=True)
class Alpha:
    """The magnitude of what a quantizer of CorBin-FL puts out."""

    alpha: float


@dataclass(frozen=True)
class Part:
    """A result, the tables from which it is computed, and the numbers that it holds.

    Attributes
    ----------
    name : str
        The path of its numbers in the JSON of ``bounds`` or ``solve energy``.
    kind : type
        The dataclass that holds the numbers.
    of : callable
        Computes the result from a description and ``at_epsilon``.
    reads : tuple of str
        Tables of the system file.
    ignores : frozenset of str
        Keys of these tables on which no number depends.
    asks : frozenset of str
        Keys of :data:`airtight.sweeps.axes.QUESTIONS`, which are in no file, on which the numbers depend.
    quick : mapping
        Functions that compute single numbers at much lower cost than the whole result.
    rows : bool
        Whether every number has one value per device.
    units : mapping
        The unit by the last part of a number's path; 1 by default.
    """

    name: str
    kind: type
    of: Callable[[SystemFile, float], Any]
    reads: tuple[str, ...]
    ignores: frozenset[str] = frozenset()
    asks: frozenset[str] = frozenset()
    quick: Mapping[str, Callable[[SystemFile], Any]] = field(default_factory=dict)
    rows: bool = False
    units: Mapping[str, str] = field(default_factory=dict)

    def depends_on(self, key: Key) -> bool:
        """Whether a key can change a number."""
        if key.name in QUESTIONS:
            return key.name in self.asks
        return key.table in self.reads and key.meaning not in self.ignores

    def leaves(self) -> dict[str, bool]:
        """Its numbers by path, and whether each has one value per device; those of a part within it are of that part."""
        within = tuple(f"{name.removeprefix(f'{self.name}.')}." for name in PARTS if name.startswith(f"{self.name}."))
        return {path: each or self.rows for path, each in _leaves(self.kind) if not path.startswith(within)}

    def values(self, description: SystemFile, paths: Iterable[str], at_epsilon: float) -> dict[str, Any]:
        """The numbers at these paths."""
        all_paths = list(paths)
        if all(path in self.quick for path in all_paths):
            return {path: self.quick[path](description) for path in all_paths}
        result = self.of(description, at_epsilon)
        return {path: _at(result, path) for path in all_paths}


def _is_array(field_type: Any) -> bool:
    """Whether it is an array of NumPy; its NDArray is a type alias from Python 3.12 on."""
    origin = typing.get_origin(field_type)
    return np.ndarray in (origin, typing.get_origin(getattr(origin, "__value__", None)))


def _leaves(dataclass_type: type) -> list[tuple[str, bool]]:
    """The paths of all numbers in a dataclass, read from its annotations; true for arrays (a value per device)."""
    hints, paths = typing.get_type_hints(dataclass_type), []
    for each in fields(dataclass_type):
        field_type = hints[each.name]
        if typing.get_origin(field_type) in (types.UnionType, typing.Union):
            # an optional field holds what its type says, or None, which is nan in a sweep
            field_type = next(option for option in typing.get_args(field_type) if option is not type(None))
        if field_type in (float, int, bool):
            paths.append((each.name, False))
        elif _is_array(field_type) and "str" not in str(field_type):
            paths.append((each.name, True))
        elif typing.get_origin(field_type) is tuple:
            paths += [(f"{each.name}.{i}", False) for i in range(len(typing.get_args(field_type)))]
        elif isinstance(field_type, type) and is_dataclass(field_type):
            paths += [(f"{each.name}.{path}", per_device) for path, per_device in _leaves(field_type)]
    return paths


def _at(result: Any, path: str) -> Any:
    """The number at a path; nan where a field on the way is None."""
    for name in path.split("."):
        if result is None:
            return np.nan
        result = result[int(name)] if isinstance(result, tuple) else getattr(result, name)
    return result


def _claimed(d: SystemFile, *, form: amplification.TheoremForm, name: str) -> Any:
    """A number that Theorem 1 claims."""
    return getattr(amplification.published(_system(d).one_round.derived(colluding=0), form=form), name)


def _system(description: SystemFile) -> InferenceSystem:
    return cast(InferenceSystem, description.inference)


def _interval(description: SystemFile, _: float) -> EpsilonInterval:
    lower, upper = system_privacy.epsilon_bracket(_system(description))
    return EpsilonInterval(epsilon=np.asarray(upper), lower=np.asarray(lower))


def _delta(description: SystemFile, at_epsilon: float) -> DeltaAt:
    system = _system(description)
    lower, upper = system_privacy.delta_bracket(system, at_epsilon, rounds=1)
    if system.rounds > 1:  # several rounds have at least the delta of one, so that the lower bound holds
        upper = system_privacy.delta(system, at_epsilon)
    return DeltaAt(delta=np.asarray(upper), lower=np.asarray(lower))


def _delta_over_channel(description: SystemFile, at_epsilon: float) -> Delta:
    return Delta(delta=np.asarray(system_privacy.delta(_system(description), at_epsilon)))


def _channel(description: SystemFile) -> Channel:
    return cast(Channel, _system(description).channel)


def _channel_bounds(description: SystemFile, _: float) -> inference_results.ChannelBounds:
    system = _system(description)
    seen = inference_results.Observers.of(system)
    return inference_results.ChannelBounds.of(system, _channel(description), seen, description.task)


def _distortion(description: SystemFile, _: float) -> inference_results.Distortion:
    return inference_results.Distortion.of(_system(description), _task(description))


def _any_scheme_of_tasks(description: SystemFile, _: float) -> inference_results.AnyScheme | None:
    samples = _task(description).samples
    return inference_results.AnyScheme.of(_system(description), samples) if len(samples) > 1 else None


def _task(description: SystemFile) -> Task:
    return cast(Task, description.task)


def _accuracy(description: SystemFile, _: float) -> inference_results.Accuracy:
    system, task = _system(description), _task(description)
    return inference_results.Accuracy.of(system, task, inference_results.Distortion.of(system, task))


def _solved(fleet: DeviceFleet) -> EnergySolution:
    from airtight.solvers import energy

    return energy.solve(fleet)


# keys on which no exact privacy number depends
NO_PRIVACY_EFFECT = frozenset({"delta_prime", "decoder_gain", "channel_gain"})
# keys on which neither distortion nor accuracy depends
_NO_ERROR_EFFECT = frozenset({"delta", "delta_prime", "adjacency", "observer", "rounds", "channel_gain", "colluding"})
_ALL: tuple[Part, ...] = (
    Part("inference.privacy.interval", EpsilonInterval, _interval, ("inference",), NO_PRIVACY_EFFECT),
    Part(
        "inference.privacy.delta_at",
        DeltaAt,
        _delta,
        ("inference",),
        NO_PRIVACY_EFFECT | {"delta"},
        frozenset({"at_epsilon"}),
    ),
    Part(
        "inference.privacy.exact",
        inference_results.Exact,
        lambda d, _: inference_results.Exact(
            epsilon=np.asarray(system_privacy.epsilon(_system(d), rounds=1, observer="auto")), delta=_system(d).delta
        ),
        ("inference",),
        NO_PRIVACY_EFFECT | {"observer", "rounds"},
    ),
    Part(
        "inference.privacy.proven",
        inference_results.EpsilonDelta,
        lambda d, _: inference_results.EpsilonDelta.of(amplification.proven(_system(d).one_round)),
        ("inference",),
        NO_PRIVACY_EFFECT | {"observer", "rounds"},
    ),
    Part(
        "inference.privacy.published",
        inference_results.Published,
        lambda d, _: inference_results.Published(
            **{
                form.value: inference_results.TheoremBound.of(_system(d), form)
                for form in (amplification.TheoremForm.THEOREM1, amplification.TheoremForm.EQ23)
            }
        ),
        ("inference",),
        frozenset({"decoder_gain", "channel_gain", "observer", "rounds"}),
        quick={
            f"{form}.{name}": partial(_claimed, form=form, name=name)
            for form in amplification.TheoremForm
            for name in ("t", "mean_noise", "vacuous", "epsilon", "delta")
        },
    ),
    Part(
        "inference.privacy.observers",
        inference_results.Observers,
        lambda d, _: inference_results.Observers.of(_system(d)),
        ("inference",),
        NO_PRIVACY_EFFECT | {"observer", "rounds"},
    ),
    Part(
        "inference.channel.interval",
        EpsilonInterval,
        _interval,
        ("inference", "inference.channel"),
        NO_PRIVACY_EFFECT,
    ),
    Part(
        "inference.channel.delta_at",
        Delta,
        _delta_over_channel,
        ("inference", "inference.channel"),
        NO_PRIVACY_EFFECT | {"delta"},
        frozenset({"at_epsilon"}),
    ),
    Part(
        "inference.channel",
        inference_results.ChannelBounds,
        _channel_bounds,
        ("inference", "inference.channel"),
        frozenset({"delta_prime", "decoder_gain", "channel_gain", "observer", "rounds"}),
        quick={"participation": lambda d: _system(d).participation},
    ),
    Part(
        "inference.channel.decoder",
        inference_results.Decoder,
        lambda d, _: inference_results.Decoder.of(_system(d), _channel(d), _task(d)),
        ("inference", "inference.channel", "inference.features"),
        _NO_ERROR_EFFECT | {"decoder_gain", "epsilon_cap"},
    ),
    Part(
        "inference.distortion",
        inference_results.Distortion,
        _distortion,
        ("inference", "inference.features"),
        _NO_ERROR_EFFECT | {"margin", "ideal_accuracy", "epsilon_cap"},
        quick={
            "exact": lambda d: distortion.exact(_system(d), _task(d).features),
            "published": lambda d: distortion.published(_system(d), _task(d).features),
        },
    ),
    Part(  # it depends on the privacy, which no other number of the distortion does
        "inference.distortion.any_scheme",
        inference_results.AnyScheme,
        _any_scheme_of_tasks,
        ("inference", "inference.features"),
        frozenset({"delta_prime", "channel_gain", "margin", "ideal_accuracy", "epsilon_cap"}),
    ),
    Part(
        "inference.worst_case.any_scheme",
        inference_results.AnyScheme,
        lambda d, _: inference_results.AnyScheme.of(_system(d)),
        ("inference",),
        frozenset({"delta_prime", "channel_gain"}),
    ),
    Part(
        "inference.accuracy",
        inference_results.Accuracy,
        _accuracy,
        ("inference", "inference.features"),
        _NO_ERROR_EFFECT | {"epsilon_cap"},
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
        inference_results.Selection,
        lambda d, _: inference_results.Selection.of(_system(d), d.scores),  # type: ignore[arg-type]
        ("inference", "inference.selection"),
        frozenset({"observer", "decoder_gain", "channel_gain"}),
    ),
    Part(
        "federated.mse",
        federated_results.WorstError,
        lambda d, _: federated_results.WorstError.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"parameters", "center", "dropout", "colluding"}),
        units=dict.fromkeys([each.name for each in fields(federated_results.WorstError)], federated_results.SQUARED),
    ),
    Part(
        "federated.central",
        federated_results.Central,
        lambda d, _: federated_results.Central.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"center", "dropout"}),
    ),
    Part(
        "federated.server",
        federated_results.Server,
        lambda d, _: federated_results.Server.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"parameters", "center", "radius", "dropout", "delta"}),
    ),
    Part(
        "federated.dropout",
        federated_results.Dropout,
        lambda d, _: federated_results.Dropout.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"center"}),
        units={"worst_mse": federated_results.SQUARED},
    ),
    Part(
        "federated.communication",
        federated_results.Communication,
        lambda d, _: federated_results.Communication.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"epsilon", "center", "radius", "ldp_fraction", "dropout", "delta", "colluding"}),
        units=federated_results.Bits.UNITS,
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
        units=DeviceBounds.UNITS,
    ),
    Part(
        "energy",
        EnergySolution,
        lambda d, _: _solved(d.energy),  # type: ignore[arg-type]
        ("energy",),
        units=EnergySolution.UNITS,
    ),
)
PARTS = {part.name: part for part in _ALL}


@dataclass(frozen=True, kw_only=True)
class Number:
    """A closed form of a system."""

    value: float


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """A closed form with one value per device."""

    value: FloatArray


@cache
def closed_forms() -> dict[str, Part]:
    """The closed forms of the registry that are numbers of a system, as parts by ``quantities.KEY``; none without SymPy."""
    if find_spec("sympy") is None:  # an extra
        return {}
    from airtight.solvers.quantities import quantities

    tables = {InferenceSystem: "inference", FederatedSystem: "federated", DeviceFleet: "energy"}
    return {
        part.name: part
        for part in (_closed_form(q, tables[q.system]) for q in quantities().values() if q.system in tables)
    }


def _closed_form(quantity: Quantity, table: str) -> Part:
    used = {quantity.keys.get(name, name) for name in quantity.arguments}
    kind = Numbers if quantity.per_device else Number
    return Part(
        f"quantities.{quantity.key}",
        kind,
        lambda d, _: kind(value=quantity.of(getattr(d, table))),
        (table,),
        frozenset(parameters.of(quantity.system)) - used | {"observer"},  # type: ignore[arg-type]
        units={"value": quantity.unit or "1"},
    )


def part(name: str) -> Part:
    """The part with this name."""
    return PARTS[name] if name in PARTS else closed_forms()[name]
