"""The environment, and its registration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsInt

import gymnasium
import numpy as np

from cpsched.errors import ConfigError
from cpsched.gym.spaces import action_space, episodes_of, observation_space, observed

if TYPE_CHECKING:
    from cpsched.util.types import BoolArray, IntArray

ID = "BatchScheduling-v0"


def register() -> None:
    """Register the environment; ``cpsched.gym`` calls it when it is imported."""
    if ID not in gymnasium.registry:
        gymnasium.register(
            ID,
            entry_point="cpsched.gym.environment:BatchScheduling",
            vector_entry_point="cpsched.gym.vector:BatchSchedulingVector",
        )


class BatchScheduling(gymnasium.Env[Any, SupportsInt]):
    """
    A window of a log on a pool of processors: which job goes next, or by which rule?

    An episode begins with an empty machine and ends when all jobs of its window have ended. The
    agent is asked when something has happened and its answer can matter: not where no waiting job
    fits, and not where there is one choice.

    Observations are rows of features from 0 to 1, whose names are ``FEATURES`` of
    :mod:`cpsched.gym.features`: a row for each job that can be chosen, in order of
    submit, zeros where there are fewer, and the last row for waiting where that is an action. No
    runtime is in them; a dense reward is made of runtimes.

    Parameters
    ----------
    log
        The path of a log, a workload, or one that is on its machine already.
    system
        A name, a path, a system, or a number of processors.
    rows
        The part of the log, ``[first, end)``, from which windows are drawn; the whole log if None.
    starts
        First rows of the windows instead, of which one is drawn.
    length
        Jobs in a window.
    observation
        ``jobs``: the rows, a box of shape ``(A, F)``. ``dict``: these as ``jobs``, ``machine`` (the
        free share of each kind, the queue, the running jobs, and the free share that is expected
        after ten minutes, one hour, four hours and a day) and ``mask`` (the actions that are
        possible).
    measure
        What the agent is paid by, the lower the better: ``bounded-slowdown`` (10 s), ``wait``
        (seconds) or ``area-weighted-response`` (seconds), a mean over the jobs of a window.
    reward
        ``dense``: minus what each second costs; ``end``: minus the measure, at the end. The sum is
        the same.
    relative_to
        A rule by whose measure in the same window rewards are divided, so that windows count alike.
    estimates, overrun
        See :func:`~cpsched.gym.episode_jobs.jobs_of`.
    decides
        What is decided: ``action``, ``choose``, ``wait``, ``backfill``, ``behind``, ``rules``,
        ``visible``, see :class:`~cpsched.gym.options.Options`.

    Raises
    ------
    ConfigError
        If an option has no such value, or the rows hold no window.
    """

    metadata = {"render_modes": []}

    def __init__(self, log: Any, system: Any = None, **decides: Any) -> None:
        self.episodes = episodes_of(log, system, **decides)
        self.observation_space = observation_space(self.episodes)
        self.action_space = action_space(self.episodes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """
        Begin an episode.

        Parameters
        ----------
        options
            ``first``: the row at which its window begins, instead of one that is drawn.
        """
        super().reset(seed=seed)
        episodes = self.episodes
        first = (options or {}).get("first")
        if first is None:
            first = self.np_random.choice(episodes.first_rows)
        elif not 0 <= first <= len(episodes.jobs) - episodes.length:
            raise ConfigError(
                f"is {first}, must be from 0 to {len(episodes.jobs) - episodes.length}",
                key="first",
            )
        episodes.begin(np.zeros(1, dtype=np.int64), np.array([first], dtype=np.int64))
        return observed(episodes.seen, 0), self._info()

    def step(self, action: SupportsInt) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do what an action says; one that is masked counts as the first."""
        rewards, done = self.episodes.step(np.array([int(action)], dtype=np.int64))
        return (
            observed(self.episodes.seen, 0),
            float(rewards[0]),
            bool(done[0]),
            False,
            self._info(),
        )

    def action_masks(self) -> BoolArray:
        """Return which actions are possible, shape ``(A,)``; what MaskablePPO asks for."""
        mask: BoolArray = self.episodes.seen.mask[0].copy()
        return mask

    @property
    def starts(self) -> IntArray:
        """When the jobs of the window have started, -1 for not yet, shape ``(length,)``."""
        return self.episodes.starts(0)

    def _info(self) -> dict[str, Any]:
        return {
            "first": int(self.episodes.windows[0]),
            "measure": float(self.episodes.measures[0]),
            "action_mask": self.action_masks(),
        }
