"""
Slurm's scheduling under a site's policy: the main scheduler and the backfill plug-in.

After ``man slurm.conf`` and Slurm's pages on priorities, limits and scheduling; what is modelled,
and how closely, is in ``docs/reference/slurm-policy.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.dispatch.passes import decision_of, with_plan
from cpsched.errors import ConfigError
from cpsched.kernels.arrays import FAR
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable
from cpsched.slurm.dispatch.depths import PassQueue, barring
from cpsched.slurm.dispatch.machine import always_apart, held_in, make_nodes
from cpsched.slurm.dispatch.records import Records
from cpsched.slurm.dispatch.settings import settings_of
from cpsched.slurm.kernels import decide as kernels
from cpsched.slurm.kernels import jobs
from cpsched.slurm.kernels import passes as slurm
from cpsched.slurm.kernels import records as r
from cpsched.slurm.kernels.decide import BY_PYTHON, OTHER_JOBS, SEEN_TO
from cpsched.slurm.kernels.jobs import UNKNOWN_KIND
from cpsched.util.words import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import AnyArray, BoolArray, IntArray

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
#: What the numbers of passes are called that bound the jobs they look at.
_NAMES = {
    **{place: name for name, place in _LIMITS.items()},
    r.TESTED: "bf_max_job_test",
    r.DEPTH: "default_queue_depth",
}
#: Seconds for which a job rests that was queued again.
_REST = 121
#: Seconds within which Slurm takes the ends of running jobs together at first.
_ENDS_WITHIN = 30
#: Jobs of a log that a loop learns of at once.
_AHEAD = 4096
_NOTHING: IntArray = np.zeros(0, dtype=np.int64)


class Passes(Dispatcher):
    """Slurm's main scheduler and backfill plug-in, without preemption."""

    name = "slurm"

    def __init__(self, policy: SlurmPolicy, *, tree: bool, lag: int) -> None:
        self.policy, self.tree = policy, tree
        self._lag = lag
        # Usage goes by when jobs end, whether others wait or not.
        self.acts_when_idle = bool(settings_of(policy)["shares"][0])
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
            If the tree has no switches, or the system is a counted pool.
        """
        weights = system.weights if system.weights.any() else system.weights[:0]
        self._nodes = make_nodes(system, tree=self.tree, weights=weights)
        if system.is_counted_pool:
            raise ConfigError(
                "the system is a counted pool, but slurm reserves whole nodes: describe its"
                " nodes, and set processors to packed, anywhere or whole-nodes",
                where=f"system {system.name}",
            )
        policy = self.policy
        self._records = records = Records(system, policy, self._epoch)
        self._book = records.book
        records.settings["lag"] = self._lag
        change = records.reservations.next_change(-1)
        self._book["change"] = FAR if change is None else change
        self._numbers = self._settings()
        self._eligible: BoolArray | None = None
        #: The job store at the last decision.
        self._store: JobStore | None = None
        #: How often jobs were queued again.
        self._attempts: dict[int, int] = {}
        #: Records, by row, of jobs for which others have to leave their nodes.
        self._claimed: dict[int, int] = {}
        #: Records that started in the last decision.
        self._started: IntArray = _NOTHING
        #: What the last decision was about.
        self._decided: View | None = None
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
        numbers[r.STARTS_ALONE] = 0
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
        if self._saved is not None:
            self._rebuild(view, self._saved)
        self._look_around(view)
        self._decided = view
        self._numbers[[r.STARTS_ALONE, r.MAIN, r.BACKFILL, r.MAIN_STARTED]] = 0
        store, held, why, other = view.waiting.store, held_in(view), -1, BY_PYTHON
        while why != 0:
            why, packed, looked_at, self._started = kernels.decide(
                *(*self.parts(view), store.columns, held, store.size, view.waiting.rows),
                *(other, store.reordered, view.now),
            )
            if why == OTHER_JOBS:
                other = SEEN_TO
                self._compare(view)
            elif why != 0:
                self.help(why, view)
        decision = decision_of(view, packed)
        if len(looked_at):
            table = self._records.table
            rows, planned = table[looked_at, r.ROW], table[looked_at, r.PLANNED]
            decision = with_plan(view, decision, rows, planned)
        again_at = self._book["again_at"].item()
        return decision._replace(again_at=again_at) if again_at < FAR else decision

    def parts(self, view: View) -> tuple[Any, ...]:
        """Return what kernels take first: what is known, rules, limits and nodes."""
        records = self._records
        shapes, eligible = records.shapes(view)
        self._numbers[r.NUM_USERS] = len(view.waiting.store.labels["user"])
        if self._nodes.shapes is not shapes or self._nodes.eligible is not eligible:
            self._nodes = self._nodes._replace(shapes=shapes, eligible=eligible)
        limits = records.limits.limits(records.jobs.amounts)
        return records.desk(), self._rules_for(eligible), limits, self._nodes

    def help(self, why: int, view: View, first: int = 0, log: IntArray | None = None) -> None:
        """
        Do what a kernel cannot: learn of kinds of jobs, or make room.

        A loop gives a part of its ``log``, from row ``first`` on, whose next jobs are learned of,
        too: one by one would take longer than their passes.
        """
        store, row = view.waiting.store, int(self._book["unknown"][0])
        if why != UNKNOWN_KIND:
            self._records.make_room(len(store.columns))
        elif log is None or row < first:
            self._learn_of(store, row)
        else:
            ahead = log[row - first :][:_AHEAD]
            coming = JobStore(store.resources, len(ahead))
            coming.add_shapes(store.shapes)
            coming.append(ahead)
            self._records.learn(store.labels, JobTable(coming, np.arange(len(ahead))))

    def _learn_of(self, store: JobStore, row: int) -> None:
        one = JobTable(store, immutable(np.array([row], dtype=np.int64)))
        self._records.learn(store.labels, one)

    # --- for the compiled loop --------------------------------------------------------------------

    @property
    def is_up_to_date(self) -> bool:
        """Whether all is known of the jobs that wait and run, so that a loop may go on from it."""
        same = self._store is None or self._store.reordered == self._book["reordered"][0]
        return same and self._saved is None and not self._claimed

    def hand_over(self, view: View) -> None:
        """Prepare for a loop that goes on from here."""
        if view.waiting.store is not self._store:
            self._records.forget_kinds()
        if self._last_eligible is None:
            self._book["news"] = 1
        self._store, self._last_eligible = view.waiting.store, view.eligible
        self._book["is_own"], self._started = 1, _NOTHING
        # Nobody is told of plans.
        self._numbers[r.STARTS_ALONE] = 1

    def _look_around(self, view: View) -> None:
        """Find out what has changed besides jobs, and compute classic factors where it is time."""
        records, now, store = self._records, view.now, view.waiting.store
        if store is not self._store or store.reordered != self._book["reordered"][0]:
            # The numbers of shapes may mean others; queued jobs are looked at again then.
            records.forget_kinds(shapes=store.reordered != self._book["reordered"][0])
            self._store = store
        if view.eligible is not self._last_eligible:
            self._last_eligible = view.eligible
            self._book["news"] = 1
        if records.usage.judges_here and now >= self._book["next_charge"][0]:
            at = records.usage.advance(now)
            if records.settings["changes"][0] and jobs.reprioritise(records.desk(), at):
                self._book["news"] = 1

    def _rules_for(self, eligible: BoolArray) -> r.Rules:
        """Return the rules of a pass; where groups of nodes begin whatever is free is kept."""
        there, nodes = self._records.reservations, self._records.partitions.nodes
        if eligible is not self._eligible:
            weights = [self._nodes.weights] if len(self._nodes.weights) else []
            alike = always_apart(self._nodes)
            begins = r.group_begins(eligible.T, nodes.T, there.nodes.T, *alike, *weights)
            kept = there.start, there.end, there.nodes
            self._rules = r.Rules(self._numbers, begins, nodes, *kept)
            self._eligible = eligible
        return self._rules

    # --- what has happened ------------------------------------------------------------------------

    def _take(self, store: JobStore, row: int, do: Callable[..., int], now: int) -> range:
        """Make a job's records, or put it into the queue as well; return their numbers."""
        records = self._records
        while (why := do(records.desk(), store.columns, row, now)) != 0:
            if why == UNKNOWN_KIND:
                self._learn_of(store, row)
            else:
                records.make_room(len(store.columns))
        return records.of_row(row)

    def _enqueue(self, store: JobStore, row: int, now: int) -> None:
        """Put a job that comes back into the queue, in each of its partitions."""
        tries = store.columns.item(row, c.ATTEMPTS)
        if tries > self._attempts.get(row, 0):
            self._attempts[row] = tries
            self._rest(self._take(store, row, jobs.add_job, now), now + _REST)
        self._take(store, row, jobs.take_in, now)

    def priorities(self, store: JobStore, rows: Sequence[int], now: int) -> IntArray:
        """Return the priorities of jobs that arrive now."""
        records, found = self._records, []
        if now >= self._book["next_charge"][0]:
            records.usage.advance(now)
        for row in rows:
            first = self._take(store, row, jobs.add_job, now).start
            jobs.rank(records.desk(), first, now)
            found.append(records.table.item(first, r.PRIORITY))
        return np.array(found, dtype=np.int64)

    def _rest(self, numbers: range, until: int) -> None:
        """Let a job that was queued again start no earlier than at some second."""
        records = self._records
        records.table[numbers.start : numbers.stop, [r.BEGINS, r.SINCE]] = until
        rests = records.lists.rests[: self._book["num_rests"][0]]
        records.lists = records.lists._replace(rests=np.append(rests, until))
        self._book["num_rests"] += 1

    def _compare(self, view: View) -> None:
        """Find out which jobs left the queue, came back to it or were started by others."""
        records, store, columns = self._records, view.waiting.store, view.waiting.store.columns
        waiting = view.waiting.rows
        queued = np.unique(records.table[records.order, r.ROW])
        for row in [row for row in self._claimed if columns.item(row, c.STATE) != c.WAITING]:
            self._count([self._claimed.pop(row)], -1)
        for row in np.intersect1d(list(self._claimed), waiting).tolist():
            self._count([self._claimed.pop(row)], -1)
        for row in np.setdiff1d(queued, waiting).tolist():
            jobs.drop(records.desk(), records.of_row(row)[0])
            if columns.item(row, c.STATE) == c.WAITING:
                # Others make room for it: it counts in its limits already.
                self._claimed[row] = records.of_row(row)[0]
                self._count([self._claimed[row]], 1)
        unknown = np.setdiff1d(view.running.rows, records.table[records.running, r.ROW])
        for row in unknown.tolist():
            start = columns.item(row, c.START)
            record = self._take(store, row, jobs.add_job, start)[0]
            self._run_on(record)
            association = records.table.item(record, r.ASSOCIATION)
            records.usage.started(association, records.jobs.billing.item(record), start)
        for row in np.setdiff1d(waiting, queued).tolist():
            self._enqueue(store, row, view.now)
        # Planned outages, and limits of switches that pass, give jobs other shapes.
        records.look_again(columns, records.order)

    def _run_on(self, record: int) -> None:
        """Count a record among those that run."""
        self._records.make_room(0)
        self._records.lists.running[self._book["num_running"][0]] = record
        self._book["num_running"] += 1
        self._count([record], 1)

    def _count(self, counted: Sequence[int], sign: int) -> None:
        """Count jobs in their limits, or stop counting them."""
        records = self._records
        if records.limits.reasons:
            own, limits = (
                np.array(counted, dtype=np.int64),
                records.limits.limits(records.jobs.amounts),
            )
            slurm.count(records.table, own, limits, sign)

    def qos_of(self, rows: IntArray) -> IntArray:
        """Return the positions of jobs' QOS in the policy, -1 for jobs without."""
        records = self._records
        known = (records.of_row(row) for row in rows.tolist())
        return np.array(
            [records.table.item(one.start, r.QOS) if one else -1 for one in known], dtype=np.int64
        )

    # --- what it says of itself -------------------------------------------------------------------

    def ranking(self, view: View) -> IntArray:
        """Return the queue in Slurm's order, as of the last decision."""
        records = self._records
        known = np.concatenate([records.order, self._started])
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

    def not_considered(self, view: View, decision: Decision, row: int) -> str:  # noqa: ARG002
        """Return which depth or interval keeps both passes from a job in all its partitions."""
        reasons = [self._out_of_reach(view, record) for record in self._records.of_row(row)]
        return reasons[0] if reasons and all(reasons) else ""

    def _out_of_reach(self, view: View, record: int) -> str:
        """Return why no pass looks at a record; '' if one does."""
        records, book, now = self._records, self._book[0], view.now
        begins = records.table.item(record, r.BEGINS)
        if begins > now:
            return f"it was queued again, and rests until {self._clock(begins)}"
        submit = view.waiting.store.columns.item(records.table.item(record, r.ROW), c.SUBMIT)
        if max(int(book["last"]), int(book["last_backfill"])) < submit:
            return f"no pass of Slurm has come since it was submitted{self._next_pass()}"
        main, queue = bool(self._numbers[r.MAIN]), self._queue(now)
        backfills = bool(records.settings["backfill_interval"][0] >= 0)
        reason = queue.out_of_backfill(record) if backfills else ""
        if reason or not main or self._numbers[r.BACKFILL]:
            return reason
        reason = queue.out_of_main(record)
        return f"{reason}{self._next_pass()}" if reason else ""

    def _queue(self, now: int) -> PassQueue:
        """Return the queue as the passes of the last decision saw it."""
        records, by_main = self._records, int(self._numbers[r.MAIN_STARTED])
        known = np.concatenate([records.order, self._started])
        numbers = self._numbers.copy()
        numbers[r.NOW] = now
        return PassQueue(
            table=records.table,
            order=known[np.lexsort((known, records.table[known, r.KEY]))],
            by_main=set(self._started[:by_main].tolist()),
            by_backfill=set(self._started[by_main:].tolist()),
            numbers=numbers,
            names=_NAMES,
            is_skipped=self._is_skipped,
        )

    def _is_skipped(self, record: int) -> bool:
        """Say whether a pass goes on behind a record because a limit holds it."""
        limits = self._records.limits.limits(self._records.jobs.amounts)
        over = int(slurm.holding(self._records.table, record, record + 1, limits))
        stops = self._numbers[r.LIMITS_STOP] and over >= 0 and limits.counters[over, r.STOPS]
        return over >= 0 and not stops

    def _next_pass(self) -> str:
        """Say when the next pass is due, and by what parameter; '' if none is."""
        book, policy = self._book[0], self.policy
        due = {
            "batch_sched_delay": int(book["after_submit"]),
            "sched_min_interval": int(book["after_end"]),
            "sched_interval": int(book["full"]),
            "bf_interval": int(book["backfill"]),
        }
        name = min(due, key=lambda name: due[name])
        if due[name] >= FAR:
            return ""
        return f", the next comes at {self._clock(due[name])} ({name}={policy[name]})"

    def _clock(self, second: int) -> str:
        return clock(second, self._epoch or None)

    def barring(self, view: View, row: int) -> IntArray:
        """Return the jobs of the same partitions, or nodes, behind which the main pass stops."""
        records = self._records
        own, least, now = records.of_row(row), self._numbers[r.LEAST_PRIORITY], view.now
        table, queued = records.table, records.order
        holds = (table[queued, r.PRIORITY] >= least) & (table[queued, r.RESERVES_FROM] <= now)
        holds &= table[queued, r.BEGINS] <= now
        reservation = table.item(own.start, r.RESERVATION) if own else -1
        holds = (holds | (reservation >= 0)) & (table[queued, r.RESERVATION] == reservation)
        nodes = records.partitions.nodes
        return barring(table, own, queued[holds], nodes, self._is_skipped)

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
        """
        Return the limit that holds a job, as ``squeue`` names it, whose it is and its use.

        Where there is none, the reservation that does.
        """
        return self._limit_note(row) or self._reservation_note(row)

    def _reservation_note(self, row: int) -> str:
        """Return the reservation that keeps a job from nodes on which it would fit."""
        view, records = self._decided, self._records
        own, there = records.of_row(row), records.reservations
        if view is None or not own or not len(there):
            return ""
        now, at = view.now, records.table.item(own.start, r.RESERVATION)
        until = now + max(view.waiting.store.columns.item(row, c.RUNTIME_ESTIMATE), 1)
        usable, note = there.usable(at, now, until)
        if not note or (at >= 0 and there.start.item(at) > now):
            return note
        allocator = make_allocator("first-fit")
        allocator.reset(view.system)
        kept = np.where(usable[:, None], view.free, 0)
        held = allocator.place(view, row, kept) is None
        return note if held and allocator.place(view, row, view.free) is not None else ""

    def _limit_note(self, row: int) -> str:
        over, records = self._holding(row), self._records
        told = (
            records.limits.describe(
                over, int(records.table[one, r.TEMPLATE]), records.jobs.amounts[one]
            )
            for one in (records.of_row(row) if over >= 0 else ())
        )
        return next(filter(None, told), "")

    def _holding(self, row: int) -> int:
        """Return a counter of the limits that holds a job now, -1 if none does."""
        records = self._records
        own = records.of_row(row)
        limits = records.limits.limits(records.jobs.amounts)
        return int(slurm.holding(records.table, own.start, own.stop, limits))

    def never_starts(self, view: View) -> Mapping[int, str]:
        """Return the jobs that no limit would ever let start, or whose reservation is too short."""
        columns = view.waiting.store.columns
        reasons = {
            row: self._why_never(row, columns, view.now) for row in view.waiting.rows.tolist()
        }
        return {row: reason for row, reason in reasons.items() if reason}

    def _why_never(self, row: int, columns: IntArray, now: int) -> str:
        """Return why a job can start in none of its partitions, whatever ends; '' if it can."""
        submit, duration = (
            columns.item(row, c.SUBMIT),
            max(columns.item(row, c.RUNTIME_ESTIMATE), 1),
        )
        records = self._records.of_row(row)
        reasons = [self._records.why_never(record, submit, now, duration) for record in records]
        return reasons[0] if reasons and all(reasons) else ""

    # --- saving -----------------------------------------------------------------------------------

    def state(self) -> Mapping[str, Any]:
        """Return usage, when passes are due, and what is known of jobs that wait or run."""
        if self._saved is not None:
            return self._saved
        records = self._records
        claimed = np.array(list(self._claimed.values()), dtype=np.int64)
        live = np.concatenate([records.order, records.running, claimed])
        return {
            "records": records.table[live],
            "waiting": len(records.order),
            "claimed": len(claimed),
            "attempts": np.array(list(self._attempts.items()), dtype=np.int64).reshape(-1, 2),
            "rests": records.lists.rests[: self._book["num_rests"][0]].copy(),
            "usage": records.usage.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        records = self._records
        records.usage.restore(state["usage"])
        for name in ("num_records", "num_queued", "num_waiting", "num_running"):
            self._book[name] = 0
        self._attempts = dict(state["attempts"].tolist())
        records.lists = records.lists._replace(rests=np.array(state["rests"], dtype=np.int64))
        # Jobs are looked up when there is a view of them.
        self._saved = state

    def _rebuild(self, view: View, saved: Mapping[str, Any]) -> None:
        """Make the records of the jobs that waited or ran."""
        self._saved = None
        self._last_eligible = view.eligible
        # Whatever it is: jobs may have other shapes in this view.
        self._book["reordered"] = -1
        records, store = self._records, view.waiting.store
        # All at once: one by one takes most of the time of a short simulation.
        rows = np.unique(saved["records"][:, r.ROW]).astype(np.int64)
        if len(rows):
            records.learn(store.labels, JobTable(store, immutable(rows)))
        kept = [r.SINCE, r.PRIORITY, r.PLANNED, r.BEGINS, r.KEY]
        for place, known in enumerate(saved["records"]):
            row = int(known[r.ROW])
            numbers = self._take(store, row, jobs.add_job, int(known[r.SINCE]))
            at = records.table[numbers.start : numbers.stop, r.PARTITION].tolist()
            record = numbers[at.index(known[r.PARTITION])]
            records.table[record, kept] = known[kept]
            if place < int(saved["waiting"]):
                records.make_room(0)
                jobs.put(records.desk(), record)
            else:
                self._run_on(record)
        self._book["num_waiting"] = len(np.unique(records.table[records.order, r.ROW]))
