"""Changes to the jobs of a log: more or fewer jobs, or other requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.errors import ConfigError, check_range, did_you_mean
from cpsched.metrics.groups import asks_for_gpus
from cpsched.model.workload import COLUMNS, Labels
from cpsched.study.changes import Change as ChangeOfLog
from cpsched.util.quantities import duration
from cpsched.util.types import MAX_TIME, MISSING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.util.types import BoolArray, IntArray

_DAY = 86400
_WEEK = 7 * _DAY
#: A larger multiple of the jobs of a log is taken for a typing error.
_MOST_LOAD = 100.0
_MOMENTS = ("begin", "cancel", "deadline")


class ScaleLoad(ChangeOfLog):
    """
    Raise or lower the number of jobs per day.

    Parameters
    ----------
    factor
        Multiple of the number of jobs. For example 1.2: a fifth more.
    how
        ``copies``: randomly sampled jobs are submitted a second time, on another day of the same
        type, which keeps the daily and weekly pattern. With a factor below 1 some jobs are removed.
        ``times``: all jobs stay, and the times between submits are divided by the factor.
    seed
        Seed of the sampling.
    """

    name: ClassVar[str] = "scale-load"

    @classmethod
    def written(cls, text: str, second: Callable[[str], int]) -> str:  # noqa: ARG003
        """Return the options as ``KEY=VALUE,...``. A number alone is short for ``factor=``."""
        factor, comma, more = text.partition(",")
        return text if "=" in factor else f"factor={factor}{comma}{more}"

    def __init__(self, factor: float, how: str = "copies", seed: int = 0) -> None:
        check_range("factor", factor, 0.01, _MOST_LOAD)
        if how not in ("copies", "times"):
            raise ConfigError(f"is {how!r}, must be one of: copies, times", key="how")
        self.factor, self.how, self.seed = factor, how, seed

    def of_workload(self, workload: Workload, system: System) -> Workload:  # noqa: ARG002
        """Return the jobs with the changed load."""
        if self.how == "times":
            return self._closer(workload)
        rng = np.random.default_rng(self.seed)
        num = len(workload)
        wanted = round(self.factor * num)
        if wanted <= num:
            return workload.take(np.sort(rng.permutation(num)[:wanted]))
        times, rest = divmod(wanted - num, num)
        rows = [*[np.arange(num)] * times, np.sort(rng.permutation(num)[:rest])]
        return _with_copies(workload, rows, rng)

    def _closer(self, workload: Workload) -> Workload:
        """Return all jobs, their submits closer together."""
        first = workload.submit.min(initial=0)
        submit = first + np.rint((workload.submit - first) / self.factor).astype(np.int64)
        columns: dict[str, Any] = {
            name: _shifted(getattr(workload, name), submit - workload.submit) for name in _MOMENTS
        }
        nowhere = np.full(len(workload), MISSING)
        return workload.resubmitted(submit, recorded_start=nowhere, **columns)


class CapRequest(ChangeOfLog):
    """
    Limit the requested times of all jobs.

    Parameters
    ----------
    time
        Largest requested time of a job: ``H:MM:SS`` or ``D-HH:MM:SS``.
    factor
        Largest requested time as a multiple of the job's runtime. For example 2: users with better
        estimates.
    """

    name: ClassVar[str] = "cap-request"

    @classmethod
    def written(cls, text: str, second: Callable[[str], int]) -> str:  # noqa: ARG003
        """
        Return the options as ``KEY=VALUE,...``. ``H:MM:SS`` and ``2x`` are short forms of them.
        """
        if "=" in text:
            return text
        if text.endswith("x"):
            return f"factor={text.removesuffix('x')}"
        duration(text)
        return f"time={text}"

    def __init__(self, time: str = "", factor: float | None = None) -> None:
        if bool(time) == (factor is not None):
            raise ConfigError("needs either time or factor")
        if factor is not None:
            check_range("factor", factor, 1.0, 1e6)
        try:
            self.time = duration(time) if time else MAX_TIME
        except ValueError as error:
            raise ConfigError(f"{time!r} {error}", key="time") from None
        check_range("time", self.time, 1, MAX_TIME)
        self.factor = factor

    def of_workload(self, workload: Workload, system: System) -> Workload:  # noqa: ARG002
        """Return the jobs with the limited requested times."""
        requested = workload.requested_time
        cap = np.full(len(workload), self.time)
        if self.factor is not None:
            cap = np.maximum(np.ceil(self.factor * workload.runtime), 1).astype(np.int64)
        shorter = (requested != MISSING) & (requested > cap)
        return workload.with_columns(requested_time=np.where(shorter, cap, requested))


class _JobFilter(ChangeOfLog):
    """
    Some of the jobs of a log: those that meet all given conditions.

    Parameters
    ----------
    user, group, queue, partition, name, qos
        Name as in the log. ``group`` is the account in Slurm.
    gpu
        true: jobs that request GPUs. false: jobs without. By default both.
    """

    def __init__(
        self,
        user: str = "",
        group: str = "",
        queue: str = "",
        partition: str = "",
        name: str = "",
        qos: str = "",
        gpu: bool | None = None,
    ) -> None:
        given = {"user": user, "group": group, "queue": queue, "partition": partition,
                 "name": name, "qos": qos}  # fmt: skip
        self.labels = {key: text for key, text in given.items() if text}
        self.gpu = gpu
        if not self.labels and gpu is None:
            raise ConfigError(f"names no jobs. Give one of: {', '.join([*given, 'gpu'])}")

    def _chosen(self, workload: Workload) -> BoolArray:
        chosen = np.ones(len(workload), dtype=np.bool_)
        for key, text in self.labels.items():
            column: Labels = getattr(workload, key)
            if text not in column.values:
                hint = did_you_mean(text, column.values)
                raise ConfigError(f"no job of the log has the {key} {text!r}.{hint}", key=key)
            chosen &= column.codes == column.values.index(text)
        if self.gpu is not None:
            chosen &= asks_for_gpus(workload) == self.gpu
        return chosen


class Drop(_JobFilter):
    """Remove some jobs from the log."""

    name: ClassVar[str] = "drop"

    def of_workload(self, workload: Workload, system: System) -> Workload:  # noqa: ARG002
        """Return the jobs without those that match the options."""
        return workload.take(np.flatnonzero(~self._chosen(workload)))


class Keep(_JobFilter):
    """Keep only some jobs of the log."""

    name: ClassVar[str] = "keep"

    def of_workload(self, workload: Workload, system: System) -> Workload:  # noqa: ARG002
        """Return only the jobs that match the options."""
        return workload.take(np.flatnonzero(self._chosen(workload)))


def _with_copies(workload: Workload, rows: list[IntArray], rng: np.random.Generator) -> Workload:
    """Return a workload with copies of rows, each on another day of the same kind."""
    span = int(workload.submit[-1] - workload.submit[0]) + 1
    # In a log of less than two weeks all days count as the same kind.
    period = _WEEK if span >= 2 * _WEEK else _DAY
    periods = max(-(-span // period), 1)
    num, first = len(workload), int(workload.submit[0])
    rows = [np.arange(num), *rows]
    row, copy = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    shift = rng.integers(1, max(periods, 2), size=len(row)) * period
    moved = first + (workload.submit[row] - first + shift) % (periods * period)
    submit = np.where(copy > 0, moved, workload.submit[row])
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        value = getattr(workload, name)
        columns[name] = value.take(row) if isinstance(value, Labels) else value[row]
    for name in _MOMENTS:
        columns[name] = _shifted(columns[name], submit - workload.submit[row])
    named = zip(workload.job_id[row].tolist(), copy.tolist(), strict=True)
    ids = [f"{job_id}+{at}" if at else job_id for job_id, at in named]
    # Copies have no dependencies, and no job depends on a copy.
    columns |= {
        "job_id": ids,
        "submit": submit,
        "dependency": np.where(copy > 0, -1, columns["dependency"]),
        "recorded_start": np.where(copy > 0, MISSING, columns["recorded_start"]),
    }
    return type(workload).build(
        title=workload.title,
        epoch=workload.epoch,
        resources=workload.resources,
        layout=workload.layout,
        header=workload.header,
        set_aside=workload.set_aside,
        **columns,
    )


def _shifted(times: IntArray, by: IntArray) -> IntArray:
    return np.where(times == MISSING, MISSING, times + by)
