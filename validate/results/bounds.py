"""Every bound of a described system: the answer of ``bounds``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from validate.description import Description
from validate.results.energy import DeviceBounds
from validate.results.federated import FederatedBounds
from validate.results.inference import InferenceBounds


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Published, proven and exact values of what is described; what is not is None."""

    inference: InferenceBounds | None = None
    federated: FederatedBounds | None = None
    energy: list[DeviceBounds] | None = None

    @classmethod
    def of(cls, description: Description) -> Bounds:
        inference = None
        if description.inference is not None:
            variants = {
                name: InferenceBounds.of(system, description.task, observer=description.observer)
                for name, system in description.variants.items()
            }
            whole = InferenceBounds.of(
                description.inference, description.task, description.scores, observer=description.observer
            )
            inference = replace(whole, variants=variants)
        return cls(
            inference=inference,
            federated=None if description.federated is None else FederatedBounds.of(description.federated),
            energy=None if description.energy is None else DeviceBounds.of(description.energy),
        )
