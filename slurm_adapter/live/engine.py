"""
The loop on a live Slurm: read, decide, act, and check that each job runs where it should.

Orders are written to the journal before they are sent to Slurm. So nothing is lost after a crash: a
job that was ordered to start is running on its nodes, waiting to start, or still held.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections import Counter, deque
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError, RunError
from slurm_adapter.live.backend import (
    Begin,
    TakeBack,
    UnreachableError,
    UnreadableError,
    WrongNodesError,
)
from slurm_adapter.live.journal import Journal, Order
from slurm_adapter.live.mirror import Stage
from slurm_adapter.live.requests import is_marked, why_rigid
from slurm_adapter.live.shrinking import Shrinking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from slurm_adapter.live.backend import Backend
    from slurm_adapter.live.mirror import Chosen, Mirror
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

#: Reasons of a released job that waiting will not resolve.
_HOPELESS = ("BadConstraints", "DependencyNeverSatisfied", "Dependency")
#: Seconds before a job that did not start is tried again, at first and at most; it doubles.
_REST, _LONGEST_REST = 5, 600
#: Seconds between attempts to reach Slurm, at first and at most; it doubles.
_RETRY, _LONGEST_RETRY = 1.0, 30.0
#: Consecutive unreadable answers before this is an error.
_MOST_UNREADABLE = 3
#: Refused orders for one job before this is an error.
_MOST_REFUSED = 5
#: Saving takes at most this share of the time; and the longest time between saves, seconds.
_SAVE_SHARE, _SAVE_EVERY = 100, 300
#: Number of latest orders whose latency is kept.
_LATENCIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """
    Which held jobs this engine schedules.

    Attributes
    ----------
    mark
        Their AdminComment or comment; a comment may have ``nodes=2-8`` beside it.
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
        Seconds within which a job that was ordered to start must run, and one that was ordered to
        shrink must hold only the nodes that it keeps.
    fastest, slowest
        Seconds between cycles while things happen, and while nothing does.
    """

    starts: int = 50
    patience: float = 8.0
    fastest: float = 0.25
    slowest: float = 2.0


@dataclass(slots=True)
class Counts:
    """Event counts; ``latencies``: the last times from order to running, seconds."""

    ordered: int = 0
    ran: int = 0
    wrong: int = 0
    taken_back: int = 0
    refused: int = 0
    requeued: int = 0
    shrunk: int = 0
    cycles: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES))


class Engine:
    """
    Schedules a live Slurm.

    Parameters
    ----------
    backend
        The Slurm.
    make_mirror
        Makes the mirror, given the filter of our jobs.
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
        backend: Backend,
        make_mirror: Callable[[Callable[[LiveJob], bool]], Mirror],
        *,
        folder: Path | None = None,
        act: bool = False,
        ours: Filter | None = None,
        limits: Limits | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        if act and folder is None:
            raise ConfigError("acting needs a folder for the journal", key="--state")
        self._backend = backend
        self._ours, self._limits = ours or Filter(), limits or Limits()
        self._act, self._say = act, say
        self._folder = folder
        self._journal: Journal | None = None
        self._shrinking: Shrinking | None = None
        #: When jobs that did not start may be tried again, and how often they did not start.
        self._rests: dict[str, float] = {}
        self._failures: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._now = 0
        self._last: Snapshot | None = None
        self._saved_at, self._save_took = time.monotonic(), 0.0
        #: Whether anything has happened since the state was saved.
        self._unsaved = False
        self._began = time.time()
        self._shown: frozenset[Chosen] = frozenset()
        self._unfit: frozenset[str] = frozenset()
        self.counts = Counts()
        self.mirror = make_mirror(self.mine)
        self.mirror.may_shrink = self.may_shrink

    def mine(self, job: LiveJob) -> bool:
        """Whether a waiting job is ours to start now."""
        return job.waits and job.held and self._ours.takes(job) and not self._is_resting(job.key)

    def may_shrink(self, job: LiveJob) -> bool:
        """Say whether a running job was started from here, and is still ours."""
        is_known = self._journal is None or job.key in self._journal.orders
        return is_known and job.state == "RUNNING" and self._ours.takes(job)

    def _is_resting(self, key: str) -> bool:
        return self._rests.get(key, 0) > self._now

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
            stack.enter_context(_locked(self._folder / "lock"))
            if self._act:
                self._journal = Journal(self._folder / "journal.jsonl")
                stack.callback(self._journal.close)
                self._shrinking = Shrinking(
                    journal=self._journal,
                    backend=self._backend,
                    mirror=self.mirror,
                    patience=self._limits.patience,
                    may_shrink=self.may_shrink,
                    say=self._say,
                )
            self._load()
            try:
                yield
            finally:
                self._save()

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
            except UnreachableError as error:
                self._say(f"{error}; trying again in {retry:.0f} s")
                stop.wait(retry)
                retry = min(2 * retry, _LONGEST_RETRY)
                continue
            except UnreadableError as error:
                unreadable += 1
                if unreadable >= _MOST_UNREADABLE:
                    raise
                self._say(f"{error}; trying again")
                stop.wait(retry)
                continue
            retry, unreadable = _RETRY, 0
            if happened:
                self._unsaved = True
            self._save_if_cheap()
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
        self.counts.cycles += 1
        snapshot = self._backend.snapshot()
        first = self._last is None
        news = first or not _same(self._last, snapshot)
        self._now = snapshot.now
        self._last = snapshot
        unseen = (order.job for order in self._pending())
        gone = {*self.mirror.gone(snapshot), *(job for job in unseen if job not in snapshot.jobs)}
        ended = self._backend.ended(gone) if gone else {}
        back = self._check_orders(snapshot, ended)
        self._check_shrinks(snapshot, first=first)
        if first:
            self._return_unordered()
        self.mirror.follow(snapshot, ended)
        self._say_unfit()
        if first:
            self._adopt(snapshot, back)
        if not (self._act or news):
            # In a dry run, orders count as printed.
            return False
        chosen = self.mirror.decide(snapshot.now, most=self._limits.starts)
        if self._act:
            self._requeue(snapshot)
            assert self._shrinking is not None
            self._shrinking.tell(snapshot)
            self._begin(chosen, snapshot)
        else:
            self._show(chosen)
        return news or bool(chosen and self._act) or self._waits_for_slurm()

    def _say_unfit(self) -> None:
        """Report once which of our jobs stay held because they cannot run, or cannot shrink."""
        unfit = {}
        for key, one in self.mirror.known.items():
            if one.stage is Stage.UNFIT:
                unfit[key] = f"stays held: {one.why}"
            elif one.job.waits and (why := why_rigid(one.job)):
                unfit[key] = f"will keep its nodes: {why}"
        for key in unfit.keys() - self._unfit:
            self._say(f"job {key} {unfit[key]}")
        self._unfit = frozenset(unfit)

    def _pending(self) -> list[Order]:
        """Return the orders that are not yet seen to be carried out."""
        journal = self._journal
        return [one for one in journal.orders.values() if not one.ran] if journal else []

    def _waits_for_slurm(self) -> bool:
        """Say whether an order has not been seen carried out."""
        shrinking = self._shrinking is not None and self._shrinking.open_orders()
        return bool(self._pending() or shrinking)

    # --- orders ----------------------------------------------------------------------------------

    def _check_orders(self, snapshot: Snapshot, ended: Mapping[str, LiveJob]) -> set[str]:
        """Check the outcome of orders; return the jobs that were withdrawn."""
        journal = self._journal
        if journal is None:
            return set()
        gone, back, running = [], [], []
        reasons: dict[str, str] = {}
        for key, order in list(journal.orders.items()):
            job = snapshot.jobs.get(key) or ended.get(key)
            if key not in snapshot.jobs:
                gone.append(key)
            if job is None:
                continue
            if job.nodes and not order.ran:
                running.append(self._checked(order, job))
            elif job.waits and self._is_late(order, job, snapshot):
                back.append(order)
                reasons[key] = (
                    f"it {'ran and ' if order.ran else ''}is waiting: {job.reason or 'None'}"
                )
        self._note_running(running)
        journal.over(gone, "gone")
        self._take_back(back, reasons)
        return {order.job for order in back}

    def _check_shrinks(self, snapshot: Snapshot, *, first: bool) -> None:
        """See what became of orders to shrink; jobs that came by none run on as they are."""
        told = set()
        if self._shrinking is not None:
            try:
                self.counts.shrunk += self._shrinking.check(snapshot, first=first)
            except WrongNodesError:
                self.counts.wrong += 1
                raise
            told = {order.job for order in self._shrinking.open_orders()}
        for key, known in self.mirror.known.items():
            # It was about to be told when Slurm could not be reached, or when this was saved.
            if known.stage is Stage.SHRINKING and key not in told:
                self.mirror.stays(key)

    def _checked(self, order: Order, job: LiveJob) -> Order:
        """Return an order if its job runs where it should."""
        if set(job.nodes) != set(order.nodes):
            self.counts.wrong += 1
            raise WrongNodesError(
                f"job {job.key} runs on {','.join(job.nodes)}, but should run on"
                f" {','.join(order.nodes)}"
            )
        return order

    def _note_running(self, orders: Sequence[Order]) -> None:
        assert self._journal is not None
        latencies = self._journal.ran([order.job for order in orders])
        self.counts.ran += len(orders)
        self.counts.latencies += latencies
        for order, latency in zip(orders, latencies, strict=True):
            self._failures.pop(order.job, None)
            self._say(f"job {order.job} runs on {','.join(order.nodes)} after {latency:.1f} s")

    def _is_late(self, order: Order, job: LiveJob, snapshot: Snapshot) -> bool:
        """Whether the start of a waiting job must be withdrawn."""
        # It is held again or was never released, or it ran and is back in the queue.
        if job.held or order.ran:
            return True
        is_closed = not snapshot.closed.isdisjoint(order.nodes)
        hopeless = is_closed or job.reason.split(",")[0] in _HOPELESS
        since = max(order.at, self._began)
        return hopeless or time.time() - since > self._limits.patience

    def _take_back(self, orders: Sequence[Order], reasons: Mapping[str, str]) -> None:
        if not orders:
            return
        assert self._journal is not None
        known = self.mirror.known
        ours = {key for key, one in known.items() if one.stage is Stage.LEAVING}
        refused = self._backend.take_back(
            [
                TakeBack(one.job, one.required, one.nodes_min, one.nodes_max, one.job in ours)
                for one in orders
            ]
        )
        # A job that can no longer be held has just started or left: check again.
        done = [order.job for order in orders if order.job not in refused]
        self._journal.over(done, "back")
        for key in done:
            if key in self.mirror.known:
                self.mirror.returned(key, self._now)
            if key in ours:
                self._say(f"job {key} waits again")
                continue
            self._rest(key)
            self.counts.taken_back += 1
            self._say(f"job {key} is withdrawn: {reasons[key]}")

    def _rest(self, key: str) -> None:
        """Do not try a job for a while; for longer each time."""
        seconds = min(_REST * 2 ** self._failures[key], _LONGEST_REST)
        self._failures[key] += 1
        self._rests[key] = self._now + seconds

    def _requeue(self, snapshot: Snapshot) -> None:
        """Requeue the jobs that the dispatcher selects; only those that we started."""
        assert self._journal is not None
        wanted = self.mirror.requeues
        mine = [
            key
            for key in wanted
            if key in snapshot.jobs
            and self._ours.takes(snapshot.jobs[key])
            and key in self._journal.orders
        ]
        refused = dict.fromkeys(set(wanted) - set(mine), "this engine did not start it")
        if mine:
            self._journal.requeue(mine)
            try:
                refused |= self._backend.requeue(mine)
            except UnreachableError:
                # If Slurm was told after all, the jobs are seen waiting again.
                for key in wanted:
                    self.mirror.stays(key)
                raise
        for key in wanted:
            if key in refused:
                self.mirror.stays(key)
                self._say(f"job {key} is not requeued: {refused[key]}")
            else:
                self.counts.requeued += 1
                self._say(f"job {key} is requeued")

    def _begin(self, chosen: Sequence[Chosen], snapshot: Snapshot) -> None:
        if not chosen:
            return
        assert self._journal is not None
        now = time.time()
        orders = []
        for one in chosen:
            job = snapshot.jobs[one.key]
            orders.append(
                Order(
                    job=one.key,
                    nodes=one.nodes,
                    required=job.required,
                    nodes_min=job.nodes_min,
                    nodes_max=job.nodes_max,
                    at=now,
                )
            )
        self._journal.begin(orders)
        self.counts.ordered += len(orders)
        refused = self._backend.begin([Begin(one.job, one.nodes) for one in orders])
        for order in orders:
            if order.job not in refused:
                self._refusals.pop(order.job, None)
                self._say(f"job {order.job} is ordered to start on {','.join(order.nodes)}")
        self._take_refused([order for order in orders if order.job in refused], refused)

    def _take_refused(self, orders: Sequence[Order], refused: Mapping[str, str]) -> None:
        """Keep jobs waiting whose orders Slurm refused: most have just been cancelled."""
        assert self._journal is not None
        self._journal.over([order.job for order in orders], "back")
        for order in orders:
            self.counts.refused += 1
            self._refusals[order.job] += 1
            self.mirror.returned(order.job, self._now)
            self._rest(order.job)
            self._say(f"job {order.job}: Slurm refuses the order: {refused[order.job]}")
            if self._refusals[order.job] >= _MOST_REFUSED:
                raise RunError(
                    f"Slurm has refused {_MOST_REFUSED} orders for job {order.job}:"
                    f" {refused[order.job]}"
                )

    def _show(self, chosen: Iterable[Chosen]) -> None:
        """Print the orders that would be sent, if new; nothing is sent."""
        for key in self.mirror.requeues:
            self.mirror.stays(key)
            self._say(f"job {key} would be requeued")
        chosen, shrinks = frozenset(chosen), frozenset(self.mirror.shrinks)
        for one in sorted(shrinks - self._shown, key=lambda one: one.key):
            self._say(f"job {one.key} would keep {','.join(one.nodes)} only")
        for one in shrinks:
            self.mirror.stays(one.key)
        for one in sorted(chosen - self._shown, key=lambda one: one.key):
            self._say(f"job {one.key} would start on {','.join(one.nodes)}")
        self._shown = chosen | shrinks
        for one in chosen:
            self.mirror.returned(one.key, self._now)

    # --- what was known before -------------------------------------------------------------------

    def _return_unordered(self) -> None:
        """Return to the queue the jobs that were about to be ordered when the state was saved."""
        open_orders = self._journal.orders if self._journal else {}
        for key, known in list(self.mirror.known.items()):
            if known.stage is Stage.ORDERED and key not in open_orders:
                self.mirror.returned(key, self._now)

    def _adopt(self, snapshot: Snapshot, back: set[str]) -> None:
        """Adopt orders given before this process began."""
        for order in self._pending():
            job = snapshot.jobs.get(order.job)
            known = self.mirror.known.get(order.job)
            if job is not None and job.waits and order.job not in back:
                if known is None or known.stage is not Stage.ORDERED:
                    self.mirror.adopt(order.job, job, order.nodes, self._now)
                self._say(
                    f"job {order.job} was already ordered to start on {','.join(order.nodes)}"
                )

    def _load(self) -> None:
        assert self._folder is not None
        path = self._folder / "state.npz"
        if path.exists():
            try:
                self.mirror.load(path)
            except RunError as error:
                self._say(f"the saved state is not used: {error}")

    def _save_if_cheap(self) -> None:
        """Save after events, as often as the cost is negligible."""
        pause = min(_SAVE_SHARE * self._save_took, _SAVE_EVERY)
        if self._unsaved and time.monotonic() - self._saved_at >= pause:
            self._save()

    def _save(self) -> None:
        began = time.monotonic()
        self._unsaved = False
        if self._last is None:
            return
        for counted in (self._rests, self._failures, self._refusals):
            for key in counted.keys() - self._last.jobs.keys():
                del counted[key]
        if self._folder is not None:
            self.mirror.save(self._folder / "state.npz")
        self._saved_at = time.monotonic()
        self._save_took = self._saved_at - began


def _same(old: Snapshot | None, new: Snapshot) -> bool:
    return old is not None and replace(old, now=new.now) == new


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the folder of a file against other processes."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError("another engine is using this folder", where=path.parent) from None
        yield
    finally:
        os.close(file)
