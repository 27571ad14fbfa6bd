"""
Writing a run as Open XDMoD takes it from Slurm: output format ``xdmod`` of ``cpsched simulate``.

The columns and their order are those that ``xdmod-slurm-helper`` asks sacct for (Open XDMoD's
*Slurm Notes*), without a header, with times in UTC; ``xdmod-shredder -f slurm`` reads the file. So
a simulated schedule is looked at as if it had happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import TraceError
from cpsched.api.machines import compress
from slurm_adapter.dispatch.values import clock
from slurm_adapter.sacct.write import as_recorded, columns_of, rows_recorded, write_columns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.logs import Labels
    from cpsched.api.model import IntArray
    from cpsched.api.simulation import Run, Schedule

#: In the order in which they are read.
COLUMNS = (
    *("JobID", "JobIDRaw", "Cluster", "Partition", "QOS", "Account", "Group", "GID", "User", "UID"),
    *("Submit", "Eligible", "Start", "End", "Elapsed", "ExitCode", "State", "NNodes", "NCPUS"),
    *("ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "Timelimit", "NodeList", "JobName"),
)
#: sacct's words for a job that never had nodes.
_NOWHERE = "None assigned"
#: The number of the first user, and of the first group: logs have no numbers.
_FIRST_ID = 10_000
#: States of jobs whose script ended with an error.
_FAILED = frozenset(("FAILED", "OUT_OF_MEMORY"))


def write_run(run: Run, folder: Path, log: str) -> None:
    """
    Write the schedule of a run as ``LOG.xdmod``.

    Of a job that was queued again there is its last attempt; users and groups have numbers in the
    order in which the log names them; a job whose end is unknown has completed.

    Raises
    ------
    TraceError
        If it cannot be written, or the log does not say when it began.
    """
    schedule = run.schedule
    path = folder / f"{log.partition('.')[0]}.xdmod"
    if schedule.workload.epoch is None:
        raise TraceError(
            "XDMoD files jobs by their dates, but this log does not say when it began", file=path
        )
    jobs = as_recorded(schedule)
    known, _ = columns_of(jobs, path)
    size, cores, tres, nodes = _held(schedule)
    states = [state or "COMPLETED" for state in known["State"]]
    own: dict[str, Sequence[str]] = {
        "Cluster": [schedule.system.name] * len(jobs),
        "Group": known["Account"],
        "GID": _numbers(jobs.group),
        "UID": _numbers(jobs.user),
        "Elapsed": [clock(int(seconds)) for seconds in known["ElapsedRaw"]],
        "ExitCode": ["1:0" if state in _FAILED else "0:0" for state in states],
        "State": states,
        "NNodes": size,
        "NCPUS": cores,
        "ReqCPUS": [_of_tres(text, "cpu") for text in known["ReqTRES"]],
        "AllocTRES": tres,
        "NodeList": nodes,
    }
    write_columns(path, {name: own.get(name) or known[name] for name in COLUMNS})


def _held(schedule: Schedule) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return number of nodes, cores, ``AllocTRES`` and node list of each job that has an end."""
    segments, system = schedule.segments, schedule.system
    # What it held in starts that were cut short, or after a change of its size, is left out.
    parts = np.flatnonzero(segments.start == schedule.start[segments.job])
    parts = parts[np.argsort(segments.job[parts], kind="stable")]
    rows = rows_recorded(schedule)
    first = np.searchsorted(segments.job[parts], rows)
    last = np.searchsorted(segments.job[parts], rows, side="right")
    found = [
        _place(schedule, parts[low:high])
        for low, high in zip(first.tolist(), last.tolist(), strict=True)
    ]
    names = system.node_names
    lists: dict[tuple[int, ...], str] = {}
    for nodes, _ in found:
        if nodes not in lists:
            lists[nodes] = compress([names[node] for node in nodes]) if nodes else _NOWHERE
    amounts = [dict(zip(system.resources, row, strict=True)) for _, row in found]
    cores = [
        max(own.get("core", 0), len(nodes)) for own, (nodes, _) in zip(amounts, found, strict=True)
    ]
    tres = [
        _tres(own, number, len(nodes))
        for own, number, (nodes, _) in zip(amounts, cores, found, strict=True)
    ]
    return (
        [str(len(nodes)) for nodes, _ in found],
        list(map(str, cores)),
        tres,
        [lists[nodes] for nodes, _ in found],
    )


def _place(schedule: Schedule, parts: IntArray) -> tuple[tuple[int, ...], list[int]]:
    """Return the nodes of segments, and what is held there in all."""
    segments = schedule.segments
    count = segments.count[parts]
    nodes = [
        node
        for begin, number in zip(segments.node[parts].tolist(), count.tolist(), strict=True)
        for node in range(begin, begin + number)
    ]
    total: list[int] = (segments.amount[parts] * count[:, None]).sum(axis=0).tolist()
    return tuple(sorted(nodes)), total


def _tres(held: dict[str, int], cores: int, nodes: int) -> str:
    """Return what a job held as sacct writes it; '' if it never ran."""
    if not nodes:
        return ""
    items = {"billing": str(cores), "cpu": str(cores)}
    for kind, amount in sorted(held.items()):
        if amount and kind not in ("core", "mem"):
            items[f"gres/{kind}"] = str(amount)
    if held.get("mem"):
        items["mem"] = f"{held['mem']}K"
    items["node"] = str(nodes)
    return ",".join(f"{name}={value}" for name, value in items.items())


def _of_tres(text: str, kind: str) -> str:
    return dict(item.split("=", 1) for item in text.split(",")).get(kind, "")


def _numbers(labels: Labels) -> list[str]:
    """Return made-up numbers of users or groups, '' where there is none."""
    return [str(_FIRST_ID + code) if code >= 0 else "" for code in labels.codes.tolist()]
