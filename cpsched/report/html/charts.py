"""
The beginning of a report: six figures of each run compared with the baseline's, and charts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.metrics.results_table_columns import LEADING
from cpsched.report.figures.bars import Change
from cpsched.report.figures.pictures import of_changes, of_tradeoff
from cpsched.report.figures.tradeoff import Point
from cpsched.report.leading_rows import leading
from cpsched.report.readable import most_changed
from cpsched.report.sentences import QUALITY
from cpsched.study.paired import Estimate, difference
from cpsched.study.tables import grouped
from cpsched.study.verdicts import is_clear

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cpsched.metrics.results_table_columns import Figure
    from cpsched.report.figures.looks import Who
    from cpsched.report.figures.pictures import Picture
    from cpsched.report.html.places import Place
    from cpsched.report.leading_rows import LeadingRows
    from cpsched.study.tables import Tables

Row = dict[str, Any]
_TAIL = "wait_p99.9_s"
#: Kinds of groups that have an order of their own.
_ORDERED = {"length", "size", "GPU"}
#: Most groups of a kind in a chart: those whose waits change most, in either direction.
_MOST = 8


def lead_table(tables: Tables, place: Place) -> dict[str, Any]:
    """Return the table of the six leading figures of a place, for the template."""
    found = _leading(tables, place)
    known = found.known()
    return {
        "heads": [_head(LEADING[at]) for at in known],
        "against": found.against,
        "rows": [(row, [row.figures[at] for at in known]) for row in found.rows],
    }


def tradeoff(tables: Tables, place: Place) -> Iterator[Picture]:
    """Yield the chart of quality against the tail, where two runs have both."""
    points = []
    for of in grouped(run for run in tables.results.runs if run.case == place.name):
        quality, tail = (_mean([run.figures.get(name) for run in of]) for name in (QUALITY, _TAIL))
        if quality is not None and tail is not None:
            look, real = place.looks[of[0].configuration], not of[0].knows_runtimes
            points.append(Point(look=look, slowdown=quality, tail=tail, is_real=real))
    if len(points) > 1:
        yield of_tradeoff(points)


def changes(tables: Tables, place: Place, about: Iterable[Who]) -> Iterator[Picture]:
    """Yield the groups that gain and lose under some runs of a place."""
    for who in about:
        kinds: dict[str, list[Row]] = {}
        for row in tables.gains_about(place.name, who):
            if row["kind"] != "all":
                kinds.setdefault(row["kind"], []).append(row)
        some = {kind: list(map(_change, most_changed(rows, _MOST))) for kind, rows in kinds.items()}
        for kind in some.keys() - _ORDERED:
            some[kind].sort(key=lambda one: one.seconds.mean)
        if some:
            yield of_changes(place.looks[who].name, some)


def _change(row: Row) -> Change:
    ends = row["difference_low"], row["difference_high"]
    estimate = Estimate(row["difference"], *ends, row["jobs"])
    return Change(row["group"], estimate, is_clear(row["verdict"]))


def _leading(tables: Tables, place: Place) -> LeadingRows:
    return next(found for found in leading(tables) if found.place == place.name)


def _head(item: Figure) -> str:
    title = "utilization, steady window" if item.name == "core_use" else item.title
    # A name such as p99.9 stays as it is.
    return title if title[1].isdigit() else title[:1].upper() + title[1:]


def _mean(values: Sequence[float | None]) -> Estimate | None:
    """Return the mean over repetitions with its interval; None where one has no value."""
    known = [float(value) for value in values if value is not None]
    return difference(known, [0.0] * len(known)) if len(known) == len(values) else None
