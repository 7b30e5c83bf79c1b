"""The commands that help to write a system file: ``init``, ``explain``."""

from __future__ import annotations

from pathlib import Path

import click

from airtight.commands.options import FILE, JSON, print_json
from airtight.validate import files

_TEMPLATES = ("inference", "channel", "federated", "energy")


@click.command(short_help="A commented system file to begin with.")
@click.option(
    "--template",
    type=click.Choice(_TEMPLATES),
    default="inference",
    show_default=True,
    help="What the file describes.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a new file instead of printing it.",
)
def init(template: str, out: Path | None) -> None:
    """Print a system file to begin with: every key with its meaning, and further keys as comments with their defaults."""
    from airtight.console import next_step, say, screen
    from airtight.system_file.key_meanings import starter

    text = starter(template)
    if out is None:
        click.echo(text, nl=False)
        return
    if out.exists():
        raise click.UsageError(f"--out: {out} exists already and is kept; choose another name")
    with files.whole(out) as stream:
        stream.write(text.encode())
    console = screen()
    say(console, f"Written: {out}.")
    next_step(console, (f"airtight bounds {out}", "a verdict"), (f"airtight explain {out}", "what each key means"))


@click.command(short_help="What each key of FILE means, and what it is set to.")
@FILE
@click.option("--all", "complete", is_flag=True, help="Print the keys that FILE leaves out too, with their defaults.")
@JSON
def explain(file: Path, complete: bool, as_json: bool) -> None:
    """Explain each key of the tables in FILE: its value, its meaning with the unit, and what is allowed."""
    from airtight.console import next_step, say, screen
    from airtight.system_file.key_meanings import explained, shown, unbroken

    keys = explained(file)
    if as_json:
        print_json([key.to_dict() for key in keys])
        return
    console, table = screen(), ""
    say(console, f"{file}: {sum(key.value is not None for key in keys)} keys are set.", style="bold")
    for key in (key for key in keys if complete or key.value is not None):
        if key.table != table:
            table = key.table
            console.print()
            console.print(f"[{table}]")
        if key.value is not None:
            say(console, f"{key.key} = {shown(key.value)}", indent=2, style="bold")
        else:
            left_out = "as in [inference]" if key.table.startswith("inference.variants.") else "no default"
            say(console, f"{key.key}: not set ({left_out if key.default is None else shown(key.default)})", indent=2)
        say(console, unbroken(key.comment), indent=4, hanging=0)
    if not complete:
        next_step(console, (f"airtight explain {file} --all", "keys that are not set too"))
    else:
        next_step(console, (f"airtight bounds {file}", "a verdict"))
