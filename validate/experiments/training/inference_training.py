"""Collaborative inference end to end: Schemes 1, 2.1 and 2.2 on the twelve views, measured beside what theory says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.inference import accuracy, distortion, margin, power_limit, transmission
from airtight.analytics.inference.features import clipped
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.experiments.monte_carlo import channel
from airtight.validate.experiments.training import views
from airtight.validate.experiments.training.checkpoint import label as checkpoint_label
from airtight.validate.experiments.training.checkpoint import restore, store
from airtight.validate.experiments.training.views import Setup


class Scheme(StrEnum):
    """Who takes part: at random; whose noisy score is below a threshold; those of the lowest noisy scores."""

    RANDOM = "1"
    THRESHOLD = "2.1"
    LOWEST = "2.2"


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """Of Schemes 2.1 and 2.2: standard deviation of the scores' noise (one, or K), the threshold eta, how many are selected."""

    score_noise: ArrayLike = 0.3
    threshold: float = 0.5
    selected: int = 11

    def __post_init__(self) -> None:
        checks.real("score_noise", self.score_noise, "[0, inf)")
        checks.scalar("threshold", self.threshold)
        checks.count("selected", self.selected)


@dataclass(frozen=True, kw_only=True)
class Transmitter:
    """Channel amplitudes h_k >= 0 and peak powers P_k > 0, scalars or K of them; without it all devices are aligned."""

    gain: ArrayLike
    power: ArrayLike


@dataclass(frozen=True)
class Measured:
    """What came out of the simulated rounds, beside what theory says of them.

    Attributes
    ----------
    accuracy, accuracy_error : float
        Share of right labels and its standard error over the rounds (these images given); nan after one round.
    mse, mse_error : float
        Of the decoded mean feature, and its standard error.
    participation : float
        Mean share of devices that took part.
    theory : callable
        Computes `exact_mse`.
    """

    accuracy: float
    accuracy_error: float
    mse: float
    mse_error: float
    participation: float
    theory: Callable[[], float] = field(repr=False, compare=False)

    @cached_property
    def exact_mse(self) -> float:
        """Mean over the images of the exact MSE for Scheme 1 (nan otherwise), computed when asked for.

        That is :func:`airtight.analytics.inference.distortion.exact`, or
        :func:`airtight.analytics.inference.power_limit.exact_mse` when the power is limited.
        """
        return self.theory()


