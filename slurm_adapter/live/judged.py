"""
Forecasts of starts that were made on a live Slurm, and when the jobs really started.

They are in the folder of a twin (``forecasts.parquet``), so they outlast the process that made
them; the correction of later forecasts is computed from the file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from cpsched.api.answers import NEVER, Calibration, Starts
from cpsched.api.errors import RunError
from cpsched.api.model import MISSING
from cpsched.api.tools import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.model import IntArray
    from slurm_adapter.live.record import Record
    from slurm_adapter.live.snapshot import LiveJob

#: Number of forecasts kept: of started jobs, more than a calibration remembers; and of other jobs.
_SETTLED, _OPEN = 400, 400
_SECONDS = pa.list_(pa.int64())
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("dispatcher", "job")),
        *((name, pa.int64()) for name in ("submit", "now", "start")),
        *((name, _SECONDS) for name in ("raw", "told")),
    ]
)


class JudgedForecasts:
    """
    The forecasts in a twin's folder; seconds in it are Unix time.

    Parameters
    ----------
    folder
        Where ``forecasts.parquet`` is, or will be.

    Raises
    ------
    RunError
        If the file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "forecasts.parquet"
        self._rows: list[dict[str, Any]] = []
        if self._path.exists():
            try:
                self._rows = parquet.read_table(self._path, schema=SCHEMA).to_pylist()
            except (OSError, ValueError, pa.ArrowException) as error:
                raise RunError(f"{self._path}: is not a file of forecasts: {error}") from None

    def calibration(self, dispatcher: str, now: int) -> Calibration:
        """Return the correction of forecasts under a dispatcher at a second (Unix time)."""
        found = Calibration()
        rows = [row for row in self._rows if row["dispatcher"] == dispatcher]
        rows.sort(key=lambda row: (row["start"] == MISSING, row["start"]))
        for number, row in enumerate(rows):
            raw, told = _starts(row, "raw", number), _starts(row, "told", number)
            if row["start"] == MISSING:
                found.still_wait(raw, told, now)
            else:
                found.note(raw, told, np.array([row["start"]]))
        return found

    def are_new(self, jobs: Sequence[LiveJob], most: int) -> list[LiveJob]:
        """Return the last jobs without a forecast, at most this many."""
        known = {(row["job"], row["submit"]) for row in self._rows}
        room = _OPEN - sum(row["start"] == MISSING for row in self._rows)
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
        raw = replace(raw, now=raw.now + epoch, scenario=_in_unix(raw.scenario, epoch))
        told = self.calibration(dispatcher, raw.now).corrected(raw)
        for at, job in enumerate(jobs):
            self._rows.append(
                {
                    "dispatcher": dispatcher,
                    "job": job.key,
                    "submit": job.submit,
                    "now": raw.now,
                    "start": MISSING,
                    "raw": raw.scenario[:, at].tolist(),
                    "told": told.scenario[:, at].tolist(),
                }
            )
        self._save()

    def settle(self, record: Record) -> None:
        """Record which jobs have started since, and drop those that never will."""
        waiting = [row for row in self._rows if row["start"] == MISSING]
        still = {
            (key, row["submit"]) for key, row in record.open.items() if row["state"] == "PENDING"
        }
        if all((row["job"], row["submit"]) in still for row in waiting):
            return
        began = {
            (row["key"], row["submit"]): row["start"]
            for row in record.recent()
            if row["start"] != MISSING and row["state"] != "PENDING"
        }
        for row in waiting:
            at = began.get((row["job"], row["submit"]), MISSING)
            row["start"] = at if at == MISSING else max(at, row["now"])
        settled = sorted((row for row in self._rows if row["start"] != MISSING), key=_start)
        self._rows = [
            *settled[-_SETTLED:],
            *(row for row in waiting if (row["job"], row["submit"]) in still),
        ]
        self._save()

    def _save(self) -> None:
        table = pa.Table.from_pylist(self._rows, schema=SCHEMA)
        with replacing(self._path) as path:
            parquet.write_table(table, path, compression="zstd")


def _start(row: dict[str, Any]) -> int:
    return int(row["start"])


def _in_unix(scenario: IntArray, epoch: int) -> IntArray:
    return np.where(scenario == NEVER, NEVER, scenario + epoch)


def _starts(row: dict[str, Any], which: str, handle: int) -> Starts:
    scenario = np.array(row[which], dtype=np.int64)[:, None]
    return Starts(row["now"], np.array([handle]), scenario, np.array([NEVER]))
