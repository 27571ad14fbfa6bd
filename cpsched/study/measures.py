"""
Every figure of a run: its column in tables, its place in ``metrics.json``, and how people read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.metrics import jobs
from cpsched.util.tables import Better

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: A figure; None where nothing was measured.
Figure = int | float | None
STATISTICS = ("mean", "median", "p95", "p99", "p99.9", "max")
#: Groups of jobs for which there are all measures of jobs.
MEASURED = (*jobs.CLASSES, jobs.STEADY)
#: Stands in a place for the group of jobs.
_GROUP = "(group)"
#: Stands in a name and in a place for whatever is there, such as each kind of resource.
_ANY = "*"


@dataclass(frozen=True, slots=True)
class Measure:
    """
    A figure, or one of each kind of resource or the like.

    Attributes
    ----------
    column
        Its name in tables for programs, which ends in its unit.
    path
        The keys to it in ``metrics.json``.
    header, unit
        Above it in tables for people.
    scale
        By which it is multiplied there.
    decimals
        There; None: as many as the least value needs.
    better
        Which values are better, where that can be said.
    optional
        Whether it is left out of a table in which nobody has it.
    """

    column: str
    path: tuple[str, ...]
    header: str = ""
    unit: str = ""
    scale: float = 1
    decimals: int | None = None
    better: Better | None = None
    optional: bool = False

    def read(self, summary: Mapping[str, Any], group: str = "all") -> dict[str, Figure]:
        """
        Return its figures by column; None where a summary does not have it.

        Raises
        ------
        ValueError
            If something there is not a number.
        """
        path = [group if key == _GROUP else key for key in self.path]
        return {
            _filled(self.column, keys): _figure(value)
            for keys, value in _at(summary, path)
            if _ANY not in keys
        }

    def among(self, columns: Iterable[str]) -> list[tuple[str, str]]:
        """Return its columns among those of a table, each with its header."""
        if _ANY not in self.column:
            return [(self.column, self.header)]
        pattern = re.compile(re.escape(self.column).replace(r"\*", "(.+)"))
        matches = ((name, pattern.fullmatch(name)) for name in columns)
        return [(name, _filled(self.header, match.groups())) for name, match in matches if match]


def _at(value: Any, path: list[str], on: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Yield what is at a place, with the keys that stand for ``*`` in it."""
    if not path:
        yield on, value
        return
    key, *rest = path
    known = value if isinstance(value, Mapping) else {}
    if key != _ANY:
        yield from _at(known.get(key), rest, on)
        return
    for name, value in known.items():
        yield from _at(value, rest, (*on, name))


def _filled(text: str, values: Iterable[str]) -> str:
    for value in values:
        text = text.replace(_ANY, value, 1)
    return text


def _figure(value: Any) -> Figure:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ValueError(f"{value!r} is not a number")


def _statistics(
    name: str,
    unit: str,
    *path: str,
    known: Iterable[str] = STATISTICS,
    header: str = _ANY,
    optional: bool = False,
) -> tuple[Measure, ...]:
    """Return the statistics of a quantity of which less is better."""
    return tuple(
        Measure(
            "_".join(filter(None, (name, statistic, unit))),
            (*path, statistic),
            header.replace(_ANY, statistic),
            unit,
            better=Better.LOWER,
            optional=optional,
        )
        for statistic in known
    )


def _share(
    column: str, *path: str, header: str, better: Better | None = None, optional: bool = True
) -> Measure:
    return Measure(column, path, header, "%", 100, 1, better, optional)


