"""Why one waiting job does not start in one decision: room, others, reservations, order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import stats
from cpsched.dispatch.conservative import Conservative
from cpsched.dispatch.reservation_view import ReservationView
from cpsched.dispatch.rules import Fifo
from cpsched.dispatch.slurm_backfill import SlurmBackfill
from cpsched.explain.model import Cause, OtherJob, Waiting
from cpsched.explain.reservations import delayed
from cpsched.explain.room import Fitting, node_list
from cpsched.model import columns as c
from cpsched.model.decision import Start
from cpsched.priority import Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.decision import Decision
    from cpsched.model.types import IntArray
    from cpsched.model.view import View

#: Above so many running jobs in the way, all are named instead of only those that are needed.
_MOST_PRUNED = 256


class Scene:
    """
    A view, the decision on it, and what both say about one job.

    Where a dispatcher reserves with other runtimes than it plans with, :attr:`view` is the one its
    reservations are made of.

    Parameters
    ----------
    row
        The job's row in the store.
    name
        Turns a row of the store into the log's job id.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        view: View,
        decision: Decision,
        row: int,
        name: Callable[[int], str],
    ) -> None:
        self.dispatcher = dispatcher
        order = ranking(dispatcher, view)
        reserving = getattr(dispatcher, "reserving", None)
        if isinstance(reserving, ReservationView):
            view = reserving.view(view)
        self.view = view
        self.decision = decision
        self.row = row
        self._name = name
        store = view.waiting.store
        self.columns = store.columns
        rows = view.waiting.rows
        self.row_of = dict(zip(store.columns[rows, c.HANDLE].tolist(), rows.tolist(), strict=True))
        self.handle = int(store.columns[row, c.HANDLE])
        self.starts = [action for action in decision.actions if isinstance(action, Start)]
        self.own_start = next((start for start in self.starts if start.handle == self.handle), None)
        plan = decision.plan
        self.planned = {} if plan is None else dict(zip(plan.handle, plan.start, strict=True))
        self.planned_nodes = {} if plan is None else plan.nodes
        self.planned_units = {} if plan is None else plan.units
        self.order: list[int] | None = None if order is None else order.tolist()
        self.rank_of = {row: at for at, row in enumerate(self.order or (), 1)}
        self.free_after: IntArray = np.array(view.free)
        for start in self.starts:
            self.free_after[start.allocation.node] -= start.allocation.amount

    def end_of(self, row: int, start: int) -> int:
        """Return when a waiting job would be expected to end."""
        return start + max(int(self.columns[row, c.PLAN]), 1)

    def other(
        self,
        row: int,
        start: int | None = None,
        end: int | None = None,
        nodes: IntArray | None = None,
    ) -> OtherJob:
        """Return another job as the explanation shows it."""
        names = self.view.system.node_names
        return OtherJob(
            job_id=self._name(row),
            units=int(self.columns[row, c.UNITS]),
            rank=self.rank_of.get(row),
            start=start,
            end=end,
            nodes=None if nodes is None else node_list(names, np.sort(nodes)),
        )

    def first_ahead(self) -> OtherJob | None:
        """Return the first job in the dispatcher's order that stays behind, if before ours."""
        started = {self.row_of[start.handle] for start in self.starts}
        for row in self.order or ():
            if row == self.row:
                break
            if row not in started:
                handle = int(self.columns[row, c.HANDLE])
                start = self.planned.get(handle)
                end = None if start is None else self.end_of(row, start)
                return self.other(row, start, end, self.planned_nodes.get(handle))
        return None


def ranking(dispatcher: Dispatcher, view: View) -> IntArray | None:
    """
    Return the rows of the waiting jobs in the order a dispatcher looks at them, if it has one.

    A dispatcher with a method ``ranking(view)`` is asked; of the others, one with a single
    ``priority``, or a ``queue`` that gives its rows.
    """
    rows = view.waiting.rows
    if callable(own := getattr(dispatcher, "ranking", None)):
        answer: IntArray | None = own(view)
        return answer
    if isinstance(dispatcher, Fifo):
        return rows
    if callable(queue := getattr(getattr(dispatcher, "queue", None), "rows", None)):
        kept: IntArray = queue(view)
        return kept
    priority = getattr(dispatcher, "priority", None)
    if isinstance(dispatcher, Conservative) and len(dispatcher.priorities) == 1:
        priority = dispatcher.priorities[0]
    if isinstance(priority, Priority):
        ordered: IntArray = rows[priority.order(view.waiting, view.now)]
        return ordered
    return None


