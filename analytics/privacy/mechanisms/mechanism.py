r"""Single releases: a pair of laws (P, Q) known by both ends of its hockey-stick curve, in either order.

A curve holds for a whole family of neighbours when the pair dominates it: :math:`D_\lambda(P\|Q)` is the greatest of the family
at every :math:`\lambda > 0`, not only from 1 on. Only then do compositions of the pair hold for adaptively composed members
(Zhu, Dong and Wang 2022).
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting import connect_the_dots
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.accounting.loss_product import Product
from airtight.analytics.privacy.mechanisms import gaussian, subsampling

_UNIT = np.finfo(float).eps
_LEAST = 5e-324
_AT_ONCE = 1 << 18  # outcomes times epsilons
_GREATEST = 700.0
_FEW = 8  # epsilons
_SHIFT = 8 * _UNIT  # relative, of an epsilon that was computed
Ends = tuple[FloatArray, FloatArray]


class Release(ABC):
    """One release.

    Attributes
    ----------
    unit : str
        What neighbours differ in, such as "device 3, silent"; empty where it is left open.
    """

    unit: str
    symmetric = False  # whether both orders have one curve
    bounded_below = True  # whether the lower ends of both orders say something
    spacing: float | None = None  # losses are multiples of it
    side = connect_the_dots.SIDE  # of lines below its curve: 1/2 if values are dear
    sketched = 20  # points a decade of a first look at its curve
    pair = True  # whether it is one pair of laws, not a family of them
    closed = False  # whether several of its kind are one of that kind

    @abstractmethod
    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        """Both ends of the divergence at each epsilon in [0, inf]; of (Q, P) if `reverse`.

        Of a family of pairs the lower end is 0: the greatest of its curves is bounded from below by :meth:`attained` only.
        """

    def greatest_loss(self, *, reverse: bool = False) -> float:
        """What the pure epsilon of an order is at most; infinite where there is none, or none is known."""
        return np.inf

    def reached_loss(self, *, reverse: bool = False) -> float:
        """What the pure epsilon of an order is at least, for a pair; 0 where nothing is known."""
        return 0.0

    @property
    def kind(self) -> Hashable:
        """What those have in common that :meth:`composed` makes one."""
        return self

    def composed(self, factors: Factors) -> tuple[Release, int]:
        """What releases of one kind, each some number of times, say together."""
        raise NotImplementedError(type(self).__name__)

    def dominating(self, level: float) -> Factors:
        """Releases that together give away no less than any pair of the family; `level` is about the delta that matters."""
        return ((self, 1),)

    def attained(self, level: float) -> Factors:
        """Releases that together give away no more than one pair of the family; none where none is known."""
        return ((self, 1),)

    def in_composition(self) -> Release:
        """What stands for it among several: its ends need not be as near each other there."""
        return self

    @property
    def constructor(self) -> str:
        """The name by which JSON knows it."""
        return _NAMES[type(self)]

    def parameters(self) -> dict[str, Any]:
        """What makes it again: numbers, strings, lists of them."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def made(cls, parameters: Mapping[str, Any]) -> Release:
        """The inverse of :meth:`parameters`."""
        return cls(**parameters)


Factors = tuple[tuple[Release, int], ...]  # releases, and how often each occurs


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Gaussian(Release):
    """N(mu, 1) against N(0, 1); mu in [0, inf], known up to a relative error of `slack`."""

    mu: float
    unit: str = ""
    slack: float = 0.0
    symmetric = True
    closed = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.scalar("mu", self.mu, "[0, inf]"))
        object.__setattr__(self, "slack", checks.scalar("slack", self.slack, "[0, 1)"))

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return np.inf if self.mu > 0 else 0.0

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.greatest_loss(reverse=reverse)

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        upper = self._at(epsilon, self.mu * (1 + self.slack))
        lower = self._at(epsilon, self.mu * (1 - self.slack)) if self.slack else upper
        return lower[0], upper[1]

    @staticmethod
    def _at(epsilon: FloatArray, mu: float) -> Ends:
        value, _, error = gaussian.log_curve(epsilon, np.full(epsilon.shape, mu))
        known = value > -np.inf
        value = np.where(known, value, 0.0)
        error = error + _UNIT * (4 - value)
        with np.errstate(under="ignore"):
            lower, upper = np.exp(value - error), np.exp(value + error)
        return np.where(known, lower, 0.0), np.where(known, np.minimum(upper + _LEAST, 1.0), 0.0)

    @property
    def kind(self) -> Hashable:
        return Gaussian

    def composed(self, factors: Factors) -> tuple[Release, int]:
        each = [(one, count) for one, count in factors if isinstance(one, Gaussian)]
        square = math.fsum(n * (one.mu if one.mu < 1e150 else np.inf) ** 2 for one, n in each)
        slack = max(one.slack for one, _ in each)
        alone = len(each) == 1 and each[0][1] == 1
        return Gaussian(math.sqrt(square), self.unit, slack if alone else slack + 8 * _UNIT), 1


