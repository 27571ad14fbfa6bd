"""Which runs of a study are on the Pareto front of the headline's three figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.metrics.front import on_front
from cpsched.study.comparisons import is_lower
from cpsched.study.results import AREA, mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.metrics.front import Headline
    from cpsched.study.results import RunResult

#: Columns of the headline: area-weighted response, tail of the wait, mean bounded slowdown.
HEADLINE = (AREA, "wait_p99.9_s", "bounded_slowdown_mean")


def fronts(repeated: Sequence[Sequence[RunResult]]) -> list[bool | None]:
    """
    Return which groups of repetitions are on the front of their workload and system.

    A group is off the front if another has means at least as low in all three figures, and
    one of them lower by every interval there is (:func:`~cpsched.study.comparisons.is_lower`). So a
    difference within the noise removes nothing from the front. With one run each, figures without
    an interval are compared as they are. Runs that know the runtimes have a front of their own.
    """
    return on_front(
        [_headline(of) for of in repeated],
        [(of[0].workload, of[0].system, of[0].knows_runtimes) for of in repeated],
        lambda one, other, figure: is_lower(repeated[one], repeated[other], HEADLINE[figure]),
    )


def _headline(of: Sequence[RunResult]) -> Headline:
    response, tail, slowdown = (mean(run.figures.get(name) for run in of) for name in HEADLINE)
    if response is None or tail is None or slowdown is None:
        return None
    return response, tail, slowdown
