"""What AccaSim does that nobody expects, and what the adapter makes of it."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from accasim_runs import in_process, needs_accasim
from tiny import machine

from cpsched.dispatch.contract import Dispatcher
from cpsched.errors import ConfigError, DispatchError
from cpsched.model import columns
from cpsched.model.decision import NOTHING

pytestmark = [needs_accasim, pytest.mark.slow]


def test_accasim_can_be_imported_and_nothing_else_is_patched():
    """``collections`` stays as it is, and other modules get their usual loaders."""
    printed = in_process(
        "import collections, json, sys\n"
        "import accasim_adapter\n"
        "import accasim.utils.misc, accasim.utils.file\n"
        "import matplotlib.cbook\n"
        "print(hasattr(collections, 'Mapping'), 'matplotlib.pyplot' in sys.modules,"
        " type(matplotlib.cbook.__loader__).__name__,"
        " type(accasim.utils.misc.__loader__).__name__, accasim.utils.misc.__cached__)"
    )
    patched, plots, theirs, mended, _ = printed.split(maxsplit=4)
    assert (patched, plots, theirs, mended) == ("False", "False", "SourceFileLoader", "_Loader")


def test_without_the_adapter_the_import_is_what_it_was():
    """Also after the adapter was used: no mended bytecode is left behind."""
    in_process("import accasim_adapter, accasim.utils.misc")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import accasim.utils.misc"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "cannot import name 'Mapping' from 'collections'" in done.stderr


def test_its_box_plots_work_on_the_newest_matplotlib(tmp_path):
    """matplotlib 3.11 has no ``boxplot(labels=...)`` any more."""
    code = (
        "import sys, matplotlib; matplotlib.use('Agg')\n"
        "import accasim_adapter\n"
        "from accasim.utils.plot_factory import PlotFactory\n"
        "plots = PlotFactory('benchmark', None)\n"
        "plots._labels = ['a', 'b']\n"
        "plots.box_plot([[1, 2, 3], [2, 3, 4]], output=sys.argv[1])\n"
    )
    in_process(code, tmp_path / "plot.pdf")
    assert (tmp_path / "plot.pdf").stat().st_size


def test_additional_data_objects_are_taken():
    """AccaSim hands objects None before it has an event manager; its base class refuses that."""
    from accasim_adapter import DispatchAgain

    hook = DispatchAgain()
    hook.set_event_manager(None)
    assert hook.event_mapper is None


# --- its state, followed -------------------------------------------------------------------------


class Job:
    """What AccaSim's Event has, without its simulator."""

    def __init__(self, job_id, units=1, requested=10, **more):
        self.id, self.queued_time = job_id, 0
        self.requested_nodes, self.requested_resources = units, {"core": 1}
        self.expected_duration = requested
        self.start_time = self.end_time = None
        self.assigned_nodes = []
        for name, value in more.items():
            setattr(self, name, value)

    def get_checked(self):
        return True


@pytest.fixture
def world():
    """Return a dispatcher on two nodes of two cores, AccaSim's manager, and a way to carry out."""
    from accasim_adapter import CpschedDispatcher
    from accasim_adapter.package import ResourceManager, Resources

    def _world(dispatcher="fifo", nodes=2, **options):
        manager = ResourceManager(Resources({"g": {"core": 2}}, {"g": nodes}))
        made = CpschedDispatcher(dispatcher, **options)
        made.set_resource_manager(manager)
        return made, manager

    return _world


def _begin(manager, answers, jobs, now):
    """Carry out what was answered, as AccaSim does."""
    by_id = {job.id: job for job in jobs}
    for time, job_id, nodes in answers:
        if nodes:
            assert time == now
            assert manager.allocate_event(by_id[job_id], nodes)[0]
            by_id[job_id].start_time, by_id[job_id].assigned_nodes = now, nodes


def _all(*jobs):
    return {job.id: job for job in jobs}


def test_every_queued_job_is_answered_in_accasims_words(world):
    """A node name for each unit; who waits on has no second and no nodes."""
    made, _ = world()
    jobs = [Job("a", 3), Job("b", 2)]
    answers, rejected = made.scheduling_method(7, jobs, _all(*jobs))
    assert answers == [(7, "a", ["node_1", "node_1", "node_2"]), (None, "b", [])]
    assert rejected == []


def test_a_start_that_accasim_refuses_waits_again(world):
    """It is asked about anew, with one more attempt, and its nodes are free again."""
    made, _ = world()
    job = Job("a", 4)
    assert made.scheduling_method(0, [job], _all(job))[0][0][2]
    answers, _ = made.scheduling_method(1, [job], _all(job))
    assert answers[0][0] == 1
    state = made.cluster.machine
    assert state.store.columns[: state.store.size, columns.ATTEMPTS].tolist() == [1]
    assert state.num_waiting == 0


