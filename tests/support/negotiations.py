"""Random transactions of a batch and a runtime side."""

from __future__ import annotations

from hypothesis import strategies as st

from cpsched_papers.dn_dbes.messages import Machine, Queue, RunningJob, WaitingJob
from cpsched_papers.dn_dbes.settings import NegotiationSettings, UrgentPolicy


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
        restartable=draw(st.booleans()),
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
        urgent=draw(st.sampled_from([*UrgentPolicy])),
    )
    machine = Machine(0, idle + used, idle, running, offers, shrinks, expands)
    return settings, machine, Queue(jobs)
