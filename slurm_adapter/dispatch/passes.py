"""
Slurm's scheduling under a site's policy: the main scheduler and the backfill plug-in.

After ``man slurm.conf`` and Slurm's pages on priorities, limits and scheduling; what is modelled,
and how closely, is in ``docs/reference/slurm-policy.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.dispatchers import Dispatcher, WaitReason, decision_of, with_plan
from cpsched.api.errors import ConfigError
from cpsched.api.kernels import FAR
from cpsched.api.model import NOTHING, immutable
from cpsched.api.model import columns as c
from slurm_adapter.dispatch.machine import make_nodes, run_passes
from slurm_adapter.dispatch.queue import SortedQueue
from slurm_adapter.dispatch.records import Records
from slurm_adapter.dispatch.timing import Timing
from slurm_adapter.dispatch.usage import Usage
from slurm_adapter.kernels import passes as slurm
from slurm_adapter.kernels import records as r

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, BoolArray, Decision, IntArray, JobStore, System, View
    from slurm_adapter.dispatch.policy import Policy

#: Parameters for which 0 means no limit, and their fields in a pass's rules.
_LIMITS = {
    "partition_job_depth": r.PARTITION_DEPTH,
    "sched_max_job_start": r.MOST_STARTS,
    "bf_max_job_user": r.OF_USER,
    "bf_max_job_part": r.OF_PARTITION,
    "bf_max_job_user_part": r.OF_BOTH,
    "bf_max_job_assoc": r.OF_ASSOCIATION,
    "bf_max_job_start": r.BACKFILL_STARTS,
    "bf_job_part_count_reserve": r.PARTITION_RESERVATIONS,
}
#: Seconds for which a job rests that was queued again.
_REST = 121
#: Seconds within which Slurm takes the ends of running jobs together at first.
_ENDS_WITHIN = 30
_NOTHING: IntArray = np.zeros(0, dtype=np.int64)


class Passes(Dispatcher):
    """Slurm's main scheduler and backfill plug-in, without preemption."""

    name = "slurm"

    def __init__(self, policy: Policy, *, tree: bool, lag: int) -> None:
        self.policy, self.tree = policy, tree
        self._lag = lag
        multifactor = policy["PriorityType"] == "priority/multifactor"
        self._shares = multifactor and policy["PriorityWeightFairshare"] > 0
        self._changes = self._shares or (multifactor and policy["PriorityWeightAge"] > 0)
        # Usage goes by when jobs end, whether others wait or not.
        self.acts_when_idle = self._shares
        self._epoch = 0
        self._saved: Mapping[str, Any] | None = None

    def on_epoch(self, epoch: int | None) -> None:
        """Set the Unix time of second 0; by default the beginning of 1970."""
        self._epoch = epoch or 0

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """
        Prepare for a system.

        Raises
        ------
        ConfigError
            If the tree has no switches, or the machine is a counted pool.
        """
        weights = system.weights if system.weights.any() else system.weights[:0]
        self._nodes = make_nodes(system, tree=self.tree, weights=weights)
        if system.is_counted_pool:
            raise ConfigError(
                "the machine is a counted pool, but slurm reserves whole nodes: describe its"
                " nodes, and set processors to packed, anywhere or whole-nodes",
                where=f"system {system.name}",
            )
        policy = self.policy
        self._records = Records(system, policy, self._epoch)
        self._change = self._records.reservations.next_change(-1)
        self._queue = SortedQueue(self._records)
        #: Records of the jobs that run, in any order.
        self._running: IntArray = _NOTHING
        accounts = self._records.accounts
        self._usage = Usage(accounts.tree, policy, accounts.usage(), self._epoch)
        self._timing = Timing(policy, lag=self._lag)
        self._numbers = self._settings()
        self._eligible: BoolArray | None = None
        self._known = 0
        self._reordered = 0
        #: How many jobs are in the queue.
        self._waiting = 0
        #: How often jobs were queued again, and when those that were may start.
        self._attempts: dict[int, int] = {}
        self._rests: list[int] = []
        #: Records, by row, of jobs for which others have to leave their nodes.
        self._claimed: dict[int, int] = {}
        #: Records that started in the last decision.
        self._started: IntArray = _NOTHING
        self._last_eligible: AnyArray | None = None
        self._saved = None

    def _settings(self) -> IntArray:
        """Return a pass's numbers as far as they do not change."""
        policy = self.policy
        numbers = np.full(r.NUM_NUMBERS, FAR, dtype=np.int64)
        for name, place in _LIMITS.items():
            numbers[place] = policy[name] or FAR
        numbers[r.TESTED] = policy["bf_max_job_test"]
        numbers[r.ARRAY_RESERVATIONS] = policy["bf_max_job_array_resv"]
        numbers[r.WINDOW] = policy["bf_window"] * 60
        numbers[r.RESOLUTION] = policy["bf_resolution"]
        numbers[r.CLOSE], numbers[r.GAP], numbers[r.TIGHT] = 1, 1, 1
        numbers[r.LEAST_PRIORITY] = policy["bf_min_prio_reserve"]
        numbers[r.LIMITS_STOP] = policy["assoc_limit_stop"]
        numbers[r.NUM_PARTITIONS] = len(self._records.partitions)
        numbers[r.NUM_ASSOCIATIONS] = len(self._records.accounts.associations)
        numbers[r.NUM_RESERVATIONS] = len(self._records.reservations)
        numbers[r.ENDS_WITHIN], numbers[r.ENDS_MORE] = _ENDS_WITHIN, policy["bf_window_linear"]
        return numbers

    # --- decisions --------------------------------------------------------------------------------

    def decide(self, view: View) -> Decision:
        """Run the passes that are due."""
        now, timing = view.now, self._timing
        self._started = _NOTHING
        if now >= self._usage.next_at:
            self._calculate(now)
        arrived = self._take_up(view)
        if self._change is not None and self._change <= now:
            self._change = self._records.reservations.next_change(now)
            timing.ended(now)
        rested = [until for until in self._rests if until <= now]
        if rested:
            self._rests = [until for until in self._rests if until > now]
        if not len(self._queue):
            return NOTHING
        timing.note(now, arrived=bool(arrived or rested))
        depth, backfill = timing.due(now, len(self._queue))
        if depth or backfill:
            decision = self._run(view, self._queue.order, depth, backfill=backfill)
        else:
            decision = NOTHING
        return decision._replace(again_at=self._next_at(now))

    def _next_at(self, now: int) -> int | None:
        """Return when something is to do for the jobs that wait, whatever happens."""
        if not len(self._queue):
            return None
        due = [self._timing.next_due(now), self._change, *self._rests]
        if self._changes:
            due.append(self._usage.next_at)
        return min((at for at in due if at is not None), default=None)

    def _calculate(self, now: int) -> None:
        """Bring usage and priorities up to the last time at which they are computed."""
        at = self._usage.advance(now)
        if self._changes and self._queue.prioritise(at, self._usage.fair_share):
            self._timing.changed()

    def _run(self, view: View, order: IntArray, depth: int, *, backfill: bool) -> Decision:
        """Run passes over some records; the main one over ``depth`` jobs, 0: there is none."""
        records, now = self._records, view.now
        shapes, eligible = records.shapes(view)
        numbers = self._numbers
        numbers[r.NOW], numbers[r.MAIN], numbers[r.BACKFILL] = now, depth > 0, backfill
        numbers[r.DEPTH] = depth
        numbers[r.NUM_USERS] = len(view.waiting.store.labels["user"])
        limits = records.limits.limits(records.amounts)
        if self._nodes.shapes is not shapes or self._nodes.eligible is not eligible:
            self._nodes = self._nodes._replace(shapes=shapes, eligible=eligible)
        packed, looked_at, started = run_passes(
            view, (order, records.table), self._rules_for(eligible), limits, self._nodes
        )
        decision = decision_of(view, packed)
        self._started = started
        if len(started):
            self._note_starts(started, now)
        if not len(looked_at):
            return decision
        rows, planned = records.table[looked_at, r.ROW], records.table[looked_at, r.PLANNED]
        return with_plan(view, decision, rows, planned)

    def _note_starts(self, started: IntArray, now: int) -> None:
        """Remove starting jobs from the queue."""
        records, table, billing = self._records, self._records.table, self._records.billing
        self._running = np.concatenate([self._running, started])
        for record in started.tolist():
            several = table.item(record, r.SEVERAL)
            row = table.item(record, r.ROW)
            self._queue.remove(records.of_row[row] if several else (record,))
            self._waiting -= 1
            self._usage.started(table.item(record, r.ASSOCIATION), billing.item(record), now)

    def _rules_for(self, eligible: BoolArray) -> r.Rules:
        """Return the rules of a pass; where groups of nodes begin whatever is free is kept."""
        there, nodes = self._records.reservations, self._records.partitions.nodes
        if eligible is not self._eligible:
            weights = [self._nodes.weights] if len(self._nodes.weights) else []
            begins = r.group_begins(eligible.T, nodes.T, there.nodes.T, *weights)
            kept = there.start, there.end, there.nodes
            self._rules = r.Rules(self._numbers, begins, nodes, *kept)
            self._eligible = eligible
        return self._rules

    # --- what has happened ------------------------------------------------------------------------

    def _take_up(self, view: View) -> list[int]:
        """Bring queue and running jobs up to date; return the records of jobs that arrived."""
        if self._saved is not None:
            self._rebuild(view, self._saved)
        store, now = view.waiting.store, view.now
        if len(view.running) != len(self._running):
            self._note_ends(store.columns, now)
        arrived: list[int] = []
        for row in range(self._known, store.size):
            if store.columns.item(row, c.STATE) == c.WAITING:
                arrived += self._enqueue(store, row, now)
        self._known = store.size
        same = len(view.waiting) == self._waiting and len(view.running) == len(self._running)
        if not same or store.reordered != self._reordered:
            arrived += self._compare(view)
            # Planned outages, and limits of switches that pass, give jobs other shapes.
            self._records.look_again(store.columns, self._queue.order)
            self._reordered = store.reordered
        if view.eligible is not self._last_eligible:
            self._last_eligible = view.eligible
            self._timing.changed()
        return arrived

    def _enqueue(self, store: JobStore, row: int, now: int) -> range:
        """Put a job into the queue, in each of its partitions."""
        records = self._records
        numbers = records.add(store, row, now)
        if store.columns.item(row, c.ATTEMPTS) > self._attempts.get(row, 0):
            self._attempts[row] = store.columns.item(row, c.ATTEMPTS)
            self._rest(numbers, now + _REST)
        for record in numbers:
            records.prioritise_arrival(record, now, self._usage.fair_share)
            self._queue.insert(record)
        self._waiting += 1
        return numbers

    def priorities(self, store: JobStore, rows: Sequence[int], now: int) -> IntArray:
        """Return the priorities of jobs that arrive now; 0 for those that no partition takes."""
        if now >= self._usage.next_at:
            self._calculate(now)
        records, found = self._records, []
        for row in rows:
            numbers = records.add(store, row, now)
            for record in numbers[:1]:
                records.prioritise_arrival(record, now, self._usage.fair_share)
            found.append(records.table.item(numbers.start, r.PRIORITY) if numbers else 0)
        return np.array(found, dtype=np.int64)

    def _rest(self, numbers: range, until: int) -> None:
        """Let a job that was queued again start no earlier than at some second."""
        records = self._records
        records.table[numbers.start : numbers.stop, [r.BEGINS, r.SINCE]] = until
        self._rests.append(until)

    def _note_ends(self, columns: IntArray, now: int) -> None:
        """Let jobs that do not run any more count no more."""
        running, records = self._running, self._records
        rows = records.table[running, r.ROW]
        places = np.flatnonzero(columns[rows, c.STATE] != c.RUNNING)
        if not len(places):
            return
        ended, starts = running[places], columns[rows[places], c.START].tolist()
        for at in places[::-1].tolist():
            running[at] = running[-1]
            running = running[:-1]
        self._running = running
        self._count(ended, -1)
        for record, start in zip(ended.tolist(), starts, strict=True):
            association = records.table.item(record, r.ASSOCIATION)
            self._usage.ended(association, records.billing.item(record), start, now)
        self._timing.ended(now)

    def _compare(self, view: View) -> list[int]:
        """Find out which jobs left the queue, came back to it or were started by others."""
        records, columns, now = self._records, view.waiting.store.columns, view.now
        waiting = view.waiting.rows
        queued = np.unique(records.table[self._queue.order, r.ROW])
        for row in [row for row in self._claimed if columns.item(row, c.STATE) != c.WAITING]:
            self._count([self._claimed.pop(row)], -1)
        for row in np.intersect1d(list(self._claimed), waiting).tolist():
            self._count([self._claimed.pop(row)], -1)
        for row in np.setdiff1d(queued, waiting).tolist():
            self._queue.remove(records.of_row[row])
            self._waiting -= 1
            if columns.item(row, c.STATE) == c.WAITING:
                # Others make room for it: it counts in its limits already.
                self._claimed[row] = records.of_row[row][0]
                self._count([self._claimed[row]], 1)
        unknown = np.setdiff1d(view.running.rows, records.table[self._running, r.ROW])
        for row in unknown.tolist():
            start = columns.item(row, c.START)
            record = records.add(view.waiting.store, row, start)[0]
            self._running = np.append(self._running, record)
            self._count([record], 1)
            association = records.table.item(record, r.ASSOCIATION)
            self._usage.started(association, records.billing.item(record), start)
        arrived: list[int] = []
        for row in np.setdiff1d(waiting, queued).tolist():
            arrived += self._enqueue(view.waiting.store, row, now)
        return arrived

    def _count(self, jobs: Sequence[int] | IntArray, sign: int) -> None:
        """Count jobs in their limits, or stop counting them."""
        records = self._records
        if records.limits.reasons:
            own, limits = np.array(jobs, dtype=np.int64), records.limits.limits(records.amounts)
            slurm.count(records.table, own, limits, sign)

    def qos_of(self, rows: IntArray) -> IntArray:
        """Return the positions of jobs' QOS in the policy, -1 for jobs without."""
        records = self._records
        known = (records.of_row.get(row) for row in rows.tolist())
        return np.array(
            [records.table.item(one.start, r.QOS) if one else -1 for one in known], dtype=np.int64
        )

    # --- what it says of itself -------------------------------------------------------------------

    def ranking(self, view: View) -> IntArray:
        """Return the queue in Slurm's order, as of the last decision."""
        records = self._records
        known = np.concatenate([self._queue.order, self._started])
        known = known[np.lexsort((known, records.table[known, r.KEY]))]
        waiting = view.waiting.rows
        rows = records.table[known, r.ROW]
        rows = np.concatenate([rows[np.isin(rows, waiting)], waiting])
        # A job in several partitions is where the first of its records is.
        _, first = np.unique(rows, return_index=True)
        found: IntArray = rows[np.sort(first)]
        return found

    def considered(self, view: View) -> IntArray:
        """Return the jobs that no limit holds."""
        records = self._records
        free = np.ones(len(view.waiting), dtype=np.bool_)
        if records.limits.reasons:
            free[:] = [self._holding(row) < 0 for row in view.waiting.rows.tolist()]
        found: IntArray = immutable(view.waiting.rows[free])
        return found

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        row: int,
        derived: WaitReason,
    ) -> WaitReason:
        """Whether a limit holds the job, or the main pass has not reached it."""
        if self.wait_note(row):
            return WaitReason.LIMIT
        return WaitReason.ORDER if derived is WaitReason.PLANNED_LATER else derived

    def wait_note(self, row: int) -> str:
        """Return the limit that holds a job, as ``squeue`` names it, whose it is and its use."""
        over, records = self._holding(row), self._records
        told = (
            records.limits.told(over, int(records.table[one, r.TEMPLATE]), records.amounts[one])
            for one in (records.of_row[row] if over >= 0 else ())
        )
        return next(filter(None, told), "")

    def _holding(self, row: int) -> int:
        """Return a counter of the limits that holds a job now, -1 if none does."""
        records = self._records
        own = records.of_row.get(row, range(0))
        limits = records.limits.limits(records.amounts)
        return int(slurm.holding(records.table, own.start, own.stop, limits))

    def never_starts(self, view: View) -> IntArray:
        """Return the jobs that no limit would ever let start, or whose reservation has passed."""
        records = self._records
        found = [
            row
            for row in view.waiting.rows.tolist()
            if all(records.never_fits(one, view.now) for one in records.of_row[row])
        ]
        return np.array(found, dtype=np.int64)

    # --- saving -----------------------------------------------------------------------------------

    def state(self) -> Mapping[str, Any]:
        """Return usage, when passes are due, and what is known of jobs that wait or run."""
        if self._saved is not None:
            return self._saved
        records = self._records
        claimed = np.array(list(self._claimed.values()), dtype=np.int64)
        live = np.concatenate([self._queue.order, self._running, claimed])
        return {
            "records": records.table[live],
            "waiting": len(self._queue),
            "claimed": len(claimed),
            "attempts": np.array(list(self._attempts.items()), dtype=np.int64).reshape(-1, 2),
            "rests": np.array(self._rests, dtype=np.int64),
            "change": -1 if self._change is None else self._change,
            "known": self._known,
            "reordered": self._reordered,
            "usage": self._usage.state(),
            "timing": self._timing.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._usage.restore(state["usage"])
        self._timing.restore(state["timing"])
        self._known = int(state["known"])
        self._attempts = dict(state["attempts"].tolist())
        self._rests = state["rests"].tolist()
        self._change = int(state["change"]) if state["change"] >= 0 else None
        self._reordered = int(state["reordered"])
        # Jobs are looked up when there is a view of them.
        self._saved = state

    def _rebuild(self, view: View, saved: Mapping[str, Any]) -> None:
        """Make the records of the jobs that waited or ran."""
        self._saved = None
        self._last_eligible = view.eligible
        # Whatever it is: jobs may have other shapes in this view.
        self._reordered = -1
        records, store = self._records, view.waiting.store
        kept = [r.SINCE, r.PRIORITY, r.PLANNED, r.BEGINS, r.KEY]
        for place, known in enumerate(saved["records"]):
            row = int(known[r.ROW])
            numbers = records.add(store, row, int(known[r.SINCE]))
            at = records.table[numbers.start : numbers.stop, r.PARTITION].tolist()
            record = numbers[at.index(known[r.PARTITION])]
            records.table[record, kept] = known[kept]
            if place < int(saved["waiting"]):
                self._queue.insert(record)
            else:
                self._running = np.append(self._running, record)
        self._count(self._running, 1)
        self._waiting = len(np.unique(records.table[self._queue.order, r.ROW]))
