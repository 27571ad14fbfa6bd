"""
The columns of the results table: six metrics in the order in which they are shown; and the
headline: three of them, and the runs that no other run beats.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from cpsched.util.tables import Better, Column, Table
from cpsched.util.words import duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence


def _figure(title: str, column: str, *path: str) -> Any:
    """Return a field of :class:`Figures`: title, column in tables, place in a summary."""
    return field(metadata={"title": title, "column": column, "path": path})


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """
    The leading figures of a run; None where nothing was measured.

    Times are in seconds. They are of the jobs that completed or timed out.

    Attributes
    ----------
    area_weighted_response
        Mean time from submit to end, weighted by cores times runtime.
    mean_wait, p999_wait, longest_wait
        Mean, 99.9th percentile and maximum of the time from submit to start.
    mean_bounded_slowdown
        Mean of ``max(1, (wait + runtime) / max(runtime, 10 s))``.
    core_use
        Share of the cores that jobs held in the steady window, within [0, 1]; None where the jobs
        have no such window (:func:`~cpsched.metrics.window.steady_window`).
    """

    area_weighted_response: float | None = _figure(
        "area-weighted response", "response_by_area_s", "response_by_area_s"
    )
    mean_wait: float | None = _figure("mean wait", "wait_mean_s", "wait_s", "all", "mean")
    p999_wait: float | None = _figure("p99.9 wait", "wait_p99.9_s", "wait_s", "all", "p99.9")
    longest_wait: float | None = _figure("longest wait", "wait_max_s", "wait_s", "all", "max")
    mean_bounded_slowdown: float | None = _figure(
        "mean bounded slowdown", "bounded_slowdown_mean", "bounded_slowdown", "all", "mean"
    )
    core_use: float | None = _figure(
        "utilization", "steady_utilization_core", "steady_utilization", "core"
    )

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Figures:
        """Return those of a summary, see :func:`~cpsched.metrics.summary.summarize`."""
        return cls(**{item.name: _at(summary, item.metadata["path"]) for item in fields(cls)})


@dataclass(frozen=True, slots=True)
class Figure:
    """
    What a leading figure is, whatever its value.

    Attributes
    ----------
    name
        In :class:`Figures`.
    title
        For people.
    column
        In the tables of a study.
    """

    name: str
    title: str
    column: str

    @property
    def better(self) -> Better:
        """Which values are better."""
        return Better.HIGHER if self.name == "core_use" else Better.LOWER

    def shown(self, value: float | None) -> str:
        """Return a value for people: ``1 h 24 min``, ``58.3 %``, ``12.40``."""
        if value is None:
            return "-"
        if self.name == "core_use":
            return percent(value, 1)
        if self.name == "mean_bounded_slowdown":
            return f"{value:,.{2 if value < 100 else 1 if value < 1000 else 0}f}"
        return duration(value)


#: All six, in order.
LEADING = tuple(
    Figure(item.name, item.metadata["title"], item.metadata["column"]) for item in fields(Figures)
)

#: The same by their columns, and by their names.
BY_COLUMN = {item.column: item for item in LEADING}
BY_NAME = {item.name: item for item in LEADING}


def leading_table(caption: str, runs: Sequence[Figures]) -> Table:
    """Return the leading figures of runs as a readable table."""
    columns = []
    for item in LEADING:
        values = tuple(getattr(run, item.name) for run in runs)
        shown = tuple(map(item.shown, values))
        columns.append(Column(item.title, "", shown, sorted_by=values, better=item.better))
    return Table(caption, tuple(columns))


def _at(summary: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return a number of a summary, None where it has none, as those of before."""
    value: Any = summary
    for key in path:
        value = (value or {}).get(key)
    return value


#: Area-weighted response, 99.9th percentile of the wait, mean bounded slowdown: the lower the
#: better. None where one of them was not measured.
Headline = tuple[float, float, float] | None


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

    def beats(own_index: int, other_index: int) -> bool:
        ours, theirs = runs[own_index], runs[other_index]
        if kinds[own_index] != kinds[other_index] or ours is None or theirs is None:
            return False
        pairs = list(zip(ours, theirs, strict=True))
        return all(a <= b for a, b in pairs) and any(
            a < b and (is_lower is None or is_lower(own_index, other_index, figure))
            for figure, (a, b) in enumerate(pairs)
        )

    indices = range(len(runs))
    return [
        None if runs[at] is None else not any(beats(other_index, at) for other_index in indices)
        for at in indices
    ]
