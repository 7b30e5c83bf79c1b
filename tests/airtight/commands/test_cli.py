"""The commands as a user runs them: contract of the JSON, and one clear line for every wrong input."""

import dataclasses
import json
import math
import tomllib

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.common import GOOD, TASK, archive, refused, run, written
from support.paths import ROOT

import airtight
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, system_privacy
from airtight.commands.cli import main
from airtight.validate.claims.claim import holds
from airtight.validate.claims.sources import INSTALLED, Source

EXAMPLE = ROOT / "examples" / "paper.toml"


def test_bounds_json_follows_the_contract(tmp_path):
    result = run("bounds", written(tmp_path, GOOD), "--json")
    assert result.exit_code == 0 and result.stderr == ""
    privacy = json.loads(result.stdout)["inference"]["privacy"]
    assert privacy["adjacency"] == "absent"
    for form in ("theorem1", "eq23"):
        claim = privacy["published"][form]
        assert set(claim) >= {"t", "mean_noise", "vacuous", "epsilon", "delta"} and len(claim["epsilon"]) == 3
    assert claim["vacuous"] is True and claim["epsilon"] == ["inf"] * 3
    system = InferenceSystem(**tomllib.loads(GOOD)["inference"])
    assert privacy["exact"]["epsilon"] == system_privacy.epsilon(system).tolist()
    assert privacy["exact"]["delta"] == 1e-5
    assert privacy["proven"]["epsilon"] == amplification.proven(system).epsilon.tolist()
    assert privacy["proven"]["delta"] == [1e-5] * 3


def test_bounds_of_the_example_say_what_the_issue_is_about():
    tree = json.loads(run("bounds", EXAMPLE, "--json").stdout)["inference"]
    assert tree["privacy"]["published"]["theorem1"]["vacuous"] is True
    clipped = tree["variants"]["clipped-absent"]["privacy"]
    claim = clipped["published"]["eq23"]
    assert claim["epsilon"][0] < clipped["exact"]["epsilon"][0] and claim["true_delta"][0] > 100 * claim["delta"][0]
    assert tree["variants"]["clipped"]["privacy"]["exact"]["epsilon"][0] < 1


def test_bounds_table():
    """The verdict comes first, the step that helps last, and details with --all alone (users.md 13)."""
    first, last = (lambda lines: (lines[0], lines[-1]))(run("bounds", EXAMPLE).stdout.splitlines())
    assert first == "paper: NO VARIANT IS BOTH PRIVATE AND USEFUL (4 variants, 1 round, delta 1e-5)"
    assert last.startswith(f"      airtight bounds {EXAMPLE} --all")
    whole = run("bounds", EXAMPLE, "--all").stdout
    assert whole.startswith(first)
    for needle in ("published", "proven", "exact", "vacuous", "infinite", "0-11", "adjacency silent"):
        assert needle in whole


def test_first_screens_fit_and_say_what_helps(monkeypatch):
    """80 columns where stdout is no terminal, at most 20 lines before the next step, no cell cut."""
    monkeypatch.delenv("COLUMNS", raising=False)
    good = "examples/good.toml"
    monkeypatch.chdir(ROOT)
    for words in (["bounds", good], ["solve", "weights", good], ["solve", "energy", "examples/fleet.toml"]):
        lines = run(*words).stdout.splitlines()
        assert max(map(len, lines)) <= 80 and len(lines) <= 26, words
        assert "…" not in "".join(lines) and any(line.startswith("Next: airtight ") for line in lines), words
    assert "epsilon 2.000, all devices" in run("bounds", good).stdout


def test_help_shows_whole_sentences_in_groups():
    """No line is cut, and every command stands in one of the groups (users.md 13)."""
    text = run("--help").stdout.partition("\n")[2]  # without the line of usage
    assert "..." not in text
    for title in ("Is my system private and useful?", "What should my devices do?", "Is a theorem true?"):
        assert title in text
    for name in main.commands:
        assert sum(line.split()[:1] == [name] for line in text.splitlines()) == 1, name
        assert "..." not in run(name, "--help").stdout.partition("\n")[2], name


