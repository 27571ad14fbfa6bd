"""
Likely runtimes of jobs, from the runtimes of similar jobs.

A job's likely runtimes are a weighted sample of at most :data:`SAMPLES`: the runtimes of the most
similar recently ended jobs, and its predicted distribution.
"""

from __future__ import annotations

import math

import numpy as np

from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import leaf

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10
#: Runtimes of other jobs, and predicted ones, that a sample has room for.
NEAR, PREDICTED = 32, 13
SAMPLES = NEAR + PREDICTED
#: What is known of a job, columns of *facts*: its user's number (-1: unknown), requested time,
#: then three traits; then predicted runtimes and their weights, which add up to 1 or 0; then for
#: how many seconds it has run without coming to its end.
USER, LIMIT, TRAIT, NUM_TRAITS = 0, 1, 2, 3
ESTIMATE = TRAIT + 1
SAID = TRAIT + NUM_TRAITS
SAID_WEIGHT = SAID + PREDICTED
RAN = SAID_WEIGHT + PREDICTED
NUM_FACTS = RAN + 1
#: Ended jobs remembered of each user and of all.
OWN, ALL = 40, 250
#: Of what is remembered of an ended job: its runtime, then its traits, then its user.
RUNTIME, TRAIT_OF_PAST, USER_OF_PAST = 0, 1, 1 + NUM_TRAITS
ESTIMATE_OF_PAST = TRAIT_OF_PAST + 1
PAST = 2 + NUM_TRAITS

# How unlike two jobs are; chosen by the score (CRPS) of the logarithm of runtimes on four logs.
# Logarithms of requested time, estimate and cores count so much, up to a most.
_SCALE = (1.0, 1.0, 2.0)
_MOST = (3.0, 3.0, 1.0)
#: Another user counts as much as requests that differ by a factor of 12.
_STRANGER = 2.5
#: Of the user's own and of all jobs, later ones count more: weights fall with a power of the rank.
_OWN_RANK = np.array([0.5 * math.log(1 + rank) for rank in range(OWN)])
_ALL_RANK = np.array([0.1 * math.log(1 + rank) for rank in range(ALL)])

#: A linear congruential generator with 48 bits (that of POSIX drand48).
_FACTOR, _STEP, _MASK = 25214903917, 11, 2**48 - 1


@leaf
def _unlike(facts, j, past, i):
    """Return how far a job's traits are from those of a job that has ended."""
    far = 0.0
    for k in range(NUM_TRAITS):
        apart = abs(facts[j, TRAIT + k] - past[i, TRAIT_OF_PAST + k])
        far += _SCALE[k] * min(apart, _MOST[k])
    return far


@leaf
def _keep(far, place, distance, nearest, found):
    """Put a job that has ended among the nearest, sorted by distance; return how many are there."""
    if found == NEAR and far >= distance[NEAR - 1]:
        return found
    k = min(found, NEAR - 1)
    while k > 0 and distance[k - 1] > far:
        distance[k] = distance[k - 1]
        nearest[k] = nearest[k - 1]
        k -= 1
    distance[k] = far
    nearest[k] = place
    return min(found + 1, NEAR)


@leaf
def _find_nearest(facts, j, past, num_past, own, num_own, distance, nearest):
    """
    Find the jobs nearest to one among its user's ``own`` and all; return how many there are.

    Their places in ``own``, or -1 less those in ``past``.
    """
    user = np.int64(facts[j, USER])
    found = 0
    if user >= 0:
        for rank in range(min(num_own[user], OWN)):
            # No later one is nearer.
            if found == NEAR and _OWN_RANK[rank] >= distance[NEAR - 1]:
                break
            i = user * OWN + (num_own[user] - 1 - rank) % OWN
            far = _unlike(facts, j, own, i) + _OWN_RANK[rank]
            found = _keep(far, i, distance, nearest, found)
    for rank in range(min(num_past, ALL)):
        if found == NEAR and _STRANGER + _ALL_RANK[rank] >= distance[NEAR - 1]:
            break
        i = (num_past - 1 - rank) % ALL
        # The user's own have been looked at.
        if user < 0 or past[i, USER_OF_PAST] != user:
            far = _STRANGER + _unlike(facts, j, past, i) + _ALL_RANK[rank]
            found = _keep(far, -1 - i, distance, nearest, found)
    return found


@leaf
def _neighbours(facts, j, past, num_past, own, num_own, scale, distance, nearest, runtime, weight):
    """Write what a job's sample has of other jobs, weights adding up to 1; return how many."""
    found = _find_nearest(facts, j, past, num_past, own, num_own, distance, nearest)
    estimate = facts[j, ESTIMATE]
    total = 0.0
    for k in range(found):
        i = nearest[k]
        ran = own[i, RUNTIME] if i >= 0 else past[-1 - i, RUNTIME]
        said = own[i, ESTIMATE_OF_PAST] if i >= 0 else past[-1 - i, ESTIMATE_OF_PAST]
        seconds = ran * math.exp(scale * (estimate - said))
        # Whole seconds, as runtimes are.
        runtime[j, k] = np.round(min(max(seconds, 1.0), facts[j, LIMIT]))
        weight[j, k] = math.exp(distance[0] - distance[k])
        total += weight[j, k]
    for k in range(found):
        weight[j, k] /= total
    return found


