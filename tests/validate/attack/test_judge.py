"""The judge under attack: what is false by 1e-1000, ranges, names, hash seeds, forms, faults, and what is said first."""

import json
import math
import os
import random
import re
import subprocess
import sys
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
import sympy as sp
from support.common import run
from support.paths import ROOT
from support.processors import every_processor
from sympy import Rational, exp, log, loggamma, pi, sqrt

import airtight
from airtight.analytics.checks import AirtightError, ParameterError
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.balls.compiled import enclosed
from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims.certificates.writing import certify
from airtight.validate.claims.claim import Claim, Paper, Verdict, exhibited, false
from airtight.validate.claims.evidence import Evidence, How
from airtight.validate.claims.proving.proof import prove
from airtight.validate.claims.relation import Relation, absolute, at_least, at_most, equal
from airtight.validate.claims.search import trial
from airtight.validate.claims.sources import Source

N = parameter("n", 1, 200, integer=True)
M = parameter("m", 50, 150, integer=True)
X = parameter("x", 0.0, 1.0)
Y = parameter("y", 0.1, 0.3)
SMALL = Rational(1, 10**12)
STIRLING = (M + Rational(1, 2)) * log(M) - M + log(2 * pi) / 2 + 1 / (12 * M) - 1 / (360 * M**3)


def tried(relation: object, **rest: object) -> Evidence:
    return trial(Claim("C", "here", relation, **rest))


# Balls, not doubles


@pytest.mark.parametrize(
    "relation",
    [
        at_most(N, N - Rational(1, 10**10)),
        at_most(N, N - Rational(1, 10**1000)),
        equal(N + Rational(1, 10**10), N),
        at_most(loggamma(M + 1), STIRLING),
        equal(sqrt(1 + X), sqrt(1 + X + SMALL)),
        equal(X * exp(pi * sqrt(163)), 262537412640768744 * X),
        at_most(exp(X), exp(X) - Rational(1, 10**2000)),
        at_most(log(1 + 1 / (1000 * N)), 1 / (1000 * N) - 1 / (2 * (1000 * N) ** 2)),
    ],
    ids=str,
)
def test_what_no_double_sees_is_refuted(relation: Relation):
    found = tried(relation)
    assert found.verdict is Verdict.FALSE and found.witness.certified and found.known == "refuted"
    with mpmath.workdps(2500):
        values = {name: mpmath.mpf(v.numerator) / v.denominator for name, v in found.witness.point.items()}
        actual, claimed = (sp.lambdify(list(values), s, "mpmath")(*values.values()) for s in _sides(relation))
        assert {"<=": actual > claimed, "==": actual != claimed}[relation.sign.value]


def _sides(relation: Relation) -> tuple[sp.Expr, sp.Expr]:
    return relation.actual, relation.claimed


def test_the_true_neighbours_of_these_hold():
    assert tried(at_least(loggamma(M + 1), STIRLING)).said == "enumerated at 101 points: holds"
    assert tried(at_most(N, N)).verdict is Verdict.HOLDS
    assert tried(at_most(X * exp(pi * sqrt(163)), 262537412640768744 * X)).verdict is Verdict.HOLDS


def test_an_equation_without_proof_says_how_far_it_was_searched():
    found = tried(equal(sp.gamma(X + 2), (X + 1) * sp.gamma(X + 1)))
    assert found.how is How.SEARCHED and found.digits > 150 and found.as_json()["digits"] == found.digits
    assert found.said == f"survived 256 evaluations to 1e-{found.digits}: holds"
    root = equal(N * sqrt(5 + 2 * sqrt(6)), N * (sqrt(2) + sqrt(3)))
    assert tried(root).said.startswith("survived 200 evaluations to 1e-15")


def test_a_tie_is_enumerated_only_where_it_is_shown():
    few = parameter("k", 1, 3, integer=True)
    one = tried(at_most(few * sqrt(5 + 2 * sqrt(6)), few * (sqrt(2) + sqrt(3))))
    assert one.how is How.ENUMERATED and one.digits is None, "SymPy denests the root at each of three points"


def test_a_point_is_the_decimal_that_is_written():
    """0.3 as a double is below 3 / 10: with no tolerance that would be a violation outside the domain."""
    assert tried(at_least(Y, Rational(1, 10))).verdict is Verdict.HOLDS
    assert tried(at_most(Y, Rational(3, 10))).verdict is Verdict.HOLDS
    assert tried(at_most(Y, Rational(3, 10) - Rational(1, 10**30))).verdict is Verdict.FALSE
    low = parameter("z", 0.3, 1.0)
    assert tried(at_least(low, Rational(3, 10))).verdict is Verdict.HOLDS


