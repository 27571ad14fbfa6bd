"""
Writing a workload as Slurm's ``sacct --parsable2`` would print it.

The columns are those of ``docs/guides/read-a-log.md``; what only users say is in ``SubmitLine``, as
options of ``sbatch``. Reading the file gives an equal workload where the jobs are such as Slurm can
have: units of one core, memory by core or by node, GRES by node. What the text cannot hold is
returned in words.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import TraceError
from cpsched.logs.text import written
from cpsched.model.distinct import distinct
from cpsched.model.schedule import JobOutcome
from cpsched.model.workload import Labels, Workload
from cpsched.util.slurm_quantities import clock
from cpsched.util.types import MISSING, UNBOUNDED, DependencyType, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cpsched.model.schedule import Schedule
    from cpsched.util.types import BoolArray, IntArray

HEADER = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw"
    "|Timelimit|ReqTRES|AllocTRES|ReqMem|Constraints|NNodes|Reservation|Flags|Priority|Reason"
    "|MaxRSS|SubmitLine"
)
_ROWS_AT_ONCE = 50_000
_ID = re.compile(r"(([0-9]{1,18})(?:_[0-9]{1,9}|\+[0-9]{1,9})?)(?:@[0-9]+)?(?:#[0-9]+)?")
_STATES = {status: status.name for status in Status} | {Status.UNKNOWN: ""}
#: Columns that the text has no place for.
_NOWHERE = (
    *("per_node_max", "split", "job_type", "units_min", "units_max", "serial"),
    *("resize_cost", "evolve_after", "evolve_to", "urgent", "deadline", "checkpoint"),
    *("restart_cost", "requested_time_assumed"),
)
_WORDS = ("user", "group", "qos", "partition", "queue", "reservation", "licenses")


def write(workload: Workload, path: Path) -> list[str]:
    """
    Write a workload, gzip where the name ends in ``.gz``; return what the text cannot hold.

    Raises
    ------
    TraceError
        If the file cannot be written, or the workload only counts processors.
    """
    if workload.layout != "units":
        raise TraceError(
            "sacct records the nodes of jobs, but this log only counts processors: cpsched simulate"
            " LOG --system NAME --export slurm writes what it would record on a system",
            file=path,
        )
    text = _Text(workload)
    columns = text.columns()
    with written(path) as file:
        file.write(f"{HEADER}\n".encode())
        for first in range(0, len(workload), _ROWS_AT_ONCE):
            rows = zip(*(column[first : first + _ROWS_AT_ONCE] for column in columns), strict=True)
            file.write("".join("|".join(row) + "\n" for row in rows).encode())
    return [f"{count} {what}" if count else what for what, count in text.losses.items()]


def write_schedule(schedule: Schedule, folder: Path, log: str) -> None:
    """
    Write a simulated schedule as ``LOG.sacct``, in the format of ``sacct --parsable2``.

    It is the output format ``slurm`` of ``cpsched simulate --export``.

    Raises
    ------
    TraceError
        If the file cannot be written.
    """
    write(as_recorded(schedule), folder / f"{log.partition('.')[0]}.sacct")


def as_recorded(schedule: Schedule) -> Workload:
    """
    Return the workload as if the simulated schedule had been recorded.

    Jobs that were rejected or have not ended are left out; those that were killed, or can never
    start, count as cancelled. A job with GPUs or the like in each task has the number of nodes that
    it ran on, as Slurm records it: without it the text has no place for them.
    """
    outcome, jobs = schedule.outcome, schedule.workload
    rows = np.flatnonzero(~np.isin(outcome, [JobOutcome.REJECTED, JobOutcome.NOT_ENDED]))
    outcome, start, end = outcome[rows], schedule.start[rows], schedule.end[rows]
    cancelled = np.isin(outcome, [JobOutcome.CANCELLED, JobOutcome.NEVER_STARTED])
    gone = cancelled | (outcome == JobOutcome.KILLED)
    nodes = _nodes_used(schedule)[rows]
    jobs = jobs.take(rows)
    others = [at for at, kind in enumerate(jobs.resources) if kind not in ("core", "mem")]
    unbounded = (jobs.nodes_min == 1) & (jobs.nodes_max == UNBOUNDED)
    counted = unbounded & (jobs.request[:, others] > 0).any(axis=1) & (nodes > 0)
    status = np.where(outcome == JobOutcome.TIMEOUT, Status.TIMEOUT, jobs.status)
    return jobs.with_columns(
        nodes_min=np.where(counted, nodes, jobs.nodes_min),
        nodes_max=np.where(counted, nodes, jobs.nodes_max),
        recorded_start=start,
        runtime=np.where(cancelled, jobs.requested_time, end - start),
        status=np.where(gone, Status.CANCELLED, status),
        cancel=np.where(cancelled, end, MISSING),
    )


def _nodes_used(schedule: Schedule) -> IntArray:
    """Return the number of nodes of each job's last start, 0 of jobs that never started."""
    nodes = np.zeros(len(schedule.workload), dtype=np.int64)
    segments = schedule.segments
    own = segments.start == schedule.start[segments.job]
    np.add.at(nodes, segments.job[own], segments.count[own])
    return nodes


