"""Settings simulated on a window of a log, and compared with the site's."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cpsched.errors import RunError
from cpsched.metrics.definitions import title_of
from cpsched.metrics.jobs import wait
from cpsched.metrics.waits import began
from cpsched.metrics.window import finished
from cpsched.report.findings import COMMON_LONGEST, COMMON_WAIT, losses
from cpsched.report.results_table import load_results
from cpsched.study.campaign import carry_out
from cpsched.study.reader import load_run
from cpsched.study.scenarios import BASELINE, Scenario, what_if
from cpsched.study.study import JITTER
from cpsched.tuning.settings import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.report.results_table import ResultsTable
    from cpsched.simulation.observers import Observer
    from cpsched.study.comparisons import Result
    from cpsched.study.results import RunKey
    from cpsched.study.study import Study
    from cpsched.tuning.parts import Window
    from cpsched.tuning.settings import Choice
    from cpsched.util.types import IntArray

WAIT, LONGEST, TAIL = COMMON_WAIT, COMMON_LONGEST, "wait_p99.9_s"
UTILIZATION = "steady_utilization_core"
#: Groups of jobs whose mean wait must not rise: their kinds, and the fewest jobs of a group.
_KINDS, FEWEST = ("account", "queue", "partition", "size"), 100
#: A wait breaks no constraint if it rises by fewer seconds, or by a smaller share of the mean wait
#: of all jobs.
_LEAST_RISE, _LEAST_SHARE = 60, 0.05


@dataclass(frozen=True, kw_only=True)
class Limits:
    """
    Largest ratios to the site's settings.

    Attributes
    ----------
    wait
        Of the p99.9 wait and of the mean wait of each group of at least 100 jobs.
    longest
        Of the longest wait.
    utilization
        Smallest ratio of the utilization.
    strict_tails
        Whether the longest and the p99.9 wait count by their values, not with confidence, and may
        rise by half as much, because they may rise further on later jobs.
    """

    wait: float = 1.1
    longest: float = 1.2
    utilization: float = 0.95
    strict_tails: bool = False


@dataclass(frozen=True, kw_only=True)
class Broken:
    """
    A constraint that a setting breaks.

    Attributes
    ----------
    what
        The metric and the jobs (``mean wait of account physics``), or an outcome that more jobs
        have.
    ratio, limit
        The ratio to the site's settings, and the largest that is allowed. The ratio is infinite
        for an outcome.
    """

    what: str
    ratio: float
    limit: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """
    A choice of settings on a window.

    Attributes
    ----------
    choice
        The changed settings.
    wait, longest
        Mean and longest wait against the site's settings, of the jobs that ran under both.
    broken
        The broken constraints, that with the largest excess first.
    unclear
        Waits above their limits, whose intervals reach below.
    unchecked
        Groups with too few jobs for a constraint, and the number of their jobs, largest first.
    """

    choice: Choice
    wait: Result
    longest: Result
    broken: tuple[Broken, ...]
    unclear: tuple[Broken, ...]
    unchecked: tuple[tuple[str, int], ...] = ()

    @property
    def ratio(self) -> float:
        """Mean wait as a ratio to the site's. 1 where both are 0."""
        return _ratio(self.wait)

    @property
    def longest_ratio(self) -> float:
        """Longest wait as a ratio to the site's. 1 where both are 0."""
        return _ratio(self.longest)

    @property
    def excess(self) -> float:
        """Largest excess over a constraint, as a share of its limit; 0 if all are kept."""
        return max(map(_excess, self.broken), default=0.0)

    def as_data(self) -> dict[str, Any]:
        """Return the results as plain values by name; ratios are to the site's settings."""
        return {
            "choice": dict(self.choice),
            "mean_wait": as_data(self.wait),
            "longest_wait": as_data(self.longest),
            "broken": [asdict(item) for item in self.broken],
            "unclear": [asdict(item) for item in self.unclear],
        }


def as_data(row: Result) -> dict[str, Any]:
    """Return a comparison of waits as plain values by name."""
    return {
        "value_s": row.value,
        "base_s": row.base_value,
        "ratio": row.ratio,
        "interval": row.interval,
        "verdict": row.verdict,
    }


