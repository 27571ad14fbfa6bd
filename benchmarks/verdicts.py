"""
How often a comparison gives a verdict where nothing differs, and the right one where much does.

    python benchmarks/verdicts.py runs LOGS RUNS [--log NAME]...
    python benchmarks/verdicts.py rates RUNS [--called NAME] > verdicts.csv

``runs`` simulates windows of ten logs of LOGS (a folder as of ``grid.toml``) and appends a line of
figures for each run to the file RUNS; runs that are there are not made again. ``rates`` asks
:func:`cpsched.study.comparisons.results_of` for the verdicts on those runs.

Equal dispatchers: the same dispatcher on the same jobs, but with submits that are 0 or 1 s later
(drawn for each job), or with requested times that are 1, 7 or 23 s longer. One run each is seed 0;
five repetitions are seeds 0 to 4. Every verdict is wrong.

Unequal dispatchers or options: all pairs of eight that have 100 repetitions on a window, three
dispatchers under the load of the log, and under 2 and 4 % more (submits closer together). The
geometric mean of the 100 paired ratios is the truth. Where it is 8 to 15 % away from 1, each block
of five repetitions is asked for its verdict, which is right, wrong, or none.

The window k of a log is 1,000 jobs in a row, from the first draw of ``default_rng(1000 + k)`` on
under which jobs wait 5 min or more in the mean under EASY. Five logs were looked at when the rule
was chosen, the other five were not. Takes about 15 min on one core.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import logs, systems
from cpsched.metrics import jobs as job_metrics
from cpsched.metrics.definitions import ALL as ALL_JOBS
from cpsched.metrics.definitions import LEADING, read
from cpsched.metrics.nominal import nominal
from cpsched.metrics.summary import summarize
from cpsched.metrics.window import finished
from cpsched.simulation.simulate import simulate
from cpsched.study.comparisons import results_of
from cpsched.study.inputs import jittered
from cpsched.study.paired import DAY, Sums, ratio
from cpsched.study.results import RunResult
from cpsched.study.study import JITTER, Baseline
from cpsched.systems.mapping import fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.systems.mapping import Fitted

_HERE = Path(__file__).resolve().parent
#: Logs by name: file, system, and whether it was looked at when the rule was chosen.
LOGS = {
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", "grid/kth-sp2-nodes.toml", True),
    "SDSC-BLUE": ("SDSC-BLUE-2000-4.2-cln.swf.gz", "sdsc-blue", True),
    "RICC": ("RICC-2010-2.swf.gz", "ricc", True),
    "CERIT": ("cerit-wagap-2013.ext.csv.gz", "cerit-wagap", True),
    "UB-HPC": ("ub-hpc-week.ext.csv.gz", "ub-hpc", True),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", "grid/ctc-sp2-nodes.toml", False),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", "grid/hpc2n-nodes.toml", False),
    "Intrepid": ("ANL-Intrepid-2009-1.swf.gz", "anl-intrepid", False),
    "CEA-Curie": ("CEA-Curie-2011-2.1-cln.swf.gz", "cea-curie", False),
    "Eurora": ("eurora-2014.ext.csv.gz", "eurora", False),
}
WINDOWS, JOBS, DRAWS, LEAST_WAIT = 2, 1000, 40, 300
REPETITIONS, FEW = 100, 5
#: Of which variants are equal to themselves.
EQUALS = ("easy", "slurm", "greedy", "easy:backfill=sjf")
#: Dispatchers, and by how much the load is raised, whose pairs are compared.
UNEQUAL = (
    *(("easy", ""), ("slurm", ""), ("greedy", "")),
    *(("easy", "load 1.02"), ("slurm", "load 1.02"), ("greedy", "load 1.02")),
    *(("easy", "load 1.04"), ("greedy", "load 1.04")),
)
#: What is moved in a variant, and by how many seconds; of submits, the second number is a seed.
MOVES = (("submit", 1), ("submit", 2), ("requested", 1), ("requested", 7), ("requested", 23))
#: Least and largest difference of a pair that must be seen.
TRUTHS = 0.08, 0.15


@dataclass(frozen=True, slots=True)
class Case:
    """A run to make: a window of a log, a dispatcher, what is moved, and the seed of the jitter."""

    log: str
    window: int
    dispatcher: str
    moved: str
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Everything, to find it in a file by."""
        return self.log, self.window, self.dispatcher, self.moved, self.seed


