"""Every verb in the environment at hand: it works, or it names in one line the extra that is missing.

Needs airtight and its base packages alone. ``make bare`` runs it where no extra is installed, the tests where all are, and
``python tests/clean.py block`` hides what the extras brought.
"""

import os
import sys
import tempfile
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from click.testing import CliRunner

import airtight
from airtight.analytics.extras import _HOLDS, MODULES, installation
from airtight.commands.cli import main

FILE = """[inference]
devices = 2
participation = 0.9
noise_variance = 0.1
weight = 0.5
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 4
delta = 1e-5
adjacency = "silent"
"""
FLEET = Path(__file__).parents[1].joinpath("examples/fleet.toml").read_text(encoding="utf-8")
LEMMA = """import sympy, airtight
x = airtight.parameter("x", 0.0, 1.0)
LEMMA = airtight.Claim("L1", "Lemma 1", sympy.log(1 + x) <= x)
"""
COMMANDS = [  # what is run in a folder with these three files, and the extra that it needs
    ("bounds system.toml --json", None),
    ("bounds system.toml --rounds 1,10 --out table.csv", None),
    ("bounds system.toml --out table.mat", None),
    ("bounds system.toml --out table.xlsx", "tables"),
    ("bounds system.toml --out table.parquet", "tables"),
    ("bounds system.toml --plot epsilon.svg", "report"),
    ("init --template energy", None),
    ("explain system.toml", None),
    ("calibrate system.toml --epsilon 2", None),
    ("attack system.toml --samples 1000", None),
    ("solve energy fleet.toml", None),
    ("solve energy fleet.toml --method cvxpy", "design"),
    ("meter log.jsonl --budget 4 --delta 1e-5 --devices 2", None),
    ("schema", None),
    ("schema --results", "report"),
    ("verify FDP-D2", "verify"),
    ("try lemma.py --effort 8", "verify"),
    ("certify FDP-D2 --out certificates", "verify"),
    ("quantities system.toml", "verify"),
    ("sweep system.toml --over clip=1,2 --quantity epsilon --out store", "sweep"),
    ("sweep system.toml --over clip=1,2 --quantity epsilon --out cluster --scheduler nonsense://x", "cluster"),
    ("figures FDP-10 --out figures", "report"),
    ("paper feature-dp --out paper", "report"),
    ("card system.toml --out card", "report"),
    ("report fleet.toml --out report", "report"),
    ("try lemma.py --effort 8 --out tried", "report"),
]


def calls():
    """Calls of the face, by name, and the extra that each needs."""
    system = airtight.InferenceSystem(
        devices=2, participation=0.9, noise_variance=0.1, weight=0.5, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=2, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    curve = airtight.gaussian(1.0)
    task = airtight.Features(f=[[1.0, 0.0], [0.0, 1.0]], W=[[[1.0, 0.0], [0.0, 1.0]]] * 2, D=[[1.0, 0.0], [0.0, 1.0]])
    return [
        ("epsilon", None, lambda: airtight.epsilon(system)),
        ("solve_weights", None, lambda: airtight.solve_weights(system, task)),
        ("_repr_html_", None, curve._repr_html_),
        ("_repr_html_ of a result", None, lambda: airtight.bounds(system)._repr_html_()),
        ("to_frame", "tables", lambda: airtight.bounds(system).to_frame()),
        ("plot of a result", "report", lambda: airtight.bounds(system).plot()),
        ("plot", "report", curve.plot),
        ("to_dp_accounting", "dp-accounting", lambda: curve.to_dp_accounting(0.1)),
        ("to_dp_event", "dp-accounting", curve.to_dp_event),
        ("sweep", "sweep", lambda: airtight.sweep(system, {"clip": [1.0]})),
        ("frontier", "sweep", lambda: airtight.frontier(system, task, epsilon=[2.0], error=[3.0], effort=10)),
        ("weight_problem", "design", lambda: airtight.weight_problem(system, task)),
        ("solve_weights with cvxpy", "design", lambda: airtight.solve_weights(system, task, method="cvxpy")),
        ("claims", "verify", lambda: airtight.claims()),
        ("papers", "verify", lambda: airtight.papers()),
        ("quantities", "verify", lambda: airtight.quantities()),
        ("parameter", "verify", lambda: airtight.parameter("x", 0.0, 1.0)),
        ("Claim", "verify", lambda: airtight.Claim),
        ("at_most", "verify", lambda: airtight.at_most(1, 2)),
        ("verify", "verify", lambda: airtight.verify(["FDP-D2"], effort=8)),
        ("a page", "report", lambda: __import__("airtight.report.page")),
    ]


def hide():
    """What the extras brought is not found from now on."""
    find = PathFinder.find_spec
    names = {name for modules in MODULES.values() for name in modules}

    def found(name, path=None, target=None):
        return None if name in names else find(name, path, target)

    PathFinder.find_spec = found


def faults():
    """A line for each verb that neither works nor names its extra."""
    missing = {extra for extra, modules in MODULES.items() if any(find_spec(module) is None for module in modules)}
    missing |= {extra for extra, held in _HOLDS.items() if missing & set(held)}
    found = []

    def judge(name, extra, said):
        if extra in missing:
            if said.count("\n") > 1 or installation(extra) not in said:
                found.append(f"{name}: does not name {extra}: {said!r}")
        elif said and "nonsense://x" not in said:
            found.append(f"{name}: {said}")

    for command, extra in COMMANDS:
        done = CliRunner().invoke(main, [*command.split(), *(["--quiet"] if command.startswith("report") else [])])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            found.append(f"{command}: {done.exception!r}")
        else:
            judge(command, extra, done.stderr if done.exit_code else "")
    for name, extra, call in calls():
        try:
            call()
        except airtight.AirtightError as error:
            judge(name, extra, str(error))
        except Exception as error:
            found.append(f"{name}: {error!r}")
        else:
            judge(name, extra, "")
    return found, missing


if __name__ == "__main__":
    if "block" in sys.argv[1:]:
        hide()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in (("system.toml", FILE), ("fleet.toml", FLEET), ("lemma.py", LEMMA)):
            Path(name).write_text(text, encoding="utf-8")
        wrong, absent = faults()
        os.chdir("/")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(COMMANDS)} commands, {len(calls())} calls; without {', '.join(sorted(absent)) or 'nothing'}")
    sys.exit(bool(wrong))
