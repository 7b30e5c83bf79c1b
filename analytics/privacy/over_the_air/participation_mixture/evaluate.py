r"""Mixtures over the other participants: delta and epsilon of a device, as means over the law of the others' noise.

Given the set S of other participants, the neighbours are two Gaussian laws (or two mixtures of Gaussian laws), and
their divergence depends on S only through the noise variance v that S leaves at the receiver. So

.. math:: \delta(\epsilon) = c\,E_v\,D_{\lambda'}(v) \approx c\sum_j w_jD_{\lambda'}(v_j),

where c and :math:`\lambda'` come from an identity of :mod:`airtight.analytics.privacy.mechanisms.subsampling` that
collects the terms of a participation that the observer does not see. D falls in v, and so does every bound that is
formed from it.

Steps, in order
---------------
1. :class:`NoiseMixture` holds the atoms :math:`v_j`, their probabilities :math:`w_j` and the error bounds of both.
2. ``_directions`` names the curves that can be the larger one: one for constant noise and for visible participants,
   both directions for ``absent``.
3. ``_expected`` forms the mean in logarithms, with the errors by which the truth may lie above and below it.
4. ``log_upper`` and ``log_lower`` round outwards; ``least_epsilon`` finds the root of an upper bound; :func:`log_ends`
   gives both bounds of one direction for compositions.

Where each error enters
-----------------------
- *Divergence.* Its own bound, atom by atom. Where it is infinite the value is an upper bound only: nothing is added
  above, and the whole term is lost below.
- *Probabilities.* The relative bound `error` of the weights and that of the sums are added on both sides.
- *Variances* are rounded down by `lost` at most, which is safe above; for lower bounds ``unrounded`` raises them.
- *Missing mass* counts as divergence 1 above. Below, twice its amount is subtracted: once because the mean includes it,
  once because as much mass may have been moved to a lower v (:mod:`airtight.analytics.distributions.weighted_sum`).
- *Grid.* By Taylor's theorem the error is half the `spread` times a bound of the second derivative in v, of the sign in
  question. Or the noise is lowered, or raised, by the `slack`; the closer bound is taken, and of both the steeper slope.
- *Gauss rules* (:mod:`.gauss_rule`) may miss a remainder on each piece of log v, which is added on both sides; it is at most
  the mean of the divergences at the nodes below each value. The bound of the curvature is taken on cells of the law. Roundings
  of the variances move the nodes as they move the values, by less than the bounds of the remainder allow for.
- *Epsilon* is a rounded double, and a relative change of 1e-16 matters where the curve is steep. Upper bounds are
  evaluated at a slightly smaller epsilon, lower bounds at a slightly greater one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair, subsampling
from airtight.analytics.privacy.over_the_air.participation_mixture import complex_noise, gauss_rule, noise_interpolant
from airtight.analytics.privacy.over_the_air.participation_mixture.complex_noise import Boxes, Smooth, Steepness
from airtight.analytics.privacy.over_the_air.participation_mixture.noise_interpolant import (
    Component,
    NoiseInterpolant,
    Triple,
    Vanishing,
)
from airtight.analytics.rounding import SMALLEST, UNIT

# (atoms, -log of the quadrature error) of smaller laws, on which the root is first searched if the law is twice as big; and
# relative accuracy of the root on these laws
_SKETCHES = (((48, 12.0), 1e-4), ((512, 24.0), 1e-8))
_FEWEST = 8  # atoms of a sketch
_ON_GRID = 1e-6  # relative accuracy of the root for a law on a grid; below the error of the grid
_STEPS = 300  # Newton or bisection steps at most; a dozen suffice unless the initial guess is very far off
_PATIENCE = 8  # steps of pure Newton's method; with a very weak signal each changes epsilon by only 1e-3
_GROWTH = 16  # greatest factor of epsilon in one step while no upper bound is known
COARSE = 1e-3  # relative error of delta by curvature from which the noise is lowered instead
_PIECES = 12, 32  # pieces of the law of the others' noise with a Gauss rule each, in a composition
_OF_RULES = 3e-5  # such an error of Gauss rules, which comes and goes from one epsilon to the next
_BULK_NATS = 25.0  # minus log delta beyond the bulk
_WORTH_RULING = 0.6  # share of the atoms that Gauss rules may have
_WIDER = 1e-9  # relative widening of cells, more than the rounding of values
_FAR = 1e100  # an epsilon beyond this is reported as infinite
_EPSILON_ROUNDING = 8 * UNIT  # relative; where epsilon is large, one rounding of it changes delta noticeably

# log delta, its slope in epsilon, and the errors by which the true value may lie above and below
Values = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Curve = Callable[[FloatArray, IntArray], Values]
# of the ends of intervals of v, problems' indices, log divergences and the log of a unit: bounds, in that unit, of the negative
# and the positive part of the second derivative in v within the slack of each interval
Curvature = Callable[[FloatArray, FloatArray, IntArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class NoiseMixture:
    """Mixtures over the other participants: a row per distinct device ("kind"), a column per noise atom."""

    adjacency: Adjacency
    idle_noise: bool
    devices: IntArray  # sorted
    kind: IntArray  # the row of each of `devices`
    among: IntArray  # number of devices; this and all fields up to `sensitivity` have one entry per row
    dimension: IntArray
    receiver: FloatArray  # noise variance of the receiver alone
    everybody: FloatArray  # noise variance of the receiver and of all devices
    participation: FloatArray
    own_noise: FloatArray
    sensitivity: FloatArray
    variance: FloatArray  # received noise variance without the device, of each row's atoms; nondecreasing along a row
    weights: FloatArray  # probability of each atom
    missing: FloatArray  # probability of the atoms left out; the divergence there is replaced by 1
    slack: float  # slack and spread of a law on a grid: see airtight.analytics.distributions.weighted_sum
    spread: float
    error: float  # relative error of the weights
    lost: float  # absolute error of the variances, which are rounded down
    nats: float = 30.0  # divergences of Gaussians with unequal variances have a quadrature error of e^-nats
    estimating: bool = False  # whether these divergences are interpolated in v, with an estimated error
    interpolated: float = 0.0  # relative error of the interpolation that suffices
    rules: gauss_rule.Rules | None = None  # None where the atoms are those of the law itself
    offset: FloatArray | None = None  # taken off one law that all rows share, for each row
    sketches_on_grid = 2  # laws of fewer atoms on which a root is sought first, if this law is on a grid

    def unrounded(self) -> NoiseMixture:
        """The same mixtures with the noise rounded up and the sensitivity rounded down, for lower bounds."""
        return replace(
            self,
            # the sum of the noises errs by the relative `rounding` and is rounded down by `lost`; thrice the bound
            # covers the rounding of this product
            variance=self.variance * (1 + 3 * self.rounding[:, None]) + self.lost,
            sensitivity=self.sensitivity * (1 - 16 * UNIT),
            # under `absent` the own noise leaves with its device and delta is not monotone in it, so it must stay as it
            # is
            own_noise=self.own_noise * (1 if self.adjacency is Adjacency.ABSENT else 1 + 16 * UNIT),
        )

    @property
    def tolerance(self) -> float:
        """Relative error allowed for interpolated divergences."""
        return max(30 * float(np.exp(-self.nats)), self.interpolated)

    @property
    def rounding(self) -> FloatArray:
        """Relative error of a sum of as many noises, or of as many weights, as there are devices."""
        return (self.among + 8) * UNIT

    @property
    def _constant_sigma(self) -> FloatArray:
        """Standard deviation of the noise at the receiver when every device always sends noise."""
        return np.sqrt(self.everybody)

    def lowered(self) -> NoiseMixture:
        """The same mixtures with the noise lowered by the slack: an upper bound."""
        # E f(V) <= E f(V' - slack); the receiver's own noise is always there
        return self._with(np.maximum(self.variance - self.slack, self.receiver[:, None]), self.weights, self.missing)

    def _with(self, variance: FloatArray, weights: FloatArray, missing: FloatArray) -> NoiseMixture:
        return replace(self, variance=variance, weights=weights, missing=missing, slack=0.0, spread=0.0)

    def at_quantile(self, delta: float | FloatArray) -> NoiseMixture:
        """The noise of every row replaced by one lower quantile that uses half of `delta`."""
        # delta <= p (Pr(v below v_j) + D(v_j)) for every column j. The greatest j whose first term uses at most half of
        # delta leaves the other half to the divergence.
        below = np.cumsum(self.weights, axis=1) - self.weights + self.missing[:, None]
        with np.errstate(divide="ignore", over="ignore"):
            budget = np.where(self.participation > 0, delta / (2 * self.participation), np.inf)
        quantile_column = np.sum(below <= budget[:, None], axis=1, keepdims=True) - 1
        # the mass below the quantile counts as missing, with divergence 1
        variance, missing = (np.take_along_axis(x, quantile_column, axis=1) for x in (self.lowered().variance, below))
        return self._with(variance, np.ones(quantile_column.shape), missing[:, 0])

    @property
    def interpolating(self) -> bool:
        """Whether means over the atoms rest on an estimate of the interpolation in v."""
        return self.estimating and self.adjacency is Adjacency.ABSENT and not self.idle_noise

    def ruled(self, pieces: int) -> NoiseMixture | None:
        """The laws replaced by Gauss rules on pieces of log v; None where this saves little.

        See :mod:`.gauss_rule`. In a composition a mean is NaN where the rules err by too much (``_expected``).
        """
        variance, weights = self._widest
        used = weights > 0
        least = np.min(np.where(used & (variance > 0), variance, np.inf))
        few = (1 + gauss_rule.NODES * pieces) <= _WORTH_RULING * np.max(np.sum(used, axis=1))
        if self.idle_noise or not few or self.lost > gauss_rule.LOST * least:
            return None
        if self.offset is None:
            variance, weights, rules = gauss_rule.rules_of(variance, weights, pieces, self.slack)
        else:  # one rule serves all rows
            typical = np.argsort(self.offset)[[self.offset.size // 2]]
            nodes, weights, rules = gauss_rule.rules_of(self.variance[typical], self.weights[typical], pieces, self.slack)
            offset = self.offset - self.offset[typical]
            variance, rules = (nodes - offset[:, None]) * (1 - 4 * UNIT), rules.shifted(offset)
            weights = np.broadcast_to(weights, variance.shape)
        return replace(self, variance=variance, weights=weights, rules=rules)

    @property
    def tried_pieces(self) -> tuple[int, ...]:
        """Numbers of pieces that are tried in a composition, in this order, before the law itself."""
        return _PIECES if self.interpolating else ()

    @property
    def pieces(self) -> int:
        """The number of pieces for which rules are mostly precise."""
        return gauss_rule.pieces_for(*self._widest, self._opening)

    @property
    def _opening(self) -> float:
        """The greatest argument in the ellipse of a piece."""
        leaves = self.adjacency is Adjacency.ABSENT
        return complex_noise.opening(float(np.max(self.dimension))) if leaves else complex_noise.VISIBLE

    @property
    def _widest(self) -> tuple[FloatArray, FloatArray]:
        """Values and probabilities of all rows, or of that from which most is taken off one law."""
        rows = slice(None) if self.offset is None else [int(np.argmax(self.offset))]
        return self.variance[rows], self.weights[rows]

    def only(self, rows: IntArray) -> NoiseMixture:
        """The mixtures of some rows, each of them a kind."""
        one_each = ("among", "dimension", "receiver", "everybody", "participation", "own_noise", "sensitivity", "missing")
        parts = {name: getattr(self, name)[rows] for name in (*one_each, "variance", "weights")}
        representatives = self.devices[np.unique(self.kind, return_index=True)[1]][rows]
        rules = None if self.rules is None else self.rules.only(rows)
        offset = None if self.offset is None else self.offset[rows]
        return replace(self, devices=representatives, kind=np.arange(rows.size), rules=rules, offset=offset, **parts)

    def sketch(self, columns: int, nats: float) -> NoiseMixture:
        """Nearly the same law on few columns, used only to find an initial guess of the root."""
        variance, weights = _paired(self.variance, self.weights, columns)
        return replace(self, variance=variance, weights=weights, nats=nats)

    def sketch_by_rule(self, nats: float) -> NoiseMixture:
        """The law of one Gauss rule, without its error: where nothing is proved."""
        variance, weights, _ = gauss_rule.rules_of(self.variance, self.weights, 1)
        return replace(self, variance=variance, weights=weights, slack=0.0, spread=0.0, nats=nats)

    def rough(self) -> NoiseMixture:
        """The law of Gauss rules on even fewer columns, without its errors: for initial guesses too."""
        columns, nats = max(self.variance.shape[1] // 4, _FEWEST), _SKETCHES[0][0][1]
        return replace(self.sketch(columns, nats), rules=None, slack=0.0, spread=0.0)

    def pessimistic(self, columns: int) -> NoiseMixture:
        """The same mixtures with the noise lowered to few columns: an upper bound."""
        # each group takes the least noise of its columns, and the divergence falls in v
        first, weights = _grouped(self.variance, self.weights, columns)
        return self._with(self.lowered().variance[:, first], weights, self.missing)

    def log_upper(self, epsilon: FloatArray, rows: IntArray) -> FloatArray:
        """Upper bound of log delta(epsilon[i]) of kind rows[i], the larger of both directions."""
        bound, _ = self._worst(epsilon * (1 - _EPSILON_ROUNDING), rows, upper=True)
        with np.errstate(divide="ignore"):
            return np.where(epsilon < np.inf, bound, _log_upper(self.infinite_loss()[rows]))

    def log_lower(self, epsilon: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Lower bound of log delta(epsilon[i]) of kind rows[i], the larger of both directions, and the slope in epsilon."""
        return self.unrounded()._worst(epsilon * (1 + _EPSILON_ROUNDING), rows, upper=False)

    def _worst(self, epsilon: FloatArray, rows: IntArray, *, upper: bool) -> tuple[FloatArray, FloatArray]:
        """A bound of log delta, and the slope of the direction that gives it."""
        out, slope = np.full(epsilon.shape, -np.inf), np.zeros(epsilon.shape)
        # a device that never sends has delta 0, whose logarithm is -inf already
        taking_part = np.flatnonzero(self.participation[rows] > 0)
        if taking_part.size:
            for curve in self._directions():
                # `up` and `down` are errors of the logarithm; the logarithm itself is rounded in proportion to its
                # magnitude
                value, each_slope, up, down = curve(epsilon[taking_part], rows[taking_part])
                error = up if upper else down
                with np.errstate(invalid="ignore"):
                    away = error - 4 * UNIT * value
                    bound = np.where(value > -np.inf, value + (away if upper else -away), value)
                larger = bound > out[taking_part]
                place = taking_part[larger]
                out[place], slope[place] = bound[larger], each_slope[larger]
            # delta <= p: the neighbours agree whenever the device is silent
            out[taking_part] = np.minimum(out[taking_part], _log_upper(self.participation[rows[taking_part]]))
        return np.minimum(out, 0.0), slope

    def _directions(self) -> list[Curve]:
        """The curves of log delta, with slope and errors, for the directions that can be the larger one."""
        # Noise that stays with the device is common to both neighbours. For `silent` and `absent` the order from
        # present to absent is never the smaller one (subsampled_gaussian_log_delta), for `replace` both orders are
        # equal.
        if self.idle_noise:
            return [self._constant_noise]
        # which order is larger is not known where the own noise leaves with its device, so both are computed
        if self.adjacency is Adjacency.ABSENT:
            return [self._removing, self._adding]
        return [self._visible]

    def order(self, reverse: bool) -> Curve:
        """The curve of the neighbour with device k against the one without it, or of the reverse direction."""
        return self._directions()[-1 if reverse else 0]

    def _constant_noise(self, epsilon: FloatArray, rows: IntArray) -> Values:
        p, mu = self.participation[rows], _ratio(self.sensitivity[rows], self._constant_sigma[rows])
        out, error = np.full(epsilon.shape, -np.inf), np.zeros(epsilon.shape)
        finite = epsilon < np.inf
        eps, p, mu = epsilon[finite], p[finite], mu[finite]
        # relative error of mu: a sum of as many variances as devices, a square root, a quotient
        rounding = (16 + self.among[rows][finite]) * UNIT
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.adjacency is Adjacency.REPLACE:
                # the observer does not see whether the device sends, and neither neighbour is the common component
                out[finite] = subsampling.opposite_gaussians_log_delta(eps, p=p, mu=mu)
                steepness = np.abs(eps / mu - mu / 2)
            else:
                # first identity of `subsampling`: delta = p D at lambda' = 1 + (lambda - 1) / p
                inner = subsampling.unamplified(eps, p)
                curve, _, error[finite] = gaussian.log_curve(inner, mu)
                out[finite] = np.log(p) + curve
                steepness, eps = np.abs(inner / mu - mu / 2), inner
            # The logarithm of a Gaussian curve changes by about (1 + |a|)(1 + b) times a relative change of mu or
            # epsilon, with a = epsilon / mu - mu / 2 and b = epsilon / mu + mu / 2. For `replace` and a rare device the
            # factor is that at epsilon / p. There the shift of epsilon by _EPSILON_ROUNDING covers a rounded mu as well.
            error[finite] += 1e-12 + 2 * rounding * (1 + steepness) * (1 + eps / mu + mu / 2)
        error = np.where(out > -np.inf, error, 0.0)
        return out, np.full(epsilon.shape, np.nan), error, error

    def _visible(self, epsilon: FloatArray, rows: IntArray) -> Values:
        log_p = np.log(self.participation[rows])

        def component(v: FloatArray, i: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            # own noise stays with a visible device, so it adds to the noise of both neighbours
            eps, d, sigma = np.broadcast_arrays(
                epsilon[i, None], self.sensitivity[rows[i], None], np.sqrt(v + self.own_noise[rows[i], None])
            )
            curve = gaussian.log_curve(eps.ravel(), _ratio(d, sigma).ravel())
            value, slope, error = (x.reshape(eps.shape) for x in curve)
            return value, slope, error

        def bend(
            low: FloatArray, high: FloatArray, i: IntArray, values: FloatArray, log_unit: FloatArray
        ) -> tuple[FloatArray, FloatArray]:
            eps, d, own_noise = epsilon[i, None], self.sensitivity[rows[i], None], self.own_noise[rows[i], None]
            # the interval of v that one splitting of the grid may have reached
            low, high = np.maximum(low - self.slack, self.receiver[rows[i], None]) + own_noise, high + self.slack + own_noise
            return noise_interpolant.of_gaussian(eps, d, low, high, log_unit)

        def log_slope(i: IntArray, boxes: Boxes) -> FloatArray:
            eps, d, own_noise = (x[:, None, None] for x in (epsilon[i], self.sensitivity[rows[i]], self.own_noise[rows[i]]))
            return complex_noise.log_slope_of_gaussian(eps, d, own_noise, boxes)

        steep = Steepness(log_slope, complex_noise.VISIBLE)
        value, slope, up, down = self._expected(component, rows, bend, steep)
        # the observer sees whether k sends; with probability 1 - p it does not, and then the neighbours agree
        return log_p + value, slope, up, down

    def _removing(self, epsilon: FloatArray, rows: IntArray) -> Values:
        p = self.participation[rows]
        # `unamplified` takes finite values; an infinite epsilon is put back below
        finite = np.minimum(epsilon, np.finfo(float).max / 4)
        inner = np.where(epsilon < np.inf, subsampling.unamplified(finite, p), np.inf)
        value, slope, up, down = self._expected(*self._own_noise(inner, rows, removing=True))
        with np.errstate(invalid="ignore", over="ignore"):
            # chain rule: d epsilon' / d epsilon = exp(epsilon - epsilon') / p, as exp(epsilon') = 1 + (exp(epsilon) -
            # 1) / p
            return np.log(p) + value, slope * np.exp(epsilon - np.log(p) - inner), up, down

    def _adding(self, epsilon: FloatArray, rows: IntArray) -> Values:
        p = self.participation[rows]
        # second identity: delta = u D(absent, present) at lambda p / u with u = 1 - lambda (1 - p)
        log_u, inner = subsampling.reversed_order(epsilon, p)
        # where u <= 0 the divergence vanishes: its logarithm is -inf and nothing depends on epsilon
        out, slope, up, down = (np.full(epsilon.shape, x) for x in (-np.inf, 0.0, 0.0, 0.0))
        finite_rows = np.flatnonzero(inner < np.inf)
        if finite_rows.size:
            value, inner_slope, up[finite_rows], down[finite_rows] = self._expected(
                *self._own_noise(inner[finite_rows], rows[finite_rows], removing=False)
            )
            out[finite_rows] = log_u[finite_rows] + value
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                # -d log u / d epsilon = lambda (1 - p) / u, and the inner epsilon is epsilon + log p - log u
                weight = np.exp(epsilon[finite_rows] + np.log1p(-p[finite_rows]) - log_u[finite_rows])
                slope[finite_rows] = inner_slope * (1 + weight) - weight
        return out, slope, up, down

    def _own_noise(
        self, inner: FloatArray, rows: IntArray, *, removing: bool
    ) -> tuple[Component, IntArray, Curvature, Steepness | None]:
        """The divergence for a device whose noise leaves with it, its rows, and how it depends on the others' noise."""
        towards = 1 if removing else -1  # the formulas take minus epsilon for the reversed divergence

        def component(v: FloatArray, i: IntArray) -> Triple:
            # one Gaussian pair with variances v + own noise and v for each atom v of the others' noise
            row, r = rows[i, None], self.dimension[rows[i], None].astype(float)
            arguments = np.broadcast_arrays(inner[i, None], self.sensitivity[row], v, self.own_noise[row], r)
            curve = gaussian_pair.log_curve(*(x.ravel() for x in arguments), reverse=not removing, nats=self.nats)
            value, slope, error = (x.reshape(v.shape) for x in curve)
            return value, slope, error

        # over rounds the many evaluations are interpolated in log v, with an estimated error (docs/accuracy.md)
        divergence: Component = component
        if self.estimating:
            vanishing = None if removing else self._vanishing(inner, rows)
            divergence = NoiseInterpolant(
                component, None, self.tolerance, self.slack, 1, fewest=self._fewest, vanishing=vanishing
            )

        def bend(
            low: FloatArray, high: FloatArray, i: IntArray, values: FloatArray, log_unit: FloatArray
        ) -> tuple[FloatArray, FloatArray]:
            loss_level, own_variance = inner[i, None] * towards, self.own_noise[rows[i], None]
            low, high = np.maximum(low - self.slack, self.receiver[rows[i], None]), high + self.slack
            # only a single system can have a law on a grid, so all rows have one dimension
            d, r = self.sensitivity[rows[i], None], float(self.dimension[0])
            # -dD/dv <= exp(steepest), and its logarithmic derivative lies in [falling, rising]. So -D'' = -D' times
            # that rate is at most exp(steepest) max(rising, 0), and D'' at most exp(steepest) max(-falling, 0).
            steepest, falling, rising = noise_interpolant.slope_of_pair(loss_level, d, low, high, own_variance, r)
            with np.errstate(over="ignore", invalid="ignore"):
                steepest_slope = np.exp(steepest - log_unit)
                concave, convex = (
                    np.where(values > -np.inf, np.nan_to_num(steepest_slope * np.maximum(x, 0.0), nan=np.inf), 0.0)
                    for x in (rising, -falling)
                )
                # the bound from the optimal set needs no surface integral and stays finite where the first one does not
                concavity_upper = noise_interpolant.concavity_of_pair(d, low, own_variance, r, reverse=not removing)
                return np.minimum(concave, concavity_upper * np.exp(-log_unit)), convex

        if self.estimating or self.rules is None:
            return divergence, rows, bend, None

        def log_slope(i: IntArray, boxes: Boxes) -> FloatArray:
            columns = (inner[i] * towards, self.sensitivity[rows[i]], self.own_noise[rows[i]])
            signed_epsilon, d, own_noise = (column[:, None, None] for column in columns)
            return complex_noise.log_slope_of_pair(signed_epsilon, d, own_noise, float(self.dimension[0]), boxes)

        return divergence, rows, bend, Steepness(log_slope, complex_noise.opening(float(self.dimension[0])))

    def _vanishing(self, inner: FloatArray, rows: IntArray) -> Vanishing:
        r"""Where the divergence of the absent device's law from that of the present one vanishes.

        With :math:`w = v + s` the loss is greatest, :math:`\tfrac r2\log(w/v) + d^2/2s`, at one point. Where this exceeds epsilon
        by little, the optimal set is a ball about it whose squared radius is in proportion to the excess.
        """
        r, own_noise = float(self.dimension[0]), self.own_noise[rows]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            growth = np.expm1(2 / r * (inner - self.sensitivity[rows] ** 2 / (2 * own_noise)))
            at = np.where(growth > 0, own_noise / growth, np.inf)
            return Vanishing(at, -2 / r * (1 + 1 / growth), r / 2 + 1)

    def _expected(
        self, component: Component, rows: IntArray, bend: Curvature, smooth: Smooth | None = None
    ) -> Values:
        """log of (missing mass + sum over columns of weight times the component's divergence), its slope and errors.

        For a law on a grid, the errors include the curvature of the divergence in v times the variance that the grid
        has added. For Gauss rules they include what these may miss, which is estimated without `smooth`.
        """
        weights, missing = self.weights[rows], self.missing[rows]
        # atoms of weight 0 in every row would cost a divergence each
        used = np.flatnonzero(np.any(weights > 0, axis=0) | (self.rules is not None))
        variance, weights = self.variance[np.ix_(rows, used)], weights[:, used]
        index = np.arange(rows.size)
        values, slopes, errors = component(variance, index)
        with np.errstate(under="ignore", divide="ignore", invalid="ignore", over="ignore"):
            # log-sum-exp: terms are in units of the greatest one, so a delta of 1e-300 keeps its relative accuracy
            exponents = np.where(weights > 0, np.log(weights) + values, -np.inf)
            peak = np.maximum(np.max(exponents, axis=1), np.log(missing))
            safe = np.where(peak > -np.inf, peak, 0.0)
            terms = np.exp(exponents - safe[:, None])
            remainder = np.zeros(rows.size)
            if self.rules is not None:
                missed = self._missed(component, values, errors, weights, rows, smooth) - safe[:, None]
                remainder = np.sum(np.exp(missed), axis=1)
                if self.interpolated:  # in a composition the caller takes another law
                    total = np.sum(terms, axis=1)
                    allowed = self._allowed_error(np.log(total) + safe, smooth)
                    terms[~(remainder <= allowed * total) & (peak > -np.inf)] = np.nan
            missing_mass = np.exp(np.log(missing) - safe)
            scaled_mean = np.sum(terms, axis=1) + missing_mass
            slope = np.sum(np.where(terms > 0, terms * slopes, 0.0), axis=1) / scaled_mean
            # an infinite error marks a value that is an upper bound only
            bounded = np.isfinite(errors)
            rounding = self.rounding[rows] + self.error + (8 + used.size) * UNIT
            # upper bound: each divergence is raised by its error before the sum, in units of its own peak, since an
            # error of many nats may move the peak
            upper_exponents = exponents + np.where(bounded & (exponents > -np.inf), errors, 0.0)
            upper_peak = np.maximum(np.max(upper_exponents, axis=1), np.log(missing))
            upper_peak = np.where(upper_peak > -np.inf, upper_peak, 0.0)
            above = np.sum(np.exp(upper_exponents - upper_peak[:, None]), axis=1) + np.exp(np.log(missing) - upper_peak)
            # lower bound: exp(-e) >= 1 - min(e, 1) for each term, and rounding on the whole sum
            below = np.sum(terms * np.where(bounded, np.minimum(errors, 1.0), 1.0), axis=1) + rounding * scaled_mean
            # missing mass: once because the mean includes it, once for the mass that was moved down in v
            below = below + 2 * missing_mass + remainder
            above += remainder * np.exp(safe - upper_peak)
            # grid: E f(V) <= E f(V') + spread / 2 E b(V') where f'' >= -b, and likewise below (weighted_sum)
            if self.spread:
                proved = self.rules if smooth is not None else None
                if proved is not None:  # bounds on cells of the law
                    low, high, mass = (cells[rows] for cells in proved.cells)
                    low, high = low * (1 - _WIDER), high * (1 + _WIDER) + self.lost
                    concave, convex = bend(low, high, index, np.zeros(low.shape), safe[:, None])
                else:
                    concave, convex = bend(variance, variance, index, values, safe[:, None])
                    mass = weights
                concave, cost = (self.spread / 2 * np.where(mass > 0, each, 0.0) for each in (concave, convex))
                curvature_error = np.sum(mass * concave, axis=1) * np.exp(safe - upper_peak)
                # the noise lowered by the slack gives another upper bound, without curvature
                # the curvature bound is useless where v is small compared with the slack
                if np.any(curvature_error > COARSE * above):
                    lowered, _, error = component(np.maximum(variance - self.slack, self.receiver[rows, None]), index)
                    lowered = np.exp(lowered + np.where(np.isfinite(error), error, 0.0) - upper_peak[:, None])
                    if proved is None:
                        lowered_mean = np.sum(np.where(weights > 0, weights * lowered, 0.0), axis=1)
                    else:
                        lowered_mean = weights[:, 0] * lowered[:, 0] + np.sum(proved.moved_down(lowered, rows), axis=1)
                    lowered_mean = lowered_mean * (1 + _WIDER) + np.exp(np.log(missing) - upper_peak)
                    curvature_error = np.fmin(curvature_error, np.maximum(lowered_mean - above, 0.0))
                above += curvature_error
                # where the curvature costs more than the value itself, the function is clipped instead
                if proved is None:
                    clipping_error = noise_interpolant.excess(
                        variance, weights, np.exp(values - safe[:, None]), cost, self.slack
                    )
                    if self.rules is not None:  # no rule is made for what is clipped
                        clipping_error = np.where(clipping_error <= COARSE * scaled_mean, clipping_error, np.inf)
                    below += clipping_error
                    # E f(V' + slack) <= E f(V) for the decreasing divergence f, of which the mass that was moved down may
                    # take less; no curvature counts
                    if np.any(below > COARSE * scaled_mean):
                        raised, their_slopes, their_errors = component(variance + self.slack, index)
                        each = np.where(weights > 0, weights * np.exp(raised - safe[:, None]), 0.0)
                        raised_mean = np.sum(each, axis=1) + missing_mass
                        lost = np.sum(each * np.where(np.isfinite(their_errors), np.minimum(their_errors, 1.0), 1.0), axis=1)
                        lost += rounding * raised_mean + 2 * missing_mass
                        if self.rules is not None:
                            missed = self._missed(component, raised, their_errors, weights, rows, smooth)
                            lost += np.sum(np.exp(missed - safe[:, None]), axis=1)
                        closer = scaled_mean - raised_mean + lost < below
                        below = np.where(closer, scaled_mean - raised_mean + lost, below)
                        raised_slope = np.sum(np.where(each > 0, each * their_slopes, 0.0), axis=1) / raised_mean
                        slope = np.where(closer, np.minimum(slope, raised_slope), slope)
                else:
                    greatest = np.exp(values[:, 0] + np.where(bounded[:, 0], errors[:, 0], 0.0) - safe)
                    below += proved.clipped(mass * cost, greatest, rows)
            positive = peak > -np.inf
            # a divergence is at most 1
            value = np.where(positive, np.minimum(safe + np.log(scaled_mean), 0.0), -np.inf)
            # both errors are of log delta: log(above / mean) and -log(1 - below / mean); the latter is infinite where
            # nothing is left
            up = upper_peak - safe + np.log(above / scaled_mean) + rounding
            down = -np.log1p(-np.minimum(below / scaled_mean, 1.0))
            return value, slope, np.where(positive, up, 0.0), np.where(positive, down, 0.0)

    def _missed(
        self,
        component: Component,
        values: FloatArray,
        errors: FloatArray,
        weights: FloatArray,
        rows: IntArray,
        smooth: Smooth | None,
    ) -> FloatArray:
        """Log of what each Gauss rule may miss of the mean, shape (problems, pieces)."""
        assert self.rules is not None
        first = self.rules.first
        # D falls in v: the mean is at most that of D at the node before each value, and so is the error, or the rule's mean
        most = values + np.where(np.isfinite(errors), errors, 0.0)
        unit = np.max(most, axis=1, initial=-np.inf, where=np.isfinite(most), keepdims=True)
        before = self.rules.moved_down(np.exp(most - unit), rows)
        at_nodes = np.add.reduceat(weights * np.exp(most - unit), first, axis=1)
        greatest = np.log(np.maximum(before, at_nodes) * (1 + _WIDER)) + unit
        greatest = np.where(self.rules.mass[rows] > 0, greatest, -np.inf)
        if smooth is not None:
            mean = np.log(np.sum(at_nodes, axis=1) + weights[:, 0] * np.exp(most[:, 0] - unit[:, 0])) + unit[:, 0]
            slight = mean + np.log(self._allowed_error(mean, smooth))
            missed = self.rules.log_remainder(smooth, rows, most[:, first - 1], slight)
        else:
            missed = gauss_rule.log_remainder(values[:, first] - values[:, np.append(first[1:], 0) - 1])
            missed = missed + np.log(np.add.reduceat(weights, first, axis=1)) + values[:, first]
        missed = np.fmin(missed, greatest)  # an estimate is not a number where D is 0 from the first node on
        if smooth is None:  # where the divergence is no smooth series, nothing is known
            fitted = component.fitted(np.arange(rows.size)) if isinstance(component, NoiseInterpolant) else False
            missed = np.where(np.reshape(fitted, (-1, 1)), missed, np.inf)
        else:
            missed = np.hstack([missed, self._missed_before(smooth, slight)])
        return np.where(unit > -np.inf, missed, -np.inf)  # D is 0 at the least v, and so everywhere

    def _missed_before(self, smooth: Smooth, log_slight: FloatArray) -> FloatArray:
        """Log of what the values of the law miss before any rule, a column; no column where they are the noise itself."""
        return np.empty((log_slight.size, 0))

    def _allowed_error(self, log_mean: FloatArray, smooth: Smooth | None) -> FloatArray | float:
        """Relative error that Gauss rules may make in a mean; an estimate of it does not count as more where that is greater."""
        return tolerated(self.tolerance, -log_mean, _OF_RULES) if self.interpolated and smooth is not None else self.tolerance

    def least_epsilon(self, delta: float | FloatArray, *, convex: bool = False) -> FloatArray:
        """Least epsilon of each kind, at one delta or at one delta per kind, rounded up.

        `convex` selects the proven bound of ``replace`` with idle noise.
        """
        delta = np.broadcast_to(delta, self.participation.shape)
        if self.idle_noise:
            return self._constant_noise_epsilon(delta, convex)
        # no epsilon suffices where the neighbours are singular with a probability of at least delta
        out = np.where((self._singular() >= delta) & (self.participation > delta), np.inf, 0.0)
        # rounded down, by a unit of the logarithm and for the exponential that made it: a smaller delta needs a greater
        # epsilon
        target = np.log(delta) * (1 + UNIT) - 16 * UNIT
        # on a grid the root need not be more accurate than the grid
        useful = _SKETCHES[: self.sketches_on_grid] if self.slack else _SKETCHES
        sketches = [(self.sketch(n, nats), near) for (n, nats), near in useful if self.variance.shape[1] > 2 * n]
        if self.rules is not None:  # few values already
            sketches = [(self.rough(), _SKETCHES[0][1])]
        for number, curve in enumerate(self._directions()):
            rows = np.flatnonzero((out < np.inf) & (self.participation > delta))  # delta is at most p
            # the second direction of `absent` only has to be checked at the root of the first, unless it is the larger
            # one there
            known_epsilon = out[rows]
            if np.any(known_epsilon):  # not the first direction: the root of the first one mostly suffices for this one
                cheaper_laws = [self.pessimistic(_SKETCHES[0][0][0])] if sketches and self.rules is None else []
                for law in [*cheaper_laws, self]:
                    unsafe = ~(law._upper(law._directions()[number], known_epsilon, rows)[0] <= target[rows])
                    rows, known_epsilon = rows[unsafe], known_epsilon[unsafe]
            # Newton's method costs one mean a step. Its start comes from laws of few atoms, each search finer than the
            # one before.
            if rows.size:
                goal = target[rows]
                guess = self._guess(rows, goal)
                for sketch, near in sketches:
                    rough = sketch._directions()[number]
                    guess = sketch._root(rough, rows, goal, np.zeros(rows.size), guess, near=near, proved=False)
                near = _ON_GRID if self.slack else 1e-11
                # the start lies beyond the root of the sketch by its tolerance, so that the first point is probably
                # safe
                out[rows] = self._root(curve, rows, goal, known_epsilon, guess * (1 + 0.8 * near), near=near)
        if self.slack and self.rules is None:  # where the grid is too coarse, one quantile of the noise may serve better
            single = self.at_quantile(delta)
            if np.any(single.log_upper(out, np.arange(out.size)) <= target):
                out = np.minimum(out, single.least_epsilon(delta))
        return out

    def _constant_noise_epsilon(self, delta: FloatArray, convex: bool) -> FloatArray:
        """With idle noise: the amplified Gaussian curve (the larger direction), or the root for opposite Gaussians."""
        p = self.participation
        with np.errstate(divide="ignore", over="ignore"):
            share = np.minimum(delta / p, 1.0)
        # the observer sees whether k sends: delta = p delta_G
        single = gaussian.epsilon(share, sensitivity=self.sensitivity, sigma=self._constant_sigma)
        if convex and self.adjacency is Adjacency.REPLACE:
            return np.asarray(single)
        rows = np.flatnonzero((single > 0) & (single < np.inf))
        out = np.array(single)

        def excess(epsilon: FloatArray, rows: IntArray) -> FloatArray:
            upper, _ = self._upper(self._constant_noise, epsilon, rows)
            return np.asarray(upper - np.log(delta[rows]) * (1 + UNIT) + 16 * UNIT)

        if self.adjacency is Adjacency.REPLACE:
            # `single` is the epsilon of an observer who sees whether k takes part: an upper bound
            out[rows] = _bisected(excess, rows, out[rows])
        else:
            # root of delta = p D at 1 + (lambda - 1) / p, in closed form
            out[rows] = subsampling.amplified(out[rows], p[rows])
        # The closed form is rounded. The epsilon is raised, by steps that double, until the upper bound of delta there
        # confirms it.
        step = np.maximum(1e-15 * out[rows], SMALLEST)  # an epsilon that has underflowed has to rise as well
        while np.any(unsafe := ~(excess(out[rows], rows) <= 0)):
            out[rows] += np.where(unsafe, step, 0.0)
            step = 2 * step
        return out

    def _root(
        self,
        curve: Curve,
        rows: IntArray,
        target: FloatArray,
        low: FloatArray,
        guess: FloatArray,
        *,
        near: float,
        proved: bool = True,
    ) -> FloatArray:
        """The epsilon right of `low` at which a curve falls to the target; `low` itself where it is 0 and already safe.

        Newton's method within a bracket. Each step goes slightly beyond Newton's point, so that the last point is on
        the safe side. Where Newton's steps stay short (the curve is flat, and its upper bound flatter), every third
        step widens or halves the bracket.
        """
        low, high = low.copy(), np.full(rows.size, np.inf)
        # epsilon = 0 may be the answer, and Newton's steps never reach it; it is tried once
        untried = low == 0
        x = np.maximum(guess, low * (1 + 1e-9))
        active = np.arange(rows.size)
        for step in range(_STEPS):
            # one step for all rows that are still active
            current = x[active]
            value, slope = self._upper(curve, current, rows[active])
            excess = value - target[active]
            safe = excess <= 0
            high[active[safe]], low[active[~safe]] = current[safe], current[~safe]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                # log delta falls, so a negative excess moves left
                newton = current - excess / slope
            left, right = low[active], high[active]
            # done where a safe point is near its own Newton point, or the bracket has the width of rounding
            settled = (safe & (np.abs(newton - current) <= near * current)) | (
                (right < np.inf) & (right - left <= 1e-12 * right)
            )
            # unsafe beyond _FAR: `high` is still infinite there and is returned
            settled |= ~safe & (current > _FAR)
            with np.errstate(invalid="ignore", over="ignore"):
                farthest = _GROWTH * np.maximum(current, left)  # on a plateau the slope is useless
                newton = np.where(right < np.inf, newton, np.minimum(newton, farthest)) * (1 + near / 8)
                # bisect the logarithm where the bracket spans more than a factor 4; its left end may be 0
                middle = np.where(
                    4 * left > right, (left + right) / 2, np.sqrt(np.maximum(left, 1e-6 * right)) * np.sqrt(right)
                )
            # Newton's point if it lies in the bracket; after _PATIENCE steps every third one bisects instead
            inside = (newton > left) & (newton < right) & (step <= _PATIENCE or step % 3 > 0)
            x[active] = np.where(inside, newton, np.where(right < np.inf, middle, farthest))
            # a safe point whose Newton point is not positive, or slow progress: try 0
            to_zero = untried[active] & safe & ((newton <= 0) | (step >= _PATIENCE))
            x[active[to_zero]], untried[active[to_zero]] = 0.0, False
            active = active[~settled]
            if not active.size:
                return high
        if not proved:
            return x
        raise ConvergenceError(
            f"the search for epsilon of device {self.devices[rows[active[0]]]} did not converge at "
            f"log delta = {target[active[0]]}"
        )

    def _guess(self, rows: IntArray, target: FloatArray) -> FloatArray:
        """An initial guess of epsilon: mean and standard deviations of a privacy loss, as if it were normal.

        The others' noise is a low quantile.
        """
        # the 5 % quantile of the others' noise: small noise decides the tail
        low = np.argmax(np.cumsum(self.weights[rows], axis=1) >= 0.05, axis=1)
        v, own_variance, d = self.variance[rows, low], self.own_noise[rows], self.sensitivity[rows]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.adjacency is Adjacency.ABSENT:
                eta, square = own_variance / v, d * d / v
            else:
                eta, square = np.zeros(rows.size), d * d / (v + own_variance)
            r = self.dimension[rows]
            # mean and variance under the first neighbour of the loss of N(d, v + s) against N(0, v), or of two equal
            # variances
            mean = square / 2 + r / 2 * (eta - np.log1p(eta))
            spread = np.sqrt(square * (1 + eta) + r / 2 * eta * eta)
            # Gaussian tail exp(-x^2 / 2): delta = p exp(-x^2 / 2) with at least one nat
            guess = mean + spread * np.sqrt(2 * np.maximum(np.log(self.participation[rows]) - target, 0.5))
        guess = np.where((guess > 1e-300) & (guess < 1e150), guess, 1.0)
        if self.adjacency is Adjacency.ABSENT:
            guess = np.asarray(subsampling.amplified(guess, self.participation[rows]))
        return np.maximum(guess, 1e-300)

    def _upper(self, curve: Curve, epsilon: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Upper bound of a curve (its error added, epsilon rounded down), and its slope."""
        # delta falls in epsilon, so a slightly smaller epsilon gives an upper bound
        value, slope, up, _ = curve(epsilon * (1 - _EPSILON_ROUNDING), rows)
        with np.errstate(invalid="ignore"):
            return np.where(value > -np.inf, np.minimum(value + up - 4 * UNIT * value, 0.0), -np.inf), slope

    @property
    def _fewest(self) -> int:
        """Values of the noise from which an estimate of the interpolation's error may be used; a rule stands for more of them."""
        return noise_interpolant.ESTIMATED_FROM if self.rules is None else 0

    def infinite_loss(self) -> FloatArray:
        """Upper bound of delta at an infinite epsilon; with noise at the receiver no set of outcomes rules a neighbour out."""
        # as the probabilities and their sum are rounded in `_expected`
        rounding = self.rounding + self.error + (8 + self.weights.shape[1]) * UNIT
        return np.where(self.receiver > 0, 0.0, self._singular() * (1 + rounding))

    def _singular(self) -> FloatArray:
        """The limit of delta(epsilon) for large epsilon: the mass on which the neighbours are mutually singular."""
        if self.adjacency is Adjacency.ABSENT:
            # where no noise of others is left, laws of unlike supports (a point against another, or against a density)
            # are disjoint
            apart = (self.own_noise > 0) | (self.sensitivity > 0)
        else:
            apart = (self.own_noise == 0) & (self.sensitivity > 0)
        silent = np.sum(np.where(self.variance == 0, self.weights, 0.0), axis=1)
        singular = self.missing + np.where(apart, silent, 0.0)
        return self.participation * singular


def tolerated(bulk: float, nats: FloatArray, coarse: float = COARSE) -> FloatArray:
    """Error of log delta that a composition can stand, where delta is exp(-nats).

    It costs less epsilon where log delta changes faster, and log delta changes in proportion to itself. In the bulk it counts
    once for each round.
    """
    return np.asarray(bulk + coarse * nats * np.minimum(nats / _BULK_NATS, 1.0) ** 2)


def _log_upper(p: FloatArray) -> FloatArray:
    """log p rounded up: its rounding error is relative, so it is large where p is tiny."""
    return np.asarray(np.log(p) * (1 - 2 * UNIT) + UNIT)


def _ratio(d: FloatArray, sigma: FloatArray | float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(d == 0, 0.0, np.maximum(d / sigma, SMALLEST))  # where it underflows it is still no 0


def _bisected(excess: Callable[[FloatArray, IntArray], FloatArray], rows: IntArray, high: FloatArray) -> FloatArray:
    """Zero of a decreasing function below the upper bound `high`, to a relative 1e-15.

    The function is not positive at the result.
    """
    low = np.zeros(rows.size)
    # the zero may be many octaves below the bound; each halving is an octave until both ends are positive
    # below the normal doubles 4 UNIT of a number is 0, and neighbours differ by SMALLEST
    while np.any(high - low > np.maximum(4 * UNIT * high, SMALLEST)):
        middle = (low + high) / 2
        # `high` is safe throughout, so the value that is returned is
        safe = excess(middle, rows) <= 0
        low, high = np.where(safe, low, middle), np.where(safe, middle, high)
    return high


def log_ends(
    part: NoiseMixture, epsilon: FloatArray, rows: IntArray, *, reverse: bool, doubt: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Lower and upper bounds of log delta near epsilon[i], within the relative distance `doubt`, or doubt[i].

    The direction is device k against no device k, or the reverse.

    Notes
    -----
    With A the optimal set and :math:`\kappa = \lambda Q(A)/\delta`, which is minus the slope of log delta, convexity
    shows that delta at a greater :math:`\lambda'` is at least :math:`\delta[1 - \kappa(\lambda'/\lambda - 1)]`.

    Rounding to the safe side changes only variances (a sensitivity becomes a variance by scaling), each by a relative
    :math:`\tau` at most. The derivative of :math:`P(A) - \lambda Q(A)` at the optimal set is that of delta. A Gaussian
    density q of variance w satisfies :math:`w\,\partial_wq = q\,(\chi - r)/2`, and any set of probability m satisfies
    :math:`\int_Aq\chi \le m(r + 2\sqrt{r\ell} + 2\ell)` with :math:`\ell = 1 - \log m` (Gibbs's inequality, and the
    cumulant of :math:`\chi`); this bound rises in m. P(A) and :math:`\lambda Q(A)` are :math:`(1 + \kappa)\delta` and
    :math:`\kappa\delta`. So the relative loss is at most :math:`\tau(1 + 2\kappa)(r + \sqrt{r\ell} + \ell)` with
    :math:`\ell = 1 + \epsilon - \log\delta`, up to terms below :math:`\tau(r + \sqrt{r\ell} + \ell)`. The code uses
    twice the sum of these, which also covers the change of :math:`\kappa` and :math:`\ell` along the way. Where the
    lower bound is that of noise raised by the slack, a share :math:`e^{-x}` of delta, :math:`\ell` is greater by x, and
    :math:`(\ell + x)e^{-x} \le \ell`; the steeper of the two slopes is taken.

    Where this loss exceeds all other errors and the tolerance of the interpolation, the lower bound is computed again,
    with all roundings in the opposite direction.
    """
    lower, upper = np.full(epsilon.shape, -np.inf), np.full(epsilon.shape, -np.inf)
    taking_part = np.flatnonzero(part.participation[rows] > 0)
    if not taking_part.size:
        return lower, upper
    # one evaluation, at the left end of the interval of epsilon, serves the upper bound as it is and the lower bound
    # after the losses of the notes
    doubt = np.broadcast_to(doubt, epsilon.shape)[taking_part]
    safe_epsilon, part_rows = epsilon[taking_part] * (1 - doubt), rows[taking_part]
    low, high, down, rounding_loss = _both(part, safe_epsilon, part_rows, reverse, doubt)
    tolerated = np.maximum(down, part.tolerance)
    # rounding costs more than all else: evaluate once more, rounded the other way, at the right end of the interval
    if np.any(rounded := ~(rounding_loss <= np.minimum(tolerated, COARSE))):
        far_epsilon = epsilon[taking_part[rounded]] * (1 + doubt[rounded])
        value, _, _, down = part.unrounded().order(reverse)(far_epsilon, part_rows[rounded])
        with np.errstate(invalid="ignore"):
            other_low = np.where(value > -np.inf, value - down + 4 * UNIT * value, value)
        low[rounded] = np.maximum(low[rounded], other_low)
    greatest = np.minimum(_log_upper(part.participation[part_rows]), 0.0)
    lower[taking_part], upper[taking_part] = np.minimum(low, greatest), np.minimum(high, greatest)
    return lower, upper


def _both(
    part: NoiseMixture, epsilon: FloatArray, rows: IntArray, reverse: bool, doubt: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Lower and upper bound; distance of the value from the lower bound without rounding; relative loss by rounding."""
    value, slope, up, down = part.order(reverse)(epsilon, rows)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
        log_rounding, positive = -4 * UNIT * value, ~(value == -np.inf)
        least_variance = np.maximum(np.min(part.variance, axis=1), 1e-300)[rows]
        # tau of the notes of `log_ends`: sums of noises three times, what rounding took, and single operations
        relative_change = 3 * part.rounding[rows] + part.lost / least_variance + 64 * UNIT
        # l = 1 + epsilon - log delta
        r, level = part.dimension[rows], 1 + epsilon - value
        moment = r + np.sqrt(r * level) + level
        # tau (1 + 2 kappa) M and the remainder tau M, M = r + sqrt(r l) + l, sum to 2 tau (1 + kappa) M with kappa =
        # -slope; twice this is taken. From epsilon (1 - doubt) to epsilon (1 + doubt) convexity costs kappa expm1(2
        # doubt epsilon); 2.02 covers second order.
        rounding_loss = 4 * relative_change * (1 - slope) * moment - slope * np.expm1(2.02 * doubt * epsilon)
        rounding_loss = np.where(positive, rounding_loss, 0.0)
        low = value + np.log(np.maximum(np.exp(-down) - rounding_loss, 0.0)) - log_rounding
        # the bound is of first order: beyond COARSE it is not used
        low = np.where(positive, np.where(rounding_loss <= COARSE, low, -np.inf), value)
        return low, np.where(positive, value + up + log_rounding, value), down, rounding_loss


def _grouped(variance: FloatArray, weights: FloatArray, columns: int) -> tuple[IntArray, FloatArray]:
    """First columns of groups of neighbouring columns, equal in size or in log v, and the weights of the groups.

    Examples
    --------
    >>> first, weights = _grouped(np.array([[1.0, 2.0, 4.0, 8.0]]), np.full((1, 4), 0.25), 4)
    >>> first, weights
    (array([0, 3]), array([[0.75, 0.25]]))
    """
    size = variance.shape[1]
    # one grouping for all rows, by their mean log v; a variance of 0 counts as a tiny one
    log_variance = np.mean(np.log(np.maximum(variance, variance[:, -1:] * 1e-30 + SMALLEST)), axis=0)
    edges = np.searchsorted(log_variance, np.linspace(log_variance[0], log_variance[-1], columns // 2))
    equal_sizes = np.linspace(0, size - 1, columns // 2).astype(int)
    # half of the groups are equal in log v, where the divergence varies, and half in number, where the mass is
    first = np.unique(np.concatenate([[0], edges[edges < size], equal_sizes]))
    return first, _group_totals(weights, first)


def _paired(variance: FloatArray, weights: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """Values and weights of two atoms per group, with the mean and the variance of the group.

    Examples
    --------
    >>> values, weights = _paired(np.array([[1.0, 2.0, 4.0, 8.0]]), np.full((1, 4), 0.25), 4)
    >>> float(np.sum(values * weights)), float(np.sum(weights))
    (3.75, 1.0)
    """
    first, group_weights = _grouped(variance, weights, columns // 2)
    mass = np.maximum(group_weights, 1e-300)
    # two atoms at mean -+ deviation keep mass, mean and variance of a group
    mean = np.maximum(_group_totals(weights * variance, first) / mass, variance[:, first])
    deviations = variance - np.repeat(mean, np.diff(first, append=variance.shape[1]), axis=1)
    deviation = np.sqrt(_group_totals(weights * deviations**2, first) / mass)
    # no atom may fall below the least noise of its group
    deviation = np.minimum(deviation, mean - variance[:, first])
    pairs = np.stack([mean - deviation, mean + deviation], axis=2).reshape(mean.shape[0], -1)
    return pairs, np.repeat(group_weights / 2, 2, axis=1)


def _group_totals(terms: FloatArray, first: IntArray) -> FloatArray:
    with np.errstate(under="ignore"):
        return np.asarray(np.add.reduceat(terms, first, axis=1))
