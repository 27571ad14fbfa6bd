"""List schedulers on schedules worked out by hand."""

import pytest
from tiny import jobs, machine, starts

from cpsched.errors import ConfigError
from cpsched.model.system import Queue
from cpsched.util.spec import build

#   4 |
#   3 |AAAA
#   2 |AAAABBBBCC        FIFO: B waits for A, and C behind B although it would fit beside A
#   1 |AAAABBBBCC              (one core is free until 4)
#     +----------
#      0   4   8
A_WIDE_QUEUE = jobs((0, 3, 4), (1, 2, 4), (2, 1, 2))
# One core, A runs until 5; B asks for 3, C for 1, D for 2.
BY_LENGTH = jobs((0, 1, 5), (1, 1, 3), (2, 1, 1), (3, 1, 2))
# In workload order (by submit): 0, then the two of second 1, then that of second 2.
ALIKE = jobs((0, 1, 5), (2, 1, 3), (1, 1, 3), (1, 1, 3))


@pytest.mark.parametrize(
    ("dispatcher", "workload", "cores", "expected"),
    [
        # C would fit on the fourth core at 2, but B is before it and needs two.
        ("fifo", A_WIDE_QUEUE, 4, [0, 4, 4]),
        # B waits; C starts beside A at once.
        ("greedy", A_WIDE_QUEUE, 4, [0, 4, 2]),
        # C, D, B; or the other way round.
        ("sjf", BY_LENGTH, 1, [0, 8, 5, 6]),
        ("ljf", BY_LENGTH, 1, [0, 5, 10, 8]),
        # Equal lengths: earlier submit first, then the order of lines.
        ("sjf", ALIKE, 1, [0, 5, 8, 11]),
        ("ljf", ALIKE, 1, [0, 5, 8, 11]),
        # All of 200 jobs fit and start.
        ("sjf", jobs(*[(0, 1, 1 + index % 7) for index in range(200)]), 200, [0] * 200),
        # Same wait, same queue: 2 cores for 2 s (demand 4) before 1 core for 5 s (demand 5).
        ("greedy", jobs((0, 2, 3), (1, 1, 5), (1, 2, 2)), 2, [0, 5, 3]),
        # At 10: long (q 9, d 100) has slowdown 1.09, short (q 8, d 1) has 9.
        ("greedy:order=slowdown", jobs((0, 1, 10), (1, 1, 100), (2, 1, 1)), 1, [0, 11, 10]),
    ],
)
def test_the_order_in_which_jobs_start(dispatcher, workload, cores, expected):
    """``greedy`` skips what does not fit, the others stop there."""
    assert starts(workload, machine((cores,)), dispatcher) == expected


def test_prb_orders_by_expected_wait():
    """
    At 10 both have waited: debug 9 s of an expected 10, batch 10 s of 100; debug goes first.

    ``E * q / ewt`` = 100 * 9 / 10 = 90 against 100 * 10 / 100 = 10.
    """
    queues = [Queue(name="debug", expected_wait=10), Queue(name="batch", expected_wait=100)]
    workload = jobs((0, 1, 10), (0, 1, 20), (1, 1, 5), queue=["batch", "batch", "debug"])
    assert starts(workload, machine((1,), queues=queues), "greedy") == [0, 15, 10]


WHOLE_OR_ALL = "must be 0 or more, or 'all'"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        # A slip in a name is answered with the closest one.
        ("fifi", "unknown dispatcher 'fifi'.*Did you mean 'fifo'"),
        ("greedy:prio=slowdown", "greedy has no option 'prio'.*Options: allocator, order"),
        ("greedy:order=slow", "unknown priority 'slow'"),
        ("slurm-backfill:interval=3", "Did you mean 'backfill_interval'"),
        (
            "easy:estimate=quantile",
            "estimate is 'quantile', must be one of predicted, upper, requested",
        ),
        ("conservative:depth=-1", f"depth is -1, {WHOLE_OR_ALL}"),
        ("conservative:depth=few", "depth: 'few' is not a whole number"),
        ("conservative:allocator=worst-fit", "unknown allocator 'worst-fit'"),
        ("slurm-backfill:topology=torus", "topology is 'torus', must be line or tree"),
        ("slurm-backfill:topology=tree", "topology=tree needs switches or blocks"),
        ("slurm-backfill:reserve=cores", "reserve is 'cores', must be nodes or amounts"),
        ("slurm-backfill:depth=-1", f"depth is -1, {WHOLE_OR_ALL}"),
        ("slurm-backfill:window=-5", f"window is -5, {WHOLE_OR_ALL}"),
        ("slurm-backfill:backfill_interval=-1", "backfill_interval is -1, must be 0 or more"),
        *(
            (f"{name}:{option}", message)
            for name in ("cp-pool", "cp-nodes")
            for option, message in (
                ("search=fifo", "search is 'fifo', must be one of default, expected-wait"),
                (
                    "objective=wait",
                    "objective is 'wait', must be one of expected-wait, slowdown, wsept",
                ),
                ("window=0", "window is 0, must be 1 or more, or 'all'"),
                ("limit=0", "limit is 0.0, must be above 0"),
                ("limit=nan", "'nan' is not a"),
            )
        ),
        ("lookahead:aging=99999999999999999999", "is not a length of time"),
        ("lookahead:aging=0", "aging is 0, must be from 1 to 1099511627776"),
        ("lookahead:arrivals=-1", "arrivals is -1"),
        ("speculative:dispatcher=speculative", "must be another dispatcher"),
        ("speculative:dispatcher=easier", "easier"),
        ("speculative:seconds=0", "seconds"),
        ("speculative:seconds=300,least=300", "least"),
        ("speculative:share=2", "share"),
        *((f"preempt:dispatcher={name}", "dispatcher") for name in ("preempt", "easier")),
    ],
)
def test_a_bad_option_is_refused_in_one_line(spec, message):
    """It says what would be right."""
    with pytest.raises(ConfigError, match=message):
        build("dispatchers", spec).reset(machine((1,)), 0)
