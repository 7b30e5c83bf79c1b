"""The report: complete, self-contained, never half-written, and it renders in a browser."""

import base64
import csv
import itertools
import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from markupsafe import escape
from support.browser import Browser
from support.common import few_rounds
from support.paths import ROOT

from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.commands import report_command
from airtight.commands.cli import main
from airtight.report import library, page
from airtight.results.bounds import Bounds
from airtight.system_file.config import load
from airtight.validate.claims.evidence import shipped
from airtight.validate.experiments.figures import gallery
from airtight.validate.experiments.figures.figure import Effort
from airtight.validate.files import MANIFEST, OutputFolder

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "paper.toml"
TWO_SEEDS = EXAMPLE.read_text().replace("rounds = 60", "rounds = 6\nseeds = 2")
FLEET = EXAMPLE.with_name("fleet.toml")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "report"
    file = out.parent / EXAMPLE.name
    file.write_text(TWO_SEEDS)
    shutil.copy(EXAMPLE.with_name("features.npz"), file.parent)
    with few_rounds():
        result = CliRunner().invoke(main, ["report", str(file), "--out", str(out)])
    assert result.exit_code == 0, result.output
    (out.parent / "lines").write_text(result.stderr)
    return out


@pytest.fixture
def report_lines(report):
    lines = (report.parent / "lines").read_text().splitlines()
    return [line for line in lines if "own page" not in line]


def test_contents(report):
    written = [MANIFEST, "audit.html", "figures", "index.html", "report.csv", "report.json"]
    assert sorted(p.name for p in report.iterdir()) == written
    figures = {p.stem for p in (report / "figures").glob("*.svg")}
    assert len(figures) == 18 and figures == {p.stem for p in (report / "figures").glob("*.csv")}
    results = json.loads((report / "report.json").read_text())
    assert results["bounds"]["inference"]["privacy"]["published"]["theorem1"]["vacuous"] is True
    assert {row["id"] for row in results["verify"]} >= {"FDP-D2", "FDP-T1", "FDP-T1d"}
    assert results["version"] and results["seed"] == 0 and results["input"] == TWO_SEEDS
    assert results["schema"] == "airtight-report-1" and results["pending"] == []
    assert all(row["tightness"] is None or row["tightness"] > 0 for row in results["verify"])


def test_figures_come_with_their_data(report):
    rows = list(csv.reader((report / "figures" / "privacy-curves.csv").read_text().splitlines()))
    assert rows[0] == ["panel", "series", "x", "y", "value"]
    drawn = {row[1] for row in rows[1:]}
    assert drawn >= {"exact, absent", "exact, idle noise", "proven, silent"}
    exact = {float(row[3]): float(row[2]) for row in rows[1:] if row[1] == "exact, silent"}
    system = load(EXAMPLE).variants["clipped"]
    delta, epsilon = next(iter(exact.items()))
    assert epsilon == pytest.approx(float(system_privacy.epsilon(system, delta=delta)[0]))


def test_says_what_matters_and_stands_alone(report):
    pages = {name: (report / name).read_text() for name in ("index.html", "audit.html")}
    for needle in ("gives no ε here", "is false here", "gives no ε:", "<svg", "utility-fair learning", "(chance: 0.5)"):
        assert needle in pages["index.html"], needle
    for needle in ("certified in ball arithmetic", "<math", "FDP-T1-eq23", "Refuted by exhibiting it", "Certificate"):
        assert needle in pages["audit.html"], needle
    for name, html in pages.items():
        links = set(re.findall(r"""(?:src|href)=["'](?!#|data:)([^"']+)""", html))
        outside = {link for link in links if not (report / link.split("#")[0]).exists()}
        assert not outside, (name, outside)
        assert "@import" not in html and "url(http" not in html and len(html) < 1_500_000
        for anchor in re.findall(r"""href="#([^"]+)""", html):
            assert f'id="{anchor}"' in html, (name, anchor)


def test_an_exact_epsilon_is_rounded_up_in_every_table(report):
    """The exact epsilon of `paper` is 87.9917..., which no cell shows as 87.99."""
    cells = re.findall(r'<span title="87\.99\d+">([^<]+)</span>', (report / "index.html").read_text())
    assert len(cells) >= 4 and set(cells) == {"88.00"}


