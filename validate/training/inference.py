"""Collaborative inference end to end on twelve views of each digit: extractor, codec, channel, classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analytics import checks
from analytics.checks import FloatArray, IntArray
from analytics.inference import accuracy, distortion, margin, uncertainty
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from validate.monte_carlo import channel
from validate.training import data
from validate.training.network import Dense

_HIDDEN = 32
_STEPS = 800
_SIDE = 8


class Scheme(StrEnum):
    """Who takes part: at random; whose noisy score is below a threshold; those of the lowest noisy scores."""

    RANDOM = "1"
    THRESHOLD = "2.1"
    LOWEST = "2.2"


@dataclass(frozen=True)
class Setup:
    """Twelve (or K) views of the digits and what was trained on them.

    Attributes
    ----------
    features : ndarray, shape (N, K, d)
        Of the test part, by device.
    labels : ndarray of int, shape (N,)
    entropy : ndarray, shape (N, K)
        Shannon entropy of each device's own prediction: its uncertainty score.
    min_entropy : ndarray, shape (N, K)
        The other score of FDP Sec. V.
    encoder, decoder : ndarray, shapes (r, d) and (d, r)
        Principal components of the training features, without centering: linear, as the paper has it.
    classifier : tuple of ndarray
        Weights (10, d) and biases of the server's linear classifier of the mean feature.
    typical : ndarray, shape (K, d)
        Mean training feature of every device, for designs.
    ideal : float
        Accuracy without channel, noise or codec.
    """

    features: FloatArray
    labels: IntArray
    entropy: FloatArray
    min_entropy: FloatArray
    encoder: FloatArray
    decoder: FloatArray
    classifier: tuple[FloatArray, FloatArray]
    typical: FloatArray
    ideal: float


def views(images: FloatArray, devices: int, rng: np.random.Generator) -> FloatArray:
    """Seeded rotation, occlusion and noise, the worse the higher the device; shape (K, N, 64).

    Examples
    --------
    >>> views(np.zeros((3, 64)), 4, np.random.default_rng(0)).shape
    (4, 3, 64)
    """
    from scipy.ndimage import rotate

    out = np.empty((devices, len(images), images.shape[1]))
    for k in range(devices):
        share = k / max(devices - 1, 1)
        turned = rotate(
            images.reshape(-1, _SIDE, _SIDE),
            float(rng.uniform(-1, 1) * (5 + 25 * share)),
            axes=(1, 2),
            reshape=False,
            order=1,
        )
        size = round(3 * share)
        if size:
            top, left = rng.integers(0, _SIDE - size, 2)
            turned[:, top : top + size, left : left + size] = 0.0
        noisy = turned.reshape(len(images), -1) + (0.05 + 0.35 * share) * rng.normal(size=images.shape)
        out[k] = np.clip(noisy, 0.0, 1.0)
    return out


def prepare(*, devices: int = 12, dimension: int = 8, seed: int = 0) -> Setup:
    """Train extractor and classifier, and find the codec.

    Parameters
    ----------
    devices : int
    dimension : int
        r <= 32, of the code.
    seed : int
    """
    K, r = checks.count("devices", devices), checks.count("dimension", dimension, f"[1, {_HIDDEN}]")
    task = data.load(data.Source.DIGITS, seed=seed)
    rng = np.random.default_rng([seed, 21])
    seen = views(np.concatenate([task.train.x, task.test.x]), K, rng)
    trained, tested = seen[:, : task.train.y.size], seen[:, task.train.y.size :]
    extractor = Dense((task.inputs, _HIDDEN, task.classes))
    flat = _fit(extractor, trained.reshape(-1, task.inputs), np.tile(task.train.y, K), rng)
    first = extractor.layers(flat)[0]
    training = np.moveaxis(np.maximum(trained @ first.weight + first.bias, 0.0), 0, 1)
    testing = np.moveaxis(np.maximum(tested @ first.weight + first.bias, 0.0), 0, 1)
    _, _, components = np.linalg.svd(training.reshape(-1, _HIDDEN), full_matrices=False)
    server = Dense((_HIDDEN, task.classes))
    last = server.layers(_fit(server, training.mean(axis=1), task.train.y, rng))[0]
    scores = np.moveaxis(extractor.scores(flat, tested), 0, 1)
    probabilities = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    guess = np.argmax(testing.mean(axis=1) @ last.weight + last.bias, axis=1)
    return Setup(
        features=testing,
        labels=task.test.y,
        entropy=uncertainty.shannon(probabilities),
        min_entropy=uncertainty.min_entropy(probabilities),
        encoder=components[:r],
        decoder=components[:r].T,
        classifier=(np.array(last.weight.T, dtype=float), np.array(last.bias, dtype=float)),
        typical=training.mean(axis=0),
        ideal=float(np.mean(guess == task.test.y)),
    )


def _fit(network: Dense, x: FloatArray, y: IntArray, rng: np.random.Generator) -> FloatArray:
    flat = network.initial(rng)
    for step in range(_STEPS):
        rows = rng.integers(0, y.size, 128)
        _, gradient = network.loss_and_gradient(flat, x[rows], y[rows], l2=1e-4)
        flat -= 0.3 * (1 - step / _STEPS) * gradient
    return flat


@dataclass(frozen=True)
class Measured:
    """What came out of the simulated rounds, beside what theory says of them.

    Attributes
    ----------
    accuracy, accuracy_error : float
        Share of right labels and its standard error.
    mse, mse_error : float
        Of the decoded mean feature, and its standard error.
    exact_mse : float
        Mean over the images of :func:`analytics.inference.distortion.exact` (Scheme 1; nan otherwise).
    participation : float
        Mean share of devices that took part.
    """

    accuracy: float
    accuracy_error: float
    mse: float
    mse_error: float
    exact_mse: float
    participation: float


def measure(
    setup: Setup,
    system: InferenceSystem,
    *,
    scheme: Scheme | str = Scheme.RANDOM,
    rounds: int = 20,
    rng: np.random.Generator,
    score_noise: float = 0.3,
    threshold: float = 0.5,
    selected: int = 11,
) -> Measured:
    """Send every test image `rounds` times through the channel.

    Parameters
    ----------
    setup : Setup
    system : InferenceSystem
        Its participation counts in Scheme 1 only; its weights are used as they are.
    score_noise, threshold, selected
        Of Schemes 2.1 and 2.2.
    """
    kind = checks.choice("scheme", scheme, Scheme)
    times = checks.count("rounds", rounds)
    f = np.repeat(setup.features, times, axis=0)
    labels = np.repeat(setup.labels, times)
    if kind is Scheme.RANDOM:
        tau = rng.random(f.shape[:2]) < system.participation
    else:
        noisy = np.repeat(setup.entropy, times, axis=0) + score_noise * rng.normal(size=f.shape[:2])
        tau = noisy <= threshold
        if kind is Scheme.LOWEST:
            tau = np.argsort(np.argsort(noisy, axis=1), axis=1) < checks.count(
                "selected", selected, f"[1, {system.devices}]"
            )
    code = f @ setup.encoder.T
    length = np.linalg.norm(code, axis=2, keepdims=True)
    code *= np.minimum(1.0, system.clip[:, None] / np.maximum(length, 1e-300))
    received = channel.receive(system, tau.astype(float), system.weight[:, None] * code, rng)
    decoded = received / system.alignment @ setup.decoder.T
    error = np.sum((decoded - f.mean(axis=1)) ** 2, axis=1)
    weight, bias = setup.classifier
    right = np.argmax(decoded @ weight.T + bias, axis=1) == labels
    exact = float("nan")
    if kind is Scheme.RANDOM:
        exact = float(np.mean([distortion.exact(system, of_image(setup, i)) for i in range(len(setup.labels))]))
    count = np.sqrt(labels.size)
    return Measured(
        float(right.mean()),
        float(right.std() / count),
        float(error.mean()),
        float(error.std() / count),
        exact,
        float(tau.mean()),
    )


def of_image(setup: Setup, image: int) -> Features:
    """The features of one test image with the shared codec."""
    return Features(f=setup.features[image], W=setup.encoder, D=setup.decoder)


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


def promise(
    setup: Setup, system: InferenceSystem, images: IntArray, *, rounds: int = 200, rng: np.random.Generator
) -> Promised:
    """Accuracy bounds for the given test images and Scheme 1, met by simulation."""
    weight, bias = setup.classifier
    rows = []
    for i in np.asarray(images):
        features = of_image(setup, int(i))
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
    part = replace(
        setup,
        features=setup.features[images],
        labels=setup.labels[images],
        entropy=setup.entropy[images],
        min_entropy=setup.min_entropy[images],
    )
    found = measure(part, system, rounds=rounds, rng=rng)
    markov, exact, published = np.mean(rows, axis=0)
    return Promised(float(markov), float(exact), float(published), found.accuracy, found.accuracy_error)
