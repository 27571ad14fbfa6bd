"""An engine and a twin of a private Slurm, killed again and again: part of ``faults.py``."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import live
from faults import CPSCHED, Row, mount, other_clock, report

from slurm_adapter.live import demo
from slurm_adapter.live.private import PrivateSlurm

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Columns of a twin's record that say when it looked, or what it saw of a job that waited.
LOOKED = ("first_seen", "reason", "end_known")
#: Hits of ``kill -9``.
KILLS = 60
#: Jobs that wait for the engine at any time, and seconds in which an engine or a twin is disturbed.
_WAITING, _SECONDS = 6, 2.5


class Disturbed:
    """A command that goes on until it is disturbed; it is then started again."""

    def __init__(self, slurm: PrivateSlurm, words: list[str], first: str, seed: str) -> None:
        self._slurm, self._words, self._first = slurm, words, first
        self._chance = random.Random(seed)
        self.process: subprocess.Popen[str] | None = None

    def start(self, *more: str, **changes: str) -> bool:
        """Start it; return whether it has begun its work, with the words that it says first."""
        self.process = subprocess.Popen(
            [*CPSCHED, *self._words, *more], env=self._slurm.environment | changes, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.said: list[str] = []
        began = threading.Event()
        threading.Thread(target=self._listen, args=(self.process, began), daemon=True).start()
        return began.wait(120) and self.process.poll() is None

    def _listen(self, process: subprocess.Popen[str], began: threading.Event) -> None:
        said = self.said
        for line in process.stdout or ():
            said.append(line.rstrip())
            if self._first in line:
                began.set()
        began.set()

    def end(self, sign: int) -> int:
        """Send a signal; return the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            os.killpg(self.process.pid, sign)
        return self.process.wait(120)

    def disturb(self, row: Row, sign: int, *more: str, **changes: str) -> None:
        """Start it, and send it a signal at a moment drawn over a few seconds; count."""
        row.tried += 1
        if not self.start(*more, **changes):
            self._unclear(row)
            return
        time.sleep(self._chance.uniform(0, _SECONDS))
        alive = self.process is not None and self.process.poll() is None
        row.hit += alive
        code = self.end(sign)
        if not alive or code not in (0, -signal.SIGKILL):
            self._unclear(row)

    def refused(self, row: Row, *more: str) -> None:
        """Start it where it cannot go on; it must end by itself and say why."""
        row.tried += 1
        self.start(*more)
        assert self.process is not None
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            code = self.end(signal.SIGTERM)
        time.sleep(0.2)
        errors = [line for line in self.said if line.startswith("cpsched: ")]
        row.hit += bool(code)
        row.answer = errors[-1] if errors else row.answer
        if code <= 0 or not errors or any("Traceback" in line for line in self.said):
            self._unclear(row)

    def _unclear(self, row: Row) -> None:
        time.sleep(0.2)
        row.unclear += 1
        row.notes.append(" / ".join(self.said[-15:]))


def followed_and_acted_on(scratch: Path, given: argparse.Namespace) -> tuple[list[Row], Path]:
    """Disturb an engine and a twin; return the lines, and the record of a twin left alone."""
    given.scratch = scratch
    scratch = Path("/tmp") / f"cpsched-killed-{os.getpid()}"
    try:
        with PrivateSlurm(scratch / "slurm", demo.SITE) as slurm:
            rows, record = _all(slurm, scratch, given)
        kept = given.keep or Path(scratch.parent)
        saved = kept / f"record-{os.getpid()}.sqlite"
        shutil.copyfile(record, saved)
        return rows, saved
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _all(slurm: PrivateSlurm, scratch: Path, given: argparse.Namespace) -> tuple[list[Row], Path]:
    state, calm, other = (scratch / name for name in ("state", "calm", "twin"))
    for folder in (state, other):
        folder.mkdir()
        mount("-t", "tmpfs", "-o", "size=4m", "none", folder)
    try:
        rows = _in(slurm, state, calm, other, given)
    finally:
        for folder in (state, other):
            subprocess.run(["umount", "-l", folder], check=True)
    return rows, calm / "record.sqlite"


def _in(
    slurm: PrivateSlurm, state: Path, calm: Path, other: Path, given: argparse.Namespace
) -> list[Row]:
    run = ["slurm", "run", "--act", "-d", "prb", "--state", str(state), "--slowest", "0.5"]
    follow = ["--system", "eurora", "-d", "prb", "--every", "1", "--forecasts", "5"]
    engine = Disturbed(slurm, run, "acts: ", f"{given.seed} engine")
    alone = Disturbed(slurm, ["slurm", "twin", str(calm), *follow], "Following", "")
    twin = Disturbed(slurm, ["slurm", "twin", str(other), *follow], "Following", f"{given.seed}")
    queue = Queue(slurm, given.seed)
    acted, seen = Rows("slurm run --act"), Rows("slurm twin")
    alone.start()
    try:
        queue.begin()
        twice = threading.Thread(target=_disturb_twin, args=(twin, seen, other, given))
        twice.start()
        _disturb_engine(engine, acted, given)
        twice.join()
        queue.stop()
        _finish(slurm, engine, twin)
        found = _found(slurm, state, queue)
        acted["kill -9"].lost += found["wrong"] + found["lost"] + found["twice"]
        acted["kill -9"].notes += [f"{found}"] if acted["kill -9"].lost else []
        acted["kill -9"].answer = f"{found['jobs']} jobs, each ended once and on the nodes ordered"
        _refuse_engine(engine, acted, state)
        queue.submitted += [demo.submit(slurm, job) for job in demo.jobs(4, 9, mean=1)]
        _finish(slurm, engine, twin)
        found = _found(slurm, state, queue)
        acted["disk full"].lost += found["lost"] + found["twice"]
    finally:
        queue.stop()
        for one in (engine, twin, alone):
            if one.process is not None:
                one.end(signal.SIGTERM)
    _compare(seen["kill -9"], calm, other)
    report(acted.rows)
    report(seen.rows)
    return [*acted.rows.values(), *seen.rows.values()]


