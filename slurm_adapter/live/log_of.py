"""The record of a twin as a log: lines as ``sacct`` prints them, which every command reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cpsched.api.model import MISSING
from slurm_adapter.live.fields import gres_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_COLUMNS = (
    *("JobID", "User", "Account", "QOS", "Partition", "Reservation", "Constraints", "Licenses"),
    *("Submit", "Eligible", "Start", "End", "State", "TimelimitRaw", "NNodes", "ReqTRES"),
    *("AllocTRES", "SubmitLine", "JobName"),
)


def lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """
    Yield the lines of a log, the header first.

    Parameters
    ----------
    rows
        Jobs, as :class:`~slurm_adapter.live.record.Record` has them.
    """
    yield "|".join(_COLUMNS)
    for row in rows:
        # User input could be mistaken for a column.
        yield "|".join(" ".join(value.replace("|", " ").split()) for value in _values(row))


def outages(closed: Iterable[tuple[str, int, int]], epoch: int, until: int) -> Iterator[str]:
    """Yield the lines of a table of outages, in seconds of a clock that begins at ``epoch``."""
    yield "node,from,to"
    for node, since, end in closed:
        last = until if end == MISSING else end
        if last > max(since, epoch):
            yield f"{node},{max(since - epoch, 0)},{last - epoch}"


def _values(row: Mapping[str, Any]) -> Sequence[str]:
    began = row["start"] != MISSING and row["state"] != "PENDING"
    start, end = (row["start"] if began else MISSING), (row["end"] if row["gone"] else MISSING)
    limit = row["time_limit"]
    return (
        row["key"],
        *(row[name] or "" for name in ("user", "account", "qos", "partition", "reservation")),
        row["features"] or "",
        row["licenses"] or "",
        *(_time(second) for second in (row["submit"], row["eligible"], start, end)),
        row["state"],
        "" if limit == MISSING else str(max(limit // 60, 1)),
        str(row["nodes"].count(",") + 1 if row["nodes"] else row["nodes_min"]),
        _asked(row),
        _held(row) if began else "",
        _command(row),
        row["name"] or "",
    )


def _time(second: int) -> str:
    return "Unknown" if second == MISSING else str(second)


def _asked(row: Mapping[str, Any]) -> str:
    nodes = max(row["nodes_min"], 1)
    mem = row["mem"] * (row["cpus"] if row["mem_per_core"] else nodes)
    found = {"cpu": str(row["cpus"]), "node": str(nodes)}
    if mem:
        found["mem"] = f"{mem}K"
    for name, times in (
        ("gres_per_node", nodes),
        ("gres_per_job", 1),
        ("gres_per_task", row["tasks"]),
    ):
        for kind, count in gres_of(row[name] or "").items():
            found.setdefault(f"gres/{kind}", str(count * times))
    return _text(found)


def _held(row: Mapping[str, Any]) -> str:
    found = {"cpu": str(row["held_cores"] or row["cpus"])}
    found["node"] = str(row["nodes"].count(",") + 1 if row["nodes"] else row["nodes_min"])
    if row["held_mem"]:
        found["mem"] = f"{row['held_mem']}K"
    for kind, count in json.loads(row["held_gres"] or "{}").items():
        found[f"gres/{kind}"] = str(count)
    return _text(found)


def _text(amounts: Mapping[str, str]) -> str:
    return ",".join(f"{kind}={number}" for kind, number in amounts.items())


def _command(row: Mapping[str, Any]) -> str:
    """Return the options that no column holds, as in the job's submit command."""
    words = ["sbatch"]
    words += [f"--{name}" for name in ("exclusive", "contiguous") if row[name]]
    if row["nice"]:
        words.append(f"--nice={row['nice']}")
    if row["dependency"]:
        words.append(f"--dependency={row['dependency']}")
    if row["array_limit"]:
        words.append(f"--array=0%{row['array_limit']}")
    if row["nodes_max"] > row["nodes_min"]:
        words.append(f"--nodes={row['nodes_min']}-{row['nodes_max']}")
    return " ".join(words)
