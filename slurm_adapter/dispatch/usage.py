"""When usage and shares are computed: every ``PriorityCalcPeriod``, and what follows from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from slurm_adapter.dispatch.fair_share import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.model import FloatArray
    from slurm_adapter.dispatch.accounts import Accounts
    from slurm_adapter.dispatch.policy import Policy


class Calculations:
    """
    Usage of associations and their fair-share factors, computed at multiples of a period.

    Parameters
    ----------
    policy, accounts
        The rules, and the associations.
    epoch
        Unix time of second 0, from which days, weeks and months are counted.

    Attributes
    ----------
    fair_share
        Factor of each association, as of the last computation.
    next_at
        The second of the next one.
    """

    def __init__(self, policy: Policy, accounts: Accounts, epoch: int = 0) -> None:
        self._tree = accounts.tree
        flags = policy["PriorityFlags"]
        self._classic = "NO_FAIR_TREE" in flags or "DEPTH_OBLIVIOUS" in flags
        self._oblivious = "DEPTH_OBLIVIOUS" in flags
        self._dampening = float(policy["FairShareDampeningFactor"])
        self._period: int = max(policy["PriorityCalcPeriod"], 1)
        multifactor = policy["PriorityType"] == "priority/multifactor"
        self._counts = multifactor and policy["PriorityWeightFairshare"] > 0
        self.usage = Usage(accounts.tree, policy["PriorityDecayHalfLife"])
        self.usage.raw[:] = accounts.usage()
        self._resets, self._epoch = policy["PriorityUsageResetPeriod"], epoch
        self._reset_at = self._next_reset(0)
        if self._resets == "NOW":
            self.usage.reset()
        self.next_at: int = self._period
        self.fair_share: FloatArray = np.zeros(len(self._tree))
        self._judge()

    def due(self, now: int) -> bool:
        """Say whether a computation is due."""
        return now >= self.next_at

    def advance(self, now: int) -> int:
        """Do the computations that are due; return the second of the last."""
        at = self.next_at
        while True:
            if self._counts:
                if at >= self._reset_at:
                    self.usage.reset()
                    self._reset_at = self._next_reset(at)
                self.usage.advance(at)
            if at + self._period > now:
                break
            at += self._period
        self.next_at = at + self._period
        self._judge()
        return at

    def started(self, association: int, billing: float, now: int) -> None:
        """Charge a job from now on."""
        if self._counts and association >= 0:
            self.usage.started(association, billing, now)

    def ended(self, association: int, billing: float, start: int, now: int) -> None:
        """Charge a job no more that ends now."""
        if self._counts and association >= 0:
            self.usage.ended(association, billing, start, now)

    def _judge(self) -> None:
        """Work out the factors."""
        if not self._counts:
            return
        if self._classic:
            effective = self._tree.effective_usage(self.usage.norm, depth_oblivious=self._oblivious)
            self.fair_share = self._tree.classic(effective, self._dampening)
        else:
            self.fair_share = self._tree.fair_tree(self.usage.raw)

    def _next_reset(self, at: int) -> float:
        """Return the second after one at which usage is forgotten."""
        day = datetime.fromtimestamp(self._epoch + at, UTC).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        months = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}.get(self._resets)
        if self._resets == "DAILY":
            following = day + timedelta(days=1)
        elif self._resets == "WEEKLY":
            # Slurm's weeks begin on Sunday.
            following = day + timedelta(days=7 - (day.weekday() + 1) % 7)
        elif months is not None:
            month = day.year * 12 + (day.month - 1) // months * months + months
            following = day.replace(year=month // 12, month=month % 12 + 1, day=1)
        else:
            return float("inf")
        return following.timestamp() - self._epoch

    def state(self) -> Mapping[str, Any]:
        """Return usage, factors and when the next computation is due."""
        return {
            "usage": dict(self.usage.state()),
            "fair_share": self.fair_share.copy(),
            "next_at": self.next_at,
            "reset_at": -1 if self._reset_at == float("inf") else int(self._reset_at),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.usage.restore(state["usage"])
        self.fair_share = np.array(state["fair_share"], dtype=np.float64)
        self.next_at = int(state["next_at"])
        self._reset_at = state["reset_at"] if state["reset_at"] >= 0 else float("inf")