class _Runs:
    """Shows how many runs of a step have ended: a display of a campaign."""

    def __init__(self, show: Callable[[int, int], object]) -> None:
        self._show = show
        self._ended = self._runs = 0

    def begin(self, runs: int, existing: int) -> None:
        """Show the runs that exist."""
        self._ended, self._runs = existing, runs
        self._show(existing, runs)

    def note(self, sentence: str) -> None:
        """Show nothing: why runs are made again does not change the result."""

    def watch(self, title: str, jobs: int, epoch: int | None) -> Sequence[Observer]:  # noqa: ARG002
        """Return no observers: a run is short."""
        return ()

    def advance(self, *, failed: bool) -> None:  # noqa: ARG002
        """Count a run."""
        self._ended += 1
        self._show(self._ended, self._runs)


class Measuring:
    """
    Simulates choices on windows; runs are kept in a folder and never repeated.

    Parameters
    ----------
    study
        The site: one log, system, dispatcher and predictor.
    scenario_of
        Returns the scenario of a label and changed settings.
    folder
        Of all runs.
    limits
        The constraints.
    workers, executor
        As for :func:`~cpsched.study.campaign.carry_out`.
    progress
        Called with the step, and how many of its runs have ended and how many there are.

    Attributes
    ----------
    step
        What runs are made for; None: progress does not show them.
    """

    def __init__(
        self,
        study: Study,
        scenario_of: Callable[[str, Choice], Scenario],
        folder: Path,
        limits: Limits,
        *,
        workers: int = 1,
        executor: str | None = None,
        progress: Callable[[str, int, int], object] | None = None,
    ) -> None:
        self._study, self._scenario_of, self._limits = study, scenario_of, limits
        self._folder, self._workers, self._executor = folder, workers, executor
        self._progress = progress
        self.step: str | None = None

    def table(
        self,
        choices: Mapping[str, Choice],
        window: Window,
        repeat: int,
        *,
        with_record: bool = False,
    ) -> tuple[ResultsTable, dict[str, RunKey]]:
        """
        Return the results of choices by their labels, with the site's as the baseline.

        Parameters
        ----------
        with_record
            Whether the table compares the site's settings with the recorded waits.

        Returns
        -------
        tuple of (ResultsTable, dict of str to tuple)
            The table, and the runs by label, without choices that cannot be simulated.

        Raises
        ------
        RunError
            If the site's own settings cannot be simulated.
        """
        folder = self.path(window)
        seeds = (0,) if repeat == 1 else tuple(range(1, repeat + 1))
        workloads = tuple(
            replace(workload, start=window.first, end=window.end)
            for workload in self._study.workloads
        )
        site = replace(
            self._study,
            workloads=workloads,
            measure_from=window.start,
            seeds=seeds,
            jitter=0 if repeat == 1 else JITTER,
            by_group=True,
            ignore_recorded_waits=not with_record,
        )
        scenarios = [self._scenario_of(label, choice) for label, choice in choices.items()]
        study = what_if(site, scenarios, folder)
        outcome = carry_out(
            study, folder, jobs=self._workers, executor=self._executor, display=self._display()
        )
        # The site's settings come first.
        error = outcome.failed[0].error if outcome.failed else ""
        words = f"the current settings cannot be simulated: {error}"
        if len(outcome.failed) == outcome.runs:
            raise RunError(words)
        table = load_results(folder)
        ended = Counter(run.key[2] for run in table.study.runs)
        if ended[BASELINE] < repeat:
            raise RunError(words)
        return table, {run[2]: run for run in table.repetitions if ended[run[2]] == repeat}

    def waits(self, window: Window) -> tuple[IntArray, IntArray]:
        """Return submits and waits of a window's jobs under the site's settings, seconds."""
        table, _ = self.table({}, window, 1)
        (run,) = table.study.runs
        schedule = load_run(run.path).schedule
        submit = schedule.workload.submit
        ran = finished(schedule) & (submit >= window.start)
        return submit[ran], wait(submit[ran], began(schedule)[ran])

    def against(self, run: RunKey, base: RunKey, window: Window) -> Result | None:
        """Return the mean wait of a run against another one's, both in the table of a window."""
        table = load_results(self.path(window), baseline=base[2])
        return table.get(run, WAIT)

    def path(self, window: Window) -> Path:
        """Return the folder of a window's runs."""
        return self._folder / window.name.replace(" ", "-")

    def _display(self) -> _Runs | None:
        if self._progress is None or self.step is None:
            return None
        return _Runs(partial(self._progress, self.step))

    def measure(self, choices: Sequence[Choice], window: Window, repeat: int = 1) -> list[Measured]:
        """
        Return the choices on a window, in their order, without those that cannot be simulated.

        Equal ones are simulated once.

        Raises
        ------
        RunError
            If the site's own settings cannot be simulated.
        """
        labels = [digest_of(choice) for choice in choices]
        by_label = {label: choice for label, choice in zip(labels, choices, strict=True) if choice}
        if not by_label:
            return []
        table, runs = self.table(by_label, window, repeat)
        return [
            measured(table, runs[label], choice, self._limits)
            for label, choice in zip(labels, choices, strict=True)
            if label in runs and choice
        ]


