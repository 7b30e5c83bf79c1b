"""Where in the plane of two of its parameters a claim is true, is false, or says nothing: its own test at points of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from airtight.analytics import checks, plots
from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.domain import exact
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.relation import Sign
from airtight.validate.claims.search import own_parameters, taken, witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Region(StrEnum):
    """What a claim is at a point.

    ``vacuous``: it claims nothing there, or a bound that nothing exceeds. ``outside``: one of its hypotheses fails, or is
    not decided. ``unsettled``: its test gives no answer.
    """

    TRUE = "true"
    FALSE = "false"
    VACUOUS = "vacuous"
    OUTSIDE = "outside"
    UNSETTLED = "unsettled"


_COLOURS = {Region.TRUE: "#92c5de", Region.VACUOUS: plots.IMPOSSIBLE, Region.OUTSIDE: "#ffffff", Region.UNSETTLED: "#f7e08a"}


@dataclass(frozen=True)
class _Spot:
    region: Region
    claimed: float = math.nan
    actual: float = math.nan
    factor: float = math.nan
    certified: bool = False
    reason: str = ""


def map_claim(
    claim: Claim,
    over: Mapping[str, Sequence[float]],
    at: Mapping[str, float] | None = None,
    *,
    system: Mapping[str, float] | None = None,
    certify: bool = False,
    advance: Callable[[str], None] = lambda done: None,
) -> xr.Dataset:
    """Try a claim at every point of a grid of two of its parameters.

    Parameters
    ----------
    claim : Claim
    over : mapping
        Two parameters of the claim, each with its values; a number is read as the decimal that is written.
    at : mapping, optional
        Values of the other parameters; by default those of `system`, or else of the paper.
    system : mapping, optional
        Values of parameters in a system of interest, which is marked.
    certify : bool
        Whether ball arithmetic is to prove each violation. Where both sides are expressions, it has decided every point anyway.
    advance : callable
        Called after each point.

    Returns
    -------
    xarray.Dataset
        `region` (:class:`Region`), `claimed`, `actual`, `factor` by which the claim fails (on a scale of differences: the
        excess in its unit), and `certified`: whether ball arithmetic decided the point.

    Notes
    -----
    A point is true or false as the claim's own trial would have it (:meth:`Claim.compare`): where code computes a side in
    doubles, an excess of at most :attr:`Claim.allowance` is a rounding error and the point counts as true.
    """
    axes = _axes(claim, over)
    of_system = {} if system is None else dict(system)
    fixed = _others(claim, axes, {name: value for name, value in of_system.items() if name not in axes} | _mapping(at))
    spots = []
    for values in product(*axes.values()):
        spots.append(_spot(claim, {**fixed, **dict(zip(axes, values, strict=True))}, certify))
        advance(spots[-1].region)
    shape = tuple(len(values) for values in axes.values())

    def grid(name: str) -> tuple[tuple[str, ...], np.ndarray]:
        return tuple(axes), np.array([getattr(spot, name) for spot in spots]).reshape(shape)

    own = own_parameters(claim) or {}
    reasons = [spot.reason for spot in spots if spot.reason]
    return xr.Dataset(
        {
            "region": (tuple(axes), np.array([spot.region.value for spot in spots]).reshape(shape)),
            **{name: grid(name) for name in ("claimed", "actual", "factor")},
            "certified": grid("certified"),
        },
        coords={name: [float(value) for value in values] for name, values in axes.items()},
        attrs={
            "claim": claim.id,
            "statement": claim.statement,
            "scale": claim.scale.label,
            **{f"at_{name}": float(value) for name, value in fixed.items()},
            **{f"paper_{name}": float(own[name]) for name in axes if name in own},
            **{f"system_{name}": float(of_system[name]) for name in axes if name in of_system},
            **({"first_error": reasons[0]} if reasons else {}),
        },
    )


def _mapping(at: Mapping[str, float] | None) -> dict[str, float]:
    if at is not None and not isinstance(at, Mapping):
        raise ParameterError("at", at, "a value for each of some parameters, by name")
    return dict(at or {})


def _axes(claim: Claim, over: Mapping[str, Sequence[float]]) -> dict[str, list[Fraction]]:
    """The values of both axes, exactly."""
    if not isinstance(over, Mapping) or len(over) != 2:
        raise ParameterError("over", over, f"two parameters of {claim.id}: {', '.join(claim.domain)}")
    axes = {}
    for name, values in over.items():
        listed = values.ndim == 1 if isinstance(values, np.ndarray) else isinstance(values, Sequence)
        if not listed or isinstance(values, str):
            raise ParameterError(str(name), values, "a list of numbers")
        axes[name] = sorted({_value(claim, name, value) for value in values})
        if len(axes[name]) < 2:
            raise ParameterError(name, list(values), "at least two different values")
    return axes


def _value(claim: Claim, name: str, value: float) -> Fraction:
    """A value of a parameter as the decimal that is written."""
    if name not in claim.domain:
        raise ParameterError("parameter", name, f"one of {claim.id}: {', '.join(claim.domain)}")
    number, allowed = exact(checks.scalar(name, value, "(-inf, inf)") + 0.0), claim.domain[name]
    if not allowed.allows(number):
        raise ParameterError(name, value, allowed.in_words)
    return number


def _others(claim: Claim, axes: Mapping[str, object], at: Mapping[str, float]) -> dict[str, Fraction]:
    """The values of all parameters that are no axis."""
    given = {name: _value(claim, name, value) for name, value in at.items()}
    if both := sorted(given.keys() & axes.keys()):
        raise ParameterError("at", both[0], "no parameter of `over`")
    own = own_parameters(claim) or {}
    fixed = {name: exact(value) for name, value in own.items() if name not in axes} | given
    if missing := [name for name in claim.domain if name not in {*axes, *fixed}]:
        raise ParameterError("at", ", ".join(missing), f"a value for each: the paper of {claim.id} names none")
    return fixed


def _spot(claim: Claim, point: dict[str, Fraction], certify: bool) -> _Spot:
    """What the claim's own test says at a point; what its code raises there leaves it unsettled."""
    try:
        values = taken(claim, point)
        if not claim.admits(values):
            return _Spot(Region.OUTSIDE)
        if claim.relation.symbolic:
            (claimed, actual, margin), agreement = claim.agreement(values)
            decided = agreement.order is not None
        else:
            (claimed, actual, margin), decided = claim.compare(values), False
        if _says_nothing(claim, claimed):
            return _Spot(Region.VACUOUS, claimed, actual)
        if claim.relation.symbolic and not decided:
            return _Spot(Region.UNSETTLED, claimed, actual, reason="ball arithmetic does not separate the sides")
        if margin >= 0:
            return _Spot(Region.TRUE, claimed, actual, certified=decided)
        certified = decided or (certify and witness(claim, point).certified)
        return _Spot(Region.FALSE, claimed, actual, claim.scale.factor(claim.allowance - margin), certified)
    except Exception as error:  # a claim runs code of users: an error at one point must not end the others
        return _Spot(Region.UNSETTLED, reason=f"{type(error).__name__}: {error}")


