"""``python -m airtight``: the command."""

from airtight.validate.commands.cli import main

main(prog_name="airtight")
