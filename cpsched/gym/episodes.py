"""Windows of a log played in many environments at once; below both kinds of environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched import _core
from cpsched.errors import ConfigError, check_choice, check_range
from cpsched.gym.episode_jobs import fitted_of, jobs_of
from cpsched.gym.options import MEASURES, RULES, Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray

REWARDS = ("dense", "end")
OBSERVATIONS = ("jobs", "dict")


class Shown(NamedTuple):
    """What agents see now, as views: shapes ``(E, A, F)``, ``(E, S)`` and ``(E, A)``."""

    rows: AnyArray
    machine: AnyArray
    mask: BoolArray


class Episodes:
    """
    The state of some environments, and what steps them.

    Parameters
    ----------
    log, system
        See :func:`~cpsched.gym.episode_jobs.fitted_of`.
    num_envs
        How many there are.
    rows
        The part of the log, ``[first, end)``, from which windows are drawn: rows of the jobs that
        can run, in order of submit; the whole log if None.
    starts
        First rows of the windows instead, of which one is drawn, or in turn without a seed.
    length
        Jobs in a window.
    options
        What an agent decides.
    measure, reward, relative_to
        See :class:`~cpsched.gym.environment.BatchScheduling`.
    machine
        Whether the machine's vector is observed, too.
    estimates, overrun
        See :func:`~cpsched.gym.episode_jobs.jobs_of`.
    """

    def __init__(
        self,
        log: Any,
        system: Any,
        *,
        num_envs: int,
        rows: tuple[int, int] | None,
        starts: Sequence[int] | None,
        length: int,
        options: Options,
        measure: str,
        reward: str,
        relative_to: str | None,
        machine: bool,
        estimates: IntArray | None,
        overrun: str,
    ) -> None:
        check_choice("measure", measure, MEASURES)
        check_choice("reward", reward, REWARDS)
        if relative_to is not None:
            check_choice("relative_to", relative_to, RULES)
        check_range("num_envs", num_envs, 1, 2**20)
        self.options = options
        self.jobs = jobs_of(fitted_of(log, system), estimates, overrun)
        self.length = length
        self.first_rows = self._windows(rows, starts)
        self._native = _core.Episodes(
            self.jobs,
            options.native(measure),
            num_episodes=num_envs,
            length=length,
            shows_system=machine,
            is_dense=reward == "dense",
            relative_to=None if relative_to is None else RULES[relative_to],
        )
        self.seen = Shown(self._native.rows, self._native.system, self._native.mask)

    def _windows(self, rows: tuple[int, int] | None, starts: Sequence[int] | None) -> IntArray:
        """Return the rows at which windows may begin."""
        num = len(self.jobs)
        check_range("length", self.length, 1, num)
        if starts is not None:
            if rows is not None:
                raise ConfigError("cannot be combined with starts", key="rows")
            first_jobs = np.array(list(starts), dtype=np.int64)
            if not len(first_jobs) or first_jobs.min() < 0 or first_jobs.max() + self.length > num:
                raise ConfigError(
                    f"must be rows from 0 to {num - self.length}, so that {self.length} jobs follow"
                    f" of the {num} there are",
                    key="starts",
                )
            return first_jobs
        first, end = (0, num) if rows is None else rows
        if not 0 <= first < end <= num or end - first < self.length:
            raise ConfigError(
                f"is {first} to {end}, must be in 0 to {num} and have {self.length} jobs or more",
                key="rows",
            )
        return np.arange(first, end - self.length + 1, dtype=np.int64)

    def begin(self, which: IntArray, first: IntArray) -> None:
        """Begin episodes at some rows."""
        self._native.begin(which, first)

    def step(self, actions: IntArray) -> tuple[FloatArray, BoolArray]:
        """
        Let all environments act.

        Returns
        -------
        rewards, done
            Shapes ``(E,)``.
        """
        rewards, done = self._native.step(actions)
        return rewards, done.view(np.bool_)

    @property
    def measures(self) -> FloatArray:
        """The measure of each environment's episode so far, shape ``(E,)``."""
        return self._native.cost

    @property
    def windows(self) -> IntArray:
        """The first row of the window that each environment plays, shape ``(E,)``."""
        return self._native.first_row

    @property
    def now(self) -> IntArray:
        """The present second of each environment, shape ``(E,)``."""
        return self._native.now

    def starts(self, e: int) -> IntArray:
        """Return when the jobs of a window have started, -1 for not yet, shape ``(length,)``."""
        return self._native.starts(e)

    def by_rule(self, first: int, rule: str) -> float:
        """Return what a rule gets in a window, with the same backfilling, in its own order."""
        return self._native.by_rule(first, RULES[rule])