@dataclass(frozen=True)
class Bounded(Release, ABC):
    """One of a pure epsilon `loss` that both orders reach."""

    loss: float
    symmetric = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", checks.scalar("epsilon", self.loss, "[0, inf)"))

    @property
    def spacing(self) -> float:  # type: ignore[override]
        return self.loss

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self.loss

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.loss


@dataclass(frozen=True)
class Shown(Release):
    r"""A Gaussian release whose ratio is drawn by chance and seen: :math:`\delta = \sum_i w_i\,\delta_G(\epsilon;\mu_i)`.

    Attributes
    ----------
    weights, mu, least : tuple of float
        Probabilities; the ratios at most, and at least.
    slack : float
        Relative error of the weights.
    doubt : tuple of float
        By how much the lower end may be too high besides, relative and absolute, of which the lesser counts: the weights are
        those of the least noise that is possible.
    """

    weights: tuple[float, ...]
    mu: tuple[float, ...]
    least: tuple[float, ...]
    slack: float = 0.0
    unit: str = ""
    doubt: tuple[float, float] = (0.0, 0.0)
    symmetric = True

    def __post_init__(self) -> None:
        for name in ("weights", "mu", "least"):
            object.__setattr__(self, name, tuple(checks.real(name, getattr(self, name), "[0, inf]").tolist()))
        object.__setattr__(self, "doubt", tuple(checks.real("doubt", self.doubt, "[0, inf]").tolist()))
        if not len(self.weights) == len(self.mu) == len(self.least):
            raise ParameterError("mu", f"{len(self.mu)} ratios", f"one for each of {len(self.weights)} weights")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return np.inf if any(w > 0 < mu for w, mu in zip(self.weights, self.mu, strict=True)) else 0.0

    def reached_loss(self, *, reverse: bool = False) -> float:
        return np.inf if any(w > 0 < mu for w, mu in zip(self.weights, self.least, strict=True)) else 0.0

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        lower, upper = np.zeros(epsilon.shape), np.zeros(epsilon.shape)
        for weight, mu, least in zip(self.weights, self.mu, self.least, strict=True):
            lower += weight * Gaussian(least).ends(epsilon)[0]
            upper += weight * Gaussian(mu).ends(epsilon)[1]
        room = self.slack + (len(self.weights) + 8) * _UNIT
        relative, absolute = self.doubt
        lower = np.maximum(lower * (1 - min(relative, 1.0)), lower - absolute)
        return np.maximum(lower, 0.0) * (1 - room), np.minimum(upper * (1 + room), 1.0)


@dataclass(frozen=True)
class Laplace(Bounded):
    r"""Laplace noise on a number that moves by `loss` times its scale: :math:`\delta = (1-e^{(\epsilon-\epsilon_0)/2})_+`."""

    loss: float
    unit: str = ""

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        return _around(0.0 - np.expm1(np.minimum(epsilon - self.loss, 0.0) / 2))


@dataclass(frozen=True)
class RandomizedResponse(Bounded):
    r"""The truth with odds :math:`e^{\epsilon_0}` against each of ``symbols - 1`` other answers."""

    loss: float
    symbols: int = 2
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "symbols", checks.count("symbols", self.symbols, "[2, inf)"))

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        beyond = 0.0 - np.expm1(np.minimum(epsilon - self.loss, 0.0))
        return _around(beyond / (1 + (self.symbols - 1) * np.exp(-self.loss)))


