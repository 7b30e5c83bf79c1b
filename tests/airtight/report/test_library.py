"""The ledger as pages and data: addresses that stay, links that lead somewhere, data by its schema, the same bytes again."""

import json
import re
from html.parser import HTMLParser

import fastjsonschema
import pytest
from support.paths import ROOT

from airtight.report import library
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.sources import INSTALLED


class _Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("ledger")
    certificate = out / "certificates" / "FDP-D2" / "claim.json"
    certificate.parent.mkdir(parents=True)
    certificate.write_text("{}")
    (out / "certificates" / "check.py").write_text("")
    return out, library.write(out)


def test_every_claim_has_a_page_of_its_own(built):
    out, files = built
    addresses = {library.address(name) for name in INSTALLED.claims()}
    assert len(addresses) == len(INSTALLED.claims())
    assert {p.relative_to(out).as_posix() for p in files} >= addresses
    assert all(re.fullmatch(r"claims/[A-Za-z0-9.-]+\.html", one) for one in addresses)
    for e in shipped().evidence:
        text = (out / library.address(e.claim.id)).read_text()
        assert f">{e.said}</span>" in text and "<math" in text, e.claim.id
    assert "certificates/FDP-D2/claim.json" in (out / library.address("FDP-D2")).read_text()


def test_links_lead_somewhere(built):
    for path in built[1]:
        if path.suffix != ".html":
            continue
        for link in _Links(path.read_text()).found:
            assert not link.startswith("http"), "it is read without a network"
            target = link.partition("#")[0]
            assert not target or (path.parent / target).is_file(), (path.name, link)


def test_the_data_are_by_their_schema(built):
    out, _ = built
    valid = fastjsonschema.compile(json.loads((out / "ledger.schema.json").read_text()))
    tree = json.loads((out / "ledger.json").read_text())
    valid(tree)
    assert len(tree["claims"]) == sum(len(p.claims) + len(p.items) for p in INSTALLED.papers().values())
    shape = json.loads((out / "ledger.schema.json").read_text())["definitions"]["claim"]["properties"]
    assert {key for row in tree["claims"] for key in row} == set(shape)
    tree["claims"][0]["verdict"] = "true"
    with pytest.raises(fastjsonschema.JsonSchemaException):
        valid(tree)


def test_the_crate_names_what_is_there(built):
    out, files = built
    graph = {one["@id"]: one for one in json.loads((out / "ro-crate-metadata.json").read_text())["@graph"]}
    parts = {part["@id"] for part in graph["./"]["hasPart"]}
    assert parts == {p.relative_to(out).as_posix() for p in files} - {"ro-crate-metadata.json"} <= set(graph)
    assert graph["ro-crate-metadata.json"]["about"] == {"@id": "./"}


def test_the_same_version_makes_the_same_bytes(built, tmp_path):
    _, first = built
    again = library.write(tmp_path)
    assert [p.name for p in again] == [p.name for p in first]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(first, again, strict=True) if a.name != "FDP-D2.html")


def test_the_makefile_builds_it():
    assert "airtight.report.library" in (ROOT / "Makefile").read_text()
