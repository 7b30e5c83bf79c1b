"""Hostile files for every reader of the command: each ends with exit 0, 2 or 3 and a line of printable text, never a traceback.

``python tests/adversarial/hostile_files.py 2000`` from the root of the checkout; the suite reads a share of them.
"""

import io
import json
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from support.common import FLEET, GOOD, TASK

import airtight
from airtight.commands.cli import main

NASTY = [
    "1" * 5000,
    "-1",
    "0",
    "nan",
    "inf",
    "1e400",
    "9223372036854775807",
    "99999999999999999999",
    "1e12",
    '"\\u001b[31m"',
    "true",
    "[]",
    "[1, 2",
    "{a = 1}",
    '"x"',
    "1979-05-27",
    "0x1",
    "[" * 200 + "]" * 200,
    '"""a\nb"""',
    "\x00",
    "[[1.0], [1.0]]",
    '""',
]
LOG_ROUND = """participants = [0, 1]
devices = 3
noise_variance = 0.5
weight = 0.3
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
"""


def mutated(rng, content):
    """The bytes, changed in one of several ways."""
    kind = rng.integers(8)
    lines = content.split(b"\n")
    at = int(rng.integers(len(content) + 1))
    if kind == 0:
        return content[:at]
    if kind == 1:
        changed = bytearray(content)
        for i in rng.integers(len(content), size=3):
            changed[i] = rng.integers(256)
        return bytes(changed)
    if kind == 2:
        return b"\xef\xbb\xbf" + content
    if kind in (3, 4, 5):
        i = int(rng.integers(len(lines)))
        key, sign, _ = lines[i].partition(b"=")
        lines[i] = key + (sign or b"=") + b" " + NASTY[rng.integers(len(NASTY))].encode()
        return b"\n".join(lines)
    if kind == 6:
        return (
            content
            + [
                b"\na" + b".a" * 5000 + b" = 1",
                b"\nb = " + b"[" * 6000,
                b"\x1b[31m",
                b"\n\xff\xfe",
                b"\n[inference]",
                b"\n" * 9999,
                b"\n[x]\n" * 999,
                b'\n"\x1b[2J" = 1',
                b'\n"a\\nb" = 1',
            ][rng.integers(9)]
        )
    return bytes(rng.integers(256, size=int(rng.integers(200)), dtype=np.uint8))


def npz(rng, path):
    """A features file that is damaged, lies about a size, holds objects, or is huge when it is unpacked."""
    given = {"f": np.ones((3, 4)), "W": np.ones((3, 2, 4)), "D": np.ones((4, 2))}
    kind, name = rng.integers(7), "fWD"[rng.integers(3)]
    if kind == 0:
        given[name] = [
            np.zeros((0, 3)),
            np.ones(3),
            np.full((3, 4), np.nan),
            np.ones((3, 4)) * 1j,
            np.array(["a"]),
            np.array(1.0),
        ][rng.integers(6)]
    elif kind == 1:
        del given[name]
    elif kind == 2:
        given[name] = np.array([{"a": 1}, [2]], dtype=object)
    stream = io.BytesIO()
    np.savez(stream, **given)
    content = stream.getvalue()
    if kind in (3, 4):
        shape = (10 ** int(rng.integers(3, 20)), int(rng.integers(9)))
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".encode()
        made = (
            b"\x93NUMPY\x01\x00"
            + (len(header) + 1).to_bytes(2, "little")
            + header
            + b"\n"
            + bytes(int(rng.choice([0, 64, 10**6])))
        )
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for each, array in given.items():
                if each == name:
                    archive.writestr(f"{each}.npy", made)
                else:
                    with archive.open(f"{each}.npy", "w") as member:
                        np.lib.format.write_array(member, array)
        content = stream.getvalue()
    path.write_bytes(content if kind < 5 else mutated(rng, content))


def one(number, folder, seed=0):
    """The fault of a file: None, or its text."""
    rng = np.random.default_rng((seed, number))
    system = (GOOD + TASK + FLEET).encode()
    (folder / "system.toml").write_bytes(system)
    np.savez(folder / "features.npz", f=np.ones((3, 4)), W=np.ones((3, 2, 4)), D=np.ones((4, 2)))
    kind = ["toml", "npz", "csv", "log", "round", "curve"][number % 6]
    command = ["bounds", str(folder / "system.toml"), "--json"]
    if kind == "toml":
        (folder / "system.toml").write_bytes(mutated(rng, system))
    elif kind == "npz":
        npz(rng, folder / "features.npz")
    elif kind == "csv":
        (folder / "system.toml").write_bytes(FLEET.encode())
        rows = b"device,distance\na,50\nb,100\nc,150\n"
        (folder / "d.csv").write_bytes(mutated(rng, rows).replace(b"= ", b","))
        command = ["solve", "energy", str(folder / "system.toml"), "--devices", str(folder / "d.csv")]
    elif kind in ("log", "round"):
        log, asked = folder / "log.jsonl", folder / "round.toml"
        log.unlink(missing_ok=True)
        asked.write_text(LOG_ROUND)
        CliRunner().invoke(main, ["meter", str(log), "--budget", "4", "--delta", "1e-5", "--devices", "3"])
        CliRunner().invoke(main, ["meter", str(log), "--add", str(asked)])
        changed = log if kind == "log" else asked
        changed.write_bytes(mutated(rng, changed.read_bytes()))
        command = ["meter", str(log), *(["--add", str(asked)] if kind == "round" else [])]
    else:
        text = '[{"constructor": "gaussian", "parameters": {"mu": 1.0, "unit": "x"}, "count": 1}]'
        nasty = [
            "[" * 10**5,
            "{" * 10**4,
            "1" * 5000,
            "[[[]]]",
            '[{"constructor": 1}]',
            '[{"constructor": "gaussian", "parameters": {"mu": 1e999}}]',
        ]
        given = mutated(rng, text.encode()).decode("latin-1") if rng.random() < 0.7 else nasty[rng.integers(len(nasty))]
        try:
            airtight.PrivacyCurve.from_json(given)
        except airtight.AirtightError:
            pass
        except Exception as error:
            return f"{number} curve {given[:80]!r}: {error!r}"[:300]
        return None
    done = CliRunner().invoke(main, command)
    said = done.stderr
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{number} {kind}: {done.exception!r}"[:300]
    if done.exit_code not in (0, 2, 3) or (done.exit_code and not said):
        return f"{number} {kind}: exit {done.exit_code}, {said[:200]!r}"
    unprintable = [line for line in (said + done.stdout).split("\n") if not line.isprintable()]
    if unprintable:
        return f"{number} {kind}: unprintable: {unprintable[0]!r}"[:300]
    return None


def faults(numbers, seed=0):
    """The faults of these files."""
    with tempfile.TemporaryDirectory() as folder:
        return [fault for number in numbers if (fault := one(number, Path(folder), seed)) is not None]


if __name__ == "__main__":
    found = faults(range(int(sys.argv[1])))
    print(*found, sep="\n")
    print(f"{sys.argv[1]} files, {len(found)} faults")
    print(
        json.dumps({"peak MB": __import__("resource").getrusage(__import__("resource").RUSAGE_SELF).ru_maxrss // 1024})
    )
