"""Proofs on the whole domain: true claims are proved, false ones never, and the rows say how they are known."""

import dataclasses
import inspect
import random
from fractions import Fraction
from pydoc import locate

import pytest
import sympy as sp
from support.paths import ROOT

import airtight
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.balls.compiled import Ends
from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims import proofs
from airtight.validate.claims.claim import Claim, false, holds
from airtight.validate.claims.evidence import How, shipped
from airtight.validate.claims.proving.boxes import Status, sloped
from airtight.validate.claims.proving.derivation import derived
from airtight.validate.claims.proving.identity import identical
from airtight.validate.claims.proving.proof import BOXES, prove
from airtight.validate.claims.relation import absolute, at_least, at_most, equal
from airtight.validate.claims.search import trial
from airtight.validate.claims.sources import INSTALLED

X = parameter("x", 0.0, 2.0)
Y = parameter("y", 0.0, 2.0)
E = parameter("epsilon", 1e-3, 20.0, logarithmic=True)
P = parameter("p", 0.01, 1.0)
N = parameter("n", 1, 9, integer=True)
CLAIMS = INSTALLED.claims()


@pytest.mark.parametrize(
    "relation, method",
    [
        (sp.exp(X) >= 1 + X / 2, "boxes"),
        (X**2 + sp.Rational(1, 3) >= X, "boxes"),
        (at_most(sp.log(1 + P * (sp.exp(E) - 1)), E), "faces"),
        (at_least(sp.exp(X) * X**2, 2 * X * sp.exp(X) - sp.exp(X)), "factors"),
        (at_most(sp.exp((X + Y) / 2), (sp.exp(X) + sp.exp(Y)) / 2), "diagonal"),
        (at_most(sp.Max(X / 2, X**2 / 4), X), "parts"),
        (equal(sp.tanh(E / 2), (sp.exp(E) - 1) / (sp.exp(E) + 1)), "identity"),
        (at_least(2**N, N + sp.Rational(1, 2)), "boxes"),
        (at_most(sp.floor(X) / 3, X), "boxes"),
    ],
)
def test_true_claims_are_proved(relation, method):
    found = prove(relation)
    assert found.proved and found.method == method, found
    assert found.boxes <= BOXES


@pytest.mark.parametrize(
    "relation, status",
    [
        (sp.exp(X) <= 1 + X, Status.REFUTED),
        (X**2 >= X, Status.REFUTED),
        (at_most(sp.log(1 + P * (sp.exp(E) - 1)), E * sp.Rational(99, 100)), Status.REFUTED),
        (equal(sp.sin(X), X), Status.OPEN),
        (equal(X, X * (1 + sp.Rational(1, 10**30))), Status.OPEN),
        (at_most(lambda x: x, X), Status.OPEN),
        (at_most(X, sp.airyai(X)), Status.OPEN),
    ],
)
def test_false_claims_never_are(relation, status):
    assert prove(relation).status is status


@pytest.mark.parametrize("seed", range(30))
def test_no_random_falsehood_is_proved(seed):
    """A random inequality with a violation planted at a random point: proved never, whatever else."""
    rng = random.Random(seed)
    a, b, c = (sp.Rational(rng.randint(-9, 9), 4) for _ in range(3))
    low = sp.sin(a * X) + b * X * Y + sp.exp(c * Y / 4) + sp.Abs(X - Y)
    x, y = sp.Rational(rng.randint(0, 20), 10), sp.Rational(rng.randint(0, 20), 10)
    tip = low.subs({X: x, Y: y}) - sp.Rational(1, 10**4)
    assert not prove(at_most(low, tip + 8 * ((X - x) ** 2 + (Y - y) ** 2)), boxes=200).proved


def test_hypotheses_cut_the_domain():
    assert prove(at_most(X, 2 * Y + 1), given=[X <= Y]).proved
    assert not prove(at_most(X, Y + sp.Rational(1, 10))).proved
    found = prove(at_most(X, 2 * Y + sp.Rational(1, 2)), given=[X <= Y])
    assert found.proved and {sign for _, sign in found.leaves} == {"+", 0}


def test_the_way_to_an_end_stays_in_the_domain():
    """Monotone where the hypotheses hold says nothing of what lies beyond them, nor beyond the range."""
    a, b = parameter("a", 0.0, 1.0), parameter("b", 0.0, 3.0)
    falls_then_rises = (a - sp.Rational(3, 2)) ** 2 - (b - sp.Rational(3, 2)) ** 2  # zero at a = b, falling on [0, 1]
    assert not prove(falls_then_rises >= 0, given=[a <= b]).proved
    narrow = parameter("b", 0.0, 1.0)
    assert prove(falls_then_rises.subs(b, narrow) >= 0, given=[a <= narrow]).proved
    outside = parameter("a", 0.0, 1.0, extra=(2.0,))
    assert not prove((outside - 1) * (outside - 3) >= 0).proved


