"""FDP Figs. 2, 3, 8, 9, 10 and Table II: analogues on twelve views of handwritten digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference import uncertainty
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.plots import COLOURS, label_ends
from airtight.analytics.privacy.over_the_air import feature_aware, system_privacy
from airtight.solvers.design import calibrate
from airtight.validate.experiments.figures.figure import Advance, Effort, Redrawn, Shown, Study, Table
from airtight.validate.experiments.figures.finding import POSITIVE, Comparison, FigureStatement
from airtight.validate.experiments.figures.style import STYLE, figure_of
from airtight.validate.experiments.training import inference_training, views

_SYSTEM = InferenceSystem(
    devices=12,
    participation=0.9,
    noise_variance=0.01,
    weight=1 / (12 * 0.9),
    clip=8.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=8,
    delta=1e-5,
    delta_prime=1e-5,
    adjacency=Adjacency.SILENT,
)
_NOISE = np.geomspace(1e-3, 3.0, 10)  # noise variances of a device
_CAPS = np.array([3.9811, 6.3096, 10.0])  # epsilon of Table II: 10^0.6, 10^0.8 and 10
_SCORE_NOISE = 0.1  # standard deviation of the noise on a score, in bits
_THRESHOLDS, _SELECTED = (
    (1.0, 1.5, 2.0, 2.5, 3.0),
    (6, 8, 10, 11),
)  # candidates for Schemes 2.1 (bits) and 2.2 (devices)
_SCHEMES = {"1": "Scheme 1, p = .9", "2.1": "Scheme 2.1", "2.2": "Scheme 2.2"}
# accuracies that Table II prints, for the three values of _CAPS
_PRINTED = {"1": (0.5051, 0.7386, 0.8275), "2.1": (0.5614, 0.7774, 0.8389), "2.2": (0.5181, 0.7521, 0.8310)}
_DIGITS = "twelve views of handwritten digits instead of ModelNet"
_NEAR = 0.015  # difference of two accuracies that counts as near


def _noisy(variance: float) -> InferenceSystem:
    return replace(_SYSTEM, noise_variance=np.full(_SYSTEM.devices, variance))


def _seeds(effort: Effort) -> IntArray:
    return np.arange(effort.seeds)


# Fig. 2

_DIMENSIONS = (2, 4, 8, 16, 32)


def _dimensions(effort: Effort, advance: Advance) -> xr.Dataset:
    """Accuracy against the exact epsilon, for several dimensions of the code."""
    systems = [_noisy(float(v)) for v in _NOISE]
    epsilon = np.array([float(np.max(system_privacy.epsilon(system))) for system in systems])
    accuracy = np.empty((len(_DIMENSIONS), effort.seeds, epsilon.size))
    for i, r in enumerate(_DIMENSIONS):
        for seed in range(effort.seeds):
            setup = views.prepare(dimension=r, seed=seed)
            accuracy[i, seed] = [
                inference_training.measure(setup, replace(system, dimension=r), rounds=4, seed=seed).accuracy
                for system in systems
            ]
    return xr.Dataset(
        {"accuracy": (("dimension", "seed", "noise"), accuracy)},
        coords={"dimension": list(_DIMENSIONS), "noise": _NOISE, "epsilon": ("noise", epsilon), "seed": _seeds(effort)},
    )


def _show_dimensions(data: xr.Dataset) -> Shown:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for colour, r in zip(COLOURS, data.dimension.values, strict=False):
            mean = data.accuracy.sel(dimension=r).mean("seed")
            axes.plot(data.epsilon, mean, ".-", color=colour, label=f"r = {r}")
        axes.set(xscale="log", xlabel="exact epsilon at delta = 1e-5 (silent)", ylabel="accuracy", ylim=(0, 1))
        axes.legend(fontsize=8, loc="upper left")
    mean = data.accuracy.mean("noise")
    worse = mean.sel(dimension=8).values - mean.sel(dimension=32).values
    finding = FigureStatement.of(
        "performance worsens for higher dimensions, at the same epsilon (footnote 3)",
        [Comparison.points("r = 8 less r = 32", worse, POSITIVE)],
    )
    about = (
        "Analogue of FDP Fig. 2: accuracy against the exact epsilon of a device for several encoded dimensions; codec "
        f"of principal components, {_DIGITS}, mean of {data.sizes['seed']} seeds."
    )
    return Shown(about, figure, finding)


# Fig. 3


def _entropies(effort: Effort, advance: Advance) -> xr.Dataset:
    """Mean Shannon entropy and min-entropy of the devices' own predictions."""
    setups = [views.prepare(seed=seed) for seed in range(effort.seeds)]
    values = {
        "shannon": np.stack([setup.entropy.mean(axis=0) for setup in setups]),
        "min": np.stack([setup.min_entropy.mean(axis=0) for setup in setups]),
    }
    return xr.Dataset(
        {name: (("seed", "device"), value) for name, value in values.items()},
        coords={"device": np.arange(1, 13), "seed": _seeds(effort)},
    )


