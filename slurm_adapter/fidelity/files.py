"""The files of a check: figures as JSON, every job and every hour as CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cpsched.api.tools import write_all
from slurm_adapter.fidelity.downtime import as_csv, downtimes
from slurm_adapter.fidelity.statement import statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from slurm_adapter.fidelity.check import Check
    from slurm_adapter.fidelity.differences import Difference


def write_files(checked: Check, found: Sequence[Difference], folder: Path) -> list[Path]:
    """
    Write ``fidelity.json``, ``fidelity-jobs.csv`` and ``fidelity-use.csv``; all or none.

    If the machine was probably down, also ``fidelity-outages.csv``.
    """
    down = downtimes(checked.schedule)
    outages = {"fidelity-outages.csv": as_csv(checked.schedule, down).encode()} if down else {}
    whole, workload = checked.whole, checked.schedule.workload
    about: dict[str, Any] = {
        "statement": statement(whole, checked.repeats),
        **whole.to_dict(),
        "split": checked.split,
        "lag": checked.lag,
        "given_what_ran": checked.given.to_dict(),
        "fit": None if checked.fit is None else asdict(checked.fit),
        "repeats": [asdict(one) for one in checked.repeats],
        "first_part": asdict(checked.first.overall),
        "last_part": asdict(checked.last.overall),
        "last_part_unfitted": (
            None if checked.unfitted is None else asdict(checked.unfitted.overall)
        ),
        "differences": [asdict(one) for one in found],
        "downtimes": down,
    }
    submit = workload.submit[whole.rows].tolist()
    jobs = zip(
        workload.job_id[whole.rows].tolist(),
        submit,
        whole.recorded.tolist(),
        whole.simulated.tolist(),
        whole.error.tolist(),
        strict=True,
    )
    hours = zip(
        whole.hours.tolist(),
        whole.recorded_use.round(6).tolist(),
        whole.simulated_use.round(6).tolist(),
        strict=True,
    )
    return write_all(
        folder,
        {
            "fidelity.json": (json.dumps(about, indent=1) + "\n").encode(),
            "fidelity-jobs.csv": _csv(
                ("job_id", "submit", "recorded_wait_s", "simulated_wait_s", "error_s"), jobs
            ),
            "fidelity-use.csv": _csv(("hour", "recorded_use", "simulated_use"), hours),
            **outages,
        },
    )


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()
