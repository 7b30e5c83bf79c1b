"""Quantities of a sweep by name: the usual ones, and every number of the results by its path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airtight.analytics.checks import ParameterError
from airtight.sweeps.parts import PARTS, REDUCTIONS, Part, closed_forms, part
from airtight.system_file.tables import meant

# name: path, meaning, paths of a lower and of an upper bound of the exact value where the quantity has them
_NAMES: dict[str, tuple[str, str, str | None, str | None]] = {
    "epsilon": (
        "inference.privacy.interval.epsilon.max",
        "smallest epsilon against the chosen observer, worst device",
        "inference.privacy.interval.lower.max",
        None,
    ),
    "epsilon_per_device": (
        "inference.privacy.interval.epsilon",
        "smallest epsilon against the chosen observer",
        "inference.privacy.interval.lower",
        None,
    ),
    "epsilon_proven": (
        "inference.privacy.proven.epsilon.max",
        "proved closed form of epsilon, worst device",
        None,
        None,
    ),
    "epsilon_published": (
        "inference.privacy.published.theorem1.epsilon.max",
        "epsilon that Theorem 1 claims",
        None,
        None,
    ),
    "epsilon_eq23": (
        "inference.privacy.published.eq23.epsilon.max",
        "epsilon that Theorem 1 claims with Eq. (23)",
        None,
        None,
    ),
    "delta_claimed": (
        "inference.privacy.published.eq23.delta.max",
        "delta that Theorem 1 claims with Eq. (23)",
        None,
        None,
    ),
    "delta_true": (
        "inference.privacy.published.eq23.true_delta.max",
        "exact delta at the epsilon that Theorem 1 claims with Eq. (23)",
        None,
        None,
    ),
    "delta": (
        "inference.privacy.delta_at.delta.max",
        "smallest delta at at_epsilon, worst device",
        "inference.privacy.delta_at.lower.max",
        None,
    ),
    "epsilon_participants": (
        "inference.privacy.observers.participants.max",
        "epsilon against an observer who sees who takes part, worst device",
        None,
        None,
    ),
    "epsilon_others": (
        "inference.privacy.observers.others.max",
        "epsilon against an observer who sees which other devices take part, worst device",
        None,
        None,
    ),
    "epsilon_signal": (
        "inference.privacy.observers.signal.epsilon.max",
        "epsilon against an observer who sees the signal alone, worst device",
        "inference.privacy.observers.signal.lower.max",
        None,
    ),
    "mse": ("inference.distortion.exact", "mean squared error of the decoded feature", None, None),
    "mse_published": ("inference.distortion.published", "mean squared error by the printed formula", None, None),
    "mse_proven": ("inference.distortion.proven", "proved bound of the mean squared error", None, None),
    "any_scheme": (
        "inference.worst_case.any_scheme.error",
        "lower bound of the error of every scheme with this privacy, worst codes",
        None,
        None,
    ),
    "any_scheme_of_tasks": (
        "inference.distortion.any_scheme.error",
        "lower bound of the error of every scheme with this privacy, mean over the tasks",
        None,
        None,
    ),
    "accuracy": (
        "inference.accuracy.exact",
        "probability that the error stays within the margin, times the accuracy there",
        "inference.accuracy.interval.0",
        "inference.accuracy.interval.1",
    ),
    "accuracy_published": ("inference.accuracy.published", "Theorem 2 with the printed MSE", None, None),
    "accuracy_markov": ("inference.accuracy.markov", "Theorem 2 with the exact MSE", None, None),
    "federated_mse": ("federated.mse.corbin_worst", "mean squared error of CorBin-FL, worst update", None, None),
    "federated_mse_published": (
        "federated.mse.corbin_published",
        "mean squared error of CorBin-FL by the printed formula",
        None,
        None,
    ),
    "federated_mse_ldp": ("federated.mse.ldp", "mean squared error of independent quantizers", None, None),
    "central_epsilon": (
        "federated.central.exact_epsilon_update",
        "epsilon of a whole update against an observer who sees only the mean",
        None,
        None,
    ),
    "central_epsilon_published": ("federated.central.published_epsilon", "epsilon of Theorem 3", None, None),
    "utility": ("energy.utility.sum", "greatest utility, summed over the fleet", None, None),
    "utility_per_device": ("energy.utility", "greatest utility", None, None),
    "fleet_energy": ("energy.energy.sum", "energy at the greatest utility, summed over the fleet", None, None),
    "iterations_per_device": ("energy.iterations", "iterations at the greatest utility", None, None),
    "power_per_device": ("energy.power", "power at the greatest utility", None, None),
}


_OVER_CHANNEL = {  # the prefix of a path, and that of the same numbers over a channel
    "inference.privacy.interval.": "inference.channel.interval.",
    "inference.privacy.delta_at.delta": "inference.channel.delta_at.delta",
    "inference.privacy.observers.participants": "inference.channel.epsilon.participants",
    "inference.privacy.observers.others": "inference.channel.epsilon.others",
}
_OF_CHANNEL = ("epsilon", "epsilon_per_device", "delta", "epsilon_participants", "epsilon_others")


@dataclass(frozen=True)
class Place:
    """A number of a part: its path, and the reduction of one value per device to a single value."""

    part: str
    path: str
    reduction: str | None

    @property
    def per_device(self) -> bool:
        """Whether it has one value per device."""
        return part(self.part).leaves()[self.path] and self.reduction is None

    @property
    def units(self) -> str:
        return part(self.part).units.get(self.path.split(".")[-1], "1")


@dataclass(frozen=True)
class Quantity:
    """A variable of the sweep, with a lower and an upper bound of the exact value where they exist."""

    name: str
    place: Place
    meaning: str = ""
    lower: Place | None = None
    upper: Place | None = None

    @property
    def part(self) -> Part:
        return part(self.place.part)

    @property
    def variables(self) -> dict[str, Place]:
        """The arrays that hold it and its bounds, by name."""
        bounds = {f"{self.name}_lower": self.lower, f"{self.name}_upper": self.upper}
        return {self.name: self.place, **{name: place for name, place in bounds.items() if place is not None}}


def named(name: str, tables: Iterable[str]) -> Quantity:
    """The quantity with a usual name, a closed form by its key, or a number at a path of the results.

    A key is one of :func:`airtight.quantities`, such as ``worst_ldp_fl``; a path is one such as
    ``federated.communication.seeded.total``. If it ends in ``.max``, ``.min``, ``.mean`` or ``.sum``, one value per device
    is reduced to a single value.

    Raises
    ------
    ParameterError
        When no such quantity exists, or when a table that it needs is missing.

    Examples
    --------
    >>> named("epsilon", ["inference"]).place
    Place(part='inference.privacy.interval', path='epsilon', reduction='max')
    >>> named("energy.power.max", ["energy"]).part.kind.__name__
    'EnergySolution'
    """
    tables = list(tables)
    path, meaning, lower, upper = _NAMES.get(name, (name, "", None, None))
    if "inference.channel" in tables:
        path = _over_channel(path) or path
        lower = _over_channel(lower)
    place = _place(path) or _closed_form(path)
    if place is None:
        keys = [key.removeprefix("quantities.") for key in closed_forms()]
        candidates = [*_NAMES, *keys, *(f"{each.name}.{leaf}" for each in PARTS.values() for leaf in each.leaves())]
        suggestion = meant(name, candidates).split("allowed:")[0]
        listed = "a key of `airtight quantities`" + ("" if keys else " (which need the extra `verify`)")
        raise ParameterError(
            "--quantity",
            name,
            f"a quantity; {suggestion}allowed: {', '.join(_NAMES)}, {listed}, or a path in the results",
        )
    reads = part(place.part).reads
    if "inference.channel" in tables and "inference" in reads and "inference.channel" not in reads:
        raise ParameterError(
            "--quantity",
            name,
            f"one that is computed over a channel: {', '.join(_OF_CHANNEL)}, or a path in inference.channel",
        )
    missing = [table for table in reads if table not in tables]
    if missing:
        raise ParameterError("--quantity", name, f"a quantity of a table that the file has; it needs [{missing[0]}]")
    bounds = [None if bound is None else _place(bound) for bound in (lower, upper)]
    return Quantity(name, place, meaning, bounds[0], bounds[1])


def _over_channel(path: str | None) -> str | None:
    """The path of the same number over a channel; None where there is none."""
    paths = (
        other + path.removeprefix(plain) for plain, other in _OVER_CHANNEL.items() if path and path.startswith(plain)
    )
    return next(paths, None)


def _place(name: str) -> Place | None:
    for each in sorted(PARTS.values(), key=lambda each: -len(each.name)):
        if name.startswith(each.name + "."):
            path, leaves = name[len(each.name) + 1 :], each.leaves()
            if path in leaves:
                return Place(each.name, path, None)
            path, _, reduction = path.rpartition(".")
            if reduction in REDUCTIONS and leaves.get(path):
                return Place(each.name, path, reduction)
    return None


def _closed_form(name: str) -> Place | None:
    """The place of a closed form, by its key, with a reduction after a point where it has one value per device."""
    key, _, reduction = name.partition(".")
    form = closed_forms().get(f"quantities.{key}")
    if form is None or (reduction and not (reduction in REDUCTIONS and form.leaves()["value"])):
        return None
    return Place(form.name, "value", reduction or None)


def usual(tables: Iterable[str]) -> list[str]:
    """The default quantities of these tables."""
    defaults = {
        "inference": ["epsilon"],
        "inference.features": ["mse", "accuracy"],
        "inference.channel": ["inference.channel.decoder.mse"],
        "federated": ["federated_mse"],
        "energy": ["utility"],
    }
    tables = set(tables)
    defaults.pop("inference.features" if "inference.channel" in tables else "inference.channel")
    if "inference.features" not in tables:
        defaults.pop("inference.channel", None)
    return [name for table, names in defaults.items() if table in tables for name in names]


def names() -> dict[str, str]:
    """The usual quantities and their meaning."""
    return {name: meaning for name, (_, meaning, _, _) in _NAMES.items()}
