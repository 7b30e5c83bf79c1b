"""FDP Figs. 2, 3, 8, 9, 10 and Table II: analogues on twelve views of handwritten digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from analytics.guarantee import Adjacency
from analytics.inference import uncertainty
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification, feature_aware
from solvers.design import calibration
from validate.experiments.figures.figure import Advance, Effort, Redrawn
from validate.experiments.figures.style import STYLE, drawn_table, figure_of
from validate.experiments.training import designs, inference, views

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
_SELECTION = inference.Selection(score_noise=0.1, threshold=2.0, selected=11)
_SCHEMES = (("1", "Scheme 1, p = .9"), ("2.1", "Scheme 2.1"), ("2.2", "Scheme 2.2, 11 of 12"))


def _noisy(variance: float) -> InferenceSystem:
    return replace(_SYSTEM, noise_variance=np.full(_SYSTEM.devices, variance))


def figure_2(effort: Effort, advance: Advance) -> Redrawn:
    """Accuracy against the privacy leakage for several encoded dimensions."""
    import matplotlib as mpl

    dimensions = (2, 4, 8, 16, 32)
    systems = [_noisy(float(v)) for v in _NOISE]
    epsilon = np.array([float(np.max(amplification.exact_epsilon(one))) for one in systems])
    accuracy = np.empty((len(dimensions), effort.seeds, epsilon.size))
    for i, r in enumerate(dimensions):
        for seed in range(effort.seeds):
            setup = views.prepare(dimension=r, seed=seed)
            accuracy[i, seed] = [
                inference.measure(setup, replace(one, dimension=r), rounds=4, seed=seed).accuracy for one in systems
            ]
    data = xr.Dataset(
        {"accuracy": (("dimension", "seed", "noise"), accuracy)},
        coords={"dimension": list(dimensions), "noise": _NOISE, "epsilon": ("noise", epsilon)},
    )
    advance("FDP-2")
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for r in dimensions:
            axes.plot(data.epsilon, data.accuracy.sel(dimension=r).mean("seed"), ".-", label=f"r = {r}")
        axes.set(xscale="log", xlabel="exact epsilon at delta = 1e-5 (silent)", ylabel="accuracy", ylim=(0, 1))
        axes.legend(fontsize=8)
    caption = (
        "Analogue of FDP Fig. 2: accuracy against the exact epsilon of a device for several encoded dimensions; twelve views of "
        f"handwritten digits instead of ModelNet, mean of {effort.seeds} seeds."
    )
    return Redrawn("FDP-2", caption, data, figure)


def figure_3(effort: Effort, advance: Advance) -> Redrawn:
    """Shannon and min-entropy of the devices' own predictions."""
    import matplotlib as mpl

    setup = views.prepare()
    values = {"shannon": setup.entropy.mean(axis=0), "min": setup.min_entropy.mean(axis=0)}
    data = xr.Dataset({name: ("device", value) for name, value in values.items()}, coords={"device": np.arange(1, 13)})
    advance("FDP-3")
    with mpl.rc_context(STYLE):
        figure = figure_of(6.4, 4.6)
        for place, (name, label) in enumerate((("shannon", "Shannon entropy"), ("min", "min-entropy"))):
            axes = figure.add_subplot(2, 1, place + 1)
            axes.bar(data.device, data[name], color="#2166ac")
            axes.set(ylabel=label, xlabel="device" if place else "")
    caption = (
        "Analogue of FDP Fig. 3: mean entropies of the devices' own predictions for twelve views of falling quality; both order "
        "the devices alike."
    )
    return Redrawn("FDP-3", caption, data, figure)


def _customised(name: str, dimension: int, effort: Effort, advance: Advance) -> Redrawn:
    """Half of the devices sensitive: one clip for all, optimised weights, or clips of their own."""
    import matplotlib as mpl

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
                accuracy[i, seed, j] = inference.measure(setup, made, rounds=4, seed=seed).accuracy
    data = xr.Dataset(
        {"accuracy": (("design", "seed", "epsilon"), accuracy)},
        coords={"design": [kind.value for kind in kinds], "epsilon": caps},
    )
    advance(name)
    labels = {"uniform": "one clip for all", "weights": "optimised weights", "clips": "clips of the sensitive"}
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for design, label in labels.items():
            one = data.accuracy.sel(design=design)
            line = axes.plot(data.epsilon, one.mean("seed"), ".-", label=label)[0]
            axes.fill_between(data.epsilon, one.min("seed"), one.max("seed"), color=line.get_color(), alpha=0.15)
        axes.set(xscale="log", xlabel="cap on the exact epsilon of sensitive devices (silent)", ylabel="accuracy")
        axes.set(ylim=(0, 1))
        axes.legend(fontsize=8)
    caption = (
        f"Analogue of FDP Fig. {name.removeprefix('FDP-')}: six of twelve devices are sensitive; code of {dimension} "
        f"dimensions, trained codec, mean and range of {effort.seeds} seeds. As in the paper, designs for the sensitive "
        "devices win where privacy is strict and one clip for all catches up where it is loose; unlike there, the longer of the "
        "two codes is not worse. The weights minimise the exact MSE."
    )
    return Redrawn(name, caption, data, figure)


def figure_8(effort: Effort, advance: Advance) -> Redrawn:
    """Customised privacy, short code."""
    return _customised("FDP-8", 8, effort, advance)


