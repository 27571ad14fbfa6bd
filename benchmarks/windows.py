"""
What a co-allocation decision costs while its whole window of 200 jobs waits.

    python benchmarks/windows.py [--jobs N] [--seed N] [--only NAME ...]

All jobs are there from the start, so every decision but the last ones has 200 to choose from: on
1,024 nodes IPSCHED on three workloads of the thesis (Table 7.2), on 1,408 of TSUBAME AUCSCHED1 to 3
with 15 bids a job (Tables 8.4 and 8.6; of AUCSCHED1 150 in all). CPU time of whole
decisions, of one process and one core; for the solver's part and what missed its limit see the
counts. One run each; prints a Markdown table.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import measure
import numpy as np

from cpsched import systems
from cpsched.simulation.simulate import Settings, simulate
from cpsched.systems.mapping import fit
from cpsched.util import registry
from cpsched.util.spec import build

if TYPE_CHECKING:
    from cpsched.model.decision import Decision
    from cpsched.model.view import View
    from cpsched.systems.mapping import Fitted

#: Jobs a decision looks at.
WINDOW = 200
#: By name: workload of the thesis, machine, and dispatcher.
CASES = {
    f"{dispatcher} {workload}": (workload, system, dispatcher)
    for workloads, system, dispatchers in (
        (("I", "III", "V"), "esp-1024", ("ipsched:order=basic", "ipsched:order=multifactor")),
        (("8.4-7", "8.4-8"), "tsubame2", ("aucsched1:order=basic", "aucsched2:order=basic")),
        (("8.6-3",), "tsubame2", ("aucsched3:order=basic",)),
    )
    for dispatcher in dispatchers
    for workload in workloads
}


@dataclass
class Timer:
    """Times the decisions of a dispatcher that have a whole window waiting."""

    decide: Any
    seconds: list[float] = field(default_factory=list)
    stats: list[dict[str, float]] = field(default_factory=list)

    def __call__(self, view: View) -> Decision:
        """Decide."""
        begin = time.process_time()
        decision: Decision = self.decide(view)
        if len(view.waiting) >= WINDOW:
            self.seconds.append(time.process_time() - begin)
            self.stats.append(dict(decision.stats or {}))
        return decision

    def total(self, name: str) -> float:
        """Return the sum of a count over the timed decisions."""
        return sum(stats.get(name, 0) for stats in self.stats)


def jobs_of(workload: str, system: str, jobs: int, seed: int) -> Fitted:
    """Return a workload whose jobs are all submitted at once."""
    generator = registry.load("generators", "heterogeneous")
    ranges = workload.startswith("8.4")
    options = generator.options(
        workload=workload, jobs=jobs, initial=jobs, seed=seed, ranges=ranges
    )
    return fit(generator.generate(options), systems.load(system))


def row_of(name: str, jobs: int, seed: int) -> list[object]:
    """Run a case; return its row of the table."""
    workload, system, spec = CASES[name]
    fitted = jobs_of(workload, system, jobs, seed)
    # The first run loads modules.
    settings = Settings(runtime_model="gpu-scaling", seed=seed)
    simulate(fitted.workload.select(first=20), fitted.system, dispatcher=spec, settings=settings)
    dispatcher = build("dispatchers", spec)
    timer = Timer(dispatcher.decide)
    dispatcher.decide = timer
    simulate(fitted, dispatcher=dispatcher, settings=settings)
    milliseconds = 1000 * np.array(timer.seconds)
    solved = np.array([stats.get("solver_calls", 0) > 0 for stats in timer.stats])
    return [
        spec, workload, len(milliseconds), int(solved.sum()),
        float(np.median(milliseconds)),
        float(np.median(milliseconds[solved])) if solved.any() else None,
        float(np.quantile(milliseconds, 0.99)), float(milliseconds.max()),
        int((milliseconds > 3000).sum()), int(timer.total("window_halved")),
    ]  # fmt: skip


def main() -> None:
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description="Time decisions with 200 jobs waiting.")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    if options.jobs <= WINDOW:
        raise measure.BenchmarkError(f"--jobs is {options.jobs}, must be more than {WINDOW}")
    measure.table(
        f"Decisions with {WINDOW} jobs waiting or more",
        ("dispatcher", "workload", "decisions", "with solver", "median [ms]",
         "median with solver [ms]", "p99 [ms]", "largest [ms]", "over 3 s", "missed the limit"),
        [row_of(name, options.jobs, options.seed) for name in options.only],
    )  # fmt: skip


if __name__ == "__main__":
    main()
