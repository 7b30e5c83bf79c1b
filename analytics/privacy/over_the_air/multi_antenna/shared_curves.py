r"""Curves of several devices that differ in the law of the others' noise v alone, from one table of divergences.

Over rounds with fresh channels the curve :math:`E_v D_\lambda(v)` of every device is asked for at thousands of points, and
the law of v has thousands of atoms. The divergence is therefore computed at few values of v, the *edges*, and at few epsilons
each, the *nodes*. Two interpolations give proved bounds between them, and a matrix of moments gives the mean for each device.

**In epsilon.** If the privacy loss L has a log-concave law, so has :math:`\delta(\epsilon) = E(1 - e^{\epsilon-L})_+`: it is a
convolution of two log-concave functions (Prekopa). Chords of :math:`\log\delta` are then below it, and chords of neighbouring
intervals, continued, are above. The loss of a Gaussian pair is normal. That of a device whose noise leaves with it is an affine
function of a noncentral :math:`\chi^2_r`, whose density in t is a constant times
:math:`e^{-t/2}t^\nu\prod_i(1 + ct/j_i^2)`, :math:`\nu = r/2 - 1`, with the zeros :math:`j_i` of a Bessel function: log-concave
for :math:`r \ge 2`. Otherwise the same chords are taken of :math:`\delta` as a function of :math:`\lambda`, in which it is
convex, and their sides change.

**In v.** Let :math:`a \le v \le b`, :math:`t = (v-a)/(b-a)`, :math:`f = -\partial_vD > 0`, and let :math:`(b-a)(\log f)'` lie
in :math:`[-\rho_2, -\rho_1]`. Then

.. math:: D(v) = D(b) + s\,(D(a) - D(b)),\qquad (1-t)(1 - k_2t) \le s \le (1-t)(1 - k_1t),\qquad
          k_2 = \frac{\rho_2}{1-e^{-\rho_2}} - 1,\quad k_1 = 1 - \frac{\rho_1}{e^{\rho_1}-1} .

*Proof.* s is the share of f right of v. Since :math:`fe^{\rho_2t}` increases, f has a greater share there than
:math:`g = e^{-\rho_2t}` (monotone likelihood ratio), and likewise a lesser one than :math:`e^{-\rho_1t}`. The share of g is
:math:`1-t` times :math:`G(t) = \int_0^1g(t + (1-t)u)\,du/\int_0^1g`, which is convex in t as g is: above its tangent at t = 0,
:math:`1 - k_2t`, and below its chord, :math:`1 - k_1t`. The mean over the atoms of a cell needs the sums of their weights w, of
:math:`w(1-t)` and of :math:`wt(1-t)` only, which do not depend on epsilon. Without a known :math:`\rho`, s lies between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.mechanisms.kept_values import KeptValues
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays
from airtight.analytics.privacy.over_the_air.participation_mixture import evaluate, noise_interpolant
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.hidden import HiddenParticipationMixture
from airtight.analytics.rounding import SMALLEST, UNIT

_EDGES = {
    False: (160, 480),
    True: (128, 128),
}  # least and greatest number; True: participation is hidden, which costs more
_CELL = 0.6  # deviations of the loss by which its mean moves in a cell at most, where edges suffice
_OCTAVES = 3.0  # deviations that a change of v by the factor e counts besides
_TAIL = 4  # power of 1/v whose mean the edges in the tail follow
_GRID = 1024  # values of v at which the loss is described for that
_NEAR = {"visible": 512, "absent": 256, "hidden": 144}  # nodes within so many deviations of the mean loss
_FAR = {"visible": 128, "absent": 64, "hidden": 24}  # nodes beyond
_DEVIATIONS, _FARTHEST = 8.0, 2000.0
_AT_ONCE = 1 << 19  # entries of arrays (edges, epsilons) that are computed at a time
_SLACK = 1e-11  # share of the magnitudes of its terms by which a rate of decay is widened: more than rounding (_rates)
_DOUBTS = 1e4  # the same for each unit of doubt of epsilon
_CANCELLING = 1 / 32  # share of the terms of c that must be left of them for a rate to be known
_CANCELLED = 16 * UNIT  # error of a moment, and of what is made from it, relative to the probability in its cell
_LEVELS = (2.0, 8.0, 64.0, 1e3, 1e6)  # to which great bends are rounded
_LITTLE = 1e-7  # share of the least mean below which the fall of the divergence in a cell is not resolved
_RARE = 1e-9  # share of the greatest mean below which a device is left out there
_FAR_OUT = 16.0  # lengths of a chord to which it is continued at most
_CONTINUED = 256 * UNIT  # error of what is continued, relative to the values it is made from: 8 units for each length
_WIDER = 1e-9  # share of v by which a cell is widened beyond the slack: more than the rounding of any atom
_EXPONENTIAL = 1e-11  # relative error of exponentials and of their means
_LEAST, _GREATEST = 1e-30, 1e16  # of the squared distance and the own noise over v: outside, no table is made
_KEPT = 1 << 23  # values of the curves that are kept at most


@dataclass(frozen=True)
class Moments:
    """Sums over the atoms of v within each cell, shape (devices, cells): of w, w(1-t) and wt(1-t)."""

    whole: FloatArray
    nearer: FloatArray
    curved: FloatArray

    @classmethod
    def of(cls, v: FloatArray, weights: FloatArray, edges: FloatArray) -> Moments:
        """Of atoms, shape (devices, atoms), that lie between the first and the last edge."""
        devices, cells = v.shape[0], edges.size - 1
        cell = np.clip(np.searchsorted(edges, v, side="right") - 1, 0, cells - 1)
        t = np.clip((v - edges[cell]) / (edges[cell + 1] - edges[cell]), 0.0, 1.0)
        place = (cell + cells * np.arange(devices)[:, None]).ravel()

        def summed(terms: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(place, terms.ravel(), devices * cells).reshape(devices, cells))

        return cls(summed(weights), summed(weights * (1 - t)), summed(weights * t * (1 - t)))


@dataclass(frozen=True)
class SharedCurves:
    """Both ends of the curves of devices with equal participation, own noise and sensitivity.

    Attributes
    ----------
    part : NoiseMixture
        A row per edge with one atom. Where participation is visible, or only amplifies, its participation is 1.
    participation : float
        Of the devices.
    lower, upper : Moments
        Of v rounded up, for the lower ends of the divergence, and of v rounded down, for the upper ones.
    error : float
        Relative error of the moments.
    receiver : float
        The least noise.
    missing : float
        Probability that the law of v leaves out at its low end; as much may have been moved down at its high end.
    grid : tuple of float
        `slack` and `spread` of a law of v on a grid (:mod:`airtight.analytics.distributions.weighted_sum`).
    tabled : bool
        Whether the divergences come from a table in epsilon; otherwise they are computed at each epsilon.
    """

    part: NoiseMixture
    participation: float
    lower: Moments
    upper: Moments
    error: float
    receiver: float = 0.0
    missing: float = 0.0
    grid: tuple[float, float] = (0.0, 0.0)
    tabled: bool = True
    _tables: dict[bool, _Table] = field(default_factory=dict, compare=False, repr=False)
    _seen: dict[bool, KeptValues] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        part: NoiseMixture,
        edges: FloatArray,
        low: FloatArray,
        high: FloatArray,
        weights: FloatArray,
        *,
        tabled: bool = True,
    ) -> SharedCurves | None:
        """The curves of a law for each device, shape (devices, atoms); None where divergences are not regular.

        Parameters
        ----------
        part : NoiseMixture
            Its first row has the parameters of every device.
        edges : ndarray
            Increasing; the first one is at most every lower end.
        low, high, weights : ndarray, shape (devices, atoms)
            Both ends of v, and probabilities. Upper ends beyond the last edge count as infinite.
        """
        distance, own_noise = float(part.sensitivity[0]), float(part.own_noise[0])
        if edges.size < 2 or not edges[0] > 0:
            return None
        with np.errstate(over="ignore", under="ignore"):
            ratio = np.array([distance * distance / edges[0], own_noise / edges[0], own_noise / edges[-1]])
        if not np.all((ratio == 0) | ((ratio > _LEAST) & (ratio < _GREATEST))):
            return None
        if distance == 0 and (own_noise == 0 or part.adjacency is not Adjacency.ABSENT):
            return None
        rows = np.arange(edges.size)
        hidden = isinstance(part, HiddenParticipationMixture)

        def everywhere(values: FloatArray | IntArray) -> FloatArray:
            return np.repeat(values[:1], edges.size)

        table = replace(
            part,
            devices=rows,
            kind=rows,
            among=np.asarray(everywhere(part.among), dtype=np.int64),
            dimension=np.asarray(everywhere(part.dimension), dtype=np.int64),
            receiver=edges,
            everybody=everywhere(part.everybody),
            participation=everywhere(part.participation) if hidden else np.ones(edges.size),
            own_noise=everywhere(part.own_noise),
            sensitivity=everywhere(part.sensitivity),
            variance=edges[:, None],
            weights=np.ones((edges.size, 1)),
            missing=np.zeros(edges.size),
            slack=0.0,
            spread=0.0,
            error=0.0,
            lost=0.0,
        )
        within_edges = high <= edges[-1]
        above = Moments.of(np.where(within_edges, high, edges[-1]), np.where(within_edges, weights, 0.0), edges)
        below = Moments.of(low, weights, edges)
        return cls(
            table,
            float(part.participation[0]),
            above,
            below,
            part.error + float(part.rounding[0]) + (edges.size + low.shape[1] + 16) * UNIT,
            receiver=float(part.receiver[0]),
            missing=float(part.missing[0]),
            grid=(part.slack, part.spread),
            tabled=tabled,
        )

    def delta_bracket(self, epsilon: FloatArray, row: int, *, reverse: bool, doubt: float) -> BracketArrays:
        """Lower and upper bound of the divergence of the device in this row, within `doubt` (relative) of each epsilon.

        What is computed for one device is computed for all, and kept.
        """
        devices = self.lower.whole.shape[0]
        if reverse not in self._seen or self._seen[reverse].count > _KEPT:
            self._seen[reverse] = KeptValues.empty(2 * devices)
        kept = self._seen[reverse]
        missing = kept.missing(epsilon)
        step = max(_AT_ONCE // self.part.receiver.size, 1)
        for start in range(0, missing.size, step):
            chunk = missing[start : start + step]
            kept.add(chunk, np.vstack(self._both(chunk, reverse, doubt)).T)
        return kept.at(epsilon, row), kept.at(epsilon, devices + row)

    def _both(self, epsilon: FloatArray, reverse: bool, doubt: float) -> BracketArrays:
        """Lower and upper bound of the mean over v, shape (devices, epsilons)."""
        inner_far, factor_far = self._amplified(epsilon * (1 + doubt), reverse)
        inner, factor = self._amplified(epsilon * (1 - doubt), reverse)
        if self.tabled:
            table = self._table(reverse)
            low, high = table.at(inner_far, upper=False), table.at(inner, upper=True)
        else:
            low, high = self._computed(inner, inner_far, reverse)
        fall_low, fall_high = (np.maximum(values[:-1] - values[1:], 0.0) for values in (low, high))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            least = self.lower.whole @ low[1:]
            enough = np.min(np.maximum(least, _RARE * np.max(least, axis=0)), axis=0)
            # where divergences are computed, and not tabled, all cells are resolved
            matters = np.max(self.upper.nearer, axis=0)[:, None] * fall_high > _LITTLE * enough * self.tabled
            cell, place = np.nonzero(matters)
            apart = np.where(inner > 0, np.abs(inner_far - inner) / inner, 0.0)
            slow, fast = self._rates(cell, inner[place], reverse, apart[place])
            curved_high = np.where(slow == 0, 0.0, 1 - slow / np.expm1(slow))  # k_1
            curved_low = np.where(fast == 0, 0.0, fast / -np.expm1(-fast) - 1)  # k_2
            lower = self._mean(low[1:], fall_low, cell, place, curved_low, upper=False)
            upper = self._mean(high[1:], fall_high, cell, place, -curved_high, upper=True)
            if self.grid[1]:
                lower, upper = self._off_grid(lower, upper, low, high, inner, apart, reverse)
            lower, upper = np.maximum(lower - self.missing, 0.0), upper + self.missing
            return (
                lower * factor_far * (1 - self._rounding),
                np.minimum(upper * factor * (1 + self._rounding) + SMALLEST, 1.0),
            )

    def _computed(self, near: FloatArray, far: FloatArray, reverse: bool) -> BracketArrays:
        """Lower and upper bound of the divergence at every edge from epsilon `near` to `far`, shape (edges, epsilons)."""
        edges = self.part.receiver.size
        finite = np.isfinite(far)
        epsilon = np.where(finite, (near + far) / 2, near)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative_width = np.where(finite & (far > near), (far - near) / far, 0.0)
        rows = np.repeat(np.arange(edges), epsilon.size)
        with np.errstate(under="ignore"):
            ends = evaluate.log_ends(
                self.part, np.tile(epsilon, edges), rows, reverse=reverse, doubt=np.tile(relative_width, edges)
            )
            low, high = (np.exp(end).reshape(edges, epsilon.size) for end in ends)
        low[:, ~finite] = 0.0
        return low, high

    def _off_grid(
        self,
        lower: FloatArray,
        upper: FloatArray,
        low: FloatArray,
        high: FloatArray,
        epsilon: FloatArray,
        apart: FloatArray,
        reverse: bool,
    ) -> BracketArrays:
        r"""Lower and upper bound of the mean over a sum itself, from those over its law on a grid.

        Notes
        -----
        The mean over the sum differs from that over its law by at most half the `spread` times the mean of a bound of the
        curvature within the slack (:mod:`airtight.analytics.distributions.weighted_sum`); this is bounded cell by cell.
        With :math:`f = -\partial_vD` and :math:`\rho_1 \le (\log f)' \le \rho_2` on a cell [a, b], widened by the slack on
        either side, f is at most :math:`F = e^{\max|\rho_i|\,(b-a+2\,\text{slack})}(D(a)-D(b))/(b-a)` there, since its mean
        over the cell is one of its values. So :math:`-\partial_v^2D = f(\log f)'` lies between :math:`F\min(\rho_1, 0)` and
        :math:`F\max(\rho_2, 0)`.
        """
        slack, spread = self.grid
        edges, cells = self.part.receiver, self.part.receiver.size - 1
        cell, place = (x.ravel() for x in np.indices((cells, epsilon.size)))
        # a little wider yet, for the rounding of the atoms
        lowest = np.maximum(edges[:-1] * (1 - _WIDER) - slack, self.receiver)
        highest, width = edges[1:] * (1 + _WIDER) + slack, np.diff(edges)
        rate_low, rate_high = self._rates_within(
            lowest[cell], highest[cell], epsilon[place], reverse, np.broadcast_to(apart, epsilon.shape)[place]
        )
        log_growth = np.maximum(np.abs(rate_low), np.abs(rate_high)) * (highest - lowest)[cell]
        fall = np.maximum(high[:-1] - low[1:], 0.0) + SMALLEST  # it may have underflowed
        mass = self.upper.whole[0][:, None]
        greatest_slope = fall / width[:, None] * np.exp(log_growth).reshape(fall.shape)
        concave, convex = (
            np.where(mass > 0, np.nan_to_num(mass * greatest_slope * np.maximum(rate, 0.0).reshape(fall.shape), nan=np.inf), 0.0)
            for rate in (rate_high, -rate_low)
        )
        raised, lowered = (spread / 2 * np.sum(curvature, axis=0) * (1 + _EXPONENTIAL) for curvature in (concave, convex))
        return np.maximum(lower - lowered, 0.0), upper + raised

    @property
    def _rounding(self) -> float:
        return self.error + _EXPONENTIAL

    def _mean(
        self, values: FloatArray, fall: FloatArray, cell: IntArray, place: IntArray, bend: FloatArray, *, upper: bool
    ) -> FloatArray:
        """One end of the mean over v of D(b) + s (D(a) - D(b)), where s is (1-t) times 1 + bend t (upper) or 1 - bend t."""
        moments, sign = (self.upper, 1) if upper else (self.lower, -1)
        spread = moments.whole @ fall
        mean, straight = moments.whole @ values, np.zeros(spread.shape)

        def where(chosen: NDArray[np.bool_], factor: FloatArray | float = 1.0) -> FloatArray:
            out = np.zeros(fall.shape)
            out[cell[chosen], place[chosen]] = fall[cell[chosen], place[chosen]] * factor
            return out

        small = np.abs(bend) < 1
        if np.any(small):
            straight = moments.nearer @ where(small)
            mean = mean + straight + sign * (moments.curved @ where(small, bend[small]))
        unbounded = np.ones(fall.shape)
        unbounded[cell[small], place[small]] = 0.0
        # a greater bend is rounded to a level: the sums over atoms of min(1, s) or max(0, s) are not linear in it
        for below, level in zip((1.0, *_LEVELS), _LEVELS, strict=False):
            at_level = (bend >= below) & (bend < level)
            if np.any(at_level):
                shares = moments.nearer + sign * level * moments.curved
                shares = np.minimum(shares, moments.whole) if upper else np.maximum(shares, 0.0)
                term = shares @ where(at_level)
                mean, straight = mean + term, straight + moments.nearer @ where(at_level, level)
                unbounded[cell[at_level], place[at_level]] = 0.0
        if upper:
            mean = mean + moments.whole @ (unbounded * fall)
        rounding_error = 2 * self._rounding * straight + _CANCELLED * spread
        return np.asarray(mean + rounding_error if upper else np.maximum(mean - rounding_error, 0.0))

    def _amplified(self, epsilon: FloatArray, reverse: bool) -> tuple[FloatArray, FloatArray]:
        """The epsilon of the divergences in the table, and the factor on them."""
        p = np.full(epsilon.shape, self.participation)
        if isinstance(self.part, HiddenParticipationMixture):
            return epsilon, np.ones(epsilon.shape)
        if self.part.adjacency is not Adjacency.ABSENT:
            return epsilon, p
        if not reverse:
            finite = np.minimum(epsilon, np.finfo(float).max / 4)
            return np.where(epsilon < np.inf, subsampling.unamplified(finite, p), np.inf), p
        log_factor, inner = subsampling.reversed_order(epsilon, p)
        return inner, np.exp(log_factor)

    def _rates(
        self, cell: IntArray, epsilon: FloatArray, reverse: bool, doubt: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        r"""Bounds :math:`\rho_1 \le \rho_2` in a cell, at all epsilons within the relative distance `doubt` of one.

        Infinite where nothing is known.

        Notes
        -----
        *Slack, where own noise leaves*
        (:func:`.noise_interpolant.decay_of_pair`). Let u be `UNIT`, s the own noise, and
        :math:`C = \epsilon + \tfrac r2\log(1 + s/v) + d^2/2s` at the lower edge v, the sum of the magnitudes of the terms of
        c. Rounding and doubt change c by (8 u + doubt) C at most. Where c is above C/32 at both edges, this is a relative
        :math:`\eta = 256u + 32\,\mathrm{doubt}`. Because of :math:`\log(1+x) \ge x/(1+x)`, -c'/c is then at most 32/v. It
        errs by :math:`\eta + 8u`, relatively, and its half times r by less than :math:`(16\eta + 128u)\,r/v`. With
        :math:`\kappa` at its greatest, the term of Bessel functions is a product of :math:`\kappa/2` and a ratio below 1, which
        err by :math:`\eta/2 + 16u`, and of a bracket below 34/v, which errs by :math:`(32\eta + 528u)/v`: in all by
        :math:`(33\eta + 808u)\kappa/v`. The other terms err by 8 u, and c/s by a share 8 u + doubt of C/s. So the sum errs by
        less than :math:`33\eta + 1000u < 10^4u + 1100\,\mathrm{doubt}` times the magnitude in the code, where `_SLACK` and
        `_DOUBTS` are more.

        *Otherwise* the terms are squares and quotients that err by 8 u and 3 doubt, and add up to the magnitude.
        """
        edges = self.part.receiver
        low, high = edges[cell], edges[cell + 1]
        rate_low, rate_high = self._rates_within(low, high, epsilon, reverse, doubt)
        with np.errstate(over="ignore", invalid="ignore"):
            slow = -rate_high * (high - low) * (1 - 8 * UNIT)
            fast = -rate_low * (high - low) * (1 + 8 * UNIT)
        return np.where(np.isnan(slow), -np.inf, slow), np.where(np.isnan(fast), np.inf, fast)

    def _rates_within(
        self, low: FloatArray, high: FloatArray, epsilon: FloatArray, reverse: bool, doubt: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of the derivative of log f for v in [low, high] (:meth:`_rates`), infinite where nothing is known."""
        own_noise, d = float(self.part.own_noise[0]), float(self.part.sensitivity[0])
        if isinstance(self.part, HiddenParticipationMixture):
            return np.full(low.size, -np.inf), np.full(low.size, np.inf)
        leaves = self.part.adjacency is Adjacency.ABSENT
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            if leaves and own_noise > 0:
                signed_epsilon, r = (-epsilon if reverse else epsilon), float(self.part.dimension[0])
                rate_low, rate_high, _ = noise_interpolant.decay_of_pair(signed_epsilon, d, low, high, own_noise, r)
                c_magnitude = epsilon + r / 2 * np.log1p(own_noise / low) + d * d / (2 * own_noise)
                c_least = signed_epsilon + r / 2 * np.log1p(own_noise / high) + d * d / (2 * own_noise)
                kappa = d / own_noise * np.sqrt(2 * high * (high + own_noise) / own_noise * c_magnitude)
                magnitude = (r + 2 + kappa) / low + (d / own_noise) ** 2 + c_magnitude / own_noise
                trusted = c_least > _CANCELLING * c_magnitude
            else:  # the second derivative over the first is -(epsilon / d)^2 / 2 - 3 / 2w + d^2 / 8w^2: each term is monotone
                low, high = (low, high) if leaves else (low + own_noise, high + own_noise)
                rate_low, rate_high = (
                    -((epsilon / d) ** 2) / 2 - 3 / (2 * w) + (d / w_end) ** 2 / 8 for w, w_end in ((low, high), (high, low))
                )
                magnitude = ((epsilon / d) ** 2 * high + d * d / low + 3) / low
                trusted = np.ones(low.size, dtype=bool)
            slack = (_SLACK + _DOUBTS * doubt) * magnitude
            trusted &= np.isfinite(slack)
            rate_low, rate_high = rate_low - slack, rate_high + slack
        rate_low = np.where(trusted & ~np.isnan(rate_low), rate_low, -np.inf)
        return rate_low, np.where(trusted & ~np.isnan(rate_high), rate_high, np.inf)

    def _table(self, reverse: bool) -> _Table:
        if reverse not in self._tables:
            self._tables[reverse] = _Table.of(self.part, reverse)
        return self._tables[reverse]


