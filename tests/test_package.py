"""The built wheel holds what the packages hold, declares what they import, and offers the command where it is installed."""

import ast
import contextlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import hatchling.build
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import airtight
from airtight import public_names

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "airtight"
FLOORS = ("analytics", "solvers", "validate")
FEDERATED = "[federated]\nclients = 50\nparameters = 1000\nepsilon = 1.0\n"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    with contextlib.chdir(ROOT):
        return folder / hatchling.build.build_sdist(str(folder))


@pytest.fixture(scope="module")
def wheel(sdist):
    """Built from what the source distribution holds, not from the checkout."""
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent, filter="data")
    with contextlib.chdir(sdist.with_name(sdist.name.removesuffix(".tar.gz"))):
        return sdist.parent / hatchling.build.build_wheel(str(sdist.parent))


def test_the_stub_names_what_the_face_loads():
    """Type checkers read the stub, Python the table it is made from."""
    assert public_names.STUB.read_text(encoding="utf-8") == public_names.stub(), "run python -m airtight.public_names"
    assert all(getattr(airtight, name) for name in airtight.__all__)
    defined = ast.parse((PACKAGE / "verbs.py").read_text(encoding="utf-8")).body
    verbs = {node.name for node in defined if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert verbs == set(airtight.HOMES["verbs"])


USER = """import airtight
from airtight import public_names
system = airtight.InferenceSystem(devices=2, participation=1.0, noise_variance=0.1, weight=0.5, clip=1.0, alignment=1.0,
    receiver_noise_variance=0.1, dimension=4, delta=1e-5)
features = airtight.Features(f=[[1.0]], W=[[[1.0]]], D=[[1.0]])
reveal_type(airtight.design(system, features, epsilon_at_most=2.0))
reveal_type(airtight.solve_weights(system, features))
reveal_type(airtight.bounds(system))
reveal_type(airtight.load("x.toml").inference)
reveal_type(airtight.epsilon(system))
reveal_type(airtight.gaussian(1.0))
airtight.frontier(system, features, epsilon=[1.0, 2.0], error=[0.5], free=["weight"])
airtight.solve_weights(system, features, cap="exakt")
airtight.design(system, features, epsilon_at_mots=2.0)
airtight.epsilon(system, observer="signals")
system.replace(adjacency="silent")
airtight.InferenceSystem(devices=2, participation=1.0, noise_variance=0.1, weight=0.5, clip=1.0, alignment=1.0,
    receiver_noise_variance=0.1, dimension=4, delta=1e-5, adjacency="silnet")
airtight.Channel(fading="rician", k_factor=1.0)
airtight.Channel(fading="rice")
"""
MISSPELT = ("exakt", "epsilon_at_mots", "signals", "silnet", "rice")


def sources():
    """Every file of the package; its three floors are links to folders of the checkout."""
    found = [path for name in (".", *FLOORS) for path in (PACKAGE / name).rglob("*")]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "airtight",
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
    }
    assert {n for n in names if ".dist-info" not in n} == {path.relative_to(ROOT).as_posix() for path in sources()}


@pytest.mark.slow
def test_the_source_distribution_is_complete(sdist):
    with tarfile.open(sdist) as archive:
        assert not [member.name for member in archive if member.issym() or member.islnk()]
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    links = {f"airtight/{floor}" for floor in FLOORS}
    assert {name for name in listed if not name.startswith(".")} - links == names - {"PKG-INFO", ".gitignore"}


@pytest.mark.slow
def test_a_clone_without_links_is_whole(wheel, tmp_path):
    """As on Windows: each link is a text file with the name of a folder. Built, installed as it is, and started in place."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "-c", "core.symlinks=false", "clone", "-q", str(ROOT), str(clone)], check=True)
    assert (clone / "airtight" / "analytics").is_file()
    asked = """import hatchling.build as build
print(build.build_wheel("wheel"), build.build_sdist("sdist"), build.build_editable("editable"))"""
    subprocess.run([sys.executable, "-c", asked], cwd=clone, check=True, capture_output=True)
    (built,), (source,), (editable,) = (list((clone / name).iterdir()) for name in ("wheel", "sdist", "editable"))
    names = set(zipfile.ZipFile(wheel).namelist())
    assert set(zipfile.ZipFile(built).namelist()) == names
    with tarfile.open(source) as archive:
        floors = {f"airtight/{name.split('/', 1)[1]}" for name in archive.getnames() if name.split("/")[1] in FLOORS}
    assert floors == {name for name in names if name.split("/")[1] in FLOORS}
    (pth,) = (name for name in zipfile.ZipFile(editable).namelist() if not name.split("/")[0].endswith(".dist-info"))
    assert zipfile.ZipFile(editable).read(pth).decode().strip() == str(clone)
    zipfile.ZipFile(built).extractall(tmp_path / "installed")
    asked = """import airtight, airtight.commands.cli, airtight.validate as floor
