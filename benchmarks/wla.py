"""
WLA: what a decision costs, how far the greedy is from the best, which windows of logs, the tables.

    python benchmarks/wla.py speed [--jobs N] [--largest N]
    python benchmarks/wla.py gap [--problems N]
    python benchmarks/wla.py windows FOLDER
    python benchmarks/wla.py tables DIR [--map FILE.svg]
    python benchmarks/wla.py draws DIR...
    python benchmarks/wla.py beyond DIR

``speed`` lets jobs of 1 to 4,096 nodes or so wait on a line of 40,960, all from the start, and
times every decision with a whole window. ``gap`` solves random problems. ``windows`` finds the
parts of the logs in FOLDER that ``wla.toml`` names. ``tables`` reads the folder of the study
``wla.toml``, and prints tables I to VI beside the paper's for both readings of it; ``draws`` those
of ``wla-draws.toml``, in several parts or one; ``beyond`` that of ``wla-beyond.toml``.

Improvements are per cent of the default's figure, the mean over the seeds: of utilization (equation
11, from the first submit to the last end) by how much it is higher, of waits and responses lower.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
import measure
import numpy as np
import pyarrow.parquet as pq
from wla_paper import ALPHA, BETA, PAPER

from cpsched import logs, systems
from cpsched.cp import cpsat
from cpsched.model.workload import Workload
from cpsched.papers.wla.knapsack import Knapsack
from cpsched.papers.wla.solvers import branch_and_bound, greedy
from cpsched.simulation.simulate import simulate
from cpsched.systems.mapping import fit
from cpsched.util.spec import build

if TYPE_CHECKING:
    from cpsched.model.decision import Decision
    from cpsched.model.view import View

NODES = 40_960
SPEED = (
    "wla",
    "wla:backfill=none",
    "wla:backfill=none,solver=greedy",
    "wla:backfill=none,solver=cp-sat,window=20",
    "wla:backfill=none,solver=greedy,window=50",
    "wla:backfill=none,solver=cp-sat,window=50",
    "wla:backfill=none,solver=cp-sat,window=50,tight=yes",
)


def speed(args: argparse.Namespace) -> None:
    """Print the CPU time of decisions."""
    rows = [_decisions(spec, args.jobs, args.largest) for spec in SPEED]
    measure.table(
        f"Decisions with a whole window on {NODES:,} nodes, jobs of 1 to {args.largest:,}, ms CPU",
        ["dispatcher", "decisions", "slots, mean", "median", "p99", "max"],
        rows,
    )


def _decisions(spec: str, num_jobs: int, largest: int) -> tuple[object, ...]:
    # OR-tools is imported with the first model.
    cpsat.new_model("warm")
    rng = np.random.default_rng(5)
    size = np.exp(rng.uniform(0, np.log(largest), num_jobs)).astype(np.int64)
    length = rng.integers(600, 36_000, num_jobs)
    workload = Workload.build(
        title="line",
        job_id=[str(job) for job in range(num_jobs)],
        submit=np.zeros(num_jobs, dtype=np.int64),
        runtime=length // rng.integers(1, 4, num_jobs),
        requested_time=length,
        units=size,
        request=np.ones((num_jobs, 1), dtype=np.int64),
        resources=("core",),
    )
    system = systems.parse(
        f'resources = ["core"]\n[[nodes]]\ngroup = "node"\ncount = {NODES}\ncore = 1\n',
        where="line",
    )
    dispatcher: Any = build("dispatchers", spec)
    decide, window = dispatcher.decide, dispatcher.solver.window
    seconds, slots = [], []

    def timed(view: View) -> Decision:
        begin = time.process_time()
        decision: Decision = decide(view)
        if len(view.waiting) >= window:
            seconds.append(time.process_time() - begin)
            slots.append(len(dispatcher._machine.available(None, None).first))
        return decision

    dispatcher.decide = timed
    simulate(fit(workload, system), dispatcher=dispatcher, predictor="requested")
    # The first one loads modules.
    ms = 1000 * np.array(seconds[1:])
    figures = (np.median(ms), np.percentile(ms, 99), ms.max())
    return (spec, len(ms), round(float(np.mean(slots)), 1), *(round(float(x), 2) for x in figures))


def gap(args: argparse.Namespace) -> None:
    """Print how far the greedy solution is from the best."""
    rng = random.Random(1)
    rows = []
    for jobs, slots in ((5, 2), (5, 5), (10, 4), (10, 10)):
        lost = []
        for _ in range(args.problems):
            # Slots and jobs of 1 to 4,096 nodes, evenly over their logarithms.
            sizes, capacity = (
                [int(4096 ** rng.random()) for _ in range(num)] for num in (jobs, slots)
            )
            problem = Knapsack(weight=[[size] * slots for size in sizes], capacity=capacity)
            best = problem.value(branch_and_bound(problem).slots)
            lost.append(1 - problem.value(greedy(problem)) / best if best else 0.0)
        rows.append(
            (jobs, slots, f"{np.mean(np.array(lost) > 0):.1%}", f"{np.mean(lost):.2%}",
             f"{np.percentile(lost, 99):.1%}", f"{max(lost):.1%}")
        )  # fmt: skip
    measure.table(
        f"Nodes that the greedy leaves free beyond branch and bound, {args.problems} problems each",
        ["jobs", "slots", "problems with a loss", "mean", "p99", "max"],
        rows,
    )


def windows(args: argparse.Namespace) -> None:
    """Print the parts of the logs by load."""
    for system_name, file, num in (
        ("sdsc-blue", "SDSC-BLUE-2000-4.2-cln.swf.gz", 4830),
        ("anl-intrepid", "ANL-Intrepid-2009-1.swf.gz", 2612),
    ):
        system = systems.load(system_name)
        jobs = fit(logs.read(args.folder / file), system).workload
        area = (jobs.units * jobs.runtime).astype(float)

        def load(part: slice, jobs: Any = jobs, area: Any = area, system: Any = system) -> float:
            span = int(jobs.submit[part][-1] - jobs.submit[part][0])
            return float(area[part].sum()) / span / system.num_nodes

        mean_load = load(slice(None))
        parts = [slice(first, first + num) for first in range(0, len(jobs) - num + 1, num)]
        loads = np.array([load(part) for part in parts])
        print(f"\n{file}: {len(jobs)} jobs, load {mean_load:.3f}, {len(parts)} windows of {num}")
        for what, at in (
            ("nearest the mean", int(np.argmin(abs(loads - mean_load)))),
            ("first", 0),
            ("fullest", int(np.argmax(loads))),
        ):
            first = int(jobs.submit[parts[at]][0])
            print(f"  {what}: window {at}, from = {first}, load {loads[at]:.3f}")


@dataclass(frozen=True)
class Figures:
    """Of one run: seconds, shares of 1; ``widest``: the mean wait of the widest twentieth."""

    wait: float
    longest: float
    widest: float
    response: float
    utilization: float
    contiguous: float

    def improvement(self, base: Figures, what: str) -> float:
        """Return the improvement over the default in per cent."""
        own, other = getattr(self, what), getattr(base, what)
        if not other:
            return 0.0
        return 100 * (own / other - 1 if what == "utilization" else 1 - own / other)


#: Figures of each run by workload and runtime model, dispatcher, and seed.
Runs = dict[tuple[str, str], dict[str, dict[int, Figures]]]


def runs_of(*folders: Path) -> Runs:
    """Read the finished runs of a study."""
    runs: Runs = {}
    for place, run in chain.from_iterable(map(campaign.finished, folders)):
        workload, _, model = place["workload"].partition(", ")
        by_seed = runs.setdefault((workload, model), {}).setdefault(place["dispatcher"], {})
        by_seed[place["seed"]] = figures_of(run)
    return runs


def figures_of(run: Path) -> Figures:
    """Read one run."""
    summary = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    jobs = pq.read_table(run / "jobs.parquet", columns=["submit", "start", "end", "units"])
    submit, start, end, units = (column.to_numpy() for column in jobs.columns)
    ran = ~np.isnan(end.astype(float))
    widest = np.argsort(-units[ran], kind="stable")[: max(ran.sum() // 20, 1)]
    # One row for each run of neighbouring nodes.
    owner = pq.read_table(run / "allocations.parquet", columns=["job"])["job"].to_numpy()
    pieces = np.unique(owner, return_counts=True)[1]
    return Figures(
        wait=float((start - submit)[ran].mean()),
        longest=float((start - submit)[ran].max()),
        widest=float((start - submit)[ran][widest].mean()),
        response=float((end - submit)[ran].mean()),
        utilization=float(summary["utilization"]["core"]),
        contiguous=float((pieces == 1).mean()),
    )


def improvements(runs: Runs, key: tuple[str, str], dispatcher: str, what: str) -> list[float]:
    """Return the improvement over ``easy`` for each seed that both have."""
    own, base = (runs.get(key, {}).get(name, {}) for name in (dispatcher, "easy"))
    return [own[seed].improvement(base[seed], what) for seed in sorted(own.keys() & base.keys())]


#: By reading: which solver of the paper's a dispatcher has.
READINGS = {
    "easy": {"wla": "branch-and-bound", "wla:solver=greedy": "greedy"},
    "none": {
        "wla:backfill=none": "branch-and-bound",
        "wla:backfill=none,solver=greedy": "greedy",
    },
}
LOGS = ("SDSC-BLUE", "ANL-Intrepid")
MEASURES = ("utilization", "wait", "response")
#: How models are called whose log is of scattered nodes.
SCATTERED = " scattered"


def tables(args: argparse.Namespace) -> None:
    """Print tables I to VI beside the paper's."""
    runs = runs_of(args.folder)
    for reading, log, what, scattered in product(READINGS, LOGS, MEASURES, ("", SCATTERED)):
        solvers = READINGS[reading]
        rows = []
        for beta in BETA:
            row = [f"{beta} %"]
            for alpha in ALPHA:
                key = (log, f"a{alpha} b{beta}{scattered}")
                cells = [improvements(runs, key, solver, what) for solver in solvers]
                ours = " / ".join(f"{np.mean(gains):.1f}" if gains else "-" for gains in cells)
                paper = " / ".join(
                    f"{PAPER[log, what, solver][alpha, beta]:.1f}" for solver in solvers.values()
                )
                row.append(f"{ours} ({paper})")
            rows.append(row)
        measure.table(
            f"{log}: improvement of {what} in per cent, B&B / greedy (the paper's);"
            f" log {scattered.strip() or 'contiguous'}, backfill={reading}",
            ["beta", *(f"alpha {alpha} %" for alpha in ALPHA)],
            rows,
        )
    others = sorted({workload for workload, _ in runs})
    rows = []
    for workload, alpha in product(others, ALPHA):
        key = (workload, f"a{alpha} b{alpha}")
        if key in runs:
            gains = [np.mean(improvements(runs, key, "wla", what) or [np.nan]) for what in MEASURES]
            share = [run.contiguous for run in runs[key].get("easy", {}).values()] or [np.nan]
            rows.append([workload, f"{alpha} %", *map(float, gains), 100 * float(np.mean(share))])
    measure.table(
        "Other windows: improvements in per cent, B&B, log contiguous",
        ["window", "alpha = beta", *MEASURES, "contiguous under easy, %"],
        rows,
    )
    if args.map:
        heat_maps(runs, args.map)


