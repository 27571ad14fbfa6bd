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
    Base class of what watches a simulation; ``job`` is a handle, times are seconds.

    Hooks are called after the thing has happened. They must not change anything.

    Attributes
    ----------
    native
        What the event loop tells of starts and of native decisions, without Python; None for an
        observer that is told by :meth:`on_start` and :meth:`on_decision`. With one of the latter,
        every decision is made by Python.
    """

    native: _core.NativeObserver | None = None

    def on_begin(self, dispatcher: Dispatcher) -> None:
        """Everything is prepared, and nothing has happened."""

    def on_submit(self, first: int, end: int, now: int) -> None:
        """Jobs ``[first, end)`` were submitted."""

    def on_start(self, job: int, allocation: Allocation, now: int) -> None:
        """A job started."""

    def on_resize(self, job: int, allocation: Allocation, now: int) -> None:
        """A running job continues on other nodes; called after :meth:`on_leave`."""

    def on_leave(self, job: int, since: int, now: int, why: int) -> None:
        """
        A job left the nodes that it had held since a second, before its end.

        ``why`` is a :class:`~cpsched.model.schedule.Leaving`.
        """

    def on_end(self, job: int, outcome: int, now: int) -> None:
        """A job ended with an :class:`~cpsched.simulation.simulator.JobOutcome`."""

    def on_decision(self, view: View, decision: Decision, seconds: float) -> None:
        """
        A dispatcher decided, in a number of seconds; called before its actions are carried out.
        """

    def on_progress(self, ended: int, waiting: int, now: int) -> None:
        """Numbers of ended and waiting jobs; called every few instants, or less often."""

    def on_instant(self, now: int) -> None:
        """Everything at this second is done."""


#: The methods that an observer may have.
HOOKS = tuple(name for name in vars(Observer) if name.startswith("on_"))


class RunObserver(Observer):
    """
    An observer that ``simulate --observe NAME:KEY=VALUE,...`` asks for; it watches one run.

    Its options are the parameters of its constructor; the name is an entry point in the group
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
        Hold what the observer needs open, files for example, while the run is simulated.

        Entered before anything is simulated, and left after the run has ended or failed.

        Parameters
        ----------
        dispatcher
            One like the run's, for what it is and not for what it does: :meth:`on_begin` is given
            the run's own.
        job_ids
            The jobs' names, by handle.
        overwrite
            Whether files that exist may be replaced.

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
