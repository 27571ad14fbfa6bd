"""A ``sched-`` file of AccaSim, read as a run of ours."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from cpsched.errors import ConfigError, TraceError
from cpsched.logs.text import FilePosition, decode, lines, title
from cpsched.model.schedule import JobOutcome, Leaving, Schedule, Segments
from cpsched.model.workload import Workload
from cpsched.simulation.simulate import Run, Settings
from cpsched.systems.mapping import Fitted, fit
from cpsched.util.types import MAX_AMOUNT, MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.model.system import System
    from cpsched.util.types import IntArray

_DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_LINE = re.compile(
    rf"(?P<job>[^;]+);(?P<user>[^;]*);(?P<queued>{_DATE})__(?P<held>[\d;#]*)__"
    rf"(?P<start>{_DATE});(?P<end>{_DATE});(?P<units>\d+);[^;]*;[^;]*;(?P<requested>-?\d+);"
)


class _ScheduleRow(NamedTuple):
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

    The jobs are those of the file, with their submit, tasks, request, requested time and user.

    Parameters
    ----------
    path
        The ``sched-`` file, in AccaSim's default format.
    system
        The simulated system. Its first node is AccaSim's node 1.
    resources
        Names of the file's amounts, in its order (that of the first job's request). By default
        those of the system.
    zone
        Time zone of the process that wrote it, such as ``Europe/Rome``, because AccaSim writes
        local times.
    start_time
        Unix time of second 0 of the log, as in AccaSim's system configuration.

    Raises
    ------
    TraceError
        If a line cannot be read, or names something that the system lacks. The message has file and
        line.
    ConfigError
        If the number of resources differs from the file, a job can never run on the system, or the
        zone is unknown.
    """
    path = Path(path)
    kinds = tuple(resources or system.resources)
    reader = _LineReader(kinds, system, _zone(zone), start_time)
    rows = [reader.row(decode(raw, at), at) for at, raw in _located_lines(path)]
    if not rows:
        raise TraceError("contains no job", file=path)
    # Jobs of the same second by their numbers in the log.
    rows.sort(key=lambda row: (row.queued, int(row.job) if _is_number(row.job) else -1, row.job))
    if (early := rows[0]).queued < 0:
        raise TraceError(
            f"job {early.job} is submitted {-early.queued:,} s before second 0 of the log"
            f" (start_time is {start_time})",
            file=path,
        )
    fitted = fit(_workload(path, rows, kinds, start_time), system, enforce_time_limits=False)
    for row, reason in fitted.rejected:
        raise ConfigError(
            f"job {fitted.workload.job_id[row]} of the file can never run on the system ({reason})."
            f" The amounts of each task were read as {', '.join(kinds)}. If the file has another"
            " order, name it with --resources (resources= in Python).",
            where=f"system {system.name}",
        )
    requested = fitted.workload.requested_time.copy()
    schedule = Schedule(
        workload=fitted.workload,
        system=system,
        start=np.array([row.start for row in rows], dtype=np.int64),
        end=np.array([row.end for row in rows], dtype=np.int64),
        outcome=np.full(len(rows), JobOutcome.COMPLETED, dtype=np.int64),
        ranking_estimate=requested,
        runtime_estimate=requested,
        runtime_bound=requested,
        segments=_segments(fitted, rows),
        rejected={},
        overrun="extend",
    )
    return Run(
        dispatcher="accasim",
        predictor="requested",
        settings=Settings(overrun="extend", enforce_time_limits=False),
        schedule=schedule,
        decisions={},
        predictions={},
        timing={},
    )


def _is_number(job: str) -> bool:
    return job.isascii() and job.isdigit()


def missing_numbers(workload: Workload) -> tuple[int, int, int] | None:
    """
    Return the first and the last job number of a schedule, and how many between them are missing.

    None if no number is missing, or not every job has a number. AccaSim writes jobs when they end,
    so that the schedule of an interrupted simulation lacks those that ran then.
    """
    names: list[str] = workload.job_id.tolist()
    numbers = {int(name) for name in names if _is_number(name)}
    if len(numbers) < len(names):
        return None
    first, last = min(numbers), max(numbers)
    missing = last - first + 1 - len(numbers)
    return (first, last, missing) if missing else None