@dataclass(frozen=True)
class _Table:
    """Both ends of the divergence at the nodes of every edge, shape (edges, nodes); logarithms where log-concave."""

    nodes: FloatArray
    low: FloatArray
    high: FloatArray
    infinite: tuple[FloatArray, FloatArray]  # both ends at infinite epsilon
    concave: bool

    @classmethod
    def of(cls, part: NoiseMixture, reverse: bool) -> _Table:
        hidden, leaves = isinstance(part, HiddenParticipationMixture), part.adjacency is Adjacency.ABSENT
        kind = "hidden" if hidden else "absent" if leaves else "visible"
        mean, deviation = _moments_of_loss(part, reverse)
        near = np.maximum(mean - _DEVIATIONS * deviation, deviation / _NEAR[kind] * 2 * _DEVIATIONS)
        end = mean + _DEVIATIONS * deviation
        inside = near[:, None] + (end - near)[:, None] * np.linspace(0, 1, _NEAR[kind])
        tail = np.geomspace(_DEVIATIONS, _FARTHEST, _FAR[kind] + 1)[1:]
        nodes = np.hstack([np.zeros((near.size, 1)), inside, mean[:, None] + deviation[:, None] * tail])
        rows = np.repeat(np.arange(near.size), nodes.shape[1])
        with np.errstate(under="ignore"):
            low, high = evaluate.log_ends(part, nodes.ravel(), rows, reverse=reverse, doubt=0.0)
            far = evaluate.log_ends(
                part, np.full(near.size, np.inf), np.arange(near.size), reverse=reverse, doubt=0.0
            )
            # the divergence falls in epsilon
            low = np.maximum.accumulate(low.reshape(nodes.shape)[:, ::-1], axis=1)[:, ::-1]
            high = np.minimum.accumulate(high.reshape(nodes.shape), axis=1)
            concave = not hidden and not (leaves and part.dimension[0] == 1)
            if not concave:
                low, high = np.exp(low), np.exp(high)
            return cls(nodes, low, high, (np.exp(far[0]), np.exp(far[1])), bool(concave))

    def at(self, epsilon: FloatArray, *, upper: bool) -> FloatArray:
        """One end of the divergence, shape (edges, epsilons)."""
        out = np.empty((self.nodes.shape[0], epsilon.size))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            for i, nodes in enumerate(self.nodes):
                out[i] = self._row(nodes, self.low[i], self.high[i], epsilon, upper)
            if self.concave:
                out = np.exp(out)
        out[:, epsilon == np.inf] = self.infinite[int(upper)][:, None]
        return out

    def _row(
        self, nodes: FloatArray, low: FloatArray, high: FloatArray, epsilon: FloatArray, upper: bool
    ) -> FloatArray:
        """One end at one edge. The side away from the chords: both neighbouring intervals' chords, continued."""
        last = nodes.size - 1
        right = np.clip(np.searchsorted(nodes, epsilon, side="left"), 1, last)
        x = np.minimum(epsilon, nodes[last])

        def along(start: IntArray, stop: IntArray) -> FloatArray:
            """How far epsilon is from start to stop."""
            if self.concave:
                return np.asarray((x - nodes[start]) / (nodes[stop] - nodes[start]))
            return np.asarray(np.expm1(x - nodes[start]) / np.expm1(nodes[stop] - nodes[start]))

        if upper != self.concave:  # the chord itself
            ends = high if upper else low
            share = np.clip(along(right, right - 1), 0.0, 1.0)
            value = ends[right] + share * (ends[right - 1] - ends[right])
            value = np.where(share == 0, ends[right], value)
            if upper:
                return np.asarray(value * (1 + 16 * UNIT))
            value = value - 8 * UNIT * (np.abs(ends[right]) + np.abs(ends[right - 1]))  # of logarithms
            return np.asarray(np.where((epsilon > nodes[last]) | np.isnan(value), -np.inf, value))
        sign, near, other = (1.0, high, low) if upper else (-1.0, low, high)
        before, after = np.maximum(right - 2, 0), np.minimum(right + 1, last)

        def continued(start: IntArray, stop: IntArray, missing: NDArray[np.bool_]) -> FloatArray:
            """The chord from start to stop on the other side of start, with its rounding; a far one is of no use."""
            share = along(start, stop)
            line = near[start] + share * (other[stop] - near[start])
            line = line + sign * _CONTINUED * (np.abs(near[start]) + np.abs(other[stop]))
            return np.where(missing | np.isnan(line) | (np.abs(share) > _FAR_OUT), np.inf * sign, line)

        from_left, from_right = continued(right - 1, before, right < 2), continued(right, after, right == last)
        if upper:
            best = np.fmin(np.fmin(from_left, from_right), high[right - 1])
            return np.asarray(np.where(epsilon > nodes[last], high[last], best))
        best = np.fmax(np.fmax(from_left, from_right), low[right]) * (1 - 16 * UNIT)
        return np.asarray(np.where(epsilon > nodes[last], 0.0, best))


