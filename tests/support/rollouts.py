"""
Slow twins of what proposes starts and plays scenarios, written from the documented rules.

They go second by second and know no timelines, heaps or sorted ends; jobs are objects. What they
are about is drawn here too: a machine of two kinds, jobs that run, wait and arrive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

Amounts = tuple[int, ...]
#: What the machine has of each kind.
WHOLE = (6, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job that waits (``ready`` is now) or arrives; times are seconds."""

    submit: int
    ready: int
    plan: int
    typical: int
    demand: Amounts
    barred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What starts now, who is held for (-1: nobody), from when on, and what is free beside."""

    starts: frozenset[int]
    held: int = -1
    shadow: int = 0
    extra: Amounts = (0,) * len(WHOLE)


def fits(need: Amounts, free: Amounts) -> bool:
    """Tell whether needs are free."""
    return all(one <= have for one, have in zip(need, free, strict=True))


def minus(free: Amounts, taken: Amounts) -> Amounts:
    """Return what is left."""
    return tuple(have - take for have, take in zip(free, taken, strict=True))


def plus(free: Amounts, back: Amounts) -> Amounts:
    """Return what there is then."""
    return tuple(map(sum, zip(free, back, strict=True)))


def cost(wait: float, runtime: float, patience: float) -> float:
    """Return bounded slowdown, and ten for a wait of ``patience``, to the fourth power."""
    return max(1.0, (wait + runtime) / max(runtime, 10)) + 10 * (wait / patience) ** 4


class _Booked:
    """Jobs entered into what the running ones leave, found second by second."""

    def __init__(self, tasks: Sequence[Task], scene: Scene) -> None:
        self.tasks, self.scene = tasks, scene
        self.begin: dict[int, int] = {}
        self.moments = set(scene.changes)

    def left(self, second: int) -> Amounts:
        """Return what is free at a second."""
        free = self.scene.free_at(second)
        for job, begin in self.begin.items():
            if begin <= second < begin + self.tasks[job].plan:
                free = minus(free, self.tasks[job].demand)
        return free

    def first(self, job: int) -> int | None:
        """Return the first moment from which on a job fits for as long as it is predicted."""
        task = self.tasks[job]
        for begin in sorted(self.moments):
            during = [at for at in self.moments if begin <= at < begin + task.plan]
            now = begin == self.scene.now
            if not (now and task.barred) and all(fits(task.demand, self.left(at)) for at in during):
                return begin
        return None

    def enter(self, job: int, begin: int) -> None:
        """Let a job begin at a moment."""
        self.begin[job] = begin
        self.moments.add(begin + self.tasks[job].plan)


def propose(order: Sequence[int], behind: Sequence[int], depth: int, scene: Scene) -> Proposed:
    """
    Return what a rule proposes for the jobs that wait.

    They are planned for seconds at which a running job is expected to end, or one that was planned
    before.
    """
    now, booked = scene.now, _Booked(scene.waiting, scene)
    reserved: list[int] = []
    for job in order:
        if depth and len(reserved) == depth:
            break
        begin = booked.first(job)
        if begin is None or (begin > now and not depth):
            continue
        booked.enter(job, begin)
        if begin > now:
            reserved.append(job)
    for job in behind:
        if job not in booked.begin and booked.first(job) == now:
            booked.enter(job, now)
    starts = frozenset(job for job, begin in booked.begin.items() if begin == now)
    if not reserved:
        return Proposed(starts=starts)
    shadow = booked.begin[reserved[0]]
    return Proposed(starts=starts, held=reserved[0], shadow=shadow, extra=booked.left(shadow))


class _Play:
    """One scenario: who runs until when, who waits, and what waits have cost so far."""

    def __init__(
        self,
        scene: Scene,
        proposed: Proposed,
        runtime: Sequence[int],
        remaining: Sequence[int],
        patience: float,
    ) -> None:
        self.tasks, self.runtime, self.patience = scene.tasks, runtime, patience
        self.held, self.shadow, self.beside = proposed.held, proposed.shadow, proposed.extra
        self.free, self.total = scene.free, 0.0
        self.ends = [
            (scene.now + more, held)
            for more, (_, held) in zip(remaining, scene.running, strict=True)
        ]
        self.queue = [job for job in range(len(scene.waiting)) if job not in proposed.starts]
        for job in proposed.starts:
            self.start(job, scene.now)

    def start(self, job: int, second: int) -> None:
        """Let a job run."""
        task, runtime = self.tasks[job], self.runtime[job]
        self.free = minus(self.free, task.demand)
        self.ends.append((second + runtime, task.demand))
        self.total += cost(second - task.submit, runtime, self.patience)

    def change(self, second: int) -> bool:
        """Take back what ends and let arrive who arrives; return whether anything happened."""
        back = [amount for end, amount in self.ends if end == second]
        new = [job for job, task in enumerate(self.tasks) if task.ready == second]
        for amount in back:
            self.free = plus(self.free, amount)
        self.queue += new
        return bool(back or new)

    def may_start(self, job: int, second: int) -> bool:
        """Tell whether a job may start: one that would be in the way fits beside, and takes it."""
        task = self.tasks[job]
        if not fits(task.demand, self.free):
            return False
        if self.held >= 0 and second + task.plan > self.shadow:
            if not fits(task.demand, self.beside):
                return False
            self.beside = minus(self.beside, task.demand)
        return True

    def turn(self, second: int) -> None:
        """Start whom the rule starts at a second: first the job held for, then by slowdown."""
        tasks = self.tasks
        self.queue.sort(key=lambda job: ((tasks[job].submit - second) / tasks[job].typical, job))
        if self.held in self.queue and fits(tasks[self.held].demand, self.free):
            self.queue.remove(self.held)
            self.start(self.held, second)
            self.held = -1
        for job in list(self.queue):
            if self.may_start(job, second):
                self.queue.remove(job)
                self.start(job, second)


def roll_out(
    scene: Scene,
    proposed: Proposed,
    runtime: Sequence[int],
    remaining: Sequence[int],
    patience: float,
) -> float:
    """
    Play one scenario and return what all waits cost, 10^12 for who never starts.

    Parameters
    ----------
    runtime, remaining
        What each task turns out to take, and how much longer each running job runs.
    """
    play = _Play(scene, proposed, runtime, remaining, patience)
    second = scene.now
    while second < max([end for end, _ in play.ends] + [task.ready for task in scene.tasks]):
        second += 1
        if play.change(second):
            play.turn(second)
    return play.total + 1e12 * len(play.queue)


# --- what it is about ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Jobs that run, as (expected end, what they hold), and tasks: first who wait, then others."""

    now: int
    running: tuple[tuple[int, Amounts], ...]
    waiting: tuple[Task, ...]
    coming: tuple[Task, ...]
    free: Amounts

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All that may start."""
        return self.waiting + self.coming

    @property
    def changes(self) -> list[int]:
        """Seconds at which running jobs are expected to end, and now."""
        return sorted({self.now, *(end for end, _ in self.running)})

    def free_at(self, second: int) -> Amounts:
        """Return what the running jobs leave at a second."""
        free = self.free
        for end, amount in self.running:
            if end <= second:
                free = plus(free, amount)
        return free


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Draw a machine that is busy, with a few jobs waiting and arriving; some fit never."""
    now = draw(st.integers(0, 40))
    some = st.tuples(*(st.integers(0, amount) for amount in WHOLE))
    free, running = WHOLE, []
    for held in draw(st.lists(some, max_size=4)):
        if fits(held, free):
            free = minus(free, held)
            running.append((now + draw(st.integers(1, 25)), held))

    def task(ready: int) -> Task:
        return Task(
            submit=min(ready, now) - draw(st.integers(0, 40)) if ready == now else ready,
            ready=ready,
            plan=draw(st.integers(1, 25)),
            typical=draw(st.integers(1, 25)),
            demand=draw(some) if draw(st.integers(0, 9)) else (WHOLE[0] + 1, 0),
            barred=draw(st.integers(0, 5)) == 0,
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
