"""What AccaSim does that nobody expects, and what the adapter makes of it."""

import logging
import subprocess
import sys

import pytest
from accasim_runs import in_process, needs_accasim
from tiny import jobs, machine

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
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import accasim.utils.misc"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode
    assert "cannot import name 'Mapping' from 'collections'" in process.stderr


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


class AccasimStub:
    """A dispatcher on two nodes of two cores, and AccaSim's manager."""

    def __init__(self, dispatcher="fifo", **options):
        from accasim_adapter import CpschedDispatcher
        from accasim_adapter.package import ResourceManager, Resources

        self.manager = ResourceManager(Resources({"g": {"core": 2}}, {"g": 2}))
        self.made = CpschedDispatcher(dispatcher, **options)
        self.made.set_resource_manager(self.manager)
        self.jobs = {}

    @property
    def machine(self):
        return self.made.cluster.machine

    def ask(self, now, *queued, later=()):
        """Return what the dispatcher answers; all jobs ever named are loaded."""
        self.jobs |= {job.id: job for job in (*queued, *later)}
        return self.made.scheduling_method(now, list(queued), self.jobs)[0]

    def begin(self, now, answers):
        """Carry out what was answered, as AccaSim does."""
        for time, job_id, nodes in answers:
            if nodes:
                job = self.jobs[job_id]
                assert time == now
                assert self.manager.allocate_event(job, nodes)[0]
                job.start_time, job.assigned_nodes = now, nodes
        return answers


def test_a_start_that_accasim_refuses_waits_again():
    """It is asked about anew, with one more attempt, and its nodes are free again."""
    accasim, job = AccasimStub(), Job("a", 4)
    assert accasim.ask(0, job)[0][2]
    assert accasim.ask(1, job)[0][0] == 1
    state = accasim.machine
    assert state.store.columns[: state.store.size, columns.ATTEMPTS].tolist() == [1]
    assert state.num_waiting == 0


def test_an_end_is_noticed_and_a_queue_in_another_order_is_followed():
    """
    The nodes of the ended job go to the next; a job that vanished is cancelled.

    Answers have a node name for each unit; who waits on has no second and no nodes.
    """
    accasim, a, b, c = AccasimStub(), Job("a", 3), Job("b", 3), Job("c", 3)
    answers = accasim.begin(0, accasim.ask(0, a, b, c))
    waits = [(None, "b", []), (None, "c", [])]
    assert answers == [(0, "a", ["node_1", "node_1", "node_2"]), *waits]
    accasim.manager.remove_event("a")
    a.end_time = 5
    assert accasim.ask(5, c) == [(5, "c", ["node_1", "node_1", "node_2"])]


def test_a_job_that_runs_elsewhere_than_decided_is_followed():
    """Additional data may change the nodes of a decision."""
    accasim, a, b = AccasimStub(), Job("a", 1), Job("b", 2)
    assert accasim.ask(0, a) == [(0, "a", ["node_1"])]
    accasim.begin(0, [(0, "a", ["node_2"])])
    assert accasim.ask(1, b) == [(1, "b", ["node_1", "node_1"])]


@pytest.mark.parametrize("others", [False, True])
def test_a_job_taken_off_its_nodes_and_queued_again_waits(others):
    """
    As additional data that simulates failures does.

    It is no new job and keeps its place: dispatchers see the queue in the order of submits.
    """
    accasim, a, b, c = AccasimStub(), Job("a", 4), Job("b", 4), Job("c", 4)
    accasim.begin(0, accasim.ask(0, a, *([b] if others else [])))
    accasim.manager.remove_event("a")
    a.start_time = 0
    answers = accasim.ask(3, *([b, a, c] if others else [a]))
    start_times = [(job_id, time) for time, job_id, _ in answers]
    assert start_times == [("a", 3), *([("b", None), ("c", None)] if others else [])]
    state = accasim.machine
    assert (state.store.size, state.num_waiting, state.num_running) == (
        (3, 2, 1) if others else (1, 0, 1)
    )


def test_nodes_that_are_off_get_nothing():
    """And what they hold comes back when they are on."""
    accasim, a, b = AccasimStub(), Job("a", 2), Job("b", 2)
    status = accasim.manager._resources._resources_status
    status["node_1"] = 0
    answers = accasim.begin(0, accasim.ask(0, a, b))
    assert answers == [(0, "a", ["node_2", "node_2"]), (None, "b", [])]
    status["node_1"] = 1
    assert accasim.ask(1, b) == [(1, "b", ["node_1", "node_1"])]


def test_a_job_of_somebody_else_is_an_error():
    """Two dispatchers cannot share one simulation."""
    accasim = AccasimStub()
    accasim.manager.allocate_event(Job("b"), ["node_1"])
    with pytest.raises(DispatchError, match="job b runs, but was not started by fifo"):
        accasim.ask(0, Job("a"))


