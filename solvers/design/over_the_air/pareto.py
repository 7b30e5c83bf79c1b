"""The surface of joint designs: the least energy over epsilon and accuracy (or error)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.over_the_air.joint import design
from airtight.solvers.design.over_the_air.requirements import Goal, JointDesign, Requirements
from airtight.solvers.errors import InfeasibleError, NotSettledError

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_REACHED = ("epsilon", "error", "accuracy", "energy", "utility", "noise", "bits")


def traced(
    solve: Callable[[Any], Any],
    wanted: Any,
    axes: Mapping[str, ArrayLike],
    *,
    heard: Callable[[str], None] = lambda point: None,
) -> xarray.Dataset:
    """One design for every combination of what is kept.

    Parameters
    ----------
    solve : callable
        Gives the design of requirements, of whichever kind, or raises :class:`airtight.solvers.errors.InfeasibleError` or
        :class:`airtight.solvers.errors.NotSettledError`.
    wanted : Requirements, FederatedRequirements or FleetRequirements
    axes : mapping of str to array_like
        Values in the place of those of `wanted`.
    heard : callable
        Told of each point when it is done.

    Returns
    -------
    xarray.Dataset
        Over the axes: ``value`` of what is sought, its proved ``bound`` (nan where nothing is proved), and what the designs
        reach: the greatest epsilon, sums of energy and utility. nan where no design was found; the bound then is infinite
        (of what is greatest: minus infinity) where it is proved that none keeps all.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> from airtight.solvers.design.fleet import fleet_design
    >>> from airtight.solvers.design.fleet.fleet_requirements import FleetRequirements
    >>> asked = FleetRequirements(energy_at_most=1.0)
    >>> devices = table_1(distance=[50.0, 200.0])
    >>> traced(lambda one: fleet_design.design(devices, one), asked, {"energy_at_most": [0.01, 0.3, 0.4]}).value.values.round(4)
    array([   nan, 0.7374, 0.7601])
    """
    import xarray

    given = {name: checks.real(name, values).ravel() for name, values in axes.items()}
    shape = tuple(values.size for values in given.values())
    found: dict[str, FloatArray] = {name: np.full(shape, np.nan) for name in ("value", "bound")}
    for at in np.ndindex(*shape):
        point = {name: float(values[i]) for (name, values), i in zip(given.items(), at, strict=True)}
        asked = replace(wanted, **point)
        try:
            reached = _reached(solve(asked))
        except InfeasibleError:
            reached = {"bound": -np.inf if getattr(wanted, "goal", None) == "utility" else np.inf}
        except NotSettledError as error:
            reached = {"bound": error.lower_bound}
        for name, value in reached.items():
            found.setdefault(name, np.full(shape, np.nan))[at] = value
        heard(", ".join(f"{name} = {value:g}" for name, value in point.items()))
    return xarray.Dataset({name: (tuple(given), values) for name, values in found.items()}, given)


def _reached(one: Any) -> dict[str, float]:
    bound = getattr(one, "lower_bound", getattr(one, "bound", None))
    found = {"value": float(one.value), "bound": np.nan if bound is None else float(bound)}
    for name in _REACHED:
        if (value := getattr(one, name, None)) is not None:
            found[name] = float(np.max(value) if name == "epsilon" else np.sum(value))
    return found


def surface(
    system: InferenceSystem,
    features: Features | Sequence[Features],
    *,
    epsilon: ArrayLike,
    accuracy: ArrayLike | None = None,
    error: ArrayLike | None = None,
    margin: float | None = None,
    free: Iterable[str] = Requirements.free,
    **options: Any,
) -> xarray.Dataset:
    """The least energy of a query at every epsilon and accuracy (or error).

    Parameters
    ----------
    system : InferenceSystem
    features : Features or sequence of Features
    epsilon : array_like, shape (E,)
        Of every device, over all rounds, > 0.
    accuracy, error : array_like, shape (A,)
        One of the two: what is asked for; an accuracy by Markov's inequality.
    margin : float, optional
        For accuracies.
    free : iterable of str
        See :class:`airtight.solvers.design.over_the_air.requirements.Requirements`.
    **options
        Of :func:`airtight.solvers.design.over_the_air.joint.design`.

    Returns
    -------
    xarray.Dataset
        Over (epsilon, accuracy or error): ``energy``, ``energy_lower`` (no design has less; nan where nothing is proved), and
        what the designs reach. nan where none keeps both.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> found = surface(*_example(), epsilon=[4.0, 8.0], error=[0.95, 1.2], free=free)
    >>> found.energy.dims, bool(np.all(found.energy_lower <= found.energy))
    (('epsilon', 'error'), True)
    """
    if (accuracy is None) == (error is None):
        given = "both" if accuracy is not None else "neither"
        raise ParameterError("accuracy", given, "one of accuracy and error")
    eps = checks.real("epsilon", epsilon, "(0, inf)")
    name, key, limits = "error", "error_at_most", error
    if accuracy is not None:
        name, key, limits = "accuracy", "accuracy_at_least", accuracy
    assert limits is not None
    wanted = Requirements(minimise=Goal.ENERGY, epsilon_at_most=1.0, free=tuple(free))  # type: ignore[arg-type]

    def solve(asked: Requirements) -> JointDesign:
        return design(system, asked, features, margin=margin, explain=False, **options)

    found = traced(solve, wanted, {"epsilon_at_most": eps, key: checks.real(name, limits, "[0, inf)")})
    reached = {one: found.get(one, found.value * np.nan) for one in ("epsilon", "error", "accuracy")}
    dataset = found[["value", "bound"]].assign({f"{one}_reached": values for one, values in reached.items()})
    dataset = dataset.rename({"value": "energy", "bound": "energy_lower", "epsilon_at_most": "epsilon", key: name})
    dataset.attrs = {"adjacency": str(system.adjacency), "delta": system.delta, "rounds": options.get("rounds", 1)}
    dataset.attrs["observer"] = str(options.get("observer", "auto"))
    return dataset


def front(found: xarray.Dataset) -> FloatArray:
    """The designs of a surface that no other one beats in epsilon, error and energy together, shape (n, 3), by epsilon.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> found = surface(*_example(), epsilon=[4.0, 8.0], error=[0.95, 1.2], free=free)
    >>> front(found).shape
    (2, 3)
    """
    columns = (found.epsilon_reached, found.error_reached, found.energy)
    points = np.stack([np.ravel(one.values) for one in columns], axis=1)
    points = points[np.all(np.isfinite(points), axis=1)]
    points = np.unique(points, axis=0)
    beaten = [np.any(np.all(points <= one, axis=1) & np.any(points < one, axis=1)) for one in points]
    return np.asarray(points[~np.array(beaten, dtype=bool)])


def plot(found: xarray.Dataset, axes: Axes | None = None) -> Axes:
    """Energy over epsilon, a line for every accuracy (error); shaded down to the lower bound where one is proved.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> found = surface(*_example(), epsilon=[2.0, 4.0], error=[0.3, 0.6], free=free)
    >>> len(plot(found).lines)
    2
    """
    import matplotlib.pyplot as plt

    axes = plt.figure().add_subplot() if axes is None else axes
    name = str(found.energy.dims[1])
    for value in found[name].values:
        line = found.sel({name: value})
        (drawn,) = axes.plot(found.epsilon, line.energy, marker="o", label=f"{name} {value:g}")
        axes.fill_between(found.epsilon, line.energy_lower, line.energy, alpha=0.2, color=drawn.get_color())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"epsilon, {found.attrs['adjacency']}, {found.attrs['rounds']} rounds")
    axes.set_ylabel("least energy of a query")
    axes.legend()
    return axes
