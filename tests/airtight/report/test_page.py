"""The page of systems at the edge: nobody takes part, no noise, no finite epsilon, many rounds."""

import base64
import hashlib
import itertools
import os
import re
from pathlib import Path

import pytest
from support.common import GOOD, written

from airtight.commands import report_command
from airtight.report import page
from airtight.report.drawing import drawings
from airtight.results.bounds import Bounds
from airtight.system_file import config
from airtight.system_file.config import load

ONE = GOOD.replace("devices = 3", "devices = 1").replace("[0.9, 0.5, 1.0]", "0.5").replace("0.3333333333333333", "1.0")


@pytest.mark.parametrize(
    ("changes", "needles"),
    [
        ({"participation = 0.5": "participation = 0.0"}, ["whether device 0 is there at all", "probability"]),
        ({"noise_variance = 0.1": "noise_variance = 0.0", "clip": 'adjacency = "silent"\nclip'}, ["No finite ε holds"]),
        ({"clip": 'adjacency = "replace"\nidle_noise = true\nclip'}, ["which of two features device 0 sends"]),
        ({"clip": 'rounds = 50\nadjacency = "silent"\nclip'}, ["after 50 rounds", '"rounds": 50']),
        ({"clip": 'observer = "signal"\nclip'}, ["receives y and nothing else", "one round, from above", "ε ≤"]),
    ],
)
def test_a_system_at_the_edge(tmp_path, changes, needles):
    text = ONE
    for old, new in changes.items():
        text = text.replace(old, new)
    description = load(written(tmp_path, text))
    parts = page.Parts(description, Bounds.of(description), source=text)
    parts.draw(drawings.of_inference(description, parts.bounds))
    parts.draw(drawings.of_observers(description))
    page.write(tmp_path / "out", parts)
    html = (tmp_path / "out" / "index.html").read_text()
    for needle in needles:
        assert needle in html, needle
    shown = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)
    assert not re.search(r"\bnan\b|\binf\b", shown)


def test_the_first_screen_is_of_unequal_devices_too(tmp_path):
    description = load(written(tmp_path, GOOD + 'adjacency = "silent"\n'))
    card = page.Parts(description, Bounds.of(description)).cards[0]
    assert card.true[card.worst] == max(card.true) and len(card.rows) == 3
    assert card.schemes["silent"] == card.true[card.worst] and len(card.sentences) == 3
    assert card.sentences[0].tone == "bad" and "gives no ε for this system" in card.sentences[0].text


def test_every_page_has_a_policy_and_every_table_a_caption():
    """No source but the page itself; the scripts are those that it was made with, by their sums."""
    templates = Path(page.__file__).parent / "templates"
    for path in templates.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert text.count("<table>") == text.count("<table>\n<caption"), path.name
        assert "onclick=" not in text and "javascript:" not in text
    html = page.secured(
        '<head>\n<meta charset="utf-8">\n</head><script>a</script><script type="application/json">{}</script>'
    )
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    digest = base64.b64encode(hashlib.sha256(b"a").digest()).decode()
    assert policy.startswith("default-src 'none'") and f"script-src 'sha256-{digest}';" in policy
    script = (templates / "live.js").read_text(encoding="utf-8")
    assert "aria-valuetext" in script and "overT || several ? { exact: [] }" in script


def test_a_save_writes_the_page_again_and_a_broken_file_is_said(tmp_path, monkeypatch, capsys):
    """The loop, driven by a watcher of ours: what changes is the file, no clock is asked."""
    watchfiles = pytest.importorskip("watchfiles", reason="pip install '.[watch]'")
    file, features = tmp_path / "mine.toml", tmp_path / "points.csv"
    saves = iter(["nothing", "mine.toml", "broken", "mine.toml", "points.csv", "end"])
    stamps = itertools.count(1)

    def save(path, text):
        path.write_text(text)
        os.utime(path, ns=(next(stamps), next(stamps)))

    def watch(*folders, yield_on_timeout, rust_timeout):
        assert yield_on_timeout and tmp_path in folders
        for one in saves:
            if one == "end":
                raise KeyboardInterrupt
            if one != "nothing":
                save(features if one == "points.csv" else file, "= no TOML" if one == "broken" else "[energy]\n")
            yield set()

    def write():
        config.read(file)
        written.append(file.read_text())

    save(file, "[energy]\n")
    save(features, "1\n")
    written = []
    monkeypatch.setattr(watchfiles, "watch", watch)
    with pytest.raises(KeyboardInterrupt):
        report_command._watched(write, file, {features})
    said = capsys.readouterr().err
    assert len(written) == 4 and next(saves, None) is None  # at first, and after each save but the broken one
    assert said.count("waiting until") == 5 and said.count("not valid TOML") == 1
