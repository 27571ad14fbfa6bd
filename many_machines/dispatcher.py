"""``per-machine``: on each machine of a system, whose queues keep jobs there, its own scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.dispatchers import Dispatcher, frozen
from cpsched.api.errors import ConfigError
from cpsched.api.model import Decision, JobTable, RunningTable, Start, View
from cpsched.api.tools import build
from many_machines.separate import machines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.model import IntArray, System

_NO_ROWS = np.zeros(0, dtype=np.int64)


class _Scheduler:
    """
    The scheduler of one machine, asked as often as if the machine were alone.

    Attributes
    ----------
    wakes
        Seconds at which it wants to be asked.
    left
        The waiting and the running jobs as its last decision left them, rows of the job store in
        ascending order; None: it did more than start jobs.
    """

    def __init__(self, inner: Dispatcher) -> None:
        self.inner = inner
        self.wakes: set[int] = set()
        self.left: tuple[IntArray, IntArray] | None = (_NO_ROWS, _NO_ROWS)

    def answer(self, view: View) -> Decision | None:
        """Return its decision on its machine's jobs; None if it has no news, or nothing to do."""
        waiting, running = view.waiting.rows, np.sort(view.running.rows)
        due = any(second <= view.now for second in self.wakes)
        self.wakes = {second for second in self.wakes if second > view.now}
        if not due and self.left is not None and self._is_left(waiting, running):
            return None
        self.left = waiting, running
        if not (len(waiting) or self.inner.acts_when_idle):
            return None
        decision = self.inner.decide(view)
        if decision.again_at is not None:
            self.wakes.add(decision.again_at)
        self._note(view, decision)
        return decision

    def _is_left(self, waiting: IntArray, running: IntArray) -> bool:
        assert self.left is not None
        return np.array_equal(waiting, self.left[0]) and np.array_equal(running, self.left[1])

    def _note(self, view: View, decision: Decision) -> None:
        """Note what its decision leaves."""
        if not all(isinstance(action, Start) for action in decision.actions):
            self.left = None
            return
        waiting, running = view.waiting.rows, view.running.rows
        starts = np.isin(view.waiting.handle, [action.handle for action in decision.actions])
        self.left = waiting[~starts], np.sort(np.append(running, waiting[starts]))

    def state(self) -> dict[str, Any]:
        waiting, running = (_NO_ROWS, _NO_ROWS) if self.left is None else self.left
        return {
            "inner": dict(self.inner.state()),
            "wakes": np.array(sorted(self.wakes), dtype=np.int64),
            "told": int(self.left is not None),
            "waiting": waiting,
            "running": running,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.inner.restore(state.get("inner", {}))
        self.wakes = set(state["wakes"].tolist())
        self.left = (state["waiting"], state["running"]) if state["told"] else None


class PerMachine(Dispatcher):
    """
    A dispatcher for each machine of a system.

    Machines are the parts that no queue joins: two queues are of one machine if both may use some
    node. Each dispatcher is shown the jobs of its machine alone, when one has come, ended or left,
    so that the machines are as if each were simulated alone.

    Parameters
    ----------
    dispatcher
        The dispatcher of each.
    """

    name = "per-machine"
    family = "around another dispatcher"
    good_for = "several machines in one system, each with a scheduler of its own"
    goes_wrong_when = "queues share nodes: these are one machine, with one scheduler"

    def __init__(self, dispatcher: str = "easy") -> None:
        self._spec = dispatcher
        one = self._made()
        self.allocator, self.interval = one.allocator, one.interval
        self.acts_when_idle, self.keeps_places = one.acts_when_idle, one.keeps_places
        self.selects_sets = one.selects_sets
        self._epoch: int | None = None

    def _made(self) -> Dispatcher:
        made: Dispatcher = build("dispatchers", self._spec)
        if isinstance(made, PerMachine):
            raise ConfigError(
                f"is {self._spec}, must be a dispatcher of another kind", key="dispatcher"
            )
        return made

    def on_epoch(self, epoch: int | None) -> None:
        """Keep the Unix time of second 0 for the dispatchers."""
        self._epoch = epoch

    def reset(self, system: System, seed: int) -> None:
        """Make a dispatcher for each machine."""
        machines = machines_of(system)
        self._machine = {name: at for at, one in enumerate(machines) for name in one.queues}
        self._schedulers = [_Scheduler(self._made()) for _ in machines]
        if self.allocator is not None:
            self.allocator.reset(system)
        for one in self._schedulers:
            one.inner.on_epoch(self._epoch)
            one.inner.reset(system, seed)

    def decide(self, view: View) -> Decision:
        """
        Ask the dispatchers of the machines with news, in the order of the system's queues.

        Raises
        ------
        ConfigError
            If a job may run on several machines.
        """
        answers = [
            answer
            for at, own in self._views(view)
            if (answer := self._schedulers[at].answer(own)) is not None
        ]
        actions = [action for one in answers for action in one.actions]
        wakes = [second for one in self._schedulers for second in one.wakes]
        stats: dict[str, float] = {}
        for one in answers:
            for name, value in one.stats.items():
                stats[name] = stats.get(name, 0) + value
        return Decision(actions, again_at=min(wakes, default=None), stats=stats)

    def _views(self, view: View) -> list[tuple[int, View]]:
        """Return what each machine's dispatcher is shown, with the number of the machine."""
        if len(self._schedulers) == 1:
            return [(0, view)]
        waits, runs = (self._machines(table) for table in (view.waiting, view.running))
        found = []
        for at in range(len(self._schedulers)):
            waiting = JobTable(view.waiting.store, frozen(view.waiting.rows[waits == at]))
            rows = frozen(view.running.rows[runs == at])
            running = RunningTable(view.running.store, rows, view.running.arena)
            held = view.now, view.system, view.free, view.node_up, view.eligible
            found.append((at, View(*held, waiting, running)))
        return found

    def _machines(self, jobs: JobTable) -> IntArray:
        """Return the number of each job's machine, shape ``(n,)``."""
        queues: list[str | None] = jobs.strings("queue")
        known = {text: self._machine_of(text) for text in dict.fromkeys(queues)}
        return np.array([known[text] for text in queues], dtype=np.int64)

    def _machine_of(self, queue: str | None) -> int:
        """Return the number of the machine that a job's queues are of."""
        machines = {self._machine.get(name) for name in (queue or "").split(",")}
        if len(machines) > 1 or None in machines:
            what = f"in {queue}, which are of several machines" if queue else "in no queue"
            raise ConfigError(f"per-machine cannot place a job that is {what}")
        return int(next(iter(machines)) or 0)

    def never_starts(self, view: View) -> IntArray:
        """Return the jobs that no dispatcher will ever start."""
        rows = [self._schedulers[at].inner.never_starts(own) for at, own in self._views(view)]
        return np.concatenate(rows)

    def state(self) -> Mapping[str, Any]:
        """Return what the dispatchers remember."""
        return {str(at): one.state() for at, one in enumerate(self._schedulers)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        for at, one in enumerate(self._schedulers):
            one.restore(state[str(at)])
