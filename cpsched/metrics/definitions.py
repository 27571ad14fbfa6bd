"""
The metrics of a run, each defined here: name, title, unit, which values are better, definition.

Commands, pages, tables and the documentation take them from here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from cpsched.metrics import jobs
from cpsched.metrics.groups import SIZES
from cpsched.util.terminal import table_text
from cpsched.util.words import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A value; None where nothing was measured.
Value = int | float | None
#: Kind and name of a group of jobs: ``("length", "short")``.
Group = tuple[str, str]
ALL: Group = ("all", "all")
#: Groups of jobs that have all metrics of jobs, by their keys in a summary.
LENGTHS: Mapping[str, Group] = {
    **{name: ("length", name) for name in jobs.CLASSES},
    jobs.STEADY: ("window", jobs.STEADY),
}
#: Stands in a path for the group of jobs.
_GROUP = "(group)"
#: Stands in a name, a title and a path for whatever is there, such as each resource type.
_ANY = "*"


class Better(StrEnum):
    """Direction in which a metric is better: lower or higher values."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Metric:
    """
    A metric of a run, such as ``wait_mean_s``, or one for each resource type (``*`` in its name).

    Attributes
    ----------
    name
        Name in tables and files. The names of times end in their unit (``wait_mean_s``).
    title
        Title for people.
    path
        Keys of its value in ``metrics.json``, from the outermost to the innermost.
    definition
        Definition in one line.
    unit
        ``s``, ``share`` (within [0, 1]), ``jobs``, ... Empty for a plain number.
    better
        Whether lower or higher values are better. None if neither.
    section
        Table of the metric, for example that of waits.
    """

    name: str
    title: str
    path: tuple[str, ...]
    definition: str
    unit: str = ""
    better: Better | None = None
    section: str = ""

    def text(self, value: Value) -> str:
        """Return a value for people: ``1 h 24 min``, ``58.3 %``, ``12.40``."""
        if value is None:
            return "-"
        if self.unit == "s":
            return duration(value)
        if self.unit == "share":
            return percent(value, 1)
        if isinstance(value, int) or value.is_integer():
            return f"{value:,.0f}"
        return f"{value:,.{2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0}f}"

    def read(self, summary: Mapping[str, Any], group: str = "all") -> dict[str, Value]:
        """
        Return the values of the metric in a summary, by name. None if the summary lacks one.

        Raises
        ------
        ValueError
            If a value is not a number.
        """
        path = [group if key == _GROUP else key for key in self.path]
        return {
            _filled(self.name, keys): _number(value)
            for keys, value in _at(summary, path)
            if _ANY not in keys
        }


