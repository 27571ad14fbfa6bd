"""
How good forecasts of starts are, on the logs of the archive.

``python benchmarks/forecasts.py LOGS [--only kth-sp2]``, where LOGS is a folder with the logs. Jobs
are drawn at random from the last nine tenths of each log; each that has to wait is forecast at its
submit, and learnt from once it has started. Beside it: the start by the plan in which every job
runs for as long as it asks for.

With ``--keep FOLDER`` they are kept, so that another correction can be judged by the same
forecasts without playing them again.

With ``--waiting 1000``: what one forecast of all waiting jobs costs at the first moment at which so
many wait; ``--days`` bounds how far the scenarios go.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from pathlib import Path
from time import process_time

import numpy as np

from cpsched import systems, traces
from cpsched.answer.calibration import Calibration
from cpsched.answer.forecaster import Forecaster
from cpsched.answer.prequential import Prequential
from cpsched.answer.starts import NEVER, Starts
from cpsched.base.tables import Column, Table
from cpsched.base.types import MISSING
from cpsched.mapping import Fitted, fit
from cpsched.model import columns as c
from cpsched.simulation.simulate import Settings, simulate

#: Log, its machine, and of how many of its jobs, the first ones.
LOGS = (
    ("KTH-SP2-1996-2.1-cln", "kth-sp2", 20_000),
    ("CTC-SP2-1996-3.1-cln", "ctc-sp2", 20_000),
    ("HPC2N-2002-2.2-cln", "hpc2n", 20_000),
    ("SDSC-BLUE-2000-4.2-cln", "sdsc-blue", 20_000),
    ("ANL-Intrepid-2009-1", "anl-intrepid", 40_000),
    ("cerit-wagap-2013", "cerit-wagap", 17_900),
    ("CEA-Curie-2011-2.1-cln", "cea-curie", 30_000),
    ("RICC-2010-2", "ricc", 30_000),
)

#: More work than the machine can do: queues of a thousand jobs.
OVERLOADED = ("ub-hpc-week", "ub-hpc", 19_000)


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """
    What was forecast along one log, before any correction.

    Attributes
    ----------
    now
        The second of each forecast, in their order, shape ``(n,)``.
    scenario
        The starts in the scenarios, shape ``(n, S)``.
    planned
        The start if every job runs for as long as it asks for, shape ``(n,)``.
    start
        What happened, shape ``(n,)``.
    asked
        How many jobs were looked at, those included that started at once.
    spent
        CPU seconds.
    """

    now: np.ndarray
    scenario: np.ndarray
    planned: np.ndarray
    start: np.ndarray
    asked: int
    spent: float

    def write(self, file: Path) -> None:
        """Keep them in a file, to be judged again."""
        np.savez(file, **{item.name: getattr(self, item.name) for item in fields(self)})

    @classmethod
    def read(cls, file: Path) -> Forecasts:
        """Return kept forecasts."""
        with np.load(file) as found:
            return cls(**{item.name: found[item.name] for item in fields(cls)})

    def raw(self, at: int) -> Starts:
        """Return one of them."""
        return Starts(
            now=int(self.now[at]),
            handle=np.array([at]),
            scenario=self.scenario[at][:, None],
            planned=self.planned[[at]],
        )

    def corrected(self) -> list[Starts]:
        """Return what was said of each job, with what was known by then."""
        calibration = Calibration()
        told: list[Starts] = []
        started = np.argsort(self.start, kind="stable").tolist()
        for at, now in enumerate(self.now.tolist()):
            while started and self.start[started[0]] <= now:
                one = started.pop(0)
                calibration.note(self.raw(one), told[one], self.start[[one]])
            for one in started:
                if self.now[one] < now:
                    calibration.still_wait(self.raw(one), told[one], now)
            told.append(calibration.corrected(self.raw(at)))
        return told


def forecast(folder: Path, log: str, system: str, jobs: int, args: argparse.Namespace) -> Forecasts:
    """Return the forecasts along a log."""
    workload = traces.read(folder / f"{log}.swf.gz").select(first=jobs)
    fitted = fit(workload, systems.load(system))
    run = Prequential(
        fitted,
        dispatcher=args.dispatcher,
        predictor=args.predictor,
        settings=Settings(),
        forecaster=Forecaster(scenarios=args.scenarios),
    )
    num = len(run.simulator.arrivals)
    candidates = np.arange(num // 10, num)
    sample = min(int(args.forecasts / _waiting_share(fitted, args, num // 10)), len(candidates))
    drawn = np.sort(np.random.default_rng(0).choice(candidates, sample, replace=False))
    began = process_time()
    run.run(drawn.tolist())
    spent = process_time() - began
    run.finish()
    told = [one for one in run.told if one.start != MISSING]
    return Forecasts(
        now=np.array([one.raw.now for one in told]),
        scenario=np.array([one.raw.scenario[:, 0] for one in told]),
        planned=np.array([one.raw.planned[0] for one in told]),
        start=np.array([one.start for one in told]),
        asked=run.asked,
        spent=spent,
    )


def judged(system: str, made: Forecasts) -> list[str]:
    """Return one row of the table."""
    raw, told = [made.raw(at) for at in range(len(made.now))], made.corrected()
    start, now = made.start, made.now

    def quantile(starts: list[Starts], level: float) -> np.ndarray:
        found = np.array([one.quantile(level)[0] for one in starts])
        return np.minimum(found, now + 366 * 86400)

    def coverage(starts: list[Starts]) -> float:
        inside = (quantile(starts, 0.1) <= start) & (start <= quantile(starts, 0.9))
        return float(inside.mean())

    error = np.abs(quantile(told, 0.5) - start)
    plan = np.abs(np.where(made.planned == NEVER, now + 30 * 86400, made.planned) - start)
    asked = int(made.asked)
    at_once = asked - len(told)
    return [
        system,
        f"{asked:,}",
        f"{100 * len(told) / asked:.0f} %",
        f"{coverage(raw):.2f}",
        f"{coverage(told):.2f}",
        f"{np.median(start - now):,.0f}",
        f"{np.median(error):,.0f}",
        f"{np.median(plan):,.0f}",
        f"{np.median(error) / max(np.median(plan), 1):.2f}",
        f"{100 * (at_once + (error <= 60).sum()) / asked:.0f} %",
        f"{100 * (at_once + (error <= 600).sum()) / asked:.0f} %",
        f"{100 * (error <= 600).mean():.0f} %",
        f"{float(made.spent) / max(len(told), 1):.2f}",
    ]


def kept(log: str, system: str, jobs: int, args: argparse.Namespace) -> Forecasts:
    """Return the forecasts along a log, those of an earlier run if they were kept."""
    if args.keep is None:
        return forecast(args.logs, log, system, jobs, args)
    file = args.keep / f"{system}.npz"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        forecast(args.logs, log, system, jobs, args).write(file)
    return Forecasts.read(file)


def _waiting_share(fitted: Fitted, args: argparse.Namespace, first: int) -> float:
    """Return which share of the jobs has to wait, so that about as many as wanted are asked."""
    run = simulate(fitted, dispatcher=args.dispatcher, predictor=args.predictor)
    started = run.schedule.start[run.schedule.start != MISSING]
    waits = started > fitted.workload.submit[run.schedule.start != MISSING]
    return max(float(waits[first:].mean()), 1e-3)


def deep(folder: Path, log: str, system: str, jobs: int, args: argparse.Namespace) -> str:
    """Return a line on what a forecast costs while many jobs wait."""
    workload = traces.read(folder / f"{log}.swf.gz").select(first=jobs)
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


_HEADS = (
    "log",
    "asked",
    "wait",
    "raw p80",
    "p80",
    "median wait [s]",
    "median error [s]",
    "by plan [s]",
    "ratio",
    "1 min",
    "10 min",
    "10 min, waiting",
    "CPU s",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--only", default="", help="one system")
    parser.add_argument("--dispatcher", default="easy")
    parser.add_argument("--predictor", default="requested")
    parser.add_argument("--scenarios", type=int, default=20)
    parser.add_argument("--forecasts", type=int, default=700, help="about so many of each log")
    parser.add_argument("--keep", type=Path, help="folder of forecasts, judged again if there")
    parser.add_argument("--waiting", type=int, help="what a forecast costs while so many wait")
    parser.add_argument("--days", type=int, default=30)
    args = parser.parse_args()
    if args.waiting:
        for log, system, jobs in (*LOGS, OVERLOADED):
            if args.only in ("", system):
                print(deep(args.logs, log, system, jobs, args))
        return
    rows = [
        judged(system, kept(log, system, jobs, args))
        for log, system, jobs in LOGS
        if args.only in ("", system)
    ]
    columns = zip(*rows, strict=True)
    print(
        Table(
            "", tuple(Column(h, "", tuple(v)) for h, v in zip(_HEADS, columns, strict=True))
        ).text(200)
    )


if __name__ == "__main__":
    main()
