"""
What is published of the ESP-2 workload and of how it is run on CPU-GPU machines.

P: Soner and Ozturan, IPSCHED paper, section V. T: Soner's thesis, section 7.3.1.
"""

from __future__ import annotations

from typing import NamedTuple


class EspJob(NamedTuple):
    """
    One job type.

    Attributes
    ----------
    size
        Part of the machine's cores.
    number
        Jobs of this type.
    runtime
        Seconds.
    """

    name: str
    size: float
    number: int
    runtime: int


#: P Figure 3 (a), T Table 7.1.
JOBS = (
    EspJob("A", 0.03125, 75, 257),
    EspJob("B", 0.06250, 9, 341),
    EspJob("C", 0.50000, 3, 536),
    EspJob("D", 0.25000, 3, 601),
    EspJob("E", 0.50000, 3, 312),
    EspJob("F", 0.06250, 9, 1846),
    EspJob("G", 0.12500, 6, 1321),
    EspJob("H", 0.15820, 6, 1078),
    EspJob("I", 0.03125, 24, 1438),
    EspJob("J", 0.06250, 24, 715),
    EspJob("K", 0.09570, 15, 495),
    EspJob("L", 0.12500, 36, 369),
    EspJob("M", 0.25000, 15, 192),
    EspJob("Z", 1.00000, 2, 100),
)
#: The job that takes the whole machine; it is not doubled, and comes at a time of its own.
FULL = "Z"
#: When Z jobs come, seconds: T 7.3.1; twice that where the other jobs are doubled (P, T).
FULL_SUBMITS = (40 * 60, 120 * 60)
#: P section V: jobs at the start, mean of the gaps between those that follow, seconds.
INITIAL, GAP = 50, 30.0
#: P section V: the machine that is emulated, and what the doubles ask for on every node.
NODES, CORES_PER_NODE, GPUS_PER_NODE = 1024, 8, 2
#: P section VI, experiments 7 and 8: sizes are up to so many cores smaller or larger.
SIZE_JITTER = 4
