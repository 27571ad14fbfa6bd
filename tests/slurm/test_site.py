"""The generator of a site's month: what it promises of shares, and that it is all Slurm's."""

import numpy as np
import pytest

from cpsched import logs, systems
from cpsched.errors import ConfigError
from cpsched.logs.sacct.write import as_recorded
from cpsched.simulation.simulate import simulate
from cpsched.slurm import site_tables as tables
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.site import SITE, SiteOptions
from cpsched.systems.mapping import fit
from cpsched.util import resources
from cpsched.util.types import MISSING, DependencyType, Status

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def month():
    return SITE.generate(SiteOptions())


@pytest.fixture(scope="module")
def days():
    """A smaller one, as dense."""
    return SITE.generate(SiteOptions(jobs=6000, days=2.0, seed=3))


def share(rows):
    return float(np.count_nonzero(rows) / len(rows))


def test_a_month_has_its_jobs_and_its_load(month):
    assert len(month) == 100_000
    machine = systems.load("site-152")
    cores = int(machine.capacity[:, 0].sum())
    assert cores == 9728
    load = (month.units * month.runtime).sum() / (cores * 30 * 86_400)
    assert load == pytest.approx(0.9, rel=0.005)
    assert 29 * 86_400 < month.submit[-1] < 30 * 86_400
    # What it is meant to have, by jobs; campaigns come whole, so not to the job.
    assert share(month.array.codes >= 0) == pytest.approx(1 / 3, abs=0.02)
    assert share(month.cancel != MISSING) == pytest.approx(tables.CANCELLED, abs=0.005)
    assert share(month.licenses.codes >= 0) == pytest.approx(tables.LICENSED, abs=0.015)
    assert share(month.exclusive) == pytest.approx(tables.EXCLUSIVE, abs=0.015)
    assert share(month.begin != MISSING) == pytest.approx(tables.BEGIN, abs=0.01)
    gpus = month.per_node[:, 1]
    assert share(gpus > 0) == pytest.approx(tables.KINDS["gpu"].share, abs=0.01)
    assert set(np.unique(gpus)) == {0, 1, 2, 4}


def test_days_and_hours_have_their_rhythm(month):
    """More jobs by day than by night, on a Tuesday than on a Sunday."""
    second = month.submit + month.epoch
    hour, day = second // 3600 % 24, (second // 86_400 + 3) % 7
    by_hour, by_day = np.bincount(hour, minlength=24), np.bincount(day, minlength=7)
    assert by_hour[9:18].sum() / 9 > 2 * by_hour[:6].sum() / 6
    assert by_day[:4].mean() > 1.3 * by_day[5:].mean()


def test_runtimes_have_a_heavy_tail_and_limits_are_round(month):
    assert month.runtime.mean() > 4 * np.median(month.runtime)
    assert set(np.unique(month.requested_time)) <= set(tables.REQUESTS)
    assert (month.runtime <= month.requested_time).all()
    assert np.median(month.requested_time / month.runtime) > 3
    cut = month.runtime == month.requested_time
    assert (month.status[cut] == Status.TIMEOUT).all()
    assert 0.01 < share(cut) < 0.1


def test_tasks_of_an_array_come_together(days):
    for array in range(len(days.array.values)):
        rows = np.flatnonzero(days.array.codes == array)
        base = days.array.values[array]
        assert days.job_id[rows].tolist() == [f"{base}_{task}" for task in range(1, len(rows) + 1)]
        assert len(np.unique(days.submit[rows])) == 1
        assert len(np.unique(days.array_limit[rows])) == 1


def test_jobs_wait_for_earlier_ones_of_their_campaign(days):
    rows = np.flatnonzero(days.dependency >= 0)
    assert len(rows) > 100
    other = days.dependency[rows]
    assert (days.name.codes[rows] == days.name.codes[other]).all()
    assert (other < rows).all()
    assert set(days.dependency_type[rows]) == {int(kind) for kind in DependencyType}


def test_every_job_fits_the_system_it_is_made_for(month):
    fitted = fit(month, systems.load("site-152"))
    assert fitted.rejected == ()


def test_it_runs_on_its_system_as_swf_too(days, tmp_path):
    """Which counts processors, and has names of queues in its header only."""
    logs.write(days, tmp_path / "site.swf.gz")
    fitted = fit(logs.read(tmp_path / "site.swf.gz"), systems.load("site-152"))
    assert set(fitted.workload.queue.values) == set(days.queue.values)


def test_the_policy_knows_its_people():
    """Users, accounts, shares, QOS, partitions and licences are those of the tables."""
    policy = policy_file.load(resources.path("policies", "site-152.toml"))
    people = {
        (association.user, association.account)
        for association in policy.associations
        if association.user
    }
    assert people == set(tables.users())
    assert len(people) == tables.USERS
    groups = {
        (association.parent, association.account, association.shares)
        for association in policy.associations
        if association.parent and not association.user
    }
    assert groups == set(tables.ACCOUNTS)
    top = {
        association.account: association.shares
        for association in policy.associations
        if not association.parent and not association.user
    }
    assert top == dict(zip(tables.FACULTIES, tables.FACULTY_SHARES, strict=True))
    assert tuple(policy.qos) == tables.QOS
    assert dict(policy.licenses) == tables.LICENSES_HELD
    system = systems.load("site-152")
    assert set(policy.partitions) == set(system.queues) == set(tables.LIMITS)
    assert {name: queue.max_time for name, queue in system.queues.items()} == tables.LIMITS


@pytest.mark.parametrize("dispatcher", ["easy", "fifo"])
def test_what_became_of_it_reads_back_from_sacct_text(days, tmp_path, dispatcher):
    run = simulate(fit(days, systems.load("site-152")), dispatcher=dispatcher)
    recorded = as_recorded(run.schedule)
    assert logs.write(recorded, tmp_path / "site.sacct") == ()
    back = logs.read(tmp_path / "site.sacct")
    assert back.digest() == recorded.digest()
    assert (back.cancel != MISSING).any()
    assert (back.array_limit > 0).any()
    # Simulated again, all starts are the same: nothing that decides is lost.
    again = as_recorded(
        simulate(fit(back, systems.load("site-152")), dispatcher=dispatcher).schedule
    )
    assert again.job_id.tolist() == recorded.job_id.tolist()
    assert again.recorded_start.tolist() == recorded.recorded_start.tolist()


def test_seeds_and_options_make_a_difference(days):
    other = SITE.generate(SiteOptions(jobs=6000, days=2.0, seed=4))
    assert other.digest() != days.digest()
    light = SITE.generate(SiteOptions(jobs=6000, days=2.0, seed=3, load=0.5, arrays=0.0))
    assert (light.array.codes < 0).all()
    work = (light.units * light.runtime).sum() / (9728 * 2 * 86_400)
    assert work == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 999}, "999 is not between 1000"),
        ({"load": 4.0}, "4.0 is not between"),
        ({"arrays": 0.9}, "0.9 is not between"),
        ({"jobs": 1000, "days": 300.0}, "core-hours of 131 similar jobs"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        SITE.generate(SiteOptions(**options))
