"""The same dispatcher on the same log: the same start of every job, here and in the real AccaSim."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
from accasim_runs import accasim_starts, generated, in_process, needs_accasim

from cpsched import systems
from cpsched.base.types import MISSING
from cpsched.model.workload import Workload

pytestmark = [needs_accasim, pytest.mark.slow]

DISPATCHERS = (
    "fifo",
    "sjf",
    "prb",
    "easy",
    "conservative",
    "cph:limit=0.0002",
    "rollout",
    "easy:priority=urgency",
)


def test_every_job_of_a_small_log_starts_at_the_same_second(small, machine_file, ours, tmp_path):
    """Memory, GPUs, queues, bursts, runtimes of 0 and beyond the request; eight dispatchers."""
    log = small(generated())
    specs = [(name, {"system": str(machine_file), "again": True}) for name in DISPATCHERS]
    found = accasim_starts(log, machine_file, specs, tmp_path / "out")
    for name, starts in zip(DISPATCHERS, found, strict=True):
        assert starts == ours(log, machine_file, name), name


def test_predictors_give_the_same_starts_beside_the_dispatcher_and_inside(
    small, machine_file, ours, tmp_path
):
    """Inside our dispatcher, as additional data beside it, and beside AccaSim's own SJF."""
    log = small(generated())
    system = {"system": str(machine_file), "again": True}
    found = accasim_starts(
        log,
        machine_file,
        [
            ("easy:backfill=sjf", {**system, "predictor": "user-history"}),
            ("easy:backfill=sjf", {**system, "additional": "user-history"}),
            ("rollout", {**system, "additional": "last:count=2"}),
            ("accasim:ShortestJobFirst", {"again": True, "additional": "last:count=2"}),
        ],
        tmp_path / "out",
    )
    inside, beside, planning, theirs = found
    expected = ours(log, machine_file, "easy:backfill=sjf", "user-history")
    assert inside == expected
    assert beside == expected
    assert inside != ours(log, machine_file, "easy:backfill=sjf")
    assert planning == ours(log, machine_file, "rollout", "last:count=2")
    assert theirs == ours(log, machine_file, "sjf", "last:count=2")


def test_a_job_of_no_duration_leaves_its_nodes_idle_unless_accasim_dispatches_again(
    small, machine_file, tmp_path
):
    """
    Two jobs want the whole machine at second 5; the first takes no time. The next event is at 90.

    AccaSim starts the second there, at 5 with DispatchAgain, as cpsched does.
    """
    log = small(
        Workload.build(
            title="none",
            job_id=["1", "2", "3"],
            submit=[5, 5, 90],
            runtime=[0, 10, 10],
            requested_time=[10, 10, 10],
            units=[40, 40, 1],
            request=[[1, 0, 0]] * 3,
            resources=("core", "gpu", "mem"),
        )
    )
    late, same = accasim_starts(
        log, machine_file, [("fifo", {}), ("fifo", {"again": True})], tmp_path / "out"
    )
    assert late == {"1": 5, "2": 90, "3": 100}
    assert same == {"1": 5, "2": 5, "3": 90}


# --- real logs -----------------------------------------------------------------------------------


@pytest.mark.shared
def test_every_job_of_eurora_starts_at_the_same_second(shared, ours, tmp_path):
    """GPUs, MICs, memory, four queues with expected waits."""
    log = shared / "traces" / "eurora-2014.ext.csv.gz"
    specs = [(name, {"system": "eurora"}) for name in DISPATCHERS if "cph:" not in name]
    found = accasim_starts(log, "eurora", specs, tmp_path / "out", first=1200)
    for (name, _), starts in zip(specs, found, strict=True):
        assert starts == ours(log, "eurora", name, first=1200), name


@pytest.mark.shared
def test_every_job_of_hpc2n_starts_at_the_same_second(shared, ours, tmp_path):
    """As logged: 11 % of these jobs run for longer than they asked for."""
    log = shared / "traces" / "HPC2N-2002-2.2-cln.swf.gz"
    machine = tmp_path / "hpc2n.json"
    machine.write_text('{"groups": {"node": {"core": 2}}, "resources": {"node": 120}}')
    specs = [(name, {}) for name in ("prb", "easy", "conservative", "rollout")]
    found = accasim_starts(log, machine, specs, tmp_path / "out", first=1500)
    for (name, _), starts in zip(specs, found, strict=True):
        assert starts == ours(log, machine, name, first=1500), name


_THEIRS = """
import sys
import accasim_adapter
from accasim.base.allocator_class import FirstFit
from accasim.base import scheduler_class
from accasim.base.simulator_class import Simulator

log, system, rule, out = sys.argv[1:]
Simulator(
    log, system, getattr(scheduler_class, rule)(FirstFit()), scheduling_output=False,
    statistics_output=False, show_statistics=False, RESULTS_FOLDER_PATH=out, LOG_LEVEL="ERROR",
    additional_data=[accasim_adapter.ScheduleWriter(out + "/schedule")],
).start_simulation()
"""


