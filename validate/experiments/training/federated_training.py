"""Rounds of federated learning with each mechanism of CorBin-FL's experiments; resumable after any interruption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray, ParameterError
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.few_bits import baselines
from airtight.validate.experiments.training import data, few_bits_training
from airtight.validate.experiments.training.checkpoint import State, restore, store
from airtight.validate.experiments.training.checkpoint import label as checkpoint_label
from airtight.validate.experiments.training.convolution import Convolutional
from airtight.validate.experiments.training.network import Dense
from airtight.validate.system_file.training_plan import Mechanism, Settings

Network = Dense | Convolutional

_WIDEST = 1e6  # a layer that spans more has diverged


@dataclass(frozen=True)
class Round:
    """What one round left behind.

    Attributes
    ----------
    validation, test : float
        Accuracies of the global model.
    error, exact_error : float
        Squared error of the aggregate, mean over parameters: measured, and its exact expectation over the mechanism's
        randomness given the clipped updates (nan with dropout, and for shared bits of a finite number an upper bound).
    clipped : float
        Share of parameters that had to be clipped.
    """

    validation: float
    test: float
    error: float
    exact_error: float
    clipped: float


@dataclass(frozen=True)
class Run:
    """A finished, or interrupted, run.

    Attributes
    ----------
    history : tuple of Round
    weights : ndarray
        Of the best validation accuracy so far.
    epsilon_spent : float
        Of one parameter against one uplink, over all rounds, by basic composition; infinite for mechanisms without privacy.
    """

    mechanism: Mechanism
    parameters: int
    history: tuple[Round, ...]
    weights: FloatArray
    epsilon_spent: float

    @property
    def best(self) -> Round:
        """The round of best validation accuracy."""
        return max(self.history, key=lambda r: r.validation)


def run(
    system: FederatedSystem,
    settings: Settings,
    mechanism: Mechanism | str,
    *,
    checkpoint: Path | None = None,
    progress: Callable[[int, Round], None] | None = None,
    task: data.Splits | None = None,
) -> Run:
    """Train, or go on training from a checkpoint.

    Parameters
    ----------
    system : FederatedSystem
        clients, epsilon, shared_bits, ldp_fraction, dropout and delta are used; center and radius come from the model.
    settings : Settings
    mechanism : Mechanism or str
    checkpoint : Path, optional
        Written atomically after every round; when it exists and belongs to the same run, that run goes on from there, with
        the same result as if it had not been interrupted.
    progress : callable, optional
        Called after every round.
    task : Splits, optional
        Data other than `settings.dataset`.

    Raises
    ------
    ParameterError
        When there are more clients than samples, or the checkpoint is of another run.
    ConvergenceError
        When the model diverges.
    """
    kind = checks.choice("mechanism", mechanism, Mechanism)
    work = data.load(settings.dataset, seed=settings.seed) if task is None else task
    network = network_for(work, settings)
    shares = data.partition(
        work.train.y,
        system.clients,
        rng=np.random.default_rng([settings.seed, 2]),
        concentration=settings.concentration,
    )
    label = checkpoint_label(system, settings, kind.value)
    kept = restore(checkpoint, label)
    state = _State.of(kept) if kept else _State.start(network.initial(np.random.default_rng([settings.seed, 3])))
    shard = Shard.of(work, shares)
    while len(state.history) < settings.rounds:
        number = len(state.history)
        rng = np.random.default_rng([settings.seed, 4, number])
        moved, done = _round(network, work, shard, state.weights, system, settings, kind, rng)
        state = state.after(moved, done, settings.patience)
        store(checkpoint, label, state.arrays())
        if progress is not None:
            progress(number, done)
    spent = system.epsilon * len(state.history) if kind.private else np.inf
    return Run(kind, network.parameters, state.history, state.best_weights, spent)


def network_for(work: data.Splits, settings: Settings) -> Network:
    """The network that the settings ask for."""
    if not settings.channels:
        return Dense((work.inputs, *settings.hidden, work.classes))
    return Convolutional(round(work.inputs**0.5), settings.channels, settings.hidden, work.classes)


def _round(
    network: Network,
    work: data.Splits,
    shard: Shard,
    start: FloatArray,
    system: FederatedSystem,
    settings: Settings,
    kind: Mechanism,
    rng: np.random.Generator,
) -> tuple[FloatArray, Round]:
    center, radius = layer_ranges(network, start)
    local = trained(network, shard, start, settings, rng)
    outside = 0.0
    if kind is not Mechanism.VANILLA:
        low, high = (center - radius).astype(local.dtype), (center + radius).astype(local.dtype)
        outside = float(np.mean((local < low) | (local > high)))
        np.clip(local, low, high, out=local)
    here = rng.random(system.clients) >= system.dropout
    if not here.any():
        here[int(rng.integers(system.clients))] = True
    if kind.few_bits:
        inside = np.clip((local - center) / radius, -1.0, 1.0)
        sent, squared = few_bits_training.aggregate(
            inside, here, kind=kind, epsilon=system.epsilon, bits=settings.bits, rng=rng
        )
        total = center * here.sum() + radius * sent
        expected = float(np.mean(radius**2 * squared)) / system.clients**2
    else:
        total, expected = summed(local, here, center, radius, system, kind, rng)
    aggregate = total / int(here.sum())
    true = local[here].mean(axis=0, dtype=np.float64)
    moved = (1 - settings.smoothing) * start + settings.smoothing * aggregate
    if not np.all(np.isfinite(moved)):
        raise ConvergenceError("training diverged: the model is no longer finite; lower learning_rate or smoothing")
    return moved, Round(
        validation=network.accuracy(moved, work.validation.x, work.validation.y),
        test=network.accuracy(moved, work.test.x, work.test.y),
        error=float(np.mean((aggregate - true) ** 2)),
        exact_error=expected if system.dropout == 0 else float("nan"),
        clipped=outside,
    )


def layer_ranges(network: Network, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Center and radius of every parameter: those of the layer's least and greatest value, shared by the server.

    Raises
    ------
    ParameterError
        When a layer is constant: radius 0 leaves nothing to quantize.
    """
    center, radius = np.empty_like(flat), np.empty_like(flat)
    for k, block in enumerate(network.blocks):
        low, high = float(flat[block].min()), float(flat[block].max())
        if not low < high:
            raise ParameterError("radius", 0.0, f"positive: layer {k} is constant")
        if high - low > _WIDEST:
            raise ConvergenceError(
                f"training diverged: layer {k} spans {high - low:.3g}; lower learning_rate or smoothing"
            )
        center[block], radius[block] = (low + high) / 2, (high - low) / 2
    return center, radius


