"""
The search: settings are proposed by Optuna, and stopped early by successive halving.

A setting is simulated on a short window first. The best third of all settings so far goes on to a
longer window (asynchronous successive halving [1]_), unless it breaks a constraint by much there.
Broken constraints make a setting infeasible for the sampler; they are no penalty.

References
----------
.. [1] Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht and Talwalkar (2020). A system
   for massively parallel hyperparameter tuning. MLSys, algorithm 2.
.. [2] Akiba, Sano, Yanase, Ohta and Koyama (2019). Optuna: a next-generation hyperparameter
   optimization framework. KDD.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
#: Random settings before a sampler learns from them.
RANDOM = 20
#: A setting whose constraint is exceeded by this share on a short window is stopped.
_FAR = 0.5
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

    Parameters
    ----------
    windows
        From short to long.
    trials
        Number of settings that are tried.
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
    while len(tried) < trials:
        if progress is not None:
            progress(len(tried))
        asked = [study.ask() for _ in range(min(_BATCH, trials - len(tried)))]
        batch = [Trial(of.number, space.changed(_proposed(of, space))) for of in asked]
        alive = list(zip(asked, batch, strict=True))
        for rung, window in enumerate(windows):
            alive = list(_simulated(alive, measuring, rung, window))
        for of, trial in zip(asked, batch, strict=True):
            trial.complete = len(trial.windows) == len(windows)
            _tell(study, of, trial)
        tried += batch
    return tried


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
        chosen = samplers.TPESampler(
            seed=seed,
            n_startup_trials=RANDOM,
        )
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


def _simulated(
    alive: Sequence[tuple[Any, Trial]], measuring: Measuring, rung: int, window: Window
) -> Iterator[tuple[Any, Trial]]:
    """Simulate settings on a window; yield those that go on to the next one."""
    changed = [trial for _, trial in alive if trial.choice]
    for trial, measured in zip(
        changed, measuring.measure([trial.choice for trial in changed], window), strict=True
    ):
        trial.windows.append(measured)
    for of, trial in alive:
        if trial.choice:
            of.report(trial.windows[-1].ratio, _REDUCTION**rung)
            if trial.windows[-1].excess < _FAR and not of.should_prune():
                yield of, trial


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
