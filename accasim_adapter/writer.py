"""AccaSim's schedule file without its writer, which takes most of its time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from accasim_adapter.additional import Hooks
from accasim_adapter.text import UNKNOWN, JobLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accasim_adapter.package import Event


class ScheduleWriter(Hooks):
    """
    Writes the ``sched-`` file of a simulation as jobs end.

    AccaSim forks a process from a thread for this, and looks up the type of every attribute by name
    for every job; on systems without fork, its processes lack its settings. Turn its own output
    off: ``Simulator(..., scheduling_output=False, additional_data=[ScheduleWriter(path)])``.

    Parameters
    ----------
    path
        The ``sched-`` file; replaced if it exists; its folder is created if necessary.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        # Closed when the simulation ends.
        self._schedule = Path(path).open("w", encoding="utf-8")  # noqa: SIM115

    def begin(self, event_manager: Any) -> None:
        """Take the names of AccaSim's nodes."""
        names = event_manager.resource_manager.node_names
        self._number_of = {name: name.split("_")[1] for name in names}

    def exec_after_completion(self, removed_jobs: Sequence[Event]) -> None:
        """Write the lines of jobs that have just ended."""
        for job in removed_jobs:
            assert job.start_time is not None  # it has ended
            assert job.end_time is not None
            memory = getattr(job, "mem", None)
            line = JobLine(
                job_id=job.id,
                user=getattr(job, "user_id", None),
                queued=job.queued_time,
                start=job.start_time,
                end=job.end_time,
                nodes=[self._number_of[name] for name in job.assigned_nodes],
                units=job.requested_nodes,
                cores=getattr(job, "core", UNKNOWN),
                memory=UNKNOWN if memory is None else memory,
                request=job.requested_resources.values(),
                requested_time=job.expected_duration,
            )
            self._schedule.write(line.schedule())

    def stop(self) -> None:
        """Close the file; called by AccaSim when the simulation ends."""
        self._schedule.close()
