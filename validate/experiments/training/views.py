"""Views of each digit with decreasing quality, and the feature extractor, codec and classifier trained on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import numpy as np
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.inference import uncertainty
from airtight.analytics.inference.features import Features
from airtight.validate.experiments.training import data
from airtight.validate.experiments.training.network import Dense, Layer
from airtight.validate.experiments.training.own_data import OwnData
from airtight.validate.experiments.training.training_plan import Dataset

WIDTH = 32  # dimension of a feature: outputs of the extractor's first layer
_STEPS = 800  # gradient steps of each training
_SIDE = 8  # pixels along each side of an image
MOST_DEVICES = 200  # greatest number of devices; each has its own view of all images
_PRESENCE = 0.9  # probability that a device takes part while the codec is trained
_CODE_NOISE = 0.5  # standard deviation of the channel noise while the codec is trained, relative to the code's RMS
_PUBLIC = 64  # training images whose features are public, for designs


class Codec(StrEnum):
    """Principal components, a pair trained through the noisy channel, or the directions that discriminate the classes.

    The last one subtracts a public centre before coding: most of a code's norm is its mean, which does not depend on
    the class.
    """

    PCA = "pca"
    TRAINED = "trained"
    DISCRIMINATING = "discriminating"


@dataclass(frozen=True)
class Setup:
    """K views of the digits (K = 12 by default), and the extractor's features, codec and classifier trained on them.

    Attributes
    ----------
    features : ndarray, shape (N, K, d)
        Features of the test images, by device.
    labels : ndarray of int, shape (N,)
    entropy : ndarray, shape (N, K)
        Shannon entropy of each device's own prediction: its uncertainty score.
    min_entropy : ndarray, shape (N, K)
        Min-entropy of the same prediction, the other score of FDP Sec. V.
    encoder, decoder : ndarray, shapes (r, d) and (d, r)
        Linear, as in (3) and (8) of the paper.
    classifier : tuple of ndarray
        Weights (10, d) and biases of the server's linear classifier of the mean feature.
    typical : ndarray, shape (K, d)
        Mean training feature of every device, for designs.
    ideal : float
        Accuracy without channel, noise or codec.
    centre : ndarray, shape (K, d)
        Public centre: it is subtracted from every feature before coding, and its mean over the devices is added after
        decoding; 0 except for the discriminating codec.
    public : ndarray, shape (64, K, d)
        Features of training images, for designs.
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
    centre: FloatArray
    public: FloatArray


def views(images: FloatArray, devices: int, rng: np.random.Generator) -> FloatArray:
    """Views by random rotation, occlusion and noise, which increase with the device number; shape (K, N, 64).

    Examples
    --------
    >>> views(np.zeros((3, 64)), 4, np.random.default_rng(0)).shape
    (4, 3, 64)
    """
    from scipy.ndimage import rotate

    out = np.empty((devices, len(images), images.shape[1]))
    for k in range(devices):
        badness = k / max(devices - 1, 1)
        rotated = rotate(
            images.reshape(-1, _SIDE, _SIDE),
            float(rng.uniform(-1, 1) * (5 + 25 * badness)),
            axes=(1, 2),
            reshape=False,
            order=1,
        )
        size = round(3 * badness)
        if size:
            top, left = rng.integers(0, _SIDE - size, 2)
            rotated[:, top : top + size, left : left + size] = 0.0
        noisy = rotated.reshape(len(images), -1) + (0.05 + 0.35 * badness) * rng.normal(size=images.shape)
        out[k] = np.clip(noisy, 0.0, 1.0)
    return out


def prepare(
    *,
    devices: int = 12,
    dimension: int = 8,
    codec: Codec | str = Codec.PCA,
    seed: int = 0,
    source: data.Source = Dataset.DIGITS,
) -> Setup:
    """Train extractor and classifier, and determine the codec.

    Parameters
    ----------
    devices : int
        At most 200.
    dimension : int
        Dimension r <= 32 of the code.
    codec : {"pca", "trained", "discriminating"}
        Principal components of the training features, without centering; or a pair of matrices that starts from these
        and is trained by gradient descent for the server's cross-entropy and the squared error after a noisy channel,
        with the encoder's Frobenius norm held fixed (otherwise it would grow until the noise is negligible); or the
        directions that discriminate the classes.
    seed : int
    source : Dataset or OwnData
        Data of a user bring their views: :meth:`airtight.validate.experiments.training.own_data.OwnData.views`.

    Raises
    ------
    ParameterError
        When a parameter is not allowed.
    """
    chosen_codec = checks.choice("codec", codec, Codec)
    K = checks.count("devices", devices, f"[1, {MOST_DEVICES}]")
    r = checks.count("dimension", dimension, f"[1, {WIDTH}]")
    return _prepared(K, r, chosen_codec, checks.count("seed", seed, "[0, inf)"), source)