def test_bounds_answer_every_key_of_the_contract(tmp_path):
    from airtight.analytics.distributions import selection
    from airtight.analytics.inference import accuracy, distortion
    from airtight.analytics.inference.features import Features

    archive(tmp_path)
    tree = json.loads(run("bounds", written(tmp_path, GOOD + TASK), "--json").stdout)["inference"]
    assert set(tree) == {"headline", "never_send", "privacy", "distortion", "accuracy", "selection"}
    assert set(tree["distortion"]) >= {"published", "exact"}
    assert set(tree["accuracy"]) >= {"published", "short_paper", "markov", "exact"}
    with np.load(tmp_path / "features.npz") as arrays:
        features = Features(**arrays)
    system = InferenceSystem(**tomllib.loads(GOOD)["inference"])
    assert tree["distortion"]["exact"] == distortion.exact(system, features)
    assert tree["distortion"]["published"] == distortion.published(system, features)
    assert sum(tree["distortion"]["breakdown"].values()) == pytest.approx(tree["distortion"]["exact"])
    inside = accuracy.within_margin(system, features, margin=2.0).estimate
    assert tree["accuracy"]["exact"] == 0.95 * inside
    lowest = tree["selection"]["scheme_2_2"]
    assert isinstance(lowest["published_lower"], float)
    assert lowest["exact"] == selection.probability([0.1, 0.3, 0.2], 0.3, 1).tolist()
    for key in ("published_upper", "proven_lower", "proven_upper"):
        assert len(lowest[key]) == 3
    assert len(tree["selection"]["scheme_2_1"]["participation"]) == 3
    table = run("bounds", tmp_path / "system.toml", "--all").stdout
    for needle in ("mean squared error", "accuracy", "participation probabilities", "bias"):
        assert needle in table


def test_privacy_of_selection_needs_a_sensitivity_and_neighbours_with_scores(tmp_path):
    archive(tmp_path)
    table = TASK + "score_sensitivity = 0.5\n"
    absent = json.loads(run("bounds", written(tmp_path, GOOD + table), "--json").stdout)
    assert "privacy" not in absent["inference"]["selection"]["scheme_2_1"]
    text = GOOD + 'adjacency = "replace"\n' + table
    tree = json.loads(run("bounds", written(tmp_path, text), "--json").stdout)["inference"]["selection"]
    assert "proven" not in tree["scheme_2_1"]["privacy"]  # what the others' scores are at most is not known
    text += "greatest_score = 1.5\n"
    tree = json.loads(run("bounds", written(tmp_path, text), "--json").stdout)["inference"]["selection"]
    for scheme in ("scheme_2_1", "scheme_2_2"):
        privacy = tree[scheme]["privacy"]
        assert privacy["adjacency"] == "replace" and len(privacy["proven"]["epsilon"]) == 3
        assert privacy["proven"]["delta"] == [1e-5] * 3


TASK_WRONG = [
    ("margin = 2.0", "margin = 0.0", ["inference.features.margin = 0.0", "(0, inf)"]),
    ("ideal_accuracy = 0.95", "ideal_accuracy = 1.5", ["inference.features.ideal_accuracy = 1.5", "[0, 1]"]),
    ("ideal_accuracy = 0.95", "", ["inference.features.ideal_accuracy", "missing"]),
    ("epsilon_cap = 4.0", "epsilon_cap = nan", ["inference.features.epsilon_cap = nan"]),
    ('file = "features.npz"', 'file = "none.npz"', ["none.npz", "No such file"]),
    ('file = "features.npz"', 'file = "."', ["inference.features.file"]),
    ('file = "features.npz"', 'file = "system.toml"', ["inference.features.file", ".npz"]),
    ('file = "features.npz"', "file = 3", ["inference.features.file = 3", "string"]),
    ("margin = 2.0", "margin = 2.0\nmargins = 2.0", ["inference.features.margins", "unknown key", "ideal_accuracy"]),
    ("score = [0.1, 0.3, 0.2]", "score = [0.1, 0.3]", ["inference.selection.score", "3 numbers"]),
    ("score = [0.1, 0.3, 0.2]", "score = [0.1, nan, 0.2]", ["inference.selection.score[1] = nan"]),
    ("score_noise = 0.3", "score_noise = 0.0", ["inference.selection.score_noise = 0.0", "(0, 1e150]"]),
    ("threshold = 0.5", "threshold = inf", ["inference.selection.threshold = inf"]),
    ("selected = 1", "selected = 4", ["inference.selection.selected = 4", "[1, 3]"]),
    ("selected = 1", "selected = 1.0", ["inference.selection.selected = 1.0", "integer"]),
    ("selected = 1", "selected = 1\ngreatest_score = 0.1", ["inference.selection.greatest_score = 0.1"]),
    ("selected = 1", "selected = 1\nscore_sensitivity = -1", ["inference.selection.score_sensitivity = -1"]),
]


