"""How long jobs run on nodes that are close together, and on others."""

import numpy as np
from tiny import jobs, machine, run

from cpsched.dispatch.contract import Dispatcher
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Start
from cpsched.model.schedule import JobOutcome


class On(Dispatcher):
    """Starts one job after the other on given nodes, one core on each."""

    name = "on"

    def __init__(self, *nodes):
        self._nodes = nodes

    def decide(self, view):
        if len(view.running) or not len(view.waiting):
            return Decision()
        handle = int(view.waiting.handle[0])
        node = np.array(self._nodes[handle % len(self._nodes)])
        ones = np.ones(len(node), dtype=np.int64)
        return Decision(actions=(Start(handle, Allocation(node, ones, ones[:, None])),))


def seconds(model, *nodes, runtime=100, repeat=1, **settings):
    """Simulate jobs of one core a node and return how long each ran."""
    settings = {"overrun": "extend", **settings}
    system = machine(*[(1,)] * 8)
    rows = [(0, len(taken), runtime) for taken in nodes] * repeat
    schedule = run(jobs(*rows), system, On(*nodes), runtime_model=model, **settings).schedule
    return (schedule.end - schedule.start).tolist()


def test_the_log_is_of_neighbouring_nodes_or_of_scattered_ones():
    """With alpha = 0.2 a job of 100 s takes 125 s on scattered nodes: 125 (1 - 0.2) = 100."""
    model, nodes = "locality:alpha=0.2,beta=1", ([0, 1, 2], [0, 1, 3], [5])
    assert seconds(model, *nodes) == [100, 125, 100]
    assert seconds(f"{model},log=scattered", *nodes) == [80, 100, 80]
    assert seconds("locality:alpha=0.5,beta=0", [0, 2], [0, 1]) == [100, 100]


def test_seconds_are_rounded_up_only_where_they_are_not_whole():
    """0.7 times 30 is 21 s though floats make 0.1 + 0.2 of it; 0.7 times 31 is 21.7, 22 s."""
    model = "locality:alpha=0.3,beta=1,log=scattered"
    assert seconds(model, [0, 1], runtime=30) == [21]
    assert seconds(model, [0, 1], runtime=31) == [22]
    assert seconds("locality:alpha=0.1,beta=1", [0, 2], runtime=90) == [100]
    assert seconds("locality:alpha=0.9,beta=1", [0, 2], runtime=0) == [0]


def sensitive(beta, seed=0):
    runtimes = seconds(f"locality:alpha=0.5,beta={beta}", [0, 2], repeat=300, seed=seed)
    return np.array(runtimes) == 200


def test_who_is_sensitive_follows_from_the_seed():
    """A share of beta, others with another seed; those of a small share are among a larger one's."""
    few, many = sensitive(0.2), sensitive(0.5)
    assert 40 <= few.sum() <= 80
    assert 125 <= many.sum() <= 175
    assert (few <= many).all()
    assert (sensitive(0.2) == few).all()
    assert (sensitive(0.2, seed=1) != few).any()


def test_a_job_on_scattered_nodes_is_killed_at_its_requested_time():
    """What the docs say of --overrun kill: the 125 s end at the 100 s asked for."""
    schedule = run(
        jobs((0, 2, 100)), machine(*[(1,)] * 8), On([0, 2]),
        runtime_model="locality:alpha=0.2,beta=1",
    ).schedule  # fmt: skip
    assert schedule.end.tolist() == [100]
    assert schedule.outcome.tolist() == [JobOutcome.TIMEOUT]