def measured(table: ResultsTable, run: RunKey, choice: Choice, limits: Limits) -> Measured:
    """Return what a table says of a run with changed settings."""
    waits = list(_longer_waits(table, run, limits))
    broken = [item for item, confident in waits if confident] + list(_worse(table, run, limits))
    unclear = [item for item, confident in waits if not confident]
    few = [(title_of(row.group), round(jobs)) for row, jobs in _groups(table, run) if jobs < FEWEST]
    return Measured(
        choice=choice,
        wait=_row(table, run, WAIT),
        longest=_row(table, run, LONGEST),
        broken=tuple(sorted(broken, key=_excess, reverse=True)),
        unclear=tuple(sorted(unclear, key=_excess, reverse=True)),
        unchecked=tuple(sorted(few, key=lambda item: -item[1])),
    )


def _excess(broken: Broken) -> float:
    """Return by which share a constraint is exceeded."""
    return abs(broken.ratio / broken.limit - 1)


def _row(table: ResultsTable, run: RunKey, name: str) -> Result:
    row = table.get(run, name)
    if row is None:
        raise RunError(f"no job ran under {run[2]} and {BASELINE}: nothing can be compared")
    return row


def _ratio(row: Result) -> float:
    ratio = row.ratio
    if ratio is None:
        return float("inf") if row.value else 1.0
    return ratio


def _longer_waits(
    table: ResultsTable, run: RunKey, limits: Limits
) -> Iterator[tuple[Broken, bool]]:
    """
    Yield the waits above their limits, and whether they are with confidence.

    That means that their interval lies above. The longest and the p99.9 wait count by their values
    if they have no interval, or the limits say so. A wait must rise by a minute and by a twentieth
    of the mean wait of all jobs.
    """
    rise = 0.5 if limits.strict_tails else 1
    longest, tail = (1 + rise * (limit - 1) for limit in (limits.longest, limits.wait))
    checked = [("longest wait", _row(table, run, LONGEST), longest, True)]
    if (tail_row := table.get(run, TAIL)) is not None:
        checked.append(("p99.9 wait", tail_row, tail, True))
    for row, jobs in _groups(table, run):
        if jobs >= FEWEST:
            checked.append((f"mean wait of {title_of(row.group)}", row, limits.wait, False))
    least = max(_LEAST_RISE, _LEAST_SHARE * (_row(table, run, WAIT).base_value or 0))
    for what, row, limit, is_tail in checked:
        if _ratio(row) > limit and (row.difference or 0) >= least:
            by_value = is_tail and (limits.strict_tails or row.difference_interval is None)
            confident = by_value or _is_above(row, limit, least)
            yield Broken(what=what, ratio=_ratio(row), limit=limit), confident


def _groups(table: ResultsTable, run: RunKey) -> Iterator[tuple[Result, float]]:
    """Yield the mean waits of groups, and how many of their jobs ran under both settings."""
    for row in table.group_rows(run):
        jobs = table.get(run, "common_jobs", row.group)
        if row.metric == WAIT and row.group[0] in _KINDS and jobs is not None:
            yield row, jobs.value or 0


def _is_above(row: Result, limit: float, least: float) -> bool:
    """Return whether the interval of a wait lies above its limit."""
    if row.interval is not None:
        return row.interval[0] > limit
    # A mean wait of 0 has no ratio.
    return row.difference_interval is not None and row.difference_interval[0] > least


def _worse(table: ResultsTable, run: RunKey, limits: Limits) -> Iterator[Broken]:
    """Yield the broken constraints that are not waits."""
    used = table.get(run, UTILIZATION)
    if used is not None and used.ratio is not None and used.ratio < limits.utilization:
        yield Broken(what="utilization", ratio=used.ratio, limit=limits.utilization)
    for loss in losses(table, run, table.baseline_of(run) or run):
        yield Broken(what=loss, ratio=float("inf"), limit=1.0)
