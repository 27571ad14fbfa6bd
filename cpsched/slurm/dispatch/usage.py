"""
The usage of associations as Slurm counts it: usage decays, and is computed every so often.

After Slurm's page *Multifactor Priority Plugin*.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.kernels.arrays import FAR
from cpsched.slurm.dispatch.settings import grown, new_book, settings_of
from cpsched.slurm.kernels import usage as kernels
from cpsched.slurm.kernels.desk import Charges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.slurm.dispatch.fair_share import ShareTree
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import FloatArray

#: For how many years it is known beforehand when usage is set back.
_YEARS = 60


class Usage:
    """
    Usage of associations in billing seconds, with decay, and their fair-share factors.

    Both are computed at multiples of ``PriorityCalcPeriod``. Running jobs are charged then for what
    they have run since the last time, and ended ones at once. What is charged for some seconds
    decays for as long.

    Attributes
    ----------
    book, settings
        See :mod:`cpsched.slurm.kernels.desk`.
    charges
        The usage: ``raw`` of each association and all below it, ``fair_share`` as of the last
        computation, shapes ``(A,)``.
    """

    def __init__(
        self, tree: ShareTree, policy: SlurmPolicy, used: FloatArray | float = 0.0, epoch: int = 0
    ) -> None:
        self._tree = tree
        self.settings, self.book = settings_of(policy), new_book()
        self.book["next_charge"] = self.settings["period"]
        self._dampening = float(policy["FairShareDampeningFactor"])
        resets = policy["PriorityUsageResetPeriod"]
        self.charges = Charges(
            raw=np.zeros(len(tree)),
            fair_share=np.zeros(len(tree)),
            rate=np.zeros(len(tree)),
            late=np.zeros((256, 2), dtype=np.int64),
            late_billing=np.zeros(256),
            resets=np.array([*_resets(resets, epoch), FAR], dtype=np.int64),
        )
        self.charges.raw[:] += 0.0 if resets == "NOW" else used
        if self.settings["shares"]:
            self._judge()

    @property
    def raw(self) -> FloatArray:
        """The usage of each association and all below it."""
        return self.charges.raw

    @property
    def judges_here(self) -> bool:
        """Whether the factors are the classic ones, which are computed here."""
        return bool(self.settings["shares"][0] and not self.settings["fair_tree"][0])

    def started(self, association: int, billing: float, now: int) -> None:
        """Charge a job from now on; ``billing`` counts the usage factor of its QOS."""
        self.grow(1)
        kernels.begin_charging(self.book, self.settings, self.charges, association, billing, now)

    def ended(self, association: int, billing: float, start: int, now: int) -> None:
        """Charge a job that ends now for what it has run since the last calculation."""
        kernels.end_charging(
            *(self.book, self.settings, self.charges, self._tree.arrays),
            *(association, billing, start, now),
        )

    def advance(self, now: int) -> int:
        """Do the computations that are due; return the second of the last."""
        arrays = self.book, self.settings, self.charges, self._tree.arrays
        at: int = kernels.calculate(*arrays, now)
        if self.judges_here:
            self._judge()
        return at

    def grow(self, num: int) -> None:
        """Let so many more jobs start before the next computation."""
        charges, least = self.charges, int(self.book["num_late"][0]) + num
        late, billing = grown(charges.late, least), grown(charges.late_billing, least)
        self.charges = charges._replace(late=late, late_billing=billing)

    def _judge(self) -> None:
        """Work out the factors."""
        if self.judges_here:
            # Each association's part of all usage.
            norm = np.minimum(self.raw / (self.raw[0] or 1.0), 1.0)
            effective = self._tree.effective_usage(norm)
            self.charges.fair_share[:] = self._tree.classic(effective, self._dampening)
        else:
            self.charges.fair_share[:] = self._tree.fair_tree(self.raw)

    def state(self) -> Mapping[str, Any]:
        """Return usage and factors; when the next computation is due is in the book."""
        charges, late = self.charges, int(self.book["num_late"][0])
        return {
            "raw": charges.raw.copy(),
            "rate": charges.rate.copy(),
            "late": charges.late[:late].copy(),
            "late_billing": charges.late_billing[:late].copy(),
            "fair_share": charges.fair_share.copy(),
            "book": self.book.view(np.int64).copy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.book.view(np.int64)[:] = state["book"]
        self.grow(0)
        charges, late = self.charges, len(state["late"])
        charges.raw[:], charges.rate[:] = state["raw"], state["rate"]
        charges.late[:late], charges.late_billing[:late] = state["late"], state["late_billing"]
        charges.fair_share[:] = state["fair_share"]


def _resets(period: str, epoch: int) -> Iterator[int]:
    """Return the seconds after the first at which usage is set back, for many years."""
    day = datetime.fromtimestamp(epoch, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    months = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}.get(period)
    # Slurm's weeks begin on Sunday.
    days = {"DAILY": (1, 1), "WEEKLY": (7 - (day.weekday() + 1) % 7, 7)}.get(period)
    month = day.year * 12 + (day.month - 1) // (months or 1) * (months or 1)
    following, last = day, day.year + _YEARS
    while (months or days) and following.year < last:
        if months:
            month += months
            following = day.replace(year=month // 12, month=month % 12 + 1, day=1)
        elif days:
            following += timedelta(days=days[following > day])
        yield int(following.timestamp()) - epoch
