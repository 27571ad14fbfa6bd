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
    """Why a waiting job does not start."""

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
    Planned start of a waiting job.

    Attributes
    ----------
    handle
        Handle of the job.
    start
        The second of its planned start.
    nodes, units
        Node indices, and the number of tasks on each of them. None if no nodes are planned.
    """

    handle: int
    start: int
    nodes: IntArray | None = None
    units: IntArray | None = None


class Dispatcher(RemembersArguments, ABC):
    """
    Base class of dispatchers: decides which jobs start now, and on which nodes.

    Attributes
    ----------
    name
        Its registered name.
    family
        Heading in ``cpsched list dispatchers --all``: its family, or its paper.
    good_for, goes_wrong_when
        Use and limits, a clause each for ``cpsched list dispatchers``. Empty: none.
    works_with
        ``restarts`` or ``malleable`` for a dispatcher that differs from others only if jobs may be
        restarted, or may change size.
    acts_when_idle
        Whether it is called even when no job waits (for example to resize running jobs).
    selects_sets
        Whether it selects sets of jobs to start now and plans no others. A job may then wait only
        because a set without it is better.
    keeps_places
        Whether it keeps requested segments and switch limits.
    allocator
        Allocator of its starts and planned starts. None: it places jobs itself.
    interval
        Seconds of the grid of its decisions. None: at every event. The caller may choose another
        grid.
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
        """Clear all memory and prepare for a system, before a run starts."""

    @abstractmethod
    def decide(self, view: View) -> Decision:
        """Return the decision for one view."""

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """
        Return the native rule that the event loop calls instead of :meth:`decide`, or None.

        It makes the same decisions without Python, and is called only if no observer sees each
        decision. A subclass of a class with a native rule has none, because it may decide
        differently.

        Parameters
        ----------
        store
            The submitted jobs.
        num_jobs
            Number of jobs in the simulation.
        """
        return None

    def state(self) -> Mapping[str, Any]:
        """Return the memory between decisions, as arrays and scalars."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore the result of :meth:`state`; raise a ValueError if it is invalid.

        An altered checkpoint is refused before, by its digest.
        """

    def ranking(self, view: View) -> IntArray | None:  # noqa: ARG002
        """Return the waiting jobs in its order, as rows of the job store. None: no order."""
        return None

    def considered(self, view: View) -> IntArray | None:  # noqa: ARG002
        """Return the jobs that it considers now, as rows of the job store. None: all waiting."""
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
        job that it considers, and where :meth:`considered` is the whole reason.

        Parameters
        ----------
        view, decision
            The view and the decision, before it is carried out.
        row
            The job's row of the job store.
        """
        return ""

    def barring(self, view: View, row: int) -> IntArray | None:  # noqa: ARG002
        """
        Return the waiting jobs that a job may not overtake, as rows of the job store.

        None: all jobs before it in the order. Jobs behind it in the order do not matter.
        """
        return None

    def reservation_view(self, view: View) -> View:
        """Return the view with the runtimes and expected ends used for reservations."""
        return view

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:  # noqa: ARG002
        """Return the reservations of waiting jobs, by default the decision's ``planned_starts``."""
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
        Return the reason why a job waits although it fits in addition to all starts.

        Parameters
        ----------
        view, decision
            The view and the decision, before it is carried out.
        row
            The job's row of the job store.
        derived
            The reason that follows from :meth:`considered`, :meth:`reservations`,
            ``selects_sets`` and :meth:`ranking`, in this order.
        """
        return derived

    def wait_note(self, row: int) -> str:  # noqa: ARG002
        """
        Return a note on a job's wait, such as the limit that stops it.

        It is of the last decision. Empty if there is none.
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
        """Set the Unix time of second 0, if known; called before :meth:`reset`."""
