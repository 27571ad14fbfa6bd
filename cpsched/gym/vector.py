"""Many environments stepped in one native call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from cpsched.gym.spaces import action_space, episodes_of, observation_space, observed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray


class BatchSchedulingVector(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """
    Environments like :class:`~cpsched.gym.environment.BatchScheduling`, side by side.

    An episode that ends is followed by a new one in the same step: the observation is the new
    one's, and ``infos`` has ``final_obs`` and the ``measure`` and ``first`` row of the one that
    ended (``final_info``).

    Parameters
    ----------
    log, system, decides
        As of a single environment.
    num_envs
        How many there are.
    """

    metadata = {
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(self, log: Any, system: Any = None, *, num_envs: int = 1, **decides: Any) -> None:
        self.num_envs = num_envs
        self.episodes = episodes_of(log, system, num_envs=num_envs, **decides)
        self.single_observation_space = observation_space(self.episodes)
        self.single_action_space = action_space(self.episodes)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """
        Begin episodes.

        Parameters
        ----------
        seed
            Of the generator by which all windows are drawn from now on.
        options
            ``first``: the rows at which windows begin, shape ``(E,)``; ``reset_mask``: which
            environments begin, shape ``(E,)``.
        """
        if seed is not None:
            entropy = seed if isinstance(seed, int) else [env_seed or 0 for env_seed in seed]
            self._np_random = np.random.default_rng(entropy)
        options = options or {}
        mask = options.get("reset_mask")
        which = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        first = options.get("first")
        self._begin(which, None if first is None else np.asarray(first, dtype=np.int64)[which])
        return observed(self.episodes.seen, slice(None)), {"action_mask": self.action_masks()}

    def _begin(self, which: IntArray, first: IntArray | None = None) -> None:
        if first is None:
            first = self.np_random.choice(self.episodes.first_rows, len(which))
        self.episodes.begin(which, first)

    def step(
        self, actions: AnyArray
    ) -> tuple[Any, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Do what the actions say, one of each environment; begin anew where one has ended."""
        episodes = self.episodes
        rewards, done = episodes.step(np.asarray(actions, dtype=np.int64))
        infos: dict[str, Any] = {}
        if done.any():
            ended = np.flatnonzero(done)
            final = observed(episodes.seen, slice(None))
            infos["final_obs"], infos["_final_obs"] = final, done
            infos["final_info"] = {
                "measure": episodes.measures,
                "first": episodes.windows,
            }
            infos["_final_info"] = done
            self._begin(ended)
        infos["action_mask"] = self.action_masks()
        none = np.zeros(self.num_envs, dtype=np.bool_)
        return observed(episodes.seen, slice(None)), rewards, done, none, infos

    def action_masks(self) -> BoolArray:
        """Return which actions are possible, shape ``(E, A)``."""
        return self.episodes.seen.mask.copy()
