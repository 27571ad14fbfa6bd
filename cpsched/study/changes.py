"""What could be otherwise: changes to a machine, to the jobs of a log, and to what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from cpsched.errors import ConfigError
from cpsched.spec import build

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.simulation.simulate import Settings


class Change:
    """
    One change; registered under ``cpsched.changes``.

    Subclasses override one of the methods, or more.
    """

    name: ClassVar[str]

    def of_system(self, system: System) -> System:
        """
        Return the machine as it would be.

        Raises
        ------
        ConfigError
            If the machine has not what is to be changed.
        """
        return system

    def of_workload(self, workload: Workload, system: System) -> Workload:  # noqa: ARG002
        """
        Return the jobs as they would be, on the machine as it would be.

        Raises
        ------
        ConfigError
            If the log has not what is to be changed.
        """
        return workload

    def of_settings(self, settings: Settings) -> Settings:
        """
        Return the settings of runs as they would be.

        Raises
        ------
        ConfigError
            If they say something else already.
        """
        return settings


def _made(changes: Iterable[str]) -> list[tuple[str, Change]]:
    return [(text, cast("Change", build("changes", text))) for text in changes]


def changed_system(system: System, changes: Iterable[str]) -> System:
    """
    Return a machine after some changes, by their specifications, one after the other.

    Raises
    ------
    ConfigError
        If one cannot be made; names it.
    """
    for text, change in _made(changes):
        try:
            system = change.of_system(system)
        except ConfigError as error:
            raise ConfigError(str(error), where=text) from error
    return system


def changed_settings(settings: Settings, changes: Iterable[str]) -> Settings:
    """
    Return the settings of runs after some changes, by their specifications.

    Raises
    ------
    ConfigError
        If one cannot be made; names it.
    """
    for text, change in _made(changes):
        try:
            settings = change.of_settings(settings)
        except ConfigError as error:
            raise ConfigError(str(error), where=text) from error
    return settings


def changed_workload(workload: Workload, system: System, changes: Iterable[str]) -> Workload:
    """
    Return the jobs after some changes, by their specifications, one after the other.

    Raises
    ------
    ConfigError
        If one cannot be made, or leaves no job; names it.
    """
    for text, change in _made(changes):
        try:
            workload = change.of_workload(workload, system)
        except ConfigError as error:
            raise ConfigError(str(error), where=text) from error
        if not len(workload):
            raise ConfigError("leaves no job of the log", where=text)
    return workload