@leaf
def _said(facts, j, found, runtime, weight):
    """Add what was predicted, which weighs as much as all other jobs; return the sample's size."""
    at = found
    for k in range(PREDICTED):
        if facts[j, SAID_WEIGHT + k] > 0:
            runtime[j, at] = min(max(facts[j, SAID + k], 1.0), facts[j, LIMIT])
            weight[j, at] = facts[j, SAID_WEIGHT + k]
            at += 1
    if at > found > 0:
        for k in range(at):
            weight[j, k] *= 0.5
    return at


@leaf
def _longer(facts, j, found, runtime, weight):
    """Keep what is longer than the job has run already; return how many there are."""
    kept = 0
    total = 0.0
    for k in range(found):
        if runtime[j, k] > facts[j, RAN]:
            runtime[j, kept], weight[j, kept] = runtime[j, k], weight[j, k]
            total += weight[j, k]
            kept += 1
    if kept == 0:
        # Longer than any job like it: all that is known is its limit.
        runtime[j, 0], weight[j, 0] = facts[j, LIMIT], 1.0
        return 1
    for k in range(kept):
        weight[j, k] /= total
    return kept


@kernel
def likely_runtimes(facts, past, num_past, own, num_own, scale):
    """
    Return samples of the likely runtimes of n jobs.

    Parameters
    ----------
    facts
        What is known of the jobs, shape ``(n, NUM_FACTS)``; see the columns above. Traits are
        logarithms of requested time, estimate and cores.
    past, num_past
        A ring of the jobs that ended last, shape ``(ALL, PAST)``, and how many there ever were.
    own, num_own
        The same for each user: shapes ``(U * OWN, PAST)`` and ``(U,)``.
    scale
        How far runtimes go along with estimates: what a job ran counts as that times this power of
        the ratio of the estimates. 1 where estimates are good, 0 where they say nothing.

    Returns
    -------
    runtime, weight, size
        Seconds, at least 1 and at most the requested time, and their weights, which add up to 1:
        shape ``(n, SAMPLES)``, of which the first ``size`` (n,) count. Where nothing is known
        that is the estimate. What a job has run already is not likely any more.
    """
    num = len(facts)
    runtime = np.ones((num, SAMPLES))
    weight = np.zeros((num, SAMPLES))
    size = np.ones(num, dtype=np.int64)
    distance, nearest = np.empty(NEAR), np.empty(NEAR, dtype=np.int64)
    for j in range(num):
        alike = j > 0
        for k in range(facts.shape[1]):
            if not alike or facts[j, k] != facts[j - 1, k]:
                alike = False
                break
        if alike:
            # Most of a long queue are bursts of the same job.
            size[j] = size[j - 1]
            for k in range(size[j]):
                runtime[j, k], weight[j, k] = runtime[j - 1, k], weight[j - 1, k]
            continue
        found = _neighbours(
            facts, j, past, num_past, own, num_own, scale, distance, nearest, runtime, weight
        )
        found = _said(facts, j, found, runtime, weight)
        if found == 0:
            estimate = np.round(math.exp(facts[j, ESTIMATE]))
            runtime[j, 0] = min(max(estimate, 1.0), facts[j, LIMIT])
            weight[j, 0], found = 1.0, 1
        if facts[j, RAN] > 0:
            found = _longer(facts, j, found, runtime, weight)
        size[j] = found
    return runtime, weight, size


@kernel
def expectations(runtime, weight, size):
    """
    Return what a second of waiting is expected to add to a bounded slowdown, and mean runtimes.

    Means over likely runtimes r of ``1 / max(r, 10)`` and of r, shape ``(n,)``.
    """
    slope = np.zeros(len(size))
    mean = np.zeros(len(size))
    for j in range(len(size)):
        for k in range(size[j]):
            slope[j] += weight[j, k] / max(runtime[j, k], _TAU)
            mean[j] += weight[j, k] * runtime[j, k]
    return slope, mean


@kernel
def draw_runtimes(num, seed, elapsed, expected, runtime, weight, size):
    """
    Draw from likely runtimes, those that are longer than a job has run.

    Every job's distribution is cut into ``num`` parts of the same probability, from each of which
    one runtime is drawn; which part comes in which scenario differs from job to job (Latin
    hypercube sampling; McKay, Beckman and Conover 1979).

    Parameters
    ----------
    num, seed
        How many scenarios, and where the random numbers begin.
    elapsed, expected
        How long each of n jobs has run, and what to take where that is longer than likely.

    Returns
    -------
    ndarray
        Whole seconds above ``elapsed``, shape ``(num, n)``.
    """
    out = np.empty((num, len(elapsed)), dtype=np.int64)
    turn = np.empty(num, dtype=np.int64)
    state = (seed * _FACTOR + _STEP) & _MASK
    for j in range(len(elapsed)):
        for s in range(num):
            turn[s] = s
        for s in range(num - 1, 0, -1):
            state = (state * _FACTOR + _STEP) & _MASK
            other = (state >> 16) % (s + 1)
            turn[s], turn[other] = turn[other], turn[s]
        left = 0.0
        for k in range(size[j]):
            if np.int64(runtime[j, k]) > elapsed[j]:
                left += weight[j, k]
        for s in range(num):
            state = (state * _FACTOR + _STEP) & _MASK
            point = left * (turn[s] + (state >> 16) / 2.0**32) / num
            out[s, j] = max(expected[j], elapsed[j] + 1)
            for k in range(size[j]):
                seconds = np.int64(runtime[j, k])
                if seconds > elapsed[j]:
                    out[s, j] = seconds
                    point -= weight[j, k]
                    if point < 0:
                        break
    return out
