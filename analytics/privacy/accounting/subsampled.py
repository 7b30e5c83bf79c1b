"""Amplification by subsampling: a mechanism is used with some probability, unseen by the observer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting.numerical_composition import Joint
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.mechanisms.approximate import Approximate
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian, Hidden
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.lattice_losses import LatticeLosses
from airtight.analytics.privacy.mechanisms.mechanism import (
    BracketArrays,
    Factors,
    Mechanism,
    described,
    register,
    release_of,
)
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse
from airtight.analytics.privacy.mechanisms.renyi_bound import RenyiBound
from airtight.analytics.rounding import SMALLEST, UNIT

ADDED, REPLACED = "one record is added or removed", "one record is replaced"  # units of neighbours
_SHIFT = 8 * UNIT  # bound on the relative error of a computed epsilon, and of a computed factor of delta


@dataclass(frozen=True)
class Subsampled(Mechanism):
    """A mechanism that is used with probability p, unseen by the observer, against one that is never used.

    Adjacency: the first law is the mixture p P + (1 - p) Q of the mechanism's pair, the second is Q.

    Notes
    -----
    Either divergence of the mixture is an increasing function of one divergence of the release
    (:mod:`airtight.analytics.privacy.mechanisms.subsampling`). So a pair that dominates a family of releases,
    subsampled, dominates the subsampled family; and a pair of the family, subsampled, belongs to the subsampled family.
    Thus the lower and the upper bound for the subsampled family come from those for the family.
    """

    release: Mechanism
    p: float
    fixed_size: bool = False  # whether p is the share of a sample of fixed size, of which the pair is the same

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checks.scalar("p", self.p, "[0, 1]"))
        object.__setattr__(self, "fixed_size", checks.flag("fixed_size", self.fixed_size))
        if isinstance(self.release, Hidden) and self.release.opposite:
            # without the record the law is neither of the two: the mixture with the second one is another pair
            raise ParameterError("curve", "a sample of replaced records", "a release against none, to be sampled again")
        if self.fixed_size:
            _require_both_orders(self.release)

    @classmethod
    def of(cls, releases: Factors, p: float, name: str) -> Subsampled:
        """Releases of one sample: a single one, or Gaussian ones alone; `name` is the argument that an error names.

        Notes
        -----
        A vector of Gaussian releases of one sample is one Gaussian release, by the likelihood ratio of independent normal
        coordinates. Its mu is the root of the sum of their squares, also where each release depends on those before it.
        """
        if releases and all(isinstance(release, Gaussian) for release, _ in releases):
            releases = (releases[0][0].composed(releases),)
        if len(releases) != 1 or releases[0][1] != 1:
            raise ParameterError(name, f"{sum(n for _, n in releases)} releases", "one release, or Gaussian ones alone")
        return cls(releases[0][0], p)

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.release.unit

    def parameters(self) -> dict[str, Any]:
        size = {"fixed_size": True} if self.fixed_size else {}
        return {"release": described(self.release), "p": self.p, **size}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Mechanism:
        return cls(release_of(parameters["release"]), parameters["p"], parameters.get("fixed_size", False))

    def covers(self, release: Mechanism) -> bool:
        """A sample of a smaller p of a release that is covered: map the output by the kernel of the release, then replace it by
        a fresh draw of the Q of that release with probability 1 - p'/p."""
        within = isinstance(release, Subsampled) and release.p <= self.p and self.release.covers(release.release)
        return super().covers(release) or within

    @property
    def dominating_mu(self) -> float:
        return self.release.dominating_mu if self.p else 0.0

    @property
    def renyi_lines(self) -> tuple[tuple[float, float], ...]:
        return self.release.renyi_lines if self.p else ((0.0, 0.0),)

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
    def costly(self) -> bool:  # type: ignore[override]
        return self.release.costly

    @property
    def sketched(self) -> int:  # type: ignore[override]
        return self.release.sketched

    def in_composition(self, releases: int) -> Mechanism:
        inner = self.release.in_composition(releases)
        return self if inner is self.release else Subsampled(inner, self.p)

    def dominating(self, level: float) -> Factors:
        if self.pair:
            return ((self, 1),)
        return self._subsampled_jointly(self.release.dominating(level / max(self.p, SMALLEST)))

    def attained(self, level: float) -> Factors:
        """For lower bounds; mechanisms that are used together or not at all are joined into one ``Joint``."""
        if self.pair:
            return ((self, 1),)
        return self._subsampled_jointly(self.release.attained(level / max(self.p, SMALLEST)))

    def _subsampled_jointly(self, factors: Factors) -> Factors:
        """The mechanisms of a composition as one subsampled mechanism."""
        if not factors:
            return ()
        is_single = len(factors) == 1 and factors[0][1] == 1
        return ((Subsampled(factors[0][0] if is_single else Joint(factors), self.p), 1),)

    def _mixed_loss(self, inner: float, reverse: bool) -> float:
        """Pure epsilon of the mixture from that of the release."""
        if self.p in (0.0, 1.0):
            return inner * self.p if self.p else 0.0
        if reverse:  # Q / (p P + (1 - p) Q)
            shift = self.p * np.expm1(-inner)
            loss = -np.log1p(shift) if shift > -0.5 else -np.logaddexp(np.log1p(-self.p), np.log(self.p) - inner)
            return float(loss)
        return float(subsampling.amplified(inner, self.p)) if inner < np.inf else np.inf

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        if self.p == 0:
            return np.zeros(epsilon.shape), np.zeros(epsilon.shape)
        # lower bounds are taken at a greater argument and upper bounds at a smaller one, because of rounding errors
        shift = np.repeat([1 + _SHIFT, 1 - _SHIFT], epsilon.size)
        share, inner = self._inner(np.tile(epsilon.ravel(), 2) * shift, reverse)
        lower, upper = self.release.delta_bracket(inner * shift, reverse=reverse)
        least = np.where(upper > 0, SMALLEST, 0.0)[epsilon.size :]  # where products underflow
        lower, upper = (share * lower)[: epsilon.size], (share * upper)[epsilon.size :]
        return (
            np.maximum(lower * (1 - _SHIFT) - SMALLEST, 0.0).reshape(epsilon.shape),
            np.minimum(upper * (1 + _SHIFT) + least, 1.0).reshape(epsilon.shape),
        )

    def _inner(self, epsilon: FloatArray, reverse: bool) -> tuple[FloatArray, FloatArray]:
        """The share u and the epsilon of the release such that u times its delta there is the delta at `epsilon`."""
        if not reverse:
            finite = np.minimum(epsilon, np.finfo(float).max / 4)
            inner = np.where(epsilon < np.inf, subsampling.unamplified(finite, np.array(self.p)), np.inf)
            return np.full(epsilon.shape, self.p), inner
        log_share, inner = subsampling.reversed_order(epsilon, np.array(self.p))
        return np.where(inner < np.inf, np.exp(np.minimum(log_share, 0.0)), 0.0), inner


