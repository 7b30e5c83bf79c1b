r"""Chebyshev series on [-1, 1]: transforms, values, and series whose error is estimated.

*The estimate.* A series of degree n through the values at the n + 1 extrema of a Chebyshev polynomial is taken twice the sum
of the magnitudes of the last quarter of its coefficients to be off and a thousandth of the tolerance for rounding, and in
addition Lebesgue's constant times the greatest error of these values. It is accepted where the first part is within the
tolerance and the function itself differs by no more at some places between the extrema. Both ends of the range are extrema, so
it never extrapolates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray

LEBESGUE = 5.0  # upper bound of Lebesgue's constant of at most 129 zeros or extrema of Chebyshev polynomials, below 4.2
_DEGREES = (16, 32, 64, 128)  # of the series of an estimate, each twice the one before: tried in this order
_ROUNDED = 1e-3  # share of the tolerance that the rounding of values may be
_CACHED = 1 << 13  # values of a series computed at a time: few enough for the processor's cache
# of places in [-1, 1] and of the indices of some problems: some functions there, and last the error of the first one;
# shape (functions + 1, problems, places)
Values = Callable[[FloatArray, IntArray], FloatArray]


def estimated(
    values: Values, problems: int, size: int, tolerance: float
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Series of the least degree that is accepted, for the problems that have one of at most `size`.

    Parameters
    ----------
    values : callable
        The functions of each problem.
    problems : int
        Their number.
    size : int
        Number of places at which a series is to be evaluated; one of a greater degree would not pay.
    tolerance : float
        Greatest estimate of the first function's error.

    Yields
    ------
    problems : ndarray of int
        Indices of problems that are settled.
    coefficients : ndarray, shape (functions, problems, degree + 1)
    error : ndarray, shape (problems,)
        Of the first function, by its values and by the end of the series.
    """
    left, known = np.arange(problems), np.empty((0, problems, 0))  # values at the extrema of the degree before
    for degree in _DEGREES:
        if size < degree or not left.size:
            return
        # every second extremum is known; the functions are computed between some of them, too: a wrong estimate shows there
        places = extrema(degree)[1::2] if known.size else extrema(degree)
        between, vandermonde = _between(degree)
        computed = values(np.append(places, between), left)
        computed, checked = computed[:, :, : places.size], computed[0, :, places.size :]
        if known.size:
            refined = np.empty((computed.shape[0], left.size, degree + 1))
            refined[:, :, ::2], refined[:, :, 1::2] = known, computed
            computed = refined
        with np.errstate(invalid="ignore"):
            series = computed[:-1] @ cosines_of_extrema(degree).T
            # if the coefficients halve over a quarter of the nodes, the rest of the series is at most its last quarter; twice
            # that is the estimate
            truncation = 2 * np.sum(np.abs(series[0, :, 3 * degree // 4 :]), axis=1)
            error = truncation + _ROUNDED * tolerance + LEBESGUE * np.max(computed[-1], axis=1)
            deviation = np.abs(series[0] @ vandermonde.T - checked)
            settled = (truncation <= tolerance) & np.all(deviation <= error[:, None], axis=1)
        if np.any(settled):
            yield left[settled], series[:, settled], error[settled]
        going_on = ~settled & np.all(np.isfinite(series), axis=(0, 2))
        left, known = left[going_on], computed[:, going_on]


@lru_cache
def _between(degree: int) -> tuple[FloatArray, FloatArray]:
    """Some places between the extrema, and the Chebyshev polynomials there, one per column."""
    between = np.cos(np.pi * (np.array([0, degree // 3, degree // 2, degree - 1]) + 0.5) / degree)
    return between, np.asarray(np.polynomial.chebyshev.chebvander(between, degree), dtype=float)


@lru_cache
def zeros(size: int) -> FloatArray:
    """The zeros of the Chebyshev polynomial of degree `size`."""
    return np.asarray(np.cos(np.pi * (np.arange(size) + 0.5) / size))


@lru_cache
def cosines_of_zeros(size: int) -> FloatArray:
    """Matrix that maps values at these zeros to the coefficients of the Chebyshev series, one per row."""
    cosines = np.cos(np.outer(np.arange(size), np.pi * (np.arange(size) + 0.5) / size)) * (2 / size)
    # discrete orthogonality: the constant has twice the norm of the others
    cosines[0] /= 2
    return np.asarray(cosines)


@lru_cache
def extrema(degree: int) -> FloatArray:
    """The places of [-1, 1] where the Chebyshev polynomial of this degree is 1 or -1; those of half the degree are among them."""
    return np.asarray(np.cos(np.pi * np.arange(degree + 1) / degree))


@lru_cache
def cosines_of_extrema(degree: int) -> FloatArray:
    """Matrix that maps values at these extrema to the coefficients of the Chebyshev series, one per row."""
    cosines = np.cos(np.outer(np.arange(degree + 1), np.pi * np.arange(degree + 1) / degree)) * (2 / degree)
    # both ends count half as places and as degrees
    cosines[[0, -1]] /= 2
    cosines[:, [0, -1]] /= 2
    return np.asarray(cosines)


def clenshaw(coefficients: FloatArray, row: IntArray, x: FloatArray) -> FloatArray:
    """The Chebyshev series of the given row at each x, by Clenshaw's recurrence."""
    # in chunks that stay in the cache, all series of one chunk at once
    out, columns = np.empty(x.shape), np.ascontiguousarray(coefficients.T)
    for start in range(0, x.size, _CACHED):
        part = slice(start, start + _CACHED)
        part_rows, twice = row[part], 2 * x[part]
        current = previous = np.zeros(twice.shape)
        for each in columns[:0:-1]:
            current, previous = each[part_rows] + twice * current - previous, current
        out[part] = columns[0][part_rows] + x[part] * current - previous
    return out