def _at(value: Any, path: list[str], keys: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Yield what is at a path, with the keys that stand for ``*`` in it."""
    if not path:
        yield keys, value
        return
    key, *rest = path
    children = value if isinstance(value, Mapping) else {}
    if key != _ANY:
        yield from _at(children.get(key), rest, keys)
        return
    for name, child in children.items():
        yield from _at(child, rest, (*keys, name))


def _filled(text: str, values: tuple[str, ...]) -> str:
    for value in values:
        text = text.replace(_ANY, value, 1)
    return text


def _number(value: Any) -> Value:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    if isinstance(value, Mapping):
        # Counts by reason.
        return sum(value.values())
    raise ValueError(f"{value!r} is not a number")


_STATISTICS = ("mean", "median", "p95", "p99", "p99.9", "max")
_LONG = {"median": "median", "mean": "mean", "max": "largest value"}


def _statistics(
    section: str,
    name: str,
    title: str,
    path: tuple[str, ...],
    what: str,
    unit: str = "",
    statistics: tuple[str, ...] = _STATISTICS,
    largest: str = "max",
) -> tuple[Metric, ...]:
    """Return the statistics of a quantity of which less is better; ``*`` in a title for each."""
    return tuple(
        Metric(
            "_".join(filter(None, (name, statistic, unit))),
            title.replace(_ANY, largest if statistic == "max" else statistic),
            (*path, statistic),
            f"{_LONG.get(statistic, f'{statistic[1:]}th percentile')} of {what}",
            unit,
            Better.LOWER,
            section,
        )
        for statistic in statistics
    )


def _jobs(name: str, title: str, definition: str, better: Better | None = None) -> Metric:
    return Metric(name, title, ("counts", name), definition, "jobs", better, "jobs")


def _share(
    section: str, name: str, title: str, path: str, definition: str, better: Better | None = None
) -> Metric:
    return Metric(name, title, tuple(path.split("/")), definition, "share", better, section)


_COUNTS = (
    Metric("in_log", "rows in the log", ("counts", "in_log"),
           "jobs of the log or of its part, and excluded rows of the whole log", "rows",
           None, "jobs"),
    Metric("excluded", "excluded rows", ("counts", "set_aside"),
           "rows of the whole log that are not jobs", "rows", None, "jobs"),
    _jobs("rejected", "rejected", "jobs that can never run on this system", Better.LOWER),
    _jobs("simulated", "simulated", "jobs that were simulated, each attempt counted"),
    _jobs("completed", "completed", "jobs that ran to their end", Better.HIGHER),
    _jobs("timeout", "killed at their limit", "jobs that ended at their requested time",
          Better.LOWER),
    _jobs("killed", "killed", "jobs that the dispatcher ended", Better.LOWER),
    _jobs("cancelled", "cancelled", "jobs cancelled in the queue"),
    _jobs("never_started", "never started",
          "jobs that can never start because of a limit, reservation or dependency", Better.LOWER),
    _jobs("not_ended", "not ended", "jobs that waited or ran when the simulation was cut"),
    _jobs("attempts", "attempts", "rows that are further attempts of a job"),
)  # fmt: skip
_WAIT = _statistics("wait", "wait", "* wait", ("wait_s", _GROUP),
                    "the time from submit to first start", "s", largest="longest")  # fmt: skip
_TURNAROUND = (
    Metric("response_by_area_s", "area-weighted response", ("response_by_area_s",),
           "mean time from submit to end, weighted by cores times runtime", "s", Better.LOWER,
           "wait"),
)  # fmt: skip
_SLOWDOWN = _statistics("slowdown", "slowdown", "* slowdown", ("slowdown", _GROUP),
                        "response / runtime (at least 1 s)")  # fmt: skip
_BOUNDED = _statistics("bounded slowdown", "bounded_slowdown", "* bounded slowdown",
                       ("bounded_slowdown", _GROUP),
                       "max(1, response / max(runtime, 10 s))")  # fmt: skip
_QUEUE = _statistics("queue length", "queue", "* queue length", ("queue_jobs",),
                     "the number of waiting jobs over all seconds", "jobs",
                     ("mean", "median", "p95", "p99", "max"))  # fmt: skip
_USERS = (
    *_statistics("users", "user_wait", "* wait of users", ("wait_by_user_s",),
                 "the users' mean waits, each user once", "s",
                 ("mean", "median", "p95", "max"), "longest"),
    Metric("fairness_by_user", "fairness of users", ("fairness_by_user",),
           "Jain's index of the users' mean bounded slowdowns, 1 if all are equal", "",
           Better.HIGHER, "users"),
)  # fmt: skip
_SYSTEM = (
    _share("system", "offered_load_*", "offered load, *", "offered_load/load/*",
           "resource time that submitted jobs ask for / capacity, between the submits t5 and t95"),
    _share("system", "utilization_*", "utilization, *", "utilization/*",
           "resource time allocated / capacity, from the first submit to the last end",
           Better.HIGHER),
    _share("system", "steady_utilization_*", "utilization in the steady window, *",
           "steady_utilization/*",
           "resource time allocated / capacity, between the submits t5 and t95", Better.HIGHER),
    _share("system", "loss_of_capacity_*", "loss of capacity, *", "loss_of_capacity/*",
           "share of the capacity that is idle while a job waits", Better.LOWER),
    _share("system", "node_utilization", "node utilization", "node_utilization",
           "node time of jobs / node time of the system", Better.HIGHER),
    Metric("makespan_s", "makespan", ("makespan_s",), "time from the first submit to the last end",
           "s", Better.LOWER, "system"),
    Metric("throughput_jobs_per_hour", "throughput", ("throughput_jobs_per_hour",),
           "jobs that ran to an end, per hour of the makespan", "jobs/h", Better.HIGHER, "system"),
    _share("system", "share_that_never_waited", "jobs without wait", "never_waited",
           "share of the jobs that start when they are submitted", Better.HIGHER),
)  # fmt: skip
_LOST = (
    Metric("starts_cut_short", "starts cut short", ("restarts", "starts_cut_short"),
           "starts of jobs that were queued again", "starts", None, "lost work"),
    _share("lost work", "goodput", "goodput", "goodput",
           "core time of useful work / capacity, from the first submit to the last end"),
    _share("lost work", "lost_*", "lost, *", "lost/*", "core time without useful work / capacity",
           Better.LOWER),
)  # fmt: skip
_PLACEMENT = tuple(
    Metric(f"{name}_{statistic}", f"{title}{suffix}", ("placement", name, statistic),
           f"{'mean' if statistic == 'mean' else 'standard deviation'} of {definition}", "",
           None, "placement")
    for name, title, definition in (
        ("fragmentation", "fragmentation", "a job's number of contiguous node ranges"),
        ("spread", "spread", "a job's span of nodes / its number of nodes"),
        ("span_nodes", "span", "the number of nodes from a job's first to its last"),
        ("lowest_common_switch", "lowest common switch",
         "the level of the lowest switch above all nodes of a job"),
        ("groups_touched", "groups touched", "a job's number of groups of the lowest level"),
        ("distance_hops", "distance in hops", "the mean distance of a job's nodes"),
    )
    for statistic, suffix in (("mean", ""), ("std", ", deviation"))
)  # fmt: skip
_CONTIGUOUS = tuple(
    _share("placement", f"{name}_{of}", f"{name}{suffix}", f"placement/{name}/{of}",
           f"share of the {what} {of_whom}")
    for name, of_whom in (
        ("contiguous", "on consecutive nodes"),
        ("compact", "in as few groups of every level as their size allows"),
    )
    for of, suffix, what in (("jobs", " jobs", "jobs"),
                             ("node_time", " node time", "node time of jobs"))
)  # fmt: skip
#: Of jobs that ran in a run and in its baseline: of a group of jobs, compared one by one.
_COMMON = (
    Metric("common_jobs", "jobs", (), "jobs that ran to an end in both runs", "jobs"),
    Metric("common_wait_mean_s", "mean wait", (), "mean wait of the jobs that ran in both runs",
           "s", Better.LOWER),
    Metric("common_wait_max_s", "longest wait", (),
           "longest wait of the jobs that ran in both runs", "s", Better.LOWER),
    Metric("common_bounded_slowdown_mean", "mean bounded slowdown", (),
           "mean bounded slowdown of the jobs that ran in both runs", "", Better.LOWER),
    Metric("share_that_waits_less", "wait less", (),
           "share of these jobs that wait at least a minute less", "share", Better.HIGHER),
    Metric("share_that_waits_longer", "wait longer", (),
           "share of these jobs that wait at least a minute longer", "share", Better.LOWER),
)  # fmt: skip
#: What is measured of groups of jobs.
_OF_JOBS = (*_WAIT, *_SLOWDOWN, *_BOUNDED)
#: Names of the metrics of jobs that ran in a run and in its baseline.
COMMON = frozenset(known.name for known in _COMMON)
#: All metrics that a summary has.
METRICS = (
    *(*_COUNTS, *_OF_JOBS, *_TURNAROUND, *_USERS, *_QUEUE),
    *(*_SYSTEM, *_PLACEMENT, *_CONTIGUOUS, *_LOST),
)
#: The metrics that lead tables and pages, in order.
LEADING = (
    *("bounded_slowdown_mean", "wait_mean_s", "wait_p99.9_s", "wait_max_s"),
    *("response_by_area_s", "steady_utilization_core"),
)
#: By which runs are ranked: jobs that use the system, jobs that wait longest, the many small ones.
RANKED = ("response_by_area_s", "wait_p99.9_s", "bounded_slowdown_mean")
#: Of each group of jobs: how many there are.
_NUMBER = Metric("jobs", "jobs", ("wait_s", _GROUP, "jobs"), "jobs that ran to an end", "jobs")
_BY_NAME = {metric.name: metric for metric in (_NUMBER, *METRICS, *_COMMON)}
_PATTERNS = [
    (re.compile(re.escape(metric.name).replace(r"\*", "(.+)")), metric)
    for metric in METRICS
    if _ANY in metric.name
]


@cache
def metric(name: str) -> Metric:
    """
    Return the metric of a name: ``wait_mean_s``, ``utilization_gpu``.

    Raises
    ------
    KeyError
        If no metric has that name.
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    matches = ((pattern.fullmatch(name), known) for pattern, known in _PATTERNS)
    # A longer pattern says more: steady_utilization_core is not a utilization.
    match, known = max(
        ((match, known) for match, known in matches if match),
        key=lambda pair: len(pair[1].name),
        default=(None, None),
    )
    if match is None or known is None:
        raise KeyError(name)
    title = "utilization" if name == LEADING[-1] else _filled(known.title, match.groups())
    return replace(known, name=name, title=title)


def read(summary: Mapping[str, Any]) -> dict[Group, dict[str, Value]]:
    """
    Return the metrics of a summary, by group of jobs; those of placement only where there are any.

    Groups are all jobs, those of a length, those of the steady window, and, for waits, those of a
    size.
    """
    placed = summary.get("placement") or {}
    values: dict[Group, dict[str, Value]] = {ALL: {}}
    for known in METRICS:
        if known.path[0] != "placement" or placed.get(known.path[1]):
            values[ALL] |= known.read(summary)
    for name, group in LENGTHS.items():
        if name in summary["wait_s"]:
            values[group] = {"jobs": summary["wait_s"][name]["jobs"]}
            for known in _OF_JOBS:
                values[group] |= known.read(summary, name)
    by_size = summary["wait_by_size_s"]
    for name in by_size:
        values["size", name] = {"jobs": by_size[name]["jobs"]}
        for known in _WAIT:
            values["size", name] |= known.read({"wait_s": by_size}, name)
    return values


def leading(summary: Mapping[str, Any]) -> dict[str, Value]:
    """Return the leading metrics of a summary, by name."""
    values = read(summary)[ALL]
    return {name: values.get(name) for name in LEADING}


def leading_text(summary: Mapping[str, Any], width: int = 120) -> str:
    """Return the leading metrics of a summary as a table of one row."""
    known = {name: value for name, value in leading(summary).items() if value is not None}
    titles = [metric(name).title for name in known]
    texts = [metric(name).text(value) for name, value in known.items()]
    return table_text(titles, [texts], width=width, names=0)


def title_of(group: Group) -> str:
    """Return a group of jobs in words: ``short jobs``, ``account physics``."""
    kind, name = group
    if kind in ("length", "window"):
        return f"{name} jobs"
    if kind == "size":
        return f"{name} jobs ({SIZES[name]})" if name in SIZES else f"{name} jobs"
    if kind == "GPU":
        return "jobs with GPUs" if name == "yes" else "jobs without GPUs"
    return "all jobs" if kind == "all" else f"{kind} {name}"
