"""The jobs submitted last, as a guess at those to come: no future is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.dispatch.pooled import pooled_demand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


class RepeatedArrivals(NamedTuple):
    """
    Jobs as they may arrive: those submitted last, once more from now on; n jobs.

    Attributes
    ----------
    ready, estimate
        When (sorted), and for how long as predicted, shape ``(n,)``.
    demand
        Shape ``(n, R)``.
    """

    ready: IntArray
    estimate: IntArray
    demand: IntArray


class RecentArrivals:
    """
    Remembers the jobs submitted last.

    Parameters
    ----------
    number
        How many of them.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self.forget()

    def forget(self) -> None:
        """Reset."""
        #: Submit and estimate of each, and what it takes.
        self._known: list[tuple[IntArray, IntArray]] = []
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
        times = np.column_stack([jobs.submit, np.maximum(jobs.runtime_estimate, 1)])
        rows = zip(times, pooled_demand(view, jobs, allocator), strict=True)
        self._known = [*self._known, *rows][-self._number - 1 :]
        self._last = int(times[-1, 0])

    def again(self, now: int, num_kinds: int) -> RepeatedArrivals:
        """Return the last arrivals as if they came again, from the second after now on."""
        times, demand = self._columns(num_kinds)
        # The first only says how long before the second it came.
        submit, estimate = times[1:].T.copy()
        return RepeatedArrivals(submit - times[:1, 0] + now + 1, estimate, demand[1:])

    def _columns(self, num_kinds: int) -> tuple[IntArray, IntArray]:
        """Return what is known of all, oldest first."""
        times, demand = zip(*self._known, strict=True) if self._known else ((), ())
        return (
            np.array(times, dtype=np.int64).reshape(-1, 2),
            np.array(demand, dtype=np.int64).reshape(-1, num_kinds),
        )

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered, as arrays and numbers."""
        kinds = len(self._known[0][1]) if self._known else 1
        times, demand = self._columns(kinds)
        return {"times": times, "demand": demand, "last_arrival": self._last}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        columns = (np.asarray(state[name]) for name in ("times", "demand"))
        self._known = list(zip(*columns, strict=True))
        self._last = int(state["last_arrival"])
