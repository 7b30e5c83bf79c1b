"""Privacy of collaborative inference over T rounds: privacy curve and epsilon of a device for all rounds together.

The assumptions are listed in docs/rounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, choice, real
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem, device_indices
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket, PrivacyCurve
from airtight.analytics.privacy.accounting.subsampled import Subsampled
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.kept_values import KeptValues
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Factors, Mechanism, register
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.privacy.over_the_air.multi_antenna.shared_curves import SharedCurves, edges_of
from airtight.analytics.privacy.over_the_air.participation_mixture import (
    chebyshev,
    evaluate,
    noise_interpolant,
    signal_lower_bound,
)
from airtight.analytics.privacy.over_the_air.participation_mixture.build import of_partial_sums, participations
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.hidden import PROVED_FROM, HiddenParticipationMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.shown_noise import NEGLIGIBLE, Ratios, ShownNoise
from airtight.analytics.progress import counted
from airtight.analytics.rounding import NORMAL, SMALLEST, UNIT

_SHORT = 2.0**40  # to which the mantissa of epsilon is rounded: 40 bits
SHORTENED = 1.01 / _SHORT  # bound of the relative change of epsilon by this rounding
_NATS = 24.0  # -log of the quadrature error of a curve: below the error of any loss grid
_TOLERATED = 7.5e-6  # relative error of a divergence in a composition, however many releases it has (Query.in_composition)
_MORE_NATS = 6.0  # by which the quadrature is more accurate than this
# of the pair for `signal`: share of delta that may be left out; cells of the law on a grid, for as many devices at most
_TRIMMED, _MANY_CELLS, _FINELY = 1e-20, 1 << 14, 64
# for as many devices at most, cells of the law of the others' noise over rounds (`_fine_cells`)
_FINE_CELLS = {64: 1 << 15, 256: 1 << 14}
# greatest noise over the mean noise for which so many cells serve; how often they are halved, at most, where it is greater
_USUAL_RANGE, _MOST_HALVINGS = 2.0, 2
_EXACT = 1 << 18  # most values of an exact law that Gauss rules stand for; for more, rules of partial sums or a grid
_SAMPLED, _FAILING = 7, 5  # epsilons at which rules of partial sums are tried first, and how many of them may fail
_AT_ONCE = 1 << 20  # epsilons times values of the others' noise that are computed at a time
_WORTH_A_SERIES = 24  # epsilons asked at a time from which a series in epsilon is tried
_MOST_OF_A_SERIES = 64  # epsilons that are read from one series
_PROBES = 7  # of them at which it is seen first how far one may reach
_ATTEMPTS = 2  # to find one for an order, in vain
_NOTHING = -746.0  # log of a positive number that underflows to 0
_BULK = 1e-6  # relative error of the interpolation in the bulk
_EDGES = (96, 160)  # least and greatest number of them at which it is computed otherwise, for one device
_DIRECT = 240  # values of the others' noise up to which the divergence is computed at each of them
_SKETCH_NATS = 12.0  # minus the logarithm of the quadrature error of a sketch
_FEW = 8  # points in a decade of epsilon at which a costly curve is first evaluated
_COARSE_CELLS = 4  # so many times fewer cells in either direction, to compare codes
_HUGE = 1e100  # a squared ratio from which on a release counts as one without noise, above
_DOUBTFUL = 1e-13  # where delta is below NEGLIGIBLE / _DOUBTFUL, no value of the noise is left out


@dataclass(frozen=True)
class Query(Mechanism):
    """One query of a system, as seen by one observer, for the privacy of one device.

    The pair is that of the feature of greatest norm, which dominates the pairs of all other features in either order
    (docs/participation.md).
    """

    system: InferenceSystem
    device: int
    observer: Observer
    tolerance: float = 0.0  # relative error that a divergence may have in a composition; 0 outside of one
    _parts: dict[tuple[float, int | None], NoiseMixture] = field(default_factory=dict, compare=False, repr=False)
    _rules: dict[tuple[float, int], NoiseMixture | None] = field(default_factory=dict, compare=False, repr=False)
    _composed: list[Query] = field(default_factory=list, compare=False, repr=False)
    _rough: list[Query] = field(default_factory=list, compare=False, repr=False)
    _curves: dict[float, SharedCurves | None] = field(default_factory=dict, compare=False, repr=False)
    _laws_of_all: Laws | None = field(default=None, compare=False, repr=False)
    _at_zero: dict[bool, BracketArrays] = field(default_factory=dict, compare=False, repr=False)
    # None for an attempt in vain
    _series: dict[tuple[bool, float], list[_Series | None]] = field(default_factory=dict, compare=False, repr=False)
    costly = True
    # for each of the two orders, three rows: epsilon, lower and upper bound of delta
    _seen: dict[bool, KeptValues] = field(default_factory=dict, compare=False, repr=False)
    _attained: dict[float, Factors] = field(default_factory=dict, compare=False, repr=False)  # by level

    @property
    def unit(self) -> str:  # type: ignore[override]
        return unit(self.system, self.device)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        hidden_silence = not self.observer.sees_device and self.system.adjacency is Adjacency.SILENT
        return self.system.adjacency is not Adjacency.ABSENT and not hidden_silence

    @property
    def sketched(self) -> int:  # type: ignore[override]
        few = self._part(NEGLIGIBLE).interpolating or isinstance(self._part(NEGLIGIBLE), HiddenParticipationMixture)
        return _FEW if few or self._at_cells(NEGLIGIBLE) else Mechanism.sketched

    @property
    def pair(self) -> bool:  # type: ignore[override]
        return self.observer.sees_others

    @cached_property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether every round is Gaussian with noise that the observer knows: then rounds add up (:mod:`.shown_noise`)."""
        leaves = self.system.adjacency is Adjacency.ABSENT
        return self.observer.sees_device and not leaves and not self.system.idle_noise and self.ratios(NEGLIGIBLE).regular

    @property
    def kind(self) -> Hashable:
        return ("shown noise", self.unit) if self.closed else self

    def composed(self, factors: Factors) -> tuple[Mechanism, int]:
        """All rounds as one release, unless there is one alone, whose curve is known exactly."""
        queries = [(release, count) for release, count in factors if isinstance(release, Query)]
        if sum(count for _, count in queries) == 1:
            return self, 1
        return ShownNoise(tuple((release.ratios, count) for release, count in queries), self.unit), 1

    def ratios(self, negligible: float) -> Ratios:
        """The law of the squared ratio of sensitivity to noise in one round, for an observer who knows the noise."""
        part, exact = self._part(negligible), self._part(negligible).unrounded()
        used = part.weights[0] > 0
        noise, most = (each.variance[0][used] + each.own_noise[0] for each in (part, exact))
        p, mass = float(part.participation[0]), part.weights[0][used] * float(part.participation[0])
        x, least = (_squared_ratio(float(each.sensitivity[0]), v) for each, v in ((part, noise), (exact, most)))
        huge, lost = np.isfinite(x) & (x >= _HUGE), mass < NORMAL
        moves = (x > 0) & np.isfinite(x) & ~huge & ~lost
        return Ratios(
            x=x[moves],
            probabilities=mass[moves],
            noise=noise[moves],
            never=1 - p if part.sensitivity[0] > 0 else 1.0,
            infinite=float(np.sum(mass[np.isinf(x)])),
            missing=float(part.missing[0]) * p + float(np.sum(mass[huge | lost])) + used.size * SMALLEST * bool(np.any(lost)),
            slack=part.slack,
            spread=part.spread,
            error=part.error + float(part.rounding[0]) + 8 * UNIT,
            doubt=float(np.max(1 - least[moves] / x[moves], initial=0.0)) + 8 * UNIT,
        )

    def dominating(self, level: float) -> Factors:
        """For observer `signal`, the query against observer `others`, who also sees which other devices take part."""
        return ((self if self.pair else replace(self, observer=self.observer.seeing_others), 1),)

    def attained(self, level: float) -> Factors:
        """For observer `signal`, a discrete pair: the others send certain codes, and only the cell of y is released.

        See :meth:`.signal_lower_bound.SignalTest.outcomes`. Of the codes that are tried, those are taken whose two laws on coarse
        cells have the greatest epsilon at this level of delta, or at a lesser one that some of them reach.
        """
        if self.pair:
            return ((self, 1),)
        if level not in self._attained:
            self._attained[level] = self._of_cells(level)
        return self._attained[level]

    def _of_cells(self, level: float) -> Factors:
        """The pair of :meth:`attained`, if there is one."""
        system, model = observers.mixture_model(self.system, self.observer)
        if self._part(NEGLIGIBLE).slack:  # a finer grid, and no more of its range than matters
            cells = _MANY_CELLS if system.devices <= _FINELY else None
            (part,) = participations(system, np.array([self.device]), _TRIMMED * level, model, cells, together=False)
        else:
            part = self._part(0.0)
        test = signal_lower_bound.SignalTest.of(part, 0)
        if test is None or test.d + test.s == 0:
            return ()
        if not test.few:
            test = test.trimmed(_TRIMMED * level)
        rare = signal_lower_bound.rarest_of(signal_lower_bound.BEYOND_CELLS * level)
        tests = test.tilted(signal_lower_bound.steepest(system, self.device), rare)
        return ((signal_lower_bound.most_telling(tests, level, _COARSE_CELLS).released(level, self.unit), 1),)

    def parameters(self) -> dict[str, Any]:
        return {"system": self.system.to_dict(), "device": self.device, "observer": self.observer.value}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Mechanism:
        return query(InferenceSystem(**parameters["system"]), parameters["device"], parameters["observer"])

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        order, rounded = reverse and not self.symmetric, _shortened(epsilon)
        kept = self._seen.setdefault(order, KeptValues.empty(2))
        missing = kept.missing(rounded)
        if missing.size:
            kept.add(missing, np.stack(self._divergences(missing, order), axis=1))
        lower = kept.at(rounded, 0) if self.pair else np.zeros(rounded.shape)
        return lower, np.where(epsilon < np.inf, kept.at(rounded, 1), self._part(NEGLIGIBLE).infinite_loss()[0])

    def greatest_loss(self, *, reverse: bool = False) -> float:
        mixture, silent = self._part(NEGLIGIBLE), self.system.adjacency is not Adjacency.ABSENT
        return (
            0.0 if float(mixture.participation[0]) == 0 or (silent and float(mixture.sensitivity[0]) == 0) else np.inf
        )

    def reached_loss(self, *, reverse: bool = False) -> float:
        """Infinite where device k moves the mean of Gaussian noise, even if its participation is random."""
        mixture = self._part(NEGLIGIBLE)
        moves = self.pair and float(mixture.participation[0]) > 0 and float(mixture.sensitivity[0]) > 0
        return np.inf if moves and (self.symmetric or not reverse) else 0.0

    def _divergences(self, eps: FloatArray, reverse: bool) -> BracketArrays:
        lower, upper = np.zeros(eps.shape), np.full(eps.shape, SMALLEST)
        # nothing is left at infinity where the receiver has noise
        relevant = np.where(eps < np.inf, self._log_greatest(eps) > _NOTHING, self._part(NEGLIGIBLE).receiver[0] == 0)
        if self.tolerance and isinstance(part := self._part(NEGLIGIBLE), HiddenParticipationMixture) and not part.interpolating:
            if reverse not in self._at_zero:
                self._at_zero[reverse] = self._ends(np.zeros(1), reverse, NEGLIGIBLE)
            # delta falls in exp(epsilon), at most as this rises: up to a small epsilon it is nearly that at 0
            (least,), (most,) = self._at_zero[reverse]
            fall = np.expm1(np.minimum(eps, 1.0)) * (1 + 2 * SHORTENED)
            near = (fall <= self.tolerance * least) & (most * _DOUBTFUL >= NEGLIGIBLE)
            lower[near], upper[near] = (least - fall[near]) * (1 - 4 * UNIT), most
            relevant &= ~near
        lower[relevant], upper[relevant] = self._ends(eps[relevant], reverse, NEGLIGIBLE)
        doubtful = np.flatnonzero(relevant & (upper * _DOUBTFUL < NEGLIGIBLE))
        if doubtful.size and self._part(NEGLIGIBLE).missing[0] > 0:
            lower[doubtful], upper[doubtful] = self._ends(eps[doubtful], reverse, 0.0)
        return lower, upper

    def _log_greatest(self, eps: FloatArray) -> FloatArray:
        """log of an upper bound of delta: participation is visible, and the noise is the least possible."""
        if self.system.adjacency is Adjacency.ABSENT:
            return np.zeros(eps.shape)
        mixture = self._part(NEGLIGIBLE)
        # no other device sends, unless it always does
        meant = observers.mixture_model(self.system, self.observer)[0].normalised()
        always = (meant.participation == 1) & (np.arange(self.system.devices) != self.device)
        least_noise = float(mixture.receiver[0] + mixture.own_noise[0] + np.sum(meant.received_noise_variance[always]))
        mu = _ratio(float(mixture.sensitivity[0]), least_noise) * (1 + 1e-9)
        value, _, error = gaussian.log_curve(eps, np.full(eps.shape, mu))
        return np.asarray(value + error)

    @cached_property
    def _cells(self) -> int | None:
        _, model = observers.mixture_model(self.system, self.observer)
        return _fine_cells(self.system, model, composed=self.tolerance > 0)

    def _part(self, negligible: float) -> NoiseMixture:
        if (key := (negligible, self._cells)) not in self._parts:
            laws = self._laws_of_all or Laws(self.system, self.observer, np.array([self.device]))
            part = laws.mixture(self.device, negligible, self._cells)
            self._parts[key] = replace(part, nats=min(part.nats, _NATS), estimating=True)
        part = self._parts[key]
        if not self.tolerance:
            return part
        return replace(part, nats=min(part.nats, _MORE_NATS - math.log(self.tolerance)), interpolated=self.tolerance)

    def in_composition(self, releases: int) -> Mechanism:
        r"""The same query, with divergences as accurate as a composition needs, where they are interpolated in the noise.

        How accurate does not depend on how many there are. With K(t) the logarithm of the moment generating function of a loss,

        .. math:: e^{K(t)} = 1 + t(t+1)\int_0^\infty (e^{tx}D_{e^x}(P\|Q) + e^{-(1+t)x}D_{e^x}(Q\|P))\,dx .

        So divergences greater by a relative :math:`\eta` raise that of n releases, n K(t), by less than :math:`\eta nK(t)`. At
        the saddle point :math:`nK(t) \approx t\epsilon + \log\delta`, less than the :math:`t\epsilon` by whose share :math:`\eta`
        log delta changes over a relative :math:`\eta` of epsilon.
        """
        if self.tolerance:
            return self
        if not self._composed:
            composed = replace(self, tolerance=_TOLERATED, _composed=[], _rough=[], **_nothing_known())
            few = composed._part(NEGLIGIBLE).weights.shape[1] < noise_interpolant.ESTIMATED_FROM
            self._composed.append(self if few else composed)
        return self._composed[0]

    def for_sketch(self) -> Mechanism:
        """The same query with few values of the others' noise, where a mean over all of them costs much more."""
        part = self._part(NEGLIGIBLE)
        costs = isinstance(part, HiddenParticipationMixture) or part.interpolating
        if not self.tolerance or not costs:
            return self
        if not self._rough:
            few = replace(part.sketch_by_rule(_SKETCH_NATS), estimating=False, interpolated=0.0)
            rough = replace(self, tolerance=0.0, _parts={}, **_nothing_known())
            rough._parts.update(dict.fromkeys(((NEGLIGIBLE, rough._cells), (0.0, rough._cells)), few))
            self._rough.append(rough)
        return self._rough[0]

    def _at_cells(self, negligible: float) -> SharedCurves | None:
        """The divergence at few values of the others' noise, in a composition."""
        return self._shared_curves(negligible) if self.tolerance else None

    def _laws(self, negligible: float) -> Iterator[NoiseMixture]:
        """The others' noise on few values, in a composition, and then on all: for divergences too steep for the few."""
        part = self._part(negligible)
        if self.tolerance:
            law = self._of_partial_sums or part
            for pieces in law.tried_pieces:
                if (key := (negligible, pieces)) not in self._rules:
                    self._rules[key] = law.ruled(pieces)
                if (ruled := self._rules[key]) is not None:
                    yield ruled
        yield part

    @cached_property
    def _of_partial_sums(self) -> HiddenParticipationMixture | None:
        """The law on nodes of partial sums, for hidden devices in many dimensions whose law is on a grid otherwise."""
        part = self._part(NEGLIGIBLE)
        if isinstance(part, HiddenParticipationMixture) and part.slack and not part.interpolating:
            return of_partial_sums(self.system.normalised(), part)
        return None

    def _shared_curves(self, negligible: float) -> SharedCurves | None:
        """The divergence at few values of the others' noise, where these are many and its slope in the noise is known."""
        if negligible not in self._curves:
            part = self._part(negligible)
            visible = not (part.idle_noise or isinstance(part, HiddenParticipationMixture))
            visible &= part.adjacency is not Adjacency.ABSENT
            if part.weights.shape[1] <= _DIRECT or not visible or part.participation[0] == 0:
                self._curves[negligible] = None
            else:
                used = part.weights[0] > 0
                low, weights = part.variance[:, used], part.weights[:, used]
                high = part.unrounded().variance[:, used]
                self._curves[negligible] = SharedCurves.of(
                    part, edges_of(part, low, high, weights, _EDGES), low, high, weights, tabled=False
                )
        return self._curves[negligible]

    def _ends(self, eps: FloatArray, reverse: bool, negligible: float) -> BracketArrays:
        if (curves := self._at_cells(negligible)) is not None:
            lower, upper = curves.delta_bracket(eps, 0, reverse=reverse, doubt=SHORTENED)
            with np.errstate(divide="ignore", invalid="ignore"):
                rough = ~(np.log(upper / lower) <= evaluate.tolerated(_BULK, -np.log(upper))) & (upper > SMALLEST)
            if np.any(rough):
                other_lower, other_upper = self._summed_ends(eps[rough], reverse, negligible)
                lower[rough], upper[rough] = np.maximum(lower[rough], other_lower), np.minimum(upper[rough], other_upper)
            return lower, upper
        if self.tolerance and self._part(negligible).interpolating:
            return self._estimated_ends(eps, reverse, negligible)
        return self._summed_ends(eps, reverse, negligible)

    def _estimated_ends(self, eps: FloatArray, reverse: bool, negligible: float) -> BracketArrays:
        """Both bounds where they are estimates in any case: many increasing epsilons are read from series through a few."""
        kept = self._series.setdefault((reverse, negligible), [])
        lower, upper = np.full((2, eps.size), np.nan)
        for series in filter(None, kept):
            series.read(eps, lower, upper)
        left = np.flatnonzero(np.isnan(lower))
        if left.size >= _WORTH_A_SERIES and kept.count(None) < _ATTEMPTS:
            # no series is smooth enough where the bounds are apart: one goes up to the last probe before
            probes = left[np.linspace(0, left.size - 1, _PROBES).astype(int)]
            lower[probes], upper[probes] = self._summed_ends(eps[probes], reverse, negligible)
            with np.errstate(divide="ignore", invalid="ignore"):
                close = np.logical_and.accumulate(np.log(upper[probes] / lower[probes]) <= evaluate.COARSE)
            asked = eps[left[left <= probes[np.sum(close) - 1]]] if close[0] else eps[:0]
            if asked.size >= _WORTH_A_SERIES:
                groups = np.array_split(asked, -(-asked.size // _MOST_OF_A_SERIES))
                fitted = list(self._fitted(groups, reverse, negligible))
                for series in fitted:
                    series.read(eps, lower, upper)
                kept += fitted or [None]
        if (rest := np.flatnonzero(np.isnan(lower))).size:
            lower[rest], upper[rest] = self._summed_ends(eps[rest], reverse, negligible)
        return lower, upper

    def _fitted(self, asked: list[FloatArray], reverse: bool, negligible: float) -> Iterator[_Series]:
        """A series of log delta over each group of increasing epsilons, if its error is small enough."""
        low, high = (np.array([group[end] for group in asked]) for end in (0, -1))

        def values(places: FloatArray, left: IntArray) -> FloatArray:
            at = (low + high)[left, None] / 2 + (high - low)[left, None] / 2 * places
            ends = np.log(self._summed_ends(at.ravel(), reverse, negligible)).reshape(2, *at.shape)
            # the error is that of the series alone: how far the truth is from the middle is read beside it
            return np.stack([(ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2, np.zeros(at.shape)])

        # what is read later pays for a series of twice as many terms, but a curve that vanishes seldom has one
        vanishing = reverse and self._part(negligible).adjacency is Adjacency.ABSENT
        most = 2 * asked[0].size // (3 if vanishing else 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            for settled, coefficients, error in chebyshev.estimated(values, low.size, most, self.tolerance):
                for place, k in enumerate(settled):
                    yield _Series(float(low[k]), float(high[k]), coefficients[:, place], float(error[place]))

    def _summed_ends(self, eps: FloatArray, reverse: bool, negligible: float) -> BracketArrays:
        """Both bounds from the divergence at values of the others' noise."""

        def log_ends(mixture: NoiseMixture, some: IntArray) -> BracketArrays:
            rows = np.zeros(some.size, dtype=np.int64)
            return evaluate.log_ends(mixture, eps[some], rows, reverse=reverse, doubt=SHORTENED)

        low, high = np.full(eps.shape, np.nan), np.full(eps.shape, np.nan)
        with np.errstate(under="ignore"):
            for mixture in self._laws(negligible):
                left = np.flatnonzero(np.isnan(low) | np.isnan(high))
                # few epsilons show whether the rules of partial sums mostly fail
                if left.size > 2 * _SAMPLED and isinstance(mixture, HiddenParticipationMixture) and mixture.replaced is not None:
                    sample = left[np.linspace(0, left.size - 1, _SAMPLED).astype(int)]
                    low[sample], high[sample] = log_ends(mixture, sample)
                    if np.sum(np.isnan(low[sample]) | np.isnan(high[sample])) > _FAILING:
                        continue
                    left = np.setdiff1d(left, sample)
                steps = -(-left.size * mixture.weights.shape[1] // _AT_ONCE)
                for chunk in (left[start::steps] for start in range(steps)):
                    low[chunk], high[chunk] = log_ends(mixture, chunk)
            upper = np.minimum(np.exp(high) * (1 + 2e-15) + SMALLEST, 1.0)
            return np.maximum(np.exp(low) * (1 - 2e-15) - NORMAL, 0.0), np.where(high == -np.inf, 0.0, upper)

    def constant(self) -> tuple[float, float, float] | None:
        """p, sensitivity and noise variance, where the noise does not depend on the participants; None otherwise."""
        mixture = self._part(0.0)
        if mixture.slack or mixture.missing[0] or np.sum(mixture.weights[0] > 0) != 1:
            return None
        v = float(mixture.variance[0][mixture.weights[0] > 0][0] + mixture.own_noise[0])
        return float(mixture.participation[0]), float(mixture.sensitivity[0]), v


def _nothing_known() -> dict[str, Any]:
    """Empty records of what depends on the tolerance of a query."""
    return {"_rules": {}, "_seen": {}, "_series": {}, "_at_zero": {}}


register(Query, "system")


@dataclass(frozen=True)
class _Series:
    """The middle of both bounds of log delta on an interval of epsilon, up to an error, and half their distance at its nodes."""

    low: float
    high: float
    coefficients: FloatArray  # of Chebyshev series of both, shape (2, degree + 1)
    error: float

    def read(self, eps: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        """Set both bounds of delta at the epsilons of the interval that have none."""
        inside = np.flatnonzero(np.isnan(lower) & (self.low <= eps) & (eps <= self.high))
        x = (2 * eps[inside] - self.low - self.high) / (self.high - self.low)
        value = chebyshev.clenshaw(self.coefficients, np.zeros(inside.size, dtype=np.int64), x)
        # half the distance, the greatest at the two nodes on either side of each epsilon
        nodes, half_at_nodes = self._nodes
        beside = np.clip(np.searchsorted(nodes, x)[:, None] + np.arange(-2, 2), 0, nodes.size - 1)
        error = self.error + np.max(half_at_nodes[beside], axis=1)
        lower[inside], upper[inside] = np.exp(value - error), np.minimum(np.exp(value + error), 1.0)

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes of the series, increasing, and half the distance there."""
        nodes = chebyshev.extrema(self.coefficients.shape[1] - 1)[::-1]
        return nodes, chebyshev.clenshaw(self.coefficients, np.ones(nodes.size, dtype=np.int64), nodes)


@dataclass(frozen=True)
class Laws:
    """The laws of the others' noise of some devices, all of them formed when the first is asked for."""

    system: InferenceSystem
    observer: Observer
    devices: IntArray
    _parts: dict[tuple[float, int | None], dict[int, NoiseMixture]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, system: InferenceSystem, observer: Observer | str, devices: IntArray) -> Laws:
        """The laws of the noise beside each of these devices."""
        return cls(system, observers.resolved(system, observer), np.sort(devices))

    def mixture(self, device: int, negligible: float, cells: int | None) -> NoiseMixture:
        """The mixture of one device, up to this probability of the others' noise at either end of a law of so many cells."""
        if (key := (negligible, cells)) not in self._parts:
            meant, model = observers.mixture_model(self.system, self.observer)
            alone = participations(meant, self.devices, negligible, model, cells, together=False)
            self._parts[key] = {int(k): part.only(part.kind[[i]]) for part in alone for i, k in enumerate(part.devices)}
        return self._parts[key][device]


def _fine_cells(system: InferenceSystem, model: type[NoiseMixture], *, composed: bool) -> int | None:
    """How many cells the law of the others' noise has over rounds, where more than usual are worth their time.

    Hidden devices in few dimensions have close bounds anyway, and where no series in the noise is found each value costs one
    divergence. In many dimensions a composition keeps an exact law, for which Gauss rules stand. Otherwise the divergence at
    each value is read from a series, and half as many cells serve.
    """
    hidden = model is HiddenParticipationMixture
    if system.idle_noise or (system.dimension < PROVED_FROM if hidden else system.adjacency is not Adjacency.ABSENT):
        return None
    if hidden and composed and _most_values(system) <= _EXACT:
        return _EXACT
    cells = next((cells // (1 + hidden) for most, cells in _FINE_CELLS.items() if system.devices <= most), None)
    return cells * _refinement(system) if hidden and cells else cells


def _refinement(system: InferenceSystem) -> int:
    """How many times as many cells rare devices need: most of their noise lies near the lower end of the grid."""
    scaled = system.normalised()
    noise = scaled.received_noise_variance
    mean = float(scaled.receiver_noise_variance + scaled.participation @ noise)
    times = float(np.sum(noise[scaled.participation > 0])) / mean / _USUAL_RANGE if mean > 0 else 1.0
    return 2 ** int(np.clip(np.round(np.log2(max(times, 1.0))), 0, _MOST_HALVINGS)) if math.isfinite(times) else 1


def _most_values(system: InferenceSystem) -> float:
    """The greatest number of values that the noise of the others of any device has, or a little more."""
    random = (system.participation > 0) & (system.participation < 1) & (system.noise_variance > 0)
    alike = np.unique(system.received_noise_variance[random], return_counts=True)[1].astype(float)
    left = np.max(alike / (alike + 1)) if np.all(random) else 1.0  # of the values of all devices, without one of them
    with np.errstate(over="ignore"):
        return float(np.prod(alike + 1) * left)


def _shortened(epsilon: FloatArray) -> FloatArray:
    """Epsilon with a mantissa of 40 bits, so that a point that several grids share is one double."""
    mantissa, exponent = np.frexp(epsilon)
    return np.where(np.isfinite(epsilon), np.ldexp(np.round(mantissa * _SHORT) / _SHORT, exponent), epsilon)


def unit(system: InferenceSystem, device: int) -> str:
    """The unit of privacy: what neighbours differ in."""
    return f"device {device}, {system.adjacency}"


def query(system: InferenceSystem, device: int, observer: Observer | str, laws: Laws | None = None) -> Mechanism:
    """The mechanism of one query, in closed form where one exists; `laws` may have the others' noise of this device.

    Examples
    --------
    >>> query(InferenceSystem(devices=2, participation=1.0, noise_variance=0.5, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.0, dimension=8, delta=1e-5, delta_prime=1e-5, adjacency="silent"), 0, "auto").mu
    1.0...
    """
    seen = observers.resolved(system, observer)
    k = checks.count("device", device, f"[0, {system.devices - 1}]")
    privacy_unit = unit(system, k)
    p = float(system.participation[k])
    slack = (system.devices + 32) * UNIT
    if observers.participation_distinguishes(system, seen):
        return Discrete((p, 1 - p), (0.0, 1.0), privacy_unit)
    if system.idle_noise and (
        p == 1 or (not seen.sees_device and system.adjacency is not Adjacency.REPLACE)
    ):
        scaled = system.normalised()
        noise = float(np.sum(scaled.received_noise_variance)) + scaled.receiver_noise_variance
        release = Gaussian(_ratio(float(scaled.sensitivity[k]), noise), privacy_unit, slack)
        return release if p == 1 else Subsampled(release, p)
    general = Query(system, k, seen, _laws_of_all=laws)
    if not seen.sees_others and general.constant() is not None:
        general = Query(system, k, seen.seeing_others)  # y is independent of who of the others takes part
    if p == 1 and system.adjacency is not Adjacency.ABSENT and (gaussian_case := general.constant()) is not None:
        return Gaussian(_ratio(gaussian_case[1], gaussian_case[2]), privacy_unit, slack)
    return general


def _ratio(distance: float, variance: float) -> float:
    """The distance in standard deviations; positive, however far it underflows, where there is a distance."""
    return 0.0 if distance == 0 else max(distance / math.sqrt(variance), SMALLEST) if variance > 0 else np.inf


def _squared_ratio(distance: float, variance: FloatArray) -> FloatArray:
    """The square of the distance in standard deviations; finite and positive where there is noise, and a distance."""
    with np.errstate(divide="ignore", over="ignore"):
        square = np.clip((distance / np.sqrt(variance)) ** 2, NORMAL, _HUGE) if distance else np.zeros(variance.shape)
    return np.where((variance == 0) & (distance > 0), np.inf, square)


def estimated(system: InferenceSystem, *, rounds: int, observer: Observer | str = Observer.AUTO) -> bool:
    """Whether :func:`epsilon` is an estimate for any device; otherwise it is proved.

    It is one where divergences may be interpolated in the others' noise with an error that is estimated.
    """
    if observers.participation_distinguishes(system, observer):
        return False
    hidden = observers.mixture_model(system, observer)[1] is HiddenParticipationMixture and system.dimension < PROVED_FROM
    leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
    if not hidden and not (leaves and rounds > 1):
        return False
    representatives, _ = kinds(system, np.arange(system.devices))
    laws = Laws.of(system, observer, representatives)
    queries = (query(system, int(k), observer, laws) for k in representatives)
    parts = [release._part(0.0) for release in queries if isinstance(release, Query)]
    # on a grid the curvature of a hidden divergence is estimated, however few values it has
    values = any(part.weights.shape[1] >= noise_interpolant.ESTIMATED_FROM for part in parts)
    return values or (hidden and any(part.slack > 0 for part in parts))


def curve(system: InferenceSystem, *, device: int = 0, observer: Observer | str | None = None) -> PrivacyCurve:
    """The privacy curve of one device for one query; ``.compose(T)`` gives that of T rounds.

    Parameters
    ----------
    system : InferenceSystem
    device : int
    observer : {"auto", "participants", "others", "signal"}, optional
        What the server sees besides y; for `signal` the upper bound is that of `others`, and the lower bound is that of
        some codes of the others (:func:`bracket`).

    Returns
    -------
    PrivacyCurve

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, idle_noise=True)
    >>> one = curve(system)
    >>> round(float(one.epsilon(1e-5)), 3), round(float(one.compose(200).epsilon(1e-5)), 2)
    (0.218, 4.03)
    """
    return PrivacyCurve.of(query(system, device, "auto" if observer is None else observer))


def epsilon(
    system: InferenceSystem,
    *,
    delta: float | None = None,
    rounds: int = 1,
    device: ArrayLike | None = None,
    observer: Observer | str = Observer.AUTO,
    progress: bool = False,
) -> FloatArray:
    """Least epsilon of each device after T rounds, never below the true value; for `signal` the upper bound.

    It is an *estimate* for ``absent`` over several rounds, and for hidden ``silent`` and ``replace`` devices in fewer than
    100 dimensions, where the others' noise has 72 values or more: there the error of the interpolation in that noise is
    estimated (:mod:`.noise_interpolant`).

    Parameters
    ----------
    system : InferenceSystem
    delta : float, optional
        At least 0, for all rounds together; by default that of the system. At 0, epsilon is infinite unless the device
        reveals nothing, because the noise is normal; from 1 on, epsilon is 0.
    rounds : int
        T >= 1, with independent participation and noise in each round; features may change and may depend on earlier
        outputs.
    device : int or array_like of int, optional
        Indices of the devices; all K by default.
    observer : {"auto", "participants", "others", "signal"}
    progress : bool
        Whether to say on stderr every two seconds how many devices are done, where there are several rounds.

    Returns
    -------
    ndarray or float

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> epsilon(system, rounds=100, device=[0, 1]).round(3)
    array([3.048, 3.048])
    """
    count = checks.count("rounds", rounds)
    if delta is not None and not 0 < checks.scalar("delta", delta, "[0, inf)") < 1:
        return np.where(delta_at(system, 0.0, device=device, observer=observer) > delta, np.inf, 0.0)[()]
    if count == 1:
        return observers.exact_epsilon(system, delta=delta, device=device, observer=observer)
    seen = observers.resolved(system, observer).seeing_others  # the upper bound for `signal` is that for `others`
    return bracket(system, delta=delta, rounds=rounds, device=device, observer=seen, progress=progress)[1]


def bracket(
    system: InferenceSystem,
    *,
    delta: float | None = None,
    rounds: int = 1,
    device: ArrayLike | None = None,
    observer: Observer | str = Observer.AUTO,
    width: float = DEFAULT_RELATIVE_WIDTH,
    progress: bool = False,
) -> Bracket:
    """Lower and upper bound of :func:`epsilon`, and whether their relative distance is at most `width`.

    The lower bound for `signal` is that of some codes of the others, for an observer who learns only the cell of each y
    (:meth:`.signal_lower_bound.SignalTest.outcomes`). It is 0 where the lower bound
    of :func:`airtight.analytics.privacy.over_the_air.observers.signal_bracket` is 0: of many unlike devices for those with the
    least upper bounds.
    """
    count, seen = checks.count("rounds", rounds), choice("observer", observer, Observer)
    allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    indices = device_indices(system, device)
    if count == 1:
        return Bracket.of(*observers.epsilon_bracket(replace(system, delta=allowed_delta), device=indices, observer=seen), width)
    representatives, inverse = kinds(system, indices)

    def bounds(devices: IntArray, observer: Observer) -> FloatArray:
        laws = Laws.of(system, observer, devices)
        curves = [PrivacyCurve.of(query(system, int(k), observer, laws)).compose(count) for k in devices]
        reported = counted(curves, len(curves), "kinds of devices", progress=progress)
        return np.array([composed.bracket(delta=allowed_delta, width=width) for composed in reported]).reshape(-1, 2)

    if seen is Observer.SIGNAL and representatives.size > observers.TESTED:
        brackets = bounds(representatives, seen.seeing_others)
        tested = brackets[:, 1] >= observers.least_tested(system, brackets[:, 1])
        brackets[~tested, 0], brackets[tested] = 0.0, bounds(representatives[tested], seen)
    else:
        brackets = bounds(representatives, seen)
    lower, upper = (brackets[inverse, i].reshape(indices.shape)[()] for i in (0, 1))
    return Bracket.of(lower, upper, width)


def delta_at(
    system: InferenceSystem,
    epsilon: ArrayLike,
    *,
    rounds: int = 1,
    device: ArrayLike | None = None,
    observer: Observer | str = Observer.AUTO,
    progress: bool = False,
) -> FloatArray:
    """delta(epsilon) of each device after T rounds, never below the true value; arguments as in :func:`epsilon`.

    It is an estimate in the cases that :func:`epsilon` names.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> float(delta_at(system, 3.0, rounds=100, device=0))
    1.317...e-05
    """
    count = checks.count("rounds", rounds)
    if count == 1:
        return observers.exact_delta(system, epsilon, device=device, observer=observer)
    indices, eps = checks.broadcast(device=device_indices(system, device), epsilon=real("epsilon", epsilon, "[0, inf]"))
    representatives, inverse = kinds(system, indices)
    out = np.empty(indices.size)
    for i, k in enumerate(counted(representatives, representatives.size, "kinds of devices", progress=progress)):
        same_kind = inverse == i
        out[same_kind] = curve(system, device=int(k), observer=observer).compose(count).delta(eps.ravel()[same_kind])
    return out.reshape(indices.shape)[()]


def kinds(system: InferenceSystem, indices: IntArray) -> tuple[IntArray, IntArray]:
    """One device of each kind of equal devices, and for each of `indices` the index of its kind."""
    scaled = system.normalised()  # whose products do not underflow
    keys = np.stack([scaled.participation, scaled.noise_variance, scaled.sensitivity], axis=1)
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    used_kinds, inverse = np.unique(kind.ravel()[indices.ravel()], return_inverse=True)
    return np.asarray(first[used_kinds]), np.asarray(inverse.ravel())
