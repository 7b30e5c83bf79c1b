"""Makes docs/speed.md from the JSON of pytest-benchmark: ``python benchmarks/table.py bench.json > docs/speed.md``."""

import json
import platform
import re
import resource
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

PEERS = (
    "dp_accounting", "numpy", "scipy", "cvxpy_clarabel", "clarabel", "piqp", "osqp", "daqp", "fast_poibin", "riskcal", "pytorch",
)  # fmt: skip
PACKAGES = (
    "opake-accounting", "dp-accounting", "PLD_accounting", "riskcal", "fast_poibin", "cvxpy", "clarabel", "piqp", "osqp", "daqp",
)  # fmt: skip
HEAD = """# Speed

`make bench` made this page. Times are CPU seconds of one process, with its children, and with one BLAS thread; the least
of a few runs, or that of one run where it is long. *Goal* is the time that we want. The ratio is that to the first row of
the group. *Accuracy* is the relative distance of the bounds of the result. A peer gives one number: its accuracy is the
distance of this number from a lower bound of the truth. Of several numbers the worst counts. *peer: none* means that no
package that we know does this work. A time after > is that at which a call was stopped.

Machine: {machine}, Python {python}, NumPy {numpy}, SciPy {scipy}. Peers: {peers}.

| work | by | CPU s | goal | ratio | accuracy |
|---|---|---|---|---|---|"""


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended: the clock of ``make bench``."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Row(NamedTuple):
    """What the page says of one benchmark."""

    group: str
    by: str
    seconds: float
    goal: float | str | None  # CPU seconds, or words
    accuracy: float | None
    stopped: bool  # after so many seconds, without a result


def row(benchmark: dict) -> Row:
    """The row of one benchmark, whose `extra_info` may name by whom the work is done."""
    extra = benchmark["extra_info"]
    name = benchmark["name"].removeprefix("test_")
    base, _, parameters = name.partition("[")
    peer = next((peer for peer in PEERS if base.endswith(peer)), None)
    by = peer.replace("_", "-") if peer else "airtight"
    if parameters and parameters.rstrip("]") not in benchmark["group"]:
        by += f" ({parameters.rstrip(']')})"
    seconds = benchmark["stats"]["min"] * extra.get("times", 1)
    stopped = extra.get("stopped", False)
    return Row(benchmark["group"], extra.get("by", by), seconds, extra.get("goal"), extra.get("accuracy"), stopped)


def installed(package: str) -> str:
    """The package with its version, or that it was not there."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} (not installed)"


def main(path: str) -> None:
    """Print the page."""
    rows = [row(benchmark) for benchmark in json.loads(Path(path).read_text(encoding="utf-8"))["benchmarks"]]
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    machine = processor[1] if processor else platform.processor()
    head = {"python": platform.python_version(), "numpy": version("numpy"), "scipy": version("scipy")}
    print(HEAD.format(machine=machine, peers=", ".join(map(installed, PACKAGES)), **head))
    for group, members in groupby(sorted(rows, key=lambda one: one.group), key=lambda one: one.group):
        ours_first = sorted(members, key=lambda one: not one.by.startswith("airtight"))
        for place, one in enumerate(ours_first):
            work = group if place == 0 else ""
            goal = "" if one.goal is None else one.goal
            accuracy = "" if one.accuracy is None else f"{one.accuracy:.1g}"
            ratio = one.seconds / ours_first[0].seconds
            more = "> " if one.stopped else ""
            print(f"| {work} | {one.by} | {more}{one.seconds:.3g} | {goal} | {ratio:.3g} | {accuracy} |")


if __name__ == "__main__":
    main(sys.argv[1])