def test_a_stated_tolerance_is_kept():
    assert tried(at_most(N, N * (1 - SMALL)), tolerance=1e-9).verdict is Verdict.HOLDS
    assert tried(equal(X - Y, X - Y + SMALL), scale=absolute(""), tolerance=1e-9).verdict is Verdict.HOLDS
    assert tried(equal(X - Y, X - Y + SMALL), scale=absolute("")).verdict is Verdict.FALSE


def test_values_beyond_all_doubles_are_compared():
    """Of e^1000 n no double says that it changes with n, so the claim is not settled; what is false never holds."""
    assert tried(at_most(exp(7 * N), exp(7 * N) - 1)).verdict is Verdict.FALSE
    assert tried(at_most(exp(-7 * N), exp(-7 * N) * (1 - SMALL))).verdict is Verdict.FALSE
    for wrong in (at_most(exp(1000 * N), exp(1000 * N) - 1), at_most(exp(-1000 * N), exp(-1000 * N) / 2)):
        assert tried(wrong).verdict is not Verdict.HOLDS and tried(wrong).margin < 0


# Ranges


def test_integers_are_rounded_inwards():
    h = parameter("h", 0.5, 3.5, integer=True)
    assert (h.range.low, h.range.high) == (1, 3)
    assert tried(at_least(h, 1)).said == "enumerated at 3 points: holds"
    found = tried(at_least(h, Rational(3, 2)))
    assert found.witness.point == {"h": Fraction(1)} and h.range.allows(found.witness.point["h"])
    with pytest.raises(ParameterError, match="contains an integer"):
        parameter("h", 0.2, 0.8, integer=True)
    with pytest.raises(ParameterError, match="an integer, because the range has integer=True"):
        parameter("h", 1, 3, integer=True, extra=(0.5,))


def test_extra_values_are_enumerated_too():
    k = parameter("k", 1, 5, integer=True, extra=(100,))
    found = tried(at_most(k, 5))
    assert found.verdict is Verdict.FALSE and found.witness.point == {"k": Fraction(100)}
    assert Range(2.0, 2.0, extra=(3.0,)).size == 2 and list(Range(1, 2, integer=True, extra=(7, 1)).values) == [1, 2, 7]


def test_a_range_allows_its_decimals():
    assert Range(0.3, 0.7).allows(Fraction(3, 10)) and not Range(0.3, 0.7).allows(Fraction(3, 10) - Fraction(1, 10**30))
    assert not Range(0.3, 0.7).allows(Fraction(7, 10) + Fraction(1, 10**30))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_values_are_finite(value: float):
    with pytest.raises(ParameterError, match=r"extra = .*must be a number in"):
        parameter("x", 0.0, 1.0, extra=(value,))
    with pytest.raises(ParameterError, match=r"high = 1.*must be a number in"):
        Range(1, 10**400)


def test_a_range_may_span_all_doubles():
    wide = parameter("L", 1e-200, 1e200, logarithmic=True)
    assert wide.range.at(0.5) == pytest.approx(1.0) and wide.range.at(1.0) == 1e200
    assert wide.range.position(wide.range.at(0.3)) == pytest.approx(0.3)
    assert tried(at_most(wide, wide + 1)).verdict is Verdict.HOLDS
    assert tried(at_most(wide**2, wide)).verdict is Verdict.FALSE
    line = Range(-1.5e308, 1.5e308)
    assert line.at(0.5) == 0 and line.position(0.0) == 0.5


def test_every_witness_is_in_the_domain():
    rng = random.Random(7)
    for case in range(60):
        low, high = sorted((rng.uniform(-5, 5), rng.uniform(-5, 5)))
        whole = rng.random() < 0.5 and math.ceil(low) <= math.floor(high)
        p = parameter("p", round(low, 3), round(high, 3), integer=whole)
        if whole and p.range.low == p.range.high:
            continue
        middle = Rational(str(round((low + high) / 2, 4)))
        found = tried(at_most(p, middle), scale=absolute(""))
        assert found.verdict in (Verdict.FALSE, Verdict.HOLDS), case
        for witness in (found.witness, found.near_paper):
            assert witness is None or p.range.allows(witness.point["p"]), case


# Names, and the order of sets


def test_two_ranges_under_one_name_are_refused():
    a, b, q = parameter("x", 0, 1), parameter("x", 0, 2), parameter("q", 0, 1)
    for made in (lambda: Claim("C", "here", at_most(b**2 + 0 * q, a)), lambda: prove(at_most(b**2, a + q))):
        with pytest.raises(ParameterError, match=r"x = 'x'|parameter = 'x'.*one symbol with one range"):
            made()
    with pytest.raises(ParameterError, match="one symbol with one range"):
        Claim("C", "here", at_most(a, 1), given=[sp.Symbol("x") <= 1])
    inner = sp.Symbol("k", integer=True)
    outer = parameter("k", 1, 5, integer=True)
    assert tried(at_most(outer, sp.Sum(inner, (inner, 1, 5)) * outer), slack=15.0).verdict is Verdict.HOLDS
    with pytest.raises(ParameterError, match="one symbol with one range"):
        Claim("C", "here", at_most(1, sp.Sum(inner * outer, (inner, 1, 5))))


