"""Campaigns: each run once, whatever happens in between."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from uuid import uuid4

import pytest
from joblib import Parallel, delayed
from small_studies import swf, tables, until

from cpsched.checks.predictor_tools import sample
from cpsched.cli.main import main
from cpsched.errors import ConfigError, RunError
from cpsched.simulation.simulate import Checkpoint
from cpsched.study import (
    LabelledSpec,
    carry_out,
    load_run,
    load_study,
)
from cpsched.study.folder import find_runs
from cpsched.study.inputs import prepare
from cpsched.study.prediction.replay import starts_of
from cpsched.study.prediction.training import save as write_model
from cpsched.study.prediction.training import train
from cpsched.study.results import collect
from cpsched.study.run_spec import run_specs
from cpsched.study.store import Store
from cpsched.study.worker import RunTarget, work_on

pytestmark = pytest.mark.slow


def test_what_is_complete_is_not_run_again(place, study, made):
    """Also after a label has changed; a new dispatcher is run beside it."""
    before = {path: path.stat().st_mtime_ns for path in (place / "out" / "runs").iterdir()}
    again = replace(study, dispatchers=(LabelledSpec("First", "fifo"), LabelledSpec("S", "sjf")))
    outcome = carry_out(again, place / "out")
    assert (outcome.runs, outcome.existing) == (12, 6)
    after = {path: path.stat().st_mtime_ns for path in (place / "out" / "runs").iterdir()}
    assert len(after) == 18
    assert all(after[path] == stamp for path, stamp in before.items())
    assert {run.dispatcher for run in collect(place / "out").runs} == {"First", "S"}


def test_runs_at_hand_are_those_of_the_study(place, study, made):
    """Nothing is left to do, and no log is read for its digest."""
    tasks = run_specs(study)
    (place / "log.swf").unlink()
    outcome = carry_out(study, place / "out", tasks=tasks)
    assert (outcome.runs, outcome.existing) == (len(tasks), len(tasks))


def test_a_run_is_named_by_all_that_determines_it(place, study, monkeypatch):
    """Log, part, machine, dispatcher, predictor, settings, seed, jitter, versions; not its path."""

    def names(study):
        return {task.identity for task in run_specs(study)}

    usual = names(study)
    assert usual == names(load_study(place / "study.toml"))
    (place / "copy.swf").write_text((place / "log.swf").read_text())
    text = (place / "study.toml").read_text()
    (place / "study2.toml").write_text(text.replace("log.swf", "copy.swf"))
    assert names(load_study(place / "study2.toml")) == usual
    others = [
        study.narrowed(first=10),
        replace(study, jitter=4),
        replace(study, seeds=(4, 5, 6)),
        replace(study, settings=replace(study.settings, overrun="extend")),
        replace(study, dispatchers=(LabelledSpec("FIFO", "ljf"), LabelledSpec("EASY", "sjf"))),
    ]
    (place / "four.toml").write_text((place / "four.toml").read_text().replace("3600", "60"))
    others.append(study)
    for other in others[:-1]:
        assert not names(other) & usual
    assert not names(others[-1]) & usual
    (place / "four.toml").write_text((place / "four.toml").read_text().replace("60\n", "3600\n"))
    assert names(study) == usual
    monkeypatch.setattr("cpsched.simulation.identity.versions_here", lambda: {"cpsched": "next"})
    assert not names(study) & usual


def test_the_same_run_twice_is_refused(place, study):
    """Under two names it would be one folder and two rows."""
    twin = replace(study.workloads[0], label="twin")
    with pytest.raises(ConfigError, match="few / four .* and twin / four .* are the same run"):
        run_specs(replace(study, workloads=(*study.workloads, twin)))


def test_processes_give_what_one_gives(place, study, made):
    """The tables are the same, byte for byte; a program may use joblib itself."""
    theirs = Parallel(n_jobs=2)
    assert theirs(delayed(abs)(number) for number in (-1, 1)) == [1, 1]
    outcome = carry_out(study, place / "two", jobs=2)
    assert outcome.failed == ()
    assert tables(made) == tables(place / "two")
    assert theirs(delayed(abs)(number) for number in (-1, 1)) == [1, 1]


def test_a_failed_run_is_written_down_and_the_rest_go_on(place, study):
    """A dispatch on a log that suits no machine fails alone; mended, it is run."""
    (place / "bad.swf").write_text(
        "; UnixStartTime: 0\n1 0 -1 x 3 -1 -1 3 4 -1 1 1 1 -1 1 -1 -1 -1\n"
    )
    text = (place / "study.toml").read_text() + '\n[[workloads]]\nname = "bad"\nfile = "bad.swf"\n'
    (place / "two.toml").write_text(text)
    outcome = carry_out(load_study(place / "two.toml"), place / "out")
    assert (outcome.runs, len(outcome.failed)) == (24, 12)
    failure = outcome.failed[0]
    assert "field" in failure.error
    record = json.loads(failure.file.read_text())
    assert record["error"] == failure.error
    assert any("Traceback" in line for line in record["trace"])
    assert len(collect(place / "out").runs) == 12
    assert len(collect(place / "out").missing) == 12
    outcome = carry_out(study, place / "out")
    assert (outcome.existing, outcome.failed) == (12, ())


def test_what_failed_is_tried_again(place, study):
    """And its error forgotten when it succeeds."""
    smaller = replace(study, dispatchers=study.dispatchers[:1], seeds=(0,), jitter=0)
    Store(place / "out").fail(run_specs(smaller)[0], "no reason", None)
    assert carry_out(smaller, place / "out").failed == ()
    assert not list((place / "out" / "failed").iterdir())


def test_a_log_that_changes_under_the_campaign_is_an_error(place, study, monkeypatch):
    """Its runs would not be what their names say."""
    from cpsched.study import campaign

    def changing(study):
        tasks = run_specs(study)
        (place / "log.swf").write_text((place / "log.swf").read_text() + "\n")
        return tasks

    monkeypatch.setattr(campaign, "run_specs", changing)
    single = replace(study, seeds=(9,))
    outcome = carry_out(single, place / "out")
    assert len(outcome.failed) == 4
    assert "has changed since the study began" in outcome.failed[0].error


def test_a_folder_that_is_something_else_is_left_alone(place, study):
    """Only an empty folder, or a study."""
    (place / "full").mkdir()
    (place / "full" / "mine").write_text("x")
    with pytest.raises(RunError, match="is not empty and is not a study folder"):
        carry_out(study, place / "full")
    with pytest.raises(RunError, match="is a file"):
        carry_out(study, place / "log.swf")


def test_a_folder_in_a_run_s_place_is_not_taken_for_it(place, study, made):
    """Somebody moved folders about."""
    first, second, *_ = sorted((place / "out" / "runs").iterdir())
    mark = (second / "run.json").read_bytes()
    (first / "run.json").write_bytes(mark)
    with pytest.raises(RunError, match="holds another run than its folder name states"):
        carry_out(study, place / "out")


def test_what_is_not_whole_is_made_again(place, study, made):
    """A run without its description, or with one that cannot be read, is kept elsewhere."""
    before = tables(place / "out")
    first, second, *_ = sorted((place / "out" / "runs").iterdir())
    (first / "run.json").unlink()
    (second / "run.json").write_text('{"format"')
    outcome = carry_out(study, place / "out")
    assert [path.name for path in outcome.damaged] == [first.name, second.name]
    assert all((path / "jobs.parquet").is_file() for path in outcome.damaged)
    assert (outcome.existing, outcome.failed) == (10, ())
    assert tables(place / "out") == before
    (first / "run.json").unlink()
    assert carry_out(study, place / "out").damaged[0].name.startswith(f"{first.name}-")


def test_nobody_begins_before_the_tables_are_written(place, study):
    def finish(outcome):
        assert len(outcome.folders) == outcome.runs == 12
        with pytest.raises(RunError, match="another process is carrying out"):
            carry_out(study, place / "out")

    carry_out(study, place / "out", finish=finish)
    first, *others = find_runs(place / "out" / "runs")
    assert (first.name.startswith("few-four-easy-actual-s1-"), len(others)) == (True, 11)
    description = load_run(first).about
    assert (description["arguments"]["dispatcher"], description["settings"]["seed"]) == ("EASY", 1)
    assert carry_out(study, place / "out").existing == 12


def test_what_a_killed_campaign_left_is_cleared(place, study):
    """Half-written runs, and runs without the file that makes them one; and half a description."""
    Store(place / "out")
    left = place / "out" / ".work" / f"abc-{uuid4().hex}" / "run.partial"
    left.mkdir(parents=True)
    (left / "jobs.parquet").write_text("half")
    (place / "out" / ".partial-study.json").write_text("{")
    assert carry_out(study, place / "out").failed == ()
    assert not list((place / "out" / ".work").iterdir())


LINKED = (".work", "runs", "failed", "damaged", "tables", "figures", "inputs", "policies")


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("described", [False, True])
def test_no_link_is_followed(place, study, name, described):
    """A link named .work used to have folders of its target deleted, silently."""
    if described:
        Store(place / "out")
        shutil.rmtree(place / "out" / name, ignore_errors=True)
    (place / "out").mkdir(exist_ok=True)
    (place / "precious" / "folder").mkdir(parents=True)
    (place / "out" / name).symlink_to(place / "precious")
    with pytest.raises(RunError, match="is a link" if described else "is not a study folder"):
        carry_out(study, place / "out")
    assert [path.name for path in (place / "precious").iterdir()] == ["folder"]


def test_a_run_that_is_a_link_is_not_replaced(place, study):
    """Neither are other files moved out of its target."""
    single = replace(study, seeds=(1,))
    carry_out(single, place / "out")
    run = next((place / "out" / "runs").iterdir())
    run.rename(place / "elsewhere")
    (place / "elsewhere" / "notes").write_text("mine")
    run.symlink_to(place / "elsewhere")
    before = {path.name: path.read_bytes() for path in (place / "elsewhere").iterdir()}
    assert len(carry_out(single, place / "out", again=True).failed) == 1
    assert {p.name: p.read_bytes() for p in (place / "elsewhere").iterdir()} == before


def test_only_what_a_campaign_made_is_cleared(place, study):
    """Whatever lies beside it in the same folder stays."""
    Store(place / "out")
    work = place / "out" / ".work"
    (work / "thesis").mkdir()
    (work / f"0-{uuid4().hex}").symlink_to(place / "sub")
    (work / f"1-{uuid4().hex}").mkdir()
    with Store(place / "out").locked():
        pass
    assert len(list(work.iterdir())) == 2
    assert (place / "sub" / "four.toml").exists()


@pytest.mark.parametrize("name", ["report.html", "tables/runs.csv", "study.json"])
def test_somebody_s_folder_with_names_like_ours_is_left_alone(place, study, name):
    """A paper with its report and tables used to be taken for a study and overwritten."""
    path = place / "paper" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"my": "marathon"}')
    with pytest.raises(RunError, match="is not empty and is not a study folder"):
        carry_out(study, place / "paper")
    assert path.read_text() == '{"my": "marathon"}'
    assert {p.name for p in (place / "paper").iterdir()} == {name.partition("/")[0]}


def test_a_campaign_killed_at_its_beginning_goes_on(place, study):
    """Before its first run its folder says already what it is."""
    Store(place / "out")
    with pytest.raises(RunError, match="holds no finished run of a study"):
        collect(place / "out")
    assert carry_out(replace(study, seeds=(1,)), place / "out").failed == ()


def test_a_run_that_was_being_replaced_is_given_back(place, study, monkeypatch):
    """Killed after the old run was renamed, and before the new one took its place."""
    single = replace(study, seeds=(1,))
    carry_out(single, place / "out")
    before = {path.name for path in (place / "out" / "runs").iterdir()}
    run = next((place / "out" / "runs").iterdir())
    run.rename(run.with_name(f".partial-{uuid4().hex}-{run.name}.old"))
    assert carry_out(single, place / "out").existing == 4
    assert {path.name for path in (place / "out" / "runs").iterdir()} == before


COMMAND = "import sys; from cpsched.cli.main import main; main(sys.argv[1:])"


def test_killed_and_resumed_is_as_if_nothing_had_been(place, study):
    """kill -9 in the middle of a campaign with two processes; also its children end."""
    (place / "log.swf").write_text(swf(400, gap=35))
    study = load_study(place / "study.toml")
    carry_out(study, place / "whole")
    argv = [
        sys.executable,
        "-c",
        COMMAND,
        "compare",
        "study.toml",
        "--out",
        "cut",
        "--workers",
        "2",
    ]
    cut = place / "cut"
    # While the first runs are made, and once a run is there.
    for sign in (".work/*/*", "runs/*"):
        process = subprocess.Popen(argv, cwd=place, stdout=subprocess.DEVNULL)
        until(lambda sign=sign: any(cut.glob(sign)))
        process.send_signal(signal.SIGKILL)
        process.wait()
    made = len(list((cut / "runs").iterdir()))
    assert 0 < made < 12
    outcome = carry_out(study, cut)
    assert outcome.existing >= made
    assert outcome.failed == ()
    assert tables(cut) == tables(place / "whole")
    both = [
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.stem != "timing"
        }
        for folder in (cut, place / "whole")
    ]
    assert both[0] == both[1]


class Killer:
    """Stands in for a run that brings its process down."""

    def __init__(self, name, marker, always):
        self._name, self._marker, self._always = name, marker, always

    def __call__(self, name, jobs, epoch):
        if self._name in name and (self._always or not self._marker.exists()):
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return ()


@pytest.mark.parametrize("always", [False, True])
def test_a_killed_process_is_not_the_end(place, study, always):
    """The run is tried again alone; one that always kills its process has failed, the rest not."""
    killer = Killer("fifo-actual-s2", place / "was killed", always)
    outcome = carry_out(study, place / "out", jobs=2, watch=killer)
    failed = [failure.name for failure in outcome.failed]
    assert len(list((place / "out" / "runs").iterdir())) == 12 - len(failed)
    if always:
        assert [name.rpartition("-")[0] for name in failed] == ["few-four-fifo-actual-s2"]
        assert "killed, perhaps because it ran out of memory" in outcome.failed[0].error
    else:
        assert failed == []


def test_the_lock_is_not_written_through_a_link(place, study):
    """What it points to used to be emptied."""
    Store(place / "out")
    (place / "mine").write_text("years of work")
    (place / "out" / ".lock").symlink_to(place / "mine")
    with pytest.raises(RunError, match=r"\.lock cannot be opened"):
        carry_out(study, place / "out")
    assert (place / "mine").read_text() == "years of work"


def test_a_file_system_without_locks_is_said_as_what_it_is(place, study, monkeypatch):
    """It used to be taken for another process, and nothing could be run there."""

    def flock(*rest):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    Store(place / "out")
    left = place / "out" / ".work" / f"0-{uuid4().hex}"
    left.mkdir(parents=True)
    with pytest.warns(RuntimeWarning, match=r"cannot be locked \(No locks available\)"):
        assert carry_out(replace(study, seeds=(1,)), place / "out").failed == ()
    # Without a lock it may be somebody's who is at work.
    assert [path.name for path in (place / "out" / ".work").iterdir()] == [left.name]


def test_runs_are_made_again_when_asked(place, study):
    """Also under another label; what else lies in their folders stays."""
    single = replace(study, seeds=(1,))
    carry_out(single, place / "out")
    folder = next((place / "out" / "runs").iterdir())
    (folder / "notes").write_text("mine")
    before = folder.stat().st_ino
    renamed = tuple(LabelledSpec(f"{single.label}2", single.spec) for single in study.dispatchers)
    other = replace(single, dispatchers=renamed)
    other = replace(other, baseline=replace(single.baseline, dispatcher=None, predictor="W"))
    outcome = carry_out(other, place / "out", again=True)
    assert (outcome.existing, outcome.failed, len(outcome.folders)) == (0, (), 4)
    assert folder.stat().st_ino != before
    assert (folder / "notes").read_text() == "mine"


def test_an_equal_run_is_not_replaced(place, study):
    """Its folder is never away, whoever else makes the same run: tables may be reading it."""
    single = replace(study, seeds=(1,))
    carry_out(single, place / "out")
    task = run_specs(single)[0]
    folder = place / "out" / "runs" / task.name
    (place / "work").mkdir()
    where = RunTarget(runs=folder.parent, work=place / "work")
    before = folder.stat().st_ino
    assert work_on(task, where, None).error is None
    assert folder.stat().st_ino == before
    (folder / "jobs.parquet").write_bytes(b"damaged")
    assert work_on(task, where, None).error is None
    assert folder.stat().st_ino != before


def test_a_moved_log_and_another_working_directory_are_the_same_runs(
    place, study, monkeypatch, made
):
    """Content counts: neither the log's name, nor the system's, nor where we are."""
    (place / "sub" / "renamed.swf").write_bytes((place / "log.swf").read_bytes())
    text = (place / "study.toml").read_text().replace("log.swf", "renamed.swf")
    (place / "sub" / "study.toml").write_text(text)
    (place / "sub" / "fifo").write_text("a file")
    monkeypatch.chdir(place / "sub")
    assert carry_out(load_study("study.toml"), place / "out").existing == 12


def test_a_model_file_is_a_predictor_of_a_study(place, read):
    """By its path from the study's folder, wherever we are; also as an option."""
    fitted, spec = sample(250), "gbm-log:trees=3,start=60,window=300"
    write_model(place / "sub" / "m,1.npz", train(fitted, starts_of(fitted), spec), fitted, spec)
    text = (place / "study.toml").read_text().partition("[predictors]")[0]
    bare = read(text + '[predictors]\nM = "sub/m,1.npz"\n')
    option = read(text + "[predictors]\nM = '" + spec + ',model="sub/m,1.npz"' + "'\n")
    assert bare.workloads[0].predictors == option.workloads[0].predictors
    before = {task.identity for task in run_specs(bare)}
    shutil.move(place / "sub" / "m,1.npz", place / "moved.npz")
    moved = read(text + '[predictors]\nM = "moved.npz"\n')
    assert {task.identity for task in run_specs(moved)} == before
    # One trained anew is another predictor, under the same specification.
    (place / "moved.npz").write_bytes(b"another")
    assert {task.identity for task in run_specs(moved)}.isdisjoint(before)


