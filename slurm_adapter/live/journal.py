"""
Orders to start jobs, written to disk before they are sent.

One JSON object a line, only ever appended: ``begin`` with the nodes and the job's own request,
``ran`` when the job has been seen on them, ``back`` when the start was withdrawn,
``requeue`` before a running job is requeued, ``shrink`` before one is ordered to give up nodes,
then ``shrunk`` or, if it still has them, ``kept``; ``gone`` when it has left the queue.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

#: Size in bytes from which a journal is set aside and a new one begun.
_LARGE = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """
    A job that was ordered to start.

    Attributes
    ----------
    nodes
        Where.
    required, nodes_min, nodes_max
        The job's own request, restored if the start is withdrawn.
    at
        When, Unix time.
    ran
        Whether it has been seen on these nodes.
    keeps
        The nodes that it has been ordered to keep, until it is seen to hold only these; else empty.
    """

    job: str
    nodes: tuple[str, ...]
    required: tuple[str, ...] = ()
    nodes_min: int = 1
    nodes_max: int = 1
    at: float = 0.0
    ran: bool = False
    keeps: tuple[str, ...] = ()


class Journal:
    """
    Open orders, in memory and in a file.

    Parameters
    ----------
    path
        The file; it is created if missing.

    Attributes
    ----------
    orders
        By job: those not ``back`` or ``gone``.

    Raises
    ------
    RunError
        If the file is damaged anywhere but in its last line, which a crash may have cut off.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.orders: dict[str, Order] = {}
        whole = 0
        if path.exists():
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            self._take_up(content[:whole])
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._file, whole)
        os.lseek(self._file, 0, os.SEEK_END)
        self._sync_folder()
        self._size = whole
        self._begin_anew_if_large()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def begin(self, orders: Iterable[Order]) -> None:
        """Record that jobs are about to be ordered to start."""
        lines = []
        for order in orders:
            self.orders[order.job] = order
            lines.append(_line(order))
        self._write(lines)
        self._begin_anew_if_large()

    def ran(self, jobs: Iterable[str]) -> list[float]:
        """Record that jobs run where ordered; return the latency of each."""
        now, lines, latencies = time.time(), [], []
        for job in jobs:
            order = self.orders[job]
            self.orders[job] = replace(order, ran=True)
            latencies.append(now - order.at)
            lines.append({"what": "ran", "job": job, "at": now})
        self._write(lines)
        return latencies

    def requeue(self, jobs: Iterable[str]) -> None:
        """Record that running jobs are about to be requeued."""
        self._write([{"what": "requeue", "job": job, "at": time.time()} for job in jobs])

    def shrink(self, orders: Iterable[Order]) -> None:
        """Write down that running jobs are about to be told to give up nodes."""
        lines = []
        for order in orders:
            self.orders[order.job] = order
            lines.append(_shrink_line(order))
        self._write(lines)

    def settled(self, job: str, *, shrunk: bool) -> None:
        """Write down that a job has given up the nodes that it was told to, or keeps them."""
        what = "shrunk" if shrunk else "kept"
        self._settle(job, what)
        self._write([{"what": what, "job": job, "at": time.time()}])

    def _settle(self, job: str, what: str) -> None:
        order = self.orders[job]
        nodes = order.keeps if what == "shrunk" else order.nodes
        self.orders[job] = replace(order, nodes=nodes, keeps=())

    def over(self, jobs: Iterable[str], what: str) -> None:
        """Record that orders are ``back`` or ``gone``."""
        known = [job for job in jobs if self.orders.pop(job, None) is not None]
        self._write([{"what": what, "job": job, "at": time.time()} for job in known])

    def _write(self, lines: list[dict[str, Any]]) -> None:
        if lines:
            text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
            view = memoryview(text)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
            self._size += len(text)

    def _take_up(self, content: bytes) -> None:
        for number, line in enumerate(content.splitlines(), start=1):
            try:
                self._apply(json.loads(line))
            except (ValueError, LookupError, TypeError) as error:
                raise RunError(f"{self._path}, line {number}: is not an order: {error}") from None

    def _apply(self, line: Mapping[str, Any]) -> None:
        job, what = str(line["job"]), line["what"]
        if what == "begin":
            self.orders[job] = Order(
                job=job,
                nodes=tuple(map(str, line["nodes"])),
                required=tuple(map(str, line["required"])),
                nodes_min=int(line["nodes_min"]),
                nodes_max=int(line["nodes_max"]),
                at=float(line["at"]),
            )
        elif what == "ran":
            if job in self.orders:
                self.orders[job] = replace(self.orders[job], ran=True)
        elif what == "shrink":
            if job in self.orders:
                nodes, keeps = (tuple(map(str, line[key])) for key in ("nodes", "keeps"))
                self.orders[job] = replace(
                    self.orders[job], nodes=nodes, keeps=keeps, at=float(line["at"])
                )
        elif what in ("shrunk", "kept"):
            if job in self.orders:
                self._settle(job, what)
        elif what == "requeue":
            # The queue shows whether it was carried out.
            pass
        elif what in ("back", "gone"):
            self.orders.pop(job, None)
        else:
            raise ValueError(f"what is {what!r}")

    def _begin_anew_if_large(self) -> None:
        """Set a large journal aside, and begin another one with the open orders."""
        if self._size <= _LARGE:
            return
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        os.close(self._file)
        new = self._path.with_name(f".new-{self._path.name}")
        self._file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._size = 0
        self._write([line for order in self.orders.values() for line in _lines(order)])
        os.link(self._path, self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}"))
        new.replace(self._path)
        self._sync_folder()

    def _sync_folder(self) -> None:
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _line(order: Order) -> dict[str, Any]:
    return {
        "what": "begin",
        "job": order.job,
        "nodes": list(order.nodes),
        "required": list(order.required),
        "nodes_min": order.nodes_min,
        "nodes_max": order.nodes_max,
        "at": order.at,
    }


def _shrink_line(order: Order) -> dict[str, Any]:
    return {
        "what": "shrink",
        "job": order.job,
        "nodes": list(order.nodes),
        "keeps": list(order.keeps),
        "at": order.at,
    }


def _lines(order: Order) -> Iterator[dict[str, Any]]:
    yield _line(order)
    if order.ran:
        yield {"what": "ran", "job": order.job, "at": order.at}
    if order.keeps:
        yield _shrink_line(order)
