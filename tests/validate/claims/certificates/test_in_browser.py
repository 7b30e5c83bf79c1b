"""The page that rebuilds certificates in the reader's browser: in Chromium, as a file, under its policy, without a network."""

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from support.browser import CHROMIUM, Browser
from support.paths import ROOT

from airtight.report import in_browser, library
from airtight.validate.claims.certificates import writing
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.sources import INSTALLED

PYODIDE = Path(os.environ.get("PYODIDE") or ROOT / "build" / "pyodide")
NAMES = ("FDP-D2", "FDP-D2-eps1", "CB-T1*-bits", "CB-T1")
EVIDENCE = shipped().evidence


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    out = tmp_path_factory.mktemp("ledger") / "certificates"
    made = [one.id for one in writing.certify(out, [INSTALLED.claims()[name] for name in NAMES]) if one.certified]
    assert {"FDP-D2", "FDP-D2-eps1"} <= set(made) < set(NAMES)
    return out


def test_without_pyodide_the_page_says_so(certificates):
    html = in_browser.check_page(certificates, EVIDENCE, library.address, runs=False)
    assert "has no Pyodide" in html and "<button" not in html and "script-src 'sha256-" in html
    assert "wasm" not in html.partition("</head>")[0]


def test_the_policy_allows_no_more_than_is_needed(certificates):
    html = in_browser.check_page(certificates, EVIDENCE, library.address, runs=True)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'" and "connect-src" not in rules
    assert rules["worker-src"] == "blob:"
    assert {part for part in rules["script-src"].split() if "sha256" not in part} == {
        "'self'",
        "blob:",
        "'wasm-unsafe-eval'",
    }


def test_the_data_are_the_files(certificates):
    html = in_browser.check_page(certificates, EVIDENCE, library.address, runs=True)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])
    assert data["check"] == writing.CHECK.read_text() and hashlib.sha256(data["check"].encode()).hexdigest() in html
    for name, files in data["files"].items():
        assert files == {path.name: path.read_text() for path in (certificates / name).iterdir()}
    assert "CB-T1*-bits" not in data["files"], "an argued row has no certificate"


@pytest.mark.parametrize("npm", ["exit 1", 'touch "$5/pyodide.tgz"'], ids=["refused", "damaged"])
def test_what_npm_does_not_bring_is_left_out(tmp_path, monkeypatch, capsys, npm):
    """The build goes on, and one line says why."""
    (tmp_path / "npm").write_text(f"#!/bin/sh\n{npm}\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    fetch = runpy.run_path(str(ROOT / "docs" / "fetch_pyodide.py"))
    assert "npm does not bring pyodide" in fetch["fetched"](tmp_path / "pyodide")
    assert not (tmp_path / "pyodide").exists()
    assert "docs/fetch_pyodide.py $(PYODIDE)" in (ROOT / "Makefile").read_text()


def test_other_sums_are_refused(tmp_path, monkeypatch):
    """Whoever serves another package under the name does not get into the page."""
    package = tmp_path / "package"
    package.mkdir()
    for name in in_browser.SUMS:
        (package / name).write_text("{}")
    (tmp_path / "npm").write_text(f'#!/bin/sh\ntar -czf "$5/pyodide.tgz" -C "{tmp_path}" package\n')
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    fetch = runpy.run_path(str(ROOT / "docs" / "fetch_pyodide.py"))
    assert "other sums" in fetch["fetched"](tmp_path / "pyodide")
    assert not in_browser.complete(package)


needs_both = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(not in_browser.complete(PYODIDE), reason="no Pyodide in build/pyodide or $PYODIDE (make docs)"),
]
WAIT = """new Promise((done) => {
  const timer = setInterval(() => { const found = (() => { %s })(); if (found) { clearInterval(timer); done(found); } }, 50);
})"""
VERDICT = WAIT % "const v = document.getElementById('verdict'); return v.className && [v.className, v.textContent];"
CHANGED = """(() => {
  document.querySelector('[data-change="FDP-D2"]').click();
  const text = document.getElementById("text");
  text.value = text.value.replace(/("actual": \\[\\s*"[0-9.]*)\\d"/, (all, start) => `${start}%d"`);
  document.getElementById("fit").checked = %s;
  document.getElementById("verdict").className = "";
  document.getElementById("try").click();
})()"""


