"""
``slurmrestd`` over its Unix socket as a backend.

Tested on Slurm 22.05 (``v0.0.38``). From 23.02 on numbers may come as ``{"set": true, "infinite":
false, "number": 4}``, states as lists, and a job's nodes are ``job_resources.nodes.allocation``
(OpenAPI pages of slurmrestd 23.11 to 25.05): these are read, too.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from typing import TYPE_CHECKING, Any

from cpsched.base.types import MISSING
from slurm_adapter.live.backend import NotAllowedError, UnreachableError, UnreadableError
from slurm_adapter.live.fields import gres_of, hosts
from slurm_adapter.live.scontrol import Scontrol
from slurm_adapter.live.snapshot import LiveJob, Placed, Reserved, Snapshot, in_order, is_closed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slurm_adapter.live.backend import Begin, Shrink, TakeBack

_PATIENCE = 30
_VERSION = re.compile(r"/slurm/(v0\.0\.([0-9]+))/jobs")
#: The supported versions; v0.0.40 belongs to Slurm 23.11, v0.0.43 to 25.05.
_NEWEST = 43
#: From this version on, updates of a job use other names.
_RENAMED = 40
_KB = 1024
_ALL = re.compile(r"([0-9]+)(?:-([0-9]+)(?::([0-9]+))?)?")
_NOT_ALLOWED = re.compile(r"(?i)permission|access denied|unauthorized|authenticat")


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(str(self._path))


class Slurmrestd:
    """
    A slurmrestd that listens on a Unix socket and authenticates by the socket.

    Parameters
    ----------
    path
        The socket.
    environment
        For ``scontrol show config``, which slurmrestd does not offer.
    """

    name = "slurmrestd"

    def __init__(self, path: Path, environment: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._commands = Scontrol(environment)
        self._connection: _Connection | None = None
        self._version: tuple[str, int] | None = None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def snapshot(self) -> Snapshot:
        """Return the queue and the nodes."""
        now = int(time.time())
        jobs = [job for job in self._jobs() if job.waits or job.holds]
        nodes = self._get("nodes").get("nodes", [])
        closed = frozenset(str(node["name"]) for node in nodes if is_closed(_node_state(node)))
        return Snapshot(now, in_order(jobs), closed, self._reserved())

    def _reserved(self) -> tuple[Reserved, ...]:
        """Return the reservations of nodes."""
        found = [
            Reserved(
                hosts(str(one["node_list"])),
                _number(one["start_time"]),
                _number(one["end_time"]),
            )
            for one in self._get("reservations").get("reservations", [])
            if one.get("node_list")
        ]
        return tuple(sorted(found, key=lambda one: (one.start, one.end, one.nodes)))

    def ended(self, jobs: Iterable[str]) -> dict[str, LiveJob]:
        """Return the outcomes of jobs that have left the queue, if Slurm still remembers them."""
        wanted = set(jobs)
        return {job.key: job for job in self._jobs() if job.key in wanted} if wanted else {}

    def expected_starts(self) -> dict[str, int]:
        """Return when Slurm expects waiting jobs to start."""
        return {
            job.key: job.start
            for record in self._get("jobs").get("jobs", [])
            for job in jobs_of(record, planned=True)
            if job.waits and job.start != MISSING
        }

    def configuration(self) -> dict[str, str]:
        """Return what ``scontrol show`` prints of ``config``, ``node`` and ``partition``."""
        return self._commands.configuration()

    def begin(self, orders: Sequence[Begin]) -> dict[str, str]:
        """Bind jobs to nodes and release them, each in one request."""
        return self._change(
            {order.job: self._bounds(order.nodes, len(order.nodes), len(order.nodes))
             | {"hold": False} for order in orders}
        )  # fmt: skip

    def requeue(self, jobs: Sequence[str]) -> dict[str, str]:
        """
        Take running jobs off their nodes and hold them; by scontrol, because slurmrestd cannot.
        """
        return self._commands.requeue(jobs)

    def shrink(self, orders: Sequence[Shrink]) -> dict[str, str]:
        """Leave running jobs some of their nodes."""
        return self._change({order.job: self._required(order.nodes) for order in orders})

    def take_back(self, orders: Sequence[TakeBack]) -> dict[str, str]:
        """Hold jobs and remove the nodes that they were bound to."""
        begin = "now" if self._at()[1] < _RENAMED else int(time.time())
        refused = self._change({order.job: {"hold": True} for order in orders})
        return refused | self._change(
            {
                order.job: self._bounds(order.required, order.nodes_min, order.nodes_max)
                | ({"begin_time": begin} if order.at_once else {})
                for order in orders
                if order.job not in refused
            }
        )

    def _bounds(self, nodes: Sequence[str], least: int, most: int) -> dict[str, Any]:
        if self._at()[1] < _RENAMED:
            return self._required(nodes) | {"nodes": [least, most]}
        return self._required(nodes) | {"minimum_nodes": least, "maximum_nodes": most}

    def _required(self, nodes: Sequence[str]) -> dict[str, Any]:
        if self._at()[1] < _RENAMED:
            return {"nodelist": ",".join(nodes)}
        return {"required_nodes": list(nodes)}

    def _change(self, changes: Mapping[str, dict[str, Any]]) -> dict[str, str]:
        refused: dict[str, str] = {}
        for job, change in changes.items():
            status, answer = self._ask("POST", f"/slurm/{self._at()[0]}/job/{job}", change)
            errors = [str(one.get("description") or one) for one in answer.get("errors") or ()]
            # 22.05 reports a failure for every task of an array, but carries it out.
            errors = [one for one in errors if "job array update" not in one]
            complaint = " ".join("; ".join(errors).split()) or ("" if status < 400 else str(status))
            if _NOT_ALLOWED.search(complaint):
                raise NotAllowedError(f"Slurm refuses orders: {complaint}")
            if complaint:
                refused[job] = complaint
        return refused

    def _jobs(self) -> list[LiveJob]:
        try:
            return [
                job
                for record in self._get("jobs").get("jobs", [])
                for job in jobs_of(record)
            ]  # fmt: skip
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, UnreadableError):
                raise
            raise UnreadableError(f"jobs of slurmrestd: {error!r:.200}") from None

    def _at(self) -> tuple[str, int]:
        """Return the newest version of the interface that both sides support."""
        if self._version is None:
            for page in ("/openapi/v3", "/openapi"):
                status, answer = self._ask("GET", page)
                paths = answer.get("paths") or {}
                found = {int(m[2]): m[1] for path in paths if (m := _VERSION.match(path))}
                known = [number for number in found if number <= _NEWEST]
                if status < 400 and known:
                    self._version = (found[max(known)], max(known))
                    break
            else:
                raise UnreadableError(f"{self._path}: slurmrestd offers no known version")
        return self._version

    def _get(self, what: str) -> dict[str, Any]:
        status, answer = self._ask("GET", f"/slurm/{self._at()[0]}/{what}")
        errors = answer.get("errors") or ()
        if status >= 400 or errors:
            raise UnreachableError(f"slurmrestd: {status}: {str(errors)[:200]}")
        return answer

    def _ask(self, method: str, page: str, body: object = None) -> tuple[int, dict[str, Any]]:
        sent = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"} if sent else {}
        for fresh in (False, True):
            if self._connection is None:
                self._connection = _Connection(self._path)
            try:
                self._connection.request(method, page, sent, headers)
                response = self._connection.getresponse()
                status, text = response.status, response.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self.close()
                # The connection was closed while idle; orders are not sent twice.
                if fresh or method != "GET":
                    raise UnreachableError(f"{self._path}: {error}") from None
        try:
            answer = json.loads(text.decode(errors="replace")) if text.strip() else {}
        except ValueError:
            raise UnreadableError(f"{page}: is not JSON: {text[:60]!r}") from None
        if not isinstance(answer, dict):
            raise UnreadableError(f"{page}: is not a JSON object")
        return status, answer


def jobs_of(record: Mapping[str, Any], *, planned: bool = False) -> Iterator[LiveJob]:
    """
    Yield the jobs of a record of ``/jobs``: one, or each task that has not been split off.

    Parameters
    ----------
    planned
        Whether the start of a waiting job is Slurm's planned one.
    """
    state = _words(record.get("job_state"))[0]
    number = _number(record["job_id"])
    array = _number(record.get("array_job_id"))
    nodes = hosts(str(record.get("nodes") or ""))
    least = max(_number(record.get("node_count")), 1)
    waits = state == "PENDING"
    per_core = _number(record.get("memory_per_cpu"))
    job: dict[str, Any] = {
        "number": number,
        "array": str(array) if array else "",
        "is_part": bool(_number(record.get("het_job_id"))),
        "array_limit": _number(record.get("array_max_tasks")),
        "state": state,
        "reason": _text(record.get("state_reason")),
        "held": waits and _number(record.get("priority")) == 0 and not _is_endless(record),
        "submit": _number(record.get("submit_time")),
        "eligible": _number(record.get("eligible_time")) or MISSING,
        "start": MISSING if waits and not planned else _number(record["start_time"]) or MISSING,
        "end": MISSING if waits else _number(record.get("end_time")) or MISSING,
        "time_limit": 60 * _number(record.get("time_limit")) or MISSING,
        "nodes_min": least,
        "nodes_max": max(_number(record.get("max_nodes")) if waits else 0, least),
        "cpus": _number(record.get("cpus")) or 1,
        "tasks": _number(record.get("tasks")) or 1,
        "cpus_per_task": _number(record.get("cpus_per_task")) or 1,
        "tasks_per_node": _number(record.get("tasks_per_node")),
        "mem": _KB * (per_core or _number(record.get("memory_per_node"))),
        "mem_per_core": bool(per_core),
        **{
            f"gres_per_{one}": _text(record.get(f"tres_per_{one}"))
            for one in ("node", "job", "task")
        },
        "features": _text(record.get("features")),
        "exclusive": "none" in [word.lower() for word in _words(record.get("shared"))],
        "contiguous": bool(record.get("contiguous")),
        "dependency": _text(record.get("dependency")),
        "licenses": _text(record.get("licenses")),
        "nice": _number(record.get("nice")),
        **{one: _text(record.get(one)) for one in ("partition", "account", "name", "qos")},
        "user": _text(record.get("user_name")),
        "reservation": _text(record.get("resv_name")),
        "comment": _comment(record, "comment", "job"),
        "admin_comment": _comment(record, "admin_comment", "administrator"),
        "required": hosts(_text(record.get("required_nodes"))),
        "restartable": bool(record.get("requeue")),
        "excluded": hosts(_text(record.get("excluded_nodes"))),
        "nodes": nodes,
        "placed": tuple(_placed(record, nodes)),
        "batch_host": "" if waits else _text(record.get("batch_host")),
    }
    tasks = _text(record.get("array_task_string"))
    task = record.get("array_task_id")
    if not array:
        yield LiveJob(key=str(number), **job)
    elif tasks:
        for one in _tasks(tasks):
            yield LiveJob(key=f"{array}_{one}", **job)
    elif task is not None:
        yield LiveJob(key=f"{array}_{_number(task)}", **job)


def _tasks(text: str) -> Iterator[int]:
    """Yield the numbers of ``1-5,9%2``."""
    for part in text.partition("%")[0].split(","):
        match = _ALL.fullmatch(part.strip("[]"))
        if match is None:
            raise UnreadableError(f"array_task_string is {text!r}, must be numbers and ranges")
        yield from range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1))


def _placed(record: Mapping[str, Any], nodes: Sequence[str]) -> Iterator[Placed]:
    """Yield what a job holds on each node."""
    resources = record.get("job_resources") or {}
    gres = [gres_of(_text(one)) for one in record.get("gres_detail") or ()]
    on_node = dict(zip(nodes, gres, strict=False)) if len(gres) == len(nodes) else {}
    listed = resources.get("allocated_nodes")
    if listed is None and isinstance(resources.get("nodes"), dict):
        listed = resources["nodes"].get("allocation")
    entries = listed.values() if isinstance(listed, dict) else listed or ()
    for entry in entries:
        name = _text(entry.get("nodename") or entry.get("name"))
        cores = sum(
            isinstance(core, dict) or str(core).lower() != "unassigned"
            for socket_cores in _values(entry.get("sockets"))
            for core in _values(socket_cores.get("cores") if isinstance(socket_cores, dict) else ())
        )
        cpus = entry.get("cpus")
        counted = cpus.get("count") if isinstance(cpus, dict) else entry.get("cpus_used", cpus)
        memory = entry.get("memory")
        mem = memory.get("allocated") if isinstance(memory, dict) else (
            entry.get("memory_allocated", memory)
        )  # fmt: skip
        yield Placed(
            name, _number(counted) or cores, _KB * _number(mem), on_node.get(name, {})
        )  # fmt: skip


def _values(items: Any) -> Iterable[Any]:
    if isinstance(items, dict):
        return list(items.values())
    return items or ()


def _number(value: Any) -> int:
    """Return a number; 0 if it is not set or unlimited."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else 0
    return int(value or 0)


def _is_endless(record: Mapping[str, Any]) -> bool:
    """Whether a priority is unlimited, which is not 0."""
    priority = record.get("priority")
    return isinstance(priority, dict) and bool(priority.get("infinite"))


def _words(value: Any) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else [str(value or "")]


def _text(value: Any) -> str:
    """Return a text; '' for Slurm's placeholders of missing values."""
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return "" if text in ("None", "(null)", "N/A") else text


def _comment(record: Mapping[str, Any], old: str, new: str) -> str:
    comment = record.get("comment")
    if isinstance(comment, dict):
        return _text(comment.get(new))
    return _text(record.get(old))


def _node_state(node: Mapping[str, Any]) -> str:
    return "+".join([*_words(node.get("state")), *map(str, node.get("state_flags") or ())])
