"""What a study found over all its logs: a sentence, two tables, and the same for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.report.findings import Claim
from cpsched.report.grid import LONGEST, QUALITY, WAIT, rows, tables_of
from cpsched.report.leading_rows import leading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.report.grid import Row
    from cpsched.study.paired import Estimate
    from cpsched.study.tables import Tables
    from cpsched.util.tables import Table


class Overview(NamedTuple):
    """
    What leads, before the results on each log.

    Attributes
    ----------
    sentences
        The finding over all logs.
    tables
        Each with its title as caption.
    data
        The same for programs: plain JSON types.
    """

    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    data: Any = None


def overview(tables: Tables) -> Overview:
    """Return what leads a comparison on several logs; empty for one log, and for scenarios."""
    found = rows(tables)
    if not found:
        return Overview()
    base = next(filter(None, (place.against for place in leading(tables))), "the baseline")
    return Overview(
        sentences=tuple(_sentences(found, base)),
        tables=tuple(tables_of(found, base)),
        data=[_as_data(row) for row in found],
    )


def _sentences(found: Sequence[Row], base: str) -> Iterator[str]:
    """Say what may be said over all logs, the losses in the same sentence."""
    names = found[0].logs
    several = len({name.partition(" on ")[0] for name in names}) < len(names)
    logs = f"Over {len(names)} {'workloads and systems' if several else 'logs'}"
    real = [row for row in found if not row.knows_runtimes] or found
    pairs = [(row, change) for row in real if (change := row.change(base)) is not None]
    if not pairs:
        yield f"{logs}, no run has a ratio to {base} on each."
        return
    row, best = min(pairs, key=lambda pair: (pair[1].claim, pair[1].figure.ratio))
    what = f"of {base}'s mean bounded slowdown"
    said = f"{best.figure.shown} {what} (geometric mean"
    said += f", {best.figure.interval})" if best.figure.interval else ", without an interval)"
    price = best.price()
    if best.claim is Claim.GAIN:
        yield f"{logs}, {best.name} has {said}; {price}."
        level = [
            f"{other.name} ({change.figure.shown}; {change.price()})"
            for other, change in pairs
            if other is not row and change.claim is Claim.GAIN and _is_level(row, other)
        ]
        if level:
            yield f"Not clearly behind it: {'; '.join(level)}."
    elif best.claim is Claim.DEARER:
        lost = "without losing jobs"
        yield f"{logs}, no run gains on {base} {lost}: {best.name} has {said}; {price}."
    else:
        sure = "" if best.claim is Claim.NONE else " for certain"
        yield f"{logs}, no run gains on {base}{sure}: {best.name} has {said}; {price}."


def _is_level(best: Row, other: Row) -> bool:
    """Whether one is not clearly below another over the logs."""
    against = best.mean(QUALITY, over=other)
    return against is None or against.high is None or against.high >= 1


def _as_data(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        **{figure: _figure(row, figure) for figure in (QUALITY, WAIT, LONGEST)},
    }


def _figure(row: Row, figure: str) -> dict[str, Any]:
    ratios = [one and (one.ratio, one.interval, one.sure) for one in row.on_each(figure)]
    ranks = row.ranks.get(figure)
    return {
        "ratio": dict(zip(row.logs, ratios, strict=True)),
        "geometric_mean": _numbers(row.mean(figure)),
        "mean_rank": sum(ranks) / len(ranks) if ranks else None,
        "worst_log": row.worst(figure)[1] or None,
    }


def _numbers(mean: Estimate | None) -> list[float | None] | None:
    return None if mean is None else [mean.mean, mean.low, mean.high]
