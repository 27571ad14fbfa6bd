"""Recorded starts beside simulated ones."""

import json
from dataclasses import replace

import numpy as np
import pytest
from queueing import queueing, site
from queueing import recorded as with_starts
from tiny import jobs, machine, run

from cpsched import logs, systems
from cpsched.errors import ConfigError
from cpsched.forecast import why_in_log
from cpsched.logs.sacct.records import reasons_of
from cpsched.simulation.simulate import simulate
from cpsched.study.study_file import parse_study
from cpsched.study.validation.differences import differences
from cpsched.study.validation.downtime import downtime_sentence, downtimes, outage_table
from cpsched.study.validation.errors import compare_starts
from cpsched.study.validation.files import statement, write_files
from cpsched.study.validation.validate import validate
from cpsched.util.csv_cells import csv_table
from cpsched.util.models import Source
from cpsched.util.types import MISSING

SYSTEM = site(4)


def workload():
    return queueing(400, seed=3, runtimes=(60, 4000), most_over=4, most_units=8, users=5)


def recorded(dispatcher, lag=0):
    return with_starts(workload(), SYSTEM, dispatcher, lag)


def validation_of(log, dispatcher="easy", **more):
    return compare_starts(
        simulate(log, systems.parse(SYSTEM), dispatcher=dispatcher).schedule, **more
    )


def explain(fitted, **asked):
    return why_in_log(fitted, **asked).summary


def checked_run(of, folder, **more):
    return validate(of, folder / "out", explain=explain, **more)


def test_a_log_that_was_made_so_is_reproduced():
    validation = validation_of(recorded("easy"))
    assert (validation.error == 0).all()
    assert validation.overall.rank == pytest.approx(1)
    assert validation.overall.within == (1, 1, 1)
    assert next(statement(validation)).startswith("Agreement with recorded waits: good. ")
    assert "(0 % more)" in next(statement(validation))
    jobs_of = {kind: 0 for kind, _, _ in validation.groups}
    for kind, _, errors in validation.groups:
        jobs_of[kind] += errors.jobs
    assert jobs_of["queue"] == jobs_of["user"] == 400


def test_errors_are_those_of_the_starts():
    log = recorded("fifo")
    schedule = simulate(log, systems.parse(SYSTEM), dispatcher="easy").schedule
    validation = compare_starts(schedule)
    error = schedule.start - log.recorded_start
    assert validation.overall.bias == pytest.approx(error.mean())
    assert validation.overall.mean_error == pytest.approx(np.abs(error).mean())
    assert validation.overall.median_error == pytest.approx(np.median(np.abs(error)))
    assert validation.overall.within[0] == pytest.approx((np.abs(error) <= 60).mean())
    assert validation.overall.recorded == pytest.approx((log.recorded_start - log.submit).mean())
    from scipy.stats import spearmanr

    waits = log.recorded_start - log.submit, schedule.start - log.submit
    assert validation.overall.rank == pytest.approx(spearmanr(*waits).statistic)
    assert "waits: poor." in next(statement(validation))
    assert any(
        "do not use them yet" in line and "--outages" in line for line in statement(validation)
    )


def test_jobs_without_both_starts_are_left_out_and_counted():
    log = recorded("easy")
    start = log.recorded_start.copy()
    start[:7] = MISSING
    validation = validation_of(log.with_columns(recorded_start=start))
    assert validation.overall.jobs == 393
    assert validation.left_out == {"without a recorded start": 7}
    with pytest.raises(ConfigError, match="no job has a recorded"):
        validation_of(workload())


def test_a_held_job_waits_from_its_submit_and_its_hold_is_told():
    log = jobs((0, 1, 5), begin=np.array([100]), recorded_start=np.array([103]))
    validation = compare_starts(run(log, machine((1,)), "easy").schedule)
    assert (validation.recorded.tolist(), validation.simulated.tolist()) == ([103], [100])
    assert validation.held.tolist() == [100]
    first, second, *_ = statement(validation)
    assert first.endswith("Mean wait: simulated 1 min 40 s, recorded 1 min 43 s (100 % less).")
    assert second == (
        "Waits are from submit to first start. On average 1 min 40 s of them pass before a job may"
        " start (begin time, dependency, hold). The grade and the percentage exclude this time."
    )


