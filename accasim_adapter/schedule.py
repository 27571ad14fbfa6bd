"""A ``sched-`` file of AccaSim, read as a run of ours."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from cpsched.api.errors import ConfigError, TraceError
from cpsched.api.logs import Fitted, Place, Workload, decode, fit, lines
from cpsched.api.model import MAX_AMOUNT, MISSING
from cpsched.api.simulation import JobOutcome, Leaving, Run, Schedule, Segments, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import IntArray, System

_DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_LINE = re.compile(
    rf"(?P<job>[^;]+);(?P<user>[^;]*);(?P<queued>{_DATE})__(?P<held>[\d;#]*)__"
    rf"(?P<start>{_DATE});(?P<end>{_DATE});(?P<units>\d+);[^;]*;[^;]*;(?P<requested>-?\d+);"
)


class _Row(NamedTuple):
    """One line of the file."""

    job: str
    user: str
    queued: int
    start: int
    end: int
    requested: int
    #: Number of a node (from 1) for each unit.
    nodes: tuple[int, ...]
    #: What one unit takes, in the file's order of resources.
    request: tuple[int, ...]


def read_schedule(
    path: str | Path,
    system: System,
    *,
    resources: Sequence[str] | None = None,
    zone: str = "UTC",
    start_time: int = 0,
) -> Run:
    """
    Return AccaSim's schedule as a run, which can be verified, compared and saved.

    The jobs are those of the file: submit, units, request, requested time and user are in it.

    Parameters
    ----------
    path
        The ``sched-`` file, in AccaSim's default format.
    system
        The machine it was simulated on; its first node is AccaSim's node 1.
    resources
        Names of the file's amounts, in its order (that of the first job's request); by default
        those of the system.
    zone
        Time zone of the process that wrote it, such as ``Europe/Rome``: AccaSim writes local time.
    start_time
        Unix time of second 0 of the log, as in AccaSim's system configuration.

    Raises
    ------
    TraceError
        If a line cannot be read, or names something that the machine lacks; names file and line.
    ConfigError
        If the number of resources differs from the file, or the zone is unknown.
    """
    path = Path(path)
    kinds = tuple(resources or system.resources)
    rows = _read(path, kinds, system, _zone(zone), start_time)
    order = sorted(range(len(rows)), key=lambda index: (rows[index].queued, _rank(rows[index])))
    rows = [rows[index] for index in order]
    workload = _workload(path, rows, kinds, start_time)
    fitted = fit(workload, system, enforce_limits=False)
    return Run(
        dispatcher="accasim",
        predictor="requested",
        settings=Settings(overrun="extend", enforce_limits=False),
        schedule=_schedule(fitted, rows),
        decisions={},
        predictions={},
        timing={},
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise ConfigError(
            f"'{name}' is not a time zone, such as UTC or Europe/Rome", key="zone"
        ) from error


def _rank(row: _Row) -> tuple[int, str]:
    """Order jobs of the same second by their numbers in the log."""
    return (int(row.job) if row.job.isascii() and row.job.isdigit() else -1, row.job)


def _read(
    path: Path, kinds: Sequence[str], system: System, zone: ZoneInfo, start_time: int
) -> list[_Row]:
    places = ((Place(path, number), raw) for number, raw in lines(path))
    rows = [_row(decode(raw, at), kinds, system, zone, start_time, at) for at, raw in places]
    if not rows:
        raise TraceError("there is no job in it", file=path)
    return rows


def _row(
    line: str, kinds: Sequence[str], system: System, zone: ZoneInfo, start_time: int, place: Place
) -> _Row:
    match = _LINE.fullmatch(line)
    if match is None:
        raise place.error("is not a line of AccaSim's schedule in its default format")
    times = []
    for name in ("queued", "start", "end"):
        try:
            moment = datetime.fromisoformat(match[name]).replace(tzinfo=zone).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise place.error("is not a date", name, match[name]) from error
        times.append(int(moment.timestamp()) - start_time)
    queued, start, end = times
    if not queued <= start <= end:
        raise place.error(
            "a job starts before it is queued, or ends before it starts: is it another time zone?",
            "start",
            match["start"],
        )
    nodes, request = _held(match["held"], kinds, place)
    if len(nodes) != int(match["units"]):
        raise place.error(f"{len(nodes)} units have nodes", "units", match["units"])
    if not 1 <= min(nodes) <= max(nodes) <= system.num_nodes:
        right = f"nodes must be 1 to {system.num_nodes}, as {system.name} has them"
        raise place.error(right, "nodes", f"{min(nodes)} to {max(nodes)}")
    user = "" if match["user"] in ("-1", "None") else match["user"]
    return _Row(
        match["job"], user, queued, start, end, int(match["requested"]), tuple(nodes), request
    )


def _held(text: str, kinds: Sequence[str], place: Place) -> tuple[list[int], tuple[int, ...]]:
    """Return the node of each unit, and what every unit takes."""
    nodes: list[int] = []
    request: tuple[int, ...] = ()
    for part in text.split("#")[:-1]:
        numbers = [int(number) if number else -1 for number in part.split(";")]
        if len(numbers) != len(kinds) + 1:
            raise ConfigError(
                f"a unit in the file has {len(numbers) - 1} amounts, but {len(kinds)} are named"
                f" ({', '.join(kinds)}); name the file's kinds, in its order",
                where=place.file,
                key="resources",
            )
        nodes.append(numbers[0])
        amounts = tuple(numbers[1:])
        if not all(0 <= amount <= MAX_AMOUNT for amount in amounts):
            raise place.error("is not an amount", "nodes", part)
        if request and amounts != request:
            raise place.error("units of one job differ", "nodes", part)
        request = amounts
    if not nodes:
        raise place.error("the job has no nodes", "nodes", text)
    return nodes, request


def _workload(path: Path, rows: Sequence[_Row], kinds: Sequence[str], start_time: int) -> Workload:
    return Workload.build(
        title=path.name.removeprefix("sched-"),
        epoch=start_time or None,
        resources=kinds,
        job_id=[row.job for row in rows],
        submit=np.array([row.queued for row in rows]),
        runtime=np.array([row.end - row.start for row in rows]),
        requested_time=np.array([row.requested if row.requested >= 1 else MISSING for row in rows]),
        units=np.array([len(row.nodes) for row in rows]),
        request=np.array([row.request for row in rows]),
        user=[row.user for row in rows],
        recorded_start=np.array([row.start for row in rows]),
    )


def _schedule(fitted: Fitted, rows: Sequence[_Row]) -> Schedule:
    jobs = fitted.workload
    rejected = dict(fitted.rejected)
    outcome = np.full(len(rows), JobOutcome.COMPLETED, dtype=np.int64)
    requested = jobs.requested_time.copy()
    if rejected:
        row, reason = next(iter(rejected.items()))
        raise ConfigError(
            f"job {jobs.job_id[row]} of the file could never run on it: {reason}",
            where=f"system {fitted.system.name}",
        )
    return Schedule(
        workload=jobs,
        system=fitted.system,
        start=np.array([row.start for row in rows], dtype=np.int64),
        end=np.array([row.end for row in rows], dtype=np.int64),
        outcome=outcome,
        ranking_estimate=requested,
        runtime_estimate=requested,
        runtime_bound=requested,
        segments=_segments(fitted, rows),
        rejected={},
        overrun="extend",
    )


def _segments(fitted: Fitted, rows: Sequence[_Row]) -> Segments:
    """Return what each job held, with neighbouring nodes of equal units merged into runs."""
    found: list[tuple[int, int, int, int, int, int]] = []
    for job, row in enumerate(rows):
        nodes, units = np.unique(np.array(row.nodes) - 1, return_counts=True)
        breaks = np.flatnonzero((np.diff(nodes) != 1) | (np.diff(units) != 0)) + 1
        for run in np.split(np.arange(len(nodes)), breaks):
            first = int(run[0])
            found.append((row.start, job, int(nodes[first]), row.end, len(run), int(units[first])))
    table: IntArray = np.array(sorted(found), dtype=np.int64)
    start, job_of, node, end, count, each = (table[:, column].copy() for column in range(6))
    return Segments(
        job=job_of,
        start=start,
        end=end,
        node=node,
        count=count,
        units=each,
        amount=each[:, None] * fitted.workload.request[job_of],
        leaving=np.full(len(job_of), Leaving.END, dtype=np.int64),
    )
