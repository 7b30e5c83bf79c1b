"""A range of noise and scenarios of participation in [inference]: counted by `bounds`, refused by every other verb."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import airtight
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.commands.cli import main
from airtight.system_file import config, key_meanings

BASE = {
    "devices": 3,
    "participation": 0.8,
    "noise_variance": 0.3,
    "weight": 0.3,
    "clip": 2.0,
    "alignment": 1.0,
    "receiver_noise_variance": 0.1,
    "dimension": 20,
    "delta": 1e-3,
    "adjacency": "silent",
}
RANGE = {**BASE, "noise_variance_range": [[0.1, 0.5], [0.2, 0.3], [0.3, 0.3]]}
SCENARIOS = {"probability": [0.5, 0.25, 0.25], "participation": [0.9, [0.1, 0.8, 1.0], [0.0, 0.5, 0.5]]}
CORRELATED = {name: value for name, value in BASE.items() if name != "participation"}


def written(folder, inference, tables=None):
    lines = ["[inference]", *(f"{name} = {json.dumps(value)}" for name, value in inference.items())]
    for table, keys in (tables or {}).items():
        lines += [f"[inference.{table}]", *(f"{name} = {json.dumps(value)}" for name, value in keys.items())]
    path = folder / "mine.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("asked", [{}, {"observer": "others"}, {"rounds": 3}, {"colluding": 1}, {"colluding": [1]}])
def test_no_noise_of_the_range_has_a_greater_epsilon(tmp_path, asked):
    path = written(tmp_path, RANGE | asked)
    result = airtight.bounds(path).inference
    shown = result.privacy.asked
    for share in np.linspace(0, 1, 5):
        noise = [0.1 + 0.4 * share, 0.2 + 0.1 * share, 0.3]
        nominal = airtight.InferenceSystem(**{**BASE, **asked, "noise_variance": noise})
        assert np.all(system_privacy.epsilon_bracket(nominal).lower <= shown)
    quiet = airtight.InferenceSystem(**{**BASE, **asked, "noise_variance": [0.1, 0.2, 0.3]})
    if asked.get("observer") != "others":  # the quietest noise is the worst where the participation is visible
        np.testing.assert_array_equal(shown, airtight.epsilon(quiet))
    assert "over all noise variances" in result.headline[1]
    assert result.privacy.uncertain == "noise_variance_range"
    assert np.all(np.isinf(result.privacy.proven.epsilon))


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("rounds", [1, 2])
def test_scenarios_are_counted(tmp_path, hidden, rounds):
    path = written(tmp_path, CORRELATED | {"rounds": rounds}, {"scenarios": {**SCENARIOS, "hidden": hidden}})
    result = airtight.bounds(path).inference
    system = airtight.InferenceSystem(**BASE, rounds=rounds)
    rows = [[0.9] * 3, [0.1, 0.8, 1.0], [0.0, 0.5, 0.5]]
    verb = airtight.epsilon_over_scenarios(system, [0.5, 0.25, 0.25], rows, hidden=hidden)
    np.testing.assert_array_equal(result.privacy.asked, verb.upper)
    deltas = [airtight.delta(system.replace(participation=row), result.privacy.asked) for row in rows]
    assert np.all(np.array([0.5, 0.25, 0.25]) @ deltas <= 1e-3)
    assert "counts the scenarios" in result.headline[1]
    assert "0.475 to 0.825" in result.headline[2]  # the means


def test_the_screen_says_what_is_nominal(tmp_path):
    for path in (written(tmp_path, RANGE), written(tmp_path, CORRELATED, {"scenarios": SCENARIOS})):
        run = CliRunner().invoke(main, ["bounds", str(path)])
        assert run.exit_code == 0
        words = " ".join(run.output.split())
        assert "published bound: at noise_variance" in words or "here, with the mean of each device" in words
        assert "report" not in words


FILES = {"noise_variance_range": (RANGE, None), "scenarios": (CORRELATED, {"scenarios": SCENARIOS})}
COMMANDS = (
    "bounds FILE --rounds 1,2",
    "bounds FILE --link",
    "report FILE --out OUT",
    "attack FILE",
    "card FILE --out OUT.md",
    "calibrate FILE --epsilon 1",
    "design FILE",
    "solve weights FILE",
    "sweep FILE --over inference.clip=1,2 --out OUT",
    "train FILE",
    "map FDP-T1 FILE --over K=2,3 --over p=.5,.6 --out OUT.svg",
    "quantities FILE",
)


@pytest.mark.parametrize("key", FILES)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_other_command_refuses_it(tmp_path, key, command):
    path = written(tmp_path, *FILES[key])
    words = command.replace("FILE", str(path)).replace("OUT", str(tmp_path / "out")).split()
    run = CliRunner().invoke(main, words)
    assert run.exit_code == 2, run.output
    assert f"inference.{key}" in run.stderr


@pytest.mark.parametrize("key", FILES)
@pytest.mark.parametrize("verb", ["load", "epsilon", "delta", "curve", "mse", "calibrate", "design", "attack", "solve_weights"])
def test_every_other_verb_refuses_it(tmp_path, key, verb):
    arguments = {"delta": {"epsilon": 1.0}, "calibrate": {"epsilon": 1.0}}.get(verb, {})
    with pytest.raises(airtight.AirtightError, match=f"inference.{key}: this command takes"):
        getattr(airtight, verb)(written(tmp_path, *FILES[key]), **arguments)


SAMPLE_VARIANT = {"variants.louder": {"clip": 3.0}}
BAD = {
    "noise_variance = 0.6": ({**RANGE, "noise_variance": 0.6}, None, "noise_variance = 0.6 (device 0): must be in its"),
    "an inverted pair": ({**BASE, "noise_variance_range": [0.5, 0.1]}, None, "low at most high"),
    "two pairs for three": ({**BASE, "noise_variance_range": [[0, 1], [0, 1]]}, None, "a pair"),
    "three numbers": ({**BASE, "noise_variance_range": [0, 1, 2]}, None, "must be a list [low, high]"),
    "a text": ({**BASE, "noise_variance_range": "0 to 1"}, None, "must be a list [low, high]"),
    "a negative end": ({**BASE, "noise_variance_range": [-1, 1]}, None, "[0, inf)"),
    "a range over a channel": (RANGE, {"channel": {"antennas": 2}}, "inference.channel: must be absent beside"),
    "a range of variants": (RANGE, SAMPLE_VARIANT, "inference.variants: must be absent beside"),
    "a range of persons": ({**RANGE, "groups": [[0, 1]]}, None, "inference.groups: must be absent beside"),
    "a range and scenarios": (
        {**CORRELATED, "noise_variance_range": [0.1, 0.5]},
        {"scenarios": SCENARIOS},
        "must be absent beside",
    ),
    "participation twice": (BASE, {"scenarios": SCENARIOS}, "inference.participation: must be absent beside"),
    "probabilities of sum 2": (CORRELATED, {"scenarios": {**SCENARIOS, "probability": [1, 1, 0]}}, "sum to 1"),
    "two rows for three": (CORRELATED, {"scenarios": {**SCENARIOS, "participation": [1, 0]}}, "3 rows"),
    "a row of two": (CORRELATED, {"scenarios": {**SCENARIOS, "participation": [1, 0, [1, 0]]}}, "participation"),
    "a probability above 1": (CORRELATED, {"scenarios": {**SCENARIOS, "participation": [1, 0, 2]}}, "[0, 1]"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_allowed_is_named(tmp_path, case):
    inference, tables, said = BAD[case]
    with pytest.raises(config.SystemFileError) as refused:
        airtight.bounds(written(tmp_path, inference, tables))
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_what_is_not_proved_is_refused(tmp_path):
    with pytest.raises(airtight.AirtightError, match="one value for absent devices"):
        airtight.bounds(written(tmp_path, {**RANGE, "adjacency": "absent"}))


def test_the_keys_are_explained(tmp_path):
    meanings = {key.key: key for key in key_meanings.explained(written(tmp_path, *FILES["scenarios"]))}
    assert meanings["hidden"].default is True and "[0, 1]" in meanings["participation"].allowed
    meanings = {key.key: key for key in key_meanings.explained(written(tmp_path, *FILES["noise_variance_range"]))}
    assert meanings["noise_variance_range"].value == RANGE["noise_variance_range"]
