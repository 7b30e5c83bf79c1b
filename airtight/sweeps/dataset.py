"""Reads a store as an xarray Dataset and plots it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airtight.analytics import tidy
from airtight.analytics.checks import ParameterError
from airtight.sweeps.plan import SWEPT
from airtight.sweeps.store import StoreError, verified

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_MOST_CURVES = 12  # curves in one plot: more cannot be told apart
_WIDE = 100.0  # ratio of greatest to smallest value above which an axis is logarithmic


def opened(path: str | Path) -> xr.Dataset:
    """The Dataset of a finished or unfinished sweep; arrays are read from the store when they are used.

    Every chunk is read once and compared with its checksum.

    Parameters
    ----------
    path : path
        The store.

    Returns
    -------
    xarray.Dataset
        With the accessor ``airtight``: :class:`Sweeps`. Its attribute ``unfinished`` names the variables of which blocks
        are not computed yet, in each of them ``missing_blocks`` says how many; :meth:`Sweeps.computed` says which cells are.

    Raises
    ------
    StoreError
        When the folder is no store of a sweep, or when something in it is damaged: the message says what.
    """
    computed = verified(Path(path))
    try:
        dataset = xr.open_dataset(path, engine="zarr", chunks=None, consolidated=False)
        # text as objects, and no trace of zarr's encoding: other formats have neither
        texts = {name: array.astype(object) for name, array in dataset.variables.items() if array.dtype.kind == "T"}
        dataset = dataset[sorted(map(str, dataset.data_vars))].assign(texts)
    except Exception as error:  # whatever zarr and xarray meet in damaged coordinates
        text = str(error).partition("\n")[0]
        raise StoreError(f"{path}: cannot be read ({text}); the same sweep, run again, mends it") from None
    missing = {name: int(np.sum(~blocks)) for name, blocks in computed.items()}
    for name, count in missing.items():
        dataset[name].attrs["missing_blocks"] = count
    dataset.attrs["unfinished"] = " ".join(name for name, count in missing.items() if count)
    return dataset


@xr.register_dataset_accessor("airtight")  # type: ignore[no-untyped-call]
class Sweeps:
    """Dataset accessor that plots the quantities of a sweep.

    Parameters
    ----------
    dataset : xarray.Dataset
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def computed(self, quantity: str | None = None) -> xr.DataArray:
        """Where a quantity is computed: true in a cell that is done, be it nan, false where its block is missing.

        Parameters
        ----------
        quantity : str, optional
            A variable; by default the first quantity.
        """
        values = self._dataset[self._quantity_name(quantity)]
        source = values.encoding.get("source") or self._dataset.encoding.get("source")
        if not values.attrs.get("missing_blocks"):
            return xr.ones_like(values, dtype=bool)
        if source is None:
            raise ParameterError("quantity", values.name, "one of a Dataset as airtight.open_sweep returns it")
        blocks = verified(Path(source))[str(values.name)]
        chunks = values.encoding.get("preferred_chunks") or {}
        for axis, dimension in enumerate(values.dims[: blocks.ndim]):
            blocks = np.repeat(blocks, chunks.get(dimension, 1), axis=axis).take(
                range(values.sizes[dimension]), axis=axis
            )
        cells = xr.DataArray(blocks, dims=values.dims[: blocks.ndim])
        return (xr.ones_like(values, dtype=bool) & cells).transpose(*values.dims)

    def table(self, system: str = "sweep") -> dict[str, NDArray[Any]]:
        """The tidy table by columns: a row for each cell and device of each quantity, with the axes before it.

        A cell of an axis on which the quantity does not depend is empty.
        """
        coordinates = {str(name): each for name, each in self._dataset.coords.items() if each.dims != ("device",)}
        tables = []
        for name in self._quantity_names():
            values = self._dataset[name]
            grid = [dimension for dimension in values.dims if dimension != "device"]
            axes = {
                axis: each.broadcast_like(values) if set(each.dims) <= set(grid) else xr.full_like(values, np.nan, dtype=object)
                for axis, each in coordinates.items()
            }
            order = [*grid, *(["device"] if "device" in values.dims else [])]
            columns = {axis: each.transpose(*order).values.ravel() for axis, each in axes.items()}
            tables.append(_with_axes(columns, tidy.columns([(system, {name: self._entry(values, order)})])))
        names = [*(axis for axis in coordinates if axis not in tidy.COLUMNS), *tidy.COLUMNS]
        return {name: np.concatenate([table[name] for table in tables]) for name in names}

    def to_frame(self, system: str = "sweep") -> pandas.DataFrame:
        """The tidy table as a DataFrame of pandas."""
        return tidy.frame(self.table(system))

    def _entry(self, values: xr.DataArray, order: Sequence[Hashable]) -> tidy.Entry:
        """All numbers of a quantity as if each were of a device."""
        ends = [self._dataset[name] for name in str(values.attrs.get("interval", "")).split()]
        lower, upper = (each.transpose(*order).values.ravel() for each in ends) if ends else (np.nan, np.nan)
        facts = {name: values.attrs[name] for name in ("observer", "rounds") if values.attrs.get(name, SWEPT) != SWEPT}
        unit = str(values.attrs.get("units", "1"))
        number = np.arange(values.sizes.get("device", 0))
        return tidy.Entry(
            value=values.transpose(*order).values.ravel().astype(float),
            lower=lower,
            upper=upper,
            device=np.tile(number, values.size // number.size) if number.size else np.full(values.size, np.nan),
            unit="" if unit == "1" else unit,
            **facts,
        )

    def plot(self, quantity: str | None = None, *, x: str, hue: str | None = None, ax: Axes | None = None) -> Axes:
        """Plot a quantity over one axis, one curve for each value of another, with its lower and upper bounds shaded.

        Parameters
        ----------
        quantity : str, optional
            A variable; by default the first quantity.
        x : str
            A coordinate.
        hue : str, optional
            Another coordinate. No other dimension may remain: select one value of each, for example by
            ``dataset.sel(delta=1e-5)``.
        ax : matplotlib.axes.Axes, optional

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            When a name does not exist, or when a further dimension remains.
        """
        from matplotlib import pyplot

        name = self._quantity_name(quantity)
        values = self._dataset[name]
        x_dimension = self._dimension("x", x, values)
        hue_dimension = None if hue is None else self._dimension("hue", hue, values)
        remaining = [str(each) for each in values.dims if each not in (x_dimension, hue_dimension)]
        if remaining:
            raise ParameterError(
                "x, hue", ", ".join(filter(None, (x, hue))), f"all dimensions; choose of {', '.join(remaining)}"
            )
        if hue_dimension is not None and values.sizes[hue_dimension] > _MOST_CURVES:
            raise ParameterError(
                "hue", hue, f"at most {_MOST_CURVES} curves; {hue_dimension} has {values.sizes[hue_dimension]} values"
            )
        axes = ax if ax is not None else pyplot.subplots(layout="constrained")[1]
        for i in range(1 if hue_dimension is None else values.sizes[hue_dimension]):
            self._curve(axes, name, x, x_dimension, None if hue_dimension is None else {hue_dimension: i}, hue)
        self._finish(axes, values, x, hue)
        return axes

    def _quantity_names(self) -> list[str]:
        """The variables that hold quantities, without those that hold only a bound of one."""
        known = {str(name): variable.attrs.get("quantity") for name, variable in self._dataset.data_vars.items()}
        return [name for name, quantity in known.items() if quantity == name]

    def _quantity_name(self, quantity: str | None) -> str:
        names = [str(name) for name, variable in self._dataset.data_vars.items() if "quantity" in variable.attrs]
        if quantity is None and names:
            return (self._quantity_names() or names)[0]
        if quantity not in names:
            raise ParameterError("quantity", quantity, "one of " + (", ".join(names) or "none: no variable of a sweep"))
        return quantity

    def _dimension(self, argument: str, name: str, values: xr.DataArray) -> Hashable:
        if name not in values.coords or values.coords[name].ndim != 1:
            allowed = sorted(
                str(each) for each, coordinate in values.coords.items() if coordinate.ndim == 1
            )  # sorted because a store keeps no order
            raise ParameterError(argument, name, "one of " + ", ".join(allowed))
        dimension: Hashable = values.coords[name].dims[0]
        return dimension

    def _curve(
        self,
        axes: Axes,
        name: str,
        x: str,
        x_dimension: Hashable,
        hue_index: dict[Hashable, int] | None,
        hue: str | None,
    ) -> None:
        selected = self._dataset if hue_index is None else self._dataset.isel(hue_index)
        x_values = selected.coords[x].values
        if x_values.dtype.kind not in "fiu":
            x_values = np.array([str(each) for each in x_values])
        label = None if hue is None else f"{hue} = {_short(selected.coords[hue].item())}"
        (line,) = axes.plot(x_values, selected[name].values, label=label, marker="." if len(x_values) < 30 else "")
        bound_names = str(selected[name].attrs.get("interval", "")).split()
        if len(bound_names) == 2 and all(bound_name in selected for bound_name in bound_names):
            lower, upper = (selected[bound_name].values for bound_name in bound_names)
            axes.fill_between(x_values, lower, upper, color=line.get_color(), alpha=0.2, linewidth=0)

    def _finish(self, axes: Axes, values: xr.DataArray, x: str, hue: str | None) -> None:
        coordinate = values.coords[x]
        axes.set_xlabel(_with_unit(str(coordinate.attrs.get("long_name") or x), coordinate.attrs))
        axes.set_ylabel(_with_unit(str(values.name), values.attrs))
        if coordinate.dtype.kind in "fiu" and _spans_decades(coordinate.values):
            axes.set_xscale("log")
        if _spans_decades(values.values):
            axes.set_yscale("log")
        if hue is not None:
            axes.legend()
        subtitle = [f"{key}: {values.attrs[key]}" for key in ("adjacency", "observer") if key in values.attrs]
        if subtitle:
            axes.set_title(", ".join(subtitle), fontsize="small")


def _with_axes(axes: Mapping[str, NDArray[Any]], table: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The table with its axes; an axis that is a column of every table, such as rounds, fills that column where it has values."""
    merged = {name: column for name, column in axes.items() if name not in table} | dict(table)
    for name in axes.keys() & table.keys():
        known = np.array([value == value for value in axes[name]])  # nan where the quantity does not depend on the axis
        merged[name] = np.where(known, axes[name], table[name]).astype(table[name].dtype)
    return merged


def _spans_decades(values: Any) -> bool:
    """Whether all finite values are positive and their ratio exceeds _WIDE."""
    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() / finite.min() > _WIDE)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _with_unit(text: str, attributes: dict[Any, Any]) -> str:
    unit = attributes.get("units", "1")
    return text if unit == "1" else f"{text} ({unit})"
