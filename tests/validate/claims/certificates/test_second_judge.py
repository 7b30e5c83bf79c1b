"""LeanCert as a second judge: it agrees with certificates, and shows that tampered ones are wrong or does not accept them."""

import json
import random
from fractions import Fraction

import pytest
import tampered

from airtight.validate.claims.certificates.second_judge import AGREES, DISAGREES, judged
from airtight.validate.claims.certificates.writing import certify
from airtight.validate.claims.sources import INSTALLED

REFUTED, PROVED = ("CB-T1-case", "UF-E51", "UF-E53"), ("UF-AS2", "UF-E26-best", "FDP-VI-power")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    pytest.importorskip("leancert", reason="the extra leancert is not installed")
    out = tmp_path_factory.mktemp("certificates")
    list(certify(out, [INSTALLED.claims()[name] for name in (*REFUTED, *PROVED)]))
    return out


def test_it_agrees(certificates):
    assert {name: judged(certificates / name) for name in (*REFUTED, *PROVED)} == dict.fromkeys(
        (*REFUTED, *PROVED), AGREES
    )


def _changed(folder, name, change):
    text = (folder / name).read_text()
    (folder / name).write_text(json.dumps(change(json.loads(text))))
    try:
        return judged(folder)
    finally:
        (folder / name).write_text(text)


def _raised(folder, side, other, by):
    """What the judge says when one side has become the other and a number more."""

    def change(claim):
        sides = claim["expression"]
        return claim | {"expression": sides | {side: {"op": "+", "args": [sides[other], str(by)]}}}

    return _changed(folder, "claim.json", change)


def test_a_hundred_tampered_certificates_of_each_kind(certificates):
    """A relation that holds at the witness after all, and one that fails on every box."""
    generator = random.Random(0)
    for i in range(100):
        by = Fraction(generator.randint(1, 2000), 100)
        for name, holds in ((REFUTED[i % 3], True), (PROVED[i % 3], False)):
            claim = json.loads((certificates / name / "claim.json").read_text())
            sides = ("claimed", "actual") if (claim["relation"] == "<=") is holds else ("actual", "claimed")
            assert _raised(certificates / name, *sides, by) == DISAGREES, name


@pytest.mark.parametrize("kind", tampered.KINDS)
def test_no_tampered_certificate_is_agreed_to(certificates, kind):
    """Of refuted rows it sees each change: number, sign and relation by its enclosures, hypotheses and domain at the point."""
    folders = [certificates / row for row in (*REFUTED, *PROVED)]
    for name in (tampered.REFUTED, tampered.PROVED):
        made = tampered.many(folders, name, kind, 10, random.Random(kind))
        said = {tampered.second(one) for one in made}
        assert said == {"rejected"} if name == tampered.REFUTED else said <= {"rejected", "silent"}
