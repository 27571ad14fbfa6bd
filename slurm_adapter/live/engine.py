"""The loop on a live Slurm: read, decide, act, and check that each job runs where it should."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError, CpschedError, RunError
from cpsched.api.tools import counted, open_lock
from slurm_adapter.live.audit import Audit
from slurm_adapter.live.filter import Filter, Paused
from slurm_adapter.live.lease import LeaseError, Leases, give_back
from slurm_adapter.live.mirror import Stage
from slurm_adapter.live.order import UnreachableError, UnreadableError
from slurm_adapter.live.orders import Counts, Orders

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
class Limits:
    """
    Limits of the loop: starts and times.

    Attributes
    ----------
    starts, starts_of_user
        Largest number of starts per cycle, in all and of each user; None: any number.
    patience
        Seconds within which a job that was ordered to start must run.
    fastest, slowest
        Seconds between cycles while things happen, and while nothing does.
    """

    starts: int = 50
    starts_of_user: int | None = None
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
    lease
        Seconds for which partitions are leased.
    keep
        Whether jobs stay held when the engine is stopped, until its leases end.
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
        lease: int = 300,
        keep: bool = False,
    ) -> None:
        if act and folder is None:
            raise ConfigError("acting needs a folder for the journal", key="--state")
        self._backend, self._folder = backend, folder
        self._ours, self._limits = ours or Filter(), limits or Limits()
        self._paused = Paused()
        self._lease_seconds, self._keep = lease, keep
        self._leases: Leases | None = None
        self._audit = Audit(folder if act else None, say)
        self._act, self._say = act, say
        self._last: Snapshot | None = None
        self._saved_at = time.monotonic()
        #: Whether anything has happened since the state was saved.
        self._unsaved = False
        self._shown: frozenset[str] = frozenset()
        self._unfit: frozenset[str] = frozenset()
        self.mirror = mirror
        patience, mark = self._limits.patience, self._ours.mark
        self.orders = Orders(backend, mirror, patience, say, mark, self._audit)
        mirror.mine = self._is_mine

    @property
    def counts(self) -> Counts:
        """What it has done so far."""
        return self.orders.counts

    def _is_mine(self, job: LiveJob) -> bool:
        """Whether a waiting job is ours to start now."""
        return (
            self._ours.may_start(job)
            and not self._paused.stops(job)
            and not self.orders.is_resting(job.key)
        )

    @contextmanager
    def opened(self) -> Iterator[None]:
        """
        Lock the folder, take the leases, and load the saved state.

        Raises
        ------
        ConfigError
            If another engine has the folder.
        LeaseError
            If another engine has a partition.
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
                self._take_leases(self._folder)
                self._audit.begin(*self.mirror.specs)
            stack.callback(self._save)
            if (path := self._folder / "state.npz").exists():
                try:
                    self.mirror.load(path)
                except RunError as error:
                    self._say(f"the saved state is not used: {error}")
            yield

    def _take_leases(self, folder: Path) -> None:
        """Take the leases of all partitions, or of none."""
        names = self._ours.partitions or self._backend.partitions()
        leases = Leases(self._backend, names, folder, self._lease_seconds)
        try:
            leases.hold()
        except LeaseError:
            leases.end()
            raise
        self._leases = leases

    def run(self, stop: Event) -> None:
        """
        Run until stopped; then the jobs that wait for it are left to Slurm.

        Raises
        ------
        CpschedError
            On any error other than an unreachable Slurm; no more orders to start are sent then.
        """
        try:
            self._loop(stop)
        except LeaseError as error:
            # Another engine has the jobs now.
            self._audit.end(str(error))
            raise
        except Exception as error:
            self._give_back()
            self._audit.end(str(error))
            raise
        if not self._keep:
            self._give_back()
        self._audit.end("stopped")

    def _give_back(self) -> None:
        """Leave the queue to Slurm, and the partitions to another engine."""
        if self._leases is None:
            return
        try:
            count = give_back(self._backend, self._ours, self._paused, self.orders.journal)
            self._leases.end()
        except CpschedError as error:
            self._say(f"the queue is not left to Slurm: {error}")
            return
        self._say(f"{counted(count, 'held job')} left to Slurm")
        self._audit.note("left", jobs=count)

    def _loop(self, stop: Event) -> None:
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
            If a job does not run where its order says, Slurm keeps refusing all orders, or the
            dispatcher breaks an invariant.
        """
        orders, mirror = self.orders, self.mirror
        orders.counts.cycles += 1
        if self._folder is not None:
            self._paused = Paused.read(self._folder)
        if self._leases is not None:
            self._leases.hold()
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
        most, most_of_user = self._limits.starts, self._limits.starts_of_user
        chosen = mirror.decide(snapshot.now, most=most, most_of_user=most_of_user)
        if not self._act:
            self._show(chosen, snapshot.now)
            return news
        orders.send(chosen, snapshot.jobs)
        self._audit.beat(self.counts.numbers())
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
        """Save what the predictor has learnt; jobs run without it, so failing is no error."""
        self._unsaved = False
        if self._folder is not None and self._last is not None:
            path = self._folder / "state.npz"
            try:
                self.mirror.save(path)
            except OSError as error:
                self._say(f"{path} is not saved, the engine goes on: {error.strerror or error}")
        self._saved_at = time.monotonic()
