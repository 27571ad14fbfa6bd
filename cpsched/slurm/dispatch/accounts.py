"""The associations of a policy: whose job is whose, and their tree of shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.slurm.dispatch.fair_share import PARENT, ShareTree
from cpsched.slurm.dispatch.policy import Association

if TYPE_CHECKING:
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import FloatArray


class Accounts:
    """A policy's associations, parents before children; the root is at position 0."""

    def __init__(self, policy: SlurmPolicy) -> None:
        roots = [one for one in policy.associations if not (one.user or one.parent)]
        # Without an account that all others are below there is one that is not written down.
        top = roots[0] if len(roots) == 1 else Association(account="root")
        children: dict[str, list[Association]] = {}
        for one in policy.associations:
            if one is not top:
                above = one.account if one.user else (one.parent or top.account)
                children.setdefault(above, []).append(one)
        self.associations: list[Association] = []
        self._parent: list[int] = []
        self._place: dict[tuple[str, str, str], int] = {}
        self._of_user: dict[str, int] = {}
        waiting = [(top, -1)]
        while waiting:
            one, parent = waiting.pop(0)
            at = len(self.associations)
            self.associations.append(one)
            self._parent.append(parent)
            self._place.setdefault((one.account, one.user, one.partition), at)
            if one.user:
                self._of_user.setdefault(one.user, at)
            else:
                waiting += [(child, at) for child in children.get(one.account, ())]
        self.tree = ShareTree(
            self._parent,
            [PARENT if one.shares is None else one.shares for one in self.associations],
            [bool(one.user) for one in self.associations],
        )

    def find(self, account: str | None, user: str | None, partition: str) -> int:
        """
        Return the position of a job's association.

        That of user, account and partition, else of user and account, else of the account; of a
        job without an account the first one of its user; -1 if there is none.
        """
        if account is None:
            return self._of_user.get(user or "", -1)
        keys = (account, user or "", partition), (account, user or "", ""), (account, "", "")
        return next((self._place[key] for key in keys if key in self._place), -1)

    def path(self, at: int) -> tuple[int, ...]:
        """Return an association and all above it."""
        found = []
        while at >= 0:
            found.append(at)
            at = self._parent[at]
        return tuple(found)

    def default_qos(self, at: int) -> str:
        """Return the QOS of jobs that ask for none; '' if none is set."""
        names = (self.associations[one].default_qos for one in self.path(at))
        return next(filter(None, names), "")

    def usage(self) -> FloatArray:
        """Return what each has used before the beginning, with all below it."""
        own = np.array([one.usage if one.user else 0.0 for one in self.associations])
        return self.tree.summed_up(own)
