"""The command ``airtight``: its subcommands, their options and their tables."""
