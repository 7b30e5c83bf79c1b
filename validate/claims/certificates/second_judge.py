"""A second judge of certificates: LeanCert's interval checker, written and verified in Lean (``airtight-dp[leancert]``).

What it is asked: at a witness, whether the side that ought to be the lesser exceeds the other by half of the difference that
witness.json states, and whether the point meets the hypotheses; of a proof, whether the difference of the sides is at least 0
on every box of proof.json. That the point is in the domain is compared beforehand, and cases, floors and sums are resolved, as
in the theorems for Coq. The judge is a program: it trusts Lean's compiler and the bridge of
the wheel, not Lean's kernel alone. It answers "agrees", "disagrees" (it has shown the contrary), or why it does not say.
"""

from __future__ import annotations

import json
import operator
from fractions import Fraction
from functools import reduce
from math import ceil
from pathlib import Path
from typing import Any

from airtight.validate.claims.certificates import check as checker

_CHECK: Any = checker  # plain Python without annotations
_TERMS = 200
_WORK, _DEEP = 40, 2  # functions in all boxes, and inside each other
_EXPANDED = ("exp", "log", "sqrt", "atan", "pi")  # into Taylor series
_DEPTH = 10  # terms of its Taylor series
_POWER = 64  # of a power that is multiplied out
_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
AGREES, DISAGREES = "agrees", "disagrees"


class _Silent(Exception):
    """Why the judge does not say."""


def judged(folder: Path) -> str:
    """What the second judge says of the certificate in a folder.

    Raises
    ------
    ImportError
        Without the package leancert.
    """
    import leancert

    claim = _CHECK.Claim((folder / "claim.json").read_bytes())
    try:
        if (folder / "witness.json").is_file():
            return _witness(claim, json.loads((folder / "witness.json").read_text("utf-8")), leancert)
        return _proof(claim, json.loads((folder / "proof.json").read_text("utf-8")), leancert)
    except _Silent as reason:
        return str(reason)


def _witness(claim: Any, witness: dict[str, Any], leancert: Any) -> str:
    point = {name: Fraction(value) for name, value in witness["point"].items()}
    for name, x in point.items():
        low, high, integer, extra = claim.ranges[name]
        if not (low <= x <= high or x in extra) or (integer and x.denominator != 1):
            return DISAGREES
    for hypothesis in claim.given:
        if (met := _met(hypothesis, point, leancert)) is not True:
            return DISAGREES if met is False else "a hypothesis at the point"
    actual, claimed = (Fraction(witness[side][0]) for side in ("actual", "claimed"))
    above = claim.op == "<=" or (claim.op == "==" and actual > claimed)
    high, low = ("actual", "claimed") if above else ("claimed", "actual")
    _limited([claim.high, claim.low], point)
    difference = _expression({"op": "-", "args": [getattr(claim, high), getattr(claim, low)]}, point, leancert)
    verdict = _verdict(difference, {}, abs(actual - claimed) / 2, leancert)
    return AGREES if verdict is True else DISAGREES if verdict is False else "its enclosure is too wide"


def _met(hypothesis: Any, point: dict[str, Fraction], leancert: Any) -> bool | None:
    """Whether the point meets a hypothesis, rational numbers being compared as such; None where that is not known."""
    op, args = hypothesis["op"], hypothesis["args"]
    if op not in ("<=", "<", ">=", ">", "==", "!="):
        return None
    try:
        values = [_CHECK.value(arg, point) for arg in args]
    except _CHECK.Undecided:
        return None
    if all(isinstance(x, Fraction) for x in values):
        return bool(_CHECK.compared(op, *values))
    if op not in ("<=", ">="):
        return None
    tree = {"op": "-", "args": args if op == ">=" else args[::-1]}
    _limited(tree, point)
    return _verdict(_expression(tree, point, leancert), {}, Fraction(0), leancert)


def _proof(claim: Any, proof: dict[str, Any], leancert: Any) -> str:
    pieces = [(low, high) for low, high, _, extra in claim.ranges.values() if not extra]
    if len(pieces) < len(claim.ranges) or len(proof["trees"]) != 1:
        raise _Silent("values beside the ranges")
    boxes = _CHECK.leaves(claim, [(proof["trees"][0], dict(zip(claim.ranges, pieces, strict=True)))])
    if any(sign != "+" for _, sign in boxes):
        raise _Silent("a hypothesis")
    _limited(claim.difference, {}, len(boxes))
    difference = _expression(claim.difference, {}, leancert)
    verdicts = [_verdict(difference, box, Fraction(0), leancert) for box, _ in boxes]
    if False in verdicts:
        return DISAGREES
    return AGREES if all(verdicts) else "its enclosure is too wide"


