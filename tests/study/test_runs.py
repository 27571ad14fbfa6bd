"""Run folders: whole or not at all, equal for equal runs, and read back as they were."""

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from altered import resign
from tiny import jobs, machine, run

from cpsched.checks.predictor_tools import sample
from cpsched.errors import RunError
from cpsched.model.schedule import Schedule
from cpsched.study import load_run, save_run
from cpsched.study.folder import appearing, find_runs, slug
from cpsched.study.prediction.replay import starts_of
from cpsched.study.prediction.training import save as write_model
from cpsched.study.prediction.training import train
from cpsched.study.reader import contradictions

FILES = {
    "run.json", "system.json", "workload.parquet", "jobs.parquet", "allocations.parquet",
    "queue.parquet", "metrics.json", "timing.json",
}  # fmt: skip


@pytest.fixture
def simulated():
    """Three jobs that run (one killed), and one that never can."""
    workload = jobs(
        (0, 3, 4), (1, 2, 9, 4), (2, 1, 2), (2, 99, 1), user=["ann", "bob", "<script>", ""]
    )
    return run(workload, machine((2,), (2,)), "fifo")


def test_everything_is_read_back(simulated, tmp_path):
    """Every array of the schedule survives the folder."""
    save_run(simulated, tmp_path / "r")
    assert {path.name for path in (tmp_path / "r").iterdir()} == FILES
    back = load_run(tmp_path / "r").schedule
    estimates = ("ranking_estimate", "runtime_estimate", "runtime_bound")
    for name in ("start", "end", "outcome", *estimates):
        assert np.array_equal(getattr(back, name), getattr(simulated.schedule, name)), name
    for name in type(back.segments).__slots__:
        read, written = (getattr(s.segments, name) for s in (back, simulated.schedule))
        assert np.array_equal(read, written), name
    assert back.workload.digest() == simulated.schedule.workload.digest()
    assert back.system.digest() == simulated.schedule.system.digest()
    assert back.rejected == simulated.schedule.rejected
    assert isinstance(back, Schedule)


def test_jobs_at_hand_are_not_read_again(simulated, tmp_path):
    """If they are the run's own; others are not taken for them."""
    save_run(simulated, tmp_path / "r")
    at_hand = simulated.schedule.workload
    back = load_run(tmp_path / "r", at_hand).schedule
    assert back.workload is at_hand
    assert back.rejected == simulated.schedule.rejected
    back = load_run(tmp_path / "r", jobs((0, 3, 4))).schedule
    assert back.workload.digest() == at_hand.digest()


def test_jobs_table_holds_what_users_look_for(simulated, tmp_path):
    """A row a job, missing times are null, nodes are written as Slurm does."""
    save_run(simulated, tmp_path / "r")
    table = pq.read_table(tmp_path / "r" / "jobs.parquet").to_pylist()
    first, second, third, fourth = table
    assert (first["start"], first["end"], first["wait"], first["nodes"]) == (0, 4, 0, "n[0-1]")
    assert (second["start"], second["wait"], second["outcome"]) == (4, 3, "timeout")
    assert third["start"] == 4
    assert (fourth["start"], fourth["wait"], fourth["nodes"]) == (None, None, None)
    assert fourth["outcome"] == "rejected"
    assert fourth["reason"]


def test_queue_table_is_the_state_after_each_instant(simulated, tmp_path):
    """One waits from 1, two from 2, none from 4."""
    save_run(simulated, tmp_path / "r")
    rows = pq.read_table(tmp_path / "r" / "queue.parquet").to_pylist()
    seen = {row["time"]: (row["waiting"], row["running"], row["used.core"]) for row in rows}
    assert seen == {
        0: (0, 1, 3),
        1: (1, 1, 3),
        2: (2, 1, 3),
        4: (0, 2, 3),
        6: (0, 1, 2),
        8: (0, 0, 0),
    }


def test_equal_runs_differ_in_timing_alone(tmp_path):
    """Byte for byte."""
    for name in ("a", "b"):
        workload = jobs((0, 3, 4), (1, 2, 4), (2, 1, 2))
        save_run(run(workload, machine((4,)), "easy:backfill=sjf"), tmp_path / name)
    for name in FILES - {"timing.json"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_existing_folders_are_refused(simulated, tmp_path):
    """A run is only replaced when asked to; anything else never."""
    save_run(simulated, tmp_path / "r")
    with pytest.raises(RunError, match="exists. Name another folder, or add --force"):
        save_run(simulated, tmp_path / "r")
    save_run(simulated, tmp_path / "r", overwrite=True)
    other = tmp_path / "precious"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match="is not a run"):
        save_run(simulated, other, overwrite=True)
    assert (other / "thesis.tex").exists()


