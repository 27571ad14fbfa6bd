"""Sizes and starts decided together: the plans, the model against all plans, and the dispatcher."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from sized import M, R, kinds, sized_jobs, sizes
from tiny import machine, run

from cpsched.cp import cpsat
from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.papers.malleable.model import (
    MalleableTask,
    SizeChoice,
    SizeOption,
    cost,
    list_plan,
    solved_plan,
)
from cpsched.verification import verify

ENOUGH = cpsat.SolverLimits(deterministic=1.0)


def task(*options, runs=False, weight=1):
    """Return a task of options of so many cores and seconds."""
    return MalleableTask(
        [SizeOption(cores, ((cores, seconds),)) for cores, seconds in options], runs, weight
    )


def used(tasks, plan, busy):
    """Return the most cores that a plan uses at any second."""
    runs = [(0, *begin_end_cores) for begin_end_cores in busy]
    for task, choice in zip(tasks, plan, strict=True):
        option = task.options[choice.option]
        runs.append((choice.start, choice.start + option.seconds, option.cores))
    return max(sum(c for a, b, c in runs if a <= second < b) for second, _, _ in runs)


def best(tasks, busy, cores, horizon):
    """Return the least cost of all plans."""
    choices = [
        [
            SizeChoice(start, at)
            for start in (range(1) if task.runs else range(horizon))
            for at in range(len(task.options))
        ]
        for task in tasks
    ]
    plans = (list(plan) for plan in product(*choices))
    return min(cost(tasks, plan) for plan in plans if used(tasks, plan, busy) <= cores)


def test_a_running_job_shrinks_where_a_short_one_waits():
    """Waiting for 100 s costs more than 10 s on half of the cores."""
    tasks = [task((8, 100), (4, 210), runs=True), task((4, 5))]
    assert cost(tasks, list_plan(tasks, [], 8, small=False)) == 205
    tasks = [task((8, 100), (6, 120), runs=True), task((2, 5))]
    plan = list_plan(tasks, [], 8, small=False)
    assert plan == [SizeChoice(0, 0), SizeChoice(100, 0)]
    assert solved_plan(tasks, [], 8, plan, ENOUGH) == [SizeChoice(0, 1), SizeChoice(0, 0)]


TASKS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=2),
        st.booleans(),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40)
@given(TASKS, st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2)), max_size=2))
def test_the_model_s_optimum_is_the_best_of_all_plans(rows, busy):
    rows.sort(key=lambda row: not row[1])
    tasks = [task(*options, runs=runs, weight=weight) for options, runs, weight in rows]
    held = sum(task.options[0].cores for task in tasks if task.runs)
    cores = max(4, held + sum(own for _, own in busy))
    plan = list_plan(tasks, busy, cores, small=False)
    assert used(tasks, plan, busy) <= cores
    optimum = solved_plan(tasks, busy, cores, plan, ENOUGH)
    assert optimum is not None
    assert used(tasks, optimum, busy) <= cores
    assert cost(tasks, optimum) == best(tasks, busy, cores, 13) <= cost(tasks, plan)


def test_one_decision_shrinks_starts_and_later_grows():
    """At 10 the long job gives 4 of 8 cores to the short one, and gets them back after it."""
    workload = sized_jobs(((0, 8, 1000), 2, 8, M), ((10, 4, 20), 4, 4, R))
    schedule = run(workload, machine((8,)), "cp-malleable").schedule
    assert verify(schedule) == []
    assert schedule.start.tolist() == [0, 10]
    history = sizes(schedule, 0)
    assert history[0] == (0, 8)
    assert history[-1] == (30, 8)


def test_the_other_dispatcher_is_woken_when_it_asks_for_it():
    """A plan starts the second job, which the other one has begun to try until 15."""
    workload = sized_jobs(
        ((0, 4, 400), 4, 4, R),
        ((5, 4, 500), 4, 4, R),
        ((5, 4, 500), 4, 4, R),
        restartable=[False, True, True],
    )
    options = ("dispatcher=easy", "seconds=10", "least=450", "share=1.0")
    inner = ",".join(f"dispatcher.{option}" for option in options)
    spec = f"cp-malleable:dispatcher=speculative,{inner}"
    schedule = run(workload, machine((8,)), spec).schedule
    assert verify(schedule) == []
    segments = schedule.segments
    ends = segments.end[segments.leaving == Leaving.REQUEUED]
    assert ends.min() == 15


@settings(max_examples=40)
@given(kinds(), st.sampled_from([((8,),), ((1,),) * 8, ((3,), (5,))]))
def test_whatever_the_jobs_no_work_is_lost(workload, nodes):
    result = run(workload, machine(*nodes), "cp-malleable:window=4,running=4")
    assert verify(result.schedule) == []
    assert (result.schedule.outcome != JobOutcome.NOT_ENDED).all()