WAIT = _statistics("wait", "s", "wait_s", _GROUP, header="* wait")
SLOWDOWN = _statistics("slowdown", "", "slowdown", _GROUP)
BOUNDED_SLOWDOWN = _statistics("bounded_slowdown", "", "bounded_slowdown", _GROUP)
#: Measures of jobs, by the titles of their tables.
OF_JOBS = {"wait": WAIT, "slowdown": SLOWDOWN, "bounded slowdown": BOUNDED_SLOWDOWN}
#: Waits of jobs of a size.
OF_SIZES = _statistics("wait", "s", "wait_by_size_s", _GROUP, header="* wait")
#: The 99.9th percentile and the longest of the waits, which stand in every table.
TAIL = tuple(measure for measure in WAIT if measure.column in ("wait_p99.9_s", "wait_max_s"))
#: Area-weighted response.
AREA = "response_by_area_s"
_QUEUE = _statistics("queue", "jobs", "queue_jobs", known=("mean", "median", "p95", "p99", "max"))
_USERS = (
    *_statistics("user_wait", "s", "wait_by_user_s", known=("mean", "median", "p95"),
                 header="* user", optional=True),
    Measure("user_wait_max_s", ("wait_by_user_s", "max"), "worst user", "s", better=Better.LOWER,
            optional=True),
)  # fmt: skip
_FAIRNESS = Measure(
    "fairness_by_user", ("fairness_by_user",), "Jain's index of slowdowns", decimals=3,
    better=Better.HIGHER, optional=True,
)  # fmt: skip
_USE = (
    _share("offered_load_*", "offered_load", "load", _ANY, header="* offered"),
    _share("utilization_*", "utilization", _ANY, header="* utilization", better=Better.HIGHER),
    _share("steady_utilization_*", "steady_utilization", _ANY, header="* utilization, steady",
           better=Better.HIGHER),
    _share("loss_of_capacity_*", "loss_of_capacity", _ANY, header="* lost", better=Better.LOWER),
    _share("node_utilization", "node_utilization", header="node utilization", better=Better.HIGHER),
)  # fmt: skip
_RATES = (
    Measure("makespan_s", ("makespan_s",), "makespan", "h", 1 / 3600, 1, Better.LOWER),
    Measure("throughput_jobs_per_hour", ("throughput_jobs_per_hour",), "throughput", "jobs/h",
            better=Better.HIGHER),
    _share("share_that_never_waited", "never_waited", header="never waited", better=Better.HIGHER,
           optional=False),
)  # fmt: skip
_PLACEMENT = tuple(
    Measure(f"{name}_{key}", ("placement", name, key), f"{name.replace('_', ' ')}{suffix}",
            decimals=2, optional=True)
    for name in ("fragmentation", "spread", "span_nodes",
                 "lowest_common_switch", "groups_touched", "distance_hops")
    for key, suffix in (("mean", ""), ("std", ", deviation"))
)  # fmt: skip
#: Shares of jobs and of their node time.
_PLACES = tuple(
    _share(f"{name}_{of}", "placement", name, of, header=f"{name}{suffix}")
    for name in ("contiguous", "compact")
    for of, suffix in (("jobs", ""), ("node_time", ", node time"))
)
#: What was lost to jobs that were stopped before their end.
_LOST = (
    Measure("starts_cut_short", ("restarts", "starts_cut_short"), "starts cut short"),
    _share("goodput", "goodput", header="goodput"),
    Measure("lost_*", ("lost", _ANY), "lost, *", "%", 100, 2, Better.LOWER),
)

#: The tables of all jobs for people, by their titles; each has the tail of the waits, too.
OF_ALL = {
    **OF_JOBS,
    "queue size at every second": _QUEUE,
    "mean wait of users": (*_USERS, _FAIRNESS),
    "the system": (*_USE, *_RATES),
    "work lost": (Measure("killed", (), "killed", "jobs"), *_LOST),
    "placement of jobs": (*_PLACEMENT, *_PLACES),
}
_EVERY = (
    *(measure for measures in OF_JOBS.values() for measure in measures),
    *(Measure(AREA, (AREA,)), *_USERS, _FAIRNESS, *_QUEUE, *_USE),
    *(*_PLACEMENT, *_PLACES, *_RATES, *_LOST),
)


def figures_of(summary: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of all jobs by column; those of placement only on machines of nodes."""
    placed = summary.get("placement") or {}
    figures: dict[str, Figure] = {}
    for measure in _EVERY:
        if measure.path[0] != "placement" or placed.get(measure.path[1]):
            figures |= measure.read(summary)
    return figures


def figures_of_group(summary: Mapping[str, Any], group: str) -> dict[str, Figure]:
    """Return the measures of jobs of a class, with their number."""
    figures: dict[str, Figure] = {"jobs": summary["wait_s"][group]["jobs"]}
    for measures in OF_JOBS.values():
        for measure in measures:
            figures |= measure.read(summary, group)
    return figures


def waits_of_size(summary: Mapping[str, Any], size: str) -> dict[str, Figure]:
    """Return the waits of jobs of a size, with their number."""
    figures: dict[str, Figure] = {"jobs": summary["wait_by_size_s"][size]["jobs"]}
    for measure in OF_SIZES:
        figures |= measure.read(summary, size)
    return figures
