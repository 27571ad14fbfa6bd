"""When the jobs of a live queue will start, under any dispatcher."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.model import MISSING
from cpsched.api.model import columns as c
from cpsched.api.simulation import Present, Settings
from cpsched.api.studies import Advice, Answer, Calibration, Forecaster, advice_on, forecasts
from cpsched.api.tools import brief
from slurm_adapter.live.judged import JudgedForecasts
from slurm_adapter.live.mirror import Mirror, Stage
from slurm_adapter.live.record import Record, is_record, live_job

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.api.model import System
    from slurm_adapter.live.mirror import Known
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

#: Days of jobs that may be repeated, and the most jobs, the last ones.
_DAYS, _MOST_PAST = 7, 5000
_PAST = "past-"
#: The mark of our own held jobs, in their AdminComment.
_OURS = "cpsched"


def when(
    snapshot: Snapshot,
    system: System,
    *,
    dispatcher: str,
    job: str | None = None,
    by: int | None = None,
    record: Record | None = None,
    scenarios: int = 20,
) -> Answer:
    """
    Forecast when waiting jobs of a live queue will start.

    Jobs that their users hold are left out.

    Parameters
    ----------
    dispatcher
        Specification; a site's own is ``slurm:policy=FILE``.
    job
        Key of one job; None: all waiting jobs.
    by
        Unix time by which the probability of a start is wanted.
    record
        Record of a twin: runtimes are drawn from its jobs, its days are repeated, and its forecasts
        under this dispatcher correct these. Without one, every job is assumed to use its requested
        time, and no new jobs arrive.

    Raises
    ------
    ConfigError
        If the job is not waiting, or can never run on the system; or if none is waiting.
    """
    mirror, present, forecaster = _seen(snapshot, system, dispatcher, record, scenarios)
    calibration = (
        Calibration() if record is None else past_forecasts(record, dispatcher, snapshot.now)
    )
    advice: tuple[Advice, ...] = ()
    if job is None:
        handles = present.in_state(c.WAITING, c.HELD)
        if not len(handles):
            raise ConfigError("no job is waiting")
        starts = forecaster.forecast(present, handles)
    else:
        row = row_of(mirror, snapshot, job)
        starts, advice = advice_on(forecaster, present, row)
    second = None if by is None else by - mirror.epoch
    return Answer(
        now=present.now,
        epoch=mirror.epoch,
        dispatcher=dispatcher,
        predictor="requested",
        by=second,
        jobs=tuple(forecasts(calibration.corrected(starts), present.jobs.workload, second)),
        advice=advice,
        scenarios=scenarios,
        judged=len(calibration),
    )


def past_forecasts(record: Record, dispatcher: str, now: int) -> Calibration:
    """Return the correction at a second (Unix time) from the forecasts in a twin's folder."""
    return JudgedForecasts(record.folder).calibration(dispatcher, now)


def forecast_new(
    judged: JudgedForecasts,
    snapshot: Snapshot,
    system: System,
    *,
    dispatcher: str,
    record: Record,
    most: int = 20,
    scenarios: int = 20,
) -> int:
    """
    Forecast waiting jobs without a forecast, to be scored later.

    Parameters
    ----------
    most
        No more than the last so many.

    Returns
    -------
    int
        How many.
    """
    waiting = [job for job in snapshot.jobs.values() if job.waits and may_start(job)]
    if not (new := judged.are_new(waiting, most)):
        return 0
    mirror, present, forecaster = _seen(snapshot, system, dispatcher, record, scenarios)
    handles = set(present.in_state(c.WAITING, c.HELD).tolist())
    rows = {key: known.row for key, known in mirror.known.items() if known.row in handles}
    new = [job for job in new if job.key in rows]
    if new:
        asked = np.array([rows[job.key] for job in new])
        judged.add(dispatcher, new, forecaster.forecast(present, asked), mirror.epoch)
    return len(new)


