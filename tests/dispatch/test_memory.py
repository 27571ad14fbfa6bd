"""What dispatchers remember between decisions changes no decision."""

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import jobs, let_go, machine, machines, run, starts, workloads

from cpsched.dispatch import passes
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.backfilling import Easy
from cpsched.dispatch.rules import Greedy
from cpsched.model.jobtable import JobTable
from cpsched.model.view import View
from cpsched.simulation.observers import Observer
from cpsched.util.spec import build

pytestmark = pytest.mark.slow

examples = settings(max_examples=60)

REMEMBERING = (
    "fifo",
    "sjf",
    "greedy",
    "greedy:order=slowdown,allocator=best-fit",
    "easy",
    "easy:backfill=sjf,allocator=balanced",
    "easy:order=slowdown,allocator=pack",
)


def same(decision, other):
    """Tell whether two decisions are the same to the last unit."""

    def plain(value):
        plan = value.planned_starts and (
            list(value.planned_starts.handle),
            list(value.planned_starts.start),
            {handle: nodes.tolist() for handle, nodes in value.planned_starts.nodes.items()},
        )
        return [
            (start.handle, *(a.tolist() for a in start.allocation)) for start in value.actions
        ], plan

    return plain(decision) == plain(other)


class Forgetful(Observer):
    """Asks a dispatcher that has seen nothing yet the same, at every decision."""

    def __init__(self, name, system):
        self.name, self.system = name, system
        self.decisions = 0

    def on_decision(self, view, decision, seconds):
        fresh = build("dispatchers", self.name)
        fresh.reset(self.system, 0)
        assert same(decision, fresh.decide(view))
        self.decisions += 1


@given(workload=workloads(max_jobs=20), system=machines(), data=st.data())
@pytest.mark.parametrize("name", REMEMBERING)
@examples
def test_every_decision_is_that_of_a_dispatcher_which_has_seen_nothing(
    name, workload, system, data
):
    """Whoever starts, ends, arrives, or is let go into the middle of the queue in between."""
    run(let_go(data, workload), system, name, observers=[Forgetful(name, system)])


