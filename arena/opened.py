"""Whether files are opened while something runs, by whatever process and library (Linux)."""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

#: Of inotify(7): a file was opened; read without waiting.
_OPENED, _NONBLOCK = 0x20, os.O_NONBLOCK
_EVENT = struct.Struct("iIII")
_MOST = 1 << 16


def can_watch() -> bool:
    """Return whether the system can say which files are opened."""
    return hasattr(ctypes.CDLL(None), "inotify_init1")


@contextmanager
def opened(paths: Collection[Path]) -> Iterator[set[Path]]:
    """
    Give a set in which, when the block ends, are those of some files that were opened meanwhile.

    Empty where the system has no inotify.
    """
    found: set[Path] = set()
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.inotify_init1(_NONBLOCK) if can_watch() else -1
    if handle < 0:
        yield found
        return
    try:
        watches = {
            libc.inotify_add_watch(handle, os.fsencode(path), _OPENED): path for path in paths
        }
        yield found
        for watch in _events(handle):
            if watch in watches:
                found.add(watches[watch])
    finally:
        os.close(handle)


def _events(handle: int) -> Iterator[int]:
    """Yield the watch of each event that has come."""
    while True:
        try:
            data = os.read(handle, _MOST)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, _, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            yield watch