def test_a_model_that_has_seen_the_jobs_is_named(place, read, capsys):
    """Also if they are submitted a second later; on the workload it knows, and on no other."""
    fitted = prepare(run_specs(read((place / "study.toml").read_text()))[0].made_of)
    spec = "gbm-log:trees=3,start=20,window=50"
    write_model(place / "m.npz", train(fitted, starts_of(fitted), spec), fitted, spec)
    jobs = [line.split() for line in (place / "log.swf").read_text().splitlines()[2:]]
    later = [[number, str(int(submit) + 1), *rest] for number, submit, *rest in jobs]
    others = [[str(int(number) + 500), *rest] for number, *rest in jobs]
    for name, lines in (("later", later), ("others", others)):
        (place / f"{name}.swf").write_text("".join(f"{' '.join(line)}\n" for line in lines))
    (place / "seen.toml").write_text(
        'systems = ["four.toml"]\ndispatchers = ["fifo"]\n'
        '[[workloads]]\nfile = "later.swf"\n[[workloads]]\nfile = "others.swf"\n'
        '[predictors]\nM = "m.npz"\nW = "requested"\n'
    )
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(place / "seen.toml"), "--out", str(place / "out")])
    assert not stop.value.code
    notes = [line for line in capsys.readouterr().out.splitlines() if "Not a forecast" in line]
    assert notes == ["Not a forecast on later: M was trained on these jobs."]
    page = (place / "out" / "report.html").read_text()
    before, _, after = page.partition('<section id="others')
    assert "Not a forecast: M was trained on these jobs." in before
    assert "Not a forecast" not in after


def test_a_checkpoint_outlives_a_run_that_cannot_be_saved(place, study, monkeypatch):
    """A full disk used to lose both; the next call goes on from the last state."""
    from cpsched.study import worker

    single = replace(
        study,
        seeds=(1,),
        dispatchers=study.dispatchers[:1],
        workloads=(replace(study.workloads[0], predictors=study.workloads[0].predictors[:1]),),
    )
    keep = Checkpoint(place / "state", 0)

    def full(*rest, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(worker, "save_run", full)
        outcome = carry_out(single, place / "out", checkpoint=keep)
    assert "No space left" in outcome.failed[0].error
    assert keep.path.exists()
    assert carry_out(single, place / "out", checkpoint=keep).failed == ()
    assert not keep.path.exists()
    carry_out(single, place / "whole")
    made, complete = (next((place / name / "runs").iterdir()) for name in ("out", "whole"))
    assert (made / "jobs.parquet").read_bytes() == (complete / "jobs.parquet").read_bytes()


def test_runs_that_are_given_up_are_no_warning(place, study, monkeypatch):
    """Those still made by other processes when the folder is full; warnings are errors here."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "succeed", full)
    with pytest.raises(OSError, match="No space left"):
        carry_out(study, place / "out", jobs=2)
