"""``python -m airtight``: the command."""

from airtight.validate.cli import main

main(prog_name="airtight")
