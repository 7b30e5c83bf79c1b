"""A small convolutional network in NumPy: 3 x 3 filters, ReLU, 2 x 2 means, dense layers; used like the dense one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.validate.experiments.training.network import Array, Dense

_PATCH = 9  # pixels under a 3 x 3 filter


@dataclass(frozen=True)
class Convolutional:
    """One convolution over square images of one channel, followed by dense layers.

    Attributes
    ----------
    side : int
        Pixels along each side of the image, an even number.
    channels : int
        Number of filters.
    hidden : tuple of int
        Sizes of the hidden dense layers.
    classes : int

    Examples
    --------
    >>> Convolutional(8, 4, (), 10).parameters  # 4 (9 + 1) + (4 * 16 + 1) 10
    690
    """

    side: int
    channels: int
    hidden: tuple[int, ...]
    classes: int

    def __post_init__(self) -> None:
        if checks.count("side", self.side) % 2:
            raise ParameterError("side", self.side, "even, because means are taken over 2 x 2 pixels")
        checks.count("channels", self.channels)

    @property
    def head(self) -> Dense:
        """The dense layers after the filters."""
        return Dense((self.channels * (self.side // 2) ** 2, *self.hidden, self.classes))

    @property
    def filters(self) -> int:
        """Parameters of the convolution."""
        return (_PATCH + 1) * self.channels

    @property
    def parameters(self) -> int:
        return self.filters + self.head.parameters

    @property
    def blocks(self) -> list[slice]:
        """The slice of the flat vector that holds each layer's parameters."""
        shifted = (slice(self.filters + b.start, self.filters + b.stop) for b in self.head.blocks)
        return [slice(0, self.filters), *shifted]

    def initial(self, rng: np.random.Generator) -> FloatArray:
        """He's initialisation; zero biases."""
        flat = np.zeros(self.parameters)
        flat[: _PATCH * self.channels] = rng.normal(size=_PATCH * self.channels) * np.sqrt(2 / _PATCH)
        flat[self.filters :] = self.head.initial(rng)
        return flat

    def scores(self, flat: Array, x: Array) -> FloatArray:
        """Logits of x, shape (..., batch, side^2), under parameters of shape (..., m)."""
        return self.head.scores(flat[..., self.filters :], self._pooled(flat, x)[0])

    def loss_and_gradient(self, flat: Array, x: Array, y: IntArray, *, l2: float = 0.0) -> tuple[Array, Array]:
        """Mean cross-entropy plus l2/2 times the squared norm, and its gradient; shapes as in :class:`Dense`."""
        pooled, patches, active = self._pooled(flat, x)
        loss, head, back = self.head.with_input_gradient(flat[..., self.filters :], pooled, y)
        half = self.side // 2
        # a mean over 2 x 2 pixels passes a quarter of its gradient to each of them
        spread = back.reshape(*back.shape[:-1], half, half, self.channels) / 4
        spread = np.repeat(np.repeat(spread, 2, axis=-3), 2, axis=-2) * active
        filter_gradient = spread.reshape(*spread.shape[:-4], -1, self.channels)
        columns = patches.reshape(*patches.shape[:-4], -1, _PATCH)
        leading_shape = head.shape[:-1]
        weight = (np.swapaxes(columns, -1, -2) @ filter_gradient).reshape(*leading_shape, -1)
        gradient = np.concatenate([weight, filter_gradient.sum(axis=-2), head], axis=-1)
        return np.asarray(loss + l2 / 2 * np.sum(flat * flat, axis=-1)), gradient + l2 * flat if l2 else gradient

    def descend(self, flat: Array, x: Array, y: IntArray, *, rate: float, l2: float = 0.0) -> None:
        """One gradient step in place."""
        _, gradient = self.loss_and_gradient(flat, x, y, l2=l2)
        gradient *= rate
        np.subtract(flat, gradient, out=flat)

    def accuracy(self, flat: Array, x: Array, y: IntArray) -> float:
        """The fraction of the images x that is classified correctly."""
        return float(np.mean(np.argmax(self.scores(flat, x), axis=-1) == y))

    def _pooled(self, flat: Array, x: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """The 2 x 2 means of the rectified filter outputs, flattened; the patches; where the outputs are positive."""
        images = x.reshape(*x.shape[:-1], self.side, self.side)
        padded = np.pad(images, [(0, 0)] * (images.ndim - 2) + [(1, 1), (1, 1)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(-2, -1))
        patches = windows.reshape(*windows.shape[:-2], _PATCH)
        weight = flat[..., : _PATCH * self.channels].reshape(*flat.shape[:-1], 1, 1, _PATCH, self.channels)
        bias = flat[..., _PATCH * self.channels : self.filters][..., None, None, None, :]
        filtered = np.maximum(patches @ weight + bias, 0.0)
        half = self.side // 2
        pooled = filtered.reshape(*filtered.shape[:-3], half, 2, half, 2, self.channels).mean(axis=(-4, -2))
        return pooled.reshape(*pooled.shape[:-3], -1), patches, filtered > 0
