"""Jobs that ask for another size while they run."""

import numpy as np
import pytest
from sized import sizes
from tiny import jobs, machine, run

from cpsched.dispatch.rules import Fifo
from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError, DispatchError
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Requeue, Resize
from cpsched.util.types import JobType
from cpsched.verification import verify


def evolving(*rows, after=40, to=8, **columns):
    num = len(rows)
    values = {
        "job_type": JobType.EVOLVING,
        "units_min": 1,
        "units_max": 8,
        "resize_cost": 0,
        "evolve_after": after,
        "evolve_to": to,
    } | columns
    return jobs(*rows, **{name: [value] * num for name, value in values.items()})


class Watches(Fifo):
    """Notes what running jobs have asked for."""

    def __init__(self, requeue_at=None):
        super().__init__()
        self.acts_when_idle = True
        self.seen = []
        self._requeue_at = requeue_at

    def decide(self, view):
        """Start in order."""
        self.seen.append((view.now, view.running.wanted_units.tolist()))
        if self._requeue_at is not None and view.now >= self._requeue_at:
            self._requeue_at = None
            return Decision([Requeue(0)])
        return super().decide(view)._replace(again_at=self._requeue_at)


def test_a_job_asks_when_so_much_is_done_and_not_before():
    watches = Watches()
    run(evolving((0, 4, 100)), machine((8,)), watches)
    assert watches.seen == [(0, []), (40, [8]), (100, [])]


def test_it_asks_again_after_it_was_queued_again():
    watches = Watches(requeue_at=60)
    schedule = run(evolving((0, 4, 100), restartable=True), machine((8,)), watches).schedule
    assert verify(schedule) == []
    assert (100, [8]) in watches.seen
    assert all(wanted in ([], [0]) for second, wanted in watches.seen if 60 < second < 100)


def test_what_it_asks_for_is_what_it_prefers_from_then_on():
    """From 40 on 8 units instead of 4: 60 s of work take 30."""
    schedule = run(evolving((0, 4, 100)), machine((8,)), "malleable:strategy=preferred").schedule
    assert verify(schedule) == []
    assert sizes(schedule, 0) == [(0, 4), (40, 8)]
    assert schedule.end.tolist() == [70]


def test_on_more_units_it_asks_earlier():
    """On 8 of 4 units from 10 on, the 40 s are done at 25."""

    class Grows(Watches):
        def decide(self, view):
            if view.now == 10 and view.running.held_units[0] == 4:
                eight = Allocation(np.array([0]), np.array([8]), np.array([[8]]))
                return Decision([Resize(0, eight)])
            return super().decide(view)

    grows = Grows()
    schedule = run(evolving((0, 4, 100), (10, 1, 1)), machine((9,)), grows).schedule
    assert verify(schedule) == []
    assert grows.seen[-2:] == [(25, [8]), (55, [])]


def test_nothing_is_seen_of_what_is_not_yet_asked_for():
    """Until it asks, two jobs that will ask for other things look alike."""
    transcripts = []
    for after, to in ((40, 8), (90, 2)):
        watches = Watches()
        run(evolving((0, 4, 100), after=after, to=to), machine((8,)), watches)
        transcripts.append([seen for seen in watches.seen if seen[0] < 40])
    assert transcripts[0] == transcripts[1]


def test_wrong_requests_are_errors():
    cluster = Cluster(machine((8,)))
    kind = {"units_min": 1, "units_max": 4, "requested_time": 9}
    rigid = cluster.submit(Request(requested_time=9), 0, job_id="r")
    job = cluster.submit(Request(units=2, job_type="evolving", **kind), 0, job_id="e")
    with pytest.raises(
        DispatchError, match="cannot change the number of tasks of job e: it is not running"
    ):
        cluster.request_resize(job, 2, 0)
    cluster.start(cluster.decide(0).actions, 0)
    with pytest.raises(ConfigError, match="job r cannot ask for tasks while it runs"):
        cluster.request_resize(rigid, 1, 1)
    with pytest.raises(ConfigError, match="job e asks for 5 tasks, but may have 1 to 4"):
        cluster.request_resize(job, 5, 1)
    cluster.request_resize(job, 4, 1)
    assert cluster.view(1).running.wanted_units.tolist() in ([0, 4], [4, 0])
