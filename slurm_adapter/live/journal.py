"""
Orders to jobs, written to disk before they are sent.

One JSON object a line, only ever appended: ``what`` happens, the ``time``, and the order as it is
from then on. ``begin`` before a job is ordered to start, ``ran`` when it has been seen on its
nodes, ``back`` when the start was withdrawn; ``requeue`` before a running job is requeued,
``shrink`` before one is ordered to give up nodes, then ``shrunk`` or, if it runs on as it was,
``kept``; ``gone`` when it has left the queue.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import RunError
from slurm_adapter.live.backend import Order

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Size in bytes from which a journal is set aside when it is opened, and a new one begun.
_LARGE = 16 * 2**20
#: What happens to an order: whether it is open from then on.
_OPEN = dict.fromkeys(("begin", "ran", "requeue", "shrink", "shrunk", "kept"), True)
_OPEN |= dict.fromkeys(("back", "gone"), False)


class Journal:
    """
    Open orders, in memory and, once :meth:`open` is called, in a file.

    Attributes
    ----------
    orders
        By job: those not ``back`` or ``gone``.
    """

    def __init__(self) -> None:
        self.orders: dict[str, Order] = {}
        self._file: int | None = None

    def open(self, path: Path) -> None:
        """
        Take up a file; it is created if missing.

        Raises
        ------
        RunError
            If it is damaged anywhere but in its last line, which a crash may have cut off.
        """
        whole = 0
        if path.exists():
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            self._take_up(content[:whole], path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._file, whole)
        os.lseek(self._file, 0, os.SEEK_END)
        if whole > _LARGE:
            self._begin_anew(path)
        _sync(path.parent)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def write(self, what: str, orders: Iterable[Order]) -> None:
        """Record what happens to orders, or is about to happen."""
        lines = []
        for order in orders:
            self._note(what, order)
            line = {"what": what, "time": time.time(), **asdict(order)}
            lines.append(f"{json.dumps(line)}\n")
        if lines and self._file is not None:
            view = memoryview("".join(lines).encode())
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)

    def _note(self, what: str, order: Order) -> None:
        if _OPEN[what]:
            self.orders[order.job] = order
        else:
            self.orders.pop(order.job, None)

    def _take_up(self, content: bytes, path: Path) -> None:
        for number, line in enumerate(content.splitlines(), start=1):
            try:
                self._note(*_read(json.loads(line)))
            except (ValueError, LookupError, TypeError) as error:
                raise RunError(f"{path}, line {number}: is not an order: {error}") from None

    def _begin_anew(self, path: Path) -> None:
        """Set a large file aside, and begin another one with the open orders."""
        self.close()
        new = path.with_name(f".new-{path.name}")
        self._file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self.write("kept", list(self.orders.values()))
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        os.link(path, path.with_name(f"{path.stem}-{stamp}{path.suffix}"))
        new.replace(path)


def _read(line: dict[str, Any]) -> tuple[str, Order]:
    what, _ = line.pop("what"), line.pop("time")
    known: dict[str, Any] = {}
    for key, value in line.items():
        known[key] = tuple(value) if isinstance(value, list) else value
    return what, Order(**known)


def _sync(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
