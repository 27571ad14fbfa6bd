"""A limit of switches that counts for a while only, and what the engine checks of places."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.dispatch.rules import Fifo
from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import DispatchError, InfeasibleRequestError
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Start
from cpsched.model.topology import Topology, TopologyKind
from cpsched.systems.mapping import fit
from cpsched.util.types import Status
from cpsched.verification import verify


class OneSwitch(Fifo):
    """Starts the first job, on every other node; one with a limit of switches never."""

    def decide(self, view):
        waiting = view.waiting
        for job in waiting:
            if job.max_switches == 0:
                node = np.flatnonzero(view.free[:, 0])[::2][: job.units]
                if len(node) == job.units:
                    ones = np.ones(len(node), dtype=np.int64)
                    return Decision((Start(job.handle, Allocation(node, ones, ones[:, None])),))
        return Decision(())


def tree(num=8, size=2, **more):
    return replace(machine(*[(1,)] * num), topology=Topology(num, (size,), **more))


def request(units, **more):
    return Request(units=units, nodes_min=units, nodes_max=units, requested_time=10, **more)


def waiting_switches(cluster, now):
    return cluster.view(now).waiting.max_switches.tolist()


def test_the_dispatcher_is_woken_when_the_limit_has_passed():
    cluster = Cluster(tree(), OneSwitch())
    cluster.submit(request(2, max_switches=1, switch_wait=30), 10)
    cluster.submit(request(2, max_switches=1), 10)
    assert cluster.decide(10).actions == ()
    assert cluster.next_wake == 40
    assert not cluster.is_due(39)
    assert waiting_switches(cluster, 39) == [1, 1]
    assert cluster.is_due(40)
    assert waiting_switches(cluster, 40) == [0, 1]
    (start,) = cluster.decide(40).actions
    cluster.start([start], 40)
    assert cluster.next_wake is None


def test_a_held_job_waits_from_its_release_on():
    cluster = Cluster(tree(), OneSwitch())
    handle = cluster.submit(request(2, max_switches=1, switch_wait=30), 0, held=True)
    assert cluster.next_wake is None
    cluster.release(handle, 50)
    assert cluster.next_wake == 80


def test_a_job_that_has_ended_wakes_nobody():
    cluster = Cluster(tree(), "fifo")
    gone, waiting = (
        cluster.submit(request(2, max_switches=1, switch_wait=wait), 0) for wait in (30, 60)
    )
    cluster.cancel(gone, 5)
    assert cluster.next_wake == 60
    cluster.cancel(waiting, 5)
    assert cluster.next_wake is None


def test_a_start_that_failed_comes_back_without_the_limit_that_passed_meanwhile():
    cluster = Cluster(tree(), "fifo")
    cluster.submit(request(2, max_switches=1, switch_wait=30), 0)
    cluster.start(cluster.decide(0).actions, 0)
    assert not cluster.is_due(30)
    cluster.failed(0, 35)
    assert waiting_switches(cluster, 35) == [0]


def test_limits_that_will_pass_are_saved():
    cluster = Cluster(tree(), OneSwitch())
    cluster.submit(request(2, max_switches=1, switch_wait=30), 10)
    again = Cluster(tree(), OneSwitch())
    saved = cluster.state()
    again.restore(saved)
    assert again.next_wake == 40
    assert again.is_due(40)
    assert waiting_switches(again, 40) == [0]
    later = Cluster(tree(), OneSwitch())
    later.restore(again.state())
    assert later.next_wake is None
    assert waiting_switches(later, 40) == [0]


def test_the_simulator_goes_to_the_second_at_which_a_limit_passes():
    """Nothing else happens at 7: the job starts then, on two switches."""
    workload = jobs(
        (0, 2, 5), (2, 2, 5), nodes_min=[2, 2], nodes_max=[2, 2], max_switches=[0, 1],
        switch_wait=[300, 5],
    )  # fmt: skip
    result = run(workload, tree(), OneSwitch())
    assert result.schedule.start.tolist() == [0, 7]
    assert verify(result.schedule) == []


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"segment": 2}, "job 0 has 1 \\+ 1 nodes leaf switch by leaf switch, in segments of 2"),
        ({"max_switches": 1}, "job 0 touches 2 leaf switches, but may touch at most 1"),
    ],
)
def test_nodes_that_are_not_as_asked_are_refused(asked, complaint):
    cluster = Cluster(tree(), "fifo")
    cluster.submit(request(2, **asked), 0)
    ones = np.ones(2, dtype=np.int64)
    with pytest.raises(DispatchError, match=complaint):
        cluster.start([Start(0, Allocation(np.array([0, 2]), ones, ones[:, None]))], 0)
    cluster.start([Start(0, Allocation(np.array([2, 3]), ones, ones[:, None]))], 0)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"segment": 3}, "no block has more than 2"),
        ({"max_switches": 1}, "its 3 tasks do not fit in at most 1 block"),
    ],
)
def test_what_can_never_be_met_is_refused_at_submit(asked, reason):
    cluster = Cluster(tree(kind=TopologyKind.BLOCK), "fifo")
    with pytest.raises(InfeasibleRequestError, match=reason):
        cluster.submit(request(3, **asked), 0)
    cluster.submit(request(3, max_switches=1, switch_wait=0), 0)


def test_the_log_brings_what_is_left_of_a_request():
    """The engine finds both shapes; a log that ends there has no others."""
    workload = jobs((0, 2, 5), (0, 2, 5), max_switches=[1, 0], switch_wait=[5, 5])
    fitted = fit(workload, tree())
    assert dict(fitted.rejected) == {}
    result = run(fitted, tree(), OneSwitch())
    assert result.schedule.start.tolist() == [5, 0]
    assert [int(status) for status in fitted.workload.status] == [Status.UNKNOWN] * 2


def test_groups_that_do_not_meet_share_no_job():
    """Whatever a job asks of switches: two nodes of one group of two, never of two groups."""
    cluster = Cluster(tree(4, 2, kind=TopologyKind.TREE, apart=True), Fifo())
    cluster.submit(request(1), 0)
    cluster.submit(request(2, max_switches=2, switch_wait=0), 0)
    assert waiting_switches(cluster, 0) == [0, 1]
    started = cluster.decide(0).actions
    cluster.start(started, 0)
    assert [start.allocation.node.tolist() for start in started] == [[0], [2, 3]]
    with pytest.raises(InfeasibleRequestError, match="at most 1 leaf switch"):
        cluster.submit(request(3), 0)


def test_groups_that_do_not_meet_are_those_of_a_level():
    with pytest.raises(ValueError, match="need levels of groups"):
        Topology(4, apart=True)
