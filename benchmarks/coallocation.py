"""
Co-allocation on CPU-GPU machines: the experiments of IPSCHED and AUCSCHED1 to 3, and the papers'.

    cpsched compare benchmarks/esp.toml --out DIR
    cpsched compare aucsched --out DIR2
    cpsched compare aucsched-tree --out DIR3
    python benchmarks/coallocation.py DIR DIR2 DIR3 [--results FILE]

Five tables of the papers (``coallocation_printed.py``) beside runs on our generated workloads:
``ESP`` (experiments 1 to 8 of IPSCHED), ``A.2`` (workloads I to V), ``A.3`` (TSUBAME), ``A.4``
(1,024 nodes on a tree), ``A.5`` (TSUBAME's tree). Which row a run belongs to follows from its
workload and its dispatcher's options, whatever the study calls them.

With ``--results`` the figures of all runs are kept in a file, and runs that are only there are
shown too; without a folder what is kept is shown. Prints for each table ours beside the paper's,
which way each method differs from backfilling there and here, and what decisions cost.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
import coallocation_printed as printed
import measure
import numpy as np

from cpsched.base.spec import Spec, resolved
from cpsched.metrics import jobs as job_metrics
from cpsched.metrics import placement
from cpsched.study import load_run
from cpsched.study.paired import Estimate, ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coallocation_printed import Printed

    from cpsched.study import SavedRun

#: Methods of the papers as dispatchers. A.3 to A.5 do not say which priority; basic is taken.
METHODS = {
    "Backfill": "slurm-backfill:priority=basic",
    "Backfill multifactor": "slurm-backfill:priority=multifactor",
    "Backfill tree": "slurm-backfill:priority=basic,topology=tree",
    "IPSCHED P": "ipsched:priority=basic,objective=priority",
    "IPSCHED P*r": "ipsched:priority=basic,objective=priority-cores",
    "IPSCHED P multifactor": "ipsched:priority=multifactor,objective=priority",
    "IPSCHED P*r multifactor": "ipsched:priority=multifactor,objective=priority-cores",
    "AUCSCHED1": "aucsched1:priority=basic",
    "AUCSCHED1 multifactor": "aucsched1:priority=multifactor",
    "AUCSCHED2": "aucsched2:priority=basic",
    "AUCSCHED3": "aucsched3:priority=basic",
}
STUDIES: dict[str, tuple[Printed, ...]] = {
    "ESP": printed.ESP,
    "A.2": printed.A2,
    "A.3": printed.A3,
    "A.4": printed.A4,
    "A.5": printed.A5,
}
#: What the measures are called in tables.
TITLES = {
    "wait_h": "wait [h]",
    "slowdown": "slowdown",
    "utilization": "utilization [%]",
    "runtime_h": "run time [h]",
    "packing_factor": "packing",
    "fragmentation": "fragmentation",
    "spread": "spread (ratio)",
    "span": "spread (span)",
    "switch": "common switch",
}
#: Auctions on a line of nodes.
_ON_LINES = ("AUCSCHED1", "AUCSCHED2")


@dataclass(frozen=True, order=True)
class Case:
    """
    One simulation.

    Attributes
    ----------
    workload
        As in the tables of the papers.
    method
        A name of :data:`METHODS`.
    faithful
        Whether an auction is held as the thesis prints it, not as corrected.
    nodesets
        From how many nodesets a bid on a line comes at most; 0: from as many as it takes.
    """

    workload: str
    method: str
    seed: int
    faithful: bool = False
    nodesets: int = 0


def method_of(dispatcher: str) -> tuple[str | None, bool, int]:
    """Return the method that a specification is, None if none, and the auction's variant."""
    spec = Spec.parse(dispatcher)
    options = resolved("dispatchers", spec)
    faithful, nodesets = options.pop("faithful", False), options.pop("nodesets", None)
    for method, text in METHODS.items():
        known = Spec.parse(text)
        if known.name == spec.name and options.items() <= resolved("dispatchers", known).items():
            return method, faithful, nodesets or 0
    return None, faithful, nodesets or 0


def case_of(about: Mapping[str, Any]) -> Case | None:
    """Return which case a run is, from its ``run.json``; None if it is of no table."""
    options = about["arguments"]["source"].get("options", {})
    if "size_jitter" in options:
        workload = "ESP+-4" if options["size_jitter"] else "ESP"
    else:
        workload = options.get("workload")
    method, faithful, nodesets = method_of(about["dispatcher"])
    if not any((workload, method) == row[:2] for rows in STUDIES.values() for row in rows):
        return None
    return Case(workload, str(method), options["seed"], faithful, nodesets)


def read(folder: Path, results: campaign.Results) -> None:
    """Take the figures of a campaign's runs."""
    for _, path in campaign.finished(folder):
        run = load_run(path)
        case = case_of(run.about)
        if case is not None:
            results.add(case, {**figures(run), **cost(run)})


