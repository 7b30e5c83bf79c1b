"""The style of the report's plots, and their export as SVG and CSV."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from html import escape
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from airtight.analytics import plots, tidy
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
    "svg.hashsalt": "airtight",
}


def figure_of(width: float = 6.4, height: float = 4.0) -> Figure:
    """An empty figure with constrained layout; width and height in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


PAPER: dict[str, Any] = {  # one column of a two-column page, 3.4 inches wide; letters as text, so that a publisher takes the file
    **STYLE,
    "figure.figsize": (3.4, 2.4),
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "axes.linewidth": 0.6,
    "pdf.fonttype": 42,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.02,
}
_STYLES = {"report": STYLE, "paper": PAPER}


def applied(name: str = "report") -> AbstractContextManager[None]:
    """A context in which new plots have this style, and their lines the colours of :data:`COLOURS` in turn.

    Raises
    ------
    ParameterError
        When there is no such style.
    """
    if not isinstance(name, str) or name not in _STYLES:
        raise ParameterError("name", name, f"one of {', '.join(_STYLES)}")
    import matplotlib as mpl
    from matplotlib.rcsetup import cycler

    return mpl.rc_context({**_STYLES[name], "axes.prop_cycle": cycler(color=COLOURS)})


def whole_rounds(axes: Axes) -> None:
    """Put the ticks of the horizontal axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def svg(figure: Figure, name: str = "", title: str = "") -> str:
    """The figure as an SVG element with plain ticks, whose identifiers begin with its name, so that a page can hold many.

    Examples
    --------
    >>> text = svg(figure_of(), "empty", "Nothing")
    >>> 'id="empty-figure_1"' in text, "<title>Nothing</title>" in text, " id=\\"figure_1" in text
    (True, True, False)
    """
    import matplotlib as mpl

    buffer, heading = io.StringIO(), title or name or "figure"
    plots.plain(figure)
    with mpl.rc_context(STYLE):
        described = {"Title": heading, "Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=described, transparent=bool(name))
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(heading)}" ', 1)
    return re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", text) if name else text


def drawn(plot: Callable[[Axes], object], width: float = 6.4, height: float = 4.0) -> Figure:
    """A figure of this style with what a function draws on its axes."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(width, height)
        plot(figure.add_subplot())
    return figure


def save(figure: Figure, stream: IO[bytes], kind: str) -> None:
    """Write a picture as "svg", "png" or "pdf": the same bytes every time, without a date and with identifiers of the content."""
    import matplotlib as mpl

    plots.plain(figure)
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with mpl.rc_context(STYLE):
        figure.savefig(stream, format=kind, dpi=150, metadata=undated.get(kind))


def data(figure: Figure) -> str:
    """The drawn data as CSV: a row for each point of a line, bar and cell, with its panel and the name of its series.

    Examples
    --------
    >>> figure = figure_of()
    >>> _ = figure.add_subplot().plot([1, 2], [3.5, 4.5], label="one")
    >>> data(figure).splitlines()
    ['panel,series,x,y,value', '1,one,1.0,3.5,', '1,one,2.0,4.5,']
    """
    rows: list[tuple[Any, ...]] = []
    for panel, axes in enumerate(figure.axes, 1):
        for series, *point in _points(axes):
            fields = [x if isinstance(x, str) else float(x) for x in point]
            rows.append((panel, series, *fields, *[""] * (3 - len(fields))))
    return tidy.csv_text(("panel", "series", "x", "y", "value"), rows)


def _points(axes: Axes) -> Iterator[tuple[Any, ...]]:
    """Series, x, y and, for a cell, its value."""
    from matplotlib.collections import PolyCollection, QuadMesh
    from matplotlib.container import BarContainer

    for number, line in enumerate(axes.get_lines()):
        label = str(line.get_label())
        series = f"line {number}" if label.startswith("_") else label
        yield from ((series, x, y) for x, y in zip(np.ravel(line.get_xdata()), np.ravel(line.get_ydata()), strict=True))
    for bars in axes.containers:
        if isinstance(bars, BarContainer) and bars.orientation == "vertical":
            yield from ((bars.get_label(), bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in bars.patches)
        elif isinstance(bars, BarContainer):
            names = [text.get_text() for text in axes.get_yticklabels()]
            for name, bar in zip(names, bars.patches, strict=False):
                yield bars.get_label(), bar.get_width(), name
    for collection in axes.collections:
        if isinstance(collection, QuadMesh) and axes.get_label() != "<colorbar>":
            corners = np.asarray(collection.get_coordinates())
            middle = ((corners[1:, 1:] + corners[:-1, :-1]) / 2).reshape(-1, 2)
            values: FloatArray = np.ma.filled(np.ma.asarray(collection.get_array(), dtype=float), np.nan).reshape(-1)
            yield from (("cells", x, y, value) for (x, y), value in zip(middle, values, strict=True))
        elif isinstance(collection, PolyCollection):
            yield from (
                (str(collection.get_label()), x, y)
                for path in collection.get_paths()
                for x, y in np.asarray(path.vertices)
            )
