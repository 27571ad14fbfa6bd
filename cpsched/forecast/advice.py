"""
What would help a waiting job: less time or fewer nodes, in the same scenarios.

A job on fewer nodes does the same work, so it runs and asks for as much longer. It is advised only
where it also ends earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.forecast.job_lookup import label
from cpsched.forecast.start_forecast import NO_LIMIT
from cpsched.util.types import UNBOUNDED
from cpsched.util.words import counted, duration

if TYPE_CHECKING:
    from cpsched.forecast.forecaster import Forecaster
    from cpsched.forecast.start_forecast import StartForecast
    from cpsched.model.workload import Workload
    from cpsched.simulation.present import Present

#: The shares of the time, and of the units, that are tried.
_TIMES = (2, 4, 8)
_SIZES = (2, 4)
#: The time limits that are tried for a job without one, seconds.
_LIMITS = (7 * 86400, 2 * 86400, 86400)
#: The least median gain that is reported, seconds, and the share of scenarios with a gain.
_LEAST = 60
_SURE = 0.6
#: A time limit that the job is less likely to keep to than this is no advice.
_LEAST_FIT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """
    A change of what a job asks for, and what it gains.

    Attributes
    ----------
    change
        In words.
    requested_time, units
        What it would ask for.
    earlier
        Seconds by which it starts earlier, the median of the scenarios.
    share
        Share of the scenarios in which it starts earlier.
    ends_earlier
        Seconds by which it ends earlier, the median of the scenarios.
    fits
        Probability that the job ends within this time; None where that is not what is changed, or
        no job has run from which to tell.
    """

    change: str
    requested_time: int
    units: int
    earlier: int
    share: float
    ends_earlier: int
    fits: float | None


class _Change(NamedTuple):
    """A change in words, the columns of the workload, and how many times as long the job runs."""

    words: str
    columns: dict[str, int]
    longer: int = 1


def advice_on(
    forecaster: Forecaster, present: Present, handle: int
) -> tuple[StartForecast, tuple[Advice, ...]]:
    """
    Return the forecast of a waiting job, and what would start it earlier, largest gain first.

    A job that asks for fewer units runs for as much longer.
    """
    workload = present.jobs.workload
    changes = []
    for change in (*_shorter(workload, handle), *_smaller(workload, handle)):
        limit = change.columns["requested_time"]
        fits = forecaster.ends_within(present, handle, limit) if change.longer == 1 else None
        allowed = change.longer == 1 or _allows(present, handle, limit)
        if allowed and (fits is None or fits >= _LEAST_FIT):
            changes.append((change, fits))
    variants = [present.changed(handle, **change.columns) for change, _ in changes]
    starts, runtime, gains = forecaster.compare(present, variants, handle, least=_SURE)
    all_advice = []
    for (change, fits), gained in zip(changes, gains, strict=True):
        advice = Advice(
            change=change.words,
            requested_time=change.columns["requested_time"],
            units=change.columns.get("units", int(workload.units[handle])),
            earlier=int(np.median(gained)),
            share=float((gained > 0).mean()),
            ends_earlier=int(np.median(gained - (change.longer - 1) * runtime)),
            fits=fits,
        )
        if min(advice.earlier, advice.ends_earlier) >= _LEAST and advice.share >= _SURE:
            all_advice.append(advice)
    return starts, tuple(sorted(all_advice, key=lambda advice: -advice.ends_earlier))


def _allows(present: Present, handle: int, limit: int) -> bool:
    """Tell whether a queue of a job takes it with another time limit."""
    name = label(present.jobs.workload.queue, handle)
    queues = present.jobs.system.queues
    own = [queues[part] for part in (name or "").split(",") if part in queues]
    return not own or any(queue.max_time is None or limit <= queue.max_time for queue in own)


def _shorter(workload: Workload, row: int) -> list[_Change]:
    """Return changes to a shorter time: fractions of the requested time, in whole minutes."""
    requested = int(workload.requested_time[row])
    if requested >= NO_LIMIT:
        return [
            _Change(f"a time limit of {duration(limit)} instead of none", {"requested_time": limit})
            for limit in _LIMITS
        ]
    limits: dict[int, None] = dict.fromkeys(
        limit
        for part in _TIMES
        if (limit := -(-requested // part // 60) * 60) and limit < requested
    )
    return [
        _Change(f"{duration(limit)} instead of {duration(requested)}", {"requested_time": limit})
        for limit in limits
    ]


def _smaller(workload: Workload, row: int) -> list[_Change]:
    """
    Return changes to fewer units, on as many fewer nodes, that do the same work.

    The job runs for as much longer, so it asks for as much more time.
    """
    units, min_nodes, max_nodes, requested = (
        int(getattr(workload, name)[row])
        for name in ("units", "nodes_min", "nodes_max", "requested_time")
    )
    shaped = any(
        getattr(workload, name)[row]
        for name in ("segment", "max_switches", "contiguous", "job_type")
    )
    core = workload.resources.index("core")
    changes = []
    for part in _SIZES:
        # As many on each node as before.
        if shaped or units % part or (min_nodes > 1 and min_nodes % part):
            break
        columns = {
            **dict.fromkeys(("units", "units_min", "units_max"), units // part),
            "nodes_min": max(min_nodes // part, 1),
            "nodes_max": max_nodes if max_nodes == UNBOUNDED else max(max_nodes // part, 1),
            "requested_time": requested if requested >= NO_LIMIT else requested * part,
        }
        sizes = []
        for number, nodes, time in (
            (columns["units"], columns["nodes_min"], columns["requested_time"]),
            (units, min_nodes, requested),
        ):
            cores = number * int(workload.request[row, core])
            cores += nodes * int(workload.per_node[row, core])
            on_nodes = f" on {counted(nodes, 'node')}" if min_nodes > 1 else ""
            long = "" if requested >= NO_LIMIT else f" for {duration(time)}"
            sizes.append(f"{counted(cores, 'core')}{on_nodes}{long}")
        changes.append(_Change(" instead of ".join(sizes), columns, part))
    return changes
