"""Rounds of federated learning with each mechanism of the CorBin-FL experiments; interrupted runs can be resumed."""

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
from airtight.validate.experiments.training.network import Convolutional, Dense
from airtight.validate.experiments.training.training_plan import Mechanism, Settings

Network = Dense | Convolutional

_WIDEST = 1e6  # a layer whose values span more is taken to have diverged
_LEAST_BATCH = 16  # a batch that any data allow: samples are drawn with replacement
_MOST_PARAMETERS = 10**7  # of a network


@dataclass(frozen=True)
class Round:
    """The measurements of one round.

    Attributes
    ----------
    validation, test : float
        Accuracies of the global model.
    error, exact_error : float
        Squared error of the aggregate, averaged over the parameters: measured, and its exact expectation over the
        mechanism's randomness given the clipped updates. The expectation is nan with dropout, and an upper bound when
        the number of shared bits is finite.
    clipped : float
        Fraction of parameters that had to be clipped.
    """

    validation: float
    test: float
    error: float
    exact_error: float
    clipped: float


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run.

    Attributes
    ----------
    history : tuple of Round
    weights : ndarray
        The parameters with the best validation accuracy so far.
    epsilon_spent : float
        Epsilon of one parameter against an observer of one uplink, over all rounds, by basic composition; infinite for
        mechanisms without privacy.
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
    """Train a model, or continue from a checkpoint.

    Parameters
    ----------
    system : FederatedSystem
        Its clients, epsilon, shared_bits, ldp_fraction, dropout and delta are used; center and radius come from the
        model.
    settings : Settings
    mechanism : Mechanism or str
    checkpoint : Path, optional
        Written atomically after every round. If it exists and belongs to the same run, the run continues from it, with
        the same result as without an interruption.
    progress : callable, optional
        Called after every round.
    task : Splits, optional
        Data in place of `settings.dataset`.

    Raises
    ------
    ParameterError
        When there are more clients than samples, or the checkpoint belongs to another run.
    ConvergenceError
        When the model diverges.
    """
    system.demand_no_colluders("training, which spends the epsilon of one uplink,")
    chosen_mechanism = checks.choice("mechanism", mechanism, Mechanism)
    splits = data.load(settings.dataset, seed=settings.seed) if task is None else task
    network = network_for(splits, settings)
    shares = data.shares(
        splits.train,
        system.clients,
        rng=np.random.default_rng([settings.seed, 2]),
        concentration=settings.concentration,
    )
    label = checkpoint_label(system, settings, chosen_mechanism.value, *filter(None, [splits.digest]))
    saved = restore(checkpoint, label)
    state = _State.of(saved) if saved else _State.start(network.initial(np.random.default_rng([settings.seed, 3])))
    shard = Shard.of(splits, shares)
    while len(state.history) < settings.rounds:
        number = len(state.history)
        rng = np.random.default_rng([settings.seed, 4, number])
        new_weights, result = _round(network, splits, shard, state.weights, system, settings, chosen_mechanism, rng)
        state = state.after(new_weights, result, settings.patience)
        store(checkpoint, label, state.arrays())
        if progress is not None:
            progress(number, result)
    total_epsilon = system.epsilon * len(state.history) if chosen_mechanism.private else np.inf
    return Run(chosen_mechanism, network.parameters, state.history, state.best_weights, total_epsilon)


def network_for(work: data.Splits, settings: Settings) -> Network:
    """The network that the settings describe.

    Raises
    ------
    ParameterError
        When the data, or the memory of a machine, have no room for it.
    """
    most = max(work.train.y.size, _LEAST_BATCH)
    if settings.batch > most:
        raise ParameterError("batch", settings.batch, f"at most {most}, the samples to train on")
    side = round(work.inputs**0.5)
    if not settings.channels:
        network: Network = Dense((work.inputs, *settings.hidden, work.classes))
    elif side**2 != work.inputs:
        raise ParameterError("channels", settings.channels, f"0: {work.inputs} features are no square image")
    else:
        network = Convolutional(side, settings.channels, settings.hidden, work.classes)
    if network.parameters > _MOST_PARAMETERS:
        raise ParameterError(
            "hidden", settings.hidden, f"layers that make at most {_MOST_PARAMETERS:,} parameters, not {network.parameters:,}"
        )
    return network


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
    clipped_share = 0.0
    if kind is not Mechanism.VANILLA:
        low, high = (center - radius).astype(local.dtype), (center + radius).astype(local.dtype)
        clipped_share = float(np.mean((local < low) | (local > high)))
        np.clip(local, low, high, out=local)
    arriving = rng.random(system.clients) >= system.dropout
    if not arriving.any():
        arriving[int(rng.integers(system.clients))] = True
    if kind.few_bits:
        # few-bit quantizers work on offsets from the center in units of the radius
        offsets = np.clip((local - center) / radius, -1.0, 1.0)
        offset_sum, squared = few_bits_training.aggregate(
            offsets, arriving, kind=kind, epsilon=system.epsilon, bits=settings.bits, rng=rng
        )
        total = center * arriving.sum() + radius * offset_sum
        expected = float(np.mean(radius**2 * squared)) / system.clients**2
    else:
        total, expected = summed(local, arriving, center, radius, system, kind, rng)
    aggregate = total / int(arriving.sum())
    true_mean = local[arriving].mean(axis=0, dtype=np.float64)
    new_weights = (1 - settings.smoothing) * start + settings.smoothing * aggregate
    if not np.all(np.isfinite(new_weights)):
        raise ConvergenceError("training diverged: the model is no longer finite; lower learning_rate or smoothing")
    return new_weights, Round(
        validation=network.accuracy(new_weights, work.validation.x, work.validation.y),
        test=network.accuracy(new_weights, work.test.x, work.test.y),
        error=float(np.mean((aggregate - true_mean) ** 2)),
        exact_error=expected if system.dropout == 0 else float("nan"),
        clipped=clipped_share,
    )


