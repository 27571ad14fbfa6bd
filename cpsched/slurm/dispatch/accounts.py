"""The associations of a policy: whose job is whose, and their tree of shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched import _core
from cpsched.slurm.dispatch.policy import Association

if TYPE_CHECKING:
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import FloatArray

#: Raw shares of an association with ``Fairshare=parent``.
PARENT = -1


class Accounts:
    """A policy's associations, parents before children; the root is at position 0."""

    def __init__(self, policy: SlurmPolicy) -> None:
        roots = [assoc for assoc in policy.associations if not (assoc.user or assoc.parent)]
        # Without an account that all others are below there is one that is not written down.
        top = roots[0] if len(roots) == 1 else Association(account="root")
        children: dict[str, list[Association]] = {}
        for assoc in policy.associations:
            if assoc is not top:
                above = assoc.account if assoc.user else (assoc.parent or top.account)
                children.setdefault(above, []).append(assoc)
        self.associations: list[Association] = []
        self._parent: list[int] = []
        self._place: dict[tuple[str, str, str], int] = {}
        self._of_user: dict[str, int] = {}
        waiting = [(top, -1)]
        while waiting:
            assoc, parent = waiting.pop(0)
            at = len(self.associations)
            self.associations.append(assoc)
            self._parent.append(parent)
            self._place.setdefault((assoc.account, assoc.user, assoc.partition), at)
            if assoc.user:
                self._of_user.setdefault(assoc.user, at)
            else:
                waiting += [(child, at) for child in children.get(assoc.account, ())]
        self.tree = _core.ShareTree(
            self._parent,
            [PARENT if assoc.shares is None else assoc.shares for assoc in self.associations],
            [bool(assoc.user) for assoc in self.associations],
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
        path = []
        while at >= 0:
            path.append(at)
            at = self._parent[at]
        return tuple(path)

    def default_qos(self, at: int) -> str:
        """Return the QOS of jobs that ask for none; '' if none is set."""
        names = (self.associations[position].default_qos for position in self.path(at))
        return next(filter(None, names), "")

    def usage(self) -> FloatArray:
        """Return the usage of each before the beginning, with all below it."""
        own = np.array([assoc.usage if assoc.user else 0.0 for assoc in self.associations])
        total: FloatArray = self.tree.summed_up(own)
        return total
