"""
Features of bursts and failures: what jobs that end soon are told by.

Of the user, and of the jobs alike (the same user, requested time and cores): how many of the last
ended within a minute, for how long that has gone on, whether they failed, which run on for longer.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from predictors.features import FEATURES, UNKNOWN, Features, kind_of
from predictors.history import LIMIT, frozen
from predictors.jobs_alike import LikelyRuntimes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import FloatArray, IntArray, System
    from predictors.history import Key
    from predictors.job_records import JobRecord
    from predictors.users import Activity

#: A job that ends within so many seconds is short here.
SHORT = 60
#: Ended jobs whose shortness is remembered of a user or kind, and whose runtimes.
_ENDED, _RUNS = 20, 10
_MASK = 2**_ENDED - 1
#: Seconds after which an end counts half in the share of late.
_HALF_LIFE = 86_400.0
#: How far one job moves the share of all jobs that are short.
_DRIFT = 0.005
#: What the user's last submitted job is doing.
_WAITS, _RUNS_NOW, _HAS_ENDED, _GONE = range(4)

_OF_EACH = ("short_share", "short_share_5", "short_run", "since_short", "running_past_minute")
#: Names of the features beyond :data:`predictors.features.FEATURES`, in order.
BURSTS = (
    *(f"user_{name}" for name in _OF_EACH),
    "user_short_lately", "user_failed", "alike_failed",
    *(f"alike_{name}" for name in _OF_EACH),
    "alike_elapsed_least", "short_drift", "previous_state", "previous_time",
)  # fmt: skip


class _Doing(NamedTuple):
    """What a job does, and since which second; of one that has ended, its runtime instead."""

    handle: int
    state: int
    second: int


class Recent:
    """
    The last ended jobs of a user, or of a kind of job, in short.

    Attributes
    ----------
    num
        How many are remembered, at most 20.
    short, failed
        One bit each, the newest lowest: whether it was short, whether it did not complete.
    run
        How many short ones in a row the newest end (below 0: others).
    short_end
        Second at which the newest short one ended, None before any.
    runs
        Runtimes of the newest ten, the newest first.
    weight, short_weight, weighed
        Ends and short ends, each counting half after a day; as of that second.
    """

    __slots__ = (
        "failed",
        "num",
        "run",
        "runs",
        "short",
        "short_end",
        "short_weight",
        "weighed",
        "weight",
    )  # fmt: skip

    def __init__(self) -> None:
        self.num = self.short = self.failed = self.run = 0
        self.short_end: int | None = None
        self.runs: tuple[int, ...] = ()
        self.weight = self.short_weight = 0.0
        self.weighed: int | None = None

    def has_ended(self, runtime: int, completed: bool, now: int) -> None:
        """Take note of a job that has ended."""
        short = runtime <= SHORT
        self.num = min(self.num + 1, _ENDED)
        self.short = (self.short << 1 | short) & _MASK
        self.failed = (self.failed << 1 | (not completed)) & _MASK
        if short:
            self.run = max(self.run, 0) + 1
            self.short_end = now
        else:
            self.run = min(self.run, 0) - 1
        self.runs = (runtime, *self.runs[: _RUNS - 1])
        kept = self.kept(now)
        self.weight = self.weight * kept + 1
        self.short_weight = self.short_weight * kept + short
        self.weighed = now

    def kept(self, now: int) -> float:
        """Return what is left of the weights."""
        return 1.0 if self.weighed is None else 2.0 ** ((self.weighed - now) / _HALF_LIFE)

    def short_shares(self, prior: float) -> tuple[float, float]:
        """Return the shares of short jobs among the last 20 and 5, one job as usual added."""
        few = min(self.num, 5)
        return (
            (self.short.bit_count() + prior) / (self.num + 1),
            ((self.short & 31).bit_count() + prior) / (few + 1),
        )

    def failed_share(self) -> float:
        """Return the share of the last five that did not complete."""
        return (self.failed & 31).bit_count() / min(self.num, 5) if self.num else UNKNOWN

    def forget_times(self) -> None:
        """Forget when things happened."""
        self.short_end = self.weighed = None


_NOTHING = Recent()


class BurstFeatures(Features):
    """
    The features of :class:`~predictors.features.Features`, and those of bursts and failures.

    Parameters
    ----------
    prefix, limit
        As there.
    """

    names = (*FEATURES, *BURSTS)

    def __init__(self, prefix: str = "stem", limit: int = LIMIT) -> None:
        super().__init__(prefix, limit)
        self._limit = limit
        self._likely_runtimes = LikelyRuntimes(limit)
        #: By user, and by kind of job; two maps, since many kinds push out no user.
        self._recent_users: OrderedDict[Key, Recent] = OrderedDict()
        self._recent_kinds: OrderedDict[Key, Recent] = OrderedDict()
        #: Of each user's last two submitted jobs, the newest first: see :class:`_Doing`.
        self._previous: OrderedDict[Key, tuple[_Doing, ...]] = OrderedDict()
        self._drift_short = 0.25

    def reset(self, system: System) -> None:
        """Forget everything."""
        super().reset(system)
        self._likely_runtimes.clear()
        for part in (self._recent_users, self._recent_kinds, self._previous):
            part.clear()
        self._drift_short = 0.25

    def row(self, job: JobRecord, now: int) -> list[float]:
        """Return the features of a job as things are now; nothing is changed."""
        kind, prior = kind_of(job), self._drift_short
        user = self._recent_users.get(job.user, _NOTHING)
        alike = self._recent_kinds.get(kind, _NOTHING)
        runs_alike = self._active.get(kind)
        least = UNKNOWN
        if runs_alike is not None and runs_alike.started:
            least = log(1 + now - next(reversed(runs_alike.started.values())))
        kept = user.kept(now)
        lately = (user.short_weight * kept + prior) / (user.weight * kept + 1)
        return [
            *super().row(job, now),
            *_of_each(user, self._active.get(job.user), prior, now),
            lately,
            user.failed_share(),
            alike.failed_share(),
            *_of_each(alike, runs_alike, prior, now),
            least,
            prior,
            *self._previous_of(job, now),
        ]

    def _previous_of(self, job: JobRecord, now: int) -> tuple[float, float]:
        """Return what the user's job submitted before is doing, and how long it does so, or ran."""
        for handle, state, second in self._previous.get(job.user, ()):
            if handle != job.handle:
                return state, log(1 + (second if state == _HAS_ENDED else max(now - second, 0)))
        return UNKNOWN, UNKNOWN

    def submitted(self, job: JobRecord, now: int) -> None:
        """Take note of a job in the queue."""
        super().submitted(job, now)
        before = self._previous.get(job.user, ())
        self._previous[job.user] = (_Doing(job.handle, _WAITS, now), *before[:1])
        self._previous.move_to_end(job.user)
        _keep(self._previous, self._limit)

    def _now_it(self, job: JobRecord, state: int, second: int) -> None:
        """Take note of what a job does if it is one of its user's last two."""
        known = self._previous.get(job.user, ())
        if any(one.handle == job.handle for one in known):
            doing = _Doing(job.handle, state, second)
            self._previous[job.user] = tuple(
                doing if one.handle == job.handle else one for one in known
            )

    def started(self, job: JobRecord, now: int) -> None:
        """Take note of a start."""
        super().started(job, now)
        self._now_it(job, _RUNS_NOW, now)

    def gone(self, job: JobRecord, *, ran: bool) -> None:
        """Take note that a job has left the machine, or the queue."""
        super().gone(job, ran=ran)
        self._now_it(job, _GONE, 0)

    def learn(self, job: JobRecord, runtime: int, completed: bool, now: int) -> None:
        """Add a job that has just ended."""
        super().learn(job, runtime, completed, now)
        self._likely_runtimes.learn(job, runtime)
        cut = max(min(runtime, job.requested_time), 1)
        for known, key in ((self._recent_users, job.user), (self._recent_kinds, kind_of(job))):
            recent = known.get(key)
            if recent is None:
                recent = known[key] = Recent()
                _keep(known, self._limit)
            known.move_to_end(key)
            recent.has_ended(cut, completed, now)
        self._now_it(job, _HAS_ENDED, cut)
        self._drift_short += _DRIFT * ((cut <= SHORT) - self._drift_short)

    def likely(self, jobs: Sequence[JobRecord]) -> tuple[IntArray, FloatArray]:
        """
        Return likely runtimes of n jobs, seconds, and how much each counts, shape ``(n, K)``.

        Those of :class:`~predictors.jobs_alike.LikelyRuntimes`, and the last ones of jobs alike.
        """
        value = np.ones((len(jobs), _RUNS), dtype=np.int64)
        weight = np.zeros((len(jobs), _RUNS))
        for place, job in enumerate(jobs):
            runs = self._recent_kinds.get(kind_of(job), _NOTHING).runs
            if runs:
                value[place, : len(runs)] = runs
                weight[place, : len(runs)] = 1 / len(runs)
        values, weights = self._likely_runtimes.likely(jobs)
        return np.concatenate([value, values], axis=1), np.concatenate([weight, weights], axis=1)

    def forget_times(self) -> None:
        """Forget when things happened, for a log whose seconds count from elsewhere."""
        super().forget_times()
        self._previous.clear()
        for known in (self._recent_users, self._recent_kinds):
            for recent in known.values():
                recent.forget_times()

    def state(self) -> dict[str, Any]:
        """Return what was learnt, without the jobs that wait and run."""
        return {
            **super().state(),
            "likely": self._likely_runtimes.state(),
            "recent_users": _dump(self._recent_users),
            "recent_kinds": _dump(self._recent_kinds),
            "previous": json.dumps(list(self._previous.items())),
            "short_drift": self._drift_short,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned; nothing waits or runs then."""
        super().restore(state)
        self._likely_runtimes.restore(state["likely"])
        self._recent_users = _load(state["recent_users"])
        self._recent_kinds = _load(state["recent_kinds"])
        self._previous = OrderedDict(
            (user, tuple(_Doing(*map(int, one)) for one in known))
            for user, known in json.loads(state["previous"])
        )
        self._drift_short = float(state["short_drift"])


def _of_each(recent: Recent, active: Activity | None, prior: float, now: int) -> tuple[float, ...]:
    """Return the features that users and kinds of jobs both have."""
    past_minute = 0
    if active is not None:
        for start in active.started.values():
            # The oldest start comes first.
            if now - start <= SHORT:
                break
            past_minute += 1
    since = UNKNOWN if recent.short_end is None else log(1 + now - recent.short_end)
    return (*recent.short_shares(prior), recent.run, since, past_minute)


def _keep(known: OrderedDict[Key, Any], limit: int) -> None:
    """Forget the key for which nothing has happened longest, if there are too many."""
    if len(known) > limit:
        known.popitem(last=False)


def _dump(known: OrderedDict[Key, Recent]) -> str:
    rows = [
        [key, [getattr(recent, name) for name in Recent.__slots__]] for key, recent in known.items()
    ]
    return json.dumps(rows, separators=(",", ":"))


def _load(text: str) -> OrderedDict[Key, Recent]:
    known: OrderedDict[Key, Recent] = OrderedDict()
    for key, values in json.loads(text):
        recent = known[frozen(key)] = Recent()
        for name, value in zip(Recent.__slots__, values, strict=True):
            setattr(recent, name, tuple(value) if isinstance(value, list) else value)
    return known
