"""The first screen of ``airtight coverage``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from airtight.console import Sheet, next_step, say, screen
from airtight.validate.claims.numbered_items import NumberedItem, Standing


def items_screen(items: Sequence[NumberedItem], *, complete: bool) -> None:
    """Print the numbers of items by paper and standing, and the reasons of those that are not decided."""
    console = screen()
    counts = Counter(item.standing for item in items)
    say(console, f"{counts[Standing.SETTLED]} of {len(items)} numbered items are proved or refuted.", style="bold")
    table = Sheet(("paper", "items", *Standing))
    for paper in dict.fromkeys(item.paper for item in items):
        of_paper = Counter(item.standing for item in items if item.paper == paper)
        table.add_row(paper, f"{of_paper.total()}", *(f"{of_paper[standing]}" for standing in Standing))
    console.print(table)
    for item in items:
        if complete or item.standing is Standing.OPEN:
            how = f", by {', '.join(item.known)}" if item.known else ""
            rows = f" ({', '.join(item.rows)})" if complete else ""
            reason = f": {item.reason}" if item.reason else ""
            say(console, f"{item.paper}, {item.kind} {item.number}: {item.standing}{how}{rows}{reason}")
    if not complete:
        next_step(console, ("airtight coverage --all", "each numbered item, with its rows"))
