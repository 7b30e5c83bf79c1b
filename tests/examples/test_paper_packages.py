"""Packages of examples/papers: they use the public route alone, are found when installed, and what is in them holds."""

import ast
import dataclasses
import json
import re
import shutil
import subprocess
import sys
import tomllib
from fractions import Fraction
from importlib import metadata

import numpy as np
import pytest
from support.common import run
from support.paths import ROOT

import airtight
import airtight_edge_inference.figures
import airtight_privacy_for_free.figures
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.validate import packages, papers
from airtight.validate.claims import evidence, proof_reviews, sources
from airtight.validate.claims.sources import INSTALLED, OURS, SourceError
from airtight.validate.experiments.figures import gallery
from airtight_privacy_for_free import allocation

FOLDERS = sorted(path.parent for path in ROOT.glob("examples/papers/*/pyproject.toml"))
PROJECTS = {folder.name: tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in FOLDERS}
BROUGHT = [name for project in PROJECTS.values() for name in project["entry-points"][packages.PAPERS]]
EVERY_FOLDER = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)


def test_the_packages_are_installed_and_listed_after_ours():
    ours = [paper.id for _, paper in papers.found()]
    assert list(OURS.papers()) == ours and list(INSTALLED.papers()) == [*ours, *sorted(BROUGHT)]
    for project in PROJECTS.values():
        for name, value in project["entry-points"][packages.PAPERS].items():
            assert INSTALLED.package(name) == f"{project['name']} {project['version']}"
            assert INSTALLED.home(name).name == "__init__.py" and INSTALLED.records(name) == INSTALLED.home(name).parent
            assert value.partition(":")[0].replace(".", "/") in INSTALLED.home(name).as_posix()
    assert not INSTALLED.package("feature-dp") and OURS.records("feature-dp") == INSTALLED.records("airtight")


@EVERY_FOLDER
def test_a_package_uses_the_public_route_only(folder):
    """The face, and of the two lower floors what has no underscore; nothing of `airtight.validate`."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not [alias.name for alias in node.names if alias.name.startswith("airtight.")], path
            elif isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names]
                public = set(names) <= set(airtight.__all__) if node.module == "airtight" else True
                floor = node.module.split(".")[1] if node.module.startswith("airtight.") else "analytics"
                private = any(name.startswith("_") for name in [*names, *node.module.split(".")]) and node.level == 0
                assert public and floor in ("analytics", "solvers") and (not private or node.module == "__future__"), path


@EVERY_FOLDER
def test_the_package_airtight_does_not_know_it(folder):
    package = next(folder.glob("airtight_*")).name
    for top in ("airtight", "analytics", "solvers", "validate"):
        for path in (path for path in ROOT.joinpath(top).rglob("*.py") if path.resolve() == path):
            assert package not in path.read_text(), path


def test_their_evidence_and_readings_lie_beside_them():
    """And the evidence of our own papers is that of our own papers."""
    for source in (OURS, INSTALLED):
        assert {e.claim.id for e in evidence.shipped(source).evidence} == set(source.claims())
    kept = json.loads((ROOT / "validate" / "papers" / evidence.NAME).read_text())["rows"]
    assert set(kept) == set(OURS.claims()) != set(INSTALLED.claims())
    argued = {claim.id for claim in OURS.claims().values() if claim.argued}
    assert set(proof_reviews.record(OURS)) == argued != set(proof_reviews.record())


def test_verify_says_which_package_brings_a_paper():
    said = run("verify", "EI-sigma", "LB-PFL-laplace", "CB-d0", "--effort", "20").stdout.splitlines()
    listed = [line for line in said if line.startswith("from the package")]
    assert listed == [
        "from the package airtight-edge-inference 0.1.0: edge-inference",
        "from the package airtight-published-code 0.1.0: libraries",
    ]
    assert "package" not in run("verify", "CB-d0", "--effort", "20").stdout


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A folder of the path with an installed package of this code, and nothing else that is installed."""

    def installed(code, **files):
        (tmp_path / "stranger").mkdir()
        for name, text in {"__init__.py": code, **files}.items():
            (tmp_path / "stranger" / name.replace("_json", ".json").replace("_toml", ".toml")).write_text(text)
        info = tmp_path / "stranger-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[airtight.papers]\nstranger = stranger:PAPER\n")
        points = metadata.PathDistribution(info).entry_points
        monkeypatch.setattr(metadata, "entry_points", lambda group: [each for each in points if each.group == group])
        monkeypatch.syspath_prepend(tmp_path)
        forget()
        return tmp_path / "stranger"

    def forget():
        for kept in (sources._all, proof_reviews._of_installed, proof_reviews._record, proof_reviews._sections):
            kept.cache_clear()

    yield installed
    monkeypatch.undo()
    forget()
    sys.modules.pop("stranger", None)


