"""The generator of a farm's year: what it promises of shares, load, users and time."""

import subprocess
import sys

import numpy as np
import pytest

from cpsched import systems
from cpsched.base.types import Status
from cpsched.errors import ConfigError
from cpsched.model import arrays
from cpsched_papers.generators import farm
from cpsched_papers.generators import farm_tables as known
from cpsched_papers.generators.farm import FARM, FarmOptions

DAY = 86_400


@pytest.fixture(scope="module")
def quarter():
    """A quarter of a year, with a twentieth of its jobs."""
    return FARM.generate(FarmOptions(jobs=500_000, days=90.0, load=0.1))


def test_the_machine_is_as_published():
    machine = systems.load("farm-312")
    cores, memory = machine.capacity.sum(axis=0).tolist()
    assert machine.num_nodes == 312
    assert cores == known.THREADS
    assert cores == pytest.approx(46_000, rel=0.02)
    assert memory * 1024 == pytest.approx(105e12, rel=0.08)


def test_equal_options_give_equal_jobs_and_another_seed_others():
    options = FarmOptions(jobs=3000)
    assert FARM.generate(options).digest() == FARM.generate(options).digest()
    assert FARM.generate(FarmOptions(jobs=3000, seed=2)).digest() != FARM.generate(options).digest()


def test_columns_in_files_are_the_same(monkeypatch):
    before = FARM.generate(FarmOptions(jobs=20_000)).digest()
    monkeypatch.setattr(arrays, "_IN_FILE", 1 << 14)
    assert FARM.generate(FarmOptions(jobs=20_000)).digest() == before


def test_parts_follow_each_other(monkeypatch):
    monkeypatch.setattr(farm, "_PART", 1000)
    parted = FARM.generate(FarmOptions(jobs=4500))
    assert len(parted) == 4500
    parted.check_order()
    assert parted.job_id.tolist() == [str(number) for number in range(1, 4501)]


def test_shares_and_load_are_met(quarter):
    """By kind, which its name tells; campaigns come whole, so not to the job."""
    kinds = np.array([name.rstrip("0123456789") for name in quarter.name.values])
    of_job = kinds[quarter.name.codes]
    for name, kind in known.KINDS.items():
        rows = of_job == name
        assert rows.mean() == pytest.approx(kind.share, abs=0.02)
        assert set(np.unique(quarter.units[rows])) == set(kind.cores)
        tasks = (quarter.array.codes[rows] >= 0).mean()
        assert tasks == pytest.approx(kind.arrays, abs=0.15)
        memory = quarter.request[rows, 1] // 1024
        assert kind.memory[0] <= memory.min() <= memory.max() <= kind.memory[1]
    done = (quarter.runtime * quarter.units).sum() / (known.THREADS * 90 * DAY)
    assert done == pytest.approx(0.1, rel=0.05)
    assert (quarter.status == Status.FAILED).mean() == pytest.approx(known.FAILED, abs=0.01)
    assert (quarter.runtime <= quarter.requested_time).all()


def test_arrays_come_at_once_and_others_in_bursts(quarter):
    code, second = quarter.array.codes, quarter.submit
    tasks = np.flatnonzero(code >= 0)
    first = np.full(code.max() + 1, -1)
    first[code[tasks][::-1]] = second[tasks][::-1]
    assert (second[tasks] == first[code[tasks]]).all()
    assert np.unique(second[code < 0]).size < 0.5 * (code < 0).sum()


def test_people_keep_hours_and_the_grid_does_not(quarter):
    grid = np.array([name.startswith(("pilot", "grid")) for name in quarter.name.values])
    of_grid = grid[quarter.name.codes]
    hour = (quarter.submit + quarter.epoch) // 3600 % 24

    def by_day(rows):
        counts = np.bincount(hour[rows], minlength=24)
        return counts[9:18].sum() / 9 / (counts[:6].sum() / 6)

    assert by_day(~of_grid) > 1.7
    assert by_day(of_grid) < 1.5


def test_users_come_and_go():
    """Of the campaigns of a whole year, of which there are some 150,000."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, len(known.KINDS), 150_000)
    begin = rng.uniform(0, known.DAYS, len(kind))
    user = farm._users(rng, kind, begin, known.DAYS)
    assert len(np.unique(user)) == pytest.approx(known.USERS, rel=0.15)
    month = (begin / 30.5).astype(int)
    at_work = [set(user[month == one].tolist()) for one in range(12)]
    assert max(len(one) for one in at_work) < 0.75 * known.USERS
    assert at_work[11] - at_work[0]
    assert at_work[0] - at_work[11]


def test_a_load_that_cannot_be_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"1,000 jobs cannot have .*, the nearest is "):
        FARM.generate(FarmOptions(jobs=1000, days=300.0, load=1.0))
    with pytest.raises(ConfigError, match="not between"):
        FarmOptions(jobs=10)


def test_the_command(tmp_path):
    file = tmp_path / "farm.parquet"
    command = [sys.executable, "-m", "cpsched", "workload", "generate", "farm", "--jobs", "2000"]
    done = subprocess.run([*command, "-o", str(file)], capture_output=True, text=True, check=True)
    assert "2,000 jobs" in done.stdout
