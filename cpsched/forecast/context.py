"""One decision, seen from one waiting job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.forecast.explanation import OtherJob
from cpsched.forecast.free_capacity import node_list
from cpsched.model import columns as c
from cpsched.model.decision import Start
from cpsched.util.types import NO_TIME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.dispatch.contract import Dispatcher, Reservation
    from cpsched.model.decision import Decision
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


class Holding(NamedTuple):
    """Allocation of a running or starting job until its expected end."""

    end: int
    row: int
    start: int
    node: IntArray
    amount: IntArray


class DecisionContext:
    """
    A view, the decision made on it, and what both mean for one job.

    Where a dispatcher reserves with other runtimes than it plans with, :attr:`view` is the one its
    reservations are made of.

    Parameters
    ----------
    row
        The job's row in the store.
    name
        Turns a row of the store into the log's job id.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        view: View,
        decision: Decision,
        row: int,
        name: Callable[[int], str],
    ) -> None:
        self.dispatcher = dispatcher
        self.shown = view
        self.view = view = dispatcher.reservation_view(view)
        self.decision = decision
        self.row = row
        self._name = name
        store = view.waiting.store
        self.columns = store.columns
        rows = view.waiting.rows
        self.row_of = dict(zip(store.columns[rows, c.HANDLE].tolist(), rows.tolist(), strict=True))
        self.handle = int(store.columns[row, c.HANDLE])
        self.starts = [action for action in decision.actions if isinstance(action, Start)]
        self.own_start = next((start for start in self.starts if start.handle == self.handle), None)
        self.reserved: dict[int, Reservation] = {
            reservation.handle: reservation
            for reservation in dispatcher.reservations(self.shown, decision)
        }
        order = dispatcher.ranking(self.shown)
        self.order: list[int] | None = None if order is None else order.tolist()
        self.rank_of = {row: at for at, row in enumerate(self.order or (), 1)}
        self.free_after: IntArray = np.array(view.free)
        for start in self.starts:
            self.free_after[start.allocation.node] -= start.allocation.amount

    def holdings(self) -> list[Holding]:
        """Return the allocations of running and starting jobs."""
        running, now = self.view.running, self.view.now
        rows = zip(running.rows.tolist(), running.start.tolist(), running.expected_end.tolist(),
                   strict=True)  # fmt: skip
        holdings = []
        for index, (row, start, end) in enumerate(rows):
            node, _, amount = running.allocation(index)
            holdings.append(Holding(end, row, start, node, amount))
        for handle, (node, _, amount) in self.starts:
            row = self.row_of[handle]
            holdings.append(Holding(self.end_of(row, now), row, now, node, amount))
        return holdings

    def end_of(self, row: int, start: int) -> int:
        """Return the expected end of a waiting job if it started now."""
        return start + max(int(self.columns[row, c.RUNTIME_ESTIMATE]), 1)

    def is_open_ended(self, start: int | None) -> bool:
        """Return whether a planned start depends on the end of a job without a known time limit."""
        if start is None:
            return False
        spans = [(holding.start, holding.end) for holding in self.holdings()]
        for handle, reserved in self.reserved.items():
            if handle != self.handle and handle in self.row_of:
                spans.append((reserved.start, self.end_of(self.row_of[handle], reserved.start)))
        return any(end - begin == NO_TIME_LIMIT and end <= start for begin, end in spans)

    def other(
        self,
        row: int,
        start: int | None = None,
        end: int | None = None,
        nodes: IntArray | None = None,
    ) -> OtherJob:
        """Return another job as the explanation shows it."""
        names = self.view.system.node_names
        return OtherJob(
            job_id=self._name(row),
            units=int(self.columns[row, c.UNITS]),
            rank=self.rank_of.get(row),
            start=start,
            end=end,
            nodes=None if nodes is None else node_list(names, np.sort(nodes)),
        )

    def first_ahead(self, *, overtaken: bool = False) -> OtherJob | None:
        """
        Return the first job that stays in the queue and may not be overtaken, if before this one.

        Parameters
        ----------
        overtaken
            Whether it may also be a job that may be overtaken.
        """
        started = {self.row_of[start.handle] for start in self.starts}
        barring = None if overtaken else self.dispatcher.barring(self.shown, self.row)
        for row in self.order or ():
            if row == self.row:
                break
            if row not in started and (barring is None or row in barring):
                reserved = self.reserved.get(int(self.columns[row, c.HANDLE]))
                if reserved is None:
                    return self.other(row)
                return self.other_reserved(row, reserved)
        return None

    def other_reserved(self, row: int, reserved: Reservation) -> OtherJob:
        """Return another job at its reservation."""
        end = self.end_of(row, reserved.start)
        return self.other(row, reserved.start, end, reserved.nodes)
