"""``cp-malleable``: sizes and starts decided together by constraint programming."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.cp import cpsat
from cpsched.dispatch.wrapper import Wrapper
from cpsched.errors import ConfigError, check_least
from cpsched.model.decision import Decision, Start
from cpsched.model.speedup import parts_per_second
from cpsched.papers.malleable.dispatcher import grow, slower
from cpsched.papers.malleable.model import MalleableTask, SizeOption, cost, list_plan, solved_plan
from cpsched.papers.malleable.resizing import Changes, may_change
from cpsched.papers.malleable.sizes import Strategy
from cpsched.util.types import JobType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable, RunningTable
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.papers.malleable.model import SizeChoice
    from cpsched.util.spec import Seconds
    from cpsched.util.types import IntArray

#: Statistics.
SOLVES, IMPROVED = "solves", "improved"


class CpMalleable(Wrapper):
    """
    Sizes (numbers of tasks) and starts of jobs, planned together by CP-SAT.

    Another dispatcher decides first. If it starts all jobs, running jobs grow into idle capacity.
    If jobs wait, a window of them is planned together with the running malleable jobs that can
    release most. The plan minimizes the sum of weighted ends. Its immediate starts are made, and
    running jobs get its sizes.

    Parameters
    ----------
    dispatcher
        The dispatcher that decides first. Its decision stands if the plan finds no nodes.
    window, running
        Largest numbers of waiting and of running jobs in a plan. One in four jobs of the window are
        those with the longest waits, the others those with the least expected work.
    aging
        Seconds of waiting after which the end of a job counts twice (after twice as many: three
        times).
    limit
        Work limit of a solver call, in CP-SAT's deterministic time (the same on every computer).
    """

    name = "cp-malleable"
    family = "jobs that change size"
    good_for = "jobs that may change size while they run, where turnaround matters"
    goes_wrong_when = "decisions must be fast, or runtime estimates are poor"
    works_with = "malleable"
    allocator: Allocator

    def __init__(
        self,
        dispatcher: str = "easy",
        window: int = 20,
        running: int = 30,
        aging: Seconds = 86400,
        limit: float = 0.0005,
    ) -> None:
        super().__init__(dispatcher)
        if self.inner.allocator is None:
            raise ConfigError(
                f"is {dispatcher}, which has no allocator. Use one such as easy.", key="dispatcher"
            )
        for key, value in (("window", window), ("running", running), ("aging", aging)):
            check_least(key, value, 1)
        self._window, self._running, self._aging = window, running, aging
        self._limits = cpsat.SolverLimits(deterministic=limit, presolve=False)
        self.acts_when_idle = True
        #: The second of the last plan: running jobs change only once in it.
        self._planned = -1

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        self._limits = replace(self._limits, seed=seed)
        self._planned = -1

    def state(self) -> Mapping[str, Any]:
        """
        Return the second of the last plan and the state of the other dispatcher, for a checkpoint.
        """
        return {**super().state(), "planned": self._planned}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        super().restore(state)
        self._planned = int(state["planned"])

    def decide(self, view: View) -> Decision:
        """Return the decision of the other dispatcher, or of a plan if jobs would wait."""
        decision = self.inner.decide(view)
        if any(type(action) is not Start for action in decision.actions):
            return decision
        waits = len(decision.actions) < len(view.waiting)
        if waits and self._planned == view.now:
            # What the plan of this second left idle is for the next event.
            return Decision(again_at=view.now + 1) if not decision.actions else decision
        if not waits:
            changes = Changes(view, self.allocator, decision.actions)
            grow(changes, Strategy.AVERAGE)
            return decision._replace(actions=changes.actions)
        return self._plan(view, decision)

    def _plan(self, view: View, decision: Decision) -> Decision:
        """Follow a plan; where it starts and changes nothing, the other dispatcher's decision."""
        changes = Changes(view, self.allocator, ())
        running = self._resizable(changes)
        busy = _busy(view, np.setdiff1d(np.arange(len(view.running)), running))
        planned_cores = sum(_cores(view.running, at) for at in running.tolist())
        cores = int(view.free[:, 0].sum()) + planned_cores + sum(own for _, own in busy)
        waiting = self._chosen(view)
        least = np.where(may_change(waiting, JobType.MOLDABLE), waiting.units_min, waiting.units)
        waiting = waiting.take(least * waiting.request[:, 0] <= cores)
        wait = self._waiting_tasks(view, waiting, cores)
        first = _lacking(changes, wait[0], int(waiting.rows[0])) if wait else (0, 0)
        tasks = [*_running_tasks(changes, running, first), *wait]
        if not tasks:
            # No job fits what is up.
            return decision
        # What jobs alone on their nodes hold is rounded up.
        cores += sum(task.options[0].cores for task in tasks if task.runs) - planned_cores
        plans = [list_plan(tasks, busy, cores, small=small) for small in (False, True)]
        plan = min(plans, key=lambda plan: cost(tasks, plan))
        numbers: dict[str, float] = {SOLVES: 1}
        solution = solved_plan(tasks, busy, cores, plan, self._limits)
        if solution is not None and cost(tasks, solution) < cost(tasks, plan):
            plan = solution
            numbers[IMPROVED] = 1
        self._follow(changes, running, waiting.rows, tasks, plan)
        if not changes.actions:
            return decision._replace(stats={**decision.stats, **numbers})
        self._planned = view.now
        return Decision(changes.actions, again_at=decision.again_at, stats=numbers)

    def _resizable(self, changes: Changes) -> IntArray:
        """Return the running jobs that a plan may resize: those that have most to give or get."""
        running = changes.view.running
        able = np.flatnonzero(changes.may_resize)
        spread = (running.units_max - running.units_min) * np.maximum(running.request[:, 0], 1)
        return np.sort(able[np.argsort(-spread[able], kind="stable")][: self._running])

    def _chosen(self, view: View) -> JobTable:
        """Return the waiting jobs of the plan, in the order in which they are planned."""
        waiting = view.waiting
        oldest = np.arange(len(waiting))[: max(self._window // 4, 1)]
        order = np.argsort(waiting.ranking_estimate, kind="stable")
        order = order[~np.isin(order, oldest)][: self._window - len(oldest)]
        jobs = waiting.take(np.sort(np.concatenate([oldest, order])))
        age = 1 + (view.now - jobs.submit) / self._aging
        return jobs.take(np.argsort(jobs.ranking_estimate / age, kind="stable"))

    def _waiting_tasks(self, view: View, jobs: JobTable, max_cores: int) -> list[MalleableTask]:
        """Return the waiting jobs with those of their sizes that the machine has."""
        able = may_change(jobs, JobType.MOLDABLE)
        least, largest = (
            np.where(able, bound, jobs.units) for bound in (jobs.units_min, jobs.units_max)
        )
        sizes = np.stack([jobs.units, least, largest], axis=1)
        preferred, serial = jobs.units[:, None], jobs.serial[:, None]
        estimate = np.maximum(jobs.runtime_estimate, 1)[:, None]
        seconds = np.ceil(estimate * slower(sizes, preferred, serial)).astype(np.int64)
        weight = 1 + (view.now - jobs.submit) // self._aging
        cores = sizes * jobs.request[:, :1]
        large = cores > max_cores
        for column in (sizes, cores, seconds):
            np.copyto(column, column[:, 1:2], where=large)
        rows = zip(sizes.tolist(), cores.tolist(), seconds.tolist(), weight.tolist(), strict=True)
        tasks = []
        for *columns, own in rows:
            # Distinct sizes, the first of each first.
            by_size = {
                units: SizeOption(units, ((used_cores, length),))
                for units, used_cores, length in zip(*columns, strict=True)
            }
            tasks.append(MalleableTask(list(by_size.values()), runs=False, weight=own))
        return tasks

    def _follow(
        self,
        changes: Changes,
        running: IntArray,
        rows: IntArray,
        tasks: list[MalleableTask],
        plan: list[SizeChoice],
    ) -> None:
        """Carry out what a plan does now: shrink, start, grow."""
        units = [
            task.options[choice.option].units for task, choice in zip(tasks, plan, strict=True)
        ]
        for at, size in zip(running.tolist(), units, strict=False):
            if size < changes.units[at]:
                changes.shrink(at, size)
        for row, choice, size in zip(
            rows.tolist(), plan[len(running) :], units[len(running) :], strict=True
        ):
            if choice.start == 0:
                changes.start(row, size)
        for at, size in zip(running.tolist(), units, strict=False):
            if size > changes.units[at] and changes.may_resize[at]:
                changes.grow(at, size)


def _lacking(changes: Changes, task: MalleableTask, row: int) -> tuple[int, int]:
    """Return how many cores a waiting job with its fewest units lacks, and how long it takes."""
    option = min(task.options, key=lambda option: option.cores)
    return max(option.cores - changes.free_cores(row), 0), option.seconds


def _running_tasks(
    changes: Changes, which: IntArray, first: tuple[int, int]
) -> list[MalleableTask]:
    """
    Return running jobs with some of their sizes; another one than now takes a pause.

    What they have now, would choose, their fewest and their most units, and half of what is above
    the fewest; without as many cores as the first waiting job lacks, to their end, and for as long
    only as that one runs.
    """
    jobs, now = changes.view.running.take(which), changes.view.now
    left = np.maximum(jobs.expected_end - now, 1)
    columns = (jobs.units, jobs.units_min, jobs.units_max, jobs.serial, jobs.resize_cost, left)
    rows = zip(*(values.tolist() for values in (*columns, changes.units[which])), strict=True)
    # Of jobs alone on their nodes more cores than they ask for.
    runs = [
        _RunningJob._make((*row, -(-_cores(jobs, at) // row[-1]))) for at, row in enumerate(rows)
    ]
    return [MalleableTask(run.options(first), runs=True, weight=1) for run in runs]


class _RunningJob(NamedTuple):
    """A running job: its description, the seconds left to it, its units, and the cores of one."""

    preferred: int
    units_min: int
    units_max: int
    serial: int
    pause: int
    left: int
    units: int
    each: int

    def options(self, first: tuple[int, int]) -> list[SizeOption]:
        """Return its sizes, the present one first."""
        options = [SizeOption(self.units, ((self.each * self.units, self.left),))]
        sizes = {self.preferred, self.units_min, self.units_max, (self.units + self.units_min) // 2}
        lacks, seconds = first
        without = self.units - -(-lacks // self.each)
        if lacks and without >= self.units_min:
            sizes.add(without)
            options += self._lent(without, seconds)
        return options + [self._sized(units) for units in sorted(sizes - {self.units})]

    def _sized(self, units: int) -> SizeOption:
        seconds = self.pause + -(-self._work // self._speed(units))
        return SizeOption(units, ((self.each * units, seconds),))

    def _lent(self, units: int, seconds: int) -> list[SizeOption]:
        """Return, if the job does not end by then, so many units for a while."""
        done = (seconds - self.pause) * self._speed(units)
        if not 0 < done < self._work:
            return []
        rest = self.pause + -(-(self._work - done) // self._speed(self.units))
        return [SizeOption(units, ((self.each * units, seconds), (self.each * self.units, rest)))]

    def _speed(self, units: int) -> int:
        return parts_per_second(units, self.preferred, self.serial)

    @property
    def _work(self) -> int:
        return self.left * self._speed(self.units)


def _busy(view: View, others: IntArray) -> list[tuple[int, int]]:
    """Return until when running jobs that are not planned hold how many cores."""
    running = view.running.take(others)
    ends = np.maximum(running.expected_end - view.now, 1).tolist()
    return [(end, _cores(running, at)) for at, end in enumerate(ends)]


def _cores(running: RunningTable, at: int) -> int:
    """Return how many cores (the first resource kind) a running job holds."""
    return int(running.allocation(at).amount[:, 0].sum())