@pytest.mark.parametrize(("old", "new", "needles"), TASK_WRONG)
def test_wrong_tasks(tmp_path, old, new, needles):
    archive(tmp_path)
    assert old in TASK
    refused(run("bounds", written(tmp_path, GOOD + TASK.replace(old, new, 1))), "system.toml", *needles)


@pytest.mark.parametrize(
    ("changes", "needles"),
    [
        ({"D": None}, ["missing: D"]),
        ({"f": np.zeros((2, 5))}, ["W = "]),
        ({"W": np.zeros((3, 4, 6))}, ["W = "]),
        ({"D": np.zeros((5, 3)), "W": np.zeros((3, 5))}, ["D = ", "r = 4"]),
        ({"f": np.full((3, 5), np.inf)}, ["f[0, 0] = inf"]),
        ({"f": np.array([["a"] * 5] * 3)}, ["f: must be numbers"]),
        ({"f": np.array([[None] * 5] * 3)}, ["features.npz"]),
    ],
)
def test_wrong_archives(tmp_path, changes, needles):
    archive(tmp_path, **changes)
    refused(run("bounds", written(tmp_path, GOOD + TASK)), "inference.features.file = 'features.npz'", *needles)


def test_verify_json_and_exit_code(monkeypatch):
    result = run("verify", "UF-Tab1-parameters", "FDP-L3", "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["id"] for row in rows] == ["UF-Tab1-parameters", "FDP-L3"]
    contract = (
        "id paper location statement expected verdict severity how witness near_paper claimed actual scale margin"
    )
    assert set(rows[0]) >= {
        *contract.split(),
        *["share_violated", "true_where", "corrected_by", "certified", "evaluations", "seconds"],
    }
    assert rows[0]["witness"]["point"] == {} and rows[0]["certified"] and rows[0]["severity"] == "misprint"
    assert rows[0]["actual"] == 109386 and rows[0]["claimed"] == 109375
    low, high = map(float, rows[0]["witness"]["actual"])
    assert low <= rows[0]["actual"] <= high
    assert rows[1]["corrected_by"] == "FDP-L3*" and rows[1]["how"] == "witness"

    wrong = dataclasses.replace(INSTALLED.claims()["FDP-L3"], ruling=holds("turned round"))
    monkeypatch.setattr(Source, "claims", lambda self: {"FDP-L3": wrong})
    assert run("verify", "FDP-L3").exit_code == 1


def test_verify_table():
    result = run("verify", "UF-Tab1-parameters", "FDP-D2")
    assert result.exit_code == 0
    for needle in (
        "UF-Tab1-parameters",
        "false",
        "2 of 2 verdicts reproduced; 2 claims are refuted.",
        "theorem ",
        "misprint ",
        "delta=1e-05, mu=1.74",
        "certified",
        "FDP-D2-eps1",
    ):
        assert needle in result.stdout


def test_verify_stops_at_its_limit():
    result = run("verify", "CB-A1", "CB-A2", "CB-E2*", "--limit", "1e-9", "--json")
    assert result.exit_code == 1
    assert {row["fault"] for row in json.loads(result.stdout)} == {"stopped"}


WRONG = [
    ("devices = 3", "devices = 0", ["inference.devices = 0", "[1, inf)"]),
    ("devices = 3", "devices = 3.5", ["inference.devices = 3.5", "integer"]),
    ("devices = 3", "devices = true", ["inference.devices = True", "integer"]),
    ("devices = 3", "", ["inference.devices", "missing"]),
    ("1.0]", "1.5]", ["inference.participation[2] = 1.5", "[0, 1]"]),
    ("0.5, 1.0]", "0.5]", ["inference.participation", "3 numbers"]),
    ("0.5, 1.0]", "'x', 1.0]", ["inference.participation", "number"]),
    ("noise_variance = 0.1\nweight", "noise_variance = -0.1\nweight", ["inference.noise_variance = -0.1", "[0, inf)"]),
    ("weight = 0.3333333333333333", "weight = nan", ["inference.weight = nan", "[0, inf)"]),
    ("clip = 2.0", "clip = 0", ["inference.clip = 0", "(0, inf)"]),
    ("clip = 2.0", "clip = []", ["inference.clip", "number"]),
    ("alignment = 1.0", "alignment = [1.0]", ["inference.alignment", "number"]),
    ("alignment = 1.0", "alignment = inf", ["inference.alignment = inf", "(0, inf)"]),
    ("receiver_noise_variance = 0.1", "receiver_noise_variance = '1'", ["inference.receiver_noise_variance", "number"]),
    ("dimension = 4", "dimension = 0", ["inference.dimension = 0", "[1, inf)"]),
    ("delta = 1e-5\n", "delta = 0.0\n", ["inference.delta = 0.0", "(0, 1)"]),
    ("delta_prime = 1e-5", "delta_prime = 1.0", ["inference.delta_prime = 1.0", "(0, 1)"]),
    (
        "delta_prime = 1e-5",
        "delta_prime = 1e-5\nadjacency = 'gone'",
        ["inference.adjacency = 'gone'", "absent, silent, replace"],
    ),
    ("delta_prime = 1e-5", "delta_prime = 1e-5\nidle_noise = 1", ["inference.idle_noise = 1", "bool"]),
    ("delta_prime = 1e-5", "delta_prime = 1e-5\ncolour = 1", ["inference.colour", "unknown key", "participation"]),
    ("[inference]", "[inferense]", ["inference"]),
    (
        "delta_prime = 1e-5",
        "delta_prime = 1e-5\n[inference.variants.x]\nclip = -1",
        ["inference.variants.x.clip", "(0, inf)"],
    ),
    (
        "delta_prime = 1e-5",
        "delta_prime = 1e-5\n[inference.variants.x]\nclop = 1",
        ["inference.variants.x.clop", "unknown key"],
    ),
    ("devices = 3", "devices = ", ["not valid TOML"]),
]


@pytest.mark.parametrize(("old", "new", "needles"), WRONG)
def test_wrong_files(tmp_path, old, new, needles):
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new, 1))
    for command in (["bounds", path], ["report", path, "--out", tmp_path / "out"]):
        refused(run(*command), path.name, *needles)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[", b"[inference]", b"inference = 3", b"x = 1"])
def test_broken_files(tmp_path, content):
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    refused(run("bounds", path), "broken.toml")


def test_missing_file_folder_and_options(tmp_path):
    refused(run("bounds", tmp_path / "none.toml"), "none.toml")
    refused(run("bounds", tmp_path), str(tmp_path))
    refused(run("verify", "FDP-X"), "FDP-X", "FDP-T1")
    refused(run("verify", "--effort", "0"), "--effort")
    refused(run("verify", "--limit", "nan"), "--limit")
    refused(run("verify", "--limit", "-1"), "--limit")
    refused(run("verify", "--seed", "-1"), "--seed")
    refused(run("report", EXAMPLE), "--out")
    refused(run("bonds"), "bonds")
    blocked = tmp_path / "file"
    blocked.write_text("")
    refused(run("report", written(tmp_path, GOOD), "--out", blocked / "sub"), "sub")


numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**20), 10**20),
    st.booleans(),
    st.text(max_size=3),
    st.lists(st.floats(allow_nan=True), max_size=4),
)
KEYS = [*tomllib.loads(GOOD)["inference"], "adjacency", "idle_noise", "extra"]