def _require_both_orders(release: Mechanism) -> None:
    """Samples of fixed size that differ in one record have no order: either of the two laws may be the first one."""
    if not (release.symmetric and release.pair):
        raise ParameterError("curve", release.constructor, "a release with the same curve in both orders, of one pair")


def of_neighbours(release: Mechanism, unit: str) -> Mechanism:
    """The release with this unit of neighbours, if its own is open."""
    if isinstance(release, Subsampled | FixedSizeSampled):
        return replace(release, release=of_neighbours(release.release, unit))
    known = Approximate | Gaussian | Hidden | Laplace | LatticeLosses | RandomizedResponse | RenyiBound
    return replace(release, unit=unit) if isinstance(release, known) and not release.unit else release


def of_group(release: Mechanism, count: int) -> Mechanism:
    r"""The release for neighbours that differ in `count` records, where one record has moved a sum by its sensitivity.

    Of a Poisson sample, all of these records are added, all of them removed, or all of them replaced. In a sample of fixed
    size their number is hypergeometric, and not determined by p: it is refused.

    Notes
    -----
    `count` records move the sum by at most so many sensitivities, and by as much if all are equal; the pair of the greatest
    shift dominates. In a Poisson sample their number is binomial, and the sum of a part of them is at most so many
    sensitivities long, which :class:`~airtight.analytics.privacy.mechanisms.gaussian.Hidden` dominates.
    """
    unit = f"{count} times: {release.unit}" if release.unit else ""
    if isinstance(release, Gaussian):
        return Gaussian(release.mu * count, unit, release.slack + (UNIT if release.mu < np.inf else 0.0))
    if isinstance(release, Laplace):
        loss = release.loss * count * (1 + UNIT)
        return Laplace(loss, unit, slack=release.slack + 4 * UNIT) if loss < np.inf else Gaussian(np.inf, unit)
    if isinstance(release, LatticeLosses):
        return replace(release, sensitivity=release.sensitivity * count, unit=unit)
    inner = release.release if isinstance(release, Subsampled) and not release.fixed_size else None
    if isinstance(release, Subsampled) and isinstance(inner, Gaussian) and inner.mu < np.inf:
        return of_sampled_records(inner, release.p, count, unit)
    if isinstance(release, Hidden) and release.opposite and len(release.mu) == 2 and release.mu[0] == 0:
        absent, present = map(Fraction, release.weights)
        sampled = Gaussian(release.mu[1], slack=release.slack)
        return of_sampled_records(sampled, present / (absent + present), count, unit, replaced=True)
    raise ParameterError(
        "curve", release.constructor, "Gaussian, Laplace, discrete Gaussian or discrete Laplace noise on a sum, or a "
        "Poisson sample of one Gaussian release with noise"
    )  # fmt: skip


