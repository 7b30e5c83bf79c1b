"""``airtight attack``."""

from __future__ import annotations

from pathlib import Path

import click

from airtight.commands.options import ALL, DEVICES, FEATURES, FILE, JSON, SEED, print_json
from airtight.running import heard, progress
from airtight.system_file.config import SystemFileError
from airtight.system_file.contents import SystemFile


@click.command(short_help="The best attack, run on simulated signals.")
@FILE
@click.option("--samples", type=click.IntRange(8, 10**10), help="Number of signals drawn under either neighbour; 100000 by default.")
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Number of rounds that are attacked together; as FILE says by default."
)
@click.option(
    "--runs",
    type=click.IntRange(min=8),
    help="Attack federated training instead, in this many runs under either neighbour.",
)
@SEED
@DEVICES
@FEATURES
@ALL
@JSON
def attack(
    file: Path,
    samples: int | None,
    rounds: int | None,
    runs: int | None,
    seed: int,
    devices: Path | None,
    features: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Run the best attack on simulated signals of FILE: a lower bound of epsilon beside the exact and the published one.

    With --runs the attack is on one client of the federated training in FILE, by each mechanism of [training] whose sums have
    a known law.
    """
    from airtight.commands import fleet_csv as fleets
    from airtight.report.screens import training_screens
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
        system, labels = description.inference, description.labels
        training_screens.attacked(str(file), description.name, result, system, labels, complete=complete)


def _on_training(file: Path, description: SystemFile, runs: int, rounds: int | None, seed: int, as_json: bool) -> None:
    from airtight.report.screens import training_screens
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
        training_screens.trained(str(file), description.name, found)