def variant(method: str, faithful: bool, nodesets: int) -> tuple[bool, int]:
    """Return what of an auction's variant holds for a method."""
    auction, line = method.startswith("AUCSCHED"), method.startswith(_ON_LINES)
    return faithful and auction, nodesets if line else 0


def figures(run: SavedRun) -> dict[str, Any]:
    """
    Return what is kept of a run: means and deviations over jobs as the papers have them.

    The theoretical run time is of the log's run times, also where ranges of GPUs made jobs faster:
    A.3's utilization times run time gives Table 8.4's length.
    """
    schedule = run.schedule
    workload = schedule.workload
    wait = job_metrics.wait(workload.submit, schedule.start)
    ran = schedule.end - schedule.start
    places = placement.places(schedule)
    seconds = int(schedule.end.max() - workload.submit.min())
    cores = workload.units * workload.request[:, 0]
    per_job = {
        "wait_h": wait / 3600,
        "slowdown": job_metrics.slowdown(wait, ran),
        "packing_factor": placement.packing_factor(schedule, places),
        "fragmentation": places.blocks,
        "spread": places.spread,
        "span": places.span,
    }
    topology = schedule.system.topology
    if topology.level_sizes:
        per_job["switch"] = topology.common_level(places.first, places.last)
    return {
        **{name: (float(v.mean()), float(v.std())) for name, v in per_job.items()},
        "runtime_h": seconds / 3600,
        "utilization": 100
        * float((cores * workload.runtime).sum() / (seconds * schedule.system.total[0])),
        "used": run.summary["utilization"],
        "jobs": len(wait),
    }


def cost(run: SavedRun) -> dict[str, Any]:
    """Return what decisions took (seconds), and their counts."""
    about = run.about
    return {
        "timing": dict(run.timing),
        "decisions": about["decisions"],
        "deterministic": about["deterministic"],
        "source": about["versions"]["source"][:10],
    }


def baseline(method: str) -> str:
    """Return the backfilling that the papers compare a method with."""
    if method == "AUCSCHED3":
        return "Backfill tree"
    return "Backfill multifactor" if method.endswith("multifactor") else "Backfill"


class Study:
    """
    The runs of one table of the papers.

    Parameters
    ----------
    rows
        The table.
    results
        All runs there are.
    faithful, nodesets
        Which runs of auctions are looked at.
    """

    def __init__(
        self,
        name: str,
        rows: Sequence[Printed],
        results: campaign.Results,
        *,
        faithful: bool = False,
        nodesets: int = 0,
    ) -> None:
        self.name, self.rows = name, rows
        self._runs: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
        for case, row in sorted(results.rows.items()):
            if (case.faithful, case.nodesets) == variant(case.method, faithful, nodesets):
                self._runs[case.workload, case.method][case.seed] = row
        self._printed = {(row.workload, row.method): row.figures for row in rows}
        self.measures = [name for name in TITLES if any(name in row.figures for row in rows)]

    @property
    def measured(self) -> bool:
        """Whether there is a run of one of its rows."""
        return any(self.runs(row.workload, row.method) for row in self.rows)

    def runs(self, workload: str, method: str) -> dict[int, dict[str, Any]]:
        """Return the runs of one row of the table by seed."""
        return self._runs.get((workload, method), {})

    def beside(self) -> None:
        """Print ours beside the paper's."""
        columns = ["workload", "method", "seeds"]
        columns += [f"{TITLES[m]} {who}" for m in self.measures for who in ("paper", "ours")]
        rows = []
        for row in self.rows:
            runs = list(self.runs(row.workload, row.method).values())
            if runs:
                cells: list[object] = [row.workload, row.method, len(runs)]
                for name in self.measures:
                    cells += [_paper(row.figures.get(name)), _ours([run.get(name) for run in runs])]
                rows.append(cells)
        measure.table(f"{self.name}: the paper's and ours", columns, rows)
        print("\nMeans; in brackets the deviation over a run's jobs, after ± that over the seeds.")

    def directions(self) -> None:
        """Print how each method differs from backfilling, in the paper and here."""
        columns = ["workload", "method"]
        columns += [f"{TITLES[m]} {who}" for m in self.measures for who in ("paper", "ours")]
        rows, counts = [], {"same": 0, "other": 0, "unclear": 0}
        for row in self.rows:
            base = self._printed.get((row.workload, baseline(row.method)))
            ours = self.runs(row.workload, row.method)
            if base is None or row.method == baseline(row.method) or not ours:
                continue
            cells: list[object] = [row.workload, row.method]
            theirs = self.runs(row.workload, baseline(row.method))
            for name in self.measures:
                said = _change(row.figures.get(name), base.get(name))
                found = _paired(ours, theirs, name)
                cells += [_percent(said), "-" if found is None else _interval(found)]
                if said is not None and found is not None:
                    counts[_agreement(said, found)] += 1
            rows.append(cells)
        measure.table(f"{self.name}: against backfilling", columns, rows)
        print(
            "\nChange in percent, ours with the 95 % interval of the geometric mean over the seeds."
            f" {counts['same']} go the paper's way, {counts['other']} the other way,"
            f" {counts['unclear']} cannot be told (the interval holds no change, or the paper"
            " prints none)."
        )

    def costs(self) -> None:
        """Print what decisions took."""
        by_method: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self.rows:
            by_method[row.method] += self.runs(row.workload, row.method).values()
        measure.table(
            f"{self.name}: what decisions cost",
            ("method", "runs", "decisions", "solver calls", "median [ms]", "p99 [ms]", "max [ms]",
             "halved", "CPU a run [s]"),
            [_cost_row(method, runs) for method, runs in by_method.items() if runs],
        )  # fmt: skip
        print("\nDecisions, solver calls, CPU: a run's mean. Median, p99: the largest of all runs.")


