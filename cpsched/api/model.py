"""Data: workloads, systems, views, decisions, allocations, and the types of their columns."""

from __future__ import annotations

from cpsched.base.types import (
    MAX_AMOUNT,
    MAX_TIME,
    MISSING,
    NO_TIME_LIMIT,
    UNBOUNDED,
    AnyArray,
    BoolArray,
    DependencyType,
    FloatArray,
    IntArray,
    JobType,
    Split,
    Status,
)
from cpsched.model import columns
from cpsched.model.allocation import Allocation
from cpsched.model.arrays import immutable
from cpsched.model.columns import (
    EXPECTED_END,
    NODES_MAX,
    NODES_MIN,
    RUNTIME_ESTIMATE,
    SHAPE_REQUEST,
    UNITS,
)
from cpsched.model.decision import (
    NOTHING,
    Action,
    Decision,
    Kill,
    PlannedStarts,
    Requeue,
    Resize,
    Start,
    Suspend,
)
from cpsched.model.distinct import distinct
from cpsched.model.estimates import Requested
from cpsched.model.jobstore import LABELS, SUBMIT_COLUMNS, JobStore
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.node_sets import NodeSets
from cpsched.model.seeds import stream_seed
from cpsched.model.speedup import MILLION, parts_per_second, seconds_on
from cpsched.model.system import LogMapping, MemoryMapping, Preempt, ProcessorMapping, Queue, System
from cpsched.model.topology import Topology, TopologyKind
from cpsched.model.view import View
