"""Certificates that claim something else than what was shown: check.py, Coq and LeanCert accept none.

    python tests/adversarial/tampered.py CERTIFICATES [--each 100] [--coq 20] [--seconds 60] [--second]

CERTIFICATES is a folder that `airtight certify --coq` wrote, and for --coq one that `make formal` has compiled. For refuted and
for proved rows, and for each kind of change (number, sign, relation, hypothesis, domain), so many certificates are made whose
files are well formed and speak of each other: the sum of claim.json and the decimals are those of the changed claim. python-flint
confirms beforehand that the claim is no longer refuted at the point, or is false at a point of its domain. A judge that finds a
file malformed, or a theorem that Coq cannot read, does not count as a rejection.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import forgeries
from forgeries import NoValue, allowed, checker, rounded, settled, worth

from airtight.analytics.forms.balls.compiled import UnsupportedExpression
from airtight.validate.claims.certificates.coq import LIBRARY, coq_name, theorem
from airtight.validate.claims.certificates.formal import coqc

KINDS = ("number", "sign", "relation", "hypothesis", "domain")
REFUTED, PROVED = "witness.json", "proof.json"
BITS = 600
DRAWS = 60  # of points at which a changed claim may be false
OPPOSITE = {"<=": ">=", ">=": "<="}
REASONS = re.compile(r"the relation holds at the point|(a )?hypothesis (\d+ )?fails|.+ is outside the domain|not shown on")
UNREAD = re.compile(r"Syntax error|was not found in the current|has type|Cannot find")


@dataclass(frozen=True)
class Tampered:
    """A changed certificate: the row, the kind of change, and both files."""

    row: str
    kind: str
    name: str
    claim: dict[str, Any]
    beside: dict[str, Any]

    def write(self, out: Path) -> Path:
        """OUT/ROW with both files, the second told the sum of the first."""
        folder = out / self.row
        folder.mkdir(parents=True)
        text = json.dumps(self.claim, indent=1, ensure_ascii=False) + "\n"
        (folder / "claim.json").write_text(text, encoding="utf-8")
        told = {**self.beside, "claim_sha256": hashlib.sha256(text.encode()).hexdigest()}
        (folder / self.name).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return folder


def tampered(folder: Path, kind: str, rng: random.Random) -> Tampered | None:
    """One changed certificate of a row; None where this kind of change does not make it wrong."""
    row, claim, name, beside = forgeries._read(folder)
    with flint.ctx.workprec(BITS):
        try:
            made = (_witness if name == REFUTED else _proof)(kind, copy.deepcopy(claim), copy.deepcopy(beside), rng)
        except NoValue:
            return None
    return Tampered(row, kind, name, *made) if made else None


def many(folders: list[Path], name: str, kind: str, count: int, rng: random.Random) -> Iterator[Tampered]:
    """So many changed certificates, of all rows in turn."""
    rows = [folder for folder in folders if (folder / name).is_file()]
    rng.shuffle(rows)
    for turn in range(20 * count):
        if not count:
            return
        if (made := tampered(rows[turn % len(rows)], kind, rng)) is not None:
            count -= 1
            yield made


Made = tuple[dict[str, Any], dict[str, Any]]


def _witness(kind: str, claim: dict[str, Any], beside: dict[str, Any], rng: random.Random) -> Made | None:
    """A claim that the point no longer refutes, with the decimals of its sides."""
    point = {name: Fraction(x) for name, x in beside["point"].items()}
    sides, names = claim["expression"], sorted(point)
    if kind in ("hypothesis", "domain") and not names:
        return None
    if kind == "number":
        if claim["relation"] == "==":
            return None
        gap = _fraction(worth(sides["actual"], point)) - _fraction(worth(sides["claimed"], point))
        more = gap * (1 + Fraction(rng.randint(1, 1000), 1000))
        sides["claimed"] = {"op": "+", "args": [sides["claimed"], str(more.limit_denominator(10**30))]}
    elif kind == "sign":
        claim["expression"] = {side: {"op": "-", "args": [tree]} for side, tree in sides.items()}
    elif kind == "relation":
        other = [op for op in OPPOSITE if settled(op, *(worth(sides[side], point) for side in ("actual", "claimed")))]
        claim["relation"] = other[0]
    elif kind == "hypothesis":
        name = rng.choice(names)
        claim["given"].append({"op": rng.choice("<>"), "args": [name, str(point[name])]})
    elif not _excluded(claim["domain"], rng.choice(names), point):
        return None
    for side in ("actual", "claimed"):
        beside[side] = [str(x) for x in rounded(claim["expression"][side], point, beside["digits"])]
    return None if forgeries.true_witness(claim, beside) else (claim, beside)


def _excluded(domain: dict[str, Any], name: str, point: dict[str, Fraction]) -> bool:
    """Narrow a range so that the point lies outside; whether that was possible."""
    given, x = domain[name], point[name]
    low, high = Fraction(given["low"]), Fraction(given["high"])
    step = 1 if given["integer"] else max(high - low, Fraction(1)) / 1000
    if low <= x - step:
        given["high"] = str(min(x - step, high))
    elif x + step <= high:
        given["low"] = str(max(x + step, low))
    else:
        return False
    given["extra"] = [text for text in given["extra"] if Fraction(text) != x]
    return True


def _proof(kind: str, claim: dict[str, Any], beside: dict[str, Any], rng: random.Random) -> Made | None:
    """A claim that fails at a point of its domain, with the boxes of the true one."""
    sides = claim["expression"]
    high = "claimed" if claim["relation"] == "<=" else "actual"
    low = "actual" if high == "claimed" else "claimed"
    if kind == "number":
        at = {name: forgeries._drawn(given, rng) for name, given in claim["domain"].items()}
        gap = _fraction(worth(sides[high], at)) - _fraction(worth(sides[low], at))
        less = str(
            (gap + abs(gap) * Fraction(rng.randint(1, 1000), 1000)).limit_denominator(10**30) + Fraction(1, 10**9)
        )
        sides[high] = {"op": "-", "args": [sides[high], less]}
    elif kind == "sign":
        claim["expression"] = {side: {"op": "-", "args": [tree]} for side, tree in sides.items()}
    elif kind == "relation":
        claim["relation"] = OPPOSITE[claim["relation"]]
    elif kind == "hypothesis":
        if claim["given"] and rng.random() < 0.5:
            gone = rng.randrange(len(claim["given"]))
            del claim["given"][gone]
            _signed(beside["trees"], lambda s: s if s == "+" else "+" if s == gone else s - (s > gone))
        elif claim["domain"]:
            name = rng.choice(sorted(claim["domain"]))
            claim["relation"] = OPPOSITE[claim["relation"]]
            claim["given"].append({"op": ">=", "args": [name, claim["domain"][name]["low"]]})
            new = len(claim["given"]) - 1
            _signed(beside["trees"], lambda s: new if s == "+" else s)
        else:
            return None
    else:
        if not claim["domain"]:
            return None
        given = claim["domain"][rng.choice(sorted(claim["domain"]))]
        low_end, high_end = Fraction(given["low"]), Fraction(given["high"])
        by = max(high_end - low_end, Fraction(1)) * rng.choice([1, 3, 10, 100])
        if rng.random() < 0.5:
            given["low"] = str(low_end - (by if not given["integer"] else int(by) + 1))
        else:
            given["high"] = str(high_end + (by if not given["integer"] else int(by) + 1))
    return (claim, beside) if _fails_somewhere(claim, rng) else None


def _signed(nodes: list[Any], change: Any) -> None:
    for node in nodes:
        if "sign" in node:
            node["sign"] = change(node["sign"])
        else:
            _signed(node["parts"], change)


def _fails_somewhere(claim: dict[str, Any], rng: random.Random) -> bool:
    for _ in range(DRAWS):
        at = {name: forgeries._drawn(given, rng) for name, given in claim["domain"].items()}
        try:
            actual, claimed = (worth(claim["expression"][side], at) for side in ("actual", "claimed"))
            if allowed(claim, at) and not settled(claim["relation"], actual, claimed):
                return True
        except NoValue:
            continue
    return False


def _fraction(x: Any) -> Fraction:
    return x if isinstance(x, Fraction) else forgeries._fraction(x.mid())


# The judges


def plain(made: Tampered, check: Any) -> str:
    """What check.py says."""
    with tempfile.TemporaryDirectory() as out:
        try:
            check.rebuilt(made.write(Path(out)))
        except check.Rejected as reason:
            return "rejected" if REASONS.match(str(reason)) else f"UNEXPECTED {made.row}: {reason}"
        except check.Malformed as reason:
            return f"MALFORMED {made.row}: {reason}"
    return f"ACCEPTED {made.row}"


def stated(made: Tampered, certificates: Path) -> str:
    """The theorem of the changed claim; empty where Coq has none, or one at the witness that leaves out what was changed."""
    point = made.beside["point"] if made.name == REFUTED else None
    heading = re.compile(rf"^Theorem {coq_name(made.row)}\b", re.M)
    by_hand = (certificates / LIBRARY).glob("*_proved.v")
    cited = [f"Airtight.{file.stem}" for file in by_hand if heading.search(file.read_text("utf-8"))]
    try:
        text = theorem(made.claim, point, cited=cited[0] if cited else "")
    except UnsupportedExpression:
        return ""
    whole = point is None or re.search(r"^Theorem \w+ : ~ \(", text, re.M)
    return text if whole or made.kind not in ("hypothesis", "domain") else ""


def kernel(made: Tampered, text: str, certificates: Path, seconds: int) -> str:
    """What coqc says of it, beside the compiled files of the true certificates."""
    folder = certificates / f"tampered_{made.row}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        (folder / "theorem.v").write_text(text, "utf-8")
        done = coqc(folder / "theorem.v", certificates, seconds)
    finally:
        shutil.rmtree(folder)
    if not done.returncode:
        return f"ACCEPTED {made.row}"
    if f"more than {seconds} seconds" in done.stderr:
        return f"not proved in {seconds} s"
    begun = text[: text.index("\nProof.")].count("\n") + 2
    line = re.findall(r'theorem\.v", line (\d+)', done.stderr)
    read = line and int(line[-1]) >= begun and not UNREAD.search(done.stderr.rpartition("Error")[2])
    return "rejected" if read else f"UNREAD {made.row}: {done.stderr[-300:]}"


def second(made: Tampered) -> str:
    """What LeanCert says."""
    from airtight.validate.claims.certificates.second_judge import AGREES, DISAGREES, judged

    with tempfile.TemporaryDirectory() as out:
        said = judged(made.write(Path(out)))
    return {AGREES: f"ACCEPTED {made.row}", DISAGREES: "rejected"}.get(said, "silent")


def main() -> int:
    """Tamper, and print what the judges say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("certificates", type=Path)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--coq", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--second", action="store_true")
    chosen = parser.parse_args()
    folders = sorted(path.parent for path in chosen.certificates.glob("*/claim.json"))
    rng, check, wrong, started = random.Random(0), checker(), 0, time.process_time()
    for name, rows in ((REFUTED, "refuted"), (PROVED, "proved")):
        for kind in KINDS:
            made = list(many(folders, name, kind, chosen.each, rng))
            said = {"check.py": Counter(plain(one, check) for one in made)}
            if chosen.coq:
                texts = [(one, text) for one in made if (text := stated(one, chosen.certificates))][: chosen.coq]
                said["Coq"] = Counter(kernel(one, text, chosen.certificates, chosen.seconds) for one, text in texts)
            if chosen.second:
                said["LeanCert"] = Counter(map(second, made))
            for judge, counts in said.items():
                print(f"{rows}, {kind}, {judge}: {dict(counts)} of {len({m.row for m in made})} rows", flush=True)
                wrong += sum(n for answer, n in counts.items() if answer.split()[0].isupper())
    print(f"{wrong} wrong; {time.process_time() - started:.0f} CPU seconds without Coq")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
