"""The starts that a dispatcher would decide now on a live Slurm, and those that Slurm expects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.config.lines import Output
from cpsched.slurm.live.mirror import LiveMirror, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.system import System
    from cpsched.slurm.config.importer import ImportedSite
    from cpsched.slurm.live.mirror import MirroredJob
    from cpsched.slurm.live.scontrol import Scontrol
    from cpsched.slurm.live.snapshot import Snapshot

#: Slurm has no expected waits of queues; if all are equal, their value changes nothing.
EXPECTED_WAIT = 3600


def system_of(backend: Scontrol) -> System:
    """
    Return the system as the controller describes it; queues have one expected wait.

    Raises
    ------
    ConfigError
        If the description is invalid.
    UnreachableError
        If Slurm does not answer.
    """
    system = site_of(backend.configuration()).system
    source = "scontrol show config, node, partition"
    wait = system.default_expected_wait or EXPECTED_WAIT
    return replace(system, default_expected_wait=wait, source=source)


def site_of(shown: Mapping[str, str], accounts: Mapping[str, str] | None = None) -> ImportedSite:
    """
    Return the site that a controller describes.

    Parameters
    ----------
    shown
        What ``scontrol show`` prints, by its word.
    accounts
        What sacctmgr and sshare print, by the names of these files.

    Raises
    ------
    ConfigError
        If the description is invalid.
    """
    files = {
        word: Output(f"scontrol show {word}.txt", text)
        for word, text in {**shown, **(accounts or {})}.items()
    }
    return read_site(
        Files(
            scontrol=tuple(files[word] for word in shown),
            assoc=files.get("assoc"),
            qos=files.get("qos"),
            sshare=files.get("sshare"),
        )
    )


def plan(
    backend: Scontrol, system: System, dispatcher: str, predictor: str = "requested", seed: int = 0
) -> dict[str, Any]:
    """
    Return what a dispatcher would start now among all waiting jobs that are not held, as JSON.

    Returns
    -------
    dict
        ``jobs`` are those that wait; those that would start now come first, in the dispatcher's
        order, with the nodes where they do. Times are Unix seconds, None where dispatcher or Slurm
        do not say.
    """
    snapshot = backend.snapshot()
    expected = backend.expected_starts()
    mirror = LiveMirror(system, dispatcher, predictor, seed=seed)
    mirror.enter(snapshot)
    mirror.follow_priorities()
    chosen = dict(mirror.decide(snapshot.now))
    waiting = [key for key, known in mirror.known.items() if known.job.waits]
    jobs = []
    for key in (*chosen, *(key for key in waiting if key not in chosen)):
        known = mirror.known[key]
        jobs.append(
            {
                "job": key,
                "name": known.job.name,
                "user": known.job.user,
                "partition": known.job.partition,
                "submit": known.job.submit,
                "cores": known.job.cpus,
                "nodes": [known.job.nodes_min, known.job.nodes_max],
                "starts_now_on": list(chosen.get(key, ())),
                "planned_start": mirror.planned.get(key),
                "slurm_expects": expected.get(key),
                "why": _why(known, snapshot),
            }
        )
    return {
        "schema": "cpsched.slurm.plan/2",
        "now": snapshot.now,
        "dispatcher": dispatcher,
        "running": sum(known.stage is Stage.RUNNING for known in mirror.known.values()),
        "jobs": jobs,
    }


def _why(known: MirroredJob, snapshot: Snapshot) -> str:
    """Return the reason why a job cannot start, unless it waits for free nodes."""
    if known.stage is not Stage.HELD:
        return known.why
    begins = known.job.eligible > snapshot.now
    return "waits for its begin time" if begins else f"waits for {known.job.dependency}"