def edges_of(
    part: NoiseMixture,
    low: FloatArray,
    high: FloatArray,
    weights: FloatArray,
    number: tuple[int, int] | None = None,
) -> FloatArray:
    """Edges for atoms of v, arguments as of :meth:`SharedCurves.of`: all lower ends where these are few, else some of them.

    Their least and greatest `number` is by default that for many devices.

    Cells are spent on equal movements of the loss, in its standard deviations, and on equal shares of the means of 1/v and of a
    power of it, for the tail, in which every device counts as much. Where there are no atoms a cell may be wide.
    """
    values, place = np.unique(low, return_inverse=True)
    last = np.max(high[np.isfinite(high)], initial=0.0)
    least, most = number or _EDGES[isinstance(part, HiddenParticipationMixture)]
    if values.size > most and values[0] > 0:
        first = replace(part, variance=np.geomspace(values[0], values[-1], _GRID)[:, None])
        mean, deviation = _moments_of_loss(first, False)
        logs = np.log(first.variance[:, 0] + (0.0 if part.adjacency is Adjacency.ABSENT else part.own_noise[0]))
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs(np.diff(mean)) / deviation[1:]
        moved = np.cumsum(np.nan_to_num(moved, nan=0.0, posinf=0.0) + _OCTAVES * np.diff(logs))
        at = np.interp(np.log(values), np.log(first.variance[:, 0]), np.append(0.0, moved))
        at = np.append(0.0, np.cumsum(np.minimum(np.diff(at), _CELL)))
        ratio = np.min(low, axis=1, keepdims=True) / low
        shares = [weights * ratio**power for power in (1, _TAIL)]
        total = sum(share / np.sum(share, axis=1, keepdims=True) for share in shares) / weights.shape[0]
        density = at / at[-1] + np.cumsum(np.bincount(place.ravel(), np.ravel(total)))
        count = int(np.clip(2 * at[-1] / _CELL, least, most))
        chosen = np.searchsorted(density / density[-1], np.linspace(0, 1, count + 1)[1:-1])
        values = values[np.unique(np.append(0, chosen[chosen < values.size]))]
    return np.unique(np.append(values, last))


def _moments_of_loss(part: NoiseMixture, reverse: bool) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the privacy loss at each variance; a hidden device's as if it were visible."""
    v, own, d = part.variance[:, 0], part.own_noise, part.sensitivity
    if part.adjacency is not Adjacency.ABSENT:
        square = d * d / (v + own)
        return square / 2, np.sqrt(square)
    eta, square, r = own / v, d * d / v, part.dimension
    w = 1 + eta
    if reverse:
        mean, variance = square / (2 * w) + r / 2 * (np.log1p(eta) - eta / w), square / w**2 + r / 2 * (eta / w) ** 2
    else:
        mean, variance = square / 2 + r / 2 * (eta - np.log1p(eta)), square * w + r / 2 * eta * eta
    return np.maximum(mean, 0.0), np.sqrt(variance)
