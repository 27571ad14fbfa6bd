"""
A schedule for the report's interactive chart: the most relevant jobs, and a shade for the rest.
"""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.columns import job_placements
from cpsched.metrics.nominal import nominal
from cpsched.metrics.steps import waiting
from cpsched.metrics.waits import began
from cpsched.metrics.window import busy_window
from cpsched.model.schedule import JobOutcome
from cpsched.model.workload import Labels
from cpsched.report.figures.data import means
from cpsched.report.figures.lanes import Rows, pieces, place
from cpsched.report.html.page import packed
from cpsched.util.documents import json_text
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule, Segments
    from cpsched.report.figures.lanes import Rectangles
    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Points of the line of the queue, and of the shade of the jobs not drawn, at most.
_POINTS, _ACROSS, _DOWN = 800, 1200, 64
#: The share of the rectangles that the busiest days may take.
_FOR_FOCUS = 0.6
#: Longer texts are cut: names from logs may be of any length.
_LONGEST = 60
#: So many segments are looked at together: of a long schedule only a part is in memory.
_PIECE = 1 << 20


def drawn(schedule: Schedule, focus: Window | None, budget: int) -> dict[str, Any] | None:
    """
    Return what the page shows of a schedule, with about ``budget`` rectangles; None if no job ran.

    All jobs are drawn if they fit into the budget. Else those that run within ``focus`` (cut in
    half until they take no more than their part), and of the others those that hold most.

    Returns
    -------
    dict
        ``content``: JSON, deflated, in base64. ``jobs`` and ``of``: how many jobs are drawn one by
        one, and how many ran; ``instant``: how many of those drawn took no time, so that there is
        nothing to see of them; ``share``: of what all jobs together held of the machine, what
        those drawn did. ``focus``: the window in which every job is drawn, None if all are
        everywhere.
    """
    window = busy_window(schedule)
    if window is None:
        return None
    rows = Rows.of(schedule)
    held = _held(schedule)
    schedule.let_go()
    kept, focus = _kept(schedule, held, focus, budget)
    segments = schedule.segments
    boxes = place(schedule, rows, np.flatnonzero(kept[segments.job]))
    schedule.let_go()
    content = {
        **_axes(schedule, rows, window),
        **_jobs(schedule, boxes),
        **_over_time(schedule, window),
        "shade": "" if kept.all() else _shade(schedule, rows, window, ~kept[segments.job]),
    }
    text = json_text(content, separators=(",", ":"), ensure_ascii=False)
    ran = schedule.start != MISSING
    total = float(held.sum())
    return {
        "content": packed(text),
        "jobs": int((kept & ran).sum()),
        "of": int(ran.sum()),
        "instant": int((ran & kept & (held == 0)).sum()),
        "share": float(held[kept].sum()) / total if total else 1.0,
        "focus": focus,
    }


def _held(schedule: Schedule) -> FloatArray:
    """Return how much of the machine each job held: cores times seconds, at least its seconds."""
    segments = schedule.segments
    cores = np.maximum(segments.amount[:, 0], 1) * segments.count
    area = (cores * (segments.end - segments.start)).astype(np.float64)
    held = np.bincount(segments.job, weights=area, minlength=len(schedule.workload))
    return held.astype(np.float64)


