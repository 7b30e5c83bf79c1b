"""Files appear whole; in an output folder only unchanged files of airtight are replaced or deleted."""

import hashlib
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from airtight.commands.cli import main
from airtight.validate.files import MANIFEST, FolderError, OutputFolder, whole

HOLD = """
import sys, pathlib
from airtight.validate.files import OutputFolder
with OutputFolder(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_an_interrupted_file_does_not_appear(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), whole(tmp_path / "a") as stream:
        stream.write(b"new")
        raise KeyboardInterrupt
    assert (tmp_path / "a").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_files_of_others_stay(tmp_path):
    (tmp_path / "figures").mkdir()
    for name in ("mine.txt", "figures/mine.svg"):
        (tmp_path / name).write_text("mine")
    with OutputFolder(tmp_path) as folder:
        folder.write({"figures/ours.svg": "ours", "index.html": "ours"})
    with OutputFolder(tmp_path) as folder:
        assert folder.files == ["figures/ours.svg", "index.html"]
        folder.write({"index.html": "again"})
        folder.remove(["figures/ours.svg", "figures/mine.svg", "mine.txt", "nothing"])
    found = {p.relative_to(tmp_path).as_posix(): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    del found[MANIFEST]
    assert found == {"mine.txt": "mine", "figures/mine.svg": "mine", "index.html": "again"}


@pytest.mark.parametrize("existing", ["foreign", "changed"])
def test_a_file_that_is_not_ours_is_refused_and_nothing_written(tmp_path, existing):
    if existing == "changed":
        with OutputFolder(tmp_path) as folder:
            folder.write({"b": "ours"})
    (tmp_path / "b").write_text("edited")
    with OutputFolder(tmp_path) as folder, pytest.raises(FolderError, match="airtight did not write it"):
        folder.write({"a": "new", "b": "new"})
    assert (tmp_path / "b").read_text() == "edited" and not (tmp_path / "a").exists()


def test_interrupted_between_manifest_and_file(tmp_path, monkeypatch):
    """The file has its old content and the manifest knows both: the next run goes on."""
    with OutputFolder(tmp_path) as folder:
        folder.write({"a": "old"})
        manifest = json.loads((tmp_path / MANIFEST).read_text())
        folder.write({"a": "new"})
    both = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["files"]["a"][-1] == both["files"]["a"][0]
    for content in ("old", "new"):
        (tmp_path / "a").write_text(content)
        with OutputFolder(tmp_path) as folder:
            folder.check(["a"])


def test_two_processes(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(FolderError, match="another run"), OutputFolder(tmp_path):
            pass
        other.communicate("")
    with OutputFolder(tmp_path), OutputFolder(tmp_path) as inner:  # one process may open it twice
        inner.write({"a": "ours"})
    with OutputFolder(tmp_path) as folder:
        assert folder.files == ["a"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "airtight-manifest-1", "files": {"a": 1}}', "[" * 10**5])
def test_a_manifest_that_is_none(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(FolderError, match="no manifest"), OutputFolder(tmp_path):
        pass
    (tmp_path / MANIFEST).unlink()
    with OutputFolder(tmp_path) as folder:  # the lock was released
        folder.write({"a": "ours"})


@pytest.mark.parametrize(
    "command, name",
    [
        (["report", "examples/fleet.toml"], "index.html"),
        (["certify", "FDP-D2"], "check.py"),
        (["certify", "FDP-D2"], "FDP-D2/claim.json"),
        (["figures", "FDP-10"], "FDP-10.svg"),
        (["paper", "feature-dp"], "feature-dp.tex"),
    ],
)
def test_commands_refuse_what_is_not_theirs(request, tmp_path, command, name):
    """Exit 2 and one line; the user's file is as it was, and so is everything else."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.svg").write_text("mine")
    file = [str(request.config.rootpath / part) if part.endswith(".toml") else part for part in command]
    done = CliRunner().invoke(main, [*file, "--out", str(tmp_path)])
    assert done.exit_code == 2 and name in done.stderr.replace("\\", "/"), done.stderr
    assert (tmp_path / name).read_text() == (tmp_path / "figures" / "mine.svg").read_text() == "mine"


def test_interrupted_twice(tmp_path, monkeypatch):
    """Runs that die after the manifest and before the file leave a file that is still known as ours."""
    with OutputFolder(tmp_path) as folder:
        folder.write({"a": "old"})

    def dying(path):
        if path.name != MANIFEST:
            raise KeyboardInterrupt
        return whole(path)

    for content in ("first", "second"):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt), OutputFolder(tmp_path) as folder:
            patched.setattr("airtight.validate.files.whole", dying)
            folder.write({"a": content})
    assert (tmp_path / "a").read_text() == "old"
    with OutputFolder(tmp_path) as folder:
        folder.write({"a": "third"})
    assert (tmp_path / "a").read_text() == "third"


def test_no_link_and_no_manifest_leads_out_of_the_folder(tmp_path):
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    (elsewhere / "mine.svg").write_text("mine")
    with OutputFolder(out) as folder:
        folder.write({"a.txt": "a"})
        (out / "figures").symlink_to(elsewhere)
        for name in ("figures/new.svg", "figures/mine.svg", "../elsewhere/new.svg", str(elsewhere / "new.svg")):
            with pytest.raises(FolderError, match="leads out of the folder"):
                folder.write({"b.txt": "b", name: "ours"})
        tree = json.loads((out / MANIFEST).read_text())
        names = ("figures/mine.svg", "../elsewhere/mine.svg")
        tree["files"] |= {name: [hashlib.sha256(b"mine").hexdigest()] for name in names}
        (out / MANIFEST).write_text(json.dumps(tree))
        assert folder.files == ["a.txt"]
        folder.remove(names)
    assert [path.name for path in elsewhere.iterdir()] == ["mine.svg"] and not (out / "b.txt").exists()
