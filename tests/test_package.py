"""The built wheel, installed into a clean environment, offers the command."""

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_wheel_in_a_clean_environment(tmp_path):
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(tmp_path),
            str(ROOT),
        ],
        check=True,
    )
    (wheel,) = tmp_path.glob("airtight_dp-*.whl")
    packages = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist() if ".dist-info" not in name}
    assert packages == {"airtight.py", "analytics", "solvers", "validate"}

    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    constraints = ROOT / "requirements.lock"
    install = [python, "-m", "pip", "install", "-q", "--no-compile", "-c", str(constraints), f"{wheel}[all]"]
    subprocess.run(install, check=True)
    command = [environment / "bin" / "airtight"]
    bounds = subprocess.run(
        [*command, "bounds", str(ROOT / "examples" / "paper.toml"), "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(bounds.stdout)["inference"]["privacy"]["published"]["theorem1"]["vacuous"] is True
    out = tmp_path / "report"
    subprocess.run(
        [
            *command,
            "report",
            str(ROOT / "examples" / "paper.toml"),
            "--out",
            str(out),
        ],
        check=True,
        cwd=tmp_path,
    )
    assert (out / "index.html").stat().st_size > 50_000
