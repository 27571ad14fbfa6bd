"""
A slow twin of what plays scenarios, written from the documented rules.

It goes second by second and knows no timelines, heaps or sorted ends; jobs are objects. What it
is about is drawn here too: a machine of two kinds, jobs that run, wait and arrive.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

Amounts = tuple[int, ...]
#: What the machine has of each kind.
WHOLE = (6, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job that waits (``ready`` is now) or arrives; times are seconds, a small key goes first."""

    submit: int
    ready: int
    plan: int
    area: float
    key: float
    demand: Amounts


@dataclass(slots=True)
class Runner:
    """A job that runs: when it ends, when reservations take it to end, and what it holds."""

    end: int
    promised: int
    demand: Amounts


def fits(need, free):
    """Tell whether needs are free."""
    return all(one <= have for one, have in zip(need, free, strict=True))


def minus(free, taken):
    """Return what is left."""
    return tuple(have - take for have, take in zip(free, taken, strict=True))


def plus(free, back):
    """Return what there is then."""
    return tuple(map(sum, zip(free, back, strict=True)))


def cost(wait, runtime, patience):
    """Return bounded slowdown, and ten for a wait of ``patience``, to the fourth power."""
    return max(1.0, (wait + runtime) / max(runtime, 10)) + 10 * (wait / patience) ** 4


def wait_cost(wait, runtime, area, patience):
    """Return what a wait costs: by slowdown, by area, and by the fourth power of the wait."""
    slowdown = max(1.0, (wait + runtime) / max(runtime, 10))
    return slowdown + 0.003 * area * wait + 10 * area**0.5 * (wait / patience) ** 4


class _Play:
    """One scenario: who runs until when, who waits, and what waits have cost so far."""

    def __init__(self, scene, runtime, remaining, patience):
        self.tasks, self.runtime, self.patience = scene.tasks, runtime, patience
        self.free, self.total = scene.free, 0.0
        self.running = [
            Runner(scene.now + more, promised, held)
            for more, (promised, held) in zip(remaining, scene.running, strict=True)
        ]
        self.queue = list(range(len(scene.waiting)))

    def start(self, job, second):
        """Let a job run."""
        task, runtime = self.tasks[job], self.runtime[job]
        self.queue.remove(job)
        self.free = minus(self.free, task.demand)
        self.running.append(Runner(second + runtime, second + task.plan, task.demand))
        self.total += wait_cost(second - task.submit, runtime, task.area, self.patience)

    def change(self, second):
        """Take back what ends and let arrive who arrives; return whether anything happened."""
        ended = [one for one in self.running if one.end == second]
        new = [job for job, task in enumerate(self.tasks) if task.ready == second]
        for one in ended:
            self.free = plus(self.free, one.demand)
            self.running.remove(one)
        self.queue += new
        return bool(ended or new)

    def reservation(self, job, second):
        """Return when a job has room as reservations take it, and what is free beside it then."""
        ends = [(max(one.promised, second + 1), one.demand) for one in self.running]
        for shadow in sorted({end for end, _ in ends}):
            free = self.free
            for end, demand in ends:
                free = plus(free, demand) if end <= shadow else free
            if fits(self.tasks[job].demand, free):
                return shadow, minus(free, self.tasks[job].demand)
        return float("inf"), self.free

    def turn(self, second):
        """Start jobs by EASY in order of their keys."""
        held = None
        for job in sorted(self.queue, key=lambda job: (self.tasks[job].key, job)):
            task = self.tasks[job]
            if not fits(task.demand, self.free):
                if held is None:
                    held = self.reservation(job, second)
                continue
            if held and second + task.plan > held[0]:
                if not fits(task.demand, held[1]):
                    continue
                held = held[0], minus(held[1], task.demand)
            self.start(job, second)


def roll_out(scene, starts, runtime, remaining, patience):
    """
    Play one scenario and return what all waits cost, 10^12 for who never starts.

    Parameters
    ----------
    starts
        Who starts at once.
    runtime, remaining
        What each task turns out to take, and how much longer each running job runs.
    """
    play = _Play(scene, runtime, remaining, patience)
    second = scene.now
    for job in sorted(starts):
        play.start(job, second)
    while second < max([one.end for one in play.running] + [task.ready for task in scene.tasks]):
        second += 1
        if play.change(second):
            play.turn(second)
    return play.total + 1e12 * len(play.queue)


# --- what it is about ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Jobs that run, as (promised end, what they hold), and tasks: first who wait, then others."""

    now: int
    running: tuple[tuple[int, Amounts], ...]
    waiting: tuple[Task, ...]
    coming: tuple[Task, ...]
    free: Amounts

    @property
    def tasks(self):
        """All that may start."""
        return self.waiting + self.coming


@st.composite
def scenes(draw):
    """Draw a machine that is busy, with a few jobs waiting and arriving; some fit never."""
    now = draw(st.integers(0, 40))
    some = st.tuples(*(st.integers(0, amount) for amount in WHOLE))
    free, running = WHOLE, []
    for held in draw(st.lists(some, max_size=4)):
        if fits(held, free):
            free = minus(free, held)
            running.append((now + draw(st.integers(-5, 25)), held))

    def task(ready):
        return Task(
            submit=min(ready, now) - draw(st.integers(0, 40)) if ready == now else ready,
            ready=ready,
            plan=draw(st.integers(1, 25)),
            area=draw(st.sampled_from([0.01, 0.5, 1.0, 30.0])),
            key=draw(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 7.0])),
            demand=draw(some) if draw(st.integers(0, 9)) else (WHOLE[0] + 1, 0),
        )

    waiting = tuple(task(now) for _ in range(draw(st.integers(1, 6))))
    later = sorted(draw(st.lists(st.integers(now + 1, now + 30), max_size=3)))
    return Scene(
        now=now,
        running=tuple(running),
        waiting=waiting,
        coming=tuple(task(ready) for ready in later),
        free=free,
    )


@st.composite
def starts_of(draw, scene):
    """Draw a set of waiting jobs that fit together."""
    free, chosen = scene.free, []
    for job in draw(st.permutations(range(len(scene.waiting)))):
        demand = scene.waiting[job].demand
        if fits(demand, free) and draw(st.booleans()):
            free = minus(free, demand)
            chosen.append(job)
    return frozenset(chosen)
