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
    Base class of observers, whose methods the simulator calls at submits, starts, ends and
    decisions.

    Override the methods of interest. They must not change anything. ``job`` is the handle of a job,
    and ``now`` is the present second.

    Attributes
    ----------
    native
        Compiled observer that the simulator calls for starts and compiled decisions. None for an
        observer with :meth:`on_start` and :meth:`on_decision`. If one has the latter, every
        decision is made by Python.
    """

    native: _core.NativeObserver | None = None

    def on_begin(self, dispatcher: Dispatcher) -> None:
        """Called once before the first event, with the dispatcher of the run."""

    def on_submit(self, first: int, end: int, now: int) -> None:
        """Called after the submission of jobs with handles in ``[first, end)``."""

    def on_start(self, job: int, allocation: Allocation, now: int) -> None:
        """Called after the start of a job on its nodes."""

    def on_resize(self, job: int, allocation: Allocation, now: int) -> None:
        """
        Called after a running job has moved to other nodes. :meth:`on_leave` is called before.
        """

    def on_leave(self, job: int, since: int, now: int, why: int) -> None:
        """
        Called after a job has left its nodes before its end, by a resize, requeue or suspension.

        Parameters
        ----------
        since
            The second since which the job had these nodes.
        why
            A :class:`~cpsched.model.schedule.Leaving` code.
        """

    def on_end(self, job: int, outcome: int, now: int) -> None:
        """
        Called after the end of a job, with its :class:`~cpsched.model.schedule.JobOutcome` code.
        """

    def on_decision(self, view: View, decision: Decision, seconds: float) -> None:
        """
        Called after each decision of the dispatcher, before its actions are carried out.

        Parameters
        ----------
        seconds
            Computing time of the decision.
        """

    def on_progress(self, ended: int, waiting: int, now: int) -> None:
        """Called from time to time with the numbers of ended and waiting jobs."""

    def on_instant(self, now: int) -> None:
        """Called after all events of a second."""


#: The methods that an observer may have.
HOOKS = tuple(name for name in vars(Observer) if name.startswith("on_"))


class RunObserver(Observer):
    """
    Base class of observers that ``simulate --observe NAME:KEY=VALUE,...`` names, one for each run.

    The options are the parameters of the constructor. The name of a class of your own is
    ``module:Class``.
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
        Return a context in which the observer's files are open.

        The context is entered before the simulation, and left after the run has ended or failed.

        Parameters
        ----------
        dispatcher
            A dispatcher like that of the run, for its properties only. :meth:`on_begin` receives
            the run's own.
        job_ids
            Ids of the jobs in the log, by handle.
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