def cases(log: str, window: int, *, many: bool) -> Iterator[Case]:
    """Yield the runs on a window of a log: of equal dispatchers, or many of unequal ones."""
    if many:
        for seed in range(REPETITIONS):
            for dispatcher, load in UNEQUAL:
                yield Case(log, window, dispatcher, load, seed)
        return
    for dispatcher in EQUALS:
        for what in ("", *(f"{kind} {how}" for kind, how in MOVES)):
            for seed in range(FEW):
                yield Case(log, window, dispatcher, what, seed)


def fitted(part: Workload, system: System, case: Case) -> Fitted:
    """Return the jobs of a run on their system."""
    kind, _, number = case.moved.partition(" ")
    if kind == "submit":
        part = jittered(part, 10_000 + int(number), 1)
    if kind == "load":
        first = int(part.submit[0])
        sooner = first + np.round((part.submit - first) / float(number)).astype(np.int64)
        part = part.with_columns(submit=sooner)
    if case.seed:
        part = jittered(part, case.seed, JITTER)
    mapped = fit(part, system)
    if kind != "requested":
        return mapped
    # Limits of queues refuse no other jobs than before.
    longer = mapped.workload.requested_time + int(number)
    return replace(mapped, workload=mapped.workload.with_columns(requested_time=longer))


def simulated(part: Workload, system: System, case: Case) -> dict[str, Any]:
    """Return the figures of a run, and its sums by day."""
    jobs = fitted(part, system, case)
    run = simulate(jobs, dispatcher=case.dispatcher)
    values = read(summarize(run.schedule))[ALL_JOBS]
    return {
        "key": case.key,
        "figures": {name: values.get(name) for name in LEADING},
        "days": {
            name: [sums.total.tolist(), sums.weight.tolist()]
            for name, sums in _days(run.schedule).items()
        },
    }


def _days(schedule: Schedule) -> dict[str, Sums]:
    done = finished(schedule)
    submit = schedule.workload.submit
    day = (submit - submit[0]) // DAY
    num_days = int(day[-1]) + 1
    runtime = nominal(schedule).runtime[done]
    response = job_metrics.turnaround(submit[done], schedule.end[done])
    by_day = partial(Sums.of, day[done], num_days=num_days)
    area = runtime * nominal(schedule).width[done]
    return {
        "wait_mean_s": by_day(job_metrics.wait(submit[done], schedule.start[done])),
        "bounded_slowdown_mean": by_day(job_metrics.bounded_slowdown(response, runtime)),
        "response_by_area_s": by_day(response, weight=area),
    }


def make(folder: Path, path: Path, names: Sequence[str]) -> None:
    """Make the runs that a file lacks, first few repetitions of each log."""
    finished_keys = {tuple(line["key"]) for line in _lines(path)}
    for many, log in product((False, True), names):
        file, system_name, _ = LOGS[log]
        missing = [
            case
            for k in range(WINDOWS)
            for case in cases(log, k, many=many)
            if case.key not in finished_keys
        ]
        if not missing:
            continue
        began = process_time()
        own = _HERE / system_name
        system = systems.load(str(own) if own.is_file() else system_name)
        workload = logs.read(folder / file)
        parts = [_window(workload, system, k) for k in range(WINDOWS)]
        with path.open("a", encoding="utf-8", buffering=1) as lines:
            for case in missing:
                part = parts[case.window]
                if part is not None:
                    lines.write(json.dumps(simulated(part, system, case)) + "\n")
        spent = process_time() - began
        print(f"{log}: {len(missing)} runs, {spent:.0f} CPU s", file=sys.stderr, flush=True)


