"""How long jobs run on what they get: as recorded, or scaled by their GPUs."""

import json
from statistics import NormalDist

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched import logs
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.rules import Fifo
from cpsched.errors import ConfigError, DispatchError
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Start
from cpsched.model.estimates import Requested
from cpsched.model.schedule import JobOutcome
from cpsched.model.seeds import stream_seed
from cpsched.papers.gpu_scaling import GpuScaling, positive_normal
from cpsched.simulation.arrivals import JobStream
from cpsched.simulation.runtime_models import Recorded
from cpsched.simulation.simulator import Simulator
from cpsched.systems.mapping import fit
from cpsched.verification import Rule, verify

KINDS = ("core", "gpu")


class Takes(Dispatcher):
    """Starts one job after the other on the first nodes, with so many GPUs on each."""

    name = "takes"

    def __init__(self, gpus, nodes=1):
        self._gpus, self._nodes = gpus, nodes

    def decide(self, view):
        waiting = view.waiting
        if len(view.running) or not len(waiting):
            return Decision()
        handle = int(waiting.handle[0])
        node = np.arange(self._nodes)
        units = np.full(self._nodes, int(waiting.units[0]) // self._nodes)
        gpus = np.resize(self._gpus, self._nodes) if self._nodes > 1 else [self._gpus[handle]]
        amount = np.column_stack([units, gpus]).astype(np.int64)
        return Decision(actions=(Start(handle, Allocation(node, units, amount)),))


def ranged(*rows, low=1, high=3, **more):
    """Jobs of one core that take ``low`` to ``high`` GPUs a node."""
    num = len(rows)
    return jobs(
        *rows,
        resources=KINDS,
        per_node=[[0, low]] * num,
        per_node_max=[[0, high]] * num,
        **more,
    )


def seconds(workload, dispatcher, *, nodes=1, **settings):
    """Simulate under linear scaling and return how long each job ran."""
    settings = {"runtime_model": "gpu-scaling:sigma=0", "overrun": "extend", **settings}
    system = machine(*[(4, 3)] * nodes, resources=KINDS)
    schedule = run(workload, system, dispatcher, **settings).schedule
    assert verify(schedule, recorded=False) == []
    return (schedule.end - schedule.start).tolist()


def test_more_gpus_make_a_job_faster():
    """Equation 7.1 without its factor: 100 s on one GPU are 50 s on two, 34 s on three."""
    workload = ranged((0, 1, 100), (0, 1, 100), (0, 1, 100))
    assert seconds(workload, Takes([1, 2, 3])) == [100, 50, 34]
    # A range that begins at two scales from there, and no time is none.
    assert seconds(ranged((0, 1, 99), (0, 1, 99), low=2), Takes([2, 3])) == [99, 66]
    assert seconds(ranged((0, 1, 0), (0, 1, 1)), Takes([3, 3])) == [0, 1]
    # The node with the fewest counts.
    assert seconds(ranged((0, 2, 90)), Takes([3, 2], nodes=2), nodes=2) == [45]
    # Jobs without a range run as recorded, also with GPUs they all need.
    workload = jobs((0, 1, 7), (0, 1, 9), resources=KINDS, per_node=[[0, 0], [0, 2]])
    assert seconds(workload, Takes([0, 2]), runtime_model="gpu-scaling") == [7, 9]


def test_gpus_of_the_units_are_not_the_range():
    """Two units of one GPU each and one to two besides: three held are one of the range."""
    workload = ranged((0, 2, 60), high=2, request=[[1, 1]])
    system = machine((4, 4), resources=KINDS)
    ends = [
        run(workload, system, Takes([held]), runtime_model="gpu-scaling:sigma=0").schedule.end
        for held in (3, 4)
    ]
    assert [end.tolist() for end in ends] == [[60], [30]]


def test_a_job_alone_on_its_nodes_uses_what_it_can():
    """It holds all four GPUs and can use two of them."""
    workload = ranged((0, 1, 60), high=2, exclusive=[True])
    system = machine((1, 4), resources=KINDS)
    schedule = run(workload, system, Takes([4]), runtime_model="gpu-scaling:sigma=0").schedule
    assert schedule.end.tolist() == [30]


@pytest.mark.parametrize("held", [0, 4])
def test_what_is_held_must_be_within_the_range(held):
    """1 to 3 GPUs: neither 0 nor 4 on a node of 4."""
    system = machine((4, 4), resources=KINDS)
    with pytest.raises(DispatchError, match=f"job 0 is given {held} gpu on node n0, which differs"):
        run(ranged((0, 1, 10)), system, Takes([held]))


def test_the_verifier_knows_ranges():
    """2 GPUs where 1 to 3 are asked for; of the same schedule where only 1 may be, a violation."""
    system = machine((4, 4), resources=KINDS)
    schedule = run(ranged((0, 1, 10)), system, Takes([2])).schedule
    assert verify(schedule) == []
    exact = schedule.workload.with_columns(per_node_max=np.zeros((1, 2), dtype=np.int64))
    object.__setattr__(schedule, "workload", exact)
    assert [violation.rule for violation in verify(schedule)] == [Rule.AMOUNT]
    narrow = exact.with_columns(per_node_max=np.array([[0, 1]]))
    object.__setattr__(schedule, "workload", narrow)
    assert "takes 2 gpu of node n0, but its tasks need 1" in verify(schedule)[0].message


def test_kill_ends_a_job_whose_factor_is_above_one():
    """At the request, which the user made without knowing the factor; others end before it."""
    workload = ranged(*[(0, 1, 100)] * 40)
    system = machine((4, 3), resources=KINDS)
    killed = run(workload, system, Takes([1] * 40), runtime_model="gpu-scaling").schedule
    ran = killed.end - killed.start
    assert ran.max() == 100
    extended = run(
        workload, system, Takes([1] * 40), runtime_model="gpu-scaling", overrun="extend"
    ).schedule
    longer = extended.end - extended.start
    assert np.array_equal(np.minimum(longer, 100), ran)
    assert np.array_equal(killed.outcome == JobOutcome.TIMEOUT, longer > 100)
    assert 10 < (longer > 100).sum() < 30


def test_a_jobs_factor_follows_from_seed_and_handle():
    """The same under another allocation; more jobs after it change nothing; another seed does."""

    def works(num, seed):
        model = GpuScaling()
        fitted = fit(ranged(*[(0, 1, 1000)] * num), machine((4, 3), resources=KINDS))
        model.reset(JobStream(fitted), seed)
        return [model.work(job) for job in range(num)]

    assert works(20, seed=1) == works(30, seed=1)[:20]
    assert works(20, seed=1) != works(20, seed=2)
    assert len(set(works(20, seed=1))) > 15


def test_the_factor_is_a_normal_one_above_zero():
    """Mean of N(1, 0.5) above 0 by hand: 1 + 0.5 pdf(2) / cdf(2) = 1.0276."""
    draws = positive_normal(np.random.default_rng(1).random(20_000), 0.5)
    normal = NormalDist()
    assert draws.min() > 0
    assert draws.mean() == pytest.approx(1 + 0.5 * normal.pdf(2) / normal.cdf(2), abs=0.01)
    # Half of the untruncated draws are above 1: 0.5 / cdf(2) of these.
    assert (draws > 1).mean() == pytest.approx(0.5 / normal.cdf(2), abs=0.01)


@pytest.mark.parametrize("sigma", [0.0, 1e-9, 0.5, 10.0])
def test_the_extremes_of_the_factor_are_finite(sigma):
    draws = positive_normal(np.array([0.0, 0.5, np.nextafter(1, 0)]), sigma)
    assert np.all(np.isfinite(draws))
    assert np.all(draws >= 0)
    assert np.all(np.diff(draws) >= 0)


def test_a_range_from_zero_is_refused():
    workload = ranged((0, 1, 10), low=0, high=2)
    with pytest.raises(
        ConfigError, match="job 0 takes 0 to 2 gpu a node, and its runtime on 0 does not"
    ):
        run(workload, machine((4, 3), resources=KINDS), "fifo", runtime_model="gpu-scaling")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpu", "unknown runtime model 'gpu'. All names: cpsched list runtime_models"),
        ("gpu-scaling:sigma=-1", r"^gpu-scaling.*sigma: -1\.0 is not between 0 and 10"),
        ("gpu-scaling:mu=1", "gpu-scaling has no option 'mu'. Options: sigma"),
        ("recorded:x=1", "recorded has no option 'x'. Options: none"),
        ("locality:alpha=1", r"^locality.*alpha: 1\.0 is not between 0 and 1, 1 excluded"),
        ("locality:beta=1.5", r"^locality.*beta: 1\.5 is not between 0 and 1"),
        ("locality:log=both", "^locality.*log is 'both', must be contiguous or scattered"),
    ],
)
def test_bad_specifications_are_one_line(spec, message):
    with pytest.raises(ConfigError, match=message):
        run(jobs((0, 1, 1)), machine((1,)), "fifo", runtime_model=spec)


