"""
Options of the command that submitted a Slurm job, the column ``SubmitLine`` of ``sacct``.

sacct prints the words of the command with a blank between them and no quotes. Options are read up
to the name of the script, as sbatch does it; what stands in the script itself (``#SBATCH``) is not
in the column.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Long names of the short options that are read here.
_SHORT = {
    "A": "account", "C": "constraint", "G": "gpus", "J": "job-name", "L": "licenses", "N": "nodes",
    "a": "array", "b": "begin", "c": "cpus-per-task", "d": "dependency", "n": "ntasks",
    "p": "partition", "q": "qos", "t": "time",
}  # fmt: skip
#: Options without a value: short ones, long ones. A value of a long one always follows a ``=``.
_SHORT_FLAGS = "EHIKOQVXZhklsuv"
_LONG_FLAGS = frozenset(
    (
        *("bell", "contiguous", "disable-status", "exact", "exclusive", "get-user-env", "help"),
        *("hold", "ignore-pbs", "immediate", "interactive", "kill-command", "label", "multi-prog"),
        *("nice", "no-allocate", "no-bell", "no-kill", "no-requeue", "no-shell", "overcommit"),
        *("overlap", "oversubscribe", "parsable", "preserve-env", "propagate", "pty", "quiet"),
        *("reboot", "requeue", "share", "spread-job", "stepmgr", "test-only", "unbuffered"),
        *("usage", "use-min-nodes", "verbose", "version", "wait", "x11"),
    )
)


@lru_cache(maxsize=2**16)
def options(command: str, component: int = 0) -> Mapping[str, str]:
    """
    Return the options of a command by their long names; the last one of a name counts.

    Parameters
    ----------
    command
        ``SubmitLine`` of sacct; may be empty.
    component
        Number of the component of a heterogeneous job, whose options stand between colons.

    Returns
    -------
    mapping
        Values as text, ``""`` for an option without one.
    """
    found: dict[str, str] = {}
    words = iter(command.split())
    program = next(words, "").rpartition("/")[2]
    for word in words:
        if word == ":":
            if component == 0:
                break
            component -= 1
            continue
        if word == "--" or not word.startswith("-") or word == "-":
            break
        name, value = _option(word, words, program)
        if name == "wrap":
            # Its words cannot be told from the options behind it.
            break
        if component == 0:
            found[name] = value
    return found


def may_be_requeued(command: str, asked: Mapping[str, str]) -> bool:
    """
    Say whether Slurm may queue a job again: a batch job without ``--no-requeue``.

    That is so under ``JobRequeue=1``, Slurm's default.
    """
    program = command.partition(" ")[0].rpartition("/")[2]
    # Of both options the last one counts.
    last = next(
        (one for one in reversed(list(asked)) if one in ("requeue", "no-requeue")), "requeue"
    )
    return program not in ("srun", "salloc") and last == "requeue"


def _option(word: str, words: Iterator[str], program: str) -> tuple[str, str]:
    """Return name and value of the option that begins with a word."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if not equals and name not in _LONG_FLAGS:
            value = next(words, "")
        return name, value
    letter, value = word[1], word[2:]
    # -W is a flag of sbatch and takes seconds in srun and salloc.
    flag = letter in _SHORT_FLAGS or (letter == "W" and program == "sbatch")
    if not flag and not value:
        value = next(words, "")
    return _SHORT.get(letter, letter), value.removeprefix("=")
