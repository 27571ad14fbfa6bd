"""
The best plan there is, found by trying them all: what the constraint models must match.

Written from the problem's statement and nothing else. Jobs are :class:`reference.Ask`, times are
seconds from now, and the objective is any weighted sum of starts with positive weights.

Why trying orders is enough. Take a best plan, its jobs sorted by start, each on the nodes it has
there. Place them anew in that order, on those nodes, each as early as it fits beside the ones
before it. By induction none starts later than it did: where it was, it still fits, because those
before it have moved to the front only past seconds it does not use -- they start no later than it
did, hence each second from its old start on has at most the same ones of them running. So some
order, with some nodes for each job, placed greedily, is a best plan; and since that plan sorted by
its new starts rebuilds itself, orders whose starts go down need not be followed.
A greedy start is now, the end of a running job, or the end of a job placed before.
"""

from fractions import Fraction

from reference import every_placement, free_at, held, minus


def placements(state, ask):
    """Return every way to place a job once all running jobs have ended."""
    return every_placement(ask, _empty(state), state.capacity)


def _empty(state):
    """Return what is free once all running jobs have ended."""
    return free_at(state, max([job.end for job in state.running], default=0), {})


def best_on_nodes(state, weights):
    """Return the least weighted sum of starts, every job on nodes for its whole duration."""
    choices = []
    for ask in state.waiting:
        # Placements that take the same of every node are the same to everybody else.
        taken = {held(ask, takes, state.capacity) for takes in placements(state, ask)}
        choices.append(sorted(taken))
    return _best(_lengths(state), choices, weights, _busy(state), _empty(state))


def best_on_pool(state, weights):
    """Return the least weighted sum of starts on the machine as one pool of each kind."""
    busy, choices, empty = _on_pool(state)
    return _best(_lengths(state), choices, weights, busy, empty)


def _lengths(state):
    return [max(ask.duration, 1) for ask in state.waiting]


def _busy(state):
    """Return when what runs ends, from now on, and what it holds."""
    return [
        (0, max(job.end - state.now, 1), held(job.ask, job.takes, state.capacity))
        for job in state.running
    ]


def _on_pool(state):
    """Return what runs, what each job takes, and what there is, all nodes in one."""

    def pooled(amounts):
        return (tuple(map(sum, zip(*amounts, strict=True))),)

    busy = [(start, end, pooled(amounts)) for start, end, amounts in _busy(state)]
    choices = [[(tuple(ask.units * amount for amount in ask.request),)] for ask in state.waiting]
    return busy, choices, pooled(_empty(state))


def _fits(amounts, start, end, placed, empty):
    """Tell whether amounts are free for a whole interval."""
    for moment in [start, *(begin for begin, _, _ in placed if start < begin < end)]:
        left = empty
        for begin, finish, taken in placed:
            if begin <= moment < finish:
                left = minus(left, taken)
        for row, need in zip(left, amounts, strict=True):
            if any(have < take for have, take in zip(row, need, strict=True)):
                return False
    return True


def _best(durations, choices, weights, busy, empty):
    best = [None]

    def first(job, amounts, placed):
        moments = sorted({0, *(end for _, end, _ in placed)})
        return next(
            moment
            for moment in moments
            if _fits(amounts, moment, moment + durations[job], placed, empty)
        )

    jobs = range(len(durations))
    alone = [min(first(job, amounts, busy) for amounts in choices[job]) for job in jobs]

    def follow(left, placed, last, value):
        # Nobody left starts before the last one placed did, nor before it could on its own.
        least = sum(weights[job] * max(last, alone[job]) for job in left)
        if best[0] is not None and value + least >= best[0]:
            return
        if not left:
            best[0] = value
            return
        for job in sorted(left, key=lambda job: (alone[job], job)):
            for amounts in choices[job]:
                start = first(job, amounts, placed)
                if start >= last:
                    follow(
                        left - {job},
                        [*placed, (start, start + durations[job], amounts)],
                        start,
                        value + weights[job] * start,
                    )

    follow(frozenset(jobs), busy, 0, Fraction(0))
    assert best[0] is not None
    return best[0]


def listed_on_pool(state, order):
    """Return the starts of the list plan on the pool: each job in order as early as it fits."""
    starts = [0] * len(state.waiting)
    busy, choices, empty = _on_pool(state)
    for job in order:
        length = max(state.waiting[job].duration, 1)
        moments = sorted({0, *(end for _, end, _ in busy)})
        starts[job] = next(
            moment
            for moment in moments
            if _fits(choices[job][0], moment, moment + length, busy, empty)
        )
        busy.append((starts[job], starts[job] + length, choices[job][0]))
    return starts
