"""What is checked: a schedule, what follows from it, and the violations found so far."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from cpsched.verification.findings import Findings
from cpsched.verification.phases import Phases
from cpsched.verification.restarts import Restarts

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule


class Checked(Findings):
    """
    A schedule whose rules are checked.

    Parameters
    ----------
    recorded, complete, limit
        See :func:`~cpsched.verification.verifier.verify`.
    """

    def __init__(self, schedule: Schedule, *, recorded: bool, complete: bool, limit: int) -> None:
        super().__init__(schedule.workload.job_id, limit)
        self.schedule, self.workload = schedule, schedule.workload
        self.segments, self.system = schedule.segments, schedule.system
        self.recorded, self.complete = recorded, complete

    @cached_property
    def phases(self) -> Phases:
        """What each job holds without a change."""
        return Phases.of(self.schedule)

    @cached_property
    def restarts(self) -> Restarts:
        """Which phases were cut short, and what their jobs had still to do."""
        return Restarts.of(self.schedule, self.phases)
