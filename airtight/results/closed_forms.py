"""Results of ``quantities``: every closed form of the registry for the described systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Face
from airtight.system_file.contents import SystemFile

if TYPE_CHECKING:  # SymPy is an extra
    from airtight.analytics.forms.quantity import Quantity


@dataclass(frozen=True, kw_only=True)
class ClosedForm:
    """A closed form of one system; one value per device where the devices have values of their own."""

    name: str
    face: Face
    source: str
    unit: str
    meaning: str
    value: float | FloatArray

    @classmethod
    def of(cls, quantity: Quantity, system: object) -> ClosedForm:
        value = np.asarray(quantity.of(system), dtype=float)
        return cls(
            name=quantity.name,
            face=quantity.face,
            source=quantity.source,
            unit=quantity.unit,
            meaning=quantity.meaning,
            value=value if quantity.per_device else float(value),
        )


@dataclass(frozen=True, kw_only=True)
class ClosedForms:
    """The closed forms of the tables of a system file, by key; None for a missing table."""

    inference: dict[str, ClosedForm] | None = None
    federated: dict[str, ClosedForm] | None = None
    energy: dict[str, ClosedForm] | None = None

    @classmethod
    def of(cls, description: SystemFile) -> ClosedForms:
        """Compute all of them.

        Examples
        --------
        >>> from airtight.analytics.federated.corbin.federated_system import FederatedSystem
        >>> system = FederatedSystem(clients=50, parameters=10, epsilon=1.0)
        >>> computed = ClosedForms.of(SystemFile("x", federated=system)).federated
        >>> round(computed["worst_ldp_fl"].value, 6), computed["worst_ldp_fl"].face.value
        (0.093654, 'exact')
        """
        from airtight.solvers.quantities import quantities

        tables = {name: getattr(description, name) for name in ("inference", "federated", "energy")}
        return cls(
            **{
                name: {q.key: ClosedForm.of(q, system) for q in quantities().values() if q.system is type(system)}
                for name, system in tables.items()
                if system is not None
            }
        )
