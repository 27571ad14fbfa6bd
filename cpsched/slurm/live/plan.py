"""What a dispatcher would start now on a live Slurm, and what Slurm expects."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.live.mirror import LiveMirror, Stage
from cpsched.slurm.live.priorities import follow_slurms_priorities

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
    # The folder's name would make each system another one.
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
    with tempfile.TemporaryDirectory() as folder:

        def file(name: str, text: str) -> Path:
            path = Path(folder) / f"{name}.txt"
            path.write_text(text)
            return path

        paths = tuple(file(word, text) for word, text in shown.items())
        own = {name: file(name, text) for name, text in (accounts or {}).items()}
        try:
            return read_site(Files(scontrol=paths, **own))
        except ConfigError as error:
            raise ConfigError(str(error).replace(f"{folder}/", "scontrol show ")) from error


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
    follow_slurms_priorities(mirror, dispatcher)
    chosen = {one.key: one.nodes for one in mirror.decide(snapshot.now)}
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
    """Return why a job cannot start, if it waits for something other than free nodes."""
    if known.stage is not Stage.HELD:
        return known.why
    begins = known.job.eligible > snapshot.now
    return "waits for its begin time" if begins else f"waits for {known.job.dependency}"
