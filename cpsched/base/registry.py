"""
Names to things: dispatchers, allocators, priorities, predictors, traces, generators, commands.

Built-ins and what other distributions add through entry points take the same path; nothing is
imported before it is asked for.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What cpsched itself brings, as ``module:attribute``, by group.
BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "dispatchers": {
        "fifo": "cpsched.dispatch.rules:Fifo",
        "sjf": "cpsched.dispatch.rules:Sjf",
        "ljf": "cpsched.dispatch.rules:Ljf",
        "prb": "cpsched.dispatch.rules:Prb",
        "easy": "cpsched.dispatch.backfilling:Easy",
        "conservative": "cpsched.dispatch.backfilling:Conservative",
        "cph": "cpsched.cp.hybrid:Cph",
        "plan": "cpsched.rollout.whole_queue:WholeQueue",
        "rollout": "cpsched.rollout.dispatcher:Rollout",
        "try": "cpsched.dispatch.try_runs:TryRuns",
        "preempt": "cpsched.dispatch.preemption:Preemption",
        "cp": "cpsched.cp.pure:Cp",
    },
    "allocators": {
        "first-fit": "cpsched.dispatch.allocators:FirstFit",
        "best-fit": "cpsched.dispatch.allocators:BestFit",
        "consolidate": "cpsched.dispatch.allocators:Consolidate",
        "balanced": "cpsched.dispatch.allocators:Balanced",
        "frugal": "cpsched.dispatch.allocators:Frugal",
        "lowest-switch": "cpsched.dispatch.allocators:LowestSwitch",
        "fewest-groups": "cpsched.dispatch.allocators:FewestGroups",
        "contiguous": "cpsched.dispatch.allocators:Contiguous",
    },
    "priorities": {
        name: f"cpsched.dispatch.priority:{attribute}"
        for name, attribute in {
            "fifo": "Fifo",
            "basic": "Basic",
            "sjf": "Sjf",
            "ljf": "Ljf",
            "expected-wait": "ExpectedWait",
            "slowdown": "Slowdown",
            "multifactor": "Multifactor",
            "wfp3": "Wfp3",
            "unicef": "Unicef",
            "urgency": "Urgency",
            "f1": "F1",
            "f2": "F2",
            "f3": "F3",
            "f4": "F4",
        }.items()
    },
    "traces": {
        "swf": "cpsched.traces.swf:SWF",
        "pbs": "cpsched.traces.pbs:PBS",
        "table": "cpsched.traces.table:TABLE",
    },
    "generators": {
        "site": "cpsched.generators.site:SITE",
    },
    "runtime_models": {
        "recorded": "cpsched.simulation.runtime_models:Recorded",
        "linear-speedup": "cpsched.simulation.runtime_models:LinearSpeedup",
        "amdahl": "cpsched.simulation.runtime_models:Amdahl",
        "gpu-scaling": "cpsched.simulation.runtime_models:GpuScaling",
        "locality": "cpsched.simulation.locality:Locality",
    },
    "outages": {
        "none": "cpsched.simulation.outages:NoOutages",
        "drawn": "cpsched.simulation.outages:DrawnOutages",
        "table": "cpsched.simulation.outages:OutageTable",
        "during": "cpsched.simulation.outages:OutageDuring",
    },
    "changes": {
        "add-nodes": "cpsched.study.system_changes:AddNodes",
        "remove-nodes": "cpsched.study.system_changes:RemoveNodes",
        "outage": "cpsched.study.system_changes:Outage",
        "max-time": "cpsched.study.system_changes:MaxTime",
        "scale-load": "cpsched.study.workload_changes:ScaleLoad",
        "cap-request": "cpsched.study.workload_changes:CapRequest",
        "drop": "cpsched.study.workload_changes:Drop",
        "keep": "cpsched.study.workload_changes:Keep",
    },
    "predictors": {
        "requested": "cpsched.model.estimates:Requested",
        "actual": "cpsched.model.estimates:Actual",
        "oracle-class": "cpsched.model.estimates:OracleClass",
    },
    "formats": {},
    "commands": {},
    "observers": {},
    "report_sections": {},
    "system_files": {},
    "model_files": {},
    "policy_files": {},
    "scripts": {},
    "topology_files": {},
}

#: Other names of built-ins, with the options they settle: the eight variants of Remediani 2017.
ALIASES: Mapping[str, Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "dispatchers": {
        f"{name}-{number}": (name, {"search": search, "objective": objective})
        for name, own_search in (("cph", "expected-wait"), ("cp", "default"))
        for number, (search, objective) in enumerate(
            (
                (own_search, "expected-wait"),
                ("slowdown", "expected-wait"),
                (own_search, "slowdown"),
                ("slowdown", "slowdown"),
            )
        )
    }
}

#: What one thing of a group is called in a sentence.
_KIND = {
    "dispatchers": "dispatcher",
    "allocators": "allocator",
    "priorities": "priority",
    "traces": "trace format",
    "generators": "generator",
    "runtime_models": "runtime model",
    "outages": "kind of outages",
    "changes": "change",
    "predictors": "predictor",
    "formats": "output format",
    "commands": "command",
    "observers": "observer",
    "report_sections": "section of the report",
    "system_files": "kind of system file",
    "model_files": "kind of model file",
    "policy_files": "kind of policy file",
    "scripts": "kind of batch script",
    "topology_files": "kind of topology file",
}


@dataclass(frozen=True)
class Entry:
    """
    A registered name and where its thing lies.

    Attributes
    ----------
    settled
        The options that the name settles, if it is an alias.
    """

    name: str
    target: str
    distribution: str
    settled: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> Any:
        """Import and return the thing."""
        module_name, _, attribute = self.target.partition(":")
        try:
            self._check_not_shadowed(module_name)
            return getattr(import_module(module_name), attribute)
        except ConfigError:
            raise
        except (Exception, SystemExit) as error:  # a plug-in may fail in any way when imported
            raise ConfigError(
                f"'{self.name}' ({self.target}, from {self.distribution}) cannot be loaded: {error}"
            ) from error

    def _check_not_shadowed(self, module_name: str) -> None:
        """``predictors`` is a generic name: say so if somebody else's package got in the way."""
        if self.distribution != "cpsched" or not module_name.startswith("predictors"):
            return
        found = import_module("predictors")
        if getattr(found, "CPSCHED_PACKAGE", False) is not True:
            raise ConfigError(
                "the package 'predictors' of cpsched is shadowed by"
                f" {getattr(found, '__file__', None) or found}; rename that one or start python"
                " elsewhere"
            )