@pytest.mark.parametrize("name", ["greedy", "easy"])
def test_more_requests_than_are_counted_by_free_capacity(name):
    """Seventy requests wait at once, and only for 64 are nodes counted by room."""
    num = 70
    workload = jobs(
        *[(index // 8, 2, 3 + index % 5) for index in range(num)],
        request=[(1, 1 + index) for index in range(num)],
        nodes_max=[1 + index % 2 for index in range(num)],
        resources=("core", "mem"),
    )
    system = machine((4, 200), (4, 200), (4, 200), resources=("core", "mem"))
    forgetful = Forgetful(name, system)
    run(workload, system, name, observers=[forgetful])
    assert forgetful.decisions > 40


@pytest.mark.parametrize("allocator", ref.POLICIES)
def test_nodes_that_hold_more_units_than_are_counted(allocator):
    """
    Nodes of 200 cores, 150 and 140 of them busy: 100 units fit on two of three nodes, not on one.

    ::

        n2 |....................   200
        n1 |##############......    60
        n0 |###############.....    50
    """
    system = machine((200,), (200,), (200,))
    rows = [(0, 150, 10), (0, 140, 10), (0, 200, 5), (1, 100, 3), (1, 110, 3), (1, 201, 3)]
    workload = jobs(*rows, nodes_max=[1, 1, 1, 2, 2, 2])
    for name in ("greedy:order=fifo", "easy"):
        name = f"{name}{',' if ':' in name else ':'}allocator={allocator}"
        forgetful = Forgetful(name, system)
        result = run(workload, system, name, observers=[forgetful]).schedule
        # 100 of the 110 at 1, all 110 when they are back at 4; 201 when all of n2 is free.
        assert result.start.tolist() == [0, 0, 0, 1, 4, 7]


@given(state=ref.states(), others=st.lists(ref.states(), max_size=3))
@examples
def test_another_store_or_queue_is_noticed(state, others):
    """One dispatcher is asked about views that have nothing to do with each other."""
    for dispatcher in (Easy(), Greedy("slowdown", "best-fit")):
        alike = [
            candidate for candidate in others if len(candidate.capacity) == len(state.capacity)
        ]
        view = ref.view_of(state)
        dispatcher.reset(view.system, 0)
        for shown in (state, *alike, state):
            if shown.capacity != state.capacity:
                continue
            fresh = type(dispatcher)(
                *(() if isinstance(dispatcher, Easy) else ("slowdown", "best-fit"))
            )
            fresh.reset(view.system, 0)
            other = ref.view_of(shown)
            assert same(dispatcher.decide(other), fresh.decide(other))


@given(state=ref.states(), data=st.data())
@examples
def test_parts_of_a_queue(state, data):
    """A dispatcher that is shown now these, now those of the waiting jobs misses none of them."""
    view = ref.view_of(state)
    dispatcher = Easy(backfill="sjf")
    dispatcher.reset(view.system, 0)
    for _ in range(3):
        shown = data.draw(
            st.lists(st.booleans(), min_size=len(view.waiting), max_size=len(view.waiting))
        )
        rows = view.waiting.rows[np.array(shown, dtype=np.bool_)]
        rows.flags.writeable = False
        part = View(
            view.now, view.system, view.free, view.node_up, view.eligible,
            JobTable(view.waiting.store, rows), view.running,
        )  # fmt: skip
        fresh = Easy(backfill="sjf")
        fresh.reset(view.system, 0)
        if len(rows):
            assert same(dispatcher.decide(part), fresh.decide(part))


@given(workload=workloads(max_jobs=20), system=machines(), data=st.data())
@examples
def test_ranking_fewer_jobs_of_a_kind_changes_nothing(workload, system, data):
    """With and without the knowledge that a priority goes by age; most jobs are alike."""
    kinds = data.draw(st.integers(1, 3))
    alike = workload.take(np.sort(np.arange(len(workload)) % kinds)).with_columns(
        submit=workload.submit, job_id=workload.job_id
    )
    for name in ("expected-wait", "slowdown", "wfp3", "unicef", "multifactor", "f1"):
        quick, slow = Greedy(name), Greedy(name)
        slow.priority.by_age = False
        assert starts(alike, system, quick) == starts(alike, system, slow)


class Again(Observer):
    """Lets passes over one view follow each other, and compares each with one that comes alone."""

    def __init__(self, policy, system):
        self.policy, self.system = policy, system
        self.allocator = self.fresh()

    def fresh(self):
        """Return an allocator that has seen nothing."""
        allocator = make_allocator(self.policy)
        allocator.reset(self.system)
        return allocator

    def on_decision(self, view, decision, seconds):
        if not len(view.waiting):
            return
        rows, behind = view.waiting.rows, passes.frozen(view.waiting.rows[::-1].copy())
        fits = passes.fits_now(view, rows, self.allocator)
        assert fits.tolist() == passes.fits_now(view, rows, self.fresh()).tolist()
        for first, second in ((rows, behind), (behind, rows), (rows, rows)):
            placement = passes.easy_pass(view, first, second, self.allocator)
            alone = passes.easy_pass(view, first, second, self.fresh())
            assert same(passes.decision_of(view, placement), passes.decision_of(view, alone))
            placement = passes.list_pass(view, second, self.allocator, stop=False)
            alone = passes.list_pass(view, second, self.fresh(), stop=False)
            assert same(passes.decision_of(view, placement), passes.decision_of(view, alone))


@given(workload=workloads(max_jobs=15), system=machines())
@pytest.mark.parametrize("policy", ref.POLICIES)
@examples
def test_passes_over_one_view_do_not_see_each_other(policy, workload, system):
    """Each finds all free that was."""
    run(workload, system, "easy", observers=[Again(policy, system)])
