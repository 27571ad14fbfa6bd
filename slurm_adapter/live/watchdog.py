"""A watchdog over engines: jobs that wait for one that is gone are left to Slurm."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from cpsched.api.tools import counted, open_lock
from slurm_adapter.live.filter import Paused
from slurm_adapter.live.journal import Journal
from slurm_adapter.live.lease import give_back
from slurm_adapter.live.order import UnreachableError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from threading import Event

    from slurm_adapter.live.filter import Filter
    from slurm_adapter.live.scontrol import Scontrol


class Watchdog:
    """
    Leaves jobs of partitions to Slurm that no engine leases.

    Parameters
    ----------
    backend, ours
        The Slurm, and the jobs; of the partitions that ``ours`` names.
    folder
        Of the engine, where its journal and what is paused are; None if it is on another machine.
    grace
        Seconds for which a partition has to be without a lease.
    say
        Called with each line of output.
    clock
        Unix seconds.
    """

    def __init__(
        self,
        backend: Scontrol,
        ours: Filter,
        folder: Path | None,
        grace: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._backend, self._ours, self._folder = backend, ours, folder
        self._grace, self._say, self._clock = grace, say, clock
        #: Since when partitions are without a lease.
        self._since: dict[str, float] = {}

    def run(self, stop: Event, every: float) -> None:
        """Look every so many seconds, until stopped."""
        while not stop.is_set():
            try:
                self.look()
            except (UnreachableError, UnreadableError) as error:
                self._say(f"{error}; trying again in {every:.0f} s")
            stop.wait(every)

    def look(self) -> None:
        """Leave the jobs to Slurm whose partitions have been without a lease for long enough."""
        now, leases = self._clock(), self._backend.leases()
        lapsed = {
            name
            for name in self._ours.partitions
            if name not in leases or leases[name].until <= now
        }
        for name in sorted(lapsed - self._since.keys()):
            self._say(f"partition {name} has no engine")
        self._since = {name: self._since.get(name, now) for name in lapsed}
        over = frozenset(name for name in lapsed if now - self._since[name] >= self._grace)
        if not over:
            return
        with ExitStack() as stack:
            paused = Paused() if self._folder is None else Paused.read(self._folder)
            ours = replace(self._ours, partitions=over)
            if count := give_back(self._backend, ours, paused, self._journal(stack)):
                what = f"{counted(count, 'held job')} of {', '.join(sorted(over))}"
                self._say(f"{what} left to Slurm")

    def _journal(self, stack: ExitStack) -> Journal:
        """Return the journal of the engine; an empty one if it is not here, or still runs."""
        journal = Journal()
        if self._folder is None or not (path := self._folder / "journal.jsonl").exists():
            return journal
        lock = open_lock(self._folder / "lock")
        stack.callback(os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._say("the engine runs, but renews no lease")
            return journal
        journal.open(path)
        stack.callback(journal.close)
        return journal
