"""
Dispatchers that order their queue by priorities, and may learn how long jobs run.

The one place where what has ended is noticed, for all priorities that learn and for dispatchers
that do so themselves.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.orders import FifoOrder
from cpsched.dispatch.runtime_distribution import RuntimeHistory
from cpsched.dispatch.shadow import PREDICTED, ReservationView
from cpsched.dispatch.sorted_queue import QueueOrder
from cpsched.errors import ConfigError
from cpsched.model import columns as c
from cpsched.model.decision import NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.orders import Priority
    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


class LearningDispatcher(Dispatcher):
    """
    Base class of dispatchers with queue orders that may use the runtimes of ended jobs.

    Subclasses write :meth:`choose` instead of :meth:`decide`. If an order such as ``wsept`` uses
    the history of runtimes, the dispatcher adds ended jobs to the history before each decision. The
    history is then part of its state, and the dispatcher is also called when no job waits, so that
    no end is missed.

    Parameters
    ----------
    priorities
        The orders in which jobs are considered. The first one orders the queue.
    learns
        Whether the dispatcher itself uses the history. The history is also kept if an order uses
        it.
    allocator
        Name of its allocator. None: it sets one itself, or has none.
    estimate
        Runtimes used for reservations: ``predicted``, ``upper`` or ``requested``, see
        :class:`~cpsched.dispatch.shadow.ReservationView`.

    Attributes
    ----------
    history
        The runtimes of ended jobs.
    overdue
        Multiple of the backlog beyond which a waiting job goes first in an order of the dispatcher
        itself. The backlog is the time that the system needs for all waiting and running jobs
        (:class:`~cpsched.dispatch.backlog.Backlog`). None: only ``priorities`` may have overdue
        jobs.
    queues
        The waiting jobs in each order.
    """

    allocator: Allocator
    overdue: float | None = None

    @property
    def in_queue_order(self) -> bool:
        """
        Whether all orders are ``fifo`` and reservations use predicted runtimes (the defaults).
        """
        return all(queue.is_fifo for queue in self.queues) and self.reserving.by_estimate

    def __init__(
        self,
        *priorities: Priority,
        learns: bool = False,
        allocator: str | None = None,
        estimate: str = PREDICTED,
    ) -> None:
        self.priorities = priorities
        self.queues = tuple(QueueOrder(priority) for priority in priorities)
        self.reserving = ReservationView(estimate)
        if allocator is not None:
            self.allocator = make_allocator(allocator)
        self.history = RuntimeHistory()
        for priority in priorities:
            priority.history = self.history
        self._learns = learns or any(priority.learns for priority in priorities)
        self.acts_when_idle = self._learns
        self._known_shapes: IntArray | None = None
        self._sizes = FifoOrder()

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear the history and prepare orders and allocator for a system, before a run starts."""
        self._known_shapes = None
        self.history.forget()
        for priority, queue in zip(self.priorities, self.queues, strict=True):
            priority.reset(system)
            queue.forget()
        self._sizes.reset(system)
        factors = [self.overdue, *(priority.overdue for priority in self.priorities)]
        self._notes_backlog = any(factor is not None for factor in factors)
        if self.allocator is not None:
            self.allocator.reset(system)

    def decide(self, view: View) -> Decision:
        """
        Add the jobs that have ended to the history, and return the decision of :meth:`choose`.

        Raises
        ------
        ConfigError
            If a job has segments or a limit of switches, and the dispatcher cannot place such jobs
            (``keeps_places`` is False).
        """
        if not self.keeps_places:
            self._check_locality(view.waiting.store.shapes)
        if not self._learns:
            return self.choose(view)
        self.history.note_ends(view)
        if not len(view.waiting):
            return NOTHING
        if self._notes_backlog:
            self.history.note_backlog(view, self._sizes.taken)
        decision = self.choose(view)
        self.history.note_starts(view, decision)
        return decision

    def _check_locality(self, shapes: IntArray) -> None:
        """Refuse requests that constrain the relative placement of a job's nodes."""
        if shapes is not self._known_shapes:
            if shapes[:, c.SHAPE_SEGMENT : c.SHAPE_REQUEST].any():
                raise ConfigError(
                    f"{self.name} cannot place jobs with segments or switch limits, and the"
                    " log has such jobs. Use a dispatcher with an allocator, such as easy."
                )
            self._known_shapes = shapes

    @abstractmethod
    def choose(self, view: View) -> Decision:
        """Return the jobs to start now and any other actions, given the state of the system."""

    def ranking(self, view: View) -> IntArray | None:
        """Return the waiting jobs in the first order, as rows of the job store."""
        return self.queues[0].rows(view) if self.queues else None

    def reservation_view(self, view: View) -> View:
        """Return the view with the runtimes of ``estimate``, which reservations are based on."""
        return self.reserving.view(view)

    def state(self) -> Mapping[str, Any]:
        """Return the history of runtimes, for a checkpoint. Empty if nothing uses the history."""
        return {"history": self.history.state()} if self._learns else {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the history that :meth:`state` returned."""
        if self._learns:
            self.history.restore(state["history"])
