"""A statement read back: its LaTeX as expressions, to be compared with what is tried.

What is read is small and strict; whatever is not surely meant is not read. Numbers, the symbols of the parameters and those of
the legend (`where`), sums, products written side by side, fractions, powers, roots, brackets of any kind, absolute values, the
usual functions with one factor or a bracket behind them, and functions of the legend. Sides are joined by = and one inequality;
what follows a comma, ``\\quad`` or ``\\text`` is a remark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import sympy as sp

from airtight.validate.claims.claim import Claim
from airtight.validate.claims.relation import Point, Quantity, Sign, value

Tokens = tuple[str, ...]
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[^\s~]")
_SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lrm]?|textstyle|displaystyle)(?![a-zA-Z])|\\[,;:! ]")
_SIGNS = {"=": Sign.EQUAL, **dict.fromkeys(("<", r"\le", r"\leq"), Sign.AT_MOST)}
_SIGNS |= dict.fromkeys((">", r"\ge", r"\geq"), Sign.AT_LEAST)
_ENDS = {",", r"\quad", r"\qquad", r"\text"}
_CLOSING = {"(": ")", "[": "]", r"\{": r"\}", "{": "}", r"\lceil": r"\rceil", r"\lfloor": r"\rfloor"}
_FUNCTIONS: dict[str, Any] = {
    rf"\{name}": getattr(sp, name) for name in ("log", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "coth")
}
_FUNCTIONS |= {r"\Phi": lambda x: sp.erfc(-x / sp.sqrt(2)) / 2, r"\max": sp.Max, r"\min": sp.Min}
_CONSTANTS: dict[Tokens, Any] = {("e",): sp.E, (r"\pi",): sp.pi}


class Unread(Exception):
    """A piece of LaTeX that is not surely understood."""


@dataclass
class Reading:
    """The sides of a statement.

    Attributes
    ----------
    sign : Sign
    actual, claimed : list of sympy.Expr
        What stands left and right, as often as it is written.
    unread : list of str
        Why another piece was not read.
    """

    sign: Sign
    actual: list[sp.Expr] = field(default_factory=list)
    claimed: list[sp.Expr] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def symbols(claim: Claim) -> dict[str, Any]:
    """What the LaTeX of a statement may consist of: the parameters as they are written, and the legend."""
    named = {allowed.symbol or sp.latex(sp.Symbol(name)): sp.Symbol(name) for name, allowed in claim.domain.items()}
    return {**claim.where, **named}


def read(statement: str, known: Mapping[str, Any]) -> Reading:
    """The sides of a statement as expressions.

    Examples
    --------
    >>> x, n = sp.symbols("x n")
    >>> found = read(r"\\tfrac{2x}n \\le 1 - e^{-x^2}\\quad\\text{for all } x", {"x": x, "n": n})
    >>> found.actual, found.sign.value, found.claimed
    ([2*x/n], '<=', [1 - exp(-x**2)])
    >>> read(r"\\log x y = 1", {"x": x, "y": n}).unread
    ['\\\\log x y: where the argument ends is not clear']
    """
    pieces, signs = _sides(tokens(statement))
    unequal = [i for i, sign in enumerate(signs) if sign is not Sign.EQUAL]
    if not signs or len(unequal) > 1:
        raise Unread("must be sides with =, and one inequality at most, between them")
    at = unequal[0] if unequal else len(signs) - 1
    found = Reading(signs[at])
    table = {**_CONSTANTS, **{tokens(name): meaning for name, meaning in known.items()}}
    for i, piece in enumerate(pieces):
        try:
            (found.actual if i <= at else found.claimed).append(_Reader(piece, table).whole())
        except Unread as reason:
            found.unread.append(f"{' '.join(piece)}: {reason}")
    return found


class Standing(StrEnum):
    """What a statement has to do with what is tried."""

    DERIVED = "made from the expressions that are tried"
    COMPARED = "compared with what is tried at random points"
    PARTLY = "compared on the side that is written out"
    WORDS = "not compared"


def standing(claim: Claim) -> Standing:
    """How far a statement is known to be what is tried; for why it is not, see :attr:`Claim.unread`.

    Where nothing is said there, a side is computed by code and the statement says in the paper's terms what it is.
    """
    if claim.provable.symbolic and claim.statement == claim.provable.latex():
        return Standing.DERIVED
    if claim.unread:
        return Standing.WORDS
    try:
        found = read(claim.statement, symbols(claim))
    except Unread:
        return Standing.WORDS
    if found.actual and found.claimed:
        return Standing.COMPARED
    one = (found.actual or found.claimed) and not claim.relation.symbolic
    return Standing.PARTLY if one else Standing.WORDS


def legend(claim: Claim) -> dict[str, Any]:
    """The part of `where` that stands in the statement."""
    text = tokens(claim.statement)

    def stands(name: str) -> bool:
        wanted = tokens(name)
        return any(text[i : i + len(wanted)] == wanted for i in range(len(text)))

    return {name: meaning for name, meaning in claim.where.items() if stands(name)}


def disagreement(claim: Claim, *, points: int = 8, seed: int = 0) -> str:
    """Where a statement, as far as it is read, is not what is tried: empty where it is, at all the random points.

    Raises
    ------
    Unread
        When no side of it is read, or not both sides of a claim that has expressions.
    """
    found = read(claim.statement, symbols(claim))
    if found.sign is not claim.provable.sign:
        return f"the statement has {found.sign.value}, the claim {claim.provable.sign.value}"
    relation = claim.provable if claim.provable.symbolic else claim.relation
    pairs = [(a, relation.actual) for a in found.actual] + [(b, relation.claimed) for b in found.claimed]
    if not pairs or (claim.relation.symbolic and not (found.actual and found.claimed)):
        raise Unread("; ".join(found.unread))
    compared = 0
    for point in _drawn(claim, points, seed):
        for read_side, tried in pairs:
            said, done = (_number(side, point) for side in (read_side, tried))
            if math.isnan(done):
                continue
            compared += 1
            if not math.isclose(said, done, rel_tol=1e-6, abs_tol=1e-12):
                return f"{sp.latex(read_side)} is {said:.8g}, what is tried {done:.8g}, at {point}"
    return "" if compared else "no point at which anything is claimed"


def tokens(text: str) -> Tokens:
    """The tokens of TeX, without sizes and spaces."""
    return tuple(_TOKEN.findall(_SIZES.sub(" ", text)))


def _drawn(claim: Claim, points: int, seed: int) -> list[Point]:
    rng = np.random.default_rng(seed)
    found: list[Point] = []
    for _ in range(2000):
        point = {name: allowed.at(float(rng.random())) for name, allowed in claim.domain.items()}
        if claim.admits(point):
            found.append(point)
        if len(found) == points:
            break
    return found


def _number(side: Quantity, point: Point) -> float:
    try:
        return value(side, point)
    except ArithmeticError:
        return math.nan


def _sides(given: Tokens) -> tuple[list[Tokens], list[Sign]]:
    """The pieces between relations outside of brackets, up to the first remark."""
    pieces: list[list[str]] = [[]]
    signs, depth = [], 0
    for token in given:
        depth += (token in _CLOSING) - (token in _CLOSING.values())
        if depth == 0 and token in _ENDS:
            break
        if depth == 0 and token in _SIGNS:
            signs.append(_SIGNS[token])
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [tuple(piece) for piece in pieces], signs


class _Reader:
    """One side, by recursive descent."""

    def __init__(self, given: Tokens, table: Mapping[Tokens, Any]) -> None:
        self.given, self.at = given, 0
        self.table, self.longest = table, max(map(len, table), default=1)
        self.bars = 0

    @property
    def next(self) -> str:
        return self.given[self.at] if self.at < len(self.given) else ""

    def take(self, wanted: str = "") -> str:
        token = self.next
        if not token or (wanted and token != wanted):
            raise Unread(f"{wanted or 'something'} is missing")
        self.at += 1
        return token

    def whole(self) -> sp.Expr:
        found = self.sum()
        if self.next:
            raise Unread(f"{self.next} is not known")
        return sp.sympify(found)

    def sum(self) -> sp.Expr:
        total = self.product() if self.next not in "+-" or not self.next else sp.Integer(0)
        while self.next in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> sp.Expr:
        found, divided = self.factor(), False
        while self.starts() or self.next in ("/", r"\cdot"):
            over = self.next == "/"
            if over or self.next == r"\cdot":
                self.take()
            elif divided:
                raise Unread("a factor after a division on the line")
            factor = self.factor()
            found, divided = (found / factor, True) if over else (found * factor, False)
        return found

    def starts(self) -> bool:
        """Whether a factor begins here."""
        if self.next == "|":
            return not self.bars
        known = self.next in _CLOSING or self.next in _FUNCTIONS or self.next in (r"\frac", r"\tfrac", r"\sqrt")
        return known or self.next.isdigit() or self.symbol() is not None

    def factor(self) -> sp.Expr:
        base = self.atom()
        while self.next == "^":
            self.take()
            base = base ** self.argument()
        return base

    def atom(self) -> sp.Expr:
        if (symbol := self.symbol()) is not None:
            length, meaning = symbol
            self.at += length
            return meaning(*self.arguments()) if isinstance(meaning, sp.Lambda) else sp.sympify(meaning)
        token = self.take()
        if token.isdigit():
            while self.next.isdigit() or (self.next == "." and "." not in token):
                token += self.take()
            return sp.Rational(token)
        if token in (r"\frac", r"\tfrac"):
            top = self.argument()
            return top / self.argument()
        if token == r"\sqrt":
            return sp.sqrt(self.argument())
        if token == "|":
            self.bars += 1
            inner = self.sum()
            self.bars -= 1
            self.take("|")
            return sp.Abs(inner)
        if token in _FUNCTIONS:
            return self.function(token)
        if token in _CLOSING:
            self.at -= 1
            (inner,) = self.arguments()
            return {r"\lceil": sp.ceiling, r"\lfloor": sp.floor}.get(token, lambda x: x)(inner)
        raise Unread(f"{token} is not known")

    def function(self, name: str) -> sp.Expr:
        base = power = None
        while self.next in ("_", "^"):
            if self.take() == "_":
                base = self.argument()
            else:
                power = self.argument()
        if self.next in ("(", "[", r"\{", "{"):
            found = _FUNCTIONS[name](*self.arguments())
        else:
            found = _FUNCTIONS[name](self.factor())
            if self.starts():
                raise Unread("where the argument ends is not clear")
        if base is not None:
            if name != r"\log":
                raise Unread(f"an index below {name}")
            found = found / sp.log(base)
        return found if power is None else found**power

    def arguments(self) -> list[sp.Expr]:
        """What stands in a bracket, between commas or semicolons."""
        bars, self.bars = self.bars, 0
        if self.next not in _CLOSING:
            raise Unread(f"a bracket is missing before {self.next}")
        closing = _CLOSING[self.take()]
        found = [self.sum()]
        while self.next in (",", ";"):
            self.take()
            found.append(self.sum())
        self.take(closing)
        self.bars = bars
        return found

    def argument(self) -> sp.Expr:
        """What TeX takes: a group, or one token."""
        if self.next == "{":
            return self.arguments()[0]
        if self.next.isdigit():
            return sp.Integer(self.take())
        meaning = self.table.get((self.take(),))
        if meaning is None:
            raise Unread(f"{self.given[self.at - 1]} is not known")
        return sp.sympify(meaning)

    def symbol(self) -> tuple[int, Any] | None:
        """The longest name that stands here, and what it means."""
        for length in range(min(self.longest, len(self.given) - self.at), 0, -1):
            if (name := self.given[self.at : self.at + length]) in self.table:
                return length, self.table[name]
        return None
