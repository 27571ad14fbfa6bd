"""Passes that start jobs now, in the native core: worked examples with numbers."""

import numpy as np
import pytest

from cpsched import _core
from cpsched.model import columns as c

FIRST_FIT = 0
EASY = 0


class Nodes:
    """Nodes of some cores, all jobs on which ask for one core a task."""

    def __init__(self, *cores, up=None):
        self.capacity = np.array(cores, dtype=np.int64)[:, None]
        self.free = self.capacity.copy()
        self.eligible = np.array([[True] * len(cores) if up is None else up])
        # Class of nodes, split, contiguous, exclusive, segment and switches; one core a task.
        self.requests = np.array([[0, 0, 0, 0, 0, 0, 1, 0, 2**40]])
        self.columns = np.zeros((16, c.NUM_COLUMNS), dtype=np.int64)
        self.num_jobs = 0
        self.node, self.amount = [], []
        self.running = []
        levels = np.zeros((0, len(cores)), dtype=np.int64)
        self.memory = _core.PassMemory(FIRST_FIT, self.capacity, levels)
        self.store = object()

    def job(self, tasks, duration=1, nodes_min=1, nodes_max=2**31):
        """Add a waiting job; return its row."""
        row = self.num_jobs
        self.num_jobs += 1
        columns = [c.UNITS, c.RUNTIME_ESTIMATE, c.NODES_MIN, c.NODES_MAX]
        self.columns[row, columns] = tasks, duration, nodes_min, nodes_max
        return row

    def run(self, end, **tasks):
        """Add a job that runs until a second: its tasks on nodes n0, n1 and so on."""
        row = self.job(sum(tasks.values()))
        self.columns[row, [c.STATE, c.EXPECTED_END]] = c.RUNNING, end
        self.columns[row, [c.ALLOC_FIRST, c.ALLOC_COUNT]] = len(self.node), len(tasks)
        for name, count in tasks.items():
            self.node.append(int(name[1:]))
            self.amount.append([count])
            self.free[self.node[-1]] -= count
        self.running.append(row)

    def look(self):
        """Return the passes, which look at these nodes at second 0."""
        self.memory.look_at(self.store, self.columns, self.requests, self.eligible, self.free, 0)
        running, node, count = (
            np.array(values, dtype=np.int64)
            for values in (self.running, self.node, [1] * len(self.node))
        )
        amount = np.array(self.amount, dtype=np.int64).reshape(-1, 1)
        self.memory.look_at_running(0, running, node, count, amount)
        return self.memory

    def list(self, *rows, stop=False):
        """Return which jobs a list pass starts, and on which nodes with how many tasks."""
        return starts_of(self.look().list(np.array(rows), stop))

    def easy(self, *rows):
        """Return what EASY starts, and the reservation: job, second, nodes."""
        result = self.look().easy(np.array(rows), np.array(rows), EASY)
        return starts_of(result), result and (*result[5:7], result[7].tolist())


def starts_of(result):
    """Return the tasks on nodes by job that starts."""
    if result is None:
        return {}
    rows, bounds, node, tasks, amount = result[:5]
    assert amount[:, 0].tolist() == tasks.tolist()
    return {
        int(row): dict(zip(node[first:end].tolist(), tasks[first:end].tolist(), strict=True))
        for row, first, end in zip(rows, bounds[:-1], bounds[1:], strict=True)
    }


def test_a_list_stops_or_goes_on_where_a_job_does_not_fit():
    nodes = Nodes(4, 4)
    first, second, third = nodes.job(5), nodes.job(4), nodes.job(3)
    assert nodes.list(first, second, third, stop=True) == {first: {0: 4, 1: 1}}
    assert nodes.list(first, second, third) == {first: {0: 4, 1: 1}, third: {1: 3}}
    assert nodes.list(second, first, third) == {second: {0: 4}, third: {1: 3}}


def test_first_fit_passes_over_a_node_that_would_leave_too_few():
    """Five tasks on two of three nodes with one, two and three free cores: not on the first."""
    nodes = Nodes(1, 2, 3)
    assert nodes.list(nodes.job(5, nodes_max=2)) == {0: {1: 2, 2: 3}}
    assert nodes.list(nodes.job(6, nodes_max=2)) == {}
    # A task is left for each node that the job must have.
    assert nodes.list(nodes.job(4, nodes_min=3)) == {2: {0: 1, 1: 2, 2: 1}}


def test_easy_reserves_for_the_head_and_backfills():
    """
    Six tasks wait until second 10, when the running job's node is free again.

    Until then two cores are of use to who ends in time, or to two tasks beside the reservation.
    """
    nodes = Nodes(4, 4)
    nodes.run(10, n0=4)
    nodes.run(20, n1=2)
    head = nodes.job(6, duration=5)
    too_long, short = nodes.job(2, duration=11), nodes.job(2, duration=10)
    assert nodes.easy(head, too_long) == ({}, (head, 10, [0, 1]))
    assert nodes.easy(head, too_long, short) == ({short: {1: 2}}, (head, 10, [0, 1]))
    smaller = nodes.job(5, duration=5)
    one_core = nodes.job(1, duration=100)
    # What is busy now is reserved first, so one core of the second node stays free throughout.
    assert nodes.easy(smaller, one_core) == ({one_core: {1: 1}}, (smaller, 10, [0, 1]))


def test_easy_waits_for_what_it_starts_itself():
    nodes = Nodes(4)
    started, head = nodes.job(3, duration=7), nodes.job(4)
    assert nodes.easy(started, head) == ({started: {0: 3}}, (head, 7, [0]))


def test_easy_passes_over_a_job_that_never_fits():
    """One of the two nodes is down."""
    nodes = Nodes(4, 4, up=[True, False])
    never, again, fitting = nodes.job(8), nodes.job(8), nodes.job(4)
    assert nodes.easy(never, again, fitting) == ({fitting: {0: 4}}, (-1, 0, []))
    assert nodes.easy(never, again) == ({}, None)


@pytest.mark.parametrize("num_running", [17, 200])
def test_a_reservation_after_many_ends(num_running):
    """The head needs all nodes, the last of which is free last."""
    nodes = Nodes(*[1] * num_running)
    nodes.columns = np.zeros((num_running + 1, c.NUM_COLUMNS), dtype=np.int64)
    for index in range(num_running):
        nodes.run(5 + index, **{f"n{index}": 1})
    head = nodes.job(num_running)
    assert nodes.easy(head) == ({}, (head, num_running + 4, list(range(num_running))))


def test_candidates_are_as_many_of_a_class_as_fit_together():
    nodes = Nodes(4, 3)
    alike = [nodes.job(2) for _ in range(5)]
    large = nodes.job(8)
    rows = np.array([large, *alike])
    assert nodes.look().candidates(rows, by_age=True).tolist() == alike[:3]
    assert nodes.look().candidates(rows, by_age=False).tolist() == alike
    fits = np.zeros(len(rows), dtype=np.bool_)
    nodes.look().fits_now(rows, fits)
    assert fits.tolist() == [False] + [True] * 5


def test_what_is_free_is_followed_from_pass_to_pass():
    nodes = Nodes(4, 4)
    job = nodes.job(6)
    assert nodes.list(job) == {job: {0: 4, 1: 2}}
    nodes.free[0] = 1
    assert nodes.list(job) == {}
    nodes.free[0] = 2
    assert nodes.list(job) == {job: {0: 2, 1: 4}}
