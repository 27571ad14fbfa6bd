"""What is checked: a schedule, what follows from it, and the violations found so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.window import horizon
from cpsched.util.words import brief
from cpsched.verification.findings import Rule, Violation
from cpsched.verification.phases import Phases
from cpsched.verification.restarts import Restarts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpsched.model.schedule import Schedule
    from cpsched.util.types import AnyArray, IntArray


class Checked:
    """
    A schedule whose rules are checked; of each rule the first violations are kept, all counted.

    Parameters
    ----------
    recorded, complete, predictor, limit
        See :func:`~cpsched.verification.verifier.verify`.
    """

    def __init__(
        self,
        schedule: Schedule,
        *,
        recorded: bool,
        complete: bool,
        predictor: str | None,
        limit: int,
    ) -> None:
        self._limit = limit
        self._count: Counter[Rule] = Counter()
        self._violations: defaultdict[Rule, list[Violation]] = defaultdict(list)
        self.schedule, self.workload = schedule, schedule.workload
        self.segments, self.system = schedule.segments, schedule.system
        self.recorded, self.complete, self.predictor = recorded, complete, predictor

    def parts(self) -> Iterator[Checked]:
        """Yield some jobs at a time, whose violations are added here; asked for once."""
        horizon, met = self.horizon, self.dependency_met
        for first, part in self.schedule.parts():
            subset = copy(self)
            subset.schedule, subset.workload, subset.segments = part, part.workload, part.segments
            subset.horizon, subset.dependency_met = horizon, met[first : first + len(part.workload)]
            yield subset

    @cached_property
    def horizon(self) -> int:
        """The last second of which the whole schedule says anything."""
        return horizon(self.schedule)

    @cached_property
    def dependency_met(self) -> IntArray:
        """When what each job waits for had come about, as of the schedule."""
        return self.schedule.dependency_met()

    @cached_property
    def phases(self) -> Phases:
        """What each job holds without a change."""
        return Phases.of(self.schedule)

    @cached_property
    def restarts(self) -> Restarts:
        """Which phases were cut short, and what their jobs had still to do."""
        return Restarts.of(self.schedule, self.phases)

    def add(
        self, rule: Rule, broken: AnyArray, say: Callable[[int], str], rows: IntArray | None = None
    ) -> None:
        """
        Add a violation for each True of a mask.

        Parameters
        ----------
        broken
            Boolean, one entry a job, or whatever ``rows`` has an entry for.
        say
            From a position in ``broken`` to what is wrong, without the job; called for what is
            kept only.
        rows
            Row of the workload of each position; the positions themselves where None.
        """
        positions = np.flatnonzero(broken)
        self._count[rule] += len(positions)
        violations = self._violations[rule]
        for position in positions[: self._limit - len(violations)].tolist():
            row = position if rows is None else int(rows[position])
            job_id = str(self.workload.job_id[row])
            violations.append(Violation(rule, job_id, f"job {brief(job_id)} {say(position)}", 0))

    def add_once(self, rule: Rule, message: str) -> None:
        """Add a violation that is about no single job."""
        self._count[rule] += 1
        if len(self._violations[rule]) < self._limit:
            self._violations[rule].append(Violation(rule, None, message, 0))

    def __bool__(self) -> bool:
        return self._count.total() > 0

    def violations(self) -> list[Violation]:
        """Return what was kept, in the order of the rules, with the totals."""
        return [
            replace(violation, total=self._count[rule])
            for rule in Rule
            for violation in self._violations[rule]
        ]
