"""The engine without the simulator: who holds the machine says what happens."""

import heapq
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tiny import DISPATCHERS, machine

from cpsched import systems
from cpsched.checks.sample import sample
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.rules import Fifo
from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError, DispatchError, InfeasibleRequestError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Kill, Start
from cpsched.model.estimates import Requested
from cpsched.model.system import Queue
from cpsched.simulation.simulate import Settings, simulate
from cpsched.util.archive import flattened, unflattened
from cpsched.util.types import Status


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


@pytest.mark.parametrize(
    "dispatcher",
    [
        *filter(re.compile("(fifo|sjf|ljf|greedy|prb|easy|conservative)\\b").match, DISPATCHERS),
        "lookahead",
    ],
)
def test_a_live_machine_decides_as_the_simulator(dispatcher):
    """Any log, any dispatcher: the same starts, with nobody killed."""
    fitted = sample()
    run = simulate(fitted, dispatcher=dispatcher, settings=Settings(overrun="extend"))
    assert _live(fitted, dispatcher) == run.schedule.start.tolist()


@pytest.mark.parametrize("correction", ["requested", "double"])
def test_predictions_and_their_correction_too(correction):
    """A predictor that learns, and runs that go on for longer."""
    fitted = sample()
    settings = Settings(overrun="extend", estimate_correction=correction)
    run = simulate(fitted, dispatcher="easy", predictor="last:count=2", settings=settings)
    cluster = Cluster(fitted.system, "easy", "last:count=2", correction=correction)
    assert cluster.correction == correction
    with pytest.raises(ConfigError, match="correction: is 'none', must be one of: requested"):
        Cluster(fitted.system, correction="none")
    if correction == "requested":
        assert _live(fitted, "easy", "last:count=2") == run.schedule.start.tolist()


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


def _shown(view):
    store, arena = view.waiting.store, view.running.arena
    return {
        "free": view.free, "eligible": view.eligible, "node_up": view.node_up,
        "capacity": view.system.capacity, "total": view.system.total,
        "waiting": view.waiting.rows, "running": view.running.rows,
        "columns": store.columns, "shapes": store.shapes,
        "node": arena.node, "count": arena.count, "units": arena.units, "amount": arena.amount,
    }  # fmt: skip


def test_what_a_dispatcher_sees_cannot_be_made_writable():
    """Neither an array nor one it is a part of, however much has grown, and after nodes fail."""
    given = np.array([[900], [900]])
    system = replace(machine((900,), (900,)), capacity=given)
    cluster = Cluster(system, "fifo", any_queue=True)
    given[:] = 9
    assert cluster.system.capacity.tolist() == [[900], [900]]
    for now in range(700):
        cluster.submit(_request(1 + now % 40, user=f"u{now % 9}"), now)
        if now == 500:
            cluster.start(cluster.decide(now).actions, now)
            cluster.set_down([1])
        if now not in (0, 499, 500, 699):
            continue
        for name, array in _shown(cluster.view(now)).items():
            while isinstance(array, np.ndarray):
                with pytest.raises(ValueError, match="WRITEABLE"):
                    array.flags.writeable = True
                assert not array.flags.writeable, name
                array = array.base
            assert memoryview(array).readonly, name
    labels = cluster.view(699).waiting.store.labels
    assert list(labels["user"]) == [f"u{number}" for number in range(9)]
    assert not hasattr(labels["user"], "append")
    assert not hasattr(labels, "update")
    with pytest.raises(TypeError):
        labels["user"] = []


def test_a_job_expects_to_wait_as_long_as_its_queue_says():
    """Of several queues the shortest wait counts, without one of its own that of the system."""
    queues = [
        Queue(name="slow", expected_wait=3600),
        Queue(name="fast", expected_wait=60),
        Queue(name="free"),
    ]
    cluster = Cluster(machine((4,), queues=queues, expected_wait=600), "fifo")
    for name in ("slow", "fast,slow", "free"):
        cluster.submit(_request(queue=name), 0)
    assert cluster.view(0).waiting.expected_wait.tolist() == [3600, 60, 600]


