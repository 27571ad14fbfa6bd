"""Reservations and licences that only a log names are listed with the jobs that name them."""

import pytest
from tiny import jobs, machine

from cpsched.slurm.config.unmodelled import count
from cpsched.study.policies import assumed_of
from cpsched.systems.mapping import fit

SACCT = """JobID|User|Account|Partition|QOS|State|Submit|Start|End|ElapsedRaw|AllocTRES|Reservation
1|ann|phys|p|q|COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T09:00:00|3600|cpu=4|
2|ann|phys|p|q|COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T09:00:00|3600|cpu=12|gone
3|bob|phys|p|q|COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T09:00:00|3600|cpu=4|kept
"""


@pytest.fixture
def log():
    return jobs(
        (0, 1, 60), (0, 1, 180), reservation=[None, "course"], licenses=["matlab:2", None]
    )  # fmt: skip


def test_a_dispatcher_without_reservations_says_whose_it_ignores(log):
    reserved, licensed = assumed_of(fit(log, machine((4,))), "easy")
    assert reserved == (
        "1 job (50.0 % of the jobs, 75.0 % of the core time) names reservations that are not"
        " modelled (course). Such jobs run on any nodes, at any time."
    )
    assert "25.0 % of the core time) names licences that are not modelled (matlab)" in licensed


def test_a_policy_that_has_them_says_nothing(log, tmp_path):
    policy = tmp_path / "site.toml"
    policy.write_text(
        '[licenses]\nmatlab = 4\n[[reservation]]\nReservationName = "course"\nNodes = ["n0"]\n'
        'StartTime = "1970-01-01T00:00:00Z"\nEndTime = "1970-01-02T00:00:00Z"\n'
    )
    assert assumed_of(fit(log, machine((4,))), f"slurm:policy={policy}") == []
    policy.write_text("[licenses]\nmatlab = 4\n")
    (line,) = assumed_of(fit(log, machine((4,))), f"slurm:policy={policy}")
    assert "reservations that are not modelled (course)" in line


def test_an_import_lists_reservations_that_the_configuration_does_not_have(tmp_path):
    path = tmp_path / "jobs.sacct"
    path.write_text(SACCT)
    (gap,) = (
        gap for gap in count(path, [], [], {"kept"}).gaps if gap.name.startswith("reservation")
    )
    assert gap.name == "reservation gone, which only the log names"
    assert (gap.jobs, gap.core_seconds) == (1, 12 * 3600)