@cache
def entries(group: str) -> Mapping[str, Entry]:
    """Return everything registered in a group by name; built-ins win over plug-ins."""
    found = {name: Entry(name, target, "cpsched") for name, target in BUILT_IN[group].items()}
    for alias, (name, settled) in ALIASES.get(group, {}).items():
        found[alias] = Entry(alias, BUILT_IN[group][name], "cpsched", settled)
    points = entry_points(group=f"cpsched.{group}")
    # What this distribution registers itself wins, wherever it lies on the path.
    for point in sorted(points, key=lambda point: _owner(point) != "cpsched"):
        owner = _owner(point)
        if point.name in found and found[point.name].target != point.value:
            warnings.warn(
                f"{owner} registers a {_KIND[group]} '{point.name}' that exists already; ignored",
                RuntimeWarning,
                stacklevel=2,
            )
            continue
        found[point.name] = Entry(point.name, point.value, owner)
    for point in entry_points(group="cpsched.aliases"):
        _add_aliases(found, group, point)
    return dict(sorted(found.items()))


def _add_aliases(found: dict[str, Entry], group: str, point: EntryPoint) -> None:
    """Add the names in a group that settle options of others, as a plug-in lists them."""
    aliases = Entry(point.name, point.value, _owner(point))
    try:
        listed = aliases.load().get(group, {})
        new = {
            alias: replace(
                found[name],
                name=alias,
                distribution=aliases.distribution,
                settled={**found[name].settled, **settled},
            )
            for alias, (name, settled) in listed.items()
            if alias not in found
        }
    except (ConfigError, AttributeError, KeyError, TypeError, ValueError) as error:
        warnings.warn(
            f"aliases of {aliases.distribution} are left out: {error}", RuntimeWarning, stacklevel=3
        )
        return
    found.update(new)


def names(group: str) -> list[str]:
    """Return the registered names of a group, sorted."""
    return list(entries(group))


def load(group: str, name: str) -> Any:
    """
    Return the thing registered under a name.

    Raises
    ------
    UnknownNameError
        If nothing of that name is registered; the message lists what is.
    ConfigError
        If it is registered and cannot be imported.
    """
    found = entries(group)
    if name not in found:
        raise UnknownNameError(_KIND[group], name, found)
    return found[name].load()


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown distribution"
