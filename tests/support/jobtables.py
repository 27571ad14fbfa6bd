"""Job tables with no engine behind them."""

import numpy as np

from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.model.jobstore import LABELS, JobStore, distinct_shapes, submit_rows
from cpsched.model.jobtable import JobTable
from cpsched.model.workload import Labels

_FLAGS = ("eligible_class", "split", "contiguous", "exclusive", "segment", "max_switches")


def job_table(*, resources, strings=None, attempts=0, **columns):
    """
    Build a table of columns by the names of a job table's attributes; unchecked.

    ``handle``, ``submit``, ``requested_time``, ``units`` and ``request`` are needed.
    """
    num, kinds = len(columns["handle"]), len(resources)
    amounts = [
        np.asarray(columns.pop(name, np.zeros((num, kinds))), dtype=np.int64).reshape(num, kinds)
        for name in ("request", "per_node", "per_node_max")
    ]
    flags = [np.broadcast_to(columns.pop(name, 0), num) for name in _FLAGS]
    asked = [*flags, *(column for each in amounts for column in each.T)]
    shapes, shape_of = distinct_shapes(asked, num)
    store = JobStore(resources, num)
    for label in LABELS:
        named = Labels.encode((strings or {}).get(label, [""] * num))
        store.add_strings(label, named.values)
        columns[label] = named.codes
    store.append(submit_rows(num, {**columns, "shape": shape_of}))
    store.add_shapes(shapes)
    store.writable[:num, c.ATTEMPTS] = attempts
    return JobTable(store, immutable(np.arange(num, dtype=np.int64)))
