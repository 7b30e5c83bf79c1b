"""What the first screens of the commands are made of: paragraphs, tables that fit, rows of devices, the next step."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from airtight.analytics.checks import FloatArray

FILE_WIDTH = 80  # columns where the output is no terminal and COLUMNS does not say otherwise
COLUMNS = 7  # of a table, at most; further ones follow in a table below it
FEW = 6  # kinds of devices that are listed; of more the worst, the median and the best are
_GAP = "  "
_NARROW = 12  # a heading is broken into lines of about this width, if its cells are not wider
LEFT = "", "device", "devices"  # headings of columns of text


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the program by itself


def screen() -> Console:
    """A console as wide as the terminal or COLUMNS, and of 80 columns where the output goes to a file.

    What it prints is text: names come from files, and ``[low]`` or ``:x:`` in a name is no style and no picture.
    """
    console = _Screen(markup=False, emoji=False)
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = FILE_WIDTH
    return console


def say(console: Console, text: str, *, indent: int = 0, hanging: int = 2, style: str = "") -> None:
    """Print a paragraph; its lines after the first are indented by `hanging` more.

    No word is broken, neither at a no-break space: a path that is wider than the console can be copied.
    """
    first, rest = " " * indent, " " * (indent + hanging)
    width = max(console.width, len(rest) + _NARROW)
    paragraph = textwrap.TextWrapper(width, first, rest, break_on_hyphens=False, break_long_words=False)
    for line in paragraph.wrap(text):
        console.print(Text(line.replace("\xa0", " "), style=style), soft_wrap=True)


def notes(console: Console, lines: Iterable[str]) -> None:
    """Print what is to know of a table, a paragraph each, below an empty line."""
    for number, line in enumerate(lines):
        if not number:
            console.print()
        say(console, line, indent=2)


def headline(console: Console, name: str, sentences: Sequence[str]) -> None:
    """Print the sentences of a system, the first with its name."""
    for number, sentence in enumerate(sentences):
        say(console, sentence if number else f"{name}: {sentence}", style="" if number else "bold")


def next_step(console: Console, *steps: tuple[str, str]) -> None:
    """Print the commands that help from here, each with what it is for."""
    head, wide = "Next: ", max(len(command) for command, _ in steps)
    console.print()
    for number, (command, purpose) in enumerate(steps):
        start = head if number == 0 else " " * len(head)
        note = f"({purpose})" if purpose else ""
        line = f"{start}{command:<{wide}}   {note}".rstrip()
        if len(line) > console.width:
            line = f"{start}{command}   {note}".rstrip()
        # a command is to be copied: it is never broken, and its purpose goes to a line of its own where it does not fit
        if len(line) <= console.width or not note:
            console.print(Text(line), soft_wrap=True)
        else:
            console.print(Text(f"{start}{command}"), soft_wrap=True)
            console.print(Text(f"{' ' * len(head)}{note}"))


@dataclass
class Sheet:
    """A table as text: numbers to the right, the columns of the headings `left` to the left.

    What is too wide for the console, or has more than seven columns, goes on below with the first column repeated; no cell is
    cut.
    """

    headings: Sequence[str]
    title: str = ""
    left: Collection[str] = LEFT
    rows: list[tuple[str | Text, ...]] = field(default_factory=list)

    def add_row(self, *cells: str | Text) -> None:
        """Add a row with a cell for each heading."""
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text()
        if self.title:
            yield from (Text(line) for line in textwrap.wrap(self.title, options.max_width, subsequent_indent=_GAP))
        heads = [self._broken(j) for j in range(len(self.headings))]
        widths = [
            max(cell_len(line) for line in (*heads[j], *(str(row[j]) for row in self.rows), ""))
            for j in range(len(heads))
        ]
        # a text is folded where it is wider than half of the screen and than what the other columns leave
        room = options.max_width - sum(width + len(_GAP) for width in widths[1:]) - len(_GAP)
        widths[0] = min(widths[0], max(options.max_width // 2 - len(_GAP), room, _NARROW))
        for j in range(1, len(widths)):
            widths[j] = min(widths[j], max(options.max_width - widths[0] - 2 * len(_GAP), 1))
        for number, part in enumerate(self._parts(widths, options.max_width)):
            if number:
                yield Text()
            height = max(len(heads[j]) for j in part)
            for line in range(height):
                cells = [
                    heads[j][line - height + len(heads[j])] if line >= height - len(heads[j]) else "" for j in part
                ]
                yield self._line([Text(cell) for cell in cells], part, widths, style="bold")
            for row in self.rows:
                yield from self._folded(row, part, widths)

    def _broken(self, column: int) -> list[str]:
        heading = self.headings[column]
        wide = max([cell_len(str(row[column])) for row in self.rows], default=0)
        return textwrap.wrap(heading, max(wide, _NARROW), break_long_words=False, break_on_hyphens=False) or [""]

    def _parts(self, widths: Sequence[int], most: int) -> list[list[int]]:
        """The columns of each table, of which the first is in all."""
        parts: list[list[int]] = [[0]]
        used = len(_GAP) + widths[0]
        for j in range(1, len(widths)):
            if len(parts[-1]) > 1 and (used + len(_GAP) + widths[j] > most or len(parts[-1]) == COLUMNS):
                parts.append([0])
                used = len(_GAP) + widths[0]
            parts[-1].append(j)
            used += len(_GAP) + widths[j]
        return parts

    def _folded(self, row: Sequence[str | Text], part: Sequence[int], widths: Sequence[int]) -> Iterable[Text]:
        lines = []
        for j in part:
            cell = Text().append(row[j])
            folded = (
                list(cell.wrap(Console(width=widths[j]), widths[j])) if cell_len(cell.plain) > widths[j] else [cell]
            )
            lines.append(folded)
        for line in range(max(map(len, lines))):
            yield self._line([one[line] if line < len(one) else Text() for one in lines], part, widths)

    def _line(self, cells: Sequence[Text], part: Sequence[int], widths: Sequence[int], style: str = "") -> Text:
        line = Text(style=style)
        for cell, j in zip(cells, part, strict=True):
            blank = " " * max(widths[j] - cell_len(cell.plain), 0)
            line.append(_GAP)
            if self.headings[j] in self.left:
                line.append_text(cell).append(blank)
            else:
                line.append(blank).append_text(cell)
        line.rstrip()
        return line


def groups(rows: Sequence[tuple[float, ...]], labels: Sequence[str] = ()) -> list[tuple[str, tuple[float, ...]]]:
    """Merge runs of equal rows, each with the devices that it stands for; a device alone has its name beside its number.

    `labels` are the numbers of the devices with their names; by default the numbers from 0.

    Examples
    --------
    >>> groups([(1.0,), (1.0,), (2.0,)])
    [('0-1', (1.0,)), ('2', (2.0,))]
    >>> groups([(1.0,), (2.0,), (2.0,)], ["0 hall", "1 roof", "2 yard"])
    [('0 hall', (1.0,)), ('1-2', (2.0,))]
    >>> groups([(float("nan"),), (float("nan"),)])
    [('0-1', (nan,))]
    """
    runs: list[tuple[int, int, tuple[float, ...]]] = []
    for k, row in enumerate(rows):
        if runs and all(x == y or (x != x and y != y) for x, y in zip(runs[-1][2], row, strict=True)):  # NaN equals NaN
            runs[-1] = (runs[-1][0], k, row)
        else:
            runs.append((k, k, row))

    def number(k: int) -> str:
        return labelled(k, labels).partition(" ")[0]

    return [(labelled(a, labels) if a == b else f"{number(a)}-{number(b)}", row) for a, b, row in runs]


def labelled(device: int, labels: Sequence[str] = ()) -> str:
    """Number of a device, counted from 0, and its name where it has one."""
    return labels[device] if labels else str(device)


def device_rows(
    columns: Mapping[str, FloatArray],
    *,
    by: FloatArray,
    labels: Sequence[str] = (),
    complete: bool = False,
    among: Sequence[int] | None = None,
    places: tuple[str, str, str] = ("worst", "median", "best"),
) -> list[tuple[str, tuple[float, ...]]]:
    """A row for each run of equal devices; of many kinds, unless all are asked for, the worst, the median and the best one.

    Parameters
    ----------
    columns : mapping
        Arrays (K,).
    by : ndarray, shape (K,)
        The greatest is the worst. The median is a device: the worse one of the middle two of an even number.
    among : sequence of int, optional
        The devices that the median and the best are of; all by default.
    places : tuple of str
        What the three rows are called.

    Examples
    --------
    >>> epsilon = np.arange(9.0)
    >>> device_rows({"epsilon": epsilon}, by=epsilon)
    [('worst: 8', (8.0,)), ('median: 4', (4.0,)), ('best: 0', (0.0,))]
    """
    rows = list(zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True))
    merged = groups(rows, labels)
    if complete or len(merged) <= FEW:
        return merged
    kept = np.arange(len(rows)) if among is None or not len(among) else np.asarray(among)
    order = kept[np.argsort(-by[kept], kind="stable")]
    chosen = int(np.argmax(by)), int(order[(len(order) - 1) // 2]), int(order[-1])
    return [(f"{place}: {labelled(k, labels)}", rows[k]) for place, k in zip(places, chosen, strict=True)]
