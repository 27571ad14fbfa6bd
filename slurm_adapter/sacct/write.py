"""
Writing a workload as Slurm's ``sacct --parsable2`` would print it.

The columns are those of ``docs/guides/slurm-logs.md``; what only users say is in ``SubmitLine``, as
options of ``sbatch``. Reading the file gives an equal workload where the jobs are such as Slurm can
have: units of one core, memory by core or by node, GRES by node. What the text cannot hold is
returned in words.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import TraceError
from cpsched.api.logs import Labels, Workload, ordered, written
from cpsched.api.model import MISSING, UNBOUNDED, DependencyType, Status, distinct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.model import BoolArray, IntArray

HEADER = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw"
    "|Timelimit|ReqTRES|AllocTRES|ReqMem|Constraints|NNodes|Reservation|Flags|Priority|Reason"
    "|MaxRSS|SubmitLine"
)
_ROWS_AT_ONCE = 50_000
_ID = re.compile(r"(([0-9]{1,18})(?:_[0-9]{1,9}|\+[0-9]{1,9})?)(?:#[0-9]+)?")
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
            "sacct records the nodes of jobs, but this log only counts processors", file=path
        )
    text = _Text(workload)
    columns = text.columns()
    with written(path) as file:
        file.write(f"{HEADER}\n".encode())
        for first in range(0, len(workload), _ROWS_AT_ONCE):
            rows = zip(*(column[first : first + _ROWS_AT_ONCE] for column in columns), strict=True)
            file.write("".join("|".join(row) + "\n" for row in rows).encode())
    return [f"{count} {what}" if count else what for what, count in text.lost.items()]


class _Text:
    """
    The columns of a workload as text.

    Attributes
    ----------
    lost
        What is lost, by what it is, and of how many jobs; 0: of the log as a whole.
    """

    def __init__(self, jobs: Workload) -> None:
        self.jobs = jobs
        self.lost: Counter[str] = Counter()
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
        asked, memory, nodes = self._shapes()
        nothing = [""] * len(jobs)
        # Slurm has one partition of a job that ran.
        partition = self._words("partition" if jobs.partition.values else "queue")
        held = [text if ran else "" for text, ran in zip(asked, self.started.tolist(), strict=True)]
        start = [
            text if ran else "None"
            for text, ran in zip(self._moments(self.start), self.started.tolist(), strict=True)
        ]
        return [
            self.ids,
            [name.partition("_")[0].partition("+")[0] for name in self.ids],
            *(self._words(name) for name in ("name", "user", "group")),
            partition,
            self._words("qos"),
            self._states(),
            self._moments(jobs.submit),
            self._moments(self._eligible()),
            start,
            self._moments(self.end),
            [str(seconds) for seconds in np.where(self.started, jobs.runtime, 0).tolist()],
            [_clock(seconds) for seconds in jobs.requested_time.tolist()],
            asked,
            held,
            memory,
            self._words("constraint"),
            nodes,
            self._words("reservation"),
            *(nothing, nothing, ["None"] * len(jobs), nothing),
            self._commands(partition),
        ]

    def _ids(self) -> list[str]:
        """Return what sacct calls the jobs; later attempts have the id of the first."""
        found = [_ID.fullmatch(name) for name in self.jobs.job_id.tolist()]
        if all(found):
            return [match[1] for match in found if match]
        self.lost["the ids of jobs, which Slurm could not have: they are numbered"] = 0
        return [str(number) for number in range(1, len(found) + 1)]

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
        self._lose(changed[labels.codes], f"texts of {name}, which are changed a little")
        table = [*texts, ""]
        return [table[code] for code in labels.codes.tolist()]

    def _moments(self, seconds: IntArray) -> list[str]:
        epoch = self.jobs.epoch or 0
        texts: list[str] = np.datetime_as_string((seconds + epoch).astype("datetime64[s]")).tolist()
        return texts

    def _status(self) -> IntArray:
        return np.where(self.started, self.jobs.status, Status.CANCELLED)

    def _states(self) -> list[str]:
        """Return states; what has a further attempt was requeued, for users or for a node."""
        found = [_STATES[Status(status)] for status in self._status().tolist()]
        for row in self.jobs.dependency[self._again()].tolist():
            if found[row] == Status.PREEMPTED.name:
                found[row] = "REQUEUED"
        return found

    def _said_begin(self) -> BoolArray:
        """Tell which jobs have their begin time in the command: something else delayed them."""
        jobs = self.jobs
        return (jobs.dependency >= 0) | ((jobs.array_limit > 0) & self.started)

    def _eligible(self) -> IntArray:
        jobs = self.jobs
        begin = np.maximum(jobs.submit, jobs.begin)
        needed = np.where(jobs.dependency >= 0, self.end[jobs.dependency], MISSING)
        return np.maximum(begin, np.minimum(needed, np.where(self.started, self.start, self.end)))

    def _shapes(self) -> tuple[list[str], list[str], list[str]]:
        """Return ``ReqTRES``, ``ReqMem`` and ``NNodes``, made once for each distinct request."""
        jobs = self.jobs
        of_job, first = distinct(
            [jobs.units, jobs.nodes_min, jobs.nodes_max, *jobs.request.T, *jobs.per_node.T],
            len(jobs),
        )
        made = [self._shape(row) for row in first.tolist()]
        codes = of_job.tolist()
        tres, memory, nodes = ([made[code][part] for code in codes] for part in range(3))
        return tres, memory, nodes

    def _shape(self, row: int) -> tuple[str, str, str]:
        jobs = self.jobs
        unit = dict(zip(jobs.resources, jobs.request[row].tolist(), strict=True))
        node = dict(zip(jobs.resources, jobs.per_node[row].tolist(), strict=True))
        units, least = int(jobs.units[row]), int(jobs.nodes_min[row])
        bound = least > 1 or jobs.nodes_max[row] != UNBOUNDED
        cores = units * unit.pop("core", 0) + least * node.pop("core", 0)
        of_unit, of_node = unit.pop("mem", 0), node.pop("mem", 0)
        total = units * of_unit + least * of_node
        items = {"billing": max(cores, least), "cpu": max(cores, least)}
        for kind in sorted({*unit, *node}):
            amount = units * unit.get(kind, 0) + least * node.get(kind, 0)
            if amount and bound:
                items[f"gres/{kind}"] = amount
        tres = [f"{name}={amount}" for name, amount in items.items()]
        if total:
            tres.append(f"mem={total}K")
        if bound:
            tres.append(f"node={least}")
        memory = f"{of_unit}Kc" if of_unit and not of_node else f"{-(-total // least)}Kn"
        return ",".join(tres), memory if total else "", str(least) if bound else ""

    def _commands(self, partition: Sequence[str]) -> list[str]:
        """Return the commands that submit the jobs so."""
        jobs = self.jobs
        found = ["sbatch"] * len(jobs)

        def say(rows: BoolArray, option: str, values: Sequence[object] | None = None) -> None:
            for at, row in enumerate(np.flatnonzero(rows).tolist()):
                found[row] += f" --{option}" + ("" if values is None else f"={values[at]}")

        def numbers(option: str, column: IntArray, neutral: int) -> None:
            rows = column != neutral
            say(rows, option, column[rows].tolist())

        queue = self._words("queue")
        lists = np.array([a != b for a, b in zip(queue, partition, strict=True)], dtype=np.bool_)
        say(lists, "partition", [queue[row] for row in np.flatnonzero(lists)])
        self._say_waits(say)
        numbers("nice", jobs.nice, 0)
        licenses = jobs.licenses.codes >= 0
        words = self._words("licenses")
        say(licenses, "licenses", [words[row] for row in np.flatnonzero(licenses)])
        say(~jobs.restartable, "no-requeue")
        say(jobs.exclusive, "exclusive")
        say(jobs.contiguous, "contiguous")
        ranges = (jobs.nodes_min != jobs.nodes_max) & ~(
            (jobs.nodes_min == 1) & (jobs.nodes_max == UNBOUNDED)
        )
        bounds = zip(jobs.nodes_min[ranges], jobs.nodes_max[ranges], strict=True)
        say(ranges, "nodes", [f"{least}-{most}" for least, most in bounds])
        self._say_gres(say)
        numbers("segment", jobs.segment, 0)
        switches = jobs.max_switches > 0
        pairs = zip(jobs.max_switches[switches], jobs.switch_wait[switches], strict=True)
        say(switches, "switches", [f"{count}@{_clock(wait)}" for count, wait in pairs])
        return [f"{command} job.sh" for command in found]

    def _say_waits(self, say: Any) -> None:
        """Add what jobs wait for besides their turn."""
        jobs = self.jobs
        rows = self._said_begin() & (jobs.begin > jobs.submit)
        say(rows, "begin", self._moments(jobs.begin[rows]))
        rows = (jobs.dependency >= 0) & ~self._again()
        say(
            rows,
            "dependency",
            [
                f"{DependencyType(kind).name.lower()}:{self.ids[other]}"
                for kind, other in zip(
                    jobs.dependency_type[rows].tolist(), jobs.dependency[rows].tolist(), strict=True
                )
            ],
        )
        rows = jobs.array_limit > 0
        tasks = [self.ids[row].partition("_")[2] or "0" for row in np.flatnonzero(rows)]
        limits = zip(tasks, jobs.array_limit[rows].tolist(), strict=True)
        say(rows, "array", [f"{task}%{limit}" for task, limit in limits])

    def _say_gres(self, say: Any) -> None:
        """Add what jobs on any number of nodes need on each: there is no total of that."""
        jobs = self.jobs
        free = (jobs.nodes_min == 1) & (jobs.nodes_max == UNBOUNDED)
        kinds = [at for at, kind in enumerate(jobs.resources) if kind not in ("core", "mem")]
        rows = free & (jobs.per_node[:, kinds] > 0).any(axis=1)
        say(
            rows,
            "gres",
            [
                ",".join(
                    f"{jobs.resources[at]}:{jobs.per_node[row, at]}"
                    for at in kinds
                    if jobs.per_node[row, at]
                )
                for row in np.flatnonzero(rows)
            ],
        )

    # --- what is lost ----------------------------------------------------------------------------

    def _lose(self, rows: BoolArray, what: str) -> None:
        count = int(np.count_nonzero(rows))
        if count:
            self.lost[what] = count

    def _count_lost(self) -> None:
        """Find what reading the text will not give back."""
        jobs = self.jobs
        if jobs.epoch is None:
            self.lost["the log does not say when it began: times count from 1970"] = 0
        elif jobs.submit[0] != 0:
            self.lost["times will count from the first submit"] = 0
        if jobs.set_aside:
            self.lost["what was set aside"] = 0
        used = np.concatenate([jobs.request, jobs.per_node]).sum(axis=0).tolist()
        kinds = [kind for kind, amount in zip(jobs.resources, used, strict=True) if amount]
        if jobs.resources != ordered(kinds):
            self.lost["resources that no job asks for, and their order"] = 0
        self._count_neutral()
        self._count_times()
        self._count_amounts()
        arrays = [name.partition("_")[0] if "_" in name else None for name in self.ids]
        self._lose(
            np.array([a != b for a, b in zip(arrays, jobs.array.decode(), strict=True)]),
            "jobs whose id does not say their array",
        )
        tasks = np.array([array is not None for array in arrays], dtype=np.bool_)
        self._lose((jobs.array_limit > 0) & ~tasks, "limits of arrays, of jobs that are no tasks")
        other = jobs.queue.codes >= 0
        other &= jobs.partition.codes < 0
        self._lose(other, "jobs with a queue and no partition: both will be the same")

    def _count_neutral(self) -> None:
        """Find columns the text has no place for."""
        jobs = self.jobs
        neutral = Workload.build(
            title="",
            **{name: getattr(jobs, name) for name in ("job_id", "submit", "runtime", "units")},
            request=jobs.request,
            resources=jobs.resources,
        )
        for name in _NOWHERE:
            differs = getattr(jobs, name) != getattr(neutral, name)
            self._lose(differs.reshape(len(jobs), -1).any(axis=1), f"values of {name}")

    def _count_times(self) -> None:
        jobs = self.jobs
        unknown = self.started & (jobs.recorded_start == MISSING)
        self._lose(unknown, "jobs without a recorded start: written as started when submitted")
        early = (jobs.recorded_start != MISSING) & (jobs.recorded_start < jobs.submit)
        self._lose(early, "recorded starts before the submit: written as started when submitted")
        late = self.started & (jobs.cancel != MISSING)
        self._lose(late, "jobs that ran before they were cancelled: when that was")
        limit = np.where(
            jobs.requested_time != MISSING, jobs.requested_time, self.end - jobs.submit
        )
        self._lose(~self.started & (jobs.runtime != limit), "runtimes of jobs that never started")
        wrong = ~self.started & (jobs.status != Status.CANCELLED)
        self._lose(wrong, "statuses of jobs that never started: they are cancelled")
        early = (jobs.begin != MISSING) & (jobs.begin <= jobs.submit)
        self._lose(early, "begin times not later than the submit")
        self._lose(self._unlike(), "dependencies that cannot have been so")

    def _unlike(self) -> BoolArray:
        """Tell which dependencies contradict the ids, or what became of the jobs."""
        jobs = self.jobs
        rows = np.flatnonzero(jobs.dependency >= 0)
        other, kind = jobs.dependency[rows], jobs.dependency_type[rows]
        number = np.array([int(_number(name)) for name in self.ids], dtype=np.int64)
        wrong = number[other] >= number[rows]
        good = np.isin(jobs.status[other], (Status.COMPLETED, Status.UNKNOWN))
        after = kind == DependencyType.AFTER
        met = np.where(after & self.started[other], self.start[other], self.end[other])
        wrong |= self.started[rows] & (
            (met > self.start[rows])
            | ((kind == DependencyType.AFTEROK) & ~good)
            | ((kind == DependencyType.AFTERNOTOK) & good)
        )
        last = dict(zip(self.ids, range(len(self.ids)), strict=True))
        wrong |= np.array([last[self.ids[row]] != row for row in other.tolist()], dtype=np.bool_)
        found = np.zeros(len(jobs), dtype=np.bool_)
        found[rows] = wrong
        return found & ~self._again()

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

    def _count_amounts(self) -> None:
        jobs = self.jobs
        kind = {name: at for at, name in enumerate(jobs.resources)}
        core = kind.get("core")
        ones = np.zeros(len(jobs), dtype=np.bool_) if core is None else jobs.request[:, core] == 1
        self._lose(~ones, "jobs whose units are not of one core: written as single cores")
        others = [at for name, at in kind.items() if name not in ("core", "mem")]
        self._lose(
            np.asarray((jobs.request[:, others] > 0).any(axis=1)),
            "jobs with GPUs or the like in each unit: written for nodes, if their number is known",
        )
        if core is not None:
            self._lose(jobs.per_node[:, core] > 0, "jobs that need cores on each node besides")
        if "mem" in kind:
            both = (jobs.request[:, kind["mem"]] > 0) & (jobs.per_node[:, kind["mem"]] > 0)
            self._lose(both, "jobs with memory for units and for nodes: written for nodes")
        self._lose(jobs.units < jobs.nodes_min, "jobs with fewer units than nodes")


def _number(name: str) -> str:
    return name.partition("_")[0].partition("+")[0]


def _clock(seconds: int) -> str:
    """Return ``days-hours:minutes:seconds``."""
    if seconds == MISSING:
        return "UNLIMITED"
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02}:{minute:02}:{second:02}"
