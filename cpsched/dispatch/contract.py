"""
The contract of a dispatcher: from what is known now to what starts now.

A dispatcher reads no clock, prints nothing and touches no file. What it remembers between
decisions is in :meth:`Dispatcher.state`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from cpsched.arguments import RemembersArguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.model.view import View


class Dispatcher(RemembersArguments, ABC):
    """
    Decides which jobs start now, and where.

    Attributes
    ----------
    name
        As registered.
    acts_when_idle
        Whether it wants to be asked when no job waits (to resize running ones, say).
    chooses_together
        Whether it chooses among sets of jobs to start now, and plans nobody else. Then a job may
        wait for no other reason than that a set without it is better.
    interval
        Seconds of the grid on which it decides where nobody says otherwise; None: at every event.
        Who runs it may choose another grid, so it is a wish and not a promise.
    """

    name: ClassVar[str]
    acts_when_idle: ClassVar[bool] = False
    chooses_together: ClassVar[bool] = False
    interval: int | None = None

    def reset(self, system: System, seed: int) -> None:
        """Forget everything and prepare for a system, before a run starts."""

    @abstractmethod
    def decide(self, view: View) -> Decision:
        """Answer one view."""

    def looked_at(self, view: View) -> IntArray | None:  # noqa: ARG002
        """Return the rows of the job store that it looks at now; None where it does not say."""
        return None

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered between decisions, as arrays and scalars."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
