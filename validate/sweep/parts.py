"""What can be computed of every system of a sweep: the results, what they are computed from, and the numbers in them."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, cast

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference import accuracy, distortion
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, observers, rounds
from airtight.solvers.energy.utility import EnergySolution
from airtight.validate.results import federated_results, inference_results
from airtight.validate.results.energy import DeviceBounds
from airtight.validate.sweep.axes import QUESTIONS, Key
from airtight.validate.system_file.description import Description, Task

REDUCTIONS: Mapping[str, Callable[[FloatArray], Any]] = {"max": np.max, "min": np.min, "mean": np.mean, "sum": np.sum}
DEFAULT_EPSILON = 1.0


@dataclass(frozen=True, kw_only=True)
class EpsilonInterval:
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


def _interval(description: Description, _: float) -> EpsilonInterval:
    low, high = rounds.bracket(_system(description), rounds=description.rounds, observer=description.observer)
    return EpsilonInterval(epsilon=np.asarray(high), lower=np.asarray(low))


def _delta(description: Description, at_epsilon: float) -> DeltaAt:
    low, high = observers.exact_delta_bracket(_system(description), at_epsilon, observer=description.observer)
    if description.rounds > 1:  # give away no less than one
        high = rounds.delta_at(
            _system(description), at_epsilon, rounds=description.rounds, observer=description.observer
        )
    return DeltaAt(delta=np.asarray(high), lower=np.asarray(low))


def _distortion(description: Description, _: float) -> inference_results.Distortion:
    return inference_results.Distortion.of(_system(description), _task(description))


def _task(description: Description) -> Task:
    return cast(Task, description.task)


def _accuracy(description: Description, _: float) -> inference_results.Accuracy:
    system, task = _system(description), _task(description)
    return inference_results.Accuracy.of(system, task, inference_results.Distortion.of(system, task))


def _solved(fleet: DeviceFleet) -> EnergySolution:
    from airtight.solvers import energy

    return energy.solve(fleet)


_UNSEEN = frozenset({"delta_prime", "decoder_gain", "channel_gain"})  # by privacy
_UNPRIVATE = frozenset({"delta", "delta_prime", "adjacency", "observer", "rounds", "channel_gain"})
_TABLE: tuple[Part, ...] = (
    Part("inference.privacy.interval", EpsilonInterval, _interval, ("inference",), _UNSEEN),
    Part("inference.privacy.delta_at", DeltaAt, _delta, ("inference",), _UNSEEN | {"delta"}, frozenset({"at_epsilon"})),
    Part(
        "inference.privacy.exact",
        inference_results.Exact,
        lambda d, _: inference_results.Exact(
            epsilon=np.asarray(amplification.exact_epsilon(_system(d))), delta=_system(d).delta
        ),
        ("inference",),
        _UNSEEN | {"observer", "rounds"},
    ),
    Part(
        "inference.privacy.proven",
        inference_results.EpsilonDelta,
        lambda d, _: inference_results.EpsilonDelta.of(amplification.proven(_system(d))),
        ("inference",),
        _UNSEEN | {"observer", "rounds"},
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
    ),
    Part(
        "inference.privacy.observers",
        inference_results.Observers,
        lambda d, _: inference_results.Observers.of(_system(d), np.asarray(amplification.exact_epsilon(_system(d)))),
        ("inference",),
        _UNSEEN | {"observer", "rounds"},
    ),
    Part(
        "inference.distortion",
        inference_results.Distortion,
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
        inference_results.Accuracy,
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
        frozenset({"parameters", "center", "dropout"}),
        units=dict.fromkeys(
            [each.name for each in fields(federated_results.WorstError)], "square of the parameter's unit"
        ),
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
        frozenset({"parameters", "center", "radius", "shared_bits", "dropout", "delta"}),
    ),
    Part(
        "federated.dropout",
        federated_results.Dropout,
        lambda d, _: federated_results.Dropout.of(d.federated),  # type: ignore[arg-type]
        ("federated",),
        frozenset({"center"}),
        units={"worst_mse": "square of the parameter's unit"},
    ),
    Part(
        "federated.communication",
        federated_results.Communication,
        lambda d, _: federated_results.Communication.of(d.federated),  # type: ignore[arg-type]
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
