"""
When Slurm's passes are due.

A main pass over the first jobs comes at once when a job ends, and within ``batch_sched_delay``
after one was submitted; one over all jobs every ``sched_interval``; a backfill pass as soon as
``bf_interval`` is over since the last. None comes where nothing has happened that could make a
difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.api.kernels import FAR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurm_adapter.dispatch.policy import Policy

_MICROSECONDS = 10**6
_FAR = int(FAR)
#: What its state is made of.
_REMEMBERED = (
    *("after_end", "queued", "last", "last_queued", "full", "backfill", "last_backfill", "news"),
)


class Timing:
    """Passes to come."""

    def __init__(self, policy: Policy, *, lag: int = 0) -> None:
        self._lag = lag
        self._defers = policy["defer"] or policy["defer_batch"]
        self._depth: int = policy["default_queue_depth"]
        self._delay: int = policy["batch_sched_delay"]
        self._interval: int = policy["sched_interval"]
        self._least = -(-policy["sched_min_interval"] // _MICROSECONDS)
        if policy["sched_min_interval"] < _MICROSECONDS:
            self._least = 0
        backfills = policy["SchedulerType"] == "sched/backfill"
        self._bf_interval: int = policy["bf_interval"] if backfills else -1
        #: When the pass after a job's end is due, and that after a submit.
        self._after_end = _FAR
        self._queued = _FAR
        #: When the last main pass was, and the last that did not follow from a job's end.
        self._last = -_FAR
        self._last_queued = -_FAR
        #: When a pass over all jobs, and a backfill pass, are due, and when the last of these was.
        self._full = _FAR
        self._backfill = _FAR
        self._last_backfill = -_FAR
        #: Something has changed without a known time of the next pass.
        self._news = False

    def ended(self, now: int) -> None:
        """Note that a job has ended."""
        self._news = True
        if self._defers:
            self._queue_pass(now)
        else:
            due = max(now + self._lag, self._last + self._least)
            self._after_end = min(self._after_end, due)

    def _queue_pass(self, now: int) -> None:
        due = max(now + self._lag, self._last_queued + self._delay)
        self._queued = min(self._queued, max(due, self._last + self._least))

    def changed(self) -> None:
        """Note that priorities or nodes have changed."""
        self._news = True

    def note(self, now: int, *, arrived: bool) -> None:
        """Note whether jobs have arrived, and when passes over all jobs are due."""
        if arrived:
            self._news = True
            self._queue_pass(now)
        if self._news:
            self._news = False
            if self._interval > 0:
                self._full = min(self._full, -(-now // self._interval) * self._interval)
            if self._bf_interval > 0:
                due = max(now, self._last_backfill + self._bf_interval)
                self._backfill = min(self._backfill, due)

    def due(self, now: int, num_waiting: int) -> tuple[int, bool]:
        """
        Return the passes that are due, assuming that they are run.

        Returns
        -------
        depth, backfill
            How many jobs the main pass considers, 0 if there is none; whether there is a backfill
            pass.
        """
        depth = 0
        if self._full <= now:
            depth = _FAR
        elif min(self._after_end, self._queued) <= now:
            depth = self._depth
        if depth:
            self._last = now
            if self._after_end > now or depth == _FAR:
                self._last_queued = now
                self._queued = _FAR
            self._after_end = _FAR
            if depth >= num_waiting:
                self._full = _FAR
        backfill = self._backfill <= now
        if backfill:
            self._backfill, self._last_backfill = _FAR, now
        return depth, backfill

    def next_due(self, now: int) -> int | None:
        """Return when a pass is due next, None where none is."""
        found = min(self._after_end, self._queued, self._full, self._backfill)
        return max(found, now + 1) if found < _FAR else None

    def state(self) -> Mapping[str, Any]:
        """Return when passes are due."""
        return {name: getattr(self, f"_{name}") for name in _REMEMBERED}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        for name in _REMEMBERED:
            setattr(self, f"_{name}", int(state[name]))
