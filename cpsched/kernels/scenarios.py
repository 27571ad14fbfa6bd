"""
Judge what could start now by what may come: likely runtimes, jobs that arrive.

The machine is one pool here (:mod:`cpsched.kernels.pool`). A *proposal* is a set of jobs to start
now.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR, NONE
from cpsched.kernels.compiling import kernel
from cpsched.kernels.events import SECOND, next_second, pop, push
from cpsched.kernels.inner import inner, leaf

if TYPE_CHECKING:
    from cpsched.base.types import AnyArray, FloatArray, IntArray

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10
#: What a wait of ``patience`` costs, in units of bounded slowdown; grows with its fourth power.
_OVERDUE = 10.0
#: What a second's wait costs of a job that takes as much of the machine as jobs do on average.
_AREA = 0.003
#: So many scenarios are played before no more are because the first proposal is ahead.
_FEWEST = 4


#: Numbers that change while a scenario goes on: ends to come, slots that have been in use, jobs
#: that wait, and jobs that have arrived.
_ENDS, _SLOTS, _WAITING, _ARRIVED = range(4)


class Jobs(NamedTuple):
    """
    The N jobs of a scenario: those that wait, then those that arrive.

    Attributes
    ----------
    turn
        Those that wait now, by key, shape ``(W,)``.
    key
        Jobs go in the order of their keys, smallest first.
    reserved
        Runtimes used for reservations.
    area
        Relative to the average.
    demand
        Shape ``(N, R)``.
    ready
        When they are there, sorted.
    """

    turn: IntArray
    key: FloatArray
    reserved: IntArray
    area: FloatArray
    submit: IntArray
    demand: IntArray
    ready: IntArray


class Running(NamedTuple):
    """
    The B jobs that run now.

    Attributes
    ----------
    promised, by_promise
        When reservations take them to end, and the jobs in that order.
    demand
        What they give back, shape ``(B, R)``.
    """

    promised: IntArray
    by_promise: IntArray
    demand: IntArray


class _Pool(NamedTuple):
    """
    The machine while a scenario goes on; a *slot* is a running job, or B and a job's number.

    Attributes
    ----------
    num
        See :data:`_ENDS` and the numbers beside it.
    room, beside
        What is free of each kind, now and beside a reservation.
    events
        The ends to come of slots, see :mod:`cpsched.kernels.events`.
    promised, by_promise
        When reservations take each slot to end, and the slots in that order.
    gone
        Which slots have ended.
    queue
        The jobs that wait, by key.
    """

    num: IntArray
    room: IntArray
    beside: IntArray
    events: IntArray
    promised: IntArray
    by_promise: IntArray
    gone: AnyArray
    queue: IntArray


@leaf
def _fits(demand, job, free):
    """Return whether what a job takes is free."""
    # Not the job's row: a slice is counted, which takes longer than the comparison.
    for r in range(len(free)):
        if demand[job, r] > free[r]:
            return False
    return True


@leaf
def _overdue(wait, area, patience):
    """Return the penalty for a long wait: more for a job that takes more of the machine."""
    overdue = wait / patience
    return _OVERDUE * math.sqrt(area) * overdue * overdue * overdue * overdue


@leaf
def _slowdown(wait, runtime):
    """Return a job's bounded slowdown."""
    return max(1.0, (wait + runtime) / max(runtime, _TAU))


@kernel
def job_cost(wait, runtime, patience):
    """Return what a job's wait costs: its bounded slowdown and a penalty for very long waits."""
    return _slowdown(wait, runtime) + _overdue(wait, 1.0, patience)


@leaf
def _wait_cost(wait, runtime, area, patience):
    """Return what a job's wait costs in a scenario, see ``docs/background/rollout.md``."""
    return _slowdown(wait, runtime) + _AREA * area * wait + _overdue(wait, area, patience)


@kernel
def overdue_slope(wait, area, patience):
    """Return by how much the penalty for long waits grows with a second, shape ``(n,)``."""
    slope = np.empty(len(wait))
    for j in range(len(wait)):
        overdue = wait[j] / patience
        slope[j] = 4 * _OVERDUE * math.sqrt(area[j]) * overdue**3 / patience
    return slope


