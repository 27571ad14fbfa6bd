"""A log of three machines: a run for each, and one that equals a simulation of them all."""

import json
import shutil

import numpy as np
import pytest
from tiny import jobs

from cpsched import traces
from cpsched.study import worker
from many_machines import merge

pytestmark = pytest.mark.slow

MACHINES = {"a": (4, 2), "b": (2, 4), "c": (8, 1)}
#: What a run holds besides when it was made, and how.
DATA = (
    *("workload.parquet", "system.json", "jobs.parquet", "allocations.parquet"),
    *("queue.parquet", "metrics.json"),
)


def log_of(number=150, seed=1, **columns):
    """Jobs of all machines, some of which can never run, and some of no length."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(0, 60, number)
    given = {
        "partition": rng.choice(["a", "b", "c"], number).tolist(),
        "user": rng.choice(["eve", "tom"], number).tolist(),
    }
    rows = zip(
        np.sort(rng.integers(0, 6 * number, number)).tolist(),
        rng.integers(1, 10, number).tolist(),
        runtime.tolist(),
        (runtime + rng.integers(-9, 50, number)).clip(1).tolist(),
        strict=True,
    )
    return jobs(*rows, **given | columns)


@pytest.fixture
def where(tmp_path, monkeypatch):
    """A folder with the log and a system for each machine, in which commands run."""
    monkeypatch.chdir(tmp_path)
    for name, (nodes, cores) in MACHINES.items():
        (tmp_path / f"{name}.toml").write_text(
            f'resources = ["core"]\n[[nodes]]\ngroup = "g"\ncount = {nodes}\n'
            f'names = "n{{}}"\ncore = {cores}\n'
        )
    traces.write(log_of(), tmp_path / "log.csv")
    return tmp_path


EACH = [word for name in MACHINES for word in ("--system", f"{name}={name}.toml")]
GIVEN = ("log.csv", "--by", "partition", *EACH)


def single(cpsched, where, dispatcher, system="run.machines/inputs/all.system.json"):
    """Simulate all machines at once, and return the run's folder."""
    code, _, err = cpsched(
        "simulate", "log.csv", "--system", str(system), "-d", dispatcher, "--out", "single"
    )
    assert (code, err) == (0, "")
    (folder,) = (where / "single" / "runs").iterdir()
    return folder


def assert_equal(one, other, names=DATA):
    """The files of two runs have the same bytes."""
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_the_run_is_that_of_all_machines_at_once(where, cpsched, monkeypatch):
    """Byte by byte, also where segments are put together a few at a time; it is verified."""
    monkeypatch.setattr(merge, "_PIECE", 7)
    code, out, err = cpsched("machines", *GIVEN, "--out", "run")
    assert (code, err) == (0, "")
    assert "150 jobs of 3 machines: run" in out
    assert_equal(where / "run", single(cpsched, where, "per-machine:dispatcher=easy"))
    about = json.loads((where / "run" / "run.json").read_text())
    counts = about["counts"]
    assert counts["in_log"] == 150 == counts["rejected"] + counts["simulated"]
    assert counts["rejected"] > 0
    assert about["dispatcher"] == "per-machine:dispatcher=easy"
    assert list(about["arguments"]["machines"]) == ["a", "b", "c"]
    assert cpsched("verify", "run")[:2] == (0, "run: 150 jobs, OK\n")


def test_where_machines_do_not_interact_it_is_that_of_the_dispatcher_itself(where, cpsched):
    """Conservative backfilling plans every job, and a plan on one machine takes nothing of others."""
    assert cpsched("machines", *GIVEN, "-d", "conservative", "--out", "run")[0] == 0
    assert_equal(where / "run", single(cpsched, where, "conservative"))


def test_two_processes_give_the_same_bytes(where, cpsched):
    """Everything but the timing."""
    for folder, more in (("run", ()), ("two", ("-j", "2"))):
        assert cpsched("machines", *GIVEN, "--out", folder, *more)[0] == 0
    assert_equal(where / "run", where / "two", (*DATA, "run.json"))


