"""
How fast decisions are made with constraint programming, and what they are worth.

Three benchmarks, each a command:

- ``sample``: decisions of simulated CTC-SP2 and HPC2N with 20 to 200 jobs waiting: CPU time of
  each dispatcher, how many called the solver, and the gap to plans CP-SAT has about a minute for.
- ``nodes``: 64 nodes against 20,000 with the same queue and the same running jobs.
- ``live``: a part of the generated log of Eurora on 64 nodes, and among 20,000 the others of which
  one job holds: what a decision costs while the simulation goes on, and with it what is kept
  between decisions.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure
import numpy as np
import views

from cpsched import logs, systems
from cpsched.cp import cpsat
from cpsched.papers.generators.eurora import EURORA, EuroraOptions
from cpsched.simulation.simulate import simulate
from cpsched.systems.mapping import fit
from cpsched.util.spec import build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.decision import Decision
    from cpsched.model.view import View

LOGS = {
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", "ctc-sp2"),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", "hpc2n"),
}
#: ``lookahead`` for the queue alone: its plan then has the thesis's objective.
BARE = "lookahead:arrivals=0,aging=1000000000"
FAITHFUL = ("cph-0", "cph-3", "cp-0", "cp-3")
#: What is timed, by estimate: those that remember are told whether to plan the whole queue, as
#: what they remember is of a simulation that somebody else drives.
SAMPLED = {
    "actual": (*FAITHFUL, "lookahead", BARE),
    "requested": FAITHFUL,
}
#: How many jobs each plans, where the objective is the slowdown; None: all.
WINDOWS = {"cph-3": 100, "cp-3": 20, **dict.fromkeys(SAMPLED["actual"][4:])}


# --- sample ---------------------------------------------------------------------------------------


@dataclass
class Reference:
    """
    Solves some decisions for long, and compares the plans followed with what it finds.

    Values are sums of predicted slowdowns, ``(q + d + s) / d``, and of delays, ``(s - e) / d``
    with e the second a job could start at alone.
    """

    limit: float
    step: int
    seconds: float = 0.0
    num: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    _seen: int = 0

    def __call__(self, view: View, decisions: Mapping[str, Decision]) -> None:
        """Compare at every ``step``-th call."""
        self._seen += 1
        if self.step and self._seen % self.step == 0:
            solved: dict[int, dict[str, Any]] = {}
            for name, decision in decisions.items():
                if name in WINDOWS:
                    window = min(WINDOWS[name] or len(view.waiting), len(view.waiting))
                    if window not in solved:
                        solved[window] = self._solve(view, window)
                    if len(solved[window]["starts"]):
                        self._compare(name, decision, solved[window], view.now)

    def _solve(self, view: View, window: int) -> dict[str, Any]:
        """Return the best starts found for the first jobs by slowdown, on the pool."""
        planner = build("dispatchers", f"cp-pool:search=default,objective=slowdown,window={window}")
        planner.reset(view.system, 0)
        built = planner.build(view)
        begin = time.process_time()
        limits = cpsat.SolverLimits(deterministic=self.limit, presolve=True)
        answer = cpsat.solve(built.model, built.start, limits)
        self.seconds += time.process_time() - begin
        self.num += 1
        handles = [int(variable.name.removeprefix("start_")) for variable in built.start]
        position = {handle: at for at, handle in enumerate(view.waiting.handle.tolist())}
        jobs = view.waiting.take(np.array([position[handle] for handle in handles]))
        return {
            "handles": handles,
            "waited": view.now - jobs.submit,
            "duration": np.maximum(jobs.runtime_estimate, 1),
            "earliest": np.array([variable.domain.min() for variable in built.start]),
            "starts": np.array(answer.values),
            "proven": answer.status is cpsat.SolverStatus.OPTIMAL,
        }

    def _compare(self, name: str, decision: Decision, best: dict[str, Any], now: int) -> None:
        """Note a plan's gap, if it has a start for every job the reference has."""
        start = {action.handle: 0 for action in decision.actions}
        if decision.planned_starts is not None:
            planned = np.asarray(decision.planned_starts.start) - now
            start.update(zip(list(decision.planned_starts.handle), planned.tolist(), strict=True))
        if any(handle not in start for handle in best["handles"]):
            return
        own = np.array([start[handle] for handle in best["handles"]])
        best_values = {key: _value(key, best, best["starts"]) for key in ("slowdown", "delay")}
        mine = {key: _value(key, best, own) for key in best_values}
        self.rows.append(
            {
                "dispatcher": name,
                "jobs": len(own),
                "proven": best["proven"],
                "slowdown_gap": mine["slowdown"] / best_values["slowdown"] - 1,
                "delay_gap": mine["delay"] / best_values["delay"] - 1
                if best_values["delay"]
                else None,
            }
        )


def _value(what: str, best: dict[str, Any], starts: Any) -> float:
    duration = best["duration"]
    if what == "delay":
        return float(((starts - best["earliest"]) / duration).sum())
    return float(((best["waited"] + duration + starts) / duration).sum())


