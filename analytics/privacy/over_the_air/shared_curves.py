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

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.mechanisms.mechanism import Ends
from airtight.analytics.privacy.over_the_air import noise_interpolant, noise_mixture
from airtight.analytics.privacy.over_the_air.hidden_mixtures import Unseen
from airtight.analytics.privacy.over_the_air.noise_mixture import Participation
from airtight.analytics.rounding import SMALLEST, UNIT

EDGES = {
    False: 192,
    True: 128,
}  # values of v; the second number is for hidden participation, whose divergence costs more
_NEAR = {False: 512, True: 144}  # nodes within so many deviations of the mean loss
_FAR = {False: 128, True: 24}  # nodes beyond
_DEVIATIONS, _FARTHEST = 8.0, 2000.0
_AT_ONCE = 1 << 19  # entries of arrays (edges, epsilons) that are computed at a time
_SLACK = 1e-9  # share of the magnitudes of its terms by which a rate of decay is widened: more than rounding
_EXPONENTIAL = 1e-11  # relative error of an exponential of an interpolated logarithm, whose magnitude is below 1e4
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
    part : Participation
        A row per edge with one atom. Where participation is visible, or only amplifies, its participation is 1.
    participation : float
        Of the devices.
    lower, upper : Moments
        Of v rounded up, for the lower ends of the divergence, and of v rounded down, for the upper ones.
    error : float
        Relative error of the moments.
    """

    part: Participation
    participation: float
    lower: Moments
    upper: Moments
    error: float
    _tables: dict[bool, _Table] = field(default_factory=dict, compare=False, repr=False)
    # for each order, rows: epsilon, lower and upper ends of all devices
    _seen: dict[bool, FloatArray] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, part: Participation, edges: FloatArray, low: FloatArray, high: FloatArray, weights: FloatArray
    ) -> SharedCurves | None:
        """The curves of a law for each device, shape (devices, atoms); None where divergences are not regular.

        Parameters
        ----------
        part : Participation
            Its first row has the parameters of every device.
        edges : ndarray
            Increasing; the first one is at most every lower end.
        low, high, weights : ndarray, shape (devices, atoms)
            Both ends of v, and probabilities. Upper ends beyond the last edge count as infinite.
        """
        distance, own = float(part.sensitivity[0]), float(part.own_noise[0])
        if edges.size < 2 or not edges[0] > 0:
            return None
        with np.errstate(over="ignore", under="ignore"):
            ratio = np.array([distance * distance / edges[0], own / edges[0], own / edges[-1]])
        if not np.all((ratio == 0) | ((ratio > _LEAST) & (ratio < _GREATEST))):
            return None
        if distance == 0 and (own == 0 or part.adjacency is not Adjacency.ABSENT):
            return None
        rows = np.arange(edges.size)
        hidden = isinstance(part, Unseen)

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
            error=0.0,
        )
        known = high <= edges[-1]
        above = Moments.of(np.where(known, high, edges[-1]), np.where(known, weights, 0.0), edges)
        below = Moments.of(low, weights, edges)
        return cls(table, float(part.participation[0]), above, below, part.error + (edges.size + 16) * UNIT)

    def ends(self, epsilon: FloatArray, row: int, *, reverse: bool, doubt: float) -> Ends:
        """Lower and upper bound of the divergence of the device in this row, within `doubt` (relative) of each epsilon.

        What is computed for one device is computed for all, and kept.
        """
        devices = self.lower.whole.shape[0]
        known = self._seen.get(reverse, np.empty((1 + 2 * devices, 0)))
        known = known if known.size <= _KEPT else known[:, :0]
        missing = np.setdiff1d(epsilon, known[0])
        if missing.size:
            known = np.hstack([known, self._all(missing, reverse, doubt)])
            known = self._seen[reverse] = known[:, np.argsort(known[0])]
        place = np.searchsorted(known[0], epsilon)
        return known[1 + row, place], known[1 + devices + row, place]

    def _all(self, epsilon: FloatArray, reverse: bool, doubt: float) -> FloatArray:
        """Epsilon, and both ends of every device there, as rows."""
        step = max(_AT_ONCE // self.part.receiver.size, 1)
        chunks = [epsilon[start : start + step] for start in range(0, epsilon.size, step)]
        lower = np.hstack([self._mean(chunk * (1 + doubt), reverse, upper=False) for chunk in chunks])
        upper = np.hstack([self._mean(chunk * (1 - doubt), reverse, upper=True) for chunk in chunks])
        return np.vstack([epsilon, lower, upper])

    def _mean(self, epsilon: FloatArray, reverse: bool, *, upper: bool) -> FloatArray:
        """One end of the mean over v, shape (devices, epsilons)."""
        inner, factor = self._amplified(epsilon, reverse)
        values = self._table(reverse).at(inner, upper=upper)
        drop = np.maximum(values[:-1] - values[1:], 0.0)
        slow, fast = self._rates(inner, reverse)
        moments, rounding = self.upper if upper else self.lower, self.error + _EXPONENTIAL
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            if upper:
                bend = np.where(slow == 0, 0.0, 1 - slow / np.expm1(slow))  # k_1
                known = bend > -1
                values = values[1:] + np.where(known, 0.0, drop)
            else:
                bend = np.where(fast == 0, 0.0, fast / -np.expm1(-fast) - 1)  # k_2
                known = bend < 1
                values = values[1:]
            linear = moments.nearer @ np.where(known, drop, 0.0)
            mean = moments.whole @ values + linear - moments.curved @ np.where(known, bend * drop, 0.0)
            cancelled = rounding * linear + 8 * UNIT * (moments.whole @ drop)
            if upper:
                return np.asarray(np.minimum((mean + cancelled) * factor * (1 + rounding) + SMALLEST, 1.0))
            return np.asarray(np.maximum(mean - cancelled, 0.0) * factor * (1 - rounding))

    def _amplified(self, epsilon: FloatArray, reverse: bool) -> tuple[FloatArray, FloatArray]:
        """The epsilon of the divergences in the table, and the factor on them."""
        p = np.full(epsilon.shape, self.participation)
        if isinstance(self.part, Unseen):
            return epsilon, np.ones(epsilon.shape)
        if self.part.adjacency is not Adjacency.ABSENT:
            return epsilon, p
        if not reverse:
            finite = np.minimum(epsilon, np.finfo(float).max / 4)
            return np.where(epsilon < np.inf, subsampling.unamplified(finite, p), np.inf), p
        log_factor, inner = subsampling.reversed_order(epsilon, p)
        return inner, np.exp(log_factor)

    def _rates(self, epsilon: FloatArray, reverse: bool) -> tuple[FloatArray, FloatArray]:
        r"""Bounds :math:`\rho_1 \le \rho_2` in every cell at every epsilon, shape (cells, epsilons); infinite where unknown."""
        edges, own, d = self.part.receiver, float(self.part.own_noise[0]), float(self.part.sensitivity[0])
        low, high = edges[:-1, None], edges[1:, None]
        shape = low.size, epsilon.size
        if isinstance(self.part, Unseen):
            return np.full(shape, -np.inf), np.full(shape, np.inf)
        leaves = self.part.adjacency is Adjacency.ABSENT
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            if leaves and own > 0:
                level, r = (-epsilon if reverse else epsilon), float(self.part.dimension[0])
                rate_low, rate_high, _ = noise_interpolant.decay_of_pair(level, d, low, high, own, r)
                c = np.abs(level) + r / 2 * np.log1p(own / low) + d * d / (2 * own)
                kappa = d / own * np.sqrt(2 * high * (high + own) / own * c)
                magnitude = (r + 2 + kappa) / low + (d / own) ** 2 + c / own + r * own / (low * low)
            else:  # the second derivative over the first is minus (ab + 3) / 2w, ab increases in w
                low, high = (low, high) if leaves else (low + own, high + own)
                first, last = ((epsilon / d) ** 2 * w - d * d / (4 * w) + 3 for w in (low, high))
                rate_high = -first / (2 * np.where(first > 0, high, low))
                rate_low = -last / (2 * np.where(last > 0, low, high))
                magnitude = ((epsilon / d) ** 2 * high + d * d / low + 3) / low
            width = np.diff(edges)[:, None]
            slow = -(rate_high + _SLACK * magnitude) * width * (1 - 8 * UNIT)
            fast = -(rate_low - _SLACK * magnitude) * width * (1 + 8 * UNIT)
        return np.where(np.isnan(slow), -np.inf, slow), np.where(np.isnan(fast), np.inf, fast)

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
    def of(cls, part: Participation, reverse: bool) -> _Table:
        hidden = isinstance(part, Unseen)
        mean, deviation = _moments_of_loss(part, reverse)
        near = np.maximum(mean - _DEVIATIONS * deviation, deviation / _NEAR[hidden] * 2 * _DEVIATIONS)
        end = mean + _DEVIATIONS * deviation
        inside = near[:, None] + (end - near)[:, None] * np.linspace(0, 1, _NEAR[hidden])
        tail = np.geomspace(_DEVIATIONS, _FARTHEST, _FAR[hidden] + 1)[1:]
        nodes = np.hstack([np.zeros((near.size, 1)), inside, mean[:, None] + deviation[:, None] * tail])
        rows = np.repeat(np.arange(near.size), nodes.shape[1])
        with np.errstate(under="ignore"):
            low, high = noise_mixture.log_ends(part, nodes.ravel(), rows, reverse=reverse, doubt=0.0)
            far = noise_mixture.log_ends(
                part, np.full(near.size, np.inf), np.arange(near.size), reverse=reverse, doubt=0.0
            )
            # the divergence falls in epsilon
            low = np.maximum.accumulate(low.reshape(nodes.shape)[:, ::-1], axis=1)[:, ::-1]
            high = np.minimum.accumulate(high.reshape(nodes.shape), axis=1)
            concave = not hidden and (part.adjacency is not Adjacency.ABSENT or part.dimension[0] > 1)
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
            return np.asarray(np.where((epsilon > nodes[last]) | np.isnan(value), -np.inf, value))
        sign, near, other = (1.0, high, low) if upper else (-1.0, low, high)
        before, after = np.maximum(right - 2, 0), np.minimum(right + 1, last)
        from_left = near[right - 1] + along(right - 1, before) * (other[before] - near[right - 1])
        from_right = near[right] + along(right, after) * (other[after] - near[right])
        from_left = np.where((right < 2) | np.isnan(from_left), np.inf * sign, from_left)
        from_right = np.where((right == last) | np.isnan(from_right), np.inf * sign, from_right)
        if upper:
            best = np.fmin(np.fmin(from_left, from_right), high[right - 1])
            return np.asarray(np.where(epsilon > nodes[last], high[last], best))
        best = np.fmax(np.fmax(from_left, from_right), low[right]) * (1 - 16 * UNIT)
        return np.asarray(np.where(epsilon > nodes[last], 0.0, best))


def _moments_of_loss(part: Participation, reverse: bool) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the privacy loss at each edge; a hidden device's as if it were visible."""
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
