"""What can be had: the least energy over epsilon and accuracy (or error), a surface of joint designs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from analytics import checks
from analytics.checks import FloatArray, ParameterError
from analytics.inference.features import Features
from analytics.inference.system import InferenceSystem
from solvers.design.joint import design
from solvers.design.requirements import Goal, Requirements
from solvers.solution import InfeasibleError

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_NAMES = ("energy", "energy_lower", "epsilon_reached", "error_reached", "accuracy_reached")


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
        See :class:`solvers.design.requirements.Requirements`.
    **options
        Of :func:`solvers.design.joint.design`.

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
    >>> from solvers.weights.problem import _example
    >>> free = ["weight", "noise_variance", "decoder_gain"]
    >>> found = surface(*_example(), epsilon=[4.0, 8.0], error=[0.95, 1.2], free=free)
    >>> found.energy.dims, bool(np.all(found.energy_lower <= found.energy))
    (('epsilon', 'error'), True)
    """
    import xarray

    if (accuracy is None) == (error is None):
        given = "both" if accuracy is not None else "neither"
        raise ParameterError("accuracy", given, "one of accuracy and error")
    eps = checks.real("epsilon", epsilon, "(0, inf)").ravel()
    name, key, asked_for = "error", "error_at_most", error
    if accuracy is not None:
        name, key, asked_for = "accuracy", "accuracy_at_least", accuracy
    assert asked_for is not None
    wanted = checks.real(name, asked_for, "[0, inf)").ravel()
    found = {one: np.full((eps.size, wanted.size), np.nan) for one in _NAMES}
    for at in np.ndindex(eps.size, wanted.size):
        limits: dict[str, Any] = {"epsilon_at_most": float(eps[at[0]]), key: float(wanted[at[1]])}
        asked = Requirements(minimise=Goal.ENERGY, free=tuple(free), **limits)  # type: ignore[arg-type]
        try:
            one = design(system, asked, features, margin=margin, explain=False, **options)
        except InfeasibleError:
            continue
        reached = (one.energy, one.lower_bound, float(np.max(one.epsilon)), one.error, one.accuracy)
        for label, value in zip(_NAMES, reached, strict=True):
            found[label][at] = np.nan if value is None else value
    data = {label: (("epsilon", name), values) for label, values in found.items()}
    dataset = xarray.Dataset(data, {"epsilon": eps, name: wanted})
    dataset.attrs = {"adjacency": str(system.adjacency), "delta": system.delta, "rounds": options.get("rounds", 1)}
    dataset.attrs["observer"] = str(options.get("observer", "auto"))
    return dataset


def front(found: xarray.Dataset) -> FloatArray:
    """The designs of a surface that no other one beats in epsilon, error and energy together, shape (n, 3), by epsilon.

    Examples
    --------
    >>> from solvers.weights.problem import _example
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
    >>> from solvers.weights.problem import _example
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
