"""What a dispatcher would start now on a live Slurm, beside what Slurm expects."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError
from slurm_adapter.config.importer import Files, read_site
from slurm_adapter.live.mirror import Chosen, Mirror, Stage
from slurm_adapter.live.requests import is_marked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.api.model import System
    from slurm_adapter.live.backend import Backend
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

#: Schema of a plan's JSON; changes only add to it.
SCHEMA = "cpsched.slurm.plan/1"
#: Slurm has no expected waits of queues; if all are equal, their value changes nothing.
EXPECTED_WAIT = 3600
#: The mark of jobs held for cpsched.
MARK = "cpsched"
#: Reasons of jobs held by users or operators.
_HELD_BY_PEOPLE = ("JobHeldUser", "JobHeldAdmin")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """
    A waiting job in a plan.

    Attributes
    ----------
    nodes
        Where it would start now; empty: not now.
    planned, expected
        When the dispatcher plans it to start, and when Slurm expects it to; Unix seconds, None
        where they do not say.
    why
        Why it cannot start, if it never can or waits for something other than room.
    """

    job: LiveJob
    nodes: tuple[str, ...]
    planned: int | None
    expected: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    A plan at a moment.

    Attributes
    ----------
    jobs
        Those that wait; those that would start now come first, in the dispatcher's order.
    shrinks
        The running jobs that would give up nodes, with those that each would keep.
    """

    now: int
    dispatcher: str
    running: int
    jobs: tuple[PlannedJob, ...]
    shrinks: tuple[Chosen, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON has it; times are Unix seconds."""
        return {
            "schema": SCHEMA,
            "now": self.now,
            "dispatcher": self.dispatcher,
            "running": self.running,
            "jobs": [
                {
                    "job": one.job.key,
                    "name": one.job.name,
                    "user": one.job.user,
                    "partition": one.job.partition,
                    "submit": one.job.submit,
                    "cores": one.job.cpus,
                    "nodes": [one.job.nodes_min, one.job.nodes_max],
                    "starts_now_on": list(one.nodes),
                    "planned_start": one.planned,
                    "slurm_expects": one.expected,
                    "why": one.why,
                }
                for one in self.jobs
            ],
            "shrinks": [{"job": one.key, "keeps": list(one.nodes)} for one in self.shrinks],
        }


def system_of(backend: Backend) -> System:
    """
    Return the system as the controller describes it; queues have one expected wait.

    Raises
    ------
    ConfigError
        If the description is invalid.
    UnreachableError
        If Slurm does not answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for word, text in backend.configuration().items():
            paths.append(Path(folder) / f"{word}.txt")
            paths[-1].write_text(text)
        try:
            system = read_site(Files(scontrol=tuple(paths))).system
        except ConfigError as error:
            raise ConfigError(str(error).replace(f"{folder}/", "scontrol show ")) from error
    return replace(system, default_expected_wait=system.default_expected_wait or EXPECTED_WAIT)


def plan(
    backend: Backend, system: System, dispatcher: str, predictor: str = "requested", seed: int = 0
) -> Plan:
    """
    Return what a dispatcher would start now among all waiting jobs that are not held.

    Jobs held for cpsched count as waiting. No orders are sent to Slurm.
    """
    snapshot = backend.snapshot()
    expected = backend.expected_starts()
    mirror = Mirror(system, dispatcher, predictor, mine=_counts, seed=seed)
    mirror.may_shrink = lambda job: is_marked(job, MARK)
    mirror.follow(snapshot)
    chosen = {one.key: one.nodes for one in mirror.decide(snapshot.now)}
    running = sum(known.stage is Stage.RUNNING for known in mirror.known.values())
    jobs = {one.job.key: one for one in _planned(mirror, snapshot, chosen, expected)}
    order = [*chosen, *(key for key in jobs if key not in chosen)]
    return Plan(
        now=snapshot.now,
        dispatcher=dispatcher,
        running=running,
        jobs=tuple(jobs[key] for key in order),
        shrinks=tuple(mirror.shrinks),
    )


def _counts(job: LiveJob) -> bool:
    held_by_people = job.held and job.reason in _HELD_BY_PEOPLE
    return job.waits and not job.is_part and (not held_by_people or is_marked(job, MARK))


def _planned(
    mirror: Mirror,
    snapshot: Snapshot,
    chosen: Mapping[str, tuple[str, ...]],
    expected: Mapping[str, int],
) -> Iterator[PlannedJob]:
    for key, known in mirror.known.items():
        if known.job.waits:
            why = known.why
            if known.stage is Stage.HELD:
                begins = known.job.eligible > snapshot.now
                why = "waits for its begin time" if begins else f"waits for {known.job.dependency}"
            yield PlannedJob(
                job=known.job,
                nodes=chosen.get(key, ()),
                planned=mirror.planned.get(key),
                expected=expected.get(key),
                why=why,
            )
