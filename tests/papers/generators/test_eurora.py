"""The Eurora-like year: published figures exactly, the excerpt's marginals nearly."""

import re

import numpy as np
import pytest

from cpsched import logs, systems
from cpsched.model.estimates import Requested
from cpsched.papers.generators.eurora import EURORA, EuroraOptions
from cpsched.papers.generators.eurora_tables import QUEUE_LIMITS, QUEUES
from cpsched.simulation.simulate import simulate
from cpsched.util import resources
from cpsched.util.types import Status

pytestmark = pytest.mark.slow

DAY = 86400
SAMPLE = resources.path("logs", "eurora-sample.csv.gz")
OPTIONS = EuroraOptions(jobs=5000, seed=14, load=0.6)
AGAIN = "cpsched log generate eurora --jobs 5000 --seed 14 --load 0.6 -o FILE"


@pytest.fixture(scope="module")
def year():
    """The default workload: all 372,320 jobs."""
    return EURORA.generate(EuroraOptions())


def load_of(workload, resource, total, days):
    """Resource seconds used over what the machine has."""
    held = workload.units * workload.request[:, workload.resources.index(resource)]
    return float((held * workload.runtime).sum() / (total * days * DAY))


def test_the_year_has_the_published_figures(year):
    # 372,320 jobs from 2014-03-01 to 2015-08-31, 549 days.
    assert year.num_jobs == 372_320
    assert year.epoch == np.datetime64("2014-03-01", "s").astype(int)
    assert 0 <= year.submit[0] < DAY
    assert 548 * DAY <= year.submit[-1] < 549 * DAY
    assert np.all(np.diff(year.submit) >= 0)
    # 93.15 % up to one hour, 6.82 % up to twelve, 0.03 % beyond: to the last digit given.
    edges = np.array([0, 3600, 43200, np.inf])
    shares = np.histogram(year.runtime - 0.5, edges)[0] / year.num_jobs
    assert np.round(100 * shares, 2).tolist() == [93.15, 6.82, 0.03]
    # 76,265 jobs in two months (Remediani 2017, chapter 5): here March and April 2014.
    two_months = int((year.submit < 61 * DAY).sum())
    assert two_months == pytest.approx(76_265, rel=0.05)


@pytest.mark.parametrize("load", [0.1, 0.47, 0.9])
def test_a_small_sample_has_the_load_asked_for_over_its_part_of_the_year(load):
    workload = EURORA.generate(EuroraOptions(jobs=20_000, seed=3, load=load))
    days = 549 * 20_000 / 372_320
    assert days - 1 < workload.submit[-1] / DAY < days
    assert load_of(workload, "core", 1024, days) == pytest.approx(load, rel=0.01)


def test_gpus_are_scarcer_than_cores(year):
    cores, gpus = load_of(year, "core", 1024, 549), load_of(year, "gpu", 64, 549)
    assert cores == pytest.approx(0.47, rel=0.01)
    assert cores < gpus < 1.2 * cores


def test_days_can_be_chosen():
    workload = EURORA.generate(EuroraOptions(jobs=5000, days=4.1, load=0.5))
    assert 3.5 < workload.submit[-1] / DAY < 4.1


def test_every_job_fits_the_machine(year):
    # 32 nodes with 2 MICs, 32 with 2 GPUs, 16 cores and 16 GB each; 32 GB on five GPU nodes.
    cores, gpus, mics, memory = year.request.T
    assert cores.max() == 16
    assert gpus.max() == 2
    assert mics.max() == 2
    assert np.all(year.units[(gpus > 0) | (mics > 0)] <= 32)
    assert year.units.max() <= 32
    big = memory > 16_294_372
    assert big.any()
    assert np.all((year.units[big] == 1) & (mics[big] == 0) & (memory[big] <= 32_841_176))
    gpu, mic = year.request[:, 1] > 0, year.request[:, 2] > 0
    assert gpu.any()
    assert mic.any()
    assert not (gpu & mic).any()


def test_queues_keep_their_limits(year):
    queue = np.array([QUEUES.index(name) for name in year.queue.values])[year.queue.codes]
    limits = np.array(QUEUE_LIMITS)[queue]
    assert np.all(year.requested_time <= limits)
    assert sorted(year.queue.values) == sorted(QUEUES)
    long = year.runtime > 12 * 3600
    assert set(queue[long]) == {QUEUES.index("longpar")}


