"""The command ``airtight coverage``."""

from __future__ import annotations

from dataclasses import asdict

import click

from airtight.commands.options import JSON, print_json


@click.command(short_help="What is known of each numbered item of the papers.")
@click.argument("papers", nargs=-1)
@click.option("--all", "complete", is_flag=True, help="Print a line for each numbered item, with its rows.")
@JSON
def coverage(papers: tuple[str, ...], complete: bool, as_json: bool) -> None:
    """How many numbered items of each paper are proved or refuted, searched, defined, or not decided, and why; by the last
    trial of all claims."""
    from airtight.analytics.checks import ParameterError
    from airtight.report.screens.coverage_screen import items_screen
    from airtight.validate.claims.evidence import shipped
    from airtight.validate.claims.numbered_items import numbered_items
    from airtight.validate.claims.sources import INSTALLED

    known = [name for name, paper in INSTALLED.papers().items() if paper.numbered]
    for name in papers:
        if name not in known:
            raise ParameterError("PAPER", name, f"one of {', '.join(known)}")
    items = [item for item in numbered_items(shipped().evidence) if not papers or item.paper in papers]
    if as_json:
        print_json([asdict(item) for item in items])
    else:
        items_screen(items, complete=complete)
