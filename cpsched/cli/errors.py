"""Report an error as one line and an exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cpsched.cli.output import escaped
from cpsched.errors import CpschedError, DispatchError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Bad input, which the user can correct.
BAD_INPUT = 2
#: A dispatcher or a schedule is wrong.
WRONG = 1
#: Some run failed; the others are there.
SOME_FAILED = 1
INTERRUPTED = 130


def guarded(run: Callable[[], Any], *, debug: bool) -> int:
    """Run a command; turn cpsched's own errors into one line and an exit code."""
    try:
        run()
    except CpschedError as error:
        if debug:
            raise
        complain(str(error))
        return WRONG if isinstance(error, DispatchError | VerificationError) else BAD_INPUT
    except KeyboardInterrupt:
        return _interrupted()
    except SystemExit as ended:
        # What typer raises on Ctrl-C.
        if ended.code != INTERRUPTED:
            raise
        return _interrupted()
    except SystemError as error:
        # A compiled kernel that is interrupted reports it like this.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return _interrupted()
    except BrokenPipeError:
        # The reader closed the pipe; Python must not report this at exit.
        sys.stderr.close()
        return 0
    except OSError as error:
        if debug:
            raise
        complain(f"{error.filename or 'output'}: {error.strerror or error}")
        return BAD_INPUT
    return 0


def _interrupted() -> int:
    complain("interrupted; nothing half-written is left behind")
    return INTERRUPTED


def complain(message: str) -> None:
    """Print one line about an error to stderr."""
    line = escaped(" ".join(message.splitlines()))
    print(f"cpsched: {line}", file=sys.stderr)  # noqa: T201
