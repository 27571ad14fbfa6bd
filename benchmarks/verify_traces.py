"""
Run every dispatcher on every real trace with its system, and verify each schedule.

    python benchmarks/verify_traces.py --traces DIR [--first N]

DIR holds the logs named below (Parallel Workloads Archive and the other sources named in
docs/systems.md). Prints a line a run; exits with 1 if any schedule breaks a rule.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from cpsched import systems, traces
from cpsched.mapping import fit
from cpsched.simulation.simulate import Settings, simulate
from cpsched.verification import verify

SYSTEMS = {
    "KTH-SP2-1996-2.1-cln.swf.gz": "kth-sp2",
    "eurora-2014.ext.csv.gz": "eurora",
    "eurora-2014.swf.gz": "eurora",
    "ub-hpc-week.ext.csv.gz": "ub-hpc",
    "cerit-wagap-2013.ext.csv.gz": "cerit-wagap",
    "CTC-SP2-1996-3.1-cln.swf.gz": "ctc-sp2",
    "LLNL-Atlas-2006-2.1-cln.swf.gz": "llnl-atlas",
    "graham-2021-sample.ext.csv.gz": "graham-sample",
    "HPC2N-2002-2.2-cln.swf.gz": "hpc2n",
    "SDSC-BLUE-2000-4.2-cln.swf.gz": "sdsc-blue",
    "ANL-Intrepid-2009-1.swf.gz": "anl-intrepid",
    "CEA-Curie-2011-2.1-cln.swf.gz": "cea-curie",
    "RICC-2010-2.swf.gz": "ricc",
}
DISPATCHERS = (
    "fifo",
    "sjf",
    "ljf",
    "prb",
    "prb:priority=slowdown,allocator=best-fit",
    "easy",
    "easy:priority=slowdown,allocator=balanced",
    "easy:backfill=sjf,allocator=consolidate",
    "conservative:depth=8",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--first", type=int, default=None)
    parser.add_argument("--only", nargs="*", default=None, help="traces, by a part of their name")
    parser.add_argument("--dispatchers", nargs="*", default=DISPATCHERS)
    parser.add_argument("--overrun", default="kill")
    arguments = parser.parse_args()
    wrong = 0
    print(f"{'trace':32} {'dispatcher':42} {'jobs':>8} {'rejected':>8} {'loop s':>8} wrong")
    for file, system in SYSTEMS.items():
        if arguments.only and not any(part in file for part in arguments.only):
            continue
        workload = traces.read(arguments.traces / file).select(first=arguments.first)
        fitted = fit(workload, systems.load(system))
        for dispatcher in arguments.dispatchers:
            begin = time.perf_counter()
            settings = Settings(overrun=arguments.overrun)
            run = simulate(fitted, dispatcher=dispatcher, settings=settings)
            seconds = time.perf_counter() - begin
            found = verify(run.schedule)
            wrong += bool(found)
            print(
                f"{file[:32]:32} {dispatcher:42} {len(workload):8,}"
                f" {len(fitted.rejected):8,} {seconds:8.1f} {len(found)}",
                flush=True,
            )
            for violation in found[:3]:
                print(f"    {violation.rule}: {violation.message}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
