"""
EASY backfilling: one reservation, for the first job that cannot start.

After Lifka 1995 and Mu'alem and Feitelson 2001, on nodes instead of a processor count: the
reservation is the first second at which the head can be *placed*, with that placement. A later job
may start if it is predicted to end by then or uses nothing that is reserved. On a pool of one
resource this is the textbook's shadow time and extra processors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import decision_of, easy_pass
from cpsched.dispatch.priority import make_priority
from cpsched.dispatch.shadow import PLAN

if TYPE_CHECKING:
    from cpsched.model.decision import Decision
    from cpsched.model.view import View


class Easy(LearningDispatcher):
    """
    EASY backfilling.

    Parameters
    ----------
    priority
        Order of the queue, which also decides which job gets the reservation.
    backfill
        Order in which jobs are backfilled (``sjf`` = EASY-SJBF); the queue's own order by default.
    allocator
        Name of the allocator.
    reserve
        The runtimes used for the reservation: ``plan``, ``bound`` or ``requested``; running jobs
        are expected to end by them, and backfilled jobs must end by them; see
        :class:`~cpsched.dispatch.shadow.ReservationView`.
    """

    name = "easy"
    good_for = (
        "a baseline; low slowdowns for little computing with priority=urgency,reserve=requested"
    )
    goes_wrong_when = (
        "many jobs are short and the order is fifo; with another order a few wait longer"
    )

    def __init__(
        self,
        priority: str = "fifo",
        backfill: str | None = None,
        allocator: str = "first-fit",
        reserve: str = PLAN,
    ) -> None:
        orders = (priority, backfill) if backfill else (priority,)
        super().__init__(
            *(make_priority(name) for name in orders), allocator=allocator, reserve=reserve
        )

    @property
    def in_queue_order(self) -> bool:
        """Whether jobs are taken and backfilled as they wait, by their runtime estimates."""
        return all(queue.is_fifo for queue in self.queues) and self.reserving.by_estimate

    def choose(self, view: View) -> Decision:
        """Start heads, reserve, backfill."""
        planned = self.reserving.view(view)
        rows = [queue.rows(view) for queue in self.queues]
        return decision_of(view, easy_pass(planned, rows[0], rows[-1], self.allocator))
