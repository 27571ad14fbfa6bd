"""
The search: settings are proposed by Optuna [2]_, and stopped early where they are not promising.

The first 20 settings are random and simulated on all windows. The next ones come in batches of four
(local search [3]_). One changes the best choice so far in one setting, or in two if all others were
tried. One changes the site's own settings in the same way. Two have random values of some settings,
from one to all, or are proposed by a sampler of Optuna. They are simulated on a short window first.
The best third of all settings so far goes on to a longer window (asynchronous successive halving
[1]_), unless it breaks a constraint by much there, or has no effect. It also stops if its mean wait
is higher than that of the best setting so far on the same jobs: by 5 % on the first window, at all
on the second. Broken constraints make a setting infeasible for the sampler; they are no penalty.

References
----------
.. [1] Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht and Talwalkar (2020). A system
   for massively parallel hyperparameter tuning. MLSys, algorithm 2.
.. [2] Akiba, Sano, Yanase, Ohta and Koyama (2019). Optuna: a next-generation hyperparameter
   optimization framework. KDD.
.. [3] Mladenović and Hansen (1997). Variable neighborhood search. Computers & Operations Research.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.tuning.settings import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.tuning.measure import Measured, Measuring
    from cpsched.tuning.parts import Window
    from cpsched.tuning.settings import Choice, Space

#: Settings that are proposed before any of them is simulated: one number for any number of
#: processes, so that these do not change the search.
_BATCH = 4
#: A search ends after so many proposals in a row that were tried before.
_REPEATED = 50
#: One of so many settings goes on to the next window.
_REDUCTION = 3
#: Number of random settings, from which a sampler learns: a multiple of the batch. They are the
#: cheapest alternative to it.
RANDOM = 20
#: A setting whose constraint is exceeded by this share on a short window is stopped.
_FAR = 0.5
#: A setting whose mean wait is higher than the best one's by this share is stopped after the first
#: window; after later ones if it is higher at all.
_HIGHER = 0.05
SAMPLERS = ("local", "tpe", "nsga2", "random")


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
    failed
        Whether it could not be simulated on a window.
    """

    number: int
    choice: Choice
    windows: list[Measured] = field(default_factory=list)
    complete: bool = False
    failed: bool = False

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

    These are :data:`RANDOM` random ones, then changes and proposals of the sampler in turn.

    Parameters
    ----------
    windows
        From short to long.
    trials
        Number of settings that are tried after the random ones.
    sampler
        ``local``: changes of the best settings and of the site's. ``tpe``, ``nsga2``: half of them
        come from a sampler of Optuna. ``random``: random settings alone.
    progress
        Called before each batch, with the number of tried settings.

    Raises
    ------
    ConfigError
        If Optuna is not installed.
    """
    proposals = _Proposals(space, sampler, seed)
    tried: list[Trial] = []
    while (left := RANDOM + trials - len(tried)) > 0:
        if progress is not None:
            progress(len(tried))
        incumbent = None if len(tried) < RANDOM else _lowest(tried)
        size = min(_BATCH, left)
        if len(tried) < RANDOM or sampler == "random":
            batch = proposals.batch(size)
        else:
            batch = proposals.batch(size, {} if incumbent is None else incumbent.choice)
        if not batch:
            break
        alive = batch
        for rung, window in enumerate(windows):
            _simulate(alive, measuring, rung, window)
            alive = [pair for pair in alive if _is_promising(*pair, incumbent)]
        for of, trial in batch:
            trial.complete = len(trial.windows) == len(windows)
            proposals.tell(of, trial)
            tried.append(trial)
    return tried


def _lowest(trials: Sequence[Trial]) -> Trial | None:
    """
    Return the setting with the lowest mean wait that keeps all constraints.

    None: none of them has a lower mean wait than the site's settings.
    """
    return min(
        (trial for trial in trials if trial.kept is not None and trial.kept.ratio < 1),
        key=lambda trial: (trial.windows[-1].ratio, len(trial.choice), trial.number),
        default=None,
    )


class _Proposals:
    """
    Proposes settings that were not tried before.

    Parameters
    ----------
    space, sampler, seed
        As for :func:`search`.
    """

    def __init__(self, space: Space, sampler: str, seed: int) -> None:
        self._space = space
        self._has_sampler = sampler != "local"
        self._study = _optuna_study(sampler, seed)
        self._random = np.random.default_rng(seed)
        # The site's own settings need no trial.
        self._tried = {digest_of({})}

    def batch(self, size: int, best: Choice | None = None) -> list[tuple[Any, Trial]]:
        """
        Return trials of Optuna with their settings; fewer if hardly any are left untried.

        Parameters
        ----------
        size
            Number of settings.
        best
            The best settings so far. None: the sampler proposes all.
        """
        from optuna.trial import TrialState

        pairs: list[tuple[Any, Trial]] = []
        repeated = 0
        while len(pairs) < size and repeated < _REPEATED:
            if best is not None:
                # What would be a repetition is a neighbour.
                place = 0 if repeated else len(pairs)
                if (wanted := self._wanted(place, best)) is not None:
                    self._study.enqueue_trial(_positions(wanted, self._space))
            of = self._study.ask()
            choice = self._space.changed(_proposed(of, self._space))
            if (digest := digest_of(choice)) not in self._tried:
                # The first of the tried ones is the site's.
                pairs.append((of, Trial(len(self._tried) - 1, choice)))
                self._tried.add(digest)
                repeated = 0
            else:
                repeated += 1
                self._study.tell(of, state=TrialState.FAIL)
        return pairs

    def _wanted(self, place: int, best: Choice) -> Choice | None:
        """Return the choice for a place of a batch; None: the sampler proposes it."""
        if place == 0:
            return self._neighbour(best)
        if place == 1:
            return self._neighbour({})
        return None if self._has_sampler else self._some_changes()

    def _neighbour(self, near: Choice) -> Choice | None:
        """
        Return a choice with one setting changed that was not tried.

        If all were, two settings are changed. None: hardly any of these are left.
        """
        values = self._values()
        changes = [self._space.changed({**near, key: value}) for key, value in values]
        untried = [choice for choice in changes if digest_of(choice) not in self._tried]
        if untried:
            return untried[self._random.integers(len(untried))]
        for _ in range(_REPEATED):
            two = [values[at] for at in self._random.integers(len(values), size=2)]
            choice = self._space.changed({**near, **dict(two)})
            if digest_of(choice) not in self._tried:
                return choice
        return None

    def _some_changes(self) -> Choice:
        """Return random values of some of the site's settings, from one of them to all."""
        items = list(self._space.settings.values())
        number = self._random.integers(1, len(items) + 1)
        chosen = self._random.choice(len(items), number, replace=False)
        return {
            items[at].key: items[at].values[self._random.integers(len(items[at].values))]
            for at in chosen
        }

    def _values(self) -> list[tuple[str, str]]:
        """Return the values of all settings."""
        return [(key, value) for key, item in self._space.settings.items() for value in item.values]

    def tell(self, of: Any, trial: Trial) -> None:
        """Tell Optuna the ratio of a trial on the last window, or that it was stopped before."""
        from optuna.trial import TrialState

        if trial.failed:
            self._study.tell(of, state=TrialState.FAIL)
            return
        last = trial.windows[-1]
        # Optuna takes a value above 0 as broken.
        of.set_constraint("excess", last.excess)
        if trial.complete:
            self._study.tell(of, last.ratio)
        else:
            self._study.tell(of, state=TrialState.PRUNED)


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


