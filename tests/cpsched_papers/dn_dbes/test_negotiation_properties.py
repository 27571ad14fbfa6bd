"""What holds of every negotiation, whatever runs and waits."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from negotiations import transactions

from cpsched.base.types import MAX_TIME
from cpsched_papers.dn_dbes.messages import (
    Offer,
    OfferResponse,
    Queue,
    StatusReport,
    UrgentJobResponse,
)
from cpsched_papers.dn_dbes.negotiation import Negotiation
from cpsched_papers.dn_dbes.settings import UrgentPolicy


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
    """Every job has units that it may have, all together no more than there are."""
    settings, machine, queue = drawn
    _, statuses = outcome(settings, machine, queue)
    running = {job.job: job for job in machine.running}
    waiting = {job.job: job for job in queue.jobs}
    used = {job.job: job.units * job.slots for job in machine.running}
    for status in statuses:
        job = running.get(status.job) or waiting[status.job]
        if status.state in ("suspended", "killed"):
            assert status.units == 0
            assert status.job in running
        else:
            assert job.units_min <= status.units <= job.units_max
            assert (status.state == "started") == (status.job in waiting)
        used[status.job] = status.units * job.slots
    assert sum(used.values()) <= machine.slots


@given(transactions())
def test_no_job_is_lost(drawn):
    """A job changes once at most, and those that neither start nor leave are where they were."""
    settings, machine, queue = drawn
    _, statuses = outcome(settings, machine, queue)
    changed = [status.job for status in statuses]
    assert len(set(changed)) == len(changed)
    assert set(changed) <= {job.job for job in (*machine.running, *queue.jobs)}


@given(transactions())
def test_agreement_within_the_limit(drawn):
    """Each negotiation ends with a report, after so many offers at most, all of them answered."""
    settings, machine, queue = drawn
    messages, _ = outcome(settings, machine, queue)
    offers = [one.attempt for one in messages if isinstance(one, Offer)]
    answers = [one.attempt for one in messages if isinstance(one, OfferResponse)]
    assert offers == answers == list(range(1, len(offers) + 1))
    assert len(offers) <= settings.attempts
    reports = [one for one in messages if isinstance(one, StatusReport)]
    asked = machine.offers or machine.expands or any(not job.urgent for job in queue.jobs)
    assert len(reports) == int(asked)


@given(transactions())
def test_reports_count_what_is_idle(drawn):
    """Idle slots are those of the machine less those in use."""
    settings, machine, queue = drawn
    messages, statuses = outcome(settings, machine, queue)
    sizes = {job.job: job.slots for job in (*machine.running, *queue.jobs)}
    used = {job.job: job.units for job in machine.running}
    used |= {status.job: status.units for status in statuses}
    idle = machine.slots - sum(units * sizes[job] for job, units in used.items())
    for message in messages:
        if isinstance(message, StatusReport):
            assert message.idle == idle


@given(transactions())
def test_an_urgent_job_starts_whenever_room_can_be_made(drawn):
    """By shrinking alone, or as far as the policy goes: the first one, with at least its minimum."""
    settings, machine, queue = drawn
    messages, _ = outcome(settings, machine, queue)
    job = next((job for job in queue.jobs if job.urgent), None)
    if job is None:
        return
    room = machine.idle
    for other in machine.running:
        if other.fixed:
            continue
        leaves = settings.urgent == UrgentPolicy.KILL or (
            settings.urgent == UrgentPolicy.SUSPEND and other.restartable
        )
        room += (other.units - (0 if leaves else other.units_min)) * other.slots
    response = next(one for one in messages if isinstance(one, UrgentJobResponse))
    assert response.job == job.job
    assert bool(response.units) == (room >= job.units_min * job.slots)
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
