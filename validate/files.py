"""Writes files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


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
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        except BaseException:
            os.unlink(stream.name)
            raise
    os.chmod(stream.name, 0o644)
    os.replace(stream.name, path)