def test_an_end_is_noticed_and_a_queue_in_another_order_is_followed(world):
    """The nodes of the ended job go to the next; a job that vanished is cancelled."""
    made, manager = world()
    a, b, c = Job("a", 4), Job("b", 3), Job("c", 3)
    answers, _ = made.scheduling_method(0, [a, b, c], _all(a, b, c))
    _begin(manager, answers, [a, b, c], 0)
    manager.remove_event("a")
    a.end_time = 5
    answers, _ = made.scheduling_method(5, [c], _all(c))
    assert answers == [(5, "c", ["node_1", "node_1", "node_2"])]


def test_a_job_that_runs_elsewhere_than_decided_is_followed(world):
    """Additional data may change the nodes of a decision."""
    made, manager = world()
    a, b = Job("a", 1), Job("b", 2)
    answers, _ = made.scheduling_method(0, [a], _all(a))
    assert answers == [(0, "a", ["node_1"])]
    _begin(manager, [(0, "a", ["node_2"])], [a], 0)
    answers, _ = made.scheduling_method(1, [b], _all(a, b))
    assert answers == [(1, "b", ["node_1", "node_1"])]


def test_a_job_taken_off_its_nodes_and_queued_again_waits(world):
    """As additional data that simulates failures does."""
    made, manager = world()
    a = Job("a", 4)
    answers, _ = made.scheduling_method(0, [a], _all(a))
    _begin(manager, answers, [a], 0)
    manager.remove_event("a")
    a.start_time = 0
    answers, _ = made.scheduling_method(3, [a], _all(a))
    assert answers[0][0] == 3
    state = made.cluster.machine
    assert (state.store.size, state.num_waiting, state.num_running) == (1, 0, 1)


def test_one_that_waits_again_behind_others_is_no_new_job(world):
    """It keeps its place: dispatchers see the queue in the order of submits."""
    made, manager = world()
    a, b, c = Job("a", 4), Job("b", 4), Job("c", 4)
    answers, _ = made.scheduling_method(0, [a, b], _all(a, b))
    _begin(manager, answers, [a, b], 0)
    manager.remove_event("a")
    answers, _ = made.scheduling_method(3, [b, a, c], _all(a, b, c))
    assert [(job_id, time) for time, job_id, _ in answers] == [("a", 3), ("b", None), ("c", None)]
    assert made.cluster.machine.store.size == 3


def test_nodes_that_are_off_get_nothing(world):
    """And what they hold comes back when they are on."""
    made, manager = world()
    status = manager._resources._resources_status
    status["node_1"] = 0
    a, b = Job("a", 2), Job("b", 2)
    answers, _ = made.scheduling_method(0, [a, b], _all(a, b))
    assert answers == [(0, "a", ["node_2", "node_2"]), (None, "b", [])]
    _begin(manager, answers, [a, b], 0)
    status["node_1"] = 1
    answers, _ = made.scheduling_method(1, [b], _all(a, b))
    assert answers == [(1, "b", ["node_1", "node_1"])]


def test_a_job_of_somebody_else_is_an_error(world):
    """Two dispatchers cannot share one simulation."""
    made, manager = world()
    a, b = Job("a"), Job("b")
    manager.allocate_event(b, ["node_1"])
    with pytest.raises(DispatchError, match="job b runs, but was not started by fifo"):
        made.scheduling_method(0, [a], _all(a, b))


def test_what_can_never_run_is_rejected_with_a_reason(world, caplog):
    """Also where AccaSim checks nothing: too many units, no units, an unknown resource."""
    made, _ = world()
    jobs = [
        Job("wide", 5),
        Job("none", 0),
        Job("gpu", requested_resources={"core": 1, "gpu": 1}),
        Job("good"),
    ]
    with caplog.at_level(logging.WARNING, "accasim"):
        answers, rejected = made.scheduling_method(0, jobs, _all(*jobs))
    assert rejected == ["wide", "none", "gpu"]
    assert [job_id for _, job_id, _ in answers] == ["good"]
    assert "wide can never run here: needs 5 units" in caplog.text
    assert "gpu can never run here: asks for 1 gpu, the system has none" in caplog.text


def test_a_job_without_a_requested_time_needs_a_default(world):
    """AccaSim keeps the -1 of a log."""
    made, _ = world()
    job = Job("a", requested=-1)
    with pytest.raises(ConfigError, match="job a has no requested time .* default_time"):
        made.scheduling_method(0, [job], _all(job))
    made, _ = world(default_time=60)
    made.scheduling_method(0, [job], _all(job))
    assert made.cluster.machine.store.columns[0, 2] == 60


class Lazy(Dispatcher):
    """Starts nothing, ever."""

    name = "lazy"

    def reset(self, system, seed):
        self.asked = 0

    def decide(self, view):
        self.asked += 1
        return NOTHING


def test_jobs_that_wait_for_ever_are_an_error_and_no_endless_loop(world):
    """AccaSim would go on second by second; while others are to come it is no error."""
    made, _ = world(Lazy())
    a, later = Job("a"), Job("b")
    assert made.scheduling_method(0, [a], _all(a, later))[0] == [(None, "a", [])]
    with pytest.raises(DispatchError, match="lazy leaves 1 jobs waiting forever"):
        made.scheduling_method(1, [a], _all(a))


