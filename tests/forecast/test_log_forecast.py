"""When the jobs of a log start: without the future, and corrected by what came of earlier ones."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.errors import ConfigError, InfeasibleRequestError
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.log_forecast import when_in_log
from cpsched.forecast.prequential import Prequential
from cpsched.forecast.when_text import text
from cpsched.logs.sacct import batch_script
from cpsched.model.system import Queue
from cpsched.simulation.simulate import Settings
from cpsched.systems import parse
from cpsched.systems.mapping import append, fit
from cpsched.util.types import MISSING

pytestmark = pytest.mark.slow


def _log(num):
    system = parse(
        'name = "m"\ntitle = "m"\nsource = "made up"\nresources = ["core"]\n'
        'default_expected_wait = 3600\n[[nodes]]\ngroup = "all"\ncount = 16\ncore = 1\n'
    )
    rng = np.random.default_rng(1)
    submit = np.cumsum(rng.exponential(420, num)).astype(int)
    runtime = np.exp(rng.normal(6.8, 1.2, num)).astype(int) + 1
    rows = [
        (int(s), int(u), int(r), int(r * f) + 60)
        for s, u, r, f in zip(
            submit, rng.integers(1, 9, num), runtime, rng.uniform(1, 8, num), strict=True
        )
    ]
    users = [f"u{user}" for user in rng.integers(0, 6, num)]
    return jobs(*rows, user=users), system


def test_the_future_changes_no_forecast():
    """
    Other runtimes of jobs that have not ended, and no more jobs: the answer is the same.

    So it is the same every time, too.
    """
    workload, system = _log(600)
    fitted = fit(workload, system)
    now = int(workload.submit[400])
    answer = when_in_log(fitted, time=now, judged=10)
    assert answer.jobs
    run = Prequential(
        fitted, dispatcher="easy", predictor="requested", settings=Settings(),
        forecaster=Forecaster(),
    )  # fmt: skip
    run.go_to(now)
    ended = run.simulator.end_time < now
    runtime = np.where(ended & (run.simulator.end_time >= 0), workload.runtime, 0)
    longer = workload.runtime + 1 + (now - run.simulator.start_time).clip(0)
    running = (run.simulator.start_time >= 0) & ~(ended & (run.simulator.end_time >= 0))
    runtime = np.where(running, np.minimum(longer, workload.requested_time), runtime)
    other = workload.with_columns(runtime=runtime).select(first=401)
    again = when_in_log(fit(other, system), time=now, judged=10)
    assert again == answer


def test_corrected_intervals_hold_what_they_promise():
    """Along a log, eight of ten jobs start inside; medians beat the plan by requested times."""
    workload, system = _log(700)
    run = Prequential(
        fit(workload, system), dispatcher="easy", predictor="requested", settings=Settings(),
        forecaster=Forecaster(scenarios=5),
    )  # fmt: skip
    run.run(range(100, 700, 3))
    run.finish()
    assert len(run.forecasts) > 100
    start = np.array([forecast.start for forecast in run.forecasts])
    low, middle, high = (
        np.array([forecast.starts.quantile(level)[0] for forecast in run.forecasts])
        for level in (0.1, 0.5, 0.9)
    )
    coverage = ((low <= start) & (start <= high)).mean()
    assert 0.74 <= coverage <= 0.86
    planned = np.array([forecast.raw.planned[0] for forecast in run.forecasts])
    assert np.median(abs(middle - start)) < 0.8 * np.median(abs(planned - start))


def test_a_shorter_or_smaller_job_starts_earlier():
    """
    One node of four cores, of which three are held for 100 s: job 2 cannot be backfilled.

    With an eighth of the time, or a quarter of the cores, it can.
    """
    fitted = fit(
        jobs((0, 3, 6000), (1, 4, 6000), (2, 2, 24000), user=["a", "b", "c"]), machine([4])
    )
    answer = when_in_log(fitted, time=2, job="2", by=7000, judged=0)
    assert [job.job for job in answer.jobs] == ["2"]
    assert answer.jobs[0].planned == 12000
    assert all(job.earlier > 0 for job in answer.advice)
    shown = text(answer, 100)
    assert "Job 2 of c: 2 tasks" in shown
    # Nothing has ended yet.
    assert answer.bounds
    assert "Latest start: in" in shown
    assert "Latest starts under easy" in shown
    assert max(len(line) for line in shown.splitlines()) <= 100


@pytest.mark.parametrize(
    ("time", "advised"),
    [(2000, ["1 core for 1 h 7 min instead of 2 cores for 33 min 20 s"]), (4000, [])],
)
def test_a_smaller_job_does_the_same_work(time, advised):
    """On one core job 2 takes twice as long: only the short one can be backfilled then."""
    fitted = fit(
        jobs((0, 3, 6000), (1, 4, 6000), (2, 2, time, time), user=["a", "b", "c"]), machine([4])
    )
    answer = when_in_log(fitted, time=2, job="2", judged=0)
    smaller = [advice for advice in answer.advice if advice.units < 2]
    assert [advice.change for advice in smaller] == advised
    assert all(advice.requested_time == 2 * time for advice in smaller)
    assert all(advice.ends_earlier == advice.earlier - time for advice in smaller)
    shown = " ".join(text(answer, 100).split())
    assert ("Fewer cores: end times hold if the runtime grows" in shown) == bool(advised)


def test_a_size_that_its_queue_does_not_allow_is_no_advice():
    """The queue takes jobs of up to an hour, so half of the cores for longer is none."""
    system = machine([4], queues=[Queue(name="q", max_time=3600)])
    fitted = fit(
        jobs((0, 3, 3500), (1, 4, 3500), (2, 2, 1900), user=["a", "b", "c"], queue=["q"] * 3),
        system,
    )
    answer = when_in_log(fitted, time=2, job="2", judged=0)
    assert all(advice.units == 2 for advice in answer.advice)


def test_variants_are_simulated_no_longer_than_they_matter():
    """What is skipped changes no gain: they are those of whole simulations, or all 0."""
    workload, system = _log(300)
    run = Prequential(
        fit(workload, system), dispatcher="easy", predictor="requested", settings=Settings(),
        forecaster=Forecaster(scenarios=8),
    )  # fmt: skip
    compared = 0
    for handle in range(100, 300, 7):
        run.go_to(run.simulator.arrivals.submit[handle])
        if run.simulator.start_time[handle] != MISSING:
            continue
        present, handles = run.present(), np.array([handle])
        limit = int(present.jobs.workload.requested_time[handle])
        variant = present.changed(handle, requested_time=max(limit // 8, 60))
        starts, _, (gain,) = run.forecaster.compare(present, [variant], handle, least=0.6)
        drawn = run.forecaster._scenarios(present, handles)
        complete = run.forecaster._starts(drawn._replace(present=variant), handles)
        right = np.maximum(starts.scenario[:, 0] - complete.scenario[:, 0], 0)
        assert gain.tolist() == (right if (right > 0).mean() >= 0.6 else 0 * right).tolist()
        compared += bool(gain.any())
    assert compared


def test_a_job_without_a_known_limit_gets_no_date_a_year_ahead():
    """Job 0 may run for ever, so there is no start by requested times after it."""
    year = 365 * 86400
    fitted = fit(jobs((0, 4, 6000, year), (1, 4, 6000, year), user=["a", "b"]), machine([4]))
    answer = when_in_log(fitted, time=2, job="1", judged=0)
    assert answer.bounds
    assert answer.unlimited == 2
    assert answer.jobs[0].limit == "unknown"
    shown = " ".join(text(answer, 100).split())
    assert "4 tasks, no time limit known" in shown
    assert (
        "Latest start: unknown, because 2 running or waiting jobs have no known time limit" in shown
    )
    assert "365 d" not in shown


def test_a_limit_that_the_log_does_not_say_is_called_assumed():
    """The system's default stands in for it."""
    fitted = fit(
        jobs((0, 4, 60), (1, 4, 60), requested_time=[60, MISSING]),
        replace(machine([4]), default_time=600),
    )
    answer = when_in_log(fitted, time=2, job="1", judged=0)
    assert answer.jobs[0].limit == "assumed"
    assert "4 tasks for 10 min (assumed)" in text(answer, 100)


