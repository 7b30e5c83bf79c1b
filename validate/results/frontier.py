"""Result of ``design --frontier``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.checks import FloatArray

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, kw_only=True)
class FrontierResult:
    """One design for every combination of the constraints.

    Attributes
    ----------
    sought : str
        The objective: a quantity that is minimised, or utility, which is maximised.
    axes : dict
        Values of each constraint, by its key in [design].
    points : list of dict
        For each combination the constraints, the `value` of the objective, its proved `bound`, and the values that the
        design reaches. Entries are null where no design was found or nothing is proved; `bound` is infinite where
        infeasibility is proved.
    """

    sought: str
    axes: dict[str, FloatArray]
    points: list[dict[str, float | None]]

    @classmethod
    def of(cls, sought: str, found: xarray.Dataset) -> FrontierResult:
        axes = {str(name): np.asarray(found[name].values) for name in found.value.dims}
        points: list[dict[str, float | None]] = []
        for at in product(*(range(values.size) for values in axes.values())):
            point = {name: float(values[i]) for (name, values), i in zip(axes.items(), at, strict=True)}
            reached = {str(name): float(data.values[at]) for name, data in found.data_vars.items()}
            points.append({**point, **{name: None if np.isnan(x) else x for name, x in reached.items()}})
        return cls(sought=sought, axes=axes, points=points)
