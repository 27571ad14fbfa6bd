"""
EASY backfilling: one reservation, for the first job that cannot start.

After Lifka 1995 and Mu'alem and Feitelson 2001, on nodes instead of a processor count: the
reservation is the first second at which the head can be *placed*, with that placement. A later job
may start if it is predicted to end by then or uses nothing that is reserved. On a pool of one
resource this is the textbook's shadow time and extra processors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import decision_of, easy_pass, frozen
from cpsched.dispatch.priority import Fifo, make_priority
from cpsched.dispatch.reservation_view import PLAN, ReservationView
from cpsched.dispatch.static_order import StaticOrder

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.dispatch.priority import Priority
    from cpsched.model.decision import Decision
    from cpsched.model.system import System
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
        :class:`~cpsched.dispatch.reservation_view.ReservationView`.
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
        self.queue = _Queue(make_priority(priority))
        self.backfill = _Queue(make_priority(backfill)) if backfill else None
        queues = (self.queue, self.backfill) if self.backfill else (self.queue,)
        super().__init__(*(queue.priority for queue in queues))
        self.allocator = make_allocator(allocator)
        self.reserving = ReservationView(reserve)

    @property
    def in_queue_order(self) -> bool:
        """Whether jobs are taken and backfilled as they wait, by their runtime estimates."""
        return self.queue.is_fifo and self.backfill is None and self.reserving.by_estimate

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self.queue.forget()
        if self.backfill:
            self.backfill.forget()
        self.allocator.reset(system)

    def choose(self, view: View) -> Decision:
        """Start heads, reserve, backfill."""
        planned = self.reserving.view(view)
        rows = self.queue.rows(view)
        behind = self.backfill.rows(view) if self.backfill else rows
        return decision_of(view, easy_pass(planned, rows, behind, self.allocator))

    def ranking(self, view: View) -> IntArray:
        """Return the queue by priority."""
        return self.queue.rows(view)

    def reservation_view(self, view: View) -> View:
        """Return the view with the runtimes that the reservation is made of."""
        return self.reserving.view(view)


class _Queue:
    """The waiting jobs in the order of a priority, found as cheaply as it allows."""

    def __init__(self, priority: Priority) -> None:
        self.priority = priority
        self._static = StaticOrder(priority) if priority.static else None
        self.is_fifo = type(priority) is Fifo

    def forget(self) -> None:
        if self._static:
            self._static.forget()

    def rows(self, view: View) -> IntArray:
        waiting = view.waiting
        if self.is_fifo:
            return waiting.rows
        if self._static:
            return self._static.rows(view)
        return frozen(waiting.rows[self.priority.order(waiting, view.now)])
