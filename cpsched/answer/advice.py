"""What would start a waiting job earlier: less time or fewer nodes, in the same scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.answer.starts import NEVER
from cpsched.base.types import UNBOUNDED
from cpsched.base.words import counted, duration

if TYPE_CHECKING:
    from cpsched.answer.forecaster import Forecaster
    from cpsched.answer.starts import Starts
    from cpsched.model.workload import Workload
    from cpsched.simulation.present import Present

#: The shares of the time, and of the units, that are tried.
_TIMES = (2, 4, 8)
_SIZES = (2, 4)
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
    fits
        Probability that the job ends within this time; None where that is not what is changed, or
        no job has run from which to tell.
    """

    change: str
    requested_time: int
    units: int
    earlier: int
    share: float
    fits: float | None


def advice_on(
    forecaster: Forecaster, present: Present, handle: int
) -> tuple[Starts, tuple[Advice, ...]]:
    """
    Return the forecast of a waiting job, and what would start it earlier, largest gain first.

    A job that asks for fewer units is assumed to run for as long as before.
    """
    workload = present.jobs.workload
    changes = [*_shorter(workload, handle), *_smaller(workload, handle)]
    presents = [present, *(present.changed(handle, **columns) for _, columns in changes)]
    starts, *others = forecaster.compare(presents, np.array([handle]))
    before = starts.scenario[:, 0]
    found = []
    for (words, columns), other in zip(changes, others, strict=True):
        gained = np.minimum(before, NEVER // 2) - np.minimum(other.scenario[:, 0], NEVER // 2)
        advice = Advice(
            change=words,
            requested_time=columns.get("requested_time", int(workload.requested_time[handle])),
            units=columns.get("units", int(workload.units[handle])),
            earlier=int(np.median(gained)),
            share=float((gained > 0).mean()),
            fits=forecaster.ends_within(present, handle, columns["requested_time"])
            if "requested_time" in columns
            else None,
        )
        too_short = advice.fits is not None and advice.fits < _LEAST_FIT
        if advice.earlier >= _LEAST and advice.share >= _SURE and not too_short:
            found.append(advice)
    return starts, tuple(sorted(found, key=lambda one: -one.earlier))


def _shorter(workload: Workload, row: int) -> list[tuple[str, dict[str, int]]]:
    """Return changes to a shorter time: fractions of the requested time, in whole minutes."""
    asked = int(workload.requested_time[row])
    found: dict[int, None] = dict.fromkeys(
        limit for part in _TIMES if (limit := -(-asked // part // 60) * 60) and limit < asked
    )
    return [
        (f"{duration(limit)} instead of {duration(asked)}", {"requested_time": limit})
        for limit in found
    ]


def _smaller(workload: Workload, row: int) -> list[tuple[str, dict[str, int]]]:
    """Return changes to fewer units, on as many fewer nodes."""
    units, least, most = (
        int(getattr(workload, name)[row]) for name in ("units", "nodes_min", "nodes_max")
    )
    shaped = any(
        getattr(workload, name)[row]
        for name in ("segment", "max_switches", "contiguous", "job_type")
    )
    found = []
    for part in _SIZES:
        # As many on each node as before.
        if shaped or units % part or (least > 1 and least % part):
            break
        columns = {
            **dict.fromkeys(("units", "units_min", "units_max"), units // part),
            "nodes_min": max(least // part, 1),
            "nodes_max": most if most == UNBOUNDED else max(most // part, 1),
        }
        on_nodes = least > 1
        few = counted(columns["nodes_min"], "node") if on_nodes else counted(units // part, "unit")
        found.append((f"{few} instead of {least if on_nodes else units:,}", columns))
    return found
