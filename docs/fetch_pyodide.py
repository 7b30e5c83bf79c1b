"""Puts Pyodide into a folder, for the page that checks certificates in the reader's browser: python docs/fetch_pyodide.py FOLDER.

npm brings the package, and only files with the sums of airtight.report.in_browser are taken. A folder that has them
is left alone. Without npm or a network one line says so, and the documentation is built without the check.
"""

import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from airtight.report.in_browser import PYODIDE, SUMS, complete

PATIENCE = 300  # seconds


def fetched(folder: Path) -> str:
    """Fetch Pyodide where it is missing; why it is still missing, or nothing."""
    if complete(folder):
        return ""
    with TemporaryDirectory() as name:
        command = ["npm", "pack", f"pyodide@{PYODIDE}", "--silent", "--pack-destination", name]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
            (archive,) = Path(name).glob("*.tgz")
            with tarfile.open(archive) as held:
                for each in SUMS:
                    if (member := held.extractfile(f"package/{each}")) is not None:
                        (Path(name) / each).write_bytes(member.read())
        except (OSError, subprocess.SubprocessError, tarfile.TarError, KeyError, ValueError) as error:
            return f"npm does not bring pyodide {PYODIDE} ({type(error).__name__})"
        if not complete(Path(name)):
            return f"what npm brought as pyodide {PYODIDE} has other sums"
        folder.mkdir(parents=True, exist_ok=True)
        for each in SUMS:
            (folder / each).write_bytes((Path(name) / each).read_bytes())
    return ""


if __name__ == "__main__":
    if reason := fetched(Path(sys.argv[1])):
        print(f"the documentation is built without a check in the browser: {reason}", file=sys.stderr)