def layer_ranges(network: Network, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Center and radius of every parameter: of the interval from the least to the greatest value of its layer.

    The server shares them with the clients.

    Raises
    ------
    ParameterError
        When a layer is constant: a radius of 0 leaves nothing to quantize.
    ConvergenceError
        When the values of a layer span more than 1e6.
    """
    center, radius = np.empty_like(flat), np.empty_like(flat)
    for k, block in enumerate(network.blocks):
        low, high = float(flat[block].min()), float(flat[block].max())
        if not low < high:
            raise ParameterError("radius", 0.0, f"positive, but all parameters of layer {k} are equal")
        if high - low > _WIDEST:
            raise ConvergenceError(
                f"training diverged: layer {k} spans {high - low:.3g}; lower learning_rate or smoothing"
            )
        center[block], radius[block] = (low + high) / 2, (high - low) / 2
    return center, radius


@dataclass(frozen=True)
class Shard:
    """The training part in single precision, and the rows of each client, padded with 0 beyond its count."""

    x: NDArray[np.float32]
    y: IntArray
    rows: IntArray
    counts: IntArray

    @classmethod
    def of(cls, work: data.Splits, shares: list[IntArray]) -> Shard:
        counts = np.array([len(share) for share in shares])
        rows = np.zeros((len(shares), int(counts.max())), dtype=np.int64)
        for client_rows, share in zip(rows, shares, strict=True):
            client_rows[: len(share)] = share
        return cls(work.train.x.astype(np.float32), work.train.y, rows, counts)


def trained(
    network: Network, shard: Shard, start: FloatArray, settings: Settings, rng: np.random.Generator
) -> FloatArray:
    """The parameters of all clients after their local steps, shape (n, m), in single precision."""
    n = shard.counts.size
    local = np.repeat(start[None].astype(np.float32), n, axis=0)
    for _ in range(settings.local_steps):
        positions = (rng.random((n, settings.batch)) * shard.counts[:, None]).astype(np.int64)
        rows = np.take_along_axis(shard.rows, positions, axis=1)
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
    """Sum of the outputs that arrive, and the exact mean squared error of the mean over all clients.

    Nothing arrives from a client that dropped out. In `order`, which is drawn if it is not given, the first clients
    quantize alone and the others in pairs.
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
            clipped_updates = np.clip(w, center - radius, center + radius)
            sent = baselines.stratified(clipped_updates, center=center, radius=radius, rng=rng)
            error = float(np.mean(baselines.stratified_mse(clipped_updates, center=center, radius=radius)))
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
        clipped_pair = (np.clip(w[k], center - radius, center + radius) for k in (i, j))
        error += float(np.mean(quantizers.pair_mse(*clipped_pair, bits=system.shared_bits, **scale)))
    return total, error / n**2


@cache
def gaussian_variance(epsilon: float, delta: float) -> float:
    """Variance of the Gaussian mechanism for one parameter, in units of its squared radius; cached."""
    return float(baselines.gaussian_variance(epsilon=epsilon, delta=delta))


@dataclass(frozen=True)
class _State:
    """The state between two rounds."""

    weights: FloatArray
    best_weights: FloatArray
    best: float
    stale: int
    history: tuple[Round, ...]

    @classmethod
    def start(cls, weights: FloatArray) -> _State:
        return cls(weights, weights, -1.0, 0, ())

    def after(self, weights: FloatArray, done: Round, patience: int) -> _State:
        """The state after a round; the best model is restored after `patience` rounds without improvement."""
        history = (*self.history, done)
        if done.validation > self.best:
            return _State(weights, weights, done.validation, 0, history)
        if self.stale + 1 >= patience:
            return replace(self, weights=self.best_weights, stale=0, history=history)
        return replace(self, weights=weights, stale=self.stale + 1, history=history)

    def arrays(self) -> State:
        """The state as arrays, for the checkpoint."""
        return {
            "weights": self.weights,
            "best_weights": self.best_weights,
            "numbers": np.array([self.best, self.stale]),
            "history": np.array([list(asdict(done).values()) for done in self.history]),
        }

    @classmethod
    def of(cls, saved: State) -> _State:
        history = tuple(Round(*map(float, row)) for row in saved["history"])
        best, stale = saved["numbers"]
        return cls(saved["weights"], saved["best_weights"], float(best), int(stale), history)
