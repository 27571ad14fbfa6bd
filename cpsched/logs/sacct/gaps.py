"""
What of the jobs of a log is not modelled: options of their commands, and columns.

A column of ``sacct`` (Slurm 17.11 to 25.11) that holds something, is not read, and is not known to
be irrelevant is reported with the jobs that have it. Names are in lower case; those of
``sacct --json`` are those of its text. The columns that are read are those of
:mod:`cpsched.logs.sacct.job` and :mod:`cpsched.logs.sacct.request`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from cpsched.logs.sacct.options import not_modelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
#: Options that say how a job lies on its nodes: nothing, where it is one node.
_OF_NODES = frozenset(("distribution", "ntasks-per-node", "tasks-per-node", "use-min-nodes"))
_NODES = re.compile(r"(?:^|,)node=([0-9]+)(?:,|$)")
_cached = lru_cache(maxsize=2**12)(not_modelled)


def gaps_of(values: Mapping[str, str], options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is not modelled of a row of sacct, and what is simulated instead."""
    for name, value in options.items():
        gap = _cached(name, value)
        if gap and not (name in _OF_NODES and _is_on_single_node(values)):
            yield gap
    for name in unread(tuple(values)):
        if values[name].strip() not in _NOTHING:
            yield f"column {name}", _INSTEAD.get(name, "not read")


def _is_on_single_node(values: Mapping[str, str]) -> bool:
    match = _NODES.search(values.get("alloctres", ""))
    return (match[1] if match else values.get("nnodes") or values.get("allocnodes")) == "1"


@lru_cache(maxsize=2**8)
def unread(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return which columns are neither read nor irrelevant."""
    return tuple(
        name
        for name in names
        if name not in READ and name not in IRRELEVANT and not name.startswith(_USAGES)
    )
