"""
What both sides agree on before they begin, and the messages between them (Figure 4.2 of the
thesis) and from the machine to them.

All sizes are numbers of a job's identical units (the thesis' nodes). What a unit takes of the
machine is counted in *slots*: one, where all units are alike. Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cpsched.errors import check_least, check_range
from cpsched.model.speedup import seconds_on


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiationSettings:
    """
    Settings of a negotiation; none of them is published.

    Attributes
    ----------
    attempts
        ``MAX_NEGOTIATION_ATTEMPTS``: the answer to the last offer is accepted by both sides,
        whatever it is.
    depth, mapped_share
        As for :class:`~cpsched.papers.dn_dbes.dispatcher.DnDbes`.

    Raises
    ------
    ConfigError
        If a value is invalid.
    """

    attempts: int = 6
    depth: int = 10
    mapped_share: float = 1 / 3

    def __post_init__(self) -> None:
        check_least("attempts", self.attempts, 1)
        check_least("depth", self.depth, 1)
        check_range("mapped_share", self.mapped_share, 0, 1)

    def step(self, units: int, least: int) -> int:
        """Return by how many units a job gives way at a time, at least one (section 5.2)."""
        return max((units - least) // self.attempts, 1)

    def is_early(self, attempt: int) -> bool:
        """Return whether an attempt is in the first half, in which both sides are demanding."""
        return 2 * attempt <= self.attempts


# --- jobs ----------------------------------------------------------------------------------------


class WaitingJob(NamedTuple):
    """
    A job in the queue.

    Attributes
    ----------
    job
        Its number.
    priority
        The larger, the more it counts.
    units_min, units_max
        Units it may be started with.
    preferred, seconds, serial
        The units its runtime is of, the runtime expected on them, and the millionths of its work
        that its units do not share.
    slots
        What one unit takes of the machine.
    urgent
        Whether it has to start at once.
    """

    job: int
    priority: int
    units_min: int
    units_max: int
    preferred: int
    seconds: int
    serial: int = 0
    slots: int = 1
    urgent: bool = False

    def seconds_on(self, units: int) -> int:
        """Return the runtime that is expected on some units."""
        return seconds_on(units, self.seconds, self.preferred, self.serial)


class ForwardedJob(NamedTuple):
    """
    A job as the batch side forwards it: a job mapping and its constraint (section 5.1).

    Attributes
    ----------
    units
        What it is mapped to; 0 if it is only forwarded, so that it keeps its turn.
    least, most
        The constraint on its units for now, within the job's own bounds.
    """

    details: WaitingJob
    units: int
    least: int
    most: int

    @property
    def job(self) -> int:
        """Its number."""
        return self.details.job


class RunningJob(NamedTuple):
    """
    A job that runs.

    Attributes
    ----------
    units
        What it has now.
    units_min, units_max
        What it may have; equal to ``units`` if its size cannot be changed.
    preferred, serial, slots
        As of a waiting job.
    resize_cost, resumes
        Seconds without progress after each change of size, and when those of the last one end.
    end
        When it is expected to end if nothing changes.
    blocks
        The waiting job that depends on its end (a *dependency*, section 5.2.2), or None.
    fixed
        Whether it stays as it is whatever comes: it is urgent itself, or changed in this second.
    """

    job: int
    units: int
    units_min: int
    units_max: int
    preferred: int
    end: int
    serial: int = 0
    slots: int = 1
    resize_cost: int = 0
    resumes: int = 0
    blocks: int | None = None
    fixed: bool = False


class JobReservation(NamedTuple):
    """What an offer holds for a job: units from now on, or 0 units and a later start."""

    job: int
    units: int
    start: int
    end: int


class JobStatus(NamedTuple):
    """
    The outcome of a job.

    Attributes
    ----------
    state
        One of the words below.
    units
        Its current units.
    end
        When it is expected to end.
    """

    job: int
    state: str
    units: int
    end: int


STARTED, RESIZED = "started", "resized"

# --- from the machine ----------------------------------------------------------------------------


class Queue(NamedTuple):
    """To the batch side: the jobs that wait, in order of priority."""

    jobs: tuple[WaitingJob, ...]


class Machine(NamedTuple):
    """
    To the runtime side: the running jobs, and idle slots.

    Attributes
    ----------
    slots, idle
        Of the whole machine, and those that nobody uses.
    offers
        Whether it is to make an offer; not where an urgent job waits, which comes first. If it
        neither makes one nor expands, the batch side asks for one.
    shrinks
        Whether it first shrinks running jobs by a step, to have more to offer (a *partial
        transformation*).
    expands
        Whether it transforms the running jobs for their own good, without an offer.
    """

    now: int
    slots: int
    idle: int
    running: tuple[RunningJob, ...]
    offers: bool = False
    shrinks: bool = False
    expands: bool = False


# --- between the sides ---------------------------------------------------------------------------


class RequestOffer(NamedTuple):
    """Batch side to runtime side: jobs have arrived; make an offer, as good as you can for them."""

    jobs: tuple[ForwardedJob, ...]


class Offer(NamedTuple):
    """
    Runtime side to batch side.

    Attributes
    ----------
    attempt
        Counts the offers of a transaction, from 1 on.
    reservations
        For the jobs that were forwarded, in their order.
    idle
        Slots that are left beside these.
    """

    attempt: int
    reservations: tuple[JobReservation, ...]
    idle: int


class OfferResponse(NamedTuple):
    """
    Batch side to runtime side: its jobs mapped to an offer.

    Attributes
    ----------
    attempt
        That of the offer.
    accepted
        Whether the offer will do.
    """

    attempt: int
    accepted: bool
    jobs: tuple[ForwardedJob, ...]


class StatusReport(NamedTuple):
    """
    Runtime side to batch side: what it has done. It closes a transaction.

    Attributes
    ----------
    attempt
        The attempt in which both accepted; 0 where there was no negotiation.
    jobs
        The jobs that have started or changed, shrunk ones first.
    dependencies
        Pairs of a running job and the waiting one that depends on its end.
    planned
        Pairs of a waiting job and its expected start.
    idle
        Slots left.
    """

    attempt: int
    jobs: tuple[JobStatus, ...]
    dependencies: tuple[tuple[int, int], ...]
    planned: tuple[tuple[int, int], ...]
    idle: int


class UrgentJob(NamedTuple):
    """Batch side to runtime side: start this job now."""

    job: WaitingJob


class UrgentJobResponse(NamedTuple):
    """
    Runtime side to batch side.

    Attributes
    ----------
    units
        What the job has been started with; 0: there is no room.
    jobs
        The job, and those that made room for it.
    """

    job: int
    units: int
    jobs: tuple[JobStatus, ...]


FromBatch: TypeAlias = RequestOffer | OfferResponse | UrgentJob
FromRuntime: TypeAlias = Offer | StatusReport | UrgentJobResponse
Message: TypeAlias = Machine | Queue | FromBatch | FromRuntime
