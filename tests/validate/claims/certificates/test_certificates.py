"""Certificates: check.py rebuilds them alone, agrees with python-flint, and rejects whatever has been changed."""

import ast
import hashlib
import importlib.util
import json
import math
import os
import random
import shutil
import subprocess
import sys
from fractions import Fraction

import fastjsonschema
import flint
import forgeries
import pytest
import sympy as sp
from support.common import refused, run
from support.paths import ROOT

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls.ball import ball
from airtight.analytics.forms.balls.compiled import UnsupportedExpression, enclosed
from airtight.analytics.forms.domain import parameter
from airtight.validate.claims.certificates import coq, formal, writing
from airtight.validate.claims.certificates.writing import CHECK, certify, decimals, sums, tree
from airtight.validate.claims.claim import Claim, false
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.relation import at_most
from airtight.validate.claims.sources import INSTALLED, Source


def check(out):
    """OUT/check.py as a stranger runs it, in a Python of its own."""
    return subprocess.run([sys.executable, "-I", str(out / "check.py")], capture_output=True, text=True, check=False)


def write_sums(out):
    """OUT/SHA256SUMS of what stands in the folder now."""
    names = ["check.py", *sorted(path.relative_to(out).as_posix() for path in out.glob("*/*.json"))]
    (out / "SHA256SUMS").write_text(sums(out, names))


