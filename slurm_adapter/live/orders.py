"""
What jobs are ordered to do, and what becomes of it.

Orders are written to the journal before they are sent to Slurm. So nothing is lost after a crash: a
job that was ordered to start is running on its nodes, waiting to start, or still held.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cpsched.api.errors import RunError
from slurm_adapter.live.journal import Journal
from slurm_adapter.live.order import Order, WrongNodesError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slurm_adapter.live.mirror import Chosen, Mirror
    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

    Jobs = Mapping[str, LiveJob]

#: Reasons of a released job that waiting will not resolve.
_HOPELESS = ("BadConstraints", "DependencyNeverSatisfied", "Dependency")
#: Seconds before a job that did not start is tried again, at first and at most; it doubles.
_REST, _LONGEST_REST = 5, 600
#: Refused orders for one job before this is an error.
_MOST_REFUSED = 5
#: Number of latest orders whose latency is kept.
_LATENCIES = 10_000


@dataclass(slots=True)
class Counts:
    """Event counts; ``latencies``: the last times from order to running, seconds."""

    ordered: int = 0
    ran: int = 0
    wrong: int = 0
    taken_back: int = 0
    refused: int = 0
    cycles: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES))


class Orders:
    """
    The orders that a Slurm is given, from the journal on to what is seen of them.

    Parameters
    ----------
    backend, mirror
        The Slurm, and what is known of it.
    patience
        Seconds within which Slurm has to show what it was ordered.
    say
        Called with each line for people.
    """

    def __init__(
        self,
        backend: Scontrol,
        mirror: Mirror,
        patience: float,
        say: Callable[[str], None],
    ) -> None:
        self._backend, self._mirror = backend, mirror
        self._patience, self._say = patience, say
        self.journal = Journal()
        self.counts = Counts()
        self._now = 0
        self._began = time.time()
        #: When jobs that did not start may be tried again, and how often they did not start.
        self._rests: dict[str, int] = {}
        self._failures: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()

    def pending(self) -> list[Order]:
        """Return the starts that have not been seen."""
        return [one for one in self.journal.orders.values() if not one.ran]

    def is_resting(self, key: str) -> bool:
        """Say whether a job that did not start is not to be tried again yet."""
        return self._rests.get(key, 0) > self._now

    # --- what became of them ---------------------------------------------------------------------

    def check(self, snapshot: Snapshot, ended: Jobs) -> None:
        """
        See what has become of orders; withdraw the starts that will not take place.

        Raises
        ------
        WrongNodesError
            If a job runs on other nodes than it was ordered to.
        """
        self._now = snapshot.now
        ran, gone, back = [], [], []
        for order in self.journal.orders.values():
            there = snapshot.jobs.get(order.job)
            job = there or ended.get(order.job)
            if job is not None and job.nodes and not order.ran:
                ran.append(self._on_its_nodes(order, job))
            elif there is not None and there.waits and self._is_late(order, there, snapshot):
                back.append(order)
            if there is None:
                gone.append(order)
        self._note_running(ran)
        self.journal.write("gone", gone)
        self._take_back(back, snapshot.jobs)
        for kept in (self._rests, self._failures, self._refusals):
            for key in kept.keys() - snapshot.jobs.keys():
                del kept[key]

    def _on_its_nodes(self, order: Order, job: LiveJob) -> Order:
        if set(job.nodes) != set(order.nodes):
            self.counts.wrong += 1
            raise WrongNodesError(
                f"job {job.key} runs on {','.join(job.nodes)}, but should run on"
                f" {','.join(order.nodes)}"
            )
        return replace(order, ran=True)

    def _note_running(self, orders: Sequence[Order]) -> None:
        self.journal.write("ran", orders)
        for order in orders:
            latency = time.time() - order.at
            self.counts.ran += 1
            self.counts.latencies.append(latency)
            self._failures.pop(order.job, None)
            self._say(f"job {order.job} runs on {','.join(order.nodes)} after {latency:.1f} s")

    def _is_late(self, order: Order, job: LiveJob, snapshot: Snapshot) -> bool:
        """Whether the start of a waiting job must be withdrawn."""
        # It is held again or was never released, or it ran and is back in the queue.
        if job.held or order.ran:
            return True
        is_closed = not snapshot.closed.isdisjoint(order.nodes)
        hopeless = is_closed or job.reason.split(",")[0] in _HOPELESS
        return hopeless or time.time() - max(order.at, self._began) > self._patience

    def _take_back(self, orders: Sequence[Order], jobs: Jobs) -> None:
        refused = self._backend.take_back(orders) if orders else {}
        # A job that can no longer be held has just started or left: check again.
        done = [order for order in orders if order.job not in refused]
        self.journal.write("back", done)
        for order in done:
            self._mirror.undo(order.job, self._now)
            self._rest(order.job)
            self.counts.taken_back += 1
            why = f"it {'ran and ' if order.ran else ''}is waiting: {jobs[order.job].reason}"
            self._say(f"job {order.job} is withdrawn: {why}")

    def _rest(self, key: str) -> None:
        """Do not try a job for a while; for longer each time."""
        self._rests[key] = self._now + min(_REST * 2 ** self._failures[key], _LONGEST_REST)
        self._failures[key] += 1

    def adopt(self, jobs: Jobs) -> None:
        """Let the mirror know of the starts that were ordered before this process began."""
        for order in self.pending():
            job = jobs.get(order.job)
            if job is not None and job.waits:
                self._mirror.adopt(job, order.nodes, self._now)
                self._say(
                    f"job {order.job} was already ordered to start on {','.join(order.nodes)}"
                )

    # --- new ones --------------------------------------------------------------------------------

    def send(self, starts: Iterable[Chosen], jobs: Jobs) -> None:
        """
        Order jobs to start, as the mirror has decided.

        Raises
        ------
        UnreachableError
            If Slurm does not answer. What it has heard is seen when it does.
        NotAllowedError, RunError
            If Slurm does not permit an order, or keeps refusing those for a job.
        """
        now = time.time()
        orders = [
            Order(one.key, one.nodes, job.required, job.nodes_min, job.nodes_max, now)
            for one in starts
            for job in (jobs[one.key],)
        ]
        self.counts.ordered += len(orders)
        self.journal.write("begin", orders)
        refused = self._backend.begin(orders) if orders else {}
        for order in orders:
            if order.job not in refused:
                self._refusals.pop(order.job, None)
                self._say(f"job {order.job} is ordered to start on {','.join(order.nodes)}")
        # Most of those that are refused have just been cancelled.
        refusals = [order for order in orders if order.job in refused]
        self.journal.write("back", refusals)
        for order in refusals:
            self._note_refused(order.job, refused[order.job])

    def _note_refused(self, key: str, why: str) -> None:
        self.counts.refused += 1
        self._refusals[key] += 1
        self._mirror.undo(key, self._now)
        self._rest(key)
        self._say(f"job {key}: Slurm refuses the order: {why}")
        if self._refusals[key] >= _MOST_REFUSED:
            raise RunError(f"Slurm has refused {_MOST_REFUSED} orders for job {key}: {why}")
