"""
What a dispatcher has seen: how long jobs ran of what was predicted, and what was submitted lately.

Nothing here is asked of a predictor or the simulator: a job that no longer runs has ended, and its
runtime is known from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.cp.problem import pooled_demand
from cpsched.kernels import scenarios
from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.decision import Decision
    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import FloatArray, IntArray
    from cpsched.model.view import View

#: Ended jobs remembered of each user, and of all.
_OWN, _ALL = 10, 500
#: Ended jobs before their ratios say anything.
_ENOUGH = 20
#: Nine in ten predictions closer than this factor: they can be taken as the truth.
_EXACT = 1.05


class Arrivals(NamedTuple):
    """
    Jobs as they may arrive: those submitted last, once more from now on; n jobs.

    Attributes
    ----------
    ready, plan, limit, user
        When (sorted), for how long as predicted and at most, and of which user (our number),
        shape ``(n,)``.
    demand
        Shape ``(n, R)``.
    """

    ready: IntArray
    plan: IntArray
    limit: IntArray
    user: IntArray
    demand: IntArray


class Experience:
    """
    Ratios of runtime to prediction, of each user and of all, and the last arrivals.

    Parameters
    ----------
    num_arrivals
        How many of the last arrivals are remembered.
    """

    def __init__(self, num_arrivals: int) -> None:
        self._num_arrivals = num_arrivals
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._running: dict[int, tuple[int, int, int]] = {}
        self._users: dict[str, int] = {}
        self._codes: IntArray = np.full(1, -1, dtype=np.int64)
        self._store: object = None
        self.user_ratio: FloatArray = np.zeros((16, _OWN))
        self.user_count: IntArray = np.zeros(16, dtype=np.int64)
        self._ratios: FloatArray = np.zeros(_ALL)
        self._num_ratios = 0
        self._last = -1
        self._arrivals: list[tuple[Any, ...]] = []
        self._summed_at = -1

    def users(self, jobs: JobTable) -> IntArray:
        """Return our number for the user of each job, -1 where unknown."""
        labels = jobs.store.labels["user"]
        if jobs.store is not self._store:
            self._store = jobs.store
            self._codes = np.full(1, -1, dtype=np.int64)
        if len(labels) >= len(self._codes):
            known = self._users
            more = [known.setdefault(label, len(known)) for label in labels[len(self._codes) - 1 :]]
            # The last entry stays -1: it is what the code of an unknown user (-1) finds.
            self._codes = np.array([*self._codes[:-1].tolist(), *more, -1], dtype=np.int64)
            self._make_room(len(known))
        numbers: IntArray = self._codes[jobs.column(c.USER)]
        return numbers

    def _make_room(self, num_users: int) -> None:
        while num_users > len(self.user_count):
            self.user_ratio = np.concatenate([self.user_ratio, np.zeros_like(self.user_ratio)])
            self.user_count = np.concatenate([self.user_count, np.zeros_like(self.user_count)])

    def note_ends(self, view: View) -> None:
        """Learn from the jobs that ran at the last decision and do no more."""
        running = view.running
        handles = running.handle.tolist()
        known = self._running
        gone = known.keys() - set(handles)
        if gone:
            waiting = set(view.waiting.handle.tolist())
            for handle in sorted(gone):
                user, plan, start = known.pop(handle)
                # A start that failed (on a real system) is no end: the job waits again.
                if handle not in waiting:
                    self._note(user, max(view.now - start, 1) / plan)
        if len(known) < len(handles):
            self._remember(running, running.start)

    def note_starts(self, view: View, decision: Decision) -> None:
        """Remember what starts now: it may have ended when the dispatcher is asked next."""
        if not decision.actions:
            return
        handles = [action.handle for action in decision.actions]
        started = view.waiting.take(np.isin(view.waiting.handle, handles))
        self._remember(started, np.full(len(started), view.now, dtype=np.int64))

    def _remember(self, jobs: JobTable, start: IntArray) -> None:
        columns = (jobs.handle, self.users(jobs), np.maximum(jobs.plan, 1), start)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for handle, user, plan, begin in rows:
            self._running.setdefault(handle, (user, plan, begin))

    def _note(self, user: int, ratio: float) -> None:
        self._ratios[self._num_ratios % _ALL] = ratio
        self._num_ratios += 1
        if user >= 0:
            self.user_ratio[user, self.user_count[user] % _OWN] = ratio
            self.user_count[user] += 1

    def note_arrivals(self, view: View, allocator: Allocator) -> None:
        """Remember waiting jobs submitted since the last that was remembered."""
        if not self._num_arrivals:
            return
        jobs = view.waiting
        new = np.flatnonzero(jobs.submit > self._last)
        if not len(new):
            return
        jobs = jobs.take(new[-self._num_arrivals - 1 :])
        plan, limit = np.maximum(jobs.plan, 1), np.maximum(jobs.requested_time, 1)
        columns = (jobs.submit, plan, limit, self.users(jobs), pooled_demand(view, jobs, allocator))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._arrivals += [(*known, tuple(demand)) for *known, demand in rows]
        self._arrivals.sort()
        del self._arrivals[: -self._num_arrivals - 1]
        self._last = self._arrivals[-1][0]

    @property
    def ratios(self) -> FloatArray:
        """Ratios of runtime to prediction of the jobs that ended last; shape ``(n,)``."""
        return self._ratios[: min(self._num_ratios, _ALL)]

    def _sum_up(self) -> None:
        """Keep what is derived from all ratios, until there are more of them."""
        if self._summed_at != self._num_ratios:
            ratios = self.ratios
            self._median = float(np.median(ratios)) if len(ratios) else 1.0
            enough = self._num_ratios >= _ENOUGH
            spread = np.abs(np.log(ratios)) if enough else np.ones(1)
            self._exact = bool(np.quantile(spread, 0.9) <= np.log(_EXACT))
            self._summed_at = self._num_ratios

    @property
    def is_exact(self) -> bool:
        """Whether predictions have lately been as good as the truth."""
        self._sum_up()
        return self._exact

    def typical(self, user: IntArray, plan: IntArray, limit: IntArray) -> IntArray:
        """Return the median runtime to expect of jobs with these users and predictions."""
        self._sum_up()
        found: IntArray = scenarios.typical_runtime(
            user, plan, self._median, self.user_ratio, self.user_count
        )
        return np.minimum(found, limit)

    def draw(
        self,
        num: int,
        seed: int,
        user: IntArray,
        plan: IntArray,
        elapsed: IntArray,
        expected: IntArray,
        limit: IntArray,
    ) -> IntArray:
        """
        Draw runtimes, see :func:`cpsched.kernels.scenarios.draw_runtimes`.

        None is above ``limit`` but for jobs that have run longer already.
        """
        found: IntArray = scenarios.draw_runtimes(
            num, seed, user, plan, elapsed, expected, self.ratios, self.user_ratio, self.user_count
        )
        return np.minimum(found, np.maximum(limit, elapsed + 1))

    def arrivals(self, now: int, num_kinds: int) -> Arrivals:
        """Return the last arrivals as if they came again, from the second after now on."""
        known = self._arrivals
        if len(known) < 2:
            empty = np.zeros(0, dtype=np.int64)
            return Arrivals(empty, empty, empty, empty, np.zeros((0, num_kinds), dtype=np.int64))
        first = known[0][0]
        submit, plan, limit, user, demand = zip(*known[1:], strict=True)
        return Arrivals(
            np.array(submit, dtype=np.int64) - first + now + 1,
            np.array(plan, dtype=np.int64),
            np.array(limit, dtype=np.int64),
            np.array(user, dtype=np.int64),
            np.array(demand, dtype=np.int64),
        )

    def state(self) -> dict[str, Any]:
        """Return everything seen, as arrays, strings and numbers."""
        running = sorted(self._running.items())
        return {
            "running": np.array([(h, *rest) for h, rest in running], dtype=np.int64).reshape(-1, 4),
            "users": list(self._users),
            "user_ratio": self.user_ratio.copy(),
            "user_count": self.user_count.copy(),
            "ratios": self._ratios.copy(),
            "num_ratios": self._num_ratios,
            "last": self._last,
            "arrivals": np.array(
                [(*known, *demand) for *known, demand in self._arrivals], dtype=np.int64
            ),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        self.forget()
        self._running = {h: (u, p, s) for h, u, p, s in np.asarray(state["running"]).tolist()}
        self._users = {str(user): number for number, user in enumerate(state["users"])}
        self.user_ratio = np.array(state["user_ratio"], dtype=np.float64)
        self.user_count = np.array(state["user_count"], dtype=np.int64)
        self._ratios = np.array(state["ratios"], dtype=np.float64)
        self._num_ratios = int(state["num_ratios"])
        self._last = int(state["last"])
        self._arrivals = [
            (*row[:4], tuple(row[4:])) for row in np.asarray(state["arrivals"]).tolist()
        ]
