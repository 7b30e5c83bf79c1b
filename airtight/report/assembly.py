"""Computes a report part by part, the results of the system first, and writes the page again after each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airtight.analytics.checks import ParameterError
from airtight.report import page
from airtight.report.drawing import drawings
from airtight.report.page import EnergyPart, Parts
from airtight.results.antenna_table import AntennaTable
from airtight.results.bounds import Bounds
from airtight.results.weights import Designs
from airtight.system_file.contents import SystemFile

if TYPE_CHECKING:
    from airtight.analytics.privacy.over_the_air.meter import Meter
    from airtight.validate.claims.evidence import Shipped
    from airtight.validate.experiments.figures.gallery import Rendered

Part = tuple[str, Callable[[], None]]


def report(
    out: Path,
    description: SystemFile,
    *,
    audit: Callable[[], tuple[Shipped, str]],
    source: str = "",
    gallery: Callable[[], Sequence[Rendered]] | None = None,
    thorough: bool = False,
    meter: Meter | None = None,
    heard: Callable[[str], None] = lambda done: None,
) -> Bounds:
    """Write the report on the described systems into `out`, and return their bounds.

    Parameters
    ----------
    audit : callable
        Returns the evidence of the claims, and a sentence that says how it was obtained.
    source : str
        The text of the system file.
    gallery : callable, optional
        Returns the redrawn figures of the papers.
    thorough : bool
        Whether all rounds and seeds of the description are trained, instead of a few.
    meter : Meter, optional
        What has been spent in rounds that were run.
    heard : callable
        Called with the name of each finished part.
    """
    if description.federated is not None:
        description.federated.demand_no_colluders("a report")
    for system in description.systems.values():
        if system.colluding:
            allowed = "0 for a report: its figures count no colluders (`airtight bounds` does)"
            raise ParameterError("colluding", system.colluding, allowed)
    parts = Parts(description, Bounds.of(description), source, meter=meter)
    heard("bounds")
    later = _later(parts, audit, gallery, thorough)
    _own(parts)
    for done, (name, compute) in enumerate([(f"the system's own page: {out / 'index.html'}", None), *later]):
        if compute is not None:
            compute()
        parts.pending = [left for left, _ in later[done:]]
        page.write(out, parts)
        heard(name)
    return parts.bounds


def _own(parts: Parts) -> None:
    if not parts.description.over_channel:
        parts.draw(drawings.of_inference(parts.description, parts.bounds))
    else:
        parts.draw(drawings.of_channel(parts.description))
    if parts.description.energy is not None:
        parts.energy = EnergyPart.of(parts.description.energy)
    if parts.meter is not None:
        parts.draw(drawings.of_meter(parts.meter))


def _later(
    parts: Parts,
    audit: Callable[[], tuple[Shipped, str]],
    gallery: Callable[[], Sequence[Rendered]] | None,
    thorough: bool,
) -> list[Part]:
    """The parts that follow the results of the system, in the order in which they are computed."""
    description = parts.description
    one_look = not description.over_channel  # what these parts compute knows no channel

    def tried() -> None:
        parts.audit, parts.audited = audit()

    def design() -> None:
        task = description.task
        if task is not None:
            parts.designs = {name: Designs.of(s, task) for name, s in description.systems.items() if task.fits(s)}
        parts.draw(drawings.of_design(description))

    def antennas() -> None:
        parts.antennas = AntennaTable.of(description)

    def redrawn() -> None:
        parts.gallery = gallery() if gallery is not None else ()

    chosen: list[tuple[str, Callable[[], None], bool]] = [
        ("audit", tried, True),
        ("antennas", antennas, description.over_channel),
        ("design", design, description.task is not None and one_look),
        (
            "frontier",
            lambda: parts.draw(drawings.of_frontier(description)),
            description.design is not None and one_look,
        ),
        (
            "observers",
            lambda: parts.draw(drawings.of_observers(description)),
            description.inference is not None and one_look,
        ),
        (
            "federation and fleet",
            lambda: parts.draw(drawings.of_others(description)),
            description.federated is not None or description.energy is not None,
        ),
        ("learning", lambda: _learn(parts, thorough), description.training is not None),
        ("gallery", redrawn, gallery is not None),
    ]
    return [(name, run) for name, run, wanted in chosen if wanted]


def _learn(parts: Parts, thorough: bool) -> None:
    from airtight.report.drawing import drawings
    from airtight.results import training_run
    from airtight.running import pool_of

    description = parts.description
    if description.training is None:
        return
    chosen = description.training if thorough else description.training.shortened()
    with pool_of(int(chosen.seeds)) as (executor, _):
        trained = training_run.train(description, training_run.servable(description), chosen, executor=executor)
    parts.training = {**trained.tree}
    if chosen != description.training:
        parts.trained = (
            f"Trained for {chosen.settings.rounds} of {description.training.settings.rounds} rounds with {chosen.seeds} of "
            f"{description.training.seeds} seeds, a fleet for {chosen.fleet_rounds} of "
            f"{description.training.fleet_rounds}; airtight report --thorough takes all"
        )
    if trained.runs:
        figure = drawings.accuracy_over_rounds(trained.runs)
        parts.draw([drawings.render("accuracy-over-rounds", figure)])
