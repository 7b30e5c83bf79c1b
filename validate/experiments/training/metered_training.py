"""Federated learning over the air under a meter: devices fall silent when their budget is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.features import clipped
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air.meter import Meter, Round
from airtight.analytics.rounding import UNIT
from airtight.validate.experiments.training import data
from airtight.validate.experiments.training.federated_training import Shard, network_for, trained
from airtight.validate.experiments.training.training_plan import Settings


@dataclass(frozen=True, eq=False)
class MeteredRun:
    """A run of so many rounds.

    Attributes
    ----------
    accuracy : ndarray, shape (T,)
        Of the test part, after each round.
    senders : ndarray of bool, shape (T, K)
        Who sent in each round.
    epsilon : ndarray, shape (K,)
        Of what each device sent in all rounds, for the rolls that occurred: no parameter depends on what was released.
    """

    accuracy: FloatArray
    senders: NDArray[np.bool_]
    epsilon: FloatArray


def run(
    system: InferenceSystem,
    settings: Settings,
    *,
    budget_epsilon: ArrayLike | None = None,
    noise_factor: ArrayLike = 1.0,
) -> MeteredRun:
    """Train on the digits; each device sends its clipped update over the air, with its noise.

    Parameters
    ----------
    system : InferenceSystem
        Its `dimension` is that of the model; `participation` and the seed of `settings` give the rolls, which the server sees.
    settings : Settings
    budget_epsilon : array_like, shape (K,) or scalar, optional
        Without it every device sends whenever its roll says so.
    noise_factor : array_like, shape (T,) or scalar
        Of all devices' noise variances, round by round, fixed beforehand
        (:func:`~airtight.solvers.design.round_budget.spread_budget`).

    Raises
    ------
    ParameterError
    """
    splits = data.load(settings.dataset, seed=settings.seed)
    network = network_for(splits, settings)
    if system.dimension != network.parameters:
        raise ParameterError("dimension", system.dimension, f"{network.parameters}, the parameters of the model")
    factors = checks.vector("noise_factor", noise_factor, settings.rounds, "[0, inf)")
    K, rolls, noise = system.devices, *(np.random.default_rng([settings.seed, i]) for i in (5, 6))
    shard = Shard.of(splits, data.partition(splits.train.y, K, rng=np.random.default_rng([settings.seed, 2])))
    model = network.initial(np.random.default_rng([settings.seed, 3]))
    meter = None if budget_epsilon is None else Meter(budget_epsilon, system.delta, devices=K, adaptive=False)
    spent, accuracy, senders = np.zeros(K), np.zeros(settings.rounds), np.zeros((settings.rounds, K), dtype=bool)
    for t, factor in enumerate(factors):
        rolled = rolls.random(K) < system.participation
        asked = Round.of(replace(system, noise_variance=np.asarray(system.noise_variance) * factor), rolled)
        here = rolled if meter is None else meter.who(asked)
        asked = replace(asked, participants=here)
        if meter is not None:
            meter.record(asked)  # before anything is sent
        spent += asked.mu_squared(here)
        senders[t] = here
        local = trained(network, shard, model, settings, np.random.default_rng([settings.seed, 4, t]))
        if np.any(here):
            model = model + _received(system, asked, here, clipped(local - model, system.clip), noise)
        accuracy[t] = float(np.mean(np.argmax(network.scores(model, splits.test.x), axis=1) == splits.test.y))
    rounding = 1 + UNIT * settings.rounds
    return MeteredRun(
        accuracy, senders, gaussian.epsilon(system.delta, sensitivity=np.sqrt(spent) * rounding, sigma=1.0)
    )


def _received(
    system: InferenceSystem, one: Round, here: NDArray[np.bool_], updates: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """The server's estimate of the mean update: the sum that it receives, over the sum of the weights of those who sent."""
    weight = np.asarray(system.weight)[here]
    noisy = np.ones_like(here) if system.idle_noise else here
    variance = (
        float(np.sum(np.asarray(one.noise_variance)[noisy])) + system.receiver_noise_variance / system.alignment**2
    )
    received = weight @ updates[here] + np.sqrt(variance) * rng.standard_normal(updates.shape[1])
    return np.asarray(received / np.sum(weight))
