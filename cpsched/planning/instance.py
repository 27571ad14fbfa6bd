"""One static instance: which jobs, for how long, on what; and what a plan of it is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.allocators import FirstFit
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.pooled import pooled_demand
from cpsched.errors import ConfigError
from cpsched.model import columns as c
from cpsched.model.decision import NOTHING, Decision
from cpsched.model.types import MISSING
from cpsched.simulation.simulator import Simulator
from cpsched.spec import build

if TYPE_CHECKING:
    from cpsched.mapping import Fitted
    from cpsched.model.system import System
    from cpsched.model.types import FloatArray, IntArray
    from cpsched.model.view import View


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """
    The n jobs to be planned, in workload order; none of them is rejected.

    Attributes
    ----------
    fitted
        All jobs on their system, every one submitted at its release.
    together
        The same, every one submitted at second 0 and free of begin times and dependencies.
    row
        Row of the workload of each job, shape ``(n,)``; positions here are handles.
    release, duration
        Seconds before which a job cannot start, and for which it is planned (at least 1).
    demand
        What each job takes of the machine at least, shape ``(n, R)``.
    expected_wait
        Of the job's queue, seconds; -1 where the system names none.
    """

    fitted: Fitted
    together: Fitted
    row: IntArray
    release: IntArray
    duration: IntArray
    demand: IntArray
    expected_wait: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def mean_slowdown(self, start: IntArray) -> float:
        """Return the mean of ``(s - release + d) / d``."""
        values: FloatArray = (start - self.release + self.duration) / self.duration
        return float(values.mean())

    def mean_weighted_wait(self, start: IntArray) -> float | None:
        """Return the mean of ``(E / ewt) (s - release)``, seconds; None without expected waits."""
        if (self.expected_wait < 1).any():
            return None
        known = [queue.expected_wait for queue in self.fitted.system.queues.values()]
        largest = max([wait for wait in known if wait] + [self._default])
        return float((largest / self.expected_wait * (start - self.release)).mean())

    def objective(self, name: str | None, start: IntArray) -> float | None:
        """Return the mean of what is minimised: by default the slowdown."""
        if name == "expected-wait":
            return self.mean_weighted_wait(start)
        return self.mean_slowdown(start)

    @property
    def _default(self) -> int:
        return self.fitted.system.default_expected_wait or int(self.expected_wait.max())

    def makespan(self, start: IntArray) -> int:
        """Return the last planned end less the first release, seconds."""
        return int((start + self.duration).max() - self.release.min())


def instance_of(
    fitted: Fitted, predictor: str, *, keep_submits: bool = False, seed: int = 0
) -> Instance:
    """
    Return the static instance of a workload.

    Parameters
    ----------
    predictor
        Gives the durations; asked about all jobs at once, before any has run.
    keep_submits
        Whether jobs cannot start before they are submitted; otherwise all are there at second 0.

    Raises
    ------
    ConfigError
        If no job can run here.
    """
    rejected = np.zeros(len(fitted.workload), dtype=np.bool_)
    rejected[[row for row, _ in fitted.rejected]] = True
    row = np.flatnonzero(~rejected).astype(np.int64)
    if not len(row):
        raise ConfigError(
            f"none of the {len(fitted.workload):,} jobs can run on this system: there is nothing to"
            " plan"
        )
    workload = fitted.workload
    first = int(workload.submit[row[0]])
    shifted = workload.with_columns(submit=np.maximum(workload.submit - first, 0))
    no_begin = np.full_like(workload.begin, MISSING)
    at_once = workload.with_columns(submit=np.zeros_like(workload.submit), begin=no_begin)
    free = at_once.with_columns(dependency=np.full_like(workload.dependency, -1))
    together = replace(fitted, workload=free)
    idle = _Idle()
    simulator = first_decision(together, idle, predictor, seed)
    columns = simulator.machine.store.columns[: len(row)]
    return Instance(
        fitted=replace(fitted, workload=shifted if keep_submits else at_once),
        together=together,
        row=row,
        release=(shifted if keep_submits else at_once).submit[row],
        duration=np.maximum(columns[:, c.PLAN], 1),
        demand=idle.demand,
        expected_wait=columns[:, c.EXPECTED_WAIT].copy(),
    )


def first_decision(fitted: Fitted, dispatcher: Dispatcher, predictor: str, seed: int) -> Simulator:
    """Simulate the first instant of a workload and return the simulator after it."""
    made: list[Simulator] = []
    simulator = Simulator(
        fitted,
        dispatcher,
        build("predictors", predictor, truth=lambda handle: made[0].arrivals.runtime[handle]),
        seed=seed,
    )
    made.append(simulator)
    simulator.step()
    return simulator


class _Idle(Dispatcher):
    """Starts nothing; notes what the waiting jobs take."""

    name = "idle"
    demand: IntArray

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        self._allocator = FirstFit()
        self._allocator.reset(system)

    def decide(self, view: View) -> Decision:
        # Asked once: nothing starts, so nothing else happens at the first second.
        self.demand = pooled_demand(view, view.waiting, self._allocator)
        return NOTHING
