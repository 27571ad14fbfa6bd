"""
A command of cpsched in a process that writes down which files it opens.

    python -m arena.watched OPENED.json simulate LOG ...

Python tells audit hooks of every file that Python code opens, and of every process it starts;
files opened by compiled libraries by themselves are not seen.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

_EVENTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect")


def main() -> None:
    """Run the command, and write the list when it ends."""
    target, *arguments = sys.argv[1:]
    opened: set[str] = set()
    started: set[str] = set()
    here = os.getpid()

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            opened.add(os.path.abspath(os.fsdecode(args[0])))  # noqa: PTH100
        elif event in _EVENTS:
            started.add(event)

    sys.addaudithook(watch)
    sys.argv = ["cpsched", *arguments]
    try:
        runpy.run_module("cpsched", run_name="__main__")
    finally:
        if os.getpid() == here:
            told = {"opened": sorted(opened), "started": sorted(started)}
            Path(target).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