@kernel
def plan_cost(start, duration, submit, patience):
    """Return the sum of :func:`job_cost` over a plan; a job that never starts costs most."""
    total = 0.0
    for j in range(len(start)):
        if start[j] < 0:
            total += 1e12
        else:
            total += job_cost(start[j] - submit[j], duration[j], patience)
    return total


@inner
def _pool_of(jobs, running, remaining, now, free):
    """Return the pool at the beginning of a scenario in which jobs run on for so long."""
    num_running = len(remaining)
    size = num_running + len(jobs.key)
    pool = _Pool(
        np.zeros(4, dtype=np.int64), free.copy(), free.copy(),
        np.empty((size, 3), dtype=np.int64), np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64), np.zeros(size, dtype=np.bool_),
        np.empty(len(jobs.key), dtype=np.int64),
    )  # fmt: skip
    for i in range(num_running):
        push(pool.events, i, now + remaining[i], i, i)
        pool.promised[i] = running.promised[i]
        pool.by_promise[i] = running.by_promise[i]
    for i in range(len(jobs.turn)):
        pool.queue[i] = jobs.turn[i]
    pool.num[_ENDS] = pool.num[_SLOTS] = num_running
    pool.num[_WAITING] = pool.num[_ARRIVED] = len(jobs.turn)
    return pool


@leaf
def _held_by(slot, r, jobs, running):
    """Return what the owner of a slot gives back of a kind when it ends."""
    num_running = len(running.promised)
    return running.demand[slot, r] if slot < num_running else jobs.demand[slot - num_running, r]


@leaf
def _shadow_of(time, job, jobs, running, pool):
    """Return from when on a job has room, as reservations take it; fills what is free beside it."""
    beside = pool.beside
    for r in range(len(beside)):
        beside[r] = pool.room[r] - jobs.demand[job, r]
    shadow = FAR
    for i in range(pool.num[_SLOTS]):
        slot = pool.by_promise[i]
        if pool.gone[slot]:
            continue
        end = max(pool.promised[slot], time + 1)
        if end > shadow:
            break
        enough = True
        for r in range(len(beside)):
            beside[r] += _held_by(slot, r, jobs, running)
            enough = enough and beside[r] >= 0
        if enough and shadow == FAR:
            shadow = end
    return shadow


@leaf
def _any_below(room, least):
    """Return whether of some kind less is free than any job takes."""
    for r in range(len(room)):
        if room[r] < least[r]:
            return True
    return False


@leaf
def _start(time, job, runtime, jobs, running, pool):
    """Start a job: it takes what it needs, and has an end and one that reservations go by."""
    slot = len(running.promised) + job
    for r in range(len(pool.room)):
        pool.room[r] -= jobs.demand[job, r]
    pool.promised[slot] = time + jobs.reserved[job]
    k = pool.num[_SLOTS]
    while k > 0 and pool.promised[pool.by_promise[k - 1]] > pool.promised[slot]:
        pool.by_promise[k] = pool.by_promise[k - 1]
        k -= 1
    pool.by_promise[k] = slot
    pool.num[_SLOTS] += 1
    push(pool.events, pool.num[_ENDS], time + runtime[job], slot, slot)
    pool.num[_ENDS] += 1


@leaf
def _start_proposed(time, starts, runtime, jobs, running, pool, patience):
    """Start the jobs of a proposal; return what their waits cost."""
    total = 0.0
    still = 0
    for i in range(pool.num[_WAITING]):
        job = pool.queue[i]
        if starts[job]:
            _start(time, job, runtime, jobs, running, pool)
            total += _wait_cost(time - jobs.submit[job], runtime[job], jobs.area[job], patience)
        else:
            pool.queue[still] = job
            still += 1
    pool.num[_WAITING] = still
    return total


