"""Statement and code are one: each statement is made from what is tried, or read back and compared with it, or says why not."""

import contextlib
from dataclasses import replace

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.forms.domain import parameter
from airtight.validate.claims import statement
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.relation import at_most, equal
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.claims.statement import Standing, Unread, read, standing

CLAIMS = INSTALLED.claims()
CLOSED = [
    c for c in CLAIMS.values() if c.provable.symbolic and c.implementation is None
]  # what code promises is told in words
x, y, n = parameter("x", 0.5, 2.0), parameter("y", 0.5, 2.0, latex=r"\sigma_k^2"), parameter("n", 1, 9, integer=True)
KNOWN = {"x": x, r"\sigma_k^2": y, "n": n, "p_k": n + 1, "f": sp.Lambda((x, n), x**n)}


def one(text):
    found = read(f"{text} = 0", KNOWN)
    assert not found.unread, found.unread
    return found.actual[0]


def test_each_statement_is_what_is_tried():
    wrong = {}
    for claim in CLAIMS.values():
        if standing(claim) in (Standing.COMPARED, Standing.PARTLY):
            wrong[claim.id] = statement.disagreement(claim)
        elif any(claim is c for c in CLOSED) and standing(claim) is Standing.WORDS:
            wrong[claim.id] = "" if claim.unread else "neither made from the expressions, nor compared, nor a reason"
    assert not {name: why for name, why in wrong.items() if why}


def test_reasons_are_needed():
    for claim in CLAIMS.values():
        if claim.unread:
            with contextlib.suppress(Unread):
                assert statement.disagreement(claim), f"{claim.id} can be compared"


def test_most_closed_forms_are_compared():
    found = [standing(claim) for claim in CLOSED]
    assert sum(kind in (Standing.DERIVED, Standing.COMPARED) for kind in found) > 0.75 * len(found)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("FDP-T1t", r"\tfrac M3", r"\tfrac M2"),
        ("CB-D-c", "3.75", "3.25"),
        ("UF-E53", r"\eta L", r"2\eta L"),
        ("FDP-D2", "1.25", "1.5"),
        ("UF-E13", r"\log_2", r"\log"),
        ("CB-T4-error", r"\le", r"\ge"),
    ],
)
def test_a_slip_in_the_print_is_noticed(name, old, new):
    claim = CLAIMS[name]
    assert old in claim.statement
    assert statement.disagreement(replace(claim, statement=claim.statement.replace(old, new)))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (r"\tfrac12x", x / 2),
        (r"2x^2\sigma_k^2", 2 * x**2 * y),
        (r"-\frac{x}{\sigma_k^2}+1.5\,x", -x / y + sp.Rational(3, 2) * x),
        (r"e^{-x/n}", sp.exp(-x / n)),
        (r"\sqrt{2\log(1.25/x)}", sp.sqrt(2 * sp.log(sp.Rational(5, 4) / x))),
        (r"\log_2 x - \log\tfrac xn", sp.log(x) / sp.log(2) - sp.log(x / n)),
        (r"\max\left\{0, x\right\}\cdot|x - n|", sp.Max(0, x) * abs(x - n)),
        (r"\bigl\lceil x\bigr\rceil^{-2}", sp.ceiling(x) ** -2),
        (r"f(x; 2)^2p_k", x**4 * (n + 1)),
        (r"\Phi(0)", sp.Rational(1, 2)),
    ],
)
def test_what_is_read(text, meaning):
    assert sp.simplify(one(text) - meaning) == 0


@pytest.mark.parametrize(
    "text",
    [
        r"1/2x",
        r"\log x n",
        "z",
        "p_j",
        r"x \pm n",
        r"\sum_k x",
        "x_2",
        r"\sqrt",
        r"\frac x",
        "f x",
        r"\max_n x",
        "||",
    ],
)
def test_what_is_not_surely_meant_is_not_read(text):
    assert read(f"{text} = 0", KNOWN).unread


def test_two_inequalities_are_not_read():
    with pytest.raises(Unread, match="one inequality"):
        read(r"x \le n \le 2", KNOWN)
    with pytest.raises(Unread):
        read("x", KNOWN)


def test_sides():
    found = read(r"x = n \le 2 = p_k,\quad x > n", KNOWN)
    assert (found.actual, found.claimed) == ([x, n], [2, n + 1])
    found = read("x = n = 2", KNOWN)
    assert (found.actual, found.claimed) == ([x, n], [2])


def expressions():
    leaves = st.sampled_from([x, n, sp.Integer(2), sp.Rational(1, 3)])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
            inner.map(lambda e: 1 / (1 + e**2)),
            inner.map(lambda e: sp.exp(-e)),
            inner.map(lambda e: sp.log(1 + e**2)),
        ),
        max_leaves=6,
    )


@given(expressions())
def test_what_sympy_prints_is_read_back(expression):
    claim = Claim(
        "PRINTED",
        "",
        equal(expression, expression + x),
        statement=f"{sp.latex(expression)} = {sp.latex(expression + x)}",
    )
    assert statement.disagreement(claim, points=3) == ""


def test_a_side_of_code_is_compared_by_its_values():
    claim = Claim("CODE", "", at_most(lambda x: x**2, lambda x: 2 * x), domain={"x": x.range}, statement=r"x^2 \le 2x")
    assert standing(claim) is Standing.COMPARED and not statement.disagreement(claim)
    assert "3*x" not in statement.disagreement(claim)
    assert statement.disagreement(replace(claim, statement=r"x^2 \le 3x"))
