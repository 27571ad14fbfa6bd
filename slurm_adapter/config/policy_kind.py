"""
Policy files of Slurm's (``--policy``), as the core reaches them, and what they do not know about a
log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.studies import PolicyFiles
from cpsched.api.tools import brief, build, counted
from slurm_adapter.dispatch import policy_edit, policy_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from cpsched.api.logs import Labels, Workload
    from cpsched.api.model import BoolArray, System
    from slurm_adapter.dispatch.policy import Policy


class SlurmPolicyFiles(PolicyFiles):
    """Policies that the dispatcher ``slurm`` follows."""

    dispatcher = "slurm"

    def edited(self, policy: Path, edits: Sequence[str]) -> str:
        """Return the text of a policy in which some values are others."""
        return policy_file.to_toml(policy_edit.edited(policy_file.load(policy), edits))

    def remarks(self, specification: str, system: System, workload: Workload) -> list[str]:
        """Return in sentences what a dispatcher's policy does not know about a log."""
        return remarks(build("dispatchers", specification).policy, system, workload)


POLICY_FILES = SlurmPolicyFiles()


#: Names of each kind that are listed.
_MOST = 3
#: Preemption modes after which a job continues or restarts later.
_AGAIN = ("REQUEUE", "SUSPEND")


def remarks(policy: Policy, system: System, workload: Workload) -> list[str]:
    """Return remarks to read before a log is simulated under a policy, in sentences."""
    return [*_unknown(policy, system, workload), *_preemption(policy, system, workload)]


def _unknown(policy: Policy, system: System, workload: Workload) -> Iterator[str]:
    """Name the users, QOS and partitions that the policy or the machine does not have."""
    found = []
    pairs = {(one.account, one.user) for one in policy.associations if one.user}
    if pairs:
        found.append(_of_users(pairs, workload))
    if policy.qos:
        found.append(_of_names("QOS", policy.qos, workload.qos))
    if system.queues:
        found.append(_of_names("partitions", system.queues, workload.partition))
    if told := [text for text in found if text]:
        yield (
            f"Not in the policy or system file: {'; '.join(told)}."
            " These jobs have no shares and no limits of their own. Is this the log of another"
            " site?"
        )


def _of_users(pairs: Collection[tuple[str, str]], workload: Workload) -> str:
    accounts, users = workload.group.decode(), workload.user.decode()
    lacks = np.array(
        [
            user is not None and (account or "", user) not in pairs
            for account, user in zip(accounts, users, strict=True)
        ],
        dtype=np.bool_,
    )
    return _told("users with their accounts", workload.user, lacks)


def _of_names(what: str, known: Collection[str], column: Labels) -> str:
    # A job may name several partitions.
    strange = [not any(one in known for one in name.split(",")) for name in column.values]
    return _told(what, column, np.array([*strange, False], dtype=np.bool_)[column.codes])


def _told(what: str, column: Labels, lacks: BoolArray) -> str:
    """Return how many jobs have an unknown value, and which values."""
    number = int(lacks.sum())
    if not number:
        return ""
    names = [column.values[code] for code in np.unique(column.codes[lacks]).tolist()]
    more = ", ..." if len(names) > _MOST else ""
    return (
        f"{what} of {number:,} of {counted(len(lacks), 'job')}"
        f" ({', '.join(brief(name, 30) for name in names[:_MOST])}{more})"
    )


def _preemption(policy: Policy, system: System, workload: Workload) -> Iterator[str]:
    """Say if the policy preempts jobs by what no job of the log may."""
    modes = {*policy["PreemptMode"], *(one.preempt_mode for one in policy.qos.values())}
    modes |= {queue.preempt.name for queue in system.queues.values()}
    if policy["PreemptType"] == "preempt/none" or modes.isdisjoint(_AGAIN):
        return
    if not workload.restartable.any():
        yield (
            "No job is preempted by REQUEUE or SUSPEND, because the log does not say which jobs"
            " may be restarted. --restarts share=1 allows it for all."
        )
