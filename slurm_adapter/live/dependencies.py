"""Whether held jobs may start: their begin times and dependencies, which Slurm does not check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cpsched.api.model import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurm_adapter.live.snapshot import LiveJob, Snapshot

#: ``afterok:7_2+5(unfulfilled)``: what a job waits for.
_WAITS_FOR = re.compile(r"([a-z]+):([0-9]+)(?:_([0-9]+|\*))?(?:\+[0-9]+)?")


def is_ready(job: LiveJob, snapshot: Snapshot) -> bool:
    """
    Whether a held job may start: its begin time has come, and its dependencies are met.

    Slurm itself checks dependencies of held jobs only when they are released. Then it holds the job
    back if a job that should have succeeded has failed.
    """
    if job.eligible != MISSING and job.eligible > snapshot.now:
        return False
    return not any(_is_in_the_way(*item, job, snapshot) for item in _dependencies(job.dependency))


def _dependencies(text: str) -> Iterator[tuple[str, str]]:
    """Yield the dependencies of a job: the type, and the job's key or array."""
    if "singleton" in text:
        yield "singleton", ""
    for word, number, task in _WAITS_FOR.findall(text):
        yield word, f"{number}_{task}" if task and task != "*" else number


def _is_in_the_way(word: str, key: str, job: LiveJob, snapshot: Snapshot) -> bool:
    if word == "singleton":
        same = (one for one in snapshot.jobs.values() if one.name == job.name)
        return any(one.user == job.user and one.number < job.number for one in same)
    others = [one for one in snapshot.jobs.values() if key in (one.key, one.array, str(one.number))]
    if word == "after":
        return any(one.waits for one in others)
    return any(one.state != "COMPLETING" for one in others)
