"""The workloads and systems of a report: their runs, how these look, and which are shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from cpsched.report.figures.looks import looks
from cpsched.report.sentences import QUALITY
from cpsched.study.results import case_of
from cpsched.study.tables import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from cpsched.report.figures.looks import Look, Who
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
    looks
        How the runs of the study look, with the baselines of this place.
    """

    name: str
    runs: tuple[RunResult, ...]
    shown: tuple[RunResult, ...]
    looks: Mapping[Who, Look]

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
        found.setdefault(first.case, []).append(first)
    most = max(1, min(_HERE, _ALL // len(found)))
    every = looks((run.configuration for run in results.runs), base_runs(results))
    return [
        Place(
            name=name,
            runs=tuple(runs),
            shown=tuple(_shown(results, runs, about.get(name))[:most]),
            looks=_with_bases(every, base_runs(results, name)),
        )
        for name, runs in found.items()
    ]


def base_runs(results: Results, place: str | None = None) -> set[Who]:
    """Return the dispatchers and predictors that others are compared with, at a place or at any."""
    base = {name: one for name, one in asdict(results.baseline).items() if one is not None}
    return {
        run.configuration
        for run in results.runs
        if place in (None, case_of(run.labels))
        and all(run.labels[name] == one for name, one in base.items())
    }


def importance(
    results: Results, about: Collection[Who]
) -> Callable[[RunResult], tuple[bool, bool, float]]:
    """Return a sort key of runs: baselines, runs of the finding, then by slowdown."""
    bases = base_runs(results)

    def key(run: RunResult) -> tuple[bool, bool, float]:
        slowdown = run.figures.get(QUALITY)
        return (
            run.configuration not in bases,
            run.configuration not in about,
            float("inf" if slowdown is None else slowdown),
        )

    return key


def _with_bases(every: Mapping[Who, Look], bases: Collection[Who]) -> dict[Who, Look]:
    return {who: replace(look, is_base=who in bases) for who, look in every.items()}


def _shown(results: Results, runs: Sequence[RunResult], about: Who | None) -> list[RunResult]:
    """Return a baseline, the run of the finding, and the others by slowdown."""
    ranked = sorted(runs, key=importance(results, [about] if about else []))
    # One baseline is enough to compare with: others of the baseline's dispatcher come later.
    known = base_runs(results)
    others = [run for run in ranked if run.configuration not in known]
    bases = [run for run in ranked if run.configuration in known]
    base = next((run for run in bases if about and run.predictor == about[1]), None)
    first = [base] if base else (bases or others)[:1]
    return [*first, *(run for run in [*others, *bases] if run not in first)]
