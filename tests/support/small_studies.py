"""Logs and tables of small studies, and waiting for what other processes do."""

import time

from cpsched.report import load_results, write_tables

#: Dispatchers that bring their process down: the first time, in a folder, and always.
FATAL = """
import os, signal
from pathlib import Path
from cpsched import Dispatcher, make_allocator, start_by

class Once(Dispatcher):
    name = "once"

    def decide(self, view):
        killed = Path(__file__).with_name("killed")
        if self.again or not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        allocator = make_allocator("first-fit")
        allocator.reset(view.system)
        return start_by(view, list(range(len(view.waiting))), allocator)

    again = False

class Always(Once):
    again = True
"""


def swf(num_jobs, gap=40):
    """Return a log of jobs of 1 to 4 processors that queue up on four."""
    lines = ["; Computer: a tiny machine", "; UnixStartTime: 1000000000"]
    for job in range(1, num_jobs + 1):
        processors, runtime = 1 + job * 7 % 4, 20 + job * 37 % 90
        requested = 2 * runtime
        lines.append(
            f"{job} {job * gap} -1 {runtime} {processors} -1 -1 {processors} {requested}"
            f" -1 1 {job % 5} 1 -1 1 -1 -1 -1"
        )
    return "\n".join(lines) + "\n"


def tables(folder):
    """Return the tables of a folder, without the one that may differ."""
    files = write_tables(load_results(folder), folder / "tables")
    return {path.name: path.read_bytes() for path in files if path.stem != "timing"}


def run_files(folder):
    """Return what is in the run folders of a study, without the cost, which may differ."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in (folder / "runs").rglob("*")
        if path.is_file() and path.name != "timing.json"
    }


def until(condition):
    """Wait until something is true, for half a minute at most."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened in 30 s")