_SEEDED = """
import json, sys
from airtight import Claim, at_most, equal, parameter
import sympy as sp
from airtight.analytics.forms.domain import Range
a, b = parameter("a", 0.1, 1.0), parameter("b", 0.1, 1.0)
n = parameter("n", 1, 30, integer=True)
CLAIMS = [
    Claim("A", "l", at_most(sp.Max(a, b, a * b) * sp.Min(a, b), sp.Max(a, b))),
    Claim("C", "l", at_most(a * b, a), given=[a + b <= 1, sp.Or(a <= b, b <= a)]),
    Claim("D", "l", equal((a + b) ** 2, a**2 + 2 * a * b + b**2)),
    Claim("E", "l", at_most(a**2 + b**2, a + b - sp.Rational(1, 10))),
    Claim("F", "l", at_most(n, n**2)),
    Claim("H", "l", at_most(a, a + sp.Abs(a - b) * sp.Max(0, b - a))),
]
"""


def test_nothing_hangs_on_the_hash_seed(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(_SEEDED)
    root = Path(airtight.__file__).parents[1]
    outputs = set()
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([*sys.path, str(root)])}
        out = tmp_path / seed
        command = [sys.executable, "-m", "airtight", "try", str(file), "--json", "--out", str(out)]
        with every_processor() if seed == "4242" else nullcontext():  # there a pool of processes tries the claims
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, cwd=ROOT
            )
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in json.loads(done.stdout)]
        sums = (out / "certificates" / "SHA256SUMS").read_text()
        outputs.add((json.dumps(rows), sums, done.returncode, done.stderr.replace(str(tmp_path), "")))
    assert len(outputs) == 1


# Forms, disproofs, faults


def _step(x: float) -> float:
    return 1.0 + (abs(x - 1 / 3) < 1e-4)


def test_the_proof_of_a_form_is_not_one_of_the_claim():
    claim = Claim(
        "F",
        "here",
        at_most(_step, 1 + X * (1 - X)),
        form=at_most(sp.Integer(1), 1 + X * (1 - X)),
        domain={"x": X.range},
        statement="x",
    )
    found = trial(claim)
    assert found.how is How.SEARCHED and found.form is How.PROVED and found.boxes
    assert found.said == f"survived {found.evaluations} evaluations, form proved: holds"
    row = found.as_json()
    assert row["how"] == "searched" and row["form"] == "proved" and row["verdict"] == "holds"


def test_the_form_is_compared_at_all_points():
    """One that differs near 1/2 only, on a hundredth of the range, and another on numbers of 1e-12."""

    def bump(x: float) -> float:
        return x + 0.5 * (abs(x - 0.5) < 0.01)

    one = Claim(
        "F",
        "here",
        at_least(bump, X),
        form=at_least(X, X),
        domain={"x": X.range},
        statement="x",
    )
    assert "the form is not the claim at x = 0.5" in trial(one, effort=400).fault
    tiny = Claim(
        "F",
        "here",
        at_most(lambda x: 1e-12 * x, lambda x: 1e-12 * x),
        form=at_most(2 * X, 2 * X),
        domain={"x": X.range},
        statement="x",
    )
    assert "the form is not the claim" in trial(tiny).fault


def test_what_boxes_disprove_is_false():
    """A dip of a hundred thousandth of the range, that a search of 256 points misses."""
    width = Rational(1, 10**5)
    hidden = at_most(width**2 * 9999 / 10000, (X - Rational(1, 7)) ** 2 + width**2 - 2 * width**3)
    claim = Claim("D", "here", hidden, slack=10.0**12)
    found = trial(claim)
    assert found.verdict is Verdict.HOLDS or (found.verdict is Verdict.FALSE and found.witness.certified)
    step = sp.Piecewise((2, sp.Abs(X - Rational(1, 2)) < Rational(1, 10**9)), (1, True))
    found = tried(at_most(step, 1 + X / 4), slack=2.0)
    assert found.verdict is Verdict.FALSE and found.witness.certified and found.known == "refuted"
    assert abs(found.witness.point["x"] - Fraction(1, 2)) < Fraction(1, 10**9) and not found.fault