@dataclass(frozen=True)
class Shard:
    """The training part in single precision, and which rows belong to which client: padded, with their true counts."""

    x: NDArray[np.float32]
    y: IntArray
    rows: IntArray
    counts: IntArray

    @classmethod
    def of(cls, work: data.Splits, shares: list[IntArray]) -> Shard:
        counts = np.array([len(share) for share in shares])
        rows = np.zeros((len(shares), int(counts.max())), dtype=np.int64)
        for row, share in zip(rows, shares, strict=True):
            row[: len(share)] = share
        return cls(work.train.x.astype(np.float32), work.train.y, rows, counts)


def trained(
    network: Network, shard: Shard, start: FloatArray, settings: Settings, rng: np.random.Generator
) -> FloatArray:
    """The parameters of all clients after their local steps, shape (n, m), in single precision."""
    n = shard.counts.size
    local = np.repeat(start[None].astype(np.float32), n, axis=0)
    for _ in range(settings.local_steps):
        places = (rng.random((n, settings.batch)) * shard.counts[:, None]).astype(np.int64)
        rows = np.take_along_axis(shard.rows, places, axis=1)
        network.descend(local, shard.x[rows], shard.y[rows], rate=settings.learning_rate, l2=settings.l2)
    return np.asarray(local)


def summed(
    w: FloatArray,
    here: NDArray[np.bool_],
    center: FloatArray,
    radius: FloatArray,
    system: FederatedSystem,
    kind: Mechanism,
    rng: np.random.Generator,
    order: IntArray | None = None,
) -> tuple[FloatArray, float]:
    """Sum of what arrives (nothing from who dropped out), client by client, and the exact mean squared error of the mean.

    In `order`, drawn if it is not given, the first clients quantize alone and the others in pairs.
    """
    n = len(w)
    scale: dict[str, Any] = {"epsilon": system.epsilon, "center": center, "radius": radius}
    total = np.zeros(center.size)

    def arrives(client: int, output: FloatArray) -> None:
        if here[client]:
            np.add(total, output, out=total)

    match kind:
        case Mechanism.VANILLA:
            return np.asarray(w[here].sum(axis=0, dtype=np.float64)), 0.0
        case Mechanism.STRATIFIED:
            inside = np.clip(w, center - radius, center + radius)
            sent = baselines.stratified(inside, center=center, radius=radius, rng=rng)
            error = float(np.mean(baselines.stratified_mse(inside, center=center, radius=radius)))
            return np.asarray(sent[here].sum(axis=0)), error
        case Mechanism.LAPLACE:
            for i in range(n):
                arrives(i, baselines.laplace(w[i], epsilon=system.epsilon, radius=radius, rng=rng))
            variance = baselines.laplace_variance(epsilon=system.epsilon, radius=radius)
            return total, float(np.mean(variance)) / n
        case Mechanism.GAUSSIAN:
            variance = gaussian_variance(system.epsilon, system.delta) * radius**2
            deviation = np.sqrt(variance)
            for i in range(n):
                arrives(i, w[i] + deviation * rng.normal(size=center.size))
            return total, float(np.mean(variance)) / n
    A = radius * float(quantizers.alpha(system.epsilon))
    alone = n if kind is Mechanism.LDP else n % 2
    if kind is Mechanism.AUGCORBIN:
        alone = system.alone
    order, error = rng.permutation(n) if order is None else order, 0.0
    for i in order[:alone]:
        arrives(i, quantizers.ldpq(w[i], rng=rng, clip=True, **scale))
        error += float(np.mean(A * A - (w[i] - center) ** 2))
    for i, j in order[alone:].reshape(-1, 2):
        pair = quantizers.corbinq(w[i], w[j], bits=system.shared_bits, rng=rng, clip=True, **scale)
        arrives(i, pair[0])
        arrives(j, pair[1])
        both = (np.clip(w[k], center - radius, center + radius) for k in (i, j))
        error += float(np.mean(quantizers.pair_mse(*both, bits=system.shared_bits, **scale)))
    return total, error / n**2