class _Text:
    """The columns of a workload as text."""

    def __init__(self, jobs: Workload) -> None:
        self.jobs = jobs
        #: What is lost, and of how many jobs; 0: of the log as a whole.
        self.losses: Counter[str] = Counter()
        self.started: BoolArray = (jobs.recorded_start != MISSING) | (jobs.cancel == MISSING)
        self.start = np.where(
            jobs.recorded_start != MISSING,
            np.maximum(jobs.recorded_start, jobs.submit),
            np.maximum(jobs.submit, jobs.begin),
        )
        self.end = np.where(self.started, self.start + jobs.runtime, jobs.cancel)
        self.ids = self._ids()

    def columns(self) -> list[Sequence[str]]:
        """Return every column of :data:`HEADER`, one text a job."""
        jobs = self.jobs
        self._count_lost()
        requested, memory, nodes = self._requests()
        nothing = [""] * len(jobs)
        # Slurm has one partition of a job that ran.
        partition = self._words("partition" if jobs.partition.values else "queue")

        def of_started(texts: Sequence[str], otherwise: str) -> list[str]:
            ran = self.started.tolist()
            return [
                text if started else otherwise for text, started in zip(texts, ran, strict=True)
            ]

        return [
            self.ids,
            [_number(name) for name in self.ids],
            *(self._words(name) for name in ("name", "user", "group")),
            partition,
            self._words("qos"),
            self._states(),
            self._moments(jobs.submit),
            self._moments(self._eligible()),
            of_started(self._moments(self.start), "None"),
            self._moments(self.end),
            [str(seconds) for seconds in np.where(self.started, jobs.runtime, 0).tolist()],
            [_clock(seconds) for seconds in jobs.requested_time.tolist()],
            requested,
            of_started(requested, ""),
            memory,
            self._words("constraint"),
            nodes,
            self._words("reservation"),
            *(nothing, nothing, ["None"] * len(jobs), nothing),
            self._commands(partition),
        ]

    def _ids(self) -> list[str]:
        """Return what sacct calls the jobs; later attempts have the id of the first."""
        matches = [_ID.fullmatch(name) for name in self.jobs.job_id.tolist()]
        if all(matches):
            return [match[1] for match in matches if match]
        self.losses["the ids of jobs, which Slurm cannot have (they are numbered)"] = 0
        return [str(number) for number in range(1, len(matches) + 1)]

    def _words(self, name: str) -> list[str]:
        """Return the texts of a column, '' where unknown."""
        labels: Labels = getattr(self.jobs, name)
        texts = [
            " ".join(text.split("\n")).strip()
            if name in ("name", "constraint")
            else re.sub(r"[\s|]", "_", text)
            for text in labels.values
        ]
        changed = np.array([*map(str.__ne__, texts, labels.values), False], dtype=np.bool_)
        self._lose(changed[labels.codes], f"texts of {name}, which are changed slightly")
        table = [*texts, ""]
        return [table[code] for code in labels.codes.tolist()]

    def _moments(self, seconds: IntArray) -> list[str]:
        epoch = self.jobs.epoch or 0
        texts: list[str] = np.datetime_as_string((seconds + epoch).astype("datetime64[s]")).tolist()
        return texts

    def _states(self) -> list[str]:
        """Return states; what has a further attempt was requeued, for users or for a node."""
        states = [
            _STATES[Status(status)]
            for status in np.where(self.started, self.jobs.status, Status.CANCELLED).tolist()
        ]
        for row in self.jobs.dependency[self._again()].tolist():
            if states[row] == Status.PREEMPTED.name:
                states[row] = "REQUEUED"
        return states

    def _eligible(self) -> IntArray:
        jobs = self.jobs
        begin = np.maximum(jobs.submit, jobs.begin)
        needed = np.where(jobs.dependency >= 0, self.end[jobs.dependency], MISSING)
        return np.maximum(begin, np.minimum(needed, np.where(self.started, self.start, self.end)))

    def _requests(self) -> tuple[list[str], list[str], list[str]]:
        """Return ``ReqTRES``, ``ReqMem`` and ``NNodes``, made once for each distinct request."""
        jobs = self.jobs
        of_job, first = distinct(
            [jobs.units, jobs.nodes_min, jobs.nodes_max, *jobs.request.T, *jobs.per_node.T],
            len(jobs),
        )
        made = [self._request(row) for row in first.tolist()]
        codes = of_job.tolist()
        tres, memory, nodes = ([made[code][part] for code in codes] for part in range(3))
        return tres, memory, nodes

    def _request(self, row: int) -> tuple[str, str, str]:
        jobs = self.jobs
        unit = dict(zip(jobs.resources, jobs.request[row].tolist(), strict=True))
        node = dict(zip(jobs.resources, jobs.per_node[row].tolist(), strict=True))
        units, min_nodes = int(jobs.units[row]), int(jobs.nodes_min[row])
        bound = min_nodes > 1 or jobs.nodes_max[row] != UNBOUNDED
        task_cores = unit.pop("core", 0)
        cores = units * task_cores + min_nodes * node.pop("core", 0)
        of_unit, of_node = unit.pop("mem", 0), node.pop("mem", 0)
        total = units * of_unit + min_nodes * of_node
        items = {"billing": max(cores, min_nodes), "cpu": max(cores, min_nodes)}
        for kind in sorted({*unit, *node}):
            amount = units * unit.get(kind, 0) + min_nodes * node.get(kind, 0)
            if amount and bound:
                items[f"gres/{kind}"] = amount
        tres = [f"{name}={amount}" for name, amount in items.items()]
        if total:
            tres.append(f"mem={total}K")
        if bound:
            tres.append(f"node={min_nodes}")
        of_core = -(-of_unit // max(task_cores, 1))
        memory = f"{of_core}Kc" if of_unit and not of_node else f"{-(-total // min_nodes)}Kn"
        return ",".join(tres), memory if total else "", str(min_nodes) if bound else ""

    def _commands(self, partition: Sequence[str]) -> list[str]:
        """Return the commands that submit the jobs so."""
        commands = ["sbatch"] * len(self.jobs)
        for option, rows, values in self._options(partition):
            given = values if isinstance(values, list) else values[rows].tolist()
            for at, row in enumerate(np.flatnonzero(rows).tolist()):
                commands[row] += f" --{option}" + (f"={given[at]}" if given else "")
        return [f"{command} job.sh" for command in commands]

    def _options(self, partition: Sequence[str]) -> Iterator[tuple[str, BoolArray, Any]]:
        """Yield options, which jobs have them, and values: of all jobs, or a list of theirs."""
        jobs = self.jobs
        queue, licenses = self._words("queue"), self._words("licenses")
        lists = np.array([a != b for a, b in zip(queue, partition, strict=True)], dtype=np.bool_)
        yield "partition", lists, np.array(queue, dtype=object)
        yield from self._waits()
        yield "nice", jobs.nice != 0, jobs.nice
        yield "licenses", jobs.licenses.codes >= 0, np.array(licenses, dtype=object)
        yield "no-requeue", ~jobs.restartable, []
        yield "exclusive", jobs.exclusive, []
        yield "contiguous", jobs.contiguous, []
        min_nodes, max_nodes = jobs.nodes_min, jobs.nodes_max
        unbounded = (min_nodes == 1) & (max_nodes == UNBOUNDED)
        rows = (min_nodes != max_nodes) & ~unbounded
        bounds = zip(min_nodes[rows].tolist(), max_nodes[rows].tolist(), strict=True)
        yield "nodes", rows, [f"{min_nodes}-{max_nodes}" for min_nodes, max_nodes in bounds]
        # What jobs on any number of nodes need on each: there is no total of that.
        kinds = [at for at, kind in enumerate(jobs.resources) if kind not in ("core", "mem")]
        rows = unbounded & (jobs.per_node[:, kinds] > 0).any(axis=1)
        yield (
            "gres",
            rows,
            [
                ",".join(f"{jobs.resources[at]}:{own[at]}" for at in kinds if own[at])
                for own in jobs.per_node[rows].tolist()
            ],
        )
        yield "segment", jobs.segment != 0, jobs.segment
        rows = jobs.max_switches > 0
        pairs = zip(jobs.max_switches[rows].tolist(), jobs.switch_wait[rows].tolist(), strict=True)
        yield "switches", rows, [f"{count}@{_clock(wait)}" for count, wait in pairs]

    def _waits(self) -> Iterator[tuple[str, BoolArray, Any]]:
        """Yield what jobs wait for besides their turn, as :meth:`_options`."""
        jobs = self.jobs
        # Something else delayed these: their begin time is in the command.
        delayed = (jobs.dependency >= 0) | ((jobs.array_limit > 0) & self.started)
        rows = delayed & (jobs.begin > jobs.submit)
        yield "begin", rows, self._moments(jobs.begin[rows])
        rows = (jobs.dependency >= 0) & ~self._again()
        pairs = zip(
            jobs.dependency_type[rows].tolist(), jobs.dependency[rows].tolist(), strict=True
        )
        names = [f"{DependencyType(kind).name.lower()}:{self.ids[other]}" for kind, other in pairs]
        yield "dependency", rows, names
        rows = jobs.array_limit > 0
        tasks = [self.ids[row].partition("_")[2] or "0" for row in np.flatnonzero(rows)]
        limits = zip(tasks, jobs.array_limit[rows].tolist(), strict=True)
        yield "array", rows, [f"{task}%{limit}" for task, limit in limits]

    # --- what is lost ----------------------------------------------------------------------------

    def _lose(self, rows: BoolArray, what: str) -> None:
        count = int(np.count_nonzero(rows))
        if count:
            self.losses[what] = count

    def _count_lost(self) -> None:
        """Find what reading the text will not give back."""
        jobs = self.jobs
        if jobs.epoch is None:
            self.losses["the log has no start date (times count from 1970)"] = 0
        elif jobs.submit[0] != 0:
            self.losses["times will count from the first submit"] = 0
        if jobs.set_aside:
            self.losses["excluded rows"] = 0
        neutral = Workload.build(
            title="",
            **{name: getattr(jobs, name) for name in ("job_id", "submit", "runtime", "units")},
            request=jobs.request,
            resources=jobs.resources,
        )
        for name in _NOWHERE:
            differs = getattr(jobs, name) != getattr(neutral, name)
            self._lose(differs.reshape(len(jobs), -1).any(axis=1), f"values of {name}")
        unit, node = (
            dict(zip(jobs.resources, amounts.T, strict=True))
            for amounts in (jobs.request, jobs.per_node)
        )
        others = [at for at, kind in enumerate(jobs.resources) if kind not in ("core", "mem")]
        nothing = np.zeros(len(jobs), dtype=np.int64)
        not_single_core: BoolArray = np.not_equal(unit.get("core", nothing), 1)
        memory: IntArray = unit.get("mem", nothing)
        self._lose(not_single_core, "jobs whose tasks have several cores (written as single cores)")
        beside: BoolArray = np.any(jobs.request[:, others] > 0, axis=1)
        self._lose(
            beside,
            "jobs with GPUs or the like in each task (written for nodes if their number is known)",
        )
        self._lose(node.get("core", nothing) > 0, "jobs that need further cores on each node")
        self._lose(
            (memory > 0) & (node.get("mem", nothing) > 0),
            "jobs with memory for tasks and for nodes (written for nodes)",
        )
        self._lose(
            (jobs.recorded_start == MISSING) & self.started,
            "jobs without a recorded start (written as started at submit)",
        )

    def _again(self) -> BoolArray:
        """Tell which jobs are further attempts, which wait for the one before unasked."""
        before = self.jobs.dependency.tolist()
        return np.array(
            [
                other >= 0 and self.ids[other] == own
                for own, other in zip(self.ids, before, strict=True)
            ],
            dtype=np.bool_,
        )


def _number(name: str) -> str:
    return name.partition("_")[0].partition("+")[0]


def _clock(seconds: int) -> str:
    return "UNLIMITED" if seconds == MISSING else clock(seconds)
