"""Results of ``bounds``: every bound of the described systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from airtight.validate.results.energy import DeviceBounds
from airtight.validate.results.federated_results import FederatedBounds
from airtight.validate.results.inference_results import InferenceBounds
from airtight.validate.system_file.description import Description


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Published, proven and exact values of the tables of a system file; None for a missing table."""

    inference: InferenceBounds | None = None
    federated: FederatedBounds | None = None
    energy: list[DeviceBounds] | None = None

    @classmethod
    def of(cls, description: Description) -> Bounds:
        """Compute all parts."""
        return cls.joined(each(description))

    @classmethod
    def joined(cls, parts: Iterable[tuple[str, Part]]) -> Bounds:
        """Combine the parts that :func:`each` yields."""
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
            first, *others = systems
            inference = replace(systems[first], variants={name: systems[name] for name in others})
        return cls(inference=inference, federated=federated, energy=energy)


Part = InferenceBounds | FederatedBounds | list[DeviceBounds]


def each(description: Description) -> Iterator[tuple[str, Part]]:
    """Yield name and result of each part as it is computed: the system, its variants, the federation, the fleet."""
    for name, system in description.systems.items():
        scores = description.scores if system is description.inference else None
        yield (
            name,
            InferenceBounds.of(
                system,
                description.task,
                scores,
                channel=description.channel,
                observer=description.observer,
                rounds=description.rounds,
            ),
        )
    if description.federated is not None:
        yield description.name, FederatedBounds.of(description.federated)
    if description.energy is not None:
        yield description.name, DeviceBounds.of(description.energy)
