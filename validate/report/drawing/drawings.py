"""The figures of a report: drawn, as SVG that a page can hold many of, and their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.over_the_air import amplification
from airtight.validate.experiments.figures import style
from airtight.validate.report.drawing import energy_plots, federated_plots, inference_plots, observer_plots
from airtight.validate.results.bounds import Bounds
from airtight.validate.system_file.description import Description

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EFFORT = 50_000  # evaluations for a design of a frontier
_TITLES = {
    "privacy-curves": "delta against epsilon: claimed, proven, exact",
    "epsilon-against-dimension": "Exact epsilon against the encoded dimension",
    "epsilon-for-observers": "Exact epsilon against the encoded dimension for three observers",
    "epsilon-against-participation": "Exact epsilon against the participation probability",
    "mse-breakdown": "Mean squared error by cause",
    "frontier": "What can be had: designs over what is kept",
    "trade-off": "Exact MSE against the cap on epsilon",
    "participation": "Participation probabilities of Schemes 2.1 and 2.2",
    "mse-against-epsilon": "Worst mean squared error against epsilon",
    "central-against-clients": "Central epsilon against the number of clients",
    "energy-against-path-loss": "Energy of a round against path loss",
    "policy-against-path-loss": "Iterations and rate against path loss",
    "utility-is-not-concave": "The utility of device 0 and its chord",
    "where-theorem-2-fails": "Utility lost by Theorem 2",
    "accuracy-over-rounds": "Test accuracy over the rounds",
}


@dataclass(frozen=True)
class Drawn:
    """A figure as text, and its data as CSV."""

    name: str
    svg: Markup
    data: str


def render(name: str, figure: Figure) -> Drawn:
    """As SVG with a title and identifiers of its own."""
    return Drawn(name, Markup(style.svg(figure, name, _TITLES[name])), style.data(figure))


def of_inference(description: Description, bounds: Bounds) -> Iterator[Drawn]:
    """Curves of the system, or of its first variant, where that is the one with a useful epsilon."""
    if description.inference is None or bounds.inference is None:
        return
    useful = description.systems[plotted(description)]
    yield render("privacy-curves", inference_plots.privacy_curves(useful))
    yield render("epsilon-against-dimension", inference_plots.epsilon_against_dimension(useful))
    yield render("epsilon-against-participation", inference_plots.amplification_of_epsilon(useful))
    if description.task is not None:
        yield render("mse-breakdown", inference_plots.mse_breakdown(bounds.inference.named(description.name)))
    if bounds.inference.selection is not None:
        yield render("participation", inference_plots.participation_bounds(bounds.inference.selection))


def plotted(description: Description) -> str:
    """Name of the system that the curves are of: the first variant, or the system itself."""
    return next(iter(description.variants), description.name)


def of_observers(description: Description) -> Iterator[Drawn]:
    """By what the server sees, where some epsilon is finite when the noise stays."""
    useful = description.systems[plotted(description)]
    silent = replace(useful, adjacency=Adjacency.SILENT, idle_noise=False)
    if np.isfinite(amplification.exact_epsilon(silent, device=0)):
        yield render("epsilon-for-observers", observer_plots.epsilon_for_observers(useful))


def of_design(description: Description) -> Iterator[Drawn]:
    """What each design reaches at each cap."""
    if description.task is not None:
        yield render(
            "trade-off", inference_plots.trade_off(description.systems[plotted(description)], description.task.features)
        )


def of_frontier(description: Description) -> Iterator[Drawn]:
    """Designs over what the table [design] keeps."""
    from airtight.validate.sweep import frontier_designs

    over = frontier_designs.usual(description)
    if over:
        found = frontier_designs.traced(description, over, effort=_EFFORT)
        yield render("frontier", frontier_designs.plot(description.name, found))


def of_others(description: Description) -> Iterator[Drawn]:
    """Of the federation and of the fleet."""
    if description.federated is not None:
        yield render("mse-against-epsilon", federated_plots.mse_against_epsilon(description.federated))
        yield render("central-against-clients", federated_plots.central_against_clients(description.federated))
    if description.energy is not None and np.all(description.energy.feasible):
        for draw in (
            energy_plots.energy_against_path_loss,
            energy_plots.policy_against_path_loss,
            energy_plots.utility_is_not_concave,
            energy_plots.where_theorem_2_fails,
        ):
            yield render(draw.__name__.replace("_", "-"), draw(description.energy))
