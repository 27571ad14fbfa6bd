"""Which machine each job of a log is of, and which logs and policies keep machines apart."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError, TraceError
from cpsched.api.generators import shared
from cpsched.api.logs import lines, names_of
from cpsched.api.model import JobType
from cpsched.api.tools import Spec, canonical, quoted
from many_machines.separate import named

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.api.logs import Labels, Workload
    from cpsched.api.model import IntArray
    from many_machines.whole import Machines

#: Whose decisions on a machine follow from its own jobs and nodes, with an order that goes by one
#: job at a time and an allocator that looks at one node at a time.
DISPATCHERS = ("conservative", "easy", "fifo", "ljf", "prb", "sjf")
ORDERS = ("fifo", "ljf", "sjf")
ALLOCATORS = ("best-fit", "consolidate", "contiguous", "first-fit")
#: Others learn from the jobs of one machine for those of another.
PREDICTORS = ("actual", "requested")
#: What logs in text call a job's id, and what may be between two fields.
_ID = (b"job_id", b"JobID", b"job")
_BETWEEN = re.compile(rb"[,|;]|\s+")


def machine_of_jobs(workload: Workload, machines: Machines, log: Path) -> IntArray:
    """
    Return the number of each job's machine, shape ``(J,)``.

    Parameters
    ----------
    log
        The file, for messages.

    Raises
    ------
    TraceError
        For the first job that names no machine, an unknown one, or several; names file, line
        (where the log is text), field and value.
    """
    field = machines.whole.log.queue_field
    column: Labels = getattr(workload, field)
    found = _numbers(column, workload, machines)
    wrong = np.flatnonzero(found[column.codes] < 0)
    if len(wrong):
        row = int(wrong[0])
        text = [*column.values, None][column.codes[row]]
        job = str(workload.job_id[row])
        several = found[column.codes[row]] == _SEVERAL
        what = "may run on several machines" if several else "is of no known machine"
        one = "one of " if len(machines.names) > 1 else ""
        names = [name for queues in machines.queues for name in queues]
        raise TraceError(
            f"job {job} {what}; give {one}{named(names)}",
            file=log, line=_line_of(log, job), field=field, value=text,
        )  # fmt: skip
    # Of a long log in a file.
    codes, shown = shared(len(workload))
    codes[:] = found[column.codes]
    return shown


_UNKNOWN, _SEVERAL = -1, -2


def _numbers(column: Labels, workload: Workload, machines: Machines) -> IntArray:
    """Return the machine of each value of a column, and of a job without one at the end."""
    queues = machines.whole.queues
    if not queues:
        return np.zeros(len(column.values) + 1, dtype=np.int64)
    log = machines.whole.log
    of_queue = {name: at for at, own in enumerate(machines.queues) for name in own}
    texts = names_of(workload.header, log.queue_field.capitalize())
    by_number = {texts[key]: queue for key, queue in log.queues.items() if key in texts}

    def machine(text: str) -> int:
        parts = [text] if text in by_number else text.split(",")
        names = [by_number.get(part) or log.queues.get(part, part) for part in parts]
        numbers = {of_queue.get(name, _UNKNOWN) for name in names}
        if _UNKNOWN in numbers:
            return _UNKNOWN
        return numbers.pop() if len(numbers) == 1 else _SEVERAL

    default = next((name for name, queue in queues.items() if queue.default), None)
    last = _UNKNOWN if default is None else of_queue[default]
    return np.array([*map(machine, column.values), last], dtype=np.int64)


def _line_of(log: Path, job: str) -> int | None:
    """Return the first line whose field for ids is a job's; None where there is none."""
    place, wanted = None, job.encode()
    with suppress(TraceError):
        for number, raw in lines(log):
            if raw.startswith((b"#", b";")):
                continue
            fields = [field.strip(b' "') for field in _BETWEEN.split(raw.strip())]
            if place is None:
                # Of a header; a log without one begins its lines with the id.
                place = next((fields.index(name) for name in _ID if name in fields), 0)
            if len(fields) > place and fields[place] == wanted:
                return number
    return None


def check_apart(workload: Workload, codes: IntArray, machines: Machines) -> None:
    """
    Refuse a log whose machines would not be as they are alone.

    Raises
    ------
    ConfigError
        If a job depends on one of another machine, may change size, or limits its switches.
    """
    needed = workload.dependency
    rows = np.flatnonzero(needed >= 0)
    across = rows[codes[needed[rows]] != codes[rows]]
    if len(across):
        row, other = int(across[0]), int(needed[across[0]])
        raise ConfigError(
            f"job {workload.job_id[row]} of machine {machines.names[codes[row]]} depends on job"
            f" {workload.job_id[other]} of machine {machines.names[codes[other]]}: they cannot be"
            " simulated apart",
            where=workload.title,
        )
    for column, usual, what in (
        ("job_type", JobType.RIGID, "may change its size"),
        ("max_switches", 0, "limits its switches"),
    ):
        values = getattr(workload, column)
        rows = np.flatnonzero(values != usual)
        if len(rows):
            raise ConfigError(
                f"job {workload.job_id[rows[0]]} {what}, which is not simulated apart",
                where=workload.title,
            )


def checked_policy(dispatcher: str, predictor: str) -> str:
    """
    Return the one form of a dispatcher that keeps machines apart.

    Raises
    ------
    ConfigError
        If it does not, or the predictor does not.
    """
    spec = Spec.parse(canonical("dispatchers", dispatcher))
    options = dict(spec.options)
    if spec.name not in DISPATCHERS:
        raise ConfigError(
            f"is {quoted(spec.name)}, must be one of {named(DISPATCHERS)}: others may look"
            " at what all machines hold, or at users across them",
            key="--dispatcher",
        )
    usual = {"priority": "expected-wait"} if spec.name == "prb" else {}
    given = {**usual, **options}
    for key, known, why in (
        ("priority", ORDERS, "others weigh a job by the whole system, or learn across machines"),
        ("backfill", ORDERS, "others weigh a job by the whole system, or learn across machines"),
        ("allocator", ALLOCATORS, "others look at the nodes of all machines"),
    ):
        if key in given and given[key] not in known:
            raise ConfigError(
                f"is {quoted(given[key])}, must be one of {named(known)}: {why}",
                where=f"--dispatcher {spec.name}",
                key=key,
            )
    if predictor not in PREDICTORS:
        raise ConfigError(
            f"is {quoted(predictor)}, must be one of {named(PREDICTORS)}: others learn from"
            " one machine's jobs for those of another",
            key="--predictor",
        )
    return str(spec)
