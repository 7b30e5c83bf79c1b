r"""Certificates as theorems for Coq: what ``ID/theorem.v`` states, and the script that proves it with coq-interval.

A refuted row becomes the negation of the whole claim of claim.json, its domain and hypotheses included. Where the claim has
cases, floors, binomials, sums or a parameter in an exponent, it becomes the strict inequality at the witness, with those
resolved at the exact point before, as ``check.py`` does. A proved row becomes the claim itself, over the real numbers of its
ranges. erfc is ``Erfc.erfc``, which is defined from an integral.

Written by hand, in the papers' folders: ``refuted.v``, refutations of the statements themselves, from laws, integrals and
descent; ``proved.v``, proofs of rows on which bisection is no use, which ``theorem.v`` cites under its own statement;
``general.v``, theorems about any law, any number of devices and the like, for rows of which no expression says that.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from airtight.analytics.forms.balls.compiled import UnsupportedExpression
from airtight.validate.claims import in_coq
from airtight.validate.claims.certificates import check as checker
from airtight.validate.claims.sources import INSTALLED

_CHECK: Any = checker  # plain Python without annotations
_HEAD = """From Coq Require Import Reals Lra Psatz.
From Interval Require Import Tactic.
From Airtight Require Import Rows.
"""
_WITH_ERFC = """From Coquelicot Require Import Coquelicot.
From Airtight Require Import Erfc.
"""
SHARED = (  # of this folder, each after those that it needs
    *("Model.v", "Sums.v", "Divergence.v", "Gaussian.v", "Rows.v", "Erfc.v", "Mass.v", "Classical.v"),
    *("Vector.v", "Dimensions.v", "Noise.v", "OverTheAir.v"),
)
LIBRARY = "formal"  # folder of what is written by hand
# in a paper's folder, and what its name there ends with
_BY_HAND = {"refuted.v": "", "proved.v": "_proved", in_coq.FILE: "_general"}
_FUNCTIONS = {"exp": "exp", "log": "ln", "sqrt": "sqrt", "atan": "atan", "abs": "Rabs", "erfc": "erfc"}
_TERMS = 200
_BITS = 128
_DEPTH = 20  # of a bisection
_THIN = 2.0**-34  # a margin, as a share of the greatest erfc, that asks for 64 digits of each
_NEGLIGIBLE = 45.0  # the integral of an erfc stops where its integrand is exp(-45)
_KEYWORDS = frozenset(
    (
        *(
            "as",
            "at",
            "cofix",
            "else",
            "end",
            "exists",
            "fix",
            "for",
            "forall",
            "fun",
            "if",
            "in",
            "let",
            "match",
            "mod",
        ),
        *("return", "then", "using", "where", "with"),
    )
)
_MEANT = frozenset(_FUNCTIONS.values()) | {"Rmax", "Rmin", "PI", "R", "pow", "integer"}


def theorem(claim: dict[str, Any], point: dict[str, str] | None, *, cited: str = "") -> str:
    """The text of a .v file.

    Parameters
    ----------
    claim : dict
        The contents of claim.json.
    point : dict of str to str, or None
        Of witness.json, where the claim is refuted; None for a claim that holds.
    cited : str
        The module of a theorem of this name that was proved by hand, if there is one.

    Raises
    ------
    UnsupportedExpression
        When Coq has no such function, when an equation or a set of values beside the ranges is claimed to hold, or when
        a function would have to be bounded on a range of which coq-interval knows no bounds (erfc).

    Examples
    --------
    >>> sides = {"actual": {"op": "exp", "args": ["x"]}, "claimed": "2"}
    >>> made = {"id": "A", "statement": "s", "relation": "<=", "expression": sides, "given": [],
    ...         "domain": {"x": {"low": "0", "high": "3", "integer": False, "extra": []}}}
    >>> print(theorem(made, {"x": "1"}).splitlines()[6])
    Theorem A : ~ (forall x, 0 <= x <= 3 -> (exp x) <= 2).
    """
    name = coq_name(claim["id"])
    note = f"(* {claim['id']}: {_comment(claim['statement'])} *)\n"
    if point is None:
        goal = _whole_claim(claim)
        proof = f"intros; apply {cited}.{name}; lra." if cited else _on_a_range(claim)
    else:
        at = {parameter: Fraction(value) for parameter, value in point.items()}
        note += f"(* refuted at {', '.join(f'{k} = {v}' for k, v in point.items()) or 'the only point'} *)\n"
        goal, proof = _refuted(claim, at)
    module = f"From {cited.partition('.')[0]} Require {cited.partition('.')[2]}.\n" if cited else ""
    module += _WITH_ERFC if "(erfc " in goal else ""
    return f"{_HEAD}{module}Open Scope R_scope.\n{note}Theorem {name} : {goal}.\nProof. {proof} Qed.\n"


def write(out: Path) -> tuple[list[str], dict[str, str]]:
    """OUT/ID/theorem.v of every certificate that can have one: their names, and of the others why not.

    OUT/formal gets what is written by hand about the same rows, and the definitions that it needs.
    """
    done, left = [], {}
    (out / LIBRARY).mkdir(exist_ok=True)
    for name in SHARED:
        shutil.copyfile(Path(__file__).with_name(name), out / LIBRARY / name)
    for source, module in by_hand():
        shutil.copyfile(source, out / LIBRARY / f"{module}.v")
    for folder in sorted(path.parent for path in out.glob("*/claim.json")):
        try:
            text = stated(folder)
        except UnsupportedExpression as reason:
            left[folder.name] = str(reason)
            (folder / "theorem.v").unlink(missing_ok=True)
            continue
        (folder / "theorem.v").write_text(text, encoding="utf-8")
        done.append(folder.name)
    return done, left


def by_hand() -> Iterator[tuple[Path, str]]:
    """The files that are written by hand in the papers' folders, and their modules."""
    first_paper = {INSTALLED.home(paper): paper for paper in reversed(INSTALLED.papers())}  # of each folder
    for home, paper in first_paper.items():
        for name, ending in _BY_HAND.items():
            if (source := home.with_name(name)).is_file():
                yield source, f"{coq_name(paper)}{ending}"


