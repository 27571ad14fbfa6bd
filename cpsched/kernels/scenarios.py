"""
Judge what could start now by what may come: likely runtimes, jobs that arrive.

The machine is one pool here (:mod:`cpsched.kernels.pool`). A *proposal* is a set of jobs to start
now.
"""

from __future__ import annotations

import math

import numpy as np

from cpsched.kernels.arrays import FAR, NONE, ZERO, sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10
#: What a wait of ``patience`` costs, in units of bounded slowdown; grows with its fourth power.
_OVERDUE = 10.0
#: What a second's wait costs of a job that takes as much of the machine as jobs do on average.
_AREA = 0.003


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
def cost_slope(wait, runtime, patience):
    """Return by how much :func:`job_cost` grows with a second of wait, shape ``(n,)``."""
    slope = overdue_slope(wait, np.ones(len(wait)), patience)
    for j in range(len(wait)):
        slope[j] += 1 / max(runtime[j], _TAU)
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


@leaf
def _later(ends, owner, head, count, end, job):
    """Put an end into its place among the sorted ones; return their new number."""
    k = count
    while k > head and ends[k - 1] > end:
        ends[k] = ends[k - 1]
        owner[k] = owner[k - 1]
        k -= 1
    ends[k] = end
    owner[k] = job
    return count + 1


@leaf
def _hold(now, job, demand, end_demand, room, plist, pend, count, gone, beside):
    """
    Return from when on a job that does not fit has room, as reservations take it; fill ``beside``.

    That is what is free beside it then; what should have ended is expected to end next second.
    """
    num_running = len(end_demand)
    for r in range(len(room)):
        beside[r] = room[r] - demand[job, r]
    shadow = FAR
    for i in range(count):
        slot = plist[i]
        if gone[slot]:
            continue
        end = max(pend[slot], now + 1)
        if end > shadow:
            break
        enough = True
        for r in range(len(room)):
            if slot < num_running:
                beside[r] += end_demand[slot, r]
            else:
                beside[r] += demand[slot - num_running, r]
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


