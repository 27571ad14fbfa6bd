"""Recorded starts beside simulated ones: errors of waits, ranks, and use of the machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.model import MISSING
from cpsched.api.simulation import SIZES, JobClass, StepFunction, job_class, job_size, labels
from cpsched.api.studies import asks_for_gpus

if TYPE_CHECKING:
    from cpsched.api.logs import Workload
    from cpsched.api.model import BoolArray, FloatArray, IntArray
    from cpsched.api.simulation import Schedule

#: Errors up to these many seconds are counted: a minute, ten minutes, an hour.
WITHIN = (60, 600, 3600)
#: Reported quantiles of the error.
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
HOUR = 3600
#: Groups of a kind with fewer jobs say nothing.
FEWEST = 10


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
        lengths, sizes, GPUs.
    quantiles
        Of the error (simulated minus recorded), by :data:`QUANTILES`.
    left_out
        Jobs that are not compared, by reason.
    hours, recorded_use, simulated_use
        Beginning of each hour, and the mean share of the machine's cores that jobs used in it.
    """

    rows: IntArray
    recorded: IntArray
    simulated: IntArray
    overall: Measured
    from_submit: tuple[float, float]
    groups: tuple[tuple[str, str, Measured], ...]
    quantiles: tuple[float, ...]
    left_out: dict[str, int]
    hours: IntArray
    recorded_use: FloatArray
    simulated_use: FloatArray

    @property
    def error(self) -> IntArray:
        """Simulated minus recorded start, seconds, shape ``(n,)``."""
        return self.simulated - self.recorded

    @property
    def use_correlation(self) -> float | None:
        """Correlation of the two uses of the machine hour by hour; None where one is constant."""
        if len(self.hours) < 2 or not (np.ptp(self.recorded_use) and np.ptp(self.simulated_use)):
            return None
        return float(np.corrcoef(self.recorded_use, self.simulated_use)[0, 1])

    @property
    def use_difference(self) -> float:
        """Mean absolute difference of the two, hour by hour."""
        gap = np.abs(self.recorded_use - self.simulated_use)
        return float(gap.mean()) if len(gap) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single jobs as plain JSON types."""
        return {
            "overall": asdict(self.overall),
            "mean_waits_from_submit": list(self.from_submit),
            "groups": [
                {"kind": kind, "group": name, **asdict(one)} for kind, name, one in self.groups
            ],
            "error_quantiles": dict(zip(map(str, QUANTILES), self.quantiles, strict=True)),
            "left_out": self.left_out,
            "use_correlation": self.use_correlation,
            "use_difference": self.use_difference,
        }


def measure(
    schedule: Schedule, *, start: int | None = None, end: int | None = None, lag: int = 0
) -> Fidelity:
    """
    Return how closely a schedule reproduces the starts that its log recorded.

    Parameters
    ----------
    start, end
        Jobs submitted in ``[start, end)`` are compared.
    lag
        Seconds added to every simulated start: the controller's delay from its decision to the
        start.

    Raises
    ------
    ValueError
        If there is no job to compare.
    """
    workload = schedule.workload
    submit, recorded = workload.submit, workload.recorded_start
    inside = np.ones(len(workload), dtype=np.bool_)
    inside &= True if start is None else submit >= start
    inside &= True if end is None else submit < end
    known, started = recorded != MISSING, schedule.start != MISSING
    left_out = {
        "have no recorded start": int((inside & ~known).sum()),
        "do not start in the simulation": int((inside & known & ~started).sum()),
    }
    rows = np.flatnonzero(inside & known & started)
    if not len(rows):
        raise ValueError("no job has a recorded and a simulated start")
    # For a held job, both waits count from when it could start.
    since = np.maximum(submit, workload.begin)[rows]
    real = recorded[rows] - since
    ours = schedule.start[rows] + lag - since
    error = ours - real
    return Fidelity(
        rows=rows,
        recorded=real,
        simulated=ours,
        overall=_measured(real, ours),
        from_submit=(
            float((recorded - submit)[rows].mean()),
            float((schedule.start - submit)[rows].mean() + lag),
        ),
        groups=tuple(_groups(schedule, rows, real, ours)),
        quantiles=tuple(np.quantile(error, QUANTILES).tolist()),
        left_out={reason: number for reason, number in left_out.items() if number},
        **_use(schedule, rows),
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
    schedule: Schedule, rows: IntArray, recorded: IntArray, simulated: IntArray
) -> list[tuple[str, str, Measured]]:
    found = []
    for kind, (codes, values) in _kinds(schedule, rows).items():
        number = np.bincount(codes + 1, minlength=len(values) + 1)[1:]
        if (number > 0).sum() < 2:
            continue
        order = np.argsort(-number, kind="stable").tolist()
        for code in order:
            if number[code] >= FEWEST:
                own = codes == code
                found.append((kind, values[code], _measured(recorded[own], simulated[own])))
    return found


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


def _use(schedule: Schedule, rows: IntArray) -> dict[str, Any]:
    """Return the use of the cores hour by hour, of the same jobs in both."""
    workload, total = schedule.workload, int(schedule.system.total[0])
    cores = workload.units[rows] * workload.request[rows, 0]
    start = workload.recorded_start[rows]
    first, last = int(workload.submit[rows].min()), int(workload.submit[rows].max())
    edges = np.arange(first, last + 1, HOUR)
    if len(edges) < 2:
        nothing = np.zeros(0)
        return {"hours": edges[:0], "recorded_use": nothing, "simulated_use": nothing}
    uses = [
        StepFunction.over(begin, begin + workload.runtime[rows], cores).means(edges) / max(total, 1)
        for begin in (start, schedule.start[rows])
    ]
    return {"hours": edges[:-1], "recorded_use": uses[0], "simulated_use": uses[1]}
