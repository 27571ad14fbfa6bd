"""A trained policy as a dispatcher: what it was asked in its episodes, it is asked of a view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched import _core
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.orders import least_taken
from cpsched.dispatch.passes import decision_of, easy_pass, frozen, list_pass
from cpsched.gym.options import RULES
from cpsched.gym.policy import load
from cpsched.model.decision import NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.spec import File
    from cpsched.util.types import BoolArray, IntArray


class PolicyView:
    """
    A view as a policy sees it: one pool of each kind, from which waiting jobs start one by one.

    Attributes
    ----------
    left
        Positions in ``view.waiting`` of the jobs that have not started.
    """

    def __init__(self, view: View, nodes: IntArray) -> None:
        waiting, running = view.waiting, view.running
        self.now = view.now
        self.total = view.system.total.astype(np.int64)
        self.free = np.maximum(view.free, 0).sum(axis=0)
        self.submit, self.estimate = waiting.submit, waiting.runtime_estimate
        self.demand = np.minimum(least_taken(waiting, nodes), self.total)
        self.left = np.arange(len(waiting))
        self._ends = running.expected_end
        self._back = least_taken(running, nodes)

    def fits(self) -> BoolArray:
        """Return which of the jobs left fit into what is free."""
        fits: BoolArray = (self.demand[self.left] <= self.free).all(axis=1)
        return fits

    def start(self, job: int) -> None:
        """Let a job start."""
        self.free = self.free - self.demand[job]
        self.left = self.left[self.left != job]
        end = self.now + max(int(self.estimate[job]), 1)
        at = int(np.searchsorted(self._ends, end, side="right"))
        self._ends = np.insert(self._ends, at, end)
        self._back = np.insert(self._back, at, self.demand[job], axis=0)

    @property
    def any_runs(self) -> bool:
        """Whether a job runs."""
        return len(self._ends) > 0

    def rows(self, shown: IntArray, num_rows: int, *, may_wait: bool) -> np.ndarray:
        """Return an observation in which some jobs are shown."""
        return _core.observed_jobs(
            now=self.now,
            shown=shown,
            submit=self.submit,
            estimate=self.estimate,
            demand=self.demand,
            total=self.total,
            free=self.free,
            num_waiting=len(self.left),
            expected_end=self._ends,
            released=self._back,
            num_rows=num_rows,
            may_wait=may_wait,
        )

    def order(self, rule: str) -> IntArray:
        """Return the positions of all waiting jobs in a rule's order."""
        keys = _core.rule_keys(RULES[rule], self.submit, self.estimate, self.demand, self.now)
        return np.argsort(keys, kind="stable")


class LearnedDispatcher(Dispatcher):
    """
    An agent trained in the Gymnasium environment: selects the next job to start, or the next rule.

    Parameters
    ----------
    file
        File of the agent, as ``examples/train_ppo.py`` writes it.
    allocator
        Name of the allocator, which chooses the nodes.
    """

    allocator: Allocator
    name = "learned"
    family = "learned"
    good_for: ClassVar[str] = "jobs and a system like those of its training"
    goes_wrong_when: ClassVar[str] = "jobs or system differ from those of the training"

    def __init__(self, file: File, allocator: str = "first-fit") -> None:
        self.policy = load(Path(file))
        self.allocator = make_allocator(allocator)

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear all memory and prepare for a system, before a run starts."""
        self.allocator.reset(system)
        self._nodes = np.unique(system.capacity, axis=0)

    def decide(self, view: View) -> Decision:
        """Return the jobs that the agent starts now. It is asked until it selects to wait."""
        if not len(view.waiting):
            return NOTHING
        pool = PolicyView(view, self._nodes)
        if not pool.fits().any():
            return NOTHING
        if self.policy.options.action == "rule":
            order = pool.order(self._rule(pool))
            return self._start(view, order, order)
        return self._choose(view, pool)

    def _rule(self, pool: PolicyView) -> str:
        options = self.policy.options
        if len(pool.left) == 1:
            return options.rules[0]
        rows = pool.rows(pool.left[: options.visible], options.num_rows, may_wait=False)
        return options.rules[self.policy.choose(rows, np.ones(len(options.rules), dtype=np.bool_))]

    def _choose(self, view: View, pool: PolicyView) -> Decision:
        """Let jobs be chosen one by one until one does not fit, or none is."""
        options = self.policy.options
        chosen: list[int] = []
        while len(pool.left):
            fits = pool.fits()
            if not fits.any():
                break
            could = pool.left[fits] if options.choose == "fitting" else pool.left
            action = self._action(pool, could[: options.visible])
            if action is None:
                # It waits: nothing else starts, whatever else would fit.
                return self._start(view, chosen, None)
            job = int(could[action])
            chosen.append(job)
            if (pool.demand[job] > pool.free).any():
                break
            pool.start(job)
        if options.choose == "fitting":
            return self._start(view, chosen, None)
        behind = pool.order(options.behind)
        # On nodes, a job may fit into the pool and not on them: then it is the one that waits.
        rest = behind[~np.isin(behind, chosen)]
        return self._start(view, [*chosen, *rest.tolist()], behind, count=len(chosen))

    def _action(self, pool: PolicyView, shown: IntArray) -> int | None:
        """Return which of the shown jobs is chosen; None: to wait."""
        options = self.policy.options
        if len(shown) == 1 and not options.wait:
            return 0
        rows = pool.rows(np.ascontiguousarray(shown), options.num_rows, may_wait=options.wait)
        mask = np.arange(options.num_rows) < len(shown)
        if options.wait:
            mask[-1] = pool.any_runs
        action = self.policy.choose(rows, mask)
        return None if options.wait and action == options.visible else action

    def _start(
        self,
        view: View,
        order: Sequence[int] | IntArray,
        behind: IntArray | None,
        count: int | None = None,
    ) -> Decision:
        """
        Start jobs in an order.

        Parameters
        ----------
        behind
            The order in which all are backfilled behind the first that does not fit; None: what
            does not fit is skipped.
        count
            So many are started where nothing is backfilled.
        """
        rows = view.waiting.rows[np.asarray(order, dtype=np.int64)]
        if behind is None:
            return decision_of(view, list_pass(view, frozen(rows), self.allocator, stop=False))
        if self.policy.options.backfill == "none":
            return decision_of(
                view, list_pass(view, frozen(rows[:count]), self.allocator, stop=True)
            )
        last = frozen(view.waiting.rows[behind])
        return decision_of(view, easy_pass(view, frozen(rows), last, self.allocator))
