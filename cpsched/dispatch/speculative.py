"""
Try runs: a job with a long request that may be short first runs for at most a few minutes.

Most of the cost of waiting falls on jobs that ask for hours and end within a minute, and nothing
known at submit identifies them. A short run does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.dispatch.orders import FifoOrder
from cpsched.dispatch.shadow import TIMES, Shadow
from cpsched.dispatch.wrapper import Wrapper
from cpsched.errors import check_least, check_range
from cpsched.model import columns as c
from cpsched.model.decision import Decision, Requeue, Start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray

#: Statistics: starts that are tries, and tries that were cut short.
TRIED, CUT = "tried", "tries_cut_short"


class Speculative(Wrapper):
    """
    Short trial runs of long restartable jobs, around another dispatcher.

    The other dispatcher sees such a job with a requested time of ``seconds``. If the job has not
    ended by then, it returns to its place in the queue with its own requested time.

    Parameters
    ----------
    dispatcher
        Specification of the wrapped dispatcher.
    seconds
        Length of a trial run, seconds.
    least
        Requested time in seconds from which on a job gets a trial run. Shorter jobs start normally.
    share
        Largest share of the system that a job with a trial run uses. For example 0.15: wider jobs
        have no trial run, because nodes would have to be freed for them twice.
    """

    name = "speculative"
    family = "around another dispatcher"
    good_for = "jobs may be restarted, and many that request hours end within minutes"
    goes_wrong_when = "restarts are expensive, or runtimes are known (trial runs are repeated)"
    works_with = "restarts"

    def __init__(
        self,
        dispatcher: str = "easy-wsept",
        seconds: int = 300,
        least: int = 3600,
        share: float = 0.15,
    ) -> None:
        super().__init__(dispatcher)
        # Tries end whether a job waits or not.
        self.acts_when_idle = True
        check_least("seconds", seconds, 1)
        check_least("least", least, seconds + 1)
        check_range("share", share, 0, 1)
        self._seconds, self._least, self._share = seconds, least, share
        self._sizes = FifoOrder()
        self._shadow = Shadow()
        #: When tries that run are over, by handle.
        self._tries: dict[int, int] = {}

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        self._sizes.reset(system)
        self._max_taken = self._share * system.total
        self._tries = {}

    def decide(self, view: View) -> Decision:
        """
        Return the requeues of trial runs that are over, or the decision of the wrapped dispatcher.
        """
        self._tries = {
            handle: self._tries[handle]
            for handle in view.running.handle.tolist()
            if handle in self._tries
        }
        over = [handle for handle, second in self._tries.items() if second <= view.now]
        if over:
            # What they release is free at the next call, in the same second.
            return Decision([Requeue(handle) for handle in over], stats={CUT: len(over)})
        to_try = self._to_try(view)
        decision = self.inner.decide(self._with_tries(view, to_try))
        tried = set(view.waiting.handle[to_try].tolist())
        new = [
            action.handle
            for action in decision.actions
            if isinstance(action, Start) and action.handle in tried
        ]
        self._tries |= dict.fromkeys(new, view.now + self._seconds)
        again = [*self._tries.values()]
        if decision.again_at is not None:
            again.append(decision.again_at)
        return decision._replace(
            again_at=min(again) if again else None, stats={**decision.stats, TRIED: len(new)}
        )

    def shown(self, view: View) -> View:
        """
        Return the view that the wrapped dispatcher sees: jobs to be tried have short requested
        times.
        """
        return self._with_tries(view, self._to_try(view))

    def _with_tries(self, view: View, to_try: BoolArray) -> View:
        """Return the view in which the jobs to be tried, and tries that run, ask for no more."""
        jobs, running = view.waiting, view.running
        try_ends = np.array(
            [self._tries.get(handle, 0) for handle in running.handle.tolist()], np.int64
        )
        waits, runs = (
            {
                column: np.where(tried, np.minimum(values, self._seconds), values)
                for column in TIMES
                for values in (table.column(column),)
            }
            for table, tried in ((jobs, to_try), (running, try_ends > 0))
        )
        ends = np.where(try_ends > 0, try_ends, running.expected_end)
        return self._shadow.view(
            view, waits, {**runs, c.EXPECTED_END: np.maximum(ends, view.now + 1)}
        )

    def _to_try(self, view: View) -> BoolArray:
        """Return which waiting jobs would be tried if they started now."""
        jobs = view.waiting
        chosen: BoolArray = (
            (jobs.restartable != 0) & (jobs.attempts == 0) & (jobs.requested_time >= self._least)
        )
        if self._share < 1 and chosen.any():
            chosen &= (self._sizes.taken(jobs) <= self._max_taken).all(axis=1)
        return chosen

    def state(self) -> Mapping[str, Any]:
        """
        Return the running trial runs and the state of the wrapped dispatcher, for a checkpoint.
        """
        tries = np.array(sorted(self._tries.items()), dtype=np.int64).reshape(-1, 2)
        return {**super().state(), "tries": tries}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        super().restore(state)
        self._tries = {int(handle): int(second) for handle, second in state["tries"].tolist()}
