"""The command ``airtight quantities``."""

from __future__ import annotations

from pathlib import Path

import click

from airtight.commands.options import JSON, print_json


@click.command(short_help="Closed forms, with their values for a system file.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@JSON
def quantities(file: Path | None, as_json: bool) -> None:
    """Every closed form with its value for the systems in FILE; without FILE all closed forms with their formulas."""
    from airtight.report import tables
    from airtight.results.closed_forms import ClosedForms
    from airtight.solvers.quantities import quantities as registry
    from airtight.system_file.config import load

    if file is None and as_json:
        print_json({quantity.key: quantity.to_dict() for quantity in registry().values()})
    elif file is None:
        tables.registry(registry().values())
    elif as_json:
        print_json(ClosedForms.of(load(file)))
    else:
        description = load(file)
        tables.closed_forms(description.name, ClosedForms.of(description))