def test_markup(report):
    """Tags closed in order, no identifier twice, a title in every picture, no tiny slack and no nan."""
    for name in ("index.html", "audit.html"):
        html = (report / name).read_text()
        seen = Markup()
        seen.feed(html)
        assert not seen.open and not seen.faults, (name, seen.open, seen.faults[:3])
        assert len(seen.ids) == len(set(seen.ids)), [i for i in seen.ids if seen.ids.count(i) > 1][:5]
        for picture in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
            assert "<title" in picture
        unread = r"<script.*?</script>|<style.*?</style>|<title>.*?</title>|<svg.*?</svg>|<[^>]+>"
        text = re.sub(unread, " ", html, flags=re.DOTALL)
        assert not re.search(r"\bnan\b", text) and (name == "audit.html" or not re.search(r"e-1[2-9]\b", text))


class Markup(HTMLParser):
    void = frozenset({"meta", "input", "br", "link", "img", "hr"})

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.faults = [], [], []

    def handle_starttag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append((tag, self.getpos()))


def test_contrast():
    """Every ink on every paper reaches 4.5 (WCAG AA), light and dark."""
    style = (Path(page.__file__).parent / "templates" / "style.html").read_text()
    light = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", style[: style.index("@media")]))
    dark = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", style[style.index("@media") : style.index("figure svg")]))

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert set(light) == set(dark)
    for colours in (light, dark):
        for ink in ("ink", "soft", "bad", "good", "warn", "link"):
            for paper in ("paper", "wash"):
                a, b = sorted((luminance(colours[ink]), luminance(colours[paper])))
                assert (b + 0.05) / (a + 0.05) >= 4.5, (ink, paper)


class Accessible(HTMLParser):
    """What an aid for reading needs and does not find on a page."""

    def __init__(self, html):
        super().__init__()
        self.faults, self.headings, self.landmarks, self.in_label = [], [], [], 0
        self.labelled = set(re.findall(r'<label[^>]* for="([^"]+)"', html))
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        held = dict(attributes)
        named = bool(held.get("aria-label") or held.get("aria-labelledby") or held.get("id") in self.labelled or self.in_label)
        needs_name = tag in ("select", "textarea", "svg", "nav") or (tag == "input" and held.get("type") != "hidden")
        faulty = {
            "no language": tag == "html" and not held.get("lang"),
            "no name": needs_name and not named,
            "no text for a picture": tag == "img" and "alt" not in held,
            "no scope": tag == "th" and held.get("scope") not in ("col", "row"),
            "tabindex": int(held.get("tabindex", 0)) > 0,
        }
        self.faults += [(what, self.get_starttag_text()) for what, is_so in faulty.items() if is_so]
        self.in_label += tag == "label"
        if tag in ("main", "nav"):
            self.landmarks.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_endtag(self, tag):
        self.in_label -= tag == "label"


@pytest.mark.parametrize("name", ["index.html", "audit.html"])
def test_landmarks_headings_names_and_scopes(name, report):
    seen = Accessible((report / name).read_text())
    assert not seen.faults and sorted(seen.landmarks) == ["main", "nav"]
    assert seen.headings.count(1) == 1 and all(b - a <= 1 for a, b in itertools.pairwise(seen.headings))


def test_the_first_screen_has_the_headline_and_a_link_that_skips_to_it(report):
    html = (report / "index.html").read_text()
    body = html[html.index("<body>") :]
    assert body.startswith('<body>\n<a class="skip" href="#system">') and 'id="system"' in body
    assert f'<p class="headline">{escape(Bounds.of(load(report.parent / "paper.toml")).headline[0])}</p>' in body


