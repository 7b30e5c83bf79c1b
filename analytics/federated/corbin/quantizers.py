r"""One-bit stochastic quantizers: LDPQ and the correlated pair CorBinQ (CorBin-FL, Algorithms 1 and 2).

.. warning::
   The local guarantee of CorBinQ holds for an observer of *one* uplink. The server sees both outputs of a pair. From
   one shared bit on, their joint law can have an infinite likelihood ratio, so that no finite local epsilon holds for
   the server (ledger CB-PLDP*). Without shared bits the two outputs are independent.

With :math:`\alpha = (e^{\epsilon}+1)/(e^{\epsilon}-1)` and :math:`A = r\alpha`, a quantizer outputs :math:`c + A` with
probability :math:`q = \tfrac12 + (w-c)/(2A)`, else :math:`c - A`. The two clients of a pair compare one shared number
of d bits with the levels :math:`2^dq_1` and :math:`2^d(1-q_2)`, so that one of them tends to round up where the other
rounds down. The module samples the quantizers and computes the exact law and error of a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, broadcast, real
from airtight.analytics.privacy.mechanisms.randomized_response import alpha as alpha
from airtight.analytics.rounding import UNIT

_MOST_BITS = 60  # greatest number of shared bits: the shared number is a 64-bit integer
_PIECE = 1 << 16  # number of parameters that are quantized at a time, to limit the memory


@dataclass(frozen=True)
class _Inputs:
    """Offsets from the center, the radius, A, which is half the distance between the outputs, A - r and (A - r)/(2A)."""

    offsets: tuple[FloatArray, ...]
    radius: FloatArray
    A: FloatArray
    excess: FloatArray
    least: FloatArray


def _inputs(w: dict[str, ArrayLike], epsilon: ArrayLike, center: ArrayLike, radius: ArrayLike) -> _Inputs:
    r, c = real("radius", radius, "(0, inf)"), real("center", center)
    at = {name: np.asarray(real(name, value)) for name, value in w.items()}
    broadcast(**at, center=c, radius=r, epsilon=real("epsilon", epsilon, "(0, inf]"))
    offsets = tuple(offset(value, center=c, radius=r, name=name) for name, value in w.items())
    eps = real("epsilon", epsilon, "(0, inf]")
    fade = np.exp(-eps)
    with np.errstate(over="ignore"):
        excess, A = 2 * r / np.expm1(eps), np.asarray(r * alpha(eps))
    return _Inputs(offsets, r, A, excess, np.asarray(fade / (1 + fade)))


def offset(w: ArrayLike, *, center: ArrayLike, radius: ArrayLike, name: str = "w") -> FloatArray:
    """w - center, for w within the radius of the center.

    Raises
    ------
    ParameterError
        If a parameter lies outside the interval; the error names it `name`.

    Examples
    --------
    >>> offset([1.0, 2.5], center=2.0, radius=1.0)
    array([-1. ,  0.5])
    """
    weights, c, r = broadcast(w=real(name, w), center=real("center", center), radius=real("radius", radius, "(0, inf)"))
    outside = np.abs(weights - c) > r * (1 + 4 * UNIT)
    if np.any(outside):
        index = tuple(int(i) for i in np.argwhere(outside)[0])
        low, high = float((c - r)[index]), float((c + r)[index])
        allowed = f"in [center - radius, center + radius] = [{low:g}, {high:g}]"
        raise ParameterError(name, float(weights[index]), allowed, index)
    return np.asarray(np.clip(weights - c, -r, r))


def _bits(bits: int | None) -> int | None:
    return None if bits is None else checks.count("bits", bits, f"[0, {_MOST_BITS}]")


def ldpq(
    w: ArrayLike,
    *,
    epsilon: ArrayLike,
    center: ArrayLike = 0.0,
    radius: ArrayLike = 1.0,
    rng: np.random.Generator,
    clip: bool = False,
) -> FloatArray:
    r"""LDPQ, Algorithm 1: :math:`c \pm A`, unbiased, epsilon-locally private, variance :math:`A^2 - (w-c)^2`.

    Parameters
    ----------
    w : array_like
        In [center - radius, center + radius].
    epsilon : array_like
        Privacy of one parameter, in (0, inf].
    center, radius : array_like
        Finite; radius > 0.
    rng : numpy.random.Generator
    clip : bool
        Move parameters outside the interval to its nearer end; the output is then unbiased for the clipped parameter.

    Returns
    -------
    ndarray
        One output for each parameter; float32 if `w` is float32, else float64. Parameters are quantized in pieces, so
        that only inputs and output need memory in proportion to their number.

    Raises
    ------
    ParameterError
        If a parameter lies outside the interval and `clip` is false.

    Examples
    --------
    >>> ldpq([0.5, -0.5, 0.0], epsilon=np.log(3), rng=np.random.default_rng(1))
    array([ 2., -2.,  2.])
    """

    def draw(q: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(rng.random(q.size) < q)

    return _quantized(w, draw, sign=1, epsilon=epsilon, center=center, radius=radius, clip=clip)


def corbinq(
    w1: ArrayLike,
    w2: ArrayLike,
    *,
    epsilon: ArrayLike,
    center: ArrayLike = 0.0,
    radius: ArrayLike = 1.0,
    bits: int | None,
    rng: np.random.Generator,
    clip: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """CorBinQ: a pair of correlated outputs, by Algorithm 2 with line 14 corrected (Z is compared with T_2, not T_1).

    Parameters
    ----------
    w1, w2 : array_like
        The parameters of both clients, in [center - radius, center + radius].
    bits : int or None
        d in [0, 60], number of shared random bits for each parameter; None for the limit of infinitely many. With 0
        bits the outputs are those of two independent LDPQ.
    rng : numpy.random.Generator
        Source of the common seed and of the private coins of both clients.
    epsilon, center, radius, clip
        As for :func:`ldpq`.

    Returns
    -------
    tuple of ndarray
        The outputs of both clients; each alone is distributed as :func:`ldpq`.

    Examples
    --------
    >>> first, second = corbinq(np.full(4, 0.5), np.full(4, -0.5), epsilon=1.0, bits=None, rng=np.random.default_rng(0))
    >>> np.abs(first + second).max() < 1e-15
    np.True_
    """
    w1, w2 = broadcast(w1=np.asarray(w1), w2=np.asarray(w2))
    seed = int(rng.integers(2**63))
    settings = {"epsilon": epsilon, "center": center, "radius": radius, "bits": bits, "rng": rng, "clip": clip}
    first: FloatArray = corbinq_half(w1, lead=True, seed=seed, **settings)  # type: ignore[arg-type]
    second: FloatArray = corbinq_half(w2, lead=False, seed=seed, **settings)  # type: ignore[arg-type]
    return first, second


def corbinq_half(
    w: ArrayLike,
    *,
    lead: bool,
    seed: int,
    epsilon: ArrayLike,
    center: ArrayLike = 0.0,
    radius: ArrayLike = 1.0,
    bits: int | None,
    rng: np.random.Generator,
    clip: bool = False,
) -> FloatArray:
    """The output of one client of a pair, which shares only the seed with the other client.

    Parameters
    ----------
    w : array_like
    lead : bool
        True for one client of the pair, False for the other.
    seed : int
        Common seed, >= 0, which the Philox generator expands into the shared bits, so that no further bits need be
        sent.
    rng : numpy.random.Generator
        Source of the private coins of this client.
    epsilon, center, radius, bits, clip
        As for :func:`corbinq`.

    Examples
    --------
    >>> private = np.random.default_rng(3)
    >>> common = {"seed": 7, "epsilon": 1.0, "bits": 5, "rng": private}
    >>> one = corbinq_half(np.zeros(1000), lead=True, **common)
    >>> other = corbinq_half(np.zeros(1000), lead=False, **common)
    >>> bool(np.mean(one + other == 0) > 0.9)
    True
    """
    d = _bits(bits)
    if int(seed) != seed or seed < 0:
        raise ParameterError("seed", seed, "an integer >= 0")
    shared = np.random.Generator(np.random.Philox(seed))

    def draw(level: FloatArray) -> NDArray[np.bool_]:
        if d is None:
            return np.asarray(shared.random(level.size) < level)
        return _is_below(shared.integers(0, 2**d, level.size), level, d, rng)

    sign = 1 if checks.flag("lead", lead) else -1
    return _quantized(w, draw, sign=sign, epsilon=epsilon, center=center, radius=radius, clip=clip)


def corbinq_received(
    w: ArrayLike,
    shared: ArrayLike,
    *,
    lead: bool,
    epsilon: ArrayLike,
    center: ArrayLike = 0.0,
    radius: ArrayLike = 1.0,
    bits: int,
    rng: np.random.Generator,
) -> FloatArray:
    """The output of one client of a pair that holds the shared bits themselves, as in Algorithm 3, and no seed.

    Parameters
    ----------
    w : array_like
    shared : array_like of int, of the shape of the outputs
        Z in [0, 2^bits).
    lead, epsilon, center, radius, bits, rng
        As for :func:`corbinq_half`.

    Examples
    --------
    >>> common = {"epsilon": 1.0, "bits": 2, "rng": np.random.default_rng(0)}
    >>> corbinq_received([0.5, 0.5], [0, 3], lead=True, **common).round(2)
    array([ 2.16, -2.16])
    """
    d = checks.count("bits", bits, "[0, 60]")
    z = np.asarray(shared)
    if z.dtype.kind not in "iu" or np.any((z < 0) | (z >= 2**d)):
        raise ParameterError("shared", f"array of {z.dtype}", f"whole numbers in [0, {2**d})")
    remaining = z.ravel()

    def draw(level: FloatArray) -> NDArray[np.bool_]:
        nonlocal remaining
        taken, remaining = remaining[: level.size], remaining[level.size :]
        return _is_below(taken, level, d, rng)

    sign = 1 if checks.flag("lead", lead) else -1
    if np.shape(w) != z.shape:
        raise ParameterError("shared", f"array of shape {z.shape}", f"of shape {np.shape(w)}, as w is")
    return _quantized(w, draw, sign=sign, epsilon=epsilon, center=center, radius=radius, clip=False)


def _is_below(z: NDArray[np.integer[Any]], level: FloatArray, bits: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether z is in a cell below the level, or in its cell and a private coin says so."""
    cells = 2.0**bits * level
    whole = np.floor(cells)
    return np.asarray((z < whole) | ((z == whole) & (rng.random(level.size) < cells - whole)))


