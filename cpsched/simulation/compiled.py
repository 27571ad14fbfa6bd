"""
The compiled event loop on the objects of a simulation.

If all parts of a simulation are built in and one pass over the queue decides, Python is not needed:
:mod:`cpsched.kernels.event_loop` makes many decisions at once, on the arrays of the same machine.
Between two calls the state is the same as if the simulator had stepped there itself.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.backfilling import Conservative, Easy
from cpsched.dispatch.orders import WithDemand
from cpsched.dispatch.rules import Fifo, Greedy
from cpsched.errors import DispatchError
from cpsched.kernels import event_loop
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable
from cpsched.model.schedule import JobOutcome

if TYPE_CHECKING:
    from cpsched.dispatch.contract import Dispatcher
    from cpsched.engine.cluster import Cluster
    from cpsched.simulation.arrivals import Block, JobStream
    from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
    from cpsched.util.types import FloatArray, IntArray

#: Seconds at which the dispatcher is to be asked; with more of them the loop is not for it.
MOST_WAKES = 1024
#: Events to come at once, for each job: its end, its cancellation, and that it is looked at again.
_EVENTS = 6
#: A call of the loop takes about this many seconds, so that its overhead is negligible.
_SECONDS = 0.1
_FIRST_DECISIONS = 1024
_BUILT_IN = (Fifo, Greedy, Easy, Conservative)
_ENDS = int(JobOutcome.COMPLETED), int(JobOutcome.TIMEOUT)
_OUTCOMES = (
    *(int(JobOutcome.NOT_ENDED), int(JobOutcome.COMPLETED), int(JobOutcome.CANCELLED)),
    *(int(JobOutcome.KILLED), int(JobOutcome.NEVER_STARTED)),
)


def rule_of(dispatcher: Dispatcher) -> np.int64 | np.int32 | np.int8 | None:
    """Return the rule by which the compiled loop does what a dispatcher does, None for none."""
    # What derives from a built-in dispatcher may decide differently.
    if isinstance(dispatcher, _BUILT_IN) and type(dispatcher) in _BUILT_IN:
        ranks = isinstance(dispatcher, Greedy) or dispatcher.in_queue_order
        goes_on = ranks and not dispatcher.allocator.looks_at_jobs
        return dispatcher.rule if goes_on else None
    return None


class CompiledLoop:
    """
    The compiled loop of one simulation.

    Parameters
    ----------
    arrivals
        The jobs.
    cluster
        Its dispatcher has a rule, see :func:`rule_of`, or a loop of its own; runtime estimates are
        requested times.
    start_time, end_time, outcome
        By handle; written to.
    allocations, decisions
        Recorders of starts and decisions.

    Attributes
    ----------
    counters
        Progress of the simulation, one record of :data:`cpsched.kernels.event_loop.COUNTERS`.
    """

    def __init__(
        self,
        arrivals: JobStream,
        cluster: Cluster,
        start_time: IntArray,
        end_time: IntArray,
        outcome: IntArray,
        allocations: AllocationRecorder,
        decisions: DecisionRecorder,
    ) -> None:
        self._rule = rule_of(cluster.dispatcher)
        #: The loop of the dispatcher's own, or None.
        self.own = cluster.dispatcher.event_loop()
        self._arrivals = arrivals
        self._cluster = cluster
        self._written = (start_time, end_time, outcome)
        self._allocations = allocations
        self._decisions = decisions
        self._columns: tuple[IntArray, IntArray, IntArray] = (
            np.asarray(arrivals.submit),
            np.ascontiguousarray(arrivals.runtime),
            np.ascontiguousarray(arrivals.requested_time),
        )
        many = len(arrivals) if self.own is None else _EVENTS * len(arrivals)
        self._events = np.zeros((many, 3), dtype=np.int64)
        self._wakes = np.zeros(MOST_WAKES, dtype=np.int64)
        self._holds = None if self.own is None else self._holds_of(arrivals)
        priority = cluster.dispatcher.priority if isinstance(cluster.dispatcher, Greedy) else None
        self._ranks = priority if isinstance(priority, WithDemand) else None
        self._demand = np.zeros(0 if self._ranks is None else len(arrivals))
        self._known = 0
        self._limit = _FIRST_DECISIONS
        self._counters = np.zeros(1, dtype=event_loop.COUNTERS)
        self.counters = self._counters[0]

    def advance(self, events: IntArray, until: int) -> IntArray:
        """
        Go on for about a tenth of a second, to the last instant before ``until``, or for a block.

        The counters ``now``, ``next_submit`` and ``counter`` say where from.

        Parameters
        ----------
        events
            Ends to come: rows of (second, counter, row), a heap.

        Returns
        -------
        ndarray
            The same when it stops.
        """
        counters, machine = self.counters, self._cluster.machine
        block = self._arrivals.block(min(int(counters["next_submit"]), len(self._arrivals) - 1))
        if block.end < len(self._arrivals):
            until = min(until, self._arrivals.submit[block.end])
        counters["rows_first"] = block.first
        log = event_loop.Log(*self._columns, block.rows, self._demand)
        self._events[: len(events)] = events
        wakes = self._cluster.wakes
        self._wakes[: len(wakes)], counters["num_wakes"] = wakes, len(wakes)
        counters["num_events"] = len(events)
        counters["decisions"] = counters["starts"] = 0
        if self._arrivals.bring(machine.store, len(self._arrivals)):
            machine.set_classes(self._arrivals.eligible(machine.store))
        self._note_demand(machine.store, block)
        seconds = np.empty(self._limit)
        packed = np.empty(0, dtype=np.int64)
        began = monotonic()
        why = event_loop.CLASSES_FULL
        while why in (event_loop.CLASSES_FULL, event_loop.NO_ROOM):
            if why == event_loop.NO_ROOM:
                self._make_room(packed.item(1))
            why, packed, seconds = self._go_on(log, until, packed, seconds)
        spent = monotonic() - began
        if why == event_loop.REFUSED:
            job = machine.name(int(counters["refused"]))
            raise DispatchError(
                f"{self._cluster.dispatcher.name}: job {job} is given resources that it did not"
                " request or that are not free"
            )
        self._decisions.add(seconds[: counters["decisions"]], int(counters["starts"]))
        self._limit = int(min(max(self._limit * _SECONDS / max(spent, 1e-3), 1), 2**20))
        self._cluster.skip_to(int(counters["now"]), self._wakes[: counters["num_wakes"]].tolist())
        return self._events[: counters["num_events"]]

    def _note_demand(self, store: JobStore, block: Block) -> None:
        """Work out the demand of jobs that wait, and of those that arrive next."""
        if self._ranks is None or block.end <= self._known:
            return
        fresh = JobStore(store.resources, len(block.rows))
        fresh.add_shapes(store.shapes)
        fresh.append(block.rows)
        if self._known < block.first:
            before = JobTable(store, np.arange(self._known, block.first))
            self._demand[self._known : block.first] = self._ranks.demand(before)
        arriving = JobTable(fresh, np.arange(len(block.rows)))
        self._demand[block.first : block.end] = self._ranks.demand(arriving)
        self._known = block.end

    def _go_on(
        self, log: event_loop.Log, until: int, packed: IntArray, seconds: FloatArray
    ) -> tuple[int, IntArray, FloatArray]:
        machine, counters = self._cluster.machine, self.counters
        tables, lists = machine.lend(counters, len(self._arrivals))
        view = machine.view(int(counters["now"]))
        record = event_loop.Record(
            self._events, *self._written, _ENDS, self._allocations.lend(counters), seconds
        )
        given = self._counters, self._limit, until, log, tables, lists
        found: tuple[int, IntArray, FloatArray]
        if self.own is None:
            allocator = self._cluster.dispatcher.allocator
            assert allocator is not None
            memory = allocator.memory
            memory.prepare(view)
            remembered = event_loop.Memory(
                memory.class_of, memory.next_of, memory.main, memory.job_classes
            )
            found = event_loop.event_loop(
                allocator.order_for(view), self._rule, *given, remembered, record, packed
            )
        else:
            found = self.own.go_on(view, *given, self._holds, record, packed)
        machine.store.size = int(counters["next_submit"])
        machine.take_back(counters)
        self._allocations.take_back(counters)
        return found

    def _holds_of(self, arrivals: JobStream) -> event_loop.Holds:
        """Return why jobs may not start yet, and when they are cancelled."""
        return event_loop.Holds(
            *(np.ascontiguousarray(arrivals.begin), np.ascontiguousarray(arrivals.cancel)),
            np.ascontiguousarray(arrivals.dependency),
            np.ascontiguousarray(arrivals.dependency_type, dtype=np.int64),
            arrivals.failed,
            *arrivals.dependents,
            _OUTCOMES,
            self._wakes,
        )

    def _make_room(self, num_nodes: int) -> None:
        """Make room for starts on a number of nodes."""
        self._cluster.machine.make_room(num_nodes)
        self._allocations.make_room(num_nodes)
