"""The link budget of a system over a drawn channel: what each device's power reaches, and with what margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from airtight.analytics import checks, plots
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.records import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkBudget(Record):
    r"""Of every device, arrays of shape (K,); nan where the file does not say.

    Attributes
    ----------
    distance : ndarray
        In metres.
    path_loss : ndarray
        :math:`-10\log_{10}\Omega_k` dB, of the mean power gain.
    received : ndarray
        :math:`10\log_{10}(P_k\Omega_k)`: energy of a block sent at `max_power`, as it is received at the mean gain, in dB of one
        W times symbol period.
    margin : ndarray
        :math:`10\log_{10}(\Omega_k/g_k)` dB: the mean gain over the least one at which the device sends. Below 0 it
        is silent unless the fading lifts it.
    sends : ndarray
        Probability of sending.
    energy : ndarray
        Mean energy of a sent block of a code as long as the clip, in W times symbol periods; infinite where inverting the fading
        has no mean.
    """

    UNITS: ClassVar[Mapping[str, str]] = {
        "distance": "m",
        **dict.fromkeys(("path_loss", "margin"), "dB"),
        "received": "dB of 1 W symbol period",
        "energy": "W symbol periods",
    }

    distance: FloatArray
    path_loss: FloatArray
    received: FloatArray
    margin: FloatArray
    sends: FloatArray
    energy: FloatArray

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the map of the fleet: margin against distance (or path loss), filled as often as the device sends."""
        axes = plots.axes_of(ax)
        far = np.all(np.isfinite(self.distance))
        x, heading = (self.distance, "distance (m)") if far else (self.path_loss, "path loss (dB)")
        y, quantity = (self.margin, "margin (dB)") if np.any(np.isfinite(self.margin)) else (self.received, "received (dB)")
        axes.scatter(x, y, c=self.sends, cmap="Blues", vmin=0, vmax=1, edgecolors=plots.GREY, s=40)
        axes.axhline(0.0, color=plots.RED, linestyle="--", linewidth=1)
        shown = np.isfinite(x) & np.isfinite(y)
        for k in np.flatnonzero(shown)[: plots.NAMED]:
            axes.annotate(f"{k}: {self.sends[k]:.0%}", (x[k], y[k]), (4, 4), textcoords="offset points", fontsize="x-small")
        short = int(np.sum(y[shown] < 0))
        verdict = f"{short} of {x.size} devices lack power at their mean gain" if short else f"All {x.size} devices have a margin"
        return plots.finish(axes, title=f"{verdict}; labels: how often they send", x=heading, y=quantity)


def link_budget(system: InferenceSystem) -> LinkBudget:
    r"""The link budget of a system with a channel that is drawn.

    Raises
    ------
    ParameterError
        Without a channel, and where the looks themselves are given: they do not tell the gains.

    Notes
    -----
    A block has the mean energy :math:`\gamma^2e_k/|h_k|^2` with :math:`e_k = w_k^2C_k^2 + r\sigma_k^2`, and the device sends
    where :math:`|h_k|^2 \ge g_k` (:meth:`~airtight.analytics.inference.channel.Channel.threshold`). With ``power_limit="block"``
    :math:`g_k = \gamma^2e_k/P_k`, so that the margin is the received level less :math:`10\log_{10}(\gamma^2e_k)`.

    Examples
    --------
    >>> from airtight.analytics.inference.channel import Channel
    >>> system = InferenceSystem(devices=2, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5,
    ...     channel=Channel(distance=[1.0, 2.0], path_loss_exponent=2.0, fading="rayleigh", max_power=18.0))
    >>> found = link_budget(system)
    >>> found.path_loss.round(2), found.margin.round(2), found.sends.round(3)
    (array([0.  , 6.02]), array([10.  ,  3.98]), array([0.905, 0.67 ]))
    """
    channel, K = system.channel, system.devices
    if channel is None or channel.looks is not None:
        state = "absent" if channel is None else "given by its coefficients"
        raise ParameterError("channel", state, "a channel of distances or mean power gains: a link budget is of gains")
    gain, threshold, unknown = channel.gain_means(K), channel.threshold(system), np.full(K, np.nan)
    limited = channel.max_power is not None
    power = unknown if channel.max_power is None else checks.vector("max_power", channel.max_power, K, "(0, inf)")
    needed = system.alignment**2 * ((system.weight * system.clip) ** 2 + system.dimension * system.noise_variance)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inverse = channel.inverse_gain(system)
        return LinkBudget(
            distance=unknown
            if channel.distance is None
            else checks.vector("distance", channel.distance, K, "(0, inf)"),
            path_loss=0.0 - 10 * np.log10(gain),
            received=10 * (np.log10(power) + np.log10(gain)),
            # of logarithms, since the quotient of two doubles may overflow
            margin=10 * (np.log10(gain) - np.log10(threshold)) if limited else unknown,
            sends=system.participation,
            energy=np.where(needed > 0, needed * inverse, 0.0),
        )
