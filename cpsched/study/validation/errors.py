"""Recorded starts beside simulated ones: errors of waits, and ranks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.metrics.groups import groups_of, kinds_of
from cpsched.metrics.outcomes import is_attempt
from cpsched.metrics.validation import wait_pairs
from cpsched.metrics.waits import MEANING as WAIT_MEANING
from cpsched.study.record import FEWEST
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.metrics.validation import WaitErrors, WaitPairs
    from cpsched.model.schedule import Schedule
    from cpsched.util.types import IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Validation:
    """
    Recorded beside simulated; n jobs with both starts.

    Attributes
    ----------
    rows
        Of the workload, shape ``(n,)``.
    recorded, simulated
        Waits from submit to first start, seconds, shape ``(n,)``.
    held
        The part of both before each job may start, seconds, shape ``(n,)``.
    overall
        All jobs together.
    groups
        Kind and name of a group, and its jobs: queues, partitions, accounts, users, QOS,
        lengths, sizes, GPUs, recorded reasons.
    left_out
        Jobs that are not compared, by reason.
    lag
        Seconds that were added to every simulated start.
    jobs
        Distinct jobs among them; the others are further attempts of these.
    """

    rows: IntArray
    recorded: IntArray
    simulated: IntArray
    held: IntArray
    overall: WaitErrors
    groups: tuple[tuple[str, str, WaitErrors], ...]
    left_out: dict[str, int]
    lag: int
    jobs: int

    @property
    def error(self) -> IntArray:
        """Simulated minus recorded start, seconds, shape ``(n,)``."""
        return self.simulated - self.recorded

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single jobs as plain JSON types."""
        return {
            "jobs": self.jobs,
            "overall": asdict(self.overall),
            "wait": WAIT_MEANING,
            "groups": [
                {"kind": kind, "group": name, **asdict(errors)}
                for kind, name, errors in self.groups
            ],
            "left_out": self.left_out,
        }


def compare_starts(
    schedule: Schedule,
    *,
    start: int | None = None,
    lag: int | None = 0,
    reasons: Mapping[str, str] | None = None,
) -> Validation:
    """
    Return how closely a schedule reproduces the starts that its log recorded.

    Parameters
    ----------
    start
        Jobs submitted from this second on are compared; None: all.
    lag
        Seconds added to every simulated start, see
        :func:`~cpsched.metrics.validation.wait_pairs`.
    reasons
        Why jobs waited in the record, by id, where that is known.

    Raises
    ------
    ConfigError
        If there is no job to compare.
    """
    workload = schedule.workload
    submit, recorded = workload.submit, workload.recorded_start
    inside = np.full(len(submit), True) if start is None else submit >= start
    if not inside.any():
        raise ConfigError(
            "no job is submitted from this time on. Give an earlier time.", key="--measure-from"
        )
    known, started = recorded != MISSING, schedule.start != MISSING
    waits = wait_pairs(schedule, inside, lag)
    left_out = {
        "without a recorded start": int((inside & ~known).sum()),
        "that can never start in the simulation": waits.missing,
        "that did not start in the simulation": int((inside & known & ~started).sum())
        - waits.missing,
    }
    if not len(waits.rows):
        raise ConfigError(
            "no job has a recorded and a simulated start: validation needs a log that says when"
            " jobs started",
            where=workload.title,
        )
    rows = waits.rows
    return Validation(
        rows=rows,
        recorded=waits.recorded,
        simulated=waits.simulated,
        held=waits.held,
        overall=waits.errors(),
        groups=tuple(_groups(schedule, waits, reasons or {})),
        left_out={reason: number for reason, number in left_out.items() if number},
        lag=waits.lag,
        jobs=len(rows) - int(is_attempt(workload)[rows].sum()),
    )


def _groups(
    schedule: Schedule, waits: WaitPairs, reasons: Mapping[str, str]
) -> list[tuple[str, str, WaitErrors]]:
    rows, workload = waits.rows, schedule.workload
    kinds = kinds_of(schedule, rows, workload.runtime[rows])
    if reasons:
        kinds["reason"] = _recorded_reasons(workload.job_id[rows].tolist(), reasons)
    return [(kind, name, waits.errors(own)) for kind, name, own in groups_of(kinds, FEWEST)]


def _recorded_reasons(
    jobs: list[str], reasons: Mapping[str, str]
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the reasons of jobs as codes, and what they mean."""
    names = [reasons.get(job, "none recorded") for job in jobs]
    values = tuple(dict.fromkeys(names))
    code_of = {reason: code for code, reason in enumerate(values)}
    return np.array([code_of[reason] for reason in names], dtype=np.int64), values
