"""Links by which a reader takes each table of a page along, as CSV with all digits: they hold the data themselves."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

from markupsafe import Markup

from airtight.analytics.tidy import csv_text

_TABLE = re.compile(r"<table>\s*<caption[^>]*>(?P<caption>.*?)(?=</caption>).*?</table>", re.DOTALL)


class _Cells(HTMLParser):
    """The rows of a table; a number with a title is the title, which holds all digits."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self.caption, self.rows = "", list[list[str]]()
        self._whole, self._in_caption = "", False
        self.feed(table)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        match tag:
            case "caption":
                self._in_caption = True
            case "tr":
                self.rows.append([])
            case "th" | "td":
                self.rows[-1].append("")
            case "div" if self.rows and self.rows[-1]:
                self.rows[-1][-1] += " "
            case "span" if self.rows and (title := dict(attrs).get("title")):
                self.rows[-1][-1] += title
                self._whole = title

    def handle_endtag(self, tag: str) -> None:
        if tag == "span":
            self._whole = ""
        elif tag == "caption":
            self._in_caption = False

    def handle_data(self, data: str) -> None:
        if self._in_caption:
            self.caption += data
        elif self.rows and self.rows[-1] and not self._whole:
            self.rows[-1][-1] += data


def linked(html: str) -> str:
    """The page with a link to its CSV in the caption of each table.

    Examples
    --------
    >>> rows = '<tr><th>of</th></tr><tr><td><span title="0.123456">0.1235</span></td></tr>'
    >>> page = f"<table><caption>Errors</caption>{rows}</table>"
    >>> linked(page).count('download="errors.csv"'), "b2YKMC4xMjM0NTYK" in linked(page)
    (1, True)
    """
    return _TABLE.sub(_with_link, html)


def _with_link(table: re.Match[str]) -> str:
    held = _Cells(table[0])
    caption = " ".join(held.caption.split())
    name = re.sub(r"[^\w]+", "-", caption.lower()).strip("-")
    (headings, *rows) = [[" ".join(cell.split()) for cell in row] for row in held.rows]
    content = base64.b64encode(csv_text(headings, rows).encode()).decode()
    link = Markup(' <a class="download" download="{}.csv" href="data:text/csv;base64,{}" aria-label="{}: CSV">CSV</a>')
    end = table.end("caption") - table.start()
    return table[0][:end] + str(link.format(name, content, caption)) + table[0][end:]
