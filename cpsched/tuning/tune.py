"""Better settings of a site: searched on early jobs, chosen on later ones, reported on the last."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, check_least
from cpsched.study.verdicts import LOWER
from cpsched.tuning.measure import Limits, Measuring, as_data, measured
from cpsched.tuning.parts import parts_of, windows_of
from cpsched.tuning.search import RANDOM, SAMPLERS, search
from cpsched.tuning.settings import Choice, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cpsched.report.results_table import ResultsTable
    from cpsched.study.comparisons import Result
    from cpsched.tuning.measure import Measured
    from cpsched.tuning.parts import Parts, Window
    from cpsched.tuning.search import Trial
    from cpsched.tuning.settings import Space
    from cpsched.tuning.site import Site

#: Settings that are simulated on the validation part at a time, and at most.
_FINALISTS, _MOST_FINALISTS = 5, 20
#: Share of the gain that must be left without the changes that hardly contribute.
_KEPT_GAIN = 0.95
#: Largest factor of a limit.
_MOST_FACTOR = 100
#: Labels of the last comparison.
PROPOSED, DEFAULTS, BEST_RANDOM = "proposed", "Slurm defaults", "best of 20 random"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """
    What one of the proposed changes contributes: one run each on the validation part.

    Attributes
    ----------
    key, before, after
        The setting and its values.
    alone
        The mean wait against the site's, with this change alone.
    without
        The same, with all changes but this one.
    together
        The same, with all changes.
    """

    key: str
    before: str
    after: str
    alone: float
    without: float
    together: float


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """
    The outcome of a search.

    Attributes
    ----------
    parts
        The parts of the log.
    windows
        Of the search, from short to long.
    choice
        The proposed changes of settings; empty: none is proposed.
    trials
        All settings that were tried.
    finalists
        The best settings of the search and of the random ones, on the validation part.
    searched, validated
        The proposed settings on the search part and on the validation part; None without any.
    results
        By label, on the test part: the proposed settings, Slurm's defaults, the best random ones.
    against_random
        Mean wait of the proposed settings against the best random ones, on the test part. None if
        either is missing, or both are the same.
    table
        All metrics of these on the test part, against the site's settings.
    contributions
        Of each proposed change.
    """

    parts: Parts
    windows: tuple[Window, ...]
    choice: Choice
    trials: tuple[Trial, ...]
    finalists: tuple[Measured, ...]
    searched: Measured | None
    validated: Measured | None
    results: dict[str, Measured]
    against_random: Result | None
    table: ResultsTable | None
    contributions: tuple[Contribution, ...]

    @property
    def is_better(self) -> bool:
        """
        Whether the proposed settings are worth a change.

        On later jobs their mean wait is significantly lower, by an interval over days, and all
        constraints are kept.
        """
        proposed = self.results.get(PROPOSED)
        return proposed is not None and proposed.wait.verdict == LOWER and not proposed.broken

    @property
    def front(self) -> list[Measured]:
        """
        The settings on the front of mean wait and longest wait that keep all constraints.

        None of them has a higher mean wait than the site's settings on the search part.
        """
        items = _unique(self.trials)
        points = {id(item): (item.ratio, item.longest_ratio) for item in items}
        return [
            item
            for item in items
            if not any(_dominates(points[id(other)], points[id(item)]) for other in items)
        ]

    def as_data(self) -> dict[str, Any]:
        """Return the outcome as plain values by name."""
        windows = (*self.windows, self.parts.validation, self.parts.test)
        return {
            "windows": [asdict(window) for window in windows],
            "choice": dict(self.choice),
            "trials": [
                {
                    "number": trial.number,
                    "choice": dict(trial.choice),
                    "complete": trial.complete,
                    "windows": [item.as_data() for item in trial.windows],
                }
                for trial in self.trials
            ],
            "finalists": [item.as_data() for item in self.finalists],
            "search": None if self.searched is None else self.searched.as_data(),
            "validation": None if self.validated is None else self.validated.as_data(),
            "test": {label: item.as_data() for label, item in self.results.items()},
            "against_random": None if self.against_random is None else as_data(self.against_random),
            "contributions": [asdict(item) for item in self.contributions],
            "front": [item.as_data() for item in self.front],
        }


def _dominates(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first != second and first[0] <= second[0] and first[1] <= second[1]


def tune(
    site: Site,
    space: Space,
    folder: Path,
    *,
    trials: int = 200,
    sampler: str = "tpe",
    seed: int = 1,
    repeat: int = 5,
    limits: Limits | None = None,
    workers: int = 1,
    executor: str | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> Tuned:
    """
    Search settings on the early jobs of a log, and report the best on later ones.

    It may be killed at any time: runs are kept, and the same call continues.

    Parameters
    ----------
    folder
        Of all runs. Its folder ``test`` is the study of the test part.
    trials
        Number of settings that are tried, besides 20 random ones.
    repeat
        Repetitions with jittered submits on the validation and the test part.

    Raises
    ------
    ConfigError
        If the log is too short, or a setting cannot be simulated.
    """
    limits = limits or Limits()
    _check(limits, sampler, trials, repeat)
    # An error in them comes before the search.
    defaults = site.defaults(space)
    show = progress or (lambda *_: None)
    workload = site.fitted.workload
    title = workload.title
    parts = parts_of(workload.submit, title)
    measuring = Measuring(
        site.study,
        site.scenario_of,
        folder,
        replace(limits, tail_by_value=True),
        workers=workers,
        executor=executor,
    )
    submit, wait = measuring.waits(parts.search)
    windows = windows_of(parts.search, submit, wait, title)
    tried = search(
        space,
        measuring,
        windows,
        trials=trials,
        sampler=sampler,
        seed=seed,
        progress=lambda done: show("search", done, RANDOM + trials),
    )
    show("validation", 0, 1)
    finalists, chosen = _validated(tried, measuring, parts.validation, repeat)
    _, best_random = _validated(tried[:RANDOM], measuring, parts.validation, repeat)
    show("contributions", 0, 1)
    chosen = _simplified(space, chosen, parts, measuring, repeat)
    choice: Choice = {} if chosen is None else chosen.choice
    contributions = _contributions(space, choice, parts, measuring)
    show("test", 0, 1)
    labelled = {PROPOSED: choice, DEFAULTS: defaults}
    labelled[BEST_RANDOM] = {} if best_random is None else best_random.choice
    results, table = _reported(labelled, measuring, parts.test, repeat, limits)
    against_random = None
    if choice and best_random and digest_of(choice) != digest_of(best_random.choice):
        run, base = (results[label].wait.run for label in (PROPOSED, BEST_RANDOM))
        against_random = measuring.against(run, base, parts.test)
    return Tuned(
        parts=parts,
        windows=windows,
        choice=choice,
        trials=tuple(tried),
        finalists=tuple(finalists),
        searched=next(iter(measuring.measure([choice], parts.search)), None),
        validated=chosen,
        results=results,
        against_random=against_random,
        table=table,
        contributions=contributions,
    )


def _check(limits: Limits, sampler: str, trials: int, repeat: int) -> None:
    """Raise an error if an option of a search is invalid."""
    for key, factor in (("wait factor", limits.wait), ("longest factor", limits.longest)):
        if not 1 <= factor <= _MOST_FACTOR:
            raise ConfigError(f"{factor:g} must be a factor from 1 to {_MOST_FACTOR}", key=key)
    if sampler not in SAMPLERS:
        raise ConfigError(f"unknown sampler {sampler!r}. Use {', '.join(SAMPLERS)}.", key="sampler")
    for key, number, least in (("trials", trials, 1), ("repeat", repeat, 2)):
        check_least(key, number, least)


def _validated(
    trials: Sequence[Trial], measuring: Measuring, window: Window, repeat: int
) -> tuple[list[Measured], Measured | None]:
    """
    Return the best settings of a search on the validation part, and which of them to choose.

    They are simulated there five at a time, those with the lowest mean waits first, until one has a
    lower mean wait than the site's settings and keeps all constraints.
    """
    choices = [item.choice for item in _unique(trials)]
    finalists: list[Measured] = []
    for at in range(0, _MOST_FINALISTS, _FINALISTS):
        finalists += measuring.measure(choices[at : at + _FINALISTS], window, repeat)
        if (chosen := _best(finalists)) is not None:
            return finalists, chosen
    return finalists, None


def _unique(trials: Sequence[Trial]) -> list[Measured]:
    """
    Return the results below the site's mean wait that keep all constraints, the lowest first.

    Of settings that give the same schedule, those with the fewest changes stand for all.
    """
    kept = [item for trial in trials if (item := trial.kept) is not None and item.ratio < 1]
    kept.sort(key=lambda item: (item.ratio, len(item.choice), digest_of(item.choice)))
    unique: dict[tuple[object, object], Measured] = {}
    for item in kept:
        unique.setdefault((item.wait.value, item.longest.value), item)
    return list(unique.values())


def _best(finalists: Sequence[Measured]) -> Measured | None:
    """Return the lowest that keeps all constraints; None if none is below 1."""
    kept = [item for item in finalists if not item.broken and item.ratio < 1]
    return min(kept, key=lambda item: (item.ratio, digest_of(item.choice)), default=None)


def _simplified(
    space: Space, chosen: Measured | None, parts: Parts, measuring: Measuring, repeat: int
) -> Measured | None:
    """
    Return the chosen settings without the changes that hardly contribute.

    Changes are left out one after the other, those that contribute least first, as long as all
    constraints are kept and 95 % of the gain is left, on the search and on the validation part.
    """
    if chosen is None:
        return None
    (searched,) = measuring.measure([chosen.choice], parts.search)
    most, most_searched = (1 - _KEPT_GAIN * (1 - item.ratio) for item in (chosen, searched))
    rest = chosen
    for item in sorted(
        _contributions(space, chosen.choice, parts, measuring), key=lambda item: item.without
    ):
        fewer = space.changed({key: rest.choice[key] for key in rest.choice if key != item.key})
        # One run on the search part costs less than the repetitions.
        searches = measuring.measure([fewer], parts.search)
        if all(not result.broken and result.ratio <= most_searched for result in searches):
            for result in measuring.measure([fewer], parts.validation, repeat):
                if not result.broken and result.ratio <= most:
                    rest = result
    return rest


def _contributions(
    space: Space, choice: Choice, parts: Parts, measuring: Measuring
) -> tuple[Contribution, ...]:
    """Return what each change contributes: alone, and what is left without it."""
    alone = [space.changed({key: choice[key]}) for key in choice]
    without = [
        space.changed({other: choice[other] for other in choice if other != key}) for key in choice
    ]
    results = measuring.measure([*alone, *without, choice], parts.validation)
    ratios = {digest_of(item.choice): item.ratio for item in results}
    return tuple(
        Contribution(
            key=key,
            before=space.settings[key].current,
            after=choice[key],
            alone=ratios.get(digest_of(first), 1.0),
            without=ratios.get(digest_of(rest), 1.0),
            together=ratios[digest_of(choice)],
        )
        for key, first, rest in zip(choice, alone, without, strict=True)
    )


def _reported(
    labelled: dict[str, Choice],
    measuring: Measuring,
    window: Window,
    repeat: int,
    limits: Limits,
) -> tuple[dict[str, Measured], ResultsTable | None]:
    """
    Return the results on the test part by label, and the table of all metrics.

    Labels of the site's own settings have no result. Equal choices are simulated once, under the
    first label.
    """
    changed = {label: choice for label, choice in labelled.items() if choice}
    if not changed:
        return {}, None
    first: dict[str, str] = {}
    for label, choice in changed.items():
        first.setdefault(digest_of(choice), label)
    table = measuring.table({label: changed[label] for label in first.values()}, window, repeat)
    runs = {run[2]: run for run in table.repetitions}
    return {
        label: measured(table, runs[first[digest_of(choice)]], choice, limits)
        for label, choice in changed.items()
    }, table
