"""``airtight calibrate`` and ``airtight design``."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airtight.commands.options import (
    ALL,
    DEVICES,
    FEATURES,
    FILE,
    JSON,
    LEAVE_OUT,
    OUT,
    PLAN,
    PLOT,
    QUIET,
    as_given,
    draw,
    print_json,
    save,
)
from airtight.running import heard, progress
from airtight.solvers.errors import Interrupted, NotSettledError
from airtight.system_file.config import SystemFileError
from airtight.system_file.contents import SystemFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airtight.commands.fleet_csv import Row
    from airtight.solvers.design.over_the_air.joint_design import JointDesign
    from airtight.solvers.design.requirements import FederatedRequirements, FleetRequirements


@click.command(short_help="The least noise, largest clip or participation for an epsilon.")
@FILE
@click.option("--epsilon", type=float, required=True, help="Greatest epsilon that is allowed for any device.")
@click.option(
    "--variable",
    type=click.Choice(["noise", "clip", "participation"]),
    default="noise",
    show_default=True,
    help="What is calibrated.",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Number of rounds that epsilon is for; as FILE says by default."
)
@DEVICES
@click.option(
    "--effort",
    type=click.IntRange(min=1),
    help="Evaluations of epsilon after which the best value so far is printed (exit 4); no limit by default.",
)
@OUT
@ALL
@JSON
@QUIET
def calibrate(
    file: Path,
    epsilon: float,
    variable: str,
    rounds: int | None,
    devices: Path | None,
    effort: int | None,
    out: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Find the least noise, the greatest clips or participation with which every device in FILE keeps epsilon."""
    from airtight.commands import fleet_csv as fleets
    from airtight.report.screens import design_screens
    from airtight.results.design import CalibrationResult
    from airtight.solvers.design import whole_system

    description, _, _ = fleets.load(file, devices, "inference", channel=True)
    if description.inference is None:
        raise SystemFileError(f"{file}: inference: missing; there is nothing to calibrate")
    if description.inference.channel is not None and variable != "noise":
        raise click.UsageError(f"--variable {variable}: over a channel only the noise is calibrated")
    system = description.inference
    with progress("calibrating"), _stopped() as stop:
        stop.best = whole_system.calibrate(
            system, epsilon, variable=variable, rounds=rounds, effort=effort, progress=heard()
        )
    result = CalibrationResult.of(stop.best, epsilon, description.task)
    save(out, result, result.table(description.name))
    if as_json:
        print_json(result)
    else:
        before, labels = description.inference, description.labels
        design_screens.calibration(as_given(file, devices), description.name, result, before, labels, complete=complete)
    stop.end()
    if not result.settled:
        raise NotSettledError(f"effort = {effort}: the best value that was found is above")


