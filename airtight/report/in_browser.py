"""The page on which a reader's browser rebuilds the certificates of the ledger: OUT/check.html, beside OUT/certificates.

Python runs in the page by Pyodide and executes the published ``check.py``, in a worker, without a network: the certificates
are part of the page, and OUT/pyodide.js, a script, holds Pyodide. A page that is opened as a file may load a script, and
nothing else. Without Pyodide the page has no buttons and says so.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from markupsafe import Markup

from airtight.report import page
from airtight.validate.claims.evidence import Evidence

PYODIDE = "314.0.7"  # version of the npm package
SUMS = {
    "pyodide.mjs": "6f1d60f7bf529beb300f0f47983c921d3982363640ba20af0e38efdddbc66109",
    "pyodide.asm.mjs": "f7cdc8ece80678ceb712f8e65ebe6d3a83203a180c399865f49612a051693635",
    "pyodide.asm.wasm": "cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6",
    "python_stdlib.zip": "fa1957e5777068fc4f7437f96d860ae2fbe9c19732ba06c84e004ec16dd7dd7a",
    "pyodide-lock.json": "5dc2fc119108bc148c7457dc86e7675b5c87e1cafd420b9c34c1eaef7b36c010",
}  # SHA-256 of the files that are used
_SCRIPTS = "'self' blob: 'wasm-unsafe-eval'"  # pyodide.js, the modules in it, and WebAssembly


def complete(folder: Path) -> bool:
    """Whether a folder holds Pyodide, with the sums of the version that is used."""
    return all(
        (folder / name).is_file() and hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
        for name, digest in SUMS.items()
    )


def script(folder: Path) -> str:
    """Pyodide as a script that sets ``pyodideFiles``: each file compressed, in base 64."""
    files = {name: (folder / name).read_bytes() for name in SUMS}
    lock = json.loads(files["pyodide-lock.json"])
    files["pyodide-lock.json"] = json.dumps({"info": lock["info"], "packages": {}}).encode()  # check.py needs none
    packed = {name: base64.b64encode(gzip.compress(held, mtime=0)).decode() for name, held in files.items()}
    return f"globalThis.pyodideFiles = {json.dumps(packed)};\n"


def check_page(certificates: Path, evidence: Sequence[Evidence], address: Any, *, runs: bool) -> str:
    """The page for a folder of certificates; `runs` says whether pyodide.js lies beside it."""
    held = {
        e.claim.id: {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json"))}
        for e in evidence
        if (folder := certificates / e.claim.id).is_dir()
    }
    sums = (certificates / "SHA256SUMS").read_text(encoding="utf-8")
    checker = (certificates / "check.py").read_text(encoding="utf-8")
    html = (
        page.environment()
        .get_template("check.html")
        .render(
            version=version("airtight-dp"),
            runs=runs,
            pyodide=PYODIDE,
            rows=[e for e in evidence if e.claim.id in held],
            address=address,
            checker=hashlib.sha256(checker.encode()).hexdigest(),
            data=_embedded({"check": checker, "sums": sums, "files": held}),
        )
    )
    return page.secured(html, scripts=_SCRIPTS, workers="blob:") if runs else page.secured(html)


def _embedded(data: Any) -> Markup:
    """JSON inside a script element."""
    return Markup(json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"))