def _work(tree: Any, at: dict[str, Fraction]) -> int:
    """How many functions are expanded into Taylor series, those in a power as often as it multiplies them."""
    if isinstance(tree, str):
        return 0
    if isinstance(tree, list):
        return sum(_work(part, at) for part in tree)
    op, args = tree["op"], tree["args"]
    if op == "sum" and at:
        low, high = (int(_CHECK.value(arg, at)) for arg in args[2:])
        return max(high - low + 1, 0) * _work(args[0], at)
    if op == "pow" and isinstance(args[1], str) and _CHECK.NUMBER.fullmatch(args[1]):
        return max(ceil(abs(Fraction(args[1]))), 1) * _work(args[0], at)
    return (op in _EXPANDED) + _work(args, at)


def _nested(tree: Any) -> int:
    """How many functions stand inside each other at most."""
    if isinstance(tree, str | list):
        return max(map(_nested, tree), default=0) if isinstance(tree, list) else 0
    return (tree["op"] in _EXPANDED or (tree["op"] == "pow" and isinstance(tree["args"][1], dict))) + _nested(
        tree["args"]
    )


def _limited(tree: Any, at: dict[str, Fraction], boxes: int = 1) -> None:
    """Its fractions are never rounded: they grow with every function, and a hundredfold with each inside another."""
    if (work := _work(tree, at) * boxes) > _WORK or _nested(tree) > _DEEP:
        raise _Silent(f"too much work for it: {work} functions, {_nested(tree)} of them inside each other")


def _verdict(expression: Any, box: dict[str, Any], least: Fraction, leancert: Any) -> bool | None:
    """Whether an expression is at least so much on a box: false where it is less on all of it, None where that is not known."""
    try:
        judged = leancert.verify_bound(
            expression, box or {"unused": (0, 0)}, lower=least, config=leancert.Config(taylor_depth=_DEPTH)
        )
    except leancert.LeanCertError as error:
        raise _Silent(type(error).__name__) from None
    except ValueError:  # of Python, which reads no integers of more than 4300 digits
        raise _Silent("its fractions grow too long") from None
    if isinstance(judged, leancert.Unsupported | leancert.DomainObstruction):
        raise _Silent(judged.reason)
    if isinstance(judged, leancert.Verified):
        return True
    below = any(known.enclosure is not None and known.enclosure.hi < least for known in judged.checks)
    return False if below or isinstance(judged, leancert.Rejected) else None


def _expression(tree: Any, at: dict[str, Fraction], leancert: Any) -> Any:
    """A tree as an expression of LeanCert: at a point, or with variables."""
    if isinstance(tree, str):
        if tree in at or _CHECK.NUMBER.fullmatch(tree):
            return leancert.expr.const(at[tree] if tree in at else Fraction(tree))
        return leancert.var(tree)
    op, args = tree["op"], tree["args"]
    if op == "piecewise" and at:
        cases = (branch for branch, known in args if _CHECK.condition(known, _CHECK.fixed(at)))
        return _expression(next(cases), at, leancert)
    if op in ("floor", "binomial") and at:
        return leancert.expr.const(Fraction(_CHECK.value(tree, at)))
    if op == "sum" and at:
        low, high = (int(_CHECK.value(arg, at)) for arg in args[2:])
        if high - low >= _TERMS:
            raise _Silent("a sum of many terms")
        terms = [_expression(args[0], {**at, args[1]: Fraction(k)}, leancert) for k in range(low, high + 1)]
        return reduce(operator.add, terms, leancert.expr.const(0))
    if op == "pi":
        return 4 * leancert.atan(leancert.expr.const(1))
    if op == "pow":
        exponent = _CHECK.value(args[1], at) if isinstance(args[1], dict) or args[1] in at else args[1]
        if isinstance(exponent, str) and not _CHECK.NUMBER.fullmatch(exponent):
            raise _Silent("a parameter in an exponent")
        exponent = Fraction(exponent) if isinstance(exponent, str | Fraction) else None
        base = _expression(args[0], at, leancert)
        if exponent is not None and exponent.denominator == 1 and 0 <= exponent <= _POWER:
            return base ** int(exponent)
        return leancert.exp(_expression(args[1], at, leancert) * leancert.log(base))
    parts = [_expression(arg, at, leancert) for arg in args]
    if op == "-" and len(parts) == 1:
        return -parts[0]
    if op in _OPERATORS:
        return reduce(_OPERATORS[op], parts)
    if op in ("min", "max"):
        return reduce(getattr(leancert, op.title()), parts)
    if op in ("exp", "log", "sqrt", "atan", "abs"):
        return getattr(leancert, op)(parts[0])
    raise _Silent(f"it has no {op}")
