"""The result of the command ``design --frontier``."""

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
    """One design for every combination of limits.

    Attributes
    ----------
    sought : str
        The objective: it is minimised, except for utility, which is maximised.
    axes : dict
        Values of each limit, by its key in [design].
    points : list of dict
        For each combination: the limits, the `value` of the objective, its proved `bound`, and further numbers of the
        design. A number is null where no design was found or nothing is proved. `bound` is infinite where it is proved
        that no design keeps all limits.
    """

    sought: str
    axes: dict[str, FloatArray]
    points: list[dict[str, float | None]]

    @classmethod
    def of(cls, sought: str, dataset: xarray.Dataset) -> FrontierResult:
        axes = {str(name): np.asarray(dataset[name].values) for name in dataset.value.dims}
        points: list[dict[str, float | None]] = []
        for index in product(*(range(values.size) for values in axes.values())):
            point = {name: float(values[i]) for (name, values), i in zip(axes.items(), index, strict=True)}
            numbers = {str(name): float(data.values[index]) for name, data in dataset.data_vars.items()}
            points.append({**point, **{name: None if np.isnan(x) else x for name, x in numbers.items()}})
        return cls(sought=sought, axes=axes, points=points)
