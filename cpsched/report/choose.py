"""Which runs a report looks at closely: one repetition of each, and the schedules it shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cpsched.study.tables import grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.study.results import Results, RunResult

#: Schedules shown of a workload on a system, and of all together, at most.
_HERE, _ALL = 6, 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """
    A workload on a system.

    Attributes
    ----------
    name
        ``workload on system``.
    runs
        The first repetition of each dispatcher and predictor, in the study's order.
    shown
        Those whose schedules are shown, the baseline first.
    """

    name: str
    runs: tuple[RunResult, ...]
    shown: tuple[RunResult, ...]

    @property
    def charted(self) -> tuple[RunResult, ...]:
        """The runs with a Gantt chart: the baseline, and the one with the least slowdown."""
        return (self.shown[0], *sorted(self.shown[1:], key=_slowdown)[:1])


def places(results: Results) -> list[Place]:
    """Return the workloads and systems of a study, and the runs to look at."""
    found: dict[str, list[RunResult]] = {}
    for repetitions in grouped(results.runs):
        first = min(repetitions, key=lambda run: run.seed)
        found.setdefault(f"{first.workload} on {first.system}", []).append(first)
    most = max(1, min(_HERE, _ALL // len(found)))
    return [
        Place(name=name, runs=tuple(runs), shown=tuple(_shown(results, runs, most)))
        for name, runs in found.items()
    ]


def is_baseline(results: Results, run: RunResult) -> bool:
    """Tell whether a run is what others are compared with."""
    base = asdict(results.baseline)
    return all(name in (None, run.labels[label]) for label, name in base.items())


def _shown(results: Results, runs: Sequence[RunResult], most: int) -> list[RunResult]:
    """Return all runs if they are few; else the first baseline and those with least slowdown."""
    base = next((run for run in runs if is_baseline(results, run)), runs[0])
    rest = [run for run in runs if run is not base]
    if len(runs) > most:
        rest = sorted(rest, key=_slowdown)
    return [base, *rest][:most]


def _slowdown(run: RunResult) -> float:
    found = run.figures.get("bounded_slowdown_mean")
    return float("inf") if found is None else float(found)
