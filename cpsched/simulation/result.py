"""The result of a simulation as a schedule of its workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import MISSING
from cpsched.model import columns as c
from cpsched.model.schedule import JobOutcome, Schedule

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.mapping import Fitted
    from cpsched.simulation.record import AllocationRecorder
    from cpsched.simulation.simulator import Simulator


def schedule_of(fitted: Fitted, simulator: Simulator, allocations: AllocationRecorder) -> Schedule:
    """Return the result of a simulation, by row of the workload."""
    arrivals, store = simulator.arrivals, simulator.machine.store
    rows = arrivals.workload_row

    def by_row(values: IntArray) -> IntArray:
        full = np.full(len(fitted.workload), MISSING, dtype=np.int64)
        full[rows[: len(values)]] = values
        return full

    outcome = by_row(simulator.outcome)
    outcome[outcome == MISSING] = JobOutcome.REJECTED
    return Schedule(
        workload=fitted.workload,
        system=fitted.system,
        start=by_row(simulator.start_time),
        end=by_row(simulator.end_time),
        outcome=outcome,
        ranking_estimate=by_row(store.columns[: store.size, c.RANKING_ESTIMATE]),
        runtime_estimate=by_row(store.columns[: store.size, c.RUNTIME_ESTIMATE]),
        runtime_bound=by_row(store.columns[: store.size, c.RUNTIME_BOUND]),
        segments=allocations.segments(rows, simulator.end_time, simulator.now),
        rejected=dict(fitted.rejected),
        overrun=str(simulator.overrun),
        outages=simulator.outages,
    )
