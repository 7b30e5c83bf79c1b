"""The trial cannot be fooled: by claims that cannot fail, by proofs of something else, by a busy machine."""

import dataclasses
import itertools
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from importlib import metadata
from multiprocessing import get_context

import flint
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from support.common import refused, run
from support.paths import ROOT

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.balls.compiled import UnsupportedExpression, compiled, enclosed
from airtight.analytics.forms.domain import Range, parameter
from airtight.report import library, page
from airtight.validate.claims import audit, evidence, sources
from airtight.validate.claims.claim import Claim, Paper, Reference, Verdict, exhibited, false, holds
from airtight.validate.claims.evidence import How, decimal_ends
from airtight.validate.claims.relation import absolute, at_least, at_most, equal, relation, relative_to
from airtight.validate.claims.search import LEAST, noticed, shrink, trial
from airtight.validate.claims.sources import INSTALLED, Source, SourceError

LEMMAS = ROOT / "examples" / "lemmas.py"
X = parameter("x", 0.1, 1.0)


def toy(actual=lambda x: x, claimed=lambda x: x, sign=at_most, ruling=None, **rest) -> Claim:
    made = sign(actual, claimed, balls=rest.pop("balls", None))
    domain = rest.pop("domain", {"x": Range(0.1, 1.0)})
    return Claim("TOY", "here", made, ruling or holds("a test"), domain, statement="x", **rest)


def test_a_violation_without_proof_stays_unsettled():
    assert trial(toy(lambda x: x + 1.0)).verdict is Verdict.UNSETTLED


@pytest.mark.parametrize("apart, verdict", [(0, Verdict.FALSE), (Fraction(1, 10**6), Verdict.UNSETTLED)])
def test_a_proof_about_other_numbers_proves_nothing(apart, verdict):
    claim = toy(lambda x: x + 1.0, ruling=false("a test"), balls=lambda x: (ball(x + apart), ball(x + 1)))
    assert trial(claim).verdict is verdict


def test_descent_finds_what_chance_misses():
    """A narrow dip below zero, invisible to a handful of points."""
    claim = toy(lambda x: 1.0001 + 0 * x, lambda x: math.exp(abs(x - 0.4321)), domain={"x": Range(0.0, 1.0)})
    assert trial(claim, effort=120).margin < 0


def test_shrinking_keeps_the_violation_and_the_domain():
    claim = toy(lambda x: 2.0 if x > 0.3 else 0.5, lambda x: 1.0)
    assert shrink(claim, {"x": 0.7346251}) == {"x": Fraction(1)}


def test_nothing_claimed_anywhere_says_nothing():
    found = trial(toy(claimed=lambda x: math.nan))
    assert found.verdict is Verdict.UNSETTLED and "only 0 points" in found.fault


@pytest.mark.parametrize(
    "claim, fault",
    [
        (toy(lambda x: math.nan), "actual value is nan"),
        (toy(lambda x: x / 2), "the sides stay a factor 2 apart"),
        (toy(lambda x, y: x, lambda x, y: x, domain={"x": Range(0.1, 1), "y": Range(0, 1)}), "y changes neither side"),
        (toy(lambda x: 1.0, lambda x: 1.0), "constant over the domain"),
        (toy(lambda x: -x, lambda x: x), "needs another scale"),
        (toy(given=[lambda x: x > 2]), "only 0 points"),
        (toy(lambda x: 1 / 0), "ZeroDivisionError"),
        (Claim("C", "here", at_most(1, 2)), "constants=True"),
        (Claim("C", "here", at_most(1 / (X - sp.Rational(1, 3)), 100 + X)), "x - 1/3 is 0 somewhere"),
    ],
)
def test_what_cannot_fail_or_be_evaluated_is_a_fault(claim, fault):
    found = trial(claim)
    assert found.verdict is Verdict.UNSETTLED and not found.as_expected and fault in found.fault


