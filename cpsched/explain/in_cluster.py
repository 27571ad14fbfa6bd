"""Why a job starts or does not start now on a machine that is not simulated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpsched.engine.jobs_of import jobs_of
from cpsched.errors import ConfigError
from cpsched.explain.explain import asked, look
from cpsched.explain.model import Explanation, JobState
from cpsched.explain.room import places
from cpsched.explain.text import summary_of
from cpsched.model import columns as c
from cpsched.model.decision import Start

if TYPE_CHECKING:
    from cpsched.engine.cluster import Cluster


def explain_in_cluster(
    cluster: Cluster,
    handle: int,
    *,
    dispatcher: str,
    predictor: str = "requested",
    epoch: int | None = None,
    overtaken: int | None = None,
) -> Explanation:
    """
    Ask a cluster's dispatcher for a decision, and say what it means for one job.

    The decision is not carried out.

    Parameters
    ----------
    handle
        Of a job that waits or is held.
    dispatcher, predictor
        What they are called.
    epoch
        Unix time of second 0.
    overtaken
        How many jobs submitted later have started, where that is known.

    Raises
    ------
    ConfigError
        If the job neither waits nor is held.
    DispatchError
        If the dispatcher breaks an invariant.
    """
    machine, now = cluster.machine, cluster.now
    common: dict[str, Any] = {
        "dispatcher": dispatcher,
        "predictor": predictor,
        "time": now,
        "epoch": epoch,
        "summary": "",
    }
    workload = jobs_of(cluster, ran={}, begin={}, dependency={}, epoch=epoch).workload
    common["job"] = asked(workload, handle, int(machine.store.columns[handle, c.RUNTIME_ESTIMATE]))
    if machine.is_in(handle, c.HELD):
        about = Explanation(
            state=JobState.HELD,
            decided=None,
            reason="its begin time has not come, or a job that it depends on has not ended",
            overtaken=overtaken,
            **common,
        )
        return replace(about, summary=summary_of(about))
    if not machine.is_in(handle, c.WAITING):
        raise ConfigError(f"job {machine.name(handle)} is not waiting")
    view = cluster.prepare(now) or cluster.view(now)
    decision = cluster.dispatcher.decide(view)
    cluster.accept(decision, now)
    said = look(handle, workload.job_id, cluster.dispatcher, view, decision) or {}
    start = next(
        (one for one in decision.actions if isinstance(one, Start) and one.handle == handle), None
    )
    about = Explanation(
        decided=now,
        state=JobState.WAITING if start is None else JobState.STARTS,
        start=None if start is None else now,
        end=None if start is None else now + int(machine.store.columns[handle, c.RUNTIME_ESTIMATE]),
        places=()
        if start is None
        else places(cluster.system.node_names, start.allocation.node, start.allocation.units),
        overtaken=overtaken if start is None else None,
        **said,
        **common,
    )
    return replace(about, summary=summary_of(about))
