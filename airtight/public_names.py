"""The stub of the package, which tells type checkers the public names: ``python -m airtight.public_names`` writes it."""

from __future__ import annotations

from pathlib import Path

import airtight

STUB = Path(__file__).with_name("__init__.pyi")


def stub() -> str:
    """Text of ``__init__.pyi``: each public name from the module that defines it."""
    lines = ["# Made by python -m airtight.public_names from the table HOMES of __init__.py.", ""]
    for module, names in sorted(airtight.HOMES.items()):
        lines += [f"from airtight.{module} import {name} as {name}" for name in sorted(names)]
    return "\n".join(
        [
            *lines,
            "",
            "__all__ = [",
            *(f'    "{name}",' for name in airtight.__all__),
            "]",
            "HOMES: dict[str, tuple[str, ...]]",
            "__version__: str",
            "",
        ]
    )


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