def measure(
    setup: Setup,
    system: InferenceSystem,
    *,
    scheme: Scheme | str = Scheme.RANDOM,
    selection: Selection | None = None,
    transmitter: Transmitter | None = None,
    rounds: int = 20,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Measured:
    """Send every test image `rounds` times through the channel.

    Parameters
    ----------
    setup : Setup
    system : InferenceSystem
        Its participation probabilities are used in Scheme 1 only, its weights unchanged.
    scheme : {"1", "2.1", "2.2"}
    selection : Selection, optional
    transmitter : Transmitter, optional
        Limited power: whose signal is too strong for it sends it shortened, and is not aligned.
    rounds, seed : int
    checkpoint : Path, optional
        Written after every round; an interrupted measurement goes on from it, with the same result.
    progress : callable, optional
        Called after every round with its number and the accuracy so far.

    Raises
    ------
    ParameterError
        When the system has other numbers of devices or dimensions than the setup, or the checkpoint is of another run.
    """
    kind = checks.choice("scheme", scheme, Scheme)
    chosen = selection or Selection()
    times = checks.count("rounds", rounds)
    start = checks.count("seed", seed, "[0, inf)")
    _fits(setup, system, chosen)
    reach = None
    if transmitter is not None:
        reach = transmission.reach_of(system, transmitter.gain, transmitter.power)
    label = checkpoint_label(system, kind.value, chosen, reach, _digest(setup), start)
    kept = restore(checkpoint, label)
    means = kept["means"] if kept else np.zeros((0, 3))
    target = setup.features.mean(axis=1)
    signal = system.weight[:, None] * clipped((setup.features - setup.centre) @ setup.encoder.T, system.clip)
    weight, bias = setup.classifier
    while len(means) < times:
        rng = np.random.default_rng([start, 41, len(means)])
        tau = _participants(setup, system, kind, chosen, rng)
        received = channel.receive(system, tau, signal, rng, reach=reach)
        decoded = system.decoder_gain / system.alignment * received @ setup.decoder.T
        decoded += setup.centre.mean(axis=0)
        error = np.sum((decoded - target) ** 2, axis=1)
        right = np.argmax(decoded @ weight.T + bias, axis=1) == setup.labels
        means = np.vstack([means, [right.mean(), error.mean(), tau.mean()]])
        store(checkpoint, label, {"means": means})
        if progress is not None:
            progress(len(means) - 1, float(means[:, 0].mean()))
    means = means[:times]
    right_share, mse, present = means.mean(axis=0)
    errors = means.std(axis=0, ddof=1) / np.sqrt(times) if times > 1 else np.full(3, np.nan)
    return Measured(
        accuracy=float(right_share),
        accuracy_error=float(errors[0]),
        mse=float(mse),
        mse_error=float(errors[1]),
        participation=float(present),
        theory=lambda: _exact_mse(setup, system, transmitter) if kind is Scheme.RANDOM else float("nan"),
    )


def _digest(setup: Setup) -> str:
    arrays = (setup.features, setup.labels, setup.entropy, setup.encoder, setup.decoder, *setup.classifier)
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


def _fits(setup: Setup, system: InferenceSystem, selection: Selection) -> None:
    K, r = setup.features.shape[1], len(setup.encoder)
    if system.devices != K:
        raise ParameterError("devices", system.devices, f"{K}, as many as there are views")
    if system.dimension != r:
        raise ParameterError("dimension", system.dimension, f"{r}, the dimension of the code")
    if selection.selected > K:
        raise ParameterError("selected", selection.selected, f"in [1, {K}]")
    checks.vector("score_noise", selection.score_noise, K, "[0, inf)")


def _participants(
    setup: Setup, system: InferenceSystem, kind: Scheme, selection: Selection, rng: np.random.Generator
) -> FloatArray:
    if kind is Scheme.RANDOM:
        return np.asarray(rng.random(setup.entropy.shape) < system.participation, dtype=float)
    noisy = setup.entropy + np.asarray(selection.score_noise) * rng.normal(size=setup.entropy.shape)
    if kind is Scheme.THRESHOLD:
        return np.asarray(noisy <= selection.threshold, dtype=float)
    return np.asarray(np.argsort(np.argsort(noisy, axis=1), axis=1) < selection.selected, dtype=float)


def _exact_mse(setup: Setup, system: InferenceSystem, transmitter: Transmitter | None) -> float:
    images = (views.of_image(setup, i) for i in range(setup.labels.size))
    if transmitter is None:
        return float(np.mean([distortion.exact(system, one) for one in images]))
    gain, power = transmitter.gain, transmitter.power
    return float(np.mean([power_limit.exact_mse(system, one, gain=gain, power=power).total for one in images]))


@dataclass(frozen=True)
class Promised:
    """Lower bounds on the accuracy over some images, beside the measured accuracy on the same.

    Attributes
    ----------
    markov, exact : float
        Theorem 2 with the exact MSE, and the exact probability of staying within the exact margin, averaged over the images;
        an image that the server gets wrong without noise counts 0.
    published : float
        Theorem 2 with the printed MSE.
    measured, error : float
        Accuracy and its standard error.
    """

    markov: float
    exact: float
    published: float
    measured: float
    error: float


def promise(setup: Setup, system: InferenceSystem, images: IntArray, *, rounds: int = 200, seed: int = 0) -> Promised:
    """Accuracy bounds for the given test images and Scheme 1, met by simulation."""
    weight, bias = setup.classifier[0], setup.classifier[1] + setup.classifier[0] @ setup.centre.mean(axis=0)
    rows = []
    for i in np.asarray(images):
        features = views.of_image(setup, int(i))
        label = int(setup.labels[i])
        if int(np.argmax(weight @ features.target + bias)) != label:
            rows.append((0.0, 0.0, 0.0))
            continue
        reach = margin.exact_linear([(weight, bias)], features.target, label=label)
        rows.append(
            (
                float(accuracy.markov(distortion.exact(system, features), margin=reach)),
                accuracy.exact(system, features, margin=reach).estimate,
                float(accuracy.markov(distortion.published(system, features), margin=reach)),
            )
        )
    found = measure(views.part(setup, images), system, rounds=rounds, seed=seed)
    markov, exact, published = np.mean(rows, axis=0)
    return Promised(float(markov), float(exact), float(published), found.accuracy, found.accuracy_error)
