"""Signals that end the program, and the errors that they cause."""

from __future__ import annotations

import signal
import sys
from time import monotonic

#: Seconds in which further signals are the same request: ``timeout`` sends two, Slurm more.
_SAME_REQUEST = 1.0
#: Seconds after which KeyboardInterrupt is raised again.
_AGAIN = 0.2


class Interruption:
    """
    A handler of signals that raises KeyboardInterrupt.

    It raises it again as long as the program goes on: NumPy drops the error if a signal arrives
    while it makes a string of an array (numpy issue 20596). It does not raise it while what is
    half-written is removed, unless someone asks again.

    Attributes
    ----------
    has_come
        Whether there was a signal.
    keeps_runs
        Whether completed runs of the command remain in a folder of the user.
    """

    def __init__(self) -> None:
        self.has_come = False
        self.keeps_runs = False
        self._last = float("-inf")

    def __call__(self, number: int, frame: object = None) -> None:
        """Raise KeyboardInterrupt, and have SIGALRM sent again and again."""
        del frame
        self.has_come = True
        is_new = number != signal.SIGALRM and monotonic() - self._last > _SAME_REQUEST
        if number != signal.SIGALRM:
            self._last = monotonic()
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        if is_new or not _is_of_interrupt(sys.exc_info()[1]):
            raise KeyboardInterrupt


def note_kept_runs() -> None:
    """Note that completed runs remain if the command is interrupted from now on."""
    handler = signal.getsignal(signal.SIGTERM)
    if isinstance(handler, Interruption):
        handler.keeps_runs = True


def is_interruption(error: BaseException) -> bool:
    """
    Whether an error is KeyboardInterrupt, or one that a library has raised instead of it.

    Those of some libraries do not say so: but after a signal, every error ends the program.
    """
    handler = signal.getsignal(signal.SIGTERM)
    return (isinstance(handler, Interruption) and handler.has_come) or _is_of_interrupt(error)


def _is_of_interrupt(error: BaseException | None) -> bool:
    """Whether an error is KeyboardInterrupt, or was raised because of it or while handling it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
