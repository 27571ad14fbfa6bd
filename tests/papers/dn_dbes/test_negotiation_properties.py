"""What holds of every negotiation, whatever runs and waits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched.papers.dn_dbes.messages import (
    Machine,
    NegotiationSettings,
    Offer,
    OfferResponse,
    Queue,
    RunningJob,
    StatusReport,
    UrgentJobResponse,
    WaitingJob,
)
from cpsched.papers.dn_dbes.negotiation import Negotiation
from cpsched.util.types import MAX_TIME

pytestmark = pytest.mark.slow


@st.composite
def running_jobs(draw, number):
    """Draw a job that runs."""
    least = draw(st.integers(1, 6))
    units = least + draw(st.integers(0, 6))
    most = units + draw(st.integers(0, 6))
    fixed = draw(st.sampled_from([False, False, False, True]))
    if fixed or draw(st.booleans()):
        least = most = units
    return RunningJob(
        number,
        units,
        least,
        most,
        preferred=draw(st.integers(least, most)),
        end=draw(st.integers(1, 500)),
        serial=draw(st.sampled_from([0, 0, 100_000])),
        slots=draw(st.sampled_from([1, 1, 1, 3])),
        resize_cost=draw(st.sampled_from([0, 10])),
        blocks=draw(st.sampled_from([None, None, 100, 101])),
        fixed=fixed,
    )


@st.composite
def waiting_jobs(draw, number):
    """Draw a job that waits."""
    least = draw(st.integers(1, 8))
    most = least + draw(st.sampled_from([0, 0, 1, 3, 8]))
    return WaitingJob(
        number,
        1000 - number,
        least,
        most,
        preferred=draw(st.integers(least, most)),
        seconds=draw(st.integers(1, 500)),
        serial=draw(st.sampled_from([0, 0, 100_000])),
        slots=draw(st.sampled_from([1, 1, 1, 3])),
        urgent=draw(st.sampled_from([False] * 9 + [True])),
    )


@st.composite
def transactions(draw):
    """Draw settings, what runs, and what waits."""
    running = tuple(draw(running_jobs(number)) for number in range(1, draw(st.integers(1, 6))))
    jobs = tuple(draw(waiting_jobs(number)) for number in range(100, draw(st.integers(100, 110))))
    idle = draw(st.integers(0, 20))
    used = sum(job.units * job.slots for job in running)
    # The batch side asks, or the runtime side offers, having shrunk jobs or not; or it transforms.
    asks, offers, shrinks, expands = draw(
        st.sampled_from(
            [(True, False, False, False), (False, True, False, False), (False, True, True, False),
             (False, False, False, True)]
        )
    )  # fmt: skip
    if not asks:
        # Urgent jobs do not wait for an offer.
        jobs = tuple(job._replace(urgent=False) for job in jobs)
    settings = NegotiationSettings(
        attempts=draw(st.integers(1, 7)),
        depth=draw(st.integers(1, 4)),
        mapped_share=draw(st.sampled_from([0, 1 / 3, 1])),
    )
    machine = Machine(0, idle + used, idle, running, offers, shrinks, expands)
    return settings, machine, Queue(jobs)


def outcome(settings, machine, queue):
    """Return all messages, and what has become of each job."""
    messages = Negotiation(settings).transact(machine, queue)
    statuses = [
        status
        for message in messages
        if isinstance(message, StatusReport | UrgentJobResponse)
        for status in message.jobs
    ]
    return messages, statuses


@given(transactions())
def test_sizes_keep_their_bounds_and_fit(drawn):
    """
    Every job changes once at most, and has units that it may have.

    All together have no more than there are, and what is left is what reports say.
    """
    settings, machine, queue = drawn
    messages, statuses = outcome(settings, machine, queue)
    assert len({status.job for status in statuses}) == len(statuses)
    running = {job.job: job for job in machine.running}
    waiting = {job.job: job for job in queue.jobs}
    used = {job.job: job.units * job.slots for job in machine.running}
    for status in statuses:
        job = running.get(status.job) or waiting[status.job]
        assert job.units_min <= status.units <= job.units_max
        assert (status.state == "started") == (status.job in waiting)
        used[status.job] = status.units * job.slots
    idle = machine.slots - sum(used.values())
    assert idle >= 0
    assert all(message.idle == idle for message in messages if isinstance(message, StatusReport))


@given(transactions())
def test_agreement_within_the_limit(drawn):
    """Each negotiation ends with a report, after so many offers at most, all of them answered."""
    settings, machine, queue = drawn
    messages, _ = outcome(settings, machine, queue)
    offers = [message.attempt for message in messages if isinstance(message, Offer)]
    answers = [message.attempt for message in messages if isinstance(message, OfferResponse)]
    assert offers == answers == list(range(1, len(offers) + 1))
    assert len(offers) <= settings.attempts
    reports = [message for message in messages if isinstance(message, StatusReport)]
    asked = machine.offers or machine.expands or any(not job.urgent for job in queue.jobs)
    assert len(reports) == int(asked)


@given(transactions())
def test_an_urgent_job_starts_whenever_capacity_can_be_freed(drawn):
    """By shrinking others: the first one, with at least its minimum."""
    settings, machine, queue = drawn
    messages, _ = outcome(settings, machine, queue)
    job = next((job for job in queue.jobs if job.urgent), None)
    if job is None:
        return
    available = machine.idle + sum(
        (other.units - other.units_min) * other.slots
        for other in machine.running
        if not other.fixed
    )
    response = next(message for message in messages if isinstance(message, UrgentJobResponse))
    assert response.job == job.job
    assert bool(response.units) == (available >= job.units_min * job.slots)
    assert response.units <= max(job.preferred, job.units_min)


@given(transactions())
def test_equal_transactions_are_equal(drawn):
    """Nothing is remembered from one to the next, and nothing is drawn."""
    settings, machine, queue = drawn
    negotiation = Negotiation(settings)
    assert negotiation.transact(machine, queue) == negotiation.transact(machine, queue)


@given(transactions())
def test_the_first_job_is_not_delayed(drawn):
    """By those that start, on what is idle or what others give: running jobs end, then it starts."""
    settings, machine, queue = drawn
    jobs = tuple(job for job in queue.jobs if not job.urgent)
    if not jobs or machine.shrinks or machine.expands:
        return
    # With one attempt, so that it asks for its minimum at once.
    settings, machine = replace(settings, attempts=1), machine._replace(offers=False)
    messages, _ = outcome(settings, machine, Queue(jobs))
    needed, free = jobs[0].units_min * jobs[0].slots, machine.idle
    due = 0 if free >= needed else MAX_TIME
    for job in sorted(machine.running, key=lambda job: job.end):
        if free < needed:
            free += job.units * job.slots
            due = job.end if free >= needed else MAX_TIME
    assert dict(messages[-1].planned).get(jobs[0].job, 0) <= due
