"""A dense network in NumPy, batched over clients: all parameters in one flat vector, an axis of clients in front."""

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
    """Fully connected layers with ReLU between them and softmax cross-entropy behind.

    Attributes
    ----------
    sizes : tuple of int
        Inputs, hidden layers, classes.

    Examples
    --------
    >>> Dense((784, 128, 64, 10)).parameters
    109386
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) < 2:
            raise ParameterError("sizes", self.sizes, "at least inputs and classes")
        for size in self.sizes:
            checks.count("sizes", size)

    @property
    def parameters(self) -> int:
        return sum((a + 1) * b for a, b in pairwise(self.sizes))

    @property
    def blocks(self) -> list[slice]:
        """Where each layer's parameters stand in the flat vector."""
        ends = np.cumsum([0, *((a + 1) * b for a, b in pairwise(self.sizes))])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def layers(self, flat: Array) -> list[Layer]:
        """Named views; writing into them writes into `flat`."""
        found = []
        for block, inputs, outputs in zip(self.blocks, self.sizes[:-1], self.sizes[1:], strict=True):
            part = flat[..., block]
            weight = part[..., : inputs * outputs].reshape(*flat.shape[:-1], inputs, outputs)
            found.append(Layer(weight, part[..., inputs * outputs :]))
        return found

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
        """Mean cross-entropy, its gradient, and its gradient in x: for what stands in front of these layers."""
        return self._gradients(flat, x, y, to_input=True)

    def _gradients(self, flat: Array, x: Array, y: IntArray, *, to_input: bool = False) -> tuple[Array, Array, Array]:
        gradient = np.empty(np.broadcast_shapes(flat.shape[:-1], x.shape[:-2]) + flat.shape[-1:], dtype=flat.dtype)
        slots = self.layers(gradient)
        back = self._backward(flat, x, y, to_input=to_input)
        loss, inward = next(back), x
        for k, weight, bias in back:
            if k < 0:
                inward = weight
            else:
                slots[k].weight[...] = weight
                slots[k].bias[...] = bias
        return np.asarray(loss), gradient, inward

    def descend(self, flat: Array, x: Array, y: IntArray, *, rate: float, l2: float = 0.0) -> None:
        """One gradient step in place, layer by layer: no second array of the size of `flat`."""
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
        """The mean cross-entropy; then, last layer first, its number and `scale` times the gradients of weights and biases.

        With `to_input` at last -1 and the gradient in x.
        """
        layers = self.layers(flat)
        inputs = [x]
        for layer in layers[:-1]:
            inputs.append(np.maximum(inputs[-1] @ layer.weight + layer.bias[..., None, :], 0.0))
        logits = inputs[-1] @ layers[-1].weight + layers[-1].bias[..., None, :]
        logits -= logits.max(axis=-1, keepdims=True)
        back = np.exp(logits)
        total = back.sum(axis=-1, keepdims=True)
        own = np.take_along_axis(logits, y[..., None], axis=-1)
        yield np.mean(np.log(total[..., 0]) - own[..., 0], axis=-1)
        back /= total
        np.put_along_axis(back, y[..., None], np.take_along_axis(back, y[..., None], axis=-1) - 1, axis=-1)
        back *= scale / y.shape[-1]
        for k in range(len(layers) - 1, -1, -1):
            found = k, np.swapaxes(inputs[k], -1, -2) @ back, back.sum(axis=-2)
            if k:
                back = (back @ np.swapaxes(layers[k].weight, -1, -2)) * (inputs[k] > 0)
            elif to_input:
                back = back @ np.swapaxes(layers[k].weight, -1, -2)
            yield found
        if to_input:
            yield -1, back, None

    def accuracy(self, flat: Array, x: Array, y: IntArray) -> float:
        """Share of x that is classified right."""
        return float(np.mean(np.argmax(self.scores(flat, x), axis=-1) == y))
