"""
What an agent is shown, as numbers from 0 to 1.

The environment and the dispatcher of a trained policy fill the same rows with the same functions.
"""

from __future__ import annotations

import math

import numpy as np

from cpsched.kernels.arrays import ONE, ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import leaf

#: Columns of a row of an observation, one row for each action; see :data:`FEATURES`.
(
    IS_JOB, IS_WAIT, WAITED, ESTIMATE, SHARE, FITS, SHARE_OF_FREE, SLOWDOWN, UNTIL_FITS, AREA,
    FREE, QUEUE,
) = range(12)  # fmt: skip

#: Names of the columns, in order.
FEATURES = (
    *("is_job", "is_wait", "waited", "estimate", "share", "fits", "share_of_free", "slowdown"),
    *("until_fits", "area", "free", "queue"),
)

#: Durations are ``log1p`` of their seconds over that of thirty days.
_LONGEST = math.log1p(30 * 86400)
#: Slowdowns are logarithms over that of this.
_SLOWEST = math.log(10_000.0)
#: Runtimes below this many seconds count as this in a slowdown.
_TAU = 10
#: A queue of so many jobs is shown as one half.
_HALF = 64.0
#: Seconds from now on for which the free share is shown in the machine's vector.
AHEAD = (600, 3600, 14400, 86400)


@leaf
def scaled(seconds):
    """Return a duration as a number from 0 to 1."""
    return min(math.log1p(seconds) / _LONGEST, 1.0)


@leaf
def _has_room(demand, at, free):
    """Return whether a job fits into what is free of every kind."""
    for r in range(len(free)):
        if demand[at, r] > free[r]:
            return False
    return True


@leaf
def _free_share(free, total):
    """Return the share of the kind of which least is free."""
    least = 1.0
    for r in range(len(free)):
        if total[r] > 0:
            least = min(least, max(free[r] / total[r], 0.0))
    return least


@leaf
def _until(demand, at, now, ends, level, num_ends):
    """Return in how many seconds a job fits if nothing else starts; 0 if it never does."""
    low, high = ZERO, num_ends
    while low < high:
        middle = (low + high) // 2
        if _has_room(demand, at, level[middle]):
            high = middle
        else:
            low = middle + ONE
    return ends[low] - now if low < num_ends else ZERO


@leaf
def show_jobs(
    now, shown, num_shown, submit, estimate, facts, demand, total, free, waiting, ends, level,
    num_ends, may_wait, rows,
):  # fmt: skip
    """
    Fill the rows of an observation.

    Parameters
    ----------
    shown, num_shown
        Which jobs, as positions in the arrays that follow.
    submit, estimate
        Seconds, shape ``(J,)``.
    facts
        What never changes of a job: estimate, share and area as they are shown, ``(J, 3)``.
    demand
        Shape ``(J, R)``.
    total, free
        Of the machine, shape ``(R,)``.
    waiting
        Number of jobs in the queue.
    ends, level, num_ends
        When running jobs are expected to end, in order, and what is free from then on, ``(B, R)``.
    may_wait
        Whether the last row stands for waiting.
    rows
        The observation, shape ``(A, F)``; filled.
    """
    room = _free_share(free, total)
    crowd = waiting / (waiting + _HALF)
    num_jobs = len(rows) - may_wait
    for i in range(num_shown):
        at = shown[i]
        waited, runs = now - submit[at], max(estimate[at], _TAU)
        fits = _has_room(demand, at, free)
        taken = 1.0
        if fits:
            taken = 0.0
            for r in range(len(free)):
                if demand[at, r] > 0:
                    taken = max(taken, demand[at, r] / free[r])
        rows[i, IS_JOB] = 1.0
        rows[i, IS_WAIT] = 0.0
        rows[i, WAITED] = scaled(waited)
        rows[i, ESTIMATE] = facts[at, 0]
        rows[i, SHARE] = facts[at, 1]
        rows[i, FITS] = 1.0 if fits else 0.0
        rows[i, SHARE_OF_FREE] = taken
        rows[i, SLOWDOWN] = min(math.log((waited + runs) / runs) / _SLOWEST, 1.0)
        rows[i, UNTIL_FITS] = (
            0.0 if fits else scaled(_until(demand, at, now, ends, level, num_ends))
        )
        rows[i, AREA] = facts[at, 2]
        rows[i, FREE] = room
        rows[i, QUEUE] = crowd
    for i in range(num_shown, num_jobs):
        for k in range(rows.shape[1]):
            rows[i, k] = 0.0
    if may_wait:
        for k in range(rows.shape[1]):
            rows[num_jobs, k] = 0.0
        rows[num_jobs, IS_WAIT] = 1.0
        rows[num_jobs, FREE] = room
        rows[num_jobs, QUEUE] = crowd
        if num_ends > 0:
            rows[num_jobs, UNTIL_FITS] = scaled(ends[0] - now)


@leaf
def show_machine(now, total, free, waiting, ends, level, num_ends, vector):
    """
    Fill the machine's vector.

    The free share of every kind, the queue's length, how many jobs run, and the free share of the
    scarcest kind as it is expected after each of :data:`AHEAD`.
    """
    num_kinds = len(total)
    for r in range(num_kinds):
        vector[r] = max(free[r] / total[r], 0.0) if total[r] > 0 else 0.0
    vector[num_kinds] = waiting / (waiting + _HALF)
    vector[num_kinds + 1] = num_ends / (num_ends + _HALF)
    for k in range(len(AHEAD)):
        last = -1
        while last + 1 < num_ends and ends[last + 1] <= now + AHEAD[k]:
            last += 1
        vector[num_kinds + 2 + k] = _free_share(free if last < 0 else level[last], total)


@kernel
def shown_rows(
    now, shown, num_shown, submit, estimate, facts, demand, total, free, waiting, ends, back,
    may_wait, rows,
):  # fmt: skip
    """
    Fill the rows of an observation from arrays of a view.

    Parameters
    ----------
    ends, back
        When the running jobs are expected to end, in order, and what each gives back, ``(B, R)``.
    """
    level = np.empty(back.shape, dtype=np.int64)
    for i in range(len(ends)):
        for r in range(back.shape[1]):
            level[i, r] = (free[r] if i == 0 else level[i - 1, r]) + back[i, r]
    show_jobs(
        now, shown, num_shown, submit, estimate, facts, demand, total, free, waiting, ends, level,
        len(ends), may_wait, rows,
    )  # fmt: skip
