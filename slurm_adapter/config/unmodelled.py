"""What of a site's configuration no simulation here follows, by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cpsched.api.machines import compress
from cpsched.api.tools import brief, counted
from slurm_adapter.config.machine import oversubscribe
from slurm_adapter.dispatch.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slurm_adapter.config.conf import Conf
    from slurm_adapter.config.machine import Machine
    from slurm_adapter.config.policy import Imported


class Gap(NamedTuple):
    """
    Something that is not modelled.

    Attributes
    ----------
    name
        As Slurm calls it, with the values.
    instead
        What is simulated.
    """

    name: str
    instead: str


def of_site(machine: Machine, imported: Imported) -> list[Gap]:
    """Return what of a configuration is not modelled."""
    conf = machine.conf
    gaps = [*_of_parameters(conf, imported), *_of_partitions(conf), *_of_nodes(machine)]
    if imported.undescribed:
        instead = "without limits and priority: they are named, but not described (--qos)"
        gaps.append(Gap(f"QOS {_few(imported.undescribed)}", instead))
    return gaps


#: Parameters that are not modelled, by what is simulated instead.
UNFOLLOWED = {
    "BurstBufferType": "jobs start without staging",
    "JobSubmitPlugins": "jobs are taken as the log has them; a plug-in's changes are in it",
    "PrioritySiteFactorPlugin": "priorities have no site factor",
    "Prolog": "takes no time; cpsched slurm fidelity measures the lag of starts",
    "PrologSlurmctld": "takes no time; cpsched slurm fidelity measures the lag of starts",
    "Epilog": "takes no time",
    "EpilogSlurmctld": "takes no time",
    "FederationParameters": "one cluster alone",
    "PreemptParameters": "preemption as without it",
    "MCSPlugin": "nodes are not kept to one label",
    "DependencyParameters": "dependencies as without it",
    "ResvProlog": "takes no time",
    "TopologyParam": "topology as without it",
}
#: Values that say that there is none of something, or that change nothing.
_NOTHING = (
    *("", "(null)", "none", "mcs/none", "burst_buffer/none", "no", "0", "unlimited", "all", "up"),
    *("infinite", "-1"),
)


def _of_parameters(conf: Conf, imported: Imported) -> Iterator[Gap]:
    for name, words in imported.words.items():
        instead = "not followed"
        if name in PARAMETERS and PARAMETERS[name].kind.name == "choice":
            instead = f"{PARAMETERS[name].default} instead"
        yield Gap(f"{name}={_few(words)}", instead)
    for name, instead in UNFOLLOWED.items():
        value = conf.text(name)
        if value.lower() not in _NOTHING:
            yield Gap(f"{name}={value}", instead)
    if conf.text("SuspendProgram") and conf.text("SuspendTime").lower() not in _NOTHING:
        yield Gap("power saving (SuspendTime, ResumeTimeout)", "nodes are always on")
    if "GANG" in conf.text("PreemptMode").upper():
        yield Gap("PreemptMode=GANG", "jobs do not take turns on the same cores")


#: Keys of partitions that are not modelled, and what is simulated.
_PARTITION_KEYS = {
    "MaxCPUsPerNode": "jobs take all CPUs of a node",
    "MaxCPUsPerSocket": "jobs take all CPUs of a node",
    "LLN": "nodes as in other partitions: not the least loaded first",
    "ReqResv": "jobs need no reservation",
    "ExclusiveUser": "users share nodes",
    "ExclusiveTopo": "jobs share blocks",
    "AllowGroups": "all users may use it",
    "AllowAllocNodes": "jobs may come from any node",
    "RootOnly": "all users may use it",
    "State": "it is up",
    "OverTimeLimit": "the cluster's OverTimeLimit",
    "Alternate": "jobs stay where they are",
    "SelectTypeParameters": "the cluster's SelectTypeParameters",
    "PowerDownOnIdle": "nodes are always on",
}


def _of_partitions(conf: Conf) -> Iterator[Gap]:
    by_value: dict[tuple[str, str], list[str]] = {}
    for entry in conf.partitions:
        names = entry.name.text.split(",")
        for key in _PARTITION_KEYS:
            if (text := entry.text(key)).lower() not in _NOTHING:
                by_value.setdefault((key, text), []).extend(names)
        sharing = oversubscribe(entry)
        single = entry.text("OverSubscribe", "FORCE").upper() == "FORCE:1"
        if sharing in ("FORCE", "YES") and not single:
            by_value.setdefault(("OverSubscribe", sharing), []).extend(names)
    for (key, text), names in by_value.items():
        yield Gap(
            f"{key}={text} of {_few(names)}",
            _PARTITION_KEYS.get(key, "every job has its cores to itself"),
        )


def _of_nodes(machine: Machine) -> Iterator[Gap]:
    down = [node.name for node in machine.nodes if re.match(r"DOWN|DRAIN|FAIL|MAINT", node.state)]
    listed = (name for entry in machine.conf.down_nodes for name in entry.hosts())
    if down := list(dict.fromkeys((*down, *listed))):
        yield Gap(
            f"{counted(len(down), 'node')} down or drained: {brief(compress(down))}",
            "they are up; simulate --outages",
        )
    if cloud := [node for node in machine.nodes if "CLOUD" in node.state]:
        yield Gap(f"{counted(len(cloud), 'node')} of State=CLOUD", "they are always on")
    free = sorted({gres.name for node in machine.nodes for gres in node.gres if not gres.consumed})
    if free:
        yield Gap(f"resources that are not used up (no_consume): {_few(free)}", "left out")


def _few(names: Iterable[str], most: int = 6) -> str:
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