def test_a_dispatcher_is_asked_only_where_something_happened(world):
    """AccaSim has seconds at which nothing does."""
    lazy = Lazy()
    made, _ = world(lazy)
    a, later = Job("a"), Job("b")
    for now in range(4):
        made.scheduling_method(now, [a], _all(a, later))
    assert lazy.asked == 1


class Wakes(Lazy):
    def decide(self, view):
        self.asked += 1
        return NOTHING._replace(again_at=50) if view.now < 50 else NOTHING


def test_a_dispatcher_that_wants_to_be_woken_is(world):
    """AccaSim wakes up at the second that a postponed job names."""
    made, _ = world(Wakes())
    a, later = Job("a"), Job("b")
    answers, _ = made.scheduling_method(0, [a], _all(a, later))
    assert answers == [(50, "a", [])]
    made.scheduling_method(20, [a], _all(a, later))
    assert made.cluster.dispatcher.asked == 1
    made.scheduling_method(50, [a], _all(a, later))
    assert made.cluster.dispatcher.asked == 2


# --- options -------------------------------------------------------------------------------------


def test_options_are_the_dispatchers_own(world):
    """In the specification or as keywords; the id is fit for a folder's name."""
    made, _ = world("easy:backfill=sjf", allocator="best-fit")
    assert len(made.cluster.dispatcher.queues) == 2
    assert made.get_id() == "cpsched-easy_allocator=best-fit_backfill=sjf"
    with pytest.raises(ConfigError, match="no such option; 'easy' takes"):
        world("easy", depth=3)
    with pytest.raises(TypeError, match="options .depth. are for dispatchers given by name"):
        world(Lazy(), depth=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dispatcher": "nope"}, "no dispatcher is called 'nope'"),
        ({"predictor": "nope"}, "no predictor is called 'nope'"),
        ({"system": "nope"}, "no system is called 'nope'"),
        ({"correction": "nope"}, "correction: is 'nope', must be one of: requested, double"),
        ({"expected_wait": 0}, "expected_wait: is 0, must be seconds, 1 to"),
        ({"expected_wait": {"1": "1h"}}, "expected_wait 1: is '1h', must be seconds"),
        ({"default_time": -1}, "default_time: is -1, must be seconds"),
    ],
)
def test_what_is_wrong_is_said_before_accasim_makes_its_simulator(options, message):
    """One that fails while it is made leaves its settings in the process, and no other follows."""
    from accasim_adapter import CpschedDispatcher, CpschedPredictor

    with pytest.raises(ConfigError, match=message):
        CpschedDispatcher(**options)
    for key in options.keys() & {"predictor", "system", "default_time"}:
        with pytest.raises(ConfigError, match=message):
            CpschedPredictor(**{key: options[key]})


@pytest.mark.parametrize("what", [None, 5, Lazy])
def test_a_dispatcher_is_a_name_or_an_object(world, what):
    """Not a class, which AccaSim's Experiment takes."""
    with pytest.raises(TypeError, match="must be a name or a Dispatcher"):
        world(what)


def test_the_system_beside_must_be_the_same_machine(world):
    """Number of nodes, resource kinds, and what each node holds."""
    same = machine((2,), (2,))
    assert world("prb", system=same)[0].cluster.system.node_names == ("node_1", "node_2")
    for other, message in (
        (machine((2,)), "it has 1 nodes, AccaSim's machine has 2"),
        (machine((2,), (3,)), r"node n1 has \[3\] of core, AccaSim's node_2 has \[2\]"),
        (machine((2, 1), (2, 1), resources=("core", "gpu")), "it has core, gpu, AccaSim's"),
    ):
        with pytest.raises(ConfigError, match=message):
            world("prb", system=other)


def test_expected_waits_by_queue(world):
    """Others have the default; with a system there are none to give."""
    made, _ = world("prb", expected_wait={"short": 60})
    jobs = [Job("a", queue="short"), Job("b", queue=7), Job("c", queue=-1)]
    made.scheduling_method(0, jobs, _all(*jobs))
    assert made.cluster.machine.store.columns[:3, 7].tolist() == [60, 3600, 3600]
    with pytest.raises(ConfigError, match="the system already has expected waits"):
        world("prb", system=machine((2,), (2,)), expected_wait=60)


def test_without_accasim_the_error_says_how_to_get_it():
    """Names that need it are looked up when they are asked for; files need no AccaSim."""
    printed = in_process(
        "import sys\n"
        "import importlib.util\n"
        "sys.modules['accasim'] = None\n"
        "import accasim_adapter, accasim_adapter.files, accasim_adapter.schedule\n"
        "from cpsched.errors import ConfigError\n"
        "try:\n    accasim_adapter.CpschedDispatcher\n"
        "except ConfigError as error:\n    print(error)\n"
    )
    assert "pip install 'cpsched[accasim]'" in printed
