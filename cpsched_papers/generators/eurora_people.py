"""User, job name and account of each campaign. Eurora's log hides all three."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.generators import pick

if TYPE_CHECKING:
    from cpsched.api.model import BoolArray, FloatArray, IntArray

#: Assumed: users of the whole log by kind of work, how fast activity falls with rank, accounts.
_USERS = {"cpu": 210, "gpu": 90, "mic": 20}
_DECAY, _HEAD = 1.1, 4.0
_GROUPS = 75
#: Assumed: share of users that are at work in a month.
_AT_WORK = 0.45
_MONTH = 30.0
#: Assumed: programs of one user; campaigns named by the batch system or numbered job by job.
_PROGRAMS_OF_A_USER = 4
_UNNAMED, _NUMBERED = 0.12, 0.15

_PROGRAMS = (
    "namd", "gromacs", "lammps", "amber", "cp2k", "pwscf", "siesta", "openfoam", "wrf", "nemo",
    "gadget", "lqcd", "milc", "blast", "bwa", "matlab", "python", "rscript", "octave", "cuda_fft",
    "dgemm", "hpl", "stream", "lbm", "pic", "mcmc", "raytrace", "fem", "cfd", "dft", "md", "qmc",
    "ising", "nbody", "train", "align", "assembly", "render", "sweep", "bench",
)  # fmt: skip
_TASKS = (
    "eq", "prod", "test", "scan", "opt", "run", "relax", "min", "ref", "hr", "lr", "new", "conv",
    "scf", "md", "post", "par", "ser", "a", "b",
)  # fmt: skip
UNNAMED = "STDIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """One row a campaign: indices of user and group, its name, and whether jobs are numbered."""

    user: IntArray
    group: IntArray
    name: list[str]
    numbered: BoolArray


def draw_people(
    rng: np.random.Generator,
    accelerator: IntArray,
    start: FloatArray,
    *,
    days: float,
    follows: IntArray,
) -> People:
    """
    Return the user of each campaign.

    Parameters
    ----------
    accelerator
        0 for campaigns without accelerators, 1 with GPUs, 2 with MICs; a user has one kind.
    start
        Day each campaign starts; the active users change from month to month.
    days
        Length of the log; a short one sees fewer users.
    follows
        For each campaign the one it prepares (same user and name), or -1.
    """
    scale = min(1.0, np.sqrt(days / 549.0))
    counts = [max(3, round(count * scale)) for count in _USERS.values()]
    user = np.zeros(len(start), dtype=np.int64)
    uniforms = rng.random(len(start))
    for kind, count in enumerate(counts):
        rows = accelerator == kind
        user[rows] = sum(counts[:kind]) + _at_work(rng, uniforms[rows], start[rows], count)
    program = rng.integers(0, _PROGRAMS_OF_A_USER, len(start))
    task = rng.integers(0, len(_TASKS), len(start))
    chosen = np.where(follows >= 0, follows, np.arange(len(start)))
    user, program, task = user[chosen], program[chosen], task[chosen]
    label = rng.random(len(start))
    groups = max(3, round(_GROUPS * scale))
    group_of_user = pick(rng.random(sum(counts)), (np.arange(groups) + 3.0) ** -1.0)
    return People(
        user=user,
        group=group_of_user[user],
        name=_names(rng, user, program, task, label < _UNNAMED),
        numbered=label >= 1 - _NUMBERED,
    )


def _at_work(
    rng: np.random.Generator, uniforms: FloatArray, start: FloatArray, count: int
) -> IntArray:
    """Choose among ``count`` users by activity, of those at work in the month."""
    user = np.zeros(len(uniforms), dtype=np.int64)
    month = (start // _MONTH).astype(np.int64)
    activity = (np.arange(count) + _HEAD) ** -_DECAY
    for which in np.unique(month):
        rows = np.flatnonzero(month == which)
        present = np.where(rng.random(count) < _AT_WORK, activity, 0.0)
        user[rows] = pick(uniforms[rows], present if present.any() else activity)
    return user


def _names(
    rng: np.random.Generator, user: IntArray, program: IntArray, task: IntArray, unnamed: BoolArray
) -> list[str]:
    """Return ``program_task`` for each campaign, programs differing by user."""
    repertoire = rng.integers(
        0, len(_PROGRAMS), (int(user.max(initial=0)) + 1, _PROGRAMS_OF_A_USER)
    )
    mine = repertoire[user, program]
    return [
        UNNAMED if anonymous else f"{_PROGRAMS[what]}_{_TASKS[how]}"
        for what, how, anonymous in zip(mine.tolist(), task.tolist(), unnamed.tolist(), strict=True)
    ]
