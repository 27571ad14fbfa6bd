"""
Many simulations, each done once: results go to a file, one JSON line a run, and are found again.

A campaign can be cut anywhere; what it has done is not done again. Submit times are jittered by
a few seconds to tell a dispatcher's merit from luck: the same jittered log for every dispatcher.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import measure
import numpy as np

from cpsched import systems, traces
from cpsched.mapping import fit
from cpsched.metrics import jobs as job_metrics
from cpsched.metrics.window import ended
from cpsched.simulation.identity import source_digest
from cpsched.simulation.simulate import Settings, simulate
from cpsched.study.sources import jittered

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cpsched.mapping import Fitted
    from cpsched.model.workload import Workload
    from cpsched.simulation.simulate import Run

#: Logs by name: their file and their system.
LOGS = {
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", "hpc2n"),
    "eurora-2014": ("eurora-2014.ext.csv.gz", "eurora"),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", "ctc-sp2"),
    "SDSC-BLUE": ("SDSC-BLUE-2000-4.2-cln.swf.gz", "sdsc-blue"),
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", "kth-sp2"),
}
#: The largest delay of a submit, seconds.
JITTER = 5
#: Jobs of a run that only warms up.
_FEW = 300


@dataclass(frozen=True, order=True)
class Case:
    """
    One simulation.

    Attributes
    ----------
    jobs
        How many of the log's jobs, the first ones; 0: all.
    seed
        Of the jitter; 0: none, the log as it is.
    """

    log: str
    jobs: int
    predictor: str
    dispatcher: str
    seed: int = 0


@lru_cache(maxsize=8)
def _read(folder: Path, log: str) -> Workload:
    file, _ = LOGS[log]
    return traces.read(measure.archive_log(folder, file))


@lru_cache(maxsize=4)
def fitted(folder: Path, log: str, jobs: int, seed: int) -> Fitted:
    """Return a log's first jobs, jittered, on its system."""
    first = _read(folder, log).select(first=jobs or None)
    return fit(moved(first, seed), systems.load(LOGS[log][1]))


def figures(run: Run) -> dict[str, Any]:
    """Return what is kept of a run; waits in seconds, slowdowns bounded with tau = 10 s."""
    schedule = run.schedule
    done = ended(schedule)
    start, end = schedule.start[done], schedule.end[done]
    wait = job_metrics.wait(schedule.workload.submit[done], start)
    slow = job_metrics.bounded_slowdown(wait, end - start)
    counts = run.decisions
    return {
        "ended": len(wait),
        "bsld_mean": float(slow.mean()),
        "bsld_p99": float(np.quantile(slow, 0.99)),
        "wait_mean": float(wait.mean()),
        "wait_p999": float(np.quantile(wait, 0.999)),
        "wait_max": int(wait.max()),
        "cpu_s": run.timing["loop_cpu_s"],
        "decisions": counts["decisions"],
        "solver_calls": int(counts.get("solver_calls", 0)),
        "limit_hits": int(counts.get("limit_hits", 0)),
    }


def moved(workload: Workload, seed: int) -> Workload:
    """Return a log with jittered submits; seed 0: as it is."""
    return jittered(workload, seed, JITTER) if seed else workload


def source() -> str:
    """Return a short digest of the engine's source: which cpsched a result is of."""
    return source_digest("cpsched")[:10]


class Results:
    """
    A file of results, one JSON line a run; a later line of the same case counts.

    Parameters
    ----------
    path
        Made when the first result is added.
    kind
        The dataclass of its cases.
    """

    def __init__(self, path: Path, kind: Any = Case) -> None:
        self.path, self._kind = path, kind
        self.rows: dict[Any, dict[str, Any]] = {}
        if path.is_file():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                self._take(line, number)

    def _take(self, line: str, number: int) -> None:
        try:
            row = json.loads(line)
            self.rows[self._kind(**row["case"])] = row
        except (ValueError, KeyError, TypeError) as error:
            raise measure.BenchmarkError(
                f"{self.path}, line {number}: no result of a run ({error}); delete the line"
            ) from None

    def add(self, case: Any, found: dict[str, Any]) -> None:
        """Keep a result."""
        row = {"case": asdict(case), **found}
        self.rows[case] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


def carry_out(
    cases: Iterable[Case], results: Results, folder: Path, *, redo: frozenset[str], minutes: float
) -> int:
    """
    Run the cases that have no result yet; return how many are left when time is up.

    Parameters
    ----------
    redo
        Dispatchers whose results by another source of cpsched do not count.
    minutes
        No run is begun after so many minutes of wall time.
    """
    digest, begin, left = source(), time.monotonic(), 0
    warm: set[str] = set()
    for case in cases:
        known = results.rows.get(case)
        if known and not (case.dispatcher in redo and known["source"] != digest):
            continue
        if time.monotonic() - begin > 60 * minutes:
            left += 1
            continue
        if case.dispatcher not in warm:
            # Kernels are compiled, or loaded, at their first call: not on a run's account.
            warm.add(case.dispatcher)
            few = fitted(folder, case.log, min(case.jobs or _FEW, _FEW), 0)
            simulate(few, dispatcher=case.dispatcher, predictor=case.predictor)
        run = simulate(
            fitted(folder, case.log, case.jobs, case.seed),
            dispatcher=case.dispatcher,
            predictor=case.predictor,
            settings=Settings(seed=case.seed),
        )
        found = figures(run)
        results.add(case, {**found, "source": digest, "versions": _versions()})
        print(
            f"{case.log} {case.jobs or 'all'} {case.predictor} {case.dispatcher} seed {case.seed}:"
            f" {found['bsld_mean']:.2f}, {found['cpu_s']:.1f} CPU s",
            flush=True,
        )
    return left


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    return measure.versions(("cpsched", "numpy", "numba", "ortools"))
