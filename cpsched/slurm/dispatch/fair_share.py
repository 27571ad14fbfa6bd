"""
The tree of shares, and the factors that follow from them and from what has been used.

After Slurm's pages *Fair Tree Fairshare Algorithm* and *Classic Fairshare Algorithm*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.slurm.kernels import usage as kernels
from cpsched.slurm.kernels.desk import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Raw shares of an association with ``Fairshare=parent``.
PARENT = -1


class ShareTree:
    """
    The tree of associations and their shares; A associations, the root first.

    Attributes
    ----------
    level_share
        Each one's part of the shares of its siblings and itself, shape ``(A,)``; 0 where none of
        them has any. Fair Tree's normalized shares.
    norm_share
        The same times that of all accounts above it; the classic normalized shares.
    """

    def __init__(
        self, parent: Sequence[int], shares: Sequence[int], is_user: Sequence[bool]
    ) -> None:
        self.parent: IntArray = np.asarray(parent, dtype=np.int64)
        self.shares: IntArray = np.asarray(shares, dtype=np.int64)
        self.is_user: BoolArray = np.asarray(is_user, dtype=np.bool_)
        self.inherits: BoolArray = self.shares == PARENT
        num = len(self.parent)
        #: Whose children they count as: the first above that has shares of its own.
        self.share_parent: IntArray = self.parent.copy()
        depth = np.zeros(num, dtype=np.int64)
        for at in range(1, num):
            above = int(self.parent[at])
            depth[at] = depth[above] + 1
            if self.inherits[above] and above:
                self.share_parent[at] = self.share_parent[above]
        own = np.where(self.inherits, 0, self.shares)[1:].astype(np.float64)
        level = np.bincount(self.share_parent[1:], weights=own, minlength=num)
        #: Shares of an association's siblings and itself.
        self.level_shares: FloatArray = np.zeros(num)
        self.level_shares[1:] = level[self.share_parent[1:]]
        self.level_share: FloatArray = np.zeros(num)
        np.divide(own, self.level_shares[1:], self.level_share[1:], where=self.level_shares[1:] > 0)
        self.norm_share: FloatArray = np.ones(num)
        for at in range(1, num):
            keeps = self.inherits[at] or not self.level_shares[at]
            here = 1.0 if keeps else self.level_share[at]
            self.norm_share[at] = here * self.norm_share[self.parent[at]]
        self._prepare(depth)

    def __len__(self) -> int:
        return len(self.parent)

    def _prepare(self, depth: IntArray) -> None:
        """Note what kernels need that does not depend on usage."""
        num = len(self)
        level = np.zeros(num, dtype=np.int64)
        for at in range(1, num):
            level[at] = level[self.share_parent[at]] + 1
        self._levels = [np.flatnonzero(level == number) for number in range(1, level.max() + 1)]
        #: Where siblings stand that tie: users before accounts, then in their own order.
        place = np.lexsort((np.arange(num), ~self.is_user))
        #: Users at or under each association.
        under: IntArray = self.is_user.astype(np.int64)
        for at in range(num - 1, 0, -1):
            under[self.share_parent[at]] += under[at]
        deepest = np.lexsort((np.arange(num), -depth))[:-1]
        new_depth = np.diff(depth[deepest], prepend=-1) != 0
        below = np.concatenate([*self._levels[1:], np.zeros(0, dtype=np.int64)])
        self.arrays = Tree(
            *(self.parent, self.share_parent, self.level_share, self.inherits, self.is_user),
            *(under, place[place > 0], deepest, new_depth, below),
        )

    def summed_up(self, amounts: FloatArray) -> FloatArray:
        """Return amounts with those of all associations below added, shape ``(A,)``."""
        totals: FloatArray = kernels.summed_up(self.arrays, amounts)
        return totals

    # --- Fair Tree --------------------------------------------------------------------------------

    def level_fair_share(self, usage: FloatArray) -> FloatArray:
        """
        Return level fair share: the share among siblings over the part of their parent's usage.
        """
        factors: FloatArray = kernels.level_factors(self.arrays, usage)
        return factors

    def fair_tree(self, usage: FloatArray) -> FloatArray:
        """
        Return users' Fair Tree factors, shape ``(A,)``, 0 for accounts.

        Users in the order of a walk through the tree that visits siblings by their level fair
        share, the highest first and users before accounts, are ranked; their factor is the rank
        over the number of users. A user who ties with the sibling before has its rank. So has the
        first user of an account that ties with the sibling before: the page says that tied
        accounts are merged, Slurm (22.05) visits one after the other.
        """
        factors = np.zeros(len(self))
        kernels.rank_users(self.arrays, usage, factors)
        return factors

    # --- classic ----------------------------------------------------------------------------------

    def effective_usage(self, norm: FloatArray) -> FloatArray:
        """Return effective usage: one's own, and a part of what one's siblings have used."""
        effective = norm.copy()
        effective[0] = 1.0
        for positions in self._levels[1:]:
            above = self.share_parent[positions]
            all_shares, own = self.level_shares[positions], self.shares[positions]
            part = np.ones(len(positions))
            # Raw shares of "parent" are a number too, and its users are judged by the parent.
            np.divide(own, all_shares, part, where=all_shares > 0)
            mixed = norm[positions] + (effective[above] - norm[positions]) * part
            effective[positions] = np.where(all_shares > 0, mixed, effective[above])
        return effective

    def classic(self, effective: FloatArray, dampening: float) -> FloatArray:
        """Return ``2 ** (-(effective usage / share) / dampening)``, shape ``(A,)``."""
        judged = np.where(self.inherits, self.share_parent, np.arange(len(self)))
        share, usage = self.norm_share[judged], effective[judged]
        over = np.zeros(len(self))
        np.divide(usage, share, over, where=share > 0)
        return np.where(share > 0, 2.0 ** (-over / dampening), 0.0)