def test_a_failure_leaves_nothing_behind(tmp_path):
    """Whatever goes wrong while writing: no folder, no partial folder, and the old run stays."""
    target = tmp_path / "r"

    def interrupted():
        with appearing(target) as folder:
            (folder / "jobs.parquet").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_does_not_disturb(simulated, tmp_path):
    """It is not a run, and nobody else's files are taken for it."""
    for name in (".partial-1-r", "r.partial", "r.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jobs.parquet").write_text("half")
    with pytest.raises(RunError, match="is not a folder of runs"):
        find_runs(tmp_path)
    save_run(simulated, tmp_path / "r")
    save_run(simulated, tmp_path / "r", overwrite=True)
    assert find_runs(tmp_path) == [tmp_path / "r"]
    assert (tmp_path / "r.partial" / "jobs.parquet").read_text() == "half"
    assert (tmp_path / "r.old" / "jobs.parquet").read_text() == "half"


def test_a_run_is_whole_on_the_disk_before_it_has_its_name(simulated, tmp_path, monkeypatch):
    """Else a power failure may leave a name in front of empty files."""
    calls, fsync, rename = [], os.fsync, Path.rename

    def synced(handle):
        calls.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def renamed(path, target):
        calls.append(f"-> {target.name}")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    save_run(simulated, tmp_path / "r")
    *before, partial, name, parent = calls
    assert set(before) >= FILES
    assert partial.endswith("-r")
    assert (name, parent) == ("-> r", tmp_path.name)