def figure_9(effort: Effort, advance: Advance) -> Redrawn:
    """Customised privacy, long code."""
    return _customised("FDP-9", 32, effort, advance)


def table_2(effort: Effort, advance: Advance) -> Redrawn:
    """Accuracy of the three schemes at three levels of privacy, and what the scores cost besides."""
    caps = np.array([3.9811, 6.3096, 10.0])
    unit = replace(_SYSTEM, noise_variance=np.full(_SYSTEM.devices, 0.01))
    systems = [replace(unit, noise_variance=calibration.noise(unit, cap) * unit.noise_variance) for cap in caps]
    accuracy = np.empty((len(_SCHEMES), caps.size, effort.seeds))
    for seed in range(effort.seeds):
        setup = views.prepare(codec="trained", seed=seed)
        for i, (scheme, _) in enumerate(_SCHEMES):
            for j, system in enumerate(systems):
                found = inference.measure(setup, system, scheme=scheme, selection=_SELECTION, rounds=8, seed=seed)
                accuracy[i, j, seed] = found.accuracy
    sensitivity = uncertainty.sensitivity(10)
    spent = np.array([[_spent(scheme, system, sensitivity) for system in systems] for scheme, _ in _SCHEMES])
    data = xr.Dataset(
        {"accuracy": (("scheme", "epsilon", "seed"), accuracy), "spent": (("scheme", "epsilon"), spent)},
        coords={"scheme": [name for name, _ in _SCHEMES], "epsilon": caps},
    )
    advance("FDP-Tab2")
    rows = [
        [
            f"{cap:g}",
            *(
                f"{float(a.mean()):.4f} ± {float(a.std(ddof=min(1, a.size - 1))):.4f}"
                for a in data.accuracy.sel(epsilon=cap)
            ),
            *(f"{e:.4g}" for e in data.spent.sel(epsilon=cap).values),
        ]
        for cap in caps
    ]
    names = [name for name, _ in _SCHEMES]
    caption = (
        f"Analogue of FDP Table II: accuracy, mean and standard deviation of {effort.seeds} seeds, with the noise that gives "
        "Scheme 1 the exact epsilon of the first column (silent, delta = 1e-5). The last columns are what each scheme then "
        "really guarantees (proven, the noisy scores included: unscaled entropies of sensitivity log2(10) under noise of .1)."
    )
    head = ["ε max", *(f"Scheme {n}" for n in names), *(f"true ε, {n}" for n in names)]
    return Redrawn("FDP-Tab2", caption, data, drawn_table(head, rows))


def _spent(scheme: str, system: InferenceSystem, sensitivity: float) -> float:
    """The epsilon that the scheme guarantees to every device, at the system's delta."""
    noise = _SELECTION.score_noise
    match scheme:
        case "1":
            return float(np.max(amplification.exact_epsilon(system)))
        case "2.1":
            found = feature_aware.proven_threshold(
                system, noise=noise, sensitivity=sensitivity, eta=_SELECTION.threshold, greatest_score=sensitivity
            )
        case _:
            found = feature_aware.proven_lowest(
                system, noise=noise, sensitivity=sensitivity, selected=_SELECTION.selected
            )
    return float(np.max(found.epsilon))


def figure_10(effort: Effort, advance: Advance) -> Redrawn:
    """Schemes 1, 2.1 and 2.2 against the noise."""
    import matplotlib as mpl

    accuracy = np.empty((len(_SCHEMES), effort.seeds, _NOISE.size))
    taking = np.empty((len(_SCHEMES), effort.seeds))
    for seed in range(effort.seeds):
        setup = views.prepare(seed=seed)
        for i, (scheme, _) in enumerate(_SCHEMES):
            for j, noise in enumerate(_NOISE):
                system = _noisy(float(noise))
                found = inference.measure(setup, system, scheme=scheme, selection=_SELECTION, rounds=4, seed=seed)
                accuracy[i, seed, j] = found.accuracy
            taking[i, seed] = found.participation
    data = xr.Dataset(
        {"accuracy": (("scheme", "seed", "noise"), accuracy), "participation": (("scheme", "seed"), taking)},
        coords={"scheme": [name for name, _ in _SCHEMES], "noise": _NOISE},
    )
    advance("FDP-10")
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, label in _SCHEMES:
            one = data.sel(scheme=name)
            share = float(one.participation.mean())
            axes.plot(data.noise, one.accuracy.mean("seed"), ".-", label=f"{label}: {share:.2f} take part")
        axes.set(xscale="log", xlabel="noise variance of a device", ylabel="accuracy", ylim=(0, 1))
        axes.legend(fontsize=8)
    caption = (
        "Analogue of FDP Fig. 10: accuracy of the feature-agnostic scheme and of the feature-aware ones against the noise; "
        f"twelve views of handwritten digits, mean of {effort.seeds} seeds. The aware schemes also release noisy scores: their "
        "privacy is worse (FDP-L2)."
    )
    return Redrawn("FDP-10", caption, data, figure)


FIGURES = {
    "FDP-2": figure_2,
    "FDP-3": figure_3,
    "FDP-8": figure_8,
    "FDP-9": figure_9,
    "FDP-10": figure_10,
    "FDP-Tab2": table_2,
}
