"""
Conservative backfilling: a reservation for every waiting job, or the first few.

At every decision the queue is planned again, in order: each job gets the first window in which it
fits on nodes for its whole predicted duration, after those before it. Jobs planned for now start.
After Mu'alem and Feitelson 2001; because plans are remade instead of compressing old reservations,
a job's planned start can move later when one before it moves earlier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import decision_of, plan_pass, with_plan
from cpsched.dispatch.priority import make_priority
from cpsched.dispatch.shadow import PLAN
from cpsched.errors import check_choice, check_least
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.model.decision import Decision
    from cpsched.model.view import View

_NO_LIMIT = 2**62
#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10


class Conservative(LearningDispatcher):
    """
    Conservative backfilling.

    Parameters
    ----------
    priority
        Order in which jobs are planned: a priority's name, or several joined by ``+``, of which
        the plan with the best objective is followed.
    depth
        How many waiting jobs get a reservation; all by default.
    objective
        What makes a plan the best of several: ``slowdown`` (mean bounded slowdown) or
        ``expected-wait`` (mean wait in units of the queue's expected wait).
    allocator
        Name of the allocator.
    reserve
        Which runtimes reservations are made of: ``plan``, ``bound`` or ``requested``, see
        :class:`~cpsched.dispatch.shadow.ReservationView`.
        A plan's objective goes by ``plan``.
    """

    name = "conservative"
    good_for = "short tails of the wait: every job has a reservation"
    goes_wrong_when = "slowdowns matter and runtimes are requested times, or thousands wait (slow)"

    def __init__(
        self,
        priority: str = "fifo",
        depth: int | None = None,
        objective: str = "slowdown",
        allocator: str = "first-fit",
        reserve: str = PLAN,
    ) -> None:
        check_least("depth", depth, 0, "all")
        check_choice("objective", objective, ("slowdown", "expected-wait"))
        priorities = [make_priority(name) for name in priority.split("+")]
        super().__init__(*priorities, allocator=allocator, reserve=reserve)
        self.depth = _NO_LIMIT if depth is None else min(depth, _NO_LIMIT)
        self.objective = objective

    def choose(self, view: View) -> Decision:
        """Plan the queue, start what is planned for now."""
        several = len(self.queues) > 1
        bounded = self.reserving.view(view)
        plans = []
        for queue in self.queues:
            rows = queue.rows(view)
            plans.append(
                (rows, *plan_pass(bounded, rows, self.allocator, self.depth, full=several))
            )
        rows, packed, planned = (
            min(plans, key=lambda plan: self._value(view, plan[0], plan[2]))
            if several
            else plans[0]
        )
        return with_plan(view, decision_of(view, packed), rows, planned)

    def ranking(self, view: View) -> IntArray | None:
        """Return the order in which jobs are planned; None where the best of several decides."""
        return super().ranking(view) if len(self.queues) == 1 else None

    def _value(self, view: View, rows: IntArray, planned: IntArray) -> float:
        """Return the objective of a full plan; lower is better."""
        jobs = JobTable(view.waiting.store, rows)
        wait = planned - jobs.submit
        if self.objective == "slowdown":
            runtime = jobs.runtime_estimate
            bounded = (wait + runtime) / np.maximum(runtime, _TAU)
            return float(np.maximum(bounded, 1.0).sum())
        return float((wait / np.maximum(jobs.expected_wait, 1)).sum())
