"""Certificates: what a stranger needs to check a verdict without this package; see docs/certificates.md.

Expressions as JSON: rationals "p/q", names of parameters, and nodes {"op": ..., "args": [...]} (docs/certificates.md).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import flint
import sympy as sp

from airtight.analytics.forms.balls.compiled import UnsupportedExpression, enclosed
from airtight.analytics.forms.domain import Range, exact
from airtight.validate.claims.certificates import check as checker
from airtight.validate.claims.claim import Claim, Verdict
from airtight.validate.claims.evidence import Witness, decimal_ends
from airtight.validate.claims.proving.boxes import Proof
from airtight.validate.claims.proving.derivation import derived
from airtight.validate.claims.relation import Exact
from airtight.validate.claims.search import examined
from airtight.validate.claims.sources import INSTALLED, Source
from airtight.validate.files import OutputFolder, naming

Tree = Any  # str, or a dict of op and args

_NAMES: dict[Any, str] = {getattr(sp, name): name for name in ("exp", "log", "erfc", "atan", "floor", "binomial")} | {
    sp.loggamma: "lgamma",
    sp.Abs: "abs",
    sp.Max: "max",
    sp.Min: "min",
    sp.Add: "+",
    sp.And: "and",
    sp.Or: "or",
    sp.Not: "not",
}


def node(op: str, *args: Tree) -> Tree:
    """A node of a tree."""
    return {"op": op, "args": list(args)}


def tree(expression: Any) -> Tree:
    """An expression or condition of SymPy as JSON.

    Raises
    ------
    UnsupportedExpression
        When it holds a function that the certificates do not have.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> tree(sp.exp(x) / 2)
    {'op': '/', 'args': [{'op': 'exp', 'args': ['x']}, '2']}
    """
    if isinstance(expression, sp.Symbol):
        return expression.name
    if isinstance(expression, sp.Rational):
        return str(expression)
    if isinstance(expression, sp.Float):
        return str(sp.Rational(expression))
    if (written := _WRITTEN.get(expression.func)) is not None:
        return written(expression)
    if isinstance(expression, sp.core.relational.Relational):
        return node(expression.rel_op, tree(expression.lhs), tree(expression.rhs))
    if (constant := _CONSTANTS.get(expression)) is not None:
        return constant
    name = _NAMES.get(expression.func)
    if name is None:
        raise UnsupportedExpression(f"{expression.func.__name__} is not in the certificates")
    return node(name, *(tree(arg) for arg in expression.args))


def _product(expression: sp.Mul) -> Tree:
    top, bottom = _halves(expression)
    above = [tree(factor) for factor in top]
    product = above[0] if len(above) == 1 else (node("*", *above) if above else "1")
    if not bottom:
        return product
    below = [tree(factor) for factor in bottom]
    return node("/", product, below[0] if len(below) == 1 else node("*", *below))


def _halves(expression: sp.Mul) -> tuple[list[Any], list[Any]]:
    """The factors above and below the line."""
    above: list[Any] = []
    below: list[Any] = []
    for factor in expression.args:
        if isinstance(factor, sp.Rational):
            above += [sp.Integer(factor.p)] if factor.p != 1 else []
            below += [sp.Integer(factor.q)] if factor.q != 1 else []
        elif isinstance(factor, sp.Pow) and factor.exp.is_Rational and factor.exp < 0:
            below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    return above, below


def _power(expression: sp.Pow) -> Tree:
    base, exponent = expression.base, expression.exp
    if exponent == sp.Rational(1, 2):
        return node("sqrt", tree(base))
    if exponent.is_Rational and exponent < 0:
        return node("/", "1", tree(base**-exponent))
    return node("pow", tree(base), tree(exponent))


def _piecewise(expression: sp.Piecewise) -> Tree:
    return node("piecewise", *([tree(value), tree(condition)] for value, condition in expression.args))


def _sum(expression: sp.Sum) -> Tree:
    if len(expression.limits) != 1:
        raise UnsupportedExpression("a sum over several indices is not in the certificates")
    index, first, last = expression.limits[0]
    return node("sum", tree(expression.function), index.name, tree(first), tree(last))


def _both_ways(expression: sp.Expr) -> tuple[Tree, Tree]:
    """exp of the argument and of its negative."""
    inner = tree(expression.args[0])
    return node("exp", inner), node("exp", node("-", inner))


def _tanh(argument: sp.Expr) -> Tree:
    """With the argument once, so that an interval loses nothing."""
    return node("-", "1", node("/", "2", node("+", "1", node("exp", node("*", "2", tree(argument))))))


_WRITTEN: dict[Any, Callable[[Any], Tree]] = {
    sp.Mul: _product,
    sp.Pow: _power,
    sp.Piecewise: _piecewise,
    sp.Sum: _sum,
    sp.erf: lambda e: node("-", "1", node("erfc", tree(e.args[0]))),
    sp.ceiling: lambda e: node("-", node("floor", node("-", tree(e.args[0])))),
    sp.sinh: lambda e: node("/", node("-", *_both_ways(e)), "2"),
    sp.cosh: lambda e: node("/", node("+", *_both_ways(e)), "2"),
    sp.asin: lambda e: tree(sp.atan(e.args[0] / sp.sqrt(1 - e.args[0] ** 2))),
    sp.tanh: lambda e: _tanh(e.args[0]),
    sp.coth: lambda e: node("/", "1", _tanh(e.args[0])),
    sp.factorial: lambda e: node("exp", node("lgamma", node("+", tree(e.args[0]), "1"))),
    sp.gamma: lambda e: node("exp", node("lgamma", tree(e.args[0]))),
}
_CONSTANTS: dict[Any, Tree] = {
    sp.pi: node("pi"),
    sp.E: node("exp", "1"),
    sp.true: node("true"),
    sp.false: node("false"),
}


SCHEMA = "airtight-certificate-2"
DIGITS = 25
CHECK = Path(__file__).with_name("check.py")
_BITS = (256, 1024, 4096)


@dataclass(frozen=True)
class Outcome:
    """What became of one claim.

    Attributes
    ----------
    id : str
    certified : bool
    note : str
        What the certificate shows, or why there is none.
    """

    id: str
    certified: bool
    note: str


class _Skipped(Exception):
    """Why a claim has no certificate."""


def certify(
    out: Path, claims: Sequence[Claim], source: Source = INSTALLED, *, executor: Executor | None = None
) -> Iterator[Outcome]:
    """Write OUT/ID/claim.json, witness.json or proof.json for each claim that can be certified, OUT/check.py and OUT/SHA256SUMS.

    Parameters
    ----------
    out : Path
        Folder. Certificates that an earlier run wrote there are replaced; other files are left alone.
    claims : sequence of Claim
    source : Source
        Where they come from.
    executor : concurrent.futures.Executor, optional
        Where to certify them, of processes; here, one after the other, by default.

    Yields
    ------
    Outcome
        One for each claim, in order.
    """
    digests = {paper.id: source.digest(paper.id) for paper in source.papers().values()}
    folders = [claim.id for claim in claims]
    names = ("claim.json", "witness.json", "proof.json")
    made: dict[str, str | bytes] = {"check.py": CHECK.read_bytes()}
    with OutputFolder(out) as folder:
        folder.check(["check.py", "SHA256SUMS", *(f"{inner}/{name}" for inner in folders for name in names)])
        each = zip(folders, _each(claims, source, digests, executor), strict=True)
        for inner, (outcome, files) in each:
            made |= {f"{inner}/{name}": text for name, text in files.items()}
            yield outcome
        if len(made) == 1 and not any(name.endswith(".json") for name in folder.files):
            return  # check.py alone would be a check of nothing
        folder.remove(f"{inner}/{name}" for inner in folders for name in names if f"{inner}/{name}" not in made)
        folder.write(made)
        folder.write(
            {"SHA256SUMS": sums(out, ["check.py", *(name for name in folder.files if name.endswith(".json"))])}
        )


def _each(
    claims: Sequence[Claim], source: Source, digests: dict[str, str], executor: Executor | None
) -> Iterator[tuple[Outcome, dict[str, str]]]:
    """What became of each claim, and its files, in order."""
    if executor is None:
        yield from (_certified(claim, digests[claim.paper]) for claim in claims)
        return
    pending = [executor.submit(_certified_by_name, source, claim.id, digests[claim.paper]) for claim in claims]
    try:
        for future in pending:
            yield future.result()
    finally:
        for future in pending:
            future.cancel()


def _certified_by_name(source: Source, name: str, digest: str) -> tuple[Outcome, dict[str, str]]:
    return _certified(source.claims()[name], digest)


def _certified(claim: Claim, digest: str) -> tuple[Outcome, dict[str, str]]:
    """What became of a claim, and its files by name; none if there is no certificate."""
    try:
        files = files_of(claim, digest)
    except (_Skipped, UnsupportedExpression) as reason:
        return Outcome(claim.id, False, str(reason)), {}
    with TemporaryDirectory() as name:
        folder = Path(name) / claim.id
        folder.mkdir()
        for file, text in files.items():
            with naming(folder / file):
                (folder / file).write_text(text, encoding="utf-8")
        beyond = _not_rebuilt(folder)
    if beyond:
        return Outcome(claim.id, False, beyond), {}
    proof = "a proof" if claim.form is None else "a proof of its form; the claim itself is an algorithm"
    return Outcome(claim.id, True, "a counterexample" if "witness.json" in files else proof), files


def _not_rebuilt(folder: Path) -> str:
    """Why check.py, which knows fewer ways to prove a box than we do, does not rebuild what was just written."""
    try:
        checker.rebuilt(folder)  # type: ignore[no-untyped-call]
    except checker.Rejected as reason:
        return f"proved, and not by what check.py can do: {reason}"
    return ""


def writable(claim: Claim, witness: Witness | None) -> bool:
    """Whether `certify` has a file for this witness: both sides and all hypotheses are expressions that certificates have.

    Examples
    --------
    >>> from airtight.validate.claims.evidence import shipped
    >>> [writable(e.claim, e.witness) for e in shipped().evidence if e.claim.id in ("FDP-D2", "FDP-T1")]
    [True, False]
    """
    try:
        return witness is not None and witness.certified and bool(witness_json(claim, witness, _claim_text(claim, "")))
    except (_Skipped, UnsupportedExpression):
        return False


def _claim_text(claim: Claim, digest: str) -> str:
    """The text of claim.json."""
    if not claim.provable.symbolic:
        raise _Skipped("a side is computed by Python code, which the checker lacks (`airtight verify` tries the claim again)")
    if any(not isinstance(condition, sp.Basic) for condition in claim.given):
        raise _Skipped("a hypothesis is computed by code")
    return _json(claim_json(claim, digest))


def files_of(claim: Claim, digest: str = "") -> dict[str, str]:
    """The files of one claim by name."""
    text = _claim_text(claim, digest)
    evidence, proof = examined(claim)  # what is met decides, not what is ruled
    if evidence.fault or evidence.verdict is Verdict.UNSETTLED:
        raise _Skipped(f"unsettled: {evidence.fault or 'no proved witness'}")
    if evidence.witness:
        return {"claim.json": text, "witness.json": _json(witness_json(claim, evidence.witness, text))}
    if not claim.ruling.survives:
        raise _Skipped(f"no proved witness: {evidence.verdict.value}")
    proof = proof or derived(claim.provable, claim.domain, claim.given, claim.derivation)
    if proof.proved:
        return {"claim.json": text, "proof.json": _json(proof_json(claim, proof, text))}
    raise _Skipped(f"true, and not proved: {proof.reason}")


def claim_json(claim: Claim, digest: str = "") -> dict[str, Any]:
    """What is claimed, whole: expressions, ranges, hypotheses."""
    relation = claim.provable
    return {
        "schema": SCHEMA,
        "id": claim.id,
        "statement": claim.statement,
        "relation": relation.sign.value,
        "expression": {"actual": tree(relation.actual), "claimed": tree(relation.claimed)},
        "given": [tree(condition) for condition in claim.given],
        "domain": {name: _range(allowed) for name, allowed in claim.domain.items()},
        "paper": {"id": claim.paper, "location": claim.location},
        "source_sha256": digest,
    } | ({} if claim.form is None else {"form": True})


def witness_json(claim: Claim, witness: Witness, claim_text: str) -> dict[str, Any]:
    """A point where the claim fails, and both quantities there."""
    return {
        **_of(claim, claim_text),
        "point": {name: str(value) for name, value in witness.point.items()},
        "claimed": list(decimals(claim.provable.claimed, witness.point)),
        "actual": list(decimals(claim.provable.actual, witness.point)),
        "digits": DIGITS,
    }


def proof_json(claim: Claim, proof: Proof, claim_text: str) -> dict[str, Any]:
    """The cuts that part the domain into boxes, each with its sign."""
    if proof.method != "boxes":
        raise _Skipped(f"true, and proved by more than boxes: {proof.method}")
    return {**_of(claim, claim_text), "trees": list(proof.trees)}


def decimals(side: sp.Expr, point: Exact) -> tuple[str, str]:
    """A quantity at a point rounded down and up to `DIGITS` significant digits, right to the last one.

    Examples
    --------
    >>> from fractions import Fraction
    >>> x = sp.Symbol("x")
    >>> decimals(x / 3, {"x": Fraction(1)}), decimals(x / 10, {"x": Fraction(3)})
    (('0.3333333333333333333333333', '0.3333333333333333333333334'), ('0.3', '0.3'))
    """
    for bits in _BITS:
        with flint.ctx.workprec(bits):
            ball = enclosed(side, point)
            if ball.is_finite() and decimal_ends(ball.lower()) == decimal_ends(ball.upper()):
                return decimal_ends(ball.lower())
    exact = side.xreplace({s: sp.Rational(point[s.name]) for s in side.free_symbols if s.name in point})
    if not exact.is_Rational:
        raise UnsupportedExpression("a value is too near to a decimal to be rounded")
    return _rounded(exact, ROUND_FLOOR), _rounded(exact, ROUND_CEILING)


def _rounded(value: sp.Rational, rounding: str) -> str:
    context = Context(prec=DIGITS, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return str(context.divide(Decimal(int(value.p)), Decimal(int(value.q))).normalize(context))


def _of(claim: Claim, claim_text: str) -> dict[str, Any]:
    return {"schema": SCHEMA, "id": claim.id, "claim_sha256": hashlib.sha256(claim_text.encode()).hexdigest()}


def _range(allowed: Range) -> dict[str, Any]:
    """The ends are the decimals that the author wrote, not the doubles nearest to them."""
    return {
        "low": str(exact(allowed.low)),
        "high": str(exact(allowed.high)),
        "integer": allowed.integer,
        "extra": [str(exact(value)) for value in allowed.extra],
    }


def sums(out: Path, names: Iterable[str]) -> str:
    """What `sha256sum -c` reads, of files in a folder."""
    return "".join(f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names)


def published(executor: Executor | None = None, *, names: Container[str] = (), known: str = "") -> str:
    """The SHA-256 sums of all certificates of the installed papers, as ``docs/certificates.sha256`` has them.

    Above the sums stand, as comments, the digests of the papers' sources: where a source has changed so have its sums.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        As in :func:`certify`.
    names : container of str
        Identifiers of claims that are certified anew in any case.
    known : str
        An earlier list. Sums of claims that are not in `names`, of papers with the digest of the list, are taken from it.
    """
    heads = {paper: f"# {paper} {INSTALLED.digest(paper)}\n" for paper in INSTALLED.papers()}
    lines = known.splitlines(keepends=True)
    anew = [c for c in INSTALLED.claims().values() if c.id in names or heads[c.paper] not in lines]
    others = INSTALLED.claims().keys() - {claim.id for claim in anew}
    with TemporaryDirectory() as folder:
        out = Path(folder)
        for _ in certify(out, anew, executor=executor):
            pass
        listed = out / "SHA256SUMS"  # absent where none of these claims has a certificate
        text = listed.read_text(encoding="utf-8") if listed.exists() else sums(CHECK.parent, [CHECK.name])
        fresh = text.splitlines(keepends=True)
    fresh += [line for line in lines if not line.startswith("#") and _path(line).parts[0] in others]
    return "".join([*heads.values(), *sorted(fresh, key=_path)])


def _path(line: str) -> Path:
    """The path in a line of sums."""
    return Path(line[66:].rstrip("\n"))


def _json(given: Tree) -> str:
    return json.dumps(given, indent=1, ensure_ascii=False) + "\n"
