"""CB Figs. 1 to 3 (analogues on handwritten digits) and Fig. 4 (exact)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from analytics.federated import quantizers
from analytics.federated.system import FederatedSystem
from validate.experiments.figures.figure import Advance, Effort, Redrawn
from validate.experiments.figures.style import STYLE, figure_of
from validate.experiments.training.federated import run
from validate.plan import Dataset, Mechanism, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SYSTEM = FederatedSystem(clients=50, parameters=1, epsilon=1.0, ldp_fraction=0.2)
_WORST = 0.0  # accuracy of a run that diverges


@dataclass(frozen=True)
class _Line:
    """One curve: a mechanism in a system."""

    mechanism: Mechanism
    system: FederatedSystem
    settings: Settings


def mse_surfaces() -> Figure:
    """Fig. 4 of the paper, exactly: MSE of a pair over both inputs, c = 0, r = 0.5; LDPQ grey, CorBinQ blue."""
    import matplotlib as mpl

    w = np.linspace(-0.5, 0.5, 41)
    first, second = np.meshgrid(w, w)
    with mpl.rc_context(STYLE):
        figure = figure_of(7.6, 3.6)
        for place, epsilon in enumerate((0.5, 1.0)):
            axes = figure.add_subplot(1, 2, place + 1, projection="3d")
            for bits, colour in ((0, "#999999"), (None, "#2166ac")):
                mse = quantizers.pair_mse(first, second, epsilon=epsilon, radius=0.5, bits=bits)
                axes.plot_surface(first, second, mse, color=colour, alpha=0.75, rcount=20, ccount=20)
            axes.set(xlabel="w₁", ylabel="w₂", title=f"ε = {epsilon:g}")
            axes.set_zlim(0, None)
    return figure


def experiment(lines: Mapping[str, _Line], effort: Effort, advance: Advance) -> xr.Dataset:
    """Test accuracy after every round, of every line and seed; lambda chosen by validation accuracy on the first seed."""
    accuracy = np.full((len(lines), effort.seeds, effort.rounds), np.nan)
    best = np.full((len(lines), effort.seeds), np.nan)
    chosen = np.empty(len(lines))
    for i, (name, line) in enumerate(lines.items()):
        settings = replace(line.settings, rounds=effort.rounds)
        if line.mechanism is Mechanism.VANILLA:
            chosen[i] = 1.0
        else:
            scores = [_curve(line, replace(settings, smoothing=s))[1] for s in effort.smoothing]
            chosen[i] = effort.smoothing[int(np.argmax(scores))]
        for seed in range(effort.seeds):
            curve, _, reached = _curve(line, replace(settings, smoothing=float(chosen[i]), seed=seed))
            accuracy[i, seed], best[i, seed] = curve, reached
        advance(f"{name}: {best[i].mean():.3f}")
    return xr.Dataset(
        {
            "accuracy": (("line", "seed", "round"), accuracy),
            "best": (("line", "seed"), best),
            "smoothing": ("line", chosen),
        },
        coords={"line": list(lines), "round": np.arange(1, effort.rounds + 1)},
    )


def _curve(line: _Line, settings: Settings) -> tuple[np.ndarray, float, float]:
    """Test accuracies, the best validation accuracy, and the test accuracy there."""
    curve = np.full(settings.rounds, np.nan)
    try:
        found = run(line.system, settings, line.mechanism)
    except ArithmeticError:
        return curve, _WORST, _WORST
    curve[:] = [done.test for done in found.history]
    return curve, found.best.validation, found.best.test


def _curves(data: xr.Dataset, title: str) -> Figure:
    """Mean over seeds against rounds, with a band of one standard deviation."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name in data.line.values:
            one = data.accuracy.sel(line=name)
            mean, std = one.mean("seed"), one.std("seed")
            label = (
                f"{name}: {float(data.best.sel(line=name).mean()):.3f} (λ = {float(data.smoothing.sel(line=name)):g})"
            )
            (drawn,) = axes.plot(data["round"], mean, label=label)
            axes.fill_between(data["round"], mean - std, mean + std, color=drawn.get_color(), alpha=0.15, linewidth=0)
        axes.set(xlabel="round", ylabel="test accuracy", ylim=(0, 1), title=title)
        axes.legend(fontsize=8, loc="lower right")
    return figure


def _redrawn(name: str, about: str, lines: Mapping[str, _Line], effort: Effort, advance: Advance) -> Redrawn:
    data = experiment(lines, effort, advance)
    caption = (
        f"Analogue of CB Fig. {name.removeprefix('CB-')}: {about}. Handwritten digits instead of CIFAR-10, a dense network; "
        f"mean of {effort.seeds} seeds, lambda by validation accuracy."
    )
    return Redrawn(name, caption, data, _curves(data, name))


