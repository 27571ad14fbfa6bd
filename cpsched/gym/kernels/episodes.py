"""
Episodes: jobs arrive, run and end on a pool, and an agent says what starts.

The state of all environments lies in arrays whose first axis is the environment, so that one call
steps them all. What happens at a second, and in which order, is as in the simulator: jobs end, jobs
arrive, then it is decided as long as there is something to decide. EASY reserves as
:mod:`cpsched.dispatch.backfilling` says of a pool. The tests hold every start against the
simulator's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from cpsched.gym.kernels.features import show_jobs, show_machine
from cpsched.kernels.arrays import FAR, ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.events import SECOND, next_second, pop, push
from cpsched.kernels.inner import leaf

if TYPE_CHECKING:
    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: What an action chooses: a job, or a rule for a whole pass over the queue.
JOB, RULE = range(2)
#: What an agent is paid by: see :data:`cpsched.gym.options.MEASURES`.
SLOWDOWN, WAIT, RESPONSE = range(3)
#: Rules; a job with a smaller key goes first, of equal ones that which came first.
FIFO, SJF, LJF, BY_SLOWDOWN, WFP3, UNICEF, F1, SMALLEST_AREA = range(8)

#: Columns of an environment's numbers: the present second; the first row of its window, the end of
#: it, and the next to arrive; how many wait, run and are shown; whether this second is done with;
#: decisions so far; whether the episode is over.
(
    NOW, FIRST, LAST, NEXT, WAITING, RUNNING, SHOWN, HOLD, DECISIONS, DONE,
) = range(10)  # fmt: skip
NUM_NUMBERS = 10

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10


class Rules(NamedTuple):
    """
    What is played.

    Attributes
    ----------
    kind
        :data:`JOB` or :data:`RULE`.
    fitting
        Whether only jobs that fit now may be chosen.
    may_wait
        Whether the last action starts nothing until something happens.
    backfills
        Whether EASY backfills behind a chosen job that does not fit.
    behind
        The rule by which it does, where jobs are chosen.
    choices
        The rules to choose from.
    measure
        What an agent is paid by.
    """

    kind: int
    fitting: int
    may_wait: int
    backfills: int
    behind: int
    choices: IntArray
    measure: int


class Jobs(NamedTuple):
    """
    The jobs of a log, by row; J jobs, R kinds.

    ``runtime`` is the truth: it says when jobs end and what a wait costs, and nothing else.
    ``facts`` is what never changes of what is shown, see :mod:`cpsched.gym.kernels.features`.
    """

    submit: IntArray
    runtime: IntArray
    estimate: IntArray
    requested: IntArray
    demand: IntArray
    facts: FloatArray
    total: IntArray


class State(NamedTuple):
    """
    E environments with windows of at most L jobs, K of them shown.

    Attributes
    ----------
    num
        Shape ``(E, NUM_NUMBERS)``.
    free
        Shape ``(E, R)``.
    queue
        Rows of the waiting jobs as they came, ``(E, L)``.
    events
        Ends to come, heaps, ``(E, L, 3)``.
    running
        Rows of the running jobs by expected end, ``(E, L)``.
    promised, start
        By position in the window: the expected end, and the start or -1, ``(E, L)``.
    shown
        Rows of the jobs that can be chosen, ``(E, K)``.
    cost, paid, weight
        The measure so far, what of it was paid out, and what it is divided by, ``(E,)``.
    """

    num: IntArray
    free: IntArray
    queue: IntArray
    events: IntArray
    running: IntArray
    promised: IntArray
    start: IntArray
    shown: IntArray
    cost: FloatArray
    paid: FloatArray
    weight: FloatArray


class Scratch(NamedTuple):
    """Places to write to, for one environment after the other."""

    ends: IntArray
    level: IntArray
    beside: IntArray
    row: IntArray
    key: FloatArray


class Shown(NamedTuple):
    """What agents see: ``(E, A, F)``, ``(E, M)`` and ``(E, A)``."""

    rows: AnyArray
    machine: AnyArray
    mask: AnyArray


@leaf
def rule_key(rule, jobs, row, now):
    """Return a job's key under a rule."""
    runs, waited = max(jobs.estimate[row], 1), now - jobs.submit[row]
    cores = max(jobs.demand[row, 0], 1)
    if rule == SJF:
        return float(jobs.estimate[row])
    if rule == LJF:
        return -float(jobs.estimate[row])
    if rule == BY_SLOWDOWN:
        return -(waited + runs) / runs
    if rule == WFP3:
        ratio = waited / runs
        return -(ratio * ratio * ratio) * jobs.demand[row, 0]
    if rule == UNICEF:
        if cores > 1:
            return -waited / (math.log2(cores) * runs)
        # Serial jobs that have waited go first.
        return -1e8 - waited / runs if waited > 0 else 0.0
    if rule == F1:
        return math.log10(runs) * cores + 8.70e2 * math.log10(max(jobs.submit[row], 1))
    if rule == SMALLEST_AREA:
        return float(jobs.estimate[row] * cores)
    return 0.0