def _quantized(
    w: ArrayLike,
    draw: Callable[[FloatArray], NDArray[np.bool_]],
    *,
    sign: int,
    epsilon: ArrayLike,
    center: ArrayLike,
    radius: ArrayLike,
    clip: bool,
) -> FloatArray:
    """c + sign A where `draw` is true at the level 1/2 + sign (w - c)/(2A), else c - sign A; evaluated in pieces."""
    weights = np.asarray(w)
    if weights.dtype.kind not in "iuf":
        weights = real("w", w)
    a, c, r = np.asarray(alpha(epsilon)), real("center", center), real("radius", radius, "(0, inf)")
    clips = checks.flag("clip", clip)
    if not np.all(np.isfinite(a)):
        least = float(np.min(np.asarray(epsilon, dtype=float)))
        raise ParameterError("epsilon", least, "so large that the outputs center +- radius * alpha are doubles")
    try:
        shape = np.broadcast_shapes(weights.shape, a.shape, c.shape, r.shape)
    except ValueError:
        broadcast(w=weights, epsilon=a, center=c, radius=r)
        raise
    out = np.empty(shape, dtype=np.float32 if weights.dtype == np.float32 else np.float64)
    views = [np.broadcast_to(x, shape) for x in (weights, a, c, r)]
    pieces: Any = np.nditer(  # type: ignore[call-overload]
        [*views, out],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly"]] * 4 + [["writeonly"]],
        op_dtypes=[np.float64] * 4 + [out.dtype],
        casting="same_kind",
        buffersize=_PIECE,
        order="C",
    )
    with pieces:
        for value, alpha_, center_, radius_, target in pieces:
            x = value - center_
            if not np.all(np.abs(x) <= radius_ * (1 + 4 * UNIT)):
                if not clips or np.any(np.isnan(x)):
                    offset(weights, center=c, radius=r)  # raises the error for the first parameter outside
                x = np.clip(x, -radius_, radius_)
            A = alpha_ * radius_
            output_is_upper = draw(0.5 + sign * x / (2 * A))
            target[...] = center_ + np.where(output_is_upper, sign * A, -sign * A)
    return np.asarray(out)[()]


