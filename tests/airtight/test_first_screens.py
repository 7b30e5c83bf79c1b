"""The first screens: tables that fit and cut nothing, numbers on their safe side, devices by number and name."""

import hashlib
import json
import math
import re
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import sparse
from scipy.io import savemat
from support.common import GOOD, refused, run, written

import airtight
from airtight.analytics import progress
from airtight.commands.cli import main
from airtight.console import Sheet, device_rows, groups
from airtight.results import bounds, headline
from airtight.results.numerals import rounded_down, rounded_up
from airtight.validate.attack import system_attack
from airtight.validate.number_tables import TableError, read_arrays

ROOT = Path(__file__).parents[2]
CHANNEL = """
[inference]
devices = 1
noise_variance = 0.1
weight = 0.3
clip = 1.0
alignment = 0.003
receiver_noise_variance = 1e-7
dimension = 8
delta = 1e-5
adjacency = "silent"
[inference.channel]
fading = "none"
max_power = 1.0
distance = 10.0
path_loss_exponent = 3.0
"""


@given(st.floats(min_value=-1e300, max_value=1e300))
def test_a_shown_bound_is_on_its_safe_side(value):
    low, high = (float(show(value).replace(",", "").replace("−", "-")) for show in (rounded_down, rounded_up))
    assert low <= value <= high
    assert value == 0 or abs(Decimal(high) - Decimal(low)) <= Decimal(abs(value)) * Decimal("0.00101") + Decimal("1e-320")


def test_infinity_is_no_number():
    assert rounded_up(math.inf) == "infinite" and rounded_down(math.nan) == "–"


