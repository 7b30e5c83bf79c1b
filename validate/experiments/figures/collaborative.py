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
from airtight.analytics.privacy.over_the_air import amplification, feature_aware
from airtight.solvers.design.calibration import calibrate
from airtight.validate.experiments.figures.figure import Advance, Effort, Redrawn, Shown, Study
from airtight.validate.experiments.figures.finding import POSITIVE, Comparison, Finding
from airtight.validate.experiments.figures.style import COLOURS, STYLE, figure_of, label_ends
from airtight.validate.experiments.figures.table import Table
from airtight.validate.experiments.training import designs, inference_training, views

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
_NOISE = np.geomspace(1e-3, 3.0, 10)
_CAPS = np.array([3.9811, 6.3096, 10.0])
_SCORE_NOISE = 0.1
_THRESHOLDS, _SELECTED = (1.0, 1.5, 2.0, 2.5, 3.0), (6, 8, 10, 11)  # to choose from
_SCHEMES = {"1": "Scheme 1, p = .9", "2.1": "Scheme 2.1", "2.2": "Scheme 2.2"}
_PRINTED = {"1": (0.5051, 0.7386, 0.8275), "2.1": (0.5614, 0.7774, 0.8389), "2.2": (0.5181, 0.7521, 0.8310)}
_DIGITS = "twelve views of handwritten digits instead of ModelNet"
_SMALL = 0.015


def _noisy(variance: float) -> InferenceSystem:
    return replace(_SYSTEM, noise_variance=np.full(_SYSTEM.devices, variance))


def _seeds(effort: Effort) -> IntArray:
    return np.arange(effort.seeds)


# Fig. 2

_DIMENSIONS = (2, 4, 8, 16, 32)


def _lengths(effort: Effort, advance: Advance) -> xr.Dataset:
    """Accuracy against the privacy leakage for several encoded dimensions."""
    systems = [_noisy(float(v)) for v in _NOISE]
    epsilon = np.array([float(np.max(amplification.exact_epsilon(one))) for one in systems])
    accuracy = np.empty((len(_DIMENSIONS), effort.seeds, epsilon.size))
    for i, r in enumerate(_DIMENSIONS):
        for seed in range(effort.seeds):
            setup = views.prepare(dimension=r, seed=seed)
            accuracy[i, seed] = [
                inference_training.measure(setup, replace(one, dimension=r), rounds=4, seed=seed).accuracy
                for one in systems
            ]
    return xr.Dataset(
        {"accuracy": (("dimension", "seed", "noise"), accuracy)},
        coords={"dimension": list(_DIMENSIONS), "noise": _NOISE, "epsilon": ("noise", epsilon), "seed": _seeds(effort)},
    )


def _show_lengths(data: xr.Dataset) -> Shown:
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
    finding = Finding.of(
        "performance worsens for higher dimensions, at the same epsilon (footnote 3)",
        [Comparison.points("r = 8 less r = 32", worse, POSITIVE)],
    )
    about = (
        "Analogue of FDP Fig. 2: accuracy against the exact epsilon of a device for several encoded dimensions; principal "
        f"components, {_DIGITS}, mean of {data.sizes['seed']} seeds."
    )
    return Shown(about, figure, finding)


# Fig. 3


