"""
Jobs and nodes, read from the output of ``squeue``, ``sinfo`` and ``scontrol``.

Names and comments are user input and may contain line ends and any separator. So every call chooses
an unpredictable separator (:func:`separator`), and a record ends with it twice.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpsched.logs.sacct.request import GRES, with_types
from cpsched.slurm.live.snapshot import LiveJob, Placed, Reserved, UnreadableError, is_closed
from cpsched.util.node_lists import expand
from cpsched.util.slurm_quantities import amount, elapsed, memory
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

NODE_FIELDS = ("StateComplete", "NodeList")
_NOTHING = ("", "(null)", "N/A", "None", "none", "NONE", "Unknown", "n/a", "UNLIMITED", "INVALID")
_MAX_NODES = 100_000
_TOTAL_MEMORY = re.compile(r"(?:^|,)mem=([0-9.]+[KMGTP]?)")
#: The allocation of a job on nodes, in ``scontrol -d show job``.
_ALLOCATED = re.compile(r" Nodes=(\S+) CPU_IDs=(\S*) Mem=([0-9]+) GRES=(\S*)")
_BOUNDS = re.compile(r" ReqNodeList=\S+ ExcNodeList=(\S+) ")
_THROTTLE = re.compile(r" ArrayTaskThrottle=([0-9]+)")
_RESERVATION = re.compile(
    r"(?m)^ReservationName=.*? StartTime=([0-9]+) EndTime=([0-9]+) .*? Nodes=(\S+) "
)
_SOCKETS = re.compile(r"\([^)]*\)")


def separator() -> str:
    """Return an unpredictable text, which cannot be part of a name."""
    # Digits at its beginning would be the width of a field.
    return f"x{secrets.token_hex(8)}"


def format_of(fields: tuple[str, ...], mark: str) -> str:
    """Return the value of the option ``-O``."""
    return ",".join(f"{name}:{mark}" for name in fields[:-1]) + f",{fields[-1]}:{mark}{mark}"


def records(text: str, fields: tuple[str, ...], mark: str) -> Iterator[dict[str, str]]:
    """
    Yield the records of an output by field.

    Raises
    ------
    UnreadableError
        If a record has a different number of fields.
    """
    *lines, rest = text.split(f"{mark}{mark}\n")
    if rest.strip():
        raise UnreadableError(f"Slurm's output ends within a record: {rest[:60]!r}")
    for record in lines:
        values = record.split(mark)
        if len(values) != len(fields):
            raise UnreadableError(
                f"a record of Slurm has {len(values)} fields, must have {len(fields)}: {record!r}"
            )
        yield dict(zip(fields, values, strict=True))


def job_of(row: Mapping[str, str]) -> LiveJob:
    """
    Return the job of a record of :data:`JOB_FIELDS`.

    Raises
    ------
    UnreadableError
        If a value cannot be read; names job, field and value.
    """
    values: dict[str, Any] = {"state": "", "submit": 0}
    for field, (attribute, reader) in _READERS.items():
        value = row[field] if reader is _as_written else row[field].strip()
        try:
            if value not in _NOTHING or reader is _as_written:
                values[attribute] = reader(value)
        except ValueError as error:
            key = row["JobArrayID"]
            raise UnreadableError(f"job {key!r}: {field} {value!r} {error}") from None
    total = values.pop("mem_total", 0)
    job = LiveJob(**values)
    return replace(
        job,
        array=job.array if "_" in job.key else "",
        held=job.waits and not job.priority,
        start=MISSING if job.waits else job.start,
        end=MISSING if job.waits else job.end,
        nodes_max=max(job.nodes_max, job.nodes_min) if job.waits else job.nodes_min,
        # Memory is per core if it adds up to the job's total.
        mem_per_core=bool(total) and total == job.mem * job.cpus,
    )


def closed_nodes(rows: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Return the nodes on which nothing may start, of records of :data:`NODE_FIELDS`."""
    closed = (row["NodeList"].strip() for row in rows if is_closed(row["StateComplete"].strip()))
    return frozenset(name for names in closed for name in hosts(names))


def reservations_of(text: str) -> tuple[Reserved, ...]:
    """
    Return the reservations of nodes in the output of ``scontrol -o show reservation``.

    Raises
    ------
    UnreadableError
        If its nodes are not a list of hosts.
    """
    reservations = []
    for start, end, nodes in _RESERVATION.findall(text):
        try:
            names = hosts(nodes) if nodes not in _NOTHING else ()
        except ValueError as error:
            raise UnreadableError(
                f"the nodes {nodes!r} of a reservation: the text {error}"
            ) from None
        if names:
            reservations.append(Reserved(names, int(start), int(end)))
    return tuple(
        sorted(reservations, key=lambda reserved: (reserved.start, reserved.end, reserved.nodes))
    )


