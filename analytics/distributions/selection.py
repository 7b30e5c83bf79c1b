r"""Exact probabilities of selection when the server selects the `selected` lowest of K noisy scores.

Device k is selected when fewer than :math:`\tilde k` of the others lie below it:

.. math:: p_k = \int \varphi_k(x)\,G_k(x)\,dx,\qquad
          G_k(x) = \Pr\Bigl(\sum_{j\ne k} \mathbb 1[\tilde u_j < x] \le \tilde k - 1\Bigr).

The sum is Poisson-binomial with probabilities :math:`F_j(x) = \Phi((x-u_j)/\sigma_j)`. Outside a window of x the
probability :math:`G_k` is 1 or 0 by Bernstein's inequality; inside, its generating function is inverted on the unit
circle for all k at once (to leave one device out, divide by one factor). The integral over x uses composite
Gauss-Legendre quadrature on a mesh that is adapted to the scale of every device. Points of the mesh are unevaluated
sums of two doubles, so scores close to one another and noise of very different scales cause no loss of accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError, real

ComplexArray = NDArray[np.complex128]

_LEAST_NOISE = 1e-307  # a lesser one has fewer digits than a double
_REACH = 8.5  # standard deviations beyond which a normal distribution function is replaced by 0 or 1: error 1e-17
_STEPS = np.linspace(-_REACH, _REACH, 5)  # initial mesh of each device, in standard deviations
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_TAIL = 30.0  # -log of the mass outside one period of the periodised Poisson-binomial law: 1e-13
_SPREAD = 2.0  # standard deviations of the count that one panel may cross
_CELLS = 1 << 21  # numbers in memory at a time
_BLOCK, _DEGREE = 16, 16  # devices per block of the generating function; points of the interpolation in g
_SMOOTH = 100.0  # variance of the count from which the division is interpolated


def probability(score: ArrayLike, noise: ArrayLike, selected: int) -> FloatArray:
    r"""Probability that each device is among the `selected` lowest noisy scores (FDP Scheme 2.2, ledger FDP-T3*).

    Parameters
    ----------
    score : array_like, shape (K,)
        u_k, finite.
    noise : array_like, shape (K,) or scalar
        Standard deviation of the score's noise, in [0, 1e150].
    selected : int
        :math:`\tilde k`, the number of selected devices, in [0, K].

    Returns
    -------
    ndarray, shape (K,)
        Absolute error below 1e-11 for a few devices, 1e-10 up to a few thousand; the sum differs from `selected` by at
        most K * 1e-12. Among equal scores without noise, the first device counts as the lower one.

    Raises
    ------
    ParameterError
        If a value is out of range or the lengths do not match.

    Notes
    -----
    For C distinct pairs (score, noise), the time is O(C sqrt(C)) per node of the mesh. The mesh has at most 80 nodes
    per distinct pair inside the window, and a few hundred nodes in total when the scales are similar. Memory is
    bounded.

    Examples
    --------
    >>> probability([0.2, 0.5, 0.9, 1.3, 0.4], [0.3, 0.1, 0.5, 0.2, 0.4], 2).round(6)
    array([8.41928e-01, 4.11606e-01, 1.67426e-01, 1.14000e-04, 5.78927e-01])
    >>> probability([0.0, 1.0], 0.0, 1)
    array([1., 0.])
    """
    u, sigma = _checked(score, noise)
    m = checks.count("selected", selected, f"[0, {u.size}]")
    if m in (0, u.size):
        return np.full(u.size, float(m > 0))
    pairs, inverse, multiplicity = np.unique(u + 1j * sigma, return_inverse=True, return_counts=True)
    centre, spread = pairs.real.copy(), pairs.imag.copy()
    probabilities = np.zeros(u.size)
    noisy = spread > 0
    if np.any(noisy):
        probabilities += _smooth(centre, spread, multiplicity, m)[inverse]
    for k in np.flatnonzero(sigma == 0):
        probabilities[k] = _atom(u, sigma, int(k), m)
    return np.clip(probabilities, 0.0, 1.0)


def _checked(score: ArrayLike, noise: ArrayLike) -> tuple[FloatArray, FloatArray]:
    u = real("score", score, "[-1e150, 1e150]")
    if u.ndim != 1 or not u.size:
        raise ParameterError("score", f"array of shape {u.shape}", "one axis of at least one score")
    sigma = checks.vector("noise", noise, u.size, "[0, 1e150]")
    if np.any((sigma > 0) & (sigma < _LEAST_NOISE)):
        raise ParameterError("noise", float(np.min(sigma[sigma > 0])), f"0 or at least {_LEAST_NOISE:g}")
    return u, sigma


def _smooth(u: FloatArray, sigma: FloatArray, multiplicity: IntArray, m: int) -> FloatArray:
    """Probabilities of the devices that have noise, one value per class."""
    mesh = _Mesh(u, sigma, multiplicity, m)
    noisy = sigma > 0
    # left of the mesh every G_k is 1: this part of the integral is F_k at the first point
    out = np.where(noisy, mesh.below(np.arange(u.size), 0)[0], 0.0)
    for panels, active in mesh.batches():
        x_cdf, density_weights = mesh.nodes(panels, active)
        lower_count = int(multiplicity[mesh.certain(panels, active)].sum())
        g = _leave_one_out(x_cdf, multiplicity[active], m - 1 - lower_count)
        out[active] += np.einsum("nk,nk->k", density_weights, g)
    return out


def _atom(u: FloatArray, sigma: FloatArray, k: int, m: int) -> float:
    """Probability that device k, which has no noise, is selected."""
    from airtight.analytics.distributions import poisson_binomial

    with np.errstate(divide="ignore", invalid="ignore"):
        below = special.ndtr((u[k] - u) / sigma)
    noiseless = sigma == 0
    comes_first = np.arange(u.size) < k
    below[noiseless] = (u[noiseless] < u[k]) | ((u[noiseless] == u[k]) & comes_first[noiseless])
    law = poisson_binomial.pmf(np.delete(below, k))
    return float(np.sum(law[:m]))


class _Mesh:
    """Panels of x on which all F_k are smooth; a point of the mesh is the unevaluated sum ``high + low``."""

    def __init__(self, u: FloatArray, sigma: FloatArray, multiplicity: IntArray, m: int) -> None:
        self.u, self.sigma, self.multiplicity, self.m = u, sigma, multiplicity, m
        self.high, self.low = _two_sum(np.repeat(u, _STEPS.size), np.outer(sigma, _STEPS).ravel())
        self._sort()
        self._trim()
        self._thin()
        self._refine()

    def _sort(self) -> None:
        order = np.lexsort((self.low, self.high))
        high, low = self.high[order], self.low[order]
        fresh = np.concatenate([[True], (high[1:] != high[:-1]) | (low[1:] != low[:-1])])
        self.high, self.low = high[fresh], low[fresh]

    def _standardised(self, which: IntArray, high: FloatArray, low: FloatArray) -> FloatArray:
        """(x - u_k) / sigma_k, points by devices."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = ((high[:, None] - self.u[which]) + low[:, None]) / self.sigma[which]
        return np.nan_to_num(t, nan=0.0, posinf=np.inf, neginf=-np.inf)

    def below(self, which: IntArray, places: IntArray | int) -> FloatArray:
        """F_k at some points, points by devices."""
        indices = np.atleast_1d(places)
        return np.asarray(special.ndtr(self._standardised(which, self.high[indices], self.low[indices])))

    def _count(self, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the number of devices below some points."""
        mean, variance = np.empty(places.size), np.empty(places.size)
        every = np.arange(self.u.size)
        step = max(_CELLS // self.u.size, 1)
        for start in range(0, places.size, step):
            chunk = slice(start, start + step)
            f = self.below(every, places[chunk])
            mean[chunk] = f @ self.multiplicity
            variance[chunk] = (f * (1 - f)) @ self.multiplicity
        return mean, variance

    def _trim(self) -> None:
        """Drop the points left of which every G_k is 1, or right of which every G_k is 0."""

        def last(certain: bool) -> int:
            low, high = 0, self.high.size - 1
            while high - low > 1:
                middle = (low + high) // 2
                mean, variance = (float(v[0]) for v in self._count(np.array([middle])))
                gap = (self.m - mean) if certain else (mean - self.m)
                holds = gap >= _deviation(variance)
                if holds == certain:
                    low = middle
                else:
                    high = middle
            return low if certain else high

        first, final = last(True), last(False)
        self.high, self.low = self.high[first : final + 1], self.low[first : final + 1]

    def _thin(self) -> None:
        """Merge neighbouring panels while they stay short for the narrowest device whose F_k changes there."""
        order = np.argsort(-self.sigma)
        order = order[self.sigma[order] > 0]
        starts = self._find(*_two_sum(self.u[order], -_REACH * self.sigma[order]))
        ends = self._find(*_two_sum(self.u[order], _REACH * self.sigma[order]))
        longest = np.full(self.high.size - 1, np.inf)
        for start, end, width in zip(starts, ends, self.sigma[order] * (_STEPS[1] - _STEPS[0]), strict=True):
            longest[start:end] = width
        jumps = np.zeros(self.high.size, dtype=bool)
        noiseless = self.u[self.sigma == 0]
        places = self._find(noiseless, np.zeros(noiseless.size))
        jumps[places[places < self.high.size]] = True
        length = (self.high[1:] - self.high[:-1]) + (self.low[1:] - self.low[:-1])
        kept_points, reach, allowed = [0], 0.0, np.inf
        for i in range(length.size):
            if kept_points[-1] < i and (jumps[i] or reach + length[i] > min(allowed, longest[i])):
                kept_points.append(i)
                reach, allowed = 0.0, np.inf
            reach, allowed = reach + length[i], min(allowed, longest[i])
        kept_points.append(length.size)
        self.high, self.low = self.high[kept_points], self.low[kept_points]

    def _find(self, high: FloatArray, low: FloatArray) -> IntArray:
        """Index of the first mesh point that is not left of each given point."""
        merged = np.lexsort(
            (
                np.concatenate([np.zeros(high.size), np.ones(self.high.size)]),
                np.concatenate([low, self.low]),
                np.concatenate([high, self.high]),
            )
        )
        rank = np.empty(merged.size, dtype=np.int64)
        rank[merged] = np.cumsum(merged >= high.size)
        return rank[: high.size]

    def _refine(self) -> None:
        """Halve panels until the mean count changes by at most a few of its standard deviations on each panel."""
        new_points = np.arange(self.high.size)
        mean, deviation = np.empty(self.high.size), np.empty(self.high.size)
        while True:
            mean[new_points], variance = self._count(new_points)
            deviation[new_points] = np.sqrt(np.maximum(variance, 0.0))
            width = (self.high[1:] - self.high[:-1]) + (self.low[1:] - self.low[:-1])
            scale = np.maximum(np.minimum(deviation[1:], deviation[:-1]), 1.0)
            wide = np.flatnonzero((np.diff(mean) > _SPREAD * scale) & (width > 0))
            high, low = _two_sum(self.high[wide], self.low[wide] + width[wide] / 2)
            useful = ((high != self.high[wide]) | (low != self.low[wide])) & self._movable(wide, width)
            wide, high, low = wide[useful], high[useful], low[useful]
            if not wide.size:
                return
            self.high = np.insert(self.high, wide + 1, high)
            self.low = np.insert(self.low, wide + 1, low)
            new_points = wide + 1 + np.arange(wide.size)
            mean, deviation = np.insert(mean, wide + 1, 0.0), np.insert(deviation, wide + 1, 0.0)

    def _movable(self, wide: IntArray, width: FloatArray) -> FloatArray:
        """Whether halving helps: a jump caused by devices without noise remains however narrow the panel is."""
        smallest = np.min(self.sigma[self.sigma > 0])
        return np.asarray(width[wide] > 1e-3 * smallest / np.sqrt(self.multiplicity.sum()))

    def batches(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Runs of panels that fit in memory, each with the devices that are not certainly below or above."""
        panels = self.high.size - 1
        start = 0
        size = min(panels, max(1, _CELLS // (16 * self.u.size * 48))) if panels else 0
        while start < panels:
            run = np.arange(start, min(start + size, panels))
            ends = self._standardised(
                np.arange(self.u.size), self.high[[run[0], run[-1] + 1]], self.low[[run[0], run[-1] + 1]]
            )
            active = np.flatnonzero((ends[0] < _REACH) & (ends[1] > -_REACH))
            if active.size:
                yield run, active
            start += size

    def certain(self, panels: IntArray, active: IntArray) -> IntArray:
        """Devices that are certainly below these panels."""
        inside = np.zeros(self.u.size, dtype=bool)
        inside[active] = True
        first, final = np.array([panels[0]]), np.array([panels[-1] + 1])
        start = self._standardised(np.arange(self.u.size), self.high[first], self.low[first])[0]
        end = self._standardised(np.arange(self.u.size), self.high[final], self.low[final])[0]
        return np.flatnonzero(~inside & (np.clip(start, -1, 1) + np.clip(end, -1, 1) > 0))

    def nodes(self, panels: IntArray, active: IntArray) -> tuple[FloatArray, FloatArray]:
        """F_k at the Gauss-Legendre nodes of some panels, and quadrature weight times density; nodes by devices."""
        width = (self.high[panels + 1] - self.high[panels]) + (self.low[panels + 1] - self.low[panels])
        offset = (self.low[panels][:, None] + width[:, None] * (_NODES + 1) / 2).ravel()
        t = self._standardised(active, np.repeat(self.high[panels], _NODES.size), offset)
        weight = (width[:, None] / 2 * _WEIGHTS).ravel()
        sigma = self.sigma[active]
        with np.errstate(under="ignore", over="ignore", divide="ignore"):
            per_sigma = np.where(sigma > 0, weight[:, None] / sigma, 0.0)
            density = np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
            return np.asarray(special.ndtr(t)), np.multiply(
                density, per_sigma, out=np.zeros(t.shape), where=density > 0
            )


def _two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The exact sum a + b as a rounded sum and its error (Knuth)."""
    total = a + b
    b_rounded = total - a
    return total, (a - (total - b_rounded)) + (b - b_rounded)


def _deviation(variance: FloatArray | float) -> FloatArray:
    """Deviation of a Poisson-binomial count from its mean that has probability at most exp(-30) (Bernstein)."""
    third = _TAIL / 3
    return np.asarray(third + np.sqrt(third * third + 2 * _TAIL * np.asarray(variance)))


def _leave_one_out(f: FloatArray, multiplicity: IntArray, most: int) -> FloatArray:
    """Pr(count without one device of class k <= most) for Bernoulli(f) counts; nodes by classes.

    The generating function at M roots of unity gives the law of the count modulo M; M covers all of the law except
    2e-13. M is odd, so that no root is -1, where a factor may vanish. Division by a small factor amplifies only the
    rounding error of a product that is small as well.
    """
    mean, variance = f @ multiplicity, (f * (1 - f)) @ multiplicity
    total = int(multiplicity.sum())
    if most < 0:
        return np.zeros_like(f)
    if most >= total:
        return np.ones_like(f)
    reach = float(_deviation(float(np.max(variance))))
    first = np.floor(np.maximum(mean - reach - 1, 0)).astype(int)
    points = min(int(2 * reach) + 4, total + 1) | 1
    roots = np.exp(2j * np.pi * np.arange((points + 1) // 2) / points)
    divide = _divided_smoothly if np.min(variance) > _SMOOTH else _divided
    out = np.empty_like(f)
    step = max(_CELLS // (f.shape[1] * roots.size), 1)
    for start in range(0, f.shape[0], step):
        chunk = slice(start, start + step)
        law = _generating_function(f[chunk], multiplicity, roots) * _window(first[chunk], most, points, roots)
        law[:, 1:] *= 2
        out[chunk] = divide(law, f[chunk], roots) / points
    return np.clip(out, 0.0, 1.0)


def _generating_function(f: FloatArray, multiplicity: IntArray, roots: ComplexArray) -> ComplexArray:
    """prod_k (1 + f_k (z - 1))^multiplicity_k; nodes by roots. Single devices are first multiplied in blocks of 16."""
    single = multiplicity == 1
    versine, repeated, repetitions = (1 - roots).real, f[:, ~single], multiplicity[~single].astype(float)
    with np.errstate(under="ignore"):
        modulus = repetitions @ np.log1p(np.multiply.outer(-2 * repeated * (1 - repeated), versine)) / 2
        phase = repetitions @ np.arctan2(np.multiply.outer(repeated, roots.imag), 1 - np.multiply.outer(repeated, versine))
        value = np.exp(modulus + 1j * phase)
        single_f = f[:, single].T
        width = min(_BLOCK, max(len(single_f), 1))
        blocks = -(-len(single_f) // width)
        flat = np.zeros((blocks * width, f.shape[0]))
        flat[: len(single_f)] = single_f
        padded = flat.reshape(blocks, width, f.shape[0])
        law = np.zeros((width + 1, blocks, f.shape[0]))
        law[0] = 1.0
        for i in range(width):
            p = padded[:, i]
            law[1 : i + 2] = law[1 : i + 2] * (1 - p) + law[: i + 1] * p
            law[0] *= 1 - p
        powers = roots ** np.arange(width + 1)[:, None]
        for block in range(blocks):
            value *= law[:, block].T @ powers
    return np.asarray(value)


def _divided(law: ComplexArray, f: FloatArray, roots: ComplexArray) -> FloatArray:
    """sum over the roots of Re(law / (1 + f (z - 1))); nodes by classes.

    Multiplied by the conjugate of the denominator, a term is (Re law + f (Im law sin - Re law versine)) / (1 - g
    versine), g = 2 f (1 - f).
    """
    numerator, versine = _numerator(law, roots)
    square = np.multiply.outer(-2 * f * (1 - f), versine)
    square += 1
    np.reciprocal(square, out=square)
    parts = square @ numerator
    return np.asarray(parts[..., 0] + f * parts[..., 1])


def _divided_smoothly(law: ComplexArray, f: FloatArray, roots: ComplexArray) -> FloatArray:
    """The sum of :func:`_divided` if the variance of the count is at least 100, by interpolation in g in [0, 1/2].

    Then abs(law) <= exp(-100 versine), so up to an error of 1e-17 only versine < 0.4 matters. For these, the pole of 1
    / (1 - g versine) is at g > 2.5, and its interpolant in 16 Chebyshev points has an error below 17^-16.
    """
    numerator, versine = _numerator(law, roots)
    points = np.cos(np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE)
    values = 1 / (1 - np.multiply.outer((points + 1) / 4, versine)) @ numerator
    coefficients_of_values = np.linalg.inv(chebyshev.chebvander(points, _DEGREE - 1))
    parts = chebyshev.chebvander(8 * f * (1 - f) - 1, _DEGREE - 1) @ (coefficients_of_values @ values)
    return np.asarray(parts[..., 0] + f * parts[..., 1])


def _numerator(law: ComplexArray, roots: ComplexArray) -> tuple[FloatArray, FloatArray]:
    """Re law and Im law sin - Re law versine on the last axis; and the versine, 1 - cos, of the roots."""
    versine = (1 - roots).real
    return np.stack([law.real, law.imag * roots.imag - law.real * versine], axis=-1), versine


def _window(first: IntArray, most: int, points: int, roots: ComplexArray) -> ComplexArray:
    """sum of z^(-n) for n from first to min(most, first + points - 1): selects these counts of the periodic law."""
    length = np.clip(most - first + 1, 0, points)
    turns = np.arange(roots.size)
    backwards = np.exp(-2j * np.pi * np.arange(points) / points)
    start = backwards[np.multiply.outer(first, turns) % points]
    end = backwards[np.multiply.outer(first + length, turns) % points]
    window = np.empty_like(start)
    window[:, 1:] = (start - end)[:, 1:] / (1 - np.conj(roots[1:]))
    window[:, 0] = length
    return np.asarray(window)
