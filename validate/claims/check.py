"""Rebuilds certificates of mathematical claims: python check.py [FOLDER]. Python's standard library is all it needs.

Every folder with a claim.json holds one claim: two expressions, a relation between them (<=, >= or ==), the ranges of the
parameters and further hypotheses. Beside it lies one of

- witness.json: a point of the domain where the relation fails, and decimal bounds of both expressions there;
- proof.json: boxes that together are the whole domain. On each the relation holds, or a hypothesis fails.

Nothing of these files is believed. Expressions are evaluated in interval arithmetic on Python's integers: an end is m * 2^e,
lower ends are rounded down and upper ends up, so that an interval always holds the true value. Where a series is cut off
the remainder is bounded in the docstring. One line is printed for each claim. Exit codes: 0 all rebuilt, 1 something
rejected, 2 something malformed. What is checked stands in the last part of this file, from `Claim` on; before it is arithmetic.
"""

import hashlib
import json
import re
import sys
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import comb, isqrt
from pathlib import Path

SCHEMA = "airtight-certificate-1"
LADDER = (96, 192, 384, 768, 1536, 3072, 6144)  # bits at which a point is tried
BOX_BITS = 64  # a box is wide: more bits would not narrow its value
TERMS = 100_000  # of a sum
EXACT_BITS = 8192  # rational numbers up to this size stay exact


class Malformed(Exception):
    """A file is not what it ought to be."""


class Rejected(Exception):
    """A file is well formed and does not show what it claims to show."""


class Undecided(Exception):
    """An interval is too wide, or a function is not defined on it."""


# Ends: (m, e) is m * 2^e. The precision is the number of bits of m that a rounded end keeps.


class Precision:
    """The working precision; `with Precision(100):` sets it for a block."""

    bits = LADDER[0]

    def __init__(self, bits):
        self.wanted = bits

    def __enter__(self):
        self.before, Precision.bits = Precision.bits, self.wanted

    def __exit__(self, *_):
        Precision.bits = self.before


def rounded(m, e, up):
    """m * 2^e with as many bits as the precision has, rounded down or up."""
    extra = m.bit_length() - Precision.bits
    if extra <= 0:
        return m, e
    return (-((-m) >> extra) if up else m >> extra), e + extra