def heat_maps(runs: Runs, path: Path) -> None:
    """Draw the improvements by branch and bound, ours and the paper's."""
    from matplotlib import pyplot as plt

    sides = ("the paper", "ours, log contiguous", "ours, log scattered")
    picture, axes = plt.subplots(
        len(LOGS) * len(MEASURES), len(sides), figsize=(9, 15), layout="constrained"
    )
    for row, (log, what) in enumerate(product(LOGS, MEASURES)):
        grids = [
            [
                [PAPER[log, what, "branch-and-bound"][alpha, beta] for alpha in ALPHA]
                for beta in BETA
            ]
        ]
        for scattered in ("", SCATTERED):
            keys = [[(log, f"a{alpha} b{beta}{scattered}") for alpha in ALPHA] for beta in BETA]
            grids.append(
                [[float(np.mean(improvements(runs, key, "wla", what) or [np.nan])) for key in line]
                 for line in keys]
            )  # fmt: skip
        most = np.nanmax(np.abs(grids))
        for axis, grid, side in zip(axes[row], grids, sides, strict=True):
            image = axis.imshow(grid, cmap="RdBu", vmin=-most, vmax=most, origin="lower")
            axis.set_title(f"{log}, {what}: {side}", fontsize=7)
            axis.set_xticks(range(len(ALPHA)), [f"{alpha}" for alpha in ALPHA], fontsize=6)
            axis.set_yticks(range(len(BETA)), [f"{beta}" for beta in BETA], fontsize=6)
            axis.set_xlabel("alpha, %", fontsize=6)
            axis.set_ylabel("beta, %", fontsize=6)
            for y, x in product(range(len(BETA)), range(len(ALPHA))):
                dark = abs(grid[y][x]) > most / 2
                axis.text(
                    x, y, f"{grid[y][x]:.1f}", color="white" if dark else "black",
                    ha="center", va="center", fontsize=6,
                )  # fmt: skip
        picture.colorbar(image, ax=axes[row].tolist(), label="%")
    picture.savefig(path)