@checks.own_errstate
def pair_law(
    w1: ArrayLike,
    w2: ArrayLike,
    *,
    epsilon: ArrayLike,
    center: ArrayLike = 0.0,
    radius: ArrayLike = 1.0,
    bits: int | None,
) -> FloatArray:
    r"""The joint law of both outputs of CorBinQ, which the server sees.

    Parameters
    ----------
    w1, w2, epsilon, center, radius, bits
        As for :func:`corbinq`.

    Returns
    -------
    ndarray, shape (..., 2, 2)
        Probability of (first, second), index 1 for :math:`c + A` and 0 for :math:`c - A`, for the offsets w - c as doubles.
        P(+-) and P(-+) have a relative error of at most 2^-46; so have P(++) and P(--) for d = None. For finitely many bits
        these two have an error of at most 2^-48, which is relative to 1: whether two levels lie in one cell is decided in
        doubles. Entries below 1e-292 have no relative accuracy.

    Notes
    -----
    Let :math:`a = 2^dq_1`, :math:`b = 2^d(1-q_2)`. If their integer parts differ, or d is infinite, P(+-) = min(a,
    b)/2^d, the Frechet bound. If both integer parts are n, with fractional parts :math:`f_1, f_2`, both clients need
    private coins in the same cell: P(++) = f_1 (1 - f_2)/2^d, P(--) = (1 - f_1) f_2/2^d, P(+-) = (n + f_1 f_2)/2^d.

    *Error.* With :math:`u = 2^{-53}` and functions of the library that err by at most 4u: :math:`q_1 = 1/(1+e^\epsilon) +
    (r+x)/(2A)` and its like are sums of positive terms, each with at most 16u, and :math:`(x+y)/(2A)` has at most 16u. A
    level is computed as its distance from the nearest of both ends and the middle, with a relative error of 16u. For d >= 1
    the distance is at most a quarter of all cells, for d = 0 half of the one cell; the subtraction of the whole part adds u
    at most. So a fractional part errs by at most :math:`(4u + u/2^d) 2^d` (for d = 0 by 9u), hence P(++) by 18u. :math:`n
    + f_1f_2` errs by at most 64u relative: where the distance is that from the lower end, it is below n + 1 cells and f has
    a relative error for n = 0; else n is a quarter of all cells or more, or d <= 1, n = 0 and f >= 1/2. P(++) is continuous
    in both levels, also across an edge of cells. So a level that the rounding puts on the wrong side of an edge costs no
    more than a level at the edge.

    Examples
    --------
    >>> pair_law(0.5, -0.5, epsilon=np.log(3), bits=None).round(9)
    array([[0.   , 0.375],
           [0.625, 0.   ]])
    """
    inputs = _inputs({"w1": w1, "w2": w2}, epsilon, center, radius)
    x, y = inputs.offsets
    r, width = inputs.radius, 2 * inputs.A
    half, plus_minus, minus_plus = broadcast(
        half=(x + y) / width,
        plus_minus=inputs.least + np.minimum(r + x, r - y) / width,
        minus_plus=inputs.least + np.minimum(r - x, r + y) / width,
    )
    first, second, same, cells = _cells(inputs, _bits(bits))
    plus_plus = np.where(same, first.below * second.above / cells, np.maximum(half, 0.0))
    minus_minus = np.where(same, first.above * second.below / cells, np.maximum(-half, 0.0))
    higher = 2 ** (bits or 0) - 1 - first.whole  # whole cells above the common one
    plus_minus = np.where(same, (first.whole + first.below * second.below) / cells, plus_minus)
    minus_plus = np.where(same, (higher + first.above * second.above) / cells, minus_plus)
    return np.stack([np.stack([minus_minus, minus_plus], axis=-1), np.stack([plus_minus, plus_plus], axis=-1)], axis=-2)