def test_slack_says_how_far_from_tight():
    assert trial(toy(lambda x: x / 2, slack=2.0)).as_expected
    assert not trial(toy(lambda x: x / 2.1, slack=2.0)).as_expected


def test_scales():
    energy = toy(lambda x: x - 0.5, lambda x: x - 0.5, equal, scale=absolute("J", 0.1))
    assert trial(energy).as_expected and trial(energy.planted()).margin < 0
    cancelling = toy(lambda x: 1e-3 * x, lambda x: 0.0, equal, scale=relative_to(lambda x: 1e9 * x), tolerance=1e-11)
    assert trial(cancelling).as_expected
    with pytest.raises(ArithmeticError, match="another scale"):
        toy(lambda x: -x).compare({"x": 0.5})
    assert toy().scale.label == "ratio" and energy.scale.label == "absolute (J)"


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_the_margin_is_a_signed_distance(actual, claimed):
    most = toy(lambda x: actual, lambda x: claimed).compare({"x": 0.5})[2]
    least = toy(lambda x: actual, lambda x: claimed, at_least).compare({"x": 0.5})[2]
    assert most - 1e-9 == pytest.approx(math.log(claimed / actual), abs=1e-9)
    assert least - 1e-9 == pytest.approx(-(most - 1e-9), abs=1e-9)


def test_an_expression_brings_everything():
    y = parameter("y", 1e-3, 10.0, logarithmic=True, typical=(0.5, 2.0))
    claim = Claim("E", "here", sp.exp(y) <= 1 + y, false("convex", "step"))
    found = trial(claim)
    assert found.as_expected and found.how is How.WITNESS and found.witness.certified
    assert claim.statement == r"e^{y} \le y + 1" and claim.domain == {"y": y.range}
    assert found.extent.domain == 1 and found.extent.regime == 1 and found.near_paper.text() == {"y": "1"}
    row = found.as_json()
    assert row["severity"] == "step" and row["witness"]["point"] == {"y": row["witness"]["point"]["y"]}
    low, high = map(Fraction, row["witness"]["actual"])
    assert low <= high and float(high - low) < 1e-10
    assert not trial(dataclasses.replace(claim, ruling=holds("turned round"))).as_expected


def test_balls_decide_what_floats_cannot():
    """1 - cos x <= x^2 / 2 is violated nowhere, though floats near 0 say so; the reverse by 1e-40 is proved."""
    z = parameter("z", 1e-9, 1.0, logarithmic=True)
    assert trial(Claim("T", "here", at_most(1 - sp.cos(z), z**2 / 2))).as_expected
    worse = Claim("F", "here", at_most(z**2 / 2, 1 - sp.cos(z) + sp.Rational(1, 10**60)), false("by z^4 / 24"))
    assert trial(worse).as_expected


def test_exhibits_survive():
    claim = toy(ruling=exhibited("here it is"))
    assert trial(claim).verdict is Verdict.FALSE and trial(claim).as_expected
    assert not trial(claim.planted()).as_expected


def test_small_domains_are_enumerated():
    found = trial(
        toy(lambda n: n * (n + 1) / 2, lambda n: sum(range(n + 1)), equal, domain={"n": Range(1, 50, integer=True)})
    )
    assert found.how is How.ENUMERATED and found.evaluations == 50 and found.as_expected


@pytest.fixture(scope="module")
def pool():
    """Two processes; each imports all papers once."""
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        yield executor


def test_same_seed_same_evidence_at_any_load(pool):
    ids = ["FDP-D2", "FDP-T1t", "FDP-L3", "FDP-L3*", "CB-A1"]
    plain = {e.claim.id: e for e in audit.run(ids, seed=5)}
    busy = {e.claim.id: e for e in audit.run(ids, seed=5, executor=pool)}
    assert list(plain) == ids and plain == busy
    assert {e.claim.id: e for e in audit.run(ids[:1], seed=6)} != {ids[0]: plain[ids[0]]}


