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
    EASY backfilling: a reservation for the first job that does not fit, and others around it.

    A later job starts if it ends before the reservation begins, or needs only capacity that the
    reservation leaves free.

    Parameters
    ----------
    order
        Order of the queue. Its first job that does not fit has the reservation.
    backfill
        Order in which later jobs are tried (``sjf``: EASY-SJBF). By default the order of the queue.
    allocator
        Name of the allocator, which chooses the nodes.
    estimate
        The runtimes used for the reservation: ``predicted``, ``upper`` (bound of the prediction) or
        ``requested``. The expected ends of running and of backfilled jobs follow from them.
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
        """Return compiled code for the decisions, or None unless both orders are ``fifo``."""
        if type(self) is not Easy or self.allocator.looks_at_jobs or not self.in_queue_order:
            return None
        return NativeRule(_core.EasyDispatcher(*places_of(self.allocator), prefers=True))

    def choose(self, view: View) -> Decision:
        """
        Return the starts from the head of the queue on, those of backfilled jobs, and the
        reservation.
        """
        planned = self.reserving.view(view)
        rows = [queue.rows(view) for queue in self.queues]
        return decision_of(view, easy_pass(planned, rows[0], rows[-1], self.allocator))


class Conservative(LearningDispatcher):
    """
    Conservative backfilling: a reservation for every waiting job, or for the first ones.

    A job starts if it delays no reservation of a job before it.

    Parameters
    ----------
    order
        Order in which jobs are planned.
    depth
        Number of waiting jobs that have a reservation. By default all.
    allocator
        Name of the allocator, which chooses the nodes.
    estimate
        The runtimes used for reservations: ``predicted``, ``upper`` (bound of the prediction) or
        ``requested``. The expected ends of running jobs follow from them.
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
        """
        Return compiled code for the decisions, or None unless ``depth`` is 1 and the order
        ``fifo``.
        """
        plain = type(self) is Conservative and self.depth == 1 and self.in_queue_order
        if not plain or self.allocator.looks_at_jobs:
            return None
        return NativeRule(_core.EasyDispatcher(*places_of(self.allocator), prefers=False))

    def choose(self, view: View) -> Decision:
        """
        Return the starts of the jobs that are planned for now, and the planned starts of the
        others.
        """
        planned_view, rows = self.reserving.view(view), self.queues[0].rows(view)
        if self.depth == 1:
            result = easy_pass(planned_view, rows, rows, self.allocator, PLAIN)
            return decision_of(view, result)
        result, planned = plan_pass(planned_view, rows, self.allocator, self.depth, full=False)
        return with_plan(view, decision_of(view, result), rows, planned)