PAPER = """from airtight import Claim, Paper, Reference, at_most, holds, parameter, proofs_beside
x = parameter("x", 0.0, 1.0)
PAPER = Paper(%r, "t", "a", 2026, [Claim(%r, "l", at_most(x**2, x), holds("x is at most 1."))], proofs=proofs_beside(__file__))
"""
_ODD = (PAPER % ("mine", "MY-1")).replace('holds("x is at most 1.")', "%s")
BROKEN = [
    ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    ("import sys; sys.exit(0)", "SystemExit: 0"),
    ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
    ("PAPER = 3", "must be a Paper, is 3"),
    ("PAPER =", "SyntaxError"),
    (PAPER % ("feature-dp", "MY-1"), "two papers have the identifier feature-dp"),
    (PAPER % ("mine", "FDP-D2"), "the identifier FDP-D2 is used in feature-dp and in mine"),
    (_ODD % "also=[Reference('CB-E1', 'mine', 'l')]", "the identifier CB-E1 is used in corbin-fl and in mine"),
    (_ODD % "paper='corbin-fl'", "MY-1 in mine must have no other paper"),
]
GOOD_VERBS = ["quantities --help", "bounds {0}/examples/fleet.toml", "try {0}/examples/lemmas.py L2 --effort 20", "schema"]


@pytest.mark.parametrize(("code", "needle"), BROKEN, ids=[needle for _, needle in BROKEN])
def test_a_package_that_cannot_be_used_is_named_in_one_line(beside, code, needle):
    """Where papers are needed; what needs none, and the evidence of our own papers, are there all the same."""
    beside(code)
    for command in ("verify CB-d0 --effort 20", "certify CB-d0 --out never"):
        result = run(*command.split())
        assert result.exit_code == 2 and result.stdout == "" and result.stderr.count("\n") == 1, result.output
        assert needle in result.stderr and "airtight.papers" in result.stderr
    with pytest.raises(SourceError):
        airtight.papers()
    for command in GOOD_VERBS:
        assert run(*command.format(ROOT).split()).exit_code == 0, command
    assert all(e.known for e in evidence.shipped(OURS).evidence)  # which looks for readings of proofs


def test_a_stranger_is_listed_tried_and_has_records(beside):
    folder = beside(PAPER % ("mine", "MY-1"), **{"proofs.md": "(my-1)=\n### MY-1\n\n*Hypotheses.* None.\n\nAs $x \\le 1$.\n"})
    assert airtight.claims()["MY-1"].argued == "docs/proofs.md#my-1" and INSTALLED.package("mine") == "stranger 1.0"
    result = run("verify", "mine", "--effort", "50")
    assert result.exit_code == 0 and "from the package stranger 1.0: mine" in result.stdout
    (found,) = airtight.verify(["MY-1"], effort=50)
    (folder / evidence.NAME).write_text(evidence.text([found], seed=0, effort=evidence.shipped(OURS).effort))
    assert evidence.shipped().evidence[-1].claim.id == "MY-1"
    (folder / evidence.NAME).write_text(evidence.text([found], seed=1, effort=50))
    with pytest.raises(SourceError, match="one seed and one effort"):
        evidence.shipped()
    for text in ("{", "[]", "{}", '{"seed": 0, "effort": 1, "rows": {"MY-1": {"verdict": "true"}}}'):
        (folder / evidence.NAME).write_text(text)
        with pytest.raises(SourceError, match="no evidence of claims"):
            evidence.shipped()
    (folder / proof_reviews.NAME).write_text("[mine]\n'MY-1' = 3\n")
    with pytest.raises(SourceError, match="no readings of proofs"):
        proof_reviews.record()