def test_every_table_is_taken_along_as_csv_with_all_digits(report):
    html = (report / "index.html").read_text()
    files = re.findall(r'download="([^"]+)\.csv" href="data:text/csv;base64,([^"]+)"', html)
    assert len(files) == html.count("<caption") > 8
    rows = {name: list(csv.reader(base64.b64decode(data).decode().splitlines())) for name, data in files}
    assert all(len({len(row) for row in table}) == 1 for table in rows.values())
    variants = {row[0].split()[0]: float(row[2]) for row in rows["the-system-and-its-variants"][1:]}
    for name, system in load(report.parent / "paper.toml").systems.items():
        assert variants[name] == np.max(system_privacy.epsilon(system))
    whole = list(csv.DictReader((report / "report.csv").read_text().splitlines()))
    assert {row["system"] for row in whole} == {"paper", "clipped", "clipped-absent", "idle-noise"}


def test_on_paper_there_is_a4_no_control_and_no_dark_colour():
    style = (Path(page.__file__).parent / "templates" / "style.html").read_text()
    printed = style[style.index("@media print") :]
    assert "size: A4" in printed and re.search(r"\.scroll, \.maths \{ overflow: visible", printed)
    hidden = re.search(r"([^{}]+)\{ display: none; \}", printed)[1]
    assert {"nav", ".skip", ".download", ".controls", ".filters", "#live"} <= {each.strip() for each in hidden.split(",")}
    assert style.count("prefers-color-scheme") == style.count("@media screen and (prefers-color-scheme: dark)") == 1


def test_the_audit_anew_and_the_gallery_on_request(tmp_path, monkeypatch, one_processor):
    def one(description):
        return list(gallery.draw(["CB-4"], Effort.quick(), None))

    monkeypatch.setattr(report_command, "_redrawn", one)
    arguments = ["report", str(FLEET), "--out", str(tmp_path / "out"), "--audit", "--limit", "0.01", "--gallery"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert 'figure id="CB-4"' in (tmp_path / "out" / "index.html").read_text()
    assert "stopped" in (tmp_path / "out" / "audit.html").read_text()
    rows = json.loads((tmp_path / "out" / "report.json").read_text())["verify"]
    assert {row["fault"] for row in rows} <= {"stopped", None}


def test_writing_again_replaces(tmp_path):
    """What an earlier report wrote and this one does not is deleted; a figure of the user stays."""
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.svg").write_text("mine")
    for _ in range(2):
        result = CliRunner().invoke(main, ["report", str(FLEET), "--out", str(tmp_path), "--quiet"])
        assert result.exit_code == 0 and result.stderr == ""
        assert not (tmp_path / "figures" / "stale.svg").exists()
        with OutputFolder(tmp_path) as folder:
            folder.write({"figures/stale.svg": "old"})
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        MANIFEST,
        "audit.html",
        "figures",
        "index.html",
        "report.csv",
        "report.json",
    ]
    assert (tmp_path / "figures" / "mine.svg").read_text() == "mine"


def test_a_line_for_each_part(report_lines):
    assert [line.split(" (")[0] for line in report_lines] == [
        "airtight: bounds",
        *[f"airtight: {part}" for part in ("audit", "design", "observers", "federation and fleet", "learning")],
    ]


def test_ctrl_c_keeps_the_parts_that_are_done(tmp_path, monkeypatch):
    def interrupted(description):
        raise KeyboardInterrupt

    monkeypatch.setattr("airtight.report.drawing.drawings.of_others", interrupted)
    result = CliRunner().invoke(main, ["report", str(FLEET), "--out", str(tmp_path)])
    assert result.exit_code == 130 and result.stderr.splitlines()[-1] == "airtight: interrupted"
    html = (tmp_path / "index.html").read_text()
    assert "Not here yet: federation and fleet" in html and "can keep its deadline" in html
    assert json.loads((tmp_path / "report.json").read_text())["pending"][0] == "federation and fleet"


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PROBE = """<script>
const at = (id) => document.getElementById("live-" + id), told = {};
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
async function settled(id) {
  while (at(id).textContent === "…") await pause(10);
  return at(id).textContent;
}
function set(id, value, event) {
  const start = performance.now();
  at(id)[id === "idle" ? "checked" : "value"] = value;
  at(id).dispatchEvent(new Event(event));
  return performance.now() - start;
}
async function probe() {
  for (const name of ["participation", "dimension", "noise_variance", "clip", "alignment"]) {
    const before = await settled("exact"), value = at("slider-" + name).value;
    const took = set("slider-" + name, 150, "input");
    told[name] = [before, await settled("exact"), took];
    set("slider-" + name, value, "input");
  }
  while (!at("agreement").textContent) await pause(10);
  told.agreement = at("agreement").textContent;
  set("slider-rounds", 150, "input");
  told.absent = await settled("rounds");
  set("system", 1, "change");
  set("slider-rounds", 400, "input");
  told.rounds = await settled("rounds");
  for (const observer of ["others", "signal", "participants"]) {
    set("observer", observer, "change");
    told[observer] = await settled("exact");
  }
  set("slider-rounds", 200, "input");
  set("idle", true, "change");
  told.idle = await settled("rounds");
  told.why = at("why").textContent;
  await pause(3000);
  told.curves = document.querySelectorAll("#live-lines path").length;
  told.width = document.documentElement.scrollWidth;
}
probe().catch((error) => faults.push(String(error))).then(() => {
  told.faults = faults;
  document.body.innerHTML = "<pre id=probe></pre>";
  document.getElementById("probe").textContent = JSON.stringify(told);
});
</script>"""


