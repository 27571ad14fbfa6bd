"""
How much a job prefers one bid to another, and what that weighs beside priorities.

Preferences F after (4.12) and (5.7) with Tables 4.4 and 5.2; costs K after (6.5); alpha after
(4.10), beta after (6.7): as printed, and so that they do what the text says.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import FloatArray, IntArray

#: Preferences and costs are multiples of 1 over one of these numbers, the first that keeps programs
#: in range. With the first, a node is at least one part of a preference on 20,000 nodes.
_PARTS = (100_000, 10_000, 1000)
#: What all jobs together may be worth in a program.
_MAX_WORTH = 2**61
#: One part in this many is subtracted if a value must stay strictly below a bound.
_STRICTLY = 1000
#: No preference is above this (Table 5.2: 1.0 + 0.1).
MAX_PREFERENCE = 1.1
#: No cost is above this (6.5).
MAX_COST = 3


class BidClass(IntEnum):
    """The placement of a bid's nodes (thesis, 4.1)."""

    A = 0
    """Within one nodeset, at its beginning or end."""
    B = 1
    """Within one nodeset, elsewhere."""
    C = 2
    """On more than one nodeset."""


#: Constants k1 to k4 of the classes A, B and C: of job type 1, then of the types 2 and 3.
TABLE_4_4: FloatArray = np.array([
    [[0.0, 0.25, 0.0, 0.0], [0.25, 0.25, 0.0, 0.0], [0.5, 0.25, 0.25, 0.0]],
    [[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]],
])  # fmt: skip
#: With 0.5 for class C: as printed, with 0.4, it is preferred to class B for job types 2 and 3,
#: against section 4.2.
TABLE_5_2: FloatArray = np.array([
    [[0.0, 0.25, 0.0, 0.1], [0.25, 0.25, 0.0, 0.1], [0.5, 0.25, 0.25, 0.1]],
    [[0.0, 0.0, 0.0, 0.1], [0.5, 0.0, 0.0, 0.1], [0.5, 0.0, 0.1, 0.1]],
])  # fmt: skip


def preferences(
    table: FloatArray,
    job_type: IntArray,
    kind: IntArray,
    *,
    nodes: tuple[IntArray, int],
    nodesets: tuple[IntArray, int],
    generic: tuple[IntArray, IntArray],
) -> FloatArray:
    """
    Return preference values: (4.12), with the last term of (5.7) where k4 is not 0.

    Parameters
    ----------
    job_type, kind
        Type of the job and class of each bid, shape ``(B,)``.
    nodes, nodesets
        Of each bid, and of the machine.
    generic
        Generic resources on a node in each bid, and the most the job can use.
    """
    k1, k2, k3, k4 = table[np.minimum(job_type, 2) - 1, kind].T
    values: FloatArray = (
        1.0
        - k1
        - k2 * nodes[0] / (nodes[1] + 1)
        - k3 * nodesets[0] / (nodesets[1] + 1)
        + k4 * (generic[0] + 1) / (generic[1] + 1)
    )
    return values


def costs(
    *, nodes: tuple[IntArray, int], level: tuple[IntArray, int], generic: tuple[IntArray, int]
) -> FloatArray:
    """
    Return the costs ``K`` of bids (6.5), each above 0 and at most 3; shape ``(B,)``.

    Parameters
    ----------
    nodes
        Of each bid, and of the machine.
    level
        Of the lowest switch above all nodes of each bid (0: a leaf switch), and of the root.
    generic
        Generic resources on a node in each bid, and the most that any node has.
    """
    values: FloatArray = (
        1.0 + nodes[0] / nodes[1] + level[0] / max(level[1], 1) - generic[0] / max(generic[1], 1)
    )
    return values


def alpha(priorities: Sequence[int]) -> tuple[int, float]:
    """
    Return the weight of preferences beside priorities, as numerator and denominator.

    It is ``1 / (1.1 |J| + 1)``: all preferences together weigh less than one point of priority.
    Printed is the least priority over one more than the number of bids (4.10), which does not keep
    priorities apart: with priorities 1000 and 999 and 150 bids it is 6.6.
    """
    return 1, MAX_PREFERENCE * len(priorities) + 1


def beta(priorities: Sequence[int]) -> tuple[int, float]:
    """
    Return the weight of costs beside priorities, as numerator and denominator.

    It is a third of the smallest difference of two priorities that is not 0 (6.7 has 0 where two
    are equal), and stays below a third of the smallest priority, because a bid with a negative
    ``P - beta K`` would never win: of two jobs, the one with the higher priority keeps the higher
    weight.
    """
    distinct = sorted(set(priorities))
    least = distinct[0] if distinct else 1
    gap = min([least, *(high - low for low, high in pairwise(distinct))])
    # Strictly less than a third of the smallest priority.
    return min(_STRICTLY * gap, (_STRICTLY - 1) * least), MAX_COST * _STRICTLY


def weights(
    priorities: Sequence[int], job: Sequence[int], values: FloatArray, weight: tuple[int, float]
) -> list[int]:
    """
    Return ``P_j + w V`` of each bid (4.1, 5.1, 6.1), times a number that makes them whole.

    Parameters
    ----------
    priorities
        Of each job of the window, whole and positive.
    job, values
        Of each bid: its job, and its preference or its negative cost; these are rounded, see
        ``_PARTS``.
    weight
        See :func:`alpha` and :func:`beta`.
    """
    numerator, scale = weight
    total = 2 * sum(priorities) * scale
    parts = next((parts for parts in _PARTS if total * parts < _MAX_WORTH), _PARTS[-1])
    denominator = round(scale * parts)
    return [
        priorities[of] * denominator + numerator * round(value * parts)
        for of, value in zip(job, values.tolist(), strict=True)
    ]