def test_no_more_earlier_forecasts_are_made_than_wanted():
    """They are spread over the jobs before, of which all wait."""
    workload, system = _log(300)
    run = Prequential(
        fit(workload, system), dispatcher="easy", predictor="requested", settings=Settings(),
        forecaster=Forecaster(scenarios=2),
    )  # fmt: skip
    run.judge(int(workload.submit[-1]), 5)
    assert 1 <= len(run.forecasts) <= 5


def test_a_time_in_which_the_job_hardly_ends_is_no_advice():
    """The user's jobs ran 1000 s each: half of 6000 s is advised, an eighth is not."""
    past = [(100 * at, 1, 1000, 6000) for at in range(12)]
    waits = [(4000, 3, 6000), (4001, 4, 6000), (4002, 1, 6000)]
    fitted = fit(jobs(*past, *waits, user=["a"] * 12 + ["b", "b", "a"]), machine([4]))
    answer = when_in_log(fitted, time=4002, job="14", judged=0)
    assert "no earlier forecast is scored" in text(answer, 200)
    all_advice = answer.advice
    asked = {advice.requested_time for advice in all_advice}
    assert 3000 in asked
    assert 780 not in asked
    assert all(advice.fits is not None and advice.fits > 0.05 for advice in all_advice)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"job": "9"}, "none of the 2 jobs read has the id 9"),
        ({"job": "0"}, "job 0 is not waiting at second .*: it started at second 0"),
        ({"job": "1", "by": 2}, "must be after 2, the moment asked about"),
    ],
)
def test_what_cannot_be_answered_is_said(more, words):
    """No such job, one that runs, a deadline that has passed."""
    fitted = fit(jobs((0, 1, 10), (1, 1, 5)), machine([1]))
    with pytest.raises(ConfigError, match=words):
        when_in_log(fitted, time=2, judged=0, **more)


