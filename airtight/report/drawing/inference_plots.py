"""Plots of collaborative inference, among them the amplification by participation against each observer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.plots import label_ends
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.over_the_air import amplification, observers, system_privacy
from airtight.results.inference_results import InferenceBounds, Selection, plot_errors
from airtight.validate.experiments.figures.style import STYLE, drawn, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EXACT = {"absent": "#b2182b", "silent": "#2166ac", "replace": "#762a83", "idle noise": "#1b7837"}


def schemes(system: InferenceSystem) -> dict[str, InferenceSystem]:
    """One round of the system under every adjacency, and with idle noise, by name."""
    system = system.one_round
    plain = {a.value: replace(system, adjacency=a, idle_noise=False) for a in Adjacency}
    return {**plain, "idle noise": replace(system, adjacency=Adjacency.SILENT, idle_noise=True)}


def privacy_curves(system: InferenceSystem, device: int = 0) -> Figure:
    """delta against epsilon of one device: claimed by Theorem 1 (Eq. 23), proven, exact."""
    import matplotlib as mpl

    targets = np.logspace(-12, -1, 23)
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        farthest = 0.0
        for name, described in schemes(system).items():
            exact = [float(system_privacy.epsilon(described, delta=t, device=device)) for t in targets]
            axes.plot(exact, targets, color=_EXACT[name], label=f"exact, {name}")
            usual = float(np.interp(1e-5, targets, exact))
            farthest = max(farthest, usual) if np.isfinite(usual) else farthest
        silent = schemes(system)["silent"]
        proven = [float(amplification.proven(silent, delta=t).epsilon[device]) for t in targets]
        axes.plot(proven, targets, color=_EXACT["silent"], linestyle=":", label="proven, silent")
        claimed = [amplification.published(replace(system, delta=t, delta_prime=t), form="eq23") for t in targets]
        axes.plot(
            [c.epsilon[device] for c in claimed],
            [c.delta[device] for c in claimed],
            color="black",
            linestyle="--",
            label="claimed, Theorem 1 with Eq. (23)",
        )
        axes.set(
            yscale="log",
            ylim=(1e-12, 1),
            xlim=(0, 1.25 * farthest if farthest > 0 else 1.0),
            xlabel="epsilon",
            ylabel="delta",
        )
        axes.legend(fontsize=8)
    return figure


def epsilon_against_dimension(system: InferenceSystem, device: int = 0) -> Figure:
    """Exact epsilon against the dimension r: it grows under ``absent`` only; Theorem 1 does not contain r."""
    import matplotlib as mpl

    dimensions = np.unique(np.round(np.logspace(0, np.log10(25088), 24)).astype(int))
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, described in schemes(system).items():
            if name == "absent":
                epsilon = [
                    float(system_privacy.epsilon(replace(described, dimension=int(r)), device=device))
                    for r in dimensions
                ]
            else:
                epsilon = [float(system_privacy.epsilon(described, device=device))] * dimensions.size
            axes.plot(dimensions, epsilon, color=_EXACT[name], label=f"exact, {name}")
        claim = amplification.published(system, form="eq23")
        if not claim.vacuous:
            axes.axhline(
                float(claim.epsilon[device]), color="black", linestyle="--", label="claimed, Theorem 1 with Eq. (23)"
            )
        drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()])
        positive = bool(np.any(np.isfinite(drawn) & (drawn > 0)))
        axes.set(
            xscale="log",
            yscale="log" if positive else "linear",
            xlabel="encoded dimension r",
            ylabel=f"epsilon at delta = {system.delta:g}",
        )
        axes.legend(fontsize=8)
    return figure


def amplification_of_epsilon(system: InferenceSystem, device: int = 0) -> Figure:
    """Exact epsilon against the participation probability."""
    import matplotlib as mpl

    levels = np.linspace(0.02, 1.0, 25)
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, described in schemes(system).items():
            if name == "absent":
                continue
            epsilon = []
            for p in levels:
                participation = described.participation.copy()
                participation[device] = p
                epsilon.append(
                    float(system_privacy.epsilon(replace(described, participation=participation), device=device))
                )
            axes.plot(levels, epsilon, color=_EXACT[name], label=f"exact, {name}")
            sure = epsilon[-1]
            if name == "idle noise" and np.isfinite(sure):
                axes.plot(
                    levels,
                    subsampling.amplified(np.full(levels.size, sure), levels),
                    color="black",
                    linestyle=":",
                    label="log(1 + p (exp(epsilon at p = 1) - 1))",
                )
        axes.set(
            xlabel=f"participation probability of device {device}",
            ylabel=f"epsilon at delta = {system.delta:g}",
            ylim=(0, None),
        )
        axes.legend(fontsize=8)
    return figure


_DESIGNS = {
    "uniform": "#999999",
    "clip-tuned": "#80b1d3",
    "published weights": "#d6604d",
    "exact weights": "#2166ac",
    "exact, free sum": "#1b7837",
}


def trade_off(system: InferenceSystem, features: Features) -> Figure:
    """Exact MSE of each design against the cap on the exact epsilon; dashed where absent devices send noise."""
    import matplotlib as mpl

    from airtight.solvers.design.over_the_air import frontier

    data = frontier.trade_off(system, features, np.logspace(-1, 1, 7))
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, colour in _DESIGNS.items():
            for noise, line in (("participants", "-"), ("everybody", "--")):
                curve = data.mse.sel(design=name, noise=noise)
                label = name if noise == "participants" else None
                axes.plot(data.epsilon, curve, line, color=colour, label=label, marker=".", markersize=4)
        axes.set(xscale="log", yscale="log", xlabel=f"cap on epsilon at delta = {system.delta:g}", ylabel="exact MSE")
        axes.legend(fontsize=8)
    return figure


def mse_breakdown(parts: Mapping[str, InferenceBounds]) -> Figure:
    """The exact MSE of each system, split by cause, as one bar, with the proven bound and the constant answer as marks."""
    shown = {name: part.distortion for name, part in parts.items() if part.distortion is not None}
    return drawn(partial(plot_errors, shown), height=1.2 + 0.5 * len(shown))


def participation_bounds(selection: Selection) -> Figure:
    """Participation probability of each device under Scheme 2.2 with published and proven bounds, and under Scheme 2.1."""
    import matplotlib as mpl

    lowest, local = selection.scheme_2_2, selection.scheme_2_1.participation
    device = np.arange(len(local))
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        axes.fill_between(
            device, lowest.proven_lower, lowest.proven_upper, color="#d1e5f0", label="Scheme 2.2, proven bounds"
        )
        axes.plot(device, lowest.exact, "o-", color="#2166ac", markersize=4, label="Scheme 2.2, exact")
        axes.plot(device, lowest.published_upper, "k--", label="claimed upper bound, Eq. (21)")
        axes.axhline(lowest.published_lower, color="black", linestyle=":", label="claimed lower bound, Eq. (20)")
        axes.plot(device, local, "s-", color="#1b7837", markersize=3, label="Scheme 2.1")
        axes.set(xlabel="device", ylabel="participation probability", ylim=(-0.02, 1.05))
        axes.legend(fontsize=8)
    return figure


_DIMENSIONS = np.unique(np.round(np.logspace(0, np.log10(25088), 25)).astype(int))
_PAPER = ((784, "q = 16"), (25088, "q = 512"))
_APART = 1.002  # ratio of the ends of an interval from which they are drawn as two curves


def seldom_among_many() -> InferenceSystem:
    """One device with p = .1 among nineteen that always take part; its plain Gaussian mechanism has epsilon = .820.

    Examples
    --------
    >>> seldom_among_many().devices
    20
    """
    return InferenceSystem(
        devices=20,
        participation=[0.1] + 19 * [1.0],
        noise_variance=0.1,
        weight=0.31632347486426876,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.0,
        dimension=784,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=Adjacency.SILENT,
    )


def epsilon_for_observers(system: InferenceSystem, device: int = 0) -> Figure:
    """Exact epsilon under ``silent`` against the dimension r, for three observers.

    `others` lies between the promise of amplification and `participants`, `signal` between its lower bound and `others`.
    """
    import matplotlib as mpl

    made = replace(system, adjacency=Adjacency.SILENT, idle_noise=False)
    each = [replace(made, dimension=int(r)) for r in _DIMENSIONS]
    seen = float(system_privacy.epsilon(made, observer="participants", device=device))
    hidden = np.array([float(system_privacy.epsilon(one, observer="others", device=device)) for one in each])
    lower = np.array([float(observers.signal_bracket(one, device=device)[0]) for one in each])
    present = made.participation.copy()
    present[device] = 1.0
    plain = float(system_privacy.epsilon(replace(made, participation=present), device=device))
    p = float(made.participation[device])
    with mpl.rc_context(STYLE):
        figure = figure_of(7.2, 4.0)
        axes = figure.add_subplot()
        promised = float(np.log1p(p * np.expm1(plain)))
        flat = ((plain, "always there", "#4d4d4d", ":"), (seen, "participants: sees who takes part", "#2166ac", "-"))
        for value, _, colour, form in (*flat, (promised, "", "#1b7837", "--")):
            axes.plot(_DIMENSIONS, np.full(_DIMENSIONS.size, value), form, color=colour)
        axes.plot(_DIMENSIONS, hidden, color="#b2182b")
        known = lower > 0
        if np.any(hidden[known] > _APART * lower[known]):
            axes.fill_between(_DIMENSIONS[known], lower[known], hidden[known], color="#b2182b", alpha=0.15, linewidth=0)
            server = "others: knows all but device k;\nshaded: signal, sees y alone"
        else:
            server = "others = signal: sees y alone"
        axes.set(xscale="log", xlim=(1, 25088), ylim=(0, 1.08 * max(plain, seen)))
        axes.set(xlabel="encoded dimension r", ylabel=f"exact epsilon at delta = {system.delta:g}")
        for r, name in _PAPER:
            axes.axvline(r, color="#999999", linewidth=0.8, linestyle=":")
            axes.annotate(name, (r, 0), (-3, 4), textcoords="offset points", fontsize=8, ha="right", color="#666666")
        ends = [(value, name, colour) for value, name, colour, _ in flat]
        ends.append((float(hidden[-1]), server, "#b2182b"))
        ends.append((promised, "log(1 + p (exp ε − 1)):\nwhat amplification promises", "#1b7837"))
        label_ends(axes, ends, gap=0.09)
    return figure
