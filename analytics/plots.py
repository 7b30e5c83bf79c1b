"""What the plots of results are made of: axes, bars by device, lines with labels at their ends, plain ticks.

Each function draws on the axes that it is given, or on those of a new figure of pyplot, in the style that the caller has set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Numbers = NDArray[np.floating[Any]]

BLUE, RED, GREEN, ORANGE, GREY = "#2166ac", "#b2182b", "#1b7837", "#e08214", "#4d4d4d"
IMPOSSIBLE = "#d9d9d9"  # what no attack, or no design, reaches
COLOURS = (BLUE, RED, GREEN, ORANGE, "#762a83", GREY, "#35978f", "#bf812d", "#c51b7d")
MARKS = "osD^vP*Xd"  # of the lines, so that they can be told apart without colours
_BARS = 40  # devices with a bar of their own; more are drawn as one outline, the greatest first
NAMED = 30  # points of a map that have a name beside them
_DECADES = 30.0  # ratio of greatest to least value from which an axis is logarithmic


def axes_of(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]  # type: ignore[no-any-return]


def finish(axes: Axes, *, title: str, x: str, y: str) -> Axes:
    """Set title and labels as text: what stands in a name is no formula."""
    axes.set_title(title, loc="left", fontsize="medium", parse_math=False, wrap=True)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return axes


def plain_ticks(axes: Axes, *which: str) -> None:
    """Ticks of the axes x, y as numbers: 2 and 0.05 instead of 2x10^0, and 1e-5 beyond four digits."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatter, NullFormatter

    class Between(LogFormatter):
        """Numbers at those ticks between powers of ten that have room for one."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return tick(x) if super().__call__(x, pos) else ""

    for name in which:
        axis = getattr(axes, f"{name}axis")
        chosen = isinstance(axis.get_major_locator(), FixedLocator)
        axis.set_major_formatter(FuncFormatter(lambda value, place: tick(value)))
        axis.set_minor_formatter(NullFormatter() if chosen else Between())


def plain(figure: Figure) -> None:
    """Plain ticks on every logarithmic axis of a figure."""
    for axes in figure.axes:
        plain_ticks(axes, *(name for name in "xy" if getattr(axes, f"get_{name}scale")() == "log"))


def tick(value: float) -> str:
    """A number of a tick or label.

    Examples
    --------
    >>> tick(2.0), tick(0.05), tick(1e-05), tick(20000.0)
    ('2', '0.05', '1e-5', '20,000')
    """
    if value and not 1e-4 <= abs(value) < 1e6:
        digits, power = f"{value:.2e}".split("e")
        return f"{float(digits):g}e{int(power)}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def scaled(axes: Axes, which: str, values: Numbers) -> None:
    """Make an axis logarithmic where its values are positive and far apart."""
    finite = values[np.isfinite(values)]
    if finite.size and np.min(finite) > 0 and np.max(finite) > _DECADES * np.min(finite):
        getattr(axes, f"set_{which}scale")("log")
        plain_ticks(axes, which)


def bars(axes: Axes, parts: Mapping[str, Numbers], marks: Mapping[str, Numbers], names: Sequence[str] = ()) -> None:
    """Stacked bars of the devices and marks beside them; infinite values reach the top with the sign for it.

    Parameters
    ----------
    parts, marks : mapping
        Arrays (K,) by label; marks that are not finite are left out.
    names : sequence of str, optional
        Of the devices; by default their numbers.
    """
    total = np.sum(list(parts.values()), axis=0)
    known = np.concatenate([total, *marks.values()])
    top = 1.3 * np.max(known[np.isfinite(known)], initial=0.0) or 1.0
    outlined = total.size > _BARS
    order = np.argsort(-total, kind="stable") if outlined else np.arange(total.size)
    place, base = np.arange(total.size), np.zeros(total.size)
    for (label, values), colour in zip(parts.items(), (BLUE, ORANGE, GREEN, GREY), strict=False):
        height = np.where(np.isfinite(values), values, top)[order]
        if outlined:
            axes.fill_between(place, base, base + height, step="mid", color=colour, label=label, linewidth=0)
        else:
            axes.bar(place, height, bottom=base, color=colour, label=label, width=0.7)
        base = base + height
    for (label, values), shape in zip(marks.items(), "D_x", strict=False):
        kept = np.isfinite(values[order])
        axes.plot(place[kept], values[order][kept], shape, color="black", markersize=5, label=label, linestyle="none")
    axes.set_ylim(0, top)
    axes.legend(loc="upper left", ncols=len(parts) + len(marks), fontsize="small")
    if outlined:
        axes.set_xticks([])
        return
    for k in np.flatnonzero(~np.isfinite(total)):
        axes.annotate("∞", (k, top), ha="center", va="top", color="white", fontsize="large")
    every = max(1, -(-total.size // 20))
    axes.set_xticks(place[::every], list(names)[::every] if names else [str(k) for k in place[::every]])
    axes.grid(axis="x", visible=False)


def label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]], *, gap: float = 0.05) -> None:
    """Label lines to the right of their last points, in their colours; labels that would overlap are moved apart.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Axes whose limits are set.
    ends : sequence of (height, text, colour)
        Height in units of the vertical axis.
    gap : float
        Least distance between two labels, as a fraction of the axes' height.
    """
    to_axes = (axes.transScale + axes.transLimits).transform  # data to axes coordinates
    labels = sorted((float(to_axes((1, y))[1]), text, colour) for y, text, colour in ends if y == y)
    heights = [y for y, _, _ in labels]
    for _ in range(200):
        for i in range(len(heights) - 1):
            missing = gap - (heights[i + 1] - heights[i])
            if missing > 1e-9:
                heights[i] -= missing / 2
                heights[i + 1] += missing / 2
    for y, (_, text, colour) in zip(heights, labels, strict=True):
        axes.annotate(
            text, (1.01, y), xycoords="axes fraction", color=colour, fontsize=8, va="center", annotation_clip=False
        )
