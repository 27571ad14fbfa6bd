"""
Names to things: dispatchers, allocators, priorities, predictors, log formats and others.

Built-ins are in one table (:mod:`cpsched.util.built_in`). Other distributions add to five groups
through entry points. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, UnknownNameError, did_you_mean, instead_of
from cpsched.util.built_in import ALIASES, BUILT_IN
from cpsched.util.own_code import fault_of, public_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


#: Every group, and what one thing of it is called in a sentence.
GROUPS = {
    "dispatchers": "dispatcher",
    "allocators": "allocator",
    "priorities": "priority",
    "log_formats": "log format",
    "generators": "generator",
    "runtime_models": "runtime model",
    "outages": "kind of outages",
    "changes": "change",
    "predictors": "predictor",
    "exports": "output format",
    "observers": "observer",
    "plots": "plot",
    "system_files": "kind of system file",
    "model_files": "kind of model file",
    "topology_files": "kind of topology file",
    "checks": "suite of checks",
}

#: The groups of entry points of other distributions, by group here.
PLUG_INS = {
    "dispatchers": "cpsched.dispatchers",
    "predictors": "cpsched.predictors",
    "priorities": "cpsched.priorities",
    "allocators": "cpsched.allocators",
    "log_formats": "cpsched.log_formats",
}


@dataclass(frozen=True)
class RegistryEntry:
    """
    A registered name and where its thing lies.

    Attributes
    ----------
    of, preset_options
        What the name stands for, and with which options, if it is a preset; else empty.
    """

    name: str
    target: str
    distribution: str
    of: str = ""
    preset_options: Mapping[str, str] = field(default_factory=dict)

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
                f"unknown {GROUPS[group]} '{module_name}', and no module on the path (PYTHONPATH)"
                f" has this name.{hint}",
                where=self.name,
            ) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._not_imported(module_name, error) from error
        if not hasattr(module, attribute):
            there = instead_of(attribute, sorted(public_names(module)), "Its classes")
            raise ConfigError(
                f"the module '{module_name}' has no '{attribute}'{there}",
                where=self.name,
            )
        return getattr(module, attribute)

    def _not_imported(self, module_name: str, error: BaseException) -> ConfigError:
        message = fault_of(error) or f"{type(error).__name__}: {error}"
        return ConfigError(
            f"the module '{module_name}' cannot be imported: {message}",
            where=self.name,
        )


@lru_cache(maxsize=1)
def _registered(path: tuple[str, ...]) -> Mapping[str, Sequence[EntryPoint]]:  # noqa: ARG001
    """Return what other distributions on a path register, by group: looking takes long."""
    # Of another type from Python 3.12 on.
    points: Any = entry_points()
    listed = {group: points.select(group=group) for group in points.groups if _is_ours(group)}
    others = {
        group: tuple(point for point in registered if _owner(point) != "cpsched")
        for group, registered in listed.items()
    }
    for group in others.keys() - PLUG_INS.values():
        for point in others[group]:
            warnings.warn(
                f"{_owner(point)} registers '{point.name}' in the entry-point group {group}, which"
                f" cpsched ignores. Its groups: {', '.join(PLUG_INS.values())}",
                RuntimeWarning,
                stacklevel=2,
            )
    return others


def _is_ours(group: str) -> bool:
    return group.startswith("cpsched.")


@cache
def entries(group: str) -> Mapping[str, RegistryEntry]:
    """Return everything registered in a group by name; built-ins win over plug-ins."""
    own = BUILT_IN[group]
    listed = {name: RegistryEntry(name, target, "cpsched") for name, target in own.items()}
    listed |= _aliases(listed, ALIASES.get(group, {}))
    if group not in PLUG_INS:
        return dict(sorted(listed.items()))
    for point in _registered(tuple(sys.path)).get(PLUG_INS[group], ()):
        owner = _owner(point)
        if point.name not in listed:
            listed[point.name] = RegistryEntry(point.name, point.value, owner)
        elif listed[point.name].target != point.value:
            warnings.warn(
                f"{owner}: its {GROUPS[group]} '{point.name}' is ignored, as the name is taken",
                RuntimeWarning,
                stacklevel=2,
            )
    return dict(sorted(listed.items()))


def _aliases(
    listed: Mapping[str, RegistryEntry], aliases: Mapping[str, tuple[str, Mapping[str, str]]]
) -> dict[str, RegistryEntry]:
    """Return the entries of presets: names for others with some options."""
    return {
        alias: replace(listed[name], name=alias, of=name, preset_options=preset_options)
        for alias, (name, preset_options) in aliases.items()
    }


def names(group: str) -> list[str]:
    """Return the registered names of a group, sorted."""
    return list(entries(group))


def entry(group: str, name: str) -> RegistryEntry | None:
    """Return what is registered under a name, or a class of a module by ``module:Class``."""
    module, by_class, _ = name.partition(":")
    return RegistryEntry(name, name, module) if by_class else entries(group).get(name)


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
    registered = entry(group, name)
    if registered is None:
        raise UnknownNameError(GROUPS[group], name, entries(group))
    return registered.load_class(group) if ":" in name else registered.load()


def is_registered(name: str) -> bool:
    """Whether a name is registered in any group."""
    return any(name in entries(group) for group in GROUPS)


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown distribution"
