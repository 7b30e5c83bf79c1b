"""FDP Figs. 4, 6, 7, 11 and Table I from formulas alone, with evenly spaced scores: the paper prints no entropies."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from airtight.analytics.distributions import selection
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference import participation
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import feature_aware
from airtight.solvers import weights
from airtight.solvers.errors import InfeasibleError
from airtight.validate.experiments.figures.figure import Advance, Effort, Redrawn, Table
from airtight.validate.experiments.figures.style import STYLE, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DEVICES = 12


def figure_4(effort: Effort, advance: Advance) -> Redrawn:
    """Fig. 4: participation probability of every device in Scheme 2.1, for three thresholds."""
    score = np.linspace(0.0, 1.0, _DEVICES)
    thresholds = np.array([0.05, 0.25, 0.8])
    p = np.stack([participation.threshold(score, np.sqrt(0.1), eta) for eta in thresholds])
    data = xr.Dataset(
        {"participation": (("threshold", "device"), p)}, coords={"threshold": thresholds, "score": ("device", score)}
    )
    advance("FDP-4")
    caption = (
        "Exact formula of FDP Fig. 4 (Scheme 2.1), noise of standard deviation sqrt(0.1); with evenly "
        "spaced scores from 0 to 1, because the "
        "paper does not print its entropies."
    )
    return Redrawn("FDP-4", caption, data, _bars(data))


def _bars(data: xr.Dataset) -> Figure:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(7.6, 3.0)
        for panel, eta in enumerate(data.threshold.values):
            axes = figure.add_subplot(1, data.sizes["threshold"], panel + 1)
            axes.bar(np.arange(data.sizes["device"]) + 1, data.participation.sel(threshold=eta), color="#2166ac")
            axes.set(
                title=f"η = {eta:g}",
                ylim=(0, 1),
                xlabel="device",
                ylabel="participation probability" if panel == 0 else "",
            )
    return figure


def _bounds(score: np.ndarray, noise: np.ndarray, selected: int) -> dict[str, np.ndarray]:
    """Claimed bounds, proven bounds and exact value of the participation probability of every device in Scheme 2.2."""
    lower, upper = participation.proven_bounds(score, noise, selected)
    size = score.size
    return {
        "published_lower": np.full(size, participation.published_lower(score, noise)),
        "published_upper": np.asarray(participation.published_upper(score, noise, selected)),
        "proven_lower": np.asarray(lower),
        "proven_upper": np.asarray(upper),
        "exact": np.asarray(selection.probability(score, noise, selected)),
    }


_STYLES = {
    "published_lower": ("claimed ≥ (20)", "k:"),
    "published_upper": ("claimed ≤ (21)", "k--"),
    "proven_lower": ("proven ≥", "#92c5de"),
    "proven_upper": ("proven ≤", "#4393c3"),
    "exact": ("exact", "#b2182b"),
}


def _curves(data: xr.Dataset, x_name: str, label: str, extra: dict[str, str] | None = None) -> Figure:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(7.6, 4.0)
        axes = figure.add_subplot()
        for name, (text, style) in _STYLES.items():
            line_style, colour = (style[1:], "black") if style.startswith("k") else ("-", style)
            axes.plot(data[x_name], data[name], line_style, color=colour, label=text)
        for name, text in (extra or {}).items():
            axes.plot(data[x_name], data[name], "-.", label=text)
        axes.set(xlabel=label, ylabel="participation probability", ylim=(-0.02, 1.05))
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def figure_6(effort: Effort, advance: Advance) -> Redrawn:
    """Fig. 6: bounds of Scheme 2.2 for every device, noise 1/(u + 0.01), Psi = 0.005."""
    score = 0.005 * np.arange(1, _DEVICES + 1)
    bounds = _bounds(score, 1 / (score + 0.01), _DEVICES - 1)
    data = xr.Dataset(
        {name: ("device", values) for name, values in bounds.items()}, coords={"device": np.arange(1, _DEVICES + 1)}
    )
    advance("FDP-6")
    caption = (
        "Exact formulas of FDP Fig. 6 (Scheme 2.2, Psi = .005, noise 1/(u + .01)); our choice: 11 of 12 are selected, and "
        "scores are .005 apart. The exact probability shows that both bounds of Theorem 3 are wrong."
    )
    return Redrawn("FDP-6", caption, data, _curves(data, "device", "device"))


def figure_7(effort: Effort, advance: Advance) -> Redrawn:
    """Fig. 7: Schemes 2.2 and 2.1 against the noise, Psi = 0.1, K = 12, for the best device."""
    score = 0.1 * np.arange(_DEVICES)
    noise = np.geomspace(0.01, 10, 60)
    rows = [_bounds(score, np.full(_DEVICES, s), _DEVICES - 1) for s in noise]
    data = xr.Dataset(
        {name: ("noise", np.array([row[name][0] for row in rows])) for name in rows[0]}
        | {
            f"threshold_{eta}": (
                "noise",
                np.array([float(np.asarray(participation.threshold(score, s, eta))[0]) for s in noise]),
            )
            for eta in (0.5, 0.3)
        },
        coords={"noise": noise},
    )
    advance("FDP-7")
    caption = (
        "Exact: FDP Fig. 7, Psi = .1, K = 12, best device (our choice: scores .1 apart, 11 selected); claimed bounds, and "
        "the exact probability between proven bounds."
    )
    extra = {"threshold_0.5": "Scheme 2.1, η = .5", "threshold_0.3": "Scheme 2.1, η = .3"}
    figure = _curves(data, "noise", "standard deviation of the noise", extra)
    figure.axes[0].set_xscale("log")
    return Redrawn("FDP-7", caption, data, figure)


def figure_11(effort: Effort, advance: Advance) -> Redrawn:
    """Fig. 11: the weights of two devices that keep a cap on epsilon, and the line on which they sum to one."""
    epsilon = np.array([1.0, 2.0, 4.0])
    cap_kinds = ("eq23", "proven", "exact")
    greatest = np.full((len(cap_kinds), epsilon.size, 2), np.nan)
    system = InferenceSystem(
        devices=2,
        participation=0.9,
        noise_variance=1.0,
        weight=0.5,
        clip=[1.0, 1.5],
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=784,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=Adjacency.SILENT,
    )
    for i, cap_kind in enumerate(cap_kinds):
        for j, cap in enumerate(epsilon):
            with contextlib.suppress(InfeasibleError):
                greatest[i, j] = weights.greatest_weights(system, float(cap), cap=cap_kind, sums_to_one=False)
    data = xr.Dataset(
        {"w_max": (("cap", "epsilon", "device"), greatest)},
        coords={"cap": list(cap_kinds), "epsilon": epsilon, "device": [1, 2]},
    )
    advance("FDP-11")
    caption = (
        "Analogue of FDP Fig. 11, which names no parameters: the weights of two devices (clips 1 and 1.5, noise variance 1, "
        "p = .9, adjacency silent, visible participants) that keep a cap on epsilon, exactly (solid) and by the proven bound "
        "(dashed). The points of the line w1 + w2 = 1 inside a rectangle are feasible for (38) (thick: exactly, at "
        "the greatest cap). (11) with (23) is vacuous for two devices and allows no weights at any cap (FDP-F11)."
    )
    return Redrawn("FDP-11", caption, data, _region(data))


def _region(data: xr.Dataset) -> Figure:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for cap, colour in zip(data.epsilon.values, ("#2166ac", "#1a9850", "#b2182b"), strict=True):
            for cap_kind, line in (("proven", "--"), ("exact", "-")):
                first, second = data.w_max.sel(cap=cap_kind, epsilon=cap).values
                axes.plot([0, first, first], [second, second, 0], line, color=colour)
            axes.annotate(f"ε = {cap:g}", (first, second), xytext=(3, 3), textcoords="offset points", color=colour)
        axes.plot([0, 1], [1, 0], color="black", linewidth=0.8)
        low, high = max(0.0, 1 - second), min(1.0, first)
        if low < high:
            axes.plot([low, high], [1 - low, 1 - high], color="black", linewidth=3)
        axes.annotate("w1 + w2 = 1", (0.05, 0.95), xytext=(4, 4), textcoords="offset points", fontsize=8)
        axes.set(
            xlabel="weight of device 1, clip 1", ylabel="weight of device 2, clip 1.5", xlim=(0, None), ylim=(0, 1.1)
        )
    return figure


def table_1(effort: Effort, advance: Advance) -> Redrawn:
    """Table I, epsilon of the score: by (10), by the formula that the printed entries seem to use, and exactly."""
    noise, delta, score = np.sqrt(0.1), 1e-5, np.linspace(0.0, 1.0, _DEVICES)
    sensitivity = 0.9 * noise / np.sqrt(2 * np.log(1.25 / delta))  # the value for which (10) gives the last entry, .9
    exact = float(feature_aware.score_epsilon(delta, sensitivity=sensitivity, noise=noise))
    names = ("2.1, η = 0.5", "2.1, η = 0.3", "2.2")
    probabilities = np.stack([*(participation.threshold(score, noise, eta) for eta in (0.5, 0.3)), np.ones(_DEVICES)])
    data = xr.Dataset(
        {
            "participation": (("scheme", "device"), probabilities),
            "amplified": (("scheme", "device"), np.log1p(probabilities * np.expm1(0.9))),
            "classical": ("scheme", np.full(3, 0.9)),
            "exact": ("scheme", np.full(3, exact)),
            "printed": ("scheme", np.array([0.2641, 0.1134, 0.9])),
        },
        coords={"scheme": list(names), "score": ("device", score)},
    )
    advance("FDP-Tab1")
    implied = np.expm1(data.printed.values) / np.expm1(0.9)
    rows = [
        [
            name,
            f"{float(row.printed):.4f}",
            f"{float(row.classical):.4f}",
            f"{float(row.exact):.4f}",
            f"{float(row.amplified.mean()):.4f} ± {float(row.amplified.std()):.4f}",
            f"{share:.3f}",
        ]
        for name, row, share in ((n, data.sel(scheme=n), p) for n, p in zip(names, implied, strict=True))
    ]
    caption = (
        "Analogue of FDP Table I, which is not reproducible: Gamma and delta(0) are not given, and the epsilon of (16) does not "
        "depend on eta. If it is the .9 of Scheme 2.2, the other entries follow from amplification log(1 + p(e^.9 - 1)) with the "
        "p of the last column. But the score is released whether or not the device takes part, so that nothing is amplified. "
        "Fourth column: exact epsilon at delta = 1e-5; fifth: the amplified value for scores from 0 to 1."
    )
    head = ["scheme", "printed", "by (10)", "exact", "amplified, mean ± sd", "p it needs"]
    return Redrawn("FDP-Tab1", caption, data, Table(tuple(head), tuple(map(tuple, rows))))


FIGURES = {"FDP-4": figure_4, "FDP-6": figure_6, "FDP-7": figure_7, "FDP-11": figure_11, "FDP-Tab1": table_1}