def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return (
            "nan"
            if math.isnan(value)
            else ("inf" if value > 0 else "-inf")
            if math.isinf(value)
            else repr(float(value))
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


@settings(max_examples=25)
@given(st.sampled_from(KEYS), numbers)
def test_any_value_of_any_key_is_answered_or_refused(tmp_path_factory, key, value):
    table = {**tomllib.loads(GOOD)["inference"], "dimension": 1, key: value}
    if key == "dimension" and isinstance(value, int) and value > 10**9:
        return
    if key == "devices" and isinstance(value, int) and value > 10**6:
        return
    text = "[inference]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in table.items())
    result = run("bounds", written(tmp_path_factory.mktemp("any"), text), "--json")
    if result.exit_code == 0:
        exact = json.loads(result.stdout)["inference"]["privacy"]["exact"]["epsilon"]
        assert len(exact) == 3 and all(e == "inf" or e >= 0 for e in exact)
    else:
        named = "participation" if key == "devices" else key  # of another number of devices
        assert refused(result) and any(word in result.stderr for word in (key, named, "TOML"))


def test_curve_is_that_of_the_library(tmp_path):
    """DP-SGD and a file with a curve: the screen shows upper bounds, the table has all digits."""
    ended = run("curve", "--sigma", "1", "--q", "0.01", "--steps", "1000", "--delta", "1e-6", "--out", tmp_path / "x.csv")
    assert ended.exit_code == 0 and "EPSILON 2.125 AT DELTA 1e-6 (one record is added or removed)" in ended.stdout
    (row,) = [line for line in (tmp_path / "x.csv").read_text().splitlines() if "epsilon" in line]
    exact = airtight.dp_sgd(1.0, 0.01, 1000).bracket(delta=1e-6)
    assert [float(x) for x in row.split(",")[6:9]] == [exact.upper, exact.lower, exact.upper]
    (tmp_path / "c.json").write_text(airtight.approximate(0.5, 1e-9).to_json())
    found = json.loads(run("curve", tmp_path / "c.json", "--delta", "1e-9", "--delta", "0", "--json").stdout)
    assert found["epsilon"] == [pytest.approx(0.5), "inf"] and found["delta"] == [1e-9, 0.0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--sigma"),
        (("--sigma", "-1"), "--sigma = -1.0: must be"),
        (("--sigma", "1", "--q", "2"), "--q = 2.0: must be"),
        (("--sigma", "1", "--steps", "-1"), "--steps = -1: must be"),
        (("--sigma", "1", "--delta", "2"), "delta"),
        (("nowhere.json",), "nowhere.json"),
        (("nowhere.json", "--q", "0.1"), "--q: not together with a FILE"),
    ],
)
def test_wrong_curves(arguments, said):
    ended = run("curve", *arguments)
    assert ended.exit_code == 2 and said in ended.stderr and len(ended.stderr.splitlines()) == 1


