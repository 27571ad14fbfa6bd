"""``dn-dbes``: two sides negotiate whenever something happens, and what they agree on is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.dispatch.orders import make_priority
from cpsched.dispatch.passes import frozen
from cpsched.errors import check_least
from cpsched.model import columns as c
from cpsched.model.decision import Decision, PlannedStarts
from cpsched.papers.dn_dbes.actions import Agreed
from cpsched.papers.dn_dbes.messages import (
    Machine,
    NegotiationSettings,
    Offer,
    Queue,
    StatusReport,
    UrgentJobResponse,
)
from cpsched.papers.dn_dbes.negotiation import Negotiation
from cpsched.papers.dn_dbes.tables import TableMaker
from cpsched.util.types import MAX_TIME, JobType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: Statistic: decisions in which both sides negotiated.
NEGOTIATIONS = "negotiations"


class DnDbes(Dispatcher):
    """
    DN-DBES: a batch scheduler and a runtime scheduler negotiate about jobs that change size.

    The batch scheduler orders the queue, and the runtime scheduler resizes running jobs. Both
    belong to this dispatcher.

    Parameters
    ----------
    attempts
        Largest number of offers in a negotiation.
    depth
        Largest number of waiting jobs without an offered task that are part of a negotiation and
        have a reservation.
    period
        Seconds between periodic steps. Alternately, running jobs shrink for an offer to waiting
        jobs, and running jobs expand.
    mapped_share
        Share of the queue that must have tasks at first for an offer to be accepted.
    order
        Order of the queue. The thesis uses ``basic``.
    allocator
        Name of the allocator, which chooses the nodes.
    """

    name = "dn-dbes"
    family = "jobs that change size"
    good_for = "malleable and moldable jobs, which shrink for waiting jobs and fill idle nodes"
    goes_wrong_when = "resizing is expensive, or tasks differ (it only counts them)"
    acts_when_idle = True
    allocator: Allocator

    def __init__(
        self,
        attempts: int = 6,
        depth: int = 10,
        period: int = 300,
        mapped_share: float = 1 / 3,
        order: str = "basic",
        allocator: str = "first-fit",
    ) -> None:
        check_least("period", period, 1)
        settings = NegotiationSettings(attempts=attempts, depth=depth, mapped_share=mapped_share)
        self.negotiation = Negotiation(settings)
        self._period = period
        self.priority_rule = make_priority(order)
        self.allocator = make_allocator(allocator)
        self._tables = TableMaker()
        self._forget()

    def _forget(self) -> None:
        #: Jobs that waited and ran after the last decision, and the slots there were.
        self._waited: set[int] = set()
        self._ran: set[int] = set()
        self._slots = 0
        #: Waiting jobs that depend on the end of a running one, by that.
        self._blocks: dict[int, int] = {}
        #: The number of the last periodic step; when to try again for an urgent job. -1: none.
        self._step = self._retry = -1

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear all memory and prepare for a system, before a run starts."""
        self.priority_rule.reset(system)
        self.allocator.reset(system)
        self._tables.reset(system)
        self.negotiation.transaction, self.negotiation.waits_for_request = 0, True
        self._forget()

    def ranking(self, view: View) -> IntArray:
        """Return the waiting jobs by priority, urgent jobs first, as rows of the job store."""
        rows = self.priority_rule.rows(view)
        jobs = type(view.waiting)(view.waiting.store, rows)
        return frozen(rows[np.argsort(jobs.urgent == 0, kind="stable")])

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,
        row: int,  # noqa: ARG002
        derived: WaitReason,
    ) -> WaitReason:
        """
        Return why a job waits that would fit: no negotiation, or both sides agreed on other jobs.
        """
        if not decision.stats.get(NEGOTIATIONS):
            return WaitReason.NOT_CONSIDERED
        return WaitReason.NOT_SELECTED if derived is WaitReason.PLANNED_LATER else derived

    def not_considered(self, view: View, decision: Decision, row: int) -> str:  # noqa: ARG002
        """Return the note that both schedulers did not negotiate, and when they do next."""
        if decision.stats.get(NEGOTIATIONS):
            return ""
        again = decision.again_at
        when = "" if again is None else f", and does so again at second {again:,}"
        return f"the batch scheduler did not negotiate in this second{when} (period={self._period})"

    # --- a decision ------------------------------------------------------------------------------

    def decide(self, view: View) -> Decision:
        """
        Return the starts and resizes on which both schedulers agree, if something has happened.
        """
        waiting, running = set(view.waiting.handle.tolist()), set(view.running.handle.tolist())
        changed = bool(self._ran - running) or self._tables.slots(view) != self._slots
        stepping = 0 <= self._step != view.now // self._period
        retrying = 0 <= self._retry <= view.now
        arrived = not waiting <= self._waited
        if not (changed or stepping or retrying or arrived):
            return Decision(again_at=self._again_at(view))
        rows = self.ranking(view)
        machine = self._machine(view, rows, changed=changed, stepping=stepping)
        queue = Queue(self._tables.waiting(view, rows))
        self._step, self._retry = view.now // self._period, -1
        messages = self.negotiation.transact(machine, queue)
        answers = [sent for sent in messages if isinstance(sent, StatusReport | UrgentJobResponse)]
        jobs = [status for answer in answers for status in answer.jobs]
        done = Agreed(view, rows, self.allocator, jobs)
        report = answers[-1] if answers and isinstance(answers[-1], StatusReport) else None
        if report is not None:
            self._blocks = dict(report.dependencies)
        self._note(view, waiting, running, done)
        numbers = {NEGOTIATIONS: int(any(isinstance(message, Offer) for message in messages))}
        return Decision(done.actions, _plan(report, done), self._again_at(view), numbers)

    def _machine(self, view: View, rows: IntArray, *, changed: bool, stepping: bool) -> Machine:
        """Return what the runtime side is told, and whether it begins."""
        running = self._tables.running(view, self._blocks)
        slots = self._tables.slots(view)
        idle = max(slots - sum(job.units * job.slots for job in running), 0)
        machine = Machine(view.now, slots, idle, running)
        jobs = view.waiting.store.columns[rows]
        if len(rows) and jobs[0, c.URGENT]:
            return machine
        if self.negotiation.waits_for_request:
            return machine if len(rows) else machine._replace(expands=True)
        if not stepping:
            return machine._replace(offers=changed or not len(rows))
        # At every second step jobs that wait are favoured, at the others those that run.
        if view.now // self._period % 2 == 0:
            return machine._replace(offers=True, shrinks=True)
        return machine._replace(offers=changed, expands=not changed)

    def _note(self, view: View, waiting: set[int], running: set[int], done: Agreed) -> None:
        """Remember what waits and what runs, so that what happens until the next time is seen."""
        self._waited, self._ran = waiting - done.started, running | done.started
        self._slots = self._tables.slots(view)
        urgent = view.waiting.handle[view.waiting.urgent != 0].tolist()
        if set(urgent) - done.started and self._is_in_flux(view, done):
            self._retry = view.now + 1

    def _is_in_flux(self, view: View, done: Agreed) -> bool:
        """Return whether jobs run that can change in the next second, and cannot in this one."""
        now, jobs = view.now, view.running
        return bool(done.actions) or bool(((jobs.start >= now) | (jobs.since >= now)).any())

    def _again_at(self, view: View) -> int | None:
        """Return when to decide again if nothing happens until then."""
        seconds = [self._retry] if self._retry > view.now else []
        if any((jobs.job_type >= JobType.MALLEABLE).any() for jobs in (view.running, view.waiting)):
            seconds.append(view.now - view.now % self._period + self._period)
        return min(seconds, default=None)

    # --- saving ----------------------------------------------------------------------------------

    def state(self) -> Mapping[str, Any]:
        """Return the jobs of the last decision and the waiting jobs that depend on an end."""
        return {
            "waited": np.array(sorted(self._waited), dtype=np.int64),
            "ran": np.array(sorted(self._ran), dtype=np.int64),
            "blocks": np.array(sorted(self._blocks.items()), dtype=np.int64).reshape(-1, 2),
            "slots": self._slots,
            "step": self._step,
            "retry": self._retry,
            "transaction": self.negotiation.transaction,
            "waits_for_request": self.negotiation.waits_for_request,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self._waited, self._ran = set(state["waited"].tolist()), set(state["ran"].tolist())
        self._blocks = {int(running): int(job) for running, job in state["blocks"].tolist()}
        self._slots, self._step = int(state["slots"]), int(state["step"])
        self._retry = int(state["retry"])
        self.negotiation.transaction = int(state["transaction"])
        self.negotiation.waits_for_request = bool(state["waits_for_request"])


def _plan(report: StatusReport | None, done: Agreed) -> PlannedStarts | None:
    """Return the planned starts of the jobs that go on waiting."""
    planned = [
        (job, start)
        for job, start in (report.planned if report is not None else ())
        if start < MAX_TIME and job not in done.started
    ]
    if not planned:
        return None
    return PlannedStarts([job for job, _ in planned], [start for _, start in planned])
