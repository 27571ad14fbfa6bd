"""
What commands print: text from logs, files and names cannot steer the terminal, and an error is one
line.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from cpsched.errors import CpschedError, DispatchError, VerificationError
from cpsched.util.documents import json_text
from cpsched.util.interruption import is_interruption
from cpsched.util.memory import is_out_of_memory
from cpsched.util.own_code import fault_of
from cpsched.util.words import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["counted", "echo", "escaped", "print_json"]


def echo(text: str, *, err: bool = False) -> None:
    """
    Print text and a newline; unprintable characters except line ends are escaped.

    Parameters
    ----------
    err
        Whether it goes to stderr: what is said on the way, where stdout is for JSON alone.
    """
    typer.echo(text if _is_plain(text) else "\n".join(map(escaped, text.split("\n"))), err=err)


def print_json(kind: str, content: dict[str, Any], version: int = 1) -> None:
    """
    Print the output of a command as one JSON object, for programs.

    Parameters
    ----------
    kind
        Determines the keys: ``schema`` is ``cpsched.KIND/VERSION``. Units are part of the keys'
        names (``wait_s``).
    version
        Grows when a key changes its meaning or is removed.
    """
    typer.echo(json_text({"schema": f"cpsched.{kind}/{version}", **content}, indent=1))


def _is_plain(text: str) -> bool:
    return text.replace("\n", "").isprintable()


#: Bad input, which the user can correct.
BAD_INPUT = 2
#: A dispatcher or a schedule is wrong.
WRONG = 1
#: Some run failed; the others are there.
SOME_FAILED = 1


def guarded(run: Callable[[], Any], *, debug: bool) -> int:
    """Run a command; turn cpsched's own errors into one line and an exit code."""
    try:
        run()
    except CpschedError as error:
        if debug or is_interruption(error):
            raise
        complain(str(error))
        return WRONG if isinstance(error, DispatchError | VerificationError) else BAD_INPUT
    except BrokenPipeError:
        # The reader closed the pipe; Python must not report this at exit.
        sys.stderr.close()
        return 0
    except BaseException as error:
        if debug or is_interruption(error):
            raise
        return _other(error)
    return 0


def _other(error: BaseException) -> int:
    """Return the exit code for an error that is not one of cpsched's own, or raise it again."""
    # First, as it takes no memory.
    if is_out_of_memory(error):
        complain(
            "out of memory. --first N takes fewer jobs, and --workers 1 makes one run at a time."
        )
        return WRONG
    if (fault := fault_of(error)) is not None:
        complain(f"{fault}. --debug shows the traceback.")
        return WRONG
    if not isinstance(error, OSError):
        raise error
    complain(f"{error.filename or 'output'}: {error.strerror or error}")
    return BAD_INPUT


def complain(message: str, what: str = "error") -> None:
    """Print one line about an error, a warning or a note to stderr."""
    line = escaped(" ".join(message.splitlines()))
    print(f"{what}: {line}", file=sys.stderr)  # noqa: T201
