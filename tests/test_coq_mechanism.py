"""The mechanism in Coq: it speaks of examples/good.toml, proves nothing false, and assumes the classical reals alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import airtight
from airtight.validate.claims.certificates import coq
from airtight.validate.system_file.config import load

HERE = Path(coq.__file__).parent
FILES = ("Gaussian.v", "OverTheAir.v")
without_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed: make formal says how")


def test_the_statement_is_about_the_example() -> None:
    """The numbers of the theorem are those of the file, and its epsilon is that of `bounds`."""
    system = load(Path(airtight.__file__).parents[1] / "examples" / "good.toml").inference
    assert system is not None and system.adjacency == "silent" and (system.participation == 1).all()
    text = (HERE / "OverTheAir.v").read_text()
    defined = dict(re.findall(r"^Definition (\w+) := ([\d.]+)\.$", text, re.M))
    assert float(defined.pop("devices")) == system.devices
    assert set(defined) == {"noise_variance", "weight", "clip", "alignment", "receiver_noise_variance"}
    for name, value in defined.items():
        values = getattr(system, name)
        assert float(value) == (values if name in ("alignment", "receiver_noise_variance") else values[0])
    statement = text[text.index("Theorem system") :]
    assert re.findall(r"(~?) ?below \w+ \w+ ([\d.]+) 1e-5", statement) == [
        ("", "2"), ("", "2"), ("~", "1.999"), ("~", "1.999"),
    ]  # fmt: skip
    assert 1.999 < airtight.epsilon(system)[0] <= 2 and system.delta == 1e-5
    for name in FILES:
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", (HERE / name).read_text())


@pytest.mark.slow
@without_coq
def test_coq_proves_it_and_nothing_false(tmp_path: Path) -> None:
    folder = tmp_path / "formal"
    folder.mkdir()
    for name in FILES:
        shutil.copyfile(HERE / name, folder / name)
        assert coq._coqc(folder / name, tmp_path, 300).returncode == 0
    assert not coq.beyond(coq.assumptions(tmp_path))
    text = (folder / "OverTheAir.v").read_text()
    false = text.replace("Theorem good : delta mu 2 <= 1e-5", "Theorem good : delta mu 1.98 <= 1e-5")
    assert false != text
    (folder / "False.v").write_text(false)
    assert coq._coqc(folder / "False.v", tmp_path, 300).returncode != 0
    curve = (folder / "Gaussian.v").read_text()
    (folder / "Less.v").write_text(
        curve.replace("- exp eps * tail (eps / mu + mu / 2).", "- 2 * exp eps * tail (eps / mu + mu / 2).")
    )
    done = subprocess.run(["coqc", "-q", "Less.v"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0