@leaf
def weight_of(measure, jobs, row):
    """Return what a job counts for in a measure: its area in the response by area, else 1."""
    if measure == RESPONSE:
        return float(jobs.demand[row, 0] * jobs.runtime[row])
    return 1.0


@leaf
def _cost(measure, jobs, row, waited):
    """Return what a wait so far costs of a job."""
    runtime = jobs.runtime[row]
    if measure == SLOWDOWN:
        return max(1.0, (waited + runtime) / max(runtime, _TAU))
    if measure == WAIT:
        return float(waited)
    return float(jobs.demand[row, 0] * runtime) * float(waited + runtime)


@leaf
def _fits(jobs, row, state, e):
    for r in range(state.free.shape[1]):
        if jobs.demand[row, r] > state.free[e, r]:
            return False
    return True


@leaf
def _expect(row, state, e):
    """Put a job among the running ones, by expected end."""
    running, promised, first = state.running[e], state.promised[e], state.num[e, FIRST]
    end = promised[row - first]
    k = state.num[e, RUNNING]
    while k > 0:
        before = promised[running[k - 1] - first]
        if before < end or (before == end and running[k - 1] < row):
            break
        running[k] = running[k - 1]
        k -= 1
    running[k] = row
    state.num[e, RUNNING] += 1


@leaf
def _forget(row, state, e):
    """Take a job from among the running ones."""
    running = state.running[e]
    k = 0
    while running[k] != row:
        k += 1
    last = state.num[e, RUNNING] - 1
    while k < last:
        running[k] = running[k + 1]
        k += 1
    state.num[e, RUNNING] = last


@leaf
def _begin(jobs, row, state, e):
    """Start a job; it is still in the queue."""
    num = state.num[e]
    at, now = row - num[FIRST], num[NOW]
    for r in range(state.free.shape[1]):
        state.free[e, r] -= jobs.demand[row, r]
    state.start[e, at] = now
    state.promised[e, at] = now + max(jobs.estimate[row], 1)
    push(state.events[e], num[RUNNING], now + jobs.runtime[row], row, row)
    _expect(row, state, e)


@leaf
def _drop_started(state, e):
    """Take the jobs that have started out of the queue."""
    queue, first, still = state.queue[e], state.num[e, FIRST], 0
    for i in range(state.num[e, WAITING]):
        if state.start[e, queue[i] - first] < 0:
            queue[still] = queue[i]
            still += 1
    state.num[e, WAITING] = still


@leaf
def _reserve(jobs, head, state, e, beside):
    """Return from when on a job has room; fills what is free beside it then."""
    num_kinds, num = len(beside), state.num[e]
    for r in range(num_kinds):
        beside[r] = state.free[e, r] - jobs.demand[head, r]
    shadow = FAR
    for i in range(num[RUNNING]):
        row = state.running[e, i]
        end = max(state.promised[e, row - num[FIRST]], num[NOW] + 1)
        if end > shadow:
            break
        enough = True
        for r in range(num_kinds):
            beside[r] += jobs.demand[row, r]
            enough = enough and beside[r] >= 0
        if enough and shadow == FAR:
            shadow = end
    return shadow


