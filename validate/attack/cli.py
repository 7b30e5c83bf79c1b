"""``airtight attack``."""

from __future__ import annotations

from pathlib import Path

import click

from validate.config import SystemFileError, load
from validate.options import FILE, JSON, SEED, print_json


@click.command()
@FILE
@click.option("--samples", type=click.IntRange(min=8), help="Outputs under either neighbour; 100000 by default.")
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Queries that are attacked together; as FILE says by default."
)
@SEED
@JSON
def attack(file: Path, samples: int | None, rounds: int | None, seed: int, as_json: bool) -> None:
    """The optimal attack on the simulated channel of FILE: epsilon from samples, beside the exact and the published one."""
    from validate.attack import experiment, tables

    description = load(file)
    if description.inference is None:
        raise SystemFileError(f"{file}: inference: missing; there is nothing to attack")
    features = None if description.task is None else description.task.features
    result = experiment.attacked(
        description.inference,
        features=features,
        rounds=description.rounds if rounds is None else rounds,
        samples=experiment.SAMPLES if samples is None else samples,
        seed=seed,
    )
    if as_json:
        print_json(result)
    else:
        tables.attacked(description.name, result)
