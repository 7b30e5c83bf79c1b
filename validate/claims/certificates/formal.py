"""`make formal`: compile what ``airtight certify --coq`` wrote, count what Coq's kernel has accepted, and name the rest.

``python -m airtight.validate.claims.certificates.formal FOLDER [WORKERS]``. A file is compiled once: its verdict is kept in
``FOLDER/formal/compiled.txt`` under the hash of its text, of the files that it requires and of Coq's version. Exit codes: 0;
1 where a file is not proved, except for a generated theorem that is known to be open, where a theorem rests on further axioms, or
where a second judge disagrees.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls.compiled import UnsupportedExpression
from airtight.validate import program
from airtight.validate.claims import in_coq
from airtight.validate.claims.certificates.coq import LIBRARY, SHARED, by_hand, coq_name, stated
from airtight.validate.claims.certificates.second_judge import AGREES, DISAGREES, judged

AXIOMS = (  # of the classical reals; and what describes the numbers of the machine, with which the kernel computes
    *("ClassicalDedekindReals.", "FunctionalExtensionality.functional_extensionality_dep", "Classical_Prop.classic"),
    *("PrimInt63.", "Uint63.", "PrimFloat.", "FloatAxioms."),
)
# generated theorems that no tactic proves yet, and why
OPEN = dict.fromkeys(
    ("FDP-T1-hidden", "FDP-T1-hidden-own"), "three erfc of long expressions take coq-interval more than 20 minutes"
)
_SECONDS = 1200  # for one file, at which something is wrong: none of ours takes two minutes, but for those of OPEN
_KEPT = "compiled.txt"  # JSON; files of that ending are certificates


@dataclass(frozen=True)
class Compiled:
    """What coqc said of one file.

    Attributes
    ----------
    file : Path
    right : bool
        Whether Coq accepts it.
    seconds : float
        Wall time, of the run that compiled it.
    kept : bool
        Whether that was an earlier run.
    """

    file: Path
    right: bool
    seconds: float
    kept: bool = False


def compiled(out: Path, workers: int = 1) -> Iterator[Compiled]:
    """Run coqc on every file below a folder that has changed since the last time: those that others need first."""
    library = sorted((out / LIBRARY).glob("[a-z]*.v"))
    shared = [file for name in SHARED if (file := out / LIBRARY / name).is_file()]
    kept, version = _kept(out), coq_version()
    now: dict[str, list[object]] = {}

    def one(file: Path) -> Compiled:
        name, digest = str(file.relative_to(out)), in_coq.digest(file, out / LIBRARY, version)
        if kept.get(name, [""])[0] == digest and file.with_suffix(".vo").is_file():
            now[name] = kept[name]
            return Compiled(file, True, float(str(kept[name][1])), True)
        started = time.perf_counter()
        right, seconds = coqc(file, out).returncode == 0, time.perf_counter() - started
        if right:
            now[name] = [digest, round(seconds, 1)]
        else:
            file.with_suffix(".vo").unlink(missing_ok=True)
        return Compiled(file, right, seconds)

    try:
        with ThreadPoolExecutor(workers) as pool:
            for file in shared:
                yield one(file)
            yield from pool.map(one, library)
            yield from pool.map(one, sorted(out.glob("*/theorem.v")))
    finally:  # of an interrupted run too, with what an earlier one knew
        known = {name: entry for name, entry in kept.items() if (out / name).is_file()} | now
        (out / LIBRARY / _KEPT).write_text(json.dumps(known, indent=0, sort_keys=True), "utf-8")


def coq_version() -> str:
    """What coqc says of itself."""
    return subprocess.run(["coqc", "--version"], capture_output=True, text=True, check=True).stdout


def _kept(out: Path) -> dict[str, list[object]]:
    try:
        kept = json.loads((out / LIBRARY / _KEPT).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def assumptions(out: Path) -> set[str]:
    """The axioms that the compiled theorems rest on, all together, as Coq's Print Assumptions lists them.

    Raises
    ------
    RuntimeError
        When that does not compile.
    """
    files = [file for file in sorted(out.glob("*/*.v")) if file.with_suffix(".vo").is_file() and file.name != "Model.v"]
    names = [
        f"@{_module(file, out)}.{name}"  # with all its arguments, which Coq cannot guess here
        for file in files
        for name in re.findall(r"^Theorem (\w+)", file.read_text("utf-8"), re.M)
    ]
    lines = [f"Require {_module(file, out)}." for file in files]
    listing = out / "assumptions.v"
    listing.write_text(
        "\n".join([*lines, f"Definition all := ({', '.join(names)}).", "Print Assumptions all.", ""]), "utf-8"
    )
    done = coqc(listing, out)
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


def coqc(file: Path, out: Path, seconds: int = _SECONDS) -> subprocess.CompletedProcess[str]:
    """Compile one file below a folder of theorems."""
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
    return "Airtight" if path.name == LIBRARY else coq_name(path.name)


def known_open(file: Path, out: Path) -> bool:
    """Whether a file is a generated theorem, letter by letter, of a row that is known to be open."""
    row = file.parent.name
    return row in OPEN and file.name == "theorem.v" and file.read_text("utf-8") == stated(file.parent)


def main(out: Path, workers: int) -> int:
    """Compile, count, list the axioms, and return the exit code."""
    if not out.is_dir():
        raise ParameterError("FOLDER", str(out), "a folder")
    if not any(out.glob("*/theorem.v")):
        raise ParameterError("FOLDER", str(out), "a folder with theorems, as `airtight certify --coq --out FOLDER` writes them")
    code, accepted = 0, set()
    for done in compiled(out, workers):
        row = done.file.parent.name
        accepted |= {row} if done.right and row != LIBRARY else set()
        open_ = not done.right and known_open(done.file, out)
        said = "proved" if done.right else f"open: {OPEN[row]}" if open_ else "NOT PROVED"
        when = "kept" if done.kept else f"{done.seconds:.1f} s"
        print(f"{done.file.relative_to(out)}: {said}, {when}", flush=True)
        code = code if done.right or open_ else 1
    for kind, name in (("refuted", "witness.json"), ("proved", "proof.json")):
        rows = {file.parent.name for file in out.glob(f"*/{name}")}
        print(f"{kind} rows: {len(rows & accepted)} of {len(rows)} in the kernel")
        for row in sorted(rows - accepted):
            print(f"  not {row}: {_reason(out / row)}")
    axioms = assumptions(out)
    print(f"axioms: {', '.join(sorted(axioms))}")
    if further := beyond(axioms):
        print(f"neither of the classical reals nor of the machine's numbers: {', '.join(sorted(further))}")
    return 1 if further or _second(out) else code


def recorded(out: Path, workers: int) -> int:
    """As `main`; where all is well, the papers' records of their theorems are written."""
    if not (code := main(out, workers)):
        in_coq.record({file: out / LIBRARY / f"{module}.v" for file, module in by_hand() if file.name == in_coq.FILE})
    return code


def _second(out: Path) -> list[str]:
    """Ask the second judge, where it is installed, and say what it answers; the rows on which it disagrees."""
    if find_spec("leancert") is None:
        print("second judge: not installed (the extra leancert)")
        return []
    said = {file.parent.name: judged(file.parent) for file in sorted(out.glob("*/claim.json"))}
    for kind, name in (("refuted", "witness.json"), ("proved", "proof.json")):
        rows = [row for row in said if (out / row / name).is_file()]
        print(f"second judge: agrees on {sum(said[row] == AGREES for row in rows)} of {len(rows)} {kind} rows")
        for row in rows:
            if said[row] != AGREES:
                print(f"  {row}: {said[row]}")
    return [row for row, answer in said.items() if answer == DISAGREES]


def _reason(folder: Path) -> str:
    try:
        stated(folder)
    except UnsupportedExpression as reason:
        return str(reason)
    return OPEN.get(folder.name, "Coq does not accept the theorem")


if __name__ == "__main__":
    program.run(
        lambda words: recorded(Path(words[0]), int(words[1]) if len(words) > 1 else os.cpu_count() or 1),
        "airtight.validate.claims.certificates.formal FOLDER [PROCESSES]",
        least=1,
    )