def _entropies(effort: Effort, advance: Advance) -> xr.Dataset:
    """Shannon and min-entropy of the devices' own predictions."""
    setups = [views.prepare(seed=seed) for seed in range(effort.seeds)]
    values = {
        "shannon": np.stack([one.entropy.mean(axis=0) for one in setups]),
        "min": np.stack([one.min_entropy.mean(axis=0) for one in setups]),
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
        for place, (name, label) in enumerate((("shannon", "Shannon entropy (bits)"), ("min", "min-entropy (bits)"))):
            axes = figure.add_subplot(2, 1, place + 1)
            axes.bar(data.device, data[name].mean("seed"), color=COLOURS[0])
            axes.set(ylabel=label, xlabel="device" if place else "", xticks=data.device.values)
    pairs = zip(data.shannon.values, data["min"].values, strict=True)
    agreement = [float(stats.spearmanr(a, b).statistic) for a, b in pairs]
    finding = Finding.of(
        "both functions exhibit similar behaviour across the devices (a rank correlation of at least .9)",
        [Comparison.of("Spearman's correlation", agreement, (0.9, math.inf))],
    )
    about = f"Analogue of FDP Fig. 3: mean entropies of the devices' own predictions, {_DIGITS}, of falling quality."
    return Shown(about, figure, finding)


# Figs. 8 and 9

_DESIGNS = {"uniform": "one clip for all", "weights": "optimised weights", "clips": "clips of the sensitive"}


def _customised(dimension: int, effort: Effort, advance: Advance) -> xr.Dataset:
    """Half of the devices sensitive: one clip for all, optimised weights, or clips of their own."""
    caps = np.geomspace(0.1, 20.0, 8)
    kinds = tuple(designs.Design)
    sensitive = np.arange(_SYSTEM.devices) % 2 == 0
    base = replace(_SYSTEM, dimension=dimension)
    accuracy = np.empty((len(kinds), effort.seeds, caps.size))
    for seed in range(effort.seeds):
        setup = views.prepare(dimension=dimension, codec="trained", seed=seed)
        typical = Features(f=setup.typical, W=setup.encoder, D=setup.decoder)
        for i, kind in enumerate(kinds):
            for j, cap in enumerate(caps):
                made = designs.apply(base, typical, sensitive=sensitive, epsilon=float(cap), design=kind)
                accuracy[i, seed, j] = inference_training.measure(setup, made, rounds=4, seed=seed).accuracy
        advance(f"r = {dimension}, seed {seed}")
    return xr.Dataset(
        {"accuracy": (("design", "seed", "epsilon"), accuracy)},
        coords={"design": [kind.value for kind in kinds], "epsilon": caps, "seed": _seeds(effort)},
        attrs={"dimension": dimension},
    )


def _show_customised(number: int, data: xr.Dataset) -> Shown:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for colour, (design, label) in zip(COLOURS, _DESIGNS.items(), strict=False):
            one = data.accuracy.sel(design=design)
            axes.plot(data.epsilon, one.mean("seed"), ".-", label=label, color=colour)
            axes.fill_between(data.epsilon, one.min("seed"), one.max("seed"), color=colour, alpha=0.15, linewidth=0)
        axes.set(xscale="log", xlabel="cap on the exact epsilon of sensitive devices (silent)", ylabel="accuracy")
        axes.set(ylim=(0, 1))
        axes.legend(fontsize=8, loc="lower right")
    strict, loose = (data.accuracy.isel(epsilon=places) for places in ([0, 1], [-1]))

    def lead(of: xr.DataArray, design: str) -> FloatArray:
        mean = of.mean("epsilon")
        return np.asarray(mean.sel(design=design).values - mean.sel(design="uniform").values)

    finding = Finding.of(
        "tailored designs are superior where privacy is stringent, one clip for all comes near (1.5 points) where it is loose",
        [
            Comparison.points("weights - uniform, strict", lead(strict, "weights"), POSITIVE),
            Comparison.points("clips - uniform, strict", lead(strict, "clips"), POSITIVE),
            Comparison.points("weights - uniform, loose", lead(loose, "weights"), (-math.inf, _SMALL)),
        ],
    )
    about = (
        f"Analogue of FDP Fig. {number}: six of twelve devices are sensitive; code of {data.attrs['dimension']} dimensions, "
        f"trained codec, {_DIGITS}, mean and range of {data.sizes['seed']} seeds. The weights minimise the exact MSE. Strict: "
        "the two least caps."
    )
    return Shown(about, figure, finding)


# Table II and Fig. 10


def _chosen(
    effort: Effort, prepared: Callable[[int], views.Setup], systems: list[InferenceSystem]
) -> inference_training.Selection:
    """Threshold and number of devices of the best mean accuracy on seeds that are not reported."""

    def score(scheme: str, selection: inference_training.Selection) -> float:
        found = [
            inference_training.measure(
                prepared(seed), one, scheme=scheme, selection=selection, rounds=2, seed=seed
            ).accuracy
            for seed in effort.choosing
            for one in systems
        ]
        return float(np.mean(found))

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
    """Accuracy and participation of the three schemes in each system."""
    selection = _chosen(effort, prepared, systems)
    accuracy = np.empty((len(_SCHEMES), effort.seeds, len(systems)))
    taking = np.empty((len(_SCHEMES), effort.seeds))
    for seed in range(effort.seeds):
        setup = prepared(seed)
        for i, scheme in enumerate(_SCHEMES):
            for j, system in enumerate(systems):
                found = inference_training.measure(
                    setup, system, scheme=scheme, selection=selection, rounds=rounds, seed=seed
                )
                accuracy[i, seed, j] = found.accuracy
            taking[i, seed] = found.participation
        advance(f"seed {seed}")
    return xr.Dataset(
        {"accuracy": (("scheme", "seed", "system"), accuracy), "participation": (("scheme", "seed"), taking)},
        coords={"scheme": list(_SCHEMES), "seed": _seeds(effort)},
        attrs={
            "threshold": selection.threshold,
            "selected": selection.selected,
            "validation_seeds": effort.validation,
        },
    )


def _order(data: xr.Dataset) -> Finding:
    """What Fig. 10 and Table II say of the schemes."""
    mean = data.accuracy.mean("system")

    def lead(first: str, second: str) -> Comparison:
        values = mean.sel(scheme=first).values - mean.sel(scheme=second).values
        return Comparison.points(f"{first} - {second}", values, POSITIVE)

    return Finding.of(
        "the feature-aware schemes improve accuracy, and Scheme 2.1 outperforms 2.2",
        [lead("2.1", "1"), lead("2.2", "1"), lead("2.1", "2.2")],
    )


def _rules(data: xr.Dataset) -> str:
    of = data.attrs
    return (
        f"threshold {of['threshold']:g} bits and {of['selected']} of 12 chosen on {of['validation_seeds']} other seeds"
    )


def _table(effort: Effort, advance: Advance) -> xr.Dataset:
    """Accuracy of the three schemes at three levels of privacy, and what the scores cost besides."""
    unit = _noisy(0.01)
    systems = [calibrate.calibrate(unit, cap).system for cap in _CAPS]
    data = _schemes(effort, advance, lambda seed: views.prepare(codec="trained", seed=seed), systems, 8)
    sensitivity = uncertainty.sensitivity(10)
    chosen = inference_training.Selection(
        score_noise=_SCORE_NOISE, threshold=data.attrs["threshold"], selected=data.attrs["selected"]
    )
    spent = np.array([[_spent(scheme, chosen, system, sensitivity) for system in systems] for scheme in _SCHEMES])
    return data.assign(spent=(("scheme", "system"), spent)).assign_coords(epsilon=("system", _CAPS))


def _spent(scheme: str, chosen: inference_training.Selection, system: InferenceSystem, sensitivity: float) -> float:
    """The epsilon that the scheme guarantees to every device, at the system's delta."""
    match scheme:
        case "1":
            return float(np.max(amplification.exact_epsilon(system)))
        case "2.1":
            found = feature_aware.proven_threshold(
                system, noise=_SCORE_NOISE, sensitivity=sensitivity, eta=chosen.threshold, greatest_score=sensitivity
            )
        case _:
            found = feature_aware.proven_lowest(
                system, noise=_SCORE_NOISE, sensitivity=sensitivity, selected=chosen.selected
            )
    return float(np.max(found.epsilon))


def _show_table(data: xr.Dataset) -> Shown:
    rows = []
    for j, cap in enumerate(data.epsilon.values):
        at = data.isel(system=j)
        ours = [at.accuracy.sel(scheme=name) for name in _SCHEMES]
        rows.append(
            [
                f"{cap:g}",
                *(f"{float(a.mean()):.4f} ± {float(a.std(ddof=min(1, a.size - 1))):.4f}" for a in ours),
                *(f"{_PRINTED[name][j]:.4f}" for name in _SCHEMES),
                *(f"{e:.4g}" for e in at.spent.values),
            ]
        )
    head = ["ε max", *(f"Scheme {n}" for n in _SCHEMES), *(f"paper, {n}" for n in _SCHEMES)]
    head += [f"true ε, {n}" for n in _SCHEMES]
    about = (
        f"Analogue of FDP Table II: accuracy, mean and standard deviation of {data.sizes['seed']} seeds ({_DIGITS}; "
        f"{_rules(data)}), with the noise that gives Scheme 1 the exact epsilon of the first column (silent, delta = 1e-5), "
        "beside the means that the paper prints for its own data. The last columns are what each scheme then really guarantees "
        "(proven, the noisy scores included: unscaled entropies of sensitivity log2(10) under noise of .1)."
    )
    return Shown(about, Table(tuple(head), tuple(map(tuple, rows))), _order(data))


def _against_noise(effort: Effort, advance: Advance) -> xr.Dataset:
    """Schemes 1, 2.1 and 2.2 against the noise."""
    systems = [_noisy(float(v)) for v in _NOISE]
    data = _schemes(effort, advance, lambda seed: views.prepare(seed=seed), systems, 4)
    return data.assign_coords(noise=("system", _NOISE))


def _show_against_noise(data: xr.Dataset) -> Shown:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of(6.8, 4.0)
        axes = figure.add_subplot()
        ends = []
        for colour, (name, label) in zip(COLOURS, _SCHEMES.items(), strict=False):
            mean = data.accuracy.sel(scheme=name).mean("seed")
            share = float(data.participation.sel(scheme=name).mean())
            axes.plot(data.noise, mean, ".-", color=colour)
            ends.append((float(mean[-1]), f"{label}:\n{share:.2f} take part", colour))
        axes.set(xscale="log", xlabel="noise variance of a device", ylabel="accuracy", ylim=(0, 1))
        label_ends(axes, ends, gap=0.1)
    about = (
        "Analogue of FDP Fig. 10: accuracy of the feature-agnostic scheme and of the feature-aware ones against the noise; "
        f"{_DIGITS}, mean of {data.sizes['seed']} seeds; {_rules(data)}. The aware schemes also release noisy scores: their "
        "privacy is worse (FDP-L2)."
    )
    return Shown(about, figure, _order(data))


_STUDIES: dict[str, tuple[Callable[[Effort, Advance], xr.Dataset], Callable[[xr.Dataset], Shown]]] = {
    "FDP-2": (_lengths, _show_lengths),
    "FDP-3": (_entropies, _show_entropies),
    "FDP-8": (partial(_customised, 8), partial(_show_customised, 8)),
    "FDP-9": (partial(_customised, 32), partial(_show_customised, 9)),
    "FDP-10": (_against_noise, _show_against_noise),
    "FDP-Tab2": (_table, _show_table),
}
FIGURES: dict[str, Callable[[Effort, Advance], Redrawn]] = {
    name: Study(name, *parts) for name, parts in _STUDIES.items()
}
