"""Names for what can be computed of every system of a sweep: the usual quantities, and places in the results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airtight.analytics.checks import ParameterError
from airtight.validate.sweep.parts import PARTS, REDUCTIONS, Part
from airtight.validate.system_file.config import meant

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
        everything = [*_NAMES, *(f"{part.name}.{leaf}" for part in PARTS.values() for leaf in part.leaves())]
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
    for part in sorted(PARTS.values(), key=lambda part: -len(part.name)):
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
