"""
What learned predictors look at: numbers made of what is known of a job when it is submitted.

Times are logarithms of seconds, because runtimes spread over five orders of magnitude; shares are
logarithms of runtime over requested time. What is not known is :data:`UNKNOWN`, below every value,
so that no feature is ever missing.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from predictors.history import History, median
from predictors.job_records import JobReader, JobRecord
from predictors.remembered import LIMIT, Key, RecentRuntimes
from predictors.users import Activity, Codes, UserRecord, UserRecords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.system import System
    from cpsched.util.types import AnyArray

UNKNOWN = -20.0
_HOUR, _DAY = 3600, 86_400
_DRIFT = 0.01

_JOB = (
    "requested", "cores", "nodes", "memory", "other", "user", "name", "queue", "group", "hour",
    "weekday",
)  # fmt: skip
_USER = (
    "last", "second_last", "third_last", "last_median", "last_spread", "last_share", "mean",
    "fast_mean", "mean_share", "completed", "killed", "ended", "since_submit", "since_end",
    "streak",
)  # fmt: skip
_RULES = (
    *(f"rule_{number}" for number in range(1, 8)),
    "plus", "plus_rule", "plus_spread", "plus_share", "rule_1_share", "rule_6_share",
    "rule_7_share",
)  # fmt: skip
_ALIKE = ("alike_last", "alike_median", "alike_spread", "same_cores_last", "same_cores_median")
_NOW = (
    "user_running", "user_running_cores", "user_elapsed_mean", "user_elapsed_most", "user_queued",
    "user_queued_cores", "alike_running", "alike_elapsed_most", "alike_queued", "drift",
)  # fmt: skip
#: Names of the F features, in order.
FEATURES = (*_JOB, *_USER, *_RULES, *_ALIKE, *_NOW)


class Features:
    """
    Makes rows of features, and keeps up with what they are made of.

    Parameters
    ----------
    prefix
        How a name's prefix is taken, see :func:`predictors.job_records.prefix_rule`.
    limit
        Users, names and keys remembered of each sort.
    """

    def __init__(self, prefix: str = "stem", limit: int = LIMIT) -> None:
        #: Of job tables as plain values.
        self.read = JobReader(prefix=prefix, memory=True).read
        self._history = History(keep=3, plus=True, limit=limit)
        self._alike = RecentRuntimes(3, limit)
        self._same_cores = RecentRuntimes(3, limit)
        self._users = UserRecords(limit)
        self._codes = {label: Codes(limit) for label in ("user", "name", "queue", "group")}
        #: By user, and by kind of job.
        self._active: dict[Key, Activity] = {}
        self._drift = 0.0
        self._memory = -1
        #: Seconds added to a log's own before hours and weekdays are counted.
        self.shift = 0

    def reset(self, system: System) -> None:
        """Forget everything."""
        kinds = system.resources
        self._memory = kinds.index("mem") if "mem" in kinds else -1
        for part in (self._history, self._alike, self._same_cores, self._users):
            part.clear()
        for codes in self._codes.values():
            codes.clear()
        self._active.clear()
        self._drift = 0.0
        self.shift = 0

    def row(self, job: JobRecord, now: int) -> list[float]:
        """Return the features of a job as things are now; nothing is changed."""
        requested = log(max(job.requested_time, 1))
        kind = kind_of(job)
        return [
            requested,
            *self._of_job(job, now),
            *self._user(job, now),
            *self._rules(job, requested),
            *_newest(self._alike.get(kind), 3),
            *_newest(self._same_cores.get((job.user, kind[2])), 2),
            *self._now(job, kind, now),
        ]

    def submitted(self, job: JobRecord, now: int) -> None:
        """Take note of a job in the queue."""
        for label, codes in self._codes.items():
            codes.add(getattr(job, label))
        self._users.touch(job.user).has_submitted((*kind_of(job), job.name), now)
        self.submitted_before(job)

    def submitted_before(self, job: JobRecord) -> None:
        """Put a job in the queue of which everything else is known already."""
        kind = kind_of(job)
        for key in (job.user, kind):
            activity = self._active.get(key)
            if activity is None:
                activity = self._active[key] = Activity()
            activity.submit(kind[2])

    def started(self, job: JobRecord, now: int) -> None:
        """Take note of a start."""
        kind = kind_of(job)
        for key in (job.user, kind):
            self._active[key].start(job.handle, kind[2], now)

    def gone(self, job: JobRecord, *, ran: bool) -> None:
        """Take note that a job has left the machine, or the queue."""
        kind = kind_of(job)
        for key in (job.user, kind):
            activity = self._active[key]
            if ran:
                activity.end(job.handle, kind[2])
            else:
                activity.leave(kind[2])
            if activity.idle:
                del self._active[key]

    def learn(self, job: JobRecord, runtime: int, completed: bool, now: int) -> None:
        """Add a job that has just ended."""
        kind = kind_of(job)
        self._history.learn(job, runtime)
        self._alike.add(kind, runtime)
        self._same_cores.add((job.user, kind[2]), runtime)
        logarithm = log(max(runtime, 1))
        share = logarithm - log(max(job.requested_time, 1))
        self._users.touch(job.user).has_ended(logarithm, share, completed, now)
        self._drift += _DRIFT * (share - self._drift)

    def forget_times(self) -> None:
        """Forget when things happened, for a log whose seconds count from elsewhere."""
        self._users.forget_times()

    def state(self) -> dict[str, Any]:
        """Return what was learnt, without the jobs that wait and run."""
        return {
            "history": self._history.state(),
            "alike": self._alike.dump(),
            "same_cores": self._same_cores.dump(),
            "users": self._users.dump(),
            "codes": {label: codes.state() for label, codes in self._codes.items()},
            "drift": self._drift,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned; nothing waits or runs then."""
        self._history.restore(state["history"])
        self._alike.load(state["alike"])
        self._same_cores.load(state["same_cores"])
        self._users.load(state["users"])
        for label, codes in self._codes.items():
            codes.restore(state["codes"][label])
        self._drift = float(state["drift"])
        self._active.clear()

    def _of_job(self, job: JobRecord, now: int) -> tuple[float, ...]:
        codes, demand = self._codes, _demand(job)
        cores = demand[0]
        memory = demand[self._memory] if self._memory >= 0 else 0
        return (
            log(1 + cores),
            log(1 + job.nodes),
            log(1 + memory),
            log(1 + sum(demand) - cores - memory),
            codes["user"].get(job.user, -1),
            codes["name"].get(job.name, -1),
            codes["queue"].get(job.queue, -1),
            codes["group"].get(job.group, -1),
            (now + self.shift) % _DAY / _HOUR,
            (now + self.shift) // _DAY % 7,
        )

    def _user(self, job: JobRecord, now: int) -> tuple[float, ...]:
        record = self._users.get(job.user) or _NEW
        logs = record.logs
        since_submit = UNKNOWN if record.submit is None else log(1 + now - record.submit)
        if not logs:
            return (*_NOBODY, since_submit, UNKNOWN, record.streak)
        ordered = sorted(logs)
        return (
            logs[0],
            logs[1] if len(logs) > 1 else UNKNOWN,
            logs[2] if len(logs) > 2 else UNKNOWN,
            ordered[len(ordered) // 2],
            ordered[-1] - ordered[0],
            record.shares[0],
            record.mean_log,
            record.fast_log,
            record.mean_share,
            record.completed,
            record.killed,
            log(1 + record.ended),
            since_submit,
            UNKNOWN if record.end is None else log(1 + now - record.end),
            record.streak,
        )

    def _rules(self, job: JobRecord, requested: float) -> tuple[float, ...]:
        matches = self._history.each(job)
        newest = [log(runs[-1] or 1) if runs else UNKNOWN for runs in matches]
        number, matched = 8, None
        for index, runs in enumerate(matches, start=1):
            if runs:
                number, matched = index, runs
                break
        if matched is None:
            return (*newest, UNKNOWN, number, UNKNOWN, *_NO_SHARES)
        ordered = sorted(matched)
        plus = log(median(ordered) or 1)
        first, sixth, seventh = newest[0], newest[5], newest[6]
        return (
            *newest,
            plus,
            number,
            log(ordered[-1] or 1) - log(ordered[0] or 1),
            plus - requested,
            first - requested if first >= 0 else UNKNOWN,
            sixth - requested if sixth >= 0 else UNKNOWN,
            seventh - requested if seventh >= 0 else UNKNOWN,
        )

    def _now(self, job: JobRecord, kind: Key, now: int) -> tuple[float, ...]:
        user, alike = self._active.get(job.user), self._active.get(kind)
        if user is None:
            return (*_IDLE, self._drift)
        mean = longest = alike_longest = UNKNOWN
        if user.started:
            count = len(user.started)
            mean = log(1 + max(now - user.sum_started / count, 0))
            longest = log(1 + now - next(iter(user.started.values())))
        if alike is not None and alike.started:
            alike_longest = log(1 + now - next(iter(alike.started.values())))
        return (
            len(user.started),
            user.running_cores,
            mean,
            longest,
            user.queued,
            user.queued_cores,
            0 if alike is None else len(alike.started),
            alike_longest,
            0 if alike is None else alike.queued,
            self._drift,
        )


_NEW = UserRecord()
_NOBODY = (UNKNOWN,) * 9 + (1.0, 0.0, 0.0)
_NO_SHARES = (UNKNOWN,) * 4
_IDLE = (0.0, 0.0, UNKNOWN, UNKNOWN, 0.0, 0.0, 0.0, UNKNOWN, 0.0)


def matrix(rows: Sequence[Sequence[float] | AnyArray]) -> AnyArray:
    """Return rows of features as float32, shape ``(n, F)``."""
    return np.array(rows, dtype=np.float32).reshape(-1, len(FEATURES))


def kind_of(job: JobRecord) -> tuple[str | None, int, int]:
    """Return user, requested time and cores."""
    needs = job.needs
    cores = job.units * needs[0] + job.nodes * needs[len(needs) // 2]
    return job.user, job.requested_time, cores


def _demand(job: JobRecord) -> list[int]:
    """Return what all units of a job, and the fewest nodes it can run on, need of each kind."""
    num, nodes = len(job.needs) // 2, job.nodes
    per_unit, per_node = job.needs[:num], job.needs[num:]
    return [job.units * unit + nodes * node for unit, node in zip(per_unit, per_node, strict=True)]


def _newest(runtimes: tuple[int, ...] | None, parts: int) -> tuple[float, ...]:
    """Return logarithms: the newest, the median and the spread, or the first ones of these."""
    if not runtimes:
        return (UNKNOWN,) * parts
    ordered = sorted(runtimes)
    features = (log(runtimes[-1] or 1), log(ordered[len(ordered) // 2] or 1))
    return features if parts == 2 else (*features, log(ordered[-1] or 1) - log(ordered[0] or 1))
