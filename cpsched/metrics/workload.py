"""The description of a job log in a few lines."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.waits import MEANING, recorded_wait
from cpsched.model.workload import SET_ASIDE
from cpsched.util.types import MISSING, Status
from cpsched.util.words import duration, memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.workload import Labels, Workload
    from cpsched.util.types import AnyArray

_DAY = 86400
#: Resource types in words.
_NAMES = {"core": "cores", "gpu": "GPUs", "mic": "MICs", "mem": "memory"}


def describe(workload: Workload) -> list[tuple[str, str]]:
    """
    Return a description of a workload as pairs of a name and a text, in reading order.

    Time spans have two units, memory is in GB; medians come with the largest value. What the log
    does not say is left out or named as unknown.
    """
    rows = [
        ("log", workload.title),
        ("jobs", f"{len(workload):,}"),
        *_excluded(workload),
        *(("note", text) for key, text in workload.header if key == "Note"),
        ("span", _span(workload)),
        ("busiest day", _busiest_day(workload)),
        ("runtime", _spread(workload.runtime, duration)),
        ("requested time", _requested(workload)),
        ("run / requested", _ratio(workload)),
    ]
    if workload.layout == "processors":
        rows.append(("processors", _spread(workload.units)))
        rows.append(("layout", "processor counts, placed on nodes by the system"))
    else:
        rows.append(("tasks", _spread(workload.units)))
    for kind, resource in enumerate(workload.resources):
        asked = workload.request[:, kind] + workload.per_node[:, kind]
        share = 100 * np.count_nonzero(asked) / max(len(asked), 1)
        shown = _memory if resource == "mem" else _number
        if asked.any():
            text = f"{_spread(asked[asked > 0], shown)}, in {share:.1f} % of the jobs"
            rows.append((f"{_NAMES.get(resource, resource)} per task", text))
    labels = ("queue", "partition", "user", "group", "name")
    rows.extend((f"{name}s", _labels(getattr(workload, name))) for name in labels)
    rows.append(("status", _statuses(workload)))
    waits = recorded_wait(workload)
    if len(waits := waits[waits != MISSING]):
        rows.append(("recorded wait", f"{_spread(waits, duration)}, {MEANING}"))
    else:
        rows.append(("recorded wait", "unknown"))
    return rows


def as_data(workload: Workload) -> dict[str, Any]:
    """Return a description of a workload as plain JSON types. None for unknown values."""
    waits = recorded_wait(workload)
    asked = workload.requested_time[workload.requested_time != MISSING]
    codes, counts = np.unique(workload.status, return_counts=True)
    return {
        "title": workload.title,
        "jobs": len(workload),
        "set_aside": {reason: int(number) for reason, number in workload.set_aside},
        "notes": [text for key, text in workload.header if key == "Note"],
        "epoch_s": workload.epoch,
        "first_submit_s": int(workload.submit[0]),
        "last_submit_s": int(workload.submit[-1]),
        "layout": workload.layout,
        "runtime_s": _figures(workload.runtime),
        "requested_time_s": _figures(asked),
        "recorded_wait_s": _figures(waits[waits != MISSING]),
        "units": _figures(workload.units),
        "resources": list(workload.resources),
        **{
            f"{name}s": len(getattr(workload, name).values)
            for name in ("queue", "partition", "user", "group")
        },
        "status": {
            Status(code).name.lower(): number
            for code, number in zip(codes.tolist(), counts.tolist(), strict=True)
        },
    }


def _figures(values: AnyArray) -> dict[str, float] | None:
    if not len(values):
        return None
    return {
        "jobs": len(values),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "max": int(values.max()),
    }


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _memory(value: float) -> str:
    return memory(round(value))


def _excluded(workload: Workload) -> list[tuple[str, str]]:
    """Return the numbers of excluded rows by reason, with the details in the log."""
    details = {
        reason: f" ({text})"
        for key, example in workload.header
        if key == SET_ASIDE
        for reason, _, text in [example.partition(": ")]
    }
    return [
        (f"excluded: {reason}", f"{number:,}{details.get(reason, '')}")
        for reason, number in workload.set_aside
    ]


def _span(workload: Workload) -> str:
    first, last = int(workload.submit[0]), int(workload.submit[-1])
    text = f"{(last - first) / _DAY:,.1f} days of submits"
    if workload.epoch is None:
        return text
    dates = [
        datetime.fromtimestamp(workload.epoch + second, UTC).strftime("%Y-%m-%d")
        for second in (first, last)
    ]
    return f"{text}, {dates[0]} to {dates[1]} (UTC)"


def _busiest_day(workload: Workload) -> str:
    days = (workload.submit - workload.submit[0]) // _DAY
    max_jobs = int(np.unique(days, return_counts=True)[1].max())
    return f"{max_jobs:,} {'job' if max_jobs == 1 else 'jobs'}"


def _spread(values: AnyArray, shown: Callable[[float], str] = _number) -> str:
    measures = (np.median(values), values.mean(), values.max())
    median, mean, largest = (shown(float(value)) for value in measures)
    return f"median {median}, mean {mean}, max {largest}"


def _requested(workload: Workload) -> str:
    known = workload.requested_time[workload.requested_time != MISSING]
    if not len(known):
        return "unknown"
    share = 100 * len(known) / len(workload)
    return _spread(known, duration) + (
        "" if share == 100 else f", known for {share:.1f} % of the jobs"
    )


def _ratio(workload: Workload) -> str:
    known = workload.requested_time != MISSING
    if not known.any():
        return "unknown"
    ratio = workload.runtime[known] / workload.requested_time[known]
    over = 100 * np.count_nonzero(ratio > 1) / len(ratio)
    return f"median {np.median(ratio):.3f}, above 1 for {over:.1f} % of the jobs"


def _labels(labels: Labels) -> str:
    if not labels.values:
        return "unknown"
    counts = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.values))
    modal = int(counts.argmax())
    share = 100 * counts[modal] / len(labels)
    return f"{len(labels.values):,}, most frequent {labels.values[modal]!r} with {share:.1f} %"


def _statuses(workload: Workload) -> str:
    codes, counts = np.unique(workload.status, return_counts=True)
    parts = [
        f"{Status(code).name.lower()} {100 * number / len(workload):.1f} %"
        for code, number in zip(codes.tolist(), counts.tolist(), strict=True)
    ]
    return ", ".join(parts)
