"""
What associations have used as Slurm counts it: usage decays, and is computed every so often.

After Slurm's page *Multifactor Priority Plugin*.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.model import FloatArray
    from slurm_adapter.dispatch.fair_share import ShareTree
    from slurm_adapter.dispatch.policy import Policy

#: Slurm's ln 2, with three digits.
_LN_2 = 0.693


class Usage:
    """
    Usage of associations in billing seconds, with decay, and their fair-share factors.

    Both are computed at multiples of ``PriorityCalcPeriod``. Running jobs are charged then for what
    they have run since the last time, and ended ones at once. What is charged for some seconds
    decays for as long.

    Attributes
    ----------
    raw
        Of each association and all below it, shape ``(A,)``.
    fair_share
        Factor of each association, as of the last computation.
    next_at
        The second of the next one.
    """

    def __init__(
        self, tree: ShareTree, policy: Policy, used: FloatArray | float = 0.0, epoch: int = 0
    ) -> None:
        self._tree = tree
        self._classic = "NO_FAIR_TREE" in policy["PriorityFlags"]
        self._dampening = float(policy["FairShareDampeningFactor"])
        self._period: int = max(policy["PriorityCalcPeriod"], 1)
        multifactor = policy["PriorityType"] == "priority/multifactor"
        self._counts = multifactor and policy["PriorityWeightFairshare"] > 0
        half_life = policy["PriorityDecayHalfLife"]
        self._factor = 1 - _LN_2 / half_life if half_life > 0 else 1.0
        self._resets, self._epoch = policy["PriorityUsageResetPeriod"], epoch
        self._reset_at = self._next_reset(0)
        self.raw: FloatArray = np.zeros(len(tree))
        self.raw += 0.0 if self._resets == "NOW" else used
        self._last = 0
        #: Billing a second of the running jobs of each association.
        self._rate: FloatArray = np.zeros(len(tree))
        #: What those of them that started since the last calculation did not run of it.
        self._late: list[tuple[int, int, float]] = []
        self.next_at: int = self._period
        self.fair_share: FloatArray = np.zeros(len(tree))
        self._judge()

    def started(self, association: int, billing: float, now: int) -> None:
        """Charge a job from now on; ``billing`` counts the usage factor of its QOS."""
        if self._counts and association >= 0:
            self._rate[association] += billing
            if now > self._last:
                self._late.append((association, now, billing))

    def ended(self, association: int, billing: float, start: int, now: int) -> None:
        """Charge a job that ends now for what it has run since the last calculation."""
        if not self._counts or association < 0:
            return
        self._rate[association] -= billing
        if abs(self._rate[association]) < 1e-6 * max(billing, 1e-6):
            self._rate[association] = 0.0
        if start > self._last:
            self._late.remove((association, start, billing))
        amount = billing * self._weight(now - max(start, self._last))
        at = association
        while at >= 0:
            self.raw[at] += amount
            at = self._tree.parent[at]

    def advance(self, now: int) -> int:
        """Do the computations that are due; return the second of the last."""
        at = self.next_at
        while True:
            if self._counts:
                if at >= self._reset_at:
                    self.raw[:] = 0.0
                    self._reset_at = self._next_reset(at)
                self._charge(at)
            if at + self._period > now:
                break
            at += self._period
        self.next_at = at + self._period
        self._judge()
        return at

    def _charge(self, now: int) -> None:
        """Let usage decay until a calculation now, and charge what runs."""
        seconds = now - self._last
        self.raw *= max(self._factor**seconds, np.finfo(np.float64).tiny)
        charge = self._rate * self._weight(seconds)
        for association, start, billing in self._late:
            charge[association] += billing * (self._weight(now - start) - self._weight(seconds))
        self._late.clear()
        self.raw += self._tree.summed_up(charge)
        self._last = now

    def _weight(self, seconds: float) -> float:
        """Return the usage of a number of seconds of a running job."""
        return float(seconds * self._factor**seconds)

    def _judge(self) -> None:
        """Work out the factors."""
        if self._counts and self._classic:
            # Each association's part of all usage.
            norm = np.minimum(self.raw / (self.raw[0] or 1.0), 1.0)
            effective = self._tree.effective_usage(norm)
            self.fair_share = self._tree.classic(effective, self._dampening)
        elif self._counts:
            self.fair_share = self._tree.fair_tree(self.raw)

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
        late = np.array([(at, start) for at, start, _ in self._late], dtype=np.int64)
        return {
            "raw": self.raw.copy(),
            "rate": self._rate.copy(),
            "last": self._last,
            "late": late.reshape(-1, 2),
            "late_billing": np.array([billing for _, _, billing in self._late]),
            "fair_share": self.fair_share.copy(),
            "next_at": self.next_at,
            "reset_at": -1 if self._reset_at == float("inf") else int(self._reset_at),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.raw[:], self._rate[:] = state["raw"], state["rate"]
        self._last, self.next_at = int(state["last"]), int(state["next_at"])
        pairs = zip(state["late"].tolist(), state["late_billing"].tolist(), strict=True)
        self._late = [(at, start, billing) for (at, start), billing in pairs]
        self.fair_share = np.array(state["fair_share"], dtype=np.float64)
        self._reset_at = state["reset_at"] if state["reset_at"] >= 0 else float("inf")