@dataclass(frozen=True)
class _Level:
    """A level in units of cells: the number of whole cells below it, and the parts of its cell below and above it."""

    whole: NDArray[np.int64]
    below: FloatArray
    above: FloatArray

    @classmethod
    def of(cls, inputs: _Inputs, x: FloatArray, bits: int) -> _Level:
        r"""The level :math:`2^d(A+x)/2A`, computed from the nearest of the lowest, the middle and the highest edge."""
        cells, middle = 2.0**bits, 2 ** (bits - 1) if bits else 0
        from_middle = cells / 2 * x / inputs.A
        from_end = cells * (inputs.least + (inputs.radius - np.abs(x)) / (2 * inputs.A))
        central = (np.abs(from_middle) <= cells / 4) & (bits > 0)
        distance = np.where(central, from_middle, np.where(x > 0, -from_end, from_end))
        edge = np.where(central, middle, np.where(x > 0, 2**bits, 0))
        floor = np.floor(distance)
        return cls(edge + floor.astype(np.int64), distance - floor, floor + 1 - distance)


def _cells(inputs: _Inputs, bits: int | None) -> tuple[_Level, _Level, NDArray[np.bool_], float]:
    """The levels of q_1 and 1 - q_2, whether they lie in the same cell, and the number of cells."""
    x, y = inputs.offsets
    first, second = _Level.of(inputs, x, bits or 0), _Level.of(inputs, -y, bits or 0)
    same = np.asarray(first.whole == second.whole)
    return first, second, same & (bits is not None), np.inf if bits is None else 2.0**bits