def test_a_limit_leaves_the_rest_unsettled(monkeypatch):
    """By a clock that goes on a second at every look."""
    clock = itertools.count()
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    found = trial(toy(lambda x: x), deadline=5.0)
    assert found.verdict is Verdict.UNSETTLED and found.fault == "stopped" and not found.error
    assert all(e.fault == "stopped" for e in audit.run(["CB"], limit=0.0))


def test_too_little_effort_is_raised_to_the_least():
    assert trial(toy(), effort=1).evaluations >= LEAST
    with pytest.raises(ParameterError, match="effort"):
        list(audit.run(["FDP-D2"], effort=0))


@given(st.floats(-4, 4), st.floats(0.1, 4))
def test_expressions_in_balls(a, b):
    x, y = sp.symbols("x y")
    for expression in (
        sp.exp(x) + sp.log(y) * x**2 - 3 / y,
        sp.erfc(x) * sp.sqrt(y) + sp.gamma(y),
        sp.Max(x, y, 0) + sp.Min(x, 1) + sp.Abs(x),
        sp.Piecewise((x, x < y), (y, True)) + sp.tanh(x),
        sp.Sum(x ** sp.Symbol("k"), (sp.Symbol("k"), 0, 5)),
        y ** sp.Rational(3, 2) + y**x + sp.pi - sp.E + sp.floor(x + sp.Rational(1, 7)),
    ):
        found = enclosed(expression, {"x": a, "y": b})
        true = expression.doit().evalf(40, subs={x: sp.Float(a, 60), y: sp.Float(b, 60)})
        low, high = (Fraction(end) for end in decimal_ends(found))
        assert low <= Fraction(str(true)) + Fraction(1, 10**30) and Fraction(str(true)) - Fraction(1, 10**30) <= high
    with pytest.raises(UnsupportedExpression, match="airyai"):
        compiled(sp.airyai(x))


@given(st.integers(-(10**30), 10**30), st.integers(-400, 400))
def test_decimal_ends_hold_the_ball(mantissa, exponent):
    exact = flint.arb(mantissa) * flint.arb(2) ** exponent + flint.arb(0, 1e-30)
    low, high = (Fraction(end) for end in decimal_ends(exact))
    assert low <= Fraction(mantissa) * Fraction(2) ** exponent <= high


def test_relations_of_a_user():
    assert relation(X <= 1).sign.value == "<=" and relation(X >= 1).sign.value == ">="
    with pytest.raises(TypeError, match="strict"):
        relation(X > 1)
    with pytest.raises(TypeError, match="at_most"):
        relation("x <= 1")
    with pytest.raises(ParameterError, match="low"):
        parameter("x", 0.0, 1.0, logarithmic=True)


def test_one_theorem_is_one_row():
    here = toy(also=(Reference("ELSEWHERE", "other", "Prop. 1"),))
    paper = Paper("p", "P", "A", 2026, [here])
    with pytest.raises(ValueError, match="TOY: this identifier is used twice"):
        Paper("p", "P", "A", 2026, [here, here])
    assert next(iter(paper)).paper == "p"


def test_references_name_the_row_that_tries_them():
    also = {r.id: c.id for c in INSTALLED.claims().values() for r in c.also}
    for name, row in also.items():
        assert [c.id for c in audit.selected([name])] == [row]


def test_a_family_by_its_prefix():
    found = {claim.id for claim in audit.selected(["CB", "UF-T1"])}
    names = INSTALLED.claims()
    assert found >= {name for name in names if name.startswith("CB")} | {"UF-T1"}
    assert {c.id for c in audit.selected(["UF-T1*"])} == {"UF-T1*"}
    meant = {"FDP-T9": "FDP-T1, FDP-T2, FDP-T3", "fdp-t1": "FDP-T1", "T1": "FDP-T1, CB-T1, UF-T1", "CB-T2s": "CB-T2"}
    for wrong, near in meant.items():
        with pytest.raises(ParameterError, match=rf"ID = '{wrong}': must be .*; did you mean {near}\? \(\d+ in all\)$"):
            audit.selected([wrong])
    with pytest.raises(ParameterError, match=r"'WRONG': must be .*, one of FDP-, .*, UF-, .* in all\)$"):
        audit.selected(["WRONG"])
    with pytest.raises(ParameterError):
        audit.selected([""])


