"""The list plan of an instance: each job in turn at the first time it fits behind those before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.kernels import pool

if TYPE_CHECKING:
    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.types import IntArray
    from cpsched.model.view import View
    from cpsched.planning.instance import Instance


def list_plan(dispatcher: Dispatcher, view: View, instance: Instance) -> IntArray:
    """
    Return the starts of the list plan, shape ``(n,)``.

    In the dispatcher's own order of the queue (that of submits where it has none), on the machine
    as one pool, with all jobs there at once.

    Parameters
    ----------
    view
        Of the empty machine, with every job waiting.
    """
    order = dispatcher.ranking(view)
    rows = view.waiting.rows
    starts: IntArray = pool.list_plan(
        np.arange(len(rows)) if order is None else np.searchsorted(rows, order),
        instance.duration,
        instance.demand,
        np.zeros(len(rows), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.array(view.free.sum(axis=0)[None]),
    )
    return starts
