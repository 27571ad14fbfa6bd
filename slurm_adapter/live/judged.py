"""
Forecasts of starts that were made on a live Slurm, and when the jobs really started.

They are in the record of a twin, so they outlast the process that made them; the correction of
later forecasts is computed from the record.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.api.answers import NEVER, Calibration, Starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurm_adapter.live.record import Record
    from slurm_adapter.live.snapshot import LiveJob

#: The ends of the 80 % interval, and its middle.
_LEVELS = (0.1, 0.5, 0.9)
#: Number of forecasts of waiting jobs that are kept.
_OPEN = 400
#: Those of jobs that have started since are settled, and those of jobs that never will dropped; of
#: the settled ones more are kept than a calibration remembers.
_SETTLE = """
BEGIN;
UPDATE forecasts SET start = (
  SELECT max(forecasts.now, min(jobs.start)) FROM jobs WHERE jobs.key = forecasts.job
  AND jobs.submit = forecasts.submit AND jobs.start > 0 AND jobs.state != 'PENDING'
) WHERE start IS NULL;
DELETE FROM forecasts WHERE start IS NULL AND NOT EXISTS (
  SELECT * FROM jobs WHERE jobs.key = forecasts.job
  AND jobs.submit = forecasts.submit AND jobs.state = 'PENDING' AND NOT jobs.gone
);
DELETE FROM forecasts WHERE start IS NOT NULL AND rowid NOT IN (
  SELECT rowid FROM forecasts WHERE start IS NOT NULL ORDER BY start DESC LIMIT 400
);
COMMIT;
"""


class Accuracy(NamedTuple):
    """
    How good past forecasts were.

    Attributes
    ----------
    jobs
        How many jobs have started since.
    inside
        Share of them that started within the 80 % interval.
    error
        Median error of the median forecast, seconds.
    """

    jobs: int
    inside: float
    error: float


class JudgedForecasts:
    """The forecasts in a twin's record; seconds in it are Unix time."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def calibration(self, dispatcher: str, now: int) -> Calibration:
        """Return the correction of forecasts under a dispatcher at a second (Unix time)."""
        found = Calibration()
        with self._record.database() as database:
            rows = database.execute(
                "SELECT now, start, raw, told FROM forecasts WHERE dispatcher = ?"
                " ORDER BY start NULLS LAST, rowid",
                (dispatcher,),
            ).fetchall()
        for number, (made, start, *both) in enumerate(rows):
            raw, told = (_starts(made, number, text) for text in both)
            if start is None:
                found.still_wait(raw, told, now)
            else:
                found.note(raw, told, np.array([start]))
        return found

    def accuracy(self, dispatcher: str) -> Accuracy | None:
        """Return how good the last forecasts under a dispatcher were; None if none is settled."""
        with self._record.database() as database:
            rows = database.execute(
                "SELECT now, start, told FROM forecasts WHERE dispatcher = ? AND start > 0",
                (dispatcher,),
            ).fetchall()
        if not rows:
            return None
        told = [_starts(now, 0, text) for now, _, text in rows]
        low, middle, high = (
            np.array([one.quantile(level)[0] for one in told]) for level in _LEVELS
        )
        start = np.array([start for _, start, _ in rows])
        inside = (low <= start) & (start <= high)
        return Accuracy(len(rows), float(inside.mean()), float(np.median(abs(start - middle))))

    def are_new(self, jobs: Sequence[LiveJob], most: int) -> list[LiveJob]:
        """Return the last jobs without a forecast, at most this many."""
        with self._record.database() as database:
            rows = database.execute("SELECT job, submit, start FROM forecasts").fetchall()
        known = {(job, submit) for job, submit, _ in rows}
        room = _OPEN - sum(start is None for *_, start in rows)
        new = [job for job in jobs if (job.key, job.submit) not in known]
        return new[max(len(new) - max(min(most, room), 0), 0) :]

    def add(self, dispatcher: str, jobs: Sequence[LiveJob], raw: Starts, epoch: int) -> None:
        """
        Keep forecasts of waiting jobs.

        Parameters
        ----------
        raw
            Their forecasts from the scenarios.
        epoch
            Unix time of its second 0.
        """
        seconds = np.where(raw.scenario == NEVER, NEVER, raw.scenario + epoch)
        planned = np.where(raw.planned == NEVER, NEVER, raw.planned + epoch)
        raw = replace(raw, now=raw.now + epoch, scenario=seconds, planned=planned)
        told = self.calibration(dispatcher, raw.now).corrected(raw)
        both = zip(_texts(raw), _texts(told), strict=True)
        rows = [
            (dispatcher, job.key, job.submit, raw.now, None, *texts)
            for job, texts in zip(jobs, both, strict=True)
        ]
        with self._record.database() as database:
            database.executemany("INSERT INTO forecasts VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def settle(self) -> None:
        """Record which jobs have started since, and drop those that never will."""
        with self._record.database() as database:
            database.executescript(_SETTLE)


def _texts(starts: Starts) -> list[str]:
    """Return the forecast of each job as the record has it."""
    both = zip(starts.scenario.T.tolist(), starts.planned.tolist(), strict=True)
    return [json.dumps({"starts": seconds, "planned": planned}) for seconds, planned in both]


def _starts(now: int, handle: int, text: str) -> Starts:
    found = json.loads(text)
    if isinstance(found, list):
        # Without a plan, as records were before.
        found = {"starts": found, "planned": NEVER}
    seconds = np.array(found["starts"], dtype=np.int64)[:, None]
    return Starts(now, np.array([handle]), seconds, np.array([found["planned"]]))
