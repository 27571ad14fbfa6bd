"""
Sizes and starts of jobs decided together: a constraint model on the machine as a pool of cores.

Running jobs that may be resized choose one of a few sizes from now on, waiting jobs one of a few
and a start; a size says how long the job takes. All others that run hold what they hold until they
are expected to end. No more cores are in use at any time than there are; the sum of weighted ends
is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cpsched.base.types import MAX_TIME
from cpsched.cp import cpsat
from cpsched.dispatch.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Option(NamedTuple):
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


class Task(NamedTuple):
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

    options: Sequence[Option]
    runs: bool
    weight: int


class Choice(NamedTuple):
    """A start, in seconds from now on, and the position of an option."""

    start: int
    option: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes(cpsat.HasModel):
    """
    A model, and the variables that are the answer.

    Attributes
    ----------
    starts
        Of the tasks that wait, in order.
    chosen
        Of each task, whether it has each of its options.
    """

    model: cpsat.CpModel
    tasks: Sequence[Task]
    starts: Sequence[cpsat.IntVar]
    chosen: Sequence[Sequence[cpsat.IntVar]]

    @classmethod
    def of(
        cls, tasks: Sequence[Task], busy: Sequence[tuple[int, int]], cores: int, plan: list[Choice]
    ) -> Sizes:
        """
        Build the model.

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
        horizon = max(
            choice.start + max(option.seconds for option in task.options)
            for task, choice in zip(tasks, plan, strict=True)
        )
        horizon = min(horizon + max((end for end, _ in busy), default=0), MAX_TIME)
        intervals, demands = [], []
        for at, (end, held) in enumerate(busy):
            intervals.append(model.new_fixed_size_interval_var(0, end, f"busy_{at}"))
            demands.append(held)
        starts, chosen = [], []
        variables: list[cpsat.IntVar] = []
        weights: list[int] = []
        for at, task in enumerate(tasks):
            start: cpsat.IntVar | int = 0
            if not task.runs:
                start = model.new_int_var(0, horizon, f"start_{at}")
                starts.append(start)
                variables.append(start)
                weights.append(task.weight)
            own = []
            for position, option in enumerate(task.options):
                literal = model.new_bool_var(f"size_{at}_{position}")
                own.append(literal)
                passed = 0
                for step, (held, seconds) in enumerate(option.steps):
                    name = f"run_{at}_{position}_{step}"
                    intervals.append(
                        model.new_optional_fixed_size_interval_var(
                            start + passed, seconds, literal, name
                        )
                    )
                    demands.append(held)
                    passed += seconds
                variables.append(literal)
                weights.append(task.weight * option.seconds)
            model.add_exactly_one(own)
            chosen.append(own)
        model.add_cumulative(intervals, demands, cores)
        cpsat.minimize(model, variables, weights, 0)
        found = cls(model=model, tasks=tasks, starts=starts, chosen=chosen)
        cpsat.add_hints(model, found.variables, found.values(plan))
        return found

    @property
    def variables(self) -> list[cpsat.IntVar]:
        """All variables: the starts, then the literals."""
        return [*self.starts, *(literal for own in self.chosen for literal in own)]

    def values(self, plan: Iterable[Choice]) -> list[int]:
        """Return the values of all variables in a plan."""
        pairs = list(zip(self.tasks, plan, strict=True))
        starts = [choice.start for task, choice in pairs if not task.runs]
        return starts + [
            int(position == choice.option)
            for task, choice in pairs
            for position in range(len(task.options))
        ]

    def plan_of(self, values: Sequence[int]) -> list[Choice]:
        """Return the plan that values of all variables are."""
        starts, at, found = iter(values), len(self.starts), []
        for task in self.tasks:
            own = values[at : at + len(task.options)]
            at += len(task.options)
            found.append(Choice(0 if task.runs else next(starts), own.index(1)))
        return found


def list_plan(
    tasks: Sequence[Task], busy: Sequence[tuple[int, int]], cores: int, *, small: bool
) -> list[Choice]:
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
    for end, held in busy:
        profile.take(0, end, held)
    plan = []
    for task in tasks:
        if task.runs:
            sizes = range(len(task.options)) if small else [0]
            position = min(sizes, key=lambda at: task.options[at].cores)
            plan.append(Choice(0, position))
            second = 0
            for held, seconds in task.options[position].steps:
                profile.take(second, seconds, held)
                second += seconds
    for task in (task for task in tasks if not task.runs):
        choice = min(
            (
                Choice(start, position)
                for position, option in enumerate(task.options)
                if (start := profile.earliest(option.cores, option.seconds)) is not None
            ),
            key=lambda choice: choice.start + task.options[choice.option].seconds,
        )
        option = task.options[choice.option]
        profile.take(choice.start, option.seconds, option.cores)
        plan.append(choice)
    return plan


def cost(tasks: Sequence[Task], plan: Sequence[Choice]) -> int:
    """Return the sum of the weighted ends of a plan."""
    return sum(
        task.weight * (choice.start + task.options[choice.option].seconds)
        for task, choice in zip(tasks, plan, strict=True)
    )
