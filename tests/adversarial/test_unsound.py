"""What must never be proved: poles, branch points, jumps, and integers between which a function turns; by either program."""

import importlib.util
import json
import random
from fractions import Fraction
from itertools import product

import flint
import pytest
import sympy as sp

from airtight.analytics.forms.balls.compiled import Ends, UnsupportedExpression, enclosed
from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims.certificates.writing import CHECK, tree
from airtight.validate.claims.proving.boxes import Status
from airtight.validate.claims.proving.proof import prove
from airtight.validate.claims.relation import at_least, at_most, equal

_spec = importlib.util.spec_from_file_location("unsound_check", CHECK)
CHECKER = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(CHECKER)

X, Y = parameter("x", 0.0, 1.0), parameter("y", 0.0, 1.0)
H = sp.Rational(1, 2)
UNDEFINED = [
    at_least((1 / (X - H)) ** 2, 0),
    at_least(X + (X - H) ** -2, 0),
    at_least(sp.Abs(1 / (X - H)), 0),
    at_least(sp.cosh(1 / (X - H)), 1),
    at_most(1 / (X - H), 1 / (X - H) + 1),
    at_most(sp.sqrt(X - H), 2),
    at_most(sp.Abs(sp.sqrt(X - 2)), sp.Abs(sp.sqrt(X - 2)) + 1),
    at_least(sp.Max(sp.log(X), -1), -1),
    at_least(sp.Max(5, 1 / X), 5),
    at_most(sp.Min(1 / (X - H), 5), 6),
    at_most(sp.sign(1 / (X - H)), 2),
    at_least(sp.atanh(2 * X) ** 2, 0),
    at_least(sp.asin(2 * X), 0),
    at_least(sp.tan(3 * X) ** 2, 0),
    at_least(sp.Abs(sp.gamma(X - H)), 0),
    at_least(sp.tanh(1 / (X - H)), -2),
    at_least(sp.erf(1 / X), -2),
    at_most(sp.Piecewise((1, X < H), (1 / (X - H), True)), 10**6),
    equal((X**2 - H**2) / (X - H), X + H),
    equal(sp.sin(2 * X) / sp.cos(2 * X), sp.tan(2 * X)),
    at_least((X**2 - H**2) ** 2 / (X - H) ** 2, 0),
]


@pytest.mark.parametrize("relation", UNDEFINED, ids=lambda r: str(r.actual)[:40])
def test_nothing_is_proved_where_a_side_is_undefined(relation):
    assert not prove(relation, boxes=100).proved


@pytest.mark.parametrize("relation", UNDEFINED, ids=lambda r: str(r.actual)[:40])
def test_check_py_rejects_such_a_proof(relation):
    """Whatever boxes a forger cuts: the whole domain, and halves that meet at the pole."""
    try:
        parts = _claim(relation)
    except UnsupportedExpression:
        pytest.skip("not in the certificates")
    whole = {"sign": "+"}
    for tree_ in (whole, _halves("x", "1/2"), _halves("x", "1/2", _halves("x", "1/2"))):
        with pytest.raises((CHECKER.Rejected, CHECKER.Malformed)):
            _checked(parts, [tree_])


def _halves(name, at, upper=None):
    return {"cut": name, "at": at, "parts": [{"sign": "+"}, upper or {"sign": "+"}]}


def _claim(relation, given=()):
    domain = {
        name: {
            "low": str(Fraction(repr(r.low))),
            "high": str(Fraction(repr(r.high))),
            "integer": r.integer,
            "extra": [str(Fraction(repr(x))) for x in r.extra],
        }
        for name, r in relation.domain().items()
    }
    sides = {"actual": tree(relation.actual), "claimed": tree(relation.claimed)}
    made = {"schema": CHECKER.SCHEMA, "id": "F", "relation": relation.sign.value, "expression": sides}
    return CHECKER.Claim(json.dumps({**made, "given": [tree(g) for g in given], "domain": domain}).encode())


def _checked(claim, trees):
    made = {"schema": CHECKER.SCHEMA, "id": "F", "claim_sha256": claim.sha256, "trees": trees}
    return CHECKER.proved(claim, json.dumps(made).encode())


def test_unknown_stays_unknown():
    unknown = Ends.between(Fraction(-1), Fraction(1)).inverse()
    half = Ends.between(Fraction(-1), Fraction(1)).sqrt()
    for x in (unknown, half):
        made = [abs(x), x**2, x**0, x.max(0), x.min(0), x.sgn(), x.cosh(), x.union(1), x * 0, x.erf(), x.floor(), -x]
        for found in made:
            assert not (found >= -10 or found <= 10 or found == found or found != 3 or found.is_finite())


def test_a_slope_has_its_sign_between_the_integers_too():
    """Falls at every integer, and rises from each to the next."""
    n = parameter("n", 0, 3, integer=True)
    bump = n - sp.Rational(99, 100) - (n * (n - 1) * (n - 2) * (n - 3)) * 5
    values = [bump.subs(n, k) for k in range(4)]
    assert min(values) < 0 < values[1]
    assert not prove(at_least(bump, 0)).proved
    m = parameter("m", 0.0, 3.0)
    assert not prove(at_least((n - m) ** 2 - sp.Rational(1, 100) * sp.Abs(n - m), 0)).proved