def _simulate(
    alive: Sequence[tuple[Any, Trial]], measuring: Measuring, rung: int, window: Window
) -> None:
    """Simulate settings on a window, and report their mean waits to the pruner."""
    results = measuring.measure([trial.choice for _, trial in alive], window)
    by_choice = {digest_of(measured.choice): measured for measured in results}
    for of, trial in alive:
        measured = by_choice.get(digest_of(trial.choice))
        if measured is None:
            trial.failed = True
            continue
        trial.windows.append(measured)
        of.report(_rank(measured), _REDUCTION**rung)


def _rank(measured: Measured) -> float:
    """Return the order of settings: all that keep all constraints are before the others."""
    if measured.broken:
        return 1 + min(measured.excess, 1)
    return 1.0 if isinf(measured.ratio) else measured.ratio / (1 + measured.ratio)


def _is_promising(of: Any, trial: Trial, incumbent: Trial | None) -> bool:
    """Return whether a setting goes on after the windows that it was simulated on."""
    if trial.failed:
        return False
    last = trial.windows[-1]
    # Random settings go on, but others compete with them.
    is_pruned = of.should_prune()
    if trial.number < RANDOM:
        return True
    if last.ratio == 1 or last.excess >= _FAR or is_pruned:
        return False
    # Both were simulated on the same jobs. Without a better choice the site's own is the best.
    best = 1.0 if incumbent is None else incumbent.windows[len(trial.windows) - 1].ratio
    if incumbent and last.ratio == best and len(trial.choice) >= len(incumbent.choice):
        return False
    higher = _HIGHER if len(trial.windows) == 1 else 0
    return last.ratio <= best * (1 + higher)