def of_sampled_records(release: Gaussian, p: float | Fraction, count: int, unit: str, *, replaced: bool = False) -> Hidden:
    """The release of a Poisson sample, where `count` records are added or removed, or (`replaced`) each becomes another one."""
    share = Fraction(p)
    weights = (float(math.comb(count, k) * share**k * (1 - share) ** (count - k)) for k in range(count + 1))
    mu = tuple(k * release.mu for k in range(count + 1))
    return Hidden(tuple(weights), mu, unit, opposite=replaced, slack=max(4 * UNIT, release.slack + UNIT))


class Neighbours(StrEnum):
    """What neighbouring data sets, of which samples are taken, differ in: one record more or less, or another one."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@dataclass(frozen=True)
class FixedSizeSampled(Mechanism):
    r"""A mechanism on a sample of fixed size without replacement, where one record is replaced; p is the share of the sample.

    Attributes
    ----------
    release : Mechanism
        A pair that dominates the mechanism on samples that differ in one record, with the same curve in both orders.

    Notes
    -----
    *Upper bound.* Let S be a uniform set of m - 1 of the other records, y a further one, and x, x' the
    records that differ. The laws are the means over S and y of pM(S, x) + (1-p)M(S, y) and of pM(S, x') + (1-p)M(S, y).
    By advanced joint convexity (Balle, Barthe and Gaboardi 2018, theorem 2), with :math:`\lambda' = 1 + (\lambda-1)/p`
    and some :math:`\beta` in [0, 1],

    .. math:: D_\lambda \le p\,E\bigl[(1-\beta)D_{\lambda'}(M(S,x)\|M(S,y)) + \beta D_{\lambda'}(M(S,x)\|M(S,x'))\bigr]
              \le p\,D_{\lambda'}(P\|Q), \qquad \lambda \ge 1,

    as each of the samples differs in one record. It holds in both orders, so the divergence at :math:`\lambda < 1` is
    that which this implies of the other order, and the curve dominates at every :math:`\lambda > 0` (Zhu, Dong and Wang
    2022). No pair of data sets need have this curve in both orders, so no composition need attain it. *Lower bound.* A sum
    of bounded records whose others all are x' has the pair (pP + (1-p)Q, Q), which is composed with itself; other data
    may be worse (Lebeda, Regehr, Kamath and Steinke 2024).
    """

    release: Mechanism
    p: float
    symmetric = True
    pair = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checks.scalar("p", self.p, "[0, 1]"))
        _require_both_orders(self.release)

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.release.unit

    def parameters(self) -> dict[str, Any]:
        return {"release": described(self.release), "p": self.p}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Mechanism:
        return cls(release_of(parameters["release"]), parameters["p"])

    @property
    def dominating_mu(self) -> float:
        return self._mixture.dominating_mu

    @property
    def renyi_lines(self) -> tuple[tuple[float, float], ...]:
        return self._mixture.renyi_lines

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self._mixture.greatest_loss()

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self._mixture.reached_loss()

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        return np.zeros(epsilon.shape), self._mixture.delta_bracket(epsilon)[1]

    def dominating(self, level: float) -> Factors:
        return ((_InBothOrders(self._mixture), 1),)

    def attained(self, level: float) -> Factors:
        return ((self._mixture, 1),)

    @property
    def _mixture(self) -> Subsampled:
        return Subsampled(self.release, self.p)


@dataclass(frozen=True)
class _InBothOrders(Mechanism):
    """A pair whose curve in both orders is that of (P, Q) of a sample, for upper bounds."""

    mixture: Subsampled
    symmetric = True

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.mixture.unit

    def parameters(self) -> dict[str, Any]:
        raise NotImplementedError("a bound of a FixedSizeSampled release has no JSON form of its own")

    def greatest_loss(self, *, reverse: bool = False) -> float:
        return self.mixture.greatest_loss()

    def reached_loss(self, *, reverse: bool = False) -> float:
        return self.mixture.reached_loss()

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        return self.mixture.delta_bracket(epsilon)


register(Subsampled, "subsampled")
register(FixedSizeSampled, "fixed_size_sampled")