def _cost_row(method: str, runs: Sequence[dict[str, Any]]) -> list[object]:
    def mean(name: str) -> float:
        return float(np.mean([run["decisions"].get(name, 0) for run in runs]))

    def most(name: str) -> float:
        return 1000 * max(float(run["timing"][name]) for run in runs)

    return [
        method,
        len(runs),
        round(mean("decisions")),
        round(mean("solver_calls")),
        most("decision_median_s"),
        most("decision_p99_s"),
        most("decision_max_s"),
        round(sum(run["decisions"].get("window_halved", 0) for run in runs)),
        float(np.mean([run["timing"]["loop_cpu_s"] for run in runs])),
    ]


def _mean(value: Any) -> float:
    return float(value[0] if isinstance(value, list | tuple) else value)


def _paper(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value[0]:g} ({value[1]:g})" if isinstance(value, tuple) else f"{value:g}"


def _ours(values: Sequence[Any]) -> str:
    """Return a mean over seeds, the jobs' deviation, and the seeds'."""
    if any(value is None for value in values):
        return "-"
    means = [_mean(value) for value in values]
    digits = 1 if np.mean(means) >= 30 else 3 if np.mean(means) < 1.1 else 2
    jobs = [value[1] for value in values if isinstance(value, list | tuple)]
    text = f"{np.mean(means):.{digits}f}"
    if jobs:
        text += f" ({np.mean(jobs):.{digits}f})"
    return text if len(means) == 1 else f"{text} ±{np.std(means, ddof=1):.{digits}f}"


def _change(value: Any, base: Any) -> float | None:
    if value is None or base is None or not _mean(base):
        return None
    return _mean(value) / _mean(base) - 1


def _paired(ours: dict[int, Any], theirs: dict[int, Any], name: str) -> Estimate | None:
    """Return the ratio of a measure over the seeds both have."""
    seeds = sorted(ours.keys() & theirs.keys())
    pairs = [(ours[seed].get(name), theirs[seed].get(name)) for seed in seeds]
    if not pairs or any(None in pair for pair in pairs):
        return None
    return ratio(*([_mean(value) for value in values] for values in zip(*pairs, strict=True)))


def _agreement(said: float, found: Estimate) -> str:
    """Tell whether the paper's change and ours have the same direction."""
    low, high = (found.mean, found.mean) if found.low is None else (found.low, found.high)
    if said == 0 and low == high == 1:
        return "same"
    if said == 0 or high is None or low <= 1 <= high:
        return "unclear"
    return "same" if (said > 0) == (found.mean > 1) else "other"


def _percent(change: float | None) -> str:
    if change is None:
        return "-"
    return f"{100 * change:+.0f}" if abs(change) >= 0.1 else f"{100 * change:+.1f}"


def _interval(found: Estimate) -> str:
    text = _percent(found.mean - 1)
    if found.low is None or found.high is None:
        return text
    return f"{text} ({_percent(found.low - 1)} to {_percent(found.high - 1)})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="*", help="folders of cpsched compare")
    parser.add_argument("--results", type=Path, help="file where figures of runs are kept")
    parser.add_argument("--study", action="append", choices=STUDIES, help="repeat; [all]")
    parser.add_argument(
        "--faithful", action="store_true", help="show auctions as the thesis prints them"
    )
    parser.add_argument(
        "--nodesets", type=int, default=0, help="show bids on a line of so many nodesets [all]"
    )
    options = parser.parse_args()
    if not options.folder and not options.results:
        parser.error("a folder of cpsched compare, or --results")
    results = campaign.Results(options.results, Case)
    for folder in options.folder:
        read(folder, results)
    sources = {row["source"] for row in results.rows.values()}
    if len(sources) > 1:
        print(f"\nResults of {len(sources)} versions of the source.")
    for name in options.study or STUDIES:
        study = Study(
            name, STUDIES[name], results, faithful=options.faithful, nodesets=options.nodesets
        )
        if study.measured:
            study.beside()
            study.directions()
            study.costs()


if __name__ == "__main__":
    main()
