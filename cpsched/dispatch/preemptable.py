"""Which running jobs may be preempted, for which tiers, and how few of them are enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from cpsched.model import columns as c
from cpsched.model.system import Preempt, Queue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.model.jobtable import JobTable, RunningTable
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: Rules of jobs whose queue has none.
_NONE = Queue(name="")


class Act(NamedTuple):
    """
    What may be done to a running job to make room.

    Attributes
    ----------
    mode
        What.
    grace
        Seconds between the notice to the job and that.
    exempt
        Seconds for which it runs at least before it has notice.
    """

    mode: Preempt
    grace: int
    exempt: int = 0


class PreemptionRules(ABC):
    """
    Which jobs may preempt which, by the rank of jobs, a number.

    Attributes
    ----------
    asks_once
        Whether the other dispatcher itself puts jobs of high rank first, so that it is called once
        for all.
    """

    #: The standing of urgent jobs: above all others.
    URGENT: ClassVar[int] = int(np.iinfo(np.int64).max)
    asks_once: bool = False

    @abstractmethod
    def tier(self, jobs: JobTable) -> IntArray:
        """Return the standing of each job, shape ``(n,)``."""

    @abstractmethod
    def acts(self, jobs: JobTable) -> list[Act]:
        """Return what may be done to each job."""

    def allows(self, requesting: int, running: int) -> bool:
        """Say whether jobs of one standing may preempt those of another."""
        return running < requesting

    def order(self, jobs: RunningTable) -> IntArray:
        """Return in which order jobs are preempted, as positions: low tiers, then the youngest."""
        return np.lexsort((-jobs.rows, -jobs.start, self.tier(jobs)))


class QueueRules(PreemptionRules):
    """
    Tiers of jobs, and what may be done to them, by their queues.

    Parameters
    ----------
    queues
        Of the system.
    """

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self._queues = queues

    def of(self, jobs: JobTable) -> list[Queue]:
        """Return the rules of each job's queue."""
        # Labels grow with the log; code -1 is the last: no queue.
        # A job in several queues goes by the first.
        names = [name.partition(",")[0] for name in jobs.store.labels["queue"]]
        rules = [self._queues.get(name, _NONE) for name in names] + [_NONE]
        return [rules[code] for code in jobs.column(c.QUEUE).tolist()]

    def tier(self, jobs: JobTable) -> IntArray:
        """Return the tier of each job, shape ``(n,)``."""
        tiers = np.array([rule.priority_tier for rule in self.of(jobs)], dtype=np.int64)
        return np.where(jobs.urgent != 0, self.URGENT, tiers)

    def acts(self, jobs: JobTable) -> list[Act]:
        """Return what may be done to the jobs of each one's queue."""
        return [Act(rule.preempt, rule.grace) for rule in self.of(jobs)]


class Candidates:
    """
    The running jobs of a view, by position, and those that may be preempted.

    Parameters
    ----------
    view
        The dispatcher's view.
    rules
        Which jobs may preempt which.
    """

    def __init__(self, view: View, rules: PreemptionRules) -> None:
        self._running, self._now = view.running, view.now
        running = view.running
        self._handle: list[int] = running.handle.tolist()
        self._rules, self._acts = rules, rules.acts(running)
        self._tier = rules.tier(running)
        able = np.array(
            [
                act.mode == Preempt.KILL or (act.mode != Preempt.OFF and bool(restartable))
                for act, restartable in zip(self._acts, running.restartable, strict=True)
            ],
            dtype=np.bool_,
        )
        exempt = np.array([act.exempt for act in self._acts], dtype=np.int64)
        able &= (running.state == c.RUNNING) & (self._tier != rules.URGENT)
        able &= view.now - running.since >= exempt
        order = rules.order(running)
        #: Those that may be preempted, the preferred ones first.
        self._able: list[int] = order[able[order]].tolist()

    def below(self, level: int) -> list[int]:
        """Return the jobs that may leave for one of a standing, in order."""
        return [at for at in self._able if self._rules.allows(level, int(self._tier[at]))]

    def __bool__(self) -> bool:
        """Whether any job may be preempted."""
        return bool(self._able)

    def take(self, positions: Sequence[int]) -> None:
        """Mark some as preempted, so that they are not used again."""
        self._able = [at for at in self._able if at not in positions]

    def positions(self, handles: Sequence[int]) -> list[int]:
        """Return the positions of those of some jobs that run."""
        return [at for at, handle in enumerate(self._handle) if handle in handles]

    def handles(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the handles of some."""
        return tuple(self._handle[at] for at in positions)

    def modes(self, positions: Sequence[int]) -> list[Preempt]:
        """Return what may be done to each of some."""
        return [self._acts[at].mode for at in positions]

    def grace(self, positions: Sequence[int]) -> int:
        """Return for how many seconds some run on after the notice: all as long as any."""
        return max((self._acts[at].grace for at in positions), default=0)

    def changed(self, positions: Sequence[int]) -> bool:
        """Say whether one of some started or was resized in this second, and has to stay in it."""
        return bool((self._running.since[list(positions)] == self._now).any())

    def without(self, positions: Sequence[int], free: IntArray) -> IntArray:
        """Return what each node has to give once some have left, shape ``(N, R)``."""
        remaining = free.copy()
        for at in positions:
            node, _, amount = self._running.allocation(at)
            remaining[node] += amount
        return remaining


def fewest(able: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> list[int] | None:
    """
    Return a small subset of jobs whose preemption makes room, the first ones if possible.

    One job if one is enough; otherwise the shortest beginning of the sequence that is enough,
    without those of it that are not needed.

    Parameters
    ----------
    able
        The jobs, the preferred ones first.
    fits
        Whether there is room once some have left; more of them must not make it false.

    Returns
    -------
    list of int or None
        None if all of them are not enough.
    """
    if not fits(able):
        return None
    for candidate in able:
        if fits([candidate]):
            return [candidate]
    low, high = 1, len(able)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(able[:middle]) else (middle + 1, high)
    chosen = list(able[:high])
    # The last one is needed: without it the beginning is not enough.
    for candidate in chosen[-2::-1]:
        fewer = [kept_candidate for kept_candidate in chosen if kept_candidate != candidate]
        if fits(fewer):
            chosen = fewer
    return chosen
