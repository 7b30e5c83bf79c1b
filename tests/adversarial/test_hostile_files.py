"""A share of the hostile files (hostile_files.py reads as many as one likes), and those of the review one by one."""

import io
import zipfile

import hostile_files
import numpy as np
import pytest
from support.common import GOOD, TASK, archive, run, written

import airtight
from airtight.analytics.checks import ParameterError


def test_each_ends_in_a_line():
    assert not hostile_files.faults(range(60), seed=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + "a = " + "[" * 5000, "nested too deeply"),
        (GOOD.replace("devices = 3", "devices = 9223372036854775807"), "devices"),
        (GOOD.replace("devices = 3", "devices = " + "9" * 5000), "TOML"),
        (GOOD + '"\\u001b[31m" = 1', "printable"),
    ],
)
def test_files_of_the_review(text, said, tmp_path):
    done = run("bounds", written(tmp_path, text))
    assert done.exit_code == 2 and said in done.stderr and all(line.isprintable() for line in done.stderr.splitlines())


def test_a_byte_order_mark_is_no_fault(tmp_path):
    path = written(tmp_path, GOOD)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert run("bounds", path).exit_code == 0


def test_the_header_of_an_array_is_read_before_its_data(tmp_path):
    """A header of 1e12 rows, and an archive of a megabyte that unpacks to more than a gigabyte: nothing is allocated."""
    archive(tmp_path)
    path = written(tmp_path, GOOD + TASK)
    for rows, data in ((10**12, b""), (10**12, None)):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 4)}}\n".encode()
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
            for name, array in np.load(tmp_path / "features.npz").items():
                with made.open(f"{name}.npy", "w") as member:
                    if name == "f":
                        member.write(
                            b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + (data or bytes(10**6))
                        )
                    else:
                        np.lib.format.write_array(member, array)
        (tmp_path / "features.npz").write_bytes(stream.getvalue())
        done = run("bounds", path)
        assert done.exit_code == 2 and "at most 134,217,728 entries" in done.stderr
        archive(tmp_path)


def test_replacing_devices_alone_explains(paper):
    import dataclasses

    with pytest.raises(
        ParameterError, match=r"participation = 12 numbers: .* changes devices gives participation anew"
    ):
        dataclasses.replace(paper, devices=100)
    given = {name: getattr(paper, name)[0] for name in ("participation", "noise_variance", "weight", "clip")}
    assert dataclasses.replace(paper, devices=100, **given).participation.shape == (100,)


@pytest.mark.parametrize("text", ["[" * 10**5, "1" * 5000, '[{"constructor": 1}]', "[[1, 2]]", '{"a": ' * 9999])
def test_json_of_a_curve(text):
    with pytest.raises(ParameterError):
        airtight.PrivacyCurve.from_json(text)
