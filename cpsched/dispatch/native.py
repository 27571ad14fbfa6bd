"""Native dispatchers: what the event loop asks instead of a dispatcher's ``decide``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched import _core
from cpsched.model.jobtable import JobTable

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.orders import WithDemand
    from cpsched.model.jobstore import JobStore
    from cpsched.util.types import IntArray


class NativeRule:
    """
    A native dispatcher that decides as one of Python's does.

    Parameters
    ----------
    dispatcher
        The native one.
    """

    def __init__(self, dispatcher: _core.NativeDispatcher) -> None:
        self.dispatcher = dispatcher

    def note(self, store: JobStore, first: int, coming: JobStore) -> None:
        """
        Prepare for jobs that are about to be submitted.

        Parameters
        ----------
        store
            The jobs that have been submitted.
        first, coming
            The handle of the first of the others, and these jobs; their request classes and strings
            are numbered as those of ``store`` will be.
        """


class GreedyRule(NativeRule):
    """
    The rule of ``greedy``, which breaks ties by the demand of jobs.

    Parameters
    ----------
    allocator
        Places its jobs.
    priority
        Its order.
    largest_wait
        The system's largest expected wait for the order by expected waits, 0 for that by slowdown.
    num_jobs
        All jobs of the simulation.
    """

    def __init__(
        self, allocator: Allocator, priority: WithDemand, largest_wait: int, num_jobs: int
    ) -> None:
        self._priority = priority
        self._demand = np.zeros(num_jobs)
        #: The demand of so many jobs is known.
        self._known = 0
        native = _core.GreedyDispatcher(*places_of(allocator), largest_wait, self._demand)
        super().__init__(native)

    def note(self, store: JobStore, first: int, coming: JobStore) -> None:
        """Compute the demand of the jobs, and of those before them that it is not known of."""
        end = first + coming.size
        if end <= self._known:
            return
        if self._known < first:
            before = JobTable(store, np.arange(self._known, first))
            self._demand[self._known : first] = self._priority.demand(before)
        self._demand[first:end] = self._priority.demand(JobTable(coming, np.arange(coming.size)))
        self._known = end


def places_of(allocator: Allocator) -> tuple[int, IntArray, IntArray]:
    """Return what a native dispatcher places jobs by: the order, the capacity and the topology."""
    return int(allocator.policy), allocator.capacity, allocator.levels
