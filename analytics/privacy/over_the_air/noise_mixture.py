"""A mixture over the other participants: the law of their noise, and divergences averaged over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from airtight.analytics.checks import ConvergenceError, FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair, subsampling
from airtight.analytics.privacy.over_the_air import divergence_curvature
from airtight.analytics.privacy.over_the_air.noise_interpolant import Component, NoiseInterpolant, Triple
from airtight.analytics.rounding import UNIT

_SKETCHES = ((48, 12.0), (512, 24.0))  # atoms and nats: with twice as many atoms the root is first sought on so few
_ROUGHLY = (1e-4, 1e-8)  # relative accuracy of the root on these
_ON_GRID = 1e-6  # relative accuracy of the root there; less than the grid costs
_STEPS = 300  # Newton or bisection steps; a dozen suffice unless the guess is absurd
_PATIENCE = 8  # steps that Newton's method has to itself; a signal far below the noise falls by a thousandth a step
_GROWTH = 16  # of epsilon in one step, as long as no upper end is known
COARSE = 1e-3  # share of delta that curvature may cost before the noise is lowered instead
_FAR = 1e100  # an epsilon beyond this is reported as infinite
_EPSILON_ROUNDING = 8 * UNIT  # relative; where the loss is large its curve is steeper than doubles can resolve

# log delta, its slope in epsilon, and how far above and below the truth may be
Values = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Curve = Callable[[FloatArray, IntArray], Values]
# bounds of the second derivative in v, negative and positive part, from the values on the columns and their errors
Curvature = Callable[[FloatArray, IntArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Participation:
    """Distinct devices ("kinds", the rows), each with the atoms of its others' noise (the columns)."""

    adjacency: Adjacency
    idle_noise: bool
    devices: IntArray  # sorted
    kind: IntArray  # the row of each of `devices`
    among: IntArray  # how many devices there are; one entry a row, so in all up to `sensitivity`
    dimension: IntArray
    receiver: FloatArray  # noise variance of the receiver alone
    everybody: FloatArray  # and with that of all devices
    participation: FloatArray
    own_noise: FloatArray
    sensitivity: FloatArray
    variance: FloatArray  # received noise variance without the device, of each row's atoms; never falling along a row
    weights: FloatArray  # probability of each atom
    missing: FloatArray  # probability of atoms left out: the divergence counts as 1 there
    slack: float  # of the law on a grid, as the next: see airtight.analytics.distributions.weighted_sum
    spread: float
    error: float  # relative, of the weights
    lost: float  # of the variance, by rounding down
    nats: float = 30.0  # the rule for divergences of unlike variances errs by e^-nats
    estimating: bool = False  # divergences of unlike variances are interpolated in v, with an estimated error

    def unrounded(self) -> Participation:
        """The same with what was rounded down (noise) or up (sensitivity) rounded the other way: for lower bounds."""
        return replace(
            self,
            variance=self.variance * (1 + 3 * self.rounding[:, None]) + self.lost,
            sensitivity=self.sensitivity * (1 - 16 * UNIT),
            own_noise=self.own_noise * (1 if self.adjacency is Adjacency.ABSENT else 1 + 16 * UNIT),
        )

    @property
    def tolerance(self) -> float:
        """Relative, of what is interpolated."""
        return 30 * float(np.exp(-self.nats))

    @property
    def rounding(self) -> FloatArray:
        """Relative error of a sum of the noises, and of as many weights."""
        return (self.among + 8) * UNIT

    @property
    def _constant_sigma(self) -> FloatArray:
        """Standard deviation at the receiver when every device sends noise all the time."""
        return np.sqrt(self.everybody)

    def raised(self) -> Participation:
        """The same with the noise raised by the slack and without missing mass: a lower bound where it is :meth:`unrounded`."""
        return self._with(self.variance + self.slack, self.weights, np.zeros_like(self.missing))

    def lowered(self) -> Participation:
        """The same with the noise lowered by the slack: an upper bound."""
        return self._with(np.maximum(self.variance - self.slack, self.receiver[:, None]), self.weights, self.missing)

    def _with(self, variance: FloatArray, weights: FloatArray, missing: FloatArray) -> Participation:
        return replace(self, variance=variance, weights=weights, missing=missing, slack=0.0, spread=0.0)

    def at_quantile(self, total: float | FloatArray) -> Participation:
        """Every row's noise at one lower quantile that spends half of `total`."""
        below = np.cumsum(self.weights, axis=1) - self.weights + self.missing[:, None]
        with np.errstate(divide="ignore"):
            budget = np.where(self.participation > 0, total / (2 * self.participation), np.inf)
        last = np.sum(below <= budget[:, None], axis=1, keepdims=True) - 1
        variance, missing = (np.take_along_axis(x, last, axis=1) for x in (self.lowered().variance, below))
        return self._with(variance, np.ones(last.shape), missing[:, 0])

    def sketch(self, columns: int, nats: float) -> Participation:
        """Nearly the same law on few columns: where to look for the root."""
        variance, weights = _paired(self.variance, self.weights, columns)
        return replace(self, variance=variance, weights=weights, nats=nats)

    def pessimistic(self, columns: int) -> Participation:
        """The same with the noise lowered to few columns: an upper bound."""
        first, weights = _grouped(self.variance, self.weights, columns)
        return self._with(self.lowered().variance[:, first], weights, self.missing)

    def log_upper(self, epsilon: FloatArray, rows: IntArray) -> FloatArray:
        """log delta(epsilon[i]) of kind rows[i] at most, worst of both directions."""
        return self._worst(epsilon * (1 - _EPSILON_ROUNDING), rows, upper=True)

    def log_lower(self, epsilon: FloatArray, rows: IntArray) -> FloatArray:
        """log delta(epsilon[i]) of kind rows[i] at least, worst of both directions."""
        return self.unrounded()._worst(epsilon * (1 + _EPSILON_ROUNDING), rows, upper=False)

    def _worst(self, epsilon: FloatArray, rows: IntArray, *, upper: bool) -> FloatArray:
        out = np.full(epsilon.shape, -np.inf)
        some = self.participation[rows] > 0
        if np.any(some):
            for curve in self._directions():
                value, _, up, down = curve(epsilon[some], rows[some])
                with np.errstate(invalid="ignore"):
                    logarithm = -4 * UNIT * value
                    end = np.where(value > -np.inf, value + (up + logarithm if upper else -down - logarithm), value)
                out[some] = np.maximum(out[some], end)
            out[some] = np.minimum(out[some], np.log(self.participation[rows[some]]) + UNIT)
        return np.asarray(np.minimum(out, 0.0))

    def _directions(self) -> list[Curve]:
        """The curves of log delta, one a direction, that can be the larger; each also gives its slope."""
        if self.idle_noise:
            return [self._constant_noise]
        if self.adjacency is Adjacency.ABSENT:
            return [self._removing, self._adding]
        return [self._visible]

    def order(self, reverse: bool) -> Curve:
        """With device k against without, or the reverse."""
        return self._directions()[-1 if reverse else 0]

    def _constant_noise(self, epsilon: FloatArray, rows: IntArray) -> Values:
        p, mu = self.participation[rows], _ratio(self.sensitivity[rows], self._constant_sigma[rows])
        out, error = np.full(epsilon.shape, -np.inf), np.zeros(epsilon.shape)
        finite = epsilon < np.inf
        eps, p, mu = epsilon[finite], p[finite], mu[finite]
        rounding = (16 + self.among[rows][finite]) * UNIT
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.adjacency is Adjacency.REPLACE:
                out[finite] = subsampling.opposite_gaussians_log_delta(eps, p=p, mu=mu)
                least = np.abs(eps / mu - mu / 2)
            else:
                inner = subsampling.unamplified(eps, p)
                curve, _, error[finite] = gaussian.log_curve(inner, mu)
                out[finite] = np.log(p) + curve
                least, eps = np.abs(inner / mu - mu / 2), inner
            error[finite] += 1e-12 + 2 * rounding * (1 + least) * (1 + eps / mu + mu / 2)
        error = np.where(out > -np.inf, error, 0.0)
        return out, np.full(epsilon.shape, np.nan), error, error

    def _visible(self, epsilon: FloatArray, rows: IntArray) -> Values:
        log_p = np.log(self.participation[rows])

        def component(v: FloatArray, i: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            eps, d, sigma = np.broadcast_arrays(
                epsilon[i, None], self.sensitivity[rows[i], None], np.sqrt(v + self.own_noise[rows[i], None])
            )
            found = gaussian.log_curve(eps.ravel(), _ratio(d, sigma).ravel())
            value, slope, error = (x.reshape(eps.shape) for x in found)
            return value, slope, error

        def bend(v: FloatArray, i: IntArray, values: FloatArray, log_unit: FloatArray) -> tuple[FloatArray, FloatArray]:
            eps, d, own = epsilon[i, None], self.sensitivity[rows[i], None], self.own_noise[rows[i], None]
            low, high = np.maximum(v - self.slack, self.receiver[rows[i], None]) + own, v + self.slack + own
            return divergence_curvature.of_gaussian(eps, d, low, high, log_unit)

        value, slope, up, down = self._expected(component, rows, bend)
        return log_p + value, slope, up, down

    def _removing(self, epsilon: FloatArray, rows: IntArray) -> Values:
        p = self.participation[rows]
        finite = np.minimum(epsilon, np.finfo(float).max / 4)
        inner = np.where(epsilon < np.inf, subsampling.unamplified(finite, p), np.inf)
        component, bend = self._own_noise(inner, rows, removing=True)
        value, slope, up, down = self._expected(component, rows, bend)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.log(p) + value, slope * np.exp(epsilon - np.log(p) - inner), up, down

    def _adding(self, epsilon: FloatArray, rows: IntArray) -> Values:
        p = self.participation[rows]
        log_u, inner = subsampling.reversed_order(epsilon, p)
        out, slope, up, down = (np.full(epsilon.shape, x) for x in (-np.inf, 0.0, 0.0, 0.0))
        some = np.flatnonzero(inner < np.inf)
        if some.size:
            component, bend = self._own_noise(inner[some], rows[some], removing=False)
            value, inner_slope, up[some], down[some] = self._expected(component, rows[some], bend)
            out[some] = log_u[some] + value
            with np.errstate(over="ignore", divide="ignore"):
                weight = np.exp(epsilon[some] + np.log1p(-p[some]) - log_u[some])
            slope[some] = inner_slope * (1 + weight) - weight
        return out, slope, up, down

    def _own_noise(self, inner: FloatArray, rows: IntArray, *, removing: bool) -> tuple[Component, Curvature]:
        """Of a device that takes its noise along: the divergence, and its curvature in the others' noise."""

        def component(v: FloatArray, i: IntArray) -> Triple:
            kind, r = rows[i, None], self.dimension[rows[i], None].astype(float)
            problem = np.broadcast_arrays(inner[i, None], self.sensitivity[kind], v, self.own_noise[kind], r)
            found = gaussian_pair.log_curve(*(x.ravel() for x in problem), reverse=not removing, nats=self.nats)
            value, slope, error = (x.reshape(v.shape) for x in found)
            return value, slope, error

        at = NoiseInterpolant(component, None, self.tolerance, self.slack, 1) if self.estimating else component

        def bend(v: FloatArray, i: IntArray, values: FloatArray, log_unit: FloatArray) -> tuple[FloatArray, FloatArray]:
            level, own = inner[i, None] * (1 if removing else -1), self.own_noise[rows[i], None]
            low, high = np.maximum(v - self.slack, self.receiver[rows[i], None]), v + self.slack
            d, r = self.sensitivity[rows[i], None], float(self.dimension[0])  # a law on a grid is of one system
            steepest, falling, rising = divergence_curvature.slope_of_pair(level, d, low, high, own, r)
            with np.errstate(over="ignore", invalid="ignore"):
                size = np.exp(steepest - log_unit)
                concave, convex = (
                    np.where(values > -np.inf, np.nan_to_num(size * np.maximum(x, 0.0), nan=np.inf), 0.0)
                    for x in (rising, -falling)
                )
                most = divergence_curvature.concavity_of_pair(d, low, own, r, reverse=not removing)
                return np.minimum(concave, most * np.exp(-log_unit)), convex

        return at, bend

    def _expected(self, component: Component, rows: IntArray, bend: Curvature) -> Values:
        """log of (missing mass + sum over columns of weight times the component's divergence), its slope and errors.

        On a grid the curvature of the divergence in v enters with the variance that the grid has added.
        """
        weights, missing = self.weights[rows], self.missing[rows]
        used = np.flatnonzero(np.any(weights > 0, axis=0))
        variance, weights = self.variance[np.ix_(rows, used)], weights[:, used]
        index = np.arange(rows.size)
        values, slopes, errors = component(variance, index)
        with np.errstate(under="ignore", divide="ignore", invalid="ignore", over="ignore"):
            exponents = np.where(weights > 0, np.log(weights) + values, -np.inf)
            peak = np.maximum(np.max(exponents, axis=1), np.log(missing))
            safe = np.where(peak > -np.inf, peak, 0.0)
            terms = np.exp(exponents - safe[:, None])
            left_out = np.exp(np.log(missing) - safe)
            total = np.sum(terms, axis=1) + left_out
            slope = np.sum(np.where(terms > 0, terms * slopes, 0.0), axis=1) / total
            bounded = np.isfinite(errors)
            rounding = self.rounding[rows] + self.error + (8 + used.size) * UNIT
            highest = exponents + np.where(bounded & (exponents > -np.inf), errors, 0.0)
            summit = np.maximum(np.max(highest, axis=1), np.log(missing))
            summit = np.where(summit > -np.inf, summit, 0.0)
            above = np.sum(np.exp(highest - summit[:, None]), axis=1) + np.exp(np.log(missing) - summit)
            below = np.sum(terms * np.where(bounded, np.minimum(errors, 1.0), 1.0), axis=1) + rounding * total
            below = below + 2 * left_out
            if self.spread:
                concave, convex = bend(variance, index, values, safe[:, None])
                concave = np.where(weights > 0, concave, 0.0)
                bent = self.spread / 2 * np.sum(weights * concave, axis=1) * np.exp(safe - summit)
                if np.any(bent > COARSE * above):
                    least = self.receiver[rows, None]
                    lowered, _, error = component(np.maximum(variance - self.slack, least), index)
                    lowered = np.where(weights > 0, lowered + np.where(np.isfinite(error), error, 0.0), -np.inf)
                    whole = np.sum(weights * np.exp(lowered - summit[:, None]), axis=1)
                    bent = np.minimum(bent, whole + np.exp(np.log(missing) - summit) - above)
                above += bent
                below += divergence_curvature.excess(
                    variance, weights, np.exp(values - safe[:, None]), self.spread / 2 * convex, self.slack
                )
            known = peak > -np.inf
            value = np.where(known, np.minimum(safe + np.log(total), 0.0), -np.inf)
            up = summit - safe + np.log(above / total) + rounding
            down = -np.log1p(-np.minimum(below / total, 1.0))
            return value, slope, np.where(known, up, 0.0), np.where(known, down, 0.0)

    def least_epsilon(self, total: float | FloatArray, *, convex: bool = False) -> FloatArray:
        """Least epsilon of each kind, at one delta or one a kind, rounded up.

        `convex`: the proven bound of ``replace`` with idle noise.
        """
        total = np.broadcast_to(total, self.participation.shape)
        if self.idle_noise:
            return self._constant_noise_epsilon(total, convex)
        out = np.where((self._singular() >= total) & (self.participation > total), np.inf, 0.0)
        target = np.log(total) * (1 + UNIT) - 16 * UNIT
        sketches = [self.sketch(n, nats) for n, nats in _SKETCHES if self.variance.shape[1] > 2 * n]
        for number, curve in enumerate(self._directions()):
            rows = np.flatnonzero((out < np.inf) & (self.participation > total))  # delta is at most p
            below = out[rows]
            if np.any(below):  # not the first direction: most are already safe in this one
                tests = [self.pessimistic(_SKETCHES[0][0])] if sketches else []
                for law in [*tests, self]:
                    unsafe = ~(law._upper(law._directions()[number], below, rows)[0] <= target[rows])
                    rows, below = rows[unsafe], below[unsafe]
            if rows.size:
                goal = target[rows]
                guess = self._guess(rows, goal)
                for sketch, near in zip(sketches, _ROUGHLY, strict=False):
                    rough = sketch._directions()[number]
                    guess = sketch._root(rough, rows, goal, np.zeros(rows.size), guess, near=near, proved=False)
                near = _ON_GRID if self.slack else 1e-11
                out[rows] = self._root(curve, rows, goal, below, guess * (1 + 0.8 * near), near=near)
        if self.slack:  # where the grid is too coarse one value of the noise may be better
            single = self.at_quantile(total)
            if np.any(single.log_upper(out, np.arange(out.size)) <= target):
                out = np.minimum(out, single.least_epsilon(total))
        return out

    def _constant_noise_epsilon(self, total: FloatArray, convex: bool) -> FloatArray:
        """Idle noise: one Gaussian curve, amplified (the larger direction), or the root of the opposite pair's."""
        p = self.participation
        with np.errstate(divide="ignore"):
            share = np.minimum(total / p, 1.0)
        single = gaussian.epsilon(share, sensitivity=self.sensitivity, sigma=self._constant_sigma)
        if convex and self.adjacency is Adjacency.REPLACE:
            return np.asarray(single)
        rows = np.flatnonzero((single > 0) & (single < np.inf))
        out = np.array(single)

        def excess(epsilon: FloatArray, rows: IntArray) -> FloatArray:
            upper, _ = self._upper(self._constant_noise, epsilon, rows)
            return np.asarray(upper - np.log(total[rows]) * (1 + UNIT) + 16 * UNIT)

        if self.adjacency is Adjacency.REPLACE:
            # `single` is that of an observer who sees whether k takes part: an upper bound
            out[rows] = _bisected(excess, rows, out[rows])
        else:
            out[rows] = subsampling.amplified(out[rows], p[rows])
        step = 1e-15 * out[rows]
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
        """Where a curve falls to the target, right of `low`; `low` itself where it is 0 and already safe.

        Newton's method kept inside a bracket, each point a hair to the right so that the last one is on the safe side.
        Where Newton's steps stay short (the curve is flat, its upper bound flatter), each third step widens or halves
        the bracket.
        """
        low, high = low.copy(), np.full(rows.size, np.inf)
        untried = low == 0
        x = np.maximum(guess, low * (1 + 1e-9))
        active = np.arange(rows.size)
        for step in range(_STEPS):
            here = x[active]
            value, slope = self._upper(curve, here, rows[active])
            excess = value - target[active]
            safe = excess <= 0
            high[active[safe]], low[active[~safe]] = here[safe], here[~safe]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                newton = here - excess / slope
            a, b = low[active], high[active]
            settled = (safe & (np.abs(newton - here) <= near * here)) | ((b < np.inf) & (b - a <= 1e-12 * b))
            settled |= ~safe & (here > _FAR)
            with np.errstate(invalid="ignore", over="ignore"):
                farthest = _GROWTH * np.maximum(here, a)  # on a plateau the slope tells nothing
                newton = np.where(b < np.inf, newton, np.minimum(newton, farthest)) * (1 + near / 8)
                middle = np.where(4 * a > b, (a + b) / 2, np.sqrt(np.maximum(a, 1e-6 * b)) * np.sqrt(b))
            inside = (newton > a) & (newton < b) & (step <= _PATIENCE or step % 3 > 0)
            x[active] = np.where(inside, newton, np.where(b < np.inf, middle, farthest))
            to_zero = untried[active] & safe & ((newton <= 0) | (step >= _PATIENCE))
            x[active[to_zero]], untried[active[to_zero]] = 0.0, False
            active = active[~settled]
            if not active.size:
                return high
        if not proved:
            return x
        raise ConvergenceError(
            f"epsilon of device {self.devices[rows[active[0]]]} did not settle at log delta = {target[active[0]]}"
        )

    def _guess(self, rows: IntArray, target: FloatArray) -> FloatArray:
        """Mean loss plus as many standard deviations as a Gaussian loss would need, at a low quantile of the noise."""
        low = np.argmax(np.cumsum(self.weights[rows], axis=1) >= 0.05, axis=1)
        v, own, d = self.variance[rows, low], self.own_noise[rows], self.sensitivity[rows]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.adjacency is Adjacency.ABSENT:
                eta, square = own / v, d * d / v
            else:
                eta, square = np.zeros(rows.size), d * d / (v + own)
            r = self.dimension[rows]
            mean = square / 2 + r / 2 * (eta - np.log1p(eta))
            spread = np.sqrt(square * (1 + eta) + r / 2 * eta * eta)
            guess = mean + spread * np.sqrt(2 * np.maximum(np.log(self.participation[rows]) - target, 0.5))
        guess = np.where((guess > 1e-300) & (guess < 1e150), guess, 1.0)
        if self.adjacency is Adjacency.ABSENT:
            guess = np.asarray(subsampling.amplified(guess, self.participation[rows]))
        return np.maximum(guess, 1e-300)

    def _upper(self, curve: Curve, epsilon: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """A curve with its error added, at an epsilon rounded down, and its slope."""
        value, slope, up, _ = curve(epsilon * (1 - _EPSILON_ROUNDING), rows)
        with np.errstate(invalid="ignore"):
            return np.where(value > -np.inf, np.minimum(value + up - 4 * UNIT * value, 0.0), -np.inf), slope

    def _singular(self) -> FloatArray:
        """The limit of delta(epsilon) as epsilon grows: mass on which the neighbours are mutually singular."""
        if self.adjacency is Adjacency.ABSENT:
            apart = (self.own_noise > 0) | (self.sensitivity > 0)
        else:
            apart = (self.own_noise == 0) & (self.sensitivity > 0)
        silent = np.sum(np.where(self.variance == 0, self.weights, 0.0), axis=1)
        singular = self.missing + np.where(apart, silent, 0.0)
        return self.participation * singular


def _ratio(d: FloatArray, sigma: FloatArray | float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(d == 0, 0.0, d / sigma)


def _bisected(excess: Callable[[FloatArray, IntArray], FloatArray], rows: IntArray, high: FloatArray) -> FloatArray:
    """The point right of which a decreasing function is not positive, to relative 1e-15, from an upper bound of it."""
    low = np.zeros(rows.size)
    for _ in range(60):
        middle = (low + high) / 2
        safe = excess(middle, rows) <= 0
        low, high = np.where(safe, low, middle), np.where(safe, middle, high)
    return high


def log_ends(
    part: Participation, epsilon: FloatArray, rows: IntArray, *, reverse: bool, doubt: float
) -> tuple[FloatArray, FloatArray]:
    r"""Both ends of log delta near epsilon[i], within the relative `doubt`: with device k against without, or the reverse.

    Notes
    -----
    With A the best set and :math:`\kappa = \lambda Q(A)/\delta`, minus the slope of log delta, delta at a greater
    :math:`\lambda'` is at least :math:`\delta[1 - \kappa(\lambda'/\lambda - 1)]` by convexity.

    What was rounded to the safe side moves variances only (a sensitivity is one, by scale), each by a share :math:`\tau` at
    most. The derivative of :math:`P(A) - \lambda Q(A)` at the best set is that of delta, a Gaussian density q of variance w has
    :math:`w\,\partial_wq = q\,(\chi - r)/2`, and for any set of probability m
    :math:`\int_Aq\chi \le m(r + 2\sqrt{r\ell} + 2\ell)`, :math:`\ell = 1 - \log m` (Gibbs's inequality, and the cumulant of
    :math:`\chi`), which rises in m. P(A) and :math:`\lambda Q(A)` are :math:`(1 + \kappa)\delta` and :math:`\kappa\delta`, so
    the share lost is at most :math:`\tau(1 + 2\kappa)(r + \sqrt{r\ell} + \ell)` with
    :math:`\ell = 1 + \epsilon - \log\delta`, but for terms below :math:`\tau(r + \sqrt{r\ell} + \ell)`; the bound taken is twice
    all that, for what changes on the way.

    Where that is more than all other errors and the tolerance of the interpolation, the lower end is computed anew, with all
    rounded the other way.
    """
    lower, upper = np.full(epsilon.shape, -np.inf), np.full(epsilon.shape, -np.inf)
    some = np.flatnonzero(part.participation[rows] > 0)
    if not some.size:
        return lower, upper
    at, kind = epsilon[some] * (1 - doubt), rows[some]
    low, high, down, moved = _both(part, at, kind, reverse, doubt)
    if part.slack and np.any(wide := ~(down <= COARSE)):
        found = _both(part.raised(), at[wide], kind[wide], reverse, doubt)[0]
        low[wide] = np.maximum(low[wide], found)
    enough = np.maximum(down, part.tolerance)
    if np.any(again := ~(moved <= np.minimum(enough, COARSE))):
        value, _, _, down = part.unrounded().order(reverse)(epsilon[some[again]] * (1 + doubt), kind[again])
        with np.errstate(invalid="ignore"):
            found = np.where(value > -np.inf, value - down + 4 * UNIT * value, value)
        low[again] = np.maximum(low[again], found)
    greatest = np.minimum(np.log(part.participation[kind]) + UNIT, 0.0)
    lower[some], upper[some] = np.minimum(low, greatest), np.minimum(high, greatest)
    return lower, upper


def _both(
    part: Participation, epsilon: FloatArray, rows: IntArray, reverse: bool, doubt: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Both ends, how far the lower one is from the value but for rounding, and what rounding costs."""
    value, slope, up, down = part.order(reverse)(epsilon, rows)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
        logarithm, some = -4 * UNIT * value, value > -np.inf
        least = np.maximum(np.min(part.variance, axis=1), 1e-300)[rows]
        share = 3 * part.rounding[rows] + part.lost / least + 64 * UNIT
        r, level = part.dimension[rows], 1 + epsilon - value
        each = r + np.sqrt(r * level) + level
        moved = 4 * share * (1 - slope) * each - slope * np.expm1(2.02 * doubt * epsilon)
        moved = np.where(some, moved, 0.0)
        low = value + np.log(np.maximum(np.exp(-down) - moved, 0.0)) - logarithm
        low = np.where(some, np.where(moved <= COARSE, low, -np.inf), value)
        return low, np.where(some, value + up + logarithm, value), down, moved


def _grouped(variance: FloatArray, weights: FloatArray, columns: int) -> tuple[IntArray, FloatArray]:
    """Where groups of neighbouring columns start, even in number and in log v, and their weights.

    Examples
    --------
    >>> first, weights = _grouped(np.array([[1.0, 2.0, 4.0, 8.0]]), np.full((1, 4), 0.25), 4)
    >>> first, weights
    (array([0, 3]), array([[0.75, 0.25]]))
    """
    size = variance.shape[1]
    depth = np.mean(np.log(np.maximum(variance, variance[:, -1:] * 1e-30)), axis=0)
    edges = np.searchsorted(depth, np.linspace(depth[0], depth[-1], columns // 2))
    even = np.linspace(0, size - 1, columns // 2).astype(int)
    first = np.unique(np.concatenate([[0], edges[edges < size], even]))
    return first, _group_totals(weights, first)


def _paired(variance: FloatArray, weights: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """Values and weights: two a group, with its mean and variance.

    Examples
    --------
    >>> values, weights = _paired(np.array([[1.0, 2.0, 4.0, 8.0]]), np.full((1, 4), 0.25), 4)
    >>> float(np.sum(values * weights)), float(np.sum(weights))
    (3.75, 1.0)
    """
    first, together = _grouped(variance, weights, columns // 2)
    mass = np.maximum(together, 1e-300)
    mean = np.maximum(_group_totals(weights * variance, first) / mass, variance[:, first])
    apart = variance - np.repeat(mean, np.diff(first, append=variance.shape[1]), axis=1)
    deviation = np.sqrt(_group_totals(weights * apart**2, first) / mass)
    deviation = np.minimum(deviation, mean - variance[:, first])
    pairs = np.stack([mean - deviation, mean + deviation], axis=2).reshape(mean.shape[0], -1)
    return pairs, np.repeat(together / 2, 2, axis=1)


def _group_totals(terms: FloatArray, first: IntArray) -> FloatArray:
    with np.errstate(under="ignore"):
        return np.asarray(np.add.reduceat(terms, first, axis=1))