def _show_entropies(data: xr.Dataset) -> Shown:
    import matplotlib as mpl
    from scipy import stats

    with mpl.rc_context(STYLE):
        figure = figure_of(6.4, 4.6)
        for panel, (name, label) in enumerate((("shannon", "Shannon entropy (bits)"), ("min", "min-entropy (bits)"))):
            axes = figure.add_subplot(2, 1, panel + 1)
            axes.bar(data.device, data[name].mean("seed"), color=COLOURS[0])
            axes.set(ylabel=label, xlabel="device" if panel else "", xticks=data.device.values)
    pairs = zip(data.shannon.values, data["min"].values, strict=True)
    agreement = [float(stats.spearmanr(a, b).statistic) for a, b in pairs]
    finding = FigureStatement.of(
        "both functions exhibit similar behaviour across the devices (a rank correlation of at least .9)",
        [Comparison.of("Spearman's correlation", agreement, (0.9, math.inf))],
    )
    about = (
        f"Analogue of FDP Fig. 3: mean entropies of the devices' own predictions, {_DIGITS}, with decreasing quality."
    )
    return Shown(about, figure, finding)


# Figs. 8 and 9

_DESIGNS = {"uniform": "one clip for all", "weights": "optimised weights", "clips": "clips of sensitive devices"}


def _tailored(dimension: int, effort: Effort, advance: Advance) -> xr.Dataset:
    """Accuracy when half of the devices are sensitive, for every design: one clip for all, weights, or clips."""
    caps = np.geomspace(0.1, 20.0, 8)
    all_designs = tuple(inference_training.Design)
    sensitive = np.arange(_SYSTEM.devices) % 2 == 0
    base = replace(_SYSTEM, dimension=dimension)
    accuracy = np.empty((len(all_designs), effort.seeds, caps.size))
    for seed in range(effort.seeds):
        setup = views.prepare(dimension=dimension, codec="trained", seed=seed)
        typical = Features(f=setup.typical, W=setup.encoder, D=setup.decoder)
        for i, design_kind in enumerate(all_designs):
            for j, cap in enumerate(caps):
                designed = inference_training.apply(
                    base, typical, sensitive=sensitive, epsilon=float(cap), design=design_kind
                )
                accuracy[i, seed, j] = inference_training.measure(setup, designed, rounds=4, seed=seed).accuracy
        advance(f"r = {dimension}, seed {seed}")
    return xr.Dataset(
        {"accuracy": (("design", "seed", "epsilon"), accuracy)},
        coords={"design": [design_kind.value for design_kind in all_designs], "epsilon": caps, "seed": _seeds(effort)},
        attrs={"dimension": dimension},
    )


def _show_tailored(place: str, data: xr.Dataset) -> Shown:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for colour, (design, label) in zip(COLOURS, _DESIGNS.items(), strict=False):
            by_seed = data.accuracy.sel(design=design)
            axes.plot(data.epsilon, by_seed.mean("seed"), ".-", label=label, color=colour)
            axes.fill_between(
                data.epsilon, by_seed.min("seed"), by_seed.max("seed"), color=colour, alpha=0.15, linewidth=0
            )
        axes.set(xscale="log", xlabel="cap on the exact epsilon of sensitive devices (silent)", ylabel="accuracy")
        axes.set(ylim=(0, 1))
        axes.legend(fontsize=8, loc="lower right")
    strict, loose = (data.accuracy.isel(epsilon=cap_indices) for cap_indices in ([0, 1], [-1]))

    def lead(selected_data: xr.DataArray, design: str) -> FloatArray:
        """Accuracy of a design minus that of ``uniform``, for every seed."""
        mean = selected_data.mean("epsilon")
        return np.asarray(mean.sel(design=design).values - mean.sel(design="uniform").values)

    finding = FigureStatement.of(
        "tailored designs are superior where privacy is stringent, one clip for all comes near (1.5 points) where it is loose",
        [
            Comparison.points("weights - uniform, strict", lead(strict, "weights"), POSITIVE),
            Comparison.points("clips - uniform, strict", lead(strict, "clips"), POSITIVE),
            Comparison.points("weights - uniform, loose", lead(loose, "weights"), (-math.inf, _NEAR)),
        ],
    )
    about = (
        f"Analogue of {place}: six of twelve devices are sensitive; code of {data.attrs['dimension']} dimensions, "
        f"trained codec, {_DIGITS}, mean and range of {data.sizes['seed']} seeds. The weights minimise the exact MSE. Strict: "
        "the two smallest caps."
    )
    return Shown(about, figure, finding)