def test_the_command_line_records_and_verifies_it(cpsched, tmp_path):
    """``--runtime-model`` is in run.json in its one form, and ``verify`` takes it into account."""
    (tmp_path / "m.toml").write_text(
        'name = "m"\ntitle = "m"\nsource = "made up"\nresources = ["core", "gpu"]\n'
        'default_expected_wait = 60\n[[nodes]]\ngroup = "all"\ncount = 1\ncore = 4\ngpu = 3\n'
    )
    logs.write(ranged(*[(0, 1, 100)] * 9), tmp_path / "w.csv")
    line = ["simulate", str(tmp_path / "w.csv"), "--system", str(tmp_path / "m.toml"), "-d", "fifo"]
    out = tmp_path / "out"
    scaled = ["--runtime-model", "gpu-scaling: sigma=0.2", "--out", str(out)]
    assert cpsched(*line, *scaled)[0] == 0
    (out,) = (out / "runs").iterdir()
    description = json.loads((out / "run.json").read_text())
    assert description["settings"]["runtime_model"] == "gpu-scaling:sigma=0.2"
    code, text, _ = cpsched("verify", str(out))
    assert (code, ", OK" in text) == (0, True)
    description["settings"]["runtime_model"] = "recorded"
    (out / "run.json").write_text(json.dumps(description))
    code, text, _ = cpsched("verify", str(out))
    assert code == 1
    assert "runtime in the log is 100 s" in text
    code, _, err = cpsched(*line, "--runtime-model", "gpus")
    assert code == 2
    assert "unknown runtime model 'gpus'" in err


def test_each_consumer_of_a_seed_has_a_stream_of_its_own():
    """What a dispatcher or predictor is given does not tell how long jobs will run."""
    seeds = {}

    class Nosy(Fifo):
        def reset(self, system, seed):
            seeds["dispatcher"] = seed
            super().reset(system, seed)

    class Curious(Requested):
        def reset(self, system, seed):
            seeds["predictor"] = seed
            super().reset(system, seed)

    class Model(Recorded):
        def reset(self, arrivals, seed):
            seeds["model"] = seed
            super().reset(arrivals, seed)

    fitted = fit(jobs((0, 1, 5)), machine((1,)))
    for seed in range(3):
        Simulator(fitted, Nosy(), Curious(), runtime_model=Model(), seed=seed)
        assert len({seed, *seeds.values()}) == 4
        assert seeds["model"] == stream_seed(seed, "runtime model") < 2**31
