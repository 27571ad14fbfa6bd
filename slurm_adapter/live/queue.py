"""When the jobs of a live queue will start, and why they wait, under any dispatcher."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.answers import Forecaster, when, why
from cpsched.api.errors import ConfigError
from cpsched.api.model import MISSING
from cpsched.api.model import columns as c
from cpsched.api.simulation import Present, Settings
from cpsched.api.tools import brief, counted
from slurm_adapter.live.dependencies import waits_for
from slurm_adapter.live.judged import JudgedForecasts
from slurm_adapter.live.mirror import Mirror, Stage
from slurm_adapter.live.priorities import follow_slurms_priorities
from slurm_adapter.live.record import live_job
from slurm_adapter.live.requests import may_start, waits_for_engine

if TYPE_CHECKING:
    from cpsched.api.answers import Answer, Explanation
    from cpsched.api.model import System
    from slurm_adapter.live.record import Record
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

#: Days of jobs that may be repeated, and the most jobs, the last ones.
_DAYS, _MOST_PAST = 7, 5000
_PAST = "past-"
_FOR_ENGINE = (
    " for an engine, so nobody starts it while none runs; if one does, give --mark with its mark"
)


class LiveQueue:
    """
    A live queue, seen for the first time: a present of which may be asked when and why.

    Jobs that users or operators hold are left out: nobody starts them.

    Parameters
    ----------
    dispatcher, predictor
        Specifications; a site's own dispatcher is ``slurm:policy=FILE``.
    mark
        Of the jobs that are held for an engine that runs (``cpsched slurm run``); '': none runs.
    name
        What answers and the record call the dispatcher; by default, its specification.
    record
        Record of a twin: runtimes are drawn from its jobs, its days are repeated, and its forecasts
        under this dispatcher correct new ones. Without one, every job is assumed to use its
        requested time, and no new jobs arrive.

    Attributes
    ----------
    name
        Of the dispatcher, in answers and in the record.
    present
        For :func:`cpsched.answer.when.when` and :func:`cpsched.answer.why.why`.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        system: System,
        dispatcher: str,
        predictor: str = "requested",
        record: Record | None = None,
        *,
        mark: str = "",
        name: str | None = None,
    ) -> None:
        self.snapshot, self.record = snapshot, record
        self.name = name or dispatcher
        self._mark = mark
        self.mirror = Mirror(system, dispatcher, predictor, mine=self._may_start)
        past = {} if record is None else _past(record, snapshot)
        jobs = {key: one for key, (one, _) in past.items()} | dict(snapshot.jobs)
        self.mirror.follow(replace(snapshot, jobs=jobs))
        follow_slurms_priorities(self.mirror, dispatcher)
        ran = {key: seconds for key, (_, seconds) in past.items()}
        self.present = _present(self.mirror, snapshot, (dispatcher, predictor), ran)
        self._days = _DAYS if past else 0

    def when(self, job: str | None = None, by: int | None = None, scenarios: int = 20) -> Answer:
        """
        Forecast when waiting jobs will start.

        Parameters
        ----------
        job
            Key of one job; None: all waiting jobs.
        by
            Unix time by which the probability of a start is wanted.

        Raises
        ------
        ConfigError
            If the job is not waiting, or can never run on the system; or if none is waiting.
        """
        handle = None if job is None else self.handle(job)
        waiting = self.present.in_state(c.WAITING, c.HELD)
        if not len(waiting) and (left := self.left_out()):
            raise ConfigError(f"no other job is waiting but {left}")
        calibration = None
        if self.record is not None:
            judged = JudgedForecasts(self.record)
            calibration = judged.calibration(self.name, self.snapshot.now)
        answer = when(
            self.present,
            handle,
            forecaster=self.forecaster(scenarios),
            calibration=calibration,
            by=None if by is None else by - self.mirror.epoch,
        )
        return replace(answer, dispatcher=self.name)

    def why(self, job: str) -> Explanation:
        """
        Say why a waiting job does not start now, or why it would start.

        Raises
        ------
        ConfigError
            If the job is not waiting, or can never run on the system.
        """
        about = replace(why(self.present, self.handle(job)), dispatcher=self.name)
        if about.overtaken is None:
            return about
        # A mirror enters running jobs when they start.
        jobs = self.snapshot.jobs
        later = sum(one.holds and one.submit > jobs[job].submit for one in jobs.values())
        return replace(about, overtaken=later)

    def _may_start(self, job: LiveJob) -> bool:
        """Whether somebody starts a job: Slurm, or an engine."""
        return may_start(job, self._mark, self.snapshot.engines)

    def left_out(self) -> str:
        """Say how many jobs are left out because only an engine would start them; '' if none."""
        number = sum(
            waits_for_engine(job) and not self._may_start(job)
            for job in self.snapshot.jobs.values()
        )
        return f"{counted(number, 'job')} held{_FOR_ENGINE}" if number else ""

    def slurms_view(self, job: str, expected: int | None) -> dict[str, Any]:
        """Return Slurm's own view of a job."""
        there = self.snapshot.jobs.get(job)
        if there is None:
            raise ConfigError(f"job {brief(job)} is not in the queue", key="JOB")
        return {"state": there.state, "reason": there.reason, "expects": expected}

    def forecast_new(self, judged: JudgedForecasts, new: list[LiveJob]) -> None:
        """Forecast jobs that wait, to be scored later."""
        handles = set(self.present.in_state(c.WAITING, c.HELD).tolist())
        rows = {key: known.row for key, known in self.mirror.known.items() if known.row in handles}
        if new := [job for job in new if job.key in rows]:
            asked = np.array([rows[job.key] for job in new])
            raw = self.forecaster().forecast(self.present, asked)
            judged.add(self.name, new, raw, self.mirror.epoch)

    def forecaster(self, scenarios: int = 20) -> Forecaster:
        """Return what makes the forecasts."""
        return Forecaster(scenarios=scenarios, days=self._days)

    def handle(self, key: str) -> int:
        """
        Return the handle of a waiting job.

        Raises
        ------
        ConfigError
            If it does not wait, or can never run.
        """
        known = self.mirror.known.get(key)
        if known is None or known.stage is Stage.RUNNING:
            there = self.snapshot.jobs.get(key)
            what = "is not in the queue" if there is None else f"is {there.state}"
            if there is not None and there.held:
                what = f"is held{_FOR_ENGINE if waits_for_engine(there) else ''}"
            raise ConfigError(f"job {brief(key)} is not waiting to start: it {what}", key="JOB")
        if known.row < 0:
            raise ConfigError(
                f"job {brief(key)} can never run on this system: {known.why}", key="JOB"
            )
        return known.row


