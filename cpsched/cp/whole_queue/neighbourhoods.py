"""
Large neighbourhoods around a plan: CP-SAT replans a few jobs, the rest stays.

A whole window is too large to be improved in the milliseconds a decision has; a dozen jobs that
are planned close to each other are not.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import cpsat, stats
from cpsched.cp.objective import whole_weights
from cpsched.cp.pool import add_pool
from cpsched.cp.solve import BuiltModel
from cpsched.kernels import pool, scenarios

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.cp.whole_queue.tasks import QueuePlan, Tasks

#: Jobs replanned at once.
_SIZE = 12


def improve(
    tasks: Tasks, plan: QueuePlan, rounds: int, limits: cpsat.Limits
) -> tuple[QueuePlan, dict[str, float]]:
    """
    Return the best plan found in some neighbourhoods, never a worse one, and statistics.

    A group is a dozen jobs that start one after the other; the first begins with the first start,
    each of the next half a group later.
    """
    numbers: defaultdict[str, float] = defaultdict(float)
    for turn in range(rounds):
        group = _group(tasks, plan, turn)
        if not len(group):
            break
        if not _is_worth_it(tasks, plan, group):
            continue
        found = _replan(tasks, plan, group, limits, numbers)
        if found.cost < plan.cost:
            plan = found
            numbers[stats.IMPROVED] += 1
    return plan, numbers


def first_model(tasks: Tasks, plan: QueuePlan) -> BuiltModel | None:
    """Return the model of a plan's first group, None where no job in it waits."""
    group = _group(tasks, plan, 0)
    if not _is_worth_it(tasks, plan, group):
        return None
    model, start, weights = _model(tasks, plan, group)
    return BuiltModel(
        model=model,
        value=lambda starts: sum(w * s for w, s in zip(weights, starts.tolist(), strict=True)),
        start=tuple(start),
        subject="the first neighbourhood of the plan",
    )


def _is_worth_it(tasks: Tasks, plan: QueuePlan, group: IntArray) -> bool:
    return len(group) > 1 and bool((plan.start[group] > tasks.ready[group]).any())


def _group(tasks: Tasks, plan: QueuePlan, turn: int) -> IntArray:
    start = plan.start[: tasks.num_waiting]
    movable = np.flatnonzero(start >= 0)
    movable = movable[np.argsort(start[movable], kind="stable")]
    first = turn * _SIZE // 2
    return movable[first : first + _SIZE]


def _replan(
    tasks: Tasks,
    plan: QueuePlan,
    group: IntArray,
    limits: cpsat.Limits,
    numbers: dict[str, float],
) -> QueuePlan:
    """Solve a group's model; return the list plan in the order of its answer, or the plan given."""
    model, start, _ = _model(tasks, plan, group)
    solved = cpsat.solve(model, start, limits)
    for name, value in stats.of_solve(solved, len(group)).items():
        numbers[name] += value
    if not solved.has_solution:
        return plan
    moved = plan.start.copy()
    moved[group] = np.asarray(solved.values, dtype=np.int64) + int(tasks.times[0])
    order = np.argsort(moved[: tasks.num_waiting], kind="stable")
    return tasks.plan(order)


def _model(
    tasks: Tasks, plan: QueuePlan, group: IntArray
) -> tuple[cpsat.CpModel, list[cpsat.IntVar], list[int]]:
    """
    Build the model of a group on what all others leave, with the weights of its starts.

    Times are seconds from now on.
    """
    others = np.ones(len(plan.start), dtype=np.bool_)
    others[group] = False
    times, level = pool.pool_left(
        plan.start, tasks.duration, tasks.demand, others, tasks.times, tasks.level
    )
    now = int(tasks.times[0])
    duration = tasks.duration[group]
    horizon = int((plan.start[group] + duration).max()) - now
    model = cpsat.new_model("neighbourhood")
    start = [
        model.new_int_var(ready - now, horizon - length, f"start_{handle}")
        for handle, ready, length in zip(
            tasks.handle[group].tolist(),
            tasks.ready[group].tolist(),
            duration.tolist(),
            strict=True,
        )
    ]
    inside = times - now < horizon
    add_pool(
        model, start, duration.tolist(), tasks.demand[group],
        times[inside] - now, level[inside], horizon,
    )  # fmt: skip
    weights = whole_weights(_divisors(tasks, plan, group), horizon)
    model.minimize(sum(w * s for w, s in zip(weights, start, strict=True)))
    cpsat.add_hints(model, start, (plan.start[group] - now).tolist())
    return model, start, weights


def _divisors(tasks: Tasks, plan: QueuePlan, group: IntArray) -> IntArray:
    """Return how many seconds of wait cost one unit, where the plan has each job."""
    slope: np.ndarray = scenarios.cost_slope(
        plan.start[group] - tasks.submit[group], tasks.duration[group], tasks.patience
    )
    return np.maximum(np.rint(1 / slope), 1).astype(np.int64)