def test_attempts_of_a_job_are_not_so_many_jobs():
    log = jobs((0, 1, 5), (10, 1, 5), (20, 1, 5), (20, 1, 5), job_id=["7", "7#2", "7#3", "8"])
    validation = compare_starts(
        run(log.with_columns(recorded_start=log.submit), machine((4,)), "easy").schedule
    )
    assert (validation.jobs, validation.overall.jobs) == (2, 4)


def test_the_jobs_that_differ_most_are_told_from_both_sides():
    log = recorded("fifo")
    schedule = simulate(log, systems.parse(SYSTEM), dispatcher="easy").schedule
    validation = compare_starts(schedule)
    largest = list(differences(schedule, validation, lambda job, time: f"{job} at {time}", 3))
    assert len(largest) == 3
    worst = int(np.argsort(-np.abs(validation.error), kind="stable")[0])
    job, early = log.job_id[worst], validation.error[worst] < 0
    assert largest[0].title.startswith(f"Job {job} (user ")
    assert ("earlier" if early else "later") in largest[0].title
    moment = min(schedule.start[worst], log.recorded_start[worst])
    assert largest[0].simulated == f"{job} at {moment}"
    assert "recorded jobs used " in largest[0].recorded
    # Nothing is told of a log that is reproduced.
    exact = simulate(recorded("easy"), systems.parse(SYSTEM), dispatcher="easy").schedule
    assert list(differences(exact, compare_starts(exact), lambda *_: "", 3)) == []


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "site.toml").write_text(SYSTEM)
    logs.write(recorded("easy:backfill=sjf", lag=2), tmp_path / "log.parquet", format="table")
    return tmp_path


def study(folder):
    content = {
        "systems": ["site.toml"],
        "dispatchers": ["easy"],
        "workloads": [{"file": "log.parquet"}],
    }
    return parse_study(Source(str(folder / "study.toml"), content))


def test_the_lag_of_a_controller_is_part_of_each_start(folder):
    """Its log starts every job 2 s later; nothing else is simulated than what is compared."""
    checked = checked_run(study(folder), folder, examples=2)
    assert len(list((folder / "out" / "runs").iterdir())) == 1
    files = write_files(checked, folder / "out")
    description = json.loads(files[0].read_text())
    assert (checked.lag, description["lag"], len(description["differences"])) == (2, 2, 2)
    rows = files[1].read_text().splitlines()
    assert rows[0] == "job_id,submit,recorded_wait_s,simulated_wait_s,held_s,error_s"
    assert len(rows) == 401


def test_jobs_of_the_beginning_are_simulated_and_not_compared(folder):
    complete = checked_run(study(folder), folder)
    late = checked_run(study(folder), folder, start=20_000)
    assert len(list((folder / "out" / "runs").iterdir())) == 1
    submit = complete.schedule.workload.submit
    assert late.validation.overall.jobs == (submit >= 20_000).sum() < 400
    with pytest.raises(ConfigError, match="measure-from: no job is submitted from this time on"):
        checked_run(study(folder), folder, start=10**9)


def test_repeats_say_how_far_chance_goes(folder):
    moved = replace(study(folder), seeds=(1, 2, 3), jitter=3600)
    checked = checked_run(moved, folder, examples=3)
    assert len(checked.repeats) == 2
    # Examples are told of the run in which nothing was moved.
    assert checked.differences == checked_run(study(folder), folder, examples=3).differences
    sentences = list(statement(checked.validation, checked.repeats))
    assert sentences[2].startswith("Variation by chance: in 3 simulations with submits moved")
    assert not any(line.startswith("Variation") for line in statement(checked.validation))
    # What seconds can do a what-if must exceed.
    far = replace(
        checked.repeats[0], simulated=checked.validation.overall.simulated + 7200, rank=0.0
    )
    far = replace(far, within=(0.0, 0.0, 0.0))
    sentences = list(statement(checked.validation, [far]))
    assert "The grade varies: " in sentences[2]
    # Twice the standard deviation of the two means, and twice that where directions count alone.
    assert any("2 h 50 min" in line or "5 h 39 min" in line for line in sentences[2:])


def test_a_log_without_starts_is_refused(folder):
    logs.write(workload(), folder / "log.parquet", format="table")
    with pytest.raises(ConfigError, match="needs a log that says when jobs started"):
        checked_run(study(folder), folder)


