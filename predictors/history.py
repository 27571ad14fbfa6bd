"""
The rules of user histories: which finished jobs of a user a new one is compared with.

Shared by the heuristics and by the features of learned predictors. A rule is a key made of what is
known of a job at submit; a job matches those finished jobs of its user which had the same key, and
the newest come first. So a look-up takes constant time, and memory is bounded by the number of
keys kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from predictors.remembered import LIMIT, Key, RecentRuntimes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from predictors.job_records import JobRecord

#: The rules of Remediani (2017), section 3.1.2, by number from 1; the last one needs no history.
SIX_RULES = (
    "full profile",
    "profile, name by prefix",
    "profile, other resources",
    "profile, other resources, name by prefix",
    "name or its prefix",
    "requested time",
)
#: The same with two more before the requested time.
EIGHT_RULES = (*SIX_RULES[:5], "user's same requested time", "user's last jobs", SIX_RULES[5])


class History:
    """
    Finished jobs by the keys of the rules.

    Parameters
    ----------
    keep
        Runtimes remembered of a key.
    plus
        Whether to have the two rules more of :data:`EIGHT_RULES`.
    limit
        Keys remembered by each rule.

    Notes
    -----
    The full profile is name, queue, requested time and the numbers of cores, GPUs, MICs and nodes
    (and any other resource kind a system has), but not memory unless the reader of the jobs was
    told to include it. Two jobs without a name, without a queue or without a user are alike in
    that, so a log that hides its users has one history for all; the rules that look at nothing
    but user and requested time leave such jobs out.
    """

    def __init__(self, *, keep: int = 1, plus: bool = False, limit: int = LIMIT) -> None:
        self.rules = EIGHT_RULES if plus else SIX_RULES
        # Rule 5 has two keys, the name and its prefix.
        self._maps = [RecentRuntimes(keep, limit) for _ in range(8 if plus else 6)]
        self._plus = plus

    def learn(self, job: JobRecord, runtime: int) -> None:
        """Add a job that has just ended."""
        for _, recent, key in self._keys(job):
            recent.add(key, runtime)

    def match(self, job: JobRecord) -> tuple[int, tuple[int, ...]]:
        """
        Return what the first rule that matches gives.

        Its number, from 1, and the runtimes of the matching jobs, seconds, oldest first. If none
        matches, the last rule of all and no runtime.
        """
        for number, recent, key in self._keys(job):
            runtimes = recent.get(key)
            if runtimes is not None:
                return number, runtimes
        return len(self.rules), ()

    def each(self, job: JobRecord) -> list[tuple[int, ...] | None]:
        """
        Return what every rule but the last gives, whether or not an earlier one matches.

        Runtimes in seconds, oldest first, by rule; None for a rule that nothing matches.
        """
        runtimes: list[tuple[int, ...] | None] = [None] * (len(self.rules) - 1)
        for number, recent, key in self._keys(job):
            runtimes[number - 1] = runtimes[number - 1] or recent.get(key)
        return runtimes

    def clear(self) -> None:
        """Forget everything."""
        for recent in self._maps:
            recent.clear()

    def state(self) -> dict[str, Any]:
        """Return everything as strings."""
        return {str(index): recent.dump() for index, recent in enumerate(self._maps)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        for index, recent in enumerate(self._maps):
            recent.load(state[str(index)])

    def _keys(self, job: JobRecord) -> Iterator[tuple[int, RecentRuntimes, Key]]:
        """Yield rule number, map and key of every rule that has a key for a job, in order."""
        maps = self._maps
        yield 1, maps[0], job[:7]
        by_prefix = None if job.prefix is None else (job.user, job.prefix, *job[2:7])
        if by_prefix is not None:
            yield 2, maps[1], by_prefix
        yield 3, maps[2], job[:4]
        if by_prefix is not None:
            yield 4, maps[3], by_prefix[:4]
        yield 5, maps[4], job[:2]
        if by_prefix is not None:
            yield 5, maps[5], by_prefix[:2]
        if self._plus and job.user is not None:
            yield 6, maps[6], (job.user, job.requested_time)
            yield 7, maps[7], job.user


def median(runtimes: Sequence[int]) -> int:
    """Return the median in whole seconds, a half rounded up."""
    if len(runtimes) == 1:
        return runtimes[0]
    ordered = sorted(runtimes)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else -(-(ordered[middle - 1] + ordered[middle]) // 2)
