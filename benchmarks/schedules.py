"""
Whether two checkouts give the same schedules: every dispatcher on the first jobs of five logs.

    PYTHONPATH=CHECKOUT python -m cpsched compare schedules.toml --out BEFORE
    python -m cpsched compare schedules.toml --out AFTER
    python benchmarks/schedules.py BEFORE AFTER

Prints for each dispatcher and log how many jobs have another start, end or other nodes; ``-``
where a run is in one of the folders only. Works on the folders of any study.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import campaign
import pyarrow.parquet as pq
from measure import table

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What decides if two schedules are the same.
COLUMNS = ["job_id", "start", "end", "nodes"]
#: A run's workload, and what was run on it.
Key = tuple[str, str]


def runs_of(study: Path) -> dict[Key, Path]:
    """Return the finished runs; predictor and seed are named where there are several."""
    places = list(campaign.finished(study))
    keys = ["dispatcher"]
    keys += [key for key in ("predictor", "seed") if len({p[key] for p, _ in places}) > 1]
    return {(p["workload"], " ".join(str(p[key]) for key in keys)): run for p, run in places}


def compare(before: Path, after: Path) -> None:
    """Print in how many jobs the runs of two folders differ, dispatcher by dispatcher."""
    old, new = runs_of(before), runs_of(after)
    logs, names = (list(dict.fromkeys(key[at] for key in (*old, *new))) for at in (0, 1))
    rows = [[name, *(_difference(old, new, (log, name)) for log in logs)] for name in names]
    table("Jobs whose start, end or nodes differ", ["dispatcher", *logs], rows)


def _difference(before: dict[Key, Path], after: dict[Key, Path], key: Key) -> str:
    if key not in before or key not in after:
        return "-"
    old, new = (
        pq.read_table(runs[key] / "jobs.parquet", columns=COLUMNS).sort_by("job_id").to_pylist()
        for runs in (before, after)
    )
    if len(old) != len(new):
        return f"{len(old)} / {len(new)} jobs"
    return str(sum(a != b for a, b in zip(old, new, strict=True)))


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="folder of cpsched compare")
    parser.add_argument("after", type=Path, help="another of the same study")
    arguments = parser.parse_args(argv)
    compare(arguments.before, arguments.after)


if __name__ == "__main__":
    main()
