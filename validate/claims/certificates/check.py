"""Rebuilds certificates of mathematical claims: python check.py [FOLDER]. Python's standard library is all it needs.

Every folder with a claim.json holds one claim: two expressions, a relation between them (<=, >= or ==), the ranges of the
parameters and further hypotheses. Beside it lies one of

- witness.json: a point of the domain where the relation fails, and decimal bounds of both expressions there;
- proof.json: cuts that part the whole domain into boxes. On each the relation holds, or a hypothesis fails.

Nothing of these files is believed. Expressions are evaluated in interval arithmetic on Python's integers: an end is m * 2^e,
lower ends are rounded down and upper ends up, so that an interval always holds the true value. Where a series is cut off
the remainder is bounded in the docstring. Exit codes: 0 all rebuilt, 1 something rejected, 2 something malformed. What would
take too much work is rejected as too large; the work is counted, not timed, so that the answer is the same on any machine.
What is checked stands in the last part of this file, from `Claim` on; before it is arithmetic.
"""

import hashlib
import json
import math
import os
import re
import sys
from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import count, product
from math import comb, isqrt
from pathlib import Path, PurePosixPath

SCHEMA = "airtight-certificate-2"
LADDER = (96, 192, 384, 768, 1536, 3072, 6144)  # bits at which a point is tried
BOX_BITS = 64  # a box is wide: more bits would not narrow its value
TERMS = 100_000  # of a sum
EXACT_BITS = 8192  # rational numbers up to this size stay exact
HALVINGS = 6  # of a box on which nothing is shown at once
WORK = 2_000_000  # units for one folder, each about one operation on numbers of 64 bits: some ten seconds
FILE_BYTES = 1 << 24
NODES = 100_000  # of all expressions of a claim, or of all trees of a proof
DEPTH = 150  # of nested operations
TEXT = 1000  # characters of a number, a name of a parameter, a decimal
RESULT_BITS = 1 << 18  # of an integer or rational number that is written out


class Malformed(Exception):
    """A file is not what it ought to be."""


class Rejected(Exception):
    """A file is well formed and does not show what it claims to show."""


class TooLarge(Rejected):
    """To rebuild it would take more work than is allowed."""

    def __init__(self, what):
        super().__init__(f"too large: {what}")


class Undecided(Exception):
    """An interval is too wide, or a function is not defined on it."""


LEFT = [math.inf]  # units of work, of which the last one counts


@contextmanager
def limited(units):
    """A block that may do so much work."""
    LEFT.append(units)
    try:
        yield
    finally:
        LEFT.pop()


