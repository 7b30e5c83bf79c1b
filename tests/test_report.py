"""The report: complete, self-contained, never half-written, and it renders in a browser."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from validate import cli
from validate.cli import main
from validate.experiments.figures import gallery
from validate.experiments.figures.figure import Effort

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[1] / "examples" / "paper.toml"
FLEET = EXAMPLE.with_name("fleet.toml")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "report"
    result = CliRunner().invoke(main, ["report", str(EXAMPLE), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out


def test_contents(report):
    assert sorted(p.name for p in report.iterdir()) == ["figures", "index.html", "report.json"]
    assert len(list((report / "figures").glob("*.svg"))) == 14
    results = json.loads((report / "report.json").read_text())
    assert results["bounds"]["inference"]["privacy"]["published"]["theorem1"]["vacuous"] is True
    assert {row["id"] for row in results["verify"]} >= {"FDP-D2", "FDP-T1", "FDP-T1d"}


def test_says_what_matters_and_stands_alone(report):
    html = (report / "index.html").read_text()
    for needle in (
        "is vacuous here",
        "is false here",
        "certified in ball arithmetic",
        "<math",
        "<svg",
        "FDP-T1-eq23",
        "Scoreboard",
        "Refuted by exhibiting it",
        "utility-fair learning",
    ):
        assert needle in html
    links = re.findall(r"""(?:src|href)=["'](?!#)([^"']+)""", html)
    assert not links, links
    assert "@import" not in html and "url(http" not in html


def test_the_audit_anew_and_the_gallery_on_request(tmp_path, monkeypatch):
    def one(description):
        return list(gallery.draw(["CB-4"], Effort.quick(), None))

    monkeypatch.setattr(cli, "_redrawn", one)
    arguments = ["report", str(FLEET), "--out", str(tmp_path / "out"), "--audit", "--limit", "0.01", "--gallery"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    html = (tmp_path / "out" / "index.html").read_text()
    assert 'figure id="CB-4"' in html and "stopped" in html
    rows = json.loads((tmp_path / "out" / "report.json").read_text())["verify"]
    assert {row["fault"] for row in rows} <= {"stopped", None}


def test_writing_again_replaces(report):
    (report / "figures" / "stale.svg").write_text("old")
    result = CliRunner().invoke(main, ["report", str(EXAMPLE), "--out", str(report)])
    assert result.exit_code == 0 and not (report / "figures" / "stale.svg").exists()
    assert sorted(p.name for p in report.iterdir()) == ["figures", "index.html", "report.json"]


def test_renders_in_a_browser(report, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("chromium is not installed; the page was not rendered")
    picture = tmp_path / "page.png"
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--hide-scrollbars",
        "--window-size=1200,4000",
    ]
    subprocess.run(
        [browser, *flags, f"--screenshot={picture}", (report / "index.html").as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )
    from matplotlib import image

    pixels = image.imread(picture)
    assert pixels.shape[:2] == (4000, 1200)
    ink = (pixels[..., :3].min(axis=2) < 0.6).mean(axis=1)
    for band in range(0, 4000, 500):
        assert ink[band : band + 500].mean() > 0.002, f"nothing drawn between {band} and {band + 500}"


def test_what_cannot_be_trained_is_left_out(tmp_path):
    """An infeasible fleet and more devices than there are views: the report comes all the same."""
    text = EXAMPLE.read_text().replace("deadline = 0.75 ", "deadline = 0.2 ").replace("rounds = 60", "rounds = 2")
    text = text[: text.index("[inference.features]")] + text[text.index("[federated]") :]
    text = text.replace("devices = 12", "devices = 300")
    path = tmp_path / "system.toml"
    path.write_text(text)
    result = CliRunner().invoke(main, ["report", str(path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    results = json.loads((tmp_path / "out" / "report.json").read_text())
    assert set(results["training"]) == {"federated"}