@cache
def gaussian_variance(epsilon: float, delta: float) -> float:
    """Of a parameter, in squared radii; calibrated once."""
    return float(baselines.gaussian_variance(epsilon=epsilon, delta=delta))


@dataclass(frozen=True)
class _State:
    """Between two rounds."""

    weights: FloatArray
    best_weights: FloatArray
    best: float
    stale: int
    history: tuple[Round, ...]

    @classmethod
    def start(cls, weights: FloatArray) -> _State:
        return cls(weights, weights, -1.0, 0, ())

    def after(self, weights: FloatArray, done: Round, patience: int) -> _State:
        """The best model comes back when `patience` rounds brought nothing better."""
        history = (*self.history, done)
        if done.validation > self.best:
            return _State(weights, weights, done.validation, 0, history)
        if self.stale + 1 >= patience:
            return replace(self, weights=self.best_weights, stale=0, history=history)
        return replace(self, weights=weights, stale=self.stale + 1, history=history)

    def arrays(self) -> State:
        """For the checkpoint."""
        return {
            "weights": self.weights,
            "best_weights": self.best_weights,
            "numbers": np.array([self.best, self.stale]),
            "history": np.array([list(asdict(done).values()) for done in self.history]),
        }

    @classmethod
    def of(cls, kept: State) -> _State:
        history = tuple(Round(*map(float, row)) for row in kept["history"])
        best, stale = kept["numbers"]
        return cls(kept["weights"], kept["best_weights"], float(best), int(stale), history)
