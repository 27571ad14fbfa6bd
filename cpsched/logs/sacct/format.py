r"""
Slurm's accounting: ``sacct --parsable2`` (or ``--parsable``, ``--json``), plain or gzip.

``docs/reference/log-columns.md`` says what becomes of each column, of arrays, heterogeneous jobs,
attempts and numbers that are given out again, and which rows are excluded; the forms of the file
are those of :mod:`cpsched.logs.sacct.records`.

An attempt is of the same user, account and name, and neither begins nor ends while the one before
was there. Attempts that were preempted are not jobs: what is lost by preemption follows from a
schedule, so the next one has the submit of the first. A value that Slurm does not write is an
error. Steps (``123.batch``) are not jobs; they give their job the ``ReqMem`` its own line lacks.

Times without an offset are taken as UTC. Exported in local time, jobs around a change of the
clock can seem to start before their submit; export with ``TZ=UTC``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.logs.collect import JobCollector, JobShares, NotAJobError
from cpsched.logs.sacct.as_json import is_json
from cpsched.logs.sacct.dependencies import (
    Dependencies,
    RequestedDependency,
    generations,
    requested_dependency,
)
from cpsched.logs.sacct.gaps import gaps_of
from cpsched.logs.sacct.job import job_of
from cpsched.logs.sacct.records import JOB_ID, SacctRecords, is_first_line
from cpsched.logs.sacct.request import ResourceRequests
from cpsched.logs.sacct.write import write
from cpsched.logs.text import LogTooLargeError
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.logs.collect import CollectedJob
    from cpsched.logs.rejects import RejectedRows
    from cpsched.logs.sacct.as_json import SacctRow
    from cpsched.logs.sacct.job import SacctJob
    from cpsched.logs.text import FilePosition
    from cpsched.model.workload import Workload

_TASKS = re.compile(r"([0-9]+)_\[([^\]%]*)(?:%[0-9]+)?\]?")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
#: Slurm's own limit of MaxArraySize, and how many tasks of one log may be listed in brackets.
_MOST_TASKS = 4_000_001
_MOST_LISTED = 1_000_000


class Sacct:
    """
    Job accounting of Slurm as ``sacct`` prints it (``--parsable2`` or ``--json``), plain or gzip.

    ``docs/reference/log-columns.md`` describes the use of each column.
    """

    name = "sacct"
    summary = "Slurm accounting: sacct --parsable2 or --json, plain or gzip"
    suffixes = (".sacct",)
    write = staticmethod(write)

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file starts as sacct's output does, with its header or without."""
        return is_json(head) or is_first_line(head)

    def read(self, path: Path, rejected: RejectedRows) -> Workload:
        """
        Read a log.

        Raises
        ------
        TraceError
            If the header lacks a column, the file cannot be read, or no job in it is known to have
            ended.
        """
        return _Reading(JobCollector(path, rejected), path, rejected).workload()


SACCT = Sacct()


