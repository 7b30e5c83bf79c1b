"""Certificates changed at random: check.py accepts none that is false, and none ends or hangs it.

    python tests/adversarial/forgeries.py --mutants 100000 CERTIFICATES      # a folder that `airtight certify` wrote

What is accepted is judged by another evaluator of the trees, made of python-flint's balls: the point lies in the domain,
meets the hypotheses and breaks the relation, and the decimals are right; of a proof, that no point of the domain breaks it.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import importlib.util
import json
import math
import operator
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # after which a mutant counts as hanging: the work of check.py is counted, and ends long before
WORK = 8_000  # for a mutant; the published limit only takes longer to reach
POINTS = 40  # of the domain of an accepted proof
BITS, MANY_BITS = 1200, 8000  # for up to 60 digits, and for up to 1000
SAME_ARITY = (
    ("+", "*", "min", "max", "-", "/", "pow"),
    ("exp", "log", "sqrt", "erfc", "atan", "lgamma", "abs", "floor", "-"),
    ("<=", "<", ">=", ">", "==", "!="),
    ("and", "or"),
    ("true", "false"),
)
STRANGE: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        25.0,
        1e308,
        [],
        {},
        [[]],
        "",
        "+",
        "x",
        "1/0",
        "-0",
        "0",
        "1E9",
        "１",
        "٣/٢",
        "1_0",
        " 1",
    ),
    *("9" * 999, "9" * 5000, "1/" + "3" * 900, {"op": {}, "args": []}, {"op": [], "args": []}, {"op": "+", "args": {}}),
    *(
        {"op": "+", "args": []},
        {"op": "pi", "args": []},
        {"sign": "+"},
        {"sign": True},
        {"cut": [], "at": "0", "parts": []},
    ),
    {"op": "pow", "args": ["2", "1000000000"]},
    {"op": "exp", "args": ["1000000000"]},
    {"op": "exp", "args": [{"op": "-", "args": ["1000000000"]}]},
    {"op": "binomial", "args": ["1000000000", "500000000"]},
    {"op": "sum", "args": [{"op": "sum", "args": ["i", "j", "1", "9999"]}, "i", "1", "9999"]},
    {"op": "/", "args": ["1", "0"]},
    {"op": "log", "args": ["0"]},
    {"op": "sqrt", "args": ["-1"]},
)


def checker() -> Any:
    """check.py as a module of its own."""
    spec = importlib.util.spec_from_file_location(
        "forged_check", ROOT / "airtight" / "validate" / "claims" / "certificates" / "check.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The judge: trees in python-flint's balls, without a line of check.py or of the package


class NoValue(Exception):
    """A tree has no value, or none that the balls know."""


Value = Any  # Fraction, as long as it is rational, or flint.arb


def ball(x: Value) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator)) if isinstance(x, Fraction) else x


def worth(tree: Any, at: dict[str, Fraction]) -> Value:
    """An expression at a point."""
    if isinstance(tree, str):
        return at[tree] if tree in at else Fraction(tree)
    op, args = tree["op"], tree["args"]
    if op == "piecewise":
        for value, condition in args:
            if truth(condition, at):
                return worth(value, at)
        raise NoValue
    if op == "sum":
        term, index, low, high = args
        first, last = (whole(worth(end, at)) for end in (low, high))
        if last - first > 2000:
            raise NoValue
        return _folded(operator.add)(
            Fraction(0), *(worth(term, {**at, index: Fraction(k)}) for k in range(first, last + 1))
        )
    found = [worth(arg, at) for arg in args]
    if op == "binomial":
        n, k = map(whole, found)
        if n < 0 or min(k, n - k) > 20_000:
            raise NoValue
        return Fraction(math.comb(n, k) if 0 <= k <= n else 0)
    if op == "pow":
        return power(*found)
    if (
        op in ("/", "log", "sqrt")
        and isinstance(found[-1], Fraction)
        and ((found[-1] < 0 and op != "/") or not found[-1])
    ):
        if op == "sqrt" and found[-1] == 0:
            return Fraction(0)
        raise NoValue
    if op in _RATIONAL:
        return _RATIONAL[op](*found)
    if op == "pi":
        return flint.arb.pi()
    result = getattr(flint.arb, op)(ball(found[0]))
    if not result.is_finite():
        raise NoValue
    return result


def power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Fraction) and exponent.denominator == 1 and abs(exponent) < 10**6:
        n = exponent.numerator
        small = (
            isinstance(base, Fraction)
            and abs(n) * max(base.numerator.bit_length(), base.denominator.bit_length()) < 10**5
        )
        if small and (base or n >= 0):
            return base**n
        result = ball(base) ** n
    elif isinstance(base, Fraction) and base == 0 and ball(exponent) > 0:
        return Fraction(0)
    else:
        result = ball(base) ** ball(exponent)
    if not result.is_finite():
        raise NoValue
    return result


def _folded(function: Any) -> Any:
    """An operation on any number of values, rational where all are."""

    def fold(*found: Value) -> Value:
        result = found[0]
        for one in found[1:]:
            same = isinstance(result, Fraction) and isinstance(one, Fraction)
            result = function(result, one) if same else function(ball(result), ball(one))
            if not same and not result.is_finite():
                raise NoValue
        return result

    return fold


def _floor(x: Value) -> Value:
    return Fraction(math.floor(x)) if isinstance(x, Fraction) else x.floor()


_RATIONAL: dict[str, Any] = {
    "+": _folded(operator.add),
    "*": _folded(operator.mul),
    "/": _folded(operator.truediv),
    "min": _folded(lambda a, b: min(a, b) if isinstance(a, Fraction) else a.min(b)),
    "max": _folded(lambda a, b: max(a, b) if isinstance(a, Fraction) else a.max(b)),
    "-": lambda *found: -found[0] if len(found) == 1 else _folded(operator.sub)(*found),
    "abs": abs,
    "floor": _floor,
}


def whole(x: Value) -> int:
    """The integer that a value is."""
    if isinstance(x, Fraction):
        if x.denominator == 1:
            return x.numerator
    elif x.is_exact() and x.is_integer():
        return int(x.unique_fmpz())
    raise NoValue


def truth(tree: Any, at: dict[str, Fraction]) -> bool:
    """A condition at a point."""
    op, args = tree["op"], tree["args"]
    if op in ("true", "false"):
        return op == "true"
    if op in ("and", "or", "not"):
        known = [truth(arg, at) for arg in args]
        return {"and": all, "or": any, "not": lambda k: not k[0]}[op](known)  # type: ignore[operator]
    return settled(op, *(worth(arg, at) for arg in args))


def settled(op: str, a: Value, b: Value) -> bool:
    """Whether a relation holds of two values."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return bool(_COMPARED[op](a, b))
    a, b = ball(a), ball(b)
    if op in ("==", "!="):
        if not a.overlaps(b):
            return op == "!="
        raise NoValue
    opposite = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}[op]
    yes, no = _COMPARED[op](a, b), _COMPARED[opposite](a, b)
    if not yes and not no:
        raise NoValue
    return bool(yes)


