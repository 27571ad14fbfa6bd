"""
List schedulers: take jobs in an order, start what fits.

``fifo``, ``sjf`` and ``ljf`` stop at the first job that does not fit; ``greedy`` (Remediani 2017,
Algorithm 1) skips it and continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from cpsched import _core
from cpsched.dispatch import orders
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.native import GreedyRule, NativeRule, places_of
from cpsched.dispatch.orders import ExpectedWait, Slowdown, make_priority
from cpsched.dispatch.passes import candidates, frozen, start_in_order
from cpsched.model.decision import NOTHING, Decision
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from cpsched.dispatch.orders import Priority
    from cpsched.model.jobstore import JobStore
    from cpsched.model.view import View


class Fifo(LearningDispatcher):
    """
    First come, first served (FCFS): starts jobs in queue order up to the first that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator, which chooses the nodes.
    """

    name = "fifo"
    family = "lists"
    good_for = "a reference, in which no job overtakes another"
    goes_wrong_when = (
        "a large job is first in the queue: the cluster drains for it while all others wait"
    )
    order: ClassVar[type[Priority]] = orders.FifoOrder

    def __init__(self, allocator: str = "first-fit") -> None:
        super().__init__(self.order(), allocator=allocator)

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """
        Return compiled code for the decisions, or None for an allocator that depends on other jobs.
        """
        if type(self) is not Fifo or self.allocator.looks_at_jobs:
            return None
        return NativeRule(_core.FifoDispatcher(*places_of(self.allocator)))

    def choose(self, view: View) -> Decision:
        """Return the starts of the first waiting jobs, up to the first job that does not fit."""
        return start_in_order(view, self.queues[0].rows(view), self.allocator, stop=True)


class Sjf(Fifo):
    """
    Shortest predicted runtime first: starts jobs in this order up to the first that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator, which chooses the nodes.
    """

    name = "sjf"
    good_for = "a reference, and short jobs with known runtimes"
    goes_wrong_when = (
        "jobs are large or long, or only requested times are known (the cluster drains)"
    )
    order = orders.SjfOrder


class Ljf(Fifo):
    """
    Longest predicted runtime first: starts jobs in this order up to the first that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator, which chooses the nodes.
    """

    name = "ljf"
    good_for = "a reference, the worst order for short jobs"
    goes_wrong_when = "some jobs are short, as they wait behind all long ones"
    order = orders.LjfOrder


class Greedy(LearningDispatcher):
    """
    List scheduling without reservations: every job that fits starts, in priority order.

    Remediani 2017, Algorithm 1. With ``order=slowdown`` it is the SDPRB of that thesis.

    Parameters
    ----------
    order
        Name of the queue order.
    allocator
        Name of the allocator, which chooses the nodes.
    """

    name = "greedy"
    family = "lists"
    good_for = "low mean waits at low cost, with order=slowdown"
    goes_wrong_when = "some jobs are wide: without reservations a few of them wait for weeks"

    def __init__(self, order: str = "expected-wait", allocator: str = "first-fit") -> None:
        self.priority = make_priority(order)
        super().__init__(self.priority, allocator=allocator)

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """
        Return compiled code for the decisions, or None for orders without it.

        The orders ``expected-wait`` (if the system has a default expected wait) and ``slowdown``
        have it.
        """
        priority, largest_wait = self.priority, 0
        if type(self) is not Greedy or self.allocator.looks_at_jobs:
            return None
        if type(priority) is ExpectedWait and priority.system.default_expected_wait:
            # Else a job may have none, which is an error once it is ranked.
            largest_wait = priority.largest
        elif type(priority) is not Slowdown:
            return None
        return GreedyRule(self.allocator, priority, largest_wait, num_jobs)

    def choose(self, view: View) -> Decision:
        """Return the starts of all jobs that fit, in priority order."""
        rows = candidates(view, self.priority, self.allocator)
        if not len(rows):
            return NOTHING
        if len(rows) > 1:
            jobs = JobTable(view.waiting.store, rows)
            rows = rows[self.priority.order(jobs, view.now)]
        return start_in_order(view, frozen(rows), self.allocator, stop=False)
