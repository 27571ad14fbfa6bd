"""What both sides have agreed on, put on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.model import columns as c
from cpsched.papers.dn_dbes.messages import STARTED
from cpsched.papers.malleable.resizing import Changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.view import View
    from cpsched.papers.dn_dbes.messages import JobStatus
    from cpsched.util.types import IntArray


class Agreed(Changes):
    """
    The actions of one decision: first what gives nodes back, then starts, then what grows.

    Parameters
    ----------
    rows
        The waiting jobs' rows of the store, in order of priority.
    jobs
        What was agreed on; all of it is done that finds nodes.

    Attributes
    ----------
    started
        Numbers of the jobs.
    """

    def __init__(
        self, view: View, rows: IntArray, allocator: Allocator, jobs: Sequence[JobStatus]
    ) -> None:
        super().__init__(view, allocator, ())
        self.started: set[int] = set()
        at = {job: index for index, job in enumerate(view.running.handle.tolist())}
        running = [(at[status.job], status) for status in jobs if status.state != STARTED]
        for index, status in running:
            if status.units < self.units[index]:
                self.shrink(index, status.units)
        self._start_in_turn(rows, [status for status in jobs if status.state == STARTED])
        for index, status in running:
            if status.units > self.units[index]:
                self.grow(index, status.units)
        if not self.actions and not at:
            self._start_anything(rows)

    def _start_in_turn(self, rows: IntArray, jobs: Sequence[JobStatus]) -> None:
        """Start jobs, with the units they prefer where those agreed on find no nodes."""
        columns = self.view.waiting.store.columns
        row_of = dict(zip(columns[rows, c.HANDLE].tolist(), rows.tolist(), strict=True))
        for status in jobs:
            row = row_of[status.job]
            preferred = columns.item(row, c.UNITS)
            if not any(self.start(row, units) for units in (status.units, preferred)):
                # Nobody overtakes a job whose turn it is.
                break
            self.started.add(status.job)

    def _start_anything(self, rows: IntArray) -> None:
        """
        Start the first job that fits the empty machine.

        Where units differ, a count of them may say that none does.
        """
        columns = self.view.waiting.store.columns
        for row in rows.tolist():
            if self.start(row, columns.item(row, c.UNITS)):
                self.started.add(columns.item(row, c.HANDLE))
                break
