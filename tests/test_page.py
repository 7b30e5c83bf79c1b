"""The page of systems at the edge: nobody takes part, no noise, no finite epsilon, many rounds."""

import re

import pytest
from support.common import GOOD, written

from airtight.validate.report import page
from airtight.validate.report.drawing import drawings
from airtight.validate.results.bounds import Bounds
from airtight.validate.system_file.config import load

ONE = GOOD.replace("devices = 3", "devices = 1").replace("[0.9, 0.5, 1.0]", "0.5").replace("0.3333333333333333", "1.0")


@pytest.mark.parametrize(
    ("changes", "needles"),
    [
        ({"participation = 0.5": "participation = 0.0"}, ["whether device 0 is there at all", "probability"]),
        ({"noise_variance = 0.1": "noise_variance = 0.0", "clip": 'adjacency = "silent"\nclip'}, ["No finite ε holds"]),
        ({"clip": 'adjacency = "replace"\nidle_noise = true\nclip'}, ["which of two features device 0 sends"]),
        ({"clip": 'rounds = 50\nadjacency = "silent"\nclip'}, ["after 50 queries", '"rounds": 50']),
        ({"clip": 'observer = "signal"\nclip'}, ["receives y and nothing else", "one query, from above", "ε ≤"]),
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
    assert card.sentences[0].tone == "bad" and "says nothing of this system" in card.sentences[0].text
