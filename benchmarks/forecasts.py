"""
How good forecasts of starts are beside trivial ones, on the logs of the archive.

``python benchmarks/forecasts.py LOGS [--only kth-sp2]``, where LOGS is a folder with the logs: what
``cpsched forecast --evaluate`` says of the first 5,000 jobs of each under EASY, a row for each
forecaster. With ``--held-back``, on the logs on which nothing was chosen.

With ``--waiting 1000``: what one forecast of all waiting jobs costs at the first moment at which so
many wait; ``--days`` bounds how far the scenarios go.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from time import process_time

from cpsched import logs, systems
from cpsched.errors import ConfigError
from cpsched.forecast.evaluation import Score, score_forecasters
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.prequential import Prequential
from cpsched.forecast.replay import replay
from cpsched.forecast.start_forecast import NEVER
from cpsched.model import columns as c
from cpsched.simulation.simulate import Settings
from cpsched.systems.mapping import fit

#: Log and its machine.
LOGS = (
    ("KTH-SP2-1996-2.1-cln", "kth-sp2"),
    ("CTC-SP2-1996-3.1-cln", "ctc-sp2"),
    ("HPC2N-2002-2.2-cln", "hpc2n"),
    ("SDSC-BLUE-2000-4.2-cln", "sdsc-blue"),
    ("ANL-Intrepid-2009-1", "anl-intrepid"),
    ("cerit-wagap-2013", "cerit-wagap"),
    ("CEA-Curie-2011-2.1-cln", "cea-curie"),
    ("RICC-2010-2", "ricc"),
)
#: Those on which nothing was chosen.
HELD_BACK = (
    ("eurora-2014", "eurora"),
    ("graham-2021-sample", "graham-sample"),
    ("LLNL-Atlas-2006-2.1-cln", "llnl-atlas"),
    ("ub-hpc-week", "ub-hpc"),
)
HEADS = (
    "log",
    "jobs that wait",
    "forecasts",
    "forecaster",
    "share in the 80 % interval",
    "mean width [s]",
    "interval score [s]",
    "ratio to the best trivial one",
    "CRPS [s]",
    "its ratio",
    "CPU a forecast [s]",
)


def scored(folder: Path, log: str, system: str, args: argparse.Namespace) -> list[list[str]]:
    """Return the rows of a log."""
    workload = logs.read(folder / f"{log}.swf.gz").select(first=args.jobs)
    began = process_time()
    forecasts = replay(
        fit(workload, systems.load(system)),
        dispatcher=args.dispatcher,
        predictor=args.predictor,
        settings=Settings(),
        forecasts=args.forecasts,
        scenarios=args.scenarios,
    )
    cost = (process_time() - began) / (len(forecasts.job) + forecasts.early + forecasts.unknown)
    return [
        [
            system,
            f"{forecasts.waited:,} of {forecasts.considered:,}",
            f"{score.forecasts:,}",
            score.forecaster,
            f"{score.coverage:.2f}",
            f"{score.width_s:,.0f}",
            f"{score.interval_score.mean_s:,.0f}",
            ratio(score.interval_score),
            f"{score.crps.mean_s:,.0f}",
            ratio(score.crps),
            f"{cost:.2f}" if number == 0 else "",
        ]
        for number, score in enumerate(score_forecasters(forecasts, 0))
    ]


def ratio(score: Score) -> str:
    """Return a ratio with its interval."""
    low, high = score.interval
    return f"{score.ratio:.2f}" + (f" ({low:.2f} to {high:.2f})" if low < high else "")


def deep(folder: Path, log: str, system: str, args: argparse.Namespace) -> str:
    """Return a line on what a forecast costs while many jobs wait."""
    workload = logs.read(folder / f"{log}.swf.gz").select(first=args.jobs)
    run = Prequential(
        fit(workload, systems.load(system)),
        dispatcher=args.dispatcher,
        predictor=args.predictor,
        settings=Settings(),
        forecaster=Forecaster(scenarios=args.scenarios, horizon=args.days * 86400),
    )
    machine = run.simulator.machine
    for submit in run.simulator.arrivals.submit[::100]:
        run.go_to(submit)
        if machine.num_waiting >= args.waiting:
            break
    else:
        return f"{system}: never {args.waiting:,} jobs wait"
    present = run.present()
    waiting = present.in_state(c.WAITING)
    costs = []
    for _ in range(3):
        began = process_time()
        starts = run.forecaster.forecast(present, waiting)
        costs.append(process_time() - began)
    last = int(starts.planned.max())
    planned = "later" if last == NEVER else f"in {(last - present.now) / 86400:.1f} days"
    return (
        f"{system}: {len(waiting):,} wait, {machine.num_running:,} run, the last one planned"
        f" {planned}: {min(costs):.2f} CPU s"
    )


def main() -> None:
    """Print the table as CSV."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--only", default="", help="one system")
    parser.add_argument("--held-back", action="store_true")
    parser.add_argument("--dispatcher", default="easy")
    parser.add_argument("--predictor", default="requested")
    parser.add_argument("--scenarios", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=5000, help="the first so many of each log")
    parser.add_argument("--forecasts", type=int, default=200, help="about so many of each log")
    parser.add_argument("--waiting", type=int, help="what a forecast costs while so many wait")
    parser.add_argument("--days", type=int, default=30)
    args = parser.parse_args()
    logs = HELD_BACK if args.held_back else LOGS
    out = csv.writer(sys.stdout, lineterminator="\n")
    if not args.waiting:
        out.writerow(HEADS)
    for log, system in logs:
        if args.only not in ("", system):
            continue
        if args.waiting:
            print(deep(args.logs, log, system, args))
            continue
        try:
            out.writerows(scored(args.logs, log, system, args))
        except ConfigError as error:
            print(f"{system}: {error}", file=sys.stderr)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
