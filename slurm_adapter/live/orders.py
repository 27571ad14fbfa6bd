"""
What jobs are ordered to do, and what becomes of it.

Orders are written to the journal before they are sent to Slurm. So nothing is lost after a crash: a
job that was ordered to start is running on its nodes, waiting to start, or still held.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from cpsched.api.errors import RunError
from slurm_adapter.live.audit import Audit
from slurm_adapter.live.filter import aside_of, held_comment
from slurm_adapter.live.journal import Journal
from slurm_adapter.live.order import Order, WrongNodesError
from slurm_adapter.live.requests import MARK

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
#: Orders for one job that Slurm refuses, or can never carry out, before the job is left to Slurm.
_MOST_REFUSED = 5
#: Users whose jobs are refused, with no order accepted meanwhile, before the engine is at fault.
_MOST_USERS = 3
#: Number of latest orders whose latency is kept.
_LATENCIES = 10_000
#: So many orders are withdrawn at a time.
_AT_ONCE = 8
#: Seconds until an order is withdrawn again that could not be.
_LATER = 30


@dataclass(slots=True)
class Counts:
    """
    Event counts.

    Attributes
    ----------
    wrong
        Jobs that Slurm started elsewhere although nobody had changed their orders.
    aside
        Jobs that were left to Slurm: run where they were not ordered, or cannot be ordered.
    latencies
        The last times from order to running, seconds.
    """

    ordered: int = 0
    ran: int = 0
    wrong: int = 0
    aside: int = 0
    taken_back: int = 0
    refused: int = 0
    cycles: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES))

    def numbers(self) -> dict[str, int]:
        """Return the counts by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.type == "int"}


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
    mark
        What the AdminComment of a job that is set aside begins with.
    audit
        Where orders and their outcomes are noted; None: nowhere.
    """

    def __init__(
        self,
        backend: Scontrol,
        mirror: Mirror,
        patience: float,
        say: Callable[[str], None],
        mark: str = MARK,
        audit: Audit | None = None,
    ) -> None:
        self._backend, self._mirror = backend, mirror
        self._patience, self._say, self._mark = patience, say, mark
        self._audit = audit or Audit(None, say)
        self.journal = Journal()
        self.counts = Counts()
        self._now = 0
        self._began = time.time()
        #: When jobs that did not start may be tried again, and how often they did not start.
        self._rests: dict[str, int] = {}
        self._failures: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        #: When orders that could not be withdrawn are tried again, by job.
        self._untaken: dict[str, float] = {}
        self._refused_users: set[str] = set()
        #: Jobs that Slurm has said that it has released: if held again, somebody holds them.
        self._released: set[str] = set()

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
            If a job runs on other nodes although its order is as it was sent.
        """
        self._now = snapshot.now
        ran, gone, back, elsewhere = [], [], [], []
        for order in self.journal.orders.values():
            there = snapshot.jobs.get(order.job)
            job = there or ended.get(order.job)
            if job is not None and job.nodes and not order.ran:
                if set(job.nodes) == set(order.nodes):
                    ran.append(replace(order, ran=True))
                else:
                    elsewhere.append((order, job))
            elif there is not None and there.waits and self._is_late(order, there, snapshot):
                back.append(order)
            if there is None:
                gone.append(order)
        self._note_running(ran)
        self.journal.write("gone", gone)
        self._take_back(back, snapshot.jobs)
        self._accept(elsewhere)
        for kept in (self._rests, self._failures, self._refusals, self._untaken):
            for key in kept.keys() - snapshot.jobs.keys():
                del kept[key]
        self._released &= {order.job for order in self.pending()}

    def _accept(self, elsewhere: Sequence[tuple[Order, LiveJob]]) -> None:
        """
        Accept that jobs run elsewhere than ordered; the mirror follows them there.

        Everybody may change what their own job asks for until it starts: this concerns that job
        alone.
        """
        # Closed first: the same job must not stop the next engine, too.
        self.journal.write("aside", [order for order, _ in elsewhere])
        wrong = ""
        for order, job in elsewhere:
            where = f"runs on {','.join(job.nodes)}, but should run on {','.join(order.nodes)}"
            if _is_as_sent(order, job):
                self.counts.wrong += 1
                wrong = f"job {job.key} {where}"
            else:
                self._note_aside(job, where)
        if wrong:
            raise WrongNodesError(wrong)

    def _note_aside(self, job: LiveJob, why: str) -> None:
        """Tell a job's owner, and whoever reads along, that it is set aside."""
        self.counts.aside += 1
        self._report("aside", job.key, f"of user {job.user} is set aside: it {why}")
        if untold := self._backend.comment(job.key, f"{aside_of(self._mark)} {why}", admin=True):
            self._say(f"job {job.key}: Slurm refuses an AdminComment: {untold}")

    def _note_running(self, orders: Sequence[Order]) -> None:
        self.journal.write("ran", orders)
        for order in orders:
            latency = time.time() - order.at
            self.counts.ran += 1
            self.counts.latencies.append(latency)
            for kept in (self._failures, self._refusals):
                kept.pop(order.job, None)
            why = f"runs on {','.join(order.nodes)} after {latency:.1f} s"
            self._report("ran", order.job, why)

    def _is_late(self, order: Order, job: LiveJob, snapshot: Snapshot) -> bool:
        """Whether the start of a waiting job must be withdrawn."""
        # It is held again or was never released, or it ran and is back in the queue.
        if job.held or order.ran:
            return True
        is_closed = not snapshot.closed.isdisjoint(order.nodes)
        hopeless = is_closed or job.reason.split(",")[0] in _HOPELESS
        return hopeless or time.time() - max(order.at, self._began) > self._patience

    def _take_back(self, orders: Sequence[Order], jobs: Jobs) -> None:
        # A few at a time: a controller may take seconds for each, and what is done must be known to
        # the next engine if this one is killed meanwhile.
        now = time.monotonic()
        due = [order for order in orders if self._untaken.get(order.job, now) <= now]
        for at in range(0, len(due), _AT_ONCE):
            self._take_back_some(due[at : at + _AT_ONCE], jobs)

    def _take_back_some(self, orders: Sequence[Order], jobs: Jobs) -> None:
        held = {order.job for order in orders if jobs[order.job].held}
        refused = self._backend.take_back(orders, held)
        # A job that can no longer be held has just started or left: check again. Or Slurm cannot
        # change it yet, and takes five seconds to say so each time.
        self._untaken |= dict.fromkeys(refused, time.monotonic() + _LATER)
        done = [order for order in orders if order.job not in refused]
        self.journal.write("back", done)
        for order in done:
            self._mirror.undo(order.job, self._now)
            self._rest(order.job)
            self.counts.taken_back += 1
            why = f"it {'ran and ' if order.ran else ''}is waiting: {jobs[order.job].reason}"
            self._report("withdrawn", order.job, f"is withdrawn: {why}")
            if self._is_held_by_owner(order, jobs[order.job]):
                self._keep_held(jobs[order.job])
            if jobs[order.job].reason.startswith("BadConstraints"):
                self._count_refusal(order, jobs[order.job], "has no nodes that satisfy it")

    def _is_held_by_owner(self, order: Order, job: LiveJob) -> bool:
        """Whether a job is held that has been released, by a controller that has not forgotten."""
        again = job.held and job.reason == "JobHeldUser" and job.key in self._released
        return again and self._backend.booted() < order.at

    def _keep_held(self, job: LiveJob) -> None:
        """Mark a job as kept back, because the hold of an owner looks like our own."""
        self._report("held", job.key, "is held by its owner")
        if untold := self._backend.comment(job.key, held_comment(job, self._mark)):
            self._say(f"job {job.key}: Slurm refuses a comment: {untold}")

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

    def _report(self, what: str, key: str, text: str) -> None:
        """Say what became of a job, and note it in the audit log."""
        self._say(f"job {key} {text}")
        self._audit.note(what, job=key, text=text)

    # --- new ones --------------------------------------------------------------------------------

    def send(self, starts: Iterable[Chosen], jobs: Jobs) -> None:
        """
        Order jobs to start, as the mirror has decided.

        Raises
        ------
        UnreachableError
            If Slurm does not answer. What it has heard is seen when it does.
        NotAllowedError, RunError
            If Slurm does not permit an order, or keeps refusing all of them.
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
                self._refused_users.clear()
                self._released.add(order.job)
                why = f"is ordered to start on {','.join(order.nodes)}"
                self._report("ordered", order.job, why)
        # Most of those that are refused have just been cancelled.
        refusals = [order for order in orders if order.job in refused]
        self.journal.write("back", refusals)
        for order in refusals:
            self._note_refused(order, jobs[order.job], refused[order.job])

    def _note_refused(self, order: Order, job: LiveJob, why: str) -> None:
        self.counts.refused += 1
        self._mirror.undo(job.key, self._now)
        self._rest(job.key)
        self._report("refused", job.key, f"is refused by Slurm: {why}")
        self._refused_users.add(job.user)
        self._count_refusal(order, job, f"cannot be ordered: {why}")

    def _count_refusal(self, order: Order, job: LiveJob, why: str) -> None:
        """Leave a job to Slurm that has been refused too often."""
        self._refusals[job.key] += 1
        if self._refusals[job.key] < _MOST_REFUSED:
            return
        if len(self._refused_users) >= _MOST_USERS:
            raise RunError(f"Slurm refuses the orders of {_MOST_USERS} users: job {job.key} {why}")
        del self._refusals[job.key]
        refused = self._backend.leave([order], [job.key])
        self._note_aside(job, why)
        if job.key in refused:
            self._say(f"job {job.key} stays held: {refused[job.key]}")


def _is_as_sent(order: Order, job: LiveJob) -> bool:
    """
    Whether what a running job asks for is what its order says: required nodes, and their number.

    Its owner can change neither while it runs, but both before, and when it is requeued.
    """
    same = set(job.required) == set(order.nodes) and len(job.nodes) == len(order.nodes)
    return same and job.state == "RUNNING"