def test_what_can_never_run_is_rejected_with_a_reason(caplog):
    """Also where AccaSim checks nothing: too many units, no units, an unknown resource."""
    gpu = Job("gpu", requested_resources={"core": 1, "gpu": 1})
    jobs = {job.id: job for job in (Job("wide", 5), Job("none", 0), gpu, Job("good"))}
    with caplog.at_level(logging.WARNING, "accasim"):
        answers, rejected = AccasimStub().made.scheduling_method(0, list(jobs.values()), jobs)
    assert rejected == ["wide", "none", "gpu"]
    assert [job_id for _, job_id, _ in answers] == ["good"]
    assert "wide can never run here: needs 5 tasks" in caplog.text
    assert "gpu can never run here: asks for 1 gpu, and the system has none" in caplog.text


def test_a_job_without_a_requested_time_needs_a_default():
    """AccaSim keeps the -1 of a log."""
    job = Job("a", requested=-1)
    with pytest.raises(ConfigError, match="job a has no requested time .* default_time"):
        AccasimStub().ask(0, job)
    accasim = AccasimStub(default_time=60)
    accasim.ask(0, job)
    assert accasim.machine.store.columns[0, 2] == 60


class Lazy(Dispatcher):
    """Starts nothing, ever; may want to be woken."""

    name = "lazy"

    def __init__(self, again_at=None):
        self.again_at = again_at

    def reset(self, system, seed):
        self.asked = 0

    def decide(self, view):
        self.asked += 1
        wakes = self.again_at is not None and view.now < self.again_at
        return NOTHING._replace(again_at=self.again_at) if wakes else NOTHING


def test_jobs_that_wait_for_ever_are_an_error_and_no_endless_loop():
    """AccaSim would go on second by second; while others are to come it is no error."""
    accasim, a = AccasimStub(Lazy()), Job("a")
    assert accasim.ask(0, a, later=[Job("b")]) == [(None, "a", [])]
    del accasim.jobs["b"]
    with pytest.raises(DispatchError, match="lazy deadlocked: 1 job waiting"):
        accasim.ask(1, a)


@pytest.mark.parametrize("again_at", [None, 50])
def test_a_dispatcher_is_asked_only_where_something_happened(again_at):
    """AccaSim has seconds at which nothing does; it wakes up at one that a postponed job names."""
    accasim, a = AccasimStub(Lazy(again_at)), Job("a")
    assert accasim.ask(0, a, later=[Job("b")]) == [(again_at, "a", [])]
    for now in (1, 20, 50):
        accasim.ask(now, a)
    assert accasim.made.cluster.dispatcher.asked == (1 if again_at is None else 2)


# --- options -------------------------------------------------------------------------------------


def test_options_are_the_dispatchers_own():
    """In the specification; the id is fit for a folder's name."""
    made = AccasimStub("easy:backfill=sjf,allocator=best-fit").made
    assert len(made.cluster.dispatcher.queues) == 2
    assert made.get_id() == "cpsched-easy_allocator=best-fit_backfill=sjf"
    with pytest.raises(ConfigError, match="easy has no option '[a-z]+'.* Options"):
        AccasimStub("easy:depth=3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dispatcher": "nope"}, "unknown dispatcher 'nope'"),
        ({"predictor": "nope"}, "unknown predictor 'nope'"),
        ({"system": "nope"}, "unknown system 'nope'"),
        ({"correction": "nope"}, "correction: is 'nope', must be one of: requested, double"),
        ({"default_time": -1}, "default_time is -1, must be 1 or more"),
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
def test_a_dispatcher_is_a_name_or_an_object(what):
    """Not a class, which AccaSim's Experiment takes."""
    with pytest.raises(TypeError, match="must be a name or a Dispatcher"):
        AccasimStub(what)


def test_the_system_beside_must_be_the_same_machine():
    """Number of nodes, resource kinds, and what each node holds."""
    same = machine((2,), (2,))
    assert AccasimStub("greedy", system=same).made.cluster.system.node_names == ("node_1", "node_2")
    for other, message in (
        (machine((2,)), "it has 1 nodes, AccaSim's system has 2"),
        (machine((2,), (3,)), r"node n1 has \[3\] of core, AccaSim's node_2 has \[2\]"),
        (machine((2, 1), (2, 1), resources=("core", "gpu")), "it has core, gpu, AccaSim's"),
    ):
        with pytest.raises(ConfigError, match=message):
            AccasimStub("greedy", system=other)


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


def test_a_workload_without_jobs_is_refused(tmp_path):
    """Also one with jobs that can never run; AccaSim fails with a TypeError on both."""
    import accasim_adapter

    workload = jobs((0, 99, 10))
    for empty in (workload, workload.select(end=0)):
        with pytest.raises(ConfigError, match="has no job that can run on this system"):
            accasim_adapter.simulator(empty, machine((2,)), dispatcher=None, out=tmp_path / "o")
    assert not (tmp_path / "o").exists()
