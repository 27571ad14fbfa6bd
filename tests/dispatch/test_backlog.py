"""Overdue jobs: the backlog by hand, who goes first, and what is remembered of it."""

import numpy as np
import pytest
from tiny import jobs, machine, run, starts

from cpsched.dispatch.backlog import MEMORY, OVERDUE, SHARE, Backlog
from cpsched.errors import ConfigError
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulator import Simulator
from cpsched.systems.mapping import fit
from cpsched.util.spec import build

pytestmark = pytest.mark.slow

BOUNDED = ("easy-wsept", "easy-plan", "cp-pool")


class Backlogs(Observer):
    """Notes the backlog after each decision, and which jobs are overdue."""

    def __init__(self, dispatcher, factor=1.0):
        self.backlog, self.factor, self.of, self.late = dispatcher.history.backlog, factor, {}, {}

    def on_decision(self, view, decision, seconds):
        waiting = view.waiting
        if len(waiting):
            late = self.backlog.overdue(waiting.handle, self.factor)
            self.of[view.now] = self.backlog._backlog[-1]
            self.late[view.now] = waiting.handle[late].tolist()


def noted(log, system, spec, factor=1.0):
    dispatcher = build("dispatchers", spec)
    observer = Backlogs(dispatcher, factor)
    run(log, system, dispatcher, observers=[observer])
    return observer


def test_the_backlog_is_the_time_that_all_unfinished_jobs_take_the_system():
    """
    Four cores: 4 x 100 s at 0; then 2 x 30 s at 10, when 90 s of the first are left; and so on.

    Nothing has ended before 100, so jobs are expected to run as long as they request.
    """
    log = jobs((0, 4, 100), (10, 2, 30), (20, 1, 40), (100, 4, 50))
    seen = noted(log, machine((4,)), "easy-wsept")
    assert seen.of[0] == 100
    assert seen.of[10] == 90 + 15
    assert seen.of[20] == 80 + 15 + 10
    # Of jobs that ran, the one that has ended ran 100 s of 100.
    assert seen.of[100] == pytest.approx(15 + 10 + 50)


def test_it_is_of_the_scarcest_resource_and_of_the_nodes_that_jobs_may_use():
    """Two nodes; memory is short where both jobs together take 3 of 4 for 60 s."""
    log = jobs((0, 1, 60), (0, 1, 60), resources=("core", "mem"), request=[[1, 1], [1, 2]])
    seen = noted(log, machine((4, 2), (4, 2), resources=("core", "mem")), "easy-wsept")
    assert seen.of[0] == 45


def _delays(noted, submit, now):
    """Return the waits over the references at a second after decisions with given backlogs."""
    backlog = Backlog()
    for second, value in noted:
        backlog._add(min(*submit, second - MEMORY), second, value)
    return backlog._delays(np.array(submit), now).tolist()


def test_the_reference_is_the_largest_backlog_since_the_submit():
    """At 20 the backlog is 300 s, at 50 it is 240 s: two thirds of 300 are less."""
    assert _delays([(20, 300.0), (50, 240.0)], [0, 20, 50], 320) == [320 / 300, 1.0, 270 / 240]


def test_the_reference_is_at_least_two_thirds_of_the_largest_of_four_weeks():
    """A backlog of 30 s follows one of 300 s; after four weeks that is forgotten."""
    assert _delays([(0, 300.0), (400, 30.0)], [400], 600) == [pytest.approx(200 / (SHARE * 300))]
    later = MEMORY + 400
    assert _delays([(0, 300.0), (later, 30.0)], [later], later + 60) == [2.0]


def test_without_any_backlog_whoever_waits_is_overdue():
    assert _delays([(0, 0.0)], [0], 0) == [0.0]
    assert _delays([(0, 0.0)], [0], 1) == [np.inf]


def test_an_overdue_job_stays_overdue_while_later_jobs_add_to_the_backlog():
    """
    A job of both cores waits while a job of 1,000 s has one: overdue at 400, after 255 s.

    A hundred jobs that are submitted at 600 make its reference many times as long.
    """
    log = jobs((0, 1, 1000), (1, 2, 10), (400, 1, 5), *[(600, 1, 400)] * 100)
    seen = noted(log, machine((2,)), "easy-wsept:overdue=0.5", factor=0.5)
    assert seen.late[400] == [1]
    assert seen.of[600] > 2 * 599  # it would not be overdue by its wait of now
    assert 1 in seen.late[600]


def _stream(wide_runtime=200):
    """Return short jobs of 2 of 4 cores that keep coming, and the place of a job of all four."""
    stream = [(6 * turn, 2, 10, 12) for turn in range(1500)]
    rows = sorted([*stream, (11, 4, wide_runtime, wide_runtime)])
    return jobs(*rows), rows.index((11, 4, wide_runtime, wide_runtime))


@pytest.mark.parametrize("name", BOUNDED)
def test_a_wide_job_is_not_overtaken_for_ever(name):
    """On by default. Without the rule short jobs go before it, for as long as they come."""
    log, wide = _stream()
    options = "aging=1000000," if name == "easy-wsept" else ""
    without = starts(log, machine((4,)), f"{name}:{options}overdue=none")[wide] - 11
    bounded = starts(log, machine((4,)), f"{name}:{options.rstrip(',')}")[wide] - 11
    assert 10 * bounded < 1000 < without


def test_of_overdue_jobs_the_widest_is_first():
    """
    Four cores: two jobs of 100 s on two cores each, then jobs of two, four and three cores.

    With a factor of 0 all that have waited are overdue. By urgency the narrow ones are first.
    """
    log = jobs((0, 2, 100), (0, 2, 100), (1, 2, 50), (2, 4, 50), (3, 3, 50))
    assert starts(log, machine((4,)), "easy-wsept:overdue=0") == [0, 0, 200, 100, 150]
    assert starts(log, machine((4,)), "easy-wsept:overdue=none") == [0, 0, 100, 200, 150]


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_noted_survives_a_checkpoint(name):
    """A simulation that goes on from its state half way ends as the whole one."""
    log, _ = _stream()
    log = log.select(first=150)
    uninterrupted = run(log, machine((4,)), name).schedule.start.tolist()
    fitted = fit(log, machine((4,)))
    first, again = (
        Simulator(fitted, build("dispatchers", name), build("predictors", "requested"))
        for _ in range(2)
    )
    first.run(until=400)
    state = first.state()
    assert len(first.cluster.dispatcher.state()["history"]["backlog_second"])
    again.restore(state)
    again.run()
    assert again.start_time.tolist() == uninterrupted


@pytest.mark.parametrize("name", BOUNDED)
def test_a_factor_that_is_none_of_these_is_refused(name):
    assert build("dispatchers", name).made_with is not None
    assert OVERDUE > 0
    with pytest.raises(ConfigError, match="overdue is -1"):
        build("dispatchers", f"{name}:overdue=-1")