@dataclass(frozen=True)
class Discrete(Release):
    """Two laws p and q on finitely many outcomes, each probability known up to a relative error of `doubt`.

    Notes
    -----
    Doubles seldom sum to 1. The likeliest outcome of each law has what the others leave, without rounding: a divergence in one
    order is then that of the same laws in the other, however small it is.
    """

    p: tuple[float, ...]
    q: tuple[float, ...]
    unit: str = ""
    doubt: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubt", checks.scalar("doubt", self.doubt, "[0, .01]"))
        for name in ("p", "q"):
            law = checks.real(name, getattr(self, name), "[0, 1]")
            if law.ndim != 1 or abs(float(np.sum(law)) - 1) > 1e-12:
                raise ParameterError(name, f"array of shape {law.shape}, sum {np.sum(law)!r}", "a law on outcomes")
            object.__setattr__(self, name, tuple(law.tolist()))
        if len(self.p) != len(self.q):
            raise ParameterError("q", f"{len(self.q)} outcomes", f"as long as p: {len(self.p)}")

    def _pair(self, reverse: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """p, q and p - q, of which the likeliest outcomes are completed."""
        p, q = np.array((self.q, self.p) if reverse else (self.p, self.q))
        difference, likeliest = p - q, (int(np.argmax(p)), int(np.argmax(q)))
        left = [math.fsum([1.0, *-law]) for law in (p, q)]
        p[likeliest[0]] += left[0]
        q[likeliest[1]] += left[1]
        difference[likeliest[0]] += left[0]
        difference[likeliest[1]] -= left[1]
        return p, q, difference

    def greatest_loss(self, *, reverse: bool = False) -> float:
        p, q, difference = (each[np.array(self.q if reverse else self.p) > 0] for each in self._pair(reverse))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            near = np.log1p(difference / q)
            far = np.where(p / q < np.inf, np.log(p / q), np.log(p) - np.log(q))
        return float(np.max(np.where(np.abs(difference) < 0.5 * q, near, far), initial=0.0)) + 3 * self.doubt

    def reached_loss(self, *, reverse: bool = False) -> float:
        return max(self.greatest_loss(reverse=reverse) - 6 * self.doubt, 0.0)

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        p, q, difference = self._pair(reverse)
        flat, moved = np.ravel(epsilon), 3 * self.doubt
        lower, upper = np.empty(flat.size), np.empty(flat.size)
        block = max(_AT_ONCE // p.size, 1)
        for i in range(0, flat.size, block):
            for end, room in ((lower, -1), (upper, 1)):
                at = np.maximum(flat[i : i + block] - room * moved, 0.0)
                end[i : i + block] = _hockey_stick(p, q, difference, at, room * 16 * _UNIT)
        if moved:
            lower *= 1 - moved
            upper = upper * (1 + moved) + np.maximum(moved - flat, 0.0)
        return lower.reshape(np.shape(epsilon)), np.minimum(upper, 1.0).reshape(np.shape(epsilon))


def _hockey_stick(p: FloatArray, q: FloatArray, difference: FloatArray, epsilon: FloatArray, room: float) -> FloatArray:
    """The sum of what p is above exp(epsilon) q, every rounding on the side of `room`."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        growth = np.expm1(epsilon)[:, None] * (1 - room)
        near = difference + room * np.abs(difference) - np.where(q > 0, growth * q, 0.0)
        loss = (np.log(p) - np.log(q)) * (1 + room)
        far = p * -np.expm1(epsilon[:, None] - loss) * (1 + room)
        term = np.where(epsilon[:, None] < _GREATEST, near, np.where(q > 0, np.nan_to_num(far, nan=0.0), p))
        found = np.sum(np.maximum(term, 0.0), axis=1) * (1 + room * p.size)
    return np.asarray(found + (_LEAST * p.size if room > 0 else 0.0) * (found > 0))


@dataclass(frozen=True)
class Subsampled(Release):
    """A release that happens with probability p, against none; whether it happened is not seen.

    Adjacency: P of the release is there with probability p in the first law, never in the second, where Q is all there is.

    Notes
    -----
    Both divergences of the mixture are rising functions of one divergence of the release
    (:mod:`airtight.analytics.privacy.mechanisms.subsampling`). So what dominates a family of releases, subsampled, dominates the
    subsampled family,
    and a pair of the family, subsampled, is a pair of it: both ends of a family come from its own two ends.
    """

    release: Release
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checks.scalar("p", self.p, "[0, 1]"))

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.release.unit

    def parameters(self) -> dict[str, Any]:
        return {"release": described(self.release), "p": self.p}

    @classmethod
    def made(cls, parameters: Mapping[str, Any]) -> Release:
        return cls(release_of(parameters["release"]), parameters["p"])

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self._mixed_loss(self.release.greatest_loss(reverse=reverse), reverse)

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self._mixed_loss(self.release.reached_loss(reverse=reverse), reverse)

    @property
    def bounded_below(self) -> bool:  # type: ignore[override]
        return self.release.bounded_below

    @property
    def pair(self) -> bool:  # type: ignore[override]
        return self.release.pair

    @property
    def side(self) -> float:  # type: ignore[override]
        return self.release.side

    @property
    def sketched(self) -> int:  # type: ignore[override]
        return self.release.sketched

    def in_composition(self) -> Release:
        inner = self.release.in_composition()
        return self if inner is self.release else Subsampled(inner, self.p)

    def dominating(self, level: float) -> Factors:
        if self.pair:
            return ((self, 1),)
        return self._each(self.release.dominating(level / max(self.p, _LEAST)))

    def attained(self, level: float) -> Factors:
        """Of a pair of the family; that of several releases, which are there together or not at all, is known by its curve."""
        if self.pair:
            return ((self, 1),)
        return self._each(self.release.attained(level / max(self.p, _LEAST)))

    def _each(self, factors: Factors) -> Factors:
        if not factors:
            return ()
        alone = len(factors) == 1 and factors[0][1] == 1
        return ((Subsampled(factors[0][0] if alone else Joint(factors), self.p), 1),)

    def _mixed_loss(self, inner: float, reverse: bool) -> float:
        if self.p in (0.0, 1.0):
            return inner * self.p if self.p else 0.0
        if reverse:  # Q / (p P + (1 - p) Q)
            taken = self.p * np.expm1(-inner)
            most = -np.log1p(taken) if taken > -0.5 else -np.logaddexp(np.log1p(-self.p), np.log(self.p) - inner)
            return float(most)
        return float(subsampling.amplified(inner, self.p)) if inner < np.inf else np.inf

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        if self.p == 0:
            return np.zeros(epsilon.shape), np.zeros(epsilon.shape)
        lower, upper = self._ends(epsilon * (1 + _SHIFT), reverse)[0], self._ends(epsilon * (1 - _SHIFT), reverse)[1]
        return lower * (1 - _SHIFT), np.minimum(upper * (1 + _SHIFT), 1.0)

    def _ends(self, epsilon: FloatArray, reverse: bool) -> Ends:
        if not reverse:
            finite = np.minimum(epsilon, np.finfo(float).max / 4)
            inner = np.where(epsilon < np.inf, subsampling.unamplified(finite, np.array(self.p)), np.inf)
            low = self.release.ends(inner * (1 + _SHIFT))[0]
            return self.p * low, self.p * self.release.ends(inner * (1 - _SHIFT))[1]
        log_share, inner = subsampling.reversed_order(epsilon, np.array(self.p))
        share = np.where(inner < np.inf, np.exp(np.minimum(log_share, 0.0)), 0.0)
        low = self.release.ends(inner * (1 + _SHIFT), reverse=True)[0]
        high = self.release.ends(inner * (1 - _SHIFT), reverse=True)[1]
        return share * low, share * high


@dataclass(frozen=True)
class Joint(Release):
    r"""Several releases, each some number of times, as one: its curve is that of their composition.

    Notes
    -----
    At few epsilons it is computed for each; at many it is read off the two laws of the total loss, one above the truth and one
    below it to absolute accuracy (:meth:`airtight.analytics.privacy.accounting.numerical_composition.Composed.law`).
    The curve of a law on a grid is linear in :math:`e^\epsilon` between grid points, so that it is known everywhere.
    """

    factors: Factors
    _laws: dict[bool, tuple[LossDistribution, LossDistribution]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def unit(self) -> str:  # type: ignore[override]
        return next((release.unit for release, _ in self.factors if release.unit), "")

    @property
    def bounded_below(self) -> bool:  # type: ignore[override]
        return all(release.bounded_below for release, _ in self.factors)

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError("it is made anew from the family that it bounds")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return float(sum(count * release.greatest_loss(reverse=reverse) for release, count in self.factors))

    def reached_loss(self, *, reverse: bool = False) -> float:
        return float(sum(count * release.reached_loss(reverse=reverse) for release, count in self.factors))

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        from airtight.analytics.privacy.accounting.numerical_composition import Composed

        whole = Composed(self.factors, reverse)
        if epsilon.size > _FEW:
            if reverse not in self._laws:
                low, high = (whole.law(whole.usual_step, pessimistic=upward) for upward in (False, True))
                self._laws[reverse] = low, high
            return _around_laws(epsilon, *self._laws[reverse])
        found = np.array([whole.delta(float(x)) for x in epsilon.ravel()]).reshape(*epsilon.shape, 2)
        return found[..., 0], found[..., 1]


@dataclass(frozen=True)
class Tabulated(Release):
    """Laws of the loss on a grid, of both orders, that are above the truth or below it: what another library computed.

    Attributes
    ----------
    step : float
    first : tuple of int
    mass : tuple of tuple of float
    infinite : tuple of float
        Of the first and of the second order.
    pessimistic : bool
        Whether they bound from above; from below otherwise. The other end is what is trivially true.
    """

    step: float
    first: tuple[int, int]
    mass: tuple[tuple[float, ...], tuple[float, ...]]
    infinite: tuple[float, float]
    pessimistic: bool = True
    unit: str = ""

    def __post_init__(self) -> None:
        for name in ("first", "infinite"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "mass", tuple(tuple(law) for law in self.mass))

    @property
    def spacing(self) -> float:  # type: ignore[override]
        return self.step

    def law(self, *, reverse: bool = False) -> LossDistribution:
        """The law of one order."""
        i = int(reverse)
        return LossDistribution(self.step, self.first[i], np.asarray(self.mass[i]), self.infinite[i])

    def ends(self, epsilon: FloatArray, *, reverse: bool = False) -> Ends:
        product = Product(((self.law(reverse=reverse), 1),))
        finite = np.minimum(epsilon, np.finfo(float).max).ravel()
        if self.pessimistic:
            upper = np.array([product.delta(float(e)) for e in finite]).reshape(epsilon.shape)
            return np.zeros(epsilon.shape), upper
        lower = np.array([product.least_delta(float(e)) for e in finite]).reshape(epsilon.shape)
        return lower, np.ones(epsilon.shape)


def _around_laws(epsilon: FloatArray, low: LossDistribution, high: LossDistribution) -> Ends:
    """The curve of one law from below and of another from above, at each epsilon >= 0."""
    found = []
    for law, room in ((low, -1), (high, 1)):
        grid = law.losses
        value, _ = connect_the_dots.summed(law.mass, law.infinite, law.step)
        after = np.clip(np.searchsorted(grid, epsilon, side="left"), 1, grid.size - 1)
        left, right, at = grid[after - 1], grid[after], np.clip(epsilon, grid[0], grid[-1])
        share = np.clip(np.expm1(at - right) / np.expm1(left - right), 0.0, 1.0)
        chord = value[after] + share * (value[after - 1] - value[after])
        chord = np.where(epsilon < grid[0], value[0] if room < 0 else 1.0, chord)
        found.append(chord * (1 + room * (law.mass.size + 64) * _UNIT))
    return found[0], np.minimum(found[1], 1.0)


def _around(value: FloatArray) -> Ends:
    return value * (1 - 16 * _UNIT), np.minimum(value * (1 + 16 * _UNIT), 1.0)


_NAMES: dict[type[Release], str] = {
    Gaussian: "gaussian",
    Shown: "shown",
    Laplace: "laplace",
    RandomizedResponse: "randomized_response",
    Discrete: "discrete",
    Subsampled: "subsampled",
    Tabulated: "tabulated",
}
_HOMES = {  # of the constructors that are registered where they are defined
    "system": "airtight.analytics.privacy.over_the_air.rounds",
    "unequal_noise": "airtight.analytics.federated.fair.unequal_noise",
    "aggregation": "airtight.analytics.federated.corbin.aggregation",
}


def register(kind: type[Release], name: str) -> None:
    """Make a kind of release known to JSON."""
    _NAMES[kind] = name


def described(release: Release) -> dict[str, Any]:
    """Constructor and parameters.

    Examples
    --------
    >>> described(Gaussian(1.0))
    {'constructor': 'gaussian', 'parameters': {'mu': 1.0, 'unit': '', 'slack': 0.0}}
    """
    return {"constructor": release.constructor, "parameters": release.parameters()}


def release_of(description: Mapping[str, Any]) -> Release:
    """The inverse of :func:`described`.

    Examples
    --------
    >>> release_of({"constructor": "gaussian", "parameters": {"mu": 1.0}})
    Gaussian(mu=1.0, unit='', slack=0.0)
    """
    name = description.get("constructor")
    if name in _HOMES:
        importlib.import_module(_HOMES[name])
    kinds = {name: kind for kind, name in _NAMES.items()}
    if name not in kinds:
        raise ParameterError("constructor", name, "one of " + ", ".join({**kinds, **_HOMES}))
    return kinds[name].made(description.get("parameters", {}))


def discrete(p: ArrayLike, q: ArrayLike, unit: str = "", doubt: float = 0.0) -> Discrete:
    """Of two arrays."""
    first, second = (tuple(np.asarray(law, dtype=float).tolist()) for law in (p, q))
    return Discrete(first, second, unit, doubt)
