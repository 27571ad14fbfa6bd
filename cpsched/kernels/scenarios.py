"""
Judge what could start now by what may come: likely runtimes, jobs that arrive.

The machine is one pool here (:mod:`cpsched.kernels.pool`). A *proposal* is a set of jobs to start
now and, where it reserves, a job it holds capacity for until that job starts.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import FAR, sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10
#: What a wait of ``patience`` costs, in units of bounded slowdown; grows with its fourth power.
_OVERDUE = 10.0


@leaf
def _fits(demand, job, free):
    """Return whether what a job takes is free."""
    # Not the job's row: a slice is counted, which takes longer than the comparison.
    for r in range(len(free)):
        if demand[job, r] > free[r]:
            return False
    return True


@kernel
def job_cost(wait, runtime, patience):
    """Return what a job's wait costs: its bounded slowdown and a penalty for very long waits."""
    overdue = wait / patience
    slowdown = max(1.0, (wait + runtime) / max(runtime, _TAU))
    return slowdown + _OVERDUE * overdue * overdue * overdue * overdue


@kernel
def overdue_slope(wait, patience):
    """Return by how much the penalty in :func:`job_cost` grows with a second, shape ``(n,)``."""
    slope = np.empty(len(wait))
    for j in range(len(wait)):
        overdue = wait[j] / patience
        slope[j] = 4 * _OVERDUE * overdue**3 / patience
    return slope


@kernel
def cost_slope(wait, runtime, patience):
    """Return by how much :func:`job_cost` grows with a second of wait, shape ``(n,)``."""
    slope = overdue_slope(wait, patience)
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
def _candidates(now, submit, typical, demand, room, least, left, waiting, keys, found):
    """
    List the waiting jobs that fit, by slowdown, highest first; return how many there are.

    Room only shrinks within an instant, so that others need no turn.

    Parameters
    ----------
    least
        No job takes less, shape ``(R,)``.
    """
    for r in range(len(room)):
        if room[r] < least[r]:
            return 0
    count = 0
    for i in range(waiting):
        job = left[i]
        if not _fits(demand, job, room):
            continue
        key = (now - submit[job]) / typical[job]
        k = count
        while k > 0 and keys[k - 1] < key:
            keys[k] = keys[k - 1]
            found[k] = found[k - 1]
            k -= 1
        keys[k] = key
        found[k] = job
        count += 1
    return count


