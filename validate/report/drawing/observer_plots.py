"""Plot of the amplification by random participation against each observer, over the dimension of the code."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.validate.experiments.figures.style import STYLE, figure_of, label_ends

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    seen = float(observers.exact_epsilon(made, observer="participants", device=device))
    hidden = np.array([float(observers.exact_epsilon(one, observer="others", device=device)) for one in each])
    lower = np.array([float(observers.signal_bracket(one, device=device)[0]) for one in each])
    present = made.participation.copy()
    present[device] = 1.0
    plain = float(observers.exact_epsilon(replace(made, participation=present), device=device))
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
