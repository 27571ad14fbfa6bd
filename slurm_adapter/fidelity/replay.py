"""
What a dispatcher would have started, given the jobs that were really running.

A simulation that starts one job at another time soon has a different queue. Here the record is
replayed: every job starts when it did, and the dispatcher is only queried. So each of its decisions
is judged separately.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.dispatchers import Dispatcher, frozen, make_allocator
from cpsched.api.model import MISSING, Decision, DependencyType, JobTable, Start
from cpsched.api.simulation import simulate
from cpsched.api.tools import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.logs import Fitted, Workload
    from cpsched.api.model import Allocation, IntArray, System, View
    from cpsched.api.simulation import Observer, Settings

#: A start within this many seconds of the recorded one counts as the same, because passes are
#: periodic.
SAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """
    How often a dispatcher would have started a job when it was started, given the running jobs.

    Attributes
    ----------
    jobs
        With a recorded start.
    same, earlier, later
        Shares of the starts within :data:`SAME` seconds, before that, and after it or not by then.
    median_earlier
        Median lead of the earlier ones, seconds; 0 if there are none.
    """

    jobs: int
    same: float
    earlier: float
    later: float
    median_earlier: float


def replay(
    fitted: Fitted,
    *,
    dispatcher: str,
    predictor: str,
    settings: Settings,
    since: int | None = None,
    observers: Sequence[Observer] = (),
) -> Agreement:
    """
    Ask a dispatcher at every event of a record what it would start.

    Starts are all :data:`SAME` seconds later than recorded, so that the dispatcher may select one
    equally long before and after the record. If a job does not fit then, because its nodes may
    differ from the record, it starts as soon as it fits.

    Parameters
    ----------
    since
        Starts of jobs submitted from this second on count; None: of all.

    Raises
    ------
    ValueError
        If no job has a recorded start.
    """
    fitted = _recorded(fitted)
    start = fitted.workload.recorded_start
    known = start != MISSING
    asked = _Replay(dispatcher, np.where(known, start + SAME, MISSING))
    if since is not None:
        known &= fitted.workload.submit >= since
    if not known.any():
        raise ValueError("no job has a recorded start")
    simulate(fitted, dispatcher=asked, predictor=predictor, settings=settings, observers=observers)
    off = asked.wanted[known] - start[known]
    never = asked.wanted[known] == MISSING
    early = ~never & (off < -SAME)
    same = ~never & (np.abs(off) <= SAME)
    number = len(off)
    return Agreement(
        jobs=number,
        same=float(same.sum()) / number,
        earlier=float(early.sum()) / number,
        later=float(number - same.sum() - early.sum()) / number,
        median_earlier=float(np.median(-off[early])) if early.any() else 0.0,
    )


def _recorded(fitted: Fitted) -> Fitted:
    """Return the jobs that started in the record, and those that were cancelled in the queue."""
    workload = fitted.workload
    rejected = [row for row, _ in fitted.rejected]
    keep = (workload.recorded_start != MISSING) | (workload.cancel != MISSING)
    keep[rejected] = False
    rows = np.flatnonzero(keep)
    jobs = workload.take(rows)
    # What a job waited for came about in the record: when it could start is known.
    return replace(
        fitted,
        workload=jobs.with_columns(
            dependency=np.full(len(rows), -1),
            begin=np.maximum(workload.begin, _met(workload))[rows],
        ),
        eligible_class=fitted.eligible_class[rows],
        rejected=(),
    )


def _met(workload: Workload) -> IntArray:
    """Return when what each job depends on came about in the record, ``MISSING`` where nothing."""
    start = workload.recorded_start
    begun = np.where(start == MISSING, workload.cancel, start)
    ended = np.where(start == MISSING, workload.cancel, start + workload.runtime)
    met = np.where(
        workload.dependency_type == DependencyType.AFTER,
        *(moment[workload.dependency] for moment in (begun, ended)),
    )
    return np.where(workload.dependency >= 0, met, MISSING)


class _Replay(Dispatcher):
    """Starts jobs at given times, and records when another dispatcher would have."""

    name = "replay"
    acts_when_idle = True

    def __init__(self, dispatcher: str, due: IntArray) -> None:
        self._inner: Dispatcher = build("dispatchers", dispatcher)
        self.interval = self._inner.interval
        self._due = due
        self._placer = make_allocator("first-fit")
        #: When the other one first wanted to start each job.
        self.wanted = np.full(len(due), MISSING, dtype=np.int64)
        #: What those hold in its eyes that it has just wanted to start.
        self._pending: dict[int, Allocation] = {}

    def on_epoch(self, epoch: int | None) -> None:
        self._inner.on_epoch(epoch)

    def reset(self, system: System, seed: int) -> None:
        self._inner.reset(system, seed)
        self._placer.reset(system)

    def decide(self, view: View) -> Decision:
        waiting = view.waiting
        handles = waiting.handle
        asked = self.wanted[handles] == MISSING
        # A job that it would have started long ago must not hold up others in its eyes.
        shown = JobTable(waiting.store, frozen(waiting.rows[asked]))
        decision = self._inner.decide(
            replace(view, waiting=shown, free=frozen(self._left(view, set(handles.tolist()))))
        )
        for action in decision.actions:
            if isinstance(action, Start):
                self.wanted[action.handle] = view.now
                self._pending[action.handle] = action.allocation
        due = self._due[handles]
        ripe = np.flatnonzero((due != MISSING) & (due <= view.now))
        starts = self._placed(view, ripe[np.argsort(due[ripe], kind="stable")])
        coming = due[(due != MISSING) & (due > view.now)]
        wakes = [] if not len(coming) else [int(coming.min())]
        if decision.again_at is not None and decision.again_at > view.now:
            wakes.append(decision.again_at)
        return Decision(starts, again_at=min(wakes) if wakes else None)

    def _left(self, view: View, waiting: set[int]) -> IntArray:
        """Return what is free beside the jobs that it has just wanted to start, and that wait."""
        free: IntArray = np.array(view.free)
        for handle, allocation in list(self._pending.items()):
            if handle not in waiting or view.now > self.wanted[handle] + 2 * SAME:
                del self._pending[handle]
            else:
                free[allocation.node] = np.maximum(free[allocation.node] - allocation.amount, 0)
        return free

    def _placed(self, view: View, positions: IntArray) -> list[Start]:
        free: IntArray = np.array(view.free)
        starts = []
        for at in positions.tolist():
            allocation = self._placer.place(view, int(view.waiting.rows[at]), free)
            if allocation is not None:
                free[allocation.node] -= allocation.amount
                starts.append(Start(int(view.waiting.handle[at]), allocation))
        return starts

    def never_starts(self, view: View) -> IntArray:
        return view.waiting.rows
