"""The loop on a live Slurm: read, decide, act, and check that each job runs where it should."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError, RunError
from cpsched.api.tools import open_lock
from slurm_adapter.live.mirror import Stage
from slurm_adapter.live.order import UnreachableError, UnreadableError
from slurm_adapter.live.orders import Counts, Orders
from slurm_adapter.live.requests import is_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from threading import Event

    from slurm_adapter.live.mirror import Chosen, Mirror
    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

#: Seconds between attempts to reach Slurm, at first and at most; it doubles.
_RETRY, _LONGEST_RETRY = 1.0, 30.0
#: Consecutive unreadable answers before this is an error.
_MOST_UNREADABLE = 3
#: Seconds between saves while something happens.
_SAVE_EVERY = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """
    Which held jobs this engine schedules.

    Attributes
    ----------
    mark
        Their AdminComment or comment.
    partitions, users
        One of these; empty: any.
    """

    mark: str = "cpsched"
    partitions: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()

    def takes(self, job: LiveJob) -> bool:
        """Whether a job is ours, held or not."""
        return (
            not job.is_part
            and is_marked(job, self.mark)
            and (not self.partitions or set(job.partition.split(",")) <= self.partitions)
            and (not self.users or job.user in self.users)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    Limits of the loop: starts and times.

    Attributes
    ----------
    starts
        Largest number of starts per cycle.
    patience
        Seconds within which a job that was ordered to start must run.
    fastest, slowest
        Seconds between cycles while things happen, and while nothing does.
    """

    starts: int = 50
    patience: float = 8.0
    fastest: float = 0.25
    slowest: float = 2.0


class Engine:
    """
    Schedules a live Slurm.

    Parameters
    ----------
    backend, mirror
        The Slurm, and what follows it; the engine tells the mirror which jobs are ours.
    folder
        Where the journal and the state are kept; None for dry runs.
    act
        Whether orders are sent to Slurm. Otherwise they are only printed.
    ours, limits
        Filter of the jobs, and limits.
    say
        Called with each line of output.
    """

    def __init__(
        self,
        backend: Scontrol,
        mirror: Mirror,
        *,
        folder: Path | None = None,
        act: bool = False,
        ours: Filter | None = None,
        limits: Limits | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        if act and folder is None:
            raise ConfigError("acting needs a folder for the journal", key="--state")
        self._backend, self._folder = backend, folder
        self._ours, self._limits = ours or Filter(), limits or Limits()
        self._act, self._say = act, say
        self._last: Snapshot | None = None
        self._saved_at = time.monotonic()
        #: Whether anything has happened since the state was saved.
        self._unsaved = False
        self._shown: frozenset[str] = frozenset()
        self._unfit: frozenset[str] = frozenset()
        self.mirror = mirror
        self.orders = Orders(backend, mirror, self._limits.patience, say)
        mirror.mine = self._is_mine

    @property
    def counts(self) -> Counts:
        """What it has done so far."""
        return self.orders.counts

    def _is_mine(self, job: LiveJob) -> bool:
        """Whether a waiting job is ours to start now."""
        return (
            job.waits and job.held and self._ours.takes(job) and not self.orders.is_resting(job.key)
        )

    @contextmanager
    def opened(self) -> Iterator[None]:
        """
        Lock the folder, and load the saved state.

        Raises
        ------
        ConfigError
            If another engine has the folder.
        RunError
            If the journal is damaged.
        """
        if self._folder is None:
            yield
            return
        with ExitStack() as stack:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / "lock"
            try:
                lock = open_lock(path)
            except OSError as error:
                raise ConfigError(f"cannot be opened: {error.strerror}", where=path) from error
            stack.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                where = self._folder
                raise ConfigError("another engine is using this folder", where=where) from None
            if self._act:
                self.orders.journal.open(self._folder / "journal.jsonl")
                stack.callback(self.orders.journal.close)
            stack.callback(self._save)
            if (path := self._folder / "state.npz").exists():
                try:
                    self.mirror.load(path)
                except RunError as error:
                    self._say(f"the saved state is not used: {error}")
            yield

    def run(self, stop: Event) -> None:
        """
        Run until stopped.

        Raises
        ------
        CpschedError
            On any error other than an unreachable Slurm; no more orders are sent then.
        """
        wait, retry, unreadable = self._limits.fastest, _RETRY, 0
        while not stop.is_set():
            try:
                happened = self.cycle()
            except (UnreachableError, UnreadableError) as error:
                unreadable += isinstance(error, UnreadableError)
                if unreadable >= _MOST_UNREADABLE:
                    raise
                self._say(f"{error}; trying again in {retry:.0f} s")
                stop.wait(retry)
                retry = min(2 * retry, _LONGEST_RETRY)
                continue
            retry, unreadable = _RETRY, 0
            self._unsaved |= happened
            if self._unsaved and time.monotonic() - self._saved_at >= _SAVE_EVERY:
                self._save()
            limits = self._limits
            wait = limits.fastest if happened else min(2 * wait, limits.slowest)
            stop.wait(wait)

    def cycle(self) -> bool:
        """
        Read, decide and act once.

        Returns
        -------
        bool
            Whether anything has happened or is about to happen.

        Raises
        ------
        UnreachableError, UnreadableError
            If Slurm does not answer, or its answer cannot be read.
        CpschedError
            If a job runs on wrong nodes, Slurm keeps refusing orders, or the dispatcher breaks an
            invariant.
        """
        orders, mirror = self.orders, self.mirror
        orders.counts.cycles += 1
        snapshot = self._backend.snapshot()
        first = self._last is None
        news = self._last is None or replace(self._last, now=snapshot.now) != snapshot
        self._last = snapshot
        unseen = (order.job for order in orders.pending())
        gone = {*mirror.gone(snapshot), *(job for job in unseen if job not in snapshot.jobs)}
        ended = self._backend.ended(gone) if gone else {}
        orders.check(snapshot, ended)
        mirror.follow(snapshot, ended)
        self._say_unfit()
        if first:
            orders.adopt(snapshot.jobs)
        if not (self._act or news):
            # In a dry run, orders count as printed.
            return False
        chosen = mirror.decide(snapshot.now, most=self._limits.starts)
        if not self._act:
            self._show(chosen, snapshot.now)
            return news
        orders.send(chosen, snapshot.jobs)
        return news or bool(chosen) or bool(orders.pending())

    def _say_unfit(self) -> None:
        """Report once which of our jobs stay held because they cannot run."""
        known = self.mirror.known.items()
        unfit = {key: one.why for key, one in known if one.stage is Stage.UNFIT}
        for key in unfit.keys() - self._unfit:
            self._say(f"job {key} stays held: {unfit[key]}")
        self._unfit = frozenset(unfit)

    def _show(self, starts: Iterable[Chosen], now: int) -> None:
        """Print the orders that would be sent, if new; nothing is sent."""
        mirror = self.mirror
        would = {one.key: f"job {one.key} would start on {','.join(one.nodes)}" for one in starts}
        for key, line in would.items():
            if line not in self._shown:
                self._say(line)
            mirror.undo(key, now)
        self._shown = frozenset(would.values())

    def _save(self) -> None:
        self._unsaved = False
        if self._folder is not None and self._last is not None:
            self.mirror.save(self._folder / "state.npz")
        self._saved_at = time.monotonic()
