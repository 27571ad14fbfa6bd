"""Which jobs may have another number of units than the log says, and between which bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.base.types import UNBOUNDED, JobType, Split
from cpsched.errors import ConfigError, check_range
from cpsched.mapping.feasibility import most_units
from cpsched.mapping.settings import LONGEST, NONE, read_settings
from cpsched.model.speedup import MILLION
from cpsched.model.workload import RESIZE_COST

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.model.system import System
    from cpsched.model.workload import Workload

_KINDS = {kind.name.lower(): kind for kind in JobType if kind is not JobType.RIGID}
#: Of the draw; another one than that of the jobs that may be restarted.
_SEED = 1
_MOST = 1000


class Malleable(NamedTuple):
    """
    How a share of a log's jobs may change size.

    Attributes
    ----------
    share
        Of the jobs, drawn at random and always the same ones of a log; those of a smaller share
        are among those of a larger one.
    least, most
        Fewest and most units, as multiples of the job's units; rounded up and down.
    kind
        ``moldable``, ``malleable`` or ``evolving``.
    serial
        Fraction of a job's work that its units cannot share.
    cost
        Seconds without progress after each change of size.
    """

    share: float = 1.0
    least: float = 0.5
    most: float = 2.0
    kind: str = JobType.MALLEABLE.name.lower()
    serial: float = 0.0
    cost: int = RESIZE_COST

    @classmethod
    def parse(cls, text: str) -> Malleable:
        """
        Read ``share=0.5,least=0.5,most=2,kind=moldable,serial=0.05,cost=10``; see the defaults.

        Raises
        ------
        ConfigError
            If something else is given, or a value is invalid.
        """
        found = cls(**read_settings(cls._field_defaults, "malleable", text))
        check_range("share", found.share, 0, 1)
        check_range("least", found.least, 0, 1)
        check_range("most", found.most, 1, _MOST)
        check_range("serial", found.serial, 0, 1)
        check_range("cost", found.cost, 0, LONGEST)
        if found.kind not in _KINDS:
            raise ConfigError(
                f"kind is {found.kind}, must be one of: {', '.join(_KINDS)}", key="malleable"
            )
        return found


def with_malleable(workload: Workload, text: str) -> Workload:
    """
    Return a workload in which jobs may change size as a setting says; ``none``: as in the log.

    Jobs that ask for more than a number of units stay rigid: those split evenly, on consecutive
    nodes, in segments, below few switches, or alone on a fixed number of nodes that is not one for
    each unit. Where it is one for each unit, the bounds on nodes follow those on units.
    The units of a rigid job are what it asks for, whatever the log says of bounds.
    """
    if text == NONE:
        rigid = workload.job_type == JobType.RIGID
        return workload.with_columns(
            units_min=np.where(rigid, workload.units, workload.units_min),
            units_max=np.where(rigid, workload.units, workload.units_max),
        )
    found = Malleable.parse(text)
    chosen = np.random.default_rng(_SEED).random(len(workload)) < found.share
    chosen &= _is_plain(workload)
    units = workload.units
    # In whole millionths: 0.1 * 30 is a little more than 3.
    least, largest = round(found.least * MILLION), round(found.most * MILLION)
    fewest = np.where(chosen, np.maximum(-(-least * units // MILLION), 1), units)
    most = np.where(chosen, np.minimum(largest * units // MILLION, UNBOUNDED), units)
    evolving = chosen & (found.kind == JobType.EVOLVING.name.lower())
    own_node = chosen & (workload.nodes_min == units) & (workload.nodes_max == units)
    return workload.with_columns(
        job_type=np.where(chosen, _KINDS[found.kind], JobType.RIGID),
        units_min=fewest,
        units_max=most,
        nodes_min=np.where(own_node, fewest, workload.nodes_min),
        nodes_max=np.where(own_node, most, workload.nodes_max),
        serial=np.where(chosen, round(found.serial * MILLION), 0),
        resize_cost=np.where(chosen, found.cost, RESIZE_COST),
        # An evolving job asks for its most units after half of its work.
        evolve_after=np.where(evolving, np.maximum(workload.runtime // 2, 1), 0),
        evolve_to=np.where(evolving, most, 0),
    )


def within_machine(
    workload: Workload, system: System, eligible_class: IntArray, eligible: BoolArray
) -> Workload:
    """
    Return a workload in which no job may have more units than its eligible nodes hold.

    Nor fewer than the nodes that it must touch. Jobs whose needs are more than a number of units
    keep the bounds that the log gives them.

    Parameters
    ----------
    workload
        Layout ``units``, in the system's resource kinds.
    eligible_class, eligible
        Which nodes each job may use, shapes ``(J,)`` and ``(C, N)``.
    """
    rows = np.flatnonzero((workload.units_min < workload.units_max) & _is_plain(workload))
    if not len(rows):
        return workload
    units, fewest, most = (
        column.copy() for column in (workload.units, workload.units_min, workload.units_max)
    )
    held = most_units(workload, system, eligible_class, eligible, rows=rows)
    most[rows] = np.maximum(np.minimum(most[rows], held), units[rows])
    needed = np.minimum(workload.nodes_min[rows], units[rows])
    fewest[rows] = np.maximum(fewest[rows], needed)
    wanted = np.where(workload.evolve_to > 0, np.clip(workload.evolve_to, fewest, most), 0)
    return workload.with_columns(units_min=fewest, units_max=most, evolve_to=wanted)


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