def test_a_predictor_cannot_answer_for_other_jobs():
    """What it is asked about is not its own to change."""

    class Moves(Requested):
        is_request = False

        def predict(self, jobs, now):
            jobs.rows.flags.writeable = True
            raise AssertionError

    with pytest.raises(ValueError, match="WRITEABLE"):
        Cluster(machine((4,)), "fifo", Moves()).submit(_request(), 0)


def test_a_dispatcher_cannot_change_the_system_of_the_next_run():
    """It used to be the same object in every run of a process."""

    class Doubles(Fifo):
        def reset(self, system, seed):
            super().reset(system, seed)
            object.__setattr__(system, "capacity", 2 * system.capacity)
            object.__setattr__(system.topology, "num_nodes", 7)
            system.queues["more"] = Queue(name="more")
            system.log.queues["more"] = "more"

    system = machine((4,), (2,), queues=[Queue(name="a")])
    before = system.to_dict()
    Cluster(system, Doubles())
    assert system.to_dict() == before
    assert Cluster(system, "fifo").system == system


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
    for node in (-1, 2):
        with pytest.raises(ConfigError, match=f"node: is {node}, must be from 0 to 1"):
            cluster.set_down([1, node])
    assert cluster.view(2).node_up.tolist() == [False, True]
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
        ({"segment": -1}, "segment: is -1, must be a whole number from 0"),
        ({"max_switches": 1.5}, "max_switches: is 1.5, must be"),
        ({"switch_wait": -1}, "switch_wait: is -1, must be"),
        ({"split": "odd"}, "split: is 'odd', must be one of: any, even"),
        ({"queue": "nowhere"}, "unknown queue 'nowhere'. Queues of the system: short, mine"),
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
        ({"units": 5}, "job j can never run on this system: needs 5 tasks"),
        ({"resources": {"core": 1, "gpu": 1}}, "asks for 1 gpu, and the system has none"),
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


class Kills(Dispatcher):
    """Answers what it is told to."""

    name = "kills"

    def __init__(self, decision):
        self.decision = decision

    def decide(self, view):
        return self.decision


def test_what_cannot_be_is_an_error():
    """Wrong calls, and wrong answers of a dispatcher."""
    cluster = Cluster(machine((2,)), Kills(Decision([Kill(0)])))
    with pytest.raises(DispatchError, match="cannot end job 0: it is not running"):
        cluster.end(0, 0)
    with pytest.raises(DispatchError, match="cannot cancel job 3: it is not waiting or held"):
        cluster.cancel(3, 0)
    job = cluster.submit(_request(), 5)
    with pytest.raises(ConfigError, match="second 4 is before the current second 5"):
        cluster.decide(4)
    with pytest.raises(DispatchError, match="kills cannot kill job 0: the job is not running"):
        cluster.decide(5)
    cluster.dispatcher.decision = Decision(again_at=5)
    with pytest.raises(DispatchError, match="again_at=5, must be after"):
        cluster.decide(5)
    # With something to do it is asked again, in the same second.
    nothing = np.zeros(0, dtype=np.int64)
    start = Start(job, Allocation(nothing, nothing, nothing.reshape(0, 1)))
    cluster.dispatcher.decision = Decision([start], again_at=5)
    cluster.decide(5)
    assert cluster.is_due(5)
    ones = np.ones(1, dtype=np.int64)
    with pytest.raises(DispatchError, match="is given 2 tasks"):
        cluster.start([Start(job, Allocation(ones * 0, ones * 2, ones[:, None] * 2))], 6)


def _saved(cluster):
    """Return a state as a checkpoint keeps it: flat names, arrays and JSON."""
    arrays, plain = flattened(cluster.state())
    return unflattened({**arrays, **json.loads(json.dumps(plain))})