def test_no_job_outlives_its_request(year):
    """Who would is killed at the requested time, and says so."""
    assert np.all(year.runtime <= year.requested_time)
    at_limit = year.runtime == year.requested_time
    assert np.array_equal(at_limit, year.status == Status.TIMEOUT)
    assert 0.03 < at_limit.mean() < 0.12
    failed = year.status == Status.FAILED
    assert 0.02 < failed.mean() < 0.08
    assert np.median(year.runtime[failed]) < 120


def test_users_repeat_themselves_and_then_change(year):
    """Temporal locality: the last job of the same user and name says how long this one runs."""
    same_as_last, error = _against_last(year)
    assert same_as_last > 0.8
    assert np.median(error) < 0.2
    assert 0.5 < (error < np.log(1.2)).mean() < 0.8
    against_request = np.log(year.requested_time / year.runtime)
    assert np.median(against_request) > 5 * np.median(error)
    # It is locality, not a constant: a random earlier job of user and name says much less.
    rng = np.random.default_rng(1)
    _, shuffled = _against_last(year.with_columns(runtime=rng.permutation(year.runtime)))
    assert np.median(shuffled) > 5 * np.median(error)


def _against_last(workload):
    """Share of jobs named as the user's last; log error of the last runtime of user and name."""
    names = [re.sub(r"\.\d+$", "", name or "") for name in workload.name.decode()]
    last_name = {}
    last_run = {}
    same, errors = [], []
    runs = workload.runtime.tolist()
    for user, name, run in zip(workload.user.codes.tolist(), names, runs, strict=True):
        if user in last_name:
            same.append(last_name[user] == name)
        if (user, name) in last_run:
            errors.append(abs(np.log(last_run[user, name] / run)))
        last_name[user], last_run[user, name] = name, run
    return float(np.mean(same)), np.array(errors)


def test_users_are_a_few_hundred_and_unequal(year):
    counts = np.sort(np.bincount(year.user.codes))[::-1]
    assert 200 < len(counts) < 400
    assert 0.02 < counts[0] / year.num_jobs < 0.2
    assert counts[: len(counts) // 10].sum() > 0.4 * year.num_jobs
    assert 30 < len(year.group.values) <= 100


def test_days_and_weeks_have_their_cycle(year):
    hour = np.bincount(year.submit % DAY // 3600, minlength=24) / year.num_jobs
    assert hour[9:17].sum() > 1.8 * hour[[0, 1, 2, 3, 4, 5, 22, 23]].sum()
    # 2014-03-01 was a Saturday.
    weekday = (year.submit // DAY + 5) % 7
    assert (weekday >= 5).mean() < 0.2


# --- the queue under the rule that Remediani simulates -------------------------------------------


def queue_under_prb(workload):
    """Jobs waiting under prb with requested times: mean over time, and most at once."""
    run = simulate(workload, systems.load("eurora"), dispatcher="greedy", predictor=Requested())
    schedule = run.schedule
    assert not schedule.rejected
    submit, start = schedule.workload.submit, schedule.start
    mean = (start - submit).sum() / (schedule.end.max() - submit.min())
    # What starts at once never waits. At one instant jobs leave the queue before others join:
    # a job that waits joins before it leaves, so the count never falls below zero.
    waited = start > submit
    moments = np.concatenate([start[waited], submit[waited]])
    change = np.repeat([-1, 1], waited.sum())
    order = np.lexsort((change, moments))
    return float(mean), int(np.cumsum(change[order]).max())


@pytest.mark.slow
@pytest.mark.shared
def test_the_excerpt_has_26_jobs_waiting(shared):
    """The figure that the generator is calibrated to: 25.9 on average, 232 at most."""
    mean, peak = queue_under_prb(logs.read(shared / "traces" / "eurora-2014.ext.csv.gz"))
    assert mean == pytest.approx(25.9, abs=0.1)
    assert peak == 232


@pytest.mark.slow
def test_the_generated_log_queues_like_the_excerpt():
    """Three months of two seeds: about 26 on average, over 200 at peaks."""
    results = [
        queue_under_prb(EURORA.generate(EuroraOptions(jobs=60_000, seed=seed))) for seed in (1, 2)
    ]
    assert 15 < np.mean([mean for mean, _ in results]) < 40
    assert all(peak > 200 for _, peak in results)


# --- the sample log that comes with cpsched ------------------------------------------------------


def test_sample_can_be_made_again_byte_for_byte(tmp_path):
    """
    No time of writing and no file name may get into the gzip.

    If this fails after a deliberate change of the generator, count up its VERSION.
    """
    written = tmp_path / "another-name.csv.gz"
    logs.write(EURORA.generate(OPTIONS), written)
    if written.read_bytes() != SAMPLE.read_bytes():
        pytest.fail(f"the bundled sample is out of date; make it again with: {AGAIN}")
