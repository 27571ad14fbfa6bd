"""What the jobs of a window ask for, as bid generation needs it: the thesis's three job types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.api.model import IntArray, JobTable

#: More steps than this of a range of generic resources are not bid for (on a node with more GPUs).
MOST_LEVELS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ask:
    """
    A request that one or more jobs of a window make; R resource kinds.

    Attributes
    ----------
    nodes_max
        No more than the units.
    request
        Amounts of one unit, shape ``(R,)``.
    levels
        What may be taken on every node in addition, least first, shape ``(L, R)``: one row where
        the job names no range.
    """

    units: int
    nodes_min: int
    nodes_max: int
    even: bool
    contiguous: bool
    exclusive: bool
    eligible_class: int
    request: IntArray
    levels: IntArray

    @property
    def job_type(self) -> int:
        """The thesis's type (4.1): 1: units alone; 2: bounds on nodes; 3: an even split."""
        if self.even:
            return 3
        return 1 if self.nodes_min == 1 and self.nodes_max >= self.units else 2


def asks_of(jobs: JobTable, largest: IntArray) -> tuple[list[Ask], list[int]]:
    """
    Return the distinct requests of some jobs, and which of them each job makes.

    ``largest`` is the most of each kind that any node has, shape ``(R,)``.
    """
    number, first = jobs.distinct()
    table = jobs.take(first)
    columns = {
        name: getattr(table, name).tolist()
        for name in ("units", "nodes_min", "nodes_max", "split", "contiguous", "exclusive",
                     "eligible_class")
    }  # fmt: skip
    request, least, most = table.request, table.per_node, table.per_node_max
    asks = [
        Ask(
            units=columns["units"][at],
            nodes_min=columns["nodes_min"][at],
            nodes_max=min(columns["nodes_max"][at], columns["units"][at]),
            even=bool(columns["split"][at]),
            contiguous=bool(columns["contiguous"][at]),
            exclusive=bool(columns["exclusive"][at]),
            eligible_class=columns["eligible_class"][at],
            request=request[at],
            levels=levels_between(least[at], np.minimum(most[at], largest)),
        )
        for at in range(len(table))
    ]
    return asks, number.tolist()


def levels_between(least: IntArray, most: IntArray) -> IntArray:
    """
    Return the amounts on each node that are bid for, least first, shape ``(L, R)``.

    All kinds with a range go up together, one by one, or in at most ``MOST_LEVELS`` even steps.
    """
    span = np.maximum(most - least, 0)
    longest = int(span.max(initial=0))
    steps = min(longest + 1, MOST_LEVELS)
    part = np.arange(steps, dtype=np.int64)[:, None]
    levels: IntArray = least + (span * part // max(steps - 1, 1))
    return levels
