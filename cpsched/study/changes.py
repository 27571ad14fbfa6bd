"""Changes for what-if studies: to a machine, to the jobs of a log, and to events."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from cpsched.errors import ConfigError
from cpsched.util.spec import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.simulation.simulate import Settings

_Thing = TypeVar("_Thing")


class Change:
    """
    Base class of the changes in a what-if scenario, such as ``add-nodes``.

    Subclasses override at least one of the methods ``of_...``. A scenario names a class of your own
    by ``module:Class``.
    """

    name: ClassVar[str]

    @classmethod
    def written(cls, text: str, second: Callable[[str], int]) -> str:  # noqa: ARG003
        """
        Return the options of a change as ``KEY=VALUE,...``, given the text that the user wrote.

        For example ``QUEUE=H:MM:SS`` of ``max-time`` becomes ``queue=QUEUE,time=H:MM:SS``.

        Parameters
        ----------
        text
            The text after the change's name: options, or a short form of them.
        second
            Function that returns the second of the log's clock at a date. Options contain seconds.

        Raises
        ------
        ValueError
            If the text is invalid.
        """
        return text

    def of_system(self, system: System) -> System:
        """
        Return the system of the scenario, given that of the baseline.

        Raises
        ------
        ConfigError
            If the system lacks the object of the change, such as a node group.
        """
        return system

    def of_workload(self, workload: Workload, system: System) -> Workload:  # noqa: ARG002
        """
        Return the jobs of the scenario, given those of the baseline and the system of the scenario.

        Raises
        ------
        ConfigError
            If the log lacks the object of the change, such as a queue.
        """
        return workload

    def of_settings(self, settings: Settings) -> Settings:
        """
        Return the settings of runs of the scenario, given those of the baseline.

        Raises
        ------
        ConfigError
            If the baseline already sets the same option to another value.
        """
        return settings


def after(
    changes: Iterable[str], thing: _Thing, made: Callable[[Change, _Thing], _Thing]
) -> _Thing:
    """
    Return a thing after some changes, by their specifications, one after the other.

    Raises
    ------
    ConfigError
        If one cannot be made; names it.
    """
    for text in changes:
        change = cast("Change", build("changes", text))
        try:
            thing = made(change, thing)
        except ConfigError as error:
            raise ConfigError(str(error), where=text) from error
    return thing


def changed_system(system: System, changes: Iterable[str]) -> System:
    """Return a machine after some changes; errors as of :func:`after`."""
    return after(changes, system, lambda change, machine: change.of_system(machine))


def changed_workload(workload: Workload, system: System, changes: Iterable[str]) -> Workload:
    """
    Return the jobs after some changes, by their specifications, one after the other.

    Raises
    ------
    ConfigError
        If one cannot be made, or leaves no job; names it.
    """

    def made(change: Change, jobs: Workload) -> Workload:
        left = change.of_workload(jobs, system)
        if not len(left):
            raise ConfigError("leaves no job of the log")
        return left

    return after(changes, workload, made)
