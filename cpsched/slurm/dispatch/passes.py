"""
Slurm's scheduling under a site's policy: the main scheduler and the backfill plug-in.

What a decision does is native (``cpsched/cpp/slurm``); here are the rules of a policy that it goes
by, and why jobs wait. After ``man slurm.conf`` and Slurm's pages on priorities, limits and
scheduling; what is modelled, and how closely, is in ``docs/background/slurm-model.md``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import _core
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.dispatch.passes import decision_of, with_plan
from cpsched.errors import ConfigError
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.model.jobtable import JobTable
from cpsched.slurm.dispatch import columns as r
from cpsched.slurm.dispatch.accounts import Accounts
from cpsched.slurm.dispatch.depths import PassQueue, barring
from cpsched.slurm.dispatch.limits import limits_jobs
from cpsched.slurm.dispatch.partitions import Partitions, Reservations
from cpsched.slurm.dispatch.settings import (
    LIMITS,
    NO_LIMIT,
    counts_usage,
    pass_settings,
    priority_settings,
    timer_settings,
    usage_settings,
)
from cpsched.slurm.dispatch.system_nodes import nodes_of, running_in
from cpsched.slurm.dispatch.templates import JobTemplates
from cpsched.slurm.dispatch.usage import resets, used_before
from cpsched.util.words import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.model.decision import Decision
    from cpsched.model.jobstore import JobStore
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import IntArray

#: What the numbers of passes are called that bound the jobs they look at.
_NAMES = {**LIMITS, "tested": "bf_max_job_test", "depth": "default_queue_depth"}


class Passes(Dispatcher):
    """Slurm's main scheduler and backfill plug-in, without preemption."""

    name = "slurm"

    def __init__(self, policy: SlurmPolicy, *, tree: bool, lag: int) -> None:
        self.policy, self.tree = policy, tree
        self._lag = lag
        # Usage goes by when jobs end, whether others wait or not.
        self.acts_when_idle = counts_usage(policy)
        self._epoch = 0

    def on_epoch(self, epoch: int | None) -> None:
        """Set the Unix time of second 0; by default the beginning of 1970."""
        self._epoch = epoch or 0

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """
        Clear all memory and prepare for a system, before a run starts.

        Raises
        ------
        ConfigError
            If the tree has no switches, or the system is a counted pool.
        """
        nodes = nodes_of(system, tree=self.tree)
        if system.is_counted_pool:
            raise ConfigError(
                "the system counts processors without nodes, and slurm reserves whole nodes."
                " Describe its nodes, and set processors to packed, anywhere or whole-nodes.",
                where=f"system {system.name}",
            )
        policy, epoch = self.policy, self._epoch
        weights = system.weights if system.weights.any() else system.weights[:0]
        self._partitions = Partitions(system, policy)
        self._reservations = there = Reservations(system, policy, epoch)
        accounts = Accounts(policy)
        self._pass_settings = pass_settings(policy)
        settings = {
            "priority": priority_settings(policy, limits_jobs=limits_jobs(policy)),
            "usage": usage_settings(policy),
            "timer": timer_settings(policy, self._lag),
            "passes": self._pass_settings,
        }
        #: What is known of jobs, usage and passes.
        self.scheduler = _core.SlurmScheduler(
            *(settings, *nodes, weights, self._partitions.nodes),
            *(there.start, there.end, there.nodes),
            *(accounts.tree, used_before(policy, accounts.usage()), resets(policy, epoch)),
        )
        self._templates = JobTemplates(
            system, policy, self._partitions, there, accounts, self.scheduler.limits
        )
        #: The job store at the last decision, and how often it had been reordered.
        self._store: JobStore | None = None
        self._reordered: int | None = 0
        #: What the last decision was about.
        self._decided: View | None = None
        self._last_eligible: Any = None
        #: Whether other eligible nodes are a change: not so in the first view of a restored state.
        self._changes_count = True

    # --- decisions --------------------------------------------------------------------------------

    def decide(self, view: View) -> Decision:
        """Run the passes that are due."""
        self._look_around(view)
        self._decided = view
        store = view.waiting.store
        started: Any = self.scheduler.decide(
            view.now,
            store.columns,
            *running_in(view),
            num_jobs=store.size,
            waiting=view.waiting.rows,
            reordered=store.reordered,
            learn=self.learner(store),
        )
        decision = with_plan(view, decision_of(view, started), *self.scheduler.planned())
        again_at = self.scheduler.again_at
        return decision._replace(again_at=again_at) if again_at < NO_LIMIT else decision

    def _look_around(self, view: View) -> None:
        """Find out what has changed besides jobs."""
        scheduler, store = self.scheduler, view.waiting.store
        if store is not self._store or store.reordered != self._reordered:
            # The numbers of request classes may mean others.
            scheduler.forget_templates(renumbered=store.reordered != self._reordered)
            self._store, self._reordered = store, store.reordered
        scheduler.look_at(store.shapes, view.eligible)
        if view.eligible is not self._last_eligible:
            if self._changes_count:
                scheduler.note_change()
            self._last_eligible, self._changes_count = view.eligible, True

    def learner(self, store: JobStore) -> Callable[[IntArray], None]:
        """Return what finds out what the records of jobs like some of a store are made of."""
        return partial(self._learn, store)

    def learn_of(self, store: JobStore) -> None:
        """Find out what is the same of all jobs like some of a store of which nothing is known."""
        self._learn(store, self.scheduler.unknown(store.columns, store.size))

    def _learn(self, store: JobStore, rows: IntArray) -> None:
        templates = self._templates.of(store.labels, JobTable(store, immutable(rows)))
        for row, template in zip(rows.tolist(), templates, strict=True):
            self.scheduler.add_template(store.columns, row, *template)

    def priorities(self, store: JobStore, rows: Sequence[int], now: int) -> IntArray:
        """Return the priorities of jobs that arrive now."""
        chosen, learn = np.array(rows, dtype=np.int64), self.learner(store)
        found = self.scheduler.priorities(now, store.columns, chosen, learn)
        return np.array(found, dtype=np.int64)

    def qos_of(self, rows: IntArray) -> IntArray:
        """Return the positions of jobs' QOS in the policy, -1 for jobs without."""
        first = [self._records_of(row)[:1, r.QOS].tolist() for row in rows.tolist()]
        return np.array([qos[0] if qos else -1 for qos in first], dtype=np.int64)

    def _records_of(self, row: int) -> IntArray:
        """Return the records of a job, see :mod:`cpsched.slurm.dispatch.columns`."""
        records: IntArray = self.scheduler.records(
            np.arange(*self.scheduler.records_of(row), dtype=np.int64)
        )
        return records

    # --- what it says of itself -------------------------------------------------------------------

    def _queue(self) -> IntArray:
        """Return the records of the queue in order, with what the last decision has started."""
        records: IntArray = self.scheduler.records(self.scheduler.ranking())
        return records

    def ranking(self, view: View) -> IntArray:
        """Return the queue in Slurm's order, as of the last decision."""
        waiting, rows = view.waiting.rows, self._queue()[:, r.ROW]
        rows = np.concatenate([rows[np.isin(rows, waiting)], waiting])
        # A job in several partitions is where the first of its records is.
        _, first = np.unique(rows, return_index=True)
        found: IntArray = rows[np.sort(first)]
        return found

    def considered(self, view: View) -> IntArray:
        """Return the jobs that no limit holds."""
        free = np.ones(len(view.waiting), dtype=np.bool_)
        if self._templates.limits.reasons:
            free[:] = [self.scheduler.held_by(row) < 0 for row in view.waiting.rows.tolist()]
        found: IntArray = immutable(view.waiting.rows[free])
        return found

    def not_considered(self, view: View, decision: Decision, row: int) -> str:  # noqa: ARG002
        """Return which depth or interval keeps both passes from a job in all its partitions."""
        reasons = [self._out_of_reach(view, record) for record in self._records_of(row)]
        return reasons[0] if reasons and all(reasons) else ""

    def _out_of_reach(self, view: View, record: IntArray) -> str:
        """Return why no pass looks at a record; '' if one does."""
        timer, begins = self.scheduler.timer, int(record[r.BEGINS])
        if begins > view.now:
            return f"it was requeued, and rests until {self._clock(begins)}"
        submit = view.waiting.store.columns.item(int(record[r.ROW]), c.SUBMIT)
        if max(timer["last"], timer["last_backfill"]) < submit:
            return f"no pass of Slurm has come since it was submitted{self._next_pass()}"
        depth, backfills = self.scheduler.due
        queue = self._pass_queue(view.now, depth)
        plans = self.policy["SchedulerType"] == "sched/backfill"
        reason = queue.out_of_backfill(int(record[r.NUMBER])) if plans else ""
        if reason or not depth or backfills:
            return reason
        reason = queue.out_of_main(int(record[r.NUMBER]))
        return f"{reason}{self._next_pass()}" if reason else ""

    def _pass_queue(self, now: int, depth: int) -> PassQueue:
        """Return the queue as the passes of the last decision saw it."""
        by_main, by_backfill = (set(one.tolist()) for one in self.scheduler.started())
        return PassQueue(
            records=self._queue(),
            by_main=by_main,
            by_backfill=by_backfill,
            now=now,
            bounds={**self._pass_settings, "depth": depth},
            names=_NAMES,
            is_skipped=self._is_skipped,
        )

    def _is_skipped(self, record: int) -> bool:
        """Say whether a pass goes on behind a record because a limit holds it."""
        over = self.scheduler.exceeded(record)
        if over < 0:
            return False
        _, _, stops = self.scheduler.limits.counter(over)
        return not (self._pass_settings["limits_stop"] and stops)

    def _next_pass(self) -> str:
        """Say when the next pass is due, and by what parameter; '' if none is."""
        timer, policy = self.scheduler.timer, self.policy
        due = {
            "batch_sched_delay": timer["after_submit"],
            "sched_min_interval": timer["after_end"],
            "sched_interval": timer["full"],
            "bf_interval": timer["backfill"],
        }
        name = min(due, key=lambda name: due[name])
        if due[name] >= NO_LIMIT:
            return ""
        return f", the next comes at {self._clock(due[name])} ({name}={policy[name]})"

    def _clock(self, second: int) -> str:
        return clock(second, self._epoch or None)

    def barring(self, view: View, row: int) -> IntArray:
        """Return the jobs of the same partitions, or nodes, behind which the main pass stops."""
        own, now = self._records_of(row), view.now
        started = np.concatenate(self.scheduler.started())
        queued = self._queue()
        queued = queued[~np.isin(queued[:, r.NUMBER], started)]
        holds = queued[:, r.PRIORITY] >= self._pass_settings["least_priority"]
        holds &= queued[:, r.RESERVES_FROM] <= now
        holds &= queued[:, r.BEGINS] <= now
        reservation = int(own[0, r.RESERVATION]) if len(own) else -1
        holds = (holds | (reservation >= 0)) & (queued[:, r.RESERVATION] == reservation)
        return barring(own, queued[holds], self._partitions.nodes, self._is_skipped)

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
        view, there, own = self._decided, self._reservations, self._records_of(row)
        if view is None or not len(own) or not len(there):
            return ""
        now, at = view.now, int(own[0, r.RESERVATION])
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
        over = self.scheduler.held_by(row)
        told = (
            self._templates.limits.describe(over, limit_set, self.scheduler.amounts(number))
            for number, limit_set in self._limited(row if over >= 0 else -1)
        )
        return next(filter(None, told), "")

    def _limited(self, row: int) -> list[list[int]]:
        """Return number and limit set of each record of a job; none for row -1."""
        if row < 0:
            return []
        limited: list[list[int]] = self._records_of(row)[:, [r.NUMBER, r.LIMIT_SET]].tolist()
        return limited

    def never_starts(self, view: View) -> Mapping[int, str]:
        """Return the jobs that no limit would ever let start, or whose reservation is too short."""
        reasons = {row: self._why_never(view, row) for row in view.waiting.rows.tolist()}
        return {row: reason for row, reason in reasons.items() if reason}

    def _why_never(self, view: View, row: int) -> str:
        """Return why a job can start in none of its partitions, whatever ends; '' if it can."""
        reasons = [self._why_never_in(view, record) for record in self._records_of(row)]
        return reasons[0] if reasons and all(reasons) else ""

    def _why_never_in(self, view: View, record: IntArray) -> str:
        """Return why a job will never start in a partition, whatever ends; '' if it may."""
        own, row = int(record[r.RESERVATION]), int(record[r.ROW])
        if own >= 0:
            item = view.waiting.store.columns.item
            reason = self._reservations.why_never(
                *(own, item(row, c.SUBMIT), max(view.now, int(record[r.BEGINS]))),
                max(item(row, c.RUNTIME_ESTIMATE), 1),
                self._partitions.nodes[int(record[r.PARTITION])],
                item(row, c.NODES_MIN),
            )
            if reason:
                return reason
        return self._templates.limits.never_fits(
            int(record[r.LIMIT_SET]), self.scheduler.amounts(int(record[r.NUMBER]))
        )

    # --- saving -----------------------------------------------------------------------------------

    def state(self) -> Mapping[str, Any]:
        """Return usage, when passes are due, and what is known of jobs that wait or run."""
        saved: Mapping[str, Any] = self.scheduler.state()
        return saved

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned; jobs are looked up when there is a view of them."""
        self.scheduler.restore(dict(state))
        # Whatever it is: jobs may have other request classes in the next view.
        self._reordered = None
        self._changes_count = False
