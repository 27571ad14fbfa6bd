"""Try runs: long jobs that may be restarted run for a while first."""

import numpy as np
from tiny import jobs, machine, run

from cpsched.study.allocators import allocator_of, with_allocator
from cpsched.verification import verify

SPEC = "speculative:dispatcher=easy,dispatcher.order=slowdown,seconds=5,least=20,share=1"


def test_a_short_job_that_asks_for_long_overtakes():
    """
    C asks for 100 and runs 2: it gets its try before B, which asks for 30 and takes all.

    On two cores A runs to 10 on one. B is not restartable and needs both. C starts at once beside
    A, for its try would not delay B.
    """
    rows = ((0, 1, 10), (0, 2, 30), (1, 1, 2, 100))
    workload = jobs(*rows, restartable=[False, False, True])
    schedule = run(workload, machine((2,)), SPEC).schedule
    assert schedule.start.tolist() == [0, 10, 1]
    plain = run(workload, machine((2,)), "easy:order=slowdown").schedule
    assert plain.start.tolist()[2] >= 40


def test_a_long_one_is_cut_and_queued_again_at_its_place():
    """The same, and C runs 50: it is cut after 5 s and then is what it asks for."""
    rows = ((0, 1, 10), (0, 2, 30), (1, 1, 50, 100))
    workload = jobs(*rows, restartable=[False, False, True])
    result = run(workload, machine((2,)), SPEC)
    assert result.schedule.start.tolist() == [0, 10, 40]
    assert result.schedule.end.tolist() == [10, 40, 90]
    assert result.decisions["tried"] == 1
    assert result.decisions["tries_cut_short"] == 1
    assert result.decisions["starts"] == 4
    assert verify(result.schedule) == []


def test_only_restartable_jobs_that_ask_for_long_are_tried():
    """One asks for less than ``least``, one may not be restarted."""
    workload = jobs((0, 1, 10, 19), (0, 1, 10, 90), restartable=[True, False])
    result = run(workload, machine((2,)), SPEC)
    assert result.decisions["tried"] == 0
    assert result.schedule.end.tolist() == [10, 10]


def test_a_job_that_ends_with_its_try_was_not_cut():
    schedule = run(jobs((0, 1, 5, 90), restartable=[True]), machine((1,)), SPEC).schedule
    assert schedule.end.tolist() == [5]
    assert len(schedule.segments.job) == 1


def test_wide_jobs_are_not_tried_if_asked():
    """One takes a quarter of the cores, one half of them."""
    workload = jobs((0, 1, 10, 90), (0, 2, 10, 90), restartable=[True, True])
    assert (
        run(workload, machine((4,)), SPEC.replace("share=1", "share=0.3")).decisions["tried"] == 1
    )
    assert (
        run(workload, machine((4,)), SPEC.replace("share=1", "share=0.5")).decisions["tried"] == 2
    )


def test_estimates_are_tried_too():
    """A predictor's estimate of a try is no longer than the try."""
    rng = np.random.default_rng(0)
    rows = [(int(t), 1, int(r), 90) for t, r in zip(rng.integers(0, 300, 50),
                                                    rng.integers(1, 60, 50), strict=True)]  # fmt: skip
    workload = jobs(*rows, restartable=[True] * 50, user=["ann", "bob"] * 25)
    for dispatcher in ("lookahead", "easy,dispatcher.order=wsept", "conservative", "cph-1"):
        spec = f"speculative:dispatcher={dispatcher},seconds=5,least=20,share=1"
        result = run(workload, machine((2,), (2,)), spec, "user-history")
        assert verify(result.schedule) == []
        assert result.decisions["tried"] == 50


def test_the_allocator_is_that_of_the_other_dispatcher():
    assert allocator_of("speculative:dispatcher=lookahead,dispatcher.allocator=pack") == "pack"
    assert (
        with_allocator("speculative:dispatcher=easy", "spare-scarce")
        == "speculative:dispatcher=easy,dispatcher.allocator=spare-scarce"
    )
    named = "speculative:dispatcher=easy,dispatcher.allocator=best-fit"
    assert allocator_of(with_allocator(named, "spare-scarce")) == "best-fit"