def details_of(text: str, job: LiveJob) -> dict[str, Any]:
    """
    Return the attributes of a job in ``scontrol -d -o show job`` that ``squeue`` does not show.

    A job's name in the line may imitate fields, which harms only that job. Its allocation on each
    node is left out if it contradicts the known nodes and cores.
    """
    bounds, throttles = _BOUNDS.findall(text), _THROTTLE.findall(text)
    names = bounds[-1] if bounds else ""
    return {
        "excluded": () if names in _NOTHING else hosts(names),
        "placed": _placed(text, job),
        "array_limit": int(throttles[0]) if throttles else 0,
    }


def _placed(text: str, job: LiveJob) -> tuple[Placed, ...]:
    placed = [
        Placed(node, len(hosts(f"n[{cpus}]" if cpus else "")), int(mem) * 1024, gres_of(gres))
        for nodes, cpus, mem, gres in (_ALLOCATED.findall(text) if job.holds else ())
        for node in hosts(nodes)
    ]
    agrees = sorted(part.node for part in placed) == sorted(job.nodes)
    return tuple(placed) if agrees and sum(part.cores for part in placed) == job.cpus else ()


def gres_of(text: str) -> dict[str, int]:
    """
    Return the generic resources of ``gpu:a100:2(IDX:0-1),mic:1``, in all and of each type.

    That is 2 of ``gpu``, 2 of ``gpu:a100`` and 1 of ``mic``.
    """
    items = _SOCKETS.sub("", text).split(",") if text not in _NOTHING else ()
    matches = filter(None, (GRES.fullmatch(item.replace("=", ":")) for item in items))
    return with_types((match[1], match[2] or "", amount(match[3] or "1")) for match in matches)


def hosts(text: str) -> tuple[str, ...]:
    """
    Return the names of a list of hosts.

    Raises
    ------
    ValueError
        If it is not such a list.
    """
    return tuple(expand(text, _MAX_NODES)) if text else ()


def _memory(text: str) -> int:
    return memory(text.lower().removesuffix("c").removesuffix("n"))


def _total_memory(tres: str) -> int:
    total = _TOTAL_MEMORY.search(tres)
    return memory(total[1]) if total else 0


def _as_written(text: str) -> str:
    """Return free text of a user."""
    return "" if text == "(null)" else text


#: Fields of ``squeue -O`` (the same names from 22.05 to 25.05): a job's attribute, and its reader.
_READERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "JobArrayID": ("key", str),
    "JobID": ("number", int),
    "ArrayJobID": ("array", str),
    "State": ("state", str),
    "Reason": ("reason", str),
    "PriorityLong": ("priority", int),
    "SubmitTime": ("submit", int),
    "EligibleTime": ("eligible", int),
    "StartTime": ("start", int),
    "EndTime": ("end", int),
    "TimeLimit": ("time_limit", elapsed),
    "NumNodes": ("nodes_min", amount),
    "MaxNodes": ("nodes_max", amount),
    "NumCPUs": ("cpus", amount),
    "NumTasks": ("tasks", amount),
    "cpus-per-task": ("cpus_per_task", lambda text: max(amount(text), 1)),
    "NTPerNode": ("tasks_per_node", amount),
    "MinMemory": ("mem", _memory),
    "tres-alloc": ("mem_total", _total_memory),
    "tres-per-node": ("gres_per_node", str),
    "tres-per-job": ("gres_per_job", str),
    "tres-per-task": ("gres_per_task", str),
    "Feature": ("features", str),
    "OverSubscribe": ("exclusive", ("NO", "EXCLUSIVE").__contains__),
    "Contiguous": ("contiguous", "1".__eq__),
    "Dependency": ("dependency", str),
    "Licenses": ("licenses", str),
    "Nice": ("nice", int),
    "Partition": ("partition", str),
    "UserName": ("user", str),
    "Account": ("account", str),
    "Name": ("name", _as_written),
    "QOS": ("qos", str),
    "Reservation": ("reservation", str),
    "ReqNodes": ("required", hosts),
    "NodeList": ("nodes", hosts),
    "HetJobID": ("is_part", lambda text: int(text) != 0),
}
JOB_FIELDS = tuple(_READERS)