def _seen(
    snapshot: Snapshot, system: System, dispatcher: str, record: Record | None, scenarios: int
) -> tuple[Mirror, Present, Forecaster]:
    """Return a queue that is seen for the first time, as a present to be forecast."""
    past = {} if record is None else _past(record, snapshot)
    mirror = Mirror(system, dispatcher, mine=may_start)
    jobs = {key: one for key, (one, _) in past.items()} | dict(snapshot.jobs)
    mirror.follow(replace(snapshot, jobs=jobs))
    present = _present(mirror, snapshot, dispatcher, past)
    return mirror, present, Forecaster(scenarios=scenarios, days=_DAYS if past else 0)


def record_in(folder: Path | None) -> Record | None:
    """
    Return the record of a twin's folder.

    Raises
    ------
    ConfigError
        If there is none in it.
    """
    if folder is None:
        return None
    if not is_record(folder):
        raise ConfigError("has no record of a twin", where=folder)
    return Record(folder)


def may_start(job: LiveJob) -> bool:
    """Say whether a waiting job is one that somebody starts: it is not held, or held for us."""
    return job.key.startswith(_PAST) or not job.held or job.admin_comment.startswith(_OURS)


def _present(
    mirror: Mirror,
    snapshot: Snapshot,
    dispatcher: str,
    past: Mapping[str, tuple[LiveJob, int]],
) -> Present:
    """Return the present of a queue that was seen for the first time."""
    ran = {}
    for key, (_, seconds) in past.items():
        row = mirror.known.pop(key).row
        if row >= 0:
            mirror.cluster.cancel(row, mirror.cluster.now)
            ran[row] = seconds
    held = [one for one in mirror.known.values() if one.stage is Stage.HELD]
    begin = {
        one.row: one.job.eligible - mirror.epoch
        for one in held
        if one.job.eligible != MISSING and one.job.eligible > snapshot.now
    }
    others = {one.row: _waits_for(one, mirror) for one in held if one.row not in begin}
    return Present.of_cluster(
        mirror.cluster,
        dispatcher=dispatcher,
        settings=Settings(),
        ran=ran,
        begin=begin,
        dependency={row: other for row, other in others.items() if other is not None},
        epoch=mirror.epoch,
    )


def _waits_for(one: Known, mirror: Mirror) -> int | None:
    """Return the handle of a job that another one waits for; None if it is not known."""
    text = one.job.dependency
    for other in mirror.known.values():
        names = (other.job.key, other.job.array, str(other.job.number))
        if (
            other.row >= 0
            and other is not one
            and any(f":{name}" in text for name in names if name)
        ):
            return other.row
    return None


def row_of(mirror: Mirror, snapshot: Snapshot, key: str) -> int:
    """
    Return the handle of a waiting job.

    Raises
    ------
    ConfigError
        If it does not wait, or can never run.
    """
    known = mirror.known.get(key)
    if known is None or known.stage is Stage.RUNNING:
        there = snapshot.jobs.get(key)
        what = "is not in the queue" if there is None else f"is {there.state}"
        if there is not None and there.held:
            what = "is held"
        raise ConfigError(f"job {brief(key)} is not waiting to start: it {what}", key="JOB")
    if known.row < 0:
        raise ConfigError(f"job {brief(key)} can never run on this system: {known.why}", key="JOB")
    return known.row


def _past(record: Record, snapshot: Snapshot) -> dict[str, tuple[LiveJob, int]]:
    """Return the jobs that ran in the last days, under names of their own, and how long."""
    since = snapshot.now - _DAYS * 86400
    rows = [
        row
        for row in record.jobs()
        if row["gone"] and row["submit"] >= since and row["start"] != MISSING
    ]
    rows.sort(key=lambda row: row["submit"])
    return {
        f"{_PAST}{number}": (
            replace(
                live_job(row),
                key=f"{_PAST}{number}",
                state="PENDING",
                dependency="",
                eligible=row["submit"],
            ),
            max(row["end"] - row["start"], 1),
        )
        for number, row in enumerate(rows[-_MOST_PAST:])
    }