def test_standard_input():
    result = CliRunner().invoke(main, ["bounds", "-", "--json"], input=GOOD)
    assert result.exit_code == 0, result.output
    assert "inference" in json.loads(result.stdout)
    assert refused(CliRunner().invoke(main, ["bounds", "-"], input="x = 1"), "-: x: unknown table")


def test_ctrl_c_is_one_line_and_130(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("airtight.validate.claims.audit.run", interrupted)
    result = run("verify", "FDP-D2")
    assert result.exit_code == 130 and result.stderr == "airtight: interrupted\n"


def test_did_you_mean(tmp_path):
    text = GOOD.replace("participation =", "particpation =")
    assert refused(run("bounds", written(tmp_path, text)), "particpation", "did you mean participation?")


def test_where_theorem_1_is_true_is_printed():
    run = CliRunner().invoke(main, ["bounds", str(EXAMPLE), "--theorem1"])
    assert run.exit_code == 0
    words = " ".join(run.stdout.split())
    assert "paper: Theorem 1 claims nothing; with the t of its proof, Eq. (23), it is TRUE here." in words
    assert "clipped-absent: Theorem 1 claims nothing; with the t of its proof, Eq. (23), it is FALSE here." in words
    assert "Eq. (23), 0-11 3.161 1.9e-5 0.09343 81 1.069 3088" in words
    asked = ["bounds", str(EXAMPLE), "--theorem1", "--json"]
    tree = json.loads(CliRunner().invoke(main, asked).stdout)["clipped-absent"]
    assert tree["eq23"]["dimension_lower"] == [81.0] * 12 and tree["theorem1"]["epsilon"] == ["inf"] * 12


@pytest.mark.parametrize("option", [["--rounds", "1,2"], ["--link"], ["--out", "x.json"]])
def test_theorem_1_is_printed_alone(option):
    run = CliRunner().invoke(main, ["bounds", str(EXAMPLE), "--theorem1", *option])
    assert run.exit_code == 2 and "--theorem1: not together with" in run.stderr


def test_theorem_1_is_tried_for_one_round_against_the_observer_of_the_file(tmp_path):
    path = written(tmp_path, GOOD.replace("[inference]", '[inference]\nrounds = 3\nobserver = "signal"'))
    said = " ".join(run("bounds", path, "--theorem1").stdout.split())
    assert "One round" in said and "sees the signal alone" in said


def test_where_no_constant_mends_theorem_1_none_is_said(tmp_path):
    """Who sees that a device is gone tells it from its participation alone: no epsilon is true at the claimed delta."""
    path = written(tmp_path, GOOD.replace("[inference]", '[inference]\nobserver = "participants"'))
    words = " ".join(run("bounds", path, "--theorem1").stdout.split())
    assert words.count("none none") == 6  # three devices, with either t
