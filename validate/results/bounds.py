"""The result of the command ``bounds``: every bound of a described system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from airtight.validate.results.energy import DeviceBounds
from airtight.validate.results.federated_results import FederatedBounds
from airtight.validate.results.inference_results import InferenceBounds
from airtight.validate.system_file.description import Description


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Published, proven and exact values of every table that the description has; the others are None."""

    inference: InferenceBounds | None = None
    federated: FederatedBounds | None = None
    energy: list[DeviceBounds] | None = None

    @classmethod
    def of(cls, description: Description) -> Bounds:
        """All bounds of a description."""
        return cls.joined(each(description))

    @classmethod
    def joined(cls, parts: Iterable[tuple[str, Part]]) -> Bounds:
        """The parts that :func:`each` yields, as one result."""
        systems: dict[str, InferenceBounds] = {}
        federated, energy = None, None
        for name, part in parts:
            match part:
                case InferenceBounds():
                    systems[name] = part
                case FederatedBounds():
                    federated = part
                case _:
                    energy = part
        inference = None
        if systems:
            first, *variant_names = systems
            inference = replace(systems[first], variants={name: systems[name] for name in variant_names})
        return cls(inference=inference, federated=federated, energy=energy)


Part = InferenceBounds | FederatedBounds | list[DeviceBounds]


def each(description: Description) -> Iterator[tuple[str, Part]]:
    """Compute part after part, each with its name: the system, its variants, the federated system, the fleet."""
    for name, system in description.systems.items():
        scores = description.scores if system is description.inference else None
        yield (
            name,
            InferenceBounds.of(
                system, description.task, scores, observer=description.observer, rounds=description.rounds
            ),
        )
    if description.federated is not None:
        yield description.name, FederatedBounds.of(description.federated)
    if description.energy is not None:
        yield description.name, DeviceBounds.of(description.energy)