def _window(workload: Workload, system: System, number: int) -> Workload | None:
    """Return jobs in a row that wait under EASY; None if none are drawn."""
    rng = np.random.default_rng(1000 + number)
    for _ in range(DRAWS):
        first = int(rng.integers(len(workload) - JOBS))
        part = workload.take(np.arange(first, first + JOBS))
        run = simulate(fit(part, system), dispatcher="easy")
        if (read(summarize(run.schedule))[ALL_JOBS]["wait_mean_s"] or 0) >= LEAST_WAIT:
            return part
    return None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_file():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


Answers = dict[tuple[str, str, str], list[tuple[float, float]]]
#: A variant on a window: log, window, dispatcher, what is moved.
Variant = tuple[str, int, str, str]
ANY, ALL = "any of the six", "all six"
_NAMES = LEADING
COLUMNS = (
    *("rule", "dispatchers", "figure", "pairs", "right [%]", "wrong [%]", "95 % interval"),
    *("pairs held out", "of these [%]"),
)


def runs_of(paths: Sequence[Path]) -> dict[Variant, dict[int, RunResult]]:
    """Return the runs of some files by variant and seed."""
    runs: dict[Variant, dict[int, RunResult]] = defaultdict(dict)
    for line in (line for path in paths for line in _lines(path)):
        log, window, dispatcher, what, seed = line["key"]
        known = {name: value for name, value in line["figures"].items() if value is not None}
        days = {
            (ALL_JOBS, name): Sums(*(np.array(values) for values in pair))
            for name, pair in line["days"].items()
        }
        runs[log, window, dispatcher, what][seed] = RunResult(
            path=Path(), workload=log, system=str(window), dispatcher=f"{dispatcher} {what}",
            predictor="requested", seed=seed, metrics={ALL_JOBS: known}, days=days,
            timing={}, dispatcher_spec=dispatcher, allocator=None,
        )  # fmt: skip
    return runs


def verdicts(ours: Sequence[RunResult], theirs: Sequence[RunResult]) -> dict[str, str]:
    """Return the library's verdict on each figure of paired runs."""
    baseline = Baseline(dispatcher=theirs[0].dispatcher)
    rows = results_of([list(ours), list(theirs)], baseline)
    return {row.metric: row.verdict for row in rows if row.compared is not None}


def side(verdict: str) -> str:
    """Return ``lower`` or ``higher``, whatever else a verdict says; empty: no verdict."""
    return next((word for word in ("lower", "higher") if verdict.startswith(word)), "")


def of_equal(runs: dict[Variant, dict[int, RunResult]]) -> Answers:
    """Return the answers on equal dispatchers whose figure differs in some repetition."""
    answers: Answers = defaultdict(list)
    for (log, window, dispatcher, what), ours in runs.items():
        theirs = runs.get((log, window, dispatcher, ""), {})
        seeds = range(FEW)
        if what.split(" ")[0] not in ("submit", "requested") or not all(
            seed in ours and seed in theirs for seed in seeds
        ):
            continue
        for number in (1, 2, FEW):
            called = "one run" if number == 1 else f"{number} repetitions"
            sides = [[of[seed] for seed in range(number)] for of in (ours, theirs)]
            answer_by_name = verdicts(*sides)
            differ = {
                name
                for name in _NAMES
                if any(
                    ours[seed].values.get(name) != theirs[seed].values.get(name) for seed in seeds
                )
            }
            wrong = {name: float(bool(side(answer_by_name.get(name, "")))) for name in differ}
            if wrong:
                wrong[ANY] = max(wrong.values())
            for name, value in wrong.items():
                answers[f"equal, {called}", name, log].append((0.0, value))
    return answers