@click.command(short_help="The best weights, clips, noise and power under your limits.")
@FILE
@DEVICES
@FEATURES
@PLAN
@OUT
@LEAVE_OUT
@click.option(
    "--frontier",
    multiple=True,
    metavar="KEY=VALUES",
    help="Design once for each value of a limit, such as epsilon_at_most: a,b,c or FIRST:LAST:COUNT[:log]; once or twice.",
)
@PLOT
@ALL
@JSON
@QUIET
def design(
    file: Path,
    devices: Path | None,
    features: Path | None,
    plan: Path | None,
    out: Path | None,
    leave_out: bool,
    frontier: tuple[str, ...],
    plot: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Find the best weights, clips, noise and power for the table [design] in FILE: what is free, kept and least."""
    from airtight.commands import fleet_csv as fleets
    from airtight.report.screens import design_screens
    from airtight.results.design import DesignResult
    from airtight.results.schema import as_json as tree_of
    from airtight.solvers.design import whole_system
    from airtight.solvers.design.requirements import (
        FederatedRequirements,
        FleetRequirements,
        Free,
        InferenceRequirements,
    )

    description, rows, left = fleets.load(file, devices, leave_out=leave_out, channel=True, features=features)
    for one in left:
        click.echo(f"airtight: left out: {one}", err=True)
    system, wanted, task = description.inference, description.design, description.task
    if frontier:
        if plan is not None:
            raise click.UsageError("--frontier: not together with --plan")
        if system is not None and system.channel is not None and isinstance(wanted, InferenceRequirements):
            raise click.UsageError("--frontier: designs of one look; inference.channel: design one limit at a time")
        _frontier(file, description, frontier, plot, out, as_json)
        return
    if plot is not None:
        raise click.UsageError("--plot: needs --frontier")
    if isinstance(wanted, FederatedRequirements):
        _federated(file, description, wanted, out, complete, as_json)
        return
    if isinstance(wanted, FleetRequirements):
        _fleet(file, description, wanted, rows, plan, out, complete, as_json)
        return
    if not isinstance(wanted, InferenceRequirements) or system is None:
        raise SystemFileError(
            f'{file}: design: missing. Add at least: [design] minimise = "error", epsilon_at_most = 2, free = '
            '["noise_variance"]'
        )
    options: dict[str, Any] = {} if task is None else {"margin": task.margin, "ideal_accuracy": task.ideal_accuracy}
    samples = None if task is None else task.samples
    with progress("designing"), _stopped() as stop:
        stop.best = whole_system.design(system, wanted, samples, progress=heard(), **options)
    outcome = stop.best
    if plan is not None:
        fleets.write(plan, fleets.designed(outcome, rows))
        if str(plan) == "-":
            stop.end()
            _settled(outcome)
            return
    decided = (Free.PARTICIPATION,) if system.power_decides else ()
    free = tuple(dict.fromkeys((*wanted.free, *decided)))
    result = DesignResult.of(outcome, free, _before(description), samples or ())
    absent = dict.fromkeys(("lower_bound", "gap", "bound_for", "accuracy", "error"))
    tree = {**tree_of(result), **{name: None for name in absent if getattr(result, name) is None}}
    save(out, tree, result.table(description.name))
    if as_json:
        print_json(tree)
    else:
        design_screens.design(
            as_given(file, devices, features),
            description.name,
            result,
            system,
            wanted,
            description.labels,
            complete=complete,
        )
    stop.end()
    _settled(outcome)


@dataclass
class _Stop:
    """The outcome of a search, and whether Ctrl-C ended it."""

    best: Any = None
    pressed: bool = False

    def end(self) -> None:
        """Give Ctrl-C its exit status, after the best that was found is shown."""
        if self.pressed:
            raise KeyboardInterrupt


@contextmanager
def _stopped() -> Iterator[_Stop]:
    """Ctrl-C in a search that has found something ends it as a spent effort does."""
    stop = _Stop()
    try:
        yield stop
    except Interrupted as interrupted:
        stop.best, stop.pressed = interrupted.best, True


def _settled(result: JointDesign) -> None:
    """Exit with 4 where the effort was spent before the design was settled."""
    if not result.settled:
        gap = "nothing is proved of others" if result.gap is None else f"gap {result.gap:.3g}"
        click.echo(f"airtight: not settled: {result.minimised} {result.value:.6g} is the best met, {gap}", err=True)
        raise click.exceptions.Exit(4)


def _federated(
    file: Path,
    description: SystemFile,
    wanted: FederatedRequirements,
    out: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    from airtight.report.screens import design_screens
    from airtight.results.design import FederatedDesignResult
    from airtight.solvers.design.federated import federated_design

    assert description.federated is not None
    with progress("designing"):
        outcome = federated_design.design(description.federated, wanted, progress=heard())
    result = FederatedDesignResult.of(outcome, wanted)
    save(out, result, result.table(description.name))
    if as_json:
        print_json(result)
    else:
        design_screens.federated_design(str(file), description.name, result, complete=complete)


def _frontier(
    file: Path, description: SystemFile, over: Sequence[str], plot: Path | None, out: Path | None, as_json: bool
) -> None:
    from airtight.report.screens import design_screens
    from airtight.sweeps import frontier_designs

    with progress("designing", 0) as advance:
        result = frontier_designs.traced(description, over, heard=advance)
    draw(plot, result.plot)
    save(out, result, result.table(description.name))
    if as_json:
        print_json(result)
    else:
        design_screens.frontier(str(file), description.name, result, over)


def _fleet(
    file: Path,
    description: SystemFile,
    wanted: FleetRequirements,
    rows: Sequence[Row],
    plan: Path | None,
    out: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    from airtight.commands import fleet_csv as fleets
    from airtight.report.screens import design_screens
    from airtight.results.design import FleetDesignResult
    from airtight.solvers.design.fleet import fleet_design

    assert description.energy is not None
    with progress("designing"):
        outcome = fleet_design.design(description.energy, wanted, progress=heard())
    if plan is not None:
        fleets.write(plan, fleets.planned(outcome, rows))
        if str(plan) == "-":
            return
    result = FleetDesignResult.of(outcome, wanted)
    save(out, result, result.table(description.name))
    if as_json:
        print_json(result)
    else:
        design_screens.fleet_design(str(file), description.name, result, description.fleet_labels, complete=complete)


def _before(description: SystemFile) -> dict[str, float]:
    """Epsilon, error and energy of the system as the file describes it."""
    import numpy as np

    from airtight.analytics.inference import accuracy, combiner, distortion
    from airtight.analytics.privacy.over_the_air import system_privacy

    system, task = description.inference, description.task
    if system is None:
        return {}
    epsilon = float(np.max(system_privacy.epsilon(system)))
    if task is None:
        return {"epsilon": epsilon, **({"error": distortion.worst_case(system).total} if system.channel is None else {})}
    if system.channel is not None:
        error = float(np.mean(combiner.at_states(system, task.samples, system.channel.draw(system)).mse))
        return {"epsilon": epsilon, "error": error}
    radius: dict[str, Any] = {"margin": task.margin, "ideal_accuracy": task.ideal_accuracy}
    return {
        "epsilon": epsilon,
        "error": float(np.mean([distortion.exact(system, one) for one in task.samples])),
        "accuracy": float(np.mean([accuracy.exact(system, one, **radius).estimate for one in task.samples])),
    }