class Rows:
    """The lines of a command, by fault."""

    def __init__(self, command: str) -> None:
        self._command = command
        self.rows: dict[str, Row] = {}

    def __getitem__(self, fault: str) -> Row:
        return self.rows.setdefault(fault, Row(command=self._command, fault=fault))


class Queue:
    """Held jobs, of which some wait at any time."""

    def __init__(self, slurm: PrivateSlurm, seed: int) -> None:
        self._slurm, self._stopped = slurm, threading.Event()
        self._jobs = demo.jobs(100_000, seed, mean=1.5, most_nodes=3)
        self._thread = threading.Thread(target=self._feed)
        self.submitted: list[int] = []

    def begin(self) -> None:
        """Submit jobs from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Submit no more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _feed(self) -> None:
        while not self._stopped.wait(0.2):
            waiting = self._slurm.run("squeue", "-h", "-t", "PD", "-o", "%A").split()
            for _ in range(_WAITING - len(waiting)):
                self.submitted.append(demo.submit(self._slurm, next(self._jobs)))


def _disturb_engine(engine: Disturbed, rows: Rows, given: argparse.Namespace) -> None:
    for _ in range(KILLS * given.times):
        engine.disturb(rows["kill -9"], signal.SIGKILL)
    for _ in range(given.signals):
        engine.disturb(rows["SIGTERM, --keep"], signal.SIGTERM, "--keep")
        engine.disturb(rows["SIGINT (Ctrl-C), --keep"], signal.SIGINT, "--keep")
    for _ in range(2):
        earlier = other_clock(given.scratch / "clock", -2 * 86400)
        engine.disturb(rows["clock set back"], signal.SIGKILL, **earlier)
    second = Disturbed(engine._slurm, engine._words, "acts: ", "")
    engine.start("--keep")
    time.sleep(1)
    second.refused(rows["two writers"])
    second.refused(rows["two writers"], "--state", f"{engine._words[-3]}-2")
    engine.end(signal.SIGTERM)


def _disturb_twin(twin: Disturbed, rows: Rows, folder: Path, given: argparse.Namespace) -> None:
    for _ in range(KILLS * given.times):
        twin.disturb(rows["kill -9"], signal.SIGKILL)
    for _ in range(given.signals):
        twin.disturb(rows["SIGTERM"], signal.SIGTERM)
        twin.disturb(rows["SIGINT (Ctrl-C)"], signal.SIGINT)
    with _read_only(folder):
        twin.refused(rows["read-only folder"])
    with _full(folder):
        twin.refused(rows["disk full"])
    twin.start()


def _refuse_engine(engine: Disturbed, rows: Rows, state: Path) -> None:
    with _read_only(state):
        engine.refused(rows["read-only folder"])
    with _full(state):
        engine.refused(rows["disk full"])


def _read_only(folder: Path) -> Any:
    return _mounted_so(folder, lambda: mount("-o", "remount,ro", folder))


def _full(folder: Path) -> Any:
    def fill() -> None:
        with (folder / ".filler").open("wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 4096) == 4096:
                    pass
            except OSError:
                pass

    return _mounted_so(folder, fill)


@contextmanager
def _mounted_so(folder: Path, begin: Any) -> Iterator[None]:
    begin()
    try:
        yield
    finally:
        mount("-o", "remount,rw", folder)
        (folder / ".filler").unlink(missing_ok=True)


def _finish(slurm: PrivateSlurm, engine: Disturbed, twin: Disturbed) -> None:
    """Let the engine run undisturbed until all jobs are done, and the twins see that."""
    if twin.process is None or twin.process.poll() is not None:
        twin.start()
    engine.start("--keep")
    end = time.monotonic() + 240
    while slurm.run("squeue", "-h", "-a", "-o", "%A") and time.monotonic() < end:
        time.sleep(0.5)
    time.sleep(4)
    engine.end(signal.SIGTERM)


def _found(slurm: PrivateSlurm, state: Path, queue: Queue) -> dict[str, Any]:
    """Hold Slurm's record against the engine's journal."""
    told = live.Run(slurm, state, "prb", argparse.Namespace(seed=0))
    told.submitted = queue.submitted
    return told.found()


def _compare(row: Row, calm: Path, other: Path) -> None:
    """Compare the records of two twins, without what says when they looked."""
    both = []
    for folder in (calm, other):
        with closing(sqlite3.connect(folder / "record.sqlite")) as database:
            database.row_factory = sqlite3.Row
            jobs = [dict(job) for job in database.execute("SELECT * FROM jobs")]
        both.append({(job["key"], job["submit"]): _said(job) for job in jobs})
        row.lost += len(jobs) - len(both[-1])
    for key in sorted({*both[0], *both[1]}):
        one, two = (jobs.get(key) for jobs in both)
        if one is None or two is None:
            row.lost += 1
            row.notes.append(f"job {key} is in one record")
        elif one != two:
            row.differing += len(str(one))
            row.notes += [f"{key} {n}: {one[n]!r}, {two[n]!r}" for n in one if one[n] != two[n]]
    row.answer = row.answer or f"{len(both[1])} jobs recorded as by a twin left alone"


def _said(job: dict[str, Any]) -> dict[str, Any]:
    """Return what Slurm said of a job."""
    without = LOOKED if job["end_known"] else (*LOOKED, "end")
    return {name: value for name, value in job.items() if name not in without}