@pytest.fixture(scope="module")
def tab(certificates, tmp_path_factory):
    out = certificates.parent
    html = in_browser.check_page(certificates, EVIDENCE, library.address, runs=True)
    (out / "check.html").write_text(html, encoding="utf-8")
    (out / "pyodide.js").write_text(in_browser.script(PYODIDE), encoding="utf-8")
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        browser.open((out / "check.html").as_uri())
        yield browser


def marked(marks):
    def decorate(test):
        for mark in marks:
            test = mark(test)
        return test

    return decorate


@marked(needs_both)
def test_certificates_are_rebuilt_in_the_browser(tab, certificates):
    """Each row is green and says what python check.py prints, and nothing but files of the page was asked for."""
    command = [shutil.which("python3"), "-I", str(certificates / "check.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[1:-1]
    tab.run("document.getElementById('all').click()")
    finished = """const told = document.getElementById('progress').textContent;
      return /^[0-9]+ of|cannot/.test(told) && document.getElementById('stop').disabled && told;"""
    told = tab.run(WAIT % finished)
    assert told == f"{len(printed)} of {len(printed)} rebuilt, 0 rejected"
    rows = dict(
        tab.run("[...document.querySelectorAll('td.rebuilt')].map((cell) => [cell.closest('tr').id, cell.textContent])")
    )
    assert {f"{name}: {text.removeprefix('rebuilt: ')}" for name, text in rows.items()} == set(printed)
    addresses = {event["request"]["url"].partition(":")[0] for event in tab.told("Network.requestWillBeSent")}
    assert addresses <= {"file", "blob", "data"}
    assert tab.told("Log.entryAdded") == [] and tab.told("Runtime.exceptionThrown") == []


@marked(needs_both)
@pytest.mark.parametrize("fit", ["false", "true"])
def test_a_changed_digit_is_red(tab, fit):
    """With the published sums they and the arithmetic speak; with sums of a forger the arithmetic alone."""
    tab.run(CHANGED % (7, fit))
    kind, text = tab.run(VERDICT)
    assert kind == "rejected" and "FDP-D2: REJECTED: " in text and "is not the value to 25 digits" in text
    assert ("SHA256SUMS: REJECTED" in text) == (fit == "false")
    red = tab.run("getComputedStyle(document.getElementById('verdict')).color")
    assert red == "rgb(178, 24, 43)"


@marked(needs_both)
def test_what_is_still_true_is_accepted_with_its_sums(tab):
    """A wider range of the domain leaves the witness a witness, and a text that is no JSON is malformed."""
    change = """(() => {
      document.querySelector('[data-change="FDP-D2"]').click();
      const file = document.getElementById("file"), text = document.getElementById("text");
      file.value = "claim.json";
      file.dispatchEvent(new Event("change"));
      text.value = %s;
      document.getElementById("fit").checked = true;
      document.getElementById("verdict").className = "";
      document.getElementById("try").click();
    })()"""
    tab.run(change % 'text.value.replace(\'"location": "\', \'"location": "see \')')
    assert tab.run(VERDICT)[0] == "rebuilt"
    tab.run(change % "'{'")
    kind, text = tab.run(VERDICT)
    assert kind == "rejected" and "MALFORMED" in text


@marked(needs_both)
def test_everything_that_can_be_operated_has_a_name(tab):
    """As assistive technology sees it; results are announced, and the page fits a phone."""
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    roles = {}
    for node in nodes:
        if not node.get("ignored"):
            roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role in ("button", "combobox", "checkbox", "textbox"):
        assert roles[role] and all(roles[role]), role
    assert len(set(roles["button"])) == len(roles["button"]) and len(roles["status"]) == 2
    tab.call("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True)
    assert tab.run("document.documentElement.scrollWidth") <= 400


@marked(needs_both)
def test_stop_ends_the_check(tab):
    tab.run("document.getElementById('all').click()")
    tab.run("document.getElementById('stop').click()")
    assert tab.run("document.getElementById('progress').textContent") == "stopped"
    tab.run("document.querySelector('[data-check=\"FDP-D2\"]').click()")
    assert (
        tab.run(WAIT % "return document.getElementById('progress').textContent.startsWith('1 of 1') && 'again';")
        == "again"
    )