def _lines(mechanisms: Sequence[str], system: FederatedSystem, settings: Settings | None = None) -> dict[str, _Line]:
    return {name: _Line(Mechanism(name), system, settings or Settings()) for name in mechanisms}


def figure_1(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 1: all mechanisms at epsilon = 5."""
    names = ("vanilla", "stratified", "corbin", "augcorbin", "ldp", "laplace", "gaussian")
    lines = _lines(names, replace(_SYSTEM, epsilon=5.0))
    return _redrawn("CB-1", "mechanisms at epsilon = 5 a parameter, 50 clients", lines, effort, advance)


def figure_2a(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 2: numbers of shared bits at epsilon = 1."""
    lines = {f"d = {d}": _Line(Mechanism.CORBIN, replace(_SYSTEM, shared_bits=d), Settings()) for d in (0, 1, 3, 5, 7)}
    return _redrawn("CB-2a", "shared random bits at epsilon = 1 (d = 0 is LDP-FL)", lines, effort, advance)


def figure_2b(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 3: dropout at epsilon = 1."""
    lines = {
        f"p = {p:g}": _Line(Mechanism.CORBIN, replace(_SYSTEM, dropout=p), Settings()) for p in (0.0, 0.1, 0.3, 0.5)
    }
    return _redrawn("CB-2b", "dropout at epsilon = 1", lines, effort, advance)


def figure_2c(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 4: numbers of clients at epsilon = 5."""
    lines = {
        f"{name}, n = {n}": _Line(Mechanism(name), replace(_SYSTEM, clients=n, epsilon=5.0), Settings())
        for n in effort.clients
        for name in ("vanilla", "corbin", "ldp")
    }
    return _redrawn("CB-2c", "numbers of clients at epsilon = 5", lines, effort, advance)


def figure_3a(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 5: correlated quantization without privacy, CorBin-FL at 10, LDP-FL at 50; lambda = 1."""
    lines = {
        "stratified, no privacy": _Line(Mechanism.STRATIFIED, _SYSTEM, Settings()),
        "corbin, epsilon = 10": _Line(Mechanism.CORBIN, replace(_SYSTEM, epsilon=10.0), Settings()),
        "ldp, epsilon = 50": _Line(Mechanism.LDP, replace(_SYSTEM, epsilon=50.0), Settings()),
    }
    return _redrawn("CB-3a", "weak privacy, lambda = 1", lines, replace(effort, smoothing=(1.0,)), advance)


def figure_3b(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 6: budgets 1, 3 and 5."""
    lines = {
        f"{name}, epsilon = {e:g}": _Line(Mechanism(name), replace(_SYSTEM, epsilon=e), Settings())
        for e in (1.0, 3.0, 5.0)
        for name in ("corbin", "augcorbin", "ldp")
    }
    return _redrawn("CB-3b", "privacy budgets", lines, effort, advance)


def figure_3c(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 7: MNIST at epsilon = 0.5 (5000 images, a dense network)."""
    lines = _lines(
        ("vanilla", "corbin", "ldp"),
        replace(_SYSTEM, epsilon=0.5),
        Settings(dataset=Dataset.MNIST, hidden=(32,), learning_rate=0.1),
    )
    fewer = replace(effort, smoothing=tuple(s for s in effort.smoothing if s <= 0.5))
    return _redrawn("CB-3c", "MNIST at epsilon = 0.5 (5000 images)", lines, fewer, advance)


def figure_4(effort: Effort, advance: Advance) -> Redrawn:
    """Experiment 8: MSE of CorBinQ and LDPQ over both inputs, r = 0.5."""
    w = np.linspace(-0.5, 0.5, 41)
    epsilon = np.array([0.5, 1.0])
    first, second = np.meshgrid(w, w, indexing="ij")
    data = xr.Dataset(
        {
            name: (
                ("epsilon", "w1", "w2"),
                np.stack([quantizers.pair_mse(first, second, epsilon=e, radius=0.5, bits=bits) for e in epsilon]),
            )
            for name, bits in (("ldpq", 0), ("corbinq", None))
        },
        coords={"epsilon": epsilon, "w1": w, "w2": w},
    )
    advance("CB-4")
    caption = "Exact: CB Fig. 4, MSE of a pair of CorBinQ (blue) and of LDPQ (grey) over both inputs, c = 0, r = 0.5."
    return Redrawn("CB-4", caption, data, mse_surfaces())


FIGURES = {
    "CB-1": figure_1,
    "CB-2a": figure_2a,
    "CB-2b": figure_2b,
    "CB-2c": figure_2c,
    "CB-3a": figure_3a,
    "CB-3b": figure_3b,
    "CB-3c": figure_3c,
    "CB-4": figure_4,
}
