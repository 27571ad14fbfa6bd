"""The same dispatcher on the same log: the same start of every job, here and in the real AccaSim."""

import csv
import gzip
import json

import numpy as np
import pytest
from accasim_runs import (
    STARTS,
    accasim_starts,
    generated,
    in_process,
    needs_accasim,
    our_starts,
)

from cpsched.model.workload import Workload

pytestmark = [needs_accasim, pytest.mark.slow]

DISPATCHERS = (
    *("fifo", "sjf", "greedy", "easy", "conservative", "cp-pool:limit=0.0002", "lookahead"),
    "easy:order=wsept",
)
HISTORY, LAST = "user-history", "last:count=2"


def test_every_job_of_a_small_log_starts_at_the_same_second(small, machine_file, tmp_path):
    """
    Memory, GPUs, queues, bursts, runtimes of 0 and beyond the request; eight dispatchers.

    With predictors inside our dispatcher, as additional data beside it, and beside AccaSim's SJF.
    """
    log = small(generated(120))
    system = {"system": str(machine_file), "again": True}
    backfill, theirs = "easy:backfill=sjf", "accasim:ShortestJobFirst"
    cases = [
        *(({"name": name, **system}, (name,)) for name in DISPATCHERS),
        ({"name": backfill, **system, "predictor": HISTORY}, (backfill, HISTORY)),
        ({"name": backfill, **system, "additional": HISTORY}, (backfill, HISTORY)),
        ({"name": "easy-wsept", **system, "additional": LAST}, ("easy-wsept", LAST)),
        ({"name": theirs, "again": True, "additional": LAST}, ("sjf", LAST)),
    ]
    # Two jobs want the whole machine at second 5; the first takes no time. The next event is at 90.
    no_time = small(
        Workload.build(
            title="none",
            job_id=["1", "2", "3"],
            submit=[5, 5, 90],
            runtime=[0, 10, 10],
            requested_time=[10, 10, 10],
            units=[40, 40, 1],
            request=[[1, 0, 0]] * 3,
            resources=("core", "gpu", "mem"),
        ),
        "none.parquet",
    )
    tasks = [
        (log, machine_file, None, [how for how, _ in cases]),
        (no_time, machine_file, None, [{"name": "fifo"}, {"name": "fifo", "again": True}]),
    ]
    starts_by_case, (late, same) = accasim_starts(tasks, tmp_path / "out")
    for (how, ours), starts in zip(cases, starts_by_case, strict=True):
        assert starts == our_starts(log, machine_file, *ours), how
    # AccaSim starts the second job at the next event, with DispatchAgain at once, as cpsched does.
    assert late == {"1": 5, "2": 90, "3": 100}
    assert same == {"1": 5, "2": 5, "3": 90}


# --- real logs -----------------------------------------------------------------------------------


@pytest.mark.shared
def test_every_job_of_real_logs_starts_at_the_same_second(shared, tmp_path):
    """
    Eurora has GPUs, MICs, memory, and four queues with expected waits.

    HPC2N is as logged: 11 % of these jobs run for longer than they asked for.
    """
    machine = tmp_path / "hpc2n.json"
    machine.write_text('{"groups": {"node": {"core": 2}}, "resources": {"node": 120}}')
    eurora = [
        {"name": name, "system": "eurora"}
        for name in DISPATCHERS
        if not name.startswith("cp-pool:")
    ]
    hpc2n = [{"name": name} for name in ("greedy", "easy", "conservative", "easy-wsept")]
    tasks = [
        (shared / "traces" / "eurora-2014.ext.csv.gz", "eurora", 600, eurora),
        (shared / "traces" / "HPC2N-2002-2.2-cln.swf.gz", machine, 800, hpc2n),
    ]
    starts_by_log = accasim_starts(tasks, tmp_path / "out")
    for (log, system, first, dispatchers), by_dispatcher in zip(tasks, starts_by_log, strict=True):
        for how, starts in zip(dispatchers, by_dispatcher, strict=True):
            assert starts == our_starts(log, system, how["name"], first=first), how