def browse(page, folder, *flags):
    quiet = ["disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update"]
    every = ["headless", "no-sandbox", "disable-sync", "hide-scrollbars", f"user-data-dir={folder / 'profile'}", *quiet]
    arguments = [BROWSER, *(f"--{flag}" for flag in (*every, *flags)), page.as_uri()]
    return subprocess.run(arguments, check=True, capture_output=True, timeout=120).stdout.decode()


@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_neither_a_phone_nor_paper_is_too_narrow(scheme, report, tmp_path):
    """Axe-core on the page of a report; it sees a picture without a name."""
    package = pytest.importorskip("axe_core_python", reason="pip install '.[browser]'")
    axe = (Path(package.__file__).parent / "axe.min.js").read_text()
    found = "axe.run().then(all => all.violations.map(one => one.id))"
    with Browser(tmp_path) as browser:
        for name in ("index.html", "audit.html"):
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
            browser.open((report / name).as_uri())
            browser.run(f"{axe};1")
            assert browser.run("document.documentElement.scrollWidth") <= 390 and browser.run(found) == [], name
            paper = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.call("Emulation.setEmulatedMedia", **paper)
            browser.call("Emulation.setDeviceMetricsOverride", width=680, height=962, deviceScaleFactor=1, mobile=False)
            browser.run("dispatchEvent(new Event('beforeprint'))")
            wide = "[...document.querySelectorAll('table')].filter(each => each.getBoundingClientRect().right > 681).length"
            assert browser.run("document.documentElement.scrollWidth") <= 680 and browser.run(wide) == 0, name
            assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        browser.call("Emulation.setEmulatedMedia", media="screen", features=[])
        browser.open((report / "index.html").as_uri())
        browser.run(f"{axe};document.querySelector('svg').removeAttribute('aria-label')")
        browser.run("document.querySelector('svg title').remove()")
        assert browser.run(found) == ["svg-img-alt"]


@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_renders_in_a_browser(report, tmp_path):
    from matplotlib import image

    picture = tmp_path / "page.png"
    browse(report / "index.html", tmp_path, "window-size=1200,4000", f"screenshot={picture}")
    pixels = image.imread(picture)
    assert pixels.shape[:2] == (4000, 1200)
    ink = (pixels[..., :3].min(axis=2) < 0.6).mean(axis=1)
    for band in range(0, 4000, 500):
        assert ink[band : band + 500].mean() > 0.002, f"nothing drawn between {band} and {band + 500}"


