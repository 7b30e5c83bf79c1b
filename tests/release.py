"""What is released: builds wheel and source distribution, checks their metadata, and tries both in clean environments.

``make release``; each Python from 3.11 on that is on the path (or of pyenv) gets the wheel, the first one also what is built
from the source distribution. The wheel must work there without extras, as ``tests/clean.py`` has it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MINORS = range(11, 15)


def pythons():
    """One interpreter for each minor version that is at hand and runs."""
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        candidates = [sys.executable] if sys.version_info[1] == minor else []
        candidates += [str(path) for path in sorted(roots.glob(f"3.{minor}.*/bin/python"))]
        candidates += [found] if (found := shutil.which(f"python3.{minor}")) else []
        for candidate in candidates:
            asked = [candidate, "-c", "import sys, venv, ensurepip; print(sys.version_info[1])"]
            done = subprocess.run(asked, capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip() == str(minor):
                yield minor, candidate
                break
        else:
            print(f"Python 3.{minor}: not at hand", flush=True)


def environment(python, folder):
    """A new environment, by its interpreter."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def said(*command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def one_version():
    """The version of pyproject.toml, which the citation and the changelog have too."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if cited is None or cited[1] != version:
        raise SystemExit(f"CITATION.cff: version is not {version}")
    if f"## {version}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        print(f"CHANGELOG.md: has no section {version} yet", flush=True)
    return version


def main():
    version = one_version()
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as name:
        folder, built = Path(name), ROOT / "dist"
        tools = environment(sys.executable, folder / "tools")
        said(tools, "-m", "pip", "install", "-q", "--disable-pip-version-check", "build", "twine")
        shutil.rmtree(built, ignore_errors=True)
        said(tools, "-m", "build", "--outdir", built, ROOT, stdout=subprocess.DEVNULL)
        files = sorted(built.iterdir())
        said(tools, "-m", "twine", "check", "--strict", *files)
        wheel, sdist = next(built.glob("*.whl")), next(built.glob("*.tar.gz"))
        for number, (minor, python) in enumerate(pythons()):
            for what in [wheel, sdist] if number == 0 else [wheel]:
                own = environment(python, folder / f"{minor}-{what.suffix}")
                said(own, "-m", "pip", "install", "-q", "-q", "--disable-pip-version-check", what)
                said(own, ROOT / "tests" / "clean.py", cwd=folder, env=outside)
                print(f"Python 3.{minor}: {what.name} works", flush=True)
    print(f"{version}: {', '.join(file.name for file in files)} in dist")


if __name__ == "__main__":
    main()