@leaf
def _start_queue(time, least, runtime, jobs, running, pool, patience):
    """
    Start jobs as EASY does; return what their waits cost.

    The first that does not fit gets a reservation; others start that have ended by then, as
    reservations take it, or fit beside it.
    """
    total = 0.0
    still = 0
    held, shadow, is_known = NONE, FAR, False
    closed = _any_below(pool.room, least)
    for i in range(pool.num[_WAITING]):
        job = pool.queue[i]
        goes = not closed and _fits(jobs.demand, job, pool.room)
        if not closed and not goes and held < 0:
            held = job
        elif goes and held >= 0:
            if not is_known:
                shadow, is_known = _shadow_of(time, held, jobs, running, pool), True
            if time + jobs.reserved[job] > shadow:
                goes = _fits(jobs.demand, job, pool.beside)
                if goes:
                    for r in range(len(pool.beside)):
                        pool.beside[r] -= jobs.demand[job, r]
        if not goes:
            pool.queue[still] = job
            still += 1
            continue
        _start(time, job, runtime, jobs, running, pool)
        total += _wait_cost(time - jobs.submit[job], runtime[job], jobs.area[job], patience)
        closed = _any_below(pool.room, least)
    pool.num[_WAITING] = still
    return total


@leaf
def _end_jobs(time, jobs, running, pool):
    """Free what the jobs held that end at a second."""
    while pool.num[_ENDS] > 0 and pool.events[0, SECOND] == time:
        slot = pop(pool.events, pool.num[_ENDS])
        pool.num[_ENDS] -= 1
        pool.gone[slot] = True
        for r in range(len(pool.room)):
            pool.room[r] += _held_by(slot, r, jobs, running)


@leaf
def _let_arrive(time, jobs, pool):
    """Put the jobs into the queue that arrive at a second."""
    job = pool.num[_ARRIVED]
    while job < len(jobs.ready) and jobs.ready[job] == time:
        k = pool.num[_WAITING]
        while k > 0 and jobs.key[pool.queue[k - 1]] > jobs.key[job]:
            pool.queue[k] = pool.queue[k - 1]
            k -= 1
        pool.queue[k] = job
        pool.num[_WAITING] += 1
        job += 1
    pool.num[_ARRIVED] = job


@inner
def _roll_out(now, starts, runtime, least, jobs, running, pool, patience):
    """
    Simulate one scenario to its end and return the cost of all jobs' waits.

    After a proposal's starts the queue goes by EASY whenever something changes. A scenario's
    runtimes are used only to end jobs.
    """
    total = _start_proposed(now, starts, runtime, jobs, running, pool, patience)
    while pool.num[_WAITING] > 0 or pool.num[_ARRIVED] < len(jobs.ready):
        time = next_second(pool.events, pool.num[_ENDS], jobs.ready, pool.num[_ARRIVED])
        if time == FAR:
            return total + 1e12 * pool.num[_WAITING]
        _end_jobs(time, jobs, running, pool)
        _let_arrive(time, jobs, pool)
        total += _start_queue(time, least, runtime, jobs, running, pool, patience)
    return total


@kernel
def judge(now, starts, runtime, remaining, jobs, running, free, patience):
    """
    Return what each of P proposals costs in each scenario that is played, shape ``(P, at most S)``.

    From the fourth of the S scenarios on, playing ends once the first proposal has cost least: it
    hardly ever happens that another is clearly better after all of them.

    Parameters
    ----------
    starts
        Which of the waiting jobs each proposal starts now, shape ``(P, W)``.
    runtime, remaining
        Of waiting and arriving jobs and of the running ones in each scenario, shapes
        ``(S, N)`` and ``(S, B)``.
    """
    least = np.empty(len(free), dtype=np.int64)
    for r in range(len(free)):
        least[r] = FAR
        for job in range(len(jobs.demand)):
            least[r] = min(least[r], jobs.demand[job, r])
    cost = np.empty((len(starts), len(runtime)))
    total = np.zeros(len(starts))
    played = 0
    while played < len(runtime) and (played < _FEWEST or total.argmin() > 0):
        s = played
        for p in range(len(starts)):
            pool = _pool_of(jobs, running, remaining[s], now, free)
            cost[p, s] = _roll_out(now, starts[p], runtime[s], least, jobs, running, pool, patience)
            total[p] += cost[p, s]
        played += 1
    return cost[:, :played]
