"""Plots of a system over a channel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.results.antenna_table import ANTENNAS, STATES
from airtight.validate.experiments.figures.style import STYLE, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"silent": "#2166ac", "replace": "#1b7837", "absent": "#b2182b", "absent, idle noise": "#b2182b"}


def _neighbours(system: InferenceSystem, channel: Channel) -> dict[str, InferenceSystem]:
    """The system under every adjacency, and with idle noise where devices may send it."""
    systems = {each.value: system.replace(adjacency=each, idle_noise=False) for each in Adjacency}
    if not channel.decides_participation:
        systems["absent, idle noise"] = system.replace(adjacency=Adjacency.ABSENT, idle_noise=True)
    return systems


def epsilon_against_antennas(system: InferenceSystem, channel: Channel) -> Figure:
    """Epsilon of one round of the worst device against the number of antennas, for each adjacency, with few states."""
    import matplotlib as mpl

    few = replace(channel, states=min(channel.states, STATES))
    counts = sorted({*ANTENNAS, channel.antennas})
    device = int(np.argmax(np.atleast_1d(system_privacy.epsilon(system.derived(channel=few), rounds=1, observer="auto"))))
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, described in _neighbours(system, channel).items():
            each = [described.derived(channel=replace(few, antennas=M)) for M in counts]
            values = [float(system_privacy.epsilon(one, rounds=1, observer="auto", device=device)) for one in each]
            line = "--" if "idle" in name else "-"
            shown = [value if np.isfinite(value) and value > 0 else np.nan for value in values]
            axes.plot(counts, shown, "o" + line, color=_COLOURS[name], markersize=4, label=name)
        axes.set(xlabel="antennas", ylabel="epsilon of one round", xscale="log", yscale="log", xticks=counts)
        axes.set_xticklabels([str(M) for M in counts])
        axes.minorticks_off()
        axes.legend(fontsize=8)
    return figure


def epsilon_over_states(system: InferenceSystem, channel: Channel) -> Figure:
    """The share of states in which epsilon of a device, given the state, is at most so much; beside the guarantee."""
    import matplotlib as mpl

    given = channel_privacy.epsilon_by_state(system.one_round, channel)
    guarantee = np.atleast_1d(system_privacy.epsilon(system, rounds=1, observer="auto"))
    device = int(np.argmax(guarantee))
    values = np.sort(given[:, device])
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        axes.step(
            values,
            np.arange(1, values.size + 1) / values.size,
            where="post",
            color=_COLOURS["silent"],
            label="given the state",
        )
        if np.isfinite(guarantee[device]):
            axes.axvline(guarantee[device], color=_COLOURS["absent"], linestyle="--", label="guarantee (mean of delta)")
        axes.set(xlabel=f"epsilon of device {device}", ylabel="share of the states", ylim=(0, 1.02))
        axes.legend(fontsize=8)
    return figure
