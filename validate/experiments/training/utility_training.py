"""UF Algorithm 1 with the policies and the feedback of Sec. III, and the benchmark of Sec. IV.

The algorithm is repaired where it cannot run as printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray, ParameterError
from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.parameters import Choice, Count, Flag, Number
from airtight.solvers import energy as energy_utility
from airtight.validate.experiments.training import data
from airtight.validate.experiments.training.checkpoint import label as checkpoint_label
from airtight.validate.experiments.training.checkpoint import restore, store
from airtight.validate.experiments.training.network import Dense
from airtight.validate.experiments.training.training_plan import Dataset

_WINDOW = 8  # number of last rounds to which (29) is fitted
_MIN_BETA, _MAX_BETA = 1e-6, 1e6  # allowed range of beta_1, and of beta_2 in J


class Scheme(StrEnum):
    """The rule that determines iterations, power and noise.

    ``proposed``: the optimum of the energy-utility problem; every device receives a copy of the global model with its
    own noise, scaled by (25) with the clipped deviation factor (26) as printed. ``mean-update``: the same with cosines
    to the mean update. ``benchmark``: the largest number of iterations at the greatest power; all devices receive one
    noisy model.
    """

    PROPOSED = "proposed"
    MEAN_UPDATE = "mean-update"
    BENCHMARK = "benchmark"


class Feedback(StrEnum):
    """How the returned deviation factors change the devices' beta_1 and beta_2, Eqs. (28) and (29).

    ``none``: beta_1 and beta_2 do not change. ``published``: (29) for the last round alone; it does not determine
    beta_2, which is kept, and beta_1 fits the round exactly. ``window``: both by least squares over the last rounds,
    unless these rounds do not determine them.
    """

    NONE = "none"
    PUBLISHED = "published"
    WINDOW = "window"


@dataclass(frozen=True)
class Plan:
    """Settings that all schemes share."""

    rounds: Count = Count("M", "[1, inf)", "rounds of communication", default=50)
    seed: Count = Count("", "[0, inf)", "of partition and noise", default=0)
    step: Number = Number(r"\eta", "(0, inf)", "step size of gradient descent", default=0.05)
    l2: Number = Number("", "[0, inf)", "factor of the regulariser", default=0.01)
    xi: Number = Number(r"\xi", "(0, inf)", "of the local problem (4)", default=0.5)
    sensitivity: Number = Number("S", "[0, inf)", "taken, as in the paper, for granted", default=0.01)
    noise: Number = Number(r"\sigma", "[0, inf)", "of the local noise, in units of S", default=5.1)
    theta: Number = Number(r"\theta", "[0, 1)", "of (25)", default=0.6)
    epsilon: Number = Number(r"\epsilon_g", "(0, inf)", "of (25)", default=0.95)
    delta: Number = Number(r"\delta_g", "(0, 1)", "of (25)", default=1e-5)
    fading: Flag = Flag("", "", "Rayleigh fading, the same for both schemes", default=False)
    feedback: Choice[Feedback | str, Feedback] = Choice(
        "",
        "",
        "how deviation factors set the budgets of the next round: none, published, window",
        default=Feedback.NONE,
    )


@dataclass(frozen=True)
class Learned:
    """The results of one scheme, round by round.

    Attributes
    ----------
    loss : ndarray, shape (rounds, K)
        Training loss of every device at the model that it received.
    energy, iterations : ndarray, shape (rounds, K)
        Energy in J; iterations as whole numbers.
    deviation : ndarray, shape (rounds, K)
        Deviation factors (26).
    accuracy : ndarray, shape (rounds,)
        Accuracy of the noiseless model on the test part.
    beta : ndarray, shape (2, K)
        beta_1 and beta_2 (J) for the round after the last.
    """

    loss: FloatArray
    energy: FloatArray
    iterations: FloatArray
    deviation: FloatArray
    accuracy: FloatArray
    beta: FloatArray


def run(
    fleet: DeviceFleet,
    plan: Plan,
    scheme: Scheme | str,
    *,
    checkpoint: Path | None = None,
    progress: Callable[[int, float], None] | None = None,
    source: data.Source = Dataset.DIGITS,
    watch: Callable[[FloatArray, FloatArray, FloatArray], None] | None = None,
) -> Learned:
    """Train softmax regression on the digits, or other data, distributed equally over the devices of the fleet.

    Gradients are sent as in lines 5 and 7 of the algorithm, without noise: this reproduces the experiment and gives no
    privacy guarantee (ledger UF-A1).

    Parameters
    ----------
    fleet : DeviceFleet
        At most as many devices as there are training images.
    plan : Plan
    scheme : {"proposed", "mean-update", "benchmark"}
    checkpoint : Path, optional
        Written after every round; an interrupted run continues from it, with the same result.
    progress : callable, optional
        Called after every round with its number and the accuracy.
    source : Dataset or OwnData
        Where the data say whose each sample is, every device keeps as many of its own, at random, as the poorest one has.
    watch : callable, optional
        Called in every round with the models received (K, v), the numbers of iterations (K,) and the updates (K, v), before
        noise is added to them.

    Raises
    ------
    InfeasibleError
        When a device cannot keep its deadline in some round.
    ConvergenceError
        When the model diverges.
    ParameterError
        When there are more devices than images, or the checkpoint belongs to another run.
    """
    chosen_scheme = checks.choice("scheme", scheme, Scheme)
    K = fleet.devices
    task, x, y = _distributed(source, plan, K)
    network = Dense((task.inputs, task.classes))
    label = checkpoint_label(fleet, plan, chosen_scheme.value, *filter(None, [task.digest]))
    state = restore(checkpoint, label) or {
        "clean": np.zeros(network.parameters),
        "received": np.zeros((K, network.parameters)),
        "table": np.zeros((0, 4, K)),
        "accuracy": np.zeros(0),
        "beta": np.stack([fleet.beta_1, fleet.beta_2]),
    }
    has_feedback = plan.feedback is not Feedback.NONE and chosen_scheme is not Scheme.BENCHMARK
    policy = None if plan.fading or has_feedback else _policy(fleet, chosen_scheme)
    for number in range(state["accuracy"].size, plan.rounds):
        rng = np.random.default_rng([plan.seed, 12, number])
        gains = np.maximum(fleet.channel_gain * rng.exponential(1.0, K), 1e-100)
        beta_1, beta_2 = state["beta"]
        current_fleet = replace(
            fleet, channel_gain=gains if plan.fading else fleet.channel_gain, beta_1=beta_1, beta_2=beta_2
        )
        iterations, energy = policy or _policy(current_fleet, chosen_scheme)
        update = _updates(network, state["received"], x, y, iterations, plan)
        if watch is not None:
            watch(state["received"], iterations, update.copy())
        update += plan.sensitivity * plan.noise * rng.normal(size=update.shape)
        deviation = _deviation(state["clean"], update, chosen_scheme)
        clean = state["clean"] + update.mean(axis=0)
        received = _received_models(clean, deviation, plan, chosen_scheme, rng)
        loss, _ = network.loss_and_gradient(received, x, y, l2=plan.l2)
        if not np.all(np.isfinite(loss)):
            raise ConvergenceError("training diverged: a loss is no longer finite; lower step")
        accuracy_now = network.accuracy(clean, task.test.x, task.test.y)
        table = np.concatenate([state["table"], [[loss, energy, iterations, deviation]]])
        state = {
            "clean": clean,
            "received": received,
            "table": table,
            "accuracy": np.append(state["accuracy"], accuracy_now),
            "beta": _next_beta(fleet, table, state["beta"], plan.feedback) if has_feedback else state["beta"],
        }
        store(checkpoint, label, state)
        if progress is not None:
            progress(number, accuracy_now)
    loss, energy, iterations, deviation = np.moveaxis(state["table"][: plan.rounds], 1, 0)
    return Learned(loss, energy, iterations, deviation, state["accuracy"][: plan.rounds], state["beta"])


@dataclass(frozen=True)
class Changes:
    """How far data can move the updates of a run, as measured, round by round.

    Attributes
    ----------
    sample : ndarray, shape (rounds, K)
        Distance by which one replaced sample moves the update of its device: a lower bound of the S_f of Eq. (8).
    norm : ndarray, shape (rounds, K)
        Norm of the update, which is K times the distance by which a device that contributes moves the mean (5).
    """

    sample: FloatArray
    norm: FloatArray


def changes(
    fleet: DeviceFleet, plan: Plan, scheme: Scheme | str, *, source: data.Source = Dataset.DIGITS
) -> Changes:
    """Measure the changes of the updates during a run of :func:`run`; it takes twice as long.

    In every round every device replaces one of its samples, drawn at random, by a random one of the test part. The others
    keep theirs, so that the broadcast gradient (3) moves by the change of this device alone.
    """
    K = fleet.devices
    task, x, y = _distributed(source, plan, K)
    network, rng, device = Dense((task.inputs, task.classes)), np.random.default_rng([plan.seed, 13]), np.arange(K)
    measured: list[tuple[FloatArray, FloatArray]] = []

    def watch(received: FloatArray, iterations: FloatArray, update: FloatArray) -> None:
        removed, added = rng.integers(y.shape[1], size=K), rng.integers(task.test.y.size, size=K)
        other_x, other_y = x.copy(), y.copy()
        other_x[device, removed], other_y[device, removed] = task.test.x[added], task.test.y[added]
        gradients = np.asarray(network.loss_and_gradient(received, x, y, l2=plan.l2)[1], dtype=float)
        moved = _updates(network, received, other_x, other_y, iterations, plan, of_others=gradients)
        measured.append((np.linalg.norm(moved - update, axis=1), np.linalg.norm(update, axis=1)))

    run(fleet, plan, scheme, source=source, watch=watch)
    return Changes(*np.moveaxis(np.array(measured), 1, 0))


def _distributed(source: data.Source, plan: Plan, devices: int) -> tuple[data.Splits, FloatArray, IntArray]:
    """The data, with the samples (K, n, inputs) and labels (K, n) of every device."""
    task = data.load(source, seed=plan.seed)
    if task.train.y.size < devices:
        raise ParameterError("devices", devices, f"at most {task.train.y.size}, the number of training images")
    order = _order(task.train, devices, np.random.default_rng([plan.seed, 11]))
    return task, task.train.x[order], task.train.y[order]


def _order(part: data.Part, devices: int, rng: np.random.Generator) -> IntArray:
    """The samples of every device, as many for each, shape (K, n)."""
    if part.client is None:
        each = part.y.size // devices
        return rng.permutation(part.y.size)[: devices * each].reshape(devices, each)
    owned = data.shares(part, devices, rng=rng)
    least = min(rows.size for rows in owned)
    return np.stack([rng.permutation(rows)[:least] for rows in owned])


def _policy(fleet: DeviceFleet, kind: Scheme) -> tuple[FloatArray, FloatArray]:
    """Iterations and energy (J) of every device."""
    if kind is Scheme.BENCHMARK:
        iterations = np.floor(fleet.max_iterations)
        return iterations, fleet.energy(np.maximum(iterations, 0.0), fleet.max_power)
    best = energy_utility.solve(fleet, integer=True)
    return best.iterations, best.energy


def _next_beta(fleet: DeviceFleet, table: FloatArray, beta: FloatArray, feedback: Feedback) -> FloatArray:
    """beta_1, beta_2 for the next round; unchanged where the rounds do not determine them or they leave [1e-6, 1e6]."""
    new_beta = beta.copy()
    window = table[-_WINDOW:]
    energies = np.stack([fleet.compute_energy(row) for row in window[:, 2]])
    for k in range(fleet.devices):
        deviations = window[:, 3, k]
        if feedback is Feedback.PUBLISHED:
            if deviations[-1] > 0:
                new_beta[0, k] = fairness.published_fit(deviations[-1], energies[-1, k], beta_2=beta[1, k])
            continue
        try:
            new_beta[:, k] = fairness.fit(deviations, energies[:, k])
        except ParameterError:
            continue
    return np.where(np.all((new_beta >= _MIN_BETA) & (new_beta <= _MAX_BETA), axis=0), new_beta, beta)


def _updates(
    network: Dense,
    received: FloatArray,
    x: FloatArray,
    y: IntArray,
    iterations: FloatArray,
    plan: Plan,
    *,
    of_others: FloatArray | None = None,
) -> FloatArray:
    """The local updates h_k after j_k gradient steps on the local problem (4), (10).

    Each device averages its own gradient with those of the others, which are `of_others` where these have other data.
    """
    _, own = network.loss_and_gradient(received, x, y, l2=plan.l2)
    others = own if of_others is None else of_others
    average = others.mean(axis=0) + (own - others) / len(own)
    # linear term of the local problem: the gradient there is (gradient of the loss) - pull
    pull = own - plan.xi * average
    h = np.zeros_like(received)
    for j in range(int(iterations.max())):
        _, gradient = network.loss_and_gradient(received + h, x, y, l2=plan.l2)
        h -= plan.step * np.where((j < iterations)[:, None], gradient - pull, 0.0)
    return h


def _deviation(clean: FloatArray, update: FloatArray, kind: Scheme) -> FloatArray:
    """Deviation factors (26); 0 for all devices where (26) is 0/0, as at the zero model of the first round."""
    if kind is Scheme.MEAN_UPDATE:
        return fairness.deviation(fairness.mean_update_similarities(update), repair="mean-update")
    if not clean.any():
        return np.zeros(len(update))
    return fairness.deviation(fairness.similarities(update, clean), repair="clip")


def _received_models(
    clean: FloatArray, deviation: FloatArray, plan: Plan, kind: Scheme, rng: np.random.Generator
) -> FloatArray:
    """The noisy model that every device receives.

    The server keeps the noiseless model, as in Sec. III-B; line 17 of the algorithm would overwrite it.
    """
    K = deviation.size
    if kind is Scheme.BENCHMARK:
        scale = fairness.noise_scale(0.0, epsilon=plan.epsilon, delta=plan.delta, theta=plan.theta)
        noisy = clean + plan.sensitivity * float(scale) * rng.normal(size=clean.size)
        return np.repeat(noisy[None], K, axis=0)
    scales = np.asarray(fairness.noise_scale(deviation, epsilon=plan.epsilon, delta=plan.delta, theta=plan.theta))
    return np.asarray(clean + plan.sensitivity * scales[:, None] * rng.normal(size=(K, clean.size)))
