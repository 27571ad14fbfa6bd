"""Windows of a log played in many environments at once; below both kinds of environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError, check_choice, check_range
from cpsched.gym.episode_jobs import fitted_of, jobs_of
from cpsched.gym.kernels import episodes as kernels
from cpsched.gym.kernels.episodes import Scratch, Shown, State
from cpsched.gym.kernels.features import AHEAD, FEATURES
from cpsched.gym.options import MEASURES, RULES, Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray

REWARDS = ("dense", "end")
OBSERVATIONS = ("jobs", "dict")


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
        self.options, self.measure, self.reward = options, measure, reward
        self.relative_to = relative_to
        self.jobs = jobs_of(fitted_of(log, system), estimates, overrun)
        self.length = length
        self.first_rows = self._windows(rows, starts)
        self.rules = options.compiled(measure)
        self._dense = reward == "dense"
        self._by_rule: dict[tuple[int, str], float] = {}
        num_kinds = self.jobs.demand.shape[1]
        num, rows_shown, machine_size = num_envs, options.num_rows, num_kinds + 2 + len(AHEAD)
        self.state = _state(num, length, options.visible, num_kinds)
        self._scratch = _scratch(length, num_kinds)
        self.seen = Shown(
            np.zeros((num, rows_shown, len(FEATURES)), dtype=np.float32),
            np.zeros((num, machine_size if machine else 0), dtype=np.float32),
            np.zeros((num, options.num_actions), dtype=np.bool_),
        )
        self._unit = np.ones(num)
        #: To play a rule beside the agents.
        self._spare = _state(1, length, options.visible, num_kinds)

    def _windows(self, rows: tuple[int, int] | None, starts: Sequence[int] | None) -> IntArray:
        """Return the rows at which windows may begin."""
        num = len(self.jobs.submit)
        check_range("length", self.length, 1, num)
        if starts is not None:
            if rows is not None:
                raise ConfigError("goes without starts, which say what is played", key="rows")
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
        kernels.begin(
            self.rules, self.jobs, self.state, self._scratch, which, first, first + self.length,
            self.seen,
        )  # fmt: skip
        if self.relative_to is not None:
            for e, row in zip(which.tolist(), first.tolist(), strict=True):
                self._unit[e] = max(self.by_rule(row, self.relative_to), 1e-9)

    def step(self, actions: IntArray) -> tuple[FloatArray, BoolArray]:
        """
        Let all environments act.

        Returns
        -------
        rewards, done
            Shapes ``(E,)``.
        """
        state = self.state
        kernels.step(self.rules, self.jobs, state, self._scratch, actions, self.seen)
        done: BoolArray = state.num[:, kernels.DONE] != 0
        due = state.cost if self._dense else np.where(done, state.cost, state.paid)
        rewards = (state.paid - due) / self._unit
        state.paid[:] = due
        return rewards, done

    def measured(self, e: int) -> float:
        """Return the measure of an environment's episode so far."""
        return float(self.state.cost[e])

    def starts(self, e: int) -> IntArray:
        """Return when the jobs of a window have started, -1 for not yet, shape ``(length,)``."""
        starts: IntArray = self.state.start[e].copy()
        return starts

    def first_row(self, e: int) -> int:
        """Return the first row of the window that an environment plays."""
        return int(self.state.num[e, kernels.FIRST])

    def by_rule(self, first: int, rule: str) -> float:
        """Return what a rule gets in a window, with the same backfilling, in its own order."""
        known = self._by_rule.get((first, rule))
        if known is None:
            alone = self.rules._replace(kind=kernels.RULE, fitting=0, may_wait=0)
            where, none = np.zeros(1, dtype=np.int64), self.seen.rows[:0]
            seen = Shown(
                np.zeros((1, *none.shape[1:]), dtype=np.float32),
                np.zeros((1, 0), dtype=np.float32),
                np.zeros((1, self.options.num_actions), dtype=np.bool_),
            )
            row = np.array([first], dtype=np.int64)
            rest = (alone, self.jobs, self._spare, self._scratch)
            kernels.begin(*rest, where, row, row + self.length, seen)
            kernels.play(alone, RULES[rule], *rest[1:], 0)
            known = self._by_rule[first, rule] = float(self._spare.cost[0])
        return known


def _state(num: int, length: int, visible: int, num_kinds: int) -> State:
    def zeros(*shape: int) -> AnyArray:
        return np.zeros((num, *shape), dtype=np.int64)

    return State(
        num=zeros(kernels.NUM_NUMBERS),
        free=zeros(num_kinds),
        queue=zeros(length),
        events=zeros(length, 3),
        running=zeros(length),
        promised=zeros(length),
        start=zeros(length),
        shown=zeros(visible),
        cost=np.zeros(num),
        paid=np.zeros(num),
        weight=np.ones(num),
    )


def _scratch(length: int, num_kinds: int) -> Scratch:
    return Scratch(
        ends=np.zeros(length, dtype=np.int64),
        level=np.zeros((length, num_kinds), dtype=np.int64),
        beside=np.zeros(num_kinds, dtype=np.int64),
        row=np.zeros(length, dtype=np.int64),
        key=np.zeros(length),
    )
