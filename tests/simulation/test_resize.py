"""Jobs that are resized, suspended and killed while they run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Does, on
from tiny import jobs, machine, run

from cpsched.dispatch.rules import Fifo
from cpsched.errors import ConfigError, DispatchError
from cpsched.model.decision import Decision, Kill, Requeue, Resize, Start, Suspend
from cpsched.model.estimates import Requested
from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.util.types import JobType
from cpsched.verification import verify


def malleable(*rows, least=1, most=4, **columns):
    num = len(rows)
    values = {"resize_cost": 0, "restartable": True, "job_type": JobType.MALLEABLE} | columns
    several = {name: [value] * num for name, value in values.items()}
    bounds = {"units_min": [least] * num, "units_max": [most] * num}
    return jobs(*rows, **bounds, **several)


FOUR = machine((1,), (1,), (1,), (1,))


def ends(workload, todo, **options):
    schedule = run(workload, FOUR, Does(todo), **options).schedule
    assert verify(schedule, recorded="runtime_model" not in options) == []
    return schedule.end.tolist()


@pytest.mark.parametrize(
    ("todo", "columns", "end"),
    [
        # 100 s on two units are 200 units' seconds.
        ({}, {}, 100),
        ({40: Resize(0, on(0, 1, 2, 3))}, {}, 70),
        ({40: Resize(0, on(3))}, {}, 160),
        ({40: Resize(0, on(0, 1, 2))}, {}, 80),
        # 10 s without progress, whether it grows or shrinks.
        ({40: Resize(0, on(0, 1, 2, 3))}, {"resize_cost": 10}, 80),
        ({40: Resize(0, on(3))}, {"resize_cost": 10}, 170),
        # A second one during the pause waits for its end: 40 to 50, 50 to 60, then 120 / 4.
        (
            {40: Resize(0, on(3)), 45: Resize(0, on(0, 1, 2, 3))},
            {"resize_cost": 10},
            90,
        ),
        # Half of the work alone: twice the units take (1/2 + 1/8) / (1/2 + 1/4) as long.
        ({40: Resize(0, on(0, 1, 2, 3))}, {"serial": 500_000}, 90),
    ],
)
def test_what_is_left_goes_on_at_another_speed(todo, columns, end):
    assert ends(malleable((0, 2, 100), **columns), todo) == [end]


def test_a_limit_is_of_the_units_that_the_job_prefers():
    """50 of 100 s are allowed: 40 s on two units, and 20 s on one."""
    workload = malleable((0, 2, 100)).with_columns(requested_time=np.array([50]))
    schedule = run(workload, FOUR, Does({40: Resize(0, on(3))})).schedule
    assert (schedule.end.tolist(), schedule.outcome.tolist()) == ([60], [JobOutcome.TIMEOUT])
    assert verify(schedule) == []


@pytest.mark.parametrize(
    ("model", "end"), [("recorded", 90), ("amdahl:serial=0", 70), ("amdahl:serial=1", 100)]
)
def test_runtime_models_of_other_sizes(model, end):
    workload = malleable((0, 2, 100), serial=500_000)
    options = {} if model == "recorded" else {"runtime_model": model}
    assert ends(workload, {40: Resize(0, on(0, 1, 2, 3))}, **options) == [end]


@pytest.mark.parametrize("model", ["gpu-scaling", "locality"])
def test_models_of_rigid_jobs_refuse_others(model):
    with pytest.raises(ConfigError, match=f"job 0 may run at other sizes .* {model} is for rigid"):
        run(malleable((0, 2, 100)), FOUR, "fifo", runtime_model=model)


def test_suspended_jobs_keep_all_and_requeued_ones_what_was_saved():
    """Suspended at 40, 60 s are left; queued again with a checkpoint at 30, 70 s; else 100 s."""
    assert ends(malleable((0, 2, 100)), {40: Suspend(0)}) == [100]
    assert ends(malleable((0, 2, 100), restart_cost=5), {40: Suspend(0)}) == [105]
    assert ends(malleable((0, 2, 100), checkpoint=30), {40: Requeue(0)}) == [110]
    assert ends(malleable((0, 2, 100)), {40: Requeue(0)}) == [140]
    # On four units from 20 on: by the checkpoint at 30, 20 and 20 s of 100 are done.
    todo = {20: Resize(0, on(0, 1, 2, 3)), 40: Requeue(0)}
    assert ends(malleable((0, 2, 100), checkpoint=30), todo) == [100]


@pytest.mark.parametrize("cost", [0, 10])
def test_predictors_learn_the_runtime_on_the_units_that_a_job_prefers(cost):
    """100 s on two units, whatever sizes it had and however long it paused."""
    learnt = []

    class Learns(Requested):
        def observe(self, jobs, outcome, now):
            learnt.extend(outcome.runtime.tolist())

    todo = {40: Resize(0, on(0, 1, 2, 3)), 60: Resize(0, on(3))}
    run(malleable((0, 2, 100), resize_cost=cost), FOUR, Does(todo), Learns())
    assert learnt == [100]


def test_a_killed_job_has_ended():
    workload = malleable((0, 4, 100), (1, 4, 10))
    schedule = run(workload, FOUR, Does({40: Kill(0)})).schedule
    assert schedule.end.tolist() == [40, 50]
    assert schedule.outcome.tolist() == [JobOutcome.KILLED, JobOutcome.COMPLETED]
    assert verify(schedule) == []


def test_why_nodes_were_left_is_recorded():
    todo = {20: Resize(0, on(0, 1, 2, 3)), 40: Suspend(0), 50: Resize(0, on(1))}
    segments = run(malleable((0, 2, 100)), FOUR, Does(todo)).schedule.segments
    rows = zip(
        segments.start, segments.end, segments.node, segments.count, segments.leaving, strict=True
    )
    assert [tuple(map(int, row)) for row in rows] == [
        (0, 20, 0, 2, Leaving.RESIZED),
        (20, 40, 0, 4, Leaving.SUSPENDED),
        (40, 50, 0, 2, Leaving.RESIZED),
        (50, 110, 1, 1, Leaving.END),
    ]


@pytest.mark.parametrize(
    ("action", "columns", "message"),
    [
        (
            Resize(0, on(0)),
            {"job_type": JobType.MOLDABLE},
            "cannot resize job 0: the job is not malleable",
        ),
        (Resize(0, on(0)), {"least": 2}, "job 0 is given 1 tasks, but may have 2 to 4"),
        (Resize(0, on(0, 1, 2)), {}, "is given 1 core on node n2, where 0 are free"),
        (Suspend(0), {"restartable": False}, "cannot suspend job 0: the job is not restartable"),
        (Resize(9, on(0)), {}, "cannot resize job 9: the job is not running"),
    ],
)
def test_what_is_refused(action, columns, message):
    workload = malleable((0, 2, 100), (0, 2, 50), **columns)
    with pytest.raises(DispatchError, match=message):
        run(workload, FOUR, Does({4: action}))


def test_a_job_changes_once_a_second():
    class Twice(Does):
        def decide(self, view):
            if view.now >= 4:
                return Decision([Resize(0, on(len(view.running) + view.now % 2))])
            return super().decide(view)

    with pytest.raises(DispatchError, match="the job started or was resized in this second"):
        run(malleable((0, 2, 100)), FOUR, Twice({4: None}))


class Random(Fifo):
    """Does to running jobs whatever is allowed, as a list of numbers says."""

    def __init__(self, numbers):
        super().__init__()
        self.acts_when_idle = True
        self._numbers = numbers

    def state(self):
        """Return what is to be done."""
        return {"numbers": np.array(self._numbers, dtype=np.int64)}

    def restore(self, state):
        """Take up what is to be done."""
        self._numbers = state["numbers"].tolist()

    def decide(self, view):
        """Do the next thing, if the job it is about runs and has not just changed."""
        running = view.running
        fresh = running.since == view.now
        if self._numbers and len(running) and not fresh.all():
            number = self._numbers.pop(0)
            old = np.flatnonzero(~fresh)
            at = int(old[number % len(old)])
            handle = int(running.handle[at])
            free = [*running.allocation(at).node, *np.flatnonzero(view.free[:, 0] > 0)]
            kind, size = number // 7 % 4, 1 + number // 31 % 4
            if kind == 0:
                return Decision([Suspend(handle)], again_at=view.now + 3)
            if kind == 1:
                return Decision([Requeue(handle)], again_at=view.now + 2)
            if kind == 2 and number % 5 == 0:
                return Decision([Kill(handle)], again_at=view.now + 1)
            return Decision([Resize(handle, on(*sorted(free)[:size]))], again_at=view.now + 5)
        decision = super().decide(view)
        goes_on = self._numbers and (len(running) or len(view.waiting))
        return decision._replace(again_at=view.now + 4 if goes_on else None)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 4), st.integers(0, 60)), min_size=1,
             max_size=6),
    st.lists(st.integers(0, 10**4), max_size=25),
    st.sampled_from([0, 7]), st.sampled_from([0, 3]), st.sampled_from([0, 2]),
    st.sampled_from([0, 200_000]),
)  # fmt: skip
def test_work_is_conserved_whatever_happens(rows, numbers, checkpoint, restart, cost, serial):
    """The verifier does the sums of every job's work again from the record alone."""
    workload = malleable(
        *sorted(rows), checkpoint=checkpoint, restart_cost=restart, resize_cost=cost, serial=serial
    )
    result = run(workload, FOUR, Random(list(numbers)))
    assert verify(result.schedule) == []
    assert (result.schedule.outcome != JobOutcome.NOT_ENDED).all()


def test_a_start_may_have_any_number_of_units():
    """A moldable job of 100 s on two units runs for 50 s on four."""

    class Wide(Fifo):
        def decide(self, view):
            return Decision([Start(0, on(0, 1, 2, 3))] if len(view.waiting) else [])

    schedule = run(malleable((0, 2, 100), job_type=JobType.MOLDABLE), FOUR, Wide()).schedule
    assert schedule.end.tolist() == [50]
    assert verify(schedule) == []
