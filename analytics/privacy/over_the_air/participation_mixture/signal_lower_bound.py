r"""Lower bounds of delta: rectangles for a server that sees y alone, half-spaces for one that also sees the others.

Both take a set A of outputs and bound :math:`P(A) - \lambda Q(A)`, which is at most delta for any A. So a poor choice
of A, a coarse grid or a wrong root only lower the bound.

Rectangles: :class:`SignalTest`
-------------------------------
Any codes of the others are a valid data set. Here they point away from the code x of device k, in proportion to their
noise: :math:`-\theta s_jx/|x|`, :math:`0 \le \theta \le \min_j d_j/s_j` (:func:`steepest`). So the more others send, the further
y moves to the other side: it shows a part of S. Their sum along the axis is :math:`m_S = -\theta(v_S - N)`, a function of
their noise, so that S counts by :math:`v_S` alone. With :math:`\theta = 0` the law of y is a mixture of concentric
Gaussians. With :math:`F_x = \sum_S\pi_S N(x + m_S, v_S+s)`, :math:`H = \sum_S\pi_S N(m_S, v_S)`, the supremum

.. math:: \sup_A \int_A c_1F_x - c_2F_{x'} - c_3H

is each direction of the divergence, where :math:`(c_1, c_2, c_3)` is, for ``silent`` and ``replace``, :math:`(p,\
\lambda p,\ (\lambda-1)(1-p))`, and for ``absent`` :math:`(p,\ 0,\ \lambda-1+p)`. In the reverse direction of
``absent``, the integrand is :math:`(1-\lambda(1-p))H - \lambda pF_x`.

1. The axis through x and x' gets a grid, the norm across the axis is cut into cells.
2. For each cell of the norm, A contains the intervals of the axis on which the integrand is positive at the middle of
   the cell. They are found on the grid, and their ends are interpolated. So A is a union of rectangles.
3. The probability of a rectangle is a product of differences of a normal and a gamma distribution function: no
   quadrature is needed, and the sums over S are exact.
4. The number of cells is doubled while the bound rises.

*Errors.* The parts of the optimal set outside the window, between missed roots or beside the rectangles are lost; this
loss is of second order in the width of the cells and on the safe side. The rounding error of the sum is bounded
relative to the magnitudes of its terms, and subtracted, and so are what underflows and the effect of rounded variances and means.
Mass of the law of S that was left out or moved costs at most
:math:`2(1 + \lambda)` times its amount, on a grid a thousand times that (:mod:`airtight.analytics.distributions.weighted_sum`).
What fewer values of the noise change is subtracted too.

*Fewer values.* The law of :math:`v_S` has thousands of values, or is known on a grid. :meth:`SignalTest.ruled` replaces
it by Gauss rules (:mod:`.gauss_rule`). Let :math:`f(v)` be the probability m of a set A where the law of y has the
variance :math:`w = v + s` in r dimensions and a mean that moves by the slope with v, and let :math:`\kappa` be this
slope times the root of the greatest v. With :math:`\chi` the squared norm over w, z the coordinate on the axis over
:math:`\sqrt w` and :math:`Y = |\chi-r|/2 + \kappa|z|`,

.. math:: |vf'| \le \int_AqY \le m\sqrt{I(m)}, \qquad
          |v^2f''| \le m\Bigl((\sqrt{I(m)}+1)^2 + \tfrac r2 + \kappa^2\Bigr),

.. math:: I(m) = 2(\sqrt r + \kappa\sqrt2)^2(\ell+1) + 2(\ell^2+2\ell+2), \qquad \ell = \log\tfrac3m .

For :math:`|vq'|/q` is at most Y, and :math:`|v^2q''|/q` at most :math:`Y^2 + |\chi - r/2| + 2\kappa|z| + \kappa^2`. Y
exceeds :math:`G(t) = \sqrt{rt} + t + \kappa\sqrt{2t}` with a probability of :math:`3e^{-t}` at most (for both tails of
:math:`\chi`: Laurent and Massart, Annals of Statistics 28, 2000, lemma 1). So :math:`\int_AqY^2 \le
\int_0^mG(\log\tfrac3u)^2du \le mI(m)`, by :math:`G(t)^2 \le 2t(\sqrt r+\kappa\sqrt2)^2 + 2t^2`; the rest is Cauchy's
inequality. All three bounds are concave and rise in m.

By the first, for any :math:`m_0`, a set that has the probability m at v has at most
:math:`(m+m_0)e^{D\sqrt{I(m_0)}}` at a v' with :math:`|\log v'/v| \le D`: the bound of the growth falls in m, so that of
:math:`m_0` holds wherever m is greater.

- *Grid.* By the second and Taylor's theorem (:mod:`airtight.analytics.distributions.weighted_sum`), the mean of f on
  the grid differs from the true one by half the spread times the bound of :math:`f''` within the slack, given each
  value: for :math:`m+m_0` in place of m it is proportional to that, with :math:`I(m_0)`.
- *Rules.* At a complex v with :math:`|\arg v| \le \varphi`, w has an argument :math:`\psi` no greater. The modulus of
  the density is :math:`\cos^{-r/2}\psi\;e^{\beta^2/2|w|\cos\psi}` times the density with the variance :math:`w^* =
  |w|/\cos\psi` and a mean that is moved by :math:`\beta\tan\psi`, where :math:`\beta` is the imaginary part of the
  mean. As :math:`\cos\varphi \le w^*/(|v|+s) \le 1/\cos\varphi`, this is the real case at a distance of at most
  :math:`D = D_0 - \log\cos\varphi` in log w and of :math:`\sqrt v\,e^{D/2}(e^D(1+\sin^2\varphi)-1)` times the slope in
  deviations, :math:`D_0` being that of :math:`|v|` from a node in log v. On the ellipse whose greatest argument is
  :math:`\varphi` about a piece of half width h, :math:`D_0 \le h + \sqrt{h^2+\varphi^2}`. This bounds M and, at
  :math:`D = 2h`, G of :mod:`.gauss_rule`, for every node of the piece and so for their mean; any :math:`\varphi` is
  valid.

:meth:`SignalTest.outcomes` gives the probabilities of such cells themselves. To observe only the cell is post-processing,
so the pair of their laws may be composed over rounds as a lower bound.

Half-spaces: :func:`delta_at_least`
-----------------------------------
One threshold test along the code bounds delta from below for a system and for all systems with less noise. Given the
other participants, let v be the variance of the noise without device k, s the variance that its own noise adds,
:math:`\lambda = e^\epsilon`, and A the event :math:`\langle y, e\rangle > \tau`, with e the direction of its code. With
n > f the coordinates of the two neighbours' codes along e, the difference :math:`P(A) - \lambda Q(A)` of the neighbours
is

.. math:: \text{absent:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - (\lambda - 1 + p)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr), \qquad n = d,

.. math:: \text{hidden:}\quad p\,\Phi\bigl(\tfrac{n-\tau}{\sqrt{v+s}}\bigr)
              - p\lambda\,\Phi\bigl(\tfrac{f-\tau}{\sqrt{v+s}}\bigr)
              - (1-p)(\lambda-1)\,\Phi\bigl(\tfrac{-\tau}{\sqrt v}\bigr),

:math:`n, f = d, 0` for ``silent`` and :math:`d/2, -d/2` for ``replace``. For :math:`0 < \tau \le n`, every term falls
when v or s rises. For :math:`\tau > n`, the first term rises with the noise, so it is at least its value at the
receiver's noise alone. So, if v and s are no lower than the true ones, and the first term for :math:`\tau > n` is taken
at the receiver's noise, the difference is a lower bound of delta for any choice of :math:`\tau` for each set of others.
The code takes the best of a few thresholds for each set, so the mean bounds delta for an observer who sees that set.

*Errors.* Gains are rounded down and losses up, each by a bound of its relative rounding error. Twice the missing mass
is subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.distributions import weighted_sum
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete, discrete
from airtight.analytics.privacy.over_the_air.participation_mixture import gauss_rule
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.root_search import falling_root
from airtight.analytics.rounding import UNIT

_FINENESS, _CELLS = 8, 3200  # cells of the norm across: per standard deviation of the least noise; at most at first
_DOUBLINGS, _TOLERANCE = 3, 2e-3  # doublings of the cells, at most; relative rise of the bound that stops them
_GAMMA = 1e-12  # bound of the relative rounding error of the distribution function of the norm across
_AXIAL = 241  # points of the axis about each centre
_ROUNDING = 1e-11  # bound of the rounding error, relative to the sum of the magnitudes of all terms
_LOST = 1e-309  # absolute error of a probability that underflows: SciPy's tails vanish below 1e-310
_SHARES = 1.0, 0.5, 0.25, 0.125, 0.0  # of the greatest theta that are tried
_APART, _CENTRES = 6.0, (2, 64)  # deviations between places about which the axis has points, for the others' codes; their number
_SPARSE = 41  # points about each of many of them
_SCALES, _RADIAL = 12, 20  # for the norm across: scales, and quantiles in each of the two tails
_QUANTILES_OF_A_CELL = 4  # a cell of the norm across spans so many of them, of all scales, where the noise has many values
_LOSSES = 500  # ranges of privacy losses
# least probability of an outcome whose loss is computed: the first if this error of the loss is kept, or the second, over `level`
_RAREST, _RARE, _CLEAR = 1e-280, 1e-4, 1e-7
_BLURRED_CELL = 1e-3  # of what the grid of the law may change in the probability of an outcome whose loss is computed
BLURRED = 1e-3  # error of the loss of an outcome from which a test is of no use over rounds
_LEAST_CELL = 1e-4  # width of a cell, in deviations, from which the error of its probability is below the next bound
LOSS_ERROR = 1e-8  # absolute error, by rounding, of the privacy loss of one outcome
_NEAR, _COARSE = 1e-5, 1e-3  # relative length of the interval of epsilon at which the search ends; on the first cells
BEYOND_CELLS = 1e-6  # share of delta that may lie outside the fine cells
_MOST_REACHED = 0.75  # share of the greatest distance of two laws at which they are compared, at most
_ATOMS, _MOST_PIECES = 64, 63  # values of the others' noise from which Gauss rules replace them; pieces of these, at most
_ALIKE = 1e-8  # relative distance of values that are one
# width of a piece in log v, over 1 / sqrt(I) of the module's notes: at the probability there its rule errs by 1e-5 of it, or less
_WIDTH = 10.0
_BELOW = 1e-2  # m_0 of the module's notes, over the probability at hand
_ANGLES = np.geomspace(1e-3, 1.2, 40)  # arguments of ellipses that are tried for the bound of the remainder


@dataclass(frozen=True)
class SignalTest:
    """One device among others whose noise has the variances `v` with probabilities `weights`.

    Attributes
    ----------
    v, weights : ndarray, shape (A,)
    missing : float
        Probability that was left out or moved.
    p, d, s : float
        Participation probability of the device, distance of the means, own noise variance.
    dimension : int
    adjacency : Adjacency
    variance_error : float
        Bound of the relative error of the variances.
    slope : float
        Minus theta: how the others' codes along the axis change with their noise.
    weight_error : float
        Bound of the relative error of the probabilities.
    grid : pair of ndarray, shape (A,), optional
        Of a law on a grid: its slack over each value, and its spread over the square of the least value within the slack.
    half, deviation : float
        Of Gauss rules: greatest half width of a piece in log v, and their deviation, which is positive; 0 where the values are
        those of the law.
    """

    v: FloatArray
    weights: FloatArray
    missing: float
    p: float
    d: float
    s: float
    dimension: int
    adjacency: Adjacency
    variance_error: float = 0.0
    slope: float = 0.0
    weight_error: float = 0.0
    grid: tuple[FloatArray, FloatArray] | None = None
    half: float = 0.0
    deviation: float = 0.0
    # by level, number of cells and whether the device's noise is added: what does not depend on epsilon
    _across_of: dict[tuple[float, int, bool], tuple[FloatArray, FloatArray, FloatArray]] = field(
        default_factory=dict, compare=False, repr=False
    )
    # by level and first term, how often the cells are doubled
    _doublings: dict[tuple[float, tuple[float, bool]], int] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @classmethod
    def of(cls, part: NoiseMixture, row: int) -> SignalTest | None:
        """The mixture of one row of a participation; None where the noise may vanish, or almost, for all that is known."""
        inside = part.weights[row] > 0
        weights, v = part.weights[row][inside], part.variance[row][inside]
        # without noise there is no density
        if not v[0] - part.slack > v[0] / 2:
            return None
        return cls(
            v,
            weights,
            float(part.missing[row]),
            float(part.participation[row]),
            # rounded up elsewhere, for upper bounds: undone here
            float(part.sensitivity[row]) * (1 - 1e-14),
            float(part.own_noise[row]),
            int(part.dimension[row]),
            part.adjacency,
            # sums of noises three times (their rounding, and what was taken off for it), and single operations
            float(3 * part.rounding[row] + part.lost / v[0] + 64 * UNIT),
            weight_error=2 * part.error,
            grid=(part.slack / v, part.spread / (v - part.slack) ** 2) if part.slack else None,
        )

    def trimmed(self, share: float) -> SignalTest:
        """Without the least and the greatest values, of up to this probability at either end, which is missing then.

        For a law on a grid more is missing: on cells whose mass is left out its curvature is not known
        (:mod:`airtight.analytics.distributions.weighted_sum`).
        """
        below, above = np.cumsum(self.weights), np.cumsum(self.weights[::-1])[::-1]
        kept = (below > share) & (above > share)
        if np.all(kept) or not np.any(kept):
            return self
        missing, grid = float(np.sum(self.weights[~kept])) * (1 + 1e-9), self.grid
        if grid is not None:  # as weighted_sum.allowing_for_missing
            missing, grid = missing / weighted_sum.RARE, (grid[0][kept], grid[1][kept] / (1 - 2 * weighted_sum.RARE))
        return replace(
            self,
            v=self.v[kept],
            weights=self.weights[kept],
            missing=self.missing + missing,
            grid=grid,
            _across_of={},
        )

    def tilted(self, steepest: float, rare: float) -> list[SignalTest]:
        """The same device among others with codes, of lengths in proportion to their noise up to `steepest`.

        What takes the place of many values is precise for sets of this probability (:meth:`ruled`).
        """
        shares = _SHARES if steepest > 0 else (0.0,)
        return [replace(self, slope=-share * steepest).ruled(rare) for share in shares]

    def ruled(self, rare: float) -> SignalTest:
        """The same test with the values of Gauss rules, where it has many more (*fewer values* in the module's notes)."""
        if self.few:
            return self
        if self.v[-1] <= self.v[1] * (1 + _ALIKE):  # beside the least value all are one, up to an error that is counted
            weights = np.array([self.weights[0], np.sum(self.weights[1:])])
            grid = None if self.grid is None else (self.grid[0][:2], self.grid[1][:2])
            error = self.variance_error + float(self.v[-1] / self.v[1] - 1) + 4 * float(UNIT)
            return replace(
                self, v=self.v[:2], weights=weights, grid=grid, variance_error=error, _across_of={}
            )
        width = _WIDTH / np.sqrt(_mean_square(max(_BELOW * rare, _LOST), self.dimension, self._steepness))
        pieces = int(np.clip(np.ceil(np.log(self.v[-1] / self.v[1]) / width), 1, _MOST_PIECES))
        nodes, shares, rules = gauss_rule.rules_of(self.v[None], self.weights[None], pieces)
        used, replaced = shares[0] > 0, rules.mass[0] > 0
        if np.sum(used) >= self.v.size:
            return self
        grid = self.grid
        if grid is not None:  # of the values of a piece the least has the greatest bounds
            least = nodes[0].copy()
            least[1:][np.repeat(replaced, gauss_rule.NODES)] = np.repeat(np.exp(rules.low[0][replaced]), gauss_rule.NODES)
            place = np.minimum(np.searchsorted(self.v, least[used] * (1 - 1e-12)), self.v.size - 1)
            grid = grid[0][place], grid[1][place]
        return replace(
            self,
            v=nodes[0][used],
            weights=shares[0][used],
            grid=grid,
            half=float(np.max((rules.high - rules.low)[0][replaced], initial=0.0)) / 2,
            deviation=float(np.max(rules.deviation[0][replaced], initial=0.0)),
            _across_of={},
        )

    @property
    def few(self) -> bool:
        """Whether the values are so few that each is used."""
        return self.v.size <= _ATOMS

    @property
    def _steepness(self) -> float:
        """Deviations by which the others' codes move for a unit of log v, at most."""
        return -self.slope * float(np.sqrt(self.v[-1])) * math.exp(self.half)  # the last node is within its piece

    @cached_property
    def means(self) -> FloatArray:
        """The sum of the others' codes along the axis, at each value of their noise, less that at the first value."""
        return np.asarray(self.slope * (self.v - self.v[0]))

    @property
    def _offsets(self) -> list[float]:
        """Places of the law of the others' codes about which the axis has points."""
        if not self.slope:
            return [0.0]
        low, high = float(np.min(self.means)), float(np.max(self.means))
        wanted = (high - low) / (_APART * float(np.sqrt(np.min(self.v)))) + 1
        return list(np.linspace(low, high, int(np.clip(wanted, *_CENTRES))))

    def delta(self, eps: float, level: float, doublings: int = _DOUBLINGS) -> float:
        """A lower bound of delta(eps), for any `level`; tight if `level` is near the least delta of interest.

        The cells are halved at most `doublings` times.
        """
        gained, missed = self._parts(eps, level, doublings)
        return max(gained - missed, 0.0)

    def _parts(self, eps: float, level: float, doublings: int) -> tuple[float, float]:
        """The bound without the missing mass, and what this takes off."""
        # exp(epsilon) overflows from 709 on
        if self.p == 0 or self.d + self.s == 0 or not eps < 700:
            return 0.0, 0.0
        lam, p = float(np.exp(eps)), self.p
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if self.adjacency is not Adjacency.ABSENT:
                near, far = (self.d / 2, -self.d / 2) if self.adjacency is Adjacency.REPLACE else (self.d, 0.0)
                bound = self._best(
                    [(p, near, True)], [(lam * p, far, True), ((lam - 1) * (1 - p), 0.0, False)], level, doublings
                )
            else:
                # `absent`, the order of the neighbour with the device against the one without it
                bound = self._best([(p, self.d, True)], [(lam - 1 + p, 0.0, False)], level, doublings)
                # the other order; it vanishes where 1 - lambda (1 - p) <= 0
                remaining = 1 - lam * (1 - p)
                if remaining > 0:
                    bound = max(
                        bound, self._best([(remaining, 0.0, False)], [(lam * p, self.d, True)], level, doublings)
                    )
        # P and Q err by twice the missing mass at most, Q times lambda
        return bound, (1 + lam) * 2 * self.missing

    def outcomes(self, level: float, coarse: int = 1) -> tuple[FloatArray, FloatArray, float]:
        """Two laws on finitely many outcomes, and the relative error of a probability: the observer learns only the cell
        of y, and of the cell only a range of losses.

        Cells partition the plane of the axis and the norm across it; their probabilities are sums of products over the
        sets S. Both steps are post-processing, for any cells; `level`, a small probability, determines how far the
        cells reach, and their number in either direction is divided by `coarse`.
        """
        # deviations beyond which a normal law has less mass than `level`, with three to spare
        reach = np.sqrt(-2 * np.log(level)) + 3
        narrowest, widest = float(np.sqrt(np.min(self.v))), float(np.sqrt(np.max(self.v) + self.s))
        half = self.d / 2 if self.adjacency is Adjacency.REPLACE else 0.0
        # the outermost cells reach to infinity, so that the cells are a partition
        centres = [mean + offset for mean in (self.d - half, -half) for offset in self._offsets]
        inner = self._axis(reach, narrowest, widest, centres, coarse)
        axis = np.concatenate([[-np.inf], _apart(inner, np.full(inner.size, _LEAST_CELL * narrowest)), [np.inf]])
        squares = self._squares(level, coarse)

        rarest = self._rarest(level)
        bent = self._bent(_BELOW * rarest)
        if not np.all(np.isfinite(bent)):
            return np.ones(1), np.ones(1), np.inf

        @cache
        def across_of(adds_own: bool) -> FloatArray:
            """Probabilities of the cells of the norm, given each value of the noise."""
            a = (self.dimension - 1) / 2
            if a == 0:
                return np.ones((self.v.size, 1))
            with np.errstate(over="ignore"):
                # given v, the squared norm across over 2v is a gamma variable of shape (r - 1) / 2, independent of the
                # axis
                return gamma_cells(a, squares[:, None] / (2 * (self.v + adds_own * self.s))).T

        def law(mean: float, adds_own: bool) -> FloatArray:
            """Probabilities, and what the grid of the law changes in them."""
            along, across = _in_cells(axis, mean + self.means, np.sqrt(self.v + adds_own * self.s)), across_of(adds_own)
            probabilities = np.maximum((along * self.weights) @ across, 0.0).ravel()
            changes = np.maximum((along * self.weights * bent) @ across, 0.0).ravel() if self.grid else 0 * probabilities
            return np.stack([probabilities, changes])

        absent, present = law(0.0, False), law(self.d - half, True)
        # under P and Q the device sends with probability p
        with_device = self.p * present + (1 - self.p) * absent
        without = absent if self.adjacency is Adjacency.ABSENT else self.p * law(-half, True) + (1 - self.p) * absent
        both = np.stack([with_device, without], axis=1)  # probabilities and changes, of both laws
        unsure = np.any(both[1] > _BLURRED_CELL * both[0], axis=0)
        groups = _groups(both[0, 0], both[0, 1], rarest, unsure)
        p, q, *changes = (np.asarray(np.bincount(groups, each), dtype=float) for each in both.reshape(4, -1))
        extra = _BELOW * rarest * float(self.weights @ bent) + 2 * self.missing
        relative_error = max(float(np.max((change + extra) / each)) for change, each in zip(changes, (p, q), strict=True))
        return p, q, self.loss_error(level) + relative_error

    def released(self, delta: float, unit: str = "", coarse: int = 1) -> Discrete:
        """The two laws of :meth:`outcomes` as a mechanism, with cells for this delta."""
        p, q, relative_error = self.outcomes(BEYOND_CELLS * delta, coarse)
        if not relative_error <= BLURRED:
            return discrete(np.ones(1), np.ones(1), unit)  # nothing is known
        return discrete(p / np.sum(p), q / np.sum(q), unit, relative_error)

    def _squares(self, level: float, coarse: int) -> FloatArray:
        """Ends of the cells of the squared norm across the axis."""
        if self.dimension == 1:
            return np.array([0.0, np.inf])
        a = (self.dimension - 1) / 2
        # quantiles of all variances: cells fine enough for each of the concentric shells
        scales = np.quantile(np.concatenate([self.v, self.v + self.s]), np.linspace(0, 1, _SCALES))
        # geometric probabilities in both tails of the gamma law and equal ones between
        tails = np.geomspace(level, 0.02, _RADIAL)
        quantiles = [special.gammaincinv(a, tails), special.gammainccinv(a, tails)]
        quantiles.append(special.gammaincinv(a, np.linspace(0.03, 0.97, 2 * _RADIAL)))
        step = coarse * (1 if self.few else _QUANTILES_OF_A_CELL)
        inner = np.unique(np.outer(2 * scales, np.concatenate(quantiles)))[::step]
        return np.concatenate([[0.0], _apart(inner, _LEAST_CELL * inner / np.sqrt(a + 1)), [np.inf]])

    def _best(self, plus: list[_Term], minus: list[_Term], level: float, doublings: int) -> float:
        """Lower bound of the integral of the positive part of the sum of `plus` minus the sum of `minus`."""
        reach = np.sqrt(-2 * np.log(level)) + 3
        low, high = float(np.min(self.v)), float(np.max(self.v)) + self.s
        centres = [mean + offset for _, mean, _ in plus + minus for offset in self._offsets]
        axis = self._axis(reach, np.sqrt(low), np.sqrt(high), centres)
        # densities on the axis do not depend on the cells across: computed once
        kernels = [self._kernel(axis, mean, adds_own) for _, mean, adds_own in plus + minus]
        noise_cases = {adds_own for _, _, adds_own in plus + minus}  # with and without the noise of the device

        def integral(ends: FloatArray) -> float:
            # positive and negative part of the integrand at the middle of each cell, on the whole axis
            above, below = np.zeros((2, max(ends.size - 1, 1), axis.size))
            across = {adds_own: self._cells_across(ends, level, adds_own) for adds_own in noise_cases}
            for number, ((c, _, adds_own), kernel) in enumerate(zip(plus + minus, kernels, strict=True)):
                target = above if number < len(plus) else below
                # sum over S as a matrix product: (cells, S) times (S, axis)
                target += np.exp(np.log(c) + np.log(self.weights) + across[adds_own][0]) @ kernel
            left, right = _positive(axis, above, below)
            # exact probabilities of the rectangles, each term with a bound of its rounding error
            value = rounding = 0.0
            for number, (c, mean, adds_own) in enumerate(plus + minus):
                v = self.v + (self.s if adds_own else 0.0)
                along = c * self.weights * _between(left, right, mean + self.means, np.sqrt(v))
                _, inside, error = across[adds_own]
                of_values = np.sum(along * inside, axis=0)
                mass = float(np.sum(of_values))
                value += mass if number < len(plus) else -mass
                rounding += (_ROUNDING + self.weight_error) * mass + float(np.sum(along * error))
                if c > 0:
                    # a cell errs by _LOST times its other factor, and both factors sum to at most one over their own ends
                    rounding += c * (_LOST * sum(left.shape) + self._moved(mass / c) + self._on_grid(of_values / c))
            return value - rounding

        if self.dimension == 1:
            return integral(np.zeros(0))
        a = (self.dimension - 1) / 2
        # window of the norm across: the least noise at the low end, the greatest at the high end
        start, end = np.sqrt(low * special.gammaincinv(a, level)), np.sqrt(high * special.gammainccinv(a, level))
        # widths in units of the deviation of the least noise
        cells = int(min(np.ceil(_FINENESS * (end - start) / np.sqrt(low)) + 2, _CELLS))

        def of_halved(times: int) -> float:
            return integral(np.linspace(start, end, (cells << times) + 1))

        # how many are worth their time at one epsilon, are so at the next, too
        key = level, plus[0][1:]
        if not doublings or key in self._doublings:
            return of_halved(self._doublings[key] if doublings else 0)
        best_value = of_halved(0)
        for times in range(1, doublings + 1):
            self._doublings[key] = times
            # every set of cells is valid, so the greatest value counts; it stops where halving gains nothing
            previous, best_value = best_value, max(best_value, of_halved(times))
            if best_value - previous <= _TOLERANCE * best_value:
                break
        return best_value

    def _moved(self, probability: float) -> float:
        r"""Bound of the change of the probability of a set when variances change by `variance_error`, and means with them.

        It includes what Gauss rules change.

        Notes
        -----
        With :math:`w\,\partial_wq = q\,(\chi - r)/2` and :math:`\int_Aq\chi \le m(r + 2\sqrt{r\ell} + 2\ell)`,
        :math:`\ell = 1 - \log m`, m the probability of A
        (:func:`airtight.analytics.privacy.over_the_air.participation_mixture.evaluate.log_ends`), the change is at most
        :math:`\tau m(r + \sqrt{r\ell} + \ell)` to first order in the relative change :math:`\tau`; twice this is
        returned. The bound is concave in m, so it holds for mixtures.

        A mean that moves by h deviations changes the probability by at most h times :math:`\int_A|z|q \le m(\sqrt{2\ell} + 1)`:
        the part of :math:`|z|` beyond :math:`T = \sqrt{2\log(1/m)}` is at most :math:`2\varphi(T) \le m`. Each mean is the slope
        times a difference of two variances, and rounded.
        """
        r, level = self.dimension, 1 - np.log(max(probability, _LOST))
        of_variances = self.variance_error * (r + np.sqrt(r * level) + level)
        of_means = self._mean_error * (np.sqrt(2 * level) + 1)
        least = max(_BELOW * probability, _LOST)
        of_rules = min((probability + least) * self._missed(least), 1.0)
        return float(2 * probability * (of_variances + of_means)) + of_rules

    def _missed(self, least: float) -> float:
        """What Gauss rules change in the probability of a set, over this probability and `least`, m_0 of the module's notes."""
        if not self.deviation:
            return 0.0
        low, shift, r, degrees = max(least, _LOST), self._steepness, self.dimension, 2 * gauss_rule.NODES
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            sine, cosine = np.sin(_ANGLES) ** 2, np.cos(_ANGLES)
            height = _ANGLES / max(self.half, 1e-12)
            rho = height + np.sqrt(1 + height**2)
            distance = self.half + np.sqrt(self.half**2 + _ANGLES**2) - np.log(cosine)
            moving = shift * np.exp(distance / 2) * (np.expm1(distance) + np.exp(distance) * sine) / distance
            growth = np.exp(distance * np.sqrt(_mean_square(low, r, moving)))
            largest = growth * cosine ** (-r / 2) * np.exp(shift**2 * np.exp(distance) * sine / 2)
            missed = np.nanmin(4 * largest * rho ** (1.0 - degrees) / (rho - 1), initial=np.inf)
            greatest = np.exp(2 * self.half * np.sqrt(_mean_square(low, r, shift * np.exp(self.half))))
            return float(missed + degrees * self.deviation * greatest) * 1.001  # with the roundings of the shares

    def _bent(self, least: float) -> FloatArray:
        """What a law on a grid changes in the probability of a set given each value, over this probability and `least`."""
        if self.grid is None:
            return np.zeros(self.v.shape)
        slack, spread = self.grid
        with np.errstate(over="ignore"):
            moving = self._steepness / np.sqrt(1 - slack)
            square = _mean_square(max(least, _LOST), self.dimension, moving)
            growth = np.exp(-np.log1p(-slack) * np.sqrt(square))
            bend = (np.sqrt(square) + 1) ** 2 + self.dimension / 2 + moving**2
            # the mean on a piece of the law errs as that of the rule
            return np.asarray(spread / 2 * growth * bend * (1 + self._missed(least)) * (1 + 1e-9))

    def _on_grid(self, of_values: FloatArray) -> float:
        """Bound of what a law on a grid changes in the probability of a set, given its parts for the values."""
        if self.grid is None:
            return 0.0
        least = max(_BELOW * float(np.sum(of_values)), _LOST)
        return min(float((of_values + least * self.weights) @ self._bent(least)), 1.0)

    @cached_property
    def _mean_error(self) -> float:
        """Bound of the error of a mean, in standard deviations."""
        if not self.slope:
            return 0.0
        of_noise = -self.slope * (self.v + self.v[0]) * (self.variance_error + 4 * UNIT)
        return float(np.max((of_noise + 2 * UNIT * (self.d + np.abs(self.means))) / np.sqrt(self.v)))

    def loss_error(self, level: float) -> float:
        """Absolute error of the loss of one outcome, under P and under Q: by rounding, that of the variances, and Gauss rules."""
        return self._loss_error(self._rarest(level))

    def _rarest(self, level: float) -> float:
        """The least probability of an outcome whose loss is computed."""
        known = self.grid is None and self.missing == 0 and self._loss_error(_RAREST) <= _CLEAR
        return _RAREST if known else rarest_of(level)

    def _loss_error(self, rarest: float) -> float:
        return LOSS_ERROR + self.weight_error + 2 * self._moved(rarest) / rarest

    def _cells_across(self, ends: FloatArray, level: float, adds_own: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log density in the middle of each cell of u, its probability and the rounding error of that."""
        key = level, ends.size, adds_own
        if key not in self._across_of:
            # one search for epsilon asks for many epsilons at one level, and only the cells of that level are kept
            if any(cached_key[0] != level for cached_key in self._across_of):
                self._across_of.clear()  # a search for epsilon has one level
            middle = (ends[1:] + ends[:-1]) / 2 if self.dimension > 1 else np.ones(1)
            cells = self._cells(ends, self.v + (self.s if adds_own else 0.0))
            self._across_of[key] = (self._across(middle, adds_own), *cells)
        return self._across_of[key]

    def _cells(self, ends: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the cells of u, one row per cell and one column per variance, and their rounding errors."""
        if self.dimension == 1:
            return np.ones((1, v.size)), np.zeros((1, v.size))
        a, t = (self.dimension - 1) / 2, ends[:, None] ** 2 / v
        inside, smaller_tail = _gamma_cells(a, t)
        return inside, _GAMMA * smaller_tail

    @staticmethod
    def _axis(reach: float, narrowest: float, widest: float, means: list[float], coarse: int = 1) -> FloatArray:
        # points about each mean, spaced like sinh: dense near it, sparse far out
        end = np.arcsinh(4 * (reach * widest + max(map(abs, means))) / narrowest)
        points = max(min(_AXIAL, 3 * _AXIAL // len(means)), _SPARSE) // coarse
        steps = narrowest / 4 * np.sinh(np.linspace(-end, end, points))
        return np.unique(np.concatenate([mean + steps for mean in set(means)]))

    def _kernel(self, axis: FloatArray, mean: float, adds_own: bool) -> FloatArray:
        """Densities on the axis, one row per value of the others' noise."""
        v = (self.v + (self.s if adds_own else 0.0))[:, None]
        return np.asarray(np.exp(-((axis - mean - self.means[:, None]) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v))

    def _across(self, u: FloatArray, adds_own: bool) -> FloatArray:
        """log density of u, the norm across divided by sqrt 2, under each value of the noise; one row per node."""
        a = (self.dimension - 1) / 2
        if a == 0:
            return np.zeros((u.size, self.v.size))
        v = self.v + (self.s if adds_own else 0.0)
        return log_norm_density(u[:, None] / np.sqrt(v), a) - np.log(v) / 2


def _apart(ends: FloatArray, least: FloatArray) -> FloatArray:
    """Increasing ends of cells without those that are too near the one before: of a narrow cell much is rounding."""
    return np.asarray(ends[np.append(True, np.diff(ends) > least[1:])])


def rarest_of(level: float) -> float:
    """The least probability of an outcome whose loss is computed where the law of the noise is not known exactly."""
    return max(_RARE * level, _RAREST)


def steepest(system: InferenceSystem | HomogeneousSystems, device: int) -> float:
    """The greatest theta: the least ratio of code and noise of another device that sends at random, in normalised units.

    It is rounded down, and 0 where there is none: the code of a device that always sends is known. `device` is that of a
    system, or a system among several.
    """
    scaled = system.normalised()
    code, noise = scaled.alignment * scaled.weight * scaled.clip, scaled.received_noise_variance
    if isinstance(scaled, HomogeneousSystems):
        others = np.array([device])[scaled.devices[device : device + 1] > 1]
    else:
        others = np.flatnonzero(np.arange(scaled.devices) != device)
    random = (scaled.participation[others] > 0) & (scaled.participation[others] < 1)
    noisy = others[(noise[others] > 0) & random]
    with np.errstate(over="ignore"):
        ratio = float(np.min(code[noisy] / noise[noisy], initial=np.inf))
    return ratio * (1 - 8 * UNIT) if np.isfinite(ratio) else 0.0


def merged(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The two laws after merging outcomes of nearly equal loss."""
    groups = _groups(p, q, _RAREST, np.zeros(p.shape, dtype=bool))
    return np.asarray(np.bincount(groups, p), dtype=float), np.asarray(np.bincount(groups, q), dtype=float)


def _groups(p: FloatArray, q: FloatArray, rarest: float, unsure: NDArray[np.bool_]) -> IntArray:
    """The group of each outcome: those of nearly equal loss, under two laws.

    An outcome that is too rare under one law joins those of the greatest or of the least loss; so what is bounded for a set
    of at least this probability holds for every group. One that is unsure joins the likeliest group.
    """
    regular = (p > rarest) & (q > rarest) & ~unsure
    groups = np.zeros(p.size, dtype=np.int64)
    if not np.any(regular):
        return groups
    losses = np.log(p[regular]) - np.log(q[regular])
    # ranges of equal weight, where sqrt(pq) weighs what matters at moderate epsilon, mixed with ranges of equal length
    weight = np.sqrt(p[regular] * q[regular]) + 1e-3 * (p[regular] + q[regular])
    order = np.argsort(losses)
    rank = np.cumsum(weight[order]) / np.sum(weight)
    position = (losses[order] - losses[order[0]]) / max(float(losses[order[-1]] - losses[order[0]]), 1e-300)
    groups[np.flatnonzero(regular)[order]] = np.unique(np.floor((rank + position) * _LOSSES), return_inverse=True)[1]
    likeliest = int(np.argmax(np.bincount(groups[regular], (p + q)[regular])))
    groups[~regular & (p > q)] = np.max(groups)
    groups[unsure] = likeliest
    return groups


def _mean_square(m: ArrayLike, r: int, shift: ArrayLike) -> FloatArray:
    """I(m) of the module's notes, with kappa the `shift`."""
    level = np.log(3 / np.asarray(m))
    return np.asarray(2 * (np.sqrt(r) + np.sqrt(2) * np.asarray(shift)) ** 2 * (level + 1) + 2 * (level**2 + 2 * level + 2))


_Term = tuple[float, float, bool]  # a factor, a mean, whether the device's own noise is added


def _positive(axis: FloatArray, above: FloatArray, below: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of the intervals on which above > below, one row per node; empty intervals are (0, 0)."""
    inside = above > below
    # places where `inside` changes, a row's alternately begin and end an interval; the padding closes those at the axis' ends
    row, place = np.nonzero(np.diff(np.pad(inside, ((0, 0), (1, 1))), axis=1))
    first_of_row = np.searchsorted(row, np.arange(above.shape[0]))
    order, ends_interval = np.divmod(np.arange(row.size) - first_of_row[row], 2)
    before, after = np.maximum(place - 1, 0), np.minimum(place, axis.size - 1)
    # the root by linear interpolation of the log ratio between the two grid points; any place between them is valid
    a, b = (np.log(above[row, at]) - np.log(below[row, at]) for at in (before, after))
    share = np.where(np.isfinite(a) & np.isfinite(b) & (a != b), a / (a - b), 0.5)
    x = axis[before] + np.clip(share, 0.0, 1.0) * (axis[after] - axis[before])
    # an interval that reaches the end of the grid goes on to infinity
    x = np.where(place == 0, -np.inf, np.where(place == axis.size, np.inf, x))
    left, right = np.zeros((2, above.shape[0], int(np.max(order, initial=-1)) + 1))
    for side, target in ((0, left), (1, right)):
        of_side = ends_interval == side
        target[row[of_side], order[of_side]] = x[of_side]
    return left, right


def _between(left: FloatArray, right: FloatArray, mean: FloatArray, sigma: FloatArray) -> FloatArray:
    """Probability of the intervals of each row under normal laws, one column per mean and sigma."""
    out = np.zeros((left.shape[0], sigma.size))
    for start, end in zip(left.T, right.T, strict=True):
        a, b = (start[:, None] - mean) / sigma, (end[:, None] - mean) / sigma
        out += _normal_mass(a, b, special.ndtr(-np.abs(a)), special.ndtr(-np.abs(b)))
    return out


def _in_cells(ends: FloatArray, mean: FloatArray, sigma: FloatArray) -> FloatArray:
    """Probability of the cells between neighbouring ends under normal laws, one column per mean and sigma."""
    at = (ends[:, None] - mean) / sigma
    tails = special.ndtr(-np.abs(at))
    return _normal_mass(at[:-1], at[1:], tails[:-1], tails[1:])


def _normal_mass(a: FloatArray, b: FloatArray, at_a: FloatArray, at_b: FloatArray) -> FloatArray:
    """Probability of [a, b], from that of the smaller tail beyond each end: so nothing cancels."""
    return np.where(a > 0, at_a - at_b, np.where(b < 0, at_b - at_a, 1 - at_a - at_b))


def best_delta(tests: Sequence[SignalTest], eps: float, level: float) -> float:
    """The greatest lower bound of delta(eps) of some tests; see :meth:`SignalTest.delta`."""
    coarse = [test.delta(eps, level, 0) for test in tests]
    best = int(np.argmax(coarse))
    return max(coarse[best], tests[best].delta(eps, level))


def least_epsilon(tests: Sequence[SignalTest], delta: float, epsilon_upper: float) -> float:
    """The greatest epsilon found below `epsilon_upper` at which a lower bound still exceeds `delta`; 0 if there is none."""

    values: dict[tuple[int, float, int], float] = {}

    def excess(test: SignalTest, eps: float, doublings: int) -> float:
        key = id(test), eps, doublings
        if key not in values:
            gained, missed = test._parts(eps, 1e-4 * delta, doublings)
            values[key] = float(np.log(gained / (delta + missed))) if gained > 0 else -np.inf
        return values[key]

    def greatest(test: SignalTest, low: float, doublings: int, start: float, near: float) -> float:
        # nothing is excluded if not even the left end exceeds delta
        at_low = excess(test, low, doublings)
        if not at_low > 0:
            return low
        start = min(start, epsilon_upper * (1 - near / 10))
        return falling_root(
            lambda x: excess(test, x, doublings), low, at_low, epsilon_upper, start, lambda high: near * high
        )[0]

    # first with few cells, each test from where the best of those before it ends
    best, first = 0.0, tests[0]
    for test in tests:
        reached = greatest(test, best, 0, best * (1 + _COARSE) or epsilon_upper, _COARSE)
        best, first = max((best, first), (reached, test), key=lambda each: each[0])
    # then with all cells, which only raise the bound: the best one, and those that few cells leave as close to it as this gains
    gained = 2 * (excess(first, best, _DOUBLINGS) - excess(first, best, 0))
    close = [test for test in tests if test is not first and (best == 0 or excess(test, best, 0) > -gained)]
    for test in (first, *close):
        best = max(best, greatest(test, best, _DOUBLINGS, best * (1 + _COARSE), _NEAR))
    return best


def most_telling(tests: Sequence[SignalTest], delta: float, coarse: int) -> SignalTest:
    """The test whose two laws on coarse cells have the greatest epsilon at this delta, or at a lesser one that some reach."""
    if len(tests) == 1:
        return tests[0]
    curves = [PrivacyCurve.of(test.released(delta, coarse=coarse)) for test in tests]
    # delta may be an upper bound, which these curves do not reach at any epsilon
    reached = min(delta, _MOST_REACHED * max(float(curve.delta(0.0)) for curve in curves))
    best, greatest = 0, curves[0].epsilon(reached)
    for place, curve in enumerate(curves):
        if curve.delta(greatest) > reached:  # its epsilon is greater
            best, greatest = place, curve.epsilon(reached)
    return tests[best]


def gamma_cells(a: float, t: FloatArray) -> FloatArray:
    """Probabilities of a gamma variable between neighbouring values, along the first axis."""
    return _gamma_cells(a, t)[0]


def _gamma_cells(a: float, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities of a gamma variable between neighbouring values, and the tails that they are differences of.

    A difference of two numbers near 1 would cancel; the error is relative to the tail that was used.
    """
    low = t[1:] < a  # whether the lower tail is the smaller one
    needed = np.zeros((2, *t.shape), dtype=bool)  # each tail at both ends of the cells that use it
    for tail, used in zip(needed, (low, ~low), strict=True):
        tail[1:] = used
        tail[:-1] |= used
    lower, upper = np.zeros((2, *t.shape))
    lower[needed[0]], upper[needed[1]] = special.gammainc(a, t[needed[0]]), special.gammaincc(a, t[needed[1]])
    inside = np.where(low, np.diff(lower, axis=0), -np.diff(upper, axis=0))
    return np.maximum(inside, 0.0), np.where(low, lower[1:], upper[:-1])


def log_norm_density(u: FloatArray, a: float) -> FloatArray:
    """log density of u, the square root of a gamma variable of shape a; no cancellation for large a.

    Examples
    --------
    >>> float(np.exp(log_norm_density(np.array([1.0]), 0.5))[0])  # 2 exp(-1) / sqrt(pi)
    0.41510...
    """
    if a > 30:  # Stirling's series; its next term is below 1e-16
        square = a * a
        # log Gamma(a) minus its main term (a - 1/2) log a - a + log(2 pi) / 2
        stirling = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / a
    else:
        # for small a the difference does not cancel
        stirling = float(special.gammaln(a)) - ((a - 0.5) * np.log(a) - a + 0.5 * np.log(2 * np.pi))
    # 2 u^(2a-1) exp(-u^2) / Gamma(a): its large terms are collected in a (t/a - 1 - log(t/a)) >= 0 with t = u^2
    return np.asarray(0.5 * np.log(2 * a / np.pi) - a * _deviance(u * u, a) - stirling - np.log(u))


def _deviance(t: FloatArray, a: float) -> FloatArray:
    """t/a - 1 - log(t/a), without cancellation where t is near a."""
    apart = (t - a) / a
    near = np.abs(apart) < 0.5
    return np.asarray(apart - np.where(near, np.log1p(np.where(near, apart, 0.0)), np.log(np.where(near, 1.0, t / a))))


_PLACES = np.arange(1, 49) / 48  # thresholds, in units of n
_ABOUT = np.geomspace(0.7, 1.6, 24)  # thresholds, in units of the optimal one at the receiver's noise alone
_TEST_ROUNDING = 1e-12  # bound of the rounding error, relative to the magnitudes of the terms


def delta_at_least(part: NoiseMixture, epsilon: float, row: int = 0) -> float:
    """The lower bound for kind `row` of a mixture; its device is ``absent`` in the neighbour, or its participation is
    hidden.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> from airtight.analytics.privacy.over_the_air import observers
    >>> from airtight.analytics.privacy.over_the_air.participation_mixture import build
    >>> system = InferenceSystem(devices=4, participation=0.9, noise_variance=0.01, weight=1.0, clip=4.0, alignment=1.0,
    ...     receiver_noise_variance=1.0, dimension=1, delta=1e-5, delta_prime=1e-5)
    >>> (part,) = build.participations(system, np.array([0]), 0.0)
    >>> low, high = delta_at_least(part, 2.0), float(observers.exact_delta(system, 2.0, device=0))
    >>> bool(0.99 < low / high < 1)
    True
    """
    # noise up, signal down
    part = part.unrounded()
    p, d = float(part.participation[row]), float(part.sensitivity[row])
    # on a grid the noise is raised by the slack: the true noise is never above that
    v, own_variance = (part.variance[row] + part.slack)[:, None], part.own_noise[row] * (1 + _TEST_ROUNDING)
    near = d / 2 if part.adjacency is Adjacency.REPLACE else d
    receiver = float(part.receiver[row])
    if not (p > 0 and near > 0 and receiver > 0):
        return 0.0
    # the best threshold for the receiver's noise alone: mean of both places plus epsilon' v / distance
    receiver_optimum = near / 2 + subsampling.unamplified(epsilon, p) * receiver / near
    thresholds = np.concatenate([near * _PLACES, receiver_optimum * _ABOUT])
    with np.errstate(all="ignore"):
        # beyond n the gain rises with the noise, so the receiver's noise alone gives the least value
        gain = p * special.ndtr((near - thresholds) / np.sqrt(np.where(thresholds <= near, v + own_variance, receiver)))
        # tails in logarithms: exp(epsilon) times a tail may be of order 1 although the tail underflows
        log_common_tail = special.log_ndtr(-thresholds / np.sqrt(v))
        # an exponent of this size errs by a few units of itself
        relative_error = _TEST_ROUNDING + 8 * UNIT * (epsilon - log_common_tail)
        if part.adjacency is Adjacency.ABSENT:
            # lambda - 1 + p = exp(epsilon) (1 - (1 - p) exp(-epsilon)), without overflow
            loss = np.exp(epsilon + np.log1p((p - 1) * np.exp(-epsilon)) + log_common_tail)
        else:
            log_far_tail = special.log_ndtr((near - d - thresholds) / np.sqrt(v + own_variance))
            loss = p * np.exp(epsilon + log_far_tail) + (1 - p) * np.exp(
                epsilon + np.log1p(-np.exp(-epsilon)) + log_common_tail
            )
        # 0 times infinity is NaN and counts as 0, which the threshold at infinity attains
        difference = np.nan_to_num(gain * (1 - _TEST_ROUNDING) - loss * (1 + relative_error))
        # each set of others has its own best threshold, as the observer may know S: delta for `others`
        mean_difference = np.sum(part.weights[row] * np.max(difference, axis=1, initial=0.0))
    rounding = part.error + (8 + v.size) * UNIT
    return float(max(mean_difference * (1 - rounding) - 2 * p * part.missing[row], 0.0))
