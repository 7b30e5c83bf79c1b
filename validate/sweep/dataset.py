"""A store read as an xarray Dataset, and drawn."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from airtight.analytics.checks import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = 12
_WIDE = 100.0  # ratio from which an axis is logarithmic


def opened(path: str | Path) -> xr.Dataset:
    """The Dataset of a finished or unfinished sweep; arrays are read when they are used.

    Parameters
    ----------
    path : path
        Of the store.

    Returns
    -------
    xarray.Dataset
        With the accessor ``airtight``: :class:`Sweeps`.
    """
    found = xr.open_dataset(path, engine="zarr", chunks=None, consolidated=False)
    names = {name: at.astype(object) for name, at in found.coords.items() if at.dtype.kind == "T"}
    return found[sorted(map(str, found.data_vars))].assign_coords(names)


@xr.register_dataset_accessor("airtight")  # type: ignore[no-untyped-call]
class Sweeps:
    """What a Dataset of a sweep can do beside what Datasets do.

    Parameters
    ----------
    dataset : xarray.Dataset
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def plot(self, quantity: str | None = None, *, x: str, hue: str | None = None, ax: Axes | None = None) -> Axes:
        """Curves of a quantity over one axis, one for each value of another, with the interval that holds them.

        Parameters
        ----------
        quantity : str, optional
            By default the first variable.
        x : str
            A coordinate.
        hue : str, optional
            Another. All other dimensions must have been chosen from, as by ``dataset.sel(delta=1e-5)``.
        ax : matplotlib.axes.Axes, optional

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            For a name that there is not, and for a dimension that is left.
        """
        from matplotlib import pyplot

        name = self._named(quantity)
        values = self._dataset[name]
        across = self._dimension("x", x, values)
        by = None if hue is None else self._dimension("hue", hue, values)
        left = [str(each) for each in values.dims if each not in (across, by)]
        if left:
            raise ParameterError(
                "x, hue", ", ".join(filter(None, (x, hue))), f"all dimensions; choose of {', '.join(left)}"
            )
        if by is not None and values.sizes[by] > _CURVES:
            raise ParameterError("hue", hue, f"at most {_CURVES} curves; {by} has {values.sizes[by]} values")
        axes = ax if ax is not None else pyplot.subplots(layout="constrained")[1]
        for i in range(1 if by is None else values.sizes[by]):
            self._curve(axes, name, x, across, None if by is None else {by: i}, hue)
        self._finish(axes, values, x, hue)
        return axes

    def _named(self, quantity: str | None) -> str:
        names = [str(name) for name, each in self._dataset.data_vars.items() if "quantity" in each.attrs]
        if quantity is None and names:
            wanted = [name for name in names if self._dataset[name].attrs["quantity"] == name]
            return (wanted or names)[0]
        if quantity not in names:
            raise ParameterError("quantity", quantity, "one of " + (", ".join(names) or "none: no variable of a sweep"))
        return quantity

    def _dimension(self, argument: str, name: str, values: xr.DataArray) -> Hashable:
        if name not in values.coords or values.coords[name].ndim != 1:
            allowed = sorted(str(each) for each, at in values.coords.items() if at.ndim == 1)  # a store has no order
            raise ParameterError(argument, name, "one of " + ", ".join(allowed))
        dimension: Hashable = values.coords[name].dims[0]
        return dimension

    def _curve(
        self, axes: Axes, name: str, x: str, across: Hashable, where: dict[Hashable, int] | None, hue: str | None
    ) -> None:
        one = self._dataset if where is None else self._dataset.isel(where)
        place = one.coords[x].values
        if place.dtype.kind not in "fiu":
            place = np.array([str(each) for each in place])
        label = None if hue is None else f"{hue} = {_short(one.coords[hue].item())}"
        (line,) = axes.plot(place, one[name].values, label=label, marker="." if len(place) < 30 else "")
        ends = str(one[name].attrs.get("interval", "")).split()
        if len(ends) == 2 and all(end in one for end in ends):
            low, high = (one[end].values for end in ends)
            axes.fill_between(place, low, high, color=line.get_color(), alpha=0.2, linewidth=0)

    def _finish(self, axes: Axes, values: xr.DataArray, x: str, hue: str | None) -> None:
        at = values.coords[x]
        axes.set_xlabel(_with_unit(str(at.attrs.get("long_name") or x), at.attrs))
        axes.set_ylabel(_with_unit(str(values.name), values.attrs))
        if at.dtype.kind in "fiu" and _wide(at.values):
            axes.set_xscale("log")
        if _wide(values.values):
            axes.set_yscale("log")
        if hue is not None:
            axes.legend()
        against = [f"{key}: {values.attrs[key]}" for key in ("adjacency", "observer") if key in values.attrs]
        if against:
            axes.set_title(", ".join(against), fontsize="small")


def _wide(values: Any) -> bool:
    """Whether all are positive and far apart."""
    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() / finite.min() > _WIDE)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _with_unit(text: str, attributes: dict[Any, Any]) -> str:
    unit = attributes.get("units", "1")
    return text if unit == "1" else f"{text} ({unit})"