def sample(args: argparse.Namespace) -> None:
    results: dict[str, Any] = {}
    for log in args.log or LOGS:
        file, system = LOGS[log]
        workload = logs.read(measure.archive_log(args.traces, file)).select(first=args.jobs or None)
        fitted = fit(workload, systems.load(system))
        for predictor in args.predictor or ("actual", "requested"):
            reference = Reference(args.reference, args.reference_step)
            names = tuple(args.dispatcher or SAMPLED.get(predictor, SAMPLED["requested"]))
            # The first call of each loads modules.
            for name in names:
                simulate(workload.select(first=300), fitted.system, dispatcher=name)
            observer = views.Sample(
                system=fitted.system,
                names=names,
                step=args.step,
                count=args.count,
                repeats=args.repeats,
                look=reference,
            )
            simulate(fitted, dispatcher=args.driver, predictor=predictor, observers=(observer,))
            _print_sample(f"{log}, {predictor}", observer, reference, args)
            results[f"{log} {predictor}"] = {
                "seconds": observer.seconds,
                "waiting": observer.waiting,
                "gaps": reference.rows,
            }
            measure.save(args.json, results)


def _print_sample(
    title: str, observer: views.Sample, reference: Reference, args: argparse.Namespace
) -> None:
    if not observer.waiting:
        print(f"\n{title}: no decision with 20 to 200 waiting jobs in {args.jobs:,} jobs")
        return
    rows = [_sample_row(name, observer, reference) for name in observer.names]
    middle, num = int(np.median(observer.waiting)), len(observer.waiting)
    columns = ("dispatcher", "median ms", "p99 ms", "max ms", "solver %", "solved: median ms")
    columns += ("p99 ms", "plans compared", "slowdown gap %", "delay gap %", "reference proven %")
    measure.table(f"{title}: {num} decisions, {middle} jobs waiting in the middle", columns, rows)
    if reference.num:
        each = reference.seconds / reference.num
        print(f"\n{reference.num} reference solves, {each:.1f} CPU s each in the mean.")


def _sample_row(name: str, observer: views.Sample, reference: Reference) -> tuple[object, ...]:
    milliseconds = 1000 * np.array(observer.seconds[name])
    called = np.array([stats.get("solver_calls", 0) > 0 for stats in observer.stats[name]])
    gaps = [row for row in reference.rows if row["dispatcher"] == name]
    delays = [row["delay_gap"] for row in gaps if row["delay_gap"] is not None]
    cells: list[object] = [f"`{name}`", *_spread(milliseconds), float(milliseconds.max())]
    cells += [f"{100 * called.mean():.0f}", *(_spread(milliseconds[called]))]
    cells.append(len(gaps))
    cells.append(f"{100 * np.mean([row['slowdown_gap'] for row in gaps]):.2f}" if gaps else "-")
    cells.append(f"{100 * np.mean(delays):.1f}" if delays else "-")
    cells.append(f"{100 * np.mean([row['proven'] for row in gaps]):.0f}" if gaps else "-")
    return tuple(cells)


def _spread(values: Any) -> tuple[object, object]:
    if not len(values):
        return "-", "-"
    return float(np.median(values)), float(np.quantile(values, 0.99))


# --- nodes ----------------------------------------------------------------------------------------

#: Dispatchers, and what each does.
SIZED = (
    ("cph-0", "CP-SAT on the pool"),
    ("cph-3", "CP-SAT on the pool"),
    ("lookahead", "plans the queue"),
    ("easy", ""),
)


def nodes(args: argparse.Namespace) -> None:
    rows: list[tuple[object, ...]] = []
    for waiting in args.waiting:
        seeds = _seeds(args, waiting)
        for name, does in SIZED:
            small, large = (
                np.array([1000 * _one(args, name, size, seed, waiting) for seed in seeds])
                for size in args.nodes
            )
            rows.append(
                (
                    waiting,
                    f"`{name}`",
                    does,
                    float(np.median(small)),
                    float(np.median(large)),
                    float(np.median(large / small)),
                    float(large.sum() / small.sum()),
                )
            )
    low, high = args.nodes
    measure.table(
        f"{low} against {high:,} nodes: {args.views} views each, CPU of a decision",
        (
            *("waiting", "dispatcher", "does", f"{low} nodes: median ms"),
            *(f"{high:,} nodes: median ms", "median ratio", "ratio of sums"),
        ),
        rows,
    )


def _seeds(args: argparse.Namespace, waiting: int) -> list[int]:
    """Return the first seeds whose views leave something to decide: some jobs fit, some do not."""
    seeds: list[int] = []
    greedy = build("dispatchers", "greedy")
    for seed in range(1000):
        view = views.Made(args.nodes[0], args.nodes[0], waiting, args.running, seed).view()
        greedy.reset(view.system, 0)
        if 0 < len(greedy.decide(view).actions) < waiting:
            seeds.append(seed)
        if len(seeds) == args.views:
            return seeds
    raise measure.BenchmarkError(f"few views with {waiting} waiting jobs leave anything to decide")


