"""The runs that a report shows in detail: one repetition of each, and the schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.report.lead import base_runs, importance
from cpsched.study.tables import grouped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.figures.looks import Who
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
        Those whose schedules are shown: a baseline first, then the run of the finding.
    """

    name: str
    runs: tuple[RunResult, ...]
    shown: tuple[RunResult, ...]

    @property
    def charted(self) -> tuple[RunResult, ...]:
        """The runs with a Gantt chart among the figures: a baseline, and the run of the finding."""
        return self.shown[:2]


def places(results: Results, about: Mapping[str, Who]) -> list[Place]:
    """
    Return the workloads and systems of a study, and the runs to show.

    Parameters
    ----------
    about
        The dispatcher and predictor that the finding of each place is about.
    """
    found: dict[str, list[RunResult]] = {}
    for repetitions in grouped(results.runs):
        first = min(repetitions, key=lambda run: run.seed)
        found.setdefault(f"{first.workload} on {first.system}", []).append(first)
    most = max(1, min(_HERE, _ALL // len(found)))
    return [
        Place(
            name=name, runs=tuple(runs), shown=tuple(_shown(results, runs, about.get(name))[:most])
        )
        for name, runs in found.items()
    ]


def is_baseline(results: Results, run: RunResult) -> bool:
    """Tell whether a run is what others are compared with."""
    return (run.dispatcher, run.predictor) in base_runs(results)


def _shown(results: Results, runs: Sequence[RunResult], about: Who | None) -> list[RunResult]:
    """Return a baseline, the run of the finding, and the others by slowdown."""
    ranked = sorted(runs, key=importance(results, [about] if about else []))
    # One baseline is enough to compare with: others of the baseline's dispatcher come later.
    others = [run for run in ranked if not is_baseline(results, run)]
    bases = [run for run in ranked if is_baseline(results, run)]
    base = next((run for run in bases if about and run.predictor == about[1]), None)
    first = [base] if base else (bases or others)[:1]
    return [*first, *(run for run in [*others, *bases] if run not in first)]