_COMPARED = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}


def allowed(claim: dict[str, Any], point: dict[str, Fraction]) -> bool:
    """Whether a point is in the domain and meets the hypotheses."""
    for name, given in claim["domain"].items():
        x = point[name]
        inside = Fraction(given["low"]) <= x <= Fraction(given["high"]) or x in map(Fraction, given["extra"])
        if not inside or (given["integer"] and x.denominator != 1):
            return False
    return set(point) == set(claim["domain"]) and all(truth(condition, point) for condition in claim["given"])


def rounded(tree: Any, point: dict[str, Fraction], digits: int) -> list[Decimal]:
    """A quantity rounded down and up to so many digits; one that is a decimal to hundreds of digits counts as that decimal."""
    value = worth(tree, point)
    ends = [value, value] if isinstance(value, Fraction) else [_fraction(end) for end in (value.lower(), value.upper())]
    found = []
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
        low, high = (context.divide(*map(Decimal, end.as_integer_ratio())) for end in ends)
        if low != high:
            near = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX).divide(*map(Decimal, ends[0].as_integer_ratio()))
            if max(abs(Fraction(near) - end) for end in ends) > abs(Fraction(near)) / 10 ** (digits + 200):
                raise NoValue
            low = near
        found.append(low)
    return found


def _fraction(end: flint.arb) -> Fraction:
    mantissa, exponent = end.mid().man_exp()
    if abs(exponent) > 100_000:
        raise NoValue
    return int(mantissa) * Fraction(2) ** int(exponent)


def true_witness(claim: dict[str, Any], witness: dict[str, Any]) -> bool:
    """Whether the point breaks the claim, and the decimals are right."""
    point = {name: Fraction(x) for name, x in witness["point"].items()}
    with flint.ctx.workprec(BITS if witness["digits"] <= 60 else MANY_BITS):
        actual, claimed = (worth(claim["expression"][side], point) for side in ("actual", "claimed"))
        right = all(
            [Decimal(text) for text in witness[side]] == rounded(claim["expression"][side], point, witness["digits"])
            for side in ("actual", "claimed")
        )
        return allowed(claim, point) and not settled(claim["relation"], actual, claimed) and right


