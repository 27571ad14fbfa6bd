"""
The search: settings are proposed by Optuna [2]_, and stopped early where they are not promising.

The first 20 settings are random and simulated on all windows. The next ones change one setting at a
time, and the sampler combines what it has learnt from both. They are simulated on a short window
first. The best third of all settings so far goes on to a longer window (asynchronous
successive halving [1]_), unless it breaks a constraint by much there, has no effect, or its mean
wait is 10 % higher than that of the best setting so far on the same jobs. Broken constraints make a
setting infeasible for the sampler; they are no penalty.

References
----------
.. [1] Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht and Talwalkar (2020). A system
   for massively parallel hyperparameter tuning. MLSys, algorithm 2.
.. [2] Akiba, Sano, Yanase, Ohta and Koyama (2019). Optuna: a next-generation hyperparameter
   optimization framework. KDD.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cpsched.tuning.measure import Measured, Measuring
    from cpsched.tuning.parts import Window
    from cpsched.tuning.settings import Choice, Space

#: Settings that are proposed before any of them is simulated: one number for any number of
#: processes, so that these do not change the search.
_BATCH = 4
#: One of so many settings goes on to the next window.
_REDUCTION = 3
#: Number of random settings, from which a sampler learns: a multiple of the batch. They are the
#: cheapest alternative to it.
RANDOM = 20
#: A setting whose constraint is exceeded by this share on a short window is stopped.
_FAR = 0.5
#: A setting whose mean wait is higher than the best one's by this share is stopped.
_HIGHER = 0.1
SAMPLERS = ("tpe", "nsga2", "random")


@dataclass
class Trial:
    """
    A choice of settings that a search tried.

    Attributes
    ----------
    number
        From 0 in the order of proposals.
    choice
        The changed settings; empty: the site's.
    windows
        Results on the windows that it reached, from short to long.
    complete
        Whether it reached the last window.
    """

    number: int
    choice: Choice
    windows: list[Measured] = field(default_factory=list)
    complete: bool = False

    @property
    def kept(self) -> Measured | None:
        """The result on the last window; None if stopped before, or if a constraint is broken."""
        return self.windows[-1] if self.complete and not self.windows[-1].broken else None


def search(
    space: Space,
    measuring: Measuring,
    windows: Sequence[Window],
    *,
    trials: int,
    sampler: str,
    seed: int,
    progress: Callable[[int], object] | None = None,
) -> list[Trial]:
    """
    Return the tried settings, in the order of their proposal. Equal arguments give equal trials.

    These are :data:`RANDOM` random ones, changes of one setting, and combinations. The sampler
    ``random`` has no changes of one setting.

    Parameters
    ----------
    windows
        From short to long.
    trials
        Number of settings that are tried after the random ones.
    sampler
        One of :data:`SAMPLERS`.
    progress
        Called before each batch, with the number of tried settings.

    Raises
    ------
    ConfigError
        If Optuna is not installed.
    """
    study = _optuna_study(sampler, seed)
    tried: list[Trial] = []
    while (left := RANDOM + trials - len(tried)) > 0:
        if len(tried) == RANDOM and sampler != "random":
            for choice in islice(_single_changes(space), trials // 2):
                study.enqueue_trial(_positions(choice, space))
        if progress is not None:
            progress(len(tried))
        incumbent = None if len(tried) < RANDOM else _lowest(tried)
        asked = [study.ask() for _ in range(min(_BATCH, left))]
        batch = [Trial(of.number, space.changed(_proposed(of, space))) for of in asked]
        alive = list(zip(asked, batch, strict=True))
        for rung, window in enumerate(windows):
            _simulate(alive, measuring, rung, window)
            alive = [
                (of, trial)
                for of, trial in alive
                if trial.choice and _is_promising(of, trial, incumbent)
            ]
        for of, trial in zip(asked, batch, strict=True):
            trial.complete = len(trial.windows) == len(windows)
            _tell(study, of, trial)
        tried += batch
    return tried


def _lowest(trials: Sequence[Trial]) -> Trial | None:
    """Return the setting with the lowest mean wait that keeps all constraints; None: no such."""
    return min(
        (trial for trial in trials if trial.kept is not None),
        key=lambda trial: (trial.windows[-1].ratio, trial.number),
        default=None,
    )


def _optuna_study(sampler: str, seed: int) -> Any:
    """Return an empty study of Optuna."""
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            "needs the package optuna. Install cpsched with the extra: pip install 'cpsched[tune]'",
            key="tune",
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = optuna.samplers
    chosen: optuna.samplers.BaseSampler
    if sampler == "tpe":
        chosen = samplers.TPESampler(seed=seed, n_startup_trials=RANDOM)
    elif sampler == "nsga2":
        chosen = samplers.NSGAIISampler(seed=seed, population_size=RANDOM)
    else:
        chosen = samplers.RandomSampler(seed=seed)
    return optuna.create_study(
        sampler=chosen,
        pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=_REDUCTION),
    )


def _proposed(trial: Any, space: Space) -> Choice:
    """Return a value of each setting. Values are ordered, so a sampler sees their position."""
    return {
        key: item.values[trial.suggest_int(key, 0, len(item.values) - 1)]
        for key, item in space.settings.items()
    }


def _positions(choice: Choice, space: Space) -> dict[str, int]:
    """Return the positions of the values of all settings."""
    return {
        key: item.values.index(choice.get(key, item.current))
        for key, item in space.settings.items()
    }


def _single_changes(space: Space) -> Iterator[Choice]:
    """Yield the changes of one setting: the value next to the site's of each, then the others."""
    for distance in range(1, max(len(item.values) for item in space.settings.values())):
        for key, item in space.settings.items():
            current = item.values.index(item.current)
            for at in (current + distance, current - distance):
                if 0 <= at < len(item.values) and space.changed({key: item.values[at]}):
                    yield {key: item.values[at]}


def _simulate(
    alive: Sequence[tuple[Any, Trial]], measuring: Measuring, rung: int, window: Window
) -> None:
    """Simulate settings on a window, and report their mean waits to the pruner."""
    changed = [(of, trial) for of, trial in alive if trial.choice]
    results = measuring.measure([trial.choice for _, trial in changed], window)
    for (of, trial), measured in zip(changed, results, strict=True):
        trial.windows.append(measured)
        # Settings that keep all constraints compete among themselves, before all others.
        rank = 1 + min(measured.excess, 1) if measured.broken else measured.ratio
        of.report(rank, _REDUCTION**rung)


def _is_promising(of: Any, trial: Trial, incumbent: Trial | None) -> bool:
    """Return whether a setting goes on after the windows that it was simulated on."""
    last = trial.windows[-1]
    # Random settings go on, but others compete with them.
    is_pruned = of.should_prune()
    if trial.number < RANDOM:
        return True
    if last.ratio == 1 or last.excess >= _FAR or is_pruned:
        return False
    if incumbent is None:
        return True
    # Both were simulated on the same jobs.
    return last.ratio <= incumbent.windows[len(trial.windows) - 1].ratio * (1 + _HIGHER)


def _tell(study: Any, of: Any, trial: Trial) -> None:
    """Tell Optuna the ratio of a trial on the last window, or that it was stopped before."""
    from optuna.trial import TrialState

    last = trial.windows[-1] if trial.windows else None
    # Optuna takes a value above 0 as broken.
    of.set_constraint("excess", 0.0 if last is None else last.excess)
    if last is None or trial.complete:
        study.tell(of, 1.0 if last is None else last.ratio)
    else:
        study.tell(of, state=TrialState.PRUNED)
