"""
Orders to jobs, written to disk before they are sent.

One JSON object a line, only ever appended: ``what`` happens, the ``time``, and the order as it is
from then on. ``begin`` before a job is ordered to start, ``ran`` when it has been seen on its
nodes, ``back`` when the start was withdrawn, ``aside`` when the job runs elsewhere or is left to
Slurm, ``gone`` when it has left the queue; ``kept`` at the beginning of a new file.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

from cpsched.api.errors import RunError
from slurm_adapter.live.order import Order

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Size in bytes from which a journal is set aside when it is opened, and a new one begun.
_LARGE = 16 * 2**20
#: What happens to an order: whether it is open from then on.
_OPEN = dict.fromkeys(("begin", "ran", "kept"), True)
_OPEN |= dict.fromkeys(("back", "aside", "gone"), False)


class Journal:
    """
    Open orders, in memory and, once :meth:`open` is called, in a file.

    Attributes
    ----------
    orders
        By job: those not ``back``, ``aside`` or ``gone``.
    """

    def __init__(self) -> None:
        self.orders: dict[str, Order] = {}
        self._file: BinaryIO | None = None
        self._path: Path | None = None

    def open(self, path: Path) -> None:
        """
        Take up a file; it is created if missing.

        Raises
        ------
        RunError
            If it is damaged anywhere but in its last line, which a crash may have cut off.
        """
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        lines = [line for line in lines if line.endswith(b"\n")]
        for number, line in enumerate(lines, start=1):
            try:
                self._note(*_read(line))
            except (ValueError, LookupError, TypeError) as error:
                raise RunError(f"{path}, line {number}: is not an order: {error}") from None
        if sum(map(len, lines)) > _LARGE:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            os.link(path, path.with_name(f"{path.stem}-{stamp}{path.suffix}"))
            lines = [_line("kept", order) for order in self.orders.values()]
        self._path = path
        new = path.with_name(f".new-{path.name}")
        # A link of that name is not followed.
        new.unlink(missing_ok=True)
        self._file = new.open("xb")
        self._append(lines)
        new.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def write(self, what: str, orders: Iterable[Order]) -> None:
        """Record what happens to orders, or is about to happen."""
        lines = []
        for order in orders:
            self._note(what, order)
            lines.append(_line(what, order))
        if lines:
            self._append(lines)

    def _append(self, lines: Iterable[bytes]) -> None:
        if self._file is None:
            return
        try:
            self._file.writelines(lines)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(f"{self._path}: cannot be written: {error.strerror}") from error

    def _note(self, what: str, order: Order) -> None:
        if _OPEN[what]:
            self.orders[order.job] = order
        else:
            self.orders.pop(order.job, None)


def _line(what: str, order: Order) -> bytes:
    return f"{json.dumps({'what': what, 'time': time.time(), **asdict(order)})}\n".encode()


def _read(line: bytes) -> tuple[str, Order]:
    known: dict[str, Any] = {}
    for key, value in json.loads(line).items():
        known[key] = tuple(value) if isinstance(value, list) else value
    what, _ = known.pop("what"), known.pop("time")
    return what, Order(**known)
