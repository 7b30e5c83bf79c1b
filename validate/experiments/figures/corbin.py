"""CB Figs. 1 to 3 (analogues on handwritten digits) and Fig. 4 (exact)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.validate.experiments.figures import learning
from airtight.validate.experiments.figures.figure import Advance, Effort, Redrawn, Shown, Study
from airtight.validate.experiments.figures.finding import POSITIVE, Comparison, FigureStatement
from airtight.validate.experiments.figures.learning import Line, lead
from airtight.validate.experiments.figures.style import STYLE, figure_of
from airtight.validate.experiments.training.training_plan import Dataset, Mechanism, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SYSTEM = FederatedSystem(clients=50, parameters=1, epsilon=1.0, ldp_fraction=0.2)
_SMALL = 0.015  # the paper's "less than 1.5 %" of Experiment 7
_NAMES = {
    "vanilla": "no privacy",
    "stratified": "correlated quantizers, no privacy",
    "corbin": "CorBin-FL",
    "augcorbin": "AugCorBin-FL",
    "ldp": "LDP-FL",
    "laplace": "Laplace",
    "gaussian": "Gaussian",
}
_AUTHORS_RESULTS = (
    "The authors' own repository (commit a956027) reports on MNIST at epsilon = .1, .3, 1, 3: CorBin-FL 93.13, 96.50, 97.52, "
    "97.99 %; one-bit RQM, which equals LDP-FL, 32.0, 84.4, 96.6, 97.9 % (means of five seeds)."
)


def _lines(mechanisms: Sequence[str], system: FederatedSystem, settings: Settings | None = None) -> dict[str, Line]:
    return {name: Line(Mechanism(name), system, settings or Settings()) for name in mechanisms}


def _analogue(figure: str, about: str, data: xr.Dataset, where: str = "handwritten digits (1797 images)") -> str:
    """The beginning of a caption."""
    chosen = f"lambda chosen on {data.attrs['validation_seeds']} other seeds" if data.attrs else ""
    return (
        f"Analogue of CB Fig. {figure}: {about}; {where} and a dense network instead of the paper's, mean and standard "
        f"deviation of {data.sizes['seed']} seeds, {chosen}."
    )


# Experiment 1


def _mechanisms(effort: Effort, advance: Advance) -> xr.Dataset:
    names = ("vanilla", "stratified", "corbin", "augcorbin", "ldp", "laplace", "gaussian")
    return learning.experiment(_lines(names, replace(_SYSTEM, epsilon=5.0)), effort, advance)


def _show_mechanisms(data: xr.Dataset) -> Shown:
    finding = FigureStatement.of(
        "the proposed mechanisms outperform LDP-FL, Gaussian and Laplace",
        [
            lead(data, proposed, baseline, POSITIVE)
            for proposed in ("corbin", "augcorbin")
            for baseline in ("ldp", "gaussian", "laplace")
        ],
    )
    about = _analogue("1", "mechanisms at epsilon = 5 a parameter, 50 clients", data)
    return Shown(about, learning.curves(data, _NAMES), finding)


# Experiment 2


def _shared_bits(effort: Effort, advance: Advance) -> xr.Dataset:
    lines = {f"d = {d}": Line(Mechanism.CORBIN, replace(_SYSTEM, shared_bits=d), Settings()) for d in (0, 1, 3, 5, 7)}
    return learning.experiment(lines, effort, advance)


def _show_shared_bits(data: xr.Dataset) -> Shown:
    finding = FigureStatement.of(
        "gains increase with the shared bits, and saturate at d = 5",
        [lead(data, "d = 5", "d = 0", POSITIVE), lead(data, "d = 7", "d = 5", (-_SMALL, _SMALL))],
    )
    about = _analogue("2(a)", "shared random bits at epsilon = 1 (d = 0 is LDP-FL)", data)
    return Shown(about, learning.curves(data, {}), finding)


# Experiment 3


def _dropout(effort: Effort, advance: Advance) -> xr.Dataset:
    lines = {
        f"p = {p:g}": Line(Mechanism.CORBIN, replace(_SYSTEM, dropout=p), Settings()) for p in (0.0, 0.1, 0.3, 0.5)
    }
    return learning.experiment(lines, effort, advance)


def _show_dropout(data: xr.Dataset) -> Shown:
    finding = FigureStatement.of(
        "the accuracy does not fall significantly even for p = .5 (by at most 1.5 points)",
        [lead(data, "p = 0", "p = 0.5", (-math.inf, _SMALL))],
    )
    return Shown(_analogue("2(b)", "dropout at epsilon = 1", data), learning.curves(data, {}), finding)


# Experiment 4


def _clients(effort: Effort, advance: Advance) -> xr.Dataset:
    lines = {
        f"{name}, n = {n}": Line(Mechanism(name), replace(_SYSTEM, clients=n, epsilon=5.0), Settings())
        for n in effort.clients
        for name in ("vanilla", "corbin", "ldp")
    }
    data = learning.experiment(lines, effort, advance)
    return data.assign_attrs(clients=list(effort.clients))


def _show_clients(data: xr.Dataset) -> Shown:
    sizes = [int(n) for n in data.attrs["clients"]]
    finding = FigureStatement.of(
        "CorBin-FL consistently outperforms LDP-FL over a range of client numbers",
        [lead(data, f"corbin, n = {n}", f"ldp, n = {n}", POSITIVE) for n in sizes],
    )
    groups = [(_NAMES[name], [f"{name}, n = {n}" for n in sizes]) for name in ("vanilla", "corbin", "ldp")]
    about = _analogue("2(c)", "numbers of clients at epsilon = 5, on the same images", data)
    return Shown(about, learning.against(data, groups, sizes, "clients"), finding)


# Experiment 5


def _weak_privacy(effort: Effort, advance: Advance) -> xr.Dataset:
    lines = {
        "stratified": Line(Mechanism.STRATIFIED, _SYSTEM, Settings()),
        "corbin(10)": Line(Mechanism.CORBIN, replace(_SYSTEM, epsilon=10.0), Settings()),
        "ldp(50)": Line(Mechanism.LDP, replace(_SYSTEM, epsilon=50.0), Settings()),
    }
    return learning.experiment(lines, replace(effort, smoothing=(1.0,)), advance)


def _show_weak_privacy(data: xr.Dataset) -> Shown:
    finding = FigureStatement.of(
        "CorBin-FL at epsilon = 10 is almost equal to CQ without privacy and to LDP-FL at 50 (within 1.5 points)",
        [lead(data, "corbin(10)", other, (-_SMALL, _SMALL)) for other in ("stratified", "ldp(50)")],
    )
    names = {
        "stratified": _NAMES["stratified"],
        "corbin(10)": "CorBin-FL, ε = 10",
        "ldp(50)": "LDP-FL, ε = 50",
    }
    return Shown(_analogue("3(a)", "weak privacy, lambda = 1", data), learning.curves(data, names), finding)


# Experiment 6

_BUDGETS = (1.0, 3.0, 5.0)


def _budgets(effort: Effort, advance: Advance) -> xr.Dataset:
    lines = {
        f"{name}({e:g})": Line(Mechanism(name), replace(_SYSTEM, epsilon=e), Settings())
        for e in _BUDGETS
        for name in ("corbin", "augcorbin", "ldp")
    }
    return learning.experiment(lines, effort, advance)


def _show_budgets(data: xr.Dataset) -> Shown:
    gain = {e: data.best.sel(line=f"corbin({e:g})").values - data.best.sel(line=f"ldp({e:g})").values for e in (1, 5)}
    finding = FigureStatement.of(
        "CorBin-FL, then AugCorBin-FL, then LDP-FL at every budget, and the gap grows as epsilon falls",
        [
            *(lead(data, f"corbin({e:g})", f"augcorbin({e:g})", POSITIVE) for e in _BUDGETS),
            *(lead(data, f"augcorbin({e:g})", f"ldp({e:g})", POSITIVE) for e in _BUDGETS),
            Comparison.points("corbin - ldp at 1 less that at 5", gain[1] - gain[5], POSITIVE),
        ],
    )
    groups = [(_NAMES[name], [f"{name}({e:g})" for e in _BUDGETS]) for name in ("corbin", "augcorbin", "ldp")]
    about = _analogue("3(b)", "best accuracy for privacy budgets 1, 3 and 5", data)
    return Shown(
        f"{about} {_AUTHORS_RESULTS}", learning.against(data, groups, _BUDGETS, "epsilon a parameter"), finding
    )


# Experiment 7


def _mnist(effort: Effort, advance: Advance) -> xr.Dataset:
    lines = _lines(
        ("vanilla", "corbin", "ldp"),
        replace(_SYSTEM, epsilon=0.5),
        Settings(dataset=Dataset.MNIST, hidden=(32,), learning_rate=0.1),
    )
    fewer = replace(effort, smoothing=tuple(s for s in effort.smoothing if s <= 0.5))
    return learning.experiment(lines, fewer, advance)


def _show_mnist(data: xr.Dataset) -> Shown:
    finding = FigureStatement.of(
        "CorBin-FL is better than LDP-FL, and loses less than 1.5 % against no privacy",
        [lead(data, "corbin", "ldp", POSITIVE), lead(data, "vanilla", "corbin", (-math.inf, _SMALL))],
    )
    about = _analogue("3(c)", "epsilon = .5", data, "5000 images of the paper's own MNIST,")
    return Shown(f"{about} {_AUTHORS_RESULTS}", learning.curves(data, _NAMES), finding)


# Experiment 8


def mse_surfaces() -> Figure:
    """Plot Fig. 4 of the paper exactly: MSE of a pair over both inputs, c = 0, r = 0.5; LDPQ grey, CorBinQ blue."""
    import matplotlib as mpl

    w = np.linspace(-0.5, 0.5, 41)
    first, second = np.meshgrid(w, w)
    with mpl.rc_context(STYLE):
        figure = figure_of(8.4, 3.9)
        for panel, epsilon in enumerate((0.5, 1.0)):
            axes = figure.add_subplot(1, 2, panel + 1, projection="3d")
            for bits, colour in ((0, "#999999"), (None, "#2166ac")):
                mse = quantizers.pair_mse(first, second, epsilon=epsilon, radius=0.5, bits=bits)
                axes.plot_surface(first, second, mse, color=colour, alpha=0.75, rcount=20, ccount=20)
            axes.set(xlabel="w₁", ylabel="w₂", title=f"ε = {epsilon:g}")
            axes.set_zlabel("MSE of the pair's sum")
            axes.set_zlim(0, None)
            axes.set_box_aspect(None, zoom=0.85)
    return figure


def _surfaces() -> xr.Dataset:
    w = np.linspace(-0.5, 0.5, 41)
    epsilon = np.array([0.5, 1.0])
    first, second = np.meshgrid(w, w, indexing="ij")
    return xr.Dataset(
        {
            name: (
                ("epsilon", "w1", "w2"),
                np.stack([quantizers.pair_mse(first, second, epsilon=e, radius=0.5, bits=bits) for e in epsilon]),
            )
            for name, bits in (("ldpq", 0), ("corbinq", None))
        },
        coords={"epsilon": epsilon, "w1": w, "w2": w},
    )


def _about_surfaces(data: xr.Dataset) -> str:
    smallest_ratio = float((data.ldpq / data.corbinq).min())
    worst_ratio = (data.ldpq.max(("w1", "w2")) / data.corbinq.max(("w1", "w2"))).values
    return (
        'Exact: CB Fig. 4, MSE of a pair of CorBinQ (blue) and of LDPQ (grey) over both inputs, c = 0, r = 0.5. "MSE gains, '
        f'particularly at smaller budgets": confirmed exactly. The error of LDPQ is at least {smallest_ratio:.2f} times as '
        f"large at every pair of inputs, and its maximum {worst_ratio[0]:.2f} and {worst_ratio[1]:.2f} times as large for "
        "epsilon = .5 and 1 (CB-X8)."
    )


def figure_4(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 8, computed exactly."""
    data = _surfaces()
    advance("CB-4")
    return Redrawn("CB-4", _about_surfaces(data), data, mse_surfaces())


_STUDIES = {
    "CB-1": (_mechanisms, _show_mechanisms),
    "CB-2a": (_shared_bits, _show_shared_bits),
    "CB-2b": (_dropout, _show_dropout),
    "CB-2c": (_clients, _show_clients),
    "CB-3a": (_weak_privacy, _show_weak_privacy),
    "CB-3b": (_budgets, _show_budgets),
    "CB-3c": (_mnist, _show_mnist),
}
FIGURES: dict[str, Callable[[Effort, Advance], Redrawn]] = {
    **{name: Study(name, *parts) for name, parts in _STUDIES.items()},
    "CB-4": figure_4,
}
