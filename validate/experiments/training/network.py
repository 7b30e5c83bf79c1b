"""A dense network in NumPy, batched over clients: all parameters in one flat vector, leading axes for clients.

A small convolutional network in NumPy: 3 x 3 filters, ReLU, 2 x 2 means, dense layers; used like the dense one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError

Array = NDArray[np.floating[Any]]


class Layer(NamedTuple):
    """Views into a flat vector: weights (..., inputs, outputs) and biases (..., outputs)."""

    weight: Array
    bias: Array


@dataclass(frozen=True)
class Dense:
    """Fully connected layers with ReLU between them, and softmax cross-entropy as the loss.

    Attributes
    ----------
    sizes : tuple of int
        Number of inputs, sizes of the hidden layers, number of classes.

    Examples
    --------
    >>> Dense((784, 128, 64, 10)).parameters
    109386
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) < 2:
            raise ParameterError("sizes", self.sizes, "at least two sizes: inputs and classes")
        for size in self.sizes:
            checks.count("sizes", size)

    @property
    def parameters(self) -> int:
        return sum((a + 1) * b for a, b in pairwise(self.sizes))

    @property
    def blocks(self) -> list[slice]:
        """The slice of the flat vector that holds each layer's parameters."""
        ends = np.cumsum([0, *((a + 1) * b for a, b in pairwise(self.sizes))])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def layers(self, flat: Array) -> list[Layer]:
        """Views of the weights and biases of each layer; writing into them writes into `flat`."""
        views = []
        for block, inputs, outputs in zip(self.blocks, self.sizes[:-1], self.sizes[1:], strict=True):
            layer_values = flat[..., block]
            weight = layer_values[..., : inputs * outputs].reshape(*flat.shape[:-1], inputs, outputs)
            views.append(Layer(weight, layer_values[..., inputs * outputs :]))
        return views

    def initial(self, rng: np.random.Generator) -> FloatArray:
        """He's initialisation; zero biases."""
        flat = np.zeros(self.parameters)
        for layer in self.layers(flat):
            layer.weight[...] = rng.normal(size=layer.weight.shape) * np.sqrt(2 / layer.weight.shape[-2])
        return flat

    def scores(self, flat: Array, x: Array) -> FloatArray:
        """Logits of x, shape (..., batch, inputs), under parameters of shape (..., m)."""
        *hidden, last = self.layers(flat)
        for layer in hidden:
            x = np.maximum(x @ layer.weight + layer.bias[..., None, :], 0.0)
        return np.asarray(x @ last.weight + last.bias[..., None, :])

    def loss_and_gradient(self, flat: Array, x: Array, y: IntArray, *, l2: float = 0.0) -> tuple[Array, Array]:
        """Mean cross-entropy plus l2/2 times the squared norm, and its gradient.

        Parameters
        ----------
        flat : ndarray, shape (..., m)
        x : ndarray, shape (..., batch, inputs)
        y : ndarray of int, shape (..., batch)

        Returns
        -------
        ndarray, shape (...), and ndarray, shape (..., m)
        """
        loss, gradient, _ = self._gradients(flat, x, y)
        if l2:
            gradient += l2 * flat
        return np.asarray(loss + l2 / 2 * np.sum(flat * flat, axis=-1)), gradient

    def with_input_gradient(self, flat: Array, x: Array, y: IntArray) -> tuple[Array, Array, Array]:
        """Mean cross-entropy, its gradient in `flat` and in x; layers before these need the gradient in x."""
        return self._gradients(flat, x, y, to_input=True)

    def _gradients(self, flat: Array, x: Array, y: IntArray, *, to_input: bool = False) -> tuple[Array, Array, Array]:
        gradient = np.empty(np.broadcast_shapes(flat.shape[:-1], x.shape[:-2]) + flat.shape[-1:], dtype=flat.dtype)
        slots = self.layers(gradient)
        backward = self._backward(flat, x, y, to_input=to_input)
        loss, input_gradient = next(backward), x
        for k, weight, bias in backward:
            if k < 0:
                input_gradient = weight
            else:
                slots[k].weight[...] = weight
                slots[k].bias[...] = bias
        return np.asarray(loss), gradient, input_gradient

    def descend(self, flat: Array, x: Array, y: IntArray, *, rate: float, l2: float = 0.0) -> None:
        """One gradient step in place, layer by layer, which needs no second array of the size of `flat`."""
        back = self._backward(flat, x, y, scale=rate)
        next(back)
        layers = self.layers(flat)
        for k, *slopes in back:
            for value, slope in zip(layers[k], slopes, strict=True):
                if l2:
                    np.multiply(value, 1 - rate * l2, out=value)
                np.subtract(value, slope, out=value)

    def _backward(
        self, flat: Array, x: Array, y: IntArray, scale: float = 1.0, to_input: bool = False
    ) -> Iterator[Any]:
        """Backpropagation: yields the mean cross-entropy, then the gradients layer by layer, the last layer first.

        Each later item is the number of a layer and `scale` times the gradients of its weights and biases. With
        `to_input` the final item is -1, the gradient in x, and None.
        """
        layers = self.layers(flat)
        inputs = [x]
        for layer in layers[:-1]:
            inputs.append(np.maximum(inputs[-1] @ layer.weight + layer.bias[..., None, :], 0.0))
        logits = inputs[-1] @ layers[-1].weight + layers[-1].bias[..., None, :]
        logits -= logits.max(axis=-1, keepdims=True)
        back = np.exp(logits)
        total = back.sum(axis=-1, keepdims=True)
        true_logit = np.take_along_axis(logits, y[..., None], axis=-1)
        yield np.mean(np.log(total[..., 0]) - true_logit[..., 0], axis=-1)
        # gradient in the logits: softmax minus the indicator of the true class
        back /= total
        np.put_along_axis(back, y[..., None], np.take_along_axis(back, y[..., None], axis=-1) - 1, axis=-1)
        back *= scale / y.shape[-1]
        for k in range(len(layers) - 1, -1, -1):
            item = k, np.swapaxes(inputs[k], -1, -2) @ back, back.sum(axis=-2)
            if k:
                back = (back @ np.swapaxes(layers[k].weight, -1, -2)) * (inputs[k] > 0)
            elif to_input:
                back = back @ np.swapaxes(layers[k].weight, -1, -2)
            yield item
        if to_input:
            yield -1, back, None

    def accuracy(self, flat: Array, x: Array, y: IntArray) -> float:
        """Fraction of the rows of x that are classified correctly."""
        return float(np.mean(np.argmax(self.scores(flat, x), axis=-1) == y))


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
