"""Dispatchers that leave most decisions to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.dispatch.contract import Dispatcher
from cpsched.errors import ConfigError
from cpsched.util.spec import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.dispatch.contract import Reservation, WaitReason
    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray


class Wrapper(Dispatcher):
    """
    Asks another dispatcher, whom it may show another view.

    Write :meth:`decide`, and :meth:`shown` if that is not the view itself. All that describes a
    decision is asked of the other dispatcher.

    Parameters
    ----------
    dispatcher
        The other one, as it is asked for, or itself.

    Raises
    ------
    ConfigError
        If it is one of the same kind.
    """

    def __init__(self, dispatcher: str | Dispatcher) -> None:
        self.inner = dispatcher if isinstance(dispatcher, Dispatcher) else _made(dispatcher)
        if type(self.inner) is type(self):
            raise ConfigError(f"is {dispatcher}, must be another dispatcher", key="dispatcher")
        self.allocator = self.inner.allocator
        self.selects_sets = self.inner.selects_sets
        self.keeps_places = self.inner.keeps_places
        self.interval = self.inner.interval
        self.acts_when_idle = self.inner.acts_when_idle

    def shown(self, view: View) -> View:
        """Return what the other dispatcher is shown."""
        return view

    def on_epoch(self, epoch: int | None) -> None:
        """Tell the other dispatcher the Unix time of second 0."""
        self.inner.on_epoch(epoch)

    def reset(self, system: System, seed: int) -> None:
        """Prepare the other dispatcher for a system."""
        self.inner.reset(system, seed)

    def state(self) -> Mapping[str, Any]:
        """Return what the other dispatcher remembers."""
        return {"inner": dict(self.inner.state())}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self.inner.restore(state.get("inner", {}))

    def ranking(self, view: View) -> IntArray | None:
        """Return the other dispatcher's order."""
        return self.inner.ranking(self.shown(view))

    def considered(self, view: View) -> IntArray | None:
        """Return the jobs that the other dispatcher considers."""
        return self.inner.considered(self.shown(view))

    def not_considered(self, view: View, decision: Decision, row: int) -> str:
        """Return why the other dispatcher does not consider a job."""
        return self.inner.not_considered(self.shown(view), decision, row)

    def barring(self, view: View, row: int) -> IntArray | None:
        """Return the jobs that a job may not overtake under the other dispatcher."""
        return self.inner.barring(self.shown(view), row)

    def reservation_view(self, view: View) -> View:
        """Return the view that the other dispatcher's reservations go by."""
        return self.inner.reservation_view(self.shown(view))

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:
        """Return what the other dispatcher reserves."""
        return self.inner.reservations(self.shown(view), decision)

    def wait_reason(
        self, view: View, decision: Decision, row: int, derived: WaitReason
    ) -> WaitReason:
        """Return the other dispatcher's reason."""
        return self.inner.wait_reason(self.shown(view), decision, row, derived)

    def wait_note(self, row: int) -> str:
        """Return the other dispatcher's note on a job's wait."""
        return self.inner.wait_note(row)

    def never_starts(self, view: View) -> Mapping[int, str]:
        """Return why the other dispatcher will never start some jobs."""
        return self.inner.never_starts(self.shown(view))


def _made(dispatcher: str) -> Dispatcher:
    made: Dispatcher = build("dispatchers", dispatcher)
    return made