print(floor.__file__, airtight.gaussian(1.0).epsilon(1e-5))"""
    for place, home in ((tmp_path / "installed", "airtight/validate"), (clone, "validate")):
        done = subprocess.run([sys.executable, "-c", asked], cwd=place, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(str(place / home))


@pytest.mark.slow
def test_the_wheel_declares_what_is_imported(wheel):
    (text,) = (n for n in zipfile.ZipFile(wheel).namelist() if n.endswith(".dist-info/METADATA"))
    lines = zipfile.ZipFile(wheel).read(text).decode().splitlines()
    declared = {Requirement(line.split(": ", 1)[1]).name.lower() for line in lines if line.startswith("Requires-Dist")}
    owners = metadata.packages_distributions()
    for path in [path for path in sources() if path.suffix == ".py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for top in {module.split(".")[0] for module in modules} - sys.stdlib_module_names - {"airtight"}:
                # what is not installed here is an extra of its own, whose project has the name of its module
                assert declared & {owner.lower() for owner in owners.get(top, [top])}, (path, top)


@pytest.mark.slow
def test_wheel_in_an_environment_of_its_own(wheel, tmp_path):
    """With the libraries that are installed here (which they are the wheel declares, see above), started in a folder
    whose own modules have the names of our floors."""
    for name in ("analytics/__init__.py", "solvers.py", "validate/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise RuntimeError('not what airtight imports')")
    environment = tmp_path / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    (own / "shared.pth").write_text(sysconfig.get_path("purelib"))
    install = [
        sys.executable,
        "-m",
        "pip",
        f"--python={python}",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(install, check=True)
    command = [environment / "bin" / "airtight"]
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    here = {"capture_output": True, "text": True, "check": True, "cwd": tmp_path, "env": outside}
    bounds = subprocess.run([*command, "bounds", str(ROOT / "examples" / "good.toml"), "--json"], **here)
    assert len(json.loads(bounds.stdout)["inference"]["privacy"]["exact"]["epsilon"]) > 1
    (tmp_path / "mine.toml").write_text(FEDERATED)
    subprocess.run([*command, "report", "mine.toml", "--out", "report"], **here)
    assert (tmp_path / "report" / "index.html").stat().st_size > 50_000
    asked = "import airtight; print(airtight.__file__); airtight.gaussian(1.0); airtight.solve_weights"
    where = subprocess.run([python, "-c", asked], **here)
    assert Path(where.stdout.strip()).is_relative_to(own)
    again = subprocess.run([python, "-m", "airtight", "bounds", "mine.toml"], **here)
    assert "bits of a client and round" in again.stdout
    a_type_checker_sees_what_verbs_return(python, here | {"check": False})


def a_type_checker_sees_what_verbs_return(python, here):
    """And that a misspelt choice is none."""
    (here["cwd"] / "user.py").write_text(USER)
    checked = [sys.executable, "-m", "mypy", "--strict", f"--python-executable={python}", "user.py"]
    told = subprocess.run(checked, **here).stdout
    seen = [line.split('"')[1] for line in told.splitlines() if "Revealed type" in line]
    names = [name.partition("[")[0].rpartition(".")[2] for name in seen]
    assert names == ["JointDesign", "Solution", "Bounds", "InferenceSystem | None", "ndarray", "PrivacyCurve"], told
    assert seen[-1] == "airtight.analytics.privacy.accounting.privacy_curve.PrivacyCurve"
    complaints = [line for line in told.splitlines() if "error:" in line]
    assert all(sum(word in line for line in complaints) >= 1 for word in MISSPELT), told
    assert {int(line.split(":")[1]) for line in complaints} == {
        number for number, line in enumerate(USER.splitlines(), 1) if any(word in line for word in MISSPELT)
    }, told


def test_the_citation_has_the_version_of_the_package():
    import release

    assert release.one_version() == metadata_of("pyproject.toml")["version"]


def test_the_lowest_lock_is_that_of_the_declared_bounds():
    """Each lower bound of pyproject.toml that any index can offer is the version that ``make lowest`` installs."""
    locked = locked_in("requirements-lowest.lock")
    project = metadata_of("pyproject.toml")
    declared = [
        *project["dependencies"],
        *(r for e in ("verify", "design", "sweep") for r in project["optional-dependencies"][e]),
    ]
    for requirement in map(Requirement, declared):
        (bound,) = (one.version for one in requirement.specifier)
        assert Version(locked[requirement.name]) >= Version(bound), requirement
        assert Version(locked[requirement.name]).release[:2] == Version(bound).release[:2], requirement


def locked_in(name):
    """The versions of a lock by project, each with a digest of a file at least, and no place where it was found."""
    text = (ROOT / name).read_text(encoding="utf-8").replace(" \\\n    ", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert "://" not in text and all("--hash=sha256:" in line for line in lines)
    return dict(line.split(" ", 1)[0].split("==") for line in lines)


def test_what_is_locked_suffices_for_what_is_installed():
    locked = locked_in("requirements.lock")
    project = metadata_of("pyproject.toml")
    extras = project["optional-dependencies"]
    named = ("design", "train", "sweep", "test", "lint", "docs", "bench")
    wanted = [*project["dependencies"], *(requirement for extra in named for requirement in extras[extra])]
    assert {Requirement(requirement).name.lower() for requirement in wanted} <= set(locked)
    uses = re.findall(r"uses: (\S+)", (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert uses and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in uses)


def metadata_of(name):
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))["project"]
