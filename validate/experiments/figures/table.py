"""A table of a paper, as a table."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Table:
    """Headings and rows of text.

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
        """For a page; wide ones scroll by themselves."""
        head = Markup("").join(Markup('<th scope="col">{}</th>').format(one) for one in self.headings)
        cells = [Markup("").join(Markup("<td>{}</td>").format(one) for one in row) for row in self.rows]
        body = Markup("").join(Markup("<tr>{}</tr>\n").format(row) for row in (head, *cells))
        frame = Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}"><table>\n{}</table></div>')
        return frame.format(title, body)
