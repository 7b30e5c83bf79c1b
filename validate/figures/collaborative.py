"""FDP Figs. 2, 3 and 10: analogues on twelve views of handwritten digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from analytics.guarantee import Adjacency
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification
from validate.figures.figure import Advance, Effort, Redrawn
from validate.report.style import STYLE, figure_of
from validate.training import inference

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
            setup = inference.prepare(dimension=r, seed=seed)
            rng = np.random.default_rng([seed, 31])
            accuracy[i, seed] = [
                inference.measure(setup, replace(one, dimension=r), rounds=4, rng=rng).accuracy for one in systems
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

    setup = inference.prepare()
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


def figure_10(effort: Effort, advance: Advance) -> Redrawn:
    """Schemes 1, 2.1 and 2.2 against the noise."""
    import matplotlib as mpl

    schemes = (("1", "Scheme 1, p = .9"), ("2.1", "Scheme 2.1"), ("2.2", "Scheme 2.2, 11 of 12"))
    accuracy = np.empty((len(schemes), effort.seeds, _NOISE.size))
    taking = np.empty((len(schemes), effort.seeds))
    for seed in range(effort.seeds):
        setup = inference.prepare(seed=seed)
        rng = np.random.default_rng([seed, 32])
        for i, (scheme, _) in enumerate(schemes):
            for j, noise in enumerate(_NOISE):
                system = _noisy(float(noise))
                found = inference.measure(
                    setup, system, scheme=scheme, rounds=4, rng=rng, score_noise=0.1, threshold=2.0, selected=11
                )
                accuracy[i, seed, j] = found.accuracy
            taking[i, seed] = found.participation
    data = xr.Dataset(
        {"accuracy": (("scheme", "seed", "noise"), accuracy), "participation": (("scheme", "seed"), taking)},
        coords={"scheme": [name for name, _ in schemes], "noise": _NOISE},
    )
    advance("FDP-10")
    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for name, label in schemes:
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


FIGURES = {"FDP-2": figure_2, "FDP-3": figure_3, "FDP-10": figure_10}