def _one(args: argparse.Namespace, name: str, size: int, seed: int, waiting: int) -> float:
    view = views.Made(size, args.nodes[0], waiting, args.running, seed).view()
    dispatcher = build("dispatchers", name)
    dispatcher.reset(view.system, 0)
    # What is looked at for the first time (who submitted what) is not what a decision costs.
    dispatcher.decide(view)
    return views.timed(dispatcher, view, args.repeats)[1]


# --- live -----------------------------------------------------------------------------------------

LIVE = ("cph-0", "lookahead")


def live(args: argparse.Namespace) -> None:
    jobs_of_log = EURORA.generate(EuroraOptions(jobs=args.length, seed=args.seed))
    part = jobs_of_log.take(np.arange(len(jobs_of_log))[args.skip :][: args.jobs])
    if not len(part):
        raise measure.BenchmarkError(
            f"no jobs beyond the first {args.skip:,} of {len(jobs_of_log):,}"
        )
    small = fit(part, systems.load("eurora"))
    logs = (small, views.among(small, args.nodes))
    few = fit(part.select(first=200), small.system)
    rows = []
    for name in args.dispatcher or LIVE:
        for log in (few, views.among(few, args.nodes)):
            simulate(log, dispatcher=name, predictor=args.predictor)
        costs, counts = [], []
        for log in logs:
            runs = [
                simulate(log, dispatcher=name, predictor=args.predictor) for _ in range(args.runs)
            ]
            counts.append(runs[0].decisions["decisions"])
            costs.append(1000 * min(run.timing["loop_cpu_s"] for run in runs) / counts[-1])
        rows.append((f"`{name}`", len(part), *counts, *costs, costs[1] / costs[0]))
        print(*rows[-1], flush=True)
    own = small.system.num_nodes
    measure.table(
        f"{own} nodes, and the same log among {args.nodes:,}: CPU of the loop",
        (
            *("dispatcher", "jobs", f"{own} nodes: decisions", f"{args.nodes:,} nodes: decisions"),
            *(f"{own} nodes: ms a decision", f"{args.nodes:,} nodes: ms a decision", "ratio"),
        ),
        rows,
    )


# --- command line ---------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("sample", help="decisions of two simulated logs").add_argument
    add("--traces", type=Path, required=True, help="folder with the logs")
    add("--log", action="append", choices=tuple(LOGS), help="only this one")
    add("--predictor", action="append", help="[actual and requested]; repeat for more")
    add("--dispatcher", action="append", help="[the papers', plan]; repeat for more")
    add("--driver", default="easy", help="who drives the simulation [easy]")
    add("--jobs", type=int, default=5_000, help="first jobs of each log; 0: all [5000]")
    add("--step", type=int, default=5, help="every so many-th decision is taken [5]")
    add("--count", type=int, default=200, help="until there are so many [200]")
    add("--repeats", type=int, default=3, help="of each, the least CPU time counts [3]")
    add("--reference-step", type=int, default=20, help="every so many-th gets a reference; 0: none")
    add("--reference", type=float, default=45.0, help="its deterministic time [45: a minute]")
    add("--json", type=Path, help="file for every single figure")
    add = commands.add_parser("nodes", help="64 nodes against 20,000").add_argument
    add("--nodes", type=int, nargs=2, default=(64, 20_000), help="small and large [64 20000]")
    add("--waiting", type=int, nargs="+", default=(30, 150), help="jobs waiting [30 150]")
    add("--running", type=int, default=60, help="jobs that run, as far as they fit [60]")
    add("--views", type=int, default=10, help="of each size [10]")
    add("--repeats", type=int, default=5, help="of each, the least CPU time counts [5]")
    add = commands.add_parser("live", help="a log on 64 nodes, and among 20,000").add_argument
    add("--nodes", type=int, default=20_000, help="of the large machine [20000]")
    add("--length", type=int, default=372_320, help="jobs of the generated log [372320]")
    add("--skip", type=int, default=340_000, help="jobs left out at the beginning [340000]")
    add("--jobs", type=int, default=1_000, help="jobs simulated from there on [1000]")
    add("--seed", type=int, default=1, help="of the generator [1]")
    add("--predictor", default="requested", help="[requested]")
    add("--dispatcher", action="append", help="[cph-0, plan]; repeat for more")
    add("--runs", type=int, default=3, help="of each, the least CPU time counts [3]")
    args = parser.parse_args()
    numbers = ("step", "count", "repeats", "views", "running", "length", "runs")
    if any(getattr(args, name, 1) < 1 for name in numbers) or getattr(args, "skip", 0) < 0:
        parser.error("all numbers must be at least 1")
    return args


def main() -> None:
    args = arguments()
    names = ("cpsched", "numpy", "ortools")
    print(", ".join(f"{name} {version}" for name, version in measure.versions(names).items()))
    {"sample": sample, "nodes": nodes, "live": live}[args.command](args)


if __name__ == "__main__":
    main()