def _loaded():
    spec = importlib.util.spec_from_file_location("certificate_check", CHECK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKER = _loaded()
X, Y = sp.symbols("x y")


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory):
    """Of the evidence that is shipped, which test_papers.py compares with a trial of every row."""
    out = tmp_path_factory.mktemp("certificates")
    refuted = [c for c in INSTALLED.claims().values() if not c.ruling.survives]
    kept = {e.claim.id: (e, None) for e in shipped().evidence}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "examined", lambda claim: kept[claim.id])
        return out, list(certify(out, [*refuted, INSTALLED.claims()["FDP-D2-eps1"], INSTALLED.claims()["CB-A1"]]))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One witness, one proof with a hypothesis, and one without."""
    folder = tmp_path_factory.mktemp("made")
    path = folder / "mine.py"
    path.write_text(
        "from airtight import *\nimport sympy as sp\n"
        "x = parameter('x', 0.1, 2.0)\ny = parameter('y', 0.1, 2.0, extra=(3.0,))\n"
        "a = Claim('A', 'Lemma 1', at_most(sp.exp(x) - y / 3, 1 + x), false('it is not'))\n"
        "b = Claim('B', 'Lemma 2', at_least(sp.exp(x - y / 2), sp.Rational(9, 10) + (x - y / 2) * 2), "
        "given=[x <= y / 2], slack=9.0, scale=absolute(''))\n"
        "c = Claim('C', 'Lemma 3', at_least(sp.exp(x * y), 1 + x * y + x * y * x / 100))\n"
    )
    source = Source(str(path))
    return folder / "out", {o.id: o for o in certify(folder / "out", list(source.claims().values()), source)}


@pytest.fixture
def two(made, tmp_path):
    """A copy of those, to be changed."""
    return shutil.copytree(made[0], tmp_path / "out"), made[1]


def test_every_refuted_row_of_expressions_is_rebuilt_by_plain_python(all_of_them):
    out, found = all_of_them
    done = check(out)
    assert done.returncode == 0, done.stdout + done.stderr
    certified = {o.id for o in found if o.certified}
    symbolic = {n for n, c in INSTALLED.claims().items() if c.relation.symbolic and not c.ruling.survives}
    exact = {o.id for o in found if "too near to a decimal" in o.note}
    assert len(exact) <= 1 and certified == (symbolic - exact) | {"FDP-D2-eps1"} and len(symbolic) >= 60
    assert done.stdout.count(": refuted at") == len(symbolic - exact)
    assert "computed by Python code" in next(o.note for o in found if o.id == "FDP-T1")
    assert "identity" in next(o.note for o in found if o.id == "CB-A1")
    claim = json.loads((out / "FDP-D2" / "claim.json").read_text())
    assert claim["paper"]["id"] == "feature-dp" and len(claim["source_sha256"]) == 64


def _validator(name):
    schema = json.loads((ROOT / "docs" / "certificates.schema.json").read_text())
    return fastjsonschema.compile({**schema, "allOf": [{"$ref": f"#/$defs/{name}"}]})


def test_every_file_has_the_published_shape(all_of_them, two):
    valid = {name: _validator(name) for name in ("claim.json", "witness.json", "proof.json")}
    seen = set()
    for folder in (all_of_them[0], two[0]):
        for path in folder.glob("*/*.json"):
            seen.add(path.name)
            valid[path.name](json.loads(path.read_text()))
    assert seen == set(valid)
    wrong = json.loads((two[0] / "A" / "witness.json").read_text()) | {"digits": "25"}
    with pytest.raises(fastjsonschema.JsonSchemaException):
        valid["witness.json"](wrong)


def test_it_can_be_read_in_one_sitting():
    assert len(CHECK.read_text().splitlines()) <= 1250


def test_it_imports_nothing_but_the_standard_library():
    nodes = [n for n in ast.walk(ast.parse(CHECK.read_text())) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    assert names <= set(sys.stdlib_module_names)
    assert not {"importlib", "subprocess", "ctypes"} & names
    calls = {
        n.func.id for n in ast.walk(ast.parse(CHECK.read_text())) if isinstance(n, ast.Call) and hasattr(n.func, "id")
    }
    assert not {"eval", "exec", "__import__", "compile", "float"} & (calls - {"float"})


def test_a_copy_is_verbatim(two):
    out, _ = two
    assert (out / "check.py").read_bytes() == CHECK.read_bytes()


def test_witness_and_proof_of_a_file(two):
    out, found = two
    assert {o.id for o in found.values() if o.certified} == {"A", "B", "C"}, found
    assert check(out).returncode == 0, check(out).stdout
    assert {str(leaf["sign"]) for leaf in _leaves(json.loads((out / "B" / "proof.json").read_text()))} == {"+", "0"}


def test_a_false_lemma_whose_author_believes_it_is_certified(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from airtight import *\nimport sympy as sp\nx = parameter('x', 0.1, 2.0)\n"
        "a = Claim('A', 'l', at_most(sp.exp(x), 1 + x / 2))"
    )
    source = Source(str(path))
    (found,) = certify(tmp_path / "out", list(source.claims().values()), source)
    assert (found.certified, found.note) == (True, "a counterexample")
    assert check(tmp_path / "out").returncode == 0


def _leaves(proof):
    nodes, found = list(proof["trees"]), []
    while nodes:
        node = nodes.pop(0)
        found += [node] if "sign" in node else []
        nodes = node.get("parts", []) + nodes
    return found


def _cut(proof):
    """The first node that is cut."""
    return next(node for node in proof["trees"] if "cut" in node)


# Arithmetic against python-flint

_ONE = (sp.exp, sp.log, sp.sqrt, sp.erfc, sp.atan, sp.loggamma, sp.Abs, sp.floor)
_MADE = (sp.erf, sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.ceiling, sp.gamma, sp.factorial)  # of the others


def _random(rng, depth):
    if depth == 0:
        return rng.choice([X, Y, sp.Rational(rng.randint(-9, 9), rng.randint(1, 9)), sp.pi])
    a, b = _random(rng, depth - 1), _random(rng, depth - 1)
    kinds = [a + b, a - b, a * b, a / (1 + b**2), sp.Max(a, b), sp.Min(a, b), a**3, sp.sqrt(1 + a**2)]
    kinds += [sp.exp(sp.Min(a, 3)), sp.log(1 + a**2), sp.erfc(a), sp.tanh(b), sp.cosh(sp.Min(b, 2))]
    kinds += [sp.Piecewise((a, X < Y), (b, True)), (2 + a**2) ** sp.Rational(2, 3), sp.erf(b), (1 + b**2) ** sp.tanh(a)]
    return rng.choice(kinds)


def _overlaps(found, other):
    """Whether an interval of check.py and a ball have a number in common; and the width of the first, relative."""
    low, high = (CHECKER.fraction(e) for e in (found.lo, found.hi))
    assert low <= high
    return not (other < ball(low)) and not (other > ball(high)), (high - low) / max(
        abs(low), abs(high), Fraction(1, 10**9)
    )


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_agree_with_flint(seed):
    rng = random.Random(seed)
    expression = _random(rng, 3)
    point = {n: Fraction(rng.randint(-40, 40), rng.randint(1, 20)) for n in "xy"}
    with CHECKER.precision(128):
        found = CHECKER.interval(CHECKER.value(tree(expression), point))
    with flint.ctx.workprec(400):
        overlap, width = _overlaps(found, enclosed(expression, point))
    assert overlap and width < Fraction(1, 2**60), (expression, point)


@pytest.mark.parametrize("function", _ONE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("bits", [64, 300])
def test_functions_are_enclosed_tightly(function, bits):
    rng = random.Random(function.__name__)
    for _ in range(25):
        x = Fraction(rng.uniform(-1, 1)) * Fraction(rng.choice([1e-20, 0.01, 1.0, 5.0, 40.0]))
        if function in (sp.log, sp.sqrt, sp.loggamma):
            x = abs(x) + Fraction(1, 1000)
        with CHECKER.precision(bits):
            found = CHECKER.interval(CHECKER.value(tree(function(X)), {"x": CHECKER.Interval.of(x)}))
        with flint.ctx.workprec(2 * bits + 200):
            overlap, width = _overlaps(found, enclosed(function(X), {"x": x}))
        assert overlap, (function, x)
        assert width < Fraction(1, 2 ** (bits - 12)), (function, float(x), float(width))


@pytest.mark.parametrize("function", _MADE, ids=lambda f: f.__name__)
def test_functions_made_of_others_are_enclosed(function):
    rng = random.Random(function.__name__)
    for _ in range(15):
        x = Fraction(rng.uniform(0.001, 1)) * rng.choice([1, 5, 20])
        with CHECKER.precision(200):
            found = CHECKER.interval(CHECKER.value(tree(function(X)), {"x": x}))
        with flint.ctx.workprec(500):
            overlap, width = _overlaps(found, enclosed(function(X), {"x": x}))
        assert overlap and width < Fraction(1, 2**120), (function, float(x), float(width))


@pytest.mark.parametrize("seed", range(20))
def test_boxes_and_slopes_hold_every_point(seed):
    """Value and derivatives on a box hold those at points inside, by python-flint and SymPy."""
    rng = random.Random(1000 + seed)
    expression = _random(rng, 2)
    low = {n: Fraction(rng.randint(-30, 30), 10) for n in "xy"}
    box = {n: (a, a + Fraction(rng.randint(1, 5), 10)) for n, a in low.items()}
    try:
        value, slopes = CHECKER.slopes(tree(expression), CHECKER.intervals(box))
    except CHECKER.Undecided:
        return
    for _ in range(5):
        point = {n: a + (b - a) * Fraction(rng.randint(1, 99), 100) for n, (a, b) in box.items()}
        assert _overlaps(value, enclosed(expression, point))[0]
        for symbol in (X, Y):
            derivative = sp.diff(expression, symbol)
            try:
                true = enclosed(derivative, point)
            except UnsupportedExpression:
                continue
            assert _overlaps(slopes.get(symbol.name, CHECKER.ZERO), true)[0], (expression, symbol, point)


@pytest.mark.parametrize("side, digits", [(X / 3, 25), (sp.sqrt(2) * X, 25), (sp.exp(-400 * X), 25)])
def test_decimals_are_right_to_the_last_digit(side, digits):
    low, high = (Fraction(text) for text in decimals(side, {"x": Fraction(1)}))
    with flint.ctx.workprec(600):
        true = enclosed(side, {"x": Fraction(1)})
        assert ball(low) <= true <= ball(high)
    assert 0 < high - low <= abs(high) / 10 ** (digits - 1)


@pytest.mark.parametrize("seed", range(30))
def test_a_difference_keeps_its_value_without_what_both_sides_have(seed):
    rng = random.Random(2000 + seed)
    parts = [_random(rng, 2) for _ in range(3)]
    high, low = (sp.Add(*(rng.randint(-3, 3) * part for part in parts)) for _ in range(2))
    point = {n: Fraction(rng.randint(-40, 40), rng.randint(1, 20)) for n in "xy"}
    with CHECKER.precision(128):
        found = CHECKER.interval(CHECKER.value(CHECKER.less_common(tree(high), tree(low)), point))
    with flint.ctx.workprec(400):
        assert _overlaps(found, enclosed(high - low, point))[0]


def _claim_of(actual, claimed, low="-1"):
    domain = {"x": {"low": low, "high": "1", "integer": False, "extra": []}}
    given = {"schema": CHECKER.SCHEMA, "id": "Z", "relation": "<=", "given": [], "domain": domain}
    return CHECKER.Claim(
        json.dumps({**given, "expression": {"actual": tree(actual), "claimed": tree(claimed)}}).encode()
    )


def _shown(claim):
    proof = {"schema": CHECKER.SCHEMA, "id": "Z", "claim_sha256": claim.sha256, "trees": [{"sign": "+"}]}
    return CHECKER.proved(claim, json.dumps(proof))


def test_what_both_sides_have_must_have_a_value():
    """A pole, a root of what is negative, a case that never holds: they cancel, and the claim says nothing there."""
    assert _shown(_claim_of(X + X**3, X**3 + X + sp.Rational(1, 9))).startswith("proved")
    for same in (1 / X, sp.sqrt(X), sp.log(X), sp.Piecewise((X, X > 0))):
        with pytest.raises(CHECKER.Rejected):
            _shown(_claim_of(same, same + 1))
    assert _shown(_claim_of(1 / X, 1 / X + 1, low="1/9")).startswith("proved")


def test_halving_shows_what_is_true_only():
    assert _shown(_claim_of(X * (1 - X), sp.Rational(26, 100))).startswith("proved")
    with pytest.raises(CHECKER.Rejected):
        _shown(_claim_of(X * (1 - X), sp.Rational(2499, 10000)))


# Whatever is changed is rejected; the sums are made anew, so that they are not what rejects it


def _edited(out, name, change):
    path = out / name
    given = json.loads(path.read_text())
    change(given)
    path.write_text(json.dumps(given, indent=1, ensure_ascii=False) + "\n")
    write_sums(out)


def _bound_anew(out, folder):
    """What a forger would do: tell the witness or proof the sum of the changed claim."""
    digest = hashlib.sha256((out / folder / "claim.json").read_bytes()).hexdigest()
    name = "witness.json" if (out / folder / "witness.json").exists() else "proof.json"
    _edited(out, f"{folder}/{name}", lambda g: g.update(claim_sha256=digest))


def _rejected(out, folder):
    """The folder itself, not the sums nor its neighbours."""
    CHECKER.sums(out)
    with pytest.raises((CHECKER.Rejected, CHECKER.Malformed)):
        CHECKER.rebuilt(out / folder)
    return True


def test_every_digit_of_an_interval_counts(two, tmp_path):
    out, _ = two
    text = json.loads((out / "A" / "witness.json").read_text())
    for side in ("claimed", "actual"):
        for end in (0, 1):
            stated = text[side][end]
            for place in range(0, len(stated), 5):
                if not stated[place].isdigit():
                    continue
                changed = stated[:place] + str((int(stated[place]) + 1) % 10) + stated[place + 1 :]
                given = {**text, side: [changed if i == end else e for i, e in enumerate(text[side])]}
                with pytest.raises((CHECKER.Rejected, CHECKER.Malformed)):
                    claim = CHECKER.Claim((out / "A" / "claim.json").read_bytes())
                    CHECKER.witnessed(claim, json.dumps(given))


@pytest.mark.parametrize(
    "name, change",
    [
        ("A/witness.json", lambda g: g["point"].update(x="1/7")),
        ("A/witness.json", lambda g: g["point"].update(x="200")),
        ("A/witness.json", lambda g: g.update(digits=26)),
        ("A/claim.json", lambda g: g["expression"]["actual"].update(op="*")),
        ("A/claim.json", lambda g: g["domain"]["x"].update(high="3")),
        ("A/claim.json", lambda g: g.update(relation=">=")),
        ("A/claim.json", lambda g: g.update(statement="x")),
        ("B/proof.json", lambda g: g["trees"].pop()),
        ("B/proof.json", lambda g: g["trees"].reverse()),
        ("B/proof.json", lambda g: g.update(trees=[])),
        ("B/proof.json", lambda g: _cut(g)["parts"].pop()),
        ("B/proof.json", lambda g: _cut(g)["parts"].reverse()),
        ("B/proof.json", lambda g: _cut(g).update(at="100")),
        ("B/proof.json", lambda g: _cut(g).update(cut="z")),
        ("B/proof.json", lambda g: _leaves(g)[0].update(sign=0 if _leaves(g)[0]["sign"] == "+" else "+")),
        ("B/proof.json", lambda g: _leaves(g)[0].update(sign=7)),
        ("B/proof.json", lambda g: _leaves(g)[0].update(sign=True)),
        ("B/proof.json", lambda g: _leaves(g)[0].clear()),
        ("B/claim.json", lambda g: g["domain"]["x"].update(low="0")),
        ("B/claim.json", lambda g: g.update(given=[])),
    ],
)
def test_mutations_are_rejected(two, name, change):
    _edited(two[0], name, change)
    assert _rejected(two[0], name.split("/")[0])


def test_a_mutation_is_told_by_the_exit_code(two):
    _edited(two[0], "A/claim.json", lambda g: g["expression"]["actual"].update(op="*"))
    done = check(two[0])
    assert done.returncode == 1 and "A: REJECTED" in done.stdout and "B: proved" in done.stdout


@pytest.mark.parametrize(
    "name, change",
    [
        ("A/claim.json", lambda g: g["expression"]["actual"].update(op="*")),
        ("A/claim.json", lambda g: g["domain"]["x"].update(high="1/9")),
        ("A/claim.json", lambda g: g.update(relation=">=")),
        ("B/claim.json", lambda g: g["domain"]["y"].update(extra=["3", "4"])),
        ("C/claim.json", lambda g: g["domain"]["x"].update(high="200")),
        (
            "C/claim.json",
            lambda g: g["expression"].update(actual=g["expression"]["claimed"], claimed=g["expression"]["actual"]),
        ),
        ("B/claim.json", lambda g: g.update(given=[])),
    ],
)
def test_forgeries_are_rejected(two, name, change):
    out, _ = two
    witness = json.loads((out / "A" / "witness.json").read_text())
    if "high" in str(change.__code__.co_names) and Fraction(witness["point"]["x"]) <= Fraction(1, 9):
        pytest.skip("the point stays inside")
    folder = name.split("/")[0]
    _edited(out, name, change)
    _bound_anew(out, folder)
    assert _rejected(out, folder)


def test_sums_are_checked(two):
    out, _ = two
    (out / "C" / "claim.json").write_text((out / "C" / "claim.json").read_text() + " ")
    done = check(out)
    assert done.returncode == 1 and "not as in SHA256SUMS" in done.stdout
    (out / "SHA256SUMS").unlink()
    assert check(out).returncode == 2


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1, "a": 2}', "{", '{"schema": "other"}'])
def test_malformed_files(made, tmp_path, text):
    shutil.copytree(made[0] / "A", tmp_path / "A")
    (tmp_path / "A" / "claim.json").write_text(text)
    with pytest.raises(CHECKER.Malformed):
        CHECKER.rebuilt(tmp_path / "A")


def test_a_malformed_file_leaves_the_others(two):
    out, _ = two
    (out / "A" / "claim.json").write_text("[]")
    write_sums(out)
    done = check(out)
    assert done.returncode == 2 and "A: MALFORMED" in done.stdout and "B: proved" in done.stdout


def test_neither_witness_nor_proof(two):
    out, _ = two
    (out / "A" / "witness.json").unlink()
    write_sums(out)
    assert check(out).returncode == 2
    shutil.rmtree(out / "A")
    write_sums(out)
    assert check(out).returncode == 0


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_change_of_any_file_is_noticed(two, place):
    """By the sums, whatever it is; check.py is among them."""
    out, _ = two
    for path in sorted([*out.glob("*/*.json"), out / "SHA256SUMS", out / "check.py"]):
        whole = path.read_bytes()
        at = int(place * len(whole))
        changed = out / path.relative_to(out)
        changed.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises((CHECKER.Rejected, CHECKER.Malformed, UnicodeDecodeError)):
            CHECKER.sums(out)
        path.write_bytes(whole)
    assert CHECKER.main(out) == 0


def test_the_list_is_published_apart(tmp_path):
    """docs/certificates.sha256: what `airtight certify` writes, as long as the papers are those that the list was made from."""
    lines = (ROOT / "docs" / "certificates.sha256").read_text().splitlines()
    digests = {line.split()[1]: line.split()[2] for line in lines if line.startswith("#")}
    sums = {line[66:]: line[:64] for line in lines if not line.startswith("#")}
    assert sums["check.py"] == hashlib.sha256(CHECK.read_bytes()).hexdigest()
    assert len([name for name in sums if name.endswith("/claim.json")]) > 100
    current = [
        c
        for c in map(INSTALLED.claims().get, ("FDP-E4", "CB-X2", "UF-E51"))
        if digests[c.paper] == INSTALLED.digest(c.paper)
    ]
    list(certify(tmp_path, current))
    for path in tmp_path.glob("*/*.json"):
        assert sums[path.relative_to(tmp_path).as_posix()] == hashlib.sha256(path.read_bytes()).hexdigest(), (
            "make ledger"
        )


# The command


def test_the_command(tmp_path):
    result = run("certify", "FDP-D2", "FDP-T1", "UF-E3", "--out", tmp_path / "c")
    assert result.exit_code == 0, result.output
    assert "FDP-D2: a counterexample" in result.stdout and "FDP-T1: skipped" in result.stdout
    assert check(tmp_path / "c").returncode == 0
    assert refused(run("certify", "NONE-1", "--out", tmp_path / "d"), "NONE-1")
    none = run("certify", "FDP-T1", "--out", tmp_path / "d")
    assert none.exit_code == 1 and none.stdout.startswith("No certificate for this verdict; nothing is written.")


def test_folders_have_plain_names():
    x = parameter("x", 0.1, 1.0)
    with pytest.raises(ParameterError, match="id of a claim"):
        Claim("../a", "here", at_most(x, x**2), false("no"))


def test_end_of_the_ladder():
    """A point that no precision decides is rejected, not believed."""
    assert math.isclose(float(CHECKER.fraction(CHECKER.pi_at(96).lo)), math.pi)
    given = {"schema": CHECKER.SCHEMA, "id": "Z", "relation": "<=", "given": [], "domain": {}}
    same = {"op": "log", "args": [{"op": "exp", "args": ["1/3"]}]}
    text = json.dumps({**given, "expression": {"actual": same, "claimed": "1/3"}}).encode()
    claim = CHECKER.Claim(text)
    witness = {"schema": CHECKER.SCHEMA, "id": "Z", "claim_sha256": claim.sha256, "point": {}, "digits": 3}
    with pytest.raises(CHECKER.Rejected, match="not decided"):
        CHECKER.witnessed(claim, json.dumps({**witness, "claimed": ["0.333", "0.334"], "actual": ["0.333", "0.334"]}))


# What a file of bad intent, or of bad luck, does to the run: nothing


def _node(op, *args):
    return {"op": op, "args": list(args)}


def _given(actual="1", claimed="0", *, domain=None, **rest):
    about = {
        "schema": CHECKER.SCHEMA,
        "id": "A",
        "statement": "s",
        "relation": "<=",
        "given": [],
        "domain": domain or {},
    }
    return {**about, "expression": {"actual": actual, "claimed": claimed}, **rest}


def _written(out, claim, name="A", **rest):
    """A folder with a claim, and a witness or a proof of it."""
    (out / name).mkdir(parents=True)
    text = json.dumps(claim)
    (out / name / "claim.json").write_text(text)
    beside = {"schema": CHECKER.SCHEMA, "id": claim["id"], "claim_sha256": hashlib.sha256(text.encode()).hexdigest()}
    if "trees" not in rest:
        beside |= {"point": {}, "actual": ["1", "1"], "claimed": ["0", "0"], "digits": 5}
    (out / name / ("proof.json" if "trees" in rest else "witness.json")).write_text(json.dumps({**beside, **rest}))


def _beside_a_good_one(out, capsys):
    """The exit code, and what is said of A; Z, which is right, is checked all the same."""
    _written(out, _given(id="Z"), "Z")
    shutil.copyfile(CHECK, out / "check.py")
    write_sums(out)
    code = CHECKER.main(out)
    said = capsys.readouterr().out
    assert "Z: refuted at the only point" in said
    return code, next(line for line in said.splitlines() if line.startswith("A: "))


UNIT = {"x": {"low": "0", "high": "1", "integer": False, "extra": []}}
DEEP = "1"
for _ in range(400):
    DEEP = _node("+", DEEP, "1")


def test_a_plain_witness_is_rebuilt(tmp_path, capsys):
    _written(tmp_path, _given())
    assert _beside_a_good_one(tmp_path, capsys) == (0, "A: refuted at the only point")


def test_a_decimal_is_right_to_its_last_digit(tmp_path, capsys):
    """The value is 0.49999...: to five digits 0.49999 and 0.5, never 0.5 and 0.5; some identities are known."""
    near = _node("sqrt", _node("-", "1/4", "1/" + "1" * 30))
    _written(tmp_path, _given(near), actual=["0.5", "0.5"])
    code, said = _beside_a_good_one(tmp_path, capsys)
    assert code == 1 and "0.5 is not the value to 5 digits" in said
    for number, (value, decimals_) in enumerate(
        (
            (near, ["0.49999", "0.5"]),
            (_node("sqrt", "1/100"), ["0.1", "0.1"]),
            (_node("/", _node("abs", _node("log", "2")), _node("log", "2")), ["1", "1"]),
            (_node("/", _node("*", _node("sqrt", "2"), "1"), _node("sqrt", _node("+", "1", "1"))), ["1", "1"]),
            (_node("+", _node("*", "0", _node("exp", "1")), "1/100"), ["0.01", "0.01"]),
        )
    ):
        _written(tmp_path, _given(value, id=f"R{number}"), f"R{number}", actual=decimals_)
        assert CHECKER.rebuilt(tmp_path / f"R{number}")


@pytest.mark.parametrize(
    "claim, beside",
    [
        (_given(), {"digits": True}),
        (_given(), {"digits": 5.0}),
        (_given(), {"digits": "5"}),
        (_given("x", domain={"x": {**UNIT["x"], "extra": "79"}}), {"point": {"x": "7"}, "actual": ["7", "7"]}),
        (_given("x", domain={"x": {**UNIT["x"], "low": 0}}), {"point": {"x": "1"}}),
        (_given("x", domain={"x": {**UNIT["x"], "integer": 0}}), {"point": {"x": "1"}}),
        (_given(1), {}),
        (_given("\uff11"), {}),
        (_given("\u0663/\u0662"), {"actual": ["1.5", "1.5"]}),
        (_given(), {"actual": ["\uff11", "1"]}),
        (_given(), {"actual": "11"}),
        (_given(), {"point": []}),
        (_given(), {"more": 1}),
        (_given(more=1), {}),
        (_given(domain={"1": UNIT["x"]}), {"point": {"1": "0"}}),
        (_given({"op": {}, "args": []}), {}),
        (_given({"op": [], "args": ["1"]}), {}),
        (_given({"op": "exp", "args": "1"}), {}),
        (_given({"op": "+", "args": {}}), {}),
        (_given({"op": "sinh", "args": ["1"]}), {}),
        (_given("x", "2", domain=UNIT), {"trees": [{"cut": [], "at": "1/2", "parts": [{"sign": "+"}, {"sign": "+"}]}]}),
        (_given("x", "2", domain=UNIT), {"trees": [{"cut": "x", "at": "1/2", "parts": {"sign": "+"}}]}),
        (_given("x", "2", domain=UNIT), {"trees": [[]]}),
        (
            _given(
                "1", "2", domain={f"x{i}": {**UNIT["x"], "extra": [str(j) for j in range(2, 200)]} for i in range(10)}
            ),
            {"trees": [{"sign": "+"}]},
        ),
    ],
)
def test_types_are_strict(tmp_path, capsys, claim, beside):
    _written(tmp_path, claim, **beside)
    code, said = _beside_a_good_one(tmp_path, capsys)
    assert code == 2 and "MALFORMED" in said and "Error" not in said, said


@pytest.mark.parametrize(
    "actual",
    [
        "1" * 5000,
        DEEP,
        _node("pow", "2", "1000000000"),
        _node("pow", "2", _node("pow", "10", "900")),
        _node("exp", "1000000000"),
        _node("exp", "-1000000000"),
        _node("exp", _node("exp", "20")),
        _node("binomial", "1000000000", "500000000"),
        _node("lgamma", _node("exp", "1000000000")),
        _node("atan", _node("exp", "-1000000000")),
        _node("sum", _node("sum", _node("sum", "1", "k", "1", "100000"), "j", "1", "100000"), "i", "1", "100000"),
        _node("sum", "1", "k", "1", "1000000000"),
        _node("*", *["1"] * 200_000),
    ],
    ids=lambda tree: str(tree)[:40],
)
def test_there_is_a_limit_of_work(tmp_path, capsys, monkeypatch, actual):
    monkeypatch.setattr(CHECKER, "WORK", 50_000)
    _written(tmp_path, _given(actual))
    code, said = _beside_a_good_one(tmp_path, capsys)
    assert code == 1 and "REJECTED: too large" in said, said


def test_the_limit_of_work_holds_for_proofs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(CHECKER, "WORK", 50_000)
    term = _node("sum", _node("sum", "k", "k", "1", "1000"), "j", "1", "1000")
    _written(tmp_path, _given(_node("*", "x", term), "1", domain=UNIT), trees=[{"sign": "+"}])
    code, said = _beside_a_good_one(tmp_path, capsys)
    assert code == 1 and "too large" in said


def test_the_certificates_that_are_made_are_far_from_the_limit(all_of_them, monkeypatch):
    monkeypatch.setattr(CHECKER, "WORK", CHECKER.WORK // 4)
    assert all(CHECKER.rebuilt(all_of_them[0] / o.id) for o in all_of_them[1] if o.certified)


@pytest.mark.parametrize(
    "text, code",
    [
        ("[" * 100_000, 1),
        ('{"digits": ' + "1" * 5000 + "}", 1),
        ('{"a": NaN}', 2),
        ("\ufeff{}", 2),
        ('{"id": "\\ud800"}', 2),
    ],
    ids=["deep", "long", "nan", "mark", "surrogate"],
)
def test_texts_that_are_no_certificate(tmp_path, capsys, text, code):
    (tmp_path / "A").mkdir(parents=True)
    (tmp_path / "A" / "claim.json").write_text(text, encoding="utf-8")
    (tmp_path / "A" / "witness.json").write_text("{}")
    assert _beside_a_good_one(tmp_path, capsys)[0] == code


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["claim.json", "witness.json"])
@pytest.mark.parametrize(
    "make", [os.mkfifo if hasattr(os, "mkfifo") else None, os.mkdir, lambda p: os.symlink("/dev/zero", p)]
)
def test_what_is_no_file_is_not_opened(tmp_path, capsys, name, make):
    _written(tmp_path, _given())
    (tmp_path / "A" / name).unlink()
    _written(tmp_path, _given(id="Z"), "Z")
    (tmp_path / "SHA256SUMS").write_text("")
    make(tmp_path / "A" / name)
    assert CHECKER.main(tmp_path) == 2
    said = capsys.readouterr().out
    assert f"A: MALFORMED: {name}: not a file" in said and "Z: refuted" in said
    (tmp_path / "SHA256SUMS").unlink()
    make(tmp_path / "SHA256SUMS")
    assert CHECKER.main(tmp_path) == 2 and "SHA256SUMS: not a file" in capsys.readouterr().out


def test_a_folder_is_called_as_its_claim(tmp_path, capsys):
    _written(tmp_path, _given(id="B"))
    code, said = _beside_a_good_one(tmp_path, capsys)
    assert code == 1 and "in a folder of another name" in said


def test_nothing_steers_the_terminal(tmp_path, capsys):
    name = "A\x1b[31m"
    _written(tmp_path, _given(id=name), name)
    _written(tmp_path, _given(id="B"), "B", point={"\x1b]0;x\x07": "1"})
    (tmp_path / "SHA256SUMS").write_text("")
    CHECKER.main(tmp_path)
    assert "\x1b" not in (said := capsys.readouterr().out) and "A\\x1b[31m: refuted" in said


def test_no_folder_is_said_so(tmp_path, capsys):
    assert CHECKER.main(tmp_path / "none") == 2
    assert "no folder" in capsys.readouterr().out


def test_bernoulli_numbers_by_sympy():
    for n in (2, 4, 10, 30, 64, 66, 200):
        assert CHECKER.bernoulli(n) == Fraction(*sp.bernoulli(n).as_numer_denom())


def test_forgeries_at_random(all_of_them):
    """`python tests/adversarial/forgeries.py` tries as many as one likes."""
    folders = [all_of_them[0] / o.id for o in all_of_them[1] if o.certified]
    counts, wrong = forgeries.tried(folders, 400, seed=1)
    assert not wrong, wrong[0]
    assert counts["witness: accepted, true"] > 5 and counts["witness: Rejected"] > 20


def test_theorems_beside_the_certificates_are_left_alone(tmp_path):
    """`airtight certify --coq` and `make formal` add a folder of Coq's files: check.py has nothing to say of them."""
    list(certify(tmp_path, [INSTALLED.claims()["CB-D-e"]]))
    coq.write(tmp_path)
    (tmp_path / coq.LIBRARY / formal._KEPT).write_text("{}")
    done = check(tmp_path)
    assert done.returncode == 0, done.stdout


