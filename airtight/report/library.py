"""The ledger as pages and data with stable addresses: ``python -m airtight.report.library OUT [PYODIDE]``.

The pages are made from the shipped evidence, so that the same version makes the same bytes. OUT then holds:

- ``index.html``: every claim, with search and filters that need no server;
- ``claims/NAME.html``: one claim, at an address that never changes; NAME is its identifier with words instead of signs;
- ``ledger.json``: the same as data; its schema is ``ledger.schema.json``;
- ``ro-crate-metadata.json``: a description of the folder (RO-Crate 1.1).

Certificates that lie in ``OUT/certificates`` (``airtight certify --out``) are linked, and ``check.html`` rebuilds them in the
reader's browser if the folder PYODIDE holds Pyodide (:mod:`airtight.report.in_browser`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from airtight.report import in_browser, page
from airtight.results.schema import as_json
from airtight.validate import program
from airtight.validate.claims.claim import FAILING, Claim, Severity, Verdict
from airtight.validate.claims.evidence import Evidence, How, item_as_json, shipped
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.files import OutputFolder

SCHEMA = "airtight-ledger-1"
_WORDS = {"*": "-star", "'": "-prime", "+": "-plus"}
_UNSTEADY = ("seconds", "error")  # fields that describe one run and not the claim


def address(name: str) -> str:
    """Address of the page of a claim, relative to the ledger.

    Examples
    --------
    >>> address("CB-T1*-bits")
    'claims/CB-T1-star-bits.html'
    """
    return f"claims/{''.join(_WORDS.get(letter, letter) for letter in name)}.html"


def data(evidence: Sequence[Evidence]) -> dict[str, Any]:
    """The ledger as a tree for JSON: the papers, and all items with verdict, witness and how it is known."""
    papers = INSTALLED.papers().values()
    rows = [{"address": address(e.claim.id), **e.as_json()} for e in evidence]
    rows += [{"address": None, **item_as_json(item)} for paper in papers for item in paper.items]
    return {
        "schema": SCHEMA,
        "version": version("airtight-dp"),
        "papers": [{"id": p.id, "title": p.title, "authors": p.authors, "year": p.year} for p in papers],
        "claims": [{name: value for name, value in row.items() if name not in _UNSTEADY} for row in rows],
    }


def schema() -> dict[str, Any]:
    """JSON Schema of ledger.json, with the allowed words of verdicts and severities."""
    tree: dict[str, Any] = json.loads(
        files("airtight.report").joinpath("templates/ledger.schema.json").read_text("utf-8")
    )
    parts = tree["definitions"]["claim"]["properties"]
    for name, words in (("verdict", Verdict), ("expected", Verdict), ("how", How)):
        parts[name] = {"enum": [word.value for word in words]}
    parts["severity"] = {"enum": [*(kind.value for kind in Severity), None]}
    return tree


def write(out: Path, pyodide: Path | None = None) -> list[Path]:
    """Write all files into a folder; returns their paths."""
    evidence, certificates = shipped().evidence, out / "certificates"
    certified = {e.claim.id for e in evidence if _certified(out, e.claim)}
    checked = bool(certified) and (certificates / "SHA256SUMS").is_file()
    runs = pyodide is not None and in_browser.complete(pyodide)
    pages = {
        address(e.claim.id): claim_page(e, evidence, certified=e.claim.id in certified, runs=checked and runs)
        for e in evidence
    }
    if checked:
        pages["check.html"] = in_browser.check_page(certificates, evidence, address, runs=runs)
    if checked and runs and pyodide is not None:
        pages["pyodide.js"] = in_browser.script(pyodide)
    tree = json.dumps(as_json(data(evidence)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    files_of_ledger = {
        "index.html": index(evidence, checked=checked),
        **pages,
        "ledger.json": tree,
        "ledger.schema.json": json.dumps(schema(), indent=1) + "\n",
    }
    files_of_ledger["ro-crate-metadata.json"] = json.dumps(crate(sorted(files_of_ledger)), indent=1) + "\n"
    with OutputFolder(out) as folder:
        return folder.write(files_of_ledger)


def claim_page(e: Evidence, evidence: Sequence[Evidence], *, certified: bool, runs: bool = False) -> str:
    """The page of one claim: statement, verdict, how it is known, witnesses, corrections.

    It links the certificate if the claim is `certified`, and its check in the browser if that `runs`.
    """
    by_id = {other.claim.id: other for other in evidence}
    template = page.environment().get_template("claim.html")
    html = template.render(
        e=e,
        paper=INSTALLED.papers()[e.claim.paper],
        refuted=e.verdict in FAILING,
        corrected=by_id.get(e.claim.ruling.corrected_by),
        corrects=[other.claim for other in evidence if other.claim.ruling.corrected_by == e.claim.id],
        certified=certified,
        runs=runs,
        up=lambda name: f"../{address(name)}",
        version=version("airtight-dp"),
    )
    return page.secured(html)


def index(evidence: Sequence[Evidence], *, checked: bool = False) -> str:
    """The page that lists every claim with a link to its own page, with search and filters; `checked`: check.html is there."""
    template = page.environment().get_template("library.html")
    listed = page.listed(evidence)
    return page.secured(template.render(version=version("airtight-dp"), address=address, checked=checked, **listed))


def crate(names: Sequence[str]) -> dict[str, Any]:
    """RO-Crate metadata of the folder, of the papers, and of each file."""
    papers = INSTALLED.papers().values()
    about = [{"@id": f"#{p.id}", "@type": "ScholarlyArticle", "name": p.title, "author": p.authors} for p in papers]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": "The ledger: published theorems of private wireless learning, checked by machine",
        "description": "Every numbered statement of the papers: a verdict, a witness or how it is known, what is true instead.",
        "version": version("airtight-dp"),
        "license": "https://spdx.org/licenses/MIT.html",
        "about": [{"@id": entry["@id"]} for entry in about],
        "hasPart": [{"@id": name} for name in names],
    }
    descriptor = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    kinds = {".html": "text/html", ".json": "application/json", ".js": "text/javascript"}
    parts = [{"@id": name, "@type": "File", "encodingFormat": kinds[Path(name).suffix]} for name in names]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [descriptor, root, *about, *parts]}


def _certified(out: Path, claim: Claim) -> bool:
    return (out / "certificates" / claim.id / "claim.json").is_file()


if __name__ == "__main__":
    program.run(
        lambda words: print(f"{len(write(*map(Path, words[:2])))} files"),
        "airtight.report.library FOLDER [PYODIDE]",
        least=1,
    )