def of_unequal(runs: dict[Variant, dict[int, RunResult]]) -> Answers:
    """Return the answers on pairs that differ by 8 to 15 %, the mean over blocks of repetitions."""
    answers: Answers = defaultdict(list)
    complete = {
        key: of
        for key, of in runs.items()
        if (key[2], key[3]) in UNEQUAL and len(of) == REPETITIONS
    }
    for (first_variant, ours), (second_variant, theirs) in combinations(complete.items(), 2):
        if first_variant[:2] != second_variant[:2]:
            continue
        truths = {name: way for name in _NAMES if (way := _truth(ours, theirs, name))}
        if not truths:
            continue
        counts = {(number, name): [0, 0] for number in (1, FEW) for name in truths}
        for number, first in product((1, FEW), range(0, REPETITIONS, FEW)):
            sides = [[of[seed] for seed in range(first, first + number)] for of in (ours, theirs)]
            answer_by_name = verdicts(*sides)
            for name, way in truths.items():
                answered = side(answer_by_name.get(name, ""))
                counts[number, name][0] += answered == way
                counts[number, name][1] += bool(answered) and answered != way
        blocks = REPETITIONS // FEW
        for (number, name), (right, wrong) in counts.items():
            called = "one run" if number == 1 else f"{number} repetitions"
            for figure in (name, ALL):
                shares = right / blocks, wrong / blocks
                answers[f"8 to 15 %, {called}", figure, first_variant[0]].append(shares)
    return answers


def _truth(ours: dict[int, RunResult], theirs: dict[int, RunResult], name: str) -> str:
    """Return which side a figure is on by all repetitions; empty: by less or more than asked."""
    seeds = range(REPETITIONS)
    values = [[of[seed].values.get(name) or 0.0 for seed in seeds] for of in (ours, theirs)]
    estimate = ratio(*values)
    if estimate is None or not TRUTHS[0] <= abs(estimate.mean - 1) <= TRUTHS[1]:
        return ""
    return "lower" if estimate.mean < 1 else "higher"


def rows_of(answers: Answers, rule: str) -> Iterator[list[object]]:
    """Yield a row for each question and figure: of all logs, and of those held out."""
    for question, name in product(dict.fromkeys(key[0] for key in answers), (*_NAMES, ANY, ALL)):
        by_log = {log: answers.get((question, name, log), []) for log in LOGS}
        every = [value for values in by_log.values() for value in values]
        held_out = [value for log, values in by_log.items() if not LOGS[log][2] for value in values]
        if not every:
            continue
        at = int(question.startswith("equal"))
        right, wrong = np.array(every).mean(axis=0).tolist()
        low, high = wilson((right, wrong)[at], len(every))
        shown = f"{100 * right:.1f}", f"{100 * wrong:.1f}", f"{100 * low:.1f} to {100 * high:.1f}"
        others = f"{100 * np.array(held_out)[:, at].mean():.1f}" if held_out else "-"
        yield [rule, question, name.removesuffix("_s"), len(every), *shown, len(held_out), others]


def wilson(share: float, number: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of independent pairs."""
    z = 1.96
    middle = (share + z * z / (2 * number)) / (1 + z * z / number)
    half = z / (1 + z * z / number)
    half *= (share * (1 - share) / number + z * z / (4 * number**2)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def main() -> None:
    """Make runs, or print the rates as CSV."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("runs")
    runs.add_argument("logs", type=Path)
    runs.add_argument("runs", type=Path)
    runs.add_argument("--log", action="append", choices=LOGS)
    rates = commands.add_parser("rates")
    rates.add_argument("runs", type=Path, nargs="+")
    rates.add_argument("--called", default="now", help="name of the rule, in the first column")
    chosen = parser.parse_args()
    if chosen.command == "runs":
        make(chosen.logs, chosen.runs, chosen.log or list(LOGS))
        return
    known = runs_of(chosen.runs)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(rows_of(of_equal(known) | of_unequal(known), chosen.called))


if __name__ == "__main__":
    main()