def _says_nothing(claim: Claim, claimed: float) -> bool:
    """Whether every quantity keeps the claimed bound; on a scale of ratios none is below 0."""
    return claimed != claimed or (
        claimed == math.inf
        if claim.relation.sign is Sign.AT_MOST
        else claim.relation.sign is Sign.AT_LEAST and (claimed == -math.inf or (claim.scale.name == "ratio" and claimed == 0))
    )


def finding(mapped: xr.Dataset) -> str:
    """How many points are true, false and the others, in one sentence.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> x, y = parameter("x", 0.0, 4.0), parameter("y", 0.0, 4.0)
    >>> mapped = map_claim(Claim("L", "Lemma", x**2 <= y), {"x": [1, 2, 3], "y": [1, 4]})
    >>> finding(mapped), mapped.factor.values.tolist()[1]
    ('L: false at 3 of 6 points, by a factor of up to 9; true at 3', [4.0, nan])
    """
    counts = {region: int((mapped.region == region.value).sum()) for region in Region}
    false, points = counts.pop(Region.FALSE), mapped.region.size
    others = "; ".join(f"{region} at {count}" for region, count in counts.items() if count)
    failing = f"false at {false} of {points} points"
    if false:
        worst = float(mapped.factor.max())
        most = plots.tick(worst) if worst < math.inf else "infinity"
        failing += f", by {'a factor of ' if mapped.attrs['scale'].startswith('ratio') else ''}up to {most}"
    return f"{mapped.attrs['claim']}: {failing}" + (f"; {others}" if others else "")


