"""Observers that write down what happens: allocations, and what decisions cost."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import _core
from cpsched.cp import cpsat
from cpsched.model.arrays import constant, copied, let_go, move, shared
from cpsched.model.decision import Start
from cpsched.model.schedule import Leaving, Segments
from cpsched.simulation.observers import Observer
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Decision
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: Columns of a recorded run of nodes before its R amounts.
_JOB, _START, _NODE, _COUNT, _UNITS, _AMOUNT = range(6)
_RECORDED = {"job": _JOB, "start": _START, "node": _NODE, "count": _COUNT, "units": _UNITS}
#: Recorded runs that are put into order at once.
_PIECE = 1 << 18


class _Rows:
    """Rows that grow, out of memory where they are many and written."""

    def __init__(self, width: int) -> None:
        self.rows: IntArray = shared(1024, width)[0]

    def grow(self, needed: int) -> IntArray:
        """Return room for so many rows, which begins with those so far."""
        if needed > len(self.rows):
            grown = shared(max(2 * len(self.rows), needed), self.rows.shape[1])[0]
            move(self.rows, grown)
            self.rows = grown
        return self.rows


class AllocationRecorder(Observer):
    """
    Writes down every allocation as runs of neighbouring nodes.

    Parameters
    ----------
    num_resources
        R.
    """

    def __init__(self, num_resources: int) -> None:
        self._memory = _Rows(_AMOUNT + num_resources)
        self.native = self._recorder = _core.AllocationRecorder(num_resources, self._memory.grow)
        #: Job, since when, until when and why, of what was left before the job's end.
        self._left: list[tuple[int, int, int, int]] = []

    def on_resize(self, job: int, allocation: Allocation, now: int) -> None:
        """Append the nodes on which a job continues."""
        self._recorder.add(job, now, *allocation)

    @property
    def _used(self) -> int:
        return self._recorder.used

    @property
    def _rows(self) -> IntArray:
        return self._memory.rows

    def on_leave(self, job: int, since: int, now: int, why: int) -> None:
        """Remember until when a job held what it got at a second."""
        self._left.append((job, since, now, why))

    def state(self) -> dict[str, Any]:
        """Return what was recorded so far."""
        left = np.array(self._left, dtype=np.int64).reshape(-1, 4)
        return {"rows": copied(self._rows[: self._used]), "left": left}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        rows = state["rows"]
        move(rows, self._memory.grow(len(rows)))
        self._recorder.used = len(rows)
        self._left = [(a, b, k, d) for a, b, k, d in state["left"].tolist()]

    def segments(self, workload_row: IntArray, end_time: IntArray, horizon: int) -> Segments:
        """
        Return what was recorded.

        Parameters
        ----------
        workload_row, end_time
            Row of the workload and end by handle.
        horizon
            Where the segments of jobs that still run are cut.
        """
        num, kinds = self._used, self._rows.shape[1] - _AMOUNT
        columns = {name: shared(num)[0] for name in (*_RECORDED, "end")}
        columns["leaving"] = shared(num)[0] if self._left else constant(Leaving.END, (num,))
        job, start, end = (columns[name] for name in ("job", "start", "end"))
        amount = shared(num, kinds)[0]
        first = 0
        while first < num:
            stop = self._after(first)
            rows, here = self._rows[first:stop], slice(first, stop)
            # Starts of one second are recorded in the dispatcher's order.
            rows = rows[np.lexsort((rows[:, _NODE], rows[:, _JOB], rows[:, _START]))]
            for name, position in _RECORDED.items():
                columns[name][here] = rows[:, position]
            end[here] = end_time[rows[:, _JOB]]
            amount[here] = rows[:, _AMOUNT:]
            for values in (self._rows, amount, *columns.values()):
                let_go(values, 0, stop)
            first = stop
        # Zeros are Leaving.END.
        begins = np.searchsorted(start, [since for _, since, _, _ in self._left])
        for (row, since, until, reason), at in zip(self._left, begins.tolist(), strict=True):
            then = slice(at, at + int(np.searchsorted(start[at:], since, side="right")))
            own = job[then] == row
            end[then][own] = until
            columns["leaving"][then][own] = reason
        end[end == MISSING] = horizon
        job[:] = workload_row[job]
        return Segments(**columns, amount=amount)

    def _after(self, first: int) -> int:
        """Return where the recorded runs of a second end, some way behind one."""
        stop, num, start = first + _PIECE, self._used, self._rows[:, _START]
        while stop < num and start.item(stop) == start.item(stop - 1):
            stop += 1
        return min(stop, num)


class DecisionRecorder(Observer):
    """Counts decisions, sums their statistics, and keeps how long each took."""

    def __init__(self) -> None:
        self._seconds = array("d")
        self._starts = 0
        self._stats: Counter[str] = Counter()
        self.native = self._recorder = _core.DecisionRecorder()
        # Of decisions that called the solver: in it, and around it (building models, above all).
        self._solver = array("d")
        self._around = array("d")
        self._solver_before = cpsat.seconds_spent()

    def on_decision(self, view: View, decision: Decision, seconds: float) -> None:  # noqa: ARG002
        """Count one."""
        self._seconds.append(seconds)
        self._starts += sum(type(action) is Start for action in decision.actions)
        solver = cpsat.seconds_spent()
        if solver > self._solver_before:
            self._solver.append(solver - self._solver_before)
            self._around.append(seconds - self._solver[-1])
            self._solver_before = solver
        if decision.stats:
            self._stats.update(decision.stats)

    def _take(self) -> None:
        """Count what native dispatchers have decided, too."""
        seconds, starts = self._recorder.take()
        self._seconds.frombytes(seconds.tobytes())
        self._starts += starts

    def state(self) -> dict[str, Any]:
        """Return what was counted so far."""
        self._take()
        return {
            "seconds": np.array(self._seconds),
            "solver": np.array(self._solver),
            "around": np.array(self._around),
            "starts": self._starts,
            "stats": json.dumps(self._sums()),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._seconds, self._solver, self._around = (
            array("d", state[name].tobytes()) for name in ("seconds", "solver", "around")
        )
        self._starts = int(state["starts"])
        self._stats = Counter(json.loads(state["stats"]))

    def counts(self) -> dict[str, Any]:
        """Return what is the same in every equal run."""
        self._take()
        return {
            "decisions": len(self._seconds),
            "starts": self._starts,
            **self._sums(),
        }

    def _sums(self) -> dict[str, float]:
        """Return the sums as numbers of Python, whatever a dispatcher gave."""
        sums: list[tuple[str, Any]] = sorted(self._stats.items())
        return {
            name: int(value) if isinstance(value, Integral) else float(value)
            for name, value in sums
        }

    def timing(self) -> dict[str, float]:
        """
        Return what differs from run to run: seconds per decision.

        Where a solver was called, also those in the solver (``solve_``) and those around it
        (``build_``: models, above all) of the decisions that called it.
        """
        self._take()
        timings = _spread_of("decision", self._seconds)
        if self._solver:
            timings |= _spread_of("solve", self._solver) | _spread_of("build", self._around)
        return timings


def _spread_of(name: str, values: array[float]) -> dict[str, float]:
    seconds = np.frombuffer(values) if values else np.zeros(1)
    return {
        f"{name}_total_s": float(seconds.sum()),
        f"{name}_median_s": float(np.median(seconds)),
        f"{name}_p99_s": float(np.quantile(seconds, 0.99)),
        f"{name}_max_s": float(seconds.max()),
    }