@given(
    st.lists(st.lists(st.text("ab 1", max_size=30), min_size=5, max_size=5), min_size=1, max_size=4),
    st.integers(30, 120),
)
def test_a_table_fits_and_cuts_nothing(rows, width):
    table = Sheet(("devices", "epsilon", "mean squared error", "b", "c"))
    for row in rows:
        table.add_row(*row)
    console = Console(width=width, record=True, file=StringIO())
    console.print(table)
    text = console.export_text()
    assert all(len(line) <= width for line in text.splitlines())
    for row in rows:
        for word in " ".join(row).split():
            assert word[: width // 4] in text  # a longer one may be folded


def test_a_wide_table_goes_on_below():
    table = Sheet(("devices", *(f"column {k}" for k in range(9))))
    table.add_row("0-3", *map(str, range(9)))
    console = Console(width=200, record=True, file=StringIO())
    console.print(table)
    text = console.export_text()
    assert text.count("devices") == 2 == text.count("0-3") and all(f"column {k}" in text for k in range(9))


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_the_worst_device_is_always_shown(values):
    epsilon = np.array(values)
    rows = device_rows({"epsilon": epsilon}, by=epsilon)
    assert max(row[1][0] for row in rows) == epsilon.max()
    assert len(rows) <= 6
    assert len(device_rows({"epsilon": epsilon}, by=epsilon, complete=True)) == len(groups([(v,) for v in values]))


def test_silent_devices_are_no_median_and_not_the_best():
    epsilon = np.array([0.0, 0.0, 0.0, 0.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0])
    rows = device_rows({"epsilon": epsilon}, by=epsilon, among=range(4, 10))
    assert rows == [("worst: 4", (9.0,)), ("median: 6", (7.0,)), ("best: 9", (4.0,))]


def test_what_decides_never_looks_equal():
    assert headline.of_use(8.2472, 8.2473) == "USEFUL (error 8.2472; a constant answer: 8.2473)"


def test_devices_are_numbered_from_0_with_their_names(tmp_path):
    """In tables and in a CSV alike (users.md 9)."""
    devices = tmp_path / "d.csv"
    devices.write_text("name,clip\nhall,1\nroof,2\nyard,3\n")
    system = written(tmp_path, GOOD)
    shown = run("bounds", system, "--devices", devices, "--all").stdout
    assert all(label in shown for label in ("0 hall", "1 roof", "2 yard"))
    fleet = "examples/fleet.toml"
    assert run("solve", "energy", fleet, "--plan", "-").stdout.splitlines()[1].startswith("0,")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("distance\n50\n-1\n60\n")
    said = run("solve", "energy", fleet, "--devices", wrong, "--leave-out", "--json").stderr
    assert said.startswith("airtight: left out: device 1: distance")


def test_a_file_names_its_devices(tmp_path):
    """Each once; a variant with other devices, and the other table, keep their numbers."""
    named = GOOD.replace("devices = 3", 'devices = 3\nnames = ["hall", "roof", "yard"]')
    pair = "[inference.variants.pair]\ndevices = 2\nparticipation = 0.5\n"
    shown = run("bounds", written(tmp_path, named + pair), "--all").stdout
    assert all(label in shown for label in ("0 hall", "1 roof", "2 yard")) and "0-1" in shown
    for names, error in (('["a", "b"]', "names: must have 3 entries; has 2"), ('["a", "b", "a"]', "each another")):
        assert refused(run("bounds", written(tmp_path, GOOD.replace("devices = 3", f"devices = 3\nnames = {names}"))), error)


def test_a_card_counts_the_table_of_the_devices(tmp_path):
    devices = tmp_path / "d.csv"
    devices.write_text("noise_variance\n0.1\n0.2\n0.3\n")
    digests = []
    for words in ((), ("--devices", devices)):
        assert run("card", written(tmp_path, GOOD), *words, "--out", tmp_path / "card").exit_code == 0
        content = json.loads((tmp_path / "card" / "card.json").read_text())
        digests.append(content["system_file"])
    assert len(set(content["systems"][0]["epsilon"])) == 3 and digests[0] != digests[1]
    words = ["card", str(written(tmp_path, GOOD)), "--devices", "-", "--out", str(tmp_path / "card")]
    by_input = CliRunner().invoke(main, words, input=devices.read_text())
    assert by_input.exit_code == 0 and json.loads((tmp_path / "card" / "card.json").read_text())["system_file"] == "none"


def test_a_card_has_the_digest_of_the_very_file(tmp_path):
    """Line ends of Windows too: sha256sum of the file is what the card says."""
    file = tmp_path / "system.toml"
    file.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert run("card", file, "--out", tmp_path / "card").exit_code == 0
    content = json.loads((tmp_path / "card" / "card.json").read_text())
    assert content["system_file"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_table_of_devices_holds_keys_of_the_channel(tmp_path):
    """users.md 14: rows for a channel, in a table per device; the link budget says what they reach."""
    devices = tmp_path / "d.csv"
    devices.write_text("device,distance,path_loss_exponent\nhall,10,3\nroof,20,3\nfar,400,3\n")
    system = written(tmp_path, CHANNEL)
    shown = run("bounds", system, "--devices", devices, "--link", "--all").stdout
    rows = {line.split()[1]: line.split() for line in shown.splitlines() if line.startswith(("  0 ", "  1 ", "  2 "))}
    # path loss 30 log10(distance), margin against gamma^2 (w^2 C^2 + r sigma^2) at 1 W
    need = 10 * math.log10(9e-6 * (0.09 + 0.8))
    exact = json.loads(run("bounds", system, "--devices", devices, "--link", "--json").stdout)
    assert exact["distance"] == [10, 20, 400] and exact["margin"][0] == pytest.approx(-30 - need)
    for name, distance in (("hall", 10), ("roof", 20), ("far", 400)):
        loss = 30 * math.log10(distance)
        printed = [float(cell.replace("−", "-")) for cell in rows[name][2:6]]
        assert printed == pytest.approx([distance, loss, -loss, -loss - need], rel=1e-3)
    assert "at their mean gain: device 2." in " ".join(shown.split()) and "never send" in shown
    devices.write_text("distance,path_loss_exponent\n10,3\n20,4\n")
    assert "path_loss_exponent[row 2] = 4.0: must be 3.0" in run("bounds", system, "--devices", devices).stderr
    devices.write_text("distance\n10\n20\n")
    assert "inference.channel: missing" in run("bounds", written(tmp_path, GOOD), "--devices", devices).stderr


def test_a_link_budget_needs_a_channel(tmp_path):
    assert refused(run("bounds", written(tmp_path, GOOD), "--link"), "channel = 'absent'")


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".mat"])
def test_coefficients_come_from_every_format_alike(tmp_path, suffix):
    """NumPy's and MATLAB's files give the same numbers; MATLAB drops the last dimension of a single antenna signal."""
    rng = np.random.default_rng(0)
    for shape in ((4, 3, 2), (4, 3, 1)):
        looks = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        path = tmp_path / f"looks{suffix}"
        if suffix == ".mat":
            savemat(path, {"looks": looks if shape[-1] > 1 else looks[..., 0]}, do_compression=True)
        elif suffix == ".npy":
            np.save(path, looks)
        else:
            np.savez(path, looks=looks)
        text = GOOD + f'[inference.channel]\nfile = "{path.name}"\n'
        found = airtight.load(written(tmp_path, text)).inference.channel.looks
        assert np.array_equal(found, looks)


