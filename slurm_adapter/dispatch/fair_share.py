"""
The tree of shares, and the factors that follow from them and from what has been used.

After Slurm's pages *Fair Tree Fairshare Algorithm* and *Classic Fairshare Algorithm*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import BoolArray, FloatArray, IntArray

#: Raw shares of an association with ``Fairshare=parent``.
PARENT = -1
#: The level factor of an account with ``Fairshare=parent``: its children are its parent's.
_NO_LEVEL = float(2**32 - 2)


class ShareTree:
    """
    The tree of associations and their shares; A associations, the root first.

    Parameters
    ----------
    parent
        Position of each association's parent, which comes before it; -1 for the root.
    shares
        Raw shares, :data:`PARENT` where the parent's are used.
    is_user
        Whether an association is a user's; otherwise it is an account's.

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
        self._by_depth = [np.flatnonzero(depth == level) for level in range(1, depth.max() + 1)]
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
        self._prepare_ranking()

    def __len__(self) -> int:
        return len(self.parent)

    def _prepare_ranking(self) -> None:
        """Note what ranking users needs that does not depend on usage."""
        num = len(self)
        level = np.zeros(num, dtype=np.int64)
        for at in range(1, num):
            level[at] = level[self.share_parent[at]] + 1
        self._levels = [np.flatnonzero(level == one) for one in range(1, level.max() + 1)]
        #: Where siblings stand that tie: users before accounts, then in their own order.
        place = np.lexsort((np.arange(num), ~self.is_user))
        self._tied_order: IntArray = place[place > 0]
        # Small numbers are sorted in linear time.
        kind = np.int16 if num < np.iinfo(np.int16).max else np.int64
        self._sibling_group = self.share_parent[self._tied_order].astype(kind)
        #: Users at or under each association.
        self._users_under: IntArray = self.is_user.astype(np.int64)
        for at in range(num - 1, 0, -1):
            self._users_under[self.share_parent[at]] += self._users_under[at]

    def summed_up(self, amounts: FloatArray) -> FloatArray:
        """Return amounts with those of all associations below added, shape ``(A,)``."""
        total = amounts.copy()
        for positions in reversed(self._by_depth):
            up = self.parent[positions]
            total += np.bincount(up, weights=total[positions], minlength=len(total))
        return total

    # --- Fair Tree --------------------------------------------------------------------------------

    def level_fair_share(self, usage: FloatArray) -> FloatArray:
        """
        Return level fair share: the share among siblings over the part of their parent's usage.
        """
        above = np.zeros(len(self))
        above[1:] = usage[self.share_parent[1:]]
        part = np.zeros(len(self))
        np.divide(usage, above, part, where=above > 0)
        factor = np.where(self.level_share > 0, np.inf, 0.0)
        np.divide(self.level_share, part, factor, where=(part > 0) & (self.level_share > 0))
        factor[self.inherits] = np.where(self.is_user[self.inherits], np.inf, _NO_LEVEL)
        factor[0] = _NO_LEVEL
        return factor

    def fair_tree(self, usage: FloatArray) -> FloatArray:
        """
        Return users' Fair Tree factors, shape ``(A,)``, 0 for accounts.

        Users in the order of a walk through the tree that visits siblings by their level fair
        share, the highest first and users before accounts, are ranked; their factor is the rank
        over the number of users. A user who ties with the sibling before has its rank. So has the
        first user of an account that ties with the sibling before: the page says that tied
        accounts are merged, Slurm (22.05) visits one after the other.
        """
        num = len(self)
        factor = self.level_fair_share(usage)
        # By group of siblings, then factor, then as they tie.
        by_factor = np.argsort(-factor[self._tied_order], kind="stable")
        groups = self._sibling_group[by_factor]
        by_group = np.argsort(groups, kind="stable")
        order, group = self._tied_order[by_factor[by_group]], groups[by_group]
        first = np.ones(num - 1, dtype=np.bool_)
        first[1:] = group[1:] != group[:-1]
        under = self._users_under[order]
        before = np.cumsum(under) - under
        # Users before each one under the same parent; then before it in all.
        place = np.zeros(num, dtype=np.int64)
        place[order] = before - np.maximum.accumulate(np.where(first, before, 0))
        tied: BoolArray = np.zeros(num, dtype=np.bool_)
        tied[order[1:]] = ~first[1:] & (factor[order[1:]] == factor[order[:-1]])
        leads: BoolArray = np.zeros(num, dtype=np.bool_)
        leads[order[first]] = True
        for positions in self._levels[1:]:
            above = self.share_parent[positions]
            place[positions] += place[above]
            tied[positions] |= leads[positions] & tied[above]
        users = np.flatnonzero(self.is_user)
        walk = users[np.argsort(place[users], kind="stable")]
        rank = np.arange(len(walk), 0, -1)
        leader = np.maximum.accumulate(np.where(tied[walk], 0, np.arange(len(walk))))
        found = np.zeros(num)
        found[walk] = rank[leader] / max(len(walk), 1)
        return found

    # --- classic ----------------------------------------------------------------------------------

    def effective_usage(self, norm: FloatArray) -> FloatArray:
        """Return effective usage: one's own, and a part of what one's siblings have used."""
        found = norm.copy()
        found[0] = 1.0
        for positions in self._levels[1:]:
            above = self.share_parent[positions]
            all_shares, own = self.level_shares[positions], self.shares[positions]
            part = np.ones(len(positions))
            # Raw shares of "parent" are a number too, and its users are judged by the parent.
            np.divide(own, all_shares, part, where=all_shares > 0)
            mixed = norm[positions] + (found[above] - norm[positions]) * part
            found[positions] = np.where(all_shares > 0, mixed, found[above])
        return found

    def classic(self, effective: FloatArray, dampening: float) -> FloatArray:
        """Return ``2 ** (-(effective usage / share) / dampening)``, shape ``(A,)``."""
        judged = np.where(self.inherits, self.share_parent, np.arange(len(self)))
        share, usage = self.norm_share[judged], effective[judged]
        over = np.zeros(len(self))
        np.divide(usage, share, over, where=share > 0)
        return np.where(share > 0, 2.0 ** (-over / dampening), 0.0)
