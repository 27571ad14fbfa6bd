"""The jobs submitted last, as a guess at those to come: no future is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.dispatch.pooled import pooled_demand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.types import IntArray
    from cpsched.model.view import View


class Arrivals(NamedTuple):
    """
    Jobs as they may arrive: those submitted last, once more from now on; n jobs.

    Attributes
    ----------
    ready, estimate, limit, reserved, user
        When (sorted), for how long as predicted, at most and in reservations, and the number of
        the user, shape ``(n,)``.
    demand
        Shape ``(n, R)``.
    """

    ready: IntArray
    estimate: IntArray
    limit: IntArray
    reserved: IntArray
    user: IntArray
    demand: IntArray


class RecentArrivals:
    """
    Remembers the jobs submitted last.

    Parameters
    ----------
    number
        How many of them.
    reserved, user
        Return how long reservations take jobs to run, and numbers for their users; by default as
        predicted, and nobody's.
    """

    def __init__(
        self,
        number: int,
        reserved: Callable[[JobTable], IntArray] = lambda jobs: jobs.runtime_estimate,
        user: Callable[[JobTable], IntArray] = lambda jobs: np.full(len(jobs), -1),
    ) -> None:
        self._number = number
        self._reserved = reserved
        self._user = user
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._known: list[tuple[Any, ...]] = []
        self._last = -1

    def note(self, view: View, allocator: Allocator) -> None:
        """Remember waiting jobs submitted since the last that was remembered."""
        if not self._number:
            return
        jobs = view.waiting
        new = np.flatnonzero(jobs.submit > self._last)[-self._number - 1 :]
        if not len(new):
            return
        jobs = jobs.take(new)
        columns = (
            jobs.submit,
            np.maximum(jobs.runtime_estimate, 1),
            np.maximum(jobs.requested_time, 1),
            np.maximum(self._reserved(jobs), 1),
            self._user(jobs),
            pooled_demand(view, jobs, allocator),
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._known += [(*known, tuple(demand)) for *known, demand in rows]
        self._known.sort()
        del self._known[: -self._number - 1]
        self._last = self._known[-1][0]

    def again(self, now: int, num_kinds: int) -> Arrivals:
        """Return the last arrivals as if they came again, from the second after now on."""
        known = np.array([row[:5] for row in self._known], dtype=np.int64).reshape(-1, 5)
        demand = np.array([row[5] for row in self._known], dtype=np.int64).reshape(-1, num_kinds)
        # The first only says how long before the second it came.
        submit, estimate, limit, reserved, user = known[1:].T.copy()
        ready = submit - known[:1, 0] + now + 1
        return Arrivals(ready, estimate, limit, reserved, user, demand[1:])

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered, as arrays and numbers."""
        rows = [(*known, *demand) for *known, demand in self._known]
        return {"arrivals": np.array(rows, dtype=np.int64), "last_arrival": self._last}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        rows = np.asarray(state["arrivals"]).tolist()
        self._known = [(*row[:5], tuple(row[5:])) for row in rows]
        self._last = int(state["last_arrival"])
