"""Why a job of a live queue waits, according to a dispatcher and to Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError
from cpsched.api.studies import explain_in_cluster
from cpsched.api.tools import brief
from slurm_adapter.live.mirror import Mirror
from slurm_adapter.live.when import may_start, row_of

if TYPE_CHECKING:
    from cpsched.api.model import System
    from cpsched.api.studies import Explanation
    from slurm_adapter.live.snapshot import Snapshot


def explain(
    snapshot: Snapshot, system: System, job: str, *, dispatcher: str, predictor: str = "requested"
) -> Explanation:
    """
    Say why a waiting job of a live queue does not start now, or why it would start.

    Raises
    ------
    ConfigError
        If the job is not waiting, or can never run on the system.
    """
    mirror = Mirror(system, dispatcher, predictor, mine=may_start)
    mirror.follow(snapshot)
    row = row_of(mirror, snapshot, job)
    submit = snapshot.jobs[job].submit
    later = sum(one.holds and one.submit > submit for one in snapshot.jobs.values())
    return explain_in_cluster(
        mirror.cluster,
        row,
        dispatcher=dispatcher,
        predictor=predictor,
        epoch=mirror.epoch,
        overtaken=later,
    )


def slurms_view(snapshot: Snapshot, job: str, expected: int | None) -> dict[str, Any]:
    """Return Slurm's own view of a job."""
    there = snapshot.jobs.get(job)
    if there is None:
        raise ConfigError(f"job {brief(job)} is not in the queue", key="JOB")
    return {"state": there.state, "reason": there.reason, "expects": expected}
