"""Makes docs/speed.md from the JSON of pytest-benchmark: ``python benchmarks/table.py bench.json > docs/speed.md``."""

import json
import platform
import re
import resource
import sys
import time
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

PEERS = ("dp_accounting", "numpy", "scipy", "cvxpy_clarabel", "clarabel", "piqp", "osqp", "pytorch")
HEAD = """# Speed

`make bench` made this page. Times are CPU seconds of one process, with its children, and with one BLAS thread; the least
of a few runs. The ratio is that to the first row of the group. *Accuracy* is the relative distance of the bounds of the
result. A peer gives one number: its accuracy is the distance of this number from a lower bound of the truth.

Machine: {machine}, Python {python}, NumPy {numpy}, SciPy {scipy}.

| work | by | CPU s | ratio | accuracy |
|---|---|---|---|---|"""


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended: the clock of ``make bench``."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def row(benchmark: dict) -> tuple[str, str, float, float | None]:
    """Group, what was measured, CPU seconds and accuracy."""
    name = benchmark["name"].removeprefix("test_")
    base, _, parameters = name.partition("[")
    peer = next((peer for peer in PEERS if base.endswith(peer)), None)
    by = peer.replace("_", "-") if peer else "airtight"
    if parameters and parameters.rstrip("]") not in benchmark["group"]:
        by += f" ({parameters.rstrip(']')})"
    seconds = benchmark["stats"]["min"] * benchmark["extra_info"].get("times", 1)
    return benchmark["group"], by, seconds, benchmark["extra_info"].get("accuracy")


def main(path: str) -> None:
    """Print the page."""
    rows = [row(benchmark) for benchmark in json.loads(Path(path).read_text(encoding="utf-8"))["benchmarks"]]
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    machine = processor[1] if processor else platform.processor()
    print(
        HEAD.format(machine=machine, python=platform.python_version(), numpy=version("numpy"), scipy=version("scipy"))
    )
    for group, members in groupby(sorted(rows, key=lambda one: one[0]), key=lambda one: one[0]):
        ours_first = sorted(members, key=lambda one: not one[1].startswith("airtight"))
        for place, (_, by, seconds, accuracy) in enumerate(ours_first):
            work = group if place == 0 else ""
            shown = "" if accuracy is None else f"{accuracy:.1g}"
            print(f"| {work} | {by} | {seconds:.3g} | {seconds / ours_first[0][2]:.3g} | {shown} |")


if __name__ == "__main__":
    main(sys.argv[1])
