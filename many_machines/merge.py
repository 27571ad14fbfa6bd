"""The runs of machines as one run of them all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from cpsched.api import load_run
from cpsched.api.errors import RunError
from cpsched.api.generators import let_go, shared
from cpsched.api.simulation import Run, Schedule, Segments
from cpsched.api.tools import Spec
from many_machines.whole import Machines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cpsched.api import SavedRun
    from cpsched.api.logs import Fitted
    from cpsched.api.model import IntArray

_OF_JOBS = (
    *("start", "end", "outcome"),
    *("ranking_estimate", "runtime_estimate", "runtime_bound"),
)
#: Segments that are put into order at once, about.
_PIECE = 1 << 20


def merged(
    fitted: Fitted, codes: IntArray, machines: Machines, folders: Sequence[tuple[int, Path]]
) -> Run:
    """
    Return one run of several machines.

    Of a long log a part is in memory at a time, and one machine's run.

    Parameters
    ----------
    fitted
        The whole log on all machines.
    codes
        The machine of each job, shape ``(J,)``.
    folders
        Number of a machine and its run's folder; of each machine that has jobs.

    Raises
    ------
    RunError
        If a run is not of its machine's jobs, differs from the others in its settings, or
        rejects other jobs than all machines together.
    """
    rows_of = _Rows(codes, len(machines.names))
    # Where a log only counts processors, each node group has become one node.
    spans = Machines.of(fitted.system).spans
    found = _Found(fitted, _number(folders))
    for at, folder in folders:
        found.add(load_run(folder), rows_of[at], spans[at][0])
    dispatcher, predictor, settings = found.policy
    return Run(
        dispatcher=str(Spec("per-machine", (("dispatcher", dispatcher),))),
        predictor=predictor,
        settings=settings,
        schedule=found.schedule(),
        decisions=dict(found.decisions),
        predictions=dict(found.predictions),
        timing=_summed(found.timing),
    )


class _Found:
    """
    What was found in the runs of some machines.

    Attributes
    ----------
    policy
        Dispatcher, predictor and settings of all of them.
    decisions, predictions, timing
        Their sums.
    """

    def __init__(self, fitted: Fitted, segments: int) -> None:
        self.policy: Any = None
        self.decisions: Counter[str] = Counter()
        self.predictions: Counter[str] = Counter()
        self.timing: Counter[str] = Counter()
        self._fitted = fitted
        self._columns = {name: shared(len(fitted.workload)) for name in _OF_JOBS}
        self._segments = _Segments(segments, len(fitted.system.resources))
        self._rejected: set[int] = set()
        self._never_started: dict[int, str] = {}

    def add(self, run: SavedRun, rows: IntArray, node: int) -> None:
        """Add the run of a machine: the rows of its jobs, and its first node."""
        ids = run.schedule.workload.job_id
        if len(ids) != len(rows) or (ids != self._fitted.workload.job_id[rows]).any():
            raise RunError(f"{run.folder} is not of the jobs of its machine; remove it")
        policy = run.dispatcher, run.predictor, run.settings
        if self.policy not in (None, policy):
            raise RunError(f"{run.folder} has other settings than other machines; remove it")
        self.policy = policy
        for name, (values, _) in self._columns.items():
            values[rows] = getattr(run.schedule, name)
            let_go(values, 0, len(values))
        self._fitted.workload.let_go()
        self._segments.add(run.schedule.segments, rows, node)
        self._rejected |= set(rows[list(run.schedule.rejected)].tolist())
        for row, reason in run.schedule.never_started.items():
            self._never_started[int(rows[row])] = reason
        self.decisions.update(run.decisions)
        self.predictions.update(run.predictions)
        self.timing.update(run.timing)

    def schedule(self) -> Schedule:
        """Return the schedule of all machines, with the reasons that hold for all together."""
        reasons = dict(self._fitted.rejected)
        if self._rejected != reasons.keys():
            raise RunError("the machines reject other jobs than all of them together")
        of_jobs: dict[str, Any] = {name: shown for name, (_, shown) in self._columns.items()}
        return Schedule(
            workload=self._fitted.workload,
            system=self._fitted.system,
            segments=self._segments.in_order(),
            rejected=reasons,
            overrun=self.policy[2].overrun,
            never_started=self._never_started,
            **of_jobs,
        )


def _summed(timing: Counter[str]) -> dict[str, float]:
    """Return the seconds of all loops; what is of single decisions is of each machine alone."""
    return {name: float(timing[name]) for name in ("loop_s", "loop_cpu_s") if name in timing}


class _Rows:
    """The jobs of each machine, in the log's order."""

    def __init__(self, codes: IntArray, machines: int) -> None:
        order, self._order = shared(len(codes))
        order[:] = np.argsort(codes, kind="stable")
        edges = np.arange(machines + 1)
        self._edges = np.searchsorted(codes, edges, sorter=self._order).tolist()

    def __getitem__(self, at: int) -> IntArray:
        rows: IntArray = self._order[self._edges[at] : self._edges[at + 1]].copy()
        let_go(self._order, 0, len(self._order))
        return rows