def why_waiting(scene: Scene) -> Waiting:
    """Say why a job that waits is not among those started."""
    fitting = Fitting(scene.view, scene.row)
    room = fitting.room(scene.view.free)
    fits_after = fitting.place(scene.free_after) is not None
    ahead: OtherJob | None = None
    if not room.fits:
        cause = Cause.SHORT
    elif not fits_after:
        cause = Cause.OTHERS_START
    else:
        cause, ahead = _held_back(scene, fitting)
    needed, could_start = ([], None) if fits_after else waits_for(scene, fitting)
    planned = scene.planned.get(scene.handle)
    nodes = scene.planned_nodes.get(scene.handle)
    names = scene.view.system.node_names
    note = scene.decision.notes.get(scene.handle)
    return Waiting(
        cause=cause,
        room=room,
        before=_starting(scene, fitting) if cause is Cause.OTHERS_START else (),
        ahead=ahead,
        waits_for=tuple(needed),
        could_start=could_start,
        would_end=scene.end_of(scene.row, scene.view.now),
        planned=None if planned is None else int(planned),
        planned_nodes=None if nodes is None else node_list(names, np.sort(nodes)),
        asked_again=scene.decision.again_at,
        note=note,
    )


def _held_back(scene: Scene, fitting: Fitting) -> tuple[Cause, OtherJob | None]:
    """Say why a job does not start that fits beside all that do."""
    if (scene.decision.stats or {}).get(stats.WINDOW_HALVED):
        return Cause.UNDECIDED, None
    if not _is_looked_at(scene):
        return Cause.WINDOW, None
    found = delayed(scene, fitting)
    if found is not None:
        return Cause.RESERVATION, found
    if scene.dispatcher.chooses_together:
        return Cause.NOT_CHOSEN, None
    ahead = scene.first_ahead()
    if ahead is not None and (scene.decision.plan is None or _is_slurm(scene.dispatcher)):
        return Cause.ORDER, ahead
    return Cause.PLAN, None


def _is_looked_at(scene: Scene) -> bool:
    """Tell whether a job is among those that the dispatcher looks at."""
    dispatcher, rank = scene.dispatcher, scene.rank_of.get(scene.row)
    if (rows := dispatcher.looked_at(scene.view)) is not None:
        return scene.row in rows
    window = getattr(dispatcher, "window", None)
    # Slurm's is one of time.
    if rank is None or not isinstance(window, int) or _is_slurm(dispatcher):
        return True
    # Behind the first half of a window come jobs from further down the queue.
    return rank <= window or scene.handle in scene.planned


def _is_slurm(dispatcher: Dispatcher) -> bool:
    return isinstance(dispatcher, SlurmBackfill)


def _starting(scene: Scene, fitting: Fitting) -> tuple[OtherJob, ...]:
    """Return the jobs that start now on nodes ours may use, in the dispatcher's order."""
    found = []
    for start in scene.starts:
        node = start.allocation.node
        if fitting.eligible[node].any():
            row, now = scene.row_of[start.handle], scene.view.now
            found.append(scene.other(row, now, scene.end_of(row, now), node))
    return tuple(sorted(found, key=lambda job: job.rank or 0))


def waits_for(scene: Scene, fitting: Fitting) -> tuple[list[OtherJob], int | None]:
    """
    Return the running jobs whose ends make room for a job, and when they have ended.

    Jobs end when they are expected to and nobody else starts. Those whose end changes nothing
    are left out, the earliest first.
    """
    held = _holding(scene, fitting)
    free = scene.free_after.copy()
    needed = 0
    while fitting.place(free) is None and needed < len(held):
        # All that end at one second make room together.
        end = held[needed][0]
        while needed < len(held) and held[needed][0] == end:
            _, _, node, amount, _ = held[needed]
            free[node] += amount
            needed += 1
    if fitting.place(free) is None:
        return [], None
    kept = []
    for end, row, node, amount, start in held[:needed]:
        if needed <= _MOST_PRUNED:
            free[node] -= amount
            if fitting.place(free) is not None:
                continue
            free[node] += amount
        kept.append(scene.other(row, start, end, node))
    return kept, held[needed - 1][0]


_Holding = tuple[int, int, "IntArray", "IntArray", int]


def _holding(scene: Scene, fitting: Fitting) -> Sequence[_Holding]:
    """Return end, row, nodes, amounts and start of the jobs on nodes ours may use, by end."""
    view = scene.view
    running, now = view.running, view.now
    held: list[_Holding] = []
    starts, ends = running.start.tolist(), running.expected_end.tolist()
    for index, row in enumerate(running.rows.tolist()):
        node, _, amount = running.allocation(index)
        held.append((ends[index], row, node, amount, starts[index]))
    for start in scene.starts:
        row = scene.row_of[start.handle]
        node, _, amount = start.allocation
        held.append((scene.end_of(row, now), row, node, amount, now))
    return sorted(
        (item for item in held if fitting.eligible[item[2]].any()), key=lambda item: item[:2]
    )
