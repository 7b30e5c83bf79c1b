"""How the command behaves: all errors at once, many files, widths and colours, silence, completion, schema, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import fastjsonschema
import pytest
from click.shell_completion import BashComplete
from support.common import GOOD, TASK, archive, run, written
from support.paths import ROOT
from support.processors import every_processor

from airtight.commands import plain_text
from airtight.commands.cli import main
from airtight.report import results_schema as schema

FLEET = ROOT / "examples" / "fleet.toml"


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "airtight", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        timeout=120,
    )


@pytest.mark.parametrize(("asked", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_a_command_computes_with_one_thread_unless_told_otherwise(asked, threads):
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | asked
    code = "import os, airtight.__main__; print(os.environ['OPENBLAS_NUM_THREADS'])"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == threads


def test_all_errors_of_a_file_at_once(tmp_path):
    text = GOOD.replace("clip = 2.0", "clip = -2.0").replace("devices = 3", "devices = 3\nsnail = 1")
    text = text.replace("[0.9, 0.5, 1.0]", "[0.9, 0.5]").replace("delta = 1e-5\n", "") + "[federated]\nclients = 0\n"
    result = run("bounds", written(tmp_path, text))
    lines = result.stderr.splitlines()
    assert result.exit_code == 2 and result.stdout == ""
    assert all(line.startswith(f"airtight: {tmp_path / 'system.toml'}: ") for line in lines)
    for needle in (
        "inference.snail",
        "inference.clip",
        "inference.participation",
        "inference.delta",
        "federated.clients",
    ):
        assert sum(needle in line for line in lines) == 1, (needle, lines)
    assert any("federated: missing, and required: parameters, epsilon" in line for line in lines)


def test_errors_of_the_tables_beside_each_other(tmp_path):
    archive(tmp_path)
    task = TASK.replace("margin = 2.0", "margin = 0.0").replace("selected = 1", "selected = 9")
    text = GOOD + task + "[training]\nrounds = 0\n"
    lines = run("bounds", written(tmp_path, text)).stderr.splitlines()
    assert len(lines) == 3
    for needle in ("features.margin", "selection.selected", "training.rounds"):
        assert any(needle in line for line in lines), needle


def test_a_mistyped_key_is_not_called_missing_too(tmp_path):
    result = run("bounds", written(tmp_path, GOOD.replace("participation =", "particpation =")))
    assert len(result.stderr.splitlines()) == 1 and "did you mean participation?" in result.stderr


def test_several_files(tmp_path):
    system = written(tmp_path, GOOD)
    table = run("bounds", system, FLEET)
    assert table.exit_code == 0 and "system: " in table.stdout and "fleet: limits of the devices" in table.stdout
    found = json.loads(run("bounds", system, FLEET, "--json").stdout)
    assert set(found) == {str(system), str(FLEET)}
    assert found[str(system)] == json.loads(run("bounds", system, "--json").stdout)


def test_columns_and_no_color(tmp_path):
    system = written(tmp_path, GOOD)
    narrow, wide = (run("bounds", system, COLUMNS=str(n)).stdout for n in (60, 200))
    commands = ("Next: ", "      airtight ")  # which are never broken, so that they can be copied
    assert max(len(line) for line in narrow.splitlines() if not line.startswith(commands)) <= 60
    assert max(map(len, wide.splitlines())) > 60
    assert narrow != wide
    colourful = command("bounds", system, FORCE_COLOR="1")
    plain = run("bounds", system, FORCE_COLOR="1", NO_COLOR="1")
    assert "\x1b[" in colourful.stdout and not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain.stdout)


def test_every_long_command_can_be_silent():
    for name in ("verify", "try", "certify", "train", "figures", "report"):
        assert "--quiet" in run(name, "--help").stdout


def test_completion():
    complete = BashComplete(main, {}, "airtight", "_AIRTIGHT_COMPLETE")
    assert "_AIRTIGHT_COMPLETE=bash_complete" in complete.source()
    assert "report" in [item.value for item in complete.get_completions([], "rep")]
    claims = [item.value for item in complete.get_completions(["verify"], "FDP-T1")]
    assert "FDP-T1" in claims and all(name.startswith("FDP-T1") for name in claims)


def test_the_schema_is_published_and_kept(tmp_path):
    assert (ROOT / "docs" / "schema.json").read_text() == schema.text()
    published = schema.schema()
    archive(tmp_path)
    system = written(tmp_path, GOOD + TASK + "[inference.variants.quiet]\nidle_noise = true\n")
    for name, arguments in (
        ("bounds", ("bounds", system)),
        ("bounds", ("bounds", ROOT / "examples" / "paper.toml")),
        ("solve-weights", ("solve", "weights", system, "--cap", "none")),
        ("solve-energy", ("solve", "energy", FLEET)),
    ):
        check = fastjsonschema.compile({**published, "$ref": f"#/$defs/{name}"})
        found = json.loads(run(*arguments, "--json").stdout)
        check(found)
    check = fastjsonschema.compile({**published, "$ref": "#/$defs/bounds"})
    found = json.loads(run("bounds", system, "--json").stdout)
    found["inference"]["privacy"]["exact"]["delta"] = "1e-5"
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check(found)


CLAIMS = """from airtight import *
x = parameter("x", 0.1, 1.0)
paper = Paper("mine", "Mine", "I", 2026, [Claim(f"A{n}", "l", x <= 1) for n in range(9)])
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_children(sent, tmp_path):
    (tmp_path / "mine.py").write_text(CLAIMS)
    arguments = [sys.executable, "-m", "airtight", "try", str(tmp_path / "mine.py"), "--effort", "1000000"]
    number = getattr(signal, sent)
    # a shell's background jobs ignore SIGINT, and nohup's SIGHUP; so would their children
    before = signal.signal(number, signal.default_int_handler if sent == "SIGINT" else signal.SIG_DFL)
    try:
        with every_processor():
            process = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    finally:
        signal.signal(number, before)
    with process:
        try:
            deadline = time.monotonic() + 60
            while len(_of_session(process.pid)) < 3 and time.monotonic() < deadline:
                time.sleep(0.2)
            time.sleep(2)
            os.kill(process.pid, number)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130 and said == "airtight: interrupted\n"
    deadline = time.monotonic() + 5
    while _of_session(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _of_session(process.pid)


POOL = """
import os
from airtight.running import pool_of

if __name__ == "__main__":
    with pool_of(2) as (pool, workers):
        print(pool.submit(os.getpid).result() if pool else 0, flush=True)
        input()
"""


def test_workers_do_not_outlive_a_command_that_is_killed(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with every_processor():
        process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
    with process:
        worker = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 20
    while worker and Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not worker or not Path(f"/proc/{worker}").exists()


def _of_session(leader):
    """Processes that belong to a session and still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(leader) and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def test_what_a_terminal_cannot_show_is_said_in_words():
    for encoding, arguments in (
        ("ascii", ["bounds", "examples/good.toml"]),
        ("cp1252", ["bounds", "examples/paper.toml"]),
        ("ascii", ["try", "examples/lemmas.py", "L2", "--effort", "100"]),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "airtight", *arguments],
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        )
        assert done.returncode == 0 and b"Error" not in done.stderr, done.stderr
        done.stdout.decode(encoding)
    assert plain_text.words("σ² ≤ ∞ × Δ, é ─") == "sigma2 <= inf x Delta, e -"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "airtight", "schema"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
    assert done.returncode == 2 and "standard output: No space left" in done.stderr, done.stderr

    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    system = written(tmp_path, GOOD)
    for arguments, name in (
        (("sweep", system, "--over", "clip=1,2", "--quantity", "epsilon", "--out", tmp_path / "s"), "zarr.json"),
        (("report", FLEET, "--out", tmp_path / "r", "--quiet"), "r/"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2 and name in done.stderr and "No space left" in done.stderr, done.stderr


@pytest.fixture
def made(tmp_path):
    """Makes a folder."""

    def folder(name):
        (tmp_path / name).mkdir()
        return tmp_path / name

    return folder


def test_names_are_text(tmp_path):
    """Neither rich nor an emoji code is at work in a name, and two names that differ stay apart."""
    names = ["noise[low]", "noise[high]", "[/]", ":warning:", "[bold]x", "</script>", "$x_{"]
    variants = "".join(f'[inference.variants."{name}"]\nnoise_variance = 0.2\n' for name in names)
    result = run("bounds", written(tmp_path, GOOD + variants))
    assert result.exit_code == 0 and all(name in result.stdout for name in names)
    devices = tmp_path / "d.csv"
    devices.write_text("device,distance\ncam[hall],50\ncam[roof],60\n")
    assert "cam[hall]" in (shown := run("solve", "energy", FLEET, "--devices", devices).stdout) and "cam[roof]" in shown


@pytest.mark.parametrize("sign", ["\x1b[31m", "\x9b", "\0", "\u202e", "\n", "\u2028"], ids=ascii)
def test_what_a_terminal_obeys_is_refused(sign, tmp_path, made):
    quoted = json.dumps(f"a{sign}b")
    variant = written(tmp_path, GOOD + f"[inference.variants.{quoted}]\nnoise_variance = 0.2\n")
    for arguments in (
        ("bounds", variant),
        ("bounds", written(made("key"), GOOD + f"{quoted} = 1\n")),
        ("bounds", written(made("value"), GOOD.replace("delta = 1e-5", f"delta = 1e-5\nadjacency = {quoted}"))),
        ("bounds", f"a{sign}airtight: forged.toml"),
        ("paper", f"a{sign}b", "--out", tmp_path / "paper"),
        ("sweep", variant, "--over", f"a{sign}b=1", "--explain"),
    ):
        refusal = run(*arguments)
        assert refusal.exit_code == 2 and refusal.stdout == ""
        (line,) = refusal.stderr.rstrip("\n").split("\n")
        assert line.isprintable() and line.startswith("airtight: ") and "must have printable characters only" in line
    of_a_log = "\u001b[31m of a log"
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr(plain_text.click, "echo", lambda line, err: lines.append(line))
        plain_text.tell(f"{of_a_log}\nsecond")
    assert lines == ["airtight: \\x1b[31m of a log", "airtight: second"]


@pytest.mark.parametrize("number", ["1_0", "\u0661\u0660", "\uff11\uff10", "1\u0660"])
def test_digits_are_those_of_ascii(number, tmp_path, made):
    file, devices = written(tmp_path, GOOD), tmp_path / "d.csv"
    devices.write_text(f"device,weight\na,0.1\nb,0.2\nc,{number}\n", encoding="utf-8")
    (tmp_path / "f.csv").write_text(f"a,b\n1,2\n1,3\n2,{number}\n", encoding="utf-8")
    task = written(made("task"), GOOD + TASK.replace('file = "features.npz"', 'table = "../f.csv"'))
    for arguments in (
        ("calibrate", file, "--epsilon", number),
        ("calibrate", file, f"--epsilon={number}"),
        ("attack", file, "--samples", number),
        ("sweep", file, "--over", f"clip={number}", "--explain"),
        ("sweep", file, "--over", f"clip=1:{number}:3", "--explain"),
        ("sweep", file, "--over", f"clip=1:2:{number}", "--explain"),
        ("sweep", file, "--over", f"weight[{number}]=1", "--explain"),
        ("bounds", file, "--devices", devices),
        ("bounds", task),
    ):
        refusal = run(*arguments)
        assert refusal.exit_code == 2 and number in refusal.stderr, (arguments, refusal.stderr)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_no_input_file(tmp_path, made):
    """Nobody may ever write to it."""
    os.mkfifo(tmp_path / "pipe")
    file = written(tmp_path, GOOD)
    task = written(made("task"), GOOD + TASK.replace("features.npz", "../pipe"))
    for arguments in (
        ("bounds", tmp_path / "pipe"),
        ("bounds", file, "--devices", tmp_path / "pipe"),
        ("bounds", task),
        ("sweep", task, "--over", "clip=1,2", "--explain"),
        ("train", file, "--data", tmp_path / "pipe", "--part", "inference"),
    ):
        refusal = run(*arguments)
        assert refusal.exit_code == 2 and "pipe" in refusal.stderr and "regular file" in refusal.stderr, arguments


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--help | true", 141, ""),
        ("schema | true", 141, ""),
        ("bounds {file} | true", 141, ""),
        ("bounds {file} --json | true", 141, ""),
        ("--help > /dev/full", 2, "airtight: standard output: No space left on device\n"),
        ("bounds {file} > /dev/full", 2, "airtight: standard output: No space left on device\n"),
        ("solve energy {fleet} --plan - >&-", 2, "airtight: standard output: is closed\n"),
    ],
)
def test_where_output_cannot_go(line, code, said, tmp_path):
    words = line.format(file=written(tmp_path, GOOD), fleet=FLEET)
    script = f"{sys.executable} -m airtight {words}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stderr) == (code, said)
