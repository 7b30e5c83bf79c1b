"""How the plots of the report look, and how they become SVG text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    """An empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def drawn_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Figure:
    """A table as a figure."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(1.25 * len(headings), 0.4 + 0.26 * (len(rows) + 1))
        axes = figure.add_subplot()
        axes.axis("off")
        table = axes.table(
            cellText=[list(row) for row in rows], colLabels=list(headings), loc="center", edges="horizontal"
        )
        table.auto_set_font_size(False)
        table.set_fontsize(9)
        table.auto_set_column_width(range(len(headings)))
    return figure


def svg(figure: Figure) -> str:
    """The figure as an SVG element."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