def draws(args: argparse.Namespace) -> None:
    """Print figures and improvements for each window of a log, and for all of them."""
    runs = runs_of(*args.folders)
    windows = sorted({workload for workload, _ in runs})
    groups = {window: [window] for window in windows}
    groups |= {
        f"{log}, all": [window for window in windows if window.startswith(log)] for log in LOGS
    }
    rows = [
        (
            name,
            model,
            dispatcher,
            *_summary(runs, [(workload, model) for workload in own], dispatcher),
        )
        for name, own in groups.items()
        for model in sorted({model for workload, model in runs if workload in own})
        for dispatcher in runs[own[0], model]
    ]
    measure.table(
        "Means and 95 % intervals, over the draws of a window or over the windows",
        ["window", "model", "dispatcher", "draws", "wait, h", "longest, h", "widest, h",
         "response, h", "utilization, %", "contiguous, %",
         *(f"gain in {what}, %" for what in MEASURES)],
        rows,
    )  # fmt: skip


def _summary(runs: Runs, keys: list[tuple[str, str]], dispatcher: str) -> list[object]:
    """Return the draws of some windows, means of figures, and improvements with intervals."""
    own = [list(runs.get(key, {}).get(dispatcher, {}).values()) for key in keys]
    means = [
        float(np.mean([np.mean([getattr(run, what) for run in part]) for part in own if part]))
        for what in ("wait", "longest", "widest", "response", "utilization", "contiguous")
    ]
    scales = (1 / 3600, 1 / 3600, 1 / 3600, 1 / 3600, 100, 100)
    gains = []
    for what in MEASURES:
        values = [improvements(runs, key, dispatcher, what) for key in keys]
        several = (
            [float(np.mean(gains_of_window)) for gains_of_window in values if gains_of_window]
            if len(keys) > 1
            else values[0]
        )
        gains.append(_with_interval(several))
    figures = [round(mean * scale, 2) for mean, scale in zip(means, scales, strict=True)]
    return [sum(map(len, own)), *figures, *gains]


