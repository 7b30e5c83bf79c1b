r"""Certificates as theorems for Coq: the inequality at a witness, or on the range of one parameter, proved by coq-interval.

What Coq sees in ``ID/theorem.v`` is the inequality between two real numbers (the standard library's), not what the paper means by
them. Cases, floors, minima, binomials and finite sums are resolved before, at the exact point, as ``check.py`` does. For some
rows the paper's statement itself is refuted, from laws, integrals and descent: by hand, in ``refuted.v`` in
the paper's folder.

``python -m airtight.validate.claims.certificates.coq FOLDER`` compiles what ``airtight certify --coq`` wrote, and says on which
axioms it rests.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

from airtight.analytics.forms.balls.compiled import UnsupportedExpression
from airtight.validate.claims.certificates import check as checker
from airtight.validate.claims.sources import INSTALLED

_CHECK: Any = checker  # plain Python without annotations
_HEAD = """From Coq Require Import Reals.
From Interval Require Import Tactic.
Open Scope R_scope.
"""
AXIOMS = (  # of the classical reals; and what describes the numbers of the machine, with which the kernel computes
    *("ClassicalDedekindReals.", "FunctionalExtensionality.functional_extensionality_dep", "Classical_Prop.classic"),
    *("PrimInt63.", "Uint63.", "PrimFloat.", "FloatAxioms."),
)
_BY_HAND = "refuted.v"
_SHARED = ("Model.v", "Gaussian.v", "OverTheAir.v")  # of this folder, each after those that it needs
_LIBRARY = "formal"  # folder of what is written by hand
_SECONDS = 60  # for one file
_FUNCTIONS = {"exp": "exp", "log": "ln", "sqrt": "sqrt", "atan": "atan", "abs": "Rabs"}
_TERMS = 200
_BITS = 128


def theorem(claim: dict[str, Any], point: dict[str, str] | None) -> str:
    """The text of a .v file.

    Parameters
    ----------
    claim : dict
        The contents of claim.json.
    point : dict of str to str, or None
        Of witness.json, where the claim is refuted; None for a claim of one parameter that holds.

    Raises
    ------
    UnsupportedExpression
        When coq-interval has no such function, or the claim that holds has several parameters, or hypotheses.

    Examples
    --------
    >>> sides = {"actual": {"op": "exp", "args": ["x"]}, "claimed": "2"}
    >>> made = {"id": "A", "statement": "s", "relation": "<=", "expression": sides, "given": [], "domain": {}}
    >>> print(theorem(made, {"x": "1"}).splitlines()[5])
    Theorem A : 2 < (exp 1).
    """
    low, high = (claim["expression"][side] for side in ("claimed", "actual"))
    name = _name(claim["id"])
    note = f"(* {claim['id']}: {_comment(claim['statement'])} *)\n"
    if point is not None:
        at = {parameter: Fraction(value) for parameter, value in point.items()}
        if claim["relation"] == ">=" or (claim["relation"] == "==" and _below(high, low, at)):
            low, high = high, low
        goal = f"{_term(low, at)} < {_term(high, at)}"
        where = f"(* refuted at {', '.join(f'{k} = {v}' for k, v in point.items()) or 'the only point'} *)\n"
        proof = f"Proof. apply Rminus_gt_0_lt. interval with (i_prec {_BITS}). Qed."
        return f"{_HEAD}{note}{where}Theorem {name} : {goal}.\n{proof}\n"
    if len(claim["domain"]) != 1 or claim["given"] or claim["relation"] == "==":
        raise UnsupportedExpression("several parameters, hypotheses or an equation")
    ((parameter, allowed),) = claim["domain"].items()
    if allowed["integer"] or allowed["extra"]:
        raise UnsupportedExpression("a parameter that is no real interval")
    if claim["relation"] == "<=":
        low, high = high, low
    bounds = f"{_number(Fraction(allowed['low']))} <= x <= {_number(Fraction(allowed['high']))}"
    goal = f"forall x, {bounds} -> {_term(low, {}, parameter)} <= {_term(high, {}, parameter)}"
    cases = "unfold Rmax, Rmin; repeat destruct (Rle_dec _ _); "  # for either argument, whichever is the greater
    proof = (
        f"Proof. intros x H. {cases if 'Rmax' in goal or 'Rmin' in goal else ''}apply Rge_le, Rminus_ge, Rle_ge; "
        f"first [interval with (i_bisect x, i_depth 6) | interval with (i_bisect x, i_taylor x, i_prec {_BITS})]. Qed."
    )
    return f"{_HEAD}{note}Theorem {name} : {goal}.\n{proof}\n"


def write(out: Path) -> tuple[list[str], dict[str, str]]:
    """OUT/ID/theorem.v of every certificate that can have one: their names, and of the others why not.

    OUT/formal gets what is written by hand about the same rows, and the definitions that it needs.
    """
    done, left = [], {}
    (out / _LIBRARY).mkdir(exist_ok=True)
    for name in _SHARED:
        shutil.copyfile(Path(__file__).with_name(name), out / _LIBRARY / name)
    for paper in INSTALLED.papers():
        if (source := INSTALLED.home(paper).with_name(_BY_HAND)).is_file():
            shutil.copyfile(source, out / _LIBRARY / f"{source.parent.name}.v")
    for folder in sorted(path.parent for path in out.glob("*/claim.json")):
        claim, witness = json.loads((folder / "claim.json").read_text("utf-8")), folder / "witness.json"
        try:
            text = theorem(claim, json.loads(witness.read_text("utf-8"))["point"] if witness.is_file() else None)
        except UnsupportedExpression as reason:
            left[folder.name] = str(reason)
            continue
        (folder / "theorem.v").write_text(text, encoding="utf-8")
        done.append(folder.name)
    return done, left


def compiled(out: Path) -> Iterator[tuple[Path, bool, float]]:
    """Run coqc on every file below a folder, and say which it takes, and how long that was."""
    library = sorted((out / _LIBRARY).glob("[a-z]*.v"))
    shared = [out / _LIBRARY / name for name in _SHARED]
    for file in [*shared, *library, *sorted(out.glob("*/theorem.v"))]:
        if file.is_file():
            started = time.perf_counter()
            yield file, _coqc(file, out).returncode == 0, time.perf_counter() - started


def assumptions(out: Path) -> set[str]:
    """The axioms that the compiled theorems rest on, all together, as Coq's Print Assumptions lists them.

    Raises
    ------
    RuntimeError
        When that does not compile.
    """
    files = [file for file in sorted(out.glob("*/*.v")) if file.with_suffix(".vo").is_file() and file.name != "Model.v"]
    names = [
        f"{_module(file, out)}.{name}"
        for file in files
        for name in re.findall(r"^Theorem (\w+)", file.read_text("utf-8"), re.M)
    ]
    lines = [f"Require {_module(file, out)}." for file in files]
    listing = out / "assumptions.v"
    listing.write_text(
        "\n".join([*lines, f"Definition all := ({', '.join(names)}).", "Print Assumptions all.", ""]), "utf-8"
    )
    done = _coqc(listing, out, 20 * _SECONDS)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return set(re.findall(r"^([\w.]+)\s*:", done.stdout.partition("Axioms:")[2], re.M))


def beyond(axioms: set[str]) -> set[str]:
    """Those that are neither of the classical reals nor of the kernel's own integers and floating-point numbers.

    Examples
    --------
    >>> beyond({"Classical_Prop.classic", "Uint63.add_spec", "Mine.obvious"})
    {'Mine.obvious'}
    """
    return {axiom for axiom in axioms if not axiom.startswith(AXIOMS)}


def _coqc(file: Path, out: Path, seconds: int = _SECONDS) -> subprocess.CompletedProcess[str]:
    folders = dict.fromkeys(path.parent for path in sorted(out.glob("*/*.v")))
    flags = [part for folder in folders for part in ("-Q", folder.name, _folder(folder))]
    command = ["coqc", "-q", *flags, str(file.relative_to(out))]
    try:
        return subprocess.run(command, cwd=out, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"more than {seconds} seconds")


def _module(file: Path, out: Path) -> str:
    return f"{_folder(file.parent)}.{file.stem}"


def _folder(path: Path) -> str:
    return "Airtight" if path.name == _LIBRARY else _name(path.name)


def _name(identifier: str) -> str:
    return re.sub(r"\W", "_", identifier.replace("*", "_star").replace("'", "_prime").replace("+", "_plus"))


def _below(one: Any, other: Any, at: dict[str, Fraction]) -> bool:
    for bits in _CHECK.LADDER:
        with _CHECK.precision(bits):
            if (known := _CHECK.compared("<", _CHECK.value(one, at), _CHECK.value(other, at))) is not None:
                return bool(known)
    raise UnsupportedExpression("the sides are too near to each other")


def _term(tree: Any, at: dict[str, Fraction], free: str | None = None) -> str:
    """An expression in Coq's notation."""
    if isinstance(tree, str):
        if tree == free:
            return "x"
        return _number(at[tree] if tree in at else Fraction(tree))
    op, args = tree["op"], tree["args"]
    if op == "piecewise" and free is None:
        for branch, condition in args:
            if _CHECK.condition(condition, _CHECK.fixed(at)):
                return _term(branch, at)
    if op in ("min", "max") and free is not None:
        return reduce(lambda one, other: f"(R{op} {one} {other})", (_inner(arg, at, free) for arg in args))
    if op in ("min", "max"):
        best = args[0]
        for arg in args[1:]:
            best = arg if _below(arg, best, at) is (op == "min") else best
        return _term(best, at)
    if op in ("floor", "binomial") and free is None:
        return _number(Fraction(_CHECK.value(tree, at)))
    if op == "sum" and free is None:
        low, high = (int(_CHECK.value(arg, at)) for arg in args[2:])
        if high - low < _TERMS:
            terms = (_term(args[0], {**at, args[1]: Fraction(k)}) for k in range(low, high + 1))
            return f"({' + '.join(terms) or '0'})"
    if op in _FUNCTIONS:
        return f"({_FUNCTIONS[op]} {_inner(args[0], at, free)})"
    if op == "pow" and (whole := _whole(args[1], at, free)) is not None:
        return f"({_term(args[0], at, free)} ^ {whole})"
    if op == "pow":
        return f"(exp ({_term(args[1], at, free)} * ln {_inner(args[0], at, free)}))"
    if op == "pi":
        return "PI"
    if op in ("+", "-", "*", "/"):
        parts = [_term(arg, at, free) for arg in args]
        return f"(- {parts[0]})" if op == "-" and len(parts) == 1 else f"({f' {op} '.join(parts)})"
    raise UnsupportedExpression(f"{op} is not in coq-interval")


