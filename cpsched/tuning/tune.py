"""Better settings of a site: searched on early jobs, chosen on later ones, reported on the last."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy_edit import QUEUE_CHANGES
from cpsched.study.inputs import prepare
from cpsched.study.policies import follows_policy
from cpsched.study.run_spec import run_specs
from cpsched.study.scenarios import Scenario, scenario
from cpsched.study.verdicts import LOWER
from cpsched.tuning.easy_settings import easy_of, easy_space
from cpsched.tuning.measure import Limits, Measuring, measured
from cpsched.tuning.parts import parts_of
from cpsched.tuning.search import RANDOM, search
from cpsched.tuning.settings import Choice, digest_of
from cpsched.tuning.slurm_settings import slurm_space
from cpsched.util.spec import Spec, files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cpsched.report.results_table import ResultsTable
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.study.study import Study
    from cpsched.systems.mapping import Fitted
    from cpsched.tuning.measure import Measured
    from cpsched.tuning.parts import Parts, Window
    from cpsched.tuning.search import Trial
    from cpsched.tuning.settings import Space

#: Settings that are changes of a queue: ``max-time NAME``.
_CHANGES = frozenset(QUEUE_CHANGES.values())
#: Settings that are simulated on the validation part: so many of the search and of the random ones.
_FINALISTS = 5
#: A change that lowers the mean wait by a smaller share is left out.
_LEAST = 0.01
#: Labels of the last comparison.
PROPOSED, DEFAULTS, BEST_RANDOM = "proposed", "Slurm defaults", "best of 20 random"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """
    What one of the proposed changes contributes, on the validation part.

    Attributes
    ----------
    key, before, after
        The setting and its values.
    alone
        The mean wait against the site's, with this change alone.
    without
        The same, with all changes but this one.
    """

    key: str
    before: str
    after: str
    alone: float
    without: float


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """
    The outcome of a search.

    Attributes
    ----------
    parts
        The parts of the log.
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
    table
        All metrics of these on the test part, against the site's settings.
    contributions
        Of each proposed change.
    """

    parts: Parts
    choice: Choice
    trials: tuple[Trial, ...]
    finalists: tuple[Measured, ...]
    searched: Measured | None
    validated: Measured | None
    results: dict[str, Measured]
    table: ResultsTable | None
    contributions: tuple[Contribution, ...]

    @property
    def is_better(self) -> bool:
        """Whether the mean wait of later jobs is significantly lower with the proposed settings."""
        proposed = self.results.get(PROPOSED)
        return proposed is not None and proposed.wait.verdict.startswith(LOWER)

    @property
    def front(self) -> list[Measured]:
        """The settings that keep all constraints on the front of mean wait and longest wait."""
        whole = [item for item in map(_kept, self.trials) if item is not None]
        unique = {digest_of(item.choice): item for item in whole}.values()
        points = {id(item): (item.ratio, item.longest.ratio or 1.0) for item in unique}
        return sorted(
            (
                item
                for item in unique
                if not any(_dominates(points[id(other)], points[id(item)]) for other in unique)
            ),
            key=lambda item: item.ratio,
        )

    def as_data(self) -> dict[str, Any]:
        """Return the outcome as plain values by name."""
        windows = (*self.parts.search, self.parts.validation, self.parts.test)
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
            "contributions": [asdict(item) for item in self.contributions],
            "front": [item.as_data() for item in self.front],
        }


def _kept(trial: Trial) -> Measured | None:
    """Return the result on the whole search part; None if it was stopped or breaks a constraint."""
    return trial.windows[-1] if trial.complete and not trial.windows[-1].broken else None


def _dominates(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first != second and first[0] <= second[0] and first[1] <= second[1]


class Site:
    """
    A site whose settings are tuned: a study of one log, and its space of settings.

    Parameters
    ----------
    study
        One log on one system, with one dispatcher and one predictor.

    Attributes
    ----------
    policy
        The Slurm policy; None: the options of ``easy`` are searched.
    space
        All settings, with those that cost users something.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        (dispatcher,) = study.dispatchers
        spec = Spec.parse(dispatcher.spec)
        self.policy: SlurmPolicy | None = None
        self.fitted: Fitted = prepare(run_specs(replace(study, seeds=(0,)))[0].made_of)
        if follows_policy(dispatcher.spec):
            path = files_of("dispatchers", spec).get("policy")
            if path is None:
                raise ConfigError("needs a policy file: --slurm-policy FILE", key="--dispatcher")
            self.policy = policy_file.load(path)
            self.space = slurm_space(self.policy, self.fitted.system, self.fitted.workload)
        elif dispatcher.spec == "easy":
            self.space = easy_space()
        else:
            raise ConfigError(
                f"{dispatcher.spec} has no settings to search. Leave --dispatcher out, or give"
                " --slurm-policy FILE.",
                key="--dispatcher",
            )

    def searched(self, allow: Sequence[str], forbid: Sequence[str], file: Path | None) -> Space:
        """
        Return the settings to search: those of a file, or all that patterns select.

        Raises
        ------
        ConfigError
            As :meth:`Space.from_file` and :meth:`Space.selected`.
        """
        if file is None:
            return self.space.selected(allow, forbid)
        # A file names its settings, so all of them are allowed.
        return self.space.from_file(file).selected(allow or ("*",), forbid)

    def scenario_of(self, label: str, choice: Choice) -> Scenario:
        """Return the scenario of changed settings."""
        if self.policy is None:
            return Scenario(label=label, dispatcher=easy_of(choice))
        # Sorted, a default time comes before a limit, which lowers it if necessary.
        parts = [
            f"{key}={value}" if key.partition(" ")[0] in _CHANGES else f"set {key}={value}"
            for key, value in sorted(choice.items())
        ]
        return scenario(f"{label}: {'; '.join(parts)}")

    def defaults(self, space: Space) -> Choice:
        """Return the searched parameters of Slurm with their defaults; empty without a policy."""
        if self.policy is None:
            return {}
        choice = {}
        for key, item in space.settings.items():
            if key in PARAMETERS:
                default = PARAMETERS[key].default
                same = [text for text in item.values if PARAMETERS[key].kind.read(text) == default]
                choice[key] = same[0] if same else str(default)
        return space.changed(choice)


