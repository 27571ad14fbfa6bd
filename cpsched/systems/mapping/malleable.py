"""Which jobs may be started again, or have another number of units than the log says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.speedup import MILLION
from cpsched.model.workload import RESIZE_COST
from cpsched.systems.mapping.feasibility import max_units
from cpsched.util.types import UNBOUNDED, JobType, Split

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.systems.mapping.draft import Draft
    from cpsched.util.types import BoolArray

#: The setting that changes no job of the log.
NONE = "none"
#: Of the draw of each setting, so that neither tells of the other.
_RESTARTS_SEED, _MALLEABLE_SEED = 0, 1


def set_restarts(draft: Draft, text: str) -> None:
    """Let jobs be restarted as a setting says; ``none``: as in the log."""
    if text == NONE:
        return
    from cpsched.systems.mapping.settings import RestartOptions

    options = RestartOptions.parse(text)
    chosen = _drawn(draft, _RESTARTS_SEED, options.share)
    draft.change(
        restartable=chosen,
        restart_cost=np.where(chosen, options.cost, 0),
        checkpoint=np.where(chosen, options.checkpoint, 0),
    )


def set_malleable(draft: Draft, text: str) -> None:
    """
    Let jobs change size as a setting says; ``none``: as in the log.

    Jobs that ask for more than a number of units stay rigid: those split evenly, on consecutive
    nodes, in segments, below few switches, or alone on a fixed number of nodes that is not one for
    each unit. Where it is one for each unit, the bounds on nodes follow those on units.
    The units of a rigid job are what it asks for, whatever the log says of bounds.
    """
    workload, units = draft.workload, draft.workload.units
    if text == NONE:
        rigid = workload.job_type == JobType.RIGID
        bounds = {name: getattr(workload, name) for name in ("units_min", "units_max")}
        draft.change(
            **{
                name: units if rigid.all() else np.where(rigid, units, bound)
                for name, bound in bounds.items()
            }
        )
        return
    from cpsched.systems.mapping.settings import MalleableOptions

    options = MalleableOptions.parse(text)
    kind = JobType[options.kind.upper()]
    chosen = _drawn(draft, _MALLEABLE_SEED, options.share) & _is_plain(workload)
    # In whole millionths: 0.1 * 30 is a little more than 3.
    least, largest = round(options.least * MILLION), round(options.most * MILLION)
    fewest = np.where(chosen, np.maximum(-(-least * units // MILLION), 1), units)
    units_max = np.where(chosen, np.minimum(largest * units // MILLION, UNBOUNDED), units)
    evolving = chosen & (kind is JobType.EVOLVING)
    own_node = chosen & (workload.nodes_min == units) & (workload.nodes_max == units)
    draft.change(
        job_type=np.where(chosen, kind, JobType.RIGID),
        units_min=fewest,
        units_max=units_max,
        nodes_min=np.where(own_node, fewest, workload.nodes_min),
        nodes_max=np.where(own_node, units_max, workload.nodes_max),
        serial=np.where(chosen, round(options.serial * MILLION), 0),
        resize_cost=np.where(chosen, options.cost, RESIZE_COST),
        # An evolving job asks for its most units after half of its work.
        evolve_after=np.where(evolving, np.maximum(workload.runtime // 2, 1), 0),
        evolve_to=np.where(evolving, units_max, 0),
    )


def bound_units(draft: Draft) -> None:
    """
    Let no job have more units than its eligible nodes hold, nor fewer than nodes it must touch.

    Jobs whose needs are more than a number of units keep the bounds that the log gives them.
    """
    workload, classes = draft.workload, draft.classes
    rows = np.flatnonzero((workload.units_min < workload.units_max) & _is_plain(workload))
    if not len(rows):
        return
    units = workload.units[rows]
    fewest, largest = workload.units_min.copy(), workload.units_max.copy()
    fitting = max_units(workload, draft.system, classes.of_job, classes.nodes, rows=rows)
    largest[rows] = np.maximum(np.minimum(largest[rows], fitting), units)
    fewest[rows] = np.maximum(fewest[rows], np.minimum(workload.nodes_min[rows], units))
    wanted = np.where(workload.evolve_to > 0, np.clip(workload.evolve_to, fewest, largest), 0)
    draft.change(units_min=fewest, units_max=largest, evolve_to=wanted)


def _drawn(draft: Draft, seed: int, share: float) -> BoolArray:
    """Draw a share of the jobs, shape ``(J,)``."""
    drawn: BoolArray = np.random.default_rng(seed).random(len(draft.workload)) < share
    return drawn


def _is_plain(workload: Workload) -> BoolArray:
    """Say which jobs ask for no more than a number of units, shape ``(J,)``."""
    fixed = workload.nodes_min == workload.nodes_max
    more: BoolArray = (
        (workload.split == Split.EVEN)
        | workload.contiguous
        | (workload.segment > 0)
        | (workload.max_switches > 0)
        | (workload.exclusive & fixed & (workload.nodes_max != workload.units))
    )
    return ~more
