"""The built wheel holds what the packages hold, declares what they import, and offers the command where it is installed."""

import ast
import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PACKAGES = ("analytics", "solvers", "validate")
FEDERATED = "[federated]\nclients = 50\nparameters = 1000\nepsilon = 1.0\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True)
    (found,) = folder.glob("airtight_dp-*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info" not in name}
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    here = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert names == here | {"airtight.py"}


@pytest.mark.slow
def test_the_wheel_declares_what_is_imported(wheel):
    (text,) = (n for n in zipfile.ZipFile(wheel).namelist() if n.endswith(".dist-info/METADATA"))
    lines = zipfile.ZipFile(wheel).read(text).decode().splitlines()
    declared = {Requirement(line.split(": ", 1)[1]).name.lower() for line in lines if line.startswith("Requires-Dist")}
    owners = metadata.packages_distributions()
    for path in [ROOT / "airtight.py", *(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for top in {module.split(".")[0] for module in modules} - sys.stdlib_module_names - {*PACKAGES, "airtight"}:
                assert declared & {owner.lower() for owner in owners[top]}, (path, top)


@pytest.mark.slow
def test_wheel_in_an_environment_of_its_own(wheel, tmp_path):
    """With the libraries that are installed here: what they are the wheel declares, see above."""
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
    bounds = subprocess.run([*command, "bounds", str(ROOT / "examples" / "paper.toml"), "--json"], **here)
    assert json.loads(bounds.stdout)["inference"]["privacy"]["published"]["theorem1"]["vacuous"] is True
    (tmp_path / "mine.toml").write_text(FEDERATED)
    subprocess.run([*command, "report", "mine.toml", "--out", "report"], **here)
    assert (tmp_path / "report" / "index.html").stat().st_size > 50_000
    where = subprocess.run([python, "-c", "import validate; print(validate.__file__)"], **here)
    assert Path(where.stdout.strip()).is_relative_to(own)
