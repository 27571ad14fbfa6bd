"""Writing sacct text: what Slurm can say is read back, what it cannot is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.model.workload import Workload
from cpsched.util.types import MISSING, UNBOUNDED, DependencyType, Split, Status

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("suffix", [".sacct", ".sacct.gz"])
def test_a_run_of_a_real_slurm_reads_back_equal(small_logs, tmp_path, differences, suffix):
    original = logs.read(small_logs / "slurm-22.05.8.sacct")
    path = tmp_path / f"slurm-22.05.8{suffix}"
    assert logs.write(original, path) == ("excluded rows",)
    assert differences(original, logs.read(path)) == ["header", "set_aside"]


words = st.sampled_from(["a", "b", "c-1", "d.e", None])
times = st.integers(0, 5000)


@st.composite
def slurm_jobs(draw):
    """Jobs such as Slurm can have, every column in use."""
    number = draw(st.integers(1, 8))
    rows = [
        {
            "submit": 0 if row == 0 else draw(times),
            "runtime": draw(times),
            "requested_time": draw(st.one_of(st.integers(1, 10**6), st.just(MISSING))),
            "units": draw(st.integers(8, 100)),
            "nodes": draw(st.sampled_from([(1, 1), (4, 4), (1, UNBOUNDED), (2, 6), (3, UNBOUNDED)])),
            "mem": draw(st.sampled_from([(0, 0), (0, 7), (2**20, 0)])),
            "gpu": draw(st.integers(0, 4)),
            "wait": draw(times),
            "begin": draw(st.one_of(times, st.just(0))),
            "kind": draw(st.sampled_from(["ran", "ran", "cancelled"])),
            "status": draw(st.sampled_from(Status)),
            "limit": draw(st.integers(0, 3)),
        }
        for row in range(number)
    ]  # fmt: skip
    rows.sort(key=lambda row: row["submit"])
    for row in rows:
        row["runs"] = row["kind"] == "ran"
        if not row["runs"]:
            row["status"] = Status.CANCELLED
            known = row["requested_time"] != MISSING
            row["runtime"] = row["requested_time"] if known else row["wait"]

    def column(name, dtype=np.int64):
        return np.array([row[name] for row in rows], dtype=dtype)

    runs, submit, start = column("runs", bool), column("submit"), column("submit") + column("wait")
    tasks = draw(st.lists(st.booleans(), min_size=number, max_size=number))
    dependency = np.full(number, -1)
    kinds = np.zeros(number, dtype=np.int64)
    end = np.where(runs, start + column("runtime"), start)
    for row in range(1, number):
        other = draw(st.integers(-1, row - 1))
        met = other >= 0 and (not runs[row] or end[other] <= start[row])
        if met:
            good = rows[other]["status"] in (Status.COMPLETED, Status.UNKNOWN)
            choices = [DependencyType.AFTERANY, DependencyType.AFTER]
            choices.append(DependencyType.AFTEROK if good else DependencyType.AFTERNOTOK)
            dependency[row], kinds[row] = other, draw(st.sampled_from(choices))
    cores = np.ones(number, dtype=np.int64)
    memory = np.array([row["mem"] for row in rows])
    zero = np.zeros(number, dtype=np.int64)
    nodes = np.array([row["nodes"] for row in rows])
    flags = st.lists(st.booleans(), min_size=number, max_size=number)
    labels = st.lists(words, min_size=number, max_size=number)
    queue = draw(st.lists(st.sampled_from(["x", "y"]), min_size=number, max_size=number))
    lists = draw(flags)
    switches = draw(flags)
    workload = Workload.build(
        title="written",
        epoch=1_700_000_000,
        resources=("core", "gpu", "mem"),
        job_id=[f"{row + 10}_{row}" if task else str(row + 10) for row, task in enumerate(tasks)],
        submit=submit,
        runtime=column("runtime"),
        requested_time=column("requested_time"),
        units=column("units"),
        request=np.column_stack([cores, zero, memory[:, 0]]),
        per_node=np.column_stack([zero, column("gpu"), memory[:, 1]]),
        nodes_min=nodes[:, 0],
        nodes_max=nodes[:, 1],
        exclusive=draw(flags),
        restartable=draw(flags),
        contiguous=draw(flags),
        segment=draw(st.lists(st.integers(0, 3), min_size=number, max_size=number)),
        max_switches=np.array(switches, dtype=np.int64),
        switch_wait=np.where(switches, draw(st.sampled_from([MISSING, 90, 3600])), MISSING),
        constraint=draw(st.lists(st.sampled_from(["v100|a100", "ib", None]), min_size=number, max_size=number)),
        name=draw(st.lists(st.sampled_from(["a|b", "two words", "x", None]), min_size=number, max_size=number)),
        partition=queue,
        queue=["x,y" if more else name for name, more in zip(queue, lists, strict=True)],
        user=draw(labels),
        group=draw(labels),
        qos=draw(labels),
        reservation=draw(labels),
        licenses=draw(st.lists(st.sampled_from(["m:2,n", None]), min_size=number, max_size=number)),
        array=[str(row + 10) if task else None for row, task in enumerate(tasks)],
        array_limit=np.where(tasks, column("limit"), 0),
        nice=draw(st.lists(st.integers(-5, 5), min_size=number, max_size=number)),
        begin=np.where(column("begin") > submit, column("begin"), MISSING),
        dependency=dependency,
        dependency_type=kinds,
        recorded_start=np.where(runs, start, MISSING),
        cancel=np.where(runs, MISSING, start),
        status=column("status"),
    )  # fmt: skip
    used = (workload.request + workload.per_node).any(axis=0)
    resources = np.flatnonzero(used)
    return workload.with_columns(
        resources=tuple(workload.resources[at] for at in resources),
        **{
            name: getattr(workload, name)[:, resources]
            for name in ("request", "per_node", "per_node_max")
        },
    )


@given(slurm_jobs())
@settings(max_examples=200)
def test_what_slurm_can_say_reads_back_equal(tmp_path_factory, differences, workload):
    path = tmp_path_factory.mktemp("sacct") / "written.sacct"
    assert logs.write(workload, path) == ()
    back = logs.read(path)
    assert set(differences(workload, back)) <= {"header"}
    assert back.digest() == workload.digest()


def one_job(**columns):
    """Return two jobs that started when submitted, with the columns given."""
    given = {
        "title": "one",
        "epoch": 1_700_000_000,
        "job_id": ["7", "8"],
        "submit": [0, 10],
        "runtime": [5, 5],
        "recorded_start": [0, 10],
        "units": [4, 4],
        "request": [[1], [1]],
        "resources": ("core",),
        "partition": ["x", "x"],
        "queue": ["x", "x"],
    }
    return Workload.build(**given | columns)


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        ({}, None),
        ({"job_id": ["7.pbs", "8"]}, "the ids of jobs, which Slurm cannot have"),
        ({"epoch": None}, "the log has no start date"),
        ({"submit": [3, 10], "recorded_start": [4, 10]}, "times will count from the first submit"),
        ({"set_aside": (("never ran", 3),)}, "excluded rows"),
        ({"split": [0, Split.EVEN]}, "1 values of split"),
        ({"deadline": [99, 99]}, "2 values of deadline"),
        ({"requested_time": [9, 9], "requested_time_assumed": [True, False]}, "1 values of requested_"),
        ({"request": [[1], [2]]}, "1 jobs whose tasks have several cores"),
        ({"resources": ("core", "gpu"), "request": [[1, 1], [1, 0]]}, "1 jobs with GPUs or the like"),
        ({"per_node": [[0], [1]]}, "1 jobs that need further cores on each node"),
        ({"recorded_start": [0, MISSING]}, "1 jobs without a recorded start"),
        ({"dependency": [-1, 0], "recorded_start": [5, 10]}, None),
        ({"user": ["a b", "a"]}, "1 texts of user, which are changed slightly"),
        ({"name": ["a\nb", "a"]}, "1 texts of name, which are changed slightly"),
    ],
)  # fmt: skip
def test_what_slurm_cannot_say_is_named(tmp_path, differences, columns, lost):
    workload = one_job(**columns)
    notes = logs.write(workload, tmp_path / "one.sacct")
    back = logs.read(tmp_path / "one.sacct")
    if lost is None:
        assert (notes, set(differences(workload, back)) - {"header"}) == ((), set())
    else:
        assert [note for note in notes if note.startswith(lost)]
        assert set(differences(workload, back)) - {"header"}


def test_a_log_of_processors_is_refused(tmp_path):
    with pytest.raises(TraceError, match="this log only counts processors"):
        logs.write(one_job(layout="processors"), tmp_path / "one.sacct")


def test_the_schedule_of_a_run_is_written_as_a_log(tmp_path, cpsched):
    """What is read from it is when jobs started in the run; a killed job was cancelled."""
    # One is cancelled after 30 s, the other waits for it.
    times = {"submit": [0, 0], "runtime": [50, 60], "requested_time": [50, 20]}
    source, system = tmp_path / "small.csv", tmp_path / "two.toml"
    logs.write(one_job(**times, cancel=[30, MISSING]), source)
    system.write_text('resources = ["core"]\n[[nodes]]\ngroup = "n"\ncount = 1\ncore = 4\n')
    run = (
        "--system",
        str(system),
        "-d",
        "fifo",
        "--export",
        "slurm",
        "--out",
        str(tmp_path / "run"),
    )
    code, _, err = cpsched("simulate", str(source), *run)
    assert code == 0, err
    (path,) = (tmp_path / "run").rglob("*.sacct")
    written = logs.read(path)
    assert written.job_id.tolist() == ["7", "8"]
    assert written.recorded_start.tolist() == [0, 30]
    assert written.runtime.tolist() == [30, 20]
    assert written.status.tolist() == [Status.CANCELLED, Status.TIMEOUT]


def test_memory_of_tasks_with_several_cores_is_written_by_core(tmp_path):
    """Two tasks of 8 cores and 1 GB each: 2 GB in all, also when read back as 16 cores."""
    workload = one_job(resources=("core", "mem"), request=[[8, 1_000_000]] * 2, units=[2, 2])
    logs.write(workload, tmp_path / "one.sacct")
    back = logs.read(tmp_path / "one.sacct")
    memory = back.request[:, back.resources.index("mem")]
    assert (back.units * memory).tolist() == [2_000_000] * 2
    assert back.units.tolist() == [16, 16]


def test_gpus_of_tasks_are_written_with_the_nodes_of_a_run(tmp_path, cpsched):
    source, system = tmp_path / "small.csv", tmp_path / "two.toml"
    amounts = {"resources": ("core", "gpu"), "request": [[1, 1], [1, 0]], "units": [4, 4]}
    logs.write(one_job(**amounts, requested_time=[50, 50]), source)
    system.write_text(
        'resources = ["core", "gpu"]\n[[nodes]]\ngroup = "n"\ncount = 2\ncore = 4\ngpu = 2\n'
    )
    options = ("-d", "fifo", "--export", "slurm", "--out", str(tmp_path / "run"))
    code, _, err = cpsched("simulate", str(source), "--system", str(system), *options)
    assert code == 0, err
    (path,) = (tmp_path / "run").rglob("*.sacct")
    back = logs.read(path)
    gpus = back.units * back.request[:, 1] + back.nodes_min * back.per_node[:, 1]
    assert gpus.tolist() == [4, 0]
    assert back.nodes_min.tolist() == [2, 1]
