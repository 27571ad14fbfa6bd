"""
The headline of a comparison: three figures of a run, and the runs that no other run beats.

Area-weighted response follows the jobs that use the machine, mean bounded slowdown the many small
ones, and the 99.9th percentile of the wait those that pay for both. A dispatcher can buy each with
the others, so none of the three ranks dispatchers alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

#: Area-weighted response, 99.9th percentile of the wait, mean bounded slowdown: the lower the
#: better. None where one of them was not measured.
Headline = tuple[float, float, float] | None


def headline(summary: Mapping[str, Any]) -> Headline:
    """Return the headline of a summary; None if no job ran, or it is of an older version."""
    response = summary.get("response_by_area_s")
    tail = summary["wait_s"]["all"].get("p99.9")
    slowdown = summary["bounded_slowdown"]["all"]["mean"]
    if response is None or tail is None or slowdown is None:
        return None
    return response, tail, slowdown


def on_front(
    runs: Sequence[Headline],
    kinds: Sequence[Hashable],
    is_lower: Callable[[int, int, int], bool] | None = None,
) -> list[bool | None]:
    """
    Tell which runs are on the Pareto front.

    A run is off the front if another of its kind is at least as good in all three figures and
    better in one.

    Parameters
    ----------
    kinds
        Of each run; only runs of one kind are compared: knowing all runtimes is not something that
        a forecast could be beaten by.
    is_lower
        Tells for two runs and a figure, by their indices, whether the first is better for certain.
        Asked only where the first is at least as good in all three. Where None, any difference
        is certain.

    Returns
    -------
    list
        None for a run without a headline.
    """
    found: list[bool | None] = []
    for index, run in enumerate(runs):
        found.append(
            None
            if run is None
            else not any(
                kinds[other] == kinds[index] and _beats(runs, other, index, is_lower)
                for other in range(len(runs))
            )
        )
    return found


def _beats(
    runs: Sequence[Headline],
    one: int,
    other: int,
    is_lower: Callable[[int, int, int], bool] | None,
) -> bool:
    ours, theirs = runs[one], runs[other]
    if ours is None or theirs is None or any(a > b for a, b in zip(ours, theirs, strict=True)):
        return False
    return any(
        a < b and (is_lower is None or is_lower(one, other, figure))
        for figure, (a, b) in enumerate(zip(ours, theirs, strict=True))
    )