def test_extra_values_and_integers_are_in_the_domain():
    z = parameter("z", 1.0, 2.0, extra=(5.0,))
    assert prove(at_most(z, 2)).counterexample == {"z": Fraction(5)}
    found = prove(at_most(z, 5))
    assert found.proved and ({"z": (Fraction(5), Fraction(5))}, "+") in found.leaves
    k = parameter("k", 0, 6, integer=True)
    assert prove((k - sp.Rational(1, 2)) ** 2 >= sp.Rational(1, 4)).proved  # false between 0 and 1


def test_the_domain_may_be_given():
    t = sp.Symbol("t", positive=True)
    assert prove(sp.log(1 + t) <= t + sp.Rational(1, 100), {"t": Range(0.1, 1.0)}).proved
    assert airtight.prove(sp.log(1 + t) <= t, domain={"t": Range(0.1, 1.0)}).status.value == "proved"


def test_it_is_deterministic_and_bounded():
    tight = at_most(X * (2 - X), 1 - (X - 1) ** 2 * (1 - sp.Rational(1, 10**9) * X))
    assert prove(tight) == prove(tight)
    open_ = prove(at_most(sp.sin(3 * X) ** 2 + sp.cos(3 * X) ** 2, 1), boxes=50)
    assert open_.status is Status.OPEN and open_.boxes <= 51 and open_.left and open_.reason


def test_identities():
    a, b = sp.symbols("a b", positive=True)
    assert identical((a + b) ** 2, a**2 + 2 * a * b + b**2)
    assert identical(1 / (1 + sp.exp(-a)), (1 + sp.tanh(a / 2)) / 2)
    assert not identical(a * b, a * b + sp.Rational(1, 10**40))


@pytest.mark.parametrize("seed", range(15))
def test_ends_hold_every_value(seed):
    rng = random.Random(seed)
    a, c = (Fraction(rng.randint(-30, 30), 10) for _ in range(2))
    b, d = a + Fraction(rng.randint(0, 20), 10), c + Fraction(rng.randint(0, 20), 10)
    x, y = Ends.between(a, b), Ends.between(c, d)
    for share in (Fraction(0), Fraction(1, 3), Fraction(1)):
        p, q = ball(a + (b - a) * share), ball(c + (d - c) * share)
        pairs = [(x * y, p * q), (x - y, p - q), (x**3, p**3), (x**2, p**2), (abs(x), abs(p)), (x.exp(), p.exp())]
        pairs += [
            (x.max(y), p.max(q)),
            (x.erfc(), p.erfc()),
            (x.cosh(), p.cosh()),
            (x.sin(), p.sin()),
            (2**x, ball(2) ** p),
        ]
        for found, true in pairs:
            assert not true < found.low and not true > found.high


@pytest.mark.parametrize(
    "expression", [sp.sin(X) * sp.exp(X * Y), sp.erfc(X - Y) ** 2, sp.Max(X, Y) * 3, (1 + X) ** Y, sp.atan(X / (1 + Y))]
)
def test_slopes_hold_the_derivatives(expression):
    box = {"x": Ends.between(Fraction(1, 2), Fraction(3, 4)), "y": Ends.between(Fraction(1, 3), Fraction(2, 3))}
    _, slopes = sloped(expression)(box)
    for symbol in (X, Y):
        for x, y in ((0.5, 0.34), (0.74, 0.66), (0.6, 0.5)):
            true = float(sp.diff(expression, symbol).subs({X: x, Y: y}).evalf())
            slope = Ends.of(slopes[symbol.name])
            assert float(slope.low) - 1e-12 <= true <= float(slope.high) + 1e-12


# In the trial


def test_rows_say_how_they_are_known():
    proved = trial(Claim("A", "l", at_most(sp.log(1 + P * (sp.exp(E) - 1)), E), holds("yes")))
    assert proved.how is How.PROVED and proved.as_json()["boxes"] == proved.boxes >= 1 and proved.as_expected
    same = trial(Claim("B", "l", equal(sp.tanh(E / 2), (sp.exp(E) - 1) / (sp.exp(E) + 1)), holds("yes")))
    assert same.how is How.IDENTITY and same.boxes is None
    refuted = trial(Claim("C", "l", at_most(E, P), false("no")))
    assert refuted.how is How.WITNESS and refuted.as_json()["boxes"] is None


def test_a_form_is_compared_with_the_claim():
    right = Claim(
        "D",
        "l",
        at_most(lambda x: x / 2 + 0.5, X + 1),
        holds("y"),
        slack=2.0,
        statement="x",
        form=at_most(X / 2 + 0.5, X + 1),
    )
    assert (trial(right).how, trial(right).form) == (How.SEARCHED, How.PROVED)
    wrong = trial(dataclasses.replace(right, form=at_most(X / 3, X + 1)))
    assert not wrong.as_expected and "not the claim at" in wrong.fault


def test_what_is_computed_is_compared_with_the_claim():
    right = Claim("D", "l", at_most(X / 2, X + 1), slack=3.0, computed=at_most(lambda x: x / 2, lambda x: x + 1))
    assert trial(right).how is How.PROVED and trial(right).as_expected
    wrong = trial(dataclasses.replace(right, computed=at_most(lambda x: x / 2, lambda x: x + 1 + 1e-3 * (x > 0.9))))
    assert not wrong.as_expected and "what is computed is not the claim at" in wrong.fault


