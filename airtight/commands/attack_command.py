"""``airtight attack``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from airtight.commands.options import ALL, DEVICES, FEATURES, FILE, JSON, SEED, as_given, print_json
from airtight.running import heard, progress
from airtight.system_file.config import SystemFileError
from airtight.system_file.contents import SystemFile


@click.command(short_help="The best attack, run on simulated signals.")
@FILE
@click.option(
    "--samples",
    type=click.IntRange(8, 10**10),
    help="Number of signals drawn under either neighbour; 100000 by default.",
)
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
    from airtight.validate.attack.attack_results import AttackedDevice

    description, _, _ = fleets.load(file, devices, "inference", channel=True, features=features)
    if runs is not None:
        _on_training(file, description, runs, rounds, seed, as_json)
        return
    if description.inference is None:
        raise SystemFileError(f"{file}: inference: missing; there is nothing to attack")
    task = description.task if description.inference.channel is None else None
    system, name, labels = description.inference, description.name, description.labels
    given = as_given(file, devices, features)
    done = list[AttackedDevice]()
    options: dict[str, Any] = {"rounds": rounds, "samples": system_attack.SAMPLES if samples is None else samples}
    try:
        with progress("attacking"):
            result = system_attack.attacked(
                system,
                features=None if task is None else task.features,
                seed=seed,
                progress=heard(),
                finished=done.append,
                **options,
            )
    except KeyboardInterrupt:  # the devices that are done are shown, and the exit status is that of an interruption
        if done and not as_json:
            result = system_attack.result(system, done, **options)
            training_screens.attacked(given, name, result, system, labels, complete=complete)
        raise
    if as_json:
        print_json(result)
    else:
        training_screens.attacked(given, name, result, system, labels, complete=complete)


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
        results = [
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
        print_json(results)
    else:
        training_screens.trained(str(file), description.name, results)
