"""
Whether two checkouts give the same schedules: every dispatcher on the first jobs of five logs.

``record`` simulates with one checkout and keeps starts, ends and nodes; ``compare`` sets two such
folders side by side. What is recorded already is not simulated again.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from measure import CPSCHED, BenchmarkError, archive_log, run, table

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Log and system; the last is the log of Eurora as SWF.
LOGS = {
    "HPC2N-2002-2.2-cln.swf.gz": "hpc2n",
    "CTC-SP2-1996-3.1-cln.swf.gz": "ctc-sp2",
    "SDSC-BLUE-2000-4.2-cln.swf.gz": "sdsc-blue",
    "RICC-2010-2.swf.gz": "ricc",
    "eurora-2014.swf.gz": "eurora",
}
DISPATCHERS = (
    *("fifo", "sjf", "ljf", "prb:priority=wfp3", "prb:priority=slowdown"),
    *("easy", "easy:backfill=sjf", "easy:allocator=best-fit", "easy:allocator=balanced"),
    *("easy:allocator=consolidate", "easy:priority=slowdown"),
    *(
        "conservative",
        "conservative:order=sjf",
        "conservative:depth=20",
        "slurm-backfill:reserve=amounts",
    ),
    *("ipsched", "aucsched1", "aucsched2", "aucsched3"),
    *("cph-0", "cph-3", "cp-0", "cp-3", "rollout", "plan"),
)
#: What decides if two schedules are the same.
COLUMNS = ["job_id", "start", "end", "nodes"]


def record(arguments: argparse.Namespace) -> None:
    """Simulate what is not in the folder yet."""
    renamed = dict(pair.split("=", 1) for pair in arguments.rename)
    env = {"PYTHONPATH": str(arguments.checkout.resolve())}
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for log, system in LOGS.items():
        for dispatcher in arguments.dispatcher or DISPATCHERS:
            kept = arguments.folder / _file(system, dispatcher)
            if kept.exists():
                continue
            spec = renamed.get(dispatcher, dispatcher)
            try:
                _simulate(arguments, archive_log(arguments.traces, log), system, spec, env, kept)
            except BenchmarkError as error:
                print(f"{system} {dispatcher}: {error}", file=sys.stderr)


def _simulate(
    arguments: argparse.Namespace,
    log: Path,
    system: str,
    dispatcher: str,
    env: dict[str, str],
    kept: Path,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        usage = run(
            (
                *(*CPSCHED, "simulate", log, "--system", system, "--out", out),
                *("--first", str(arguments.first)),
                *("--dispatcher", dispatcher, "--predictor", arguments.predictor),
            ),
            env,
        )
        (jobs,) = out.rglob("jobs.parquet")
        rows = pq.read_table(jobs, columns=COLUMNS).sort_by("job_id")
    partial = kept.with_suffix(".partial")
    pq.write_table(rows, partial, compression="zstd")
    partial.replace(kept)
    print(f"{kept.stem}: {usage.cpu_s:.1f} CPU s", flush=True)


def compare(arguments: argparse.Namespace) -> None:
    """Print in how many jobs two recordings differ, dispatcher by dispatcher."""
    rows = []
    for dispatcher in DISPATCHERS:
        cells = [
            _difference(
                *(
                    folder / _file(system, dispatcher)
                    for folder in (arguments.before, arguments.after)
                )
            )
            for system in LOGS.values()
        ]
        rows.append([dispatcher, *cells])
    table("Jobs whose start, end or nodes differ", ["dispatcher", *LOGS.values()], rows)


def _difference(before: Path, after: Path) -> str:
    if not (before.exists() and after.exists()):
        return "-"
    old, new = (pq.read_table(path).to_pylist() for path in (before, after))
    if len(old) != len(new):
        return f"{len(old)} / {len(new)} jobs"
    return str(sum(a != b for a, b in zip(old, new, strict=True)))


def _file(system: str, dispatcher: str) -> str:
    return ".".join(
        (*(re.sub(r"[^a-z0-9]+", "-", name) for name in (system, dispatcher)), "parquet")
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    recording = commands.add_parser("record", help="simulate, and keep the schedules")
    recording.add_argument("folder", type=Path, help="where schedules are kept")
    recording.add_argument("--traces", type=Path, required=True, help="folder of the logs")
    recording.add_argument("--checkout", type=Path, default=Path(), help="what to simulate with")
    recording.add_argument("--first", type=int, default=5000, help="jobs of each log")
    recording.add_argument("--predictor", default="requested")
    recording.add_argument("--dispatcher", action="append", help="only this one; repeat for more")
    recording.add_argument(
        "--rename", action="append", default=[], metavar="NEW=OLD", help="as the checkout calls it"
    )
    recording.set_defaults(do=record)
    comparing = commands.add_parser("compare", help="set two folders of schedules side by side")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.set_defaults(do=compare)
    arguments = parser.parse_args(argv)
    arguments.do(arguments)


if __name__ == "__main__":
    main()