@checks.own_errstate
def pair_mse(
    w1: ArrayLike,
    w2: ArrayLike,
    *,
    epsilon: ArrayLike,
    center: ArrayLike = 0.0,
    radius: ArrayLike = 1.0,
    bits: int | None,
) -> FloatArray:
    r"""Exact mean squared error of the sum of a pair (ledger CB-T1*).

    .. math:: m_d = 2A|s| - s^2 + \frac{8A^2}{2^d}\bigl(\min(f_1,f_2) - f_1f_2\bigr)\,[\lfloor a\rfloor = \lfloor b\rfloor],
              \qquad s = (w_1-c) + (w_2-c).

    The last term is at most :math:`A^2/2^{d-1}`; the slack of the paper is :math:`A^2/2^{d-6}`.

    Parameters
    ----------
    w1, w2, epsilon, center, radius, bits
        As for :func:`corbinq`.

    Returns
    -------
    ndarray or float
        The relative error is below 1e-14. Where both levels lie in one cell that is not next to the lowest, the middle
        or the highest edge, an error of 16 units in the last place of :math:`A(|w_1-c|+|w_2-c|)` is added.

    Notes
    -----
    :math:`A - r = 2r/(e^\epsilon-1)` gives the distances A - x and A + x of a level from the two ends without
    cancellation. The distance from the middle, which is an edge for d > 0, is x. The least of the three distances is
    used. So a fractional part has a small relative error in the cells next to those edges. Elsewhere its error is at
    most the rounding error of :math:`2^d|x|/2A`, which enters with a factor of at most :math:`8A^2/2^d`.
    :math:`2A - |s|` is the sum of two such distances.

    Examples
    --------
    >>> round(float(pair_mse(1.0, 1.0, epsilon=np.log(3), bits=None)), 12)
    4.0
    >>> round(float(pair_mse(0.5, -0.5, epsilon=np.log(3), bits=0)), 12)  # two independent LDPQ: 2 (A^2 - 1/4)
    7.5
    """
    inputs = _inputs({"w1": w1, "w2": w2}, epsilon, center, radius)
    x, y = inputs.offsets
    s, sign = np.abs(x + y), np.where(x + y < 0, -1.0, 1.0)
    distances = 2 * inputs.excess + (inputs.radius - sign * x) + (inputs.radius - sign * y)
    first, second, same, cells = _cells(inputs, _bits(bits))
    fraction = np.minimum(first.below, second.below) * np.minimum(first.above, second.above)
    return np.asarray(s * distances + np.where(same, 8 * inputs.A**2 / cells * fraction, 0.0))[()]


def slack(*, epsilon: ArrayLike, radius: ArrayLike = 1.0, bits: int) -> FloatArray:
    r"""Tight bound of the excess MSE with d shared bits over infinitely many: :math:`A^2/2^{d-1}`.

    Notes
    -----
    min(f_1, f_2) - f_1 f_2 = min (1 - max) <= 1/4, attained at f_1 = f_2 = 1/2.

    Examples
    --------
    >>> float(slack(epsilon=np.log(3), bits=5))
    0.25...
    """
    A = real("radius", radius, "(0, inf)") * alpha(epsilon)
    return np.asarray(2 * A**2 / 2.0 ** checks.count("bits", bits, f"[0, {_MOST_BITS}]"))[()]


def published_slack(*, epsilon: ArrayLike, radius: ArrayLike = 1.0, bits: int) -> FloatArray:
    r"""The slack in Theorem 1, Eq. (4), as printed: :math:`A^2/2^{d-6}`.

    Examples
    --------
    >>> float(published_slack(epsilon=np.log(3), bits=5)) / float(slack(epsilon=np.log(3), bits=5))
    32.0
    """
    return np.asarray(32 * slack(epsilon=epsilon, radius=radius, bits=bits))[()]