# Files of strangers


def test_the_tutorial():
    result = run("try", LEMMAS, "--json")
    assert result.exit_code == 2
    rows = {row["id"]: row for row in json.loads(result.stdout)}
    assert rows["L1"]["verdict"] == "holds" and rows["L1"]["tightness"] == pytest.approx(1)
    assert rows["L2"]["verdict"] == "false" and rows["L2"]["certified"] and rows["L2"]["near_paper"]
    assert rows["L3"]["verdict"] == "unsettled"
    assert result.stderr.count("\n") == 1 and "L3" in result.stderr and "1 - 2*q is 0" in result.stderr
    assert "examples/lemmas.py" in (LEMMAS.parents[1] / "docs" / "tutorial-theorem.md").read_text()


def test_a_page_for_a_file(tmp_path):
    result = run("try", LEMMAS, "L1", "L2", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<math" in page and "certified" in page and "L2" in page
    assert len(json.loads((tmp_path / "out" / "evidence.json").read_text())) == 2


@pytest.mark.parametrize(
    "text, needle",
    [
        ("import nothing_of_the_kind", "line 1: ModuleNotFoundError"),
        ("x = 1", "no Paper and no Claim"),
        ("def f(:", "SyntaxError"),
        ("import airtight, sympy\nc = airtight.Claim('A', 'l', 3)", "line 2: TypeError: A: relation = 3"),
        (
            "from airtight import *\nc = Claim('A', 'l', parameter('x', 1, 2) >= 0)",
            "A: relation = True: SymPy has decided it",
        ),
        (
            "from airtight import *\nx = parameter('x', .1, 1)\n"
            "a = Claim('A', 'l', x <= 1)\nb = Claim('A', 'l', x <= 2)",
            "A: this identifier is used twice",
        ),
        (
            "from airtight import *\nx = parameter('x', .1, 1)\n"
            "a = Claim('A', 'l', at_most(x, 1), false('no', corrected_by='B'))",
            "corrected by B, which does not exist",
        ),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, text, needle):
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert refused(run("try", path), "mine.py", needle)


def test_the_line_is_named_wherever_the_file_is_called_from(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("\nimport nothing_of_the_kind")
    monkeypatch.chdir(tmp_path)
    assert refused(run("try", "mine.py"), "mine.py: line 2: ModuleNotFoundError")


def test_near_identifiers_are_found_in_any_letters():
    assert refused(run("verify", "fdp-d2"), "did you mean FDP-D2?")


def test_no_such_file(tmp_path):
    assert refused(run("try", tmp_path / "none.py"), "none.py", "no such file")
    assert refused(run("try", LEMMAS, "L9"), "L9")


def test_a_claim_that_raises_costs_only_itself(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from airtight import *\n"
        "x = parameter('x', .1, 1)\n"
        "a = Claim('A', 'l', at_most(x**2, x))\n"
        "b = Claim('B', 'l', at_most(lambda x: [][0], x), statement='x')\n"
    )
    result = run("try", path, "--json")
    assert result.exit_code == 2 and "B: IndexError" in result.stderr
    assert [row["verdict"] for row in json.loads(result.stdout)] == ["holds", "unsettled"]


def test_workers_read_the_same_file(pool):
    found = {e.claim.id: e.verdict.value for e in audit.run(source=Source(str(LEMMAS)), executor=pool)}
    assert found == {"L1": "holds", "L2": "false", "L3": "unsettled"}


class _Point:
    name, value, dist = "mine", "my_package:PAPER", None

    def __init__(self, paper):
        self.paper = paper

    def load(self):
        return self.paper


@pytest.fixture
def plugged(monkeypatch):
    def plug(paper):
        sources._all.cache_clear()
        monkeypatch.setattr(metadata, "entry_points", lambda group: [_Point(paper)] if group == sources.GROUP else [])

    yield plug
    sources._all.cache_clear()


def test_papers_as_plug_ins(plugged):
    plugged(Paper("mine", "Mine", "I", 2026, [Claim("MY-1", "Lemma 1", at_most(X**2, X))]))
    assert airtight.claims()["MY-1"].paper == "mine" and "mine" in airtight.papers()
    assert [e.verdict.value for e in airtight.verify(["MY-1"])] == ["holds"]


@pytest.mark.parametrize(
    "paper, needle",
    [(3, "must be a Paper"), (Paper("m", "M", "I", 2026, [Claim("FDP-D2", "l", at_most(X, 1))]), "FDP-D2 is used in")],
)
def test_a_plug_in_that_cannot_be_used(plugged, paper, needle):
    plugged(paper)
    with pytest.raises(SourceError, match=needle):
        airtight.claims()


def test_points_are_spread_evenly():
    seen = []
    trial(toy(lambda x: seen.append(x) or x), effort=256)
    assert np.histogram(seen, 8, (0.1, 1.0))[0].min() >= 12


# Nothing passes by being empty

X01 = parameter("x", 0.0, 1.0)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Claim("V", "l", at_most(X01 + 1, 2 * X01 + 1), given=[X01 > 5]),
        lambda: Claim("V", "l", at_most(lambda x: x, lambda x: math.nan), domain={"x": X01.range}, statement="x"),
        lambda: Claim("V", "l", at_most(lambda x: math.inf, lambda x: math.inf), domain={"x": X01.range}, statement="x"),
        lambda: Claim("V", "l", at_most(lambda x: 2.0, lambda x: x), domain={"x": X01.range}, statement="x",
                      scale=relative_to(lambda x: math.inf)),
        lambda: Claim("V", "l", at_most(lambda x: 2.0, lambda x: x), domain={"x": X01.range}, statement="x",
                      scale=relative_to(lambda x: math.nan)),
    ],
)  # fmt: skip
def test_a_claim_that_is_nowhere_tried_is_unsettled(made):
    assert trial(made()).verdict is Verdict.UNSETTLED


@pytest.mark.parametrize("given", [{"slack": math.nan}, {"slack": math.inf}, {"slack": 0.5}, {"tolerance": math.nan},
                                   {"tolerance": math.inf}, {"tolerance": -1.0}, {"effort": 0.0}])  # fmt: skip
def test_what_a_margin_is_compared_with_is_a_number(given):
    with pytest.raises(ParameterError):
        Claim("V", "l", at_most(X01, 2 * X01), **given)


def test_a_hypothesis_that_nothing_meets_proves_nothing():
    found = airtight.prove(sp.exp(X01) >= 2 + X01, given=[X01 > 5])
    assert found.status.value == "open" and "no point" in found.reason


def test_a_paper_without_a_claim_is_refused(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from airtight import Paper\nP = Paper('x', 't', 'a', 2020, [])")
    refused(run("try", str(path)), "no claim")
    with pytest.raises(ParameterError):
        airtight.try_claims([])
    with pytest.raises(ParameterError):
        airtight.try_claims(Paper("x", "t", "a", 2020, []))


_BAD = ("", "../outside", "/outside", "a/b", "a\0b", "a b", "a\nb", "CON", "nul.txt", "a.", ".a", "x" * 101, "\x1b[2J")
_ODD = ("a_b", "a__b", "_", "a_", "$x", "\\input{x}", "x^2", "a b", "100%", "x{", "x}", "#&~", "e", "pi")


@pytest.mark.parametrize("name", _BAD)
def test_an_identifier_names_a_file_and_nothing_else(name, tmp_path):
    with pytest.raises(ParameterError, match="id of a"):
        Claim(name, "l", at_most(X01**2, X01))
    with pytest.raises(ParameterError, match="id of a"):
        Paper(name, "t", "a", 2020, [Claim("A", "l", at_most(X01**2, X01))])
    path = tmp_path / "my lemmas.py"
    path.write_text(f"from airtight import *\nx = parameter('x', 0.0, 1.0)\na = Claim({name!r}, 'l', at_most(x**2, x))")
    refused(run("try", str(path)), "id of a claim")


def test_a_file_with_a_blank_in_its_name_can_be_tried(tmp_path):
    path = tmp_path / "my lemmas.py"
    path.write_text("from airtight import *\nx = parameter('x', 0.0, 1.0)\na = Claim('A', 'l', at_most(x**2, x))")
    assert run("try", str(path), "--out", str(tmp_path / "out")).exit_code == 0


@pytest.mark.parametrize("name", _ODD)
def test_the_name_of_a_parameter_is_text(name):
    x = parameter(name, 0.5, 1.0)
    printed = Claim("A", "l", at_most(x**2, sp.exp(x))).statement
    assert "\\input" not in printed and not printed.startswith("$") and (name not in ("e", "pi") or name != printed[: len(name)])
    assert "<code>" not in page.mathml(printed)


def test_pages_and_papers_of_parameters_with_odd_names(tmp_path):
    path = tmp_path / "mine.py"
    lines = [
        f"c{i} = Claim('C{i}', 'l', at_most(parameter({name!r}, 0.5, 1.0)**2, 1), slack=4.0)"
        for i, name in enumerate(("_", "\\input{x}", "x{"))
    ]
    path.write_text("\n".join(["from airtight import *", *lines]))
    assert run("try", str(path), "--out", str(tmp_path / "out")).exit_code == 0
    assert run("paper", str(path), "--out", str(tmp_path / "out")).exit_code == 0
    assert "\\input{" not in (tmp_path / "out" / "mine.tex").read_text()


def test_hypotheses_are_told():
    """In words where code decides them; in the JSON, in the ledger, and on the pages."""
    rows = {e.claim.id: e for e in evidence.shipped().evidence}
    assert rows["CB-E21"].as_json()["hypotheses"] == ["$x + y \\leq 0$"]
    assert all("computed by code" not in text for e in rows.values() for text in e.claim.hypotheses)
    assert "Provided that" in library.claim_page(rows["CB-E21"], list(rows.values()), certified=False)
    assert "Provided that" in page.audit_page("Audit", [rows["FDP-T1-hidden-r"]], "", home=False)
    assert json.loads(run("verify", "CB-E21", "--json").stdout)[0]["hypotheses"] == ["$x + y \\leq 0$"]


@pytest.mark.parametrize("fails", [lambda x: 0 < x < 1e-7, lambda x: 0 < 1 - x < 1e-7])
def test_the_search_looks_next_to_the_ends(fails):
    """A claim about a probability that fails only within 1e-7 of an end, whatever the seed."""
    claim = Claim(
        "TAIL", "l", at_most(lambda x: 2.0 + x if fails(x) else x, lambda x: 1.0 + x), domain={"x": X01.range}, statement="x"
    )
    assert all(noticed(claim, seed=seed, effort=1024) for seed in range(5))


def test_a_file_that_exits_is_an_error(tmp_path):
    """Otherwise `airtight try` would end with the file's exit code, and nothing tried."""
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(sources.SourceError, match="line 2: SystemExit"):
        sources.Source(str(tmp_path / "leaves.py")).claims()


def test_a_proved_claim_needs_no_slack_and_an_open_one_is_told_why():
    proved = trial(Claim("EXP", "Lemma 1", sp.exp(X) - 1 <= 2 * X, holds("Concave, and true at both ends.")))
    assert proved.verdict is Verdict.HOLDS and proved.how is How.PROVED
    by_code = {"given": [lambda x: True]}
    open_ = trial(Claim("EXP", "Lemma 2", sp.exp(X) - 1 <= 2 * X, holds("Known."), **by_code))
    assert open_.verdict is Verdict.UNSETTLED and "stays open" in open_.fault and "slack=" in open_.fault
