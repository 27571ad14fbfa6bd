r"""
Slurm's accounting: ``sacct --parsable2`` (or ``--parsable``, ``--json``), plain or gzip.

``docs/reference/slurm-logs.md`` says what becomes of each column; the forms in which it may come
are those of :mod:`slurm_adapter.sacct.lines` and :mod:`slurm_adapter.sacct.as_json`.

Tasks of arrays (``123_4``) and components of heterogeneous jobs (``123+0``) are jobs of their own;
``123_[5-9]``, tasks that never started, is as many. Further attempts of a job that was queued again
(``sacct --duplicates``) are ``123#2``, ``123#3``, each submitted when it was queued again, for
Slurm resets ``Submit`` then, and with a dependency on the end of the one before. But attempts that
were preempted are not jobs: what is lost by preemption follows from a schedule, so the next one has
the submit of the first.

A job that was cancelled before it started has ``cancel``, its ``End``, and no recorded start; its
runtime is unknown and taken as its requested time, or where that is unknown as long as it waited.

Set aside and counted: attempts that were ``preempted, and queued again``, jobs that are ``still
running`` or ``still waiting``, those that ``never ran`` (they ended in another way before they
started), ``repeated line`` (equal id, submit and start). Steps (``123.batch``) are not jobs; they
give their job the ``ReqMem`` its own line lacks.

Times without an offset are taken as UTC. Exported in local time, jobs around a change of the
clock can seem to start before their submit; export with ``TZ=UTC``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from cpsched.api.errors import TraceError
from cpsched.api.logs import Jobs, LogTooLargeError, NotAJobError
from cpsched.api.model import MISSING
from slurm_adapter.sacct.as_json import is_json, json_rows
from slurm_adapter.sacct.job import job_of
from slurm_adapter.sacct.lines import JOB_ID, Lines, is_first_line
from slurm_adapter.sacct.request import Shapes
from slurm_adapter.sacct.waits import Waits, targets_of
from slurm_adapter.sacct.write import write

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.api.logs import Place, Workload
    from slurm_adapter.sacct.job import Found
    from slurm_adapter.sacct.lines import Row

_TASKS = re.compile(r"([0-9]+)_\[([^\]%]*)(?:%[0-9]+)?\]?")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
#: Slurm's own limit of MaxArraySize, and how many tasks of one log may be listed in brackets.
_MOST_TASKS = 4_000_001
_MOST_LISTED = 1_000_000


class Sacct:
    """Output of Slurm's ``sacct``; see the module for what a line becomes."""

    name = "sacct"
    summary = "Slurm accounting: sacct --parsable2 or --json, plain or gzip"
    suffixes = (".sacct",)
    write = staticmethod(write)

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts as sacct's output does, with its header or without."""
        return is_json(head) or is_first_line(head)

    def read(self, path: Path, *, skip_bad_lines: bool = False) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            At the first invalid line (unless ``skip_bad_lines``), and if the header
            lacks a column, the file cannot be read, or no job in it is known to have ended.
        """
        return _Reading(Jobs(path, skip_bad_lines=skip_bad_lines), path).workload()


SACCT = Sacct()


@dataclass(slots=True)
class _Reading:
    """Makes jobs of rows."""

    jobs: Jobs
    path: Path
    shapes: Shapes = field(default_factory=Shapes)
    waits: Waits = field(default_factory=Waits)
    #: What is said in the header: how many jobs or lines, and what of them.
    notes: Counter[str] = field(default_factory=Counter)
    listed: int = 0
    #: Rows of jobs that were preempted; and lines of them that are no longer rows, for the next
    #: attempt is there instead.
    preempted: set[int] = field(default_factory=set)
    replaced: set[tuple[str, int, int]] = field(default_factory=set)

    def workload(self) -> Workload:
        """Read the file."""
        lines = Lines(self.path, self.jobs.bad)
        # sacct prints the steps of a job right after it.
        for _, group in groupby(json_rows(self.path) or lines.rows(), key=_without_step):
            found = list(group)
            steps = [row for row in found if row.is_step]
            if len(steps) == len(found):
                self.jobs.set_aside("step without its job", steps[0].job_id)
            self.notes["steps"] += len(steps)
            for row in found:
                if not row.is_step:
                    self._take(row, steps)
        columns = self.waits.columns(self.jobs)
        self.notes["jobs that waited for jobs not in the log"] += self.waits.unknown
        counts = [f"{what}: {count}" for what, count in self.notes.items() if count]
        counts += [f"lines that {what}: {count}" for what, count in lines.notes.items()]
        return self.jobs.workload([("Note", text) for text in counts], **columns)

    def _take(self, row: Row, steps: list[Row]) -> None:
        """Take one line, as a job, as jobs, or as what else it is."""
        try:
            found = job_of(_with_steps(row, steps), self.shapes)
            for job_id in self._ids(row):
                self._add(found, job_id, row.place)
        except NotAJobError as why:
            self.jobs.set_aside(why.reason, row.job_id, why.core_seconds)
        except TraceError as error:
            self.jobs.bad(error)

    def _ids(self, row: Row) -> list[str]:
        """Return the ids of the jobs in a line: of one, or of the tasks Slurm keeps in one line."""
        match = _TASKS.fullmatch(row.job_id)
        if match is None:
            if not JOB_ID.fullmatch(row.job_id):
                raise row.place.error("is not the id of a job", "JobID", row.job_id)
            return [row.job_id]
        listed, dots, _ = match[2].partition("...")
        if dots:
            self.jobs.set_aside("tasks left out of JobID (SLURM_BITSTR_LEN)", row.job_id)
            listed = listed.rpartition(",")[0]
        ranges = row.place.parse(_tasks, "JobID", listed)
        self.listed += sum(map(len, ranges))
        if self.listed > _MOST_LISTED:
            raise LogTooLargeError(
                f"lists more than {_MOST_LISTED} tasks that never started; split it",
                file=self.path,
            )
        return [f"{match[1]}_{task}" for tasks in ranges for task in tasks]

    def _add(self, found: Found, job_id: str, place: Place) -> None:
        """Add a job; under another id if it was queued again after an earlier attempt."""
        jobs, job, name, attempt, before = self.jobs, found.job, job_id, 1, -1
        repeated = (job_id, job.submit, job.start) in self.replaced
        while not repeated and (known := jobs.row_of(name)) is not None:
            started = jobs.value("submit", known), jobs.value("start", known)
            repeated = started == (job.submit, job.start)
            attempt, before = attempt + 1, known
            name = f"{job_id}#{attempt}"
        if repeated:
            raise NotAJobError("repeated line", job.shape.units * job.runtime)
        if before in self.preempted and self._continue(before, found, job_id, place):
            return
        if name != job.job_id:
            job = job._replace(job_id=name)
        row = len(jobs)
        targets = targets_of(found.dependency, job_id) if attempt == 1 else ()
        jobs.add(job._replace(begin=found.asked_begin) if targets else job, place)
        if attempt > 1:
            self.waits.follow(row, before)
        elif targets:
            self.waits.add(row, targets, found.eligible)
        if found.preempted:
            self.preempted.add(row)
        self.waits.note(row, job.job_id)
        self.notes["attempts of jobs that were queued again"] += attempt > 1
        self.notes["components of heterogeneous jobs"] += "+" in job_id

    def _continue(self, row: int, found: Found, job_id: str, place: Place) -> bool:
        """Take the attempt that follows a preempted one in its place; say if it does follow."""
        jobs, job = self.jobs, found.job
        submit, start, ran = (jobs.value(name, row) for name in ("submit", "start", "runtime"))
        if MISSING < job.start < start + ran:
            return False
        jobs.set_aside("preempted, and queued again", job_id, job.shape.units * ran)
        for seconds in ((submit, start), (job.submit, job.start)):
            self.replaced.add((job_id, *seconds))
        begin = jobs.value("begin", row)
        jobs.replace(row, job._replace(submit=submit, begin=begin), place)
        if not found.preempted:
            self.preempted.discard(row)
        return True


def _without_step(row: Row) -> str:
    return row.job_id.partition(".")[0]


def _tasks(text: str) -> list[range]:
    """Read ``1-5,8,10-20:2``."""
    found = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError("is not a list of tasks such as 1-5,8,10-20:2")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if not step or last >= _MOST_TASKS:
            raise ValueError(f"must have tasks below {_MOST_TASKS}, and steps of at least 1")
        found.append(range(first, last + 1, step))
    return found


def _with_steps(row: Row, steps: list[Row]) -> Row:
    """Fill in what only the steps say (some Slurm versions leave a job's own ReqMem empty)."""
    if not steps or row.values.get("reqmem") != "":
        return row
    asked = next((step.values["reqmem"] for step in steps if step.values["reqmem"]), "")
    return row._replace(values={**row.values, "reqmem": asked})
