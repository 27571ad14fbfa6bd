"""Malleable jobs under any dispatcher: sizes at the start, shrinking for others, growing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.shadow import TIMES, Shadow
from cpsched.dispatch.wrapper import Wrapper
from cpsched.errors import ConfigError, check_least, one_of
from cpsched.model import columns as c
from cpsched.model.decision import PlannedStarts, Start
from cpsched.model.jobtable import JobTable
from cpsched.model.speedup import MILLION, seconds_on
from cpsched.papers.malleable.resizing import Changes, may_change
from cpsched.papers.malleable.sizes import Strategy, grown, shrunk
from cpsched.util.types import JobType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.decision import Action, Decision
    from cpsched.model.jobtable import RunningTable
    from cpsched.model.view import View
    from cpsched.util.types import FloatArray, IntArray


class Malleable(Wrapper):
    """
    Sizes (numbers of tasks) of malleable jobs by a strategy, around another dispatcher.

    The other dispatcher sees each moldable and malleable job with its starting size and decides the
    starts. Running malleable jobs then shrink for waiting jobs, in the order of the queue. A job
    that overtakes the first waiting one must be expected to end before the planned start of that
    job. Running jobs grow into idle capacity if they gain more time than the resize costs.

    Parameters
    ----------
    strategy
        ``minimum``: jobs start with their fewest tasks. ``preferred``: with the preferred number,
        and shrink to the fewest. ``keep-preferred``: they never shrink below the preferred number.
        ``average``: as ``minimum``, but jobs share idle capacity in proportion to their ranges.
    dispatcher
        Specification of the wrapped dispatcher.
    depth
        Number of waiting jobs for which running jobs may shrink in one decision.
    """

    name = "malleable"
    family = "jobs that change size"
    good_for = "jobs that may change size while they run"
    goes_wrong_when = "resizing is expensive, or jobs scale badly"
    works_with = "malleable"
    allocator: Allocator

    def __init__(
        self, strategy: str = "keep-preferred", dispatcher: str = "easy", depth: int = 20
    ) -> None:
        super().__init__(dispatcher)
        if self.inner.allocator is None:
            raise ConfigError(
                f"is {dispatcher}, which has no allocator. Use one such as easy.", key="dispatcher"
            )
        check_least("depth", depth, 1)
        self._strategy = one_of(Strategy, strategy, "strategy")
        self._depth = depth
        # Ends let others grow, whether a job waits or not.
        self.acts_when_idle = True
        self._shadow = Shadow()

    def decide(self, view: View) -> Decision:
        """
        Return the other dispatcher's starts, more starts by shrinking jobs, and jobs that grow.
        """
        shown = self.shown(view)
        decision = self.inner.decide(shown)
        if any(type(action) is not Start for action in decision.actions):
            return decision
        changes = Changes(view, self.allocator, decision.actions)
        if len(decision.actions) < len(view.waiting) and len(view.running):
            self._make_room(shown, decision, changes)
        grow(changes, self._strategy)
        return decision._replace(
            actions=changes.actions,
            planned_starts=_of_waiting(decision.planned_starts, changes.actions),
        )

    def shown(self, view: View) -> View:
        """Return the view that the other dispatcher sees: each job has its starting size."""
        waiting = view.waiting
        if not self._strategy.starts_small or not len(waiting):
            return view
        chosen = may_change(waiting, JobType.MOLDABLE)
        if not chosen.any():
            return view
        moldable, longer = waiting.take(chosen), np.ones(len(waiting))
        longer[chosen] = slower(moldable.units_min, moldable.units, moldable.serial)
        changed = {
            column: np.ceil(waiting.column(column) * longer).astype(np.int64) for column in TIMES
        }
        changed[c.UNITS] = np.where(chosen, waiting.units_min, waiting.units)
        return self._shadow.view(view, changed)

    def _make_room(self, shown: View, decision: Decision, changes: Changes) -> None:
        """Start jobs that the other dispatcher left waiting, in place of units of running ones."""
        view, columns = changes.view, changes.view.waiting.store.columns
        started = {action.handle for action in decision.actions if isinstance(action, Start)}
        ranking = self.inner.ranking(shown)
        order = (view.waiting.rows if ranking is None else ranking).tolist()
        left = [row for row in order if columns.item(row, c.HANDLE) not in started]
        plan, until = decision.planned_starts, None
        planned = dict(zip(plan.handle, plan.start, strict=True)) if plan else {}
        for row in left[: self._depth]:
            if not self._start(shown, row, changes, until) and until is None:
                # Nothing that starts from now on may delay this one.
                until = planned.get(columns.item(row, c.HANDLE))

    def _start(self, shown: View, row: int, changes: Changes, until: int | None) -> bool:
        """Start a job on what is idle and what running jobs give up; say whether it does."""
        view, store = changes.view, changes.view.waiting.store
        columns = store.columns
        wanted = shown.waiting.store.columns.item(row, c.UNITS)
        sized = may_change(JobTable(store, np.array([row])), JobType.MOLDABLE)[0]
        fewest = columns.item(row, c.UNITS_MIN) if sized else wanted
        each = max(int(store.shapes[columns.item(row, c.SHAPE), c.SHAPE_REQUEST]), 1)
        free_cores = changes.free_cores(row)
        preferred, serial, estimate = (
            columns.item(row, at) for at in (c.UNITS, c.SERIAL, c.RUNTIME_ESTIMATE)
        )

        def in_time(units: int) -> bool:
            seconds = seconds_on(units, max(estimate, 1), preferred, serial)
            return until is None or view.now + seconds <= until

        idle = min(free_cores // each, wanted)
        if fewest <= idle and in_time(idle) and changes.start(row, idle):
            return True
        running = view.running
        able = np.flatnonzero(changes.may_resize)
        if not len(able):
            return False
        weight, least = _weights(running), self._strategy.least(running)
        spare = np.maximum(changes.units - least, 0) * weight
        for units in dict.fromkeys((wanted, fewest)):
            need = units * each - free_cores
            if need > spare[able].sum() or not in_time(units):
                continue
            sizes = changes.units.copy()
            resizable = running.take(able)
            sizes_now = changes.units[able]
            floor = np.minimum(least[able], sizes_now)
            lines = self._strategy.lines(resizable)
            sizes[able] = shrunk(lines, sizes_now, floor, weight[able], max(need, 1))
            if changes.start(row, units, sizes):
                return True
            # Enough in all, but not where the job may be, or in pieces.
            sizes[able] = floor
            if changes.start(row, units, sizes):
                return True
        return False


def grow(changes: Changes, strategy: Strategy) -> None:
    """Let running jobs have what is idle, those that gain more time by it than the pause takes."""
    running = changes.view.running
    free_cores = int(changes.free[:, 0].sum())
    if not free_cores or not changes.may_resize.any():
        return
    largest = running.units_max
    gains = _gain(running, changes.units, largest, changes.view.now) > running.resize_cost
    able = np.flatnonzero(changes.may_resize & (changes.units < largest) & gains)
    if not len(able):
        return
    sizes_now, resizable = changes.units[able], running.take(able)
    sizes = grown(
        strategy.lines(resizable), sizes_now, largest[able], _weights(resizable), free_cores
    )
    gains = _gain(resizable, sizes_now, sizes, changes.view.now) > resizable.resize_cost
    more = np.where(gains, sizes - sizes_now, 0)
    for at in np.argsort(-more, kind="stable")[: int((more > 0).sum())].tolist():
        before, units = int(sizes_now[at]), int(sizes[at])
        # Where there is not so much where the job may be, there is perhaps half of it.
        if not changes.grow(int(able[at]), units) and units > before + 1:
            changes.grow(int(able[at]), before + (units - before) // 2)


def slower(units: IntArray, preferred: IntArray, serial: IntArray) -> FloatArray:
    """Return how many times as long jobs take on some units as on those they prefer."""
    f = serial / MILLION
    ratio: FloatArray = (f + (1 - f) / units) / (f + (1 - f) / preferred)
    return ratio


def _of_waiting(plan: PlannedStarts | None, actions: Sequence[Action]) -> PlannedStarts | None:
    """Return a plan without the jobs that start now."""
    if plan is None:
        return None
    started = {action.handle for action in actions if isinstance(action, Start)}
    planned = zip(plan.handle, plan.start, strict=True)
    start = {handle: second for handle, second in planned if handle not in started}
    return PlannedStarts(
        list(start),
        list(start.values()),
        {handle: nodes for handle, nodes in plan.nodes.items() if handle in start},
        {handle: units for handle, units in plan.units.items() if handle in start},
    )


def _weights(running: RunningTable) -> IntArray:
    """Return the cores of a unit of each job; one where it takes none."""
    return np.maximum(running.request[:, 0], 1)


def _gain(running: RunningTable, sizes_now: IntArray, units: IntArray, now: int) -> FloatArray:
    """Return how many seconds earlier jobs are expected to end on other units."""
    preferred, serial = running.units, running.serial
    ratio = slower(units, preferred, serial) / slower(sizes_now, preferred, serial)
    return (running.expected_end - now) * (1 - ratio)
