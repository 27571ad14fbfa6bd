"""The jobs submitted last, as a guess at those to come: no future is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.dispatch.pooled import pooled_demand
from cpsched.kernels.likely import NUM_FACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cpsched.base.types import FloatArray, IntArray
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View


class Arrivals(NamedTuple):
    """
    Jobs as they may arrive: those submitted last, once more from now on; n jobs.

    Attributes
    ----------
    ready, estimate, limit, reserved
        When (sorted), and for how long as predicted, at most and in reservations, shape ``(n,)``.
    demand
        Shape ``(n, R)``.
    facts
        What their runtimes are judged by, see :func:`cpsched.dispatch.likely.facts_of`; zeros if
        not asked
        for.
    """

    ready: IntArray
    estimate: IntArray
    limit: IntArray
    reserved: IntArray
    demand: IntArray
    facts: FloatArray


class RecentArrivals:
    """
    Remembers the jobs submitted last.

    Parameters
    ----------
    number
        How many of them.
    reserved, facts
        Return how long reservations take jobs to run, and their facts; by default as predicted,
        and none.
    """

    def __init__(
        self,
        number: int,
        reserved: Callable[[JobTable], IntArray] = lambda jobs: jobs.runtime_estimate,
        facts: Callable[[JobTable], FloatArray] = lambda jobs: np.zeros((len(jobs), NUM_FACTS)),
    ) -> None:
        self._number = number
        self._reserved = reserved
        self._facts = facts
        self.forget()

    def forget(self) -> None:
        """Reset."""
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
        times = np.column_stack(
            [
                jobs.submit,
                np.maximum(jobs.runtime_estimate, 1),
                np.maximum(jobs.requested_time, 1),
                np.maximum(self._reserved(jobs), 1),
            ]
        )
        rows = zip(times, pooled_demand(view, jobs, allocator), self._facts(jobs), strict=True)
        self._known = [*self._known, *rows][-self._number - 1 :]
        self._last = int(times[-1, 0])

    def again(self, now: int, num_kinds: int) -> Arrivals:
        """Return the last arrivals as if they came again, from the second after now on."""
        times, demand, facts = self._columns(num_kinds)
        # The first only says how long before the second it came.
        submit, estimate, limit, reserved = times[1:].T.copy()
        ready = submit - times[:1, 0] + now + 1
        return Arrivals(ready, estimate, limit, reserved, demand[1:], facts[1:])

    def _columns(self, num_kinds: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return what is known of all, oldest first."""
        times, demand, facts = zip(*self._known, strict=True) if self._known else ((), (), ())
        return (
            np.array(times, dtype=np.int64).reshape(-1, 4),
            np.array(demand, dtype=np.int64).reshape(-1, num_kinds),
            np.array(facts, dtype=np.float64).reshape(-1, NUM_FACTS),
        )

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered, as arrays and numbers."""
        kinds = len(self._known[0][1]) if self._known else 1
        times, demand, facts = self._columns(kinds)
        return {"times": times, "demand": demand, "facts": facts, "last_arrival": self._last}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        columns = (np.asarray(state[name]) for name in ("times", "demand", "facts"))
        self._known = list(zip(*columns, strict=True))
        self._last = int(state["last_arrival"])
