"""The mechanism in Coq: it speaks of examples/good.toml, proves nothing false, and assumes the classical reals alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import airtight
from airtight.validate.claims.certificates import formal
from airtight.validate.system_file.config import load

HERE = Path(formal.__file__).parent
FILES = ("Rows.v", "Gaussian.v", "Erfc.v", "Mass.v", "Vector.v", "Dimensions.v", "Noise.v", "OverTheAir.v")
without_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed: make formal says how")


def test_the_statement_is_about_the_example() -> None:
    """The numbers of the theorem are those of the file, and its epsilon is that of `bounds`."""
    system = load(Path(airtight.__file__).parents[1] / "examples" / "good.toml").inference
    assert system is not None and system.adjacency == "silent" and (system.participation == 1).all()
    text = (HERE / "OverTheAir.v").read_text()
    defined = dict(re.findall(r"^Definition (\w+) := ([\d.]+)\.$", text, re.M))
    assert float(defined.pop("devices")) == system.devices
    assert f"Definition dimension := {system.dimension}%nat." in text
    assert set(defined) == {"noise_variance", "weight", "clip", "alignment", "receiver_noise_variance"}
    for name, value in defined.items():
        values = getattr(system, name)
        assert float(value) == (values if name in ("alignment", "receiver_noise_variance") else values[0])
    assert set(re.findall(r"(~?) ?below(?:_in)? .* ([\d.]+) 1e-5", text)) == {("", "2"), ("~", "1.999")}
    assert 1.999 < airtight.epsilon(system)[0] <= 2 and system.delta == 1e-5
    for name in FILES:
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", (HERE / name).read_text())


@pytest.mark.slow
@without_coq
def test_coq_proves_it_and_nothing_false(tmp_path: Path) -> None:
    """The proofs name no numbers but those of the statement: they prove what is true only."""
    folder = tmp_path / "formal"
    folder.mkdir()
    for name in FILES:
        shutil.copyfile(HERE / name, folder / name)
        assert formal.coqc(folder / name, tmp_path).returncode == 0
    assert not formal.beyond(formal.assumptions(tmp_path))
    whole = (folder / "OverTheAir.v").read_text()
    text = whole[: whole.index("Qed.", whole.index("Theorem good")) + 4]
    statement = "delta mu 2 <= 1e-5 /\\ 1e-5 < delta mu 1.999."
    assert statement in text
    for enough, not_enough, weight, true in [
        ("2.01", "1.9999", "0.051689", True),
        ("1.9999", "1.999", "0.051689", False),
        ("2", "1.99999", "0.051689", False),
        ("2", "1.999", "0.05169", False),
        ("2", "1.999", "0.05166", False),
    ]:
        other = text.replace(statement, f"delta mu {enough} <= 1e-5 /\\ 1e-5 < delta mu {not_enough}.")
        (folder / "Other.v").write_text(other.replace("weight := 0.051689", f"weight := {weight}"))
        assert (formal.coqc(folder / "Other.v", tmp_path).returncode == 0) is true, (enough, not_enough, weight)
    curve = (folder / "Gaussian.v").read_text()
    (folder / "Less.v").write_text(
        curve.replace("- exp eps * tail (eps / mu + mu / 2).", "- 2 * exp eps * tail (eps / mu + mu / 2).")
    )
    assert formal.coqc(folder / "Less.v", tmp_path).returncode != 0
