"""The command ``airtight``, also as ``python -m airtight``."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the command runs: Ctrl-C among the imports prints no traceback

from airtight.running import one_thread_each

one_thread_each()  # before anything imports NumPy

from airtight.commands.cli import main  # noqa: E402

if __name__ == "__main__":
    main(prog_name="airtight")
