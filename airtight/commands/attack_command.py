"""``airtight attack``."""

from __future__ import annotations

from pathlib import Path

import click

from airtight.commands.options import DEVICES, FEATURES, FILE, JSON, SEED, print_json
from airtight.running import heard, progress
from airtight.system_file.config import SystemFileError
from airtight.system_file.contents import SystemFile


@click.command()
@FILE
@click.option("--samples", type=click.IntRange(8, 10**10), help="Outputs under either neighbour; 100000 by default.")
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Queries that are attacked together; as FILE says by default."
)
@click.option(
    "--runs",
    type=click.IntRange(min=8),
    help="Attack federated training instead, in so many runs of it under either neighbour.",
)
@SEED
@DEVICES
@FEATURES
@JSON
def attack(
    file: Path,
    samples: int | None,
    rounds: int | None,
    runs: int | None,
    seed: int,
    devices: Path | None,
    features: Path | None,
    as_json: bool,
) -> None:
    """The optimal attack on the simulated channel of FILE: epsilon from samples, beside the exact and the published one.

    With --runs on one client of its federated training, by each mechanism of [training] whose sums have a known law.
    """
    from airtight.commands import fleet_csv as fleets
    from airtight.report import tables
    from airtight.validate.attack import system_attack

    description, _, _ = fleets.load(file, devices, "inference", channel=True, features=features)
    if runs is not None:
        _on_training(file, description, runs, rounds, seed, as_json)
        return
    if description.inference is None:
        raise SystemFileError(f"{file}: inference: missing; there is nothing to attack")
    task = description.task if description.inference.channel is None else None
    result = system_attack.attacked(
        description.inference,
        features=None if task is None else task.features,
        rounds=rounds,
        samples=system_attack.SAMPLES if samples is None else samples,
        seed=seed,
        progress=heard(),
    )
    if as_json:
        print_json(result)
    else:
        tables.attacked(description.name, result)


def _on_training(file: Path, description: SystemFile, runs: int, rounds: int | None, seed: int, as_json: bool) -> None:
    from airtight.report import tables
    from airtight.validate.attack import training

    if description.federated is None or description.training is None:
        missing = "federated" if description.federated is None else "training"
        raise SystemFileError(f"{file}: {missing}: missing; there is no training to attack")
    plan = description.training
    kinds = [kind for kind in plan.mechanisms if kind in training.ATTACKED]
    if not kinds:
        allowed = ", ".join(kind.value for kind in training.ATTACKED)
        raise SystemFileError(f"{file}: training.mechanisms: none of {allowed}; no others have sums of a known law")
    times = min(training.ROUNDS, plan.settings.rounds) if rounds is None else rounds
    with progress("training", len(kinds) * 4 * runs) as advance:
        found = [
            training.attacked(
                description.federated,
                kind,
                settings=plan.settings,
                rounds=times,
                runs=runs,
                seed=seed,
                advance=advance,
            )
            for kind in kinds
        ]
    if as_json:
        print_json(found)
    else:
        tables.trained(description.name, found)