def test_features_come_from_matlab(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"f": rng.normal(size=(3, 5)), "W": rng.normal(size=(3, 4, 5)), "D": rng.normal(size=(5, 4)), "c": np.ones((1, 5))}
    savemat(tmp_path / "features.mat", arrays)
    task = '[inference.features]\nfile = "features.mat"\nmargin = 2.0\nideal_accuracy = 0.9\n'
    found = airtight.load(written(tmp_path, GOOD + task)).features
    assert np.array_equal(found.f, arrays["f"] - 1) and np.array_equal(found.W, arrays["W"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"f": np.ones(3)}, "missing: looks"),
        ({"looks": "text"}, "not of class char"),
        ({"looks": np.array([{"a": 1}], dtype=object)}, "not of class"),
        ({"looks": sparse.eye(3, format="csc")}, "not of class sparse"),
        (b"MATLAB 7.3 MAT-file", "save it with save(file, 'looks', '-v7')"),
        (b"\x89HDF\r\n\x1a\n" + bytes(600), "save it with"),
        (b"", "must be a MATLAB file"),
        (bytes(200), "must be a MATLAB file"),
    ],
    ids=str,
)
def test_a_matlab_file_that_cannot_be_used(tmp_path, content, said):
    path = tmp_path / "looks.mat"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        savemat(path, content)
    text = GOOD + '[inference.channel]\nfile = "looks.mat"\n'
    result = run("bounds", written(tmp_path, text))
    assert refused(result, "looks.mat", said)


def test_a_deflated_bomb_is_measured_before_it_is_unpacked(tmp_path):
    """One element of 64 MiB of zeros in 64 KiB, where a thousand entries are allowed."""
    savemat(tmp_path / "bomb.mat", {"other": np.zeros(1 << 23), "looks": np.ones(3)}, do_compression=True)
    with pytest.raises(TableError, match="must unpack to at most 16,000 bytes"):
        read_arrays(tmp_path / "bomb.mat", ["looks"], largest=1000)


@given(st.integers(0, 10**6))
def test_a_damaged_matlab_file_is_an_error_of_ours(seed):
    rng = np.random.default_rng(seed)
    stream = BytesIO()
    savemat(stream, {"looks": np.ones((2, 3))}, do_compression=bool(seed % 2))
    data = bytearray(stream.getvalue())
    for place in rng.integers(0, len(data), size=3):
        data[place] = rng.integers(0, 256)
    try:
        read_arrays(Path("looks.mat"), ["looks"], content=bytes(data))
    except TableError as error:
        assert "looks.mat" in str(error)


def test_an_interrupted_attack_shows_what_is_done(tmp_path, monkeypatch):
    """One of three unlike devices is finished; exit 130, one line on stderr."""
    whole = system_attack.attacked

    def interrupted(*given, finished, **options):
        def first(device):
            finished(device)
            raise KeyboardInterrupt

        return whole(*given, finished=first, **options)

    monkeypatch.setattr(system_attack, "attacked", interrupted)
    ended = run("attack", written(tmp_path, GOOD), "--samples", 1000)
    assert ended.exit_code == 130 and ended.stderr == "airtight: interrupted\n"
    assert "EPSILON AT LEAST" in ended.stdout and "device 0" in ended.stdout


def test_interrupted_bounds_show_what_is_done(tmp_path, monkeypatch):
    whole = bounds.each

    def interrupted(description):
        yield next(whole(description))
        raise KeyboardInterrupt

    monkeypatch.setattr(bounds, "each", interrupted)
    ended = run("bounds", written(tmp_path, GOOD + "[inference.variants.loud]\nclip = 9.0\n"))
    assert ended.exit_code == 130 and ended.stderr == "airtight: interrupted\n"
    assert ended.stdout.startswith("system: ") and "loud" not in ended.stdout


def test_long_work_estimates_what_is_left(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    done = progress.reported(4, "devices", progress=True)
    done(1)
    done(4)
    first, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"airtight: 1 of 4 devices \(0 s, about 0 s left\)", first) and last.endswith("(0 s)")


def test_colluders_are_named(tmp_path):
    """By number or by name, in a variant too; a name that is not there is an error."""
    text = GOOD.replace("devices = 3", 'devices = 3\nnames = ["hall", "roof", "yard"]\ncolluding = ["yard", 0]')
    variant = '[inference.variants.alone]\ncolluding = ["roof"]\n'
    file = airtight.load(written(tmp_path, text + variant))
    assert file.inference.colluding == (0, 2) and file.variants["alone"].colluding == (1,)
    for wrong, said in (
        ('["yrd"]', "colluding = 'yrd': must be numbers of devices, or names (did you mean yard? allowed: hall, roof, yard)"),
        ('["hall", 0]', "a list of devices, each once"),
        ("[3]", "colluding"),
    ):
        assert refused(run("bounds", written(tmp_path, text.replace('["yard", 0]', wrong))), said)
    other = '[inference.variants.pair]\ndevices = 2\nparticipation = 0.5\ncolluding = ["hall"]\n'
    assert refused(run("bounds", written(tmp_path, text + other)), "or names that `names` lists")
    without_names = GOOD.replace("devices = 3", 'devices = 3\ncolluding = ["hall"]')
    assert refused(run("bounds", written(tmp_path, without_names)), "or names that `names` lists")


