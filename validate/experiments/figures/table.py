"""A table of a paper, as HTML."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Table:
    """A table: headings and rows of text.

    Examples
    --------
    >>> print(Table(("scheme", "epsilon"), (("2.1", "< 1"),)).html("One scheme"))
    <div class="scroll" tabindex="0" role="region" aria-label="One scheme"><table>
    <tr><th scope="col">scheme</th><th scope="col">epsilon</th></tr>
    <tr><td>2.1</td><td>&lt; 1</td></tr>
    </table></div>
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def html(self, title: str) -> Markup:
        """The table as HTML; a wide table scrolls horizontally."""
        head = Markup("").join(Markup('<th scope="col">{}</th>').format(text) for text in self.headings)
        cells = [Markup("").join(Markup("<td>{}</td>").format(text) for text in row) for row in self.rows]
        body = Markup("").join(Markup("<tr>{}</tr>\n").format(row) for row in (head, *cells))
        frame = Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}"><table>\n{}</table></div>')
        return frame.format(title, body)
