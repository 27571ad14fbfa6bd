"""
The program ``cpsched``: Ctrl-C and SIGTERM end it with one line, also while it is imported.

So this module imports the commands only when it handles signals.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from time import monotonic
from typing import Any

from cpsched.util.interruption import is_interruption

#: Exit code of a program that a signal has ended.
_INTERRUPTED = 130
#: Seconds in which further signals are the same request: ``timeout`` sends two, Slurm more.
_SAME_REQUEST = 1.0
#: Seconds after which KeyboardInterrupt is raised again.
_AGAIN = 0.2


class _Interruption:
    """
    A handler of signals that raises KeyboardInterrupt.

    It raises it again as long as the program goes on: NumPy drops the error if a signal arrives
    while it makes a string of an array (numpy issue 20596). It does not raise it while what is
    half-written is removed, unless someone asks again.
    """

    def __init__(self) -> None:
        self._last = float("-inf")

    def __call__(self, number: int, frame: object = None) -> None:
        """Raise KeyboardInterrupt, and have SIGALRM sent again and again."""
        del frame
        is_new = number != signal.SIGALRM and monotonic() - self._last > _SAME_REQUEST
        if number != signal.SIGALRM:
            self._last = monotonic()
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        if is_new or not is_interruption(sys.exc_info()[1]):
            raise KeyboardInterrupt


def main() -> None:
    """Run the command line and exit."""
    try:
        _handle_signals(_Interruption())
        from cpsched.cli.main import main as run

        run()
    except BaseException as error:
        if not is_interruption(error):
            raise
        _handle_signals(signal.SIG_IGN)
        with suppress(OSError):
            sys.stderr.write("cpsched: interrupted; nothing half-written is left behind\n")
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
