"""Plots of CorBin-FL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.federated.corbin import central_bound, central_privacy, mean_estimation
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.few_bits import baselines
from airtight.validate.experiments.figures.style import STYLE, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"LDPQ": "#999999", "CorBinQ": "#2166ac", "published": "black", "Laplace": "#d6604d", "Gaussian": "#1b7837"}


def mse_against_epsilon(system: FederatedSystem) -> Figure:
    """Worst-case MSE of every mechanism against epsilon of one parameter."""
    import matplotlib as mpl

    epsilon = np.geomspace(0.1, 10, 120)
    n, r = system.clients, system.radius
    curves = {
        "LDPQ": (mean_estimation.worst_ldp(n, epsilon=epsilon, radius=r), "LDP-FL, exact"),
        "published": (mean_estimation.published(n, epsilon=epsilon, radius=r), "CorBin-FL, published (Theorem 2)"),
        "CorBinQ": (mean_estimation.worst(n, epsilon=epsilon, radius=r), "CorBin-FL, exact"),
        "Laplace": (baselines.laplace_variance(epsilon=epsilon, radius=r) / n, "Laplace"),
        "Gaussian": (
            baselines.gaussian_variance(epsilon=epsilon, delta=system.delta, radius=r) / n,
            f"Gaussian, δ = {system.delta:g}",
        ),
    }
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, (curve, label) in curves.items():
            axes.plot(epsilon, curve, "--" if name == "published" else "-", color=_COLOURS[name], label=label)
        axes.axvline(system.epsilon, color="#bbbbbb", linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="epsilon of one parameter", ylabel="worst mean squared error")
        axes.legend(fontsize=8)
    return figure


def central_against_clients(system: FederatedSystem) -> Figure:
    """Central epsilon of one parameter against the number of clients: Eq. (5), and exact for paired and unpaired clients."""
    import matplotlib as mpl

    share = system.ldp_fraction or 0.2
    clients = np.unique(np.geomspace(10, 1e5, 9).astype(int))  # each takes a third of a second at most
    claim = [
        central_privacy.published(
            int(n), 1, local_epsilon=system.epsilon, delta=system.delta, fraction=share, radius=system.radius
        )
        for n in clients
    ]
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for client, colour, less in (("unpaired", "#2166ac", 1), ("paired", "#b2182b", 0)):
            epsilon = [
                central_privacy.update_epsilon(
                    max(round(share * n) - less, 0),
                    1,
                    epsilon=system.epsilon,
                    client=client,
                    delta=system.delta,
                    bits=system.shared_bits,
                )
                for n in clients
            ]
            axes.plot(clients, epsilon, ".-", color=colour, label=f"exact, {client} client")
            proven = [
                central_bound.proven(
                    max(round(share * n) - less, 0), 1, epsilon=system.epsilon, client=client, delta=system.delta
                )
                for n in clients
            ]
            axes.plot(clients, proven, ":", color=colour, label=f"proven closed form, {client} client")
        axes.plot(
            clients, [c.epsilon for c in claim], "k--", label=f"published (5), radius {system.radius:g}: false for (1)"
        )
        axes.axhline(system.epsilon, color="#bbbbbb", linewidth=0.8)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel=f"clients, {share:.0%} of them alone",
            ylabel=f"central epsilon of one parameter, δ = {system.delta:g}",
        )
        axes.legend(fontsize=8)
    return figure
