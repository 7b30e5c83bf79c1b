r"""The likelihood-ratio attack on one client of federated training, from the sums of all rounds.

The training loop runs as in ``airtight train``, many times, with one client's updates or with its neighbour's. The attacker
sees the sum that the server forms in each round, and who dropped out. It knows everything else: the updates of the others,
the batches, and the pairs. With this knowledge the law of each sum, given the earlier rounds, is known, and so is the
likelihood ratio of all rounds.

Every score gives a valid lower bound (:mod:`airtight.analytics.privacy.empirical_epsilon`); the exact likelihood ratio is
the best score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.federated.corbin import aggregation
from airtight.analytics.federated.corbin.central_privacy import PublishedCentral
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.corbin.quantizers import alpha, pair_law
from airtight.analytics.federated.few_bits import baselines
from airtight.analytics.privacy import empirical_epsilon
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.validate.attack.attack_results import TrainingAttack
from airtight.validate.experiments.training import data
from airtight.validate.experiments.training import federated_training as loop
from airtight.validate.experiments.training.training_plan import Mechanism, Settings

RUNS, ROUNDS = 1000, 3
FAILURE = 0.05
ATTACKED = (Mechanism.LDP, Mechanism.CORBIN, Mechanism.AUGCORBIN, Mechanism.GAUSSIAN)
_CLIENT = 0


def attacked(
    system: FederatedSystem,
    mechanism: Mechanism | str = Mechanism.AUGCORBIN,
    *,
    settings: Settings | None = None,
    rounds: int = ROUNDS,
    runs: int = RUNS,
    seed: int = 0,
    failure: float = FAILURE,
    task: data.Splits | None = None,
    advance: Callable[[str], None] | None = None,
) -> TrainingAttack:
    """Attack one client of federated training with a private mechanism. Adjacency ``replace``, observer ``aggregate``.

    Parameters
    ----------
    system : FederatedSystem
        clients, epsilon, shared_bits, ldp_fraction, dropout and delta are used.
    mechanism : {"augcorbin", "corbin", "ldp", "gaussian"}
    settings : Settings, optional
        Network, data and steps; a linear network on the digits with one local step by default.
    rounds : int
        T; delta is that of all rounds together.
    runs : int
        Runs of the whole training under each neighbour, at least 8; they can show an epsilon up to about log(runs/5).
    seed : int
    failure : float
        Failure probability of each lower bound.
    task : Splits, optional
        Other data.
    advance : callable, optional
        Called after every run, with the name of the mechanism.

    Returns
    -------
    TrainingAttack
        Lower bounds with a canary (a client that sends one end of every parameter's interval, or the other end), and with data
        (a client that learns from its own samples, or from the same with other labels), beside the exact epsilon.

    Notes
    -----
    The loop is that of :func:`airtight.validate.experiments.training.federated_training.run` with two exceptions: a round
    without participants is left out, and the server does not return to an earlier model, which would be post-processing.

    Examples
    --------
    >>> system = FederatedSystem(clients=6, parameters=1, epsilon=1.0, ldp_fraction=1.0, delta=1e-2)
    >>> found = attacked(system, "ldp", runs=200, rounds=2)
    >>> 0 < found.attack < found.exact, found.attack_on_data <= found.exact
    (True, True)
    """
    checks.instance("system", system, FederatedSystem).demand_no_colluders("the simulated attacker")
    if settings is not None:
        checks.instance("settings", settings, Settings)
    if advance is not None and not callable(advance):
        raise ParameterError("advance", advance, "a function")
    if task is not None:
        checks.instance("task", task, data.Splits)
    mechanism_kind = checks.choice("mechanism", mechanism, Mechanism)
    if mechanism_kind not in ATTACKED:
        raise ParameterError("mechanism", mechanism_kind.value, "one of " + ", ".join(each.value for each in ATTACKED))
    run_count, round_count = checks.count("runs", runs, "[8, inf)"), checks.count("rounds", rounds)
    start = checks.count("seed", seed, "[0, inf)")
    chosen = Settings(hidden=(), local_steps=1) if settings is None else settings
    setup = _Setup.of(system, mechanism_kind, chosen, data.load(chosen.dataset, seed=chosen.seed) if task is None else task)
    shown = []
    for canary in (True, False):
        scores = np.empty((2, run_count))
        for hypothesis in (0, 1):
            for run in range(run_count):
                rng = np.random.default_rng([start, 53, int(canary), hypothesis, run])
                scores[hypothesis, run] = setup.log_ratio(rng, rounds=round_count, second=bool(hypothesis), canary=canary)
                if advance is not None:
                    advance(mechanism_kind.value)
        shown.append(
            empirical_epsilon.epsilon_at_least(scores[0], scores[1], delta=system.delta, failure=failure).epsilon
        )
    claim = PublishedCentral.of(setup.system)
    published = claim.epsilon if claim.condition and round_count == 1 and mechanism_kind is not Mechanism.GAUSSIAN else None
    return TrainingAttack(
        mechanism=mechanism_kind.value,
        delta=system.delta,
        rounds=round_count,
        clients=system.clients,
        parameters=setup.network.parameters,
        runs=run_count,
        confidence=1 - failure,
        attack=shown[0],
        attack_on_data=shown[1],
        exact=float(exact_curve(setup.system, mechanism_kind).compose(round_count).epsilon(system.delta)),
        published=published,
        refuted=published is not None and max(shown) > published,
    )


def exact_curve(system: FederatedSystem, mechanism: Mechanism) -> PrivacyCurve:
    """The exact privacy curve of one client in one round; adjacency ``replace``, observer ``aggregate``.

    Examples
    --------
    >>> system = FederatedSystem(clients=25, parameters=4, epsilon=1.0, delta=1e-5)
    >>> round(float(exact_curve(system, Mechanism.GAUSSIAN).epsilon(1e-5)), 4)
    0.3675
    """
    if mechanism is not Mechanism.GAUSSIAN:
        return aggregation.aggregation(system)
    return baselines.gaussian_curve(
        system.clients, system.parameters, epsilon=system.epsilon, delta=system.delta, dropout=system.dropout
    )


@dataclass(frozen=True)
class _Setup:
    """Data that all runs share; the last shard is that of the client's neighbour."""

    system: FederatedSystem
    kind: Mechanism
    settings: Settings
    network: loop.Network
    shard: loop.Shard
    initial: FloatArray

    @classmethod
    def of(cls, system: FederatedSystem, kind: Mechanism, settings: Settings, work: data.Splits) -> _Setup:
        network = loop.network_for(work, settings)
        share = {Mechanism.LDP: 1.0, Mechanism.CORBIN: 0.0}.get(kind, system.ldp_fraction)
        meant = replace(system, parameters=network.parameters, ldp_fraction=share, center=0.0, radius=1.0)
        rng = np.random.default_rng([settings.seed, 2])
        shares = data.partition(work.train.y, system.clients, rng=rng, concentration=settings.concentration)
        mine, samples = shares[_CLIENT], work.train.y.size
        changed = data.Part(
            np.concatenate([work.train.x, work.train.x[mine]]),
            np.concatenate([work.train.y, (work.train.y[mine] + 1) % work.classes]),
        )
        neighbour = samples + np.arange(mine.size)
        shard = loop.Shard.of(replace(work, train=changed), [*shares, neighbour])
        initial = network.initial(np.random.default_rng([settings.seed, 3]))
        return cls(meant, kind, settings, network, shard, initial)

    def log_ratio(self, rng: np.random.Generator, *, rounds: int, second: bool, canary: bool) -> float:
        """Log-likelihood ratio of one training with the updates of the client or, if `second`, of its neighbour."""
        weights, log_ratio, n = self.initial, 0.0, self.system.clients
        for _ in range(rounds):
            center, radius = loop.layer_ranges(self.network, weights)
            updates = loop.trained(self.network, self.shard, weights, self.settings, rng)
            if canary:
                updates[_CLIENT], updates[-1] = center + radius, center - radius
            low, high = (center - radius).astype(updates.dtype), (center + radius).astype(updates.dtype)
            np.clip(updates, low, high, out=updates)
            local, mine = updates[:n], updates[[_CLIENT, -1]].astype(np.float64)
            local[_CLIENT] = mine[int(second)]
            here, order = rng.random(n) >= self.system.dropout, rng.permutation(n)
            if not here.any():
                continue
            total, _ = loop.summed(local, here, center, radius, self.system, self.kind, rng, order=order)
            if here[_CLIENT]:
                inside = np.clip((local - center) / radius, -1.0, 1.0), np.clip((mine - center) / radius, -1.0, 1.0)
                log_ratio += self._told((total - here.sum() * center) / radius, *inside, here, order)
            weights = (1 - self.settings.smoothing) * weights + self.settings.smoothing * total / int(here.sum())
        return log_ratio

    def _told(
        self, total: FloatArray, local: FloatArray, mine: FloatArray, here: NDArray[np.bool_], order: IntArray
    ) -> float:
        """The log-likelihood ratio of one sum; all values are in radii about the center."""
        if self.kind is Mechanism.GAUSSIAN:
            others = here.copy()
            others[_CLIENT] = False
            unit = loop.gaussian_variance(self.system.epsilon, self.system.delta)
            middle = total - local[others].sum(axis=0) - (mine[0] + mine[1]) / 2
            return float(middle @ (mine[0] - mine[1])) / (unit * int(here.sum()))
        scale = float(alpha(self.system.epsilon))
        count = np.rint((total / scale + here.sum()) / 2).astype(np.int64)
        own, noise = self._laws(local, mine, here, order)
        with np.errstate(divide="ignore"):
            first, second = (np.log(_at(noise, law, count)) for law in own)
        if np.any(np.isneginf(first)) or np.any(np.isneginf(second)):  # one of the two laws excludes the sum
            return np.inf if np.any(np.isneginf(second)) else -np.inf
        return float(np.sum(first - second))

    def _laws(
        self, local: FloatArray, mine: FloatArray, here: NDArray[np.bool_], order: IntArray
    ) -> tuple[list[FloatArray], FloatArray]:
        """Laws of the number of upper outputs, one row a parameter: for both updates of the client, and for the others."""
        scale = float(alpha(self.system.epsilon))
        alone = self.system.alone
        units = [(int(i),) for i in order[:alone]] + [(int(i), int(j)) for i, j in order[alone:].reshape(-1, 2)]
        noise, own = np.ones((local.shape[1], 1)), []
        for unit in units:
            left = [i for i in unit if here[i]]
            if _CLIENT in left:
                for update in mine:
                    known = {**{i: local[i] for i in left}, _CLIENT: update}
                    own.append(self._count([known[i] for i in left], scale))
            elif left:
                noise = _convolved(noise, self._count([local[i] for i in left], scale))
        return own, noise

    def _count(self, updates: list[FloatArray], scale: float) -> FloatArray:
        if len(updates) == 1:
            q = 0.5 + updates[0] / (2 * scale)
            return np.stack([1 - q, q], axis=1)
        law = pair_law(*updates, epsilon=self.system.epsilon, bits=self.system.shared_bits)
        return np.stack([law[:, 0, 0], law[:, 0, 1] + law[:, 1, 0], law[:, 1, 1]], axis=1)


def _convolved(first: FloatArray, second: FloatArray) -> FloatArray:
    """Convolution of two arrays, row by row."""
    products = np.zeros((len(first), first.shape[1] + second.shape[1] - 1))
    for k in range(second.shape[1]):
        products[:, k : k + first.shape[1]] += first * second[:, k : k + 1]
    return products


def _at(first: FloatArray, second: FloatArray, place: IntArray) -> FloatArray:
    """One entry of each row of the convolution."""
    entries = np.zeros(len(first))
    for k in range(second.shape[1]):
        rest = place - k
        inside = (rest >= 0) & (rest < first.shape[1])
        entries += np.where(
            inside, first[np.arange(len(first)), np.clip(rest, 0, first.shape[1] - 1)] * second[:, k], 0.0
        )
    return entries