def test_starts_are_all_or_none():
    """The second start takes what is not free: the first job waits as before, and can start."""
    cluster = Cluster(machine((4,)), "fifo")
    a, b = (cluster.submit(_request(3), 0, job_id=name) for name in ("a.7", "b.8"))
    first = cluster.decide(0).actions[0]
    with pytest.raises(DispatchError, match=r"^fifo: job b\.8 is given 3 core on node n0, where 1"):
        cluster.start([first, Start(b, first.allocation)], 0)
    assert cluster.view(0).waiting.handle.tolist() == [a, b]
    assert cluster.view(0).free.tolist() == [[4]]
    assert len(cluster.view(0).running) == 0
    with pytest.raises(DispatchError, match=r"^fifo: cannot start job a\.7: it is not waiting"):
        cluster.start([first, first], 0)
    assert _at_once(cluster, 1) == [a]


@pytest.mark.parametrize("handle", [-1, 1, 500, 5000])
def test_a_start_of_no_job_cannot_fail(handle):
    """Handles that do not exist are refused, and nothing is counted."""
    cluster = Cluster(machine((4,)), "fifo")
    job = cluster.submit(_request(), 0)
    with pytest.raises(
        DispatchError, match=f"cannot report the failure of job {handle}: it is not"
    ):
        cluster.failed(handle, 0)
    assert cluster.view(0).waiting.attempts.tolist() == [0]
    cluster.cancel(job, 1)
    with pytest.raises(DispatchError, match="cannot report the failure of job 0"):
        cluster.failed(job, 1)


@pytest.mark.parametrize(
    "predicted", [(-5, 10**15, 0), (1, 2), (1, 2, 3, 4), (1.5, 2, 3), ("a", 1, 2), (1, 2, 10**13)]
)
def test_predictions_of_others_are_checked(predicted):
    """Three runtimes, or one line; then there is no job."""
    cluster = Cluster(machine((4,)), "fifo")
    with pytest.raises(ConfigError, match="Cluster.submit: predicted: is .*, must be three whole"):
        cluster.submit(_request(), 0, predicted=predicted)
    assert len(cluster.view(0).waiting) == 0
    assert cluster.submit(_request(), 0, predicted=(1, np.int64(2), 3)) == 0
    assert cluster.view(0).waiting.runtime_bound.tolist() == [3]


def test_held_jobs():
    """They start when they are released, before jobs submitted later; cancelled ones never."""
    cluster = Cluster(machine((2,)), "fifo")
    a = cluster.submit(_request(2), 0, held=True)
    b = cluster.submit(_request(2), 0, held=True)
    d = cluster.submit(_request(2), 1)
    assert cluster.view(1).waiting.handle.tolist() == [d]
    cluster.cancel(b, 1)
    cluster.release(a, 2)
    assert cluster.view(2).waiting.handle.tolist() == [a, d]
    for handle in (a, b):
        with pytest.raises(DispatchError, match=f"cannot release job {handle}: it is not held"):
            cluster.release(handle, 2)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"kills decides None, must be a Decision"),
        ([], r"kills decides \[\], must be a Decision"),
        (Decision(again_at=7.5), "again_at=7.5, must be a whole number of seconds"),
        (Decision(again_at="8"), "again_at='8', must be a whole number"),
    ],
)
def test_answers_of_the_wrong_kind(answer, message):
    """Both a cluster and a simulation say which dispatcher, and what would be right."""
    cluster = Cluster(machine((2,)), Kills(answer))
    cluster.submit(_request(), 5)
    with pytest.raises(DispatchError, match=message):
        cluster.decide(5)
    with pytest.raises(DispatchError, match=message):
        simulate(sample(), dispatcher=Kills(answer))


def test_all_wake_ups_are_kept():
    """Earlier ones do not replace later ones, nor the other way round."""
    cluster = Cluster(machine((2,)), Kills(Decision(again_at=1000)))
    cluster.submit(_request(), 0)
    cluster.decide(0)
    for again_at in (2000, 500, 500):
        cluster.dispatcher.decision = Decision(again_at=np.int64(again_at))
        cluster.decide(10)
    cluster.dispatcher.decision = Decision()
    woken = []
    while cluster.next_wake is not None:
        woken.append(cluster.next_wake)
        assert not cluster.is_due(woken[-1] - 1)
        assert cluster.is_due(woken[-1])
        cluster.decide(woken[-1])
    assert woken == [500, 1000, 2000]