@pytest.mark.parametrize("renames", [1, 2])
def test_an_interrupted_overwrite_is_finished_by_the_next(
    simulated, tmp_path, monkeypatch, renames
):
    """Killed after either rename: a whole run is there, and notes are not lost."""
    save_run(simulated, tmp_path / "r")
    (tmp_path / "r" / "notes.txt").write_text("mine")
    left, rename = [renames], Path.rename

    def killed(path, target):
        if not left[0]:
            os._exit(9)
        left[0] -= 1
        return rename(path, target)

    child = os.fork()
    if not child:
        monkeypatch.setattr(Path, "rename", killed)
        save_run(simulated, tmp_path / "r", overwrite=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    if renames == 1:
        with pytest.raises(RunError, match=r"left the old run in .*-r\.old$"):
            find_runs(tmp_path / "r")
    save_run(simulated, tmp_path / "r", overwrite=True)
    assert (tmp_path / "r" / "notes.txt").read_text() == "mine"
    assert contradictions(load_run(tmp_path / "r")) == []
    assert not list(tmp_path.glob("*.old"))


def test_overwrite_keeps_what_is_not_the_run_s(simulated, tmp_path):
    """Notes, and a report that was made of it."""
    save_run(simulated, tmp_path / "r")
    (tmp_path / "r" / "notes.txt").write_text("mine")
    (tmp_path / "r" / "report.html").write_text("<html>")
    (tmp_path / "r" / "figures").mkdir()
    save_run(simulated, tmp_path / "r", overwrite=True)
    names = {path.name for path in (tmp_path / "r").iterdir()}
    assert names == FILES | {"notes.txt", "report.html", "figures"}
    assert (tmp_path / "r" / "notes.txt").read_text() == "mine"
    assert contradictions(load_run(tmp_path / "r")) == []


def test_a_folder_with_some_run_json_is_not_a_run(simulated, tmp_path):
    """The name of a file does not make somebody's folder ours."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").write_text('{"my": "marathon"}')
    with pytest.raises(RunError, match="is not a run, so --force does not replace it"):
        save_run(simulated, tmp_path / "r", overwrite=True)
    assert (tmp_path / "r" / "run.json").read_text() == '{"my": "marathon"}'


def test_a_link_to_a_run_stays_a_link(simulated, tmp_path):
    """What it points to is replaced."""
    save_run(simulated, tmp_path / "there")
    (tmp_path / "link").symlink_to("there")
    save_run(simulated, tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"there", "link"}
    (tmp_path / "new").symlink_to("made")
    save_run(simulated, tmp_path / "new")
    assert load_run(tmp_path / "made").about["dispatcher"] == "fifo"


def test_two_that_write_to_one_folder_do_not_mix(simulated, tmp_path):
    """The one that comes last is told so; its files are gone."""
    other = run(jobs((0, 1, 1)), machine((1,)), "easy")

    def late():
        with appearing(tmp_path / "r") as folder:
            (folder / "jobs.parquet").write_text("half")
            save_run(other, tmp_path / "r")

    with pytest.raises(RunError, match="was made by another process meanwhile"):
        late()
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert load_run(tmp_path / "r").about["dispatcher"] == "easy"


@pytest.mark.parametrize("name", sorted(FILES - {"run.json"}))
def test_missing_and_damaged_files_are_named(simulated, tmp_path, name):
    """One line with the file, whichever it is."""
    save_run(simulated, tmp_path / "r")
    path = tmp_path / "r" / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(RunError, match=f"{name} is damaged"):
        load_run(tmp_path / "r")
    path.write_text("[" * 100_000)
    with pytest.raises(RunError, match=f"{name} is damaged"):
        load_run(tmp_path / "r")
    path.unlink()
    with pytest.raises(RunError, match=f"{name} is missing: the run is incomplete"):
        load_run(tmp_path / "r")


def test_no_run_and_other_formats_are_refused(simulated, tmp_path):
    with pytest.raises(RunError, match=r"is not a run: there is no run\.json"):
        load_run(tmp_path)
    save_run(simulated, tmp_path / "r")
    mark = tmp_path / "r" / "run.json"
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "format": 99}))
    with pytest.raises(RunError, match="format is 99, this cpsched reads 6"):
        load_run(tmp_path / "r")


def _plus_one(name, column):
    def edit(folder):
        table = pq.read_table(folder / name)
        at = table.column_names.index(column)
        values = [None if value is None else value + 1 for value in table.column(at).to_pylist()]
        changed = pa.array(values, table.schema.field(at).type)
        pq.write_table(table.set_column(at, column, changed), folder / name)

    return edit


def _without(name, column):
    def edit(folder):
        pq.write_table(pq.read_table(folder / name).drop_columns([column]), folder / name)

    return edit


def _json(name, **changes):
    def edit(folder):
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**content, **changes}))

    return edit


CONTRADICTIONS = {
    "jobs.parquet: column wait does not follow": _plus_one("jobs.parquet", "wait"),
    "jobs.parquet: column submit does not follow": _plus_one("jobs.parquet", "submit"),
    "jobs.parquet: column nodes is missing": _without("jobs.parquet", "nodes"),
    "queue.parquet: column waiting does not follow": _plus_one("queue.parquet", "waiting"),
    "queue.parquet: column time is missing": _without("queue.parquet", "time"),
    "metrics.json: makespan_s does not follow": _json("metrics.json", makespan_s=1),
    "run.json: counts does not follow": _json("run.json", counts={}),
    "run.json: workload does not follow": _json("run.json", workload={"digest": "0"}),
    "run.json: system does not follow": _json("run.json", system=None),
}


@pytest.mark.parametrize(("sentence", "edit"), CONTRADICTIONS.items())
def test_files_that_contradict_each_other_are_found(simulated, tmp_path, edit, sentence):
    """The columns people read are checked too, not only those a schedule is read from."""
    save_run(simulated, tmp_path / "r")
    assert contradictions(load_run(tmp_path / "r")) == []
    edit(tmp_path / "r")
    resign(tmp_path / "r")
    (contradiction,) = contradictions(load_run(tmp_path / "r"))
    assert contradiction.startswith(sentence)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", '{"a":', "it is not JSON (line 1, column 6: Expecting value)"),
        ("run.json", "[]", "it is not a JSON object ({...})"),
        ("run.json", '{"format": 6}', "'settings' is missing in it"),
        (
            "run.json",
            '{"format": 6, "settings": {"overrun": "x"}}',
            "settings.overrun: is 'x', must be one of: kill, extend",
        ),
        ("system.json", "{}", "'nodes' is missing in it"),
        ("system.json", '{"nodes": 1}', "a value in it has the wrong type ("),
        ("system.json", "\udcff", "it is not UTF-8 text (byte 1)"),
        ("metrics.json", "nonsense", "it is not JSON (line 1, column 1: Expecting value)"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_words(simulated, tmp_path, name, content, message):
    """Which file, what is wrong, what to do; it used to be the bare name of a key."""
    save_run(simulated, tmp_path / "r")
    path = tmp_path / "r" / name
    path.write_bytes(content.encode(errors="surrogateescape"))
    if name != "run.json":
        resign(tmp_path / "r")
    expected = re.escape(f"{path} is damaged: {message}")
    with pytest.raises(RunError, match=rf"{expected}.*\. Simulate again with --force\.$"):
        load_run(tmp_path / "r")


def test_a_run_knows_the_model_it_was_predicted_with(tmp_path):
    """Its hash and what it was trained on are in run.json; a run without one says nothing."""
    path, fitted = tmp_path / "m", sample(250)
    spec = "gbm-log:trees=3,start=60,window=300"
    write_model(path, train(fitted, starts_of(fitted), spec), fitted, spec)
    result = run(fitted, fitted.system, "easy", f"{spec},model={path}")
    save_run(result, tmp_path / "r")
    description = load_run(tmp_path / "r").about
    assert (
        description["provenance"]["model_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    )
    assert description["provenance"]["trained_jobs"] == "250"
    assert description["provenance"]["trained_to"] == str(int(fitted.workload.submit[-1]))
    save_run(run(fitted, fitted.system, "easy"), tmp_path / "plain")
    assert load_run(tmp_path / "plain").about["provenance"] == {}


def test_different_texts_have_different_names():
    """Readable where nothing is lost, else with a hash."""
    assert slug("log on four slowdown") == "log-on-four-slowdown"
    assert slug("easy:backfill=sjf").startswith("easy-backfill-sjf-")
    assert len({slug(text) for text in ("a.b", "a-b", "a_b", "a" * 200, "a" * 201)}) == 5
    assert "/" not in slug("../../x")
    assert "." not in slug("../../x")
