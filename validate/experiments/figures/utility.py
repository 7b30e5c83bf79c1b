"""UF Fig. 1 (analogue on handwritten digits), Figs. 2 to 4 and Table I (the model exactly, averaged over fading rounds)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from analytics.checks import FloatArray
from analytics.federated.device import DeviceFleet, table_1
from analytics.privacy import gaussian
from solvers import energy as energy_utility
from solvers.energy import schemes as energy_schemes
from validate.experiments.figures.figure import Advance, Effort, Redrawn
from validate.experiments.figures.style import STYLE, drawn_table, figure_of
from validate.experiments.training import utility

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DISTANCES = np.linspace(50.0, 200.0, 10)
_SCHEMES = ("benchmark", "proposed", "mean-update")


def figure_1(effort: Effort, advance: Advance) -> Redrawn:
    """Average training loss over rounds."""
    rounds = min(effort.rounds, 50)
    fleet = table_1(distance=_DISTANCES)
    loss = np.empty((len(_SCHEMES), effort.seeds, rounds, fleet.devices))
    for i, scheme in enumerate(_SCHEMES):
        for seed in range(effort.seeds):
            loss[i, seed] = utility.run(fleet, utility.Plan(rounds=rounds, seed=seed), scheme).loss
        advance(f"UF-1, {scheme}")
    data = xr.Dataset(
        {"loss": (("scheme", "seed", "round", "device"), loss)},
        coords={"scheme": list(_SCHEMES), "round": np.arange(1, rounds + 1), "distance": ("device", _DISTANCES)},
    )
    mean = data.loss.mean("device")
    gap = (mean / mean.sel(scheme="benchmark") - 1).mean(("seed", "round"))
    spread = data.loss.std("device").mean(("seed", "round"))
    labels = {
        str(s): f"{s}: {100 * float(gap.sel(scheme=s)):+.1f} %, std {float(spread.sel(scheme=s)):.3f}" for s in _SCHEMES
    }
    caption = (
        "Analogue of UF Fig. 1: training loss of the devices at the models that they receive; softmax regression "
        "on handwritten digits, "
        f"mean of {effort.seeds} seeds. In the key: mean excess over the benchmark, standard deviation over devices "
        "(paper: 6.26 %, .103)."
    )
    return Redrawn(
        "UF-1", caption, data, _lines(data["round"], mean.mean("seed"), labels, "round", "average training loss")
    )


def _lines(x: xr.DataArray, curves: xr.DataArray, labels: dict[str, str], across: str, up: str) -> Figure:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, label in labels.items():
            axes.plot(x, curves.sel(scheme=name), label=label)
        axes.set(xlabel=across, ylabel=up)
        axes.legend(fontsize=8)
    return figure


@cache
def policies(rounds: int, *, beta_1: float = 0.5) -> xr.Dataset:
    """Energies, iterations and rates of both schemes, averaged over the rounds of fading that all devices can keep."""
    base = table_1(distance=_DISTANCES, beta_1=beta_1)
    kept = [f for f in energy_schemes.faded(base, rounds, np.random.default_rng(2024)) if np.all(f.feasible)]
    many = _stacked(kept)
    best = energy_utility.solve(many)
    shape = (len(kept), base.devices)
    most = many.max_iterations
    values: dict[str, tuple[FloatArray, FloatArray]] = {
        "energy": (best.energy, many.energy(most, many.max_power)),
        "compute_energy": (many.compute_energy(best.iterations), many.compute_energy(most)),
        "transmit_energy": (many.transmit_energy(best.power), many.transmit_energy(many.max_power)),
        "iterations": (best.iterations, most),
        "rate": (best.rate, many.rate(many.max_power)),
    }
    loss = _DISTANCES**4 / _DISTANCES[-1] ** 4
    return xr.Dataset(
        {
            name: (("scheme", "device"), np.stack([column.reshape(shape).mean(axis=0) for column in pair]))
            for name, pair in values.items()
        },
        coords={"scheme": ["proposed", "benchmark"], "path_loss": ("device", loss), "distance": ("device", _DISTANCES)},
        attrs={"rounds": len(kept), "left_out": rounds - len(kept)},
    )


def _stacked(fleets: list[DeviceFleet]) -> DeviceFleet:
    names = DeviceFleet.__dataclass_fields__
    return DeviceFleet(**{name: np.concatenate([getattr(f, name) for f in fleets]) for name in names})


def _policy_figure(
    name: str, column: str, unit: float, label: str, paper: str, effort: Effort, advance: Advance
) -> Redrawn:
    data = policies(200 * effort.seeds)
    values = data[column] * unit
    caption = (
        f"Analogue of UF Fig. {name.removeprefix('UF-')}: {label} against path loss, {data.attrs['rounds']} rounds of Rayleigh "
        f"fading; beta = (.5, .05 J), which the paper does not give. {paper}"
    )
    advance(name)
    labels = {"proposed": "proposed, certified optimum", "benchmark": "benchmark as described"}
    return Redrawn(name, caption, data, _lines(data.path_loss, values, labels, "normalised path loss", label))


def figure_2(effort: Effort, advance: Advance) -> Redrawn:
    """Total energy."""
    about = (
        "The paper's benchmark lies lower (175 to 375), its axis says mW. The standard deviation over devices is "
        "cut by 87 %, by 99 % for "
        "beta_1 = .02."
    )
    return _policy_figure("UF-2", "energy", 1e3, "energy of a round (mJ)", about, effort, advance)


def figure_3a(effort: Effort, advance: Advance) -> Redrawn:
    """Computation energy."""
    return _policy_figure("UF-3a", "compute_energy", 1e3, "computation energy (mJ)", "", effort, advance)


def figure_3b(effort: Effort, advance: Advance) -> Redrawn:
    """Transmission energy."""
    return _policy_figure("UF-3b", "transmit_energy", 1e3, "transmission energy (mJ)", "", effort, advance)


def figure_4a(effort: Effort, advance: Advance) -> Redrawn:
    """Iterations."""
    return _policy_figure("UF-4a", "iterations", 1.0, "iterations", "", effort, advance)


def figure_4b(effort: Effort, advance: Advance) -> Redrawn:
    """Rate."""
    about = "That near devices use a higher rate than the benchmark cannot be when that sends at the greatest power."
    return _policy_figure("UF-4b", "rate", 1e-6, "rate (Mbit/s)", about, effort, advance)


def table_i(effort: Effort, advance: Advance) -> Redrawn:
    """What the parameters of Table I amount to, as printed and mended, for the nearest and the farthest device."""
    ends = np.array([50.0, 200.0])
    columns: dict[str, list[FloatArray]] = {name: [] for name in ("nats", "max_iterations", "max_rate", "feasible")}
    for as_printed in (True, False):
        fleet = table_1(distance=ends, as_printed=as_printed)
        columns["nats"].append(fleet.model_bits * np.log(2) / (fleet.bandwidth * fleet.deadline))
        columns["max_iterations"].append(fleet.max_iterations)
        columns["max_rate"].append(fleet.rate(fleet.max_power))
        columns["feasible"].append(fleet.feasible.astype(float))
    data = xr.Dataset(
        {name: (("reading", "distance"), np.array(values)) for name, values in columns.items()}
        | {"gain": ("distance", table_1(distance=ends).gain)},
        coords={"reading": ["printed", "mended"], "distance": ends},
    )
    sigma = [
        float(gaussian.classical_epsilon(1e-5, sensitivity=1.0, sigma=0.95)),  # epsilon and sigma change places
        float(gaussian.sigma(0.95, 1e-5, sensitivity=1.0)),
    ]
    advance("UF-TabI")
    rows = []
    for name, label, unit in (
        ("gain", "gain g (1/W)", 1.0),
        ("nats", "ln(1 + SNR) to send in T alone", 1.0),
        ("max_iterations", "most iterations in T", 1.0),
        ("max_rate", "greatest rate (Mbit/s)", 1e-6),
    ):
        values = data[name] * unit
        shown = [values.sel(reading=r) if "reading" in values.dims else values for r in ("printed", "mended")]
        rows.append([label, *(f"{float(v):.6g}" for pair in shown for v in pair)])
    rows.append(["feasible", *("yes" if v else "no" for v in data.feasible.values.ravel())])
    caption = (
        "Exact: what UF Table I amounts to. Printed T = .75 ms would need an SNR of 10^1404; mended T = .75 s, N_0 in dBm/Hz, "
        "P_max = 0 dB of 1 W, 802816 bits an iteration. "
        f"Noise for (.95, 1e-5): sigma = {sigma[0]:.6f} by (9), {sigma[1]:.6f} exactly."
    )
    head = ["", "T = .75 ms, 50 m", "200 m", "T = .75 s, 50 m", "200 m"]
    return Redrawn("UF-TabI", caption, data, drawn_table(head, rows))


FIGURES = {
    "UF-1": figure_1,
    "UF-2": figure_2,
    "UF-3a": figure_3a,
    "UF-3b": figure_3b,
    "UF-4a": figure_4a,
    "UF-4b": figure_4b,
    "UF-TabI": table_i,
}