@lru_cache(maxsize=16)
def _prepared(K: int, r: int, codec: Codec, seed: int, source: data.Source) -> Setup:
    task = data.load(source, seed=seed)
    rng = np.random.default_rng([seed, 21])
    if isinstance(source, OwnData):
        train_rows, _, test_rows = data.cut(source.y.size, seed)
        own = source.views(K)
        train_views, test_views = own[:, train_rows], own[:, test_rows]
    else:
        all_views = views(np.concatenate([task.train.x, task.test.x]), K, rng)
        train_views, test_views = all_views[:, : task.train.y.size], all_views[:, task.train.y.size :]
    inputs = train_views.shape[-1]
    extractor = Dense((inputs, WIDTH, task.classes))
    flat = _fit(extractor, train_views.reshape(-1, inputs), np.tile(task.train.y, K), rng)
    first = extractor.layers(flat)[0]
    training = np.moveaxis(np.maximum(train_views @ first.weight + first.bias, 0.0), 0, 1)
    testing = np.moveaxis(np.maximum(test_views @ first.weight + first.bias, 0.0), 0, 1)
    _, _, components = np.linalg.svd(training.reshape(-1, WIDTH), full_matrices=False)
    server = Dense((WIDTH, task.classes))
    last = server.layers(_fit(server, training.mean(axis=1), task.train.y, rng))[0]
    scores = np.moveaxis(extractor.scores(flat, test_views), 0, 1)
    probabilities = special.softmax(scores, axis=-1)
    encoder, decoder = components[:r], components[:r].T
    if codec is Codec.TRAINED:
        encoder, decoder = _trained_codec(encoder, training, task.train.y, last, np.random.default_rng([seed, 22]))
    centre = np.zeros(training.shape[1:])
    if codec is Codec.DISCRIMINATING:
        centre = training.mean(axis=0)
        encoder, decoder = _discriminating(training - centre, task.train.y, r)
    guess = np.argmax(testing.mean(axis=1) @ last.weight + last.bias, axis=1)
    return Setup(
        features=testing,
        labels=task.test.y,
        entropy=uncertainty.shannon(probabilities),
        min_entropy=uncertainty.min_entropy(probabilities),
        encoder=encoder,
        decoder=decoder,
        classifier=(np.array(last.weight.T, dtype=float), np.array(last.bias, dtype=float)),
        typical=training.mean(axis=0),
        ideal=float(np.mean(guess == task.test.y)),
        centre=centre,
        public=training[:_PUBLIC],
    )


def _fit(network: Dense, x: FloatArray, y: IntArray, rng: np.random.Generator) -> FloatArray:
    flat = network.initial(rng)
    for step in range(_STEPS):
        rows = rng.integers(0, y.size, 128)
        _, gradient = network.loss_and_gradient(flat, x[rows], y[rows], l2=1e-4)
        flat -= 0.3 * (1 - step / _STEPS) * gradient
    return flat


def _trained_codec(
    encoder: FloatArray, features: FloatArray, y: IntArray, classifier: Layer, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """W and D that minimise cross-entropy + squared error / 10 of the decoded feature.

    Every device takes part with probability 0.9, and the received code has noise.
    """
    norm = np.linalg.norm(encoder)
    W, D = encoder.copy(), encoder.T.copy()
    V, bias = np.asarray(classifier.weight, dtype=float), np.asarray(classifier.bias, dtype=float)
    N, K = features.shape[:2]
    for step in range(_STEPS):
        rows = rng.integers(0, N, 128)
        present = rng.random((rows.size, K, 1)) < _PRESENCE
        pooled = np.mean(features[rows] * present, axis=1) / _PRESENCE
        target = features[rows].mean(axis=1)
        code = pooled @ W.T
        received = code + _CODE_NOISE * np.sqrt(np.mean(code * code)) * rng.normal(size=code.shape)
        decoded = received @ D.T
        logits = decoded @ V + bias
        slope = special.softmax(logits, axis=1)
        slope[np.arange(rows.size), y[rows]] -= 1
        back = (slope @ V.T + 0.2 * (decoded - target)) / rows.size
        W_slope, D_slope = (back @ D).T @ pooled, back.T @ received
        steepness = float(np.hypot(np.linalg.norm(W_slope), np.linalg.norm(D_slope)))
        rate = 0.1 * (1 - step / _STEPS) / max(steepness, 1.0)
        D -= rate * D_slope
        W -= rate * W_slope
        W *= norm / np.linalg.norm(W)
    return W, D


def _discriminating(features: FloatArray, y: IntArray, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Encoder and decoder for the directions of greatest scatter between classes relative to the length of a code.

    The rows of the encoder are generalised eigenvectors of two matrices: the scatter of the pooled features between
    classes, and the scatter of the single views. The decoder is the linear regression of the pooled feature on the
    pooled code, where the code of every view is normalised to length 1.
    """
    from scipy import linalg

    pooled = features.mean(axis=1)
    means = np.stack([pooled[y == label].mean(axis=0) for label in np.unique(y)])
    share = np.array([np.mean(y == label) for label in np.unique(y)])
    between = (means * share[:, None]).T @ means
    single = features.reshape(-1, features.shape[-1])
    within = single.T @ single / len(single)
    # eigh needs a positive definite second matrix
    within += 1e-3 * np.trace(within) / len(within) * np.eye(len(within))
    _, axes = linalg.eigh(between, within)
    W = axes[:, ::-1][:, :dimension].T
    codes = features @ W.T
    length = np.linalg.norm(codes, axis=-1, keepdims=True)
    code = np.mean(codes / np.maximum(length, 1e-12), axis=1)
    D = np.linalg.lstsq(code, pooled, rcond=None)[0].T
    return np.asarray(W), np.asarray(D)


def of_image(setup: Setup, image: int) -> Features:
    """The features of one test image with the shared codec, without the public centre."""
    return Features(f=setup.features[image] - setup.centre, W=setup.encoder, D=setup.decoder)


def part(setup: Setup, images: IntArray) -> Setup:
    """The same setup with these test images only."""
    return replace(
        setup,
        features=setup.features[images],
        labels=setup.labels[images],
        entropy=setup.entropy[images],
        min_entropy=setup.min_entropy[images],
    )
