"""Plots of energy and utility."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers import energy as energy_utility
from airtight.solvers.energy import schemes as energy_schemes
from airtight.solvers.energy.energy_problem import Problem
from airtight.validate.experiments.figures.style import STYLE, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _GREY = "#2166ac", "#b2182b", "#1b7837", "#999999"


def _path_loss(fleet: DeviceFleet) -> FloatArray:
    """Path loss 1/g, scaled to 0 at the best device and to 1 at the worst, as in Figs. 2 to 4."""
    loss = -np.log(fleet.gain)
    span = float(np.ptp(loss))
    return np.asarray((loss - loss.min()) / (span if span > 0 else 1.0))


def energy_against_path_loss(fleet: DeviceFleet) -> Figure:
    """Analogue of Figs. 2 and 3: energies of the optimum and of the benchmark."""
    import matplotlib as mpl

    loss = _path_loss(fleet)
    order = np.argsort(loss)
    best = energy_utility.solve(fleet)
    curves = (
        (energy_schemes.benchmark_energy(fleet), "benchmark as described", _RED, "s-"),
        (best.energy, "proposed, optimum", _BLUE, "o-"),
        (fleet.transmit_energy(best.power), "its transmission", _BLUE, ":"),
        (fleet.compute_energy(best.iterations), "its computation", _GREEN, ":"),
    )
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for energy, label, colour, line in curves:
            axes.plot(loss[order], 1e3 * energy[order], line, color=colour, markersize=4, label=label)
        axes.axhline(500 * float(np.mean(fleet.utility_energy)), color=_GREY, linewidth=0.8)
        axes.set(xlabel="path loss, normalised (log scale)", ylabel="energy of a round (mJ)", ylim=(0, None))
        axes.legend(fontsize=8)
    return figure


def policy_against_path_loss(fleet: DeviceFleet) -> Figure:
    """Analogue of Fig. 4: iterations and rate against path loss."""
    import matplotlib as mpl

    loss = _path_loss(fleet)
    order = np.argsort(loss)
    best = energy_utility.solve(fleet)
    with mpl.rc_context(STYLE):
        figure = figure_of(7.6, 3.4)
        panels = (
            (best.iterations, fleet.max_iterations, "iterations"),
            (best.rate / 1e6, fleet.rate(fleet.max_power) / 1e6, "rate (Mbit/s)"),
        )
        for place, (ours, other, label) in enumerate(panels):
            axes = figure.add_subplot(1, 2, place + 1)
            axes.plot(loss[order], other[order], "s-", color=_RED, markersize=3, label="benchmark as described")
            axes.plot(loss[order], ours[order], "o-", color=_BLUE, markersize=3, label="proposed, optimum")
            axes.set(xlabel="path loss, normalised (log scale)", ylabel=label)
            axes.legend(fontsize=8)
    return figure


def utility_is_not_concave(fleet: DeviceFleet, device: int = 0) -> Figure:
    """Utility U against Z at the least iterations: it rises with wasted energy until E = varrho/2."""
    import matplotlib as mpl

    p = Problem.of(fleet)[[device]]
    low, high = float((p.a / (p.T - p.x_min))[0]), float(p.Z_max[0])
    Z = np.linspace(low, high, 400)
    rows = p[np.zeros(Z.size, dtype=int)]
    x = rows.x_min
    utility, energy = rows.utility(x, Z), rows.energy(x, Z)
    chord = np.interp(Z, Z[[0, -1]], utility[[0, -1]])
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        axes.plot(Z, utility, color=_BLUE, label="U at the least iterations")
        below = energy < rows.half
        axes.plot(Z[below], utility[below], color=_RED, linewidth=3, alpha=0.5, label="E < ϱ/2")
        axes.plot(Z, chord, "--", color=_GREY, label="chord: a concave U stays above")
        axes.set(xlabel="Z = log(1 + SNR/gap)", ylabel="utility")
        axes.legend(fontsize=8)
    return figure


def where_theorem_2_fails(fleet: DeviceFleet, device: int = 0) -> Figure:
    """Loss of Theorem 2 against the certified optimum, over deadline and energy target of one device."""
    import matplotlib as mpl
    from matplotlib.colors import LogNorm

    deadlines = float(fleet.deadline[device]) * np.geomspace(0.5, 8, 45)
    targets = float(fleet.utility_energy[device]) * np.geomspace(0.05, 4, 41)
    T, target = np.meshgrid(deadlines, targets)
    copies = fleet.only(np.full(T.size, device))
    many = replace(copies, deadline=T.ravel(), utility_energy=target.ravel())
    keep = np.flatnonzero(many.feasible)
    gap = np.full(T.size, np.nan)
    short = energy_utility.solve(many.only(keep), method="published").gap
    gap[keep] = np.where(np.isinf(short), np.nan, np.maximum(short, 1e-9))
    unsolved = np.zeros(T.size)
    unsolved[keep] = np.isinf(short)
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        image = axes.pcolormesh(
            deadlines,
            targets,
            gap.reshape(T.shape),
            norm=LogNorm(1e-7, 1.0),
            cmap="Reds",
            shading="nearest",
            rasterized=True,
        )
        figure.colorbar(image, label="utility lost by Theorem 2")
        if unsolved.any():
            axes.contourf(
                deadlines,
                targets,
                unsolved.reshape(T.shape),
                levels=[0.5, 1.5],
                colors=["none"],
                hatches=["///"],
            )
        axes.plot(fleet.deadline[device], fleet.utility_energy[device], "k*", markersize=10)
        axes.set(xscale="log", yscale="log", xlabel="deadline T (s)", ylabel="ϱ (J)")
    return figure
