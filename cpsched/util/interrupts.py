"""Ctrl-C, which a terminal sends to all processes of a command."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """
    Have processes that are started here not hear Ctrl-C, which a terminal sends to all.

    This process hears it, and stops them; each of them would print a traceback of its own.
    """
    # What is ignored stays so in a new program, and what is blocked meanwhile is not lost here.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
