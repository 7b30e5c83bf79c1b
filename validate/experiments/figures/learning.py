"""Accuracies of federated mechanisms over paired seeds, with lambda chosen on validation seeds; two kinds of plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.plots import COLOURS, label_ends
from airtight.validate.experiments.figures.figure import Advance, Effort
from airtight.validate.experiments.figures.finding import Comparison
from airtight.validate.experiments.figures.style import STYLE, figure_of, whole_rounds
from airtight.validate.experiments.training.federated_training import run
from airtight.validate.experiments.training.training_plan import Mechanism, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DIVERGED = 0.0  # accuracy that a diverged run counts with


@dataclass(frozen=True)
class Line:
    """One curve: a mechanism, the system and the settings of its runs."""

    mechanism: Mechanism
    system: FederatedSystem
    settings: Settings


def experiment(lines: Mapping[str, Line], effort: Effort, advance: Advance) -> xr.Dataset:
    """Test accuracy after every round and at the best validation accuracy, for every line and seed.

    Lambda is the factor with the best mean validation accuracy over the validation seeds `effort.choosing`. All lines
    of one seed share data, partition, initial model and batches, so that their differences are paired.
    """
    accuracy = np.full((len(lines), effort.seeds, effort.rounds), np.nan)
    best = np.full((len(lines), effort.seeds), np.nan)
    chosen = np.ones(len(lines))
    for i, (name, line) in enumerate(lines.items()):
        settings = replace(line.settings, rounds=effort.rounds)
        if line.mechanism is not Mechanism.VANILLA and len(effort.smoothing) > 1:
            scores = [
                np.mean([_curve(line, replace(settings, smoothing=s, seed=seed))[1] for seed in effort.choosing])
                for s in effort.smoothing
            ]
            chosen[i] = effort.smoothing[int(np.argmax(scores))]
        elif line.mechanism is not Mechanism.VANILLA:
            chosen[i] = effort.smoothing[0]
        for seed in range(effort.seeds):
            accuracy[i, seed], _, best[i, seed] = _curve(line, replace(settings, smoothing=float(chosen[i]), seed=seed))
        advance(f"{name}: {best[i].mean():.3f}")
    return xr.Dataset(
        {
            "accuracy": (("line", "seed", "round"), accuracy),
            "best": (("line", "seed"), best),
            "smoothing": ("line", chosen),
        },
        coords={"line": list(lines), "seed": np.arange(effort.seeds), "round": np.arange(1, effort.rounds + 1)},
        attrs={"validation_seeds": effort.validation},
    )


def _curve(line: Line, settings: Settings) -> tuple[np.ndarray, float, float]:
    """Test accuracies of all rounds, the best validation accuracy, and the test accuracy of the same round."""
    curve = np.full(settings.rounds, np.nan)
    try:
        trained = run(line.system, settings, line.mechanism)
    except ArithmeticError:
        return curve, _DIVERGED, _DIVERGED
    curve[:] = [done.test for done in trained.history]
    return curve, trained.best.validation, trained.best.test


def lead(data: xr.Dataset, first: str, second: str, stated: tuple[float, float]) -> Comparison:
    """The difference of the best accuracies of two lines, in percentage points."""
    values = data.best.sel(line=first).values - data.best.sel(line=second).values
    return Comparison.points(f"{first} - {second}", values, stated)


def curves(data: xr.Dataset, names: Mapping[str, str]) -> Figure:
    """Plot mean test accuracy against rounds with a band of one standard deviation; `names` labels the lines."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(7.4, 4.2)
        axes = figure.add_subplot()
        end_labels = []
        for colour, name in zip(COLOURS, data.line.values, strict=False):
            by_seed = data.accuracy.sel(line=name)
            mean, std = by_seed.mean("seed"), by_seed.std("seed")
            axes.plot(data["round"], mean, color=colour)
            axes.fill_between(data["round"], mean - std, mean + std, color=colour, alpha=0.15, linewidth=0)
            best, factor = float(data.best.sel(line=name).mean()), float(data.smoothing.sel(line=name))
            end_labels.append((float(mean[-1]), f"{names.get(str(name), name)}: {best:.3f} (λ = {factor:g})", colour))
        axes.set(xlabel="communication round", ylabel="test accuracy", ylim=(0, 1), xlim=(1, data.sizes["round"]))
        whole_rounds(axes)
        label_ends(axes, end_labels)
    return figure


def against(
    data: xr.Dataset, groups: Sequence[tuple[str, Sequence[str]]], places: Sequence[float], label: str
) -> Figure:
    """Plot best accuracies against a parameter: a line per group, means over seeds with standard deviations."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(6.8, 4.0)
        axes = figure.add_subplot()
        end_labels = []
        for i, (name, lines) in enumerate(groups):
            best = data.best.sel(line=list(lines))
            mean, std = best.mean("seed"), best.std("seed", ddof=min(1, data.sizes["seed"] - 1))
            shift = 1 + 0.01 * (i - (len(groups) - 1) / 2)
            axes.errorbar(np.array(places) * shift, mean, std, marker=".", capsize=3, color=COLOURS[i])
            end_labels.append((float(mean[-1]), name, COLOURS[i]))
        axes.set(xscale="log", xlabel=label, ylabel="best test accuracy")
        axes.set_xticks(list(places), [f"{x:g}" for x in places])
        axes.minorticks_off()
        label_ends(axes, end_labels)
    return figure
