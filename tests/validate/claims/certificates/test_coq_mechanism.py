"""The mechanism in Coq speaks of examples/good.toml; test_coq.py compiles it."""

from __future__ import annotations

import re
from pathlib import Path

import airtight
from airtight.system_file.config import load
from airtight.validate.claims.certificates import formal

HERE = Path(formal.__file__).parent
FILES = ("Rows.v", "Gaussian.v", "Erfc.v", "Mass.v", "Vector.v", "Dimensions.v", "Noise.v", "OverTheAir.v")


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
