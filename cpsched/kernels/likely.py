"""
How long jobs are likely to run, by how long others ran of what was predicted.

A job's likely runtimes are past ratios of runtime to prediction times its own prediction, but no
more than its requested time, from two sources that count the same: the jobs of its user that ended
last, and of those that ended last at all the ones most like it. Two jobs are alike if their
predictions and their requests differ by small factors; another user counts as much as a factor e.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import leaf

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10
#: So many of all past jobs are looked for; the room for either source.
NEAR = 20
#: The two sources, numbers in the arrays.
_OWN, _LIKE = 0, 1
#: A linear congruential generator with 48 bits (that of POSIX drand48).
_FACTOR, _STEP, _MASK = 25214903917, 11, 2**48 - 1


@leaf
def _seconds(ratio, plan, limit):
    """Return a ratio of a prediction in whole seconds, from 1 to the limit."""
    return np.int64(round(min(max(ratio * plan, 1.0), float(limit))))


@kernel
def likely_runtimes(user, plan, limit, past, own, own_count):
    """
    Return the likely runtimes of n jobs.

    Parameters
    ----------
    user, plan, limit
        Who (-1: unknown), the prediction and the requested time (at least 1), shape ``(n,)``.
    past
        Of the P jobs that ended last, newest first: ratio of runtime to prediction, logarithms of
        prediction and request, user; shape ``(4, P)``. Of jobs as much alike the newer count.
    own, own_count
        Ratios of each user's jobs, and how many there were: shapes ``(U, K)`` and ``(U,)``, with K
        at most :data:`NEAR`. One job alone says nothing.

    Returns
    -------
    runtime, count
        Seconds (at least 1), shape ``(n, 2, NEAR)``, and how many of each source are there,
        shape ``(n, 2)``.
    """
    num = len(plan)
    runtime = np.empty((num, 2, NEAR), dtype=np.int64)
    count = np.zeros((num, 2), dtype=np.int64)
    distance = np.empty(NEAR)
    near = np.empty(NEAR, dtype=np.int64)
    for j in range(num):
        if j and user[j] == user[j - 1] and plan[j] == plan[j - 1] and limit[j] == limit[j - 1]:
            # Most of a long queue are bursts of the same job.
            runtime[j] = runtime[j - 1]
            count[j] = count[j - 1]
            continue
        if user[j] >= 0 and own_count[user[j]] > 1:
            count[j, _OWN] = min(own_count[user[j]], own.shape[1])
            for i in range(count[j, _OWN]):
                runtime[j, _OWN, i] = _seconds(own[user[j], i], plan[j], limit[j])
        log_plan, log_limit = np.log(plan[j]), np.log(limit[j])
        found = 0
        for i in range(past.shape[1]):
            far = abs(past[1, i] - log_plan) + abs(past[2, i] - log_limit)
            if past[3, i] != user[j]:
                far += 1.0
            if found == NEAR and far >= distance[NEAR - 1]:
                continue
            found = min(found + 1, NEAR)
            k = found - 1
            while k > 0 and distance[k - 1] > far:
                distance[k] = distance[k - 1]
                near[k] = near[k - 1]
                k -= 1
            distance[k] = far
            near[k] = i
        count[j, _LIKE] = found
        for i in range(found):
            runtime[j, _LIKE, i] = _seconds(past[0, near[i]], plan[j], limit[j])
    return runtime, count


@kernel
def typical_runtimes(plan, runtime, count):
    """
    Return the medians of likely runtimes, shape ``(n,)``; the prediction where there are none.

    Of an even number the lower one.
    """
    out = plan.copy()
    value = np.empty(2 * NEAR, dtype=np.int64)
    weight = np.empty(2 * NEAR)
    for j in range(len(plan)):
        num = 0
        total = 0.0
        for source in range(2):
            for i in range(count[j, source]):
                seconds, share = runtime[j, source, i], 1.0 / count[j, source]
                k = num
                while k > 0 and value[k - 1] > seconds:
                    value[k] = value[k - 1]
                    weight[k] = weight[k - 1]
                    k -= 1
                value[k] = seconds
                weight[k] = share
                num += 1
                total += share
        below = 0.0
        for i in range(num):
            below += weight[i]
            # A little less than half: sums of shares are not exact.
            if below >= 0.5 * total - 1e-9:
                out[j] = value[i]
                break
    return out


@kernel
def expectations(plan, runtime, count):
    """
    Return what a second of waiting is expected to add to a bounded slowdown, and mean runtimes.

    Means over likely runtimes r of ``1 / max(r, 10)`` and of r, shape ``(n,)``; of the
    prediction where there are none.
    """
    slope = np.empty(len(plan))
    mean = np.empty(len(plan))
    for j in range(len(plan)):
        slope[j] = 0.0
        mean[j] = 0.0
        sources = 0
        for source in range(2):
            num = count[j, source]
            sources += num > 0
            for i in range(num):
                slope[j] += 1.0 / max(runtime[j, source, i], _TAU) / num
                mean[j] += runtime[j, source, i] / num
        if sources:
            slope[j] /= sources
            mean[j] /= sources
        else:
            slope[j] = 1.0 / max(plan[j], _TAU)
            mean[j] = plan[j]
    return slope, mean


@kernel
def draw_runtimes(num, seed, elapsed, expected, runtime, count):
    """
    Draw from likely runtimes: either source as often as the other.

    Parameters
    ----------
    num, seed
        How many scenarios, and where the random numbers begin.
    elapsed, expected
        How long each of n jobs has run, and what to take where that is longer than likely.

    Returns
    -------
    ndarray
        Shape ``(num, n)``, above ``elapsed``.
    """
    out = np.empty((num, len(elapsed)), dtype=np.int64)
    able = np.empty((2, NEAR), dtype=np.int64)
    left = np.empty(2, dtype=np.int64)
    state = (seed * _FACTOR + _STEP) & _MASK
    for j in range(len(elapsed)):
        for source in range(2):
            left[source] = 0
            for i in range(count[j, source]):
                if runtime[j, source, i] > elapsed[j]:
                    able[source, left[source]] = runtime[j, source, i]
                    left[source] += 1
        for s in range(num):
            state = (state * _FACTOR + _STEP) & _MASK
            source = (state >> 40) & 1
            if left[source] == 0:
                source = 1 - source
            if left[source]:
                out[s, j] = able[source, (state >> 16) % left[source]]
            else:
                out[s, j] = max(expected[j], elapsed[j] + 1)
    return out