@pytest.mark.shared
@pytest.mark.parametrize(
    ("theirs", "golden", "name"),
    [
        ("FirstInFirstOut", "fcfs", "fifo"),
        ("ShortestJobFirst", "sjf", "sjf"),
        ("LongestJobFirst", "ljf", "ljf"),
    ],
)
def test_accasims_own_rules_agree_with_ours_on_the_golden_input(
    shared, ours, tmp_path, theirs, golden, name
):
    """Its own reader, dispatcher and allocator, from the real package; the starts of 5,000 jobs."""
    from accasim_adapter import read_schedule

    log = tmp_path / "golden.swf"
    log.write_bytes(gzip.decompress((shared / "golden" / "hpc2n_cap_5000.swf.gz").read_bytes()))
    machine = tmp_path / "hpc2n.json"
    machine.write_text(
        '{"groups": {"node": {"core": 2}}, "resources": {"node": 120},'
        ' "equivalence": {"processor": {"core": 1}}, "start_time": 0}'
    )
    in_process(_THEIRS, log, machine, theirs, tmp_path)
    schedule = read_schedule(tmp_path / "schedule", systems.load(machine)).schedule
    assert (schedule.start != MISSING).all()
    starts = dict(zip(schedule.workload.job_id.tolist(), schedule.start.tolist(), strict=True))
    assert starts == ours(log, machine, name)
    with gzip.open(shared / "golden" / f"hpc2n_cap_5000_{golden}.csv.gz", "rt") as file:
        assert starts == {row["job_id"]: int(row["start"]) for row in csv.DictReader(file)}


# --- nothing of the truth ------------------------------------------------------------------------

_SPY = """
import sys
import accasim_adapter
from accasim.base.event_class import Event
from accasim.base.simulator_class import Simulator

reads = 0

class Spied(Event):
    def __init__(self, job_id, queued_time, duration, requested_nodes, requested_resources):
        self._truth = None
        super().__init__(job_id, queued_time, duration, requested_nodes, requested_resources)

    @property
    def duration(self):
        global reads
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_globals.get("__name__", "").partition(".")[0]
            if name in ("accasim_adapter", "cpsched", "predictors"):
                raise RuntimeError(f"the truth is read in {frame.f_code.co_qualname}")
            frame = frame.f_back
        reads += 1
        return self._truth

    @duration.setter
    def duration(self, value):
        self._truth = value

log, system, out = sys.argv[1:]
for name, predicts in (("easy", "user-history"), ("rollout", "last:count=2")):
    Simulator(
        log, system, accasim_adapter.CpschedDispatcher(name), job_class=Spied,
        scheduling_output=False, statistics_output=False, show_statistics=False,
        RESULTS_FOLDER_PATH=out, LOG_LEVEL="ERROR",
        additional_data=[
            accasim_adapter.CpschedPredictor(predicts),
            accasim_adapter.DispatchAgain(),
            accasim_adapter.ScheduleWriter(out + "/schedule"),
        ],
    ).start_simulation()
print(reads)
"""


def _swf(path, rows):
    """Write an SWF log of (job, submit, run, processors, requested, user)."""
    lines = [
        f"{job} {submit} -1 {run} {units} -1 -1 {units} {requested} -1 1 {user} -1 -1 -1 -1 -1 -1"
        for job, submit, run, units, requested, user in rows
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def _json(path):
    path.write_text('{"groups": {"node": {"core": 4}}, "resources": {"node": 4}}')
    return path


def _rows(num=80, seed=5):
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.integers(0, 60, num)).tolist()
    return [
        (job + 1, submit[job], int(rng.integers(0, 300)), int(rng.integers(1, 12)), 250, job % 5)
        for job in range(num)
    ]


_TWICE = """
import sys
from accasim_adapter import CpschedDispatcher, CpschedPredictor, ScheduleWriter
from accasim.base.simulator_class import Simulator

log, system, out = sys.argv[1:]
dispatcher, predictor = CpschedDispatcher("rollout"), CpschedPredictor("last:count=2")
for turn in "ab":
    Simulator(
        log, system, dispatcher, additional_data=[predictor, ScheduleWriter(f"{out}/{turn}")],
        scheduling_output=False, statistics_output=False, show_statistics=False,
        RESULTS_FOLDER_PATH=out, LOG_LEVEL="ERROR",
    ).start_simulation()
"""


def test_objects_can_be_used_for_one_simulation_after_the_other(tmp_path):
    """What was learnt in the first is forgotten."""
    log = _swf(tmp_path / "log.swf", _rows())
    in_process(_TWICE, log, _json(tmp_path / "system.json"), tmp_path)
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


def test_nothing_of_ours_reads_how_long_a_job_will_run(tmp_path):
    """A job class that raises when anything of ours is on the stack of whoever asks."""
    log = _swf(tmp_path / "log.swf", _rows())
    out = in_process(_SPY, log, _json(tmp_path / "system.json"), tmp_path)
    # AccaSim itself does, to end each job; without that the test would prove nothing.
    assert int(out) >= 160


@pytest.mark.parametrize("name", ["easy", "rollout"])
def test_decisions_are_the_same_whatever_happens_later(tmp_path, name):
    """AccaSim loads jobs before they are submitted: other ones must make no difference."""
    rows = _rows()
    system = _json(tmp_path / "system.json")
    first = accasim_starts(
        _swf(tmp_path / "a.swf", rows), system, [(name, {"again": True})], tmp_path / "out"
    )[0]
    until = 1200
    other = []
    for job, submit, run, units, requested, user in rows:
        if submit > until:
            submit, units, requested = submit + 1000, 1 + units % 3, 77
        if first[str(job)] + run > until:
            run = max(until + 1 - first[str(job)], 0) + 500 + job
        other.append((job, submit, run, units, requested, user))
    second = accasim_starts(
        _swf(tmp_path / "b.swf", other), system, [(name, {"again": True})], tmp_path / "out"
    )[0]

    def known(starts):
        return {job: start for job, start in starts.items() if start <= until}

    assert known(first) == known(second)
    assert first != second