def plot(mapped: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Plot the map: a colour for what the claim is at each point, deeper the more it fails; a star at the paper's parameters."""
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap, LogNorm
    from matplotlib.patches import Patch

    axes = plots.axes_of(ax)
    (x, across), (y, up) = ((name, mapped[name].values) for name in mapped.region.dims)
    region, failing = mapped.region.values.T, np.log10(np.where(mapped.region == Region.FALSE, mapped.factor, np.nan)).T
    handles = []
    for kind, colour in _COLOURS.items():
        if np.any(region == kind):
            axes.pcolormesh(across, up, np.where(region == kind, 1.0, np.nan), cmap=ListedColormap([colour]), shading="nearest")
            handles.append(Patch(facecolor=colour, edgecolor=plots.GREY, linewidth=0.5, label=kind.value))
    if np.any(region == Region.FALSE):
        ratios = mapped.attrs["scale"].startswith("ratio")
        shown = 10**failing if ratios else np.where(region == Region.FALSE, mapped.factor.values.T, np.nan)
        finite = shown[np.isfinite(shown)]
        top = max(float(finite.max(initial=1.0)), 1.01 if ratios else 0.0)
        shown = np.where(shown > top, top, shown)  # an infinite factor has the deepest colour
        norm = LogNorm(1.0, top) if ratios else None
        shades = ListedColormap(mpl.colormaps["Oranges"](np.linspace(0.25, 1.0, 256)))  # the palest is no white
        mesh = axes.pcolormesh(across, up, shown, cmap=shades, norm=norm, shading="nearest")
        bar = axes.figure.colorbar(mesh, ax=axes, label="factor by which it fails" if ratios else "excess where it fails")
        plots.plain_ticks(bar.ax, "y")
        handles.append(Patch(facecolor="#f16913", label="false"))
    dots = np.argwhere(mapped.certified.values & (mapped.region.values == Region.FALSE))
    if dots.size:
        axes.plot(across[dots[:, 0]], up[dots[:, 1]], ".", color="black", markersize=2, label="proved in ball arithmetic")
    for name, values in ((x, across), (y, up)):
        plots.scaled(axes, "x" if name == x else "y", values)
    for owner, mark, label in (("paper", "*", "the paper's own parameters"), ("system", "D", "the system of the file")):
        at: list[float] = [mapped.attrs.get(f"{owner}_{name}", np.nan) for name in (x, y)]
        if all(held[0] <= value <= held[-1] for value, held in zip(at, (across, up), strict=True)):
            axes.plot(*at, mark, color="white", markeredgecolor="black", markersize=14 if mark == "*" else 8, label=label)
    labelled = axes.get_legend_handles_labels()[0]
    axes.legend(handles=[*handles, *labelled], loc="upper left", bbox_to_anchor=(0.0, -0.15), ncols=3, fontsize="small")
    return plots.finish(axes, title=finding(mapped), x=x, y=y)
