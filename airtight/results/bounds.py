"""Results of ``bounds``, every bound of the described systems, and of ``curve``, epsilon of one curve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.tidy import Entry
from airtight.results.energy import DeviceBounds
from airtight.results.federated_results import FederatedBounds
from airtight.results.inference_results import InferenceBounds, plot_errors
from airtight.results.numerals import plain, rounded_up
from airtight.results.result import Result
from airtight.system_file import config
from airtight.system_file.contents import SystemFile

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PackageBounds:
    """What an installed package computes from its own table of a system file."""

    table: str
    values: dict[str, float | FloatArray]


@dataclass(frozen=True, kw_only=True)
class Bounds(Result):
    """Published, proven and exact values of the tables of a system file; None for a missing table.

    `packages` holds what installed packages compute from their own tables, by table and name.

    Attributes
    ----------
    system : str
        Name of the system file; its variants have names of their own.
    headline : list of str
        The first sentences of the command ``bounds``.
    never_send : list of int
        Devices of the inference system that never send.
    """

    system: str = field(default="system", repr=False)
    headline: list[str] = field(default_factory=list)
    never_send: list[int] = field(default_factory=list)
    inference: InferenceBounds | None = None
    federated: FederatedBounds | None = None
    energy: list[DeviceBounds] | None = None
    packages: dict[str, dict[str, float | FloatArray]] = field(default_factory=dict)

    @classmethod
    def of(cls, description: SystemFile) -> Bounds:
        """Compute all parts."""
        return cls.joined(each(description))

    @classmethod
    def joined(cls, parts: Iterable[tuple[str, Part]]) -> Bounds:
        """Combine the parts that :func:`each` yields."""
        systems: dict[str, InferenceBounds] = {}
        federated, energy, file_name = None, None, "system"
        packages: dict[str, dict[str, float | FloatArray]] = {}
        for name, part in parts:
            file_name = name
            match part:
                case InferenceBounds():
                    systems[name] = part
                case FederatedBounds():
                    federated = part
                case PackageBounds():
                    packages[part.table] = part.values
                case _:
                    energy = part
        inference = None
        if systems:
            first, *others = systems
            inference = replace(systems[first], variants={name: systems[name] for name in others})
        said = [f"{name}: {part.headline[0]}" for name, part in systems.items()]
        if inference is not None:
            said[1:1] = inference.headline[1:]
        return cls(
            system=next(iter(systems), file_name),
            headline=said,
            never_send=[] if inference is None else inference.never_send,
            inference=inference,
            federated=federated,
            energy=energy,
            packages=packages,
        )

    def by_system(self, system: str = "") -> list[tuple[str, object]]:
        """The inference system, its variants, and all other parts, by the name of the system."""
        named = {} if self.inference is None else self.inference.named(system or self.system)
        others = {"federated": self.federated, "energy": self.energy, **self.packages}
        return [*named.items(), (system or self.system, others)]

    def plot(self, ax: Axes | None = None, *, what: Literal["epsilon", "error"] = "epsilon") -> Axes:
        """Plot epsilon of each device of the inference system beside what is published, or the error of each system by cause.

        Raises
        ------
        ParameterError
            When the file has no table [inference], or no features for an error.
        """
        if self.inference is None:
            raise ParameterError("what", what, "of a file with a table [inference]")
        systems = self.inference.named(self.system)
        match what:
            case "epsilon":
                return self.inference.plot(ax)
            case "error":
                return plot_errors({name: one.distortion for name, one in systems.items() if one.distortion is not None}, ax)
        raise ParameterError("what", what, "epsilon or error")

    def to_frame(self, system: str = "") -> pandas.DataFrame:
        """The numbers as a tidy table of pandas; the name of the system is by default that of the file."""
        return super().to_frame(system)


Part = InferenceBounds | FederatedBounds | list[DeviceBounds] | PackageBounds


def each(description: SystemFile) -> Iterator[tuple[str, Part]]:
    """Yield name and result of each part as it is computed: the system, its variants, federation, fleet, tables of packages."""
    for name, system in description.systems.items():
        scores, groups = (description.scores, description.groups) if system is description.inference else (None, ())
        yield name, InferenceBounds.of(system, description.task, scores, groups, description.uncertainty)
    if description.federated is not None:
        yield description.name, FederatedBounds.of(description.federated)
    if description.energy is not None:
        yield description.name, DeviceBounds.of(description.energy)
    tables = config.installed() if description.packages else {}
    for name, record in description.packages.items():
        yield description.name, PackageBounds(name, tables[name].values(record))


@dataclass(frozen=True, eq=False)
class CurveResult(Result):
    """Epsilon of a curve at some deltas.

    Attributes
    ----------
    headline : list of str
    releases : list of dict
        Constructor, parameters and count of each release, as ``PrivacyCurve.from_json`` reads them.
    neighbours : str
        What neighbours differ in; empty where it is left open.
    delta, epsilon, lower : ndarray
        The deltas; epsilon at each, never below the truth; a number that epsilon is never below.
    advantage : float
        Greatest advantage over guessing of an attacker who distinguishes the neighbours, rounded up.
    """

    headline: list[str]
    releases: list[dict[str, Any]]
    neighbours: str
    delta: FloatArray
    epsilon: FloatArray
    lower: FloatArray
    advantage: float

    @classmethod
    def of(cls, curve: PrivacyCurve, delta: ArrayLike) -> CurveResult:
        """The epsilons of a curve at these deltas, in [0, 1]."""
        deltas = np.atleast_1d(checks.real("delta", delta, "[0, 1]"))
        lower, upper = curve.bracket(delta=deltas)
        advantage = curve.advantage()
        headline = [
            f"EPSILON {rounded_up(float(upper[0]))} AT DELTA {plain(float(deltas[0]))}"
            + (f" ({curve.unit})." if curve.unit else "."),
            f"The best attacker is right in at most {rounded_up(50 * (1 + advantage))} % of the cases; a coin is in 50 %.",
        ]
        return cls(headline, curve.to_dict()["releases"], curve.unit, deltas, upper, lower, advantage)

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        ends = zip(self.delta.tolist(), self.epsilon, self.lower, strict=True)
        return {
            **{f"epsilon at delta {delta!r}": Entry(value=high, lower=low, upper=high) for delta, high, low in ends},
            "advantage": self.advantage,
        }