@dataclass(slots=True)
class _Reading:
    """Makes jobs of rows."""

    jobs: JobCollector
    path: Path
    rejected: RejectedRows
    requests: ResourceRequests = field(default_factory=ResourceRequests)
    dependencies: Dependencies = field(default_factory=Dependencies)
    gaps: JobShares = field(default_factory=JobShares)
    #: What is said in the header: how many jobs or lines, and what of them.
    notes: Counter[str] = field(default_factory=Counter)
    listed: int = 0
    suspended: int = 0
    #: Rows of jobs that were preempted; and lines of them that are no longer rows, for the next
    #: attempt is there instead.
    preempted: set[int] = field(default_factory=set)
    replaced: set[tuple[str, int, int]] = field(default_factory=set)
    #: Clusters by row, of rows that are not of the first one.
    clusters: dict[int, str] = field(default_factory=dict)
    cluster: str | None = None

    def workload(self) -> Workload:
        """Read the file."""
        records = SacctRecords(self.path, self.rejected)
        # sacct prints the steps of a job right after it.
        for _, group in groupby(records.rows(), key=_without_step):
            rows = list(group)
            steps = [row for row in rows if row.is_step]
            if len(steps) == len(rows):
                self.jobs.exclude("step without its job", steps[0].job_id)
            self.notes["steps"] += len(steps)
            for row in rows:
                if not row.is_step:
                    self._take(row, steps)
        columns = self.dependencies.columns(self.jobs)
        self.notes.update(self.dependencies.counts)
        self.notes["jobs of other clusters than the first"] = len(self.clusters)
        uneven = "jobs with GPUs or the like that do not divide among their nodes, rounded up"
        self.notes[uneven] = self.requests.num_uneven
        counts = [f"{what}: {count}" for what, count in self.notes.items() if count]
        if self.suspended:
            counts.append(f"hours for which jobs were suspended: {self.suspended / 3600:,.1f}")
        counts += [f"lines that {what}: {count}" for what, count in records.notes.items()]
        counts += self.gaps.texts()
        return self.jobs.workload([("Note", text) for text in counts], **columns)

    def _take(self, row: SacctRow, steps: list[SacctRow]) -> None:
        """Take one line, as a job, as jobs, or as what else it is."""
        try:
            parsed = job_of(_with_steps(row, steps), self.requests)
            for job_id in self._ids(row):
                self._add(parsed, job_id, row)
        except NotAJobError as why:
            self._leave(row, why)
        except TraceError as error:
            self.rejected.add(error, row.text, row.number)

    def _leave(self, row: SacctRow, why: NotAJobError) -> None:
        """Count a line that is no job, with the tasks that it stands for."""
        try:
            number = sum(map(len, self._tasks(row))) or 1
        except TraceError as error:
            self.rejected.add(error, row.text, row.number)
        else:
            self.jobs.exclude(why.reason, row.job_id, why.core_seconds, number)

    def _ids(self, row: SacctRow) -> list[str]:
        """Return the ids of the jobs in a line: of one, or of the tasks Slurm keeps in one line."""
        ranges = self._tasks(row)
        number = row.job_id.partition("_")[0]
        if number == row.job_id or not _TASKS.fullmatch(row.job_id):
            return [row.job_id]
        self.listed += sum(map(len, ranges))
        if self.listed > _MOST_LISTED:
            raise LogTooLargeError(
                f"lists more than {_MOST_LISTED} tasks that never started. Split it.",
                file=self.path,
            )
        return [f"{number}_{task}" for tasks in ranges for task in tasks]

    def _tasks(self, row: SacctRow) -> list[range]:
        """Return the tasks that Slurm keeps in one line; none for a line of one job."""
        match = _TASKS.fullmatch(row.job_id)
        if match is None:
            if not JOB_ID.fullmatch(row.job_id):
                raise row.position.error(
                    "is not the id of a job, such as 123 or 123_4", "JobID", row.job_id
                )
            return []
        listed, dots, _ = match[2].partition("...")
        if dots:
            self.jobs.exclude("tasks missing in JobID (SLURM_BITSTR_LEN)", row.job_id)
            listed = listed.rpartition(",")[0]
        return row.position.parse(_tasks, "JobID", listed) if listed or not dots else []

    def _add(self, parsed: SacctJob, job_id: str, row: SacctRow) -> None:
        """Add a job; under another id if its number was there before."""
        jobs, job, position = self.jobs, parsed.job, row.position
        cluster = row.values.get("cluster")
        if (job_id, job.submit, job.start) in self.replaced:
            raise NotAJobError("repeated line", job.resources.units * job.runtime)
        name, attempt, before = self._name_of(job, job_id, cluster)
        if before in self.preempted and self._continue(before, parsed, job_id, position):
            return
        if name != job.job_id:
            generation = name.partition("@")[2].partition("#")[0]
            array = f"{job.array}@{generation}" if job.array and generation else job.array
            job = job._replace(job_id=name, array=array)
        at = len(jobs)
        wanted = (
            requested_dependency(parsed.dependency, job_id)
            if attempt == 1
            else RequestedDependency()
        )
        has_dependency = wanted is not None and wanted != RequestedDependency()
        jobs.add(job._replace(begin=parsed.asked_begin) if has_dependency else job, position)
        if attempt > 1:
            self.dependencies.follow(at, before)
        elif wanted is not None and has_dependency:
            self.dependencies.add(at, wanted, parsed.eligible)
        if parsed.preempted:
            self.preempted.add(at)
        self.dependencies.note(at, name)
        if self.cluster is None:
            self.cluster = cluster
        if cluster != self.cluster:
            self.clusters[at] = cluster or ""
        self._count(parsed, name, row)

    def _count(self, parsed: SacctJob, name: str, row: SacctRow) -> None:
        """Count what is unusual about a job that was added, and what of it is not modelled."""
        kinds = []
        if "#" in name:
            kinds.append("requeued attempts of jobs")
        elif "@" in name:
            kinds.append("jobs with the number of an earlier job")
        if "+" in name:
            kinds.append("components of heterogeneous jobs")
        if parsed.suspended:
            kinds.append("jobs that were suspended")
            self.suspended += parsed.suspended
        if kinds or parsed.notes:
            self.notes.update((*kinds, *parsed.notes))
        gaps = gaps_of(row.values, parsed.options)
        names = [f"not modelled: {name} ({instead})" for name, instead in gaps]
        self.gaps.add(names, parsed.job.resources.units * parsed.job.runtime)

    def _name_of(self, job: CollectedJob, job_id: str, cluster: str | None) -> tuple[str, int, int]:
        """
        Return the id of a job, which attempt it is, and the row of the one before or -1.

        Raises
        ------
        NotAJobError
            If it is there already.
        """
        number = job_id.partition("_")[0].partition("+")[0]
        if self.jobs.row_of(job_id) is None and self.dependencies.first_of(number) is None:
            first = None if number == job_id else self.jobs.row_of(number)
            if first is None:
                return job_id, 1, -1
        for own, array in zip(generations(job_id), generations(number), strict=False):
            rows = self._attempts(own)
            for row in rows:
                started = self.jobs.value("submit", row), self.jobs.value("start", row)
                if started == (job.submit, job.start) and self._is_of(row, job, cluster, "name"):
                    raise NotAJobError("repeated line", job.resources.units * job.runtime)
            if rows:
                if self._is_of(rows[-1], job, cluster, "name") and self._is_apart(rows[-1], job):
                    return f"{own}#{len(rows) + 1}", len(rows) + 1, rows[-1]
                continue
            first = self.dependencies.first_of(array)
            if first is None and number != job_id:
                first = self.jobs.row_of(array)
            if first is None or self._is_of(first, job, cluster):
                return own, 1, -1
        raise AssertionError  # pragma: no cover -- there is always a further generation

    def _attempts(self, job_id: str) -> list[int]:
        """Return the rows of a job, one an attempt."""
        rows: list[int] = []
        row = self.jobs.row_of(job_id)
        while row is not None:
            rows.append(row)
            row = self.jobs.row_of(f"{job_id}#{len(rows) + 1}")
        return rows

    def _is_of(self, row: int, job: CollectedJob, cluster: str | None, *more: str) -> bool:
        """Tell whether a job that was added is of the same user, account and cluster."""
        return self.jobs.agrees(row, job, ("user", "group", *more)) and (
            self.cluster is None or self.clusters.get(row, self.cluster) == cluster
        )

    def _is_apart(self, row: int, job: CollectedJob) -> bool:
        """Tell whether a job came when one that was added had ended, or ended before it came."""
        submit, start, ran, cancel = (
            self.jobs.value(name, row) for name in ("submit", "start", "runtime", "cancel")
        )
        end = cancel if start == MISSING else start + ran
        own_end = job.cancel if job.start == MISSING else job.start + job.runtime
        return job.submit >= end or own_end <= submit

    def _continue(self, row: int, parsed: SacctJob, job_id: str, position: FilePosition) -> bool:
        """Take the attempt that follows a preempted one in its place; say if it does follow."""
        jobs, job = self.jobs, parsed.job
        submit, start, ran = (jobs.value(name, row) for name in ("submit", "start", "runtime"))
        if MISSING < job.start < start + ran:
            return False
        jobs.exclude("preempted and requeued", job_id, job.resources.units * ran)
        for seconds in ((submit, start), (job.submit, job.start)):
            self.replaced.add((job_id, *seconds))
        begin = jobs.value("begin", row)
        jobs.replace(row, job._replace(submit=submit, begin=begin), position)
        if not parsed.preempted:
            self.preempted.discard(row)
        return True


def _without_step(row: SacctRow) -> str:
    return row.job_id.partition(".")[0]


def _tasks(text: str) -> list[range]:
    """Read ``1-5,8,10-20:2``."""
    ranges = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError("is not a list of tasks such as 1-5,8,10-20:2")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if not step or last >= _MOST_TASKS:
            raise ValueError(f"must have tasks below {_MOST_TASKS}, and steps of at least 1")
        ranges.append(range(first, last + 1, step))
    return ranges


def _with_steps(row: SacctRow, steps: list[SacctRow]) -> SacctRow:
    """Fill in what only the steps say (some Slurm versions leave a job's own ReqMem empty)."""
    if not steps or row.values.get("reqmem") != "":
        return row
    memory = next((step.values["reqmem"] for step in steps if step.values["reqmem"]), "")
    return row._replace(values={**row.values, "reqmem": memory})