@leaf
def _backfill(rule, jobs, head, state, e, scratch):
    """Start jobs that do not delay one that does not fit, in a rule's order."""
    now = state.num[e, NOW]
    rows, keys, beside, count = scratch.row, scratch.key, scratch.beside, 0
    for i in range(state.num[e, WAITING]):
        row = state.queue[e, i]
        # What is free only becomes less: what does not fit now will not.
        if row == head or not _fits(jobs, row, state, e):
            continue
        key = rule_key(rule, jobs, row, now)
        k = count
        while k > 0 and keys[k - 1] > key:
            keys[k], rows[k] = keys[k - 1], rows[k - 1]
            k -= 1
        keys[k], rows[k] = key, row
        count += 1
    if count == 0:
        return
    shadow = _reserve(jobs, head, state, e, beside)
    for i in range(count):
        row = rows[i]
        if not _fits(jobs, row, state, e):
            continue
        if now + max(jobs.estimate[row], 1) > shadow:
            goes = True
            for r in range(len(beside)):
                goes = goes and jobs.demand[row, r] <= beside[r]
            if not goes:
                continue
            for r in range(len(beside)):
                beside[r] -= jobs.demand[row, r]
        _begin(jobs, row, state, e)
    _drop_started(state, e)


@leaf
def _block(rules, rule, jobs, head, state, e, scratch):
    """Let a job that does not fit wait, and others start behind it; this second is done with."""
    if rules.backfills:
        _backfill(rule, jobs, head, state, e, scratch)
    state.num[e, HOLD] = 1


@leaf
def _pass(rules, rule, jobs, state, e, scratch):
    """Start jobs in a rule's order until one does not fit, then backfill in that order."""
    num = state.num[e]
    while num[WAITING] > 0:
        best, least = state.queue[e, 0], rule_key(rule, jobs, state.queue[e, 0], num[NOW])
        for i in range(1, num[WAITING]):
            key = rule_key(rule, jobs, state.queue[e, i], num[NOW])
            if key < least:
                best, least = state.queue[e, i], key
        if not _fits(jobs, best, state, e):
            _block(rules, rule, jobs, best, state, e, scratch)
            return
        _begin(jobs, best, state, e)
        _drop_started(state, e)
    num[HOLD] = 1


@leaf
def _act(rules, action, jobs, state, e, scratch):
    """Do what an agent says; an action that is masked counts as the first."""
    num = state.num[e]
    num[DECISIONS] += 1
    if rules.kind == RULE:
        _pass(rules, rules.choices[action], jobs, state, e, scratch)
        return
    if rules.may_wait and action == state.shown.shape[1] and num[RUNNING] > 0:
        num[HOLD] = 1
        return
    row = state.shown[e, action if action < num[SHOWN] else 0]
    if _fits(jobs, row, state, e):
        _begin(jobs, row, state, e)
        _drop_started(state, e)
    else:
        _block(rules, rules.behind, jobs, row, state, e, scratch)


@leaf
def _show(rules, jobs, state, e):
    """Say which jobs can be chosen; return how many of the queue fit."""
    num, most = state.num[e], state.shown.shape[1]
    count, fitting = 0, 0
    for i in range(num[WAITING]):
        row = state.queue[e, i]
        if count == most and fitting > 0:
            break
        fits = _fits(jobs, row, state, e)
        fitting += 1 if fits else 0
        if count < most and (fits or not rules.fitting):
            state.shown[e, count] = row
            count += 1
    num[SHOWN] = count
    return fitting


@leaf
def _pass_time(rules, jobs, state, e, second):
    """Go to a second, and count what waiting until then costs."""
    num = state.num[e]
    for i in range(num[WAITING]):
        row = state.queue[e, i]
        waited = num[NOW] - jobs.submit[row]
        more = _cost(rules.measure, jobs, row, second - jobs.submit[row])
        state.cost[e] += (more - _cost(rules.measure, jobs, row, waited)) / state.weight[e]
    num[NOW] = second


@leaf
def _end_and_admit(rules, jobs, state, e):
    """End jobs, let jobs arrive, and expect those later that were expected to have ended."""
    num, events = state.num[e], state.events[e]
    now = num[NOW]
    while num[RUNNING] > 0 and events[0, SECOND] == now:
        row = pop(events, num[RUNNING])
        for r in range(state.free.shape[1]):
            state.free[e, r] += jobs.demand[row, r]
        _forget(row, state, e)
    while num[NEXT] < num[LAST] and jobs.submit[num[NEXT]] == now:
        state.queue[e, num[WAITING]] = num[NEXT]
        state.cost[e] += _cost(rules.measure, jobs, num[NEXT], ZERO) / state.weight[e]
        num[WAITING] += 1
        num[NEXT] += 1
    while num[RUNNING] > 0:
        row = state.running[e, 0]
        at = row - num[FIRST]
        if state.promised[e, at] > now:
            break
        _forget(row, state, e)
        state.promised[e, at] = max(state.start[e, at] + jobs.requested[row], now + 1)
        _expect(row, state, e)