def stated(folder: Path) -> str:
    """The theorem of the certificate in a folder, as `write` writes it, beside what was written by hand."""
    claim, witness = json.loads((folder / "claim.json").read_text("utf-8")), folder / "witness.json"
    point = json.loads(witness.read_text("utf-8"))["point"] if witness.is_file() else None
    heading = re.compile(rf"^Theorem {coq_name(claim['id'])}\b", re.M)
    by_hand = (folder.parent / LIBRARY).glob(f"*{_BY_HAND['proved.v']}.v")
    cited = [f"Airtight.{file.stem}" for file in by_hand if heading.search(file.read_text("utf-8"))]
    return theorem(claim, point, cited=cited[0] if cited else "")


def _sides(claim: dict[str, Any]) -> tuple[Any, Any]:
    """The side that ought to be the lesser one, and the other."""
    sides = claim["expression"]
    return (sides["actual"], sides["claimed"]) if claim["relation"] != ">=" else (sides["claimed"], sides["actual"])


def _variables(claim: dict[str, Any]) -> dict[str, str]:
    """What the parameters are called in Coq."""
    taken = _KEYWORDS | _MEANT
    return {name: f"{name}_" if name in taken else re.sub(r"\W", "_", name) for name in claim["domain"]}


def _whole_claim(claim: dict[str, Any]) -> str:
    """The claim as claim.json says it."""
    if any(allowed["extra"] for allowed in claim["domain"].values()):
        raise UnsupportedExpression("values beside a range")
    names = _variables(claim)
    low, high = (_term(side, {}, names) for side in _sides(claim))
    ends = [
        f"{_number(Fraction(allowed['low']))} <= {names[name]} <= {_number(Fraction(allowed['high']))}"
        for name, allowed in claim["domain"].items()
    ]
    whole = [f"integer {names[name]}" for name, allowed in claim["domain"].items() if allowed["integer"]]
    hypotheses = [*ends, *whole, *(_condition(tree, names) for tree in claim["given"])]
    relation = f"{low} {'=' if claim['relation'] == '==' else '<='} {high}"
    bound = f"forall {' '.join(names.values())}, " if names else ""
    return bound + " -> ".join([*hypotheses, relation])


def _condition(tree: Any, names: Mapping[str, str]) -> str:
    if isinstance(tree, str) or tree["op"] not in ("<=", "<", ">=", ">"):
        raise UnsupportedExpression("a hypothesis that is no inequality")
    return f" {tree['op']} ".join(_term(arg, {}, names) for arg in tree["args"])