@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_sliders_move_numbers_in_a_browser(report, tmp_path):
    """As a file, without a network, 500 pixels wide: no fault, nothing wider than the window, numbers that follow at once."""
    html = (report / "index.html").read_text()
    listen = '<script>const faults = []; window.onerror = (text) => faults.push(text);</script><meta charset="utf-8">'
    html = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)  # it would refuse the probe
    html = html.replace('<meta charset="utf-8">', listen, 1).replace("</body>", f"{PROBE}</body>")
    (tmp_path / "probe.html").write_text(html)
    flags = ("window-size=500,900", "virtual-time-budget=60000", "dump-dom")
    dom = browse(tmp_path / "probe.html", tmp_path, *flags)
    told = json.loads(unescape(re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert told.pop("faults") == [] and told.pop("width") <= 500 and told.pop("curves") == 1  # over T the exact one
    assert float(told.pop("absent")) > 10 and float(told.pop("rounds")) > 10
    seen = [float(told.pop(observer)) for observer in ("signal", "others", "participants")]
    assert seen[0] == seen[1] < seen[2]
    assert float(told.pop("idle")) > 0 and told.pop("why").startswith("T = ")
    assert float(told.pop("agreement").rpartition(" ")[2].rstrip(".")) < 1e-9
    for name, (before, after, milliseconds) in told.items():
        assert before != after and milliseconds >= 0, name


FRAMED = """<script>
const pages = PAGES, told = {};
async function measure([name, html]) {
  const frame = document.createElement("iframe");
  Object.assign(frame.style, { width: "400px", height: "800px", border: 0 });
  frame.srcdoc = html;
  document.body.append(frame);
  await new Promise((done) => { frame.onload = done; });
  const page = frame.contentDocument, root = page.documentElement, wide = (each) => each.scrollWidth > each.clientWidth;
  const seen = { cut: [...page.querySelectorAll(".scroll")].filter(wide).length, width: root.scrollWidth };
  frame.style.width = "1000px";
  frame.contentWindow.dispatchEvent(new Event("beforeprint"));
  seen.closed = page.querySelectorAll("details:not([open])").length;
  const range = page.createRange();
  seen.formula = Math.max(0, ...[...page.querySelectorAll(".maths")].map((each) => {
    range.selectNodeContents(each.firstElementChild);
    return range.getBoundingClientRect().width;
  }));
  frame.contentWindow.dispatchEvent(new Event("afterprint"));
  seen.again = page.querySelectorAll("details:not([open])").length;
  told[name] = seen;
}
(async () => { for (const one of pages) await measure(one); })().catch((error) => { told.fault = String(error); }).then(() => {
  document.body.innerHTML = "<pre id=probe></pre>";
  document.getElementById("probe").textContent = JSON.stringify(told);
});
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_every_page_fits_a_phone_and_paper(report, tmp_path):
    """400 pixels: no sideways scrolling, no column out of sight. On paper: all details open, no formula wider than the page."""
    evidence = shipped().evidence
    claims = {e.claim.id: library.claim_page(e, evidence, certified=True) for e in evidence if e.claim.id == "FDP-T1"}
    reported = {name: (report / name).read_text() for name in ("index.html", "audit.html")}
    pages = [*reported.items(), *claims.items(), ("ledger", library.index(evidence))]
    framed = FRAMED.replace("PAGES", json.dumps(pages).replace("<", "\\u003c"))
    (tmp_path / "framed.html").write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{framed}</body>')
    dom = browse(tmp_path / "framed.html", tmp_path, "window-size=1200,900", "virtual-time-budget=30000", "dump-dom")
    told = json.loads(unescape(re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert set(told) == {name for name, _ in pages}
    for name, seen in told.items():
        assert seen["width"] <= 400 and seen["cut"] == 0, (name, seen)
        assert seen["closed"] == 0 and seen["formula"] < 620, (name, seen)
    assert told["index.html"]["again"] > 0


def test_what_cannot_be_trained_is_left_out(tmp_path):
    """An infeasible fleet and more devices than there are views (201): the report comes all the same."""
    text = EXAMPLE.read_text().replace("deadline = 0.75 ", "deadline = 0.2 ").replace("rounds = 60", "rounds = 2")
    text = text[: text.index("[inference.features]")] + text[text.index("[federated]") :]
    text = text.replace("devices = 12", "devices = 202").replace("participation = 0.9", "participation = 1.0")
    path = tmp_path / "system.toml"
    path.write_text(text)
    result = CliRunner().invoke(main, ["report", str(path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    results = json.loads((tmp_path / "out" / "report.json").read_text())
    assert set(results["training"]) == {"federated"}
    assert results["trained"].startswith("Trained for 2 of 2 rounds with 2 of 5 seeds")
