"""A log of which a part is known to be checked: the same meter, for less work, and nothing that was changed passes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import airtight
from airtight import Meter, OverspentError, ParameterError, Round
from airtight.analytics.privacy import meter_log
from airtight.analytics.privacy.over_the_air import meter as meter_module
from airtight.commands import meter_command
from airtight.commands.cli import main

CURVE = airtight.gaussian(0.1)
KINDS = {
    "gaussian": {},
    "order": {"order": 8.0},
    "fixed": {"fixed": [(CURVE, 6)]},
}


def one(participants: list[int], noise: float = 600.0) -> Round:
    return Round(
        participants=participants, devices=3, noise_variance=noise, weight=1.0, clip=1.0, receiver_noise_variance=0.1
    )


def filled(kind: str, rounds: int, seed: int) -> Meter:
    rng, meter = np.random.default_rng(seed), Meter(3.0, 1e-5, devices=3, **KINDS[kind])
    for t in range(rounds):
        if kind == "fixed" and t % 3 == 1:
            meter.record(CURVE)
        else:
            meter.record(one(np.flatnonzero(rng.random(3) < 0.7).tolist(), float(rng.uniform(500, 900))))
    return meter


@given(st.sampled_from(["gaussian", "order"]), st.integers(0, 8), st.integers(0, 8), st.integers(0, 100))
@example("fixed", 5, 4, 0)
@settings(max_examples=25, deadline=None)
def test_the_same_meter(kind: str, before: int, after: int, seed: int) -> None:
    text = filled(kind, before + after, seed).to_json()
    part = Meter.from_json("".join(text.splitlines(keepends=True)[: before + 1]))
    again, whole = Meter.from_json(text, checked=part.checked()), Meter.from_json(text)
    for meter in (again, whole):
        meter.record(one([0, 2]))
    assert again.to_json() == whole.to_json() and again._left_of_fixed == whole._left_of_fixed
    np.testing.assert_array_equal(again._spent, whole._spent)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_a_changed_log_or_state_is_checked_whole(seed: int) -> None:
    rng, meter = np.random.default_rng(seed), filled("gaussian", 5, 0)
    text, state = meter.to_json(), meter.checked()
    place, digit = int(rng.integers(len(text) - 1)), str(rng.integers(10))
    if text[place] not in (digit, "\n"):
        with pytest.raises(ParameterError, match="log"):
            Meter.from_json(text[:place] + digit + text[place + 1 :], checked=state)
    place = int(rng.integers(len(state)))
    known = state[:place] + digit + state[place + 1 :]
    assert known == state or meter_module._known_part(text, meter.lines[0], known) is None
    np.testing.assert_array_equal(Meter.from_json(text, checked=known)._spent, meter._spent)


@pytest.mark.parametrize("again", [False, True])
def test_a_log_that_was_cut_or_rewritten_is_refused(again: bool) -> None:
    """Also when it went on since; a log that only has another first line is another log."""
    meter, other = filled("gaussian", 5, 0), Meter(4.0, 1e-5, devices=3)
    for rounds, more in ((4, 0), (0, 0), (3, 1), (3, 5)):
        shorter = Meter.from_json("".join(line + "\n" for line in meter.lines[: rounds + 1]))
        for _ in range(more):
            shorter.record(one([1]))
        with pytest.raises(ParameterError, match=f"{rounds + more} rounds.*5 rounds were checked before"):
            Meter.from_json(shorter.to_json(), checked=meter.checked(), again=again)
    assert Meter.from_json(other.to_json(), checked=meter.checked(), again=again).rounds == 0


def test_who_forges_the_state_is_found_by_the_log_alone() -> None:
    """It is not signed, as the log is not: what it hides shows when the log is read without it."""
    meter = Meter(1.0, 1e-5, devices=3)
    while meter.may(one([0], 60.0)):
        meter.record(one([0], 60.0))
    state = json.loads(meter.checked())
    forged = {**{k: v for k, v in state.items() if k not in ("previous", "hash")}, "spent": [[0.0] * 3] * 2}
    cheated = Meter.from_json(meter.to_json(), checked=meter_log.sealed(forged, meter_log.START)[0] + "\n")
    cheated.record(one([0], 60.0))
    with pytest.raises(ParameterError, match=f"line {len(cheated.lines)}.*would exceed"):
        Meter.from_json(cheated.to_json())
    with pytest.raises(OverspentError):
        meter.record(one([0], 60.0))


def test_the_command_refuses_a_log_that_was_rolled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To add to, to read and to report; under a link as well; and no new log takes its place."""
    monkeypatch.setattr(meter_command, "LONG", 2)
    log, link, new, system = (tmp_path / name for name in ("log.jsonl", "link.jsonl", "round.toml", "system.toml"))
    new.write_text(
        "participants = [0]\ndevices = 3\nnoise_variance = 600.0\nweight = 1.0\nclip = 1.0\nreceiver_noise_variance = 0.1\n"
    )
    system.write_text("[federated]\nclients = 10\nparameters = 5\nepsilon = 1.0\n")
    begun = ("meter", str(log), "--budget", "1", "--delta", "1e-5", "--devices", "3")
    assert CliRunner().invoke(main, begun).exit_code == 0
    link.symlink_to(log)
    for _ in range(3):
        assert CliRunner().invoke(main, ["meter", str(link), "--add", str(new)]).exit_code == 0
    log.write_text("".join(line + "\n" for line in log.read_text().splitlines()[:2]))
    before = log.read_bytes()
    report = ("report", str(system), "--out", str(tmp_path / "out"), "--log", str(log))
    for words in (("meter", str(log)), ("meter", str(link), "--add", str(new)), report):
        found = CliRunner().invoke(main, words)
        assert found.exit_code == 2 and "3 rounds were checked before" in found.stderr and log.read_bytes() == before
    log.unlink()
    found = CliRunner().invoke(main, begun)
    assert found.exit_code == 2 and "log.jsonl.checked" in found.stderr and not log.exists()


def test_the_command_computes_no_known_round_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter_command, "LONG", 3)
    computed: list[int] = []
    again = Meter._again
    monkeypatch.setattr(Meter, "_again", lambda self, entry: (computed.append(self.rounds), again(self, entry))[1])
    log, new, state = tmp_path / "log.jsonl", tmp_path / "round.toml", tmp_path / "log.jsonl.checked"
    new.write_text(
        "participants = [0]\ndevices = 3\nnoise_variance = 600.0\nweight = 1.0\nclip = 1.0\nreceiver_noise_variance = 0.1\n"
    )

    def run(*words: str) -> int:
        computed.clear()
        return CliRunner().invoke(main, ["meter", str(log), *words]).exit_code

    assert run("--budget", "1", "--delta", "1e-5", "--devices", "3") == 0
    for known in (0, 1, 2):
        assert not state.exists() and run("--add", str(new)) == 0 and len(computed) == known
    assert state.exists() and run("--add", str(new)) == 0 and not computed
    assert run() == 0 and len(computed) == 4  # reading checks all
    log.write_text(log.read_text().replace("600.0", "601.0", 1))
    before = log.read_bytes()
    assert run("--add", str(new)) == 2 and log.read_bytes() == before
    log.write_text(before.decode().replace("601.0", "600.0", 1))
    state.write_bytes(b"\xff")
    assert run("--add", str(new)) == 0 and len(computed) == 4
    assert Meter.from_json(log.read_text()).rounds == 5
