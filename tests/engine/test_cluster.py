"""The engine without the simulator: who holds the machine says what happens."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest
from tiny import DISPATCHERS, machine

from cpsched.api import (
    Cluster,
    ConfigError,
    Decision,
    DispatchError,
    InfeasibleRequestError,
    Queue,
    Request,
    Status,
)
from cpsched.check_sample import sample
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Kill, Start
from cpsched.simulation.simulate import Settings, simulate


def _request(units=1, time=10, **more):
    return Request(units=units, requested_time=time, **more)


def _at_once(cluster, now):
    decision = cluster.decide(now)
    cluster.start(decision.actions, now)
    return [start.handle for start in decision.actions]


def _live(fitted, dispatcher, predictor="requested"):
    """Run a log as somebody would who holds the machine: a heap of ends, and submits."""
    cluster, jobs = Cluster(fitted.system, dispatcher, predictor), fitted.workload
    names = {label: getattr(jobs, label).decode() for label in ("queue", "user")}
    ends, starts, at, num = [], {}, 0, len(jobs)
    while at < num or ends:
        now = min([*jobs.submit[at : at + 1].tolist(), *(end for end, _, _ in ends[:1])])
        while True:
            while ends and ends[0][0] == now:
                cluster.end(heapq.heappop(ends)[2], now, status=Status.UNKNOWN)
            while at < num and jobs.submit[at] == now:
                kinds = dict(zip(jobs.resources, jobs.request[at].tolist(), strict=True))
                cluster.submit(
                    Request(
                        units=int(jobs.units[at]),
                        resources=kinds,
                        requested_time=int(jobs.requested_time[at]),
                        nodes_max=int(jobs.nodes_max[at]),
                        split=("any", "even")[jobs.split[at]],
                        contiguous=bool(jobs.contiguous[at]),
                        exclusive=bool(jobs.exclusive[at]),
                        queue=names["queue"][at] or "",
                        user=names["user"][at] or "",
                    ),
                    now,
                )
                at += 1
            if cluster.machine.num_waiting or cluster.dispatcher.acts_when_idle:
                for handle in _at_once(cluster, now):
                    starts[handle] = now
                    heapq.heappush(ends, (now + int(jobs.runtime[handle]), len(starts), handle))
            if not (ends and ends[0][0] == now):
                break
    return [starts[job] for job in range(num)]


@pytest.mark.parametrize("dispatcher", [*DISPATCHERS[:12], "rollout"])
def test_a_live_machine_decides_as_the_simulator(dispatcher):
    """Any log, any dispatcher: the same starts, with nobody killed."""
    fitted = sample()
    run = simulate(fitted, dispatcher=dispatcher, settings=Settings(overrun="extend"))
    assert _live(fitted, dispatcher) == run.schedule.start.tolist()


@pytest.mark.parametrize("correction", ["requested", "double"])
def test_predictions_and_their_correction_too(correction):
    """A predictor that learns, and runs that go on for longer."""
    fitted = sample()
    settings = Settings(overrun="extend", correction=correction)
    run = simulate(fitted, dispatcher="easy", predictor="last-2", settings=settings)
    cluster = Cluster(fitted.system, "easy", "last-2", correction=correction)
    assert cluster.correction == correction
    with pytest.raises(ConfigError, match="correction: is 'none', must be one of: requested"):
        Cluster(fitted.system, correction="none")
    if correction == "requested":
        assert _live(fitted, "easy", "last-2") == run.schedule.start.tolist()


def test_four_jobs_by_hand():
    """One node of four cores; a start that fails waits again, with one more attempt."""
    cluster = Cluster(machine((4,)), "fifo")
    a, b = (cluster.submit(_request(units), 0) for units in (3, 2))
    assert _at_once(cluster, 0) == [a]
    assert _at_once(cluster, 0) == []
    cluster.failed(a, 1)
    assert cluster.view(1).waiting.attempts.tolist() == [1, 0]
    assert _at_once(cluster, 2) == [a]
    cluster.end(a, 5)
    decision = cluster.decide(5)
    assert cluster.node_names(decision.actions[0].allocation) == ["n0", "n0"]
    cluster.start(decision.actions, 5)
    c = cluster.submit(_request(4), 6)
    cluster.cancel(c, 7)
    cluster.end(b, 9)
    assert _at_once(cluster, 9) == []


def test_what_a_dispatcher_sees_cannot_be_changed():
    """From the first view on; kernels are compiled for read-only arrays, and again for others."""
    given = np.array([[4], [2]])
    system = machine((4,), (2,))
    cluster = Cluster(replace(system, capacity=given), "fifo")
    given[:] = 9
    assert cluster.system.capacity.tolist() == [[4], [2]]
    for now in range(2):
        view = cluster.view(now)
        seen = [view.free, view.eligible, view.node_up, view.system.capacity, view.waiting.rows,
                view.running.rows, view.waiting.store.columns, view.waiting.store.shapes]  # fmt: skip
        assert not any(array.flags.writeable for array in seen)
        cluster.submit(_request(), now)


def test_ranges():
    """Who settles them takes what is free; who does not takes the least."""
    for dispatcher, taken in (("fifo", [1, 1]), ("aucsched2:interval=none", [3, 3])):
        cluster = Cluster(machine((4, 3), (4, 3), resources=("core", "gpu")), dispatcher)
        ask = _request(4, nodes_min=2, per_node={"gpu": 1}, per_node_max={"gpu": 5, "mic": 1})
        cluster.submit(ask, 0)
        (start,) = cluster.decide(0).actions
        assert start.allocation.amount[:, 1].tolist() == taken


def test_nodes_go_down_and_up():
    """What runs there goes on; what it gives back is of no use until the node is up."""
    cluster = Cluster(machine((2,), (2,)), "fifo")
    a = cluster.submit(_request(2), 0)
    assert _at_once(cluster, 0) == [a]
    b = cluster.submit(_request(4), 1)
    cluster.set_down([0])
    cluster.end(a, 2)
    assert cluster.view(2).free.tolist() == [[0], [2]]
    assert _at_once(cluster, 2) == []
    cluster.set_down([])
    assert cluster.view(3).free.tolist() == [[2], [2]]
    assert _at_once(cluster, 3) == [b]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"units": 0}, "Request: units: is 0, must be a whole number from 1"),
        ({"units": 1.5}, "units: is 1.5"),
        ({"requested_time": True}, "requested_time: is True"),
        ({"nodes_min": 3, "nodes_max": 2}, "nodes_max: is 2, must be a whole number from 3"),
        ({"resources": {"core": -1}}, "core: is -1"),
        ({"per_node": {"gpu": 2}, "per_node_max": {"gpu": 1}}, "per_node_max of gpu: is 1, must"),
        ({"split": "odd"}, "split: is 'odd', must be one of: any, even"),
        ({"queue": "nowhere"}, "queue: is 'nowhere', the system has: short, mine"),
    ],
)
def test_requests_that_make_no_sense(what, message):
    """Key, value, and what would be right."""
    queues = [Queue(name="short", max_time=60), Queue(name="mine", users=("ann",))]
    cluster = Cluster(machine((2,), queues=queues), "fifo")
    with pytest.raises(ConfigError, match=message):
        cluster.submit(Request(**{"requested_time": 10, **what}), 0)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"units": 5}, "job j can never run on this system: needs 5 units"),
        ({"resources": {"core": 1, "gpu": 1}}, "asks for 1 gpu, the system has none"),
        ({"queue": "short", "requested_time": 61}, "asks for 61 s, queue short allows 60 s"),
        ({"queue": "mine", "user": "bob"}, "its user and group may not use queue mine"),
    ],
)
def test_requests_that_can_never_run(what, message):
    """The queue is as before."""
    queues = [Queue(name="short", max_time=60), Queue(name="mine", users=("ann",))]
    cluster = Cluster(machine((2,), (2,), queues=queues), "fifo")
    with pytest.raises(InfeasibleRequestError, match=message):
        cluster.submit(Request(**{"requested_time": 10, **what}), 0, job_id="j")
    assert cluster.submit(Request(requested_time=10, queue="mine", user="ann"), 0) == 0
    assert _at_once(cluster, 0) == [0]


class Kills:
    """Answers what it is told to."""

    name = "kills"
    acts_when_idle = False

    def __init__(self, decision):
        self.decision = decision

    def reset(self, system, seed):
        pass

    def decide(self, view):
        return self.decision


def test_what_cannot_be_is_an_error():
    """Wrong calls, and wrong answers of a dispatcher."""
    cluster = Cluster(machine((2,)), Kills(Decision([Kill(0)])))
    with pytest.raises(DispatchError, match="job 0 is said to have ended, but it is not running"):
        cluster.end(0, 0)
    with pytest.raises(DispatchError, match="job 3 is cancelled, but it is not waiting"):
        cluster.cancel(3, 0)
    job = cluster.submit(_request(), 5)
    with pytest.raises(ConfigError, match="it is 5 already, and is told to be 4"):
        cluster.decide(4)
    with pytest.raises(DispatchError, match="kills asks for Kill of job 0"):
        cluster.decide(5)
    cluster.dispatcher.decision = Decision(again_at=5)
    with pytest.raises(DispatchError, match="wants to be woken at 5"):
        cluster.decide(5)
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(DispatchError, match="is given 2 units"):
        cluster.start([Start(job, Allocation(one * 0, one * 2, one[:, None] * 2))], 6)
