"""The parts of a Slurm policy without effect, and of a job log unknown to it, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.rejections import core_time
from cpsched.slurm.config.inventory import (
    QOS_FLAGS,
    RESERVATION_FLAGS,
    SCHEDULER,
    SLURM_CONF,
    UNENFORCED,
    WORDS,
    Fate,
)
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import LIMITS
from cpsched.slurm.dispatch.tres import uncounted
from cpsched.slurm.dispatch.values import TRES
from cpsched.util.words import brief, counted, percent

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Sequence

    from cpsched.model.system import System
    from cpsched.model.workload import Labels, Workload
    from cpsched.slurm.config.inventory import Inventory
    from cpsched.slurm.dispatch.policy import SlurmPolicy

#: Preemption modes after which a job continues or restarts later.
_AGAIN = ("REQUEUE", "SUSPEND")


def remarks(policy: SlurmPolicy, system: System, workload: Workload) -> list[str]:
    """Return remarks to read before a log is simulated under a policy, in sentences."""
    return [
        *_unknown(policy, system, workload),
        *ignored(workload, "reservation", policy.reservations, "run on any nodes, at any time"),
        *ignored(workload, "licenses", policy.licenses, "do not wait for them"),
        *_ignored_settings(policy, system),
        *_preemption(policy, system, workload),
    ]


def _ignored_settings(policy: SlurmPolicy, system: System) -> Iterator[str]:
    """Name the settings that no simulation follows."""
    if names := without_effect(policy, system.resources):
        listed = brief(", ".join(names), 200)
        yield f"The policy has {counted(len(names), 'setting')} without effect: {listed}."


def _unknown(policy: SlurmPolicy, system: System, workload: Workload) -> Iterator[str]:
    """Name the users, QOS and partitions that the policy or the system does not have."""
    strange: dict[str, Collection[str]] = {}
    if pairs := {(assoc.account, assoc.user) for assoc in policy.associations if assoc.user}:
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
    parts = [
        f"{what} ({brief(', '.join(sorted(names)), 60)})"
        for what, names in strange.items()
        if names
    ]
    if parts:
        yield (
            f"Unknown in the policy and system file: {', '.join(parts)}. Their jobs have no shares"
            " and limits of their own. Check that the log is of this site."
        )


def _preemption(policy: SlurmPolicy, system: System, workload: Workload) -> Iterator[str]:
    """Return if the policy preempts jobs by what no job of the log may."""
    modes = {*policy["PreemptMode"], *(qos.preempt_mode for qos in policy.qos.values())}
    modes |= {queue.preempt.name for queue in system.queues.values()}
    if policy["PreemptType"] == "preempt/none" or modes.isdisjoint(_AGAIN):
        return
    if not workload.restartable.any():
        yield (
            "No job is preempted by REQUEUE or SUSPEND, because the log does not say which jobs"
            " may be restarted. --restarts share=1 allows it for all."
        )


def ignored(workload: Workload, column: str, known: Container[str], instead: str) -> Iterator[str]:
    """
    Yield a sentence on the jobs that name a reservation or licences nothing here knows.

    Parameters
    ----------
    column
        ``reservation`` or ``licenses``.
    known
        The names that are modelled.
    instead
        What such jobs do in the simulation.
    """
    labels: Labels = getattr(workload, column)
    unknown = {
        code: names
        for code, text in enumerate(labels.values)
        if (names := [name for name in _names_in(text) if name not in known])
    }
    rows = np.flatnonzero(np.isin(labels.codes, list(unknown)))
    if not len(rows):
        return
    time = core_time(workload)
    share = float(time[rows].sum(dtype=np.float64)) / max(float(time.sum(dtype=np.float64)), 1.0)
    names = sorted({name for code in np.unique(labels.codes[rows]) for name in unknown[code]})
    what = {"reservation": "reservations", "licenses": "licences"}[column]
    verb = "names" if len(rows) == 1 else "name"
    yield (
        f"{counted(len(rows), 'job')} ({percent(len(rows) / len(workload), 1)} of the jobs,"
        f" {percent(share, 1)} of the core time) {verb} {what} that are not modelled"
        f" ({brief(', '.join(names), 60)}). Such jobs {instead}."
    )


def _names_in(text: str) -> Iterator[str]:
    """Yield the names in a list like ``matlab:2,ansys``."""
    for part in text.replace("|", ",").split(","):
        name = part.strip().partition(":")[0]
        if name:
            yield name


def without_effect(policy: SlurmPolicy, resources: Sequence[str]) -> list[str]:
    """
    Return what of a policy has no effect in a simulation, as the file has it.

    Parameters
    ----------
    resources
        Those of the system, as it names them.
    """
    names = (*_parameters(policy), *_flags(policy), *_limits(policy, resources))
    return list(dict.fromkeys(names))


def _parameters(policy: SlurmPolicy) -> Iterator[str]:
    for name, value in policy.parameters.items():
        parameter = PARAMETERS[name]
        if name in WORDS:
            words = value if isinstance(value, frozenset) else ()
            yield from (f"{name}={word}" for word in _lost(sorted(words), WORDS[name]))
        elif value != parameter.default:
            inventory = SCHEDULER if parameter.scheduler else SLURM_CONF
            if inventory.of(name).fate is Fate.REPORTED:
                yield name


def _flags(policy: SlurmPolicy) -> Iterator[str]:
    for kind, entries, inventory in (
        ("QOS", policy.qos.values(), QOS_FLAGS),
        ("reservation", policy.reservations.values(), RESERVATION_FLAGS),
    ):
        for entry in entries:
            for flag in _lost(sorted(entry.flags), inventory):
                yield f"{flag} of {kind} {entry.name}"


def _lost(words: Iterable[str], inventory: Inventory) -> list[str]:
    return [word for word in words if word and inventory.is_lost(word, "yes")]


def _limits(policy: SlurmPolicy, resources: Sequence[str]) -> Iterator[str]:
    for limits in policy.limits():
        for name, value in limits.items():
            if name in UNENFORCED:
                yield name
            elif LIMITS[name] is TRES:
                yield from (f"{name} of {tres}" for tres in uncounted(value, resources))
