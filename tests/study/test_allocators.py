"""The allocator in a study: the same for all dispatchers, or said to differ."""

import pytest

from cpsched.errors import ConfigError
from cpsched.study.allocators import allocator_of, mixed_allocators
from cpsched.util import registry

TOP = """\
systems = ["four.toml"]
dispatchers = {dispatchers}
allocator = "{allocator}"
[[workloads]]
file = "log.swf"
"""


@pytest.mark.parametrize(
    ("dispatcher", "allocator"),
    [
        ("easy", "first-fit"),
        ("lookahead", "first-fit"),
        ("easy-wsept", "first-fit"),
        ("easy:allocator=best-fit,backfill=sjf", "best-fit"),
        ("cph-3", "first-fit"),
        ("slurm-backfill", None),
        ("of-somebody-else", None),
    ],
)
def test_an_allocator_is_that_of_the_options_or_the_usual_one(dispatcher, allocator):
    assert allocator_of(dispatcher) == allocator


def test_all_dispatchers_of_the_core_place_by_the_same_allocator_unless_told_otherwise():
    own = [
        name
        for name, entry in registry.entries("dispatchers").items()
        if entry.distribution == "cpsched" and entry.target.startswith("cpsched.")
    ]
    assert {"easy", "lookahead", "easy-plan", "cp-pool", "speculative"} <= {*own}
    assert {allocator_of(name) for name in own if name != "preempt"} <= {"first-fit", None}


def test_all_dispatchers_that_name_none_get_the_allocator_of_the_study(read):
    """Labels stay as they are; what names its own keeps it, and what takes none is left alone."""
    named = '["easy:backfill=sjf", "greedy:allocator=balanced", "slurm-backfill", "lookahead"]'
    study = read(TOP.format(dispatchers=named, allocator="best-fit"))
    assert [(dispatcher.label, dispatcher.spec) for dispatcher in study.dispatchers] == [
        ("easy:backfill=sjf", "easy:allocator=best-fit,backfill=sjf"),
        ("greedy:allocator=balanced", "greedy:allocator=balanced"),
        ("slurm-backfill", "slurm-backfill"),
        ("lookahead", "lookahead:allocator=best-fit"),
    ]


def test_an_unknown_allocator_is_one_line(read):
    with pytest.raises(ConfigError, match=r"allocator: unknown allocator 'best'.*best-fit"):
        read(TOP.format(dispatchers='["easy"]', allocator="best"))


def test_two_dispatchers_that_become_the_same_are_refused(read):
    named = '["easy", "easy:allocator=best-fit"]'
    with pytest.raises(ConfigError, match="'easy:allocator=best-fit' is given twice, as a run"):
        read(TOP.format(dispatchers=named, allocator="best-fit"))


def test_a_mixture_of_allocators_is_said():
    runs = [("EASY", "easy", "first-fit"), ("greedy", "greedy", "first-fit")]
    assert mixed_allocators(runs) is None
    assert mixed_allocators([]) is None
    assert mixed_allocators([*runs, ("plans", "lookahead:seed=1", "pack")]) == (
        "Allocators differ: first-fit (EASY, greedy), pack (plans). Set one allocator for all to"
        " compare dispatchers alone."
    )


def test_a_comparison_of_allocators_mixes_nothing():
    """Each dispatcher under the same two; then one is missing. Who takes none is left out."""
    runs = [
        (f"{name}:{place}", f"{name}:allocator={place}", place)
        for name in ("easy", "greedy")
        for place in ("first-fit", "best-fit")
    ]
    assert mixed_allocators([*runs, ("slurm-backfill", "slurm-backfill", None)]) is None
    assert mixed_allocators(runs[:3]) is not None
