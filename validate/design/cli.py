"""``airtight calibrate`` and ``airtight design``."""

from __future__ import annotations

from pathlib import Path

import click

from validate.config import SystemFileError, load
from validate.options import FILE, JSON, print_json


@click.command()
@FILE
@click.option("--epsilon", type=float, required=True, help="What no device's epsilon may exceed.")
@click.option("--variable", type=click.Choice(["noise", "clip", "participation"]), default="noise", show_default=True)
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Queries that epsilon is of together; as FILE says by default."
)
@JSON
def calibrate(file: Path, epsilon: float, variable: str, rounds: int | None, as_json: bool) -> None:
    """The least noise (greatest clips, greatest participation) with which every device in FILE keeps epsilon."""
    from solvers.design.calibrate import calibrate as calibrated
    from validate.design import tables
    from validate.results.calibration import CalibrationResult

    description = load(file)
    if description.inference is None:
        raise SystemFileError(f"{file}: inference: missing; there is nothing to calibrate")
    queries = 1 if rounds is None else rounds
    observer = description.observer
    found = calibrated(description.inference, epsilon, variable=variable, rounds=queries, observer=observer)
    result = CalibrationResult.of(found, epsilon, queries, observer)
    if as_json:
        print_json(result)
    else:
        tables.calibration(description.name, result)