@pytest.mark.parametrize(
    "claim",
    [
        Claim("G", "l", at_most(X * Y, X + Y), given=[X + Y <= -1]),
        Claim("G", "l", at_most(X, X + 1), given=[sp.Eq(X, 2)], slack=3.0),
        Claim("G", "l", at_most(1, 2)),
        Claim("G", "l", at_most(N, N + 1), given=[N >= 300], slack=3.0),
    ],
)
def test_no_certificate_for_what_is_not_settled(claim: Claim, tmp_path: Path):
    assert trial(claim).verdict is Verdict.UNSETTLED and trial(claim).known == "unsettled"
    (outcome,) = certify(tmp_path / "out", [Paper("p", "P", "A", 2026, [claim]).claims[0]], _source(claim))
    assert not outcome.certified and outcome.note.startswith("unsettled: ") and not (tmp_path / "out" / "G").exists()


class _source(Source):
    def __init__(self, claim: Claim) -> None:
        object.__setattr__(self, "path", "")
        object.__setattr__(self, "_paper", Paper("p", "P", "A", 2026, [claim]))

    def papers(self) -> dict[str, Paper]:
        return {"p": self._paper}

    def digest(self, paper: str) -> str:
        return ""


# What were raw errors


def test_an_index_that_is_free_is_named():
    k = sp.Symbol("k", integer=True)
    with pytest.raises(AirtightError, match="C: symbol = 'k'"):
        Claim("C", "here", at_most(sp.Sum(X**k, (k, 0, 3)) * k, 4))


def test_a_binomial_beyond_its_row_is_0():
    j, k = parameter("j", 0, 5, integer=True), parameter("k", 0, 9, integer=True)
    found = tried(equal(sp.binomial(j, j - k), sp.binomial(j, k)), constants=False)
    assert found.verdict is Verdict.HOLDS and not found.fault
    for n in range(-6, 9):
        for m in range(-6, 9):
            a, b = sp.symbols("a b")
            assert enclosed(sp.binomial(a, b), {"a": n, "b": m}) == ball(int(sp.binomial(n, m))), (n, m)


def test_an_empty_domain_is_said_to_be_empty():
    assert "no point of the domain meets the hypotheses" in tried(at_most(N, 200), given=[N >= 300]).fault


def test_raw_errors_are_sentences_of_the_command(tmp_path: Path):
    file = tmp_path / "mine.py"
    for text in ("x = parameter('x', 0.0, 1.0, extra=(float('inf'),))", "x = parameter('h', 0.2, 0.8, integer=True)"):
        file.write_text(f"from airtight import *\n{text}\na = Claim('A', 'l', at_most(x, 1))\n")
        result = run("try", file, "--out", tmp_path / "out")
        assert result.exit_code == 2 and "must be" in result.stderr and "Traceback" not in result.output


# What is said first


def test_the_first_word_says_how_it_is_known():
    def shown(relation: object, **rest: object) -> str:
        return tried(relation, **rest).said

    assert shown(at_most(X**2, X)) == "proved: holds"
    assert shown(equal((X + 1) ** 2, X**2 + 2 * X + 1)) == "identity: holds"
    assert shown(at_most(N, N**2)) == "enumerated at 200 points: holds"
    assert shown(at_most(X, X**2)) == "refuted: false"
    assert shown(at_most(1 / (X - Rational(1, 3)), 100)) == "unsettled"
    code = {"domain": {"x": X.range}, "statement": "x"}
    assert re.fullmatch(r"survived \d+ evaluations: holds", shown(at_most(lambda x: x * x, lambda x: x), **code))
    assert shown(at_most(lambda x: x * x, lambda x: x), argued="docs/proofs.md#x", **code) == "argued: holds"
    exhibit = shown(equal(X, X), ruling=exhibited("here it is"))
    assert exhibit == "refuted by an exhibit (identity): false"
    assert shown(at_most(X, X**2), ruling=false("no")) == "refuted: false"


def test_the_table_says_it_first(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from airtight import *\nx = parameter('x', 0.0, 1.0)\na = Claim('A', 'l', at_most(x**2, x))\n"
        "b = Claim('B', 'l', at_most(lambda x: x * x, lambda x: x), domain={'x': x.range}, statement='x')\n"
        "c = Claim('C', 'l', at_most(x, x**2))\n"
    )
    result = run("try", file, "--out", tmp_path / "out")
    words = " ".join(result.stdout.split())
    for said in ("proved: holds", "survived", "refuted: false"):
        assert said in words
    page = (tmp_path / "out" / "index.html").read_text()
    assert ">proved: holds<" in page and ">refuted: false<" in page
    assert re.search(r">survived \d+ evaluations: holds<", page)
    rows = json.loads((tmp_path / "out" / "evidence.json").read_text())
    assert {row["verdict"] for row in rows} == {"holds", "false"}
