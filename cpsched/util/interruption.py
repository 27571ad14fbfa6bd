"""Whether an error is of a signal that was to end the program."""

from __future__ import annotations


def is_interruption(error: BaseException | None) -> bool:
    """
    Whether an error is KeyboardInterrupt, or was raised because of one or while one was handled.

    A library that is interrupted may report an error of its own.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