def _whole(tree: Any, at: dict[str, Fraction], free: str | None) -> int | None:
    """An exponent that is a natural number."""
    if free is not None and not isinstance(tree, str):
        return None
    value = None if tree == free else _CHECK.value(tree, at)
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 and value >= 0 else None


def _inner(tree: Any, at: dict[str, Fraction], free: str | None) -> str:
    text = _term(tree, at, free)
    return text if text.startswith("(") or text.isalnum() else f"({text})"


def _number(value: Fraction) -> str:
    text = str(value.numerator) if value.denominator == 1 else f"({value.numerator} / {value.denominator})"
    return f"({text})" if text.startswith("-") else text


def _comment(text: str) -> str:
    return " ".join(text.replace("*)", "* )").replace("(*", "( *").replace('"', "''").split())


def main(out: Path) -> int:
    """Compile, list the axioms, and return the exit code."""
    code = 0
    for file, right, seconds in compiled(out):
        searched = " : forall x, " in file.read_text("utf-8")  # a range: whether bisection ends is not known before
        said = "proved" if right else "left open by interval" if searched else "NOT PROVED"
        print(f"{file.relative_to(out)}: {said}, {seconds:.1f} s", flush=True)
        code = code if right or searched else 1
    found = assumptions(out)
    print(f"axioms: {', '.join(sorted(found))}")
    if further := beyond(found):
        print(f"neither of the classical reals nor of the machine's numbers: {', '.join(sorted(further))}")
    return 1 if further else code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
