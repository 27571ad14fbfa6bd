"""
What AccaSim calls additional data: objects that it notifies of events, here without any action.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accasim_adapter.package import AdditionalData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accasim_adapter.package import Event


class Hooks(AdditionalData):  # type: ignore[misc]
    """
    Every hook AccaSim wants, doing nothing.

    AccaSim passes jobs to the submission hooks when it loads them, before they are submitted; these
    hooks ignore them.
    """

    def set_event_manager(self, event_manager: Any) -> None:
        """
        Take AccaSim's event manager.

        Its simulator passes None first and the event manager later, and its own base class does not
        accept None.
        """
        if event_manager is not None and event_manager is not self.event_mapper:
            # Its base class keeps the first one it gets, even in the next simulation.
            self.event_mapper: Any = None
            super().set_event_manager(event_manager)
            self.begin(event_manager)

    def begin(self, event_manager: Any) -> None:
        """Do nothing before the simulation."""

    def _ignore(self, *arguments: Any, **more: Any) -> None:
        """Do nothing."""

    exec_before_submission: Any = _ignore
    exec_after_submission: Any = _ignore
    exec_before_dispatching: Any = _ignore
    exec_after_dispatching: Any = _ignore
    exec_before_completion: Any = _ignore
    exec_after_completion: Any = _ignore
    stop: Any = _ignore


class DispatchAgain(Hooks):
    """
    Makes AccaSim call the dispatcher again at a second at which a job of duration 0 has ended.

    AccaSim frees the job's nodes at once, but leaves them idle until the next event. cpsched calls
    the dispatcher again at the same second.
    """

    def exec_after_completion(self, removed_jobs: Sequence[Event]) -> None:
        """Add the present second as an event time."""
        if any(job.start_time == job.end_time for job in removed_jobs):
            self.event_mapper.time_points.add(self.event_mapper.current_time)
