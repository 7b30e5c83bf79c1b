"""LeanCert as a second judge: it agrees with certificates, and shows that tampered ones are wrong or does not accept them."""

import json
import random
from fractions import Fraction

import pytest

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


def test_a_hundred_tampered_certificates_of_each_kind(certificates):
    generator = random.Random(0)
    for i in range(100):
        folder, share = certificates / REFUTED[i % 3], Fraction(generator.randint(101, 2000), 100)
        # the sides change places, and one is multiplied: what was less is now more
        claim = json.loads((folder / "claim.json").read_text())
        sides, most = claim["expression"], claim["relation"] == "<="
        greater = "claimed" if most else "actual"
        raised = {
            "op": "+",
            "args": [sides["actual"], sides["claimed"], {"op": "*", "args": [str(share), sides["actual"]]}],
        }
        answer = _changed(
            folder, "claim.json", lambda c, g=greater, r=raised: c | {"expression": c["expression"] | {g: r}}
        )
        assert answer == DISAGREES, (folder.name, answer)
        folder = certificates / PROVED[i % 3]
        claim = json.loads((folder / "claim.json").read_text())
        lesser = "actual" if claim["relation"] == "<=" else "claimed"
        raised = {"op": "+", "args": [claim["expression"][lesser], str(10**6 * share)]}
        answer = _changed(
            folder, "claim.json", lambda c, g=lesser, r=raised: c | {"expression": c["expression"] | {g: r}}
        )
        assert answer == DISAGREES, (folder.name, answer)