def spend(operations):
    """Count work: long multiplication takes the square of the number of words."""
    LEFT[-1] -= operations * (1 + (BITS[-1] >> 6) ** 2 // 16)
    if LEFT[-1] < 0:
        raise TooLarge("more work than is done for one folder")


BITS = [96]  # the precision, of which the last one counts: how many bits of m an end (m, e), that is m * 2^e, keeps


@contextmanager
def precision(bits):
    """A block in which rounded ends keep so many bits."""
    BITS.append(bits)
    try:
        yield
    finally:
        BITS.pop()


def rounded(m, e, up):
    """m * 2^e with as many bits as the precision has, rounded down or up."""
    extra = m.bit_length() - BITS[-1]
    if extra <= 0:
        return m, e
    return (-((-m) >> extra) if up else m >> extra), e + extra


def quotient(a, b, up):
    """a // b for integers, b > 0, rounded down or up."""
    return -((-a) // b) if up else a // b


def shifted(a, n, up):
    """a * 2^n as an integer, rounded down or up."""
    if a and n + a.bit_length() > RESULT_BITS:
        raise TooLarge("an integer of too many digits")
    return a << n if n >= 0 else (-((-a) >> -n) if up else a >> -n)


def add_ends(a, b, up):
    """The sum of two ends. One that is far below the last bit of the other counts as 0 or as one unit there."""
    if not a[0] or not b[0]:
        return rounded(*(b if not a[0] else a), up)
    (m, e), (n, f) = (a, b) if a[1] >= b[1] else (b, a)
    apart = e - f
    if apart > 4 * BITS[-1] + n.bit_length():
        f, apart = e - 4 * BITS[-1], 4 * BITS[-1]
        n = (1 if n > 0 else 0) if up else (0 if n > 0 else -1)
    return rounded((m << apart) + n, f, up)


def multiply_ends(a, b, up):
    """The product of two ends."""
    return rounded(a[0] * b[0], a[1] + b[1], up)


def inverse_end(a, up):
    """1 / a for an end other than 0."""
    bits = a[0].bit_length() + BITS[-1] + 2
    top = 1 << bits if a[0] > 0 else -(1 << bits)
    return rounded(quotient(top, abs(a[0]), up), -bits - a[1], up)


def less(a, b):
    """Whether one end is below another."""
    (m, e), (n, f) = a, b
    if m * n <= 0:
        return m < n
    tops = e + m.bit_length(), f + n.bit_length()
    if tops[0] != tops[1]:
        return (tops[0] < tops[1]) == (m > 0)
    least = min(e, f)
    return m << (e - least) < n << (f - least)


def end_of(q, up):
    """A rational number as an end."""
    bits = BITS[-1] + 2 + max(q.denominator.bit_length() - q.numerator.bit_length(), 0)
    return rounded(quotient(q.numerator << bits, q.denominator, up), -bits, up)


def fraction(end):
    """An end as a rational number."""
    if abs(end[1]) + end[0].bit_length() > RESULT_BITS:
        raise TooLarge("a value of too many digits")
    return end[0] * Fraction(2) ** end[1]


class Interval:
    """All numbers from `lo` to `hi`; every operation returns an interval that holds every possible result.

    `known` names the number inside, where it is a function of a rational one, such as ("log", 2): where two have the same name
    their ratio is 1, which no two intervals would say.
    """

    def __init__(self, lo, hi, known=None):
        self.lo, self.hi, self.known = lo, hi, known

    @staticmethod
    def of(low, high=None):
        """The interval between two rational numbers, rounded outward."""
        return Interval(end_of(Fraction(low), False), end_of(Fraction(low if high is None else high), True))

    def __add__(self, other):
        return Interval(add_ends(self.lo, other.lo, False), add_ends(self.hi, other.hi, True))

    def __neg__(self):
        return Interval((-self.hi[0], self.hi[1]), (-self.lo[0], self.lo[1]))

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        if self.lo[0] >= 0 and other.lo[0] >= 0:
            return Interval(multiply_ends(self.lo, other.lo, False), multiply_ends(self.hi, other.hi, True))
        corners = list(product((self.lo, self.hi), (other.lo, other.hi)))
        low = reduce(least, (multiply_ends(a, b, False) for a, b in corners))
        return Interval(low, reduce(greatest, (multiply_ends(a, b, True) for a, b in corners)))

    def inverse(self):
        """1 / x."""
        if self.lo[0] <= 0 <= self.hi[0]:
            raise Undecided("a division by what may be 0")
        return Interval(inverse_end(self.hi, False), inverse_end(self.lo, True))

    def __truediv__(self, other):
        return self * other.inverse()

    def absolute(self):
        """|x|."""
        low, high = self.lo, (-self.lo[0], self.lo[1])
        return self if low[0] >= 0 else (-self if self.hi[0] <= 0 else Interval((0, 0), greatest(self.hi, high)))

    def power(self, n):
        """x^n for an integer n: of |x| where n is even, else of each end with its sign."""
        if n <= 0:
            return self.power(-n).inverse() if n else ONE
        if n % 2 and self.lo[0] < 0:
            return at_ends(lambda x: x.power(n) if x.lo[0] >= 0 else -(-x).power(n), self)
        base, result = self.absolute(), ONE
        for bit in bin(n)[2:]:
            result = result * result * base if bit == "1" else result * result
        return result


def least(a, b):
    """The lesser end."""
    return a if less(a, b) else b


def greatest(a, b):
    """The greater end."""
    return b if less(a, b) else a


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
    s = isqrt(BITS[-1]) // 2 + 4
    w = BITS[-1] + 2 * s + 16 + max(top, 0)
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
    n = m.bit_length() - (1 if 3 * m < 2 << m.bit_length() else 0)
    k, one = e + n, 1 << n
    top, bottom = m - one, m + one
    lost = bottom.bit_length() - abs(top).bit_length() if k == 0 and top else 0
    w = BITS[-1] + 16 + lost
    inner = atanh_series(top, bottom, w, up) if top > 0 else -atanh_series(-top, bottom, w, not up) if top else 0
    return rounded(2 * inner + (k * log_2(w, (k < 0) != up) if k else 0), -w, up)


def sqrt_end(x, up):
    """The square root of an end, from the integer square root."""
    m, e = x
    if m < 0:
        raise Undecided("sqrt of what may be negative")
    shift = 2 * BITS[-1] + 4 - m.bit_length()
    shift = max(shift + ((e - shift) & 1), (e & 1))
    whole = m << shift
    root = isqrt(whole)
    return rounded(root + (1 if up and root * root < whole else 0), (e - shift) // 2, up)


exp, log, sqrt = (lambda x, f=f: Interval(f(x.lo, False), f(x.hi, True)) for f in (exp_end, log_end, sqrt_end))


# Functions at a point that are made of intervals; `at_ends` makes monotone functions of them.
def at_ends(function, x, falling=False):
    """A monotone function on an interval, from its enclosures at the two ends."""
    low = function(Interval(x.lo, x.lo))
    high = low if x.lo == x.hi else function(Interval(x.hi, x.hi))
    return Interval(high.lo, low.hi) if falling else Interval(low.lo, high.hi)


def size(x):
    """The least n with |x| <= 2^n for the interval x; -inf for 0."""
    return max(e + m.bit_length() if m else -math.inf for m, e in (x.lo, x.hi))


def within(x):
    """The interval from -|x| to |x|."""
    return Interval((-x.absolute().hi[0], x.absolute().hi[1]), x.absolute().hi)


def atan_point(x):
    """atan at a point: four times atan x = 2 atan(x / (1 + sqrt(1 + x^2))), then the sum of (-1)^n x^(2n + 1) / (2n + 1).

    The series alternates and falls for |x| < 1: what is cut off is less than the first term left out.
    """
    if x.lo[0] <= 0:
        return -atan_point(-x) if x.lo[0] else ZERO
    with precision(BITS[-1] + 24):
        for _ in range(4):
            x = x / (ONE + sqrt(ONE + x * x))
        square, power, total = -(x * x), x, ZERO
        for n in count(1, 2):
            total = total + power / Interval.of(n)
            power = power * square
            if size(power) < size(total) - BITS[-1]:
                break
        return (total + within(power)) * Interval.of(16)


@lru_cache(maxsize=64)
def pi_at(bits):
    """pi = 4 atan 1 to so many bits."""
    with precision(bits + 8):
        return atan_point(ONE) * Interval.of(4)


def erf_series(x):
    """erf(x) for x >= 0: 2 x exp(-x^2) / sqrt(pi) times the sum of (2 x^2)^n / (1 * 3 * ... * (2n + 1)).

    All terms are positive. Once 2 x^2 / (2n + 3) <= 1/2 each term is at most half of the one before, and those after the
    n-th sum to at most the n-th.
    """
    square = TWO * x * x
    term = total = ONE
    for n in count(1):
        term = term * square / Interval.of(2 * n + 1)
        total = total + term
        if fraction(square.hi) * 2 <= 2 * n + 3 and size(term) < size(total) - BITS[-1] - 2:
            break
    total = Interval(total.lo, add_ends(total.hi, term.hi, True))
    return TWO * x * exp(-x * x) / sqrt(pi_at(BITS[-1])) * total


def erfc_tail(x):
    """erfc(x) for large x > 0: exp(-x^2) / (x sqrt(pi)) times the sum of (-1)^n (1 * 3 * ... * (2n - 1)) / (2 x^2)^n.

    Integration by parts gives the remainder after n terms as an integral of one sign, that of the first term left out, and
    smaller than that term: the sum is that far from the truth at most, wherever it is cut.
    """
    square = TWO * x * x
    term, total = ONE, ZERO
    for n in count(1):
        total = total + term
        following = -(term * Interval.of(2 * n - 1)) / square
        if size(following) < -BITS[-1] - 4 or size(following) >= size(term):
            break
        term = following
    return exp(-x * x) / (x * sqrt(pi_at(BITS[-1]))) * (total + within(following))


def erfc_point(x):
    """erfc at a point; 1 - erf loses about x^2 / ln 2 bits, which are added before."""
    if x.lo[0] < 0:
        return TWO - erfc_point(-x)
    if less((1, 39), x.lo):  # erfc(x) <= exp(-x^2), and x^2 >= 2^78
        return Interval((0, 0), (1, -(1 << 78)))
    square = Fraction(shifted(*(x * x).hi, True))
    if square > Fraction(17, 20) * (BITS[-1] + 10):  # then the terms fall below 2^-bits before they grow
        with precision(BITS[-1] + 16 + 2 * max(size(x), 0)):
            return erfc_tail(x)
    spend(20)
    with precision(BITS[-1] + 24 + int(square * 3 / 2)):
        return ONE - erf_series(x)


@lru_cache(maxsize=16)
def tangent_numbers(most):
    """The numbers T_1 to T_most in tan x = sum of T_k x^(2k - 1) / (2k - 1)!, by the recurrence of Brent and Harvey (2011)."""
    tangents = [1] * most
    for k in range(1, most):
        tangents[k] = k * tangents[k - 1]
    for k in range(1, most):
        for j in range(k, most):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    return tangents


def bernoulli(n):
    """Bernoulli's number B_n for an even n > 0: (-1)^(k - 1) n T_k / (4^k (4^k - 1)) with k = n / 2."""
    k = n // 2
    magnitude = Fraction(n * tangent_numbers(1 << k.bit_length())[k - 1], 4**k * (4**k - 1))
    return magnitude if k % 2 else -magnitude


def lgamma(x):
    """ln Gamma(x) for x > 0, by Stirling's series at x + n, less the logarithms of x, x + 1, ... x + n - 1.

    ln Gamma(y) = (y - 1/2) ln y - y + ln(2 pi)/2 + the sum of B_2k / (2k (2k - 1) y^(2k - 1)); for real y > 0 what is cut off
    is smaller than the first term left out, and of its sign. With y >= bits / 4 the terms fall below the precision.
    """
    if x.lo[0] <= 0:
        raise Undecided("lgamma of what may not be positive")
    with precision(BITS[-1] + 32):
        wanted, y, product_ = BITS[-1] // 4, x, ONE
        spend(wanted // 8)
        while less(y.lo, (wanted, 0)):
            product_ = product_ * y
            y = y + ONE
        total = (y - ONE / TWO) * log(y) - y + log(TWO * pi_at(BITS[-1])) / TWO
        for k in count(1):
            term = Interval.of(bernoulli(2 * k) / (2 * k * (2 * k - 1))) / y.power(2 * k - 1)
            if size(term) < -BITS[-1] or k > wanted:
                break
            total = total + term
        return total + within(term) - log(product_)


# Expressions: "p/q", the name of a parameter, or {"op": ..., "args": [...]}. A value is a Fraction while it is exact.
NUMBER = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?")  # not \d, which matches the digits of all scripts
DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?(E[+-]?[0-9]{1,6})?")
COMPARISONS = ("<=", "<", ">=", ">", "==", "!=")
OTHER = (*COMPARISONS, "and", "or", "not", "true", "false", "abs", "floor", "binomial", "pi", "sum", "piecewise")


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
    if isinstance(x, Fraction) and x.denominator == 1:
        return x.numerator
    raise Undecided("an integer is not known to be one")


def raised(base, exponent):
    """base ^ exponent: repeated products for an integer, square roots for a half, else exp(exponent ln base)."""
    if isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            n = exponent.numerator
            fits = exact(base) and abs(n) * (base.numerator.bit_length() + base.denominator.bit_length()) < EXACT_BITS
            return base**n if fits and (base or n >= 0) else interval(base).power(n)
        if exponent.denominator == 2:
            return raised(square_root(base), Fraction(exponent.numerator))
    if exact(base) and base == 0 and exact(exponent) and exponent > 0:
        return Fraction(0)
    return exp(log(interval(base)) * interval(exponent))


def square_root(x):
    """The square root, exact where that of an exact value is rational."""
    if exact(x) and x >= 0:
        above, below = isqrt(x.numerator), isqrt(x.denominator)
        if above * above == x.numerator and below * below == x.denominator:
            return Fraction(above, below)
    root = sqrt(interval(x))
    root.known = ("sqrt", x) if exact(x) else None
    return root


def chosen(n, k):
    """The binomial coefficient of integers, which is at most n^min(k, n - k)."""
    if n < 0:
        raise Undecided("binomial of a negative number")
    if not 0 <= k <= n:
        return Fraction(0)
    bits = min(k, n - k) * n.bit_length()
    if bits > RESULT_BITS:
        raise TooLarge("a binomial coefficient of too many digits")
    spend(1 + bits // 64)
    return Fraction(comb(n, k))


def compared(op, a, b):
    """Whether a relation holds; None while the intervals do not say."""
    if op in (">=", ">"):
        return compared({">=": "<=", ">": "<"}[op], b, a)
    if op in ("==", "!="):
        both = compared("<=", a, b), compared("<=", b, a)
        same = False if False in both else (None if None in both else True)
        return same if op == "==" or same is None else not same
    if exact(a, b):
        return a <= b if op == "<=" else a < b
    a, b = interval(a), interval(b)
    if op == "<=":
        return True if not less(b.lo, a.hi) else (False if less(b.hi, a.lo) else None)
    return True if less(a.hi, b.lo) else (False if not less(a.lo, b.hi) else None)


def condition(tree, at):
    """Whether a condition holds with these values of the parameters; None while the intervals do not say."""
    op, args = parts(tree)
    spend(1)
    if op in ("true", "false"):
        return op == "true"
    if op in ("and", "or"):
        known = [condition(arg, at) for arg in args]
        absorbing = op == "or"
        return absorbing if absorbing in known else (None if None in known else not absorbing)
    if op == "not" and len(args) == 1:
        return {True: False, False: True, None: None}[condition(args[0], at)]
    if op not in COMPARISONS or len(args) != 2:
        raise Malformed(f"no condition: {brief(op)}")
    try:
        return compared(op, evaluated(args[0], at)[0], evaluated(args[1], at)[0])
    except Undecided:
        return None


def parts(tree):
    """The operation and the arguments of a node."""
    if not isinstance(tree, dict) or set(tree) != {"op", "args"} or type(tree["op"]) is not str:
        raise Malformed(f"no expression: {brief(tree)}")
    if type(tree["args"]) is not list:
        raise Malformed(f"the arguments are a list: {brief(tree)}")
    return tree["op"], tree["args"]


def shape(trees, names):
    """Check that these are expressions of parameters with these names, and not too large; deep ones without recursion."""
    left, nodes = [(tree, 0, names) for tree in trees], 0
    while left:
        tree, depth, known = left.pop()
        nodes += 1
        if nodes > NODES or depth > DEPTH:
            raise TooLarge(f"an expression of more than {NODES} nodes, or nested more than {DEPTH} deep")
        if type(tree) is str:
            if len(tree) > TEXT:
                raise TooLarge(f"a number or a name of more than {TEXT} characters")
            if not NUMBER.fullmatch(tree) and tree not in known:
                raise Malformed(f"no parameter and no number: {brief(tree)}")
            continue
        op, args = parts(tree)
        if op not in OTHER and op not in BINARY and op not in ELEMENTARY:
            raise Malformed(f"no operation {brief(op)}")
        if op == "piecewise":
            if not all(type(arg) is list and len(arg) == 2 for arg in args):
                raise Malformed("piecewise: pairs of an expression and a condition")
            args = [part for arg in args for part in arg]
        elif op == "sum":
            if len(args) != 4 or type(args[1]) is not str or NUMBER.fullmatch(args[1]):
                raise Malformed("sum: a term, an index, the first and the last")
            left.append((args[0], depth + 1, {*known, args[1]}))
            args = args[2:]
        left += [(arg, depth + 1, known) for arg in args]


def brief(x):
    """The beginning of what was read, fit to be shown."""
    if isinstance(x, dict | list):
        return "an object" if isinstance(x, dict) else "a list"
    return repr(x[:60] if isinstance(x, str) else x)[:70]


def fixed(at):
    """Parameters with these values, each a Fraction or an Interval, and no derivatives."""
    return {name: (x, {}) for name, x in at.items()}


def value(tree, at):
    """An expression with these values of the parameters."""
    return evaluated(tree, fixed(at))[0]


def slopes(tree, at):
    """Its interval, and a dictionary from parameter to the interval of the partial derivative (absent: 0)."""
    result, ds = evaluated(tree, {name: (x, {name: ONE}) for name, x in at.items()})
    return interval(result), ds


def evaluated(tree, at):
    """Value and partial derivatives, from those of each parameter."""
    spend(1)
    if isinstance(tree, str):
        if NUMBER.fullmatch(tree):
            return Fraction(tree), {}
        if tree not in at:
            raise Malformed(f"no parameter {brief(tree)}")
        return at[tree]
    op, args = parts(tree)
    if op == "piecewise":
        for branch, holds in args:
            known = condition(holds, at)
            if known is None:
                raise Undecided("a case is not known")
            if known:
                return evaluated(branch, at)
        raise Undecided("no case holds")
    if op == "sum":
        low, high = (whole(evaluated(arg, at)[0]) for arg in args[2:])
        if high - low > TERMS:
            raise TooLarge(f"a sum of more than {TERMS} terms")
        terms = (evaluated(args[0], {**at, args[1]: (Fraction(k), {})}) for k in range(low, high + 1))
        return reduce(lambda one, other: pair("+", one, other), terms, (Fraction(0), {}))
    operands = [evaluated(arg, at) for arg in args]
    op = "negative" if op == "-" and len(operands) == 1 else op
    if op == "pi" and not operands:
        return pi_at(BITS[-1]), {}
    if op in (*ELEMENTARY, "negative", "abs", "floor") and len(operands) == 1:
        return unary(op, *operands[0])
    if op == "binomial" and len(operands) == 2:
        return chosen(*(whole(x) for x, _ in operands)), {}
    if op in BINARY and (len(operands) == 2 or (operands and op not in ("/", "pow"))):
        return reduce(lambda one, other: pair(op, one, other), operands)
    raise Malformed(f"no operation {brief(op)} of {len(args)} arguments")


# Slopes. Where |x|, min and max have a kink the interval holds the derivatives of both sides, for which the mean value theorem
# holds as well (these functions are Lipschitz). An integer that is known to be one does not change on the box.
def unary(op, x, ds):
    """A function of one value, and the chain rule."""
    spend(len(ds))
    if op == "negative":
        return (-x if exact(x) else -interval(x)), combined([(ds, -ONE)])
    if op == "abs":
        low, high = interval(x).lo[0], interval(x).hi[0]
        sign = ONE if low >= 0 else (-ONE if high <= 0 else Interval((-1, 0), (1, 0)))
        return abs(x) if exact(x) else interval(x).absolute(), combined([(ds, sign)])
    if op == "floor":
        if ds and not exact(floor(x)):
            raise Undecided("floor jumps")
        return floor(x), {}
    spend(20)
    function, derivative = ELEMENTARY[op]
    if ds and derivative is None:
        raise Undecided(f"{op} has no derivative here")
    if op == "sqrt" and not ds:
        return square_root(x), {}
    y = function(interval(x))
    y.known = (op, x) if exact(x) else None
    return y, combined([(ds, derivative(interval(x), y))]) if ds else {}


def floor(x):
    """The floor, which never decreases."""
    if isinstance(x, Fraction):
        return Fraction(x // 1)
    if size(x) > EXACT_BITS:
        raise Undecided("floor of what may be huge")
    low, high = (Fraction(shifted(m, e, False)) for m, e in (x.lo, x.hi))
    return low if low == high else Interval.of(low, high)


def pair(op, first, second):
    """An operation on two values, exact on exact ones, and its derivative."""
    (x, ds), (y, es) = first, second
    spend(len(ds) + len(es) + (32 if op == "pow" else 0))
    if not ds and not es and (simple := simplified(op, x, y)) is not None:
        return simple, {}
    as_they_are = op == "pow" or (exact(x, y) and (op != "/" or y))
    sides = (x, y) if as_they_are else (interval(x), interval(y))
    result = BINARY[op](*sides)
    if not ds and not es:
        return result, {}
    a, b = interval(x), interval(y)
    if op in ("+", "-"):
        return result, combined([(ds, ONE), (es, ONE if op == "+" else -ONE)])
    if op == "*":
        return result, combined([(ds, b), (es, a)])
    if op == "/":
        return result, combined([(ds, b.inverse()), (es, -(a * b.inverse() * b.inverse()))])
    if op == "pow" and es:  # exp(y ln x)
        return result, combined([(es, interval(result) * log(a)), (ds, interval(result) * b / a)])
    if op == "pow":
        return result, combined([(ds, b * interval(raised(x, y - 1 if exact(y) else b - ONE)))])
    below = compared("<=", x, y)
    if below is None:
        both = {n: (ds.get(n, ZERO), es.get(n, ZERO)) for n in {**ds, **es}}
        return result, {n: Interval(least(d.lo, e.lo), greatest(d.hi, e.hi)) for n, (d, e) in both.items()}
    return result, ds if below is (op == "min") else es


def simplified(op, x, y):
    """0 x = 0, 1 x = x / 1 = x and x / x = 1, which intervals lose; None where it is none of these."""
    if op == "*" and any(isinstance(v, Fraction) and v in (0, 1) for v in (x, y)):
        one, other = (x, y) if isinstance(x, Fraction) and x in (0, 1) else (y, x)
        return other if one else Fraction(0)
    if op == "/" and isinstance(x, Interval) and isinstance(y, Interval) and x.known and x.known == y.known:
        y.inverse()  # which raises where it may be 0
        return Fraction(1)
    return None


def combined(weighted):
    """The sum of gradients, each times an interval."""
    total = {}
    for ds, weight in weighted:
        for name, d in ds.items():
            total[name] = total[name] + d * weight if name in total else d * weight
    return total


BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "pow": raised,
    "min": lambda a, b: min(a, b) if exact(a, b) else Interval(least(a.lo, b.lo), least(a.hi, b.hi)),
    "max": lambda a, b: max(a, b) if exact(a, b) else Interval(greatest(a.lo, b.lo), greatest(a.hi, b.hi)),
}
ELEMENTARY = {  # each with its derivative at x, where it is y
    "exp": (exp, lambda x, y: y),
    "log": (log, lambda x, y: x.inverse()),
    "sqrt": (sqrt, lambda x, y: (TWO * y).inverse()),
    "atan": (lambda x: at_ends(atan_point, x), lambda x, y: (ONE + x.power(2)).inverse()),
    "erfc": (
        lambda x: at_ends(erfc_point, x, falling=True),
        lambda x, y: -(TWO / sqrt(pi_at(BITS[-1])) * exp(-x.power(2))),
    ),
    "lgamma": (lgamma, None),
}


class Claim:
    """The contents of claim.json."""

    KEYS = frozenset(
        ("schema", "id", "statement", "relation", "expression", "given", "domain", "paper", "source_sha256", "form")
    )

    def __init__(self, text):
        given = loaded(text)
        self.id, self.op = field(given, "id", str), field(given, "relation", str)
        self.form = field(given, "form", bool) if "form" in given else False  # of a claim that is an algorithm
        if given.get("schema") != SCHEMA or self.op not in ("<=", ">=", "=="):
            raise Malformed(f"schema or relation: {brief(given.get('schema'))}, {brief(self.op)}")
        if extra := set(given) - self.KEYS:
            raise Malformed(f"a key that no claim has: {brief(min(extra))}")
        sides = field(given, "expression", dict)
        if set(sides) != {"actual", "claimed"}:
            raise Malformed("expression: an actual and a claimed side")
        self.actual, self.claimed = sides["actual"], sides["claimed"]
        self.given = field(given, "given", list)
        self.ranges = {name: self.range(r) for name, r in field(given, "domain", dict).items()}
        if numbers := [name for name in self.ranges if NUMBER.fullmatch(name)]:
            raise Malformed(f"a parameter that looks like a number: {brief(numbers[0])}")
        shape([self.actual, self.claimed, *self.given], frozenset(self.ranges))
        self.sha256 = hashlib.sha256(text).hexdigest()
        high, low = (self.claimed, self.actual) if self.op == "<=" else (self.actual, self.claimed)
        self.high, self.low, self.difference = high, low, less_common(high, low)

    @staticmethod
    def range(given):
        """Low, high, whether integers are meant, further values."""
        if type(given) is not dict or set(given) != {"low", "high", "integer", "extra"}:
            raise Malformed(f"no range: {brief(given)}")
        low, high, extra = rational(given["low"]), rational(given["high"]), field(given, "extra", list)
        if low > high:
            raise Malformed("a range whose low end is above its high end")
        return low, high, field(given, "integer", bool), [rational(x) for x in extra]


def loaded(text):
    """A JSON object; one that names a key twice, or has a number that is not finite, is none."""

    def once(pairs):
        if len(found := dict(pairs)) == len(pairs):
            return found
        raise Malformed("a key stands twice")

    def never(name):
        raise Malformed(f"{name} is no number of JSON")

    def integer(digits):
        if len(digits) > TEXT:
            raise TooLarge(f"a number of more than {TEXT} digits")
        return int(digits)

    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        loaded = json.loads(text, object_pairs_hook=once, parse_constant=never, parse_int=integer)
    except ValueError as error:
        raise Malformed(f"no JSON: {error}") from None
    except RecursionError:
        raise TooLarge("JSON that is nested too deep") from None
    if not isinstance(loaded, dict):
        raise Malformed("no JSON object")
    return loaded


def field(given, name, kind):
    """An entry of a JSON object, of the type that it must have."""
    if type(given.get(name)) is not kind:  # True is no integer here
        raise Malformed(f"{name}: missing, or not of its type")
    return given[name]


def rational(text):
    """A rational number written "p/q"."""
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise Malformed(f"no rational number: {brief(text)}")
    if len(text) > TEXT:
        raise TooLarge(f"a number of more than {TEXT} characters")
    return Fraction(text)


def of_this_claim(claim, text, *keys):
    """The contents of a file that goes with a claim, and has these keys beside those that say so."""
    given = loaded(text)
    if extra := set(given) - {"schema", "id", "claim_sha256", *keys}:
        raise Malformed(f"a key that such a file does not have: {brief(min(extra))}")
    if given.get("schema") != SCHEMA or given.get("id") != claim.id:
        raise Malformed("schema or id is not that of the claim")
    if given.get("claim_sha256") != claim.sha256:
        raise Rejected("speaks of another claim.json")
    return given


def witnessed(claim, text):
    """Rebuild a witness: the point is allowed, the relation fails there, and the decimals are right to the last digit."""
    given = of_this_claim(claim, text, "point", "claimed", "actual", "digits")
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
    for bits in LADDER:
        with precision(bits):
            try:
                reason = refuted(claim, point, given, digits)
            except Undecided as undecided:
                reason = str(undecided)
        if not reason:
            return f"refuted at {', '.join(f'{n} = {x}' for n, x in point.items()) or 'the only point'}"
    raise Rejected(reason)


def refuted(claim, point, given, digits):
    """Empty if the claim fails at the point; why that is not known, else."""
    for i, hypothesis in enumerate(claim.given):
        if (known := condition(hypothesis, fixed(point))) is False:
            raise Rejected(f"hypothesis {i} fails at the point")
        if known is None:
            return f"hypothesis {i} is not decided"
    actual, claimed = value(claim.actual, point), value(claim.claimed, point)
    if known := compared(claim.op, actual, claimed):
        raise Rejected("the relation holds at the point")
    if known is None:
        return "the relation is not decided at the point"
    for name, quantity in (("actual", actual), ("claimed", claimed)):
        if not rounds_to(field(given, name, list), quantity, digits):
            return f"{name}: the value is not known to so many digits"
    return ""


def rounds_to(stated, value, digits):
    """Whether the stated ends are the value, rounded down and up to so many digits; false where that is not known yet."""
    if len(stated) != 2 or not all(isinstance(s, str) and DECIMAL.fullmatch(s) for s in stated):
        raise Malformed("an interval is two decimals")
    if max(map(len, stated)) > TEXT + 10:
        raise TooLarge(f"a decimal of more than {TEXT} digits")
    low, high = (value, value) if isinstance(value, Fraction) else (fraction(value.lo), fraction(value.hi))
    for text, up in zip(stated, (False, True), strict=True):
        least, most = to_digits(low, digits, up), to_digits(high, digits, up)
        if not least <= Decimal(text) <= most:
            raise Rejected(f"{text} is not the value to {digits} digits, rounded {'up' if up else 'down'}")
        if least != most:  # the next digits are not known yet
            return False
    return True


def to_digits(x, digits, up):
    """A rational number rounded down or up to so many significant decimal digits."""
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
    if x.numerator.bit_length() + x.denominator.bit_length() > RESULT_BITS:
        raise TooLarge("a value of too many digits")
    spend(1 + (x.numerator.bit_length() + x.denominator.bit_length()) // 64)
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def proved(claim, text):
    """Rebuild a proof: the cuts make boxes of the domain, and on each the relation holds or a hypothesis fails."""
    trees = field(of_this_claim(claim, text, "trees"), "trees", list)
    pieces = [[(a, b), *((x, x) for x in extra if not a <= x <= b)] for a, b, _, extra in claim.ranges.values()]
    if claim.op == "==" or len(trees) != math.prod(map(len, pieces)):
        raise Malformed("boxes prove no equation; a tree of cuts for each part of the domain")
    roots = [dict(zip(claim.ranges, root, strict=True)) for root in product(*pieces)]
    boxes = leaves(claim, list(zip(trees, roots, strict=True)))
    if all(sign != "+" for _, sign in boxes):
        raise Rejected("a hypothesis fails on every box: nothing is claimed")
    with precision(BOX_BITS):
        for box, sign in boxes:
            at = intervals(box)
            if not (certain(claim, box) if sign == "+" else condition(claim.given[sign], fixed(at)) is False):
                raise Rejected(f"not shown on {shown(box)}")
    return f"{'its form is ' if claim.form else ''}proved on {len(boxes)} boxes"


def leaves(claim, parted):
    """The boxes into which trees of cuts part theirs, each with its sign: "+", or the number of the hypothesis that fails."""
    signed_boxes, nodes = [], 0
    while parted:
        tree, box = parted.pop()
        nodes += 1
        if nodes > NODES:
            raise TooLarge(f"a proof of more than {NODES} boxes")
        if not isinstance(tree, dict) or set(tree) not in ({"sign"}, {"cut", "at", "parts"}):
            raise Malformed(f"no tree of cuts: {brief(tree)}")
        if "sign" in tree:
            sign = tree["sign"]
            if sign != "+" and (type(sign) is not int or not 0 <= sign < len(claim.given)):
                raise Malformed("the sign of a box is + or the number of a hypothesis")
            signed_boxes.append((box, sign))
            continue
        name, at, halves = field(tree, "cut", str), rational(tree["at"]), field(tree, "parts", list)
        if name not in box or len(halves) != 2:
            raise Malformed("a cut goes through a parameter and has two parts")
        low, high = box[name]
        after = at // 1 + 1 if claim.ranges[name][2] else at  # no integer is lost
        if not low <= at <= after <= high:
            raise Rejected(f"a cut of {brief(name)} outside {shown(box)}")
        parted += [(halves[0], {**box, name: (low, at)}), (halves[1], {**box, name: (after, high)})]
    return signed_boxes


def shown(box):
    """A box in words."""
    context = Context(prec=6, Emin=MIN_EMIN, Emax=MAX_EMAX)

    def near(x):
        return context.divide(Decimal(x.numerator), Decimal(x.denominator))

    return ", ".join(f"{n} in [{near(a)}, {near(b)}]" for n, (a, b) in box.items()) or "the only point"


def intervals(box):
    """The parameters on a box: exact where the box is a point."""
    return {name: low if low == high else Interval.of(low, high) for name, (low, high) in box.items()}


def certain(claim, box, halvings=HALVINGS):
    """Whether the relation holds on all of a box, or on both halves of it, cut where it is widest."""
    try:
        if is_at_least_on_box(claim, box):
            return True
    except Undecided:
        pass
    wide = {n: (b - a) / (claim.ranges[n][1] - claim.ranges[n][0]) for n, (a, b) in box.items() if a < b}
    if not wide or not halvings:
        return False
    name = max(wide, key=lambda n: wide[n])
    middle = sum(box[name]) / 2  # of integers too: what holds between them does no harm
    halves = ((box[name][0], middle), (middle, box[name][1]))
    return all(certain(claim, {**box, name: half}, halvings - 1) for half in halves)


def is_at_least_on_box(claim, box):
    """Whether the side that ought to be the greater is at least the other on all of a box.

    Their difference, without what they have in common, is enclosed. Where that does not say, each parameter whose partial
    derivative has a sign is set to the end at which the difference is least; what remains is enclosed directly and by the mean
    value theorem.
    """
    if compared("<=", value(claim.low, intervals(box)), value(claim.high, intervals(box))):  # and both have a value
        return True
    difference = claim.difference
    while not compared("<=", Fraction(0), value(difference, intervals(box))):
        _, ds = slopes(difference, intervals(box))
        signs = {name: (ds.get(name, ZERO).lo[0] >= 0, ds.get(name, ZERO).hi[0] <= 0) for name in box}
        ends = {n: (a, a) if signs[n][0] else ((b, b) if signs[n][1] else (a, b)) for n, (a, b) in box.items()}
        if ends == box:  # the value in the middle has to outweigh the slopes times the distances from it
            middle = {name: (a + b) / 2 for name, (a, b) in box.items()}
            total = interval(value(difference, middle))
            for name, (a, b) in box.items():
                total = total + ds.get(name, ZERO) * Interval.of(a - middle[name], b - middle[name])
            return total.lo[0] >= 0
        box = ends
    return True


def less_common(high, low):
    """The difference of two sums: addends that are alike but for a rational factor are counted together."""
    factors = {}

    def count_in(tree, by):
        op, args = parts(tree) if isinstance(tree, dict) else ("", [])
        if op in ("+", "-"):
            for i, arg in enumerate(args):
                count_in(arg, -by if op == "-" and (i or len(args) == 1) else by)
            return
        if op == "*" and len(args) > 1 and isinstance(args[0], str) and NUMBER.fullmatch(args[0]):
            tree, by = (args[1] if len(args) == 2 else {"op": "*", "args": args[1:]}), by * Fraction(args[0])
        key = json.dumps(tree)
        factors[key] = factors.get(key, 0) + by

    count_in(high, Fraction(1))
    count_in(low, Fraction(-1))
    kept = [{"op": "*", "args": [str(by), json.loads(key)]} for key, by in factors.items() if by]
    return {"op": "+", "args": ["0", *kept]}


def contents(path):
    """The bytes of a regular file: of a pipe or a device there might be no end."""
    if not path.is_file():
        raise Malformed(f"{path.name}: {'not a file' if os.path.lexists(path) else 'missing'}")
    with path.open("rb") as file:
        if len(found := file.read(FILE_BYTES + 1)) > FILE_BYTES:
            raise TooLarge(f"{path.name} has more than {FILE_BYTES} bytes")
    return found


def sums(folder):
    """Compare every file with SHA256SUMS; the files that it names."""
    lines = contents(folder / "SHA256SUMS").decode("utf-8").splitlines()
    if not all(re.fullmatch(r"[0-9a-f]{64}  \S.*", line) for line in lines):
        raise Malformed("SHA256SUMS: a sum, two blanks and a name in each line")
    named = {line[66:]: line[:64] for line in lines}
    if len(named) < len(lines) or any(PurePosixPath(name).is_absolute() or ".." in name for name in named):
        raise Malformed("SHA256SUMS: every name once, and none outside the folder")
    for name, digest in named.items():
        if not (folder / name).is_file() or hashlib.sha256(contents(folder / name)).hexdigest() != digest:
            raise Rejected(f"{brief(name)}: missing, or not as in SHA256SUMS")
    if unlisted := {path.relative_to(folder).as_posix() for path in folder.glob("*/*.json")} - set(named):
        raise Rejected(f"{', '.join(map(brief, sorted(unlisted)))}: not in SHA256SUMS")


def rebuilt(folder):
    """Rebuild the certificate of one folder and say what it shows."""
    with limited(WORK):
        claim = Claim(contents(folder / "claim.json"))
        if claim.id != folder.name:
            raise Rejected(f"the claim {brief(claim.id)} in a folder of another name")
        beside = [name for name in ("witness.json", "proof.json") if os.path.lexists(folder / name)]
        if len(beside) != 1:
            raise Malformed("one of witness.json and proof.json is needed")
        shown_by = witnessed if beside == ["witness.json"] else proved
        return f"{claim.id}: {shown_by(claim, contents(folder / beside[0]))}"


def say(line):
    """Print a line in which nothing steers the terminal, and that any encoding can carry."""
    encoding = sys.stdout.encoding or "utf-8"
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    print(plain.encode(encoding, "backslashreplace").decode(encoding))


def main(folder):
    """Check a folder of certificates and return the exit code."""
    if not folder.is_dir():
        say(f"{folder}: MALFORMED: no folder")
        return 2
    code, folders = 0, sorted(path for path in folder.iterdir() if path.is_dir() and any(path.glob("*.json")))
    if not folders:
        say(f"{folder}: MALFORMED: no certificate in it")
        return 2
    tasks = [("SHA256SUMS", lambda: sums(folder) or "SHA256SUMS: every file is as listed")]
    tasks += [(path.name, lambda path=path: rebuilt(path)) for path in folders]
    for name, task in tasks:
        try:
            say(task())
        except Rejected as error:
            code = max(code, 1)
            say(f"{name}: REJECTED: {error}")
        except Malformed as error:
            code = 2
            say(f"{name}: MALFORMED: {error}")
        except Exception as error:  # of a file that nobody thought of: the others are still to be checked
            code = 2
            say(f"{name}: MALFORMED: {type(error).__name__}: {error}")
    say({0: "all rebuilt", 1: "something was rejected", 2: "something is malformed"}[code])
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent))