def test_the_words_say_which_groups_are_off():
    """Jobs of one queue wait hours in the record, and not in the simulation."""
    log = recorded("easy")
    late = np.where(np.arange(400) % 2 == 1, 40_000, 0)
    validation = validation_of(log.with_columns(recorded_start=log.recorded_start + late))
    words = list(statement(validation))
    off = replace(
        validation, groups=tuple(group for group in validation.groups if group[0] == "queue")
    )
    assert any(line.startswith("Jobs of queue q1: ") for line in statement(off)), words


def test_a_machine_on_which_nothing_runs_while_jobs_wait_may_be_down():
    """One job until 100; from 200 on two wait until 9000, and from 20000 on one until 23599."""
    log = jobs(
        (0, 1, 100), (200, 1, 50), (300, 1, 50), (20_000, 1, 5),
        recorded_start=np.array([0, 9000, 9000, 23_599]),
    )  # fmt: skip
    schedule = run(log, machine((4,)), "easy").schedule
    intervals = downtimes(schedule)
    assert intervals == [(200, 9000)]
    table = csv_table(outage_table(schedule, intervals)).splitlines()
    assert table == ["node,from,to", f"{schedule.system.node_names[0]},200,9000"]
    assert "in 1 interval of an hour or more, 2 h 27 min in all" in downtime_sentence(intervals)


#: Six jobs of a GPU each on two GPUs: Slurm let the last wait for a limit that is not simulated.
GPU_SYSTEM = """\
name = "two"
resources = ["core", "gpu"]
[[nodes]]
group = "n"
count = 1
core = 8
gpu = 2
"""


def _sacct(folder, number=20):
    rows = ["JobID|Submit|Start|End|State|TimelimitRaw|NNodes|ReqTRES|Reason|Partition|User"]
    for job in range(1, number + 1):
        late = job % 2 == 0
        start = 1_000_000 + 20_000 * job
        rows.append(
            f"{job}|{start}|{start + 7200 * late}|{start + 7300}|COMPLETED|200|1"
            f"|cpu=1,node=1,gres/gpu=1|{'QOSMaxGRESPerUser' if late else 'None'}|gpu|ada"
        )
        rows.append(f"{job}.batch|{start}|{start}|{start + 7300}|COMPLETED||1||Step||")
    (folder / "two.toml").write_text(GPU_SYSTEM)
    (folder / "log.sacct").write_text("\n".join([*rows, ""]))
    return folder / "log.sacct"


def test_errors_are_grouped_by_the_reason_that_slurm_recorded(tmp_path, cpsched):
    """And the examples say it, with the GPUs that were in use."""
    log = _sacct(tmp_path)
    assert reasons_of(log) == {str(job): "QOSMaxGRESPerUser" for job in range(2, 21, 2)}
    options = ("--system", str(tmp_path / "two.toml"), "-d", "easy", "--repeat", "1")
    arguments = ("validate", str(log), *options, "--out", str(tmp_path / "out"))
    code, out, _ = cpsched(*arguments)
    assert code == 0
    assert "Jobs that waited in Slurm for QOSMaxGRESPerUser: poor agreement, mean wait" in out
    assert "(Slurm: QOSMaxGRESPerUser)" in out
    assert "recorded jobs used 0 of 8 cores, 0 of 2 GPUs." in " ".join(out.split())
    description = json.loads((tmp_path / "out" / "validation.json").read_text())
    jobs_of = {
        group["group"]: group["jobs"]
        for group in description["groups"]
        if group["kind"] == "reason"
    }
    assert jobs_of == {"QOSMaxGRESPerUser": 10, "none recorded": 10}
    # Runs are repeated on demand only.
    (run_folder,) = (tmp_path / "out" / "runs").iterdir()
    made = (run_folder / "run.json").stat().st_mtime_ns
    assert cpsched(*arguments)[0] == 0
    assert (run_folder / "run.json").stat().st_mtime_ns == made
    assert cpsched(*arguments, "--force")[0] == 0
    assert (run_folder / "run.json").stat().st_mtime_ns > made


def test_a_log_of_another_kind_has_no_reasons(folder):
    assert reasons_of(folder / "log.parquet") == {}
