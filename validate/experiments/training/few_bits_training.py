"""Few-bit quantizers in the training loop, all with the same exact epsilon of one parameter against one uplink."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.federated.corbin import antithetic
from airtight.analytics.federated.few_bits import modular_noise, quantizer_laws
from airtight.analytics.federated.few_bits.modular_noise import Noise
from airtight.solvers.design.quantizer import quantizer_design, quantizer_pair
from airtight.validate.experiments.training.training_plan import Mechanism

_KEEP = np.linspace(0.02, 0.95, 32)  # values of q, RQM's probability to keep a level, among which the best is taken
_PIECE = 4096  # parameters of a pair whose joint laws are in memory at once


class Sender(Protocol):
    """A quantizer that one client applies to one parameter in [-1, 1]."""

    def send(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """An unbiased output for each input."""

    def variance(self, x: FloatArray) -> FloatArray:
        """The exact variance of the output for each input."""


@dataclass(frozen=True)
class Binomial:
    """PBM: the number of heads of `trials` coins, each with probability 1/2 + theta x."""

    trials: int
    theta: float

    def send(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        return np.asarray((rng.binomial(self.trials, 0.5 + self.theta * x) / self.trials - 0.5) / self.theta)

    def variance(self, x: FloatArray) -> FloatArray:
        return np.asarray((0.25 / self.theta**2 - x * x) / self.trials)


@dataclass(frozen=True)
class Table:
    """A law given at finitely many inputs and linear between them; its outputs increase."""

    inputs: FloatArray
    outputs: FloatArray
    law: FloatArray

    @classmethod
    def of(cls, inputs: FloatArray, outputs: FloatArray, law: FloatArray) -> Table:
        """A table from outputs in any order."""
        order = np.argsort(outputs, kind="stable")
        return cls(inputs, outputs[order], law[:, order])

    def at(self, x: FloatArray) -> FloatArray:
        """The law for each input, shape (m, k)."""
        return np.stack([np.interp(x, self.inputs, column) for column in self.law.T], axis=-1)

    def draw(self, x: FloatArray, level: FloatArray) -> FloatArray:
        """The output at a level of the distribution function (inverse transform), with one level per input."""
        below = np.zeros(x.shape, dtype=np.int64)
        for column in np.cumsum(self.law, axis=1).T[:-1]:
            below += level > np.interp(x, self.inputs, column)
        return np.asarray(self.outputs[below])

    def send(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.draw(x, rng.random(x.shape))

    def variance(self, x: FloatArray) -> FloatArray:
        return np.asarray(np.interp(x, self.inputs, self.law @ self.outputs**2) - x * x)

    def pair_error(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Squared error of the sum of an antithetic pair."""
        errors = np.empty(x.size)
        for i in range(0, x.size, _PIECE):
            x_piece, y_piece = x[i : i + _PIECE], y[i : i + _PIECE]
            first, second = self.at(x_piece), self.at(y_piece)
            errors[i : i + _PIECE] = antithetic.pair_mse(
                x_piece, y_piece, outputs=self.outputs, first=first, second=second
            )
        return errors


@cache
def sender(kind: Mechanism, *, epsilon: float, bits: int) -> Sender:
    """The mechanism at this epsilon: RQM with its best q, discrete noise with its best grid and unbiased outputs.

    Raises
    ------
    ParameterError
        When the mechanism is no few-bit quantizer.

    Examples
    --------
    >>> x = np.zeros(1)
    >>> [round(float(sender(Mechanism(name), epsilon=3.0, bits=2).variance(x)[0]), 2) for name in ("pbm", "rqm", "quantizer")]
    [1.56, 0.86, 0.34]
    """
    match kind:
        case Mechanism.PBM:
            trials = 2**bits - 1
            return Binomial(trials, 0.5 * float(np.tanh(epsilon / (2 * trials))))
        case Mechanism.RQM:
            tables = [_levels(epsilon, 2**bits, float(keep)) for keep in (_KEEP if bits > 1 else [0.5])]
            return min(tables, key=_worst)
        case Mechanism.QUANTIZER:
            designed = quantizer_design.solve(bits, epsilon=epsilon).quantizer
            return Table.of(designed.inputs, designed.outputs, designed.law)
        case Mechanism.PAIRS:
            paired = quantizer_pair.solve(bits, epsilon=epsilon)
            return Table.of(paired.inputs, paired.outputs, paired.law)
        case Mechanism.SKELLAM | Mechanism.DISCRETE_GAUSSIAN:
            return _modular(kind, epsilon, bits)
    raise ParameterError("mechanism", kind.value, "a few-bit quantizer")


def _levels(epsilon: float, levels: int, keep: float) -> Table:
    reach = quantizer_laws.random_reach(epsilon=epsilon, levels=levels, keep=keep)
    places = quantizer_laws.breakpoints(np.linspace(-reach, reach, levels))
    return Table.of(places, *quantizer_laws.random_levels(places, reach=reach, levels=levels, keep=keep))


def _worst(table: Table) -> float:
    return quantizer_laws.worst_variance(table.inputs, table.outputs, table.law)


def _modular(kind: Mechanism, epsilon: float, bits: int) -> Table:
    if bits < 2:
        raise ParameterError("bits", bits, f"at least 2 for {kind.value}")
    noise = Noise.SKELLAM if kind is Mechanism.SKELLAM else Noise.GAUSSIAN
    tables = []
    for levels in range(1, min(2 ** (bits - 1), 8)):
        noise_law = modular_noise.calibrated(
            noise, epsilon=epsilon, delta=0.0, levels=levels, bits=bits, observer="uplink"
        )
        inputs = np.arange(-levels, levels + 1) / levels
        law = noise_law.law(inputs)
        tables.append(Table.of(inputs, quantizer_design.unbiased(inputs, law).outputs, law))
    return min(tables, key=_worst)


def aggregate(
    x: FloatArray, here: NDArray[np.bool_], *, kind: Mechanism, epsilon: float, bits: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Sum of the messages that arrive, and the exact squared error of the sum over all clients.

    Both are per parameter, in units of its radius.

    Parameters
    ----------
    x : ndarray, shape (n, m)
        Offsets in units of the radius, in [-1, 1].
    here : ndarray of bool, shape (n,)
        The clients whose messages arrive.

    Returns
    -------
    total, error : ndarray, shape (m,)
    """
    quantizer = sender(kind, epsilon=epsilon, bits=bits)
    total, error = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    order, paired = rng.permutation(len(x)), kind is Mechanism.PAIRS and isinstance(quantizer, Table)
    alone = len(x) % 2 if paired else len(x)
    for i in order[:alone]:
        sent = quantizer.send(x[i], rng)
        error += quantizer.variance(x[i])
        total += here[i] * sent
    if isinstance(quantizer, Table) and paired:
        for i, j in order[alone:].reshape(-1, 2):
            level = np.asarray(rng.random(x.shape[1]))
            total += here[i] * quantizer.draw(x[i], level) + here[j] * quantizer.draw(x[j], 1 - level)
            error += quantizer.pair_error(x[i], x[j])
    return total, error
