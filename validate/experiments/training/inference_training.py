"""Collaborative inference end to end: Schemes 1, 2.1 and 2.2 on views of the digits, simulated and by theory.

Three designs when only some devices are sensitive: one clip for all, weights, or clips (FDP Figs. 8 and 9).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.inference import accuracy, combiner, distortion, margin, power_limit, transmission
from airtight.analytics.inference.channel import Looks
from airtight.analytics.inference.features import Features, clipped
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers import weights
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import caps
from airtight.validate.experiments.monte_carlo import antennas, channel
from airtight.validate.experiments.training import views
from airtight.validate.experiments.training.checkpoint import label as checkpoint_label
from airtight.validate.experiments.training.checkpoint import restore, store
from airtight.validate.experiments.training.views import Setup


class Scheme(StrEnum):
    """The devices that take part: random ones, those with noisy scores up to a threshold, or with the lowest ones."""

    RANDOM = "1"
    THRESHOLD = "2.1"
    LOWEST = "2.2"


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """Parameters of Schemes 2.1 and 2.2.

    Attributes
    ----------
    score_noise : array_like
        Standard deviation of the noise on the scores, a scalar or one value per device.
    threshold : float
        The threshold eta of Scheme 2.1.
    selected : int
        The number of devices that Scheme 2.2 selects.
    """

    score_noise: ArrayLike = 0.3
    threshold: float = 0.5
    selected: int = 11

    def __post_init__(self) -> None:
        checks.real("score_noise", self.score_noise, "[0, inf)")
        checks.scalar("threshold", self.threshold)
        checks.count("selected", self.selected)


@dataclass(frozen=True, kw_only=True)
class Transmitter:
    """Limited transmit power: without it all devices are aligned.

    Attributes
    ----------
    gain, power : array_like
        Channel amplitudes h_k >= 0 and peak powers P_k > 0, scalars or one value per device.
    """

    gain: ArrayLike
    power: ArrayLike


@dataclass(frozen=True, kw_only=True)
class Air:
    """States of a channel with several looks, which the server knows and combines.

    Attributes
    ----------
    drawn : Looks
        Where it says who sends, a device takes part in a state only if it sends there.
    fresh : bool
        Whether every image of every round has a state of its own; otherwise an image keeps its state.
    """

    drawn: Looks
    fresh: bool = True


@dataclass(frozen=True)
class Measured:
    """The results of the simulated rounds, with the prediction of theory.

    Attributes
    ----------
    accuracy, accuracy_error : float
        Fraction of correct labels and its standard error over the rounds, for these images; the error is nan after one
        round.
    mse, mse_error : float
        Mean squared error of the decoded mean feature, and its standard error.
    participation : float
        Mean fraction of devices that took part.
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
        """Mean over the images of the exact MSE for Scheme 1 (nan otherwise), computed on first access.

        It is :func:`airtight.analytics.inference.distortion.exact`, or
        :func:`airtight.analytics.inference.power_limit.exact_mse` when the power is limited; over several looks the mean
        over their states of :func:`airtight.analytics.inference.combiner.errors`.
        """
        return self.theory()