def test_nobody_waits():
    """An empty queue has no forecast."""
    fitted = fit(jobs((0, 1, 10)), machine([1]))
    with pytest.raises(ConfigError, match="no job is waiting"):
        when_in_log(fitted, time=2, judged=0)


def test_a_job_that_is_not_submitted_yet(tmp_path):
    """It is put behind what waits then; later jobs are forgotten, and one too large is refused."""
    fitted = fit(jobs((0, 4, 6000), (1, 4, 6000), (500, 1, 5), user=["a", "b", "c"]), machine([4]))
    path = tmp_path / "job.sh"
    path.write_text("#!/bin/sh\n#SBATCH -n 2 -t 60\n")
    job = batch_script.read(path, submit=0, user="a")
    more = append(fitted, job, 100)
    answer = when_in_log(more, time=100, job="new", judged=0)
    assert len(more.workload) == 3
    assert answer.jobs[0].planned == 12000
    assert (answer.jobs[0].units, answer.jobs[0].user) == (2, "a")
    path.write_text("#!/bin/sh\n#SBATCH -n 9\n#SBATCH -t 60\n")
    with pytest.raises(InfeasibleRequestError, match="job new can never run"):
        append(fitted, batch_script.read(path, submit=0), 100)


def test_a_job_that_starts_at_once():
    """There is room: no futures are needed."""
    fitted = fit(jobs((0, 1, 10), (7, 1, 5)), machine([2]))
    answer = when_in_log(fitted, time=7, job="1", judged=0)
    assert answer.jobs[0].p10 == answer.jobs[0].p90 == 7
    assert "starts at once" in text(answer, 80)