# Nothing passes by being empty


def test_a_folder_without_certificates_is_no_check(tmp_path):
    shutil.copy(CHECK, tmp_path)
    assert check(tmp_path).returncode == 2 and "no certificate" in check(tmp_path).stdout
    write_sums(tmp_path)
    (tmp_path / "FDP-T1").mkdir()
    assert check(tmp_path).returncode == 2


def test_certifying_nothing_fails_and_writes_nothing(tmp_path):
    result = run("certify", "FDP-T1", "--out", str(tmp_path / "out"))
    words = " ".join(result.stdout.split())
    assert result.exit_code == 1 and "computed by Python code" in words and "rebuilds" not in words
    assert not [path for path in (tmp_path / "out").rglob("*") if not path.name.startswith(".")]


def test_a_proof_of_which_every_box_fails_a_hypothesis_is_none(two):
    out, _ = two
    proof = json.loads((out / "B" / "proof.json").read_text())
    claim = json.loads((out / "B" / "claim.json").read_text()) | {"given": [{"op": ">", "args": ["x", "5"]}]}
    text = json.dumps(claim).encode()
    (out / "B" / "claim.json").write_bytes(text)
    proof |= {"trees": [{"sign": 0}] * len(proof["trees"]), "claim_sha256": hashlib.sha256(text).hexdigest()}
    (out / "B" / "proof.json").write_text(json.dumps(proof))
    write_sums(out)
    assert check(out).returncode == 1 and "nothing is claimed" in check(out).stdout


def test_certified_is_printed_where_a_certificate_can_be_written():
    said = run("verify", "FDP-L4-applied", "FDP-D2").stdout
    assert "    Definition 2, Eq. (10) (feature-dp)\n" in said and "airtight certify FDP-L4-applied FDP-D2 --out" in said
    assert "airtight verify FDP-T1 --json" in run("verify", "FDP-T1").stdout
    assert said.count("(certified)") == 1 and "proved in interval arithmetic" in " ".join(said.split())


def test_formal_needs_theorems(tmp_path):
    with pytest.raises(ParameterError, match="theorems"):
        formal.main(tmp_path, 1)