@leaf
def _go_on(rules, jobs, state, e):
    """Go on to the next decision that matters, or to the end of the episode."""
    num = state.num[e]
    while True:
        if num[WAITING] > 0 and num[HOLD] == 0:
            fitting = _show(rules, jobs, state, e)
            choices = num[SHOWN] if rules.kind == JOB else num[WAITING]
            # Where nothing fits nothing starts, whatever is chosen.
            if fitting > 0 and choices > 0:
                if choices > 1 or rules.may_wait:
                    return
                _begin(jobs, state.shown[e, 0], state, e)
                _drop_started(state, e)
                continue
        num[HOLD] = 0
        second = next_second(state.events[e], num[RUNNING], jobs.submit[: num[LAST]], num[NEXT])
        if second == FAR:
            num[DONE] = 1
            num[SHOWN] = 0
            return
        _pass_time(rules, jobs, state, e, second)
        _end_and_admit(rules, jobs, state, e)


@leaf
def _observe(rules, jobs, state, e, scratch, seen):
    """Fill what an agent sees."""
    num, num_kinds = state.num[e], state.free.shape[1]
    for i in range(num[RUNNING]):
        row = state.running[e, i]
        scratch.ends[i] = max(state.promised[e, row - num[FIRST]], num[NOW] + 1)
        for r in range(num_kinds):
            before = state.free[e, r] if i == 0 else scratch.level[i - 1, r]
            scratch.level[i, r] = before + jobs.demand[row, r]
    show_jobs(
        num[NOW], state.shown[e], num[SHOWN], jobs.submit, jobs.estimate, jobs.facts, jobs.demand,
        jobs.total, state.free[e], num[WAITING], scratch.ends, scratch.level, num[RUNNING],
        rules.may_wait, seen.rows[e],
    )  # fmt: skip
    if seen.machine.shape[1] > 0:
        show_machine(
            num[NOW], jobs.total, state.free[e], num[WAITING], scratch.ends, scratch.level,
            num[RUNNING], seen.machine[e],
        )  # fmt: skip
    num_actions = seen.mask.shape[1]
    for a in range(num_actions):
        seen.mask[e, a] = rules.kind == RULE or a < num[SHOWN]
    if rules.kind == JOB and rules.may_wait:
        # Not whether jobs are still to come: that is the future.
        seen.mask[e, num_actions - 1] = num[RUNNING] > 0


@kernel
def begin(rules, jobs, state, scratch, which, first, last, seen):
    """
    Begin episodes.

    Parameters
    ----------
    which
        Which environments, shape ``(n,)``.
    first, last
        Rows of their windows, ``[first, last)``, shape ``(n,)``.
    """
    for i in range(len(which)):
        e = which[i]
        num = state.num[e]
        for k in range(NUM_NUMBERS):
            num[k] = 0
        num[FIRST] = num[NEXT] = first[i]
        num[LAST] = last[i]
        num[NOW] = jobs.submit[first[i]]
        state.cost[e] = state.paid[e] = state.weight[e] = 0.0
        for row in range(first[i], last[i]):
            state.start[e, row - first[i]] = -1
            state.weight[e] += weight_of(rules.measure, jobs, row)
        if state.weight[e] == 0.0:
            state.weight[e] = 1.0
        for r in range(state.free.shape[1]):
            state.free[e, r] = jobs.total[r]
        _end_and_admit(rules, jobs, state, e)
        _go_on(rules, jobs, state, e)
        _observe(rules, jobs, state, e, scratch, seen)


@kernel
def step(rules, jobs, state, scratch, actions, seen):
    """Let every environment that is not over act, and go on to its next decision."""
    for e in range(len(actions)):
        if state.num[e, DONE] == 0:
            _act(rules, actions[e], jobs, state, e, scratch)
            _go_on(rules, jobs, state, e)
            _observe(rules, jobs, state, e, scratch, seen)


@kernel
def play(rules, rule, jobs, state, scratch, e):
    """Play an environment's episode to its end by one rule; nothing is shown of it."""
    while state.num[e, DONE] == 0:
        _pass(rules, rule, jobs, state, e, scratch)
        _go_on(rules, jobs, state, e)


@kernel
def rule_keys(rule, jobs, now, keys):
    """Fill the keys of jobs under a rule, shape ``(n,)``; a smaller one goes first."""
    for row in range(len(keys)):
        keys[row] = rule_key(rule, jobs, row, now)
