"""
The program ``cpsched``: Ctrl-C and SIGTERM end it with one line, also while it is imported.

So this module imports the commands only when it handles signals.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import Any

from cpsched.util.interruption import Interruption, is_interruption

#: Exit code of a program that a signal has ended.
_INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit."""
    interruption = Interruption()
    try:
        _handle_signals(interruption)
        from cpsched.cli.main import main as run

        run()
    except BaseException as error:
        if not is_interruption(error):
            raise
        _handle_signals(signal.SIG_IGN)
        with suppress(OSError):
            outcome = (
                "Completed runs are kept: repeat the command to continue."
                if interruption.keeps_runs
                else "Partial files are removed."
            )
            sys.stderr.write(f"error: interrupted. {outcome}\n")
        # Python dies by SIGINT if the last string that it executed was interrupted.
        exec("")  # noqa: S102
        sys.exit(_INTERRUPTED)
    finally:
        # The exit code is known, and what remains is short.
        _handle_signals(signal.SIG_IGN)


def _handle_signals(handler: Any) -> None:
    """Set what signals do, where the parent of this process does not ignore them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
