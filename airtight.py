"""airtight: bounds, exact values and machine-checked theorems for private wireless learning.

The public face: value types and verbs, each loaded when it is first used. ``python -m airtight`` is the command.

Examples
--------
>>> import airtight
>>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
>>> float(airtight.epsilon(system)[0])
12.00489...
>>> airtight.claims()["FDP-T1"].expected.value
'false'
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validate.claims import EFFORT

if TYPE_CHECKING:
    from xarray import Dataset as _Dataset

    from analytics.checks import FloatArray
    from analytics.federated.device import DeviceFleet as _DeviceFleet
    from analytics.federated.system import FederatedSystem as _FederatedSystem
    from analytics.inference.features import Features as _Features
    from analytics.inference.system import InferenceSystem as _InferenceSystem
    from analytics.privacy.curve import PrivacyCurve as _PrivacyCurve
    from validate.claims.boxes import Proof as _Proof
    from validate.claims.claim import Claim as _Claim
    from validate.claims.claim import Paper as _Paper
    from validate.claims.evidence import Evidence as _Evidence
    from validate.results.attack import AttackResult as _AttackResult
    from validate.results.attack import TrainingAttack as _TrainingAttack

_HOMES = {
    "AirtightError": "analytics.checks",
    "ParameterError": "analytics.checks",
    "ConvergenceError": "analytics.checks",
    "InfeasibleError": "solvers.solution",
    "NotSettledError": "solvers.solution",
    "Adjacency": "analytics.guarantee",
    "Observer": "analytics.guarantee",
    "InferenceSystem": "analytics.inference.system",
    "Features": "analytics.inference.features",
    "FederatedSystem": "analytics.federated.system",
    "DeviceFleet": "analytics.federated.device",
    "PrivacyCurve": "analytics.privacy.curve",
    "compose": "analytics.privacy.curve",
    "gaussian": "analytics.privacy.curve",
    "laplace": "analytics.privacy.curve",
    "randomized_response": "analytics.privacy.curve",
    "discrete_pair": "analytics.privacy.curve",
    "subsampled": "analytics.privacy.curve",
    "aggregation": "analytics.federated.aggregate",
    "utility_fair": "analytics.federated.fairness",
    "Claim": "validate.claims.claim",
    "Item": "validate.claims.claim",
    "Paper": "validate.claims.claim",
    "Reference": "validate.claims.claim",
    "holds": "validate.claims.claim",
    "holds_under": "validate.claims.claim",
    "false": "validate.claims.claim",
    "ill_defined": "validate.claims.claim",
    "not_reproducible": "validate.claims.claim",
    "other_reading": "validate.claims.claim",
    "Range": "validate.claims.domain",
    "parameter": "validate.claims.domain",
    "at_most": "validate.claims.relation",
    "at_least": "validate.claims.relation",
    "equal": "validate.claims.relation",
    "absolute": "validate.claims.relation",
    "relative_to": "validate.claims.relation",
}
__all__ = [
    *_HOMES,
    "accuracy",
    "attack",
    "attack_training",
    "baseline",
    "calibrate",
    "best_gain",
    "claims",
    "curve",
    "delta",
    "design",
    "epsilon",
    "frontier",
    "mse",
    "papers",
    "prove",
    "open_sweep",
    "solve_energy",
    "solve_weights",
    "sweep",
    "try_claims",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'airtight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def curve(system: _InferenceSystem, *, device: int = 0, observer: str | None = None) -> _PrivacyCurve:
    """What one query gives away of one device, at every epsilon; ``.compose(T)`` for T of them.

    See :func:`analytics.privacy.rounds.curve`.
    """
    from analytics.privacy import rounds

    return rounds.curve(system, device=device, observer=observer)


def epsilon(
    system: _InferenceSystem, *, delta: float | None = None, rounds: int | None = None, observer: str | None = None
) -> FloatArray:
    """Least epsilon of every device after `rounds` queries (one), for the system's adjacency: never below the truth.

    `observer` is what the server sees beside y: ``participants``, ``others``, ``signal`` (the upper end) or ``auto``,
    which None stands for; see :func:`analytics.privacy.rounds.epsilon`.
    """
    from analytics.privacy import rounds as many

    observer = "auto" if observer is None else observer
    return many.epsilon(system, delta=delta, rounds=1 if rounds is None else rounds, observer=observer)


def delta(
    system: _InferenceSystem, epsilon: float, *, rounds: int | None = None, observer: str | None = None
) -> FloatArray:
    """Least delta of every device after `rounds` queries (one), for the system's adjacency: never below the truth.

    `observer` as in :func:`epsilon`; see :func:`analytics.privacy.rounds.delta_at`.
    """
    from analytics.privacy import rounds as many

    observer = "auto" if observer is None else observer
    return many.delta_at(system, epsilon, rounds=1 if rounds is None else rounds, observer=observer)


def attack(
    system: _InferenceSystem,
    *,
    features: _Features | None = None,
    rounds: int = 1,
    samples: int = 100_000,
    seed: int = 0,
) -> _AttackResult:
    """What the optimal attack on the simulated channel shows, beside what is exact and what Theorem 1 promises.

    See :func:`validate.attack.experiment.attacked`.
    """
    from validate.attack import experiment

    return experiment.attacked(system, features=features, rounds=rounds, samples=samples, seed=seed)


def attack_training(
    system: _FederatedSystem, mechanism: str = "augcorbin", *, rounds: int = 3, runs: int = 1000, **options: Any
) -> _TrainingAttack:
    """What the likelihood-ratio attack on one client of federated training shows, beside what is exact.

    See :func:`validate.attack.training.attacked`, also for the options.
    """
    from validate.attack import training

    return training.attacked(system, mechanism, rounds=rounds, runs=runs, **options)


def mse(system: _InferenceSystem, features: _Features) -> float:
    """The exact mean squared error of what the server decodes; see :func:`analytics.inference.distortion.exact`."""
    from analytics.inference import distortion

    return float(distortion.exact(system, features))


def baseline(features: _Features, margin: float | None = None) -> dict[str, float]:
    """What an output that ignores y reaches, to hold beside every :func:`mse` and :func:`accuracy`.

    The accuracy is there with a margin only; where it is 1 the margin exceeds the norm of the target, and says nothing.

    Examples
    --------
    >>> import airtight
    >>> airtight.baseline(airtight.Features(f=[[3.0, 4.0]], W=[[1.0, 0.0]], D=[[1.0], [0.0]]), margin=2.0)
    {'mse': 25.0, 'accuracy': 0.0}
    """
    from analytics.inference import decoding

    found = {"mse": decoding.constant_output(features)}
    return found if margin is None else {**found, "accuracy": decoding.constant_accuracy(features, margin=margin)}


def best_gain(system: _InferenceSystem, features: _Features) -> float:
    """The decoder gain of least MSE, in closed form; see :func:`analytics.inference.decoding.best_gain`."""
    from analytics.inference import decoding

    return decoding.best_gain(system, features).gain


def accuracy(system: _InferenceSystem, features: _Features, margin: float) -> float:
    """The probability that the error stays within the margin; see :func:`analytics.inference.accuracy.exact`.

    Hold :func:`baseline` beside it: a margin above the norm of the target is kept by an output that ignores y.
    """
    from analytics.inference import accuracy as probabilities

    return float(probabilities.exact(system, features, margin=margin).estimate)


def calibrate(
    system: _InferenceSystem,
    epsilon: float,
    *,
    variable: str = "noise",
    rounds: int | None = None,
    observer: str | None = None,
) -> FloatArray:
    """The least noise variances (greatest ``clip``, ``participation``) that keep epsilon at most at this, shape (K,).

    See :func:`solvers.design.calibrate.calibrate`, which also says what is proved about them.

    Examples
    --------
    >>> import airtight
    >>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=3.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> airtight.calibrate(system, 2.0)[:2].round(6)
    array([0.013737, 0.013737])
    """
    from solvers.design import calibrate as problem

    asked = "auto" if observer is None else observer
    found = problem.calibrate(
        system, epsilon, variable=variable, rounds=1 if rounds is None else rounds, observer=asked
    )
    return found.value


def design(
    system: _InferenceSystem | _FederatedSystem | _DeviceFleet,
    features: _Features | Sequence[_Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    rounds: int | None = None,
    observer: str | None = None,
    **requirements: Any,
) -> Any:
    """The joint problem: ``minimise`` something, what is kept (``epsilon_at_most=2.0``), and what is ``free``.

    See :func:`solvers.design.joint.design` and :class:`solvers.design.requirements.Requirements`; of a `FederatedSystem` and a
    `DeviceFleet`, which need no features, :mod:`solvers.design.federated` and :mod:`solvers.design.fleet`.

    Examples
    --------
    >>> import airtight
    >>> from solvers.weights.problem import _example
    >>> found = airtight.design(*_example(), minimise="energy", epsilon_at_most=2.0, error_at_most=0.5)
    >>> found.error <= 0.5 < found.nothing.error, found.method
    (True, 'global: branch and bound')
    >>> from analytics.federated.device import table_1
    >>> fair = airtight.design(table_1(distance=[50.0, 200.0]), energy_at_most=0.4, epsilon_at_most=2.0, rounds=10)
    >>> round(fair.value, 4), fair.gap < 1e-9
    (0.7601, True)
    """
    from analytics.federated.device import DeviceFleet
    from analytics.federated.system import FederatedSystem

    queries = 1 if rounds is None else rounds
    if isinstance(system, DeviceFleet):
        from solvers.design import fleet
        from solvers.design.fleet_requirements import FleetRequirements

        return fleet.design(system, FleetRequirements(rounds=queries, **requirements))
    if isinstance(system, FederatedSystem):
        from solvers.design import federated
        from solvers.design.federated_requirements import FederatedRequirements

        return federated.design(system, FederatedRequirements(**requirements))
    from solvers.design import joint
    from solvers.design.requirements import Requirements

    return joint.design(
        system,
        Requirements(**requirements),
        features,
        margin=margin,
        ideal_accuracy=ideal_accuracy,
        rounds=queries,
        observer="auto" if observer is None else observer,
    )


def frontier(
    system: _InferenceSystem, features: _Features | Sequence[_Features], *, epsilon: Any, **options: Any
) -> _Dataset:
    """The least energy over epsilon and ``accuracy`` or ``error``, as an xarray Dataset of designs.

    See :func:`solvers.design.pareto.surface`, :func:`solvers.design.pareto.front` for what nothing beats, and
    :func:`solvers.design.pareto.plot`.

    Examples
    --------
    >>> import airtight
    >>> from solvers.weights.problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> airtight.frontier(*_example(), epsilon=[2.0, 4.0], error=[0.3, 0.6], free=free).energy.shape
    (2, 2)
    """
    from solvers.design import pareto

    return pareto.surface(system, features, epsilon=epsilon, **options)


def solve_weights(*arguments: Any, **options: Any) -> Any:
    """The weight problem; see :func:`solvers.weights.solve`."""
    from solvers import weights

    return weights.solve(*arguments, **options)


def solve_energy(*arguments: Any, **options: Any) -> Any:
    """The energy-utility problem; see :func:`solvers.energy.solve`."""
    from solvers import energy

    return energy.solve(*arguments, **options)


def sweep(source: Any, over: Mapping[str | tuple[str, ...], Iterable[Any]], **options: Any) -> _Dataset:
    """Quantities over a grid of systems, as an xarray Dataset; see :func:`validate.sweep.verb.sweep` for the options.

    Examples
    --------
    >>> import airtight
    >>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> airtight.sweep(system, {"clip": [1.0, 5.0]}).epsilon.values.round(4)
    array([0.2561, 1.5015])
    """
    from validate.sweep import verb

    return verb.sweep(source, over, **options)


def open_sweep(store: str | Path) -> _Dataset:
    """The Dataset of a sweep that is kept in a store; see :func:`validate.sweep.dataset.opened`."""
    from validate.sweep import dataset

    return dataset.opened(store)


def papers() -> dict[str, _Paper]:
    """The papers on trial, by identifier: those of the package and of the entry points ``airtight.papers``."""
    from validate.claims.sources import INSTALLED

    return INSTALLED.papers()


def claims() -> dict[str, _Claim]:
    """Every claim by its identifier."""
    from validate.claims.sources import INSTALLED

    return INSTALLED.claims()


def verify(ids: Sequence[str] = (), *, seed: int = 0, effort: int = EFFORT, limit: float = math.inf) -> list[_Evidence]:
    """Try the published theorems, here and now; see :func:`validate.claims.audit.run` for many at a time.

    Examples
    --------
    >>> import airtight
    >>> [found.verdict.value for found in airtight.verify(["FDP-D2"])]
    ['false']
    """
    from validate.claims import audit

    return list(audit.run(ids, seed=seed, effort=effort, limit=limit))


def prove(relation: Any, domain: Mapping[str, Any] | None = None, given: Sequence[Any] = ()) -> _Proof:
    """Prove a relation of expressions on its whole domain; see :func:`validate.claims.proof.prove`.

    Examples
    --------
    >>> import airtight, sympy
    >>> x = airtight.parameter("x", 0.0, 10.0)
    >>> airtight.prove(sympy.exp(x) >= 1 + x / 2).status.value
    'proved'
    """
    from validate.claims import proof

    return proof.prove(relation, domain, given)


def try_claims(
    given: str | Path | _Paper | Sequence[_Claim], *, seed: int = 0, effort: int = EFFORT, limit: float = math.inf
) -> list[_Evidence]:
    """Put claims on trial: those of a Python file, of a paper, or a list of them.

    Examples
    --------
    >>> import airtight, sympy
    >>> x = airtight.parameter("x", 0.01, 10.0, logarithmic=True)
    >>> lemma = airtight.Claim("L1", "Lemma 1", sympy.log(1 + x) <= x)
    >>> [found.verdict.value for found in airtight.try_claims([lemma])]
    ['holds']
    """
    import time

    from validate.claims import audit
    from validate.claims.search import trial
    from validate.claims.sources import Source

    if isinstance(given, str | Path):
        return list(audit.run(seed=seed, effort=effort, limit=limit, source=Source(str(given))))
    deadline = time.monotonic() + limit
    return [trial(claim, seed=seed, effort=effort, deadline=deadline) for claim in given]


if __name__ == "__main__":
    from validate.cli import main

    main(prog_name="airtight")
