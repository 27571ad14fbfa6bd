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
    A waiting job's planned start.

    Attributes
    ----------
    handle
        Which job.
    start
        The second it is planned to start.
    nodes, units
        Node indices and the units on each of them; None where that is open.
    """

    handle: int
    start: int
    nodes: IntArray | None = None
    units: IntArray | None = None


class Dispatcher(RemembersArguments, ABC):
    """
    Decides which jobs start now, and where.

    Attributes
    ----------
    name
        As registered.
    family
        Below what ``cpsched list dispatchers --all`` names it: its kind, or its paper.
    good_for, goes_wrong_when
        When to use it and when not, a clause each for ``cpsched list dispatchers``; empty: none.
    works_with
        ``restarts`` or ``malleable`` for a dispatcher that differs from others only if jobs may be
        restarted, or may change size.
    acts_when_idle
        Whether it is called even when no job waits (for example to resize running ones).
    selects_sets
        Whether it chooses among sets of jobs to start now and plans no others. Then a job may wait
        only because a set without it is better.
    keeps_places
        Whether it satisfies requested segments and switch limits.
    allocator
        Places its jobs, the planned ones too; None: it does so without one.
    interval
        Seconds of the grid on which it decides; None: at every event. The caller may choose
        another grid.
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
        """Forget everything and prepare for a system, before a run starts."""

    @abstractmethod
    def decide(self, view: View) -> Decision:
        """Answer one view."""

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """
        Return what the event loop asks instead of :meth:`decide`; None if there is nothing.

        It decides the same without Python, and is asked only where nobody sees each decision. A
        class that derives from one with a native rule may decide differently: it has none.

        Parameters
        ----------
        store
            The jobs that have been submitted.
        num_jobs
            All jobs of the simulation.
        """
        return None

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered between decisions, as arrays and scalars."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore what :meth:`state` returned; raise a ValueError if it is not valid.

        An altered checkpoint is refused before, by its digest.
        """

    def ranking(self, view: View) -> IntArray | None:  # noqa: ARG002
        """Return the waiting jobs' rows of the job store in its order; None: it has no order."""
        return None

    def considered(self, view: View) -> IntArray | None:  # noqa: ARG002
        """Return the rows of the job store that it considers for a start now; None: all waiting."""
        return None

    def not_considered(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        row: int,  # noqa: ARG002
    ) -> str:
        """
        Return which window, depth or interval keeps it from considering a waiting job.

        For example ``only the first 20 of 35 waiting jobs are planned (window=20)``; '' for a job
        that it considers, and where :meth:`considered` says all there is to say.

        Parameters
        ----------
        view, decision
            What it was shown and what it answered, before that is carried out.
        row
            The job's row of the job store.
        """
        return ""

    def barring(self, view: View, row: int) -> IntArray | None:  # noqa: ARG002
        """
        Return the rows of the waiting jobs that a job may not overtake where they do not start.

        None: all that are before it in the order. Those behind it in the order do not count.
        """
        return None

    def reservation_view(self, view: View) -> View:
        """Return the view with the runtimes and expected ends that its reservations go by."""
        return view

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:  # noqa: ARG002
        """Return what it reserves for waiting jobs; by default the plan of its decision."""
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
        Return why a job waits for which there is room beside all that start.

        Parameters
        ----------
        view, decision
            What it was shown and what it answered, before that is carried out.
        row
            The job's row of the job store.
        derived
            The reason that follows from :meth:`considered`, :meth:`reservations`,
            ``selects_sets`` and :meth:`ranking`, in this order.
        """
        return derived

    def wait_note(self, row: int) -> str:  # noqa: ARG002
        """
        Return an additional note on a job's wait, such as the limit that holds it.

        As of its last decision; '' if there is none.
        """
        return ""

    def never_starts(self, view: View) -> Mapping[int, str]:  # noqa: ARG002
        """
        Return why it will never start some waiting jobs, whatever ends, by row of the job store.

        For example ``{7: "QOSMaxWallDurationPerJobLimit"}``. Once nothing else is left to happen,
        they leave the queue and are counted as never started.
        """
        return {}

    def on_epoch(self, epoch: int | None) -> None:
        """Receive the Unix time of second 0, if known; called before :meth:`reset`."""
