"""
Sizes and starts of jobs decided together: a constraint model on the machine as a pool of cores.

Running jobs that may be resized choose one of a few sizes from now on, waiting jobs one of a few
and a start; a size says how long the job takes. All others that run hold what they hold until they
are expected to end. No more cores are in use at any time than there are; the sum of weighted ends
is least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpsched.cp import cpsat
from cpsched.papers.profile import Profile
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence


class SizeOption(NamedTuple):
    """
    A size that a job may have.

    Attributes
    ----------
    units
        Of the job, at first.
    steps
        From its start, or from now on, to its end: cores, and for how many seconds.
    """

    units: int
    steps: tuple[tuple[int, int], ...]

    @property
    def cores(self) -> int:
        """What the job has at first."""
        return self.steps[0][0]

    @property
    def seconds(self) -> int:
        """From the start to the end."""
        return sum(seconds for _, seconds in self.steps)


class MalleableTask(NamedTuple):
    """
    A job to decide on.

    Attributes
    ----------
    options
        Its sizes; the one it has now comes first. Those of waiting jobs have one step.
    runs
        Whether it runs already.
    weight
        What a second of its end counts.
    """

    options: Sequence[SizeOption]
    runs: bool
    weight: int


class SizeChoice(NamedTuple):
    """A start, in seconds from now on, and the position of an option."""

    start: int
    option: int


def solved_plan(
    tasks: Sequence[MalleableTask],
    busy: Sequence[tuple[int, int]],
    cores: int,
    plan: Sequence[SizeChoice],
    limits: cpsat.SolverLimits,
) -> list[SizeChoice] | None:
    """
    Return the solver's plan; None if it finds none before its limit.

    Parameters
    ----------
    busy
        Until when, in seconds from now on, the other running jobs hold how many cores.
    cores
        All there are.
    plan
        A choice for each task that keeps to all rules: the model's hint and its horizon.
    """
    model = cpsat.new_model("cp-malleable")
    ends = (
        choice.start + max(option.seconds for option in task.options)
        for task, choice in zip(tasks, plan, strict=True)
    )
    horizon = min(max(ends) + max((end for end, _ in busy), default=0), MAX_TIME)
    uses = [
        (model.new_fixed_size_interval_var(0, end, f"busy_{at}"), used_cores)
        for at, (end, used_cores) in enumerate(busy)
    ]
    starts: list[cpsat.IntVar] = []
    chosen: list[cpsat.IntVar] = []
    terms: list[tuple[cpsat.IntVar, int]] = []
    for at, task in enumerate(tasks):
        start: cpsat.LinearExprT = 0
        if not task.runs:
            starts.append(start := model.new_int_var(0, horizon, f"start_{at}"))
            terms.append((start, task.weight))
        own = [model.new_bool_var(f"size_{at}_{position}") for position in range(len(task.options))]
        for literal, option in zip(own, task.options, strict=True):
            terms.append((literal, task.weight * option.seconds))
            second = start
            for used_cores, seconds in option.steps:
                run = model.new_optional_fixed_size_interval_var(second, seconds, literal, "")
                uses.append((run, used_cores))
                second += seconds
        model.add_exactly_one(own)
        chosen += own
    model.add_cumulative([run for run, _ in uses], [used_cores for _, used_cores in uses], cores)
    cpsat.minimize(model, [term for term, _ in terms], [weight for _, weight in terms], 0)
    cpsat.add_hints(model, [*starts, *chosen], _values(tasks, plan))
    solved = cpsat.solve(model, [*starts, *chosen], limits)
    return _plan_of(tasks, solved.values) if solved.has_solution else None


def _values(tasks: Sequence[MalleableTask], plan: Sequence[SizeChoice]) -> list[int]:
    """Return the starts of waiting tasks in a plan, then of each task which options it has."""
    pairs = list(zip(tasks, plan, strict=True))
    return [choice.start for task, choice in pairs if not task.runs] + [
        int(position == choice.option)
        for task, choice in pairs
        for position in range(len(task.options))
    ]


def _plan_of(tasks: Sequence[MalleableTask], values: Sequence[int]) -> list[SizeChoice]:
    """Return the plan that such values are."""
    left = iter(values)
    starts = [0 if task.runs else next(left) for task in tasks]
    return [
        SizeChoice(start, [next(left) for _ in task.options].index(1))
        for task, start in zip(tasks, starts, strict=True)
    ]


def list_plan(
    tasks: Sequence[MalleableTask], busy: Sequence[tuple[int, int]], cores: int, *, small: bool
) -> list[SizeChoice]:
    """
    Return a plan that takes the waiting tasks one after the other, each as early as it can end.

    Parameters
    ----------
    tasks
        Running ones come first.
    small
        Whether running tasks have the smallest of their sizes, and not those they have now.
    """
    profile = Profile(0, cores, ())
    for end, used_cores in busy:
        profile.take(0, end, used_cores)
    plan = []
    for task in tasks:
        if task.runs:
            sizes = range(len(task.options)) if small else [0]
            position = min(sizes, key=lambda at: task.options[at].cores)
            plan.append(SizeChoice(0, position))
            second = 0
            for used_cores, seconds in task.options[position].steps:
                profile.take(second, seconds, used_cores)
                second += seconds
    for task in (task for task in tasks if not task.runs):
        choice = min(
            (
                SizeChoice(start, position)
                for position, option in enumerate(task.options)
                if (start := profile.earliest(option.cores, option.seconds)) is not None
            ),
            key=lambda choice: choice.start + task.options[choice.option].seconds,
        )
        option = task.options[choice.option]
        profile.take(choice.start, option.seconds, option.cores)
        plan.append(choice)
    return plan


def cost(tasks: Sequence[MalleableTask], plan: Sequence[SizeChoice]) -> int:
    """Return the sum of the weighted ends of a plan."""
    return sum(
        task.weight * (choice.start + task.options[choice.option].seconds)
        for task, choice in zip(tasks, plan, strict=True)
    )