def _kept(
    schedule: Schedule, held: FloatArray, focus: Window | None, budget: int
) -> tuple[BoolArray, Window | None]:
    """Return which jobs are drawn, and within which window all are."""
    segments = schedule.segments
    num_jobs = len(schedule.workload)
    cost = np.bincount(segments.job, weights=pieces(schedule), minlength=num_jobs)
    if cost.sum() <= budget:
        return np.ones(num_jobs, dtype=np.bool_), None
    inside = np.zeros(num_jobs, dtype=np.bool_)
    while focus is not None:
        inside[:] = False
        within = (segments.start < focus.end) & (segments.end > focus.start)
        inside[segments.job[within]] = True
        if cost[inside].sum() <= _FOR_FOCUS * budget or focus.length < 2:
            break
        focus = focus._replace(end=focus.start + focus.length // 2)
    order = np.argsort(np.where(inside, -np.inf, -held), kind="stable")
    kept = np.zeros(num_jobs, dtype=np.bool_)
    kept[order[np.cumsum(cost[order]) <= budget]] = True
    return kept | inside, focus


def _axes(schedule: Schedule, rows: Rows, window: Window) -> dict[str, Any]:
    names = schedule.system.node_names
    return {
        "epoch": schedule.workload.epoch,
        "window": list(window),
        "height": rows.height,
        "unit": rows.unit,
        "nodes": [_cut(name) for name in names] if rows.unit == "node" else [],
    }


def _jobs(schedule: Schedule, boxes: Rectangles) -> dict[str, Any]:
    """Return the jobs that have rectangles, column by column, and the rectangles."""
    workload = schedule.workload
    boxes = boxes.sorted_by_job()
    chosen, index = np.unique(boxes.job, return_inverse=True)
    few = _only(schedule, chosen)
    where = ["one pool"] * len(chosen)
    if schedule.system.num_nodes > 1:
        # As jobs.parquet has them.
        where = job_placements(few)[1].to_pylist()
    outcomes = {item.value: item.name.lower().replace("_", " ") for item in JobOutcome}
    texts = {
        **{
            key: _coded([label or "" for label in getattr(workload, key).take(chosen).decode()])
            for key in ("user", "queue", "name")
        },
        "where": _coded(where),
        "outcome": _coded([outcomes[code] for code in schedule.outcome[chosen].tolist()]),
    }
    submit, start, end = (of[chosen] for of in (workload.submit, began(schedule), schedule.end))
    numbers = {
        # Differences are small numbers, which take less room: the page adds them up.
        "submit": np.diff(submit, prepend=0),
        "wait": start - submit,
        "ran": np.where(end == MISSING, MISSING, end - start),
        "cores": nominal(few).width,
        "requested": workload.requested_time[chosen],
        "predicted": schedule.runtime_estimate[chosen],
    }
    return {
        "ids": [_cut(str(name)) for name in workload.job_id[chosen]],
        "texts": texts,
        "jobs": {name: _optional(values) for name, values in numbers.items()},
        "rects": {
            "job": np.diff(index, prepend=0).tolist(),
            "start": (boxes.start - start[index]).tolist(),
            "length": (boxes.end - boxes.start).tolist(),
            "low": [round(value, 3) for value in boxes.low.tolist()],
            "high": [round(value, 3) for value in boxes.high.tolist()],
        },
    }


def _only(schedule: Schedule, chosen: IntArray) -> Schedule:
    """Return what a schedule says of where and when some jobs, in order, ran; no outcomes."""
    rows = np.flatnonzero(np.isin(schedule.segments.job, chosen))
    own = schedule.segments.take(rows)
    return replace(
        schedule,
        workload=schedule.workload.take(chosen),
        start=schedule.start[chosen],
        end=schedule.end[chosen],
        segments=replace(own, job=np.searchsorted(chosen, own.job)),
    )


def _coded(texts: list[str]) -> dict[str, Any]:
    """Return texts as codes into a list of the distinct ones; -1 where there is none."""
    labels = Labels.encode(_cut(text) for text in texts)
    return {"codes": labels.codes.tolist(), "values": list(labels.values)}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _optional(values: IntArray) -> list[int | None]:
    return [None if value == MISSING else value for value in values.tolist()]


def _over_time(schedule: Schedule, window: Window) -> dict[str, Any]:
    schedule.let_go()
    queue = means(waiting(schedule), window, _POINTS)
    schedule.let_go()
    return {
        "times": [round(edge) for edge in queue.edges.tolist()],
        "queue": [round(value, 2) for value in queue.values.tolist()],
    }


def _shade(schedule: Schedule, rows: Rows, window: Window, others: BoolArray) -> str:
    """Return a picture (PNG, base64) of how full of other jobs the nodes are over time."""
    from PIL import Image

    segments = schedule.segments
    down, across = min(_DOWN, schedule.system.num_nodes), min(_ACROSS, window.length)
    chosen = np.flatnonzero(others & (segments.end > segments.start))
    middle = rows.base + rows.lane * rows.lanes / 2
    band = np.minimum((middle * down / rows.height).astype(np.int64), down - 1)
    change = np.zeros((down, across + 2))
    for first in range(0, len(chosen), _PIECE):
        few = segments.take(chosen[first : first + _PIECE])
        _note_held(few, band, window.start, window.length / across, change)
        schedule.let_go()
    capacity = np.bincount(band, weights=rows.lanes, minlength=down)
    full = np.cumsum(change, axis=1)[:, :across] / np.maximum(capacity, 1)[:, None]
    alpha = np.rint(np.clip(full, 0, 1) * 15) * 11
    pixels = np.stack([np.full_like(alpha, 128), alpha], axis=2).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels, "LA").save(out, format="PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def _note_held(
    segments: Segments, band: IntArray, start: int, seconds: float, change: FloatArray
) -> None:
    """Note by how much what is held on each band of nodes changes in each cell of time."""
    each = np.repeat(np.arange(len(segments.count)), segments.count)
    node = np.arange(len(each)) - np.repeat(
        np.cumsum(segments.count) - segments.count, segments.count
    )
    own = band[node + segments.node[each]]
    weight = segments.amount[each, 0].astype(np.float64)
    for times, sign in ((segments.start, 1.0), (segments.end, -1.0)):
        at = (times[each] - start) / seconds
        cell = np.clip(at.astype(np.int64), 0, change.shape[1] - 2)
        # A job counts in the cell it begins in for the part it is there.
        part = np.clip(at - cell, 0, 1)
        np.add.at(change, (own, cell), sign * weight * (1 - part))
        np.add.at(change, (own, cell + 1), sign * weight * part)
