"""
List schedulers: take jobs in an order, start what fits.

``fifo``, ``sjf`` and ``ljf`` stop at the first job that does not fit; ``greedy`` (Remediani 2017,
Algorithm 1) skips it and continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.dispatch import orders
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.orders import ExpectedWait, Slowdown, make_priority
from cpsched.dispatch.passes import candidates, frozen, start_in_order
from cpsched.kernels import event_loop
from cpsched.model.decision import NOTHING, Decision
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from cpsched.dispatch.orders import Priority
    from cpsched.model.system import System
    from cpsched.model.view import View


class Fifo(LearningDispatcher):
    """
    First come, first served: stop at the first job that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator.
    """

    name = "fifo"
    family = "lists"
    good_for = "a reference: nobody is overtaken"
    goes_wrong_when = "a large job is at the head: the cluster drains for it, and all others wait"
    order: ClassVar[type[Priority]] = orders.FifoOrder
    rule = event_loop.FIFO

    def __init__(self, allocator: str = "first-fit") -> None:
        super().__init__(self.order(), allocator=allocator)

    def choose(self, view: View) -> Decision:
        """Start from the head of the queue on."""
        return start_in_order(view, self.queues[0].rows(view), self.allocator, stop=True)


class Sjf(Fifo):
    """
    Shortest job first, by the prediction; stop at the first job that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator.
    """

    name = "sjf"
    good_for = "a reference; short jobs whose runtimes are known"
    goes_wrong_when = (
        "jobs are large or long, or runtimes are requested times: it drains the cluster, too"
    )
    order = orders.SjfOrder


class Ljf(Fifo):
    """
    Longest job first, by the prediction; stop at the first job that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator.
    """

    name = "ljf"
    good_for = "a reference: the worst order for short jobs"
    goes_wrong_when = "there are short jobs: they wait behind all long ones"
    order = orders.LjfOrder


class Greedy(LearningDispatcher):
    """
    Priority rule-based: in order of priority, start every job that fits, skip the others.

    Remediani 2017, Algorithm 1; with ``order=slowdown`` it is the SDPRB of that thesis.

    Parameters
    ----------
    order
        Name of the order.
    allocator
        Name of the allocator.
    """

    name = "greedy"
    family = "lists"
    good_for = "low mean waits for little computing, with order=slowdown"
    goes_wrong_when = "jobs are wide: nothing is reserved for them, and a few wait for weeks"

    def __init__(self, order: str = "expected-wait", allocator: str = "first-fit") -> None:
        self.priority = make_priority(order)
        super().__init__(self.priority, allocator=allocator)

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system, where each of the built-in priorities has a compiled rule."""
        super().reset(system, seed)
        self.rule = None
        if type(self.priority) is Slowdown:
            self.rule = event_loop.RANKED
        elif type(self.priority) is ExpectedWait and system.default_expected_wait:
            # Else a job may have none, which is an error once it is ranked.
            self.rule = np.int32(self.priority.largest)

    def choose(self, view: View) -> Decision:
        """Start what fits; only jobs that fit on their own are worth ranking."""
        rows = candidates(view, self.priority, self.allocator)
        if not len(rows):
            return NOTHING
        if len(rows) > 1:
            jobs = JobTable(view.waiting.store, rows)
            rows = rows[self.priority.order(jobs, view.now)]
        return start_in_order(view, frozen(rows), self.allocator, stop=False)