def _busy():
    """Return a cluster in which jobs run, wait and are held, and a node is down."""
    queues = [Queue(name="a", groups=("all",)), Queue(name="b")]
    cluster = Cluster(machine((4,), (4,), queues=queues), "easy", "last:count=2")
    for number in range(6):
        ask = _request(3, time=20 + number, queue="ab"[number % 2], user=f"u{number % 3}")
        cluster.submit(ask, number, job_id=f"j{number}", held=number == 3)
        _at_once(cluster, number)
    cluster.end(0, 8)
    cluster.set_down([1], 9)
    return cluster


def test_a_saved_cluster_goes_on():
    """Everything is in its state: jobs, queue, nodes, who is held, and what was learnt."""
    original, restored = _busy(), Cluster(_busy().system, "easy", "last:count=2")
    restored.restore(_saved(original))
    for cluster in (original, restored):
        cluster.release(3, 10)
        cluster.submit(_request(1, queue="b", user="u0"), 11, job_id="late")
    for now in (12, 13, 40):
        assert _at_once(original, now) == _at_once(restored, now)
        for handle in original.view(now).running.handle.tolist()[:1]:
            original.end(handle, now)
            restored.end(handle, now)
        if now == 13:
            original.set_down([], now)
            restored.set_down([], now)
    same = [
        (cluster.view(50).waiting, cluster.view(50).running) for cluster in (original, restored)
    ]
    for left, right in zip(*same, strict=True):
        assert left.column(0).tolist() == right.column(0).tolist()
        assert left.runtime_estimate.tolist() == right.runtime_estimate.tolist()
        assert left.strings("user") == right.strings("user")
    assert original.view(50).free.tolist() == restored.view(50).free.tolist()


def test_a_rigid_request_has_one_size_and_others_their_bounds():
    bounds = {"units": 2, "units_min": 1, "units_max": 4, "requested_time": 9}
    cluster = Cluster(machine((4,)))
    for kind in ("rigid", "moldable"):
        cluster.submit(Request(job_type=kind, **bounds), 0)
    waiting = cluster.view(0).waiting
    assert waiting.units_min.tolist() == [2, 1]
    assert waiting.units_max.tolist() == [2, 4]


def test_a_constraint_says_which_nodes_a_job_may_use():
    """Features, and nodes that it must not have."""
    cluster = Cluster(systems.load("eurora"), "greedy")
    names = cluster.system.node_names
    wanted = Request(requested_time=60, constraint="node034|node035&^node034", queue="debug")
    row = cluster.submit(wanted, 0)
    (start,) = cluster.decide(0).actions
    assert start.handle == row
    assert [names[node] for node in start.allocation.node] == ["node035"]
    with pytest.raises(InfeasibleRequestError, match="no node has the feature 'tape'"):
        cluster.submit(Request(requested_time=60, constraint="tape"), 0)
    state = cluster.state()
    again = Cluster(systems.load("eurora"), "greedy")
    again.restore(state)
    assert again.machine.eligible.tolist() == cluster.machine.eligible.tolist()
    assert again.decide(0).actions[0].allocation.node == start.allocation.node


def test_a_job_of_several_queues_is_in_those_that_take_it():
    """Half an hour is the most that debug allows."""
    cluster = Cluster(systems.load("eurora"), "greedy")
    row = cluster.submit(Request(requested_time=3600, queue="debug,parallel"), 0)
    store = cluster.machine.store
    assert store.labels["queue"][store.columns[row, c.QUEUE]] == "parallel"
    with pytest.raises(InfeasibleRequestError, match="queue debug allows 1800 s"):
        cluster.submit(Request(requested_time=3600, queue="debug"), 0)
    with pytest.raises(ConfigError, match="unknown queue 'tape'"):
        cluster.submit(Request(requested_time=3600, queue="debug,tape"), 0)