# Table II and Fig. 10


def _chosen_selection(
    effort: Effort, prepared: Callable[[int], views.Setup], systems: list[InferenceSystem]
) -> inference_training.Selection:
    """The threshold and the number of devices with the best mean accuracy on validation seeds."""

    def score(scheme: str, selection: inference_training.Selection) -> float:
        accuracies = [
            inference_training.measure(
                prepared(seed), system, scheme=scheme, selection=selection, rounds=2, seed=seed
            ).accuracy
            for seed in effort.choosing
            for system in systems
        ]
        return float(np.mean(accuracies))

    rule = partial(inference_training.Selection, score_noise=_SCORE_NOISE)
    threshold = max(_THRESHOLDS, key=lambda eta: score("2.1", rule(threshold=eta)))
    selected = max(_SELECTED, key=lambda count: score("2.2", rule(selected=count)))
    return rule(threshold=threshold, selected=selected)


def _schemes(
    effort: Effort,
    advance: Advance,
    prepared: Callable[[int], views.Setup],
    systems: list[InferenceSystem],
    rounds: int,
) -> xr.Dataset:
    """Accuracy and participation of the three schemes in every system."""
    selection = _chosen_selection(effort, prepared, systems)
    accuracy = np.empty((len(_SCHEMES), effort.seeds, len(systems)))
    participation_share = np.empty((len(_SCHEMES), effort.seeds))
    for seed in range(effort.seeds):
        setup = prepared(seed)
        for i, scheme in enumerate(_SCHEMES):
            for j, system in enumerate(systems):
                measured = inference_training.measure(
                    setup, system, scheme=scheme, selection=selection, rounds=rounds, seed=seed
                )
                accuracy[i, seed, j] = measured.accuracy
            participation_share[i, seed] = measured.participation
        advance(f"seed {seed}")
    return xr.Dataset(
        {
            "accuracy": (("scheme", "seed", "system"), accuracy),
            "participation": (("scheme", "seed"), participation_share),
        },
        coords={"scheme": list(_SCHEMES), "seed": _seeds(effort)},
        attrs={
            "threshold": selection.threshold,
            "selected": selection.selected,
            "validation_seeds": effort.validation,
        },
    )


def _scheme_order(data: xr.Dataset) -> FigureStatement:
    """The statement of Fig. 10 and Table II about the schemes, and its outcome."""
    mean = data.accuracy.mean("system")

    def lead(first: str, second: str) -> Comparison:
        values = mean.sel(scheme=first).values - mean.sel(scheme=second).values
        return Comparison.points(f"{first} - {second}", values, POSITIVE)

    return FigureStatement.of(
        "the feature-aware schemes improve accuracy, and Scheme 2.1 outperforms 2.2",
        [lead("2.1", "1"), lead("2.2", "1"), lead("2.1", "2.2")],
    )


def _rules_text(data: xr.Dataset) -> str:
    of = data.attrs
    return f"threshold {of['threshold']:g} bits and {of['selected']} of 12 devices chosen on {of['validation_seeds']} other seeds"


def _table(effort: Effort, advance: Advance) -> xr.Dataset:
    """Accuracy of the three schemes at three values of epsilon, and the epsilon that each guarantees."""
    unit = _noisy(0.01)
    systems = [calibrate.calibrate(unit, cap).system for cap in _CAPS]
    data = _schemes(effort, advance, lambda seed: views.prepare(codec="trained", seed=seed), systems, 8)
    sensitivity = uncertainty.sensitivity(10)
    chosen = inference_training.Selection(
        score_noise=_SCORE_NOISE, threshold=data.attrs["threshold"], selected=data.attrs["selected"]
    )
    spent = np.array(
        [[_guaranteed_epsilon(scheme, chosen, system, sensitivity) for system in systems] for scheme in _SCHEMES]
    )
    return data.assign(spent=(("scheme", "system"), spent)).assign_coords(epsilon=("system", _CAPS))


