"""
What ``squeue``, ``sinfo`` and ``scontrol`` print, as jobs and nodes.

Names and comments are user input and may contain line ends and any separator. So every call chooses
an unpredictable separator (:func:`separator`), and a record ends with it twice.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cpsched.api.fields import parse_amount as amount
from cpsched.api.fields import parse_duration as duration
from cpsched.api.machines import expand
from cpsched.api.model import MISSING
from slurm_adapter.live.backend import UnreadableError
from slurm_adapter.live.snapshot import LiveJob, Placed, Reserved, is_closed
from slurm_adapter.sacct.request import COUNTS, MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeVar

    T = TypeVar("T")

#: Fields of ``squeue -O``: the same names from 22.05 to 25.05.
JOB_FIELDS = (
    *("JobArrayID", "JobID", "ArrayJobID", "State", "Reason", "PriorityLong", "SubmitTime"),
    *("EligibleTime", "StartTime", "EndTime", "TimeLimit", "NumNodes", "MaxNodes", "NumCPUs"),
    *("NumTasks", "cpus-per-task", "NTPerNode", "MinMemory", "tres-alloc", "tres-per-node"),
    *("tres-per-job", "tres-per-task", "Feature", "OverSubscribe", "Contiguous", "Dependency"),
    *("Licenses", "Nice", "Partition", "UserName", "Account", "Name", "QOS", "Reservation"),
    *("ReqNodes", "NodeList", "HetJobID", "Comment", "admin_comment"),
)
NODE_FIELDS = ("StateComplete", "NodeList")
_NOTHING = ("", "(null)", "N/A", "None", "none", "NONE", "Unknown", "n/a", "UNLIMITED", "INVALID")
_MOST_NODES = 100_000
_TOTAL_MEMORY = re.compile(r"(?:^|,)mem=([0-9.]+[KMGTP]?)")
#: What a job holds on nodes, in ``scontrol -d show job``.
_HELD = re.compile(r" Nodes=(\S+) CPU_IDs=(\S*) Mem=([0-9]+) GRES=(\S*)")
_BOUNDS = re.compile(r" ReqNodeList=(\S+) ExcNodeList=(\S+) ")
_REQUEUE = re.compile(r" Requeue=([01]) Restarts=")
_BATCH_HOST = re.compile(r" BatchHost=(\S+)")
_THROTTLE = re.compile(r" ArrayTaskThrottle=([0-9]+)")
_RESERVATION = re.compile(
    r"(?m)^ReservationName=.*? StartTime=([0-9]+) EndTime=([0-9]+) .*? Nodes=(\S+) "
)
_SOCKETS = re.compile(r"\([^)]*\)")
_GRES = re.compile(r"(?:gres[:/])?([A-Za-z_][\w.-]*)(?:[:=]([A-Za-z_][\w.-]*))?(?:[:=]([0-9]\w*))?")


def separator() -> str:
    """Return an unpredictable text, which cannot be part of a name."""
    # Digits at its beginning would be the width of a field.
    return f"x{secrets.token_hex(8)}"


def format_of(fields: tuple[str, ...], mark: str) -> str:
    """Return what to give to ``-O``."""
    return ",".join(f"{name}:{mark}" for name in fields[:-1]) + f",{fields[-1]}:{mark}{mark}"


def records(text: str, fields: tuple[str, ...], mark: str) -> Iterator[dict[str, str]]:
    """
    Yield the records of an output by field.

    Raises
    ------
    UnreadableError
        If a record has a different number of fields.
    """
    *whole, rest = text.split(f"{mark}{mark}\n")
    if rest.strip():
        raise UnreadableError(f"a record is not complete: {rest[:60]!r}")
    for record in whole:
        values = record.split(mark)
        if len(values) != len(fields):
            raise UnreadableError(f"has {len(values)} fields, must have {len(fields)}: {record!r}")
        yield dict(zip(fields, values, strict=True))


def job_of(row: Mapping[str, str]) -> LiveJob:
    """
    Return the job of a record of :data:`JOB_FIELDS`.

    Raises
    ------
    UnreadableError
        If a value cannot be read; names job, field and value.
    """

    def read(field: str, reader: Callable[[str], T], otherwise: T) -> T:
        value = row[field].strip()
        if value in _NOTHING:
            return otherwise
        try:
            return reader(value)
        except ValueError as error:
            job = row["JobArrayID"]
            raise UnreadableError(f"job {job!r}: {field} is {value!r}, {error}") from None

    key, number = row["JobArrayID"].strip(), read("JobID", int, 0)
    state = read("State", str, "")
    cpus, nodes = read("NumCPUs", _count, 1), read("NumNodes", _count, 1)
    memory = read("MinMemory", _memory, 0)
    is_task = "_" in key
    return LiveJob(
        key=key,
        number=number,
        array=row["ArrayJobID"].strip() if is_task else "",
        is_part=bool(read("HetJobID", int, 0)),
        state=state,
        reason=read("Reason", str, ""),
        held=state == "PENDING" and read("PriorityLong", int, 0) == 0,
        submit=read("SubmitTime", int, 0),
        eligible=read("EligibleTime", int, MISSING),
        start=read("StartTime", int, MISSING) if state != "PENDING" else MISSING,
        end=read("EndTime", int, MISSING) if state != "PENDING" else MISSING,
        time_limit=read("TimeLimit", duration, MISSING),
        nodes_min=nodes,
        nodes_max=max(read("MaxNodes", _count, 0), nodes) if state == "PENDING" else nodes,
        cpus=cpus,
        tasks=read("NumTasks", _count, 1),
        cpus_per_task=max(read("cpus-per-task", _count, 1), 1),
        tasks_per_node=read("NTPerNode", _count, 0),
        mem=memory,
        mem_per_core=_is_per_core(memory, cpus, row["tres-alloc"]),
        gres_per_node=read("tres-per-node", str, ""),
        gres_per_job=read("tres-per-job", str, ""),
        gres_per_task=read("tres-per-task", str, ""),
        features=read("Feature", str, ""),
        exclusive=row["OverSubscribe"].strip() in ("NO", "EXCLUSIVE"),
        contiguous=row["Contiguous"].strip() == "1",
        dependency=read("Dependency", str, ""),
        licenses=read("Licenses", str, ""),
        nice=read("Nice", int, 0),
        partition=read("Partition", str, ""),
        user=read("UserName", str, ""),
        account=read("Account", str, ""),
        name=row["Name"],
        qos=read("QOS", str, ""),
        reservation=read("Reservation", str, ""),
        comment="" if row["Comment"] == "(null)" else row["Comment"],
        admin_comment="" if row["admin_comment"] == "(null)" else row["admin_comment"],
        required=read("ReqNodes", hosts, ()),
        nodes=read("NodeList", hosts, ()),
    )


def closed_nodes(text: str, mark: str) -> frozenset[str]:
    """Return the nodes on which nothing may start, of the output for :data:`NODE_FIELDS`."""
    found: set[str] = set()
    for row in records(text, NODE_FIELDS, mark):
        if is_closed(row["StateComplete"].strip()):
            found.update(hosts(row["NodeList"].strip()))
    return frozenset(found)


def reservations_of(text: str) -> tuple[Reserved, ...]:
    """
    Return the reservations of nodes in the output of ``scontrol -o show reservation``.

    Raises
    ------
    UnreadableError
        If its nodes are not a list of hosts.
    """
    found = []
    for start, end, nodes in _RESERVATION.findall(text):
        try:
            names = hosts(nodes) if nodes not in _NOTHING else ()
        except ValueError as error:
            raise UnreadableError(f"a reservation's nodes are {nodes!r}, {error}") from None
        if names:
            found.append(Reserved(names, int(start), int(end)))
    return tuple(sorted(found, key=lambda one: (one.start, one.end, one.nodes)))


class Details(NamedTuple):
    """What ``scontrol -d -o show job`` shows about a job and ``squeue`` does not."""

    excluded: tuple[str, ...]
    placed: tuple[Placed, ...]
    array_limit: int
    restartable: bool
    batch_host: str


def details_of(text: str, job: LiveJob) -> Details:
    """
    Return the details in a job's line.

    A job's name in the line may imitate fields, which harms only that job. What it holds on each
    node is left out if it contradicts the known nodes and cores.
    """
    bounds, throttles = _BOUNDS.findall(text), _THROTTLE.findall(text)
    names = bounds[-1][1] if bounds else ""
    excluded = () if names in _NOTHING else hosts(names)
    limit = int(throttles[0]) if throttles else 0
    scripts = _BATCH_HOST.findall(text) if job.holds else ()
    return Details(
        excluded=excluded,
        placed=_placed(text, job),
        array_limit=limit,
        restartable=_REQUEUE.findall(text)[-1:] == ["1"],
        batch_host=scripts[-1] if scripts else "",
    )


def _placed(text: str, job: LiveJob) -> tuple[Placed, ...]:
    found = [
        Placed(node, _num_ids(cpus), int(mem) * 1024, gres_of(gres))
        for nodes, cpus, mem, gres in (_HELD.findall(text) if job.holds else ())
        for node in hosts(nodes)
    ]
    nodes = [one.node for one in found]
    agrees = set(nodes) == set(job.nodes) and len(nodes) == len(job.nodes)
    return tuple(found) if agrees and sum(one.cores for one in found) == job.cpus else ()


def gres_of(text: str) -> dict[str, int]:
    """Return generic resources by name of ``gpu:a100:2(IDX:0-1),mic:1``; types add up."""
    found: Counter[str] = Counter()
    for item in _SOCKETS.sub("", text).split(",") if text not in _NOTHING else ():
        match = _GRES.fullmatch(item)
        if match is not None:
            found[match[1]] += amount(match[3] or "1", COUNTS)
    return dict(found)


def hosts(text: str) -> tuple[str, ...]:
    """
    Return the names of a list of hosts.

    Raises
    ------
    ValueError
        If it is not such a list.
    """
    return tuple(expand(text, _MOST_NODES)) if text else ()


def _num_ids(text: str) -> int:
    """Return the count of numbers in ``0-3,8``."""
    pairs = (part.partition("-") for part in text.split(",") if part)
    return sum(int(last or first) - int(first) + 1 for first, _, last in pairs)


def _count(text: str) -> int:
    return amount(text, COUNTS)


def _memory(text: str) -> int:
    return amount(text.lower().removesuffix("c").removesuffix("n"), MEMORY)


def _is_per_core(memory: int, cpus: int, tres: str) -> bool:
    """Whether memory is per core: then it adds up to the job's total."""
    total = _TOTAL_MEMORY.search(tres)
    return bool(memory and total and amount(total[1].lower(), MEMORY) == memory * cpus)
