"""Better settings of a site: searched on early jobs, chosen on later ones, reported on the last."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, RunError, check_least
from cpsched.report.record import agrees_poorly
from cpsched.study.verdicts import LOWER
from cpsched.tuning.measure import Limits, Measuring, as_data, measured
from cpsched.tuning.parts import parts_of, windows_of
from cpsched.tuning.search import RANDOM, SAMPLERS, search
from cpsched.tuning.selection import distinct, propose, select, without
from cpsched.tuning.settings import Choice, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cpsched.report.results_table import ResultsTable
    from cpsched.study.comparisons import Result
    from cpsched.tuning.measure import Measured
    from cpsched.tuning.parts import Parts, Window
    from cpsched.tuning.search import Trial
    from cpsched.tuning.settings import Space
    from cpsched.tuning.site import Site

#: Largest factor of a limit.
_MOST_FACTOR = 100
#: Labels of the last comparison.
PROPOSED, DEFAULTS, BEST_RANDOM = "proposed", "Slurm defaults", "best of 20 random"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """
    What one of the proposed changes contributes on the validation part, over all repetitions.

    Attributes
    ----------
    key, before, after
        The setting and its values.
    alone
        The mean and the longest wait against the site's, with this change alone; None: it cannot be
        simulated.
    without
        The same, with all changes but this one.
    together
        The same, with all changes. None as above.
    """

    key: str
    before: str
    after: str
    alone: tuple[float, float] | None
    without: tuple[float, float] | None
    together: tuple[float, float] | None


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
        The best settings of the search, and some of the best one's changes, on the validation part.
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
    defaults
        The searched parameters that differ from Slurm's defaults, with these; None without a
        policy.
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
    defaults: Choice | None

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
    def is_recommended(self) -> bool:
        """Whether they are better, and the simulation does not agree poorly with recorded waits."""
        return self.is_better and (self.table is None or not agrees_poorly(self.table))

    @property
    def front(self) -> list[Measured]:
        """
        The settings on the front of mean wait and longest wait that keep all constraints.

        None of them has a higher mean wait than the site's settings on the search part.
        """
        items = distinct(self.trials)
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
            "recommended": self.is_recommended,
            "trials": [
                {
                    "number": trial.number,
                    "choice": dict(trial.choice),
                    "complete": trial.complete,
                    "failed": trial.failed,
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
    sampler: str = "local",
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
        replace(limits, strict_tails=True),
        workers=workers,
        executor=executor,
        progress=show,
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
    measuring.step = "validation"
    finalists, chosen = propose(space, tried, parts, measuring, repeat)
    _, best_random = select(tried[:RANDOM], parts, measuring, repeat)
    choice: Choice = {} if chosen is None else chosen.choice
    measuring.step = "contributions"
    contributions = _contributions(space, choice, parts, measuring, repeat)
    measuring.step = "later jobs"
    labelled = {PROPOSED: choice, DEFAULTS: defaults or {}}
    labelled[BEST_RANDOM] = {} if best_random is None else best_random.choice
    results, table = _reported(labelled, measuring, parts.test, repeat, limits)
    against_random = None
    if choice and BEST_RANDOM in results and choice != results[BEST_RANDOM].choice:
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
        defaults=defaults,
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


def _contributions(
    space: Space, choice: Choice, parts: Parts, measuring: Measuring, repeat: int
) -> tuple[Contribution, ...]:
    """Return what each change contributes: alone, and what is left without it."""
    alone = [space.changed({key: choice[key]}) for key in choice]
    rests = [without(space, choice, [key]) for key in choice]
    results = measuring.measure([*alone, *rests, choice], parts.validation, repeat)
    ratios = {digest_of({}): (1.0, 1.0)}
    ratios |= {digest_of(item.choice): (item.ratio, item.longest_ratio) for item in results}
    return tuple(
        Contribution(
            key=key,
            before=space.settings[key].current,
            after=choice[key],
            alone=ratios.get(digest_of(first)),
            without=ratios.get(digest_of(rest)),
            together=ratios.get(digest_of(choice)),
        )
        for key, first, rest in zip(choice, alone, rests, strict=True)
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

    Labels of the site's own settings have no result, and labels that cannot be simulated. Equal
    choices are simulated once, under the first label.
    """
    changed = {label: choice for label, choice in labelled.items() if choice}
    if not changed:
        return {}, None
    first: dict[str, str] = {}
    for label, choice in changed.items():
        first.setdefault(digest_of(choice), label)
    simulated = {label: changed[label] for label in first.values()}
    table, runs = measuring.table(simulated, window, repeat, with_record=True)
    if PROPOSED in changed and PROPOSED not in runs:
        raise RunError(
            "the proposed settings cannot be simulated on later jobs. The error is in"
            f" {measuring.path(window) / 'failed'}."
        )
    return {
        label: measured(table, runs[first[digest_of(choice)]], choice, limits)
        for label, choice in changed.items()
        if first[digest_of(choice)] in runs
    }, table
