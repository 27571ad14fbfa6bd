"""The jobs of a cluster as a workload on its system, for what simulates them further."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model import columns as c
from cpsched.model.jobstore import LABELS, SUBMIT_COLUMNS
from cpsched.model.workload import COLUMNS, Labels, Workload
from cpsched.systems.mapping import Fitted
from cpsched.util.types import MISSING, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.engine.cluster import Cluster
    from cpsched.util.types import IntArray

#: Columns that a store and a workload have under the same name, without strings.
_SAME = {name: at for name, at in SUBMIT_COLUMNS.items() if name in {*COLUMNS} - {*LABELS}}
_SHAPES = {
    "split": c.SHAPE_SPLIT,
    "segment": c.SHAPE_SEGMENT,
    "max_switches": c.SHAPE_SWITCHES,
    "contiguous": c.SHAPE_CONTIGUOUS,
    "exclusive": c.SHAPE_EXCLUSIVE,
}


def jobs_of(
    cluster: Cluster,
    *,
    ran: Mapping[int, int],
    begin: Mapping[int, int],
    dependency: Mapping[int, int],
    epoch: int | None,
) -> Fitted:
    """
    Return the jobs of a cluster, by handle.

    Parameters
    ----------
    ran
        Seconds that ended jobs ran, by handle; those that are left out never did.
    begin
        Until when jobs are held, by handle.
    dependency
        What held jobs wait for: handles by handle.
    epoch
        Unix time of second 0.
    """
    store, system = cluster.machine.store, cluster.system
    columns = store.columns[: store.size]
    shape = store.shapes[columns[:, c.SHAPE]]
    kinds = len(system.resources)
    amounts = [shape[:, c.SHAPE_REQUEST + k * kinds :][:, :kinds] for k in range(3)]
    num = store.size
    known: dict[str, Any] = {name: columns[:, at] for name, at in _SAME.items()}
    known |= {name: shape[:, at] for name, at in _SHAPES.items()}
    for name in LABELS:
        codes = columns[:, SUBMIT_COLUMNS[name]]
        known[name] = Labels(codes.copy(), tuple(store.labels[name]))
    workload = Workload.build(
        title="cluster",
        epoch=epoch,
        resources=system.resources,
        # Numbers, so that jobs stay in their order.
        job_id=[str(row) for row in range(num)],
        runtime=_column(num, ran, 0),
        status=np.where(columns[:, c.STATE] == c.ENDED, int(Status.COMPLETED), int(Status.UNKNOWN)),
        request=amounts[0],
        per_node=amounts[1],
        per_node_max=amounts[2],
        **known,
    )
    return Fitted(
        workload=replace(
            workload,
            job_id=np.array([cluster.machine.name(row) for row in range(num)], dtype=np.str_),
            begin=_column(num, begin, MISSING),
            dependency=_column(num, dependency, -1),
        ),
        system=system,
        eligible_class=shape[:, c.SHAPE_CLASS].copy(),
        eligible=cluster.machine.classes.copy(),
        rejected=(),
    )


def _column(num: int, values: Mapping[int, int], neutral: int) -> IntArray:
    column = np.full(num, neutral, dtype=np.int64)
    column[list(values)] = list(values.values())
    return column
