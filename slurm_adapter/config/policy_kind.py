"""Policy files of Slurm's (``--policy``), as the core reaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.api.studies import PolicyFiles
from cpsched.api.tools import build
from slurm_adapter.config.log_check import remarks
from slurm_adapter.dispatch import policy_edit, policy_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.logs import Workload
    from cpsched.api.model import System
    from slurm_adapter.dispatch.policy import Policy


class SlurmPolicyFiles(PolicyFiles):
    """Policies that the dispatcher ``slurm`` follows."""

    dispatcher = "slurm"

    def edited(self, policy: Path, edits: Sequence[str]) -> str:
        """Return the text of a policy in which some values are others."""
        return policy_file.to_toml(policy_edit.edited(policy_file.load(policy), edits))

    def remarks(self, specification: str, system: System, workload: Workload) -> list[str]:
        """Return in sentences what a dispatcher's policy does not know about a log."""
        return remarks(_policy(specification), system, workload)

    def overridden(self, specification: str) -> list[str]:
        """Name the limits of associations that do not apply under a QOS."""
        return policy_edit.overridden(_policy(specification))

    def refused(self, key: str, reason: str) -> str:
        """Return why the dispatcher has no such option; better where it is set instead."""
        return policy_edit.elsewhere(key, reason)


def _policy(specification: str) -> Policy:
    policy: Policy = build("dispatchers", specification).policy
    return policy


POLICY_FILES = SlurmPolicyFiles()