def test_jumps_have_slopes():
    falls = sp.Piecewise((X, X < H), (X - 1, True))
    assert prove(at_least(falls, 0)).status is not Status.PROVED
    assert not prove(at_least(sp.floor(2 * X) * -1 + X, 0)).proved
    assert not prove(at_least(X - sp.sign(X - H) / 2 - sp.Rational(1, 10), 0)).proved


def test_what_sympy_takes_for_granted_must_be_so():
    q = sp.Symbol("q", positive=True)
    assert "declared" in prove(at_least(q, 0), {"q": Range(-1.0, 1.0)}).reason
    assert "no domain" in prove(at_least(sp.Symbol("r") ** 2, 0)).reason


# Random expressions full of poles and branch points


def _expression(rng, symbols, depth):
    if depth == 0:
        return rng.choice([*symbols, *symbols, sp.Rational(rng.randint(-6, 6), rng.choice([1, 2, 4]))])
    a, b = _expression(rng, symbols, depth - 1), _expression(rng, symbols, rng.randint(0, depth - 1))
    third, x = sp.Rational(1, 3), symbols[0]
    kinds = (
        *(lambda: a + b, lambda: a - b, lambda: a * b, lambda: a / b, lambda: 1 / a, lambda: a**2, lambda: a**-2),
        *(lambda: sp.sqrt(a), lambda: 1 / sp.sqrt(a), lambda: a ** (3 * H), lambda: a**third, lambda: a**b),
        *(lambda: sp.log(a), lambda: sp.exp(sp.Min(a, 5)), lambda: sp.Abs(a), lambda: sp.sign(a), lambda: sp.floor(a)),
        *(lambda: sp.Max(a, b), lambda: sp.Min(a, b), lambda: sp.Piecewise((a, x < b), (b, True))),
        *(lambda: sp.asin(a), lambda: sp.atanh(a), lambda: sp.tan(a), lambda: sp.atan(1 / a), lambda: sp.tanh(1 / a)),
        *(lambda: sp.erf(a), lambda: sp.cosh(a), lambda: sp.sin(3 * a), lambda: sp.loggamma(a)),
    )
    return rng.choice(kinds)()


def _grid(symbol, rng):
    allowed = symbol.range
    low, high = Fraction(repr(allowed.low)), Fraction(repr(allowed.high))
    if allowed.integer:
        return [Fraction(k) for k in range(int(low), int(high) + 1)]
    even = [low + (high - low) * Fraction(k, 16) for k in range(17)]
    return [*even, *(low + (high - low) * Fraction(rng.randint(1, 999), 1000) for _ in range(4))]


def _random_relation(seed):
    rng = random.Random(seed)
    symbols = []
    for name in "xy"[: rng.randint(1, 2)]:
        low, wide = rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5]), rng.choice([1.0, 2.0, 3.0])
        whole = rng.random() < 0.25
        symbols.append(parameter(name, -1, 3, integer=True) if whole else parameter(name, low, low + wide))
    try:
        side = _expression(rng, symbols, rng.randint(1, 3))
        if side.has(sp.zoo, sp.nan, sp.oo, sp.I) or not side.free_symbols:
            return None
        other = rng.choice([sp.Integer(0), sp.Integer(-1), side - H, sp.expand(side)])
        made = {0: equal, 1: at_least, 2: at_least, 3: at_most}[rng.randrange(4)](side, other)
    except (ValueError, TypeError, AttributeError, RecursionError):  # SymPy's, of numbers that are not real
        return None
    return made, list(product(*(_grid(s, rng) for s in sorted(side.free_symbols, key=str)))), symbols


@pytest.mark.parametrize("block", range(6))
def test_random_expressions_with_poles(block):
    """What is proved is defined and true at every point of a grid that holds the poles."""
    proved = 0
    for seed in range(60 * block, 60 * (block + 1)):
        if (made := _random_relation(seed)) is None:
            continue
        relation, points, symbols = made
        domain = {s.name: s.range for s in symbols}
        if not prove(relation, domain, boxes=80).proved:
            continue
        proved += 1
        names = sorted(s.name for s in relation.actual.free_symbols)
        with flint.ctx.workprec(200):
            for values in points:
                actual, claimed = (
                    enclosed(side, dict(zip(names, values, strict=True)))
                    for side in (relation.actual, relation.claimed)
                )
                assert actual.is_finite() and claimed.is_finite(), (seed, relation, values)
                apart = actual - claimed if relation.sign.value == ">=" else claimed - actual
                assert not apart < 0 and (relation.sign.value != "==" or apart.contains(0)), (seed, relation, values)
    assert proved >= 3


# What check.py must not take for a covering


def test_no_integer_falls_between_two_boxes():
    """Whatever the cut, the boxes beside it hold every integer."""
    n = parameter("n", 0, 3, integer=True)
    false_at_one = _claim(at_most(sp.Abs(n - 1), 3 * sp.Abs(n - 1) - sp.Rational(1, 2)))
    for at in ("0", "1/2", "3/4", "1", "3/2", "2", "3", "-1", "7"):
        with pytest.raises(CHECKER.Rejected):
            _checked(false_at_one, [_halves("n", at)])
    fair = _claim(at_most(n, 3))
    assert _checked(fair, [_halves("n", "1")]) == "proved on 2 boxes"
    boxes = [box for box, _ in CHECKER.leaves(fair, [(_halves("n", "3/2"), {"n": (Fraction(0), Fraction(3))})])]
    assert {"n": (2, 3)} in boxes
