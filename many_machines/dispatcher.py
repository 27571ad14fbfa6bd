"""``per-machine``: on each machine of a system, whose queues keep jobs there, its own scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.dispatchers import Dispatcher, frozen
from cpsched.api.errors import ConfigError
from cpsched.api.model import (
    SUBMIT_COLUMNS,
    Decision,
    JobTable,
    RunningTable,
    Start,
    View,
)
from cpsched.api.tools import build
from many_machines.separate import machines_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.dispatchers import Reservation, WaitReason
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
        #: Its last decision.
        self.last = Decision()

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
        decision = self.last = self.inner.decide(view)
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
        #: What the last decision was about.
        self._decided: View | None = None
        #: A job store, its number of queues, and the machine of each: a cache.
        self._codes: tuple[object, int, IntArray] = (None, 0, _NO_ROWS)
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
        self._decided = view
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
        """
        Return what each machine's dispatcher is shown, with the number of the machine.

        Without those on whose machines no job waits, unless they act then, too.
        """
        if len(self._schedulers) == 1:
            return [(0, view)]
        waiting, running = (self._by_machine(table) for table in (view.waiting, view.running))
        held = view.now, view.system, view.free, view.node_up, view.eligible
        store, arena = view.waiting.store, view.running.arena
        numbers = range(len(self._schedulers)) if self.acts_when_idle else sorted(waiting)
        found = []
        for at in numbers:
            waits, runs = (frozen(rows.get(at, _NO_ROWS)) for rows in (waiting, running))
            own = JobTable(store, waits), RunningTable(view.running.store, runs, arena)
            found.append((at, View(*held, *own)))
        return found

    def _by_machine(self, jobs: JobTable) -> dict[int, IntArray]:
        """Return the rows of the job store of each machine's jobs, in table order."""
        of_code = self._machine_of_codes(jobs)
        codes = jobs.column(SUBMIT_COLUMNS["queue"])
        machine = of_code[codes]
        wrong = np.flatnonzero(machine < 0)
        if len(wrong):
            queue = jobs.take(wrong[:1]).strings("queue")[0]
            what = f"in {queue}, which are of several machines" if queue else "in no queue"
            raise ConfigError(f"per-machine cannot place a job that is {what}")
        order = np.argsort(machine, kind="stable")
        there, begins = np.unique(machine[order], return_index=True)
        parts = np.split(jobs.rows[order], begins[1:])
        return dict(zip(there.tolist(), parts, strict=False))

    def _machine_of_codes(self, jobs: JobTable) -> IntArray:
        """Return the number of the machine of each code of queues, -1 where there is none."""
        labels = jobs.store.labels["queue"]
        store, number, known = self._codes
        if store is not jobs.store or number != len(labels):
            known = np.array([*map(self._machine_of, labels), self._machine_of(None)])
            self._codes = jobs.store, len(labels), known
        return known

    def _machine_of(self, queue: str | None) -> int:
        """Return the number of the machine that a job's queues are of; -1 if it is not one."""
        machines = {self._machine.get(name, -1) for name in (queue or "").split(",")}
        return machines.pop() if len(machines) == 1 else -1

    def _of_row(self, view: View, row: int) -> tuple[Dispatcher, View] | None:
        """Return the dispatcher of a job's machine, and what it is shown; None if it has none."""
        for at, own in self._views(view):
            if row in own.waiting.rows:
                return self._schedulers[at].inner, own
        return None

    def ranking(self, view: View) -> IntArray | None:
        """Return the orders of all machines, one after the other; None if one has none."""
        orders = [self._schedulers[at].inner.ranking(own) for at, own in self._views(view)]
        known = [order for order in orders if order is not None]
        return np.concatenate([_NO_ROWS, *known]) if len(known) == len(orders) else None

    def considered(self, view: View) -> IntArray | None:
        """Return the jobs that the dispatchers consider."""
        rows: list[IntArray] = []
        for at, own in self._views(view):
            considered = self._schedulers[at].inner.considered(own)
            rows.append(own.waiting.rows if considered is None else considered)
        return np.concatenate([_NO_ROWS, *rows])

    def not_considered(self, view: View, decision: Decision, row: int) -> str:
        """Return why the dispatcher of its machine does not consider a job."""
        there = self._of_row(view, row)
        return "" if there is None else there[0].not_considered(there[1], decision, row)

    def barring(self, view: View, row: int) -> IntArray | None:
        """Return the jobs of its machine that a job may not overtake."""
        there = self._of_row(view, row)
        if there is None:
            return None
        inner, own = there
        barring = inner.barring(own, row)
        return own.waiting.rows if barring is None else barring

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:  # noqa: ARG002
        """Return what the dispatchers reserve, each in its last decision."""
        return [
            one
            for at, own in self._views(view)
            for one in self._schedulers[at].inner.reservations(own, self._schedulers[at].last)
        ]

    def wait_note(self, row: int) -> str:
        """Return the note of its machine's dispatcher on a job's wait."""
        there = None if self._decided is None else self._of_row(self._decided, row)
        return "" if there is None else there[0].wait_note(row)

    def wait_reason(
        self, view: View, decision: Decision, row: int, derived: WaitReason
    ) -> WaitReason:
        """Return the reason of its machine's dispatcher."""
        there = self._of_row(view, row)
        return derived if there is None else there[0].wait_reason(there[1], decision, row, derived)

    def never_starts(self, view: View) -> Mapping[int, str]:
        """Return why the dispatchers will never start some jobs."""
        reasons: dict[int, str] = {}
        for at, own in self._views(view):
            reasons.update(self._schedulers[at].inner.never_starts(own))
        return reasons

    def state(self) -> Mapping[str, Any]:
        """Return what the dispatchers remember."""
        return {str(at): one.state() for at, one in enumerate(self._schedulers)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        for at, one in enumerate(self._schedulers):
            one.restore(state[str(at)])