def _with_interval(values: list[float]) -> str:
    """Return the mean and half the width of Student's t interval of 95 %."""
    from scipy.special import stdtrit

    mean, number = float(np.mean(values)), len(values)
    if number == 1:
        return f"{mean:.1f}"
    half = stdtrit(number - 1, 0.975) * np.std(values, ddof=1) / number**0.5
    return f"{mean:.1f} ± {half:.1f}"


def beyond(args: argparse.Namespace) -> None:
    """Print what other windows, limits and dispatchers come to."""
    for (workload, model), by_dispatcher in sorted(runs_of(args.folder).items()):
        rows = []
        for name, by_seed in by_dispatcher.items():
            seeds = list(by_seed.values())

            def mean(what: str, seeds: list[Figures] = seeds) -> float:
                return float(np.mean([getattr(run, what) for run in seeds]))

            rows.append(
                (name, len(seeds), mean("wait") / 3600, mean("longest") / 3600,
                 mean("response") / 3600, 100 * mean("utilization"), 100 * mean("contiguous"))
            )  # fmt: skip
        measure.table(
            f"{workload}, {model}: means over the seeds",
            ["dispatcher", "seeds", "wait, h", "longest, h", "response, h", "utilization, %",
             "contiguous, %"],
            rows,
        )  # fmt: skip


def arguments() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    parser_of_part = parts.add_parser("speed")
    parser_of_part.add_argument("--jobs", type=int, default=2000, help="that wait at first [2000]")
    parser_of_part.add_argument(
        "--largest", type=int, default=4096, help="nodes of the largest [4096]"
    )
    parser_of_part = parts.add_parser("gap")
    parser_of_part.add_argument("--problems", type=int, default=1000, help="of each size [1000]")
    parser_of_part = parts.add_parser("windows")
    parser_of_part.add_argument("folder", type=Path, help="where the logs are")
    parser_of_part = parts.add_parser("tables")
    parser_of_part.add_argument("folder", type=Path, help="of the study wla.toml")
    parser_of_part.add_argument("--map", type=Path, help="write heat maps to this file")
    parser_of_part = parts.add_parser("draws")
    parser_of_part.add_argument("folders", type=Path, nargs="+", help="of the study wla-draws.toml")
    parser_of_part = parts.add_parser("beyond")
    parser_of_part.add_argument("folder", type=Path, help="of the study wla-beyond.toml")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    globals()[args.part](args)


if __name__ == "__main__":
    main()