def _number(folders: Sequence[tuple[int, Path]]) -> int:
    """Return the number of segments of some runs."""
    counts = [pq.read_metadata(path / "allocations.parquet").num_rows for _, path in folders]
    return sum(counts)


class _Segments:
    """Segments of one machine after another, each in order, put together."""

    def __init__(self, number: int, kinds: int) -> None:
        self._room = {
            name: shared(number, *([kinds] if name == "amount" else []))
            for name in Segments.__slots__
        }
        self._ends = [0]

    def add(self, segments: Segments, rows: IntArray, node: int) -> None:
        """Add those of a machine: the row of each of its jobs, and its first node."""
        here = slice(self._ends[-1], self._ends[-1] + len(segments))
        for name, (values, _) in self._room.items():
            values[here] = getattr(segments, name)
            let_go(values, 0, len(values))
        job, node_of = self._room["job"][0], self._room["node"][0]
        job[here] = rows[segments.job]
        node_of[here] += node
        self._ends.append(here.stop)

    def in_order(self) -> Segments:
        """Return all, by start, job and node."""
        number = self._ends[-1]
        sorted_ = {name: shared(*shown.shape) for name, (_, shown) in self._room.items()}
        at = 0
        for rows in self._pieces():
            start, job, node = (self._room[name][1][rows] for name in ("start", "job", "node"))
            rows = rows[np.lexsort((node, job, start))]
            here = slice(at, at + len(rows))
            for name, (values, _) in sorted_.items():
                values[here] = self._room[name][1][rows]
                let_go(values, 0, number)
                let_go(self._room[name][1], 0, number)
            at += len(rows)
        return Segments(**{name: shown for name, (_, shown) in sorted_.items()})

    def _pieces(self) -> Iterator[IntArray]:
        """Yield the segments of some seconds at a time, later ones later."""
        start = self._room["start"][1]
        sample = np.sort(start[:: max(1, len(start) // 65536)])
        cuts = np.unique(sample[:: max(1, len(sample) * _PIECE // max(1, len(start)))])[1:]
        before = self._ends[:-1]
        for cut in (*cuts.tolist(), None):
            after = [
                end if cut is None else begin + int(np.searchsorted(start[begin:end], cut))
                for begin, end in zip(before, self._ends[1:], strict=True)
            ]
            pairs = zip(before, after, strict=True)
            yield np.concatenate([np.arange(begin, end) for begin, end in pairs])
            before = after


def about(
    machines: Machines, log: Any, run: Run, parts: Sequence[tuple[int, Path]]
) -> dict[str, Any]:
    """Return what ``run.json`` says of how a merged run was made."""
    return {
        "workload": run.schedule.workload.title,
        "system": machines.whole.name,
        "dispatcher": run.dispatcher,
        "predictor": run.predictor,
        "seed": run.settings.seed,
        "source": {"path": str(log)},
        "machines": {machines.names[at]: path.name for at, path in parts},
    }