def _refuted(claim: dict[str, Any], at: dict[str, Fraction]) -> tuple[str, str]:
    """The negation of the claim, or else the inequality at the point; and its proof."""
    low, high = _sides(claim)
    falling = claim["relation"] == "==" and _below(low, high, at)
    numeric = f"apply Rminus_gt_0_lt; interval with (i_prec {_BITS})"
    try:
        goal = f"~ ({_whole_claim(claim)})"
    except UnsupportedExpression:
        one, other = (low, high) if falling else (high, low)
        return f"{_term(one, at)} < {_term(other, at)}", f"{_scaled(one, other, at)}{numeric}."
    strict = "Rlt_not_eq" if falling else ("Rgt_not_eq" if claim["relation"] == "==" else "Rlt_not_le")
    values = {name: _number(at[name]) for name in claim["domain"]}
    met = ["_"] * goal.count(" -> ")
    shown = f"{_scaled(low, high, at, values)}cased; {numeric}"
    applied = " ".join(["H", *values.values(), *met])
    return goal, f"intro H; refine ({strict} _ _ _ ({applied})); {f'[{shown} | met .. ]' if met else shown}."


def _scaled(low: Any, high: Any, at: dict[str, Fraction], names: Mapping[str, str] | None = None) -> str:
    """What replaces each erfc at a point by a density times a number that coq-interval has bounded."""
    arguments = {f"({_term(arg, at, names)})": arg for tree in (low, high) for arg in _inside("erfc", tree)}
    if not arguments:
        return ""
    with _CHECK.precision(8 * _BITS):
        roots = [
            _magnitude({"op": "*", "args": [{"op": "sqrt", "args": ["2"]}, arg]}, at) for arg in arguments.values()
        ]
        values = [_magnitude({"op": "erfc", "args": [arg]}, at) for arg in arguments.values()]
        fine = abs(_magnitude({"op": "-", "args": [high, low]}, at)) < _THIN * max(values)
    stops = [max(ceil(sqrt(y * y + 2 * _NEGLIGIBLE) - y), 1) for y in roots]
    name = "scaled_fine" if fine else "scaled"
    tactics = []
    for (text, arg), stop in zip(arguments.items(), stops, strict=True):
        plain = f"({_term(arg, at)})"
        tactics += [f"replace {text} with {plain} by resolved; "] if re.search(r"\bR(min|max)\b", text) else []
        tactics.append(f"{name} {plain} {stop}; ")
    return "".join(tactics)


def _inside(op: str, tree: Any) -> Iterator[Any]:
    """The arguments of a function anywhere in a tree."""
    for arg in tree if isinstance(tree, list) else () if isinstance(tree, str) else tree["args"]:
        yield from _inside(op, arg)
    if isinstance(tree, dict) and tree["op"] == op:
        yield tree["args"][0]


def _magnitude(tree: Any, at: dict[str, Fraction]) -> float:
    return float(_CHECK.fraction(_CHECK.interval(_CHECK.value(tree, at)).lo))


def _on_a_range(claim: dict[str, Any]) -> str:
    """Bisection of the difference, without what the sides have in common; else monotony, or products of inequalities."""
    if claim["relation"] == "==":
        raise UnsupportedExpression("an equation that holds")
    names = _variables(claim)
    low, high = _sides(claim)
    if "(erfc " in _term({"op": "+", "args": [low, high]}, {}, names):
        raise UnsupportedExpression("erfc on a range, and no proof by hand")
    common = _CHECK.less_common(low, high)["args"][1:]
    addends = [_term(addend, {}, names) for addend in common]
    cuts = ", ".join([*(f"i_bisect {name}" for name in names.values()), f"i_depth {_DEPTH}"])
    slope = f"i_autodiff {next(iter(names.values()))}" if len(names) == 1 else "i_prec 64"
    bisections = [f"cased; interval with ({cuts}{more})" for more in ("", ", i_prec 64", f", {slope}")]
    atoms = "".join(f"atom {addend}; " for addend in addends if re.search(r"\b(exp|ln|sqrt|atan)\b", addend))
    difference = f"apply Rminus_le; replace (_ - _) with ({' + '.join(addends) or '0'}) by (unfold Rdiv; ring)"
    ways = " | ".join(dict.fromkeys([*bisections, f"{atoms}nra"]))
    return f"intros; first [{difference}; first [{ways}] | monotone]."


