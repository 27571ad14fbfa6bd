"""
Backfilling: one reservation, for the first job that cannot start, or one for every waiting job.

After Lifka 1995 and Mu'alem and Feitelson 2001, on nodes instead of a processor count. EASY's
reservation is the first second at which the head can be *placed*, with that placement. A later job
may start if it is predicted to end by then or uses nothing that is reserved. On a pool of one
resource this is the textbook's shadow time and extra processors.

Conservative backfilling plans the queue again at every decision, in order: each job gets the first
window in which it fits on nodes for its whole predicted duration, after those before it. Because
plans are remade instead of compressing old reservations, a job's planned start can move later when
one before it moves earlier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched import _core
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.native import NativeRule, places_of
from cpsched.dispatch.orders import make_priority
from cpsched.dispatch.passes import ALL, PLAIN, decision_of, easy_pass, plan_pass, with_plan
from cpsched.dispatch.shadow import PREDICTED
from cpsched.errors import check_least

if TYPE_CHECKING:
    from cpsched.model.decision import Decision
    from cpsched.model.jobstore import JobStore
    from cpsched.model.view import View


class Easy(LearningDispatcher):
    """
    EASY backfilling.

    Parameters
    ----------
    order
        Order of the queue, which also decides which job gets the reservation.
    backfill
        Order in which jobs are backfilled (``sjf`` = EASY-SJBF); the queue's own order by default.
    allocator
        Name of the allocator.
    estimate
        The runtimes used for the reservation: ``predicted``, ``upper`` or ``requested``;
        running jobs are expected to end by them, and backfilled jobs must end by them; see
        :class:`~cpsched.dispatch.shadow.ReservationView`.
    """

    name = "easy"
    family = "backfilling"
    good_for = "a baseline, and with order=wsept,estimate=requested low slowdowns at low cost"
    goes_wrong_when = (
        "many jobs are short and the order is fifo (other orders make a few jobs wait longer)"
    )

    def __init__(
        self,
        order: str = "fifo",
        backfill: str | None = None,
        allocator: str = "first-fit",
        estimate: str = PREDICTED,
    ) -> None:
        orders = (order, backfill) if backfill else (order,)
        super().__init__(
            *(make_priority(name) for name in orders), allocator=allocator, estimate=estimate
        )

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """Return the rule of a queue in order of submission."""
        if type(self) is not Easy or self.allocator.looks_at_jobs or not self.in_queue_order:
            return None
        return NativeRule(_core.EasyDispatcher(*places_of(self.allocator), prefers=True))

    def choose(self, view: View) -> Decision:
        """Start heads, reserve, backfill."""
        planned = self.reserving.view(view)
        rows = [queue.rows(view) for queue in self.queues]
        return decision_of(view, easy_pass(planned, rows[0], rows[-1], self.allocator))


class Conservative(LearningDispatcher):
    """
    Conservative backfilling: a reservation for every waiting job, or the first few.

    Parameters
    ----------
    order
        Order in which jobs are planned.
    depth
        How many waiting jobs get a reservation; all by default.
    allocator
        Name of the allocator.
    estimate
        Which runtimes reservations are made of: ``predicted``, ``upper`` or ``requested``, see
        :class:`~cpsched.dispatch.shadow.ReservationView`.
    """

    name = "conservative"
    family = "backfilling"
    good_for = "short longest waits, as every job has a reservation"
    goes_wrong_when = (
        "slowdowns matter and only requested times are known, or thousands of jobs wait (slow)"
    )

    def __init__(
        self,
        order: str = "fifo",
        depth: int | None = None,
        allocator: str = "first-fit",
        estimate: str = PREDICTED,
    ) -> None:
        check_least("depth", depth, 0, "all")
        super().__init__(make_priority(order), allocator=allocator, estimate=estimate)
        self.depth = ALL if depth is None else min(depth, ALL)

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """Return the rule of one reservation in order of submission."""
        plain = type(self) is Conservative and self.depth == 1 and self.in_queue_order
        if not plain or self.allocator.looks_at_jobs:
            return None
        return NativeRule(_core.EasyDispatcher(*places_of(self.allocator), prefers=False))

    def choose(self, view: View) -> Decision:
        """Plan the queue, start what is planned for now."""
        planned_view, rows = self.reserving.view(view), self.queues[0].rows(view)
        if self.depth == 1:
            result = easy_pass(planned_view, rows, rows, self.allocator, PLAIN)
            return decision_of(view, result)
        result, planned = plan_pass(planned_view, rows, self.allocator, self.depth, full=False)
        return with_plan(view, decision_of(view, result), rows, planned)
