"""The attributes of an AccaSim job that are read, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError, InfeasibleRequestError
from cpsched.util.types import Status

if TYPE_CHECKING:
    from accasim_adapter.package import Event
    from cpsched.model.system import System

#: Attribute of a job under which :class:`~accasim_adapter.predictor.CpschedPredictor` leaves a
#: :class:`Predicted`.
PREDICTED = "cpsched_predicted"


class Predicted(NamedTuple):
    """A job's requested time, and what is predicted as ``Cluster.submit`` takes it; seconds."""

    requested_time: int
    answers: tuple[Any, ...]


def predicted_of(job: Event) -> Predicted | None:
    """Return what a predictor stored in a job, or None."""
    return getattr(job, PREDICTED, None)


def request_of(job: Event, system: System) -> Request:
    """
    Return what a job asks for.

    Raises
    ------
    InfeasibleRequestError
        If it asks for no units.
    ConfigError
        If it has no requested time, and neither its queue nor the system has a default.
    """
    units = job.requested_nodes
    if units < 1:
        raise InfeasibleRequestError(job.id, f"asks for {units} units, must be 1 or more")
    queue = _text(getattr(job, "queue", None))
    queue = system.log.queues.get(queue, queue)
    left = predicted_of(job)
    requested = job.expected_duration if left is None else left.requested_time
    return Request(
        requested_time=requested if requested >= 1 else _default_time(job, queue, system),
        units=units,
        resources=job.requested_resources,
        queue=queue,
        user=_text(getattr(job, "user_id", None)),
        name=_text(getattr(job, "executable", None)),
        group=_text(getattr(job, "group_id", None)),
    )


def status_of(job: Event) -> Status:
    """Return how a job ended; call this only for an ended job."""
    code: Any = getattr(job, "status", None)
    try:
        return Status(code)
    except ValueError:
        return Status.UNKNOWN


def _default_time(job: Event, queue: str, system: System) -> int:
    own = system.queues.get(queue)
    seconds = (own.default_time or own.max_time) if own is not None else None
    seconds = seconds or system.default_time
    if seconds is None:
        raise ConfigError(
            f"job {job.id} has no requested time (expected_duration is"
            f" {job.expected_duration}). Set default_time for such jobs.",
            where="AccaSim",
        )
    return seconds


def _text(value: object) -> str:
    """Return a user, queue, ... as text; AccaSim keeps the -1 of its logs."""
    return "" if value is None or value == -1 else str(value)