def measure(
    setup: Setup,
    system: InferenceSystem,
    *,
    scheme: Scheme | str = Scheme.RANDOM,
    selection: Selection | None = None,
    transmitter: Transmitter | None = None,
    air: Air | None = None,
    rounds: int = 20,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Measured:
    """Simulate the transmission of every test image `rounds` times.

    Parameters
    ----------
    setup : Setup
    system : InferenceSystem
        Scheme 1 alone uses its participation probabilities; every scheme uses its weights unchanged.
    scheme : {"1", "2.1", "2.2"}
    selection : Selection, optional
    transmitter : Transmitter, optional
        Limited power: a device whose signal needs more power scales it down, and is then not aligned.
    air : Air, optional
        Several looks instead of one; not together with `transmitter`. In every state the server uses the combination of
        least MSE for the typical features (theorem V7 of docs/channel.md), which replaces the decoder's gain.
    rounds, seed : int
    checkpoint : Path, optional
        Written after every round; an interrupted measurement continues from it, with the same result.
    progress : callable, optional
        Called after every round with its number and the accuracy so far.

    Raises
    ------
    ParameterError
        When the number of devices or the dimension differs from the setup, or the checkpoint belongs to another run.
    """
    chosen_scheme = checks.choice("scheme", scheme, Scheme)
    chosen_selection = selection or Selection(selected=min(Selection.selected, system.devices))
    round_count = checks.count("rounds", rounds)
    start = checks.count("seed", seed, "[0, inf)")
    _check_sizes(setup, system, chosen_selection)
    reach = None
    if transmitter is not None:
        reach = transmission.reach_of(system, transmitter.gain, transmitter.power)
    if air is not None and transmitter is not None:
        raise ParameterError("transmitter", "given", "absent over several looks, whose channel has its own power limit")
    parts = [system, chosen_scheme.value, chosen_selection, reach, _digest(setup), start]
    label = checkpoint_label(*parts) if air is None else checkpoint_label(*parts, *_of_air(air))
    u = None if air is None else combiner.at_states(system, _typical(setup), air.drawn).combination
    saved = restore(checkpoint, label)
    means = saved["means"] if saved else np.zeros((0, 3))
    target = setup.features.mean(axis=1)
    signal = system.weight[:, None] * clipped((setup.features - setup.centre) @ setup.encoder.T, system.clip)
    weight, bias = setup.classifier
    while len(means) < round_count:
        rng = np.random.default_rng([start, 41, len(means)])
        tau = _participants(setup, system, chosen_scheme, chosen_selection, rng)
        if air is None or u is None:
            received = system.decoder_gain * channel.receive(system, tau, signal, rng, reach=reach)
        else:
            state = _states(setup, air, start, len(means))
            if air.drawn.sends is not None:
                tau = _given_sending(tau, air.drawn.sends[state], chosen_scheme)
            received = antennas.combined(antennas.receive(system, air.drawn, state, tau, signal, rng), u[state])
        decoded = received / system.alignment @ setup.decoder.T
        decoded += setup.centre.mean(axis=0)
        error = np.sum((decoded - target) ** 2, axis=1)
        correct = np.argmax(decoded @ weight.T + bias, axis=1) == setup.labels
        means = np.vstack([means, [correct.mean(), error.mean(), tau.mean()]])
        store(checkpoint, label, {"means": means})
        if progress is not None:
            progress(len(means) - 1, float(means[:, 0].mean()))
    means = means[:round_count]
    right_share, mse, participation_share = means.mean(axis=0)
    errors = means.std(axis=0, ddof=1) / np.sqrt(round_count) if round_count > 1 else np.full(3, np.nan)
    return Measured(
        accuracy=float(right_share),
        accuracy_error=float(errors[0]),
        mse=float(mse),
        mse_error=float(errors[1]),
        participation=float(participation_share),
        theory=lambda: (
            float("nan")
            if chosen_scheme is not Scheme.RANDOM
            else _exact_mse(setup, system, transmitter)
            if air is None or u is None
            else _mse_over_looks(setup, system, air, u, start)
        ),
    )


def _of_air(air: Air) -> tuple[str, bool]:
    parts = [air.drawn.coefficients, np.asarray(air.drawn.receiver_noise_variance)]
    parts += [] if air.drawn.sends is None else [air.drawn.sends]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest(), air.fresh


def _typical(setup: Setup) -> Features:
    return Features(f=setup.typical - setup.centre, W=setup.encoder, D=setup.decoder)


def _states(setup: Setup, air: Air, seed: int, number: int) -> IntArray:
    """The state of every image in a round."""
    rng = np.random.default_rng([seed, 43, number if air.fresh else 0])
    return np.asarray(rng.integers(len(air.drawn.coefficients), size=setup.labels.size))


def _given_sending(tau: FloatArray, sends: NDArray[np.bool_], scheme: Scheme) -> FloatArray:
    """Who takes part: the channel alone decides it for Scheme 1; what a selection chooses may be unable to send."""
    return sends.astype(float) if scheme is Scheme.RANDOM else tau * sends


def _mse_over_looks(setup: Setup, system: InferenceSystem, air: Air, u: NDArray[Any], seed: int) -> float:
    """Mean over the images, and over their states where each round has new ones, of the exact MSE."""
    per_image = []
    state = _states(setup, air, seed, 0)
    for i in range(setup.labels.size):
        errors = combiner.errors(system, views.of_image(setup, i), air.drawn, u)
        per_image.append(float(np.mean(errors)) if air.fresh else float(errors[state[i]]))
    return float(np.mean(per_image))


def _digest(setup: Setup) -> str:
    arrays = (setup.features, setup.labels, setup.entropy, setup.encoder, setup.decoder, *setup.classifier)
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


def _check_sizes(setup: Setup, system: InferenceSystem, selection: Selection) -> None:
    K, r = setup.features.shape[1], len(setup.encoder)
    if system.devices != K:
        raise ParameterError("devices", system.devices, f"{K}, the number of views")
    if system.dimension != r:
        raise ParameterError("dimension", system.dimension, f"{r}, the dimension of the code")
    if selection.selected > K:
        raise ParameterError("selected", selection.selected, f"in [1, {K}]")
    checks.vector("score_noise", selection.score_noise, K, "[0, inf)")


def _participants(
    setup: Setup, system: InferenceSystem, kind: Scheme, selection: Selection, rng: np.random.Generator
) -> FloatArray:
    """tau, shape (N, K): 1 for a device that takes part, for every image."""
    if kind is Scheme.RANDOM:
        return np.asarray(rng.random(setup.entropy.shape) < system.participation, dtype=float)
    noisy = setup.entropy + np.asarray(selection.score_noise) * rng.normal(size=setup.entropy.shape)
    if kind is Scheme.THRESHOLD:
        return np.asarray(noisy <= selection.threshold, dtype=float)
    # argsort of argsort is the rank of each device
    return np.asarray(np.argsort(np.argsort(noisy, axis=1), axis=1) < selection.selected, dtype=float)


def _exact_mse(setup: Setup, system: InferenceSystem, transmitter: Transmitter | None) -> float:
    images = (views.of_image(setup, i) for i in range(setup.labels.size))
    if transmitter is None:
        return float(np.mean([distortion.exact(system, image_features) for image_features in images]))
    gain, power = transmitter.gain, transmitter.power
    return float(
        np.mean(
            [power_limit.exact_mse(system, image_features, gain=gain, power=power).total for image_features in images]
        )
    )


@dataclass(frozen=True)
class Promised:
    """Lower bounds of the accuracy on some images, with the measured accuracy on the same images.

    Attributes
    ----------
    markov, exact : float
        Theorem 2 with the exact MSE, and the exact probability that the error stays within the exact margin, averaged
        over the images; an image that the server classifies wrongly without noise counts as 0.
    published : float
        Theorem 2 with the printed MSE.
    measured, error : float
        Measured accuracy and its standard error.
    """

    markov: float
    exact: float
    published: float
    measured: float
    error: float


def promise(setup: Setup, system: InferenceSystem, images: IntArray, *, rounds: int = 200, seed: int = 0) -> Promised:
    """Accuracy bounds for the given test images and Scheme 1, and the simulated accuracy."""
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
    measured = measure(views.part(setup, images), system, rounds=rounds, seed=seed)
    markov, exact, published = np.mean(rows, axis=0)
    return Promised(float(markov), float(exact), float(published), measured.accuracy, measured.accuracy_error)


class Design(StrEnum):
    """The parameters that are tuned so that every sensitive device keeps the cap on its exact epsilon.

    ``uniform``: one clip for all devices, the greatest at which every sensitive device keeps the cap; weights
    unchanged. ``weights``: the weights of least exact MSE, with upper bounds for sensitive devices; clips unchanged.
    ``clips``: the clips of sensitive devices only; weights unchanged.
    """

    UNIFORM = "uniform"
    WEIGHTS = "weights"
    CLIPS = "clips"


def apply(
    system: InferenceSystem,
    features: Features,
    *,
    sensitive: NDArray[np.bool_],
    epsilon: float,
    design: Design | str,
) -> InferenceSystem:
    """The system with the design's clips or weights.

    Parameters
    ----------
    system : InferenceSystem
        The designs ``uniform`` and ``clips`` keep its weights.
    features : Features
        Typical features, for which weights are optimised.
    sensitive : ndarray of bool, shape (K,)
        The devices that the cap protects; the others are not limited.
    epsilon : float
        The cap, at the system's delta and adjacency.
    design : {"uniform", "weights", "clips"}

    Raises
    ------
    InfeasibleError
        When a sensitive device exceeds the cap even with weight 0 (adjacency ``absent``), or no positive clip keeps it.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, views = _example()
    >>> first = np.array([True, False, False])
    >>> apply(system, views, sensitive=first, epsilon=0.5, design="clips").clip.round(3)
    array([2.204, 4.   , 4.   ])
    """
    chosen_design = checks.choice("design", design, Design)
    is_sensitive = np.asarray(sensitive, dtype=bool)
    if is_sensitive.shape != (system.devices,):
        raise ParameterError(
            "sensitive", f"array of shape {is_sensitive.shape}", f"an array of {system.devices} booleans"
        )
    if chosen_design is Design.WEIGHTS:
        limit = np.where(is_sensitive, _checked_limits(caps.greatest_weights(system, epsilon)), np.inf)
        return replace(system, weight=weights.solve(system, features, w_max=limit, sums_to_one=False).w)
    limit = np.where(is_sensitive, _checked_limits(caps.greatest_clips(system, epsilon)), np.inf)
    if chosen_design is Design.UNIFORM:
        limit = np.full(system.devices, limit.min())
    if not np.all(limit > 0):
        raise InfeasibleError(f"device {int(np.argmin(limit))}: no positive clip keeps epsilon = {epsilon:g}")
    return replace(system, clip=np.minimum(system.clip, limit))


def _checked_limits(limit: FloatArray) -> FloatArray:
    """The limits, unless one is nan: then no weight or clip of that device keeps the cap."""
    if np.any(np.isnan(limit)):
        raise InfeasibleError(
            f"device {int(np.argmax(np.isnan(limit)))}: even with weight 0 its absence reveals more than the cap allows"
        )
    return limit
