#!/usr/bin/python3 -I
"""
The orders that an engine and its watchdog give to Slurm, and no others, passed on to ``scontrol``.

Root installs this file as a command that ``sudo`` lets an ordinary account run as an operator of
Slurm. It needs only the standard library. An order is one command in the arguments, or a command in
each line of the input; every word of it is checked before ``scontrol`` hears any.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time

#: The real command, and slurm.conf; '' for Slurm's own default. Never taken from the environment:
#: slurm.conf names plugins, which are loaded with the rights of the operator.
SCONTROL, SLURM_CONF = "/usr/bin/scontrol", ""
#: Exit code of what is not passed on.
REFUSED = 77
#: Most bytes of one input, and most characters of a comment.
_MOST, _MOST_TEXT = 4_000_000, 1024
#: Leases begin twenty years ahead, so that they keep no job from running; at least so many seconds.
_AHEAD = 19 * 365 * 86400

_JOB = r"[0-9]{1,10}(_[0-9]{1,10})?"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_LEASE = rf"ReservationName=cpsched\.(?P<of>{_NAME})"
_UNTIL = (r"StartTime=uts(?P<start>[0-9]{1,12})", r"Duration=[0-9]{1,6}")
#: What is said on the input: one pattern for each word.
_LINES = (
    ("quit",),
    ("(release|uhold)", _JOB),
    (
        "update",
        f"JobId={_JOB}",
        f"ReqNodeList=({_NAME}(,{_NAME})*)?",
        "NumNodes=[0-9]{1,7}-[0-9]{1,7}",
    ),
)
#: What is said in the arguments.
_ARGUMENTS = (
    ("create", "reservation", _LEASE, *_UNTIL, f"Users={_NAME}", "PartitionName=(?P=of)",
     "NodeCnt=1", "Flags=MAINT,IGNORE_JOBS,OVERLAP"),
    ("update", _LEASE, *_UNTIL),
    ("delete", _LEASE),
    ("update", f"JobId={_JOB}", r"Comment=(?P<text>[^\n]*)"),
    ("update", f"JobId={_JOB}", rf"AdminComment=(?P<text>{_NAME}(:aside [^\n]*)?)"),
)  # fmt: skip
#: Between words while they are checked: in no word that is passed on.
_BETWEEN = "\n"


def is_order(words: list[str], allowed: tuple[tuple[str, ...], ...]) -> bool:
    """Say whether words are an order that is passed on."""
    if any(_BETWEEN in word for word in words):
        return False
    for order in allowed:
        if found := re.fullmatch(_BETWEEN.join(order), _BETWEEN.join(words)):
            named = found.groupdict()
            text, start = named.get("text") or "", named.get("start")
            is_far = start is None or int(start) >= time.time() + _AHEAD
            return is_far and text.isprintable() and len(text) <= _MOST_TEXT
    return False


def main() -> int:
    """Pass an order on; return the exit code of scontrol."""
    words, given = sys.argv[1:], ""
    if words:
        wrong = [] if is_order(words, _ARGUMENTS) else [words]
    else:
        given = sys.stdin.buffer.read(_MOST + 1).decode("ascii", "replace")
        lines = [line.split(" ") for line in given.removesuffix("\n").split("\n")]
        wrong = [line for line in lines if not is_order(line, _LINES)]
        wrong = wrong if len(given) <= _MOST else lines
    if wrong:
        sys.stderr.write(f"not an order of cpsched: {wrong[0]!r:.200}\n")
        return REFUSED
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    if SLURM_CONF:
        environment["SLURM_CONF"] = SLURM_CONF
    command = [SCONTROL, *words]
    done = subprocess.run(  # noqa: S603 - every word is checked, and there is no shell
        command, input=given.encode(), env=environment, check=False
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
