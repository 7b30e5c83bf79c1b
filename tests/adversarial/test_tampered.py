"""A hundred certificates of refuted rows and a hundred of proved ones that claim something else: check.py rejects each for it.

All rows, with Coq and LeanCert: `python tests/adversarial/tampered.py`.
"""

import random

import pytest
import tampered
from forgeries import checker

from airtight.validate.claims.certificates.writing import certify
from airtight.validate.claims.sources import INSTALLED

EACH = 20  # of every kind of change
ROWS = (
    *("FDP-D2", "FDP-E6", "FDP-F6-reliable", "CB-EU", "CB-T1-case", "UF-E51", "UF-E53", "UF-T1-step", "PC-hops"),
    *("FDP-F10-eta", "FDP-VI-power", "CB-X5", "CB-cost", "UF-F2-rises", "UF-E26-best", "IM-TF-order", "LB-DPL-laplace"),
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    out = tmp_path_factory.mktemp("certificates")
    list(certify(out, [INSTALLED.claims()[name] for name in ROWS]))
    return sorted(path.parent for path in out.glob("*/claim.json"))


@pytest.mark.parametrize("name", [tampered.REFUTED, tampered.PROVED])
@pytest.mark.parametrize("kind", tampered.KINDS)
def test_each_is_rejected_for_what_it_claims(certificates, name, kind):
    made = list(tampered.many(certificates, name, kind, EACH, random.Random(kind)))
    assert len(made) == EACH and len({one.row for one in made}) >= 3
    check = checker()
    assert [tampered.plain(one, check) for one in made] == ["rejected"] * EACH


def test_what_is_not_changed_is_rebuilt(certificates, tmp_path):
    """Both files are written as those of a tampered certificate are: it is the change that is rejected."""
    for folder in certificates:
        row, claim, name, beside = tampered.forgeries._read(folder)
        same = tampered.Tampered(row, "none", name, claim, beside)
        assert tampered.plain(same, checker()) == f"ACCEPTED {row}"