@pytest.mark.parametrize("killed", ["while a run is saved", "while logs are written"])
def test_a_killed_command_continues(killed, where, cpsched, monkeypatch):
    """Runs that are there are kept; the result has the same bytes."""
    assert cpsched("machines", *GIVEN, "--out", "whole")[0] == 0
    saved, save = [], worker.save_run

    def die(run, *rest, **more):
        if len(saved) == 1 or killed != "while a run is saved":
            raise KeyboardInterrupt
        saved.append(run)
        return save(run, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(worker, "save_run", die)
        cpsched("machines", *GIVEN, "--out", "run")
    assert not (where / "run").exists()
    if killed == "while logs are written":
        inputs = where / "run.machines" / "inputs"
        (inputs / "machines.json").unlink()
        (inputs / "1-b.parquet").write_bytes(b"PAR1")
    kept = [path.stat().st_mtime_ns for path in (where / "run.machines" / "runs").iterdir()]
    assert len(kept) == len(saved)
    assert cpsched("machines", *GIVEN, "--out", "run")[0] == 0
    runs = [path.stat().st_mtime_ns for path in (where / "run.machines" / "runs").iterdir()]
    assert set(kept) <= set(runs)
    assert_equal(where / "run", where / "whole", (*DATA, "run.json"))


def test_one_system_whose_queues_share_no_nodes(where, cpsched):
    """A machine may have several queues, with limits of their own; names are as the system says."""
    nodes = "".join(
        f'[[nodes]]\ngroup = "{name}"\ncount = {count}\nnames = "{name}{{}}"\ncore = {cores}\n'
        for name, (count, cores) in MACHINES.items()
    )
    queues = "".join(
        f'[[queues]]\nname = "{name}"\ngroups = ["{group}"]\nmax_time = {limit}\n'
        for name, group, limit in (("A", "a", 60), ("b", "b", 90), ("c", "b", 30), ("d", "c", 99))
    )
    log = '[log]\nqueue_field = "partition"\nqueues = { a = "A" }\n'
    (where / "all.toml").write_text(f'resources = ["core"]\n{nodes}{queues}{log}')
    code, out, _ = cpsched("machines", "log.csv", "--system", "all.toml", "--out", "run")
    assert (code, "150 jobs of 2 machines" in out) == (0, True)
    assert_equal(where / "run", single(cpsched, where, "per-machine", where / "all.toml"))


def test_one_system_for_all_machines(where, cpsched):
    """Those that the log names."""
    code, out, _ = cpsched(
        "machines", "log.csv", "--by", "partition", "--system", "b.toml", "--out", "run", "--json"
    )
    assert (code, list(json.loads(out)["machines"])) == (0, ["a", "b", "c"])
    assert_equal(where / "run", single(cpsched, where, "per-machine"))


def test_processors_of_swf_as_pools(where, cpsched):
    """A log that only counts processors, and numbers its partitions."""
    lines = (
        f"{job + 1} {job * 3} -1 {job % 7 * 5} {1 + job % 4} -1 -1 {1 + job % 4} 40 -1 1"
        f" {job % 3} 1 -1 1 {1 + job % 2} -1 -1"
        for job in range(60)
    )
    log = ["; Partition: 1 a", "; Partition: 2 b", *lines]
    (where / "log.swf").write_text("\n".join(log) + "\n")
    for name in "ab":
        text = (where / f"{name}.toml").read_text()
        (where / f"{name}.toml").write_text(f'{text}[log]\nprocessors = "pool"\n')
    code, _, err = cpsched("machines", "log.swf", "--by", "partition", *EACH[:4], "--out", "run")
    assert (code, err) == (0, "")
    shutil.move("log.swf", "log.csv")
    assert_equal(where / "run", single(cpsched, where, "per-machine"))


def refused(cpsched, *arguments):
    """Return what a command says that fails, on one line; no run is there."""
    code, out, err = cpsched("machines", *arguments, "--out", "run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


def test_a_job_of_an_unknown_machine_is_named(where, cpsched):
    """With file, line, field and value."""
    lines = (where / "log.csv").read_text().splitlines()
    header = next(at for at, line in enumerate(lines) if line.startswith("job_id"))
    place = lines[header].split(",").index("partition")
    cells = lines[header + 5].split(",")
    for value, said in (
        ("z", "'z': job {} is of no known machine; give one of a, b, c"),
        ("", "job {} is of no known machine; give one of a, b, c"),
        ('"a,b"', "'a,b': job {} may run on several machines; give one of a, b, c"),
    ):
        lines[header + 5] = ",".join([*cells[:place], value, *cells[place + 1 :]])
        (where / "log.csv").write_text("\n".join(lines) + "\n")
        err = refused(cpsched, *GIVEN)
        assert f"log.csv:{header + 6}: field partition" in err
        assert said.format(cells[0]) in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-d", "slurm"], "--dispatcher: is 'slurm', must be one of conservative, easy,"),
        (["-d", "prb"], "--dispatcher prb: priority: is 'expected-wait', must be one of fifo"),
        (["-d", "easy-urgency"], "--dispatcher easy: priority: is 'urgency', must be one of"),
        (["-d", "easy:allocator=balanced"], "allocator: is 'balanced', must be one of best-fit"),
        (["-p", "last"], "--predictor: is 'last', must be one of actual, requested"),
        (["--by", "user"], "--by: is 'user', must be queue or partition"),
        (["--system", "c.toml"], "--system: give NAME=FILE once for each machine"),
    ],
)
def test_what_would_not_be_exact_is_refused(more, message, where, cpsched):
    """Before anything is simulated."""
    assert message in refused(cpsched, *GIVEN, *more)
    assert not (where / "run.machines").exists()


def test_a_dependency_across_machines_is_refused(where, cpsched):
    """One on a job of the same machine is not."""
    log = log_of(3, partition=["a", "b", "a"], dependency=[-1, -1, 0])
    traces.write(log, where / "log.csv")
    assert cpsched("machines", *GIVEN, "--out", "good")[0] == 0
    traces.write(log.with_columns(dependency=np.array([-1, -1, 1])), where / "log.csv")
    said = "job 2 of machine a depends on job 1 of machine b: they cannot be simulated apart"
    assert said in refused(cpsched, *GIVEN)


def test_a_column_without_names_is_an_error(where, cpsched):
    """It says which other one there is."""
    err = refused(cpsched, "log.csv", "--system", "a.toml")
    assert "names no machine: its column queue is empty; try --by partition" in err


def test_a_run_of_another_log_is_not_taken(where, cpsched):
    """Another log under the same name is divided anew."""
    assert cpsched("machines", *GIVEN, "--out", "run")[0] == 0
    traces.write(log_of(seed=2), where / "log.csv")
    assert "exists" in cpsched("machines", *GIVEN, "--out", "run")[2]
    assert cpsched("machines", *GIVEN, "--out", "run", "--overwrite")[0] == 0
    assert_equal(where / "run", single(cpsched, where, "per-machine"))