_THEIRS = (
    STARTS
    + """
from accasim.base.allocator_class import FirstFit
from accasim.base import scheduler_class
from accasim.base.simulator_class import Simulator

log, system, out, *rules = sys.argv[1:]
found = {}
for rule in rules:
    starts = Starts()
    Simulator(
        log, system, getattr(scheduler_class, rule)(FirstFit()), scheduling_output=False,
        statistics_output=False, show_statistics=False, RESULTS_FOLDER_PATH=out, LOG_LEVEL="ERROR",
        additional_data=[starts],
    ).start_simulation()
    found[rule] = starts.of
print(json.dumps(found))
"""
)
RULES = {
    "FirstInFirstOut": ("fcfs", "fifo"),
    "ShortestJobFirst": ("sjf", "sjf"),
    "LongestJobFirst": ("ljf", "ljf"),
}


@pytest.mark.shared
def test_accasims_own_rules_agree_with_ours_on_the_golden_input(shared, tmp_path):
    """Its own reader, dispatcher and allocator, from the real package; the starts of 5,000 jobs."""
    log = tmp_path / "golden.swf"
    log.write_bytes(gzip.decompress((shared / "golden" / "hpc2n_cap_5000.swf.gz").read_bytes()))
    machine = tmp_path / "hpc2n.json"
    machine.write_text(
        '{"groups": {"node": {"core": 2}}, "resources": {"node": 120},'
        ' "equivalence": {"processor": {"core": 1}}, "start_time": 0}'
    )
    starts_by_rule = json.loads(
        in_process(_THEIRS, log, machine, tmp_path, *RULES).splitlines()[-1]
    )
    for theirs, (golden, name) in RULES.items():
        starts = starts_by_rule[theirs]
        assert starts == our_starts(log, machine, name)
        with gzip.open(shared / "golden" / f"hpc2n_cap_5000_{golden}.csv.gz", "rt") as file:
            assert starts == {row["job_id"]: int(row["start"]) for row in csv.DictReader(file)}


# --- nothing of the truth ------------------------------------------------------------------------

_SPY = (
    STARTS
    + """
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
dispatcher = accasim_adapter.CpschedDispatcher("easy-wsept")
predictor = accasim_adapter.CpschedPredictor("last:count=2")
turns = Starts(), Starts()
for starts in turns:
    Simulator(
        log, system, dispatcher, job_class=Spied, scheduling_output=False,
        statistics_output=False, show_statistics=False, RESULTS_FOLDER_PATH=out, LOG_LEVEL="ERROR",
        additional_data=[
            predictor,
            accasim_adapter.DispatchAgain(),
            starts,
        ],
    ).start_simulation()
print(reads, turns[0].of == turns[1].of, len(turns[0].of))
"""
)


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


def test_nothing_of_ours_reads_how_long_a_job_will_run(tmp_path):
    """
    A job class that raises when anything of ours is on the stack of whoever asks.

    Objects can be used for one simulation after the other: what was learnt is forgotten.
    """
    log = _swf(tmp_path / "log.swf", _rows())
    reads, same, jobs = in_process(_SPY, log, _json(tmp_path / "system.json"), tmp_path).split()
    # AccaSim itself does, to end each job; without that the test would prove nothing.
    assert int(reads) >= 160
    assert (same, jobs) == ("True", "80")


def test_decisions_are_the_same_whatever_happens_later(tmp_path):
    """AccaSim loads jobs before they are submitted: other ones must make no difference."""
    system, until = _json(tmp_path / "system.json"), 1200
    log, tasks = _swf(tmp_path / "log.swf", _rows()), []
    for name in ("easy", "easy-wsept"):
        starts, other = our_starts(log, system, name), []
        for job, submit, run, units, requested, user in _rows():
            if submit > until:
                submit, units, requested = submit + 1000, 1 + units % 3, 77
            if starts[str(job)] + run > until:
                run = max(until + 1 - starts[str(job)], 0) + 500 + job
            other.append((job, submit, run, units, requested, user))
        changed = _swf(tmp_path / f"{name}.swf", other)
        how = [{"name": name, "again": True}]
        tasks += [(log, system, None, how), (changed, system, None, how)]

    def known(starts):
        return {job: start for job, start in starts.items() if start <= until}

    start_times = [starts for (starts,) in accasim_starts(tasks, tmp_path / "out")]
    for first, second in (start_times[:2], start_times[2:]):
        assert known(first) == known(second)
        assert first != second
