"""The record of a twin as a log: lines as ``sacct`` prints them, which every command reads."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cpsched.api.model import MISSING
from slurm_adapter.live.fields import gres_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Row = Mapping[str, Any]


def lines(rows: Iterable[Row]) -> Iterator[str]:
    """
    Yield the lines of a log, the header first.

    Parameters
    ----------
    rows
        Jobs, as :class:`~slurm_adapter.live.record.Record` has them.
    """
    yield "|".join(_COLUMNS)
    for row in rows:
        values = (value(row) for value in _COLUMNS.values())
        # User input could be mistaken for a column.
        yield "|".join(" ".join(str(value or "").replace("|", " ").split()) for value in values)


def outages(closed: Iterable[tuple[str, int, int]], epoch: int, until: int) -> Iterator[str]:
    """Yield the lines of a table of outages, in seconds of a clock that begins at ``epoch``."""
    yield "node,from,to"
    for node, since, end in closed:
        last = until if end == MISSING else end
        if last > max(since, epoch):
            yield f"{node},{max(since - epoch, 0)},{last - epoch}"


def began(row: Row) -> bool:
    """Say whether a job has started."""
    return bool(row["start"] != MISSING and row["state"] != "PENDING")


def wait_of(row: Row) -> int:
    """Return how long a job that has started had to wait, seconds."""
    return max(int(row["start"] - max(row["submit"], row["eligible"])), 0)


def _time(name: str, known: Callable[[Row], bool] = lambda _: True) -> Callable[[Row], str]:
    return lambda row: str(row[name]) if known(row) and row[name] != MISSING else "Unknown"


def _minutes(row: Row) -> str:
    limit = row["time_limit"]
    return "" if limit == MISSING else str(max(limit // 60, 1))


def _resources(row: Row) -> str:
    """Return what a job asks for, and holds: Slurm shows of a running job what it has."""
    nodes = max(row["nodes_min"], 1)
    found = {"cpu": row["cpus"], "node": nodes}
    if mem := row["mem"] * (row["cpus"] if row["mem_per_core"] else nodes):
        found["mem"] = f"{mem}K"
    for name, times in (("node", nodes), ("job", 1), ("task", row["tasks"])):
        for kind, count in gres_of(row[f"gres_per_{name}"]).items():
            found.setdefault(f"gres/{kind}", count * times)
    return ",".join(f"{kind}={number}" for kind, number in found.items())


def _command(row: Row) -> str:
    """Return the options that no column holds, as in the job's submit command."""
    options = {
        "exclusive": row["exclusive"],
        "contiguous": row["contiguous"],
        f"nice={row['nice']}": row["nice"],
        f"dependency={row['dependency']}": row["dependency"],
        f"array=0%{row['array_limit']}": row["array_limit"],
        f"nodes={row['nodes_min']}-{row['nodes_max']}": row["nodes_max"] > row["nodes_min"],
    }
    return " ".join(["sbatch", *(f"--{option}" for option, given in options.items() if given)])


_TEXTS = {
    "JobID": "key", "User": "user", "Account": "account", "QOS": "qos", "Partition": "partition",
    "Reservation": "reservation", "Constraints": "features", "Licenses": "licenses",
    "State": "state", "JobName": "name",
}  # fmt: skip
_COLUMNS: Mapping[str, Callable[[Row], object]] = {
    **{column: itemgetter(name) for column, name in _TEXTS.items()},
    "Submit": _time("submit"),
    "Eligible": _time("eligible"),
    "Start": _time("start", began),
    "End": _time("end", lambda row: row["gone"]),
    "TimelimitRaw": _minutes,
    "NNodes": itemgetter("nodes_min"),
    "ReqTRES": _resources,
    "SubmitLine": _command,
}