def coq_name(identifier: str) -> str:
    """What a row is called in Coq."""
    return re.sub(r"\W", "_", identifier.replace("*", "_star").replace("'", "_prime").replace("+", "_plus"))


def _below(one: Any, other: Any, at: Mapping[str, Fraction]) -> bool:
    for bits in _CHECK.LADDER:
        with _CHECK.precision(bits):
            if (known := _CHECK.compared("<", _CHECK.value(one, at), _CHECK.value(other, at))) is not None:
                return bool(known)
    raise UnsupportedExpression("the sides are too near to each other")


def _term(tree: Any, at: Mapping[str, Fraction], names: Mapping[str, str] | None = None) -> str:
    """An expression in Coq's notation: at a point, or with variables of these names."""
    if isinstance(tree, str):
        return names[tree] if names and tree in names else _number(at[tree] if tree in at else Fraction(tree))
    op, args = tree["op"], tree["args"]
    if op in ("piecewise", "floor", "binomial", "sum") and names is None:
        return _resolved(op, args, tree, at)
    if op in ("min", "max"):
        if names is None:
            return _term(_extreme(op, args, at), at)
        parts = [_inner(arg, at, names) for arg in args]
        return reduce(lambda one, other: f"(R{op} {one} {other})", parts)
    if op in _FUNCTIONS:
        return f"({_FUNCTIONS[op]} {_inner(args[0], at, names)})"
    if op == "pow" and (whole := _whole(args[1], at, names)) is not None:
        return f"({_term(args[0], at, names)} ^ {whole})"
    if op == "pow" and names and isinstance(args[1], str) and args[1] in names:
        raise UnsupportedExpression("a parameter in an exponent")
    if op == "pow":
        return f"(exp ({_term(args[1], at, names)} * ln {_inner(args[0], at, names)}))"
    if op == "pi":
        return "PI"
    if op in ("+", "-", "*", "/"):
        parts = [_term(arg, at, names) for arg in args]
        return f"(- {parts[0]})" if op == "-" and len(parts) == 1 else f"({f' {op} '.join(parts)})"
    raise UnsupportedExpression(f"{op} is not in coq-interval")


def _resolved(op: str, args: list[Any], tree: Any, at: Mapping[str, Fraction]) -> str:
    """A case, an integer or a finite sum at a point."""
    if op == "piecewise":
        for branch, condition in args:
            if _CHECK.condition(condition, _CHECK.fixed(at)):
                return _term(branch, at)
    if op in ("floor", "binomial"):
        return _number(Fraction(_CHECK.value(tree, at)))
    if op == "sum":
        low, high = (int(_CHECK.value(arg, at)) for arg in args[2:])
        if high - low < _TERMS:
            terms = (_term(args[0], {**at, args[1]: Fraction(k)}) for k in range(low, high + 1))
            return f"({' + '.join(terms) or '0'})"
    raise UnsupportedExpression(f"{op} is not resolved at the point")


def _extreme(op: str, args: list[Any], at: Mapping[str, Fraction]) -> Any:
    """The least or greatest of some trees at a point."""
    best = args[0]
    for arg in args[1:]:
        best = arg if _below(arg, best, at) is (op == "min") else best
    return best


def _whole(tree: Any, at: Mapping[str, Fraction], names: Mapping[str, str] | None) -> int | None:
    """An exponent that is a natural number."""
    if names is not None and (not isinstance(tree, str) or tree in names):
        return None
    value = _CHECK.value(tree, at)
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 and value >= 0 else None


def _inner(tree: Any, at: Mapping[str, Fraction], names: Mapping[str, str] | None = None) -> str:
    text = _term(tree, at, names)
    return text if text.startswith("(") or re.fullmatch(r"\w+", text) else f"({text})"


def _number(value: Fraction) -> str:
    text = str(value.numerator) if value.denominator == 1 else f"({value.numerator} / {value.denominator})"
    return f"({text})" if text.startswith("-") else text


def _comment(text: str) -> str:
    return " ".join(text.replace("*)", "* )").replace("(*", "( *").replace('"', "''").split())
