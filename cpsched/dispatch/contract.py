"""
The contract of a dispatcher: from what is known now to what starts now.

A dispatcher reads no clock, prints nothing and touches no files. Its memory between decisions is in
:meth:`Dispatcher.state`. Only :meth:`Dispatcher.decide` must be written; the methods after it
describe a decision for explanations, plans and forecasts, and their defaults are right for a
dispatcher without such descriptions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from cpsched.dispatch.answers import check_own_dispatcher
from cpsched.util.spec import RemembersArguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.native import NativeRule
    from cpsched.model.decision import Decision
    from cpsched.model.jobstore import JobStore
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


class WaitReason(StrEnum):
    """Reason why a waiting job does not start."""

    NO_ROOM = "no-room"
    """It does not fit into what is free."""
    OTHERS_START = "others-start"
    """It would fit, but jobs that start now take the free capacity."""
    RESERVATION = "reservation"
    """It would fit, but would delay a job with a reservation."""
    ORDER = "order"
    """It would fit, but a job ahead of it does not, and may not be overtaken."""
    NOT_CONSIDERED = "not-considered"
    """It would fit, but the dispatcher considers only some jobs, and this is not one of them."""
    NOT_SELECTED = "not-selected"
    """It would fit, but the dispatcher selected a set of jobs without it."""
    UNDECIDED = "undecided"
    """It would fit, but the dispatcher reached its limit without an answer: nothing starts."""
    PLANNED_LATER = "planned-later"
    """It would fit, but the dispatcher plans to start it later, or gives no reason."""
    LIMIT = "limit"
    """A limit on what may run at once holds it, or one on single jobs."""
    NEVER = "never-starts"
    """No end of another job, and no later second, lets it start."""


class Reservation(NamedTuple):
    """
    Planned start of one waiting job, as ``cpsched explain`` reports it.

    Attributes
    ----------
    handle
        Handle of the job.
    start
        The second of its planned start.
    nodes, units
        Indices of the planned nodes, and the number of tasks on each of them. None if no nodes are
        planned.
    """

    handle: int
    start: int
    nodes: IntArray | None = None
    units: IntArray | None = None


class Dispatcher(RemembersArguments, ABC):
    """
    Base class of dispatchers: decides which waiting jobs start now, and on which nodes.

    A subclass needs a ``name`` and :meth:`decide`.

    Attributes
    ----------
    name
        Name in tables and in ``cpsched list dispatchers``.
    family
        Heading of the dispatcher in ``cpsched list dispatchers --all``: its family, or its paper.
    good_for, goes_wrong_when
        Use and limits, a clause each for ``cpsched list dispatchers``. Empty: no such line.
    works_with
        ``restarts`` or ``malleable`` for a dispatcher that differs from others only if jobs may be
        restarted, or may change size.
    acts_when_idle
        Whether :meth:`decide` is called even when no job waits (for example to resize running
        jobs).
    selects_sets
        Whether each decision selects the best set of jobs to start now and plans no later starts. A
        job may then wait only because a set without it is better.
    keeps_places
        Whether the dispatcher can place jobs with segments or with a limit of switches (Slurm's
        ``--segment``, ``--switches``).
    allocator
        Object that chooses the nodes of its starts and planned starts. None: the dispatcher itself
        chooses them.
    interval
        Seconds between decisions, which are at multiples of this. None: a decision at every event.
        ``dispatch_interval`` of :class:`~cpsched.simulation.settings.Settings` takes precedence.
    """

    name: ClassVar[str] = ""
    family: ClassVar[str] = "others"
    good_for: ClassVar[str] = ""
    goes_wrong_when: ClassVar[str] = ""
    works_with: ClassVar[str] = ""
    acts_when_idle: bool = False
    selects_sets: bool = False
    keeps_places: bool = True
    allocator: Allocator | None = None
    interval: int | None = None

    def __init_subclass__(cls) -> None:
        """Have what a user's own class returns checked."""
        super().__init_subclass__()
        check_own_dispatcher(cls)

    def reset(self, system: System, seed: int) -> None:
        """
        Clear all memory of earlier decisions and prepare for a system, before a run starts.

        Parameters
        ----------
        system
            The system of the run.
        seed
            Seed of all random choices of the dispatcher.
        """

    @abstractmethod
    def decide(self, view: View) -> Decision:
        """Return the jobs to start now and any other actions, given the state of the system."""

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """
        Return compiled code that makes the decisions of :meth:`decide`, or None if there is none.

        The simulator calls it instead of :meth:`decide` if no observer needs each decision. A
        subclass of a class with such code does not inherit it, because it may decide differently.

        Parameters
        ----------
        store
            Job store, with a row for every submitted job.
        num_jobs
            Number of jobs in the simulation.
        """
        return None

    def state(self) -> Mapping[str, Any]:
        """
        Return everything that later decisions depend on, as arrays and scalars by name.

        A checkpoint contains this mapping, so that an interrupted simulation continues unchanged.
        """
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore the memory that :meth:`state` returned, after :meth:`reset`.

        The digest of a checkpoint is checked before this call.

        Raises
        ------
        ValueError
            If the mapping is invalid.
        """

    def ranking(self, view: View) -> IntArray | None:  # noqa: ARG002
        """
        Return the waiting jobs in the order in which the dispatcher considers them.

        Returns
        -------
        ndarray or None
            Rows of the job store. None if the dispatcher has no order.
        """
        return None

    def considered(self, view: View) -> IntArray | None:  # noqa: ARG002
        """
        Return the waiting jobs that the dispatcher considers now, such as those of its window.

        Returns
        -------
        ndarray or None
            Rows of the job store. None: all waiting jobs.
        """
        return None

    def not_considered(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        row: int,  # noqa: ARG002
    ) -> str:
        """
        Return the window, depth or interval that excludes a waiting job, in words.

        For example ``only the first 20 of 35 waiting jobs are planned (window=20)``. Empty for a
        job that is considered, and if :meth:`considered` explains the exclusion completely.

        Parameters
        ----------
        view, decision
            The view and the decision, before the decision is carried out.
        row
            Row of the job in the job store.
        """
        return ""

    def barring(self, view: View, row: int) -> IntArray | None:  # noqa: ARG002
        """
        Return the waiting jobs that a given job may not overtake, as rows of the job store.

        None: all jobs before it in the order of :meth:`ranking`. Jobs after it in that order are
        ignored.

        Parameters
        ----------
        row
            Row of the given job in the job store.
        """
        return None

    def reservation_view(self, view: View) -> View:
        """
        Return the view with the runtimes and expected ends that reservations are based on.

        These differ from the given view if a dispatcher predicts runtimes for the order of the
        queue and reserves by requested times. By default the given view.
        """
        return view

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:  # noqa: ARG002
        """
        Return the reservations of waiting jobs. By default the ``planned_starts`` of the decision.
        """
        plan = decision.planned_starts
        if plan is None:
            return ()
        return [
            Reservation(int(handle), int(start), plan.nodes.get(handle), plan.units.get(handle))
            for handle, start in zip(plan.handle, plan.start, strict=True)
        ]

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        row: int,  # noqa: ARG002
        derived: WaitReason,
    ) -> WaitReason:
        """
        Return the reason why a job waits although it fits on the nodes that the starts leave free.

        Parameters
        ----------
        view, decision
            The view and the decision, before the decision is carried out.
        row
            Row of the job in the job store.
        derived
            The default result. It follows from :meth:`considered`, :meth:`reservations`,
            ``selects_sets`` and :meth:`ranking`, in this order.
        """
        return derived

    def wait_note(self, row: int) -> str:  # noqa: ARG002
        """
        Return a note about why a job waits, such as the limit that stops it, after a decision.

        For example ``rule 'core per user at most 64': 60 of 64 in use, it asks for 8``. Empty if
        there is none.

        Parameters
        ----------
        row
            Row of the job in the job store.
        """
        return ""

    def never_starts(self, view: View) -> Mapping[int, str]:  # noqa: ARG002
        """
        Return the reasons why some waiting jobs can never start, by row of the job store.

        For example ``{7: "QOSMaxWallDurationPerJobLimit"}``. When no other event is left, these
        jobs leave the queue and are counted as never started.
        """
        return {}

    def on_epoch(self, epoch: int | None) -> None:
        """
        Set the Unix time of second 0 of the simulation. Called before :meth:`reset`.

        Parameters
        ----------
        epoch
            Unix time, seconds. None if the log does not state it.
        """