@inner
def roll_out(
    now, num_waiting, starts, turn, key, runtime, reserved, area, submit, demand, ready, ends,
    ending, promised, by_promise, end_demand, free, least, patience,
):  # fmt: skip
    """
    Simulate one scenario to its end and return the cost of all jobs' waits.

    After a proposal's starts the queue goes by EASY, in the order of ``key``: whenever something
    changes, jobs start in that order, the first that does not fit gets a reservation, and others
    start that have ended by then, as reservations take it, or fit beside it. A scenario's runtimes
    are used only to end jobs.

    Parameters
    ----------
    num_waiting
        Jobs up to this one wait now, those behind arrive at ``ready`` (sorted).
    starts
        Which of them start now, shape ``(num_waiting,)``.
    turn, key
        The waiting jobs by key, and the keys of all, smallest first; shape ``(N,)``.
    runtime, reserved, area
        The scenario's runtimes, those used for reservations, and each job's area relative to the
        average; shape ``(N,)``.
    ends, ending
        When the B running jobs end, sorted, and which of them.
    promised, by_promise
        When reservations take them to end, and the running jobs in that order; shape ``(B,)``.
    end_demand
        What they give back, shape ``(B, R)``.
    least
        No waiting or arriving job takes less, shape ``(R,)``.
    """
    num, num_kinds, num_running = len(runtime), len(free), len(ends)
    room = free.copy()
    beside = np.empty(num_kinds, dtype=np.int64)
    end = np.empty(num_running + num, dtype=np.int64)
    owner = np.empty(num_running + num, dtype=np.int64)
    plist = np.empty(num_running + num, dtype=np.int64)
    pend = np.empty(num_running + num, dtype=np.int64)
    gone = np.zeros(num_running + num, dtype=np.bool_)
    for i in range(num_running):
        end[i] = ends[i]
        owner[i] = ending[i]
        plist[i] = by_promise[i]
        pend[i] = promised[i]
    num_ends = num_running
    left = np.empty(num, dtype=np.int64)
    waiting = ZERO
    head = ZERO
    total = 0.0
    arriving = num_waiting
    time = now
    for i in range(num_waiting):
        left[waiting] = turn[i]
        waiting += 1
    first = True
    while True:
        still = ZERO
        held = NONE
        shadow = FAR
        known = False
        closed = not first and _any_below(room, least)
        for i in range(waiting):
            job = left[i]
            if closed:
                goes = False
            elif first:
                goes = starts[job]
            else:
                goes = _fits(demand, job, room)
                if not goes and held < 0:
                    held = job
                elif goes and held >= 0:
                    if not known:
                        shadow = _hold(
                            time, held, demand, end_demand, room, plist, pend, num_ends, gone,
                            beside,
                        )  # fmt: skip
                        known = True
                    if time + reserved[job] > shadow:
                        goes = _fits(demand, job, beside)
                        if goes:
                            for r in range(num_kinds):
                                beside[r] -= demand[job, r]
            if not goes:
                left[still] = job
                still += 1
                continue
            slot = num_running + job
            for r in range(num_kinds):
                room[r] -= demand[job, r]
            pend[slot] = time + reserved[job]
            k = num_ends
            while k > 0 and pend[plist[k - 1]] > pend[slot]:
                plist[k] = plist[k - 1]
                k -= 1
            plist[k] = slot
            num_ends = _later(end, owner, head, num_ends, time + runtime[job], slot)
            total += _wait_cost(time - submit[job], runtime[job], area[job], patience)
            closed = not first and _any_below(room, least)
        waiting = still
        first = False
        if waiting == 0 and arriving == num:
            return total
        time = FAR
        if head < num_ends:
            time = end[head]
        if arriving < num:
            time = min(time, ready[arriving])
        if time == FAR:
            return total + 1e12 * waiting
        while head < num_ends and end[head] == time:
            slot = owner[head]
            gone[slot] = True
            for r in range(num_kinds):
                if slot < num_running:
                    room[r] += end_demand[slot, r]
                else:
                    room[r] += demand[slot - num_running, r]
            head += 1
        while arriving < num and ready[arriving] == time:
            k = waiting
            while k > 0 and key[left[k - 1]] > key[arriving]:
                left[k] = left[k - 1]
                k -= 1
            left[k] = arriving
            waiting += 1
            arriving += 1


@kernel
def judge(
    now, num_waiting, starts, turn, key, runtime, reserved, area, submit, demand, ready, remaining,
    promised, by_promise, end_demand, free, patience,
):  # fmt: skip
    """
    Return what each of P proposals costs in each of S scenarios, shape ``(P, S)``.

    Parameters
    ----------
    starts
        Of the proposals, shape ``(P, num_waiting)``.
    runtime, remaining
        Of waiting and arriving jobs and of the B running ones in each scenario, shapes
        ``(S, N)`` and ``(S, B)``.
    end_demand
        What the running jobs give back, shape ``(B, R)``.
    """
    num_scenarios, num_running = remaining.shape
    least = np.empty(len(free), dtype=np.int64)
    for r in range(len(free)):
        least[r] = FAR
        for job in range(len(demand)):
            least[r] = min(least[r], demand[job, r])
    cost = np.empty((len(starts), num_scenarios))
    ends = np.empty(num_running, dtype=np.int64)
    ending = np.empty(num_running, dtype=np.int64)
    by_end = np.empty(num_running)
    for s in range(num_scenarios):
        for i in range(num_running):
            by_end[i] = remaining[s, i]
            ending[i] = i
        sort_by(by_end, ending, num_running)
        for i in range(num_running):
            ends[i] = now + remaining[s, ending[i]]
        for p in range(len(starts)):
            cost[p, s] = roll_out(
                now, num_waiting, starts[p], turn, key, runtime[s], reserved, area, submit, demand,
                ready, ends, ending, promised, by_promise, end_demand, free, least, patience,
            )  # fmt: skip
    return cost
