"""Writes files that appear whole or not at all, and folders of which only files of airtight are replaced or deleted."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO, Any

from airtight.analytics.checks import AirtightError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MANIFEST, _LOCK = ".airtight-manifest.json", ".airtight.lock"
_SCHEMA = "airtight-manifest-1"
_BEYOND = 1 << 62  # byte of a file that is locked on Windows


class FolderError(AirtightError, OSError):
    """A folder cannot be written to without harm to files that are not airtight's; nothing was changed."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an error of the operating system that names no file, such as that of a full disk, the name of this one."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Write a temporary file, then move it to `path`: a reader finds the old file or the new one.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole(Path(folder) / "note.txt") as stream:
    ...         _ = stream.write(b"all of it")
    ...     (Path(folder) / "note.txt").read_text()
    'all of it'
    """
    with naming(path), tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        except BaseException:
            os.unlink(stream.name)
            raise
    os.chmod(stream.name, 0o644)
    os.replace(stream.name, path)


class OutputFolder:
    """A folder for results, used in a ``with`` statement: files that airtight did not write there are never touched.

    A manifest in the folder lists the SHA-256 sums of what was written. A file may be replaced or deleted only if it is
    listed and unchanged. One process at a time can write to a folder.

    Parameters
    ----------
    path : Path
        Made if it does not exist.

    Raises
    ------
    FolderError
        When another process writes to the folder, or when its manifest is none.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as path:
    ...     with OutputFolder(Path(path)) as folder:
    ...         _ = folder.write({"a.txt": "one", "b/c.txt": "two"})
    ...     _ = (Path(path) / "mine.txt").write_text("mine")
    ...     with OutputFolder(Path(path)) as folder:
    ...         folder.remove(["b/c.txt", "mine.txt"])
    ...     sorted(file.name for file in Path(path).iterdir() if not file.name.startswith("."))
    ['a.txt', 'mine.txt']
    """

    # folders that this process has locked: how often, and the open file of the lock
    _held: dict[Path, tuple[int, FileIO]] = {}  # noqa: RUF012

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> OutputFolder:
        self.path.mkdir(parents=True, exist_ok=True)
        key = self.path.resolve()
        depth, lock = self._held.get(key, (0, None))
        self._held[key] = depth + 1, lock or _locked(self.path / _LOCK, str(self.path))
        try:
            self._sums()
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    @property
    def files(self) -> list[str]:
        """The files that airtight wrote and nobody changed, relative to the folder."""
        sums = self._sums()
        return sorted(name for name in sums if self._sum_of(name) in sums[name])

    def check(self, names: Iterable[str]) -> None:
        """Raise FolderError when one of these files exists that airtight did not write, or that was changed since.

        Likewise when a link on the way to it leads out of the folder.
        """
        sums = self._sums()
        for name in names:
            if not self._inside(name):
                raise FolderError(f"{self.path / name}: a link on the way leads out of the folder; remove it")
            if (self.path / name).exists() and self._sum_of(name) not in sums.get(name, []):
                raise FolderError(
                    f"{self.path / name}: exists, and airtight did not write it or it was changed since; "
                    "move it, or choose another folder"
                )

    def write(self, files: Mapping[str, str | bytes]) -> list[Path]:
        """Write files, given by their names relative to the folder; each appears whole.

        Raises
        ------
        FolderError
            As :meth:`check`; then nothing is written.
        """
        contents = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
        self.check(contents)
        # the manifest first: a file that is interrupted between the two is known by its old sum and by its new one
        known = {name: [*filter(None, [self._sum_of(name)]), _sum(content)] for name, content in contents.items()}
        self._write_manifest(self._sums() | known)
        for name, content in contents.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            with whole(self.path / name) as stream:
                stream.write(content)
        return [self.path / name for name in contents]

    def remove(self, names: Iterable[str]) -> None:
        """Delete those of the files that airtight wrote and nobody changed, and folders that become empty."""
        sums = self._sums()
        for name in [name for name in names if self._sum_of(name) in sums.get(name, [])]:
            (self.path / name).unlink()
            del sums[name]
            for parent in list(Path(name).parents)[:-1]:
                with suppress(OSError):
                    (self.path / parent).rmdir()
        self._write_manifest(sums)

    def _inside(self, name: str) -> bool:
        """Whether a name stays in the folder: no link and no ``..`` leads out of it."""
        return (self.path / name).resolve().is_relative_to(self.path.resolve())

    def _sum_of(self, name: str) -> str | None:
        """The sum of what stands there now; None if there is no file."""
        path = self.path / name
        return _sum(path.read_bytes()) if path.is_file() else None

    def _sums(self) -> dict[str, list[str]]:
        """The manifest: by name the sums that a file of airtight may have."""
        try:
            text = (self.path / MANIFEST).read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        try:
            tree: Any = json.loads(text)
            sums: dict[str, list[str]] = tree["files"]
            valid = tree["schema"] == _SCHEMA and all(
                isinstance(names, list) and all(isinstance(each, str) for each in names) for names in sums.values()
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            valid = False
        if not valid:
            raise FolderError(f"{self.path / MANIFEST}: is no manifest of airtight; choose another folder")
        return {name: known for name, known in sums.items() if self._inside(name)}

    def _write_manifest(self, sums: Mapping[str, list[str]]) -> None:
        tree = {"schema": _SCHEMA, "files": dict(sorted(sums.items()))}
        with whole(self.path / MANIFEST) as stream:
            stream.write((json.dumps(tree, indent=1) + "\n").encode())

    def _release(self) -> None:
        key = self.path.resolve()
        depth, lock = self._held.pop(key)
        if depth > 1:
            self._held[key] = depth - 1, lock
            return
        with suppress(OSError):
            (self.path / _LOCK).unlink()
        lock.close()


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def appending(path: Path) -> Iterator[FileIO]:
    """A file open for reading and for :func:`append`, that no other run of airtight writes to meanwhile, by whatever name.

    The lock is on the file itself, so that a link to it is the same file. A file that was made here and is empty in the end,
    because of an error, is deleted.

    Raises
    ------
    FolderError
        When another run holds the file.
    """
    is_new = not os.path.lexists(path)
    with naming(path), _locked(path, str(path)) as stream:
        try:
            yield stream
            if is_new and sys.platform != "win32":  # the name of the file reaches the disk, too
                folder = os.open(path.resolve().parent, os.O_RDONLY)
                os.fsync(folder)
                os.close(folder)
        except BaseException:
            if is_new and os.fstat(stream.fileno()).st_size == 0:
                with suppress(OSError):
                    path.unlink()
            raise


def append(stream: FileIO, content: bytes) -> None:
    """Write at the end of the file and to the disk: all of it, or nothing where an error or an interrupt comes between."""
    size = os.fstat(stream.fileno()).st_size
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[stream.write(rest) :]
        os.fsync(stream.fileno())
    except BaseException:
        os.ftruncate(stream.fileno(), size)
        raise


def _locked(path: Path, what: str) -> FileIO:
    """The open file of a lock that this process holds, without a buffer that could be written late."""
    while True:
        stream = FileIO(path, "a+")
        try:
            if sys.platform == "win32":
                stream.seek(_BEYOND)  # a lock there hinders no reader of the file
                msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            raise FolderError(f"{what}: another run of airtight is writing here") from None
        # the run before may have deleted the file, or moved another to its name, between opening and locking
        if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
            return stream
        stream.close()