def test_a_refusal_names_who_may_send(tmp_path):
    """Exit 3, nothing recorded, and the devices that still may."""
    log, one = tmp_path / "log.jsonl", tmp_path / "round.toml"
    meter = airtight.Meter([0.5, 5.0], 1e-5, devices=2)
    log.write_text(meter.to_json())
    one.write_text(
        "participants = [0, 1]\ndevices = 2\nnoise_variance = 6.0\nweight = 1.0\nclip = 1.0\nreceiver_noise_variance = 0.1\n"
    )
    ended = run("meter", log, "--add", one)
    assert ended.exit_code == 3 and log.read_text() == meter.to_json()
    assert "refused, nothing recorded: device 0 would exceed epsilon 0.5" in ended.stderr
    assert "its participants device 1 may send" in ended.stderr
    assert "0 rounds recorded" in " ".join(run("meter", log).stdout.split())


def test_bounds_name_what_any_scheme_reaches(tmp_path):
    """A lower bound is shown rounded down, its factor rounded up; a column of its own, where there is one."""
    text = GOOD.replace("noise_variance = 0.1", "noise_variance = 0.01", 1) + 'adjacency = "silent"\n'
    shown = run("bounds", str(written(tmp_path, text))).output
    result = bounds.Bounds.of(airtight.load(written(tmp_path, text))).inference.worst_case
    assert f">= {rounded_down(result.any_scheme.error)}" in shown and "any scheme" in shown
    assert f"{rounded_up(result.any_scheme.ratio, 3)} times as much" in " ".join(shown.split())
    assert result.any_scheme.error <= min(result.error, result.constant_output)


def test_each_variant_over_rounds_names_its_neighbours(tmp_path):
    """Not those of the last one; and the table of variants says who helps the server."""
    still = '[inference.variants.still]\nadjacency = "silent"\n'
    gone = '[inference.variants.gone]\nadjacency = "absent"\ncolluding = [1]\n'
    file = written(tmp_path, GOOD + 'observer = "others"\n' + still + gone)
    shown = " ".join(run("bounds", file, "--rounds", "1").stdout.split())
    assert shown.count("Neighbours (absent)") == 2 and shown.count("Neighbours (silent)") == 1
    assert shown.count("with the help of device 1") == 1
    assert "with the help of device 1 (gone)" in " ".join(run("bounds", file).stdout.split())


def test_equal_rows_without_a_number_are_one():
    assert groups([(1.0, math.nan)] * 3) == [("0-2", (1.0, pytest.approx(math.nan, nan_ok=True)))]


def test_a_device_that_nearly_always_sends_is_not_said_to_always_send():
    file = airtight.load(ROOT / "examples" / "good.toml")
    system = file.inference.replace(participation=0.99996)
    assert headline.who_sends(system) == "12 devices send with probability at least 0.999."


def test_an_attack_names_the_observer_of_the_file(tmp_path):
    for observer, noted in (("auto", False), ("participants", True)):
        file = written(tmp_path, GOOD.replace("0.5, 1.0", "0.5, 0.9") + f'observer = "{observer}"\n')
        done = run("attack", file, "--samples", "1000")
        assert done.exit_code == 0, done.output
        assert ("The file's observer is participants" in " ".join(done.stdout.split())) is noted


def test_a_refuted_claim_counts_as_refuted_where_the_file_says_that_it_holds(tmp_path):
    file = tmp_path / "claims.py"
    file.write_text(
        "from airtight import Claim, at_most, holds, parameter\n"
        'x = parameter("x", 0.5, 2.0)\n'
        'CLAIMS = [Claim("R1", "Eq. (1)", at_most(2 * x, x), holds("as printed"))]\n'
    )
    shown = run("try", file).stdout
    assert "1 claim is refuted" in shown and re.search(r"not refuted +0\n", shown)
    assert re.search(r"against the ruling +1\n", shown)


def test_a_system_file_is_no_curve(tmp_path):
    assert refused(run("curve", written(tmp_path, GOOD)), "for a system file use airtight bounds")