def _located_lines(path: Path) -> Iterator[tuple[FilePosition, bytes]]:
    for number, raw in lines(path):
        yield FilePosition(path, number), raw


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise ConfigError(
            f"'{name}' is not a time zone, such as UTC or Europe/Rome", key="zone"
        ) from error


class _LineReader(NamedTuple):
    """Reads lines; kinds are those of the file, in its order."""

    kinds: tuple[str, ...]
    system: System
    zone: ZoneInfo
    start_time: int

    def row(self, line: str, place: FilePosition) -> _ScheduleRow:
        """Return a job."""
        match = _LINE.fullmatch(line)
        if match is None:
            raise place.error("is not a line of AccaSim's schedule in its default format")
        queued, start, end = (
            self._second(match, name, place) for name in ("queued", "start", "end")
        )
        if not queued <= start <= end:
            raise place.error(
                "a job starts before it is queued, or ends before it starts. Check the time zone.",
                "start",
                match["start"],
            )
        nodes, request = self._allocation(match["held"], place)
        if len(nodes) != int(match["units"]):
            raise place.error(f"{len(nodes)} tasks have nodes", "units", match["units"])
        num_nodes = self.system.num_nodes
        if not 1 <= min(nodes) <= max(nodes) <= num_nodes:
            right = f"nodes must be 1 to {num_nodes}, as {self.system.name} has them"
            raise place.error(right, "nodes", f"{min(nodes)} to {max(nodes)}")
        user = "" if match["user"] in ("-1", "None") else match["user"]
        requested = int(match["requested"])
        return _ScheduleRow(match["job"], user, queued, start, end, requested, nodes, request)

    def _second(self, match: re.Match[str], name: str, place: FilePosition) -> int:
        try:
            moment = datetime.fromisoformat(match[name]).replace(tzinfo=self.zone).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise place.error("is not a date", name, match[name]) from error
        return int(moment.timestamp()) - self.start_time

    def _allocation(
        self, text: str, place: FilePosition
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the node of each unit, and what every unit takes."""
        nodes, request = [], None
        for part in text.split("#")[:-1]:
            node, *rest = (int(number) if number else -1 for number in part.split(";"))
            amounts = tuple(rest)
            if len(amounts) != len(self.kinds):
                raise ConfigError(
                    f"a unit in the file has {len(amounts)} amounts, but {len(self.kinds)} are"
                    f" named ({', '.join(self.kinds)}). Name the file's resource types in order.",
                    where=place.file,
                    key="resources",
                )
            if not all(0 <= amount <= MAX_AMOUNT for amount in amounts):
                raise place.error("is not an amount", "nodes", part)
            if request not in (None, amounts):
                raise place.error("tasks of one job differ", "nodes", part)
            nodes.append(node)
            request = amounts
        if request is None:
            raise place.error("the job has no nodes", "nodes", text)
        return tuple(nodes), request


def _workload(
    path: Path, rows: Sequence[_ScheduleRow], kinds: Sequence[str], start_time: int
) -> Workload:
    return Workload.build(
        # The log's own title, so that runs of it are compared with this one.
        title=title(path.with_name(path.name.removeprefix("sched-") or path.name)),
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


def _segments(fitted: Fitted, rows: Sequence[_ScheduleRow]) -> Segments:
    """Return what each job held, with neighbouring nodes of equal units merged into runs."""
    rows_of_runs: list[tuple[int, int, int, int, int, int]] = []
    for job, row in enumerate(rows):
        nodes, units = np.unique(np.array(row.nodes) - 1, return_counts=True)
        breaks = np.flatnonzero((np.diff(nodes) != 1) | (np.diff(units) != 0)) + 1
        for run in np.split(np.arange(len(nodes)), breaks):
            first = int(run[0])
            rows_of_runs.append(
                (row.start, job, int(nodes[first]), row.end, len(run), int(units[first]))
            )
    table: IntArray = np.array(sorted(rows_of_runs), dtype=np.int64)
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
