"""What `cp-pool` does beyond the thesis: the last plan, jobs that are alike, likely runtimes."""

from dataclasses import replace

import numpy as np
import reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import decisions, dispatcher_for, plain, view_with
from tiny import jobs, machine, run

from cpsched.cp import cpsat, stats
from cpsched.cp.objective import ExpectedCost
from cpsched.dispatch.runtime_distribution import RuntimeHistory

#: The list has long C in the gap before B, which is the better plan's first.
GAP = ref.state_of([2], [((1,), 10)], (1, 20), (2, 5))
WITHOUT_SOLVER = "cp-pool:search=expected-wait,objective=slowdown,limit=1e-9"


def gap_view():
    return view_with(GAP, [3600] * 2, [-50, 0])


def test_the_order_of_the_last_plan_is_tried():
    """Also after its state is restored; the list plan by priority starts C now and B at 20."""
    fresh = dispatcher_for(WITHOUT_SOLVER, gap_view())
    assert fresh.decide(gap_view()).stats[stats.LAST_ORDER_KEPT] == 0
    planned = np.array([[0, 15], [1, 10]])
    fresh.restore({**fresh.state(), "planned": planned})
    again = dispatcher_for(WITHOUT_SOLVER, gap_view())
    again.restore(fresh.state())
    assert again.decide(gap_view()).stats[stats.LAST_ORDER_KEPT] == 1
    assert dict(again.state()["planned"].tolist()) == {0: 15, 1: 10}
    again.reset(gap_view().system, 0)
    assert again.decide(gap_view()).stats[stats.LAST_ORDER_KEPT] == 0


def test_the_thesis_plans_each_time_anew():
    """Whatever the last plan was."""
    thesis = dispatcher_for(f"{WITHOUT_SOLVER},fill=none", gap_view())
    thesis.restore({**thesis.state(), "planned": np.array([[0, 15], [1, 10]])})
    decision = thesis.decide(gap_view())
    assert stats.LAST_ORDER_KEPT not in decision.stats
    assert ref.planned(decision) == {1: 20}


def test_planned_easy_is_cph_without_its_solver(monkeypatch):
    """Job by job what a solver that finds nothing leaves; no model is made."""
    rows = [(20 * k, 1 + k * k % 4, 40 + 97 * k % 300, 600 + 131 * k % 900) for k in range(80)]
    workload = jobs(*rows, user=[f"u{k % 3}" for k in range(80)])
    system = machine((4,), (2,))
    solved = run(workload, system, "cp-pool:limit=1e-9")
    monkeypatch.setattr(cpsat, "new_model", None)
    planned = run(workload, system, "easy-plan")
    assert planned.schedule.start.tolist() == solved.schedule.start.tolist()
    assert planned.decisions["kept"] == solved.decisions["kept"] > 0


@given(drawn=decisions(max_nodes=2, max_waiting=2, max_running=2), times=st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_jobs_that_are_alike_start_in_order_at_no_loss(drawn, times):
    """
    Every job several times: the best value is that of the model without their order.

    Of more jobs than these that model is not proven in any time.
    """
    state, _, _ = drawn
    waiting = [ask for ask in plain(state).waiting for _ in range(times)]
    if not waiting:
        return
    state, num = replace(state, waiting=tuple(waiting)), len(waiting)
    view = view_with(state, [3600] * num, [0] * num)
    limits = cpsat.SolverLimits(deterministic=2)
    free, ordered = (
        dispatcher_for(f"cp-pool:search=slowdown,objective=slowdown,fill={fill}", view).build(view)
        for fill in ("none", "any")
    )
    best, in_order = (
        cpsat.solve(program.model, program.start, limits) for program in (free, ordered)
    )
    assert best.status is in_order.status is cpsat.SolverStatus.OPTIMAL
    assert best.objective == in_order.objective
    starts = np.array(in_order.values).reshape(-1, times)
    assert (np.diff(starts, axis=1) >= 0).all()


def test_plans_are_made_of_likely_runtimes():
    """Of a user whose jobs ran for a minute of an hour; the less likely, the dearer a second."""
    state = ref.state_of([2], [], (1, 3600), (1, 3600))
    view = view_with(state, [3600] * 2, [0] * 2)
    objective = ExpectedCost()
    objective.history = RuntimeHistory()
    jobs = view.waiting
    unknown = objective.divisors(jobs, view.now)
    assert objective.durations(jobs).tolist() == [3600, 3600]
    for _ in range(40):
        objective.history.learn(objective.history.facts(jobs)[0].tolist(), 60)
    assert objective.durations(jobs).tolist() == [60, 60]
    assert (objective.divisors(jobs, view.now) < unknown).all()