def test_evidence_of_another_package_says_nothing_of_our_rows(beside):
    """Only of the papers that lie beside it: a stranger's word on FDP-T1 is not read."""
    folder = beside(PAPER % ("mine", "MY-1"))
    ours = json.loads((ROOT / "validate" / "papers" / evidence.NAME).read_text())
    forged = {**ours, "rows": {"FDP-T1": {**ours["rows"]["FDP-T1"], "verdict": "holds"}}}
    (folder / evidence.NAME).write_text(json.dumps(forged))
    told = [e.verdict.value for e in evidence.shipped().evidence if e.claim.id == "FDP-T1"]
    assert told == ["false"]


def test_the_package_of_the_page_is_the_example_shortened(beside):
    """docs/howto-extend.md: its files, as they stand, are a package whose claim is EI-present and is argued."""
    page = (ROOT / "docs" / "howto-extend.md").read_text().partition("```{toctree}")[0]
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```", page, re.M | re.S))
    assert tomllib.loads(blocks["toml"])["project"]["entry-points"] == {packages.PAPERS: {"mine": "my_paper:PAPER"}}
    beside(blocks["python"], **{"proofs.md": blocks["markdown"]})
    ours, theirs = airtight.claims()["MY-present"], airtight_edge_inference.PAPER.claims[0]
    point = {"devices": 7, "participation": 0.3}
    assert ours.relation.values(point) == pytest.approx(theirs.relation.values(point), rel=1e-14)
    result = run("verify", "mine", "--json")
    (row,) = json.loads(result.stdout)
    assert result.exit_code == 0 and (row["verdict"], row["how"]) == ("holds", "argued")
    assert len(page.splitlines()) <= 151  # code of 80 columns


@pytest.mark.slow
def test_a_built_wheel_brings_its_paper(tmp_path):
    """Unpacked before the editable one on the path: found there, and tried, with its proofs, evidence and readings."""
    project, target = tmp_path / "project", tmp_path / "target"
    shutil.copytree(ROOT / "examples" / "papers" / "edge_inference", project)
    build = [sys.executable, "-c", "import hatchling.build as build; build.build_wheel('.')"]
    subprocess.run(build, cwd=project, check=True, capture_output=True)
    shutil.unpack_archive(next(project.glob("*.whl")), target, "zip")
    asked = """from airtight.validate.claims import evidence, proof_reviews
from airtight.validate.claims.sources import INSTALLED
print(INSTALLED.home("edge-inference"), INSTALLED.package("edge-inference"))
print(sum(e.claim.paper == "edge-inference" for e in evidence.shipped().evidence), "EI-present" in proof_reviews.record())
from airtight.commands.cli import main
main(["verify", "EI-sigma"])"""
    place = {"cwd": tmp_path, "env": {"PYTHONPATH": str(target)}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", asked], **place)
    home, records, *said = done.stdout.splitlines()
    assert home == f"{target}/airtight_edge_inference/__init__.py airtight-edge-inference 0.1.0" and records == "6 True"
    assert done.returncode == 0 and "from the package airtight-edge-inference 0.1.0: edge-inference" in said, done.stderr


def test_the_allocation_against_a_general_solver():
    from scipy.optimize import minimize

    allocate = allocation.allocate
    rng = np.random.default_rng(0)
    for _ in range(5):
        weight, least = rng.uniform(0.5, 3.0, 6), rng.uniform(0.1, 0.5, 6)
        budget = float(np.sum(1 / least)) * 0.4
        found = allocate(weight, least, budget=budget)
        assert found.spent <= budget * (1 + 1e-12) and np.all(found.noise >= least)
        assert 0 <= found.gap + 1e-12 <= 1e-9 * found.value
        other = minimize(
            lambda x, w=weight: w @ x,
            least * 3,
            bounds=[(m, None) for m in least],
            constraints={"type": "ineq", "fun": lambda x, b=budget: b - np.sum(1 / x)},
        )
        assert other.fun >= found.value * (1 - 1e-6) and other.fun == pytest.approx(found.value, rel=1e-4)
    free = allocate(np.ones(3), np.ones(3), budget=10.0)
    assert np.array_equal(free.noise, np.ones(3)) and free.gap == 0


def test_the_allocation_is_certified_in_fractions():
    certify = allocation.certify
    rng = np.random.default_rng(4)
    for share in (0.3, 0.9, 2.0):
        weight, least = 1.1 ** -np.arange(1, 31), rng.uniform(0.05, 0.5, 30)
        found = certify(weight, least, budget=float(np.sum(1 / least)) * share)
        assert found.allowed() and 0 <= found.value - found.bound <= found.value / 10**9
        higher = dataclasses.replace(found, multiplier=found.multiplier * 2 + Fraction(1, 10))
        assert higher.bound < found.bound  # the multiplier is the best one
        assert not dataclasses.replace(found, noise=tuple(x * Fraction(999, 1000) for x in found.noise)).allowed()


def test_the_power_saved_at_equal_exact_privacy():
    source = allocation
    saved = [source.exact_budget(e, 0.01) / source.printed_budget(e, 0.01) for e in (0.1, 1.0, 10.0)]
    assert saved == pytest.approx([7.6, 2.2, 1.24], rel=0.02)
    for e in (0.1, 1.0, 10.0):
        mu = np.sqrt(2 * source.exact_budget(e, 0.01))
        assert gaussian.delta(e, sensitivity=mu, sigma=1.0) <= 0.01 * (1 + 1e-12)


@pytest.mark.parametrize("module", [airtight_edge_inference.figures, airtight_privacy_for_free.figures])
def test_the_gallery_finds_the_figures_of_a_package(module):
    for name, draw in module.FIGURES.items():
        assert gallery.FIGURES[name] is draw and gallery.selected([name]) == [name]


def test_a_figure_of_a_package_has_our_style():
    markup = gallery.rendered("EI-privacy", airtight.Effort(1, 1, (), ())).markup
    assert gallery.style.COLOURS[3] in markup and gallery.style.STYLE["grid.color"] in markup and "#1f77b4" not in markup


def test_exact_privacy_never_costs_more_than_the_printed_constraint():
    module_ = airtight_privacy_for_free.figures
    rng = np.random.default_rng(1)
    gains = rng.uniform(0.5, 1.5, module_.USERS)
    for make in (module_.Access.together, module_.Access.in_turn):
        for epsilon, power in ((2.0, 1e4), (50.0, 1e3)):
            access = make(gains, power)
            found = module_.gaps(access, epsilon)
            assert found["free"] <= found["exact"] <= found["printed"] <= found["corrected"] <= found["static"]
            noise = access.adaptive(module_.exact_budget(epsilon, module_.DELTA))
            mu = np.sqrt(2 * np.sum(2 * module_.SAMPLE_BOUND**2 / noise, axis=0))
            assert np.all(gaussian.delta(epsilon, sensitivity=mu, sigma=1.0) <= module_.DELTA * (1 + 1e-9))
            assert np.all(noise >= access.least)


def test_the_noise_of_a_query_is_enough_and_no_more():
    module_ = airtight_edge_inference.figures
    for epsilon, p, n in ((1.0, 0.25, 5), (7.0, 0.5, 20), (13.0, 1.0, 10)):
        sigma = module_.noise(epsilon, participation=p, devices=n)
        present = p / (1 - (1 - p) ** n)
        inner = np.log(1 + (np.exp(epsilon) - 1) / present)
        reached = [
            present * gaussian.delta(inner, sensitivity=np.sqrt(2), sigma=x) for x in (sigma, sigma * (1 - 1e-6))
        ]
        assert reached[0] <= module_.DELTA * (1 + 1e-12) < reached[1]
