"""
Which columns of ``sacct`` (Slurm 17.11 to 25.11) are read, and which are known to be irrelevant.

The values are read in :mod:`cpsched.logs.sacct.job` and :mod:`cpsched.logs.sacct.request`.

A column that holds something, is not read, and is not known to be irrelevant is reported with the
jobs that have it. Names are in lower case; those of ``sacct --json`` are those of its text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Columns that a job is made of.
READ = frozenset(
    (
        *("jobid", "jobidraw", "jobname", "user", "account", "partition", "qos", "cluster"),
        *("state", "submit", "eligible", "start", "end", "elapsed", "elapsedraw", "suspended"),
        *("timelimit", "timelimitraw", "reqtres", "alloctres", "reqmem", "reqcpus", "alloccpus"),
        *("ncpus", "nnodes", "allocnodes", "reqnodes", "reqgres", "allocgres", "constraints"),
        *("reservation", "licenses", "submitline", "arraytasklimit", ""),
    )
)
_USAGE = "what a run used, not what it asked for"
_TEXT = "text of users and operators"
_SAME = "said by another column"
#: Columns that change nothing, and why.
IRRELEVANT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("cputime", "cputimeraw", "totalcpu", "usercpu", "systemcpu", "consumedenergy"),
            *("consumedenergyraw", "ntasks", "blockid", "layout", "maxrss", "maxvmsize"),
        ),
        _USAGE,
    ),
    **dict.fromkeys(
        (
            *("comment", "admincomment", "systemcomment", "workdir", "container", "stdin"),
            *("stdout", "stderr", "wckey", "wckeyid"),
        ),
        _TEXT,
    ),
    **dict.fromkeys(
        (
            *("associd", "dbindex", "gid", "uid", "group", "qosraw", "reservationid", "sluid"),
            *("planned", "reserved", "plannedcpu", "plannedcpuraw", "resvcpu", "resvcpuraw"),
        ),
        _SAME,
    ),
    **dict.fromkeys(("exitcode", "derivedexitcode", "failednode"), "State says how it ended"),
    "nodelist": "where it ran, not where it had to run",
    "flags": "which pass of Slurm started it",
    "reason": "why it waited last; Eligible and SubmitLine say what for",
    "priority": "dispatchers find their own",
    "reqcpufreq": "the recorded runtime has it",
    "reqcpufreqmin": "the recorded runtime has it",
    "reqcpufreqmax": "the recorded runtime has it",
    "reqcpufreqgov": "the recorded runtime has it",
}
#: Beginnings of further names of what runs used.
_USAGES = ("ave", "max", "min", "tresusage")
#: What is simulated instead of a column that is reported.
_INSTEAD = {
    "restarts": "earlier attempts only if they are in the log (sacct --duplicates)",
    "qosreq": "the QOS that it had",
    "mcslabel": "nodes are not kept to one label",
    "extra": "any nodes serve",
    "segmentsize": "--segment of SubmitLine",
}
_NOTHING = frozenset(("", "0", "None", "NONE", "Unknown", "N/A", "(null)", "00:00:00"))


def unread(names: Iterable[str]) -> list[str]:
    """Return which columns are neither read nor irrelevant."""
    return [
        name
        for name in names
        if name not in READ and name not in IRRELEVANT and not name.startswith(_USAGES)
    ]


def left_over(values: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return which of some columns hold something."""
    return [name for name in names if values.get(name, "").strip() not in _NOTHING]


def instead_of(name: str) -> str:
    """Return what is simulated instead of a column that is not read."""
    return _INSTEAD.get(name, "not read")
