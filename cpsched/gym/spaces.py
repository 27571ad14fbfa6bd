"""Observations and actions as Gymnasium's spaces, and what both kinds of environment are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from cpsched.errors import check_choice
from cpsched.gym.episodes import OBSERVATIONS, Episodes, Shown
from cpsched.gym.options import Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import AnyArray, IntArray


def episodes_of(
    log: Any,
    system: Any = None,
    *,
    num_envs: int = 1,
    rows: tuple[int, int] | None = None,
    starts: Sequence[int] | None = None,
    length: int = 256,
    observation: str = "jobs",
    measure: str = "bounded-slowdown",
    reward: str = "dense",
    relative_to: str | None = None,
    estimates: IntArray | None = None,
    overrun: str = "kill",
    **decides: Any,
) -> Episodes:
    """Return episodes; the parameters are those of an environment, the rest are options."""
    check_choice("observation", observation, OBSERVATIONS)
    return Episodes(
        log,
        system,
        num_envs=num_envs,
        rows=rows,
        starts=starts,
        length=length,
        options=Options(**decides),
        measure=measure,
        reward=reward,
        relative_to=relative_to,
        machine=observation == "dict",
        estimates=estimates,
        overrun=overrun,
    )


def observation_space(episodes: Episodes) -> spaces.Space[Any]:
    """Return the space of one environment's observations."""
    seen = episodes.seen
    jobs = spaces.Box(0.0, 1.0, seen.rows.shape[1:], np.float32)
    if not seen.machine.shape[1]:
        return jobs
    machine = spaces.Box(0.0, 1.0, seen.machine.shape[1:], np.float32)
    return spaces.Dict(
        {"jobs": jobs, "machine": machine, "mask": spaces.MultiBinary(seen.mask.shape[1])}
    )


def action_space(episodes: Episodes) -> spaces.Discrete[np.int64]:
    """Return the space of one environment's actions."""
    return spaces.Discrete(episodes.options.num_actions)


def observed(seen: Shown, which: int | AnyArray | slice) -> Any:
    """Return copies of the observations of some environments, or of one."""
    jobs = seen.rows[which].copy()
    if not seen.machine.shape[1]:
        return jobs
    mask = seen.mask[which].astype(np.int8)
    return {"jobs": jobs, "machine": seen.machine[which].copy(), "mask": mask}
