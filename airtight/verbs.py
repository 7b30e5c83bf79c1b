"""The verbs of the public face: each checks what it is given, loads what it needs, and calls one function below."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar, Unpack, overload

from airtight.analytics import extras
from airtight.validate.claims import EFFORT

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    import cvxpy
    from numpy.typing import ArrayLike
    from xarray import Dataset

    from airtight.analytics.checks import FloatArray, IntArray
    from airtight.analytics.federated.corbin.federated_system import FederatedSystem
    from airtight.analytics.federated.fair.device import DeviceFleet
    from airtight.analytics.guarantee import AdjacencyName, Guarantee, ObserverName
    from airtight.analytics.inference.features import Features
    from airtight.analytics.inference.system import InferenceSystem
    from airtight.analytics.limits.minimax import Limit
    from airtight.analytics.privacy.accounting.privacy_curve import Bracket, PrivacyCurve
    from airtight.analytics.privacy.over_the_air.amplification import PublishedGuarantee
    from airtight.analytics.privacy.over_the_air.theorem1_region import Theorem1Region
    from airtight.results.bounds import Bounds
    from airtight.results.inference_results import EpsilonOverRounds
    from airtight.results.training_run import Trained
    from airtight.solvers.design.calibrate import VariableName
    from airtight.solvers.design.federated.federated_design import FederatedDesign
    from airtight.solvers.design.fleet.fleet_design import FleetDesign
    from airtight.solvers.design.over_the_air.joint_design import JointDesign
    from airtight.solvers.design.requirements import (
        DesignKeys,
        FederatedKeys,
        FleetKeys,
        FreeName,
        InferenceKeys,
        Requirements,
    )
    from airtight.solvers.energy.policy import Policy
    from airtight.solvers.energy.utility import EnergySolution
    from airtight.solvers.price import ShadowPrice
    from airtight.solvers.weights.caps import Cap
    from airtight.solvers.weights.constrained import Constraints
    from airtight.solvers.weights.solution import Solution as WeightSolution
    from airtight.system_file.contents import SystemFile
    from airtight.validate.attack.attack_results import AttackResult, TrainingAttack
    from airtight.validate.claims.claim import Claim, Paper
    from airtight.validate.claims.evidence import Evidence
    from airtight.validate.claims.proving.boxes import Proof
    from airtight.validate.experiments.training.data import Splits
    from airtight.validate.experiments.training.training_plan import Settings, TrainingKeys

    Source: TypeAlias = InferenceSystem | SystemFile | str | Path  # a system file, its path, or its inference system
    CapName: TypeAlias = Literal["exact", "proven", "theorem1", "eq23", "none"]

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_Wanted = TypeVar("_Wanted", bound="Requirements")


def _own_errstate(verb: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """The verb, in which NumPy does at an overflow what it does by default, whatever the caller has set."""

    @functools.wraps(verb)
    def called(*arguments: _Given.args, **options: _Given.kwargs) -> _Answer:
        from airtight.analytics.checks import own_errstate

        return own_errstate(verb)(*arguments, **options)

    return called


def _inference(system: Source) -> InferenceSystem:
    """The inference system of what a verb is given."""
    from airtight.analytics.inference.system import InferenceSystem

    if isinstance(system, InferenceSystem):
        return system
    from airtight import loading

    return loading.inference(loading.opened(system))


def _with(system: Source, colluding: int | Iterable[int] | None) -> InferenceSystem:
    """The inference system, with other colluders where they are given."""
    described = _inference(system)
    return described if colluding is None else described.replace(colluding=colluding)


def _read(system: Source) -> InferenceSystem | SystemFile:
    """What a verb is given, a path read once: the same file may stand for features, margin and cap as well."""
    from airtight.analytics.inference.system import InferenceSystem

    return system if isinstance(system, InferenceSystem) else _file(system)


def _file(system: Any, *, uncertain: bool = False) -> SystemFile:
    """The system file that a verb is given, or whose path; a value type counts as a file that holds it alone."""
    from airtight import loading

    return loading.opened(system, uncertain=uncertain)


def _features(system: Source, features: Features | None) -> Features:
    """The features that a verb is given, by default those of the system file."""
    from airtight.analytics import checks
    from airtight.analytics.inference.features import Features
    from airtight.analytics.inference.system import InferenceSystem

    if features is None and not isinstance(system, InferenceSystem):
        features = _file(system).features
    return checks.instance("features", features, Features)


def _wanted(kind: type[_Wanted], file: SystemFile, requirements: Mapping[str, Any]) -> _Wanted:
    """The requirements of this kind; by default those of the file."""
    held = file.design
    return held if not requirements and isinstance(held, kind) else kind.of(requirements)


def _without(system: object, **given: Any) -> None:
    from airtight.analytics import checks

    for name, value in given.items():
        if value is not None:
            raise checks.ParameterError(name, value, f"absent for a {type(system).__name__}")


@_own_errstate
def bounds(source: Source | FederatedSystem | DeviceFleet) -> Bounds:
    """Every bound of a system file, its path, or a value type: published, proven, exact; what ``airtight bounds`` shows.

    Parameters
    ----------
    source : InferenceSystem, FederatedSystem, DeviceFleet, SystemFile or path
        A path is read as a system file.

    Examples
    --------
    >>> import airtight
    >>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent", rounds=20)
    >>> result = airtight.bounds(system)
    >>> result.headline[0]
    'system: PRIVATE (epsilon 7.902, all devices); usefulness depends on the codes: add [inference.features]...'
    >>> result.to_dict()["never_send"]
    []
    """
    from airtight.results.bounds import Bounds

    return Bounds.of(_file(source, uncertain=True))


@_own_errstate
def curve(system: Source, *, device: int = 0, observer: ObserverName | None = None) -> PrivacyCurve:
    """The privacy curve of one device after all rounds of the system, its channel counted.

    Of a system with one round ``.compose(T)`` is that of T rounds; see
    :func:`airtight.analytics.privacy.over_the_air.system_privacy.curve`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    device : int
        Counted from 0.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    """
    from airtight.analytics.privacy.over_the_air import system_privacy

    return system_privacy.curve(_inference(system), device=device, observer=observer)


@_own_errstate
def epsilon(
    system: Source,
    *,
    delta: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    colluding: int | Iterable[int] | None = None,
    progress: bool = False,
) -> FloatArray:
    """Least epsilon of every device after all rounds, for the system's adjacency, its channel counted: never below the truth.

    Two cases are estimates, whose interpolation error is not proved: ``absent`` over several rounds, and a device whose
    participation is hidden in fewer than 100 dimensions, where the others' noise has 72 values or more.

    `rounds`, `observer` and `colluding` replace what the system says; the observer is what the server sees beside y:
    ``participants``, ``others``, ``signal`` (the upper end) or ``auto``. Of `colluding` devices, any so many or a list, the
    server knows code, noise and participation; nothing is claimed of those in a list, whose epsilon is infinite. See
    :func:`airtight.analytics.privacy.over_the_air.system_privacy.epsilon`. With `progress`, lines on stderr say how many
    devices are done.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    delta : float, optional
        At least 0, of all rounds together; by default that of the system.
    rounds : int, optional
        At least 1; by default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    colluding : int or list of int, optional
        How many devices, or which, help the server; by default as the system says.
    progress : bool
        Whether to say on stderr how much is done.
    """
    from airtight.analytics.privacy.over_the_air import system_privacy

    return system_privacy.epsilon(_with(system, colluding), delta=delta, rounds=rounds, observer=observer, progress=progress)


@_own_errstate
def group_epsilon(
    system: Source,
    groups: Iterable[Sequence[int]],
    *,
    delta: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
) -> Bracket:
    """Epsilon of each group of devices, such as those of one person: all of them change at once; two bounds.

    They are proved except in the cases that :func:`epsilon` names as estimates.

    See :func:`airtight.analytics.privacy.over_the_air.groups.group_epsilon`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    groups : iterable of sequences of int
        Devices of each group; no device belongs to two.
    delta : float, optional
        In (0, 1); by default that of the system.
    rounds : int, optional
        At least 1; by default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    """
    from airtight.analytics.privacy.over_the_air import groups as groups_module

    return groups_module.group_epsilon(_inference(system), groups, delta=delta, rounds=rounds, observer=observer)


@_own_errstate
def epsilon_over_rounds(
    system: Source, rounds: Sequence[int] | IntArray = (1, 10, 100), *, budget: float | None = None
) -> EpsilonOverRounds:
    """Least epsilon of every device after each number of rounds, against each observer; with a budget, how long that lasts.

    It is never below the truth in the cases that :func:`epsilon` names as proved. The result has ``plot()`` and ``to_frame()``.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    rounds : sequence or array of int
        Each at least 1; they replace the rounds of the system.
    budget : float, optional
        Greatest epsilon of any device.

    Examples
    --------
    >>> import airtight
    >>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent")
    >>> found = airtight.epsilon_over_rounds(system, [1, 10], budget=4.0)
    >>> found.epsilon["participants"][:, 0].round(3), found.rounds_within["participants"]
    (array([1.502, 5.284]), 6)
    """
    from airtight.results.inference_results import EpsilonOverRounds

    return EpsilonOverRounds.of(_inference(system), rounds, budget)


def style(name: Literal["paper", "report"] = "paper") -> AbstractContextManager[None]:
    """A context in which plots have the size and the letters of a paper's column, or the style of the report.

    Parameters
    ----------
    name : {"paper", "report"}
        Whose style.

    Examples
    --------
    >>> import airtight
    >>> from matplotlib import rcParams
    >>> with airtight.style("paper"):
    ...     print(rcParams["figure.figsize"])
    [3.4, 2.4]
    """
    extras.require("report")
    from airtight.validate.experiments.figures.style import applied

    return applied(name)


@_own_errstate
def delta(
    system: Source,
    epsilon: float,
    *,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    colluding: int | Iterable[int] | None = None,
    progress: bool = False,
) -> FloatArray:
    """Least delta of every device after all rounds, for the system's adjacency, its channel counted: never below the truth.

    The two cases that :func:`epsilon` names are estimates; `rounds`, `observer`, `colluding` and `progress` are as there. See
    :func:`airtight.analytics.privacy.over_the_air.system_privacy.delta`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    epsilon : float
        At least 0.
    rounds : int, optional
        At least 1; by default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    colluding : int or list of int, optional
        How many devices, or which, help the server; by default as the system says.
    progress : bool
        Whether to say on stderr how much is done.
    """
    from airtight.analytics.privacy.over_the_air import system_privacy

    return system_privacy.delta(_with(system, colluding), epsilon, rounds=rounds, observer=observer, progress=progress)


@_own_errstate
def published(system: Source, *, form: Literal["theorem1", "eq23"] = "theorem1") -> PublishedGuarantee:
    """What Theorem 1 claims, exactly as printed, errors included: no guarantee, and about one round at one look.

    See :func:`airtight.analytics.privacy.over_the_air.amplification.published`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    form : {"theorem1", "eq23"}
        Which t is taken.
    """
    from airtight.analytics.privacy.over_the_air import amplification

    return amplification.published(_inference(system), form=form)


@_own_errstate
def theorem1_region(
    system: Source,
    *,
    form: Literal["theorem1", "eq23"] = "theorem1",
    observer: ObserverName | None = None,
    device: ArrayLike | None = None,
) -> Theorem1Region:
    """Where Theorem 1 is true for one round of a system: its greatest dimension, and the least t and factor that make it true.

    See :func:`airtight.analytics.privacy.over_the_air.theorem1_region.theorem1_region`, which has the proofs.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    form : {"theorem1", "eq23"}
        Which t is taken.
    observer : {"auto", "participants", "others", "signal"}, optional
        By default that of the system; the authors' server is `signal`.
    device : int or array_like of int, optional
        Indices of the devices; all K by default.

    Examples
    --------
    >>> import airtight
    >>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=3.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> region = airtight.theorem1_region(system, form="eq23", observer="signal", device=0)
    >>> region.dimension_lower, region.dimension_upper
    (array([81.]), array([151.]))
    """
    from airtight.analytics.privacy.over_the_air import theorem1_region as region

    return region.theorem1_region(_inference(system), form=form, observer=observer, device=device)


@_own_errstate
def proven(system: Source, *, delta: float | None = None) -> Guarantee:
    """A closed-form bound of epsilon and delta for the system's adjacency, with its proof, of one round at one look.

    See :func:`airtight.analytics.privacy.over_the_air.amplification.proven`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    delta : float, optional
        In (0, 1); by default that of the system.
    """
    from airtight.analytics.privacy.over_the_air import amplification

    return amplification.proven(_inference(system), delta=delta)


@_own_errstate
def attack(
    system: Source,
    *,
    features: Features | None = None,
    rounds: int | None = None,
    samples: int = 100_000,
    seed: int = 0,
    progress: bool = False,
) -> AttackResult:
    """What the optimal attack on the simulated channel shows, beside what is exact and what Theorem 1 promises.

    Over a channel the attacker has the signals of all antennas and knows it. `rounds` replace those of the system. With
    `progress`, lines on stderr say how many draws are done.

    See :func:`airtight.validate.attack.system_attack.attacked`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    features : Features, optional
        By default those of the system file.
    rounds : int, optional
        At least 1; by default those of the system.
    samples : int
        Samples under each neighbour.
    seed : int
        At least 0; the same seed draws the same numbers.
    progress : bool
        Whether to say on stderr how much is done.
    """
    from airtight.validate.attack import system_attack

    return system_attack.attacked(
        _inference(system), features=features, rounds=rounds, samples=samples, seed=seed, progress=progress
    )


@_own_errstate
def attack_training(
    system: FederatedSystem,
    mechanism: str = "augcorbin",
    *,
    rounds: int = 3,
    runs: int = 1000,
    seed: int = 0,
    failure: float | None = None,
    settings: Settings | None = None,
    task: Splits | None = None,
    progress: bool = False,
) -> TrainingAttack:
    """What the likelihood-ratio attack on one client of federated training shows, beside what is exact.

    See :func:`airtight.validate.attack.training.attacked`, also for the arguments. With `progress`, lines on stderr say how
    many runs are done.

    Parameters
    ----------
    system : FederatedSystem
        Clients, parameters, epsilon and the quantizers.
    mechanism : str
        "augcorbin", "corbin", "ldp" or "gaussian".
    rounds : int
        Of each training.
    runs : int
        Trainings under each neighbour, at least 8.
    seed : int
        At least 0; the same seed draws the same numbers.
    failure : float, optional
        Probability that the bound fails.
    settings : Settings, optional
        Of the training.
    task : Splits, optional
        The data.
    progress : bool
        Whether to say on stderr how much is done.
    """
    from airtight.analytics import checks
    from airtight.analytics.progress import each_reported
    from airtight.validate.attack import training

    total = 4 * checks.count("runs", runs, "[8, inf)")
    advance = each_reported(total, "runs", progress=progress)
    return training.attacked(
        system,
        mechanism,
        settings=settings,
        rounds=rounds,
        runs=runs,
        seed=seed,
        failure=training.FAILURE if failure is None else failure,
        task=task,
        advance=advance,
    )


@_own_errstate
def participation(
    score: ArrayLike, *, noise: ArrayLike, selected: int | None = None, threshold: ArrayLike | None = None
) -> FloatArray:
    r"""The probability that each device takes part: among the `selected` lowest noisy scores, or below the threshold.

    Parameters
    ----------
    score, noise : array_like
        u_k and the standard deviation of its noise, one per device.
    selected : int, optional
        Number of devices that Scheme 2.2 selects.
    threshold : array_like, optional
        Threshold eta of Scheme 2.1. Exactly one of `selected` and `threshold` is given.

    Raises
    ------
    ParameterError
        When both are given, or none.

    Examples
    --------
    >>> import airtight
    >>> airtight.participation([0.1, 0.3, 0.9], noise=0.3, selected=1).round(4)
    array([0.6746, 0.3142, 0.0111])
    >>> airtight.participation([0.1, 0.3, 0.9], noise=0.3, threshold=0.5).round(4)
    array([0.9088, 0.7475, 0.0912])
    """
    from airtight.analytics.checks import ParameterError
    from airtight.analytics.distributions import selection
    from airtight.analytics.inference import participation as schemes

    if (selected is None) == (threshold is None):
        raise ParameterError("selected, threshold", (selected, threshold), "one of both")
    if selected is not None:
        return selection.probability(score, noise, selected)
    return schemes.threshold(score, noise, threshold)  # type: ignore[arg-type]


@_own_errstate
def mse(system: Source, features: Features | None = None) -> float:
    """The exact mean squared error of what the server decodes in a round.

    Over a channel with several antennas it is that of the best combination in each state, a mean over the states; see
    :func:`airtight.analytics.inference.combiner.whole_mse`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    features : Features, optional
        By default those of the system file.
    """
    from airtight.analytics.inference import combiner

    system = _read(system)
    return combiner.whole_mse(_inference(system), _features(system, features))


@overload
def minimax_error(
    guarantee: PrivacyCurve,
    *,
    devices: int,
    dimension: int,
    clip: ArrayLike,
    weight: ArrayLike | None = None,
    adjacency: AdjacencyName = "silent",
) -> Limit: ...
@overload
def minimax_error(
    guarantee: Source | FederatedSystem, *, weight: ArrayLike | None = None, progress: bool = False
) -> Limit: ...
@_own_errstate
def minimax_error(
    guarantee: PrivacyCurve | Source | FederatedSystem,
    *,
    devices: int | None = None,
    dimension: int | None = None,
    clip: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    adjacency: AdjacencyName | None = None,
    progress: bool = False,
) -> Limit:
    r"""Bound from below the worst mean squared error of any scheme that gives each device this privacy.

    The scheme estimates :math:`\sum_jw_jx_j`, by default the mean, with any code, power, number of transmissions and decoder.

    Parameters
    ----------
    guarantee : PrivacyCurve, InferenceSystem, FederatedSystem, SystemFile or path
        The curve of each device, for what the estimate is computed from; or a system, whose curves for one round are taken. Of
        a federated system it is the error of one parameter of the mean update.
    devices, dimension, clip : int, int, array_like
        With a curve only: how many devices, and the dimension and greatest norm of what each holds. A system has its own.
    weight : array_like, optional
        :math:`w_j`; by default 1 over the number of devices.
    adjacency : {"silent", "replace", "absent"}, optional
        With a curve only: what a neighbour has in place of a device's data; by default ``silent``.
    progress : bool
        Whether to say on stderr how many kinds of devices of a system are done.

    Returns
    -------
    Limit
        Its `error` is rounded down; `how` says what proves it; `ratio` compares with the system, or with the answer 0.

    Notes
    -----
    The proofs are on the page on limits, and in :mod:`airtight.analytics.limits.minimax`.

    Examples
    --------
    >>> import airtight
    >>> airtight.minimax_error(airtight.gaussian(0.5), devices=12, dimension=784, clip=1.0)
    Limit(error=0.9551..., how='1 group of 12 devices (theorem 1)', ratio=1.046...)
    """
    from airtight.analytics import checks
    from airtight.analytics.federated.corbin import least_error
    from airtight.analytics.federated.corbin.federated_system import FederatedSystem
    from airtight.analytics.limits import minimax
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve

    if not isinstance(guarantee, PrivacyCurve):
        _without(guarantee, devices=devices, dimension=dimension, clip=clip, adjacency=adjacency)
        if isinstance(guarantee, FederatedSystem):
            _without(guarantee, weight=weight)
            return least_error.least_error(guarantee)
        return minimax.of_system(_inference(guarantee), weight=weight, progress=progress)
    for name, value in {"devices": devices, "dimension": dimension, "clip": clip}.items():
        if value is None:
            raise checks.ParameterError(name, None, "given with a curve")
    return minimax.minimax_error(
        guarantee,
        devices=devices,  # type: ignore[arg-type]
        dimension=dimension,  # type: ignore[arg-type]
        clip=clip,  # type: ignore[arg-type]
        weight=weight,
        adjacency="silent" if adjacency is None else adjacency,
    )


@_own_errstate
def energy_floor(system: Source, error: float | None = None) -> float:
    """Energy that all devices together need for one query, in any scheme with this error, private or not; rounded down.

    By default the error is that of the system for the worst codes. See
    :func:`airtight.analytics.limits.energy_floor.energy_floor`, which has the proof.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    error : float, optional
        Above 0: mean squared error of the mean of the codes.
    """
    from airtight.analytics.limits import energy_floor as floor

    return floor.energy_floor(_inference(system), error)


@_own_errstate
def baseline(features: Features, margin: float | None = None) -> dict[str, float]:
    """What an output that ignores y reaches, to hold beside every :func:`mse` and :func:`accuracy`.

    The accuracy is there with a margin only; where it is 1 the margin exceeds the norm of the target, and says nothing.

    Parameters
    ----------
    features : Features
        What the devices hold.
    margin : float, optional
        Greatest error that keeps the class, above 0.

    Examples
    --------
    >>> import airtight
    >>> airtight.baseline(airtight.Features(f=[[3.0, 4.0]], W=[[1.0, 0.0]], D=[[1.0], [0.0]]), margin=2.0)
    {'mse': 25.0, 'accuracy': 0.0}
    """
    from airtight.analytics.inference import decoding

    result = {"mse": decoding.constant_output(features)}
    return result if margin is None else {**result, "accuracy": decoding.constant_accuracy(features, margin=margin)}


@_own_errstate
def best_gain(system: Source, features: Features | None = None) -> float:
    """The decoder gain of least MSE, in closed form; see :func:`airtight.analytics.inference.decoding.best_gain`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    features : Features, optional
        By default those of the system file.
    """
    from airtight.analytics.inference import decoding

    system = _read(system)
    return decoding.best_gain(_inference(system).at_one_look(), _features(system, features)).gain


@_own_errstate
def accuracy(system: Source, features: Features | None = None, margin: float | None = None) -> float:
    """The probability that the error stays within the margin; see :func:`airtight.analytics.inference.accuracy.exact`.

    Of a system file, features and margin are by default those of its table [inference.features]. Hold :func:`baseline` beside
    it: a margin above the norm of the target is kept by an output that ignores y.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    features : Features, optional
        By default those of the system file.
    margin : float, optional
        Greatest error that keeps the class, above 0.
    """
    from airtight.analytics import checks
    from airtight.analytics.inference import accuracy as probabilities

    system = _read(system)
    views, alone = _features(system, features), _inference(system).at_one_look()
    if margin is None and (task := _file(system).task) is not None:
        margin = task.margin
    if margin is None:
        raise checks.ParameterError("margin", None, "a number in (0, inf)")
    return float(probabilities.exact(alone, views, margin=margin).estimate)


@_own_errstate
def calibrate(
    system: Source,
    epsilon: float,
    *,
    variable: VariableName = "noise",
    rounds: int | None = None,
    observer: ObserverName | None = None,
    progress: bool = False,
) -> FloatArray:
    """The least noise variances (greatest ``clip``, ``participation``) that keep epsilon at most at this, shape (K,).

    `rounds` and `observer` replace those of the system. See :func:`airtight.solvers.design.whole_system.calibrate`, which also
    says what is proved about the values. With `progress`, lines on stderr say how many evaluations are done.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    epsilon : float
        Above 0; for every device over all rounds, at the delta of the system.
    variable : {"noise", "clip", "participation"}
        What is changed.
    rounds : int, optional
        At least 1; by default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    progress : bool
        Whether to say on stderr how much is done.

    Examples
    --------
    >>> import airtight
    >>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=3.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> airtight.calibrate(system, 2.0)[:2].round(6)
    array([0.013737, 0.013737])
    """
    from airtight.solvers.design import whole_system

    return whole_system.calibrate(
        _inference(system), epsilon, variable=variable, rounds=rounds, observer=observer, progress=progress
    ).value


@overload
def design(
    system: InferenceSystem,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    progress: bool = False,
    **requirements: Unpack[InferenceKeys],
) -> JointDesign: ...
@overload
def design(
    system: FederatedSystem,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    progress: bool = False,
    **requirements: Unpack[FederatedKeys],
) -> FederatedDesign: ...
@overload
def design(
    system: DeviceFleet,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    progress: bool = False,
    **requirements: Unpack[FleetKeys],
) -> FleetDesign: ...
@overload
def design(
    system: SystemFile | str | Path,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    progress: bool = False,
    **requirements: Unpack[DesignKeys],
) -> JointDesign | FederatedDesign | FleetDesign: ...
@_own_errstate
def design(
    system: Source | FederatedSystem | DeviceFleet,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    progress: bool = False,
    **requirements: object,
) -> JointDesign | FederatedDesign | FleetDesign:
    """The joint problem: ``minimise`` something, what is kept (``epsilon_at_most=2.0``), and what is ``free``.

    See :func:`airtight.solvers.design.whole_system.design` and
    :class:`airtight.solvers.design.requirements.InferenceRequirements`; `rounds` and `observer` replace those of the
    system. Of a `FederatedSystem` and a `DeviceFleet`, which need no features, see
    :mod:`airtight.solvers.design.federated.federated_design` and
    :mod:`airtight.solvers.design.fleet.fleet_design`. With `progress`, lines on stderr say how many evaluations
    are spent, or how many prices of energy (numbers of bits) are tried.

    Parameters
    ----------
    system : InferenceSystem, FederatedSystem, DeviceFleet, SystemFile or path
        What is not free stays as it is.
    features : Features or sequence of Features, optional
        By default those of the system file; without any the worst codes count.
    margin : float, optional
        Greatest error that keeps the class, above 0.
    ideal_accuracy : float, optional
        In [0, 1]: accuracy without noise.
    rounds : int, optional
        At least 1; by default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    progress : bool
        Whether to say on stderr how much is done.
    **requirements
        Keys of the table [design]; by default those of the file.

    Examples
    --------
    >>> import airtight
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> found = airtight.design(*_example(), minimise="energy", epsilon_at_most=2.0, error_at_most=0.5, alike=True)
    >>> found.error <= 0.5 < found.nothing.error, str(found.method), str(found.bound_for)
    (True, 'global: branch and bound', 'designs that treat all devices alike')
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> fair = airtight.design(table_1(distance=[50.0, 200.0]), energy_at_most=0.4, epsilon_at_most=2.0, rounds=10)
    >>> round(fair.value, 4), fair.gap < 1e-9
    (0.7601, True)
    """
    from airtight.analytics.checks import ParameterError

    file = _file(system)
    own: dict[str, Any] = {"rounds": rounds, "observer": observer, "features": features, "margin": margin}
    if file.inference is None and file.energy is not None:
        _without(file.energy, **{name: own[name] for name in ("features", "margin", "observer")})
        from airtight.solvers.design.fleet import fleet_design
        from airtight.solvers.design.requirements import FleetRequirements

        asked = requirements if rounds is None else {**requirements, "rounds": rounds}
        return fleet_design.design(file.energy, _wanted(FleetRequirements, file, asked), progress=progress)
    if file.inference is None and file.federated is not None:
        _without(file.federated, **own)
        from airtight.solvers.design.federated import federated_design
        from airtight.solvers.design.requirements import FederatedRequirements

        return federated_design.design(
            file.federated, _wanted(FederatedRequirements, file, requirements), progress=progress
        )
    from airtight.solvers.design import whole_system
    from airtight.solvers.design.requirements import InferenceRequirements

    if file.inference is None:
        raise ParameterError("system", file.name, "a file with a table [inference], [federated] or [energy]")
    task = file.task
    if task is not None:
        features = task.samples if features is None else features
        margin = task.margin if margin is None else margin
        ideal_accuracy = task.ideal_accuracy if ideal_accuracy is None else ideal_accuracy
    return whole_system.design(
        file.inference,
        _wanted(InferenceRequirements, file, requirements),
        features,
        margin=margin,
        ideal_accuracy=1.0 if ideal_accuracy is None else ideal_accuracy,
        rounds=rounds,
        observer=observer,
        progress=progress,
    )


@_own_errstate
def frontier(
    system: InferenceSystem,
    features: Features | Sequence[Features],
    *,
    epsilon: ArrayLike,
    accuracy: ArrayLike | None = None,
    error: ArrayLike | None = None,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    free: Iterable[FreeName] | None = None,
    alike: bool = False,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    gap: float | None = None,
    effort: int | None = None,
    progress: bool = False,
) -> Dataset:
    """The least energy over epsilon and ``accuracy`` or ``error``, as an xarray Dataset of designs.

    See :func:`airtight.solvers.design.over_the_air.frontier.surface`,
    :func:`airtight.solvers.design.over_the_air.frontier.front` for what nothing beats, and
    :func:`airtight.solvers.design.over_the_air.frontier.plot`.

    Parameters
    ----------
    system : InferenceSystem
        What is not free stays as it is.
    features : Features or sequence of Features
        One task, or several of equal probability.
    epsilon : array_like
        Greatest epsilons.
    accuracy, error : array_like, optional
        Least accuracies, or greatest errors: one of the two.
    margin : float, optional
        Greatest error that keeps the class, above 0.
    ideal_accuracy : float
        In [0, 1]: accuracy without noise.
    free : iterable of str, optional
        Variables that may change; by default all except idle noise.
    alike : bool
        Whether all devices have the same values.
    rounds : int, optional
        At least 1; by default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    gap : float, optional
        Relative gap at which a design is good enough.
    effort : int, optional
        Evaluations for each design.
    progress : bool
        Whether to say on stderr how much is done.

    Examples
    --------
    >>> import airtight
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> airtight.frontier(*_example(), epsilon=[2.0, 4.0], error=[0.3, 0.6], free=free, alike=True).energy.shape
    (2, 2)
    """
    from airtight.analytics import checks
    from airtight.analytics.inference.system import InferenceSystem
    from airtight.solvers.design.over_the_air import frontier
    from airtight.solvers.design.requirements import JOINTLY_FREE

    return frontier.surface(
        checks.instance("system", system, InferenceSystem),
        features,
        epsilon=epsilon,
        accuracy=accuracy,
        error=error,
        margin=margin,
        ideal_accuracy=ideal_accuracy,
        free=JOINTLY_FREE if free is None else free,
        alike=alike,
        rounds=rounds,
        observer=observer,
        gap=gap,
        effort=effort,
        progress=progress,
    )


@_own_errstate
def solve_weights(
    system: Source,
    features: Features | None = None,
    *,
    epsilon_cap: float | None = None,
    cap: Cap | CapName = "exact",
    objective: Literal["exact", "published"] = "exact",
    method: Literal["structured", "cvxpy", "published"] = "structured",
    sums_to_one: bool = True,
    w_max: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> WeightSolution:
    """The weights of least MSE under a cap on epsilon, with their certificate.

    Of a system file, features and cap are by default those of its table [inference.features]; elsewhere the cap is infinite. See
    :func:`airtight.solvers.weights.solve` for the parameters.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    features : Features, optional
        By default those of the system file.
    epsilon_cap : float, optional
        Greatest epsilon of a device.
    cap : {"exact", "proven", "theorem1", "eq23", "none"}
        How epsilon is computed for the cap.
    objective : {"exact", "published"}
        Which MSE is least.
    method : {"structured", "cvxpy", "published"}
        How it is solved.
    sums_to_one : bool
        Whether the weights add up to one.
    w_max : array_like, shape (K,), optional
        Greatest weights; by default those of the cap.
    constraints : callable, optional
        Takes the cvxpy variable of the weights, returns one or several cvxpy constraints.

    Examples
    --------
    >>> import airtight
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> best = airtight.solve_weights(*_example(), epsilon_cap=2.0)
    >>> best.w.round(4), best.is_optimal()
    (array([0.227 , 0.2943, 0.4787]), True)
    """
    from airtight.solvers import weights

    system = _read(system)
    return weights.solve(
        _inference(system),
        _features(system, features),
        epsilon_cap=_cap(system, epsilon_cap),
        cap=cap,
        objective=objective,
        method=method,
        sums_to_one=sums_to_one,
        w_max=w_max,
        constraints=constraints,
    )


def _cap(system: Source, epsilon_cap: float | None) -> float:
    """The cap on epsilon that a verb is given, by default that of the system file."""
    from airtight.analytics.inference.system import InferenceSystem

    task = None if epsilon_cap is not None or isinstance(system, InferenceSystem) else _file(system).task
    held = epsilon_cap if task is None else task.epsilon_cap
    return math.inf if held is None else held


@_own_errstate
def weight_problem(
    system: Source,
    features: Features | None = None,
    *,
    epsilon_cap: float | None = None,
    cap: Cap | CapName = "exact",
    objective: Literal["exact", "published"] = "exact",
    sums_to_one: bool = True,
    w_max: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Variable]]:
    """The weight problem as a cvxpy problem, with its variables by name.

    Parameters as in :func:`solve_weights`; see :func:`airtight.solvers.weights.weight_problem.weight_problem`.

    Parameters
    ----------
    system : InferenceSystem, SystemFile or path
        A path is read as a system file.
    features : Features, optional
        By default those of the system file.
    epsilon_cap : float, optional
        Greatest epsilon of a device.
    cap : {"exact", "proven", "theorem1", "eq23", "none"}
        How epsilon is computed for the cap.
    objective : {"exact", "published"}
        Which MSE is least.
    sums_to_one : bool
        Whether the weights add up to one.
    w_max : array_like, shape (K,), optional
        Greatest weights; by default those of the cap.
    constraints : callable, optional
        Takes the cvxpy variable of the weights, returns one or several cvxpy constraints.
    """
    from airtight.solvers.weights import weight_problem as problems

    system = _read(system)
    return problems.weight_problem(
        _inference(system),
        _features(system, features),
        epsilon_cap=_cap(system, epsilon_cap),
        cap=cap,
        objective=objective,
        sums_to_one=sums_to_one,
        w_max=w_max,
        constraints=constraints,
    )


@_own_errstate
def energy_problem(fleet: DeviceFleet, *, device: int = 0) -> tuple[cvxpy.Problem, dict[str, cvxpy.Variable]]:
    """The relaxed energy-utility problem of one device as a cvxpy problem, with its variables by name.

    See :func:`airtight.solvers.energy.conic_energy.energy_problem`.

    Parameters
    ----------
    fleet : DeviceFleet
        With its deadline, gains and limits.
    device : int
        Counted from 0.
    """
    from airtight.solvers.energy import conic_energy

    return conic_energy.energy_problem(fleet, device=device)


@_own_errstate
def design_problem(
    system: InferenceSystem,
    features: Features | Sequence[Features],
    *,
    epsilon_at_most: float | None = None,
    energy_at_most: float | None = None,
    rounds: int | None = None,
    observer: ObserverName | None = None,
    free_noise: bool = True,
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Variable]]:
    """The joint problem at given clips and participations as a cvxpy problem, with its variables by name.

    See :func:`airtight.solvers.design.over_the_air.design_prices.design_problem`; `rounds` and `observer` replace those of the
    system.

    Parameters
    ----------
    system : InferenceSystem
        With the clips and participations that are kept.
    features : Features or sequence of Features
        One task, or several of equal probability.
    epsilon_at_most, energy_at_most : float, optional
        What is kept.
    rounds : int, optional
        At least 1; by default those of the system.
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees beside y; by default as the system says.
    free_noise : bool
        Whether the noise of the devices may change.
    """
    from airtight.analytics import checks
    from airtight.analytics.inference.system import InferenceSystem
    from airtight.analytics.privacy.over_the_air import system_privacy
    from airtight.solvers.design.over_the_air import design_prices

    return design_prices.design_problem(
        system_privacy.one_round_alone(checks.instance("system", system, InferenceSystem), rounds=False),
        features,
        epsilon_at_most=epsilon_at_most,
        energy_at_most=energy_at_most,
        rounds=system.rounds if rounds is None else rounds,
        observer=system.observer if observer is None else observer,
        free_noise=free_noise,
    )


@_own_errstate
def sensitivities(design: JointDesign) -> list[ShadowPrice]:
    """Return the shadow price of each limit of a joint design.

    See :func:`airtight.solvers.design.over_the_air.design_prices.of`. The solutions of :func:`solve_weights` and
    :func:`solve_energy` have their own: ``solution.price`` and ``solution.prices``.

    Parameters
    ----------
    design : JointDesign
        What :func:`design` found.
    """
    from airtight.analytics import checks
    from airtight.solvers.design.over_the_air import design_prices
    from airtight.solvers.design.over_the_air.joint_design import JointDesign

    return design_prices.of(checks.instance("design", design, JointDesign))


@_own_errstate
def energy_policy(fleet: DeviceFleet, *, device: int = 0, greatest: float | None = None, loss: float = 1e-4) -> Policy:
    """Iterations and power of one device by the gain of its channel; see :func:`airtight.solvers.energy.policy.policy`.

    Parameters
    ----------
    fleet : DeviceFleet
        With its deadline, gains and limits.
    device : int
        Counted from 0.
    greatest : float, optional
        Greatest gain of the table.
    loss : float
        In (0, 1): loss of utility, relative to the magnitude of its terms, that an entry may have.
    """
    from airtight.analytics import checks
    from airtight.analytics.federated.fair.device import DeviceFleet
    from airtight.solvers.energy import policy

    checks.instance("fleet", fleet, DeviceFleet)
    return policy.policy(fleet, device=device, greatest=greatest, loss=loss)


@_own_errstate
def solve_energy(
    fleet: DeviceFleet | SystemFile | str | Path,
    *,
    method: Literal["closed-form", "cvxpy", "published"] = "closed-form",
    integer: bool = False,
) -> EnergySolution:
    """The iterations and the power of greatest utility for every device; see :func:`airtight.solvers.energy.solve`.

    Parameters
    ----------
    fleet : DeviceFleet, SystemFile or path
        With its deadline, gains and limits.
    method : {"closed-form", "cvxpy", "published"}
        How it is solved.
    integer : bool
        Whether the number of iterations is whole.
    """
    from airtight.analytics import checks
    from airtight.analytics.federated.fair.device import DeviceFleet
    from airtight.solvers import energy

    held = fleet if isinstance(fleet, DeviceFleet) else _file(fleet).energy
    return energy.solve(checks.instance("fleet", held, DeviceFleet), method=method, integer=integer)


@_own_errstate
def sweep(
    source: Source | FederatedSystem | DeviceFleet | Mapping[str, Any],
    over: Mapping[str | tuple[str, ...], Iterable[Any]],
    *,
    quantities: Sequence[str] = (),
    out: str | Path | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    started: Callable[[int], Callable[[str], None]] | None = None,
    progress: bool = False,
    replace: bool = False,
    failed: bool = False,
) -> Dataset:
    """Quantities over a grid of systems, as an xarray Dataset; see :func:`airtight.sweeps.verb.sweep` for the arguments.

    Parameters
    ----------
    source : InferenceSystem, FederatedSystem, DeviceFleet, SystemFile, mapping or path
        The system whose keys are changed.
    over : mapping
        Values of each key; a tuple of keys changes together.
    quantities : sequence of str
        What is computed, by name.
    out : path, optional
        Store; an interrupted sweep goes on from there.
    executor : concurrent.futures.Executor, optional
        Where blocks of cells are computed; by default in this process.
    workers : int, optional
        Workers of the executor; by default as many as processors.
    started : callable, optional
        Takes the number of missing blocks, returns what is called after each.
    progress : bool
        Whether to say on stderr how much is done.
    replace : bool
        Whether an existing store is begun anew.
    failed : bool
        Whether failed cells are computed again.

    Examples
    --------
    >>> import airtight
    >>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> airtight.sweep(system, {"clip": [1.0, 5.0]}).epsilon.values.round(4)
    array([0.2561, 1.5015])
    """
    from airtight.sweeps import verb

    return verb.sweep(
        source,
        over,
        quantities=quantities,
        out=out,
        executor=executor,
        workers=workers,
        started=started,
        progress=progress,
        replace=replace,
        failed=failed,
    )


@_own_errstate
def open_sweep(store: str | Path) -> Dataset:
    """The Dataset of a sweep that is kept in a store; see :func:`airtight.sweeps.dataset.opened`.

    Parameters
    ----------
    store : path
        A folder or a .zarr.
    """
    from airtight.analytics import checks

    extras.require("sweep")
    checks.instance("store", store, str, Path)
    from airtight.sweeps import dataset

    return dataset.opened(store)


@_own_errstate
def train(
    system: InferenceSystem | FederatedSystem | DeviceFleet,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    clients: ArrayLike | None = None,
    checkpoints: str | Path | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    **training: Unpack[TrainingKeys],
) -> Trained:
    """Learn with a system, from features `X` and labels `y` or from handwritten digits.

    Parameters
    ----------
    system : InferenceSystem, FederatedSystem or DeviceFleet
        Collaborative inference by Scheme 1, federated learning by every mechanism, or learning under every energy policy.
    X : array_like, shape (N, d) or (N, K, d), optional
        For inference a view for each of K devices, or d columns that they share equally
        (:meth:`airtight.validate.experiments.training.own_data.OwnData.of`).
    y : array_like, shape (N,), optional
        Whole numbers.
    clients : array_like, shape (N,), optional
        To which client each sample belongs; by default they are distributed at random.
    checkpoints : path, optional
        Folder; an interrupted training goes on from there.
    executor : concurrent.futures.Executor, optional
        Where the seeds are trained; by default one after the other.
    progress : bool
        Whether to say on stderr every two seconds how many rounds are done, where there is no executor.
    **training
        Keys of the table [training]: ``rounds=20``, ``mechanisms=["ldp", "corbin"]``, ``seeds=1``.

    Returns
    -------
    Trained
        ``tree`` holds what ``airtight train --json`` prints, ``to_dict()`` the same for strict JSON.

    Raises
    ------
    ParameterError
        When an array, a key or a value is not allowed, or the data do not fit the system.

    Examples
    --------
    >>> import airtight, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> system = airtight.FederatedSystem(clients=5, parameters=1, epsilon=4.0)
    >>> result = airtight.train(system, X, X[:, 0] > X[:, 1], rounds=20, smoothing=1.0, seeds=1, mechanisms=["vanilla"])
    >>> result.tree["federated"]["mechanisms"]["vanilla"]["test_accuracy"] > 0.7
    True
    """
    from airtight.analytics import checks
    from airtight.analytics.checks import ParameterError
    from airtight.results import training_run
    from airtight.validate.experiments.training.own_data import OwnData

    if (X is None) != (y is None) or (X is None and clients is not None):
        raise ParameterError("X, y", "one of them", "both given, or both absent")
    source = None if X is None or y is None else OwnData.of(X, y, clients)
    if checkpoints is not None:
        checks.instance("checkpoints", checkpoints, str, Path)
    if executor is not None:
        from concurrent.futures import Executor

        checks.instance("executor", executor, Executor)
    kept = None if checkpoints is None else Path(checkpoints)
    return training_run.train_on(
        system, source, training=dict(training), checkpoints=kept, executor=executor, progress=progress
    )


@_own_errstate
def papers() -> dict[str, Paper]:
    """The papers on trial, by identifier: those of the package and of the entry points ``airtight.papers``."""
    from airtight.validate.claims.sources import INSTALLED

    return INSTALLED.papers()


@_own_errstate
def claims() -> dict[str, Claim]:
    """Every claim by its identifier."""
    from airtight.validate.claims.sources import INSTALLED

    return INSTALLED.claims()


@_own_errstate
def verify(
    ids: Sequence[str] = (), *, seed: int = 0, effort: int = EFFORT, limit: float = math.inf, progress: bool = False
) -> list[Evidence]:
    """Try the published theorems, here and now; see :func:`airtight.validate.claims.audit.run` for many at a time.

    With `progress`, lines on stderr say how many claims are tried.

    Parameters
    ----------
    ids : sequence of str
        Identifiers or prefixes of them; all by default.
    seed : int
        At least 0; the same seed draws the same numbers.
    effort : int
        Evaluations for each claim; the verdict depends on this, never on time.
    limit : float
        Seconds, after which claims that are not finished are unsettled; no limit by default.
    progress : bool
        Whether to say on stderr how much is done.

    Examples
    --------
    >>> import airtight
    >>> [result.verdict.value for result in airtight.verify(["FDP-D2"])]
    ['false']
    """
    from airtight.analytics import checks
    from airtight.analytics.progress import counted
    from airtight.validate.claims import audit

    checks.instance("ids", ids, list, tuple)
    seed, effort = checks.count("seed", seed, "[0, inf)"), checks.count("effort", effort)
    limit = checks.scalar("limit", limit, "[0, inf]")
    result = audit.run(ids, seed=seed, effort=effort, limit=limit)
    return list(counted(result, len(audit.selected(ids)), "claims", progress=progress))


@_own_errstate
def prove(relation: Any, domain: Mapping[str, Any] | None = None, given: Sequence[Any] = ()) -> Proof:
    """Prove a relation of expressions on its whole domain; see :func:`airtight.validate.claims.proving.proof.prove`.

    Parameters
    ----------
    relation : Relation or SymPy inequality
        The actual value on the left.
    domain : mapping, optional
        Range of each parameter; by default that of the symbols.
    given : sequence
        Relations that may be assumed.

    Examples
    --------
    >>> import airtight, sympy
    >>> x = airtight.parameter("x", 0.0, 10.0)
    >>> airtight.prove(sympy.exp(x) >= 1 + x / 2).status.value
    'proved'
    """
    from airtight.analytics import checks
    from airtight.validate.claims.proving import proof

    if domain is not None:
        from airtight.analytics.forms.domain import Range

        for each in checks.instance("domain", domain, Mapping).values():  # type: ignore[type-abstract]
            checks.instance("domain", each, Range)
    checks.instance("given", given, list, tuple)
    return proof.prove(relation, domain, given)


@_own_errstate
def map_claim(
    claim: Claim | str,
    over: Mapping[str, Sequence[float]],
    at: Mapping[str, float] | None = None,
    *,
    file: str | Path | None = None,
    certify: bool = False,
) -> Dataset:
    """Try a claim at every point of a grid of two of its parameters: true, false, vacuous, and by what factor it fails.

    `claim` is a claim or its identifier, of the installed papers or of a Python `file`; `at` has values of the other
    parameters, by default those of the paper. A system file as `file` has values of its own, which come before the paper's.
    :func:`airtight.validate.claims.claim_map.map_claim` describes the Dataset.

    Parameters
    ----------
    claim : Claim or str
        A claim or its identifier.
    over : mapping
        Two parameters, each with its values.
    at : mapping, optional
        Values of the other parameters.
    file : path, optional
        A Python file of claims, or a system file.
    certify : bool
        Whether ball arithmetic is to prove each violation.

    Examples
    --------
    >>> import airtight
    >>> airtight.map_claim("FDP-T1", {"devices": [12, 64], "p": [0.5, 0.9]}).region.values.tolist()
    [['vacuous', 'vacuous'], ['false', 'false']]
    """
    from airtight.analytics import checks
    from airtight.system_file import claim_points
    from airtight.validate.claims import claim_map
    from airtight.validate.claims.claim import Claim
    from airtight.validate.claims.sources import named

    path = None if file is None else Path(str(checks.instance("file", file, str, Path)))
    of_system = path is not None and claim_points.is_system_file(path)
    if isinstance(claim, str):
        claim = named(claim, None if of_system else path)
    checks.flag("certify", certify)
    tried = checks.instance("claim", claim, Claim)
    system = claim_points.point_of(_file(path), tried.domain) if of_system else None
    return claim_map.map_claim(tried, over, at, system=system, certify=certify)


@_own_errstate
def try_claims(
    given: str | Path | Paper | Sequence[Claim],
    *,
    seed: int = 0,
    effort: int = EFFORT,
    limit: float = math.inf,
    progress: bool = False,
) -> list[Evidence]:
    """Put claims on trial: those of a Python file, of a paper, or a list of them.

    With `progress`, lines on stderr say how many claims are tried.

    Parameters
    ----------
    given : path, Paper or sequence of Claim
        What is tried.
    seed : int
        At least 0; the same seed draws the same numbers.
    effort : int
        Evaluations for each claim; the verdict depends on this, never on time.
    limit : float
        Seconds, after which claims that are not finished are unsettled; no limit by default.
    progress : bool
        Whether to say on stderr how much is done.

    Examples
    --------
    >>> import airtight, sympy
    >>> x = airtight.parameter("x", 0.01, 10.0, logarithmic=True)
    >>> lemma = airtight.Claim("L1", "Lemma 1", sympy.log(1 + x) <= x)
    >>> [result.verdict.value for result in airtight.try_claims([lemma])]
    ['holds']
    """
    import time

    from airtight.analytics import checks
    from airtight.analytics.progress import counted
    from airtight.validate.claims import audit
    from airtight.validate.claims.claim import Claim, Paper
    from airtight.validate.claims.search import trial
    from airtight.validate.claims.sources import Source

    seed, effort = checks.count("seed", seed, "[0, inf)"), checks.count("effort", effort)
    limit = checks.scalar("limit", limit, "[0, inf]")
    if isinstance(given, str | Path):
        source = Source(str(given))
        result = audit.run(seed=seed, effort=effort, limit=limit, source=source)
        return list(counted(result, len(source.claims()), "claims", progress=progress))
    if not isinstance(given, Paper):
        for claim in checks.instance("given", given, list, tuple):
            checks.instance("given", claim, Claim)
    if not list(given):
        raise checks.ParameterError("given", given, "at least one claim")
    deadline, wanted = time.time() + limit, list(given)
    told = counted(wanted, len(wanted), "claims", progress=progress)
    return [trial(claim, seed=seed, effort=effort, deadline=deadline) for claim in told]
