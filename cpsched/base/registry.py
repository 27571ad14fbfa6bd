"""
Names to things: dispatchers, allocators, priorities, predictors, traces, generators, commands.

Built-ins and what other distributions add through entry points take the same path; nothing is
imported before it is asked for.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from cpsched.base.own_code import fault_of, public_names
from cpsched.errors import ConfigError, UnknownNameError, did_you_mean, instead_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _classes(module: str, *names: str) -> dict[str, str]:
    """Return names of classes of a module: ``best-fit`` is ``BestFit``."""
    return {name: f"{module}:{name.title().replace('-', '')}" for name in names}


#: What cpsched itself brings, as ``module:attribute``, by group.
BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "dispatchers": {
        **_classes("cpsched.dispatch.rules", "fifo", "sjf", "ljf", "prb"),
        **_classes("cpsched.dispatch.backfilling", "easy", "conservative"),
        **_classes("cpsched.cp.hybrid", "cph", "planned-easy"),
        **_classes("cpsched.cp.pure", "cp"),
        "plan": "cpsched.cp.plan:WholeQueue",
        "try": "cpsched.dispatch.try_runs:TryRuns",
        "preempt": "cpsched.dispatch.preemption:Preemption",
    },
    "allocators": _classes(
        "cpsched.dispatch.allocators",
        *("first-fit", "best-fit", "consolidate", "balanced"),
        *("frugal", "least-loss", "lowest-switch", "fewest-groups", "contiguous"),
    ),
    "priorities": _classes(
        "cpsched.dispatch.priority",
        *("fifo", "sjf", "ljf", "expected-wait", "slowdown", "urgency"),
    ),
    "traces": {
        "swf": "cpsched.traces.swf:SWF",
        "table": "cpsched.traces.table:TABLE",
    },
    "runtime_models": _classes("cpsched.simulation.runtime_models", "recorded", "amdahl"),
    "outages": {
        "none": "cpsched.simulation.outages:NoOutages",
        "drawn": "cpsched.simulation.outages:DrawnOutages",
        "table": "cpsched.simulation.outages:OutageTable",
        "during": "cpsched.simulation.outages:OutageDuring",
    },
    "changes": {},
    "predictors": _classes("cpsched.model.estimates", "requested", "actual"),
    "checks": {"dispatcher": "cpsched.checks:CHECKS"},
}

#: Presets: names for others with some options, of which nothing but the long form is recorded.
#: Those of EASY by other orders, and the eight variants of Remediani 2017.
ALIASES: Mapping[str, Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "dispatchers": {
        "easy-urgency": ("easy", {"priority": "urgency", "reserve": "requested"}),
        "easy-slowdown": ("easy", {"priority": "slowdown"}),
    }
    | {
        f"{name}-{number}": (name, {"search": search, "objective": objective, **own})
        for name, own_search, own in (
            ("cph", "expected-wait", {"fill": "none"}),
            ("cp", "default", {}),
        )
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

#: Every group, and what one thing of it is called in a sentence.
GROUPS = {
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
    "reports": "report of runs",
    "report_sections": "section of the report",
    "plots": "plot",
    "overviews": "overview of several logs",
    "environments": "environment",
    "backends": "back-end",
    "system_files": "kind of system file",
    "model_files": "kind of model file",
    "policy_files": "kind of policy file",
    "scripts": "kind of batch script",
    "topology_files": "kind of topology file",
    "checks": "suite of checks",
}


@dataclass(frozen=True)
class Entry:
    """
    A registered name and where its thing lies.

    Attributes
    ----------
    of, settled
        What the name stands for, and with which options, if it is a preset; else empty.
    """

    name: str
    target: str
    distribution: str
    of: str = ""
    settled: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> Any:
        """Import and return the thing."""
        module_name, _, attribute = self.target.partition(":")
        try:
            return getattr(import_module(module_name), attribute)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plug-in may fail in any way when imported
            raise ConfigError(
                f"'{self.name}' ({self.target}, from {self.distribution}) cannot be loaded:"
                f" {fault_of(error) or error or type(error).__name__}"
            ) from error

    def load_class(self, group: str) -> Any:
        """
        Return the class that ``module:Class`` names.

        Raises
        ------
        ConfigError
            If there is no such module, it cannot be imported, or it has no such class.
        """
        module_name, _, attribute = self.target.partition(":")
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            if not f"{module_name}.".startswith(f"{error.name}."):
                raise self._not_imported(module_name, error) from error
            hint = did_you_mean(module_name, entries(group))
            raise ConfigError(
                f"no {GROUPS[group]} is called '{module_name}', and there is no module of this"
                f" name on the path (PYTHONPATH).{hint}",
                where=self.name,
            ) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._not_imported(module_name, error) from error
        if not hasattr(module, attribute):
            there = instead_of(attribute, sorted(public_names(module)), "; its classes are:")
            raise ConfigError(
                f"cannot be loaded: module '{module_name}' has no '{attribute}'{there}",
                where=self.name,
            )
        return getattr(module, attribute)

    def _not_imported(self, module_name: str, error: BaseException) -> ConfigError:
        said = fault_of(error) or f"{type(error).__name__}: {error}"
        return ConfigError(
            f"cannot be loaded: module '{module_name}' fails when it is imported: {said}",
            where=self.name,
        )


@lru_cache(maxsize=1)
def _registered(path: tuple[str, ...]) -> Mapping[str, Sequence[EntryPoint]]:  # noqa: ARG001
    """Return what all distributions on a path register with us, by group: looking takes long."""
    # Of another type from Python 3.12 on.
    points: Any = entry_points()
    ours = [group for group in points.groups if group.startswith("cpsched.")]
    return {group: tuple(points.select(group=group)) for group in ours}


@cache
def entries(group: str) -> Mapping[str, Entry]:
    """Return everything registered in a group by name; built-ins win over plug-ins."""
    own = BUILT_IN.get(group, {})
    found = {name: Entry(name, target, "cpsched") for name, target in own.items()}
    found |= _aliases(found, ALIASES.get(group, {}), "cpsched")
    registered = _registered(tuple(sys.path))
    points = registered.get(f"cpsched.{group}", ())
    # What this distribution registers itself wins, wherever it lies on the path.
    for point in sorted(points, key=lambda point: _owner(point) != "cpsched"):
        owner = _owner(point)
        if point.name in found and found[point.name].target != point.value:
            warnings.warn(
                f"{owner} registers a {GROUPS[group]} '{point.name}' that exists already; ignored",
                RuntimeWarning,
                stacklevel=2,
            )
            continue
        found[point.name] = Entry(point.name, point.value, owner)
    for point in registered.get("cpsched.aliases", ()):
        owner = _owner(point)
        try:
            listed = Entry(point.name, point.value, owner).load().get(group, {})
            found |= _aliases(found, listed, owner)
        except (ConfigError, AttributeError, KeyError, TypeError, ValueError) as error:
            warnings.warn(f"aliases of {owner} are left out: {error}", RuntimeWarning, stacklevel=2)
    return dict(sorted(found.items()))


def _aliases(
    found: Mapping[str, Entry],
    listed: Mapping[str, tuple[str, Mapping[str, str]]],
    distribution: str,
) -> dict[str, Entry]:
    """Return new names that settle options of known ones."""
    return {
        alias: replace(
            found[name],
            name=alias,
            distribution=distribution,
            of=found[name].of or name,
            settled={**found[name].settled, **settled},
        )
        for alias, (name, settled) in listed.items()
        if alias not in found
    }


def names(group: str) -> list[str]:
    """Return the registered names of a group, sorted."""
    return list(entries(group))


def entry(group: str, name: str) -> Entry | None:
    """Return what is registered under a name, or a class of a module by ``module:Class``."""
    module, by_class, _ = name.partition(":")
    return Entry(name, name, module) if by_class else entries(group).get(name)


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
    found = entry(group, name)
    if found is None:
        raise UnknownNameError(GROUPS[group], name, entries(group))
    return found.load_class(group) if ":" in name else found.load()


def is_registered(name: str) -> bool:
    """Whether a name is registered in any group."""
    return any(name in entries(group) for group in GROUPS)


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown distribution"