def tune(
    site: Site,
    space: Space,
    folder: Path,
    *,
    trials: int = 100,
    sampler: str = "tpe",
    seed: int = 1,
    repeat: int = 5,
    warm_up: int = 86400,
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
    warm_up
        Seconds before each part that are simulated and not measured.

    Raises
    ------
    ConfigError
        If the log is too short, or a setting cannot be simulated.
    """
    limits = limits or Limits()
    show = progress or (lambda *_: None)
    workload = site.fitted.workload
    parts = parts_of(workload.submit, warm_up, workload.title)
    measuring = Measuring(
        site.study, site.scenario_of, folder, limits, workers=workers, executor=executor
    )

    def searched(stage: str, name: str, number: int, windows: Sequence[Window]) -> list[Trial]:
        return search(
            space,
            measuring,
            windows,
            trials=number,
            sampler=name,
            seed=seed,
            progress=lambda done: show(stage, done, number),
        )

    # The cheapest alternative stops no setting early.
    random = searched("random settings", "random", RANDOM, parts.search[-1:])
    proposals = searched("search", sampler, trials, parts.search)
    show("validation", 0, 1)
    of_random, of_search = _finalists(random), _finalists([*random, *proposals])
    every = {digest_of(choice): choice for choice in (*of_search, *of_random)}
    finalists = measuring.measure(list(every.values()), parts.validation, repeat)
    chosen = _best(finalists, list(every.values()))
    best_random = _best(finalists, of_random)
    show("contributions", 0, 1)
    chosen = _simplified(space, chosen, parts, measuring, repeat)
    choice: Choice = {} if chosen is None else chosen.choice
    contributions = _contributions(space, choice, parts, measuring)
    show("test", 0, 1)
    labelled = {PROPOSED: choice, DEFAULTS: site.defaults(space)}
    labelled[BEST_RANDOM] = {} if best_random is None else best_random.choice
    results, table = _reported(labelled, measuring, parts.test, repeat, limits)
    return Tuned(
        parts=parts,
        choice=choice,
        trials=(*random, *proposals),
        finalists=tuple(finalists),
        searched=next(iter(measuring.measure([choice], parts.search[-1])), None),
        validated=chosen,
        results=results,
        table=table,
        contributions=contributions,
    )


def _finalists(trials: Sequence[Trial]) -> list[Choice]:
    """Return the settings of a search with the lowest mean waits that keep all constraints."""
    complete = [item for item in map(_kept, trials) if item is not None and item.ratio < 1]
    best = sorted(complete, key=lambda item: (item.ratio, digest_of(item.choice)))
    return list({digest_of(item.choice): item.choice for item in best}.values())[:_FINALISTS]


def _best(validated: Sequence[Measured], choices: Sequence[Choice]) -> Measured | None:
    """Return the lowest of some choices that keeps all constraints; None if none is below 1."""
    digests = set(map(digest_of, choices))
    kept = [item for item in validated if digest_of(item.choice) in digests and not item.broken]
    lowest = min(kept, key=lambda item: (item.ratio, digest_of(item.choice)), default=None)
    return lowest if lowest is not None and lowest.ratio < 1 else None


def _simplified(
    space: Space, chosen: Measured | None, parts: Parts, measuring: Measuring, repeat: int
) -> Measured | None:
    """Return the chosen settings without the changes that hardly contribute, if as good."""
    if chosen is None:
        return None
    (once,) = measuring.measure([chosen.choice], parts.validation)
    useful = {
        item.key: item.after
        for item in _contributions(space, chosen.choice, parts, measuring)
        if item.without > once.ratio * (1 + _LEAST)
    }
    fewer = measuring.measure([space.changed(useful)], parts.validation, repeat)
    if fewer and not fewer[0].broken and fewer[0].ratio <= chosen.ratio * (1 + _LEAST):
        return fewer[0]
    return chosen


def _contributions(
    space: Space, choice: Choice, parts: Parts, measuring: Measuring
) -> tuple[Contribution, ...]:
    """Return what each change contributes: alone, and what is left without it."""
    alone = [space.changed({key: choice[key]}) for key in choice]
    without = [
        space.changed({other: choice[other] for other in choice if other != key}) for key in choice
    ]
    results = measuring.measure([*alone, *without], parts.validation)
    ratios = {digest_of(item.choice): item.ratio for item in results}
    return tuple(
        Contribution(
            key=key,
            before=space.settings[key].current,
            after=choice[key],
            alone=ratios.get(digest_of(first), 1.0),
            without=ratios.get(digest_of(rest), 1.0),
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