@inner
def roll_out(
    now, num_waiting, starts, held, shadow, extra, runtime, reserved, typical, submit, demand,
    ready, ends, ending, end_demand, free, least, patience, before, enough,
):  # fmt: skip
    """
    Play one scenario to its end and return what all jobs' waits cost.

    After the proposal's starts, jobs are taken in order of slowdown whenever something changes,
    those that do not fit skipped. No rule here reads a scenario's runtimes. Until the job held
    for starts, others only start if they have ended by its reservation, as reservations take
    them, or fit beside it.

    Parameters
    ----------
    num_waiting
        Jobs up to this one wait now, those behind arrive at ``ready`` (sorted).
    runtime, reserved, typical
        The scenario's truth, what reservations take it for, what ranks jobs; shape ``(N,)``.
    ends, ending
        When the running jobs end, sorted, and which of them; shape ``(B,)``.
    end_demand
        What they give back, shape ``(B, R)``.
    least
        No waiting or arriving job takes less, shape ``(R,)``.
    before, enough
        What earlier scenarios cost, and how much is enough: once it is more in all, the scenario is
        left.
    """
    num = len(runtime)
    num_kinds = len(free)
    room = np.empty(num_kinds, dtype=np.int64)
    beside = np.empty(num_kinds, dtype=np.int64)
    for r in range(num_kinds):
        room[r] = free[r]
        beside[r] = extra[r]
    num_ends = len(ends)
    end = np.empty(num_ends + num, dtype=np.int64)
    owner = np.empty(num_ends + num, dtype=np.int64)
    for i in range(num_ends):
        end[i] = ends[i]
        owner[i] = -1 - ending[i]
    left = np.empty(num, dtype=np.int64)
    found = np.empty(num, dtype=np.int64)
    keys = np.empty(num)
    runs = np.zeros(num, dtype=np.bool_)
    waiting = 0
    head = 0
    total = 0.0
    for job in range(num_waiting):
        if starts[job]:
            for r in range(num_kinds):
                room[r] -= demand[job, r]
            num_ends = _later(end, owner, head, num_ends, now + runtime[job], job)
            total += job_cost(now - submit[job], runtime[job], patience)
        else:
            left[waiting] = job
            waiting += 1
    arriving = num_waiting
    while waiting > 0 or arriving < num:
        time = FAR
        if head < num_ends:
            time = end[head]
        if arriving < num:
            time = min(time, ready[arriving])
        if time == FAR:
            return total + 1e12 * waiting
        while head < num_ends and end[head] == time:
            job = owner[head]
            for r in range(num_kinds):
                room[r] += demand[job, r] if job >= 0 else end_demand[-1 - job, r]
            head += 1
        while arriving < num and ready[arriving] == time:
            left[waiting] = arriving
            waiting += 1
            arriving += 1
        count = _candidates(time, submit, typical, demand, room, least, left, waiting, keys, found)
        if count == 0:
            continue
        if held >= 0 and _fits(demand, held, room):
            at = 0
            while found[at] != held:
                at += 1
            while at > 0:
                found[at] = found[at - 1]
                at -= 1
            found[0] = held
            held = -1
        some = False
        for i in range(count):
            job = found[i]
            fits = _fits(demand, job, room)
            if fits and held >= 0 and time + reserved[job] > shadow:
                fits = _fits(demand, job, beside)
                if fits:
                    for r in range(num_kinds):
                        beside[r] -= demand[job, r]
            if not fits:
                continue
            for r in range(num_kinds):
                room[r] -= demand[job, r]
            num_ends = _later(end, owner, head, num_ends, time + runtime[job], job)
            total += job_cost(time - submit[job], runtime[job], patience)
            runs[job] = True
            some = True
        if before + total > enough:
            return total
        if some:
            still = 0
            for i in range(waiting):
                if not runs[left[i]]:
                    left[still] = left[i]
                    still += 1
            waiting = still
    return total


@kernel
def judge(
    now, num_waiting, starts, held, shadow, extra, runtime, reserved, typical, submit, demand,
    ready, remaining, end_demand, free, patience,
):  # fmt: skip
    """
    Return what each of P proposals costs on average over S scenarios, shape ``(P,)``.

    Infinite where it turns out on the way that an earlier one costs less.

    Parameters
    ----------
    starts, held, shadow, extra
        Of the proposals, shapes ``(P, num_waiting)``, ``(P,)``, ``(P,)``, ``(P, R)``.
    runtime, remaining
        Of waiting and arriving jobs and of the B running ones in each scenario, shapes
        ``(S, N)`` and ``(S, B)``.
    end_demand
        What the running jobs give back, shape ``(B, R)``.
    """
    num_scenarios, num_running = remaining.shape
    ends = np.empty((num_scenarios, num_running), dtype=np.int64)
    ending = np.empty((num_scenarios, num_running), dtype=np.int64)
    key = np.empty(num_running)
    order = np.empty(num_running, dtype=np.int64)
    for s in range(num_scenarios):
        for i in range(num_running):
            key[i] = remaining[s, i]
            order[i] = i
        sort_by(key, order, num_running)
        for i in range(num_running):
            ends[s, i] = now + remaining[s, order[i]]
            ending[s, i] = order[i]
    least = np.empty(len(free), dtype=np.int64)
    for r in range(len(free)):
        least[r] = FAR
        for job in range(len(demand)):
            least[r] = min(least[r], demand[job, r])
    cost = np.empty(len(starts))
    cheapest = np.inf
    for p in range(len(starts)):
        total = 0.0
        for s in range(num_scenarios):
            total += roll_out(
                now, num_waiting, starts[p], held[p], shadow[p], extra[p], runtime[s], reserved,
                typical, submit, demand, ready, ends[s], ending[s], end_demand, free, least,
                patience, total, cheapest,
            )  # fmt: skip
            if total > cheapest:
                break
        cheapest = min(cheapest, total)
        cost[p] = total / num_scenarios if total <= cheapest else np.inf
    return cost
