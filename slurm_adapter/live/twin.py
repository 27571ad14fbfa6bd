"""
A twin: it follows a Slurm, and reports what other dispatchers would have done with the same jobs.

It is read-only. Its record is a :class:`~slurm_adapter.live.record.Record`; each week becomes a
log, on which ``cpsched compare`` runs the dispatchers and the site's own policy, in a separate
process, so that nothing is missed meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cpsched.api.errors import CpschedError, RunError
from cpsched.api.machines import systems
from cpsched.api.tools import counted, duration, open_lock, subfolder, write_all
from slurm_adapter.live.judged import JudgedForecasts
from slurm_adapter.live.log_of import began, lines, outages, wait_of
from slurm_adapter.live.order import UnreachableError
from slurm_adapter.live.queue import LiveQueue
from slurm_adapter.live.requests import may_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from slurm_adapter.live.record import Record
    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import Snapshot

    Row = Mapping[str, Any]

_DAY = 86400
#: Days before a week that are simulated with it, so that the machine is not empty at its start.
_BEFORE = 3
#: Jobs that are forecast at a time, at most: the last ones.
_MOST_FORECASTS = 20
#: Longest time between attempts while Slurm does not answer, seconds.
_LONGEST_PAUSE = 300


@dataclass(kw_only=True)
class Twin:
    """
    Follows a Slurm.

    Attributes
    ----------
    record
        The record so far.
    system
        Name or file of the machine.
    baseline
        Dispatcher that stands for the site's own policy.
    dispatchers
        Those compared with it.
    interval
        Seconds between two snapshots.
    forecasts
        Seconds between forecasts under the baseline, which are scored when the jobs have started
        and correct ``cpsched slurm when``; 0: none are made.
    mark
        Of the held jobs that an engine starts; '': none runs.
    """

    record: Record
    system: str
    baseline: str
    dispatchers: Sequence[str]
    interval: int = 30
    forecasts: int = 600
    mark: str = ""
    say: Callable[[str], None] = print
    _running: tuple[str, subprocess.Popen[bytes]] | None = None
    #: Locks the statement that is being written, by us or by another process.
    _lock: int = -1
    _judged: JudgedForecasts = field(init=False)
    _forecast_at: int = 0

    def __post_init__(self) -> None:
        self._judged = JudgedForecasts(self.record)

    def follow(self, backend: Scontrol, stop: Callable[[float], bool]) -> None:
        """
        Follow until stopped.

        Parameters
        ----------
        stop
            Waits for a number of seconds; True: stop.
        """
        pause = float(self.interval)
        while True:
            try:
                snapshot = backend.snapshot()
                self.record.see(snapshot, backend)
                self.judge(snapshot)
                pause = float(self.interval)
            except UnreachableError as error:
                if pause == self.interval:
                    self.say(f"{error}; trying again")
                pause = min(2 * pause, _LONGEST_PAUSE)
            self._statements(int(time.time()))
            if stop(pause):
                break
        if self._running is not None:
            self._running[1].terminate()

    def judge(self, snapshot: Snapshot) -> None:
        """Score forecasts, and make new ones at intervals."""
        if not self.forecasts:
            return
        self._judged.settle()
        if snapshot.now < self._forecast_at:
            return
        self._forecast_at = snapshot.now + self.forecasts
        try:
            waiting = [
                job for job in snapshot.jobs.values() if may_start(job, self.mark, snapshot.engines)
            ]
            if new := self._judged.are_new(waiting, _MOST_FORECASTS):
                machine = systems.load(self.system)
                queue = LiveQueue(
                    snapshot, machine, self.baseline, record=self.record, mark=self.mark
                )
                queue.forecast_new(self._judged, new)
        except CpschedError as error:
            # Recording has priority.
            self.say(f"no forecasts: {error}")

    def _statements(self, now: int) -> None:
        """Begin the statement of the last complete week, if missing; report a finished one."""
        weeks = self.record.folder / "weeks"
        if self._running is not None and self._running[1].poll() is not None:
            path = self.end_statement(*self._running)
            if path.suffix == ".txt":
                self.say(f"the statement of {path.stem} is in {path}")
            else:
                self.say(f"the statement of {path.stem} failed: see {path}")
            self._running = None
        since = self.record.first_seen()
        end = monday(now)
        week = name_of(end - 7 * _DAY)
        if since is None or self._running is not None or any(weeks.glob(f"{week}.*")):
            return
        if end - (start := max(end - 7 * _DAY, since)) < _DAY:
            return
        try:
            self._running = week, self.begin_statement(week, start, end)
        except RunError as error:
            # A quiet week; the next one is followed, too.
            (weeks / f"{week}.err").write_text(f"{error}\n", encoding="utf-8")
            self.say(str(error))

    def begin_statement(self, name: str, start: int, end: int) -> subprocess.Popen[bytes]:
        """
        Start a process that writes a statement, and the log that it is about.

        Parameters
        ----------
        start, end
            Statement of the jobs submitted in ``[start, end)``, Unix seconds.
        """
        folder = subfolder(self.record.folder, "weeks", name)
        rows = [row for row in self.record.jobs() if start - _BEFORE * _DAY <= row["submit"] < end]
        rows.sort(key=lambda row: (row["submit"], row["number"]))
        own = [row for row in rows if row["submit"] >= start]
        if not any(map(began, own)):
            raise RunError(f"{self.record.folder}: no job submitted in {name} has started")
        closed = list(outages(self.record.outages(), rows[0]["submit"], end))
        texts = {"log.sacct": lines(rows), "outages.csv": closed}
        files = {name: "\n".join([*text, ""]).encode() for name, text in texts.items()}
        self._lock_statement(folder)
        write_all(folder, files)
        command = [sys.executable, "-m", "cpsched", "compare", str(folder / "log.sacct")]
        command += ["--system", self.system, "--baseline", self.baseline]
        command += ["--out", str(folder / "runs")]
        for dispatcher in dict.fromkeys((self.baseline, *self.dispatchers)):
            command += ["--dispatcher", dispatcher]
        if len(closed) > 1:
            command += ["--outages", f"table:file={folder / 'outages.csv'}"]
        out, err = self._under_way(name)
        for path in (out, err):
            # A process whose twin was killed may still write to it.
            path.unlink(missing_ok=True)
        with out.open("xb") as told, err.open("xb") as wrong:
            told.write("\n".join([*self._facts(own, start, end), "", ""]).encode())
            told.flush()
            return subprocess.Popen(command, stdout=told, stderr=wrong)  # noqa: S603

    def end_statement(self, name: str, process: subprocess.Popen[bytes]) -> Path:
        """
        Give a statement its name, now that its process has ended; or what is wrong.

        Returns
        -------
        Path
            ``NAME.txt`` or, if it failed, ``NAME.err``.
        """
        out, err = self._under_way(name)
        wanted, other = (out, err) if process.returncode == 0 else (err, out)
        other.unlink()
        # What an earlier try came to.
        other.with_name(other.name.removeprefix(".")).unlink(missing_ok=True)
        path = wanted.replace(wanted.with_name(wanted.name.removeprefix(".")))
        os.close(self._lock)
        return path

    def _lock_statement(self, folder: Path) -> None:
        """Keep other processes from writing the same statement, for as long as this one lives."""
        self._lock = open_lock(folder / ".lock")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise RunError(f"{folder}: another process is writing this statement") from error

    def _under_way(self, name: str) -> tuple[Path, Path]:
        """Return the files of a statement that is being written, and of what is wrong."""
        weeks = self.record.folder / "weeks"
        return weeks / f".{name}.txt", weeks / f".{name}.err"

    def _facts(self, rows: Sequence[Row], start: int, end: int) -> Iterator[str]:
        """Yield lines on what really happened to the jobs submitted in ``[start, end)``."""
        ran = [row for row in rows if began(row)]
        waits = list(map(wait_of, ran))
        first, last = (datetime.fromtimestamp(second, UTC) for second in (start, end))
        yield f"Jobs submitted from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} (UTC)"
        yield f"{counted(len(rows), 'job')}, {len(ran):,} of them started"
        mean = duration(sum(waits) / len(waits))
        yield f"recorded: mean wait {mean}, longest {duration(max(waits))}"
        unknown = sum(row["gone"] and not row["end_known"] for row in rows)
        if unknown:
            yield f"the end of {counted(unknown, 'job')} is known only to within a snapshot"
        gaps = self.record.gaps()
        missed = sum(max(min(until, end) - max(since, start), 0) for since, until in gaps)
        if missed:
            yield f"there is no record for {duration(missed)}: jobs may be missing"


def monday(now: int) -> int:
    """Return when the week of a time began, Unix seconds (UTC)."""
    date = datetime.fromtimestamp(now, UTC)
    midnight = date.replace(hour=0, minute=0, second=0, microsecond=0)
    return int((midnight - timedelta(days=date.weekday())).timestamp())


def name_of(start: int) -> str:
    """Return the name of a week: ``2026-W47``."""
    year, week, _ = datetime.fromtimestamp(start, UTC).isocalendar()
    return f"{year}-W{week:02}"