def test_a_form_with_an_argument_is_proved_or_only_searched():
    """The proof by hand says why the form is the claim: without a proof of the form it is nothing."""
    argued = Claim(
        "D",
        "l",
        at_most(lambda x: x / 2 + 0.5, X + 1),
        slack=2.0,
        statement="x",
        argued="docs/proofs.md#x",
        form=at_most(X / 2 + 0.5, X + 1),
    )
    assert (trial(argued).how, trial(argued).form) == (How.ARGUED, How.PROVED)
    assert trial(argued).said == "argued, form proved: holds"
    hard = at_most(sp.sin(X) ** 2 + sp.cos(X) ** 2, sp.Integer(1))
    open_ = trial(dataclasses.replace(argued, relation=at_most(lambda x: 1.0, 1 + 0 * X), form=hard, slack=1.0))
    assert (open_.how, open_.form) == (How.SEARCHED, None)


def test_what_the_search_misses_the_proof_finds():
    spike = sp.exp(-(10**12) * (X - sp.Rational(1, 2)) ** 2)
    found = trial(
        Claim(
            "S",
            "l",
            at_most(spike / 2, sp.Rational(1, 4) + X * 0),
            holds("?"),
            {"x": X.range},
            scale=absolute(""),
            slack=1.0,
        )
    )
    assert found.how is not How.PROVED


@pytest.mark.parametrize(
    "name", ["FDP-D2-eps1", "CB-P1", "CB-T2-cov", "UF-T1*-PL", "UF-E34-convex", "UF-E60", "UF-E59"]
)
def test_rows_that_are_proved(name):
    claim = CLAIMS[name]
    assert derived(claim.provable, claim.domain, claim.given, claim.derivation).proved


@pytest.mark.parametrize(
    "name", ["CB-IIC-mse", "CB-PLDP", "CB-T3m", "CB-X1-mse", "CB-X2", "CB-X4", "CB-X6", "CB-X7", "UF-E25", "FDP-fn2*"]
)
def test_forms_beside_functions_are_proved(name):
    claim = CLAIMS[name]
    assert prove(claim.provable, claim.domain, claim.given).proved


def test_parameters_of_one_name_have_an_order():
    """SymPy compares them where its cache holds both: else a proof would hang on what was proved before."""
    one, other = parameter("x", 0.0, 1.0), parameter("x", 0.0, 2.0, typical=(1.0, 2.0))
    assert one != other and one.compare(other) == -other.compare(one) != 0
    assert one == parameter("x", 0.0, 1.0) and one.compare(parameter("x", 0.0, 1.0)) == 0


def test_every_proof_by_hand_is_there():
    """With its hypotheses; the documentation includes all of them, and nothing there is without a row."""
    root = ROOT
    pages = "".join((root / "docs" / name).read_text() for name in ("proofs.md", "participation.md"))
    rows = {}
    for paper in INSTALLED.papers().values():
        known = proofs.sections(paper.id)
        for claim in paper.claims:
            if claim.argued:
                section = proofs.of(claim, known)
                assert section and section.hypotheses and len(section.body) > 60, claim.id
                rows.setdefault(section.label, set()).add(claim.id)
                told = section.heading.split(", ") if "#" in claim.argued else inspect.getdoc(locate(claim.argued))
                assert claim.id in told, claim.id
        for path in INSTALLED.home(paper.id).parent.glob("*.md"):
            assert f"include}} ../{path.relative_to(root).as_posix()}" in pages
        for label, section in known.items():
            rows.setdefault(label, set())
            if section.heading.startswith(("FDP", "CB", "UF", "EI")):
                everywhere = {c.id for c in CLAIMS.values() if c.argued.endswith(f"#{label}")}
                assert set(section.heading.split(", ")) == everywhere, label


@pytest.mark.parametrize("name", ["CB-A1", "CB-T4-moments", "UF-C3", "CB-d0", "CB-E3", "UF-E10", "UF-E58", "FDP-E40*"])
def test_rows_that_are_identities(name):
    assert prove(CLAIMS[name].provable, CLAIMS[name].domain).method == "identity"


def test_no_refuted_row_is_proved():
    for claim in CLAIMS.values():
        if not claim.ruling.survives and claim.relation.symbolic and sp.count_ops(claim.relation.actual) < 60:
            assert not prove(claim.relation, claim.domain, claim.given, boxes=60).proved, claim.id


def test_most_formulas_are_proved_by_machine():
    """Of the rows that hold and are relations of expressions in at most four parameters: at least 80 %."""
    rows = [e for e in shipped().evidence if e.claim.ruling.survives and e.claim.provable.symbolic]
    rows = [e for e in rows if len(e.claim.domain) <= 4 and all(isinstance(c, sp.Basic) for c in e.claim.given)]
    known = [e for e in rows if {e.how, e.form} & {How.PROVED, How.IDENTITY}]
    assert len(rows) >= 60 and len(known) >= 0.8 * len(rows)
    page = (ROOT / "docs" / "trust.md").read_text()
    assert all(e.claim.id in page for e in rows if e not in known and e.how is not How.ENUMERATED)
