"""
How much dispatchers agree with a record, given what really ran: EASY's own schedules as the record.

``python benchmarks/agreement.py --traces DIR``; see ``docs/guides/fidelity.md``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cpsched import systems, traces
from cpsched.mapping import fit
from cpsched.simulation.simulate import Settings, simulate
from slurm_adapter.fidelity.replay import replay

LOGS = {"kth-sp2": "KTH-SP2-1996-2.1-cln.swf.gz", "sdsc-blue": "SDSC-BLUE-2000-4.2-cln.swf.gz"}
DISPATCHERS = ("easy", "easy:backfill=sjf", "conservative", "fifo")


def main() -> None:
    """Print the shares of starts that are the same, earlier and later."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--first", type=int, default=4000)
    given = parser.parse_args()
    for name, file in LOGS.items():
        system = systems.load(name)
        log = traces.read(given.traces / file).select(first=given.first)
        made = simulate(log, system, dispatcher="easy").schedule
        record = fit(log.with_columns(recorded_start=made.start), system)
        for dispatcher in DISPATCHERS:
            found = replay(
                record, dispatcher=dispatcher, predictor="requested", settings=Settings()
            )
            shares = f"same {found.same:.3f}  earlier {found.earlier:.3f}  later {found.later:.3f}"
            print(f"{name:10} {dispatcher:18} {shares}")


if __name__ == "__main__":
    main()
