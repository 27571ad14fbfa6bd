"""Errors of a process that gets no more memory."""

from __future__ import annotations

import errno


def is_out_of_memory(error: BaseException) -> bool:
    """Whether there was no memory for an object, a system call, or a library to be loaded."""
    if isinstance(error, ImportError):
        return "failed to map segment" in str(error)
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
