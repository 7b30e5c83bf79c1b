"""The figures of a report as SVG, of which one page can hold many, and their data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.link_budget import link_budget
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.report.drawing import channel_plots, energy_plots, federated_plots, inference_plots
from airtight.results.bounds import Bounds
from airtight.results.inference_results import EpsilonOverRounds
from airtight.solvers import energy as energy_utility
from airtight.system_file.contents import SystemFile
from airtight.validate.experiments.figures import style
from airtight.validate.experiments.figures.style import STYLE, figure_of
from airtight.validate.experiments.seeds import student
from airtight.validate.experiments.training.federated_training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from airtight.analytics.privacy.over_the_air.meter import Meter

_LINES = 12  # devices with a line of their own
_EFFORT = 50_000  # evaluations for each design of a frontier
_TITLES = {
    "epsilon-by-device": "Epsilon of each device",
    "epsilon-over-rounds": "Epsilon over the rounds, for each observer",
    "attacks": "Which attacks are possible",
    "fleet-map": "Margin against distance of the devices",
    "energy-by-device": "Energy of each device in a round",
    "privacy-curves": "delta against epsilon: claimed, proven, exact",
    "epsilon-against-dimension": "Exact epsilon against the encoded dimension",
    "epsilon-for-observers": "Exact epsilon against the encoded dimension for three observers",
    "epsilon-against-participation": "Exact epsilon against the participation probability",
    "epsilon-against-antennas": "Epsilon of one round against the number of antennas",
    "epsilon-over-states": "Epsilon given the state of the channel",
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
    "budget-over-rounds": "Share of the budget that is spent, over the rounds",
}


@dataclass(frozen=True)
class Drawn:
    """A figure as SVG text, and its data as CSV."""

    name: str
    svg: Markup
    data: str


def render(name: str, figure: Figure) -> Drawn:
    """Render a figure as SVG with its own title and its own identifiers."""
    return Drawn(name, Markup(style.svg(figure, name, _TITLES[name])), style.data(figure))


def of_inference(description: SystemFile, bounds: Bounds) -> Iterator[Drawn]:
    """Figures of the system that :func:`plotted` names."""
    if description.inference is None or bounds.inference is None:
        return
    name, results = plotted(description), bounds.inference.named(description.name)
    system = description.systems[name]
    useful = system.one_round  # the further figures are about one round
    yield render("epsilon-by-device", style.drawn(results[name].plot))
    yield render("epsilon-over-rounds", style.drawn(EpsilonOverRounds.of(system, _rounds(system)).plot))
    worst = int(np.argmax(results[name].privacy.asked))
    yield render("attacks", style.drawn(system_privacy.curve(system, device=worst).plot_attacks, width=4.4))
    yield render("privacy-curves", inference_plots.privacy_curves(useful))
    yield render("epsilon-against-dimension", inference_plots.epsilon_against_dimension(useful))
    yield render("epsilon-against-participation", inference_plots.amplification_of_epsilon(useful))
    if description.task is not None:
        yield render("mse-breakdown", inference_plots.mse_breakdown(results))
    if bounds.inference.selection is not None:
        yield render("participation", inference_plots.participation_bounds(bounds.inference.selection))


def of_channel(description: SystemFile) -> Iterator[Drawn]:
    """Figures of the system over its channel."""
    system = description.inference
    if system is None or system.channel is None:
        return
    if system.channel.looks is None:
        yield render("fleet-map", style.drawn(link_budget(system).plot))
        yield render("epsilon-against-antennas", channel_plots.epsilon_against_antennas(system, system.channel))
    yield render("epsilon-over-states", channel_plots.epsilon_over_states(system, system.channel))


def _rounds(system: InferenceSystem) -> list[int]:
    """The numbers of rounds that a figure shows, with that of the system."""
    return sorted({1, 10, 100, system.rounds})


def plotted(description: SystemFile) -> str:
    """Name of the plotted system: the first variant where its epsilon is the useful one, else the system itself."""
    return next(iter(description.variants), description.name)


def of_observers(description: SystemFile) -> Iterator[Drawn]:
    """Figures over observers, where some epsilon is finite for a neighbour that keeps its noise."""
    useful = description.systems[plotted(description)].one_round  # figures are about one round
    silent = replace(useful, adjacency=Adjacency.SILENT, idle_noise=False)
    if np.isfinite(system_privacy.epsilon(silent, device=0)):
        yield render("epsilon-for-observers", inference_plots.epsilon_for_observers(useful))


def of_design(description: SystemFile) -> Iterator[Drawn]:
    """Figures of what each weight design reaches at each cap on epsilon."""
    if description.task is not None:
        yield render(
            "trade-off", inference_plots.trade_off(description.systems[plotted(description)].one_round, description.task.features)
        )


def of_frontier(description: SystemFile) -> Iterator[Drawn]:
    """Figures of designs over the constraints of the table [design]."""
    from airtight.sweeps import frontier_designs

    over = frontier_designs.usual(description)
    if over:
        result = frontier_designs.traced(description, over, effort=_EFFORT)
        yield render("frontier", style.drawn(result.plot))


def of_others(description: SystemFile) -> Iterator[Drawn]:
    """Figures of the federation and of the fleet."""
    if description.federated is not None:
        yield render("mse-against-epsilon", federated_plots.mse_against_epsilon(description.federated))
        yield render("central-against-clients", federated_plots.central_against_clients(description.federated))
    if description.energy is not None and np.all(description.energy.feasible):
        yield render("energy-by-device", style.drawn(energy_utility.solve(description.energy).plot))
        for draw in (
            energy_plots.energy_against_path_loss,
            energy_plots.policy_against_path_loss,
            energy_plots.utility_is_not_concave,
            energy_plots.where_theorem_2_fails,
        ):
            yield render(draw.__name__.replace("_", "-"), draw(description.energy))


def of_meter(meter: Meter) -> Iterator[Drawn]:
    """What has been spent of the budgets, round by round."""
    yield render("budget-over-rounds", budget_over_rounds(meter))


def budget_over_rounds(meter: Meter) -> Figure:
    """Share of each device's budget that is spent after each round; of many devices quantiles."""
    import matplotlib as mpl

    shares = meter.history()
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    many = meter.devices > _LINES
    lines = np.quantile(shares, levels, axis=1) if many else shares.T
    names = ["least", "a quarter", "half", "three quarters", "most"] if many else list(map(str, range(meter.devices)))
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for line, name in zip(lines, names, strict=True):
            axes.step(np.arange(line.size), line, where="post", linewidth=1.2, label=name)
        axes.axhline(1.0, color="#b2182b", linewidth=0.8, linestyle="--")
        axes.set(xlabel="rounds", ylabel="spent share of the budget", ylim=(0, 1.05))
        axes.legend(fontsize=8, title="of the devices, up to" if many else "device")
    return figure


def accuracy_over_rounds(runs: Sequence[Run]) -> Figure:
    """Test accuracy of the global model for each mechanism: the mean over seeds with its interval."""
    import matplotlib as mpl
    from matplotlib.ticker import MaxNLocator

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for kind in dict.fromkeys(one.mechanism for one in runs):
            curves = np.array([[done.test for done in one.history] for one in runs if one.mechanism is kind])
            rounds = np.arange(1, curves.shape[1] + 1)
            (line,) = axes.plot(rounds, curves.mean(axis=0), label=kind.value)
            if len(curves) > 1:
                low, high = np.array([student(column) for column in curves.T.tolist()]).T
                axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axes.set(xlabel="round", ylabel="test accuracy", ylim=(0, 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(fontsize=8)
    return figure