def _guaranteed_epsilon(
    scheme: str, chosen: inference_training.Selection, system: InferenceSystem, sensitivity: float
) -> float:
    """The epsilon that the scheme guarantees to every device, at the system's delta."""
    match scheme:
        case "1":
            return float(np.max(system_privacy.epsilon(system)))
        case "2.1":
            guarantee = feature_aware.proven_threshold(
                system, noise=_SCORE_NOISE, sensitivity=sensitivity, eta=chosen.threshold, greatest_score=sensitivity
            )
        case _:
            guarantee = feature_aware.proven_lowest(
                system, noise=_SCORE_NOISE, sensitivity=sensitivity, selected=chosen.selected
            )
    return float(np.max(guarantee.epsilon))


def _show_table(data: xr.Dataset) -> Shown:
    rows = []
    for j, cap in enumerate(data.epsilon.values):
        row_data = data.isel(system=j)
        accuracies = [row_data.accuracy.sel(scheme=name) for name in _SCHEMES]
        rows.append(
            [
                f"{cap:g}",
                *(f"{float(a.mean()):.4f} ± {float(a.std(ddof=min(1, a.size - 1))):.4f}" for a in accuracies),
                *(f"{_PRINTED[name][j]:.4f}" for name in _SCHEMES),
                *(f"{e:.4g}" for e in row_data.spent.values),
            ]
        )
    head = ["ε max", *(f"Scheme {n}" for n in _SCHEMES), *(f"paper, {n}" for n in _SCHEMES)]
    head += [f"true ε, {n}" for n in _SCHEMES]
    about = (
        f"Analogue of FDP Table II: accuracy, mean and standard deviation of {data.sizes['seed']} seeds ({_DIGITS}; "
        f"{_rules_text(data)}), with the noise that gives Scheme 1 the exact epsilon of the first column (silent, delta = 1e-5), "
        "with the means that the paper prints for its own data. The last columns are the epsilon that each scheme then "
        "guarantees (proven, including the noisy scores: unscaled entropies of sensitivity log2(10) with noise of .1)."
    )
    return Shown(about, Table(tuple(head), tuple(map(tuple, rows))), _scheme_order(data))


def _against_noise(effort: Effort, advance: Advance) -> xr.Dataset:
    """Accuracy of Schemes 1, 2.1 and 2.2 against the noise variance."""
    systems = [_noisy(float(v)) for v in _NOISE]
    data = _schemes(effort, advance, lambda seed: views.prepare(seed=seed), systems, 4)
    return data.assign_coords(noise=("system", _NOISE))


def _show_against_noise(data: xr.Dataset) -> Shown:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(6.8, 4.0)
        axes = figure.add_subplot()
        end_labels = []
        for colour, (name, label) in zip(COLOURS, _SCHEMES.items(), strict=False):
            mean = data.accuracy.sel(scheme=name).mean("seed")
            share = float(data.participation.sel(scheme=name).mean())
            axes.plot(data.noise, mean, ".-", color=colour)
            end_labels.append((float(mean[-1]), f"{label}:\n{share:.2f} take part", colour))
        axes.set(xscale="log", xlabel="noise variance of a device", ylabel="accuracy", ylim=(0, 1))
        label_ends(axes, end_labels, gap=0.1)
    about = (
        "Analogue of FDP Fig. 10: accuracy of the feature-agnostic scheme and of the feature-aware ones against the noise; "
        f"{_DIGITS}, mean of {data.sizes['seed']} seeds; {_rules_text(data)}. The feature-aware schemes also release noisy "
        "scores: their privacy is worse (FDP-L2)."
    )
    return Shown(about, figure, _scheme_order(data))


_STUDIES: dict[str, tuple[Callable[[Effort, Advance], xr.Dataset], Callable[[xr.Dataset], Shown]]] = {
    "FDP-2": (_dimensions, _show_dimensions),
    "FDP-3": (_entropies, _show_entropies),
    "FDP-8": (partial(_tailored, 8), partial(_show_tailored, "FDP Fig. 8")),
    "FDP-9": (partial(_tailored, 32), partial(_show_tailored, "FDP Fig. 9")),
    "FDP-10": (_against_noise, _show_against_noise),
    "FDP-Tab2": (_table, _show_table),
}
_SHORT_PAPER = {  # its two figures of results are those of the journal, with the same statement
    "FDPs-2": ("FDP-8", 8, "FDP (short paper) Fig. 2, printed again as Fig. 8 of the journal"),
    "FDPs-3": ("FDP-9", 32, "FDP (short paper) Fig. 3, printed again as Fig. 9 of the journal"),
}
FIGURES: dict[str, Callable[[Effort, Advance], Redrawn]] = {
    **{name: Study(name, *parts) for name, parts in _STUDIES.items()},
    **{
        name: Study(name, partial(_tailored, dimension), partial(_show_tailored, place), data=of)
        for name, (of, dimension, place) in _SHORT_PAPER.items()
    },
}
