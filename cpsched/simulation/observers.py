"""Observers of a simulation: hooks that do nothing unless overridden."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cpsched import _core
    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Decision
    from cpsched.model.view import View


class Observer:
    """
    Base class of observers of a simulation. ``job`` is a handle, times are seconds.

    Methods are called after each event. They must not change anything.

    Attributes
    ----------
    native
        Native observer that the event loop calls for starts and native decisions, without Python.
        None for an observer with :meth:`on_start` and :meth:`on_decision`. With the latter, every
        decision is made by Python.
    """

    native: _core.NativeObserver | None = None

    def on_begin(self, dispatcher: Dispatcher) -> None:
        """Called when everything is prepared, before the first event."""

    def on_submit(self, first: int, end: int, now: int) -> None:
        """Called when jobs ``[first, end)`` were submitted."""

    def on_start(self, job: int, allocation: Allocation, now: int) -> None:
        """Called when a job started."""

    def on_resize(self, job: int, allocation: Allocation, now: int) -> None:
        """Called when a running job continues on other nodes, after :meth:`on_leave`."""

    def on_leave(self, job: int, since: int, now: int, why: int) -> None:
        """
        Called when a job left its nodes before its end, with the second since which it had them.

        ``why`` is a :class:`~cpsched.model.schedule.Leaving`.
        """

    def on_end(self, job: int, outcome: int, now: int) -> None:
        """Called when a job ended, with an :class:`~cpsched.simulation.simulator.JobOutcome`."""

    def on_decision(self, view: View, decision: Decision, seconds: float) -> None:
        """Called after a decision, with its seconds, before its actions are carried out."""

    def on_progress(self, ended: int, waiting: int, now: int) -> None:
        """Called every few instants with the numbers of ended and waiting jobs."""

    def on_instant(self, now: int) -> None:
        """Called when all events of this second are done."""


#: The methods that an observer may have.
HOOKS = tuple(name for name in vars(Observer) if name.startswith("on_"))


class RunObserver(Observer):
    """
    Base class of observers for ``simulate --observe NAME:KEY=VALUE,...``, of one run each.

    The options are the parameters of the constructor. The name is an entry point in the group
    ``cpsched.observers``.
    """

    @contextmanager
    def opened(
        self,
        dispatcher: Dispatcher,  # noqa: ARG002
        job_ids: Sequence[str],  # noqa: ARG002
        *,
        overwrite: bool,  # noqa: ARG002
    ) -> Iterator[None]:
        """
        Open the files of the observer for the time of the simulation.

        The context is entered before the simulation, and left after the run has ended or failed.

        Parameters
        ----------
        dispatcher
            A dispatcher like the run's, for its properties only. :meth:`on_begin` receives the
            run's own.
        job_ids
            Names of the jobs, by handle.
        overwrite
            Whether existing files may be replaced.

        Raises
        ------
        ConfigError
            If this run cannot be observed.
        """
        yield


def hooks(observers: tuple[Observer, ...], name: str) -> tuple[Callable[..., None], ...]:
    """Return the observers' methods of a name, without those that do nothing."""
    base = getattr(Observer, name)
    return tuple(
        getattr(observer, name)
        for observer in observers
        if getattr(type(observer), name, None) is not base
    )
