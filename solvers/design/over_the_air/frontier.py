"""Trade-offs between privacy, distortion, accuracy and energy, from many designs.

A frontier holds the MSE and the accuracy of each design rule at each privacy cap; a surface holds the least energy of
joint designs as a function of epsilon and accuracy (or error).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import accuracy, distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.analytics.progress import each_reported
from airtight.solvers import weights
from airtight.solvers.design.over_the_air.joint import design
from airtight.solvers.design.over_the_air.joint_design import JointDesign
from airtight.solvers.design.requirements import JOINTLY_FREE, FreeName, Goal, InferenceRequirements, Requirements
from airtight.solvers.errors import InfeasibleError, NotSettledError
from airtight.solvers.weights import caps

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from airtight.solvers.design.federated.federated_design import FederatedDesign
    from airtight.solvers.design.fleet.fleet_design import FleetDesign

Asked = TypeVar("Asked", bound=Requirements)
Design = Callable[[InferenceSystem, Features, FloatArray], InferenceSystem]


def _uniform(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """w = 1/K and one clipping threshold for all devices: the least of their greatest thresholds."""
    return replace(_with_equal_weights(system), clip=np.minimum(np.min(_clips(system, upper)), system.clip))


def _clip_tuned(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """w = 1/K and a threshold for each device (Figs. 8, 9: "refining the clipping parameters")."""
    return replace(_with_equal_weights(system), clip=np.minimum(_clips(system, upper), system.clip))


def _with_equal_weights(system: InferenceSystem) -> InferenceSystem:
    return replace(system, weight=np.full(system.devices, 1 / system.devices))


def _clips(system: InferenceSystem, upper: FloatArray) -> FloatArray:
    """The greatest thresholds at w = 1/K that keep the cap; epsilon depends on the product w C only."""
    clips = upper * system.clip * system.devices
    if np.any(clips == 0):
        raise InfeasibleError("a device cannot keep the privacy cap at any positive clipping threshold")
    return np.asarray(clips)


def _published(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """The weights that minimise the printed MSE, under the exact cap."""
    return replace(system, weight=weights.solve(system, features, w_max=upper, objective="published").w)


def _exact(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """The weights that minimise the exact MSE among those that sum to one."""
    return replace(system, weight=weights.solve(system, features, w_max=upper).w)


def _free_sum(system: InferenceSystem, features: Features, upper: FloatArray) -> InferenceSystem:
    """The weights that minimise the exact MSE, without a constraint on their sum."""
    return replace(system, weight=weights.solve(system, features, w_max=upper, sums_to_one=False).w)


DESIGNS: dict[str, Design] = {
    "uniform": _uniform,
    "clip-tuned": _clip_tuned,
    "published weights": _published,
    "exact weights": _exact,
    "exact, free sum": _free_sum,
}


def trade_off(
    system: InferenceSystem,
    features: Features,
    epsilons: ArrayLike,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    designs: tuple[str, ...] = tuple(DESIGNS),
) -> xarray.Dataset:
    """MSE and accuracy of each design at each privacy cap, with and without idle noise (analogue of FDP Figs. 8 and 9).

    Parameters
    ----------
    epsilons : array_like, shape (E,)
        Caps on the exact epsilon at the system's delta and adjacency, > 0.
    margin, ideal_accuracy : float
        See :func:`airtight.analytics.inference.accuracy.exact`; without a margin no accuracy is computed.
    designs : tuple of str
        Keys of `DESIGNS`: uniform, clip-tuned, published weights, exact weights, and exact with a free sum.

    Returns
    -------
    xarray.Dataset
        ``mse`` and ``accuracy`` over (noise, design, epsilon); nan where a design cannot keep the cap. Plot with
        ``data.mse.sel(noise="participants").plot.line(x="epsilon")``.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> data = trade_off(*_example(), [1.5, 3.0], margin=4.0, designs=("uniform", "exact weights"))
    >>> data.mse.dims, bool(data.mse.sel(design="exact weights", noise="participants", epsilon=3.0) < 10)
    (('noise', 'design', 'epsilon'), True)
    """
    import xarray

    caps_on_epsilon = checks.real("epsilons", epsilons, "(0, inf)").ravel()
    noise_names = ("participants", "everybody")
    mse = np.full((2, len(designs), caps_on_epsilon.size), np.nan)
    accuracies = np.full_like(mse, np.nan)
    for i, idle in enumerate((False, True)):
        variant = replace(system_privacy.one_round_alone(system), idle_noise=idle)
        for n, epsilon in enumerate(caps_on_epsilon):
            upper = caps.greatest_weights(variant, float(epsilon))
            if np.any(np.isnan(upper)):
                continue
            for j, name in enumerate(designs):
                try:
                    designed = DESIGNS[name](variant, features, upper)
                except InfeasibleError:
                    continue
                mse[i, j, n] = distortion.exact(designed, features)
                if margin is not None:
                    sampled_accuracy = accuracy.exact(designed, features, margin=margin, ideal_accuracy=ideal_accuracy)
                    accuracies[i, j, n] = sampled_accuracy.estimate
    coordinates = {"noise": list(noise_names), "design": list(designs), "epsilon": caps_on_epsilon}
    dims = ("noise", "design", "epsilon")
    return xarray.Dataset({"mse": (dims, mse), "accuracy": (dims, accuracies)}, coordinates)


def feasible_segment(
    system: InferenceSystem, epsilon: float, *, cap: caps.Cap | str = caps.Cap.EXACT
) -> tuple[float, float]:
    """For two devices: the interval of w_1 in which (w_1, 1 - w_1) keeps the cap (FDP Fig. 11).

    (nan, nan) when no weight keeps it.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> pair = replace(_example()[0], devices=2, participation=0.8, noise_variance=2.0, weight=0.5, clip=[4.0, 2.0])
    >>> feasible_segment(pair, 1.5)
    (0.32814..., 0.33592...)
    """
    if system.devices != 2:
        raise checks.ParameterError("devices", system.devices, "2: the feasible set is a segment for two devices only")
    upper = np.minimum(caps.greatest_weights(system, epsilon, cap), 1.0)
    low, high = 1.0 - float(upper[1]), float(upper[0])
    if not low <= high:
        return float("nan"), float("nan")
    return max(low, 0.0), high


_PROPERTIES = ("epsilon", "error", "accuracy", "energy", "utility", "noise", "bits")


def traced(
    solve: Callable[[Asked], JointDesign | FederatedDesign | FleetDesign],
    wanted: Asked,
    axes: Mapping[str, ArrayLike],
    *,
    heard: Callable[[str], None] = lambda point: None,
) -> xarray.Dataset:
    """One design for every combination of limits.

    Parameters
    ----------
    solve : callable
        Returns the design for requirements of the type of `wanted`, or raises
        :class:`airtight.solvers.errors.InfeasibleError` or :class:`airtight.solvers.errors.NotSettledError`.
    wanted : Requirements
    axes : mapping of str to array_like
        For each named limit, the values that replace the one of `wanted`.
    heard : callable
        Called with a description of each point when it is done.

    Returns
    -------
    xarray.Dataset
        Over the axes: the ``value`` of the optimised quantity, its proved ``bound`` (nan where nothing is proved), and
        the properties of the designs, such as the greatest epsilon and the sums of energy and utility. All are nan
        where no design was found; the bound is then infinite (minus infinity when the quantity is maximised) where it
        is proved that no design keeps all limits.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> from airtight.solvers.design.fleet import fleet_design
    >>> from airtight.solvers.design.requirements import FleetRequirements
    >>> asked = FleetRequirements(energy_at_most=1.0)
    >>> devices = table_1(distance=[50.0, 200.0])
    >>> traced(lambda one: fleet_design.design(devices, one), asked, {"energy_at_most": [0.01, 0.3, 0.4]}).value.values.round(4)
    array([   nan, 0.7374, 0.7601])
    """
    import xarray

    grid = {name: checks.real(name, values).ravel() for name, values in axes.items()}
    shape = tuple(values.size for values in grid.values())
    arrays: dict[str, FloatArray] = {name: np.full(shape, np.nan) for name in ("value", "bound")}
    for index in np.ndindex(*shape):
        point = {name: float(values[i]) for (name, values), i in zip(grid.items(), index, strict=True)}
        requirements = replace(wanted, **point)
        try:
            reached = _properties(solve(requirements))
        except InfeasibleError:
            reached = {"bound": -np.inf if wanted.goal is Goal.UTILITY else np.inf}
        except NotSettledError as error:
            reached = {"bound": error.lower_bound}
        for name, value in reached.items():
            arrays.setdefault(name, np.full(shape, np.nan))[index] = value
        heard(", ".join(f"{name} = {value:g}" for name, value in point.items()))
    return xarray.Dataset({name: (tuple(grid), values) for name, values in arrays.items()}, grid)


def _properties(result: JointDesign | FederatedDesign | FleetDesign) -> dict[str, float]:
    bound = getattr(result, "lower_bound", getattr(result, "bound", None))
    properties = {"value": float(result.value), "bound": np.nan if bound is None else float(bound)}
    for name in _PROPERTIES:
        if (value := getattr(result, name, None)) is not None:
            properties[name] = float(np.max(value) if name == "epsilon" else np.sum(value))
    return properties


def surface(
    system: InferenceSystem,
    features: Features | Sequence[Features],
    *,
    epsilon: ArrayLike,
    accuracy: ArrayLike | None = None,
    error: ArrayLike | None = None,
    margin: float | None = None,
    free: Iterable[FreeName] = JOINTLY_FREE,
    alike: bool = False,
    progress: bool = False,
    ideal_accuracy: float = 1.0,
    rounds: int | None = None,
    observer: Observer | str | None = None,
    gap: float | None = None,
    effort: int | None = None,
) -> xarray.Dataset:
    """The least energy of a query at every epsilon and accuracy (or error).

    Parameters
    ----------
    system : InferenceSystem
    features : Features or sequence of Features
    epsilon : array_like, shape (E,)
        Limits on the epsilon of every device, over all rounds, > 0.
    accuracy, error : array_like, shape (A,)
        Limits on one of the two; an accuracy is kept by Markov's inequality.
    margin : float, optional
        Needed for accuracies.
    free : iterable of {"weight", "noise_variance", ...}
    alike : bool
        See :class:`airtight.solvers.design.requirements.InferenceRequirements`.
    progress : bool
        Whether to say on stderr every two seconds how many designs are done.
    ideal_accuracy, rounds, observer, gap, effort
        See :func:`airtight.solvers.design.over_the_air.joint.design`.

    Returns
    -------
    xarray.Dataset
        Over (epsilon, accuracy or error): ``energy``, its proved lower bound ``energy_lower`` (nan where nothing is
        proved), and the epsilon, error and accuracy that the designs reach. nan where no design keeps both limits. The attribute
        ``bound_for`` is the class of designs that the bounds are for.

    Raises
    ------
    ParameterError
        When both or neither of `accuracy` and `error` are given.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> designs = surface(*_example(), epsilon=[4.0, 8.0], error=[0.95], free=free)
    >>> designs.energy.dims, bool(np.all(designs.energy_lower <= designs.energy))
    (('epsilon', 'error'), True)
    """
    if (accuracy is None) == (error is None):
        given_limits = "both" if accuracy is not None else "neither"
        raise ParameterError("accuracy", given_limits, "given where error is absent, and absent where error is given")
    epsilons = checks.real("epsilon", epsilon, "(0, inf)")
    name, key, values = "error", "error_at_most", error
    if accuracy is not None:
        name, key, values = "accuracy", "accuracy_at_least", accuracy
    assert values is not None
    base = InferenceRequirements(minimise=Goal.ENERGY, epsilon_at_most=1.0, free=free, alike=alike)

    rounds = system.rounds if rounds is None else rounds
    observer = system.observer if observer is None else observer
    one_round = system_privacy.one_round_alone(system, rounds=False)

    def solve(requirements: InferenceRequirements) -> JointDesign:
        return design(
            one_round,
            requirements,
            features,
            margin=margin,
            ideal_accuracy=ideal_accuracy,
            rounds=rounds,
            observer=observer,
            gap=gap,
            effort=effort,
            explain=False,
        )

    limits = checks.real(name, values, "[0, inf)")
    heard = each_reported(epsilons.size * limits.size, "designs", progress=progress)
    designs = traced(solve, base, {"epsilon_at_most": epsilons, key: limits}, heard=heard)
    reached = {quantity: designs.get(quantity, designs.value * np.nan) for quantity in ("epsilon", "error", "accuracy")}
    dataset = designs[["value", "bound"]].assign(
        {f"{quantity}_reached": reached_values for quantity, reached_values in reached.items()}
    )
    dataset = dataset.rename({"value": "energy", "bound": "energy_lower", "epsilon_at_most": "epsilon", key: name})
    dataset.attrs = {"adjacency": str(system.adjacency), "delta": system.delta, "rounds": rounds}
    dataset.attrs["bound_for"] = str(base.designs)
    dataset.attrs["observer"] = str(observer)
    return dataset


def front(designs: xarray.Dataset) -> FloatArray:
    """The Pareto-optimal designs of a surface in (epsilon, error, energy), shape (n, 3), in order of epsilon.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> designs = surface(*_example(), epsilon=[4.0, 8.0], error=[0.95, 1.2], free=free, alike=True)
    >>> front(designs).shape
    (2, 3)
    """
    columns = (designs.epsilon_reached, designs.error_reached, designs.energy)
    points = np.stack([np.ravel(column.values) for column in columns], axis=1)
    points = points[np.all(np.isfinite(points), axis=1)]
    points = np.unique(points, axis=0)
    beaten = [np.any(np.all(points <= column, axis=1) & np.any(points < column, axis=1)) for column in points]
    return np.asarray(points[~np.array(beaten, dtype=bool)])


def plot(designs: xarray.Dataset, axes: Axes | None = None) -> Axes:
    """Plot energy over epsilon, one line per accuracy (or error), shaded down to the proved lower bound.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> designs = surface(*_example(), epsilon=[2.0, 4.0], error=[0.3, 0.6], free=free, alike=True)
    >>> len(plot(designs).lines)
    2
    """
    import matplotlib.pyplot as plt

    axes = plt.figure().add_subplot() if axes is None else axes
    name = str(designs.energy.dims[1])
    for value in designs[name].values:
        line = designs.sel({name: value})
        (drawn,) = axes.plot(designs.epsilon, line.energy, marker="o", label=f"{name} {value:g}")
        axes.fill_between(designs.epsilon, line.energy_lower, line.energy, alpha=0.2, color=drawn.get_color())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"epsilon, {designs.attrs['adjacency']}, {designs.attrs['rounds']} rounds")
    axes.set_ylabel("least energy of a query")
    axes.legend()
    return axes