def _present(
    mirror: Mirror, snapshot: Snapshot, specs: tuple[str, str], seconds: dict[str, int]
) -> Present:
    """
    Return the present of a mirror.

    Parameters
    ----------
    specs
        Of dispatcher and predictor.
    seconds
        How long the past jobs in it ran.
    """
    ran = {}
    for key, runtime in seconds.items():
        row = mirror.known.pop(key).row
        if row >= 0:
            mirror.cluster.cancel(row, mirror.cluster.now)
            ran[row] = runtime
    held = [one for one in mirror.known.values() if one.stage is Stage.HELD]
    begin = {
        one.row: one.job.eligible - mirror.epoch
        for one in held
        if one.job.eligible != MISSING and one.job.eligible > snapshot.now
    }
    dependency = {}
    for one in (one for one in held if one.row not in begin):
        for other in waits_for(one.job, snapshot):
            if other.key in mirror.known and (row := mirror.known[other.key].row) >= 0:
                dependency[one.row] = row
    return Present.of_cluster(
        mirror.cluster,
        dispatcher=specs[0],
        predictor=specs[1],
        settings=Settings(),
        ran=ran,
        begin=begin,
        dependency=dependency,
        epoch=mirror.epoch,
    )


def _past(record: Record, snapshot: Snapshot) -> dict[str, tuple[LiveJob, int]]:
    """Return the jobs that ran in the last days, under names of their own, and how long."""
    since = snapshot.now - _DAYS * 86400
    rows = [
        row
        for row in record.jobs()
        if row["gone"] and row["submit"] >= since and row["start"] != MISSING
    ]
    rows.sort(key=lambda row: row["submit"])
    found = {}
    for number, row in enumerate(rows[-_MOST_PAST:]):
        key = f"{_PAST}{number}"
        found[key] = (
            replace(
                live_job(row),
                key=key,
                state="PENDING",
                eligible=row["submit"],
                dependency="",
                held=False,
                is_part=False,
            ),
            max(row["end"] - row["start"], 1),
        )
    return found
