"""
Policy files of Slurm's (``--policy``), as the core reaches them, and what they do not know about a
log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.slurm.config.without_effect import without_effect
from cpsched.slurm.dispatch import policy_edit, policy_file
from cpsched.study.policies import PolicyFiles, ignored
from cpsched.util.spec import build
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.slurm.dispatch.policy import Policy


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


#: Preemption modes after which a job continues or restarts later.
_AGAIN = ("REQUEUE", "SUSPEND")


def remarks(policy: Policy, system: System, workload: Workload) -> list[str]:
    """Return remarks to read before a log is simulated under a policy, in sentences."""
    return [
        *_unknown(policy, system, workload),
        *ignored(workload, "reservation", policy.reservations, "run on any nodes, at any time"),
        *ignored(workload, "licenses", policy.licenses, "do not wait for them"),
        *_without_effect(policy, system),
        *_preemption(policy, system, workload),
    ]


def _without_effect(policy: Policy, system: System) -> Iterator[str]:
    """Name the settings that no simulation follows."""
    if names := without_effect(policy, system.resources):
        listed = brief(", ".join(names), 200)
        yield f"The policy has {counted(len(names), 'setting')} without effect: {listed}."


def _unknown(policy: Policy, system: System, workload: Workload) -> Iterator[str]:
    """Name the users, QOS and partitions that the policy or the machine does not have."""
    strange: dict[str, Collection[str]] = {}
    if pairs := {(one.account, one.user) for one in policy.associations if one.user}:
        used = set(zip(workload.group.decode(), workload.user.decode(), strict=True))
        strange["users with their accounts"] = {
            user for account, user in used if user and (account or "", user) not in pairs
        }
    # A job may name several partitions.
    for what, known, column in (
        ("QOS", policy.qos, workload.qos),
        ("partitions", system.queues, workload.partition),
    ):
        named = filter(None, set(column.decode()) if known else ())
        strange[what] = [name for name in named if known.keys().isdisjoint(name.split(","))]
    told = [
        f"{what} ({brief(', '.join(sorted(names)), 60)})"
        for what, names in strange.items()
        if names
    ]
    if told:
        yield (
            f"Not in the policy or system file: {'; '.join(told)}."
            " Their jobs have no shares and no limits of their own. Is this the log of another"
            " site?"
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
