"""What an engine did, for those who look into it later, and whether it is well."""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cpsched.api.tools import replacing, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

#: In the folder of the engine.
AUDIT, HEALTH = "audit.jsonl", "health.json"
#: Seconds between signs of life.
_BEAT = 5.0


class Audit:
    """
    The audit log of an engine and its sign of life; both are in its folder.

    Parameters
    ----------
    folder
        None: nothing is written.
    say
        Called when the log cannot be written; the engine goes on.
    """

    def __init__(self, folder: Path | None, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._beat_at = 0.0

    def begin(self, dispatcher: str, predictor: str) -> None:
        """Note who has started an engine, and how."""
        self.note(
            "start",
            user=getpass.getuser(),
            sudo_user=os.environ.get("SUDO_USER", ""),
            host=socket.gethostname(),
            process=os.getpid(),
            versions=versions(),
            dispatcher=dispatcher,
            predictor=predictor,
            command=sys.argv,
        )

    def note(self, what: str, **facts: Any) -> None:
        """Append a line: what has happened, when, and facts about it."""
        if self._folder is None:
            return
        path = self._folder / AUDIT
        try:
            with path.open("a") as file:
                file.write(f"{json.dumps({'time': time.time(), 'what': what, **facts})}\n")
        except OSError as error:
            self._say(f"{path} is not written, the engine goes on: {error.strerror}")

    def beat(self, counts: Mapping[str, int]) -> None:
        """Give a sign of life with what was done so far, every few seconds."""
        if time.monotonic() - self._beat_at >= _BEAT:
            self._beat_at = time.monotonic()
            self._write({"counts": dict(counts)})

    def end(self, why: str) -> None:
        """Note that the engine ends."""
        self.note("stop", why=why)
        self._write({"ended": why})

    def _write(self, health: Mapping[str, Any]) -> None:
        if self._folder is not None:
            # Without a sign of life the engine counts as not well.
            with suppress(OSError), replacing(self._folder / HEALTH) as partial:
                known = {"time": time.time(), "process": os.getpid(), **health}
                partial.write_text(f"{json.dumps(known)}\n")