def true_proof(claim: dict[str, Any], rng: random.Random) -> bool:
    """Whether no point that is tried breaks the claim."""
    for _ in range(POINTS):
        point = {name: _drawn(given, rng) for name, given in claim["domain"].items()}
        with flint.ctx.workprec(400):
            try:
                if not allowed(claim, point):
                    continue
                actual, claimed = (worth(claim["expression"][side], point) for side in ("actual", "claimed"))
                if not settled(claim["relation"], actual, claimed):
                    return False
            except NoValue:
                continue
    return True


def _drawn(given: dict[str, Any], rng: random.Random) -> Fraction:
    low, high = Fraction(given["low"]), Fraction(given["high"])
    ends = [low, high, *map(Fraction, given["extra"])]
    x = rng.choice(ends) if rng.random() < 0.4 else low + (high - low) * Fraction(rng.randint(0, 1000), 1000)
    return Fraction(round(x)) if given["integer"] else x


# The forger


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a JSON value."""
    found = [path] if path else []
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in inside:
        found += places(child, (*path, key))
    return found


def _number(text: str, rng: random.Random) -> str:
    """Another number near this one."""
    digits = [i for i, c in enumerate(text) if c.isdigit()]
    i = rng.choice(digits)
    kind = rng.randrange(4)
    if kind == 0:
        return text[:i] + rng.choice("0123456789") + text[i + 1 :]
    if kind == 1:
        return text[1:] if text.startswith("-") else "-" + text
    if kind == 2:
        return text[:i] + text[i] + rng.choice("0123456789") + text[i + 1 :]
    return rng.choice(["0", "1", "2", "1/2", "-1", "10", "1/1000000007", text])


def changed(node: Any, rng: random.Random) -> Any:
    """Another value in the place of this one."""
    kind = rng.random()
    if kind < 0.15:
        return copy.deepcopy(rng.choice(STRANGE))
    if isinstance(node, str):
        if re.search(r"\d", node) and len(node) < 200:
            return _number(node, rng)
        for names in SAME_ARITY:
            if node in names:
                return rng.choice(names)
        return rng.choice([node.upper(), node + "'", "x", node[:-1], ["<=", ">=", "=="][rng.randrange(3)]])
    if isinstance(node, bool):
        return not node
    if isinstance(node, int):
        return rng.choice([node + 1, node - 1, -node, str(node), float(node), bool(node), 10**30, 1000])
    if isinstance(node, list) and node:
        other = list(node)
        i = rng.randrange(len(other))
        if kind < 0.4:
            del other[i]
        elif kind < 0.6:
            other.insert(i, copy.deepcopy(rng.choice(other)))
        else:
            rng.shuffle(other)
        return other
    if isinstance(node, dict) and "op" in node:
        return rng.choice(
            [
                {"op": rng.choice(SAME_ARITY[1]), "args": [node]},
                {"op": rng.choice(SAME_ARITY[0]), "args": [node, rng.choice(["2", "1/3", node])]},
                node["args"][0] if isinstance(node["args"], list) and node["args"] else node,
                {"op": "piecewise", "args": [[node, {"op": "true", "args": []}]]},
                {"op": "sum", "args": [node, "k", "1", rng.choice(["0", "1", "3", "100001"])]},
            ]
        )
    if isinstance(node, dict) and node:
        other = dict(node)
        key = rng.choice(list(other))
        value = other.pop(key)
        if rng.random() < 0.4:
            other[rng.choice(list(other) or ["x"])] = value
        return other
    return copy.deepcopy(rng.choice(STRANGE))


def forged(claim: dict[str, Any], beside: dict[str, Any], rng: random.Random) -> tuple[str, str]:
    """The two files of a certificate after one to three changes, the second told the sum of the first."""
    claim, beside = copy.deepcopy(claim), copy.deepcopy(beside)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        target = rng.choice([claim, claim["expression"], claim["domain"], beside, beside, claim])
        path = rng.choice(places(target) or [()])
        if not path:
            continue
        owner = target
        try:
            for key in path[:-1]:
                owner = owner[key]
            owner[path[-1]] = changed(owner[path[-1]], rng)
            if not isinstance(claim.get("expression"), dict) or not isinstance(claim.get("domain"), dict):
                break
        except (KeyError, IndexError, TypeError):
            break
    if "point" in beside and rng.random() < 0.6:
        _told_anew(claim, beside, rng)
    text = json.dumps(claim, indent=1, ensure_ascii=False) + "\n"
    if rng.random() < 0.03:
        text = _torn(text, rng)
    if rng.random() < 0.95:
        beside["claim_sha256"] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    other = json.dumps(beside, indent=1, ensure_ascii=False) + "\n"
    return text, _torn(other, rng) if rng.random() < 0.03 else other


def _told_anew(claim: dict[str, Any], beside: dict[str, Any], rng: random.Random) -> None:
    """The decimals of what is claimed now, as an able forger would write them; now and then with one digit more or other."""
    try:
        with flint.ctx.workprec(BITS):
            point = {name: Fraction(x) for name, x in beside["point"].items()}
            digits = min(beside["digits"], 60)
            for side in ("actual", "claimed"):
                if rng.random() < 0.9:
                    beside[side] = [str(x) for x in rounded(claim["expression"][side], point, digits)]
        if rng.random() < 0.3:
            side, end = rng.choice(["actual", "claimed"]), rng.randrange(2)
            beside[side][end] = _number(beside[side][end], rng)
    except Exception:  # a mutant that has no value is a mutant as well
        return


def _torn(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text))
    return rng.choice([text[:i], text[:i] + rng.choice('{}[]",:x0') + text[i + 1 :], text[:i] + text[i - 9 :]])


class Hanging(Exception):
    """check.py does not come to an end."""


def tried(folders: list[Path], mutants: int, seed: int, show: Any = None) -> tuple[Counter[str], list[str]]:
    """What check.py says of so many mutants of these certificates; and what it ought not to have said."""
    rng, check = random.Random(seed), checker()
    check.WORK = WORK
    read = [_read(folder) for folder in folders]
    often = [1 / (200 + _work(check, folder)) for folder in folders]  # what is cheap is tried more often
    counts: Counter[str] = Counter()
    wrong: list[str] = []

    def ring(*_: Any) -> None:
        raise Hanging

    signal.signal(signal.SIGALRM, ring)
    with tempfile.TemporaryDirectory() as made:
        for number in range(mutants):
            name, claim, kind, beside = rng.choices(read, often)[0]
            folder = Path(made) / name
            folder.mkdir()
            text, other = forged(claim, beside, rng)
            (folder / "claim.json").write_text(text, encoding="utf-8", errors="surrogatepass")
            (folder / kind).write_text(other, encoding="utf-8", errors="surrogatepass")
            signal.alarm(SECONDS)
            try:
                check.rebuilt(folder)
            except (check.Rejected, check.Malformed) as reason:
                counts[f"{kind[:-5]}: {type(reason).__name__}"] += 1
            except Exception as error:
                counts["ended by an error"] += 1
                wrong.append(f"{name} {kind}: {type(error).__name__}: {error}\n{text}\n{other}")
            else:
                same = (text, other) == _texts(claim, beside)
                verdict = "unchanged" if same else _judged(json.loads(text), json.loads(other), kind, rng)
                counts[f"{kind[:-5]}: accepted, {verdict}"] += 1
                if verdict not in ("unchanged", "true"):
                    wrong.append(f"{name} {kind}: accepted, {verdict}\n{text}\n{other}")
            finally:
                signal.alarm(0)
            shutil.rmtree(folder)
            if show and number % 5000 == 4999:
                show(number + 1, counts, wrong)
    return counts, wrong


def _judged(claim: dict[str, Any], beside: dict[str, Any], kind: str, rng: random.Random) -> str:
    try:
        right = true_witness(claim, beside) if kind == "witness.json" else true_proof(claim, rng)
    except (NoValue, ValueError, KeyError, TypeError) as error:
        return f"not judged: {type(error).__name__} {error}"
    return "true" if right else "FALSE"


def _work(check: Any, folder: Path) -> float:
    """The work that the certificate itself takes; infinite where a mutant has less."""
    with check.limited(WORK):
        claim = check.Claim((folder / "claim.json").read_bytes())
        witness = folder / "witness.json"
        try:
            if witness.exists():
                check.witnessed(claim, witness.read_bytes())
            else:
                check.proved(claim, (folder / "proof.json").read_bytes())
        except check.TooLarge:
            return math.inf
        return float(WORK - check.LEFT[-1])


def _read(folder: Path) -> tuple[str, dict[str, Any], str, dict[str, Any]]:
    kind = "witness.json" if (folder / "witness.json").exists() else "proof.json"
    return folder.name, json.loads((folder / "claim.json").read_text()), kind, json.loads((folder / kind).read_text())


def _texts(claim: dict[str, Any], beside: dict[str, Any]) -> tuple[str, str]:
    return tuple(json.dumps(x, indent=1, ensure_ascii=False) + "\n" for x in (claim, beside))  # type: ignore[return-value]


def main() -> int:
    """Forge, and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("certificates", type=Path)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    started, said = time.monotonic(), [0]

    def show(number: int, counts: Counter[str], wrong: list[str]) -> None:
        told = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        print(f"{number} in {time.monotonic() - started:.0f} s: {told}; wrong: {len(wrong)}", flush=True)
        while said[0] < len(wrong):
            print(wrong[said[0]], flush=True)
            said[0] += 1

    folders = sorted(path for path in chosen.certificates.iterdir() if path.is_dir())
    counts, wrong = tried(folders, chosen.mutants, chosen.seed, show)
    show(chosen.mutants, counts, wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
