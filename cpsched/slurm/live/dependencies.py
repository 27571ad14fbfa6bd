"""Whether held jobs may start: their begin times and dependencies, which Slurm does not check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.slurm.live.snapshot import LiveJob, Snapshot

#: ``afterok:7_2+5(unfulfilled)``: what a job waits for.
_WAITS_FOR = re.compile(r"([a-z]+):([0-9]+)(?:_([0-9]+|\*))?(?:\+([0-9]+))?")


def is_ready(job: LiveJob, snapshot: Snapshot) -> bool:
    """
    Whether a held job may start: its begin time has come, and its dependencies are met.

    Slurm itself checks dependencies of held jobs only when they are released. Then it holds the job
    back if a job that should have succeeded has failed.
    """
    if job.eligible != MISSING and job.eligible > snapshot.now:
        return False
    return next(waits_for(job, snapshot), None) is None


def waits_for(job: LiveJob, snapshot: Snapshot) -> Iterator[LiveJob]:
    """
    Yield the jobs in the queue and on nodes that a held one has to wait for.

    Of clauses with ``?`` between one is enough: where one is met there is nobody to wait for.
    """
    clauses = [
        list(_of_clause(clause, job, snapshot)) for clause in re.split("[,?]", job.dependency)
    ]
    if "?" in job.dependency and not all(clauses):
        return
    for waited in clauses:
        yield from waited


def _of_clause(clause: str, job: LiveJob, snapshot: Snapshot) -> Iterator[LiveJob]:
    """Yield the jobs that one clause of a dependency waits for."""
    jobs = snapshot.jobs.values()
    if "singleton" in clause:
        # One that runs counts whatever its number, one that waits if it came before.
        same = (other for other in jobs if (other.name, other.user) == (job.name, job.user))
        yield from (other for other in same if other.number < job.number or other.holds)
    for word, number, task, minutes in _WAITS_FOR.findall(clause):
        name = f"{number}_{task}" if task and task != "*" else number
        for other in jobs:
            is_open = other.waits if word == "after" else other.state != "COMPLETING"
            if word == "after" and minutes and other.start != MISSING:
                is_open = other.start + 60 * int(minutes) > snapshot.now
            if is_open and name in (other.key, other.array, str(other.number)):
                yield other