def quotient(a, b, up):
    """a // b for integers, b > 0, rounded down or up."""
    return -((-a) // b) if up else a // b


def shifted(a, n, up):
    """a * 2^n as an integer, rounded down or up."""
    if n >= 0:
        return a << n
    return -((-a) >> -n) if up else a >> -n


def add_ends(a, b, up):
    """The sum of two ends. One that is far below the last bit of the other counts as 0 or as one unit there."""
    if not a[0] or not b[0]:
        return rounded(*(b if not a[0] else a), up)
    (m, e), (n, f) = (a, b) if a[1] >= b[1] else (b, a)
    apart = e - f
    if apart > 4 * Precision.bits + n.bit_length():
        f, apart = e - 4 * Precision.bits, 4 * Precision.bits
        n = (1 if n > 0 else 0) if up else (0 if n > 0 else -1)
    return rounded((m << apart) + n, f, up)


def multiply_ends(a, b, up):
    """The product of two ends."""
    return rounded(a[0] * b[0], a[1] + b[1], up)


def inverse_end(a, up):
    """1 / a for an end other than 0."""
    bits = a[0].bit_length() + Precision.bits + 2
    top = 1 << bits if a[0] > 0 else -(1 << bits)
    return rounded(quotient(top, abs(a[0]), up), -bits - a[1], up)


def less(a, b):
    """Whether one end is below another."""
    (m, e), (n, f) = a, b
    if (m > 0) != (n > 0) or m == 0 or n == 0:
        return m < n if m == 0 or n == 0 else m < 0
    tops = e + m.bit_length(), f + n.bit_length()
    if tops[0] != tops[1]:
        return (tops[0] < tops[1]) == (m > 0)
    least = min(e, f)
    return m << (e - least) < n << (f - least)


def end_of(q, up):
    """A rational number as an end."""
    bits = Precision.bits + 2 + max(q.denominator.bit_length() - q.numerator.bit_length(), 0)
    if q.denominator == 1:
        return rounded(q.numerator, 0, up)
    return rounded(quotient(q.numerator << bits, q.denominator, up), -bits, up)


def fraction(end):
    """An end as a rational number."""
    m, e = end
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


class Interval:
    """All numbers from `lo` to `hi`; every operation returns an interval that holds every possible result."""

    __slots__ = ("hi", "lo")

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    @staticmethod
    def of(low, high=None):
        """The interval between two rational numbers, rounded outward."""
        low = Fraction(low)
        return Interval(end_of(low, False), end_of(low if high is None else Fraction(high), True))

    def __add__(self, other):
        return Interval(add_ends(self.lo, other.lo, False), add_ends(self.hi, other.hi, True))

    def __neg__(self):
        return Interval((-self.hi[0], self.hi[1]), (-self.lo[0], self.lo[1]))

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        a, b = self, other
        if a.lo[0] >= 0 and b.lo[0] >= 0:
            return Interval(multiply_ends(a.lo, b.lo, False), multiply_ends(a.hi, b.hi, True))
        if a.hi[0] <= 0:
            return -(-a * b)
        if b.hi[0] <= 0:
            return -(a * -b)
        if a.lo[0] >= 0:
            return Interval(multiply_ends(a.hi, b.lo, False), multiply_ends(a.hi, b.hi, True))
        if b.lo[0] >= 0:
            return Interval(multiply_ends(a.lo, b.hi, False), multiply_ends(a.hi, b.hi, True))
        low = least(multiply_ends(a.lo, b.hi, False), multiply_ends(a.hi, b.lo, False))
        return Interval(low, greatest(multiply_ends(a.lo, b.lo, True), multiply_ends(a.hi, b.hi, True)))

    def inverse(self):
        """1 / x."""
        if self.lo[0] <= 0 <= self.hi[0]:
            raise Undecided("a division by what may be 0")
        return Interval(inverse_end(self.hi, False), inverse_end(self.lo, True))

    def __truediv__(self, other):
        return self * other.inverse()

    def absolute(self):
        """|x|."""
        if self.lo[0] >= 0:
            return self
        return -self if self.hi[0] <= 0 else Interval((0, 0), greatest(self.hi, (-self.lo[0], self.lo[1])))

    def power(self, n):
        """x^n for an integer n; even powers are of |x|, odd ones monotone."""
        if n < 0:
            return self.power(-n).inverse()
        if n == 0:
            return ONE
        if n % 2 and self.lo[0] < 0:
            return Interval(signed_power(self.lo, n, False), signed_power(self.hi, n, True))
        base, result = self.absolute(), None
        while n:
            if n & 1:
                result = base if result is None else result * base
            n >>= 1
            if n:
                base = base * base
        return result

    def hull(self, other):
        """The least interval that holds both."""
        return Interval(least(self.lo, other.lo), greatest(self.hi, other.hi))

    def monotone(self, function):
        """f(x) for an increasing f; function(end, up) bounds f at an end."""
        return Interval(function(self.lo, False), function(self.hi, True))


def least(a, b):
    """The lesser end."""
    return a if less(a, b) else b


def greatest(a, b):
    """The greater end."""
    return b if less(a, b) else a


def signed_power(a, n, up):
    """a^n for an odd n."""
    found = Interval((abs(a[0]), a[1]), (abs(a[0]), a[1])).power(n)
    found = found if a[0] >= 0 else -found
    return found.hi if up else found.lo


ZERO, ONE, TWO = (Interval((n, 0), (n, 0)) for n in (0, 1, 2))


# Elementary functions at an end. A number x is held as the integer x * 2^w, every step rounded in the direction asked for.


def atanh_series(top, bottom, w, up):
    """atanh(top / bottom) * 2^w for 0 <= top / bottom <= 1/3: the sum of z^n / n over odd n.

    All terms are positive, so a sum of terms rounded down is a lower bound. A term is at most 1/9 of the one before: when one
    has come down to one unit, those after it sum to less than one unit, which is added to the upper bound.
    """
    z = quotient(top << w, bottom, up)
    square = shifted(z * z, -w, up)
    total, n = z, 1
    while z > 1:
        n += 2
        z = shifted(z * square, -w, up)
        total += quotient(z, n, up)
    return total + (1 if up else 0)


@lru_cache(maxsize=64)
def log_2(w, up):
    """ln 2 * 2^w = 2 atanh(1/3) * 2^w."""
    return 2 * atanh_series(1, 3, w, up)


def exp_end(x, up):
    """exp at an end: exp(x) = 2^k * exp(r / 2^s)^(2^s) with 0 <= r < 1, and a Taylor series for the inner one.

    All terms are positive; with r / 2^s <= 1/16 a term is at most 1/16 of the one before, so that those after a term of at
    most one unit sum to less than one unit, which is added to the upper bound.
    """
    m, e = x
    if m == 0:
        return (1, 0)
    top = e + m.bit_length()
    if top > 40:  # |x| >= 2^39
        if m > 0:
            raise Undecided("exp of what may be huge")
        return (1, -(1 << 39)) if up else (0, 0)
    s = isqrt(Precision.bits) // 2 + 4
    w = Precision.bits + 2 * s + 16 + max(top, 0)
    whole = shifted(m, e + w, up)
    k = whole // log_2(w, False)
    rest = whole - k * log_2(w, (k >= 0) != up)
    if rest < 0:
        k, rest = k - 1, rest + log_2(w, up)
    rest = shifted(rest, -s, up)
    term = total = 1 << w
    n = 0
    while term > 1:
        n += 1
        term = quotient(term * rest, n << w, up)
        total += term
    total += 1 if up else 0
    for _ in range(s):
        total = shifted(total * total, -w, up)
    return rounded(total, k - w, up)


def log_end(x, up):
    """ln at an end: ln(f * 2^k) = k ln 2 + 2 atanh((f - 1) / (f + 1)) with 2/3 <= f < 4/3, so that |argument| <= 1/5."""
    m, e = x
    if m <= 0:
        raise Undecided("log of what may not be positive")
    n = m.bit_length()
    if 3 * m < 2 << n:
        n -= 1
    k, one = e + n, 1 << n
    top, bottom = m - one, m + one
    lost = bottom.bit_length() - abs(top).bit_length() if k == 0 and top else 0
    w = Precision.bits + 16 + lost
    inner = atanh_series(top, bottom, w, up) if top >= 0 else -atanh_series(-top, bottom, w, not up)
    if top == 0:
        inner = 0
    whole = 2 * inner + k * log_2(w, (k < 0) != up) if k else 2 * inner
    return rounded(whole, -w, up)


def sqrt_end(x, up):
    """The square root of an end, from the integer square root."""
    m, e = x
    if m < 0:
        raise Undecided("sqrt of what may be negative")
    shift = 2 * Precision.bits + 4 - m.bit_length()
    shift = max(shift + ((e - shift) & 1), (e & 1))
    whole = m << shift
    root = isqrt(whole)
    return rounded(root + (1 if up and root * root < whole else 0), (e - shift) // 2, up)


@lru_cache(maxsize=64)
def pi_at(bits):
    """pi by Machin's formula, 16 atan(1/5) - 4 atan(1/239).

    The series of atan(1/n) alternates and falls: what is cut off is less than the first term left out, which is 0 units.
    Each term loses less than 2 units by its two divisions.
    """
    w = bits + 24

    def atan_of_inverse(n):
        power, total, k = (1 << w) // n, 0, 0
        while power:
            total += -(power // (2 * k + 1)) if k % 2 else power // (2 * k + 1)
            power //= n * n
            k += 1
        return total, 2 * k + 2

    (a, slip), (b, slop) = atan_of_inverse(5), atan_of_inverse(239)
    middle, error = 16 * a - 4 * b, 16 * slip + 4 * slop
    return Interval((middle - error, -w), (middle + error, -w))


def pi():
    """pi at the working precision."""
    return pi_at(Precision.bits)


def exp(x):
    """e^x."""
    return x.monotone(exp_end)


def log(x):
    """The natural logarithm."""
    return x.monotone(log_end)


def sqrt(x):
    """The square root."""
    return x.monotone(sqrt_end)


# Functions at a point that are made of intervals; `at_ends` makes monotone functions of them.


def at_ends(function, x, falling=False):
    """A monotone function on an interval, from its enclosures at the two ends."""
    low = function(Interval(x.lo, x.lo))
    high = low if x.lo == x.hi else function(Interval(x.hi, x.hi))
    return Interval(high.lo, low.hi) if falling else Interval(low.lo, high.hi)


def size(x):
    """The least n with |x| <= 2^n for the interval x; very negative for 0."""
    return max(e + m.bit_length() if m else -(10**9) for m, e in (x.lo, x.hi))


def within(x):
    """The interval from -|x| to |x|."""
    top = x.absolute().hi
    return Interval((-top[0], top[1]), top)


def erf_series(x):
    """erf(x) for x >= 0: 2 x exp(-x^2) / sqrt(pi) times the sum of (2 x^2)^n / (1 * 3 * ... * (2n + 1)).

    All terms are positive. Once 2 x^2 / (2n + 3) <= 1/2 each term is at most half of the one before, and those after the
    n-th sum to at most the n-th.
    """
    square = TWO * x * x
    term = total = ONE
    n = 0
    while True:
        n += 1
        term = term * square / Interval.of(2 * n + 1)
        total = total + term
        if fraction(square.hi) * 2 <= 2 * n + 3 and size(term) < size(total) - Precision.bits - 2:
            break
    total = Interval(total.lo, add_ends(total.hi, term.hi, True))
    return TWO * x * exp(-x * x) / sqrt(pi()) * total


def erfc_tail(x):
    """erfc(x) for large x > 0: exp(-x^2) / (x sqrt(pi)) times the sum of (-1)^n (1 * 3 * ... * (2n - 1)) / (2 x^2)^n.

    Integration by parts gives the remainder after n terms as an integral of one sign, that of the first term left out, and
    smaller than that term: the sum is that far from the truth at most, wherever it is cut.
    """
    square = TWO * x * x
    term, total, n = ONE, ZERO, 0
    while True:
        total = total + term
        n += 1
        following = -(term * Interval.of(2 * n - 1)) / square
        if size(following) < -Precision.bits - 4 or size(following) >= size(term):
            break
        term = following
    return exp(-x * x) / (x * sqrt(pi())) * (total + within(following))


def erfc_point(x):
    """erfc at a point; 1 - erf loses about x^2 / ln 2 bits, which are added before."""
    if x.lo[0] < 0:
        return TWO - erfc_point(-x)
    bits = Precision.bits
    square = fraction((x * x).hi) if size(x) < 40 else Fraction(1 << 60)
    if square > Fraction(17, 20) * (bits + 10):  # then the terms fall below 2^-bits before they grow
        with Precision(bits + 16 + 2 * max(size(x), 0)):
            return erfc_tail(x)
    with Precision(bits + 24 + int(square * 3 / 2)):
        return ONE - erf_series(x)


def erf_point(x):
    """erf at a point."""
    if x.lo[0] < 0:
        return -erf_point(-x)
    if x.lo[0] == 0:
        return ZERO
    if size(x) > 0:  # at least 1: the difference cancels little
        return ONE - erfc_point(x)
    with Precision(Precision.bits + 24):
        return erf_series(x)


def sinh_point(x):
    """(e^x - e^-x) / 2; what the difference cancels is added as bits before."""
    if x.lo[0] == 0:
        return ZERO
    with Precision(Precision.bits + 16 + max(-size(x), 0)):
        return (exp(x) - exp(-x)) / TWO


def tanh_point(x):
    """sinh / cosh, as 1 - 2 / (e^2x + 1) for x > 0."""
    if x.lo[0] < 0:
        return -tanh_point(-x)
    if x.lo[0] == 0:
        return ZERO
    if size(x) > 30:  # 2 / (e^2x + 1) <= e^-x
        return ONE - Interval((0, 0), exp(-x).hi)
    with Precision(Precision.bits + 16 + max(-size(x), 0)):
        return ONE - TWO / (exp(TWO * x) + ONE)


def cosh(x):
    """(e^x + e^-x) / 2, which increases in |x|."""
    return at_ends(lambda y: (exp(y) + exp(-y)) / TWO, x.absolute())


def atan_point(x):
    """atan at a point: four times atan x = 2 atan(x / (1 + sqrt(1 + x^2))), then the series of x^n / n.

    The series alternates and falls for |x| < 1: what is cut off is less than the first term left out.
    """
    if x.lo[0] < 0:
        return -atan_point(-x)
    if x.lo[0] == 0:
        return ZERO
    with Precision(Precision.bits + 24):
        for _ in range(4):
            x = x / (ONE + sqrt(ONE + x * x))
        square, power, total, n = -(x * x), x, ZERO, 1
        while True:
            total = total + power / Interval.of(n)
            power, n = power * square, n + 2
            if size(power) < size(total) - Precision.bits:
                break
        return (total + within(power)) * Interval.of(16)


def asin_point(x):
    """asin at a point: atan(x / sqrt(1 - x^2))."""
    rest = ONE - x * x
    if x.lo == x.hi and fraction(x.lo) in (1, -1):
        return pi() / TWO if x.lo[0] > 0 else -pi() / TWO
    if rest.lo[0] <= 0:
        raise Undecided("asin of what may be beyond 1")
    return at_ends(atan_point, x / sqrt(rest))


@lru_cache(maxsize=512)
def bernoulli(n):
    """Bernoulli's number B_n."""
    if n == 0:
        return Fraction(1)
    return -sum(comb(n + 1, k) * bernoulli(k) for k in range(n) if k < 2 or k % 2 == 0) / (n + 1)


def lgamma(x):
    """ln Gamma(x) for x > 0, by Stirling's series at x + n, less the logarithms of x, x + 1, ... x + n - 1.

    ln Gamma(y) = (y - 1/2) ln y - y + ln(2 pi)/2 + the sum of B_2k / (2k (2k - 1) y^(2k - 1)); for real y > 0 what is cut off
    is smaller than the first term left out, and of its sign. With y >= bits / 4 the terms fall below the precision.
    """
    if x.lo[0] <= 0:
        raise Undecided("lgamma of what may not be positive")
    with Precision(Precision.bits + 32):
        wanted, y, product_ = Precision.bits // 4, x, ONE
        while less(y.lo, (wanted, 0)):
            product_ = product_ * y
            y = y + ONE
        total = (y - ONE / TWO) * log(y) - y + log(TWO * pi()) / TWO
        k = 1
        while True:
            term = Interval.of(bernoulli(2 * k) / (2 * k * (2 * k - 1))) / y.power(2 * k - 1)
            if size(term) < -Precision.bits or k > wanted:
                break
            total, k = total + term, k + 1
        return total + within(term) - log(product_)


def erf(x):
    """The error function."""
    return at_ends(erf_point, x)


def erfc(x):
    """1 - erf."""
    return at_ends(erfc_point, x, falling=True)


def sinh(x):
    """The hyperbolic sine."""
    return at_ends(sinh_point, x)


def tanh(x):
    """The hyperbolic tangent."""
    return at_ends(tanh_point, x)


def atan(x):
    """The inverse of the tangent."""
    return at_ends(atan_point, x)


def asin(x):
    """The inverse of the sine."""
    return at_ends(asin_point, x)


# Expressions: "p/q", the name of a parameter, or {"op": ..., "args": [...]}. A value is a Fraction while it is exact.

NUMBER = re.compile(r"-?\d+(/[1-9]\d*)?")
ELEMENTARY = {f.__name__: f for f in (exp, log, sqrt, erf, erfc, sinh, cosh, tanh, atan, asin, lgamma)}
COMPARISONS = ("<=", "<", ">=", ">", "==", "!=")


def interval(x):
    """A value as an interval."""
    return x if isinstance(x, Interval) else Interval.of(x)


def exact(*values):
    """Whether all values are exact, and of a size to stay so."""
    return all(
        isinstance(v, Fraction) and v.numerator.bit_length() + v.denominator.bit_length() < EXACT_BITS for v in values
    )


def whole(x):
    """The integer that a value is; raises where it is none, or not known to be."""
    if isinstance(x, Interval) and x.lo == x.hi:
        x = fraction(x.lo)
    if isinstance(x, Fraction) and x.denominator == 1:
        return x.numerator
    raise Undecided("an integer is not known to be one")


def raised(base, exponent):
    """base ^ exponent: repeated products for an integer, square roots for a half, else exp(exponent ln base)."""
    if isinstance(exponent, Interval) and exponent.lo == exponent.hi and abs(exponent.lo[1]) < 10000:
        exponent = fraction(exponent.lo)
    if isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            n = exponent.numerator
            if exact(base) and abs(n) * (base.numerator.bit_length() + base.denominator.bit_length()) < EXACT_BITS:
                if base == 0 and n < 0:
                    raise Undecided("a division by 0")
                return base**n
            return interval(base).power(n)
        if exponent.denominator == 2:
            return sqrt(interval(base)).power(exponent.numerator)
    if exact(base) and base == 0 and exact(exponent) and exponent > 0:
        return Fraction(0)
    return exp(log(interval(base)) * interval(exponent))


def compared(op, a, b):
    """Whether a relation holds; None while the intervals do not say."""
    if exact(a, b):
        low_a = high_a = a
        low_b = high_b = b

        def below(x, y):
            return x < y
    else:
        a, b = interval(a), interval(b)
        (low_a, high_a), (low_b, high_b), below = (a.lo, a.hi), (b.lo, b.hi), less
    if op in (">=", ">"):
        return compared({">=": "<=", ">": "<"}[op], b, a)
    if op in ("==", "!="):
        apart = below(high_a, low_b) or below(high_b, low_a)
        one = not (below(low_a, high_a) or below(low_b, high_b) or apart)
        return (op == "!=") if apart else ((op == "==") if one else None)
    if op == "<=":
        return True if not below(low_b, high_a) else (False if below(high_b, low_a) else None)
    return True if below(high_a, low_b) else (False if not below(low_a, high_b) else None)


def condition(tree, at):
    """Whether a condition holds with these values of the parameters; None while the intervals do not say."""
    op, args = parts(tree)
    if op in ("true", "false"):
        return op == "true"
    if op in ("and", "or"):
        known = [condition(arg, at) for arg in args]
        absorbing = op == "or"
        return absorbing if absorbing in known else (None if None in known else not absorbing)
    if op == "not":
        known = condition(args[0], at)
        return None if known is None else not known
    if op not in COMPARISONS or len(args) != 2:
        raise Malformed(f"no condition: {op!r}")
    try:
        return compared(op, value(args[0], at), value(args[1], at))
    except Undecided:
        return None


def parts(tree):
    """The operation and the arguments of a node."""
    if not isinstance(tree, dict) or set(tree) != {"op", "args"} or not isinstance(tree["args"], list):
        raise Malformed(f"no expression: {str(tree)[:60]}")
    return tree["op"], tree["args"]


def value(tree, at):
    """An expression with these values of the parameters, each a Fraction or an Interval."""
    if isinstance(tree, str):
        if NUMBER.fullmatch(tree):
            return Fraction(tree)
        if tree not in at:
            raise Malformed(f"no parameter {tree!r}")
        return at[tree]
    op, args = parts(tree)
    if op == "piecewise":
        for branch, holds in branches(args):
            known = condition(holds, at)
            if known is None:
                raise Undecided("a case is not known")
            if known:
                return value(branch, at)
        raise Undecided("no case holds")
    if op == "sum":
        term, index, low, high = summands(args, at)
        total = Fraction(0)
        for k in range(low, high + 1):
            total = apply("+", [total, value(term, {**at, index: Fraction(k)})])
        return total
    return apply(op, [value(arg, at) for arg in args])


def branches(args):
    """The cases of a piecewise expression."""
    if not all(isinstance(arg, list) and len(arg) == 2 for arg in args):
        raise Malformed("piecewise: pairs of an expression and a condition")
    return args


def summands(args, at):
    """Term, index, first and last of a sum."""
    if len(args) != 4 or not isinstance(args[1], str) or NUMBER.fullmatch(args[1]):
        raise Malformed("sum: a term, an index, the first and the last")
    low, high = whole(value(args[2], at)), whole(value(args[3], at))
    if high - low > TERMS:
        raise Undecided("a sum of too many terms")
    return args[0], args[1], low, high


def apply(op, args):
    """An operation on values."""
    if op in ELEMENTARY and len(args) == 1:
        return ELEMENTARY[op](interval(args[0]))
    if op == "pi" and not args:
        return pi()
    if op in ("floor", "ceiling") and len(args) == 1:
        return step(op, args[0])
    if op == "abs" and len(args) == 1:
        return abs(args[0]) if exact(*args) else interval(args[0]).absolute()
    if op == "pow" and len(args) == 2:
        return raised(*args)
    if op == "binomial" and len(args) == 2:
        n, k = whole(args[0]), whole(args[1])
        if n < 0:
            raise Undecided("binomial of a negative number")
        return Fraction(comb(n, k) if 0 <= k <= n else 0)
    if op in BINARY and args:
        found = args[0]
        for arg in args[1:]:
            found = BINARY[op](found, arg)
        return -found if op == "-" and len(args) == 1 else found
    raise Malformed(f"no operation {op!r} of {len(args)} arguments")


def step(op, x):
    """floor or ceiling, which never decrease."""
    if op == "ceiling":
        return -step("floor", -x)
    if isinstance(x, Fraction):
        return Fraction(x.numerator // x.denominator)
    if size(x) > EXACT_BITS:
        raise Undecided("floor of what may be huge")
    low, high = (Fraction(shifted(m, e, False)) for m, e in (x.lo, x.hi))
    return low if low == high else Interval.of(low, high)


def lesser(a, b):
    """The minimum of two values."""
    if exact(a, b):
        return min(a, b)
    a, b = interval(a), interval(b)
    return Interval(least(a.lo, b.lo), least(a.hi, b.hi))


def mixed(on_fractions, on_intervals):
    """An operation that stays exact on exact values."""

    def operation(a, b):
        return on_fractions(a, b) if exact(a, b) else on_intervals(interval(a), interval(b))

    return operation


def divided(a, b):
    """a / b, exact."""
    if b == 0:
        raise Undecided("a division by 0")
    return a / b


BINARY = {
    "+": mixed(lambda a, b: a + b, lambda a, b: a + b),
    "-": mixed(lambda a, b: a - b, lambda a, b: a - b),
    "*": mixed(lambda a, b: a * b, lambda a, b: a * b),
    "/": mixed(divided, lambda a, b: a / b),
    "min": lesser,
    "max": lambda a, b: -lesser(-a, -b),
}


# Slopes: an expression on a box, with an interval for each partial derivative. Where |x|, min and max have a kink the interval
# holds the derivatives of both sides, for which the mean value theorem holds as well (these functions are Lipschitz).


def slopes(tree, at):
    """The value, and a dictionary from parameter to the interval of the partial derivative (absent: 0)."""
    if isinstance(tree, str):
        return interval(value(tree, at)), ({} if NUMBER.fullmatch(tree) else {tree: ONE})
    op, args = parts(tree)
    if op == "piecewise":
        for branch, holds in branches(args):
            known = condition(holds, at)
            if known is None:
                raise Undecided("a case is not known")
            if known:
                return slopes(branch, at)
        raise Undecided("no case holds")
    if op == "sum":
        term, index, low, high = summands(args, at)
        found = [slopes(term, {**at, index: Fraction(k)}) for k in range(low, high + 1)]
        total = reduce(lambda a, b: a + b, [v for v, _ in found], ZERO)
        return total, combined([({n: d for n, d in ds.items() if n != index}, ONE) for _, ds in found])
    if op in ("floor", "ceiling", "binomial"):
        fixed = value(tree, at)
        if not exact(fixed):
            raise Undecided(f"{op} jumps")
        return interval(fixed), {}
    found = [slopes(arg, at) for arg in args]
    values, inner = [v for v, _ in found], [d for _, d in found]
    if op == "pow":
        return power_slopes(value(args[1], at), values, inner)
    return apply_slopes(op, values, inner)


def apply_slopes(op, values, inner):
    """The chain rule for one operation."""
    if op in ("+", "-"):
        signs = [ONE] + [ONE if op == "+" else -ONE] * (len(values) - 1)
        if op == "-" and len(values) == 1:
            return -values[0], combined([(inner[0], -ONE)])
        total = reduce(lambda a, b: a + b, [v if s is ONE else -v for v, s in zip(values, signs, strict=True)], ZERO)
        return total, combined(list(zip(inner, signs, strict=True)))
    if op in ("*", "/", "min", "max") and len(values) > 1:
        first, ds = values[0], inner[0]
        for other, es in zip(values[1:], inner[1:], strict=True):
            first, ds = pair_slopes(op, first, ds, other, es)
        return first, ds
    x, d = values[0] if values else ZERO, inner[0] if inner else {}
    found = interval(apply(op, values))
    if op not in DERIVATIVES:
        if d:
            raise Undecided(f"{op} has no derivative here")
        return found, {}
    return found, combined([(d, DERIVATIVES[op](x, found))]) if d else {}


def pair_slopes(op, x, ds, y, es):
    """Product, quotient, minimum and maximum of two."""
    if op == "*":
        return x * y, combined([(ds, y), (es, x)])
    if op == "/":
        inverse = y.inverse()
        return x * inverse, combined([(ds, inverse), (es, -(x * inverse * inverse))])
    found = interval(BINARY[op](x, y))
    below = compared("<=", x, y)
    if below is None:
        names = {**ds, **es}
        return found, {n: ds.get(n, ZERO).hull(es.get(n, ZERO)) for n in names}
    return found, ds if below is (op == "min") else es


def power_slopes(exponent, values, inner):
    """The derivative of a power: n x^(n - 1) for an exponent without slope, else that of exp(y ln x)."""
    found = interval(raised(values[0], exponent))
    if not inner[1]:
        if not inner[0]:
            return found, {}
        less_ = exponent - 1 if exact(exponent) else interval(exponent) - ONE
        return found, combined([(inner[0], interval(exponent) * interval(raised(values[0], less_)))])
    outer = [(inner[1], found * log(values[0]))]
    if inner[0]:
        outer.append((inner[0], found * values[1] / values[0]))
    return found, combined(outer)


def combined(weighted):
    """The sum of gradients, each times an interval."""
    total = {}
    for ds, weight in weighted:
        for name, d in ds.items():
            term = d if weight is ONE else d * weight
            total[name] = total[name] + term if name in total else term
    return total


def sign_slope(x, _):
    """The derivative of |x|."""
    if x.lo[0] >= 0:
        return ONE
    return -ONE if x.hi[0] <= 0 else Interval((-1, 0), (1, 0))


DERIVATIVES = {
    "exp": lambda x, y: y,
    "log": lambda x, y: x.inverse(),
    "sqrt": lambda x, y: (TWO * y).inverse(),
    "erf": lambda x, y: TWO / sqrt(pi()) * exp(-x.power(2)),
    "erfc": lambda x, y: -(TWO / sqrt(pi()) * exp(-x.power(2))),
    "sinh": lambda x, y: cosh(x),
    "cosh": lambda x, y: sinh(x),
    "tanh": lambda x, y: cosh(x).power(-2),
    "atan": lambda x, y: (ONE + x.power(2)).inverse(),
    "asin": lambda x, y: sqrt(ONE - x.power(2)).inverse(),
    "abs": sign_slope,
}


# What is checked.


class Claim:
    """The contents of claim.json."""

    def __init__(self, text):
        given = loaded(text)
        self.id, self.op = field(given, "id", str), field(given, "relation", str)
        if given.get("schema") != SCHEMA or self.op not in ("<=", ">=", "=="):
            raise Malformed(f"schema or relation: {given.get('schema')}, {self.op}")
        sides = field(given, "expression", dict)
        if set(sides) != {"actual", "claimed"}:
            raise Malformed("expression: an actual and a claimed side")
        self.actual, self.claimed = sides["actual"], sides["claimed"]
        self.given = field(given, "given", list)
        self.ranges = {name: self.range(r) for name, r in field(given, "domain", dict).items()}
        self.sha256 = hashlib.sha256(text).hexdigest()

    @staticmethod
    def range(given):
        """Low, high, whether integers are meant, further values."""
        try:
            low, high = rational(given["low"]), rational(given["high"])
            integer, extra = given["integer"], [rational(x) for x in given["extra"]]
        except (KeyError, TypeError):
            raise Malformed(f"no range: {given}") from None
        if low > high or not isinstance(integer, bool):
            raise Malformed(f"no range: {given}")
        return low, high, integer, extra


def loaded(text):
    """A JSON object; one that names a key twice is none."""

    def once(pairs):
        if len({key for key, _ in pairs}) != len(pairs):
            raise Malformed("a key stands twice")
        return dict(pairs)

    try:
        found = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Malformed("no JSON object")
    return found


def field(given, name, kind):
    """An entry of a JSON object, of the type that it must have."""
    if not isinstance(given.get(name), kind):
        raise Malformed(f"{name}: missing, or not of its type")
    return given[name]


def rational(text):
    """A rational number written "p/q"."""
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise Malformed(f"no rational number: {text!r}")
    return Fraction(text)


def of_this_claim(claim, text):
    """The contents of a file that goes with a claim."""
    given = loaded(text)
    if given.get("schema") != SCHEMA or given.get("id") != claim.id:
        raise Malformed("schema or id is not that of the claim")
    if given.get("claim_sha256") != claim.sha256:
        raise Rejected("speaks of another claim.json")
    return given


def witnessed(claim, text):
    """Rebuild a witness: the point is allowed, the relation fails there, and the decimals are right to the last digit."""
    given = of_this_claim(claim, text)
    point = {name: rational(x) for name, x in field(given, "point", dict).items()}
    if set(point) != set(claim.ranges):
        raise Malformed("the point has other parameters than the claim")
    for name, x in point.items():
        low, high, integer, extra = claim.ranges[name]
        if not (low <= x <= high or x in extra) or (integer and x.denominator != 1):
            raise Rejected(f"{name} = {x} is outside the domain")
    digits = field(given, "digits", int)
    if not 1 <= digits <= 1000:
        raise Malformed("digits: from 1 to 1000")
    reason = "more than the highest precision is needed"
    for bits in LADDER:
        with Precision(bits):
            try:
                reason = refuted(claim, point, given, digits)
            except Undecided as undecided:
                reason = str(undecided)
                continue
        if not reason:
            return f"refuted at {', '.join(f'{n} = {x}' for n, x in point.items()) or 'the only point'}"
    raise Rejected(reason)


def refuted(claim, point, given, digits):
    """Empty if the claim fails at the point; why that is not known, else."""
    for i, hypothesis in enumerate(claim.given):
        known = condition(hypothesis, point)
        if known is False:
            raise Rejected(f"hypothesis {i} fails at the point")
        if known is None:
            return f"hypothesis {i} is not decided"
    actual, claimed = value(claim.actual, point), value(claim.claimed, point)
    known = compared(claim.op, actual, claimed)
    if known:
        raise Rejected("the relation holds at the point")
    if known is None:
        return "the relation is not decided at the point"
    for name, found in (("actual", actual), ("claimed", claimed)):
        if not told(field(given, name, list), found, digits):
            return f"{name}: the value is not known to so many digits"
    return ""


def told(stated, found, digits):
    """Whether the stated ends are the value, rounded down and up to so many digits; false where it is not yet narrow enough."""
    if len(stated) != 2 or not all(isinstance(s, str) and DECIMAL.fullmatch(s) for s in stated):
        raise Malformed("an interval is two decimals")
    low, high = (found, found) if isinstance(found, Fraction) else (fraction(found.lo), fraction(found.hi))
    for text, up in zip(stated, (False, True), strict=True):
        least_, most = to_digits(low, digits, up), to_digits(high, digits, up)
        if not least_ <= Fraction(text) <= most:
            raise Rejected(f"{text} is not the value to {digits} digits, rounded {'up' if up else 'down'}")
    return low == high or high - low <= min(abs(low), abs(high)) / 10 ** (digits + 3)


DECIMAL = re.compile(r"-?\d+(\.\d+)?(E[+-]?\d{1,6})?")


def to_digits(x, digits, up):
    """A rational number rounded down or up to so many significant decimal digits."""
    if x == 0:
        return x
    place = digits - 1 - magnitude(abs(x))
    scaled = x * Fraction(10) ** place
    return Fraction(quotient(scaled.numerator, scaled.denominator, up)) / Fraction(10) ** place


def magnitude(x):
    """The n with 10^n <= x < 10^(n + 1)."""
    n = (x.numerator.bit_length() - x.denominator.bit_length()) * 30103 // 100000
    while Fraction(10) ** n > x:
        n -= 1
    while Fraction(10) ** (n + 1) <= x:
        n += 1
    return n


def proved(claim, text):
    """Rebuild a proof: the boxes fill the domain, and on each the relation holds or a hypothesis fails."""
    if claim.op == "==":
        raise Malformed("boxes prove no equation")
    boxes = [box_of(claim, entry) for entry in field(of_this_claim(claim, text), "boxes", list)]
    for root in product(*(roots(r) for r in claim.ranges.values())):
        domain = dict(zip(claim.ranges, root, strict=True))
        inside = [b for b, _ in boxes if all(domain[n][0] <= b[n][0] and b[n][1] <= domain[n][1] for n in domain)]
        if not fills(inside, domain, {n: r[2] for n, r in claim.ranges.items()}):
            raise Rejected(f"the boxes do not fill {shown(domain)}")
    with Precision(BOX_BITS):
        for box, sign in boxes:
            if not (discarded(claim, box, sign) if isinstance(sign, int) else certain(claim, box)):
                raise Rejected(f"not shown on {shown(box)}")
    return f"proved on {len(boxes)} boxes"


def box_of(claim, entry):
    """A box, and its sign: "+" for claimed minus actual as the relation says, or the number of the hypothesis that fails."""
    if not isinstance(entry, dict) or set(entry) != {"box", "sign"} or not isinstance(entry["box"], dict):
        raise Malformed("a box has a box and a sign")
    box, sign = entry["box"], entry["sign"]
    if set(box) != set(claim.ranges) or not all(isinstance(ends, list) and len(ends) == 2 for ends in box.values()):
        raise Malformed("a box has two ends for each parameter")
    if sign != "+" and (isinstance(sign, bool) or not isinstance(sign, int) or not 0 <= sign < len(claim.given)):
        raise Malformed("the sign of a box is + or the number of a hypothesis")
    return {name: (rational(low), rational(high)) for name, (low, high) in box.items()}, sign


def roots(given):
    """The parts of a range: the interval, and values outside it."""
    low, high, _, extra = given
    return [(low, high), *((x, x) for x in extra if not low <= x <= high)]


def fills(boxes, domain, integer):
    """Whether boxes that result from cutting a domain again and again fill it; integers between two boxes are none."""
    if not boxes:
        return False
    if len(boxes) == 1:
        return all(boxes[0][name] == ends for name, ends in domain.items())
    for name, (low, high) in domain.items():
        cut = best_cut(sorted(b[name] for b in boxes), integer[name])
        if cut is not None:
            left, right = cut
            parts_ = [b for b in boxes if b[name][1] <= left], [b for b in boxes if b[name][0] >= right]
            if len(parts_[0]) + len(parts_[1]) != len(boxes):
                continue
            return fills(parts_[0], {**domain, name: (low, left)}, integer) and fills(
                parts_[1], {**domain, name: (right, high)}, integer
            )
    return False


def best_cut(ends, integer):
    """The most balanced place that no box crosses: the end of the left part and the begin of the right one."""
    cuts, reached = [], ends[0][1]
    for i, (low, high) in enumerate(ends[1:], 1):
        if low > reached and not (integer and reached // 1 + 1 >= low):
            return None  # a gap that holds a value
        if low >= reached and (low > reached or ends[i - 1] != (low, high) or low != high):
            cuts.append((abs(2 * i - len(ends)), reached, low))
        reached = max(reached, high)
    return min(cuts)[1:] if cuts else None


def shown(box):
    """A box in words."""
    return ", ".join(f"{n} in [{float(a):.6g}, {float(b):.6g}]" for n, (a, b) in box.items()) or "the only point"


def intervals(box):
    """The parameters on a box: exact where the box is a point."""
    return {name: low if low == high else Interval.of(low, high) for name, (low, high) in box.items()}


def discarded(claim, box, number):
    """Whether a hypothesis surely fails on the box."""
    return condition(claim.given[number], intervals(box)) is False


def certain(claim, box):
    """Whether the relation holds on all of a box.

    Claimed minus actual is enclosed. Where that does not say, each parameter whose partial derivative has a sign is set to
    the end at which the difference is least; what remains is enclosed directly and by the mean value theorem.
    """
    high, low = (claim.claimed, claim.actual) if claim.op == "<=" else (claim.actual, claim.claimed)
    difference = {"op": "-", "args": [high, low]}
    for _ in range(len(box) + 2):
        at = intervals(box)
        try:
            if compared("<=", value(low, at), value(high, at)):
                return True
        except Undecided:
            return False
        if all(a == b for a, b in box.values()):
            return False
        try:
            _, slope = slopes(difference, at)
        except Undecided:
            return False
        smaller = dict(box)
        for name, (a, b) in box.items():
            d = slope.get(name, ZERO)
            if d.lo[0] >= 0:
                smaller[name] = (a, a)
            elif d.hi[0] <= 0:
                smaller[name] = (b, b)
        if smaller == box:
            return mean_value(difference, box, slope)
        box = smaller
    return False


def mean_value(difference, box, slope):
    """Whether the value in the middle of the box outweighs the slopes times the distances from it."""
    middle = {name: (a + b) / 2 for name, (a, b) in box.items()}
    try:
        total = interval(value(difference, middle))
    except Undecided:
        return False
    for name, (a, b) in box.items():
        if name in slope and a != b:
            total = total + slope[name] * Interval.of(a - middle[name], b - middle[name])
    return total.lo[0] >= 0


def sums(folder):
    """Compare every file with SHA256SUMS; the files that it names."""
    named = {}
    for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line)
        if not match:
            raise Malformed(f"SHA256SUMS: {line[:60]!r}")
        named[match[2]] = match[1]
    for name, digest in named.items():
        if not (folder / name).is_file() or hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise Rejected(f"{name}: missing, or not as in SHA256SUMS")
    for path in folder.glob("*/*.json"):
        if path.relative_to(folder).as_posix() not in named:
            raise Rejected(f"{path.name}: not in SHA256SUMS")


def rebuilt(folder):
    """Rebuild the certificate of one folder and say what it shows."""
    claim = Claim((folder / "claim.json").read_bytes())
    witness, proof = folder / "witness.json", folder / "proof.json"
    if witness.is_file() == proof.is_file():
        raise Malformed("one of witness.json and proof.json is needed")
    shows = witnessed(claim, witness.read_bytes()) if witness.is_file() else proved(claim, proof.read_bytes())
    return f"{claim.id}: {shows}"


def main(folder):
    """Check a folder of certificates and return the exit code."""
    code, folders = 0, sorted(path for path in folder.iterdir() if path.is_dir())
    tasks = [("SHA256SUMS", lambda: sums(folder) or "SHA256SUMS: every file is as listed")]
    tasks += [(path.name, lambda path=path: rebuilt(path)) for path in folders]
    for name, task in tasks:
        try:
            print(task())
        except Rejected as error:
            code = max(code, 1)
            print(f"{name}: REJECTED: {error}")
        except (Malformed, OSError, UnicodeDecodeError, RecursionError, OverflowError) as error:
            code = 2
            print(f"{name}: MALFORMED: {error}")
    print({0: "all rebuilt", 1: "something was rejected", 2: "something is malformed"}[code])
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent))
