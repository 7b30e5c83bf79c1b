"""The benchmarks can be collected, and the table is made from what they write."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_benchmarks_are_collected():
    """A dead import or option stops the collection."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "benchmarks",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    for path in (ROOT / "benchmarks").glob("test_*.py"):
        assert f"benchmarks/{path.name}" in done.stdout


def test_table(tmp_path):
    """Ours comes first in its group, a peer's time is scaled to the same work, the ratio is that to ours."""

    def benchmark(name, group, seconds, **info):
        return {"name": name, "group": group, "stats": {"min": seconds}, "extra_info": info}

    path = tmp_path / "bench.json"
    rows = [
        benchmark("test_curve_dp_accounting", "curve", 0.5, times=10, accuracy=2e-3),
        benchmark("test_curve", "curve", 0.25, accuracy=1e-3, goal=0.2),
        benchmark("test_size[100]", "sizes", 2.0),
        benchmark("test_goal[tables-airtight]", "tables", 1.0, by="airtight; peer: none", stopped=True),
    ]
    path.write_text(json.dumps({"benchmarks": rows}))
    command = [sys.executable, str(ROOT / "benchmarks" / "table.py"), str(path)]
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert page.splitlines()[-4:] == [
        "| curve | airtight | 0.25 | 0.2 | 1 | 0.001 |",
        "|  | dp-accounting | 5 |  | 20 | 0.002 |",
        "| sizes | airtight (100) | 2 |  | 1 |  |",
        "| tables | airtight; peer: none | > 1 |  | 1 |  |",
    ]
