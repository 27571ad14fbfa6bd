"""Recorded starts beside simulated ones: errors of waits, and ranks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.model import MISSING
from cpsched.api.simulation import SIZES, JobClass, job_class, job_size, labels
from cpsched.api.studies import asks_for_gpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.logs import Workload
    from cpsched.api.model import BoolArray, IntArray
    from cpsched.api.simulation import Schedule

#: Errors up to these many seconds are counted: a minute, ten minutes, an hour.
WITHIN = (60, 600, 3600)
#: Groups of a kind with fewer jobs say nothing.
FEWEST = 10
#: Longest recorded wait of an immediate start, seconds: such waits are the controller's lag.
AT_ONCE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """
    How closely the waits of some jobs are reproduced; seconds.

    Attributes
    ----------
    recorded, simulated
        Mean waits.
    bias
        Mean of simulated minus recorded.
    median_error, mean_error, p90_error
        Of its absolute values.
    within
        Shares of jobs whose start is off by at most :data:`WITHIN`.
    rank
        Spearman's rank correlation of recorded and simulated waits; None where one is constant.
    """

    jobs: int
    recorded: float
    simulated: float
    bias: float
    median_error: float
    mean_error: float
    p90_error: float
    within: tuple[float, ...]
    rank: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fidelity:
    """
    Recorded beside simulated; n jobs with both starts.

    Attributes
    ----------
    rows
        Of the workload, shape ``(n,)``.
    recorded, simulated
        Waits in seconds, shape ``(n,)``.
    overall
        All jobs together.
    from_submit
        The recorded and the simulated mean wait from the submit on, seconds; all others count from
        when a job could start, where that is later.
    groups
        Kind and name of a group, and its jobs: queues, partitions, accounts, users, QOS,
        lengths, sizes, GPUs, recorded reasons.
    left_out
        Jobs that are not compared, by reason.
    """

    rows: IntArray
    recorded: IntArray
    simulated: IntArray
    overall: Measured
    from_submit: tuple[float, float]
    groups: tuple[tuple[str, str, Measured], ...]
    left_out: dict[str, int]

    @property
    def error(self) -> IntArray:
        """Simulated minus recorded start, seconds, shape ``(n,)``."""
        return self.simulated - self.recorded

    @property
    def lag(self) -> int:
        """
        Seconds that a controller needs from its decision to the start.

        The median recorded wait of jobs that start as they are submitted in the simulation, and
        within :data:`AT_ONCE` of it in the record; 0 where there are none.
        """
        waits = self.recorded[(self.simulated == 0) & (self.recorded <= AT_ONCE)]
        return int(np.median(waits)) if len(waits) else 0

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single jobs as plain JSON types."""
        return {
            "overall": asdict(self.overall),
            "mean_waits_from_submit": list(self.from_submit),
            "groups": [
                {"kind": kind, "group": name, **asdict(one)} for kind, name, one in self.groups
            ],
            "left_out": self.left_out,
        }


def measure(
    schedule: Schedule,
    *,
    start: int | None = None,
    lag: int = 0,
    reasons: Mapping[str, str] | None = None,
) -> Fidelity:
    """
    Return how closely a schedule reproduces the starts that its log recorded.

    Parameters
    ----------
    start
        Jobs submitted from this second on are compared; None: all.
    lag
        Seconds added to every simulated start.
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
        raise ConfigError("no job is submitted after that", key="--measure-from")
    known, started = recorded != MISSING, schedule.start != MISSING
    left_out = {
        "without a recorded start": int((inside & ~known).sum()),
        "that did not start in the simulation": int((inside & known & ~started).sum()),
    }
    rows = np.flatnonzero(inside & known & started)
    if not len(rows):
        raise ConfigError(
            "no job has a recorded and a simulated start: fidelity needs a log that says when jobs"
            " started",
            where=workload.title,
        )
    # For a held job, both waits count from when it could start.
    since = np.maximum(submit, workload.begin)[rows]
    real = recorded[rows] - since
    ours = schedule.start[rows] + lag - since
    return Fidelity(
        rows=rows,
        recorded=real,
        simulated=ours,
        overall=_measured(real, ours),
        from_submit=(
            float((recorded - submit)[rows].mean()),
            float((schedule.start - submit)[rows].mean() + lag),
        ),
        groups=tuple(_groups(schedule, rows, (real, ours), reasons or {})),
        left_out={reason: number for reason, number in left_out.items() if number},
    )


def _measured(recorded: IntArray, simulated: IntArray) -> Measured:
    error = simulated - recorded
    off = np.abs(error)
    return Measured(
        jobs=len(off),
        recorded=float(recorded.mean()),
        simulated=float(simulated.mean()),
        bias=float(error.mean()),
        median_error=float(np.median(off)),
        mean_error=float(off.mean()),
        p90_error=float(np.quantile(off, 0.9)),
        within=tuple(float((off <= limit).mean()) for limit in WITHIN),
        rank=_rank_correlation(recorded, simulated),
    )


def _rank_correlation(one: IntArray, other: IntArray) -> float | None:
    if not (np.ptp(one) and np.ptp(other)):
        return None
    from scipy.stats import rankdata  # type: ignore[import-untyped]

    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def _groups(
    schedule: Schedule,
    rows: IntArray,
    waits: tuple[IntArray, IntArray],
    reasons: Mapping[str, str],
) -> list[tuple[str, str, Measured]]:
    found = []
    recorded, simulated = waits
    kinds = _kinds(schedule, rows)
    if reasons:
        kinds["reason"] = _recorded_reasons(schedule.workload.job_id[rows].tolist(), reasons)
    for kind, (codes, values) in kinds.items():
        number = np.bincount(codes + 1, minlength=len(values) + 1)[1:]
        if (number > 0).sum() < 2:
            continue
        order = np.argsort(-number, kind="stable").tolist()
        for code in order:
            if number[code] >= FEWEST:
                own = codes == code
                found.append((kind, values[code], _measured(recorded[own], simulated[own])))
    return found


def _recorded_reasons(
    jobs: list[str], reasons: Mapping[str, str]
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the reasons of jobs as codes, and what they mean."""
    found = [reasons.get(job, "none recorded") for job in jobs]
    values = tuple(dict.fromkeys(found))
    code_of = {reason: code for code, reason in enumerate(values)}
    return np.array([code_of[reason] for reason in found], dtype=np.int64), values


def _kinds(schedule: Schedule, rows: IntArray) -> dict[str, tuple[IntArray, tuple[str, ...]]]:
    """Return what jobs are grouped by: codes, and what they mean."""
    workload: Workload = schedule.workload
    kinds = {kind: (own.codes[rows], own.values) for kind, own in labels(workload).items()}
    lengths = tuple(one.name.lower() for one in JobClass)
    gpus: BoolArray = asks_for_gpus(workload)[rows]
    return kinds | {
        "length": (job_class(workload.runtime)[rows], lengths),
        "size": (job_size(schedule)[rows], tuple(SIZES)),
        "GPU": (gpus.astype(np.int64), ("no", "yes")),
    }
