"""What will be submitted, packed block by block so that a job enters the store by one copy."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.model import columns as c
from cpsched.model.arrays import constant, let_go, plain, put_away, rows_of
from cpsched.model.distinct import by_appearance
from cpsched.model.jobstore import LABELS, SUBMIT_COLUMNS, JobStore, distinct_shapes, submit_rows
from cpsched.util.types import MISSING, JobType, Status

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import BoolArray, IntArray


#: What there is of each job, as in the workload.
_COLUMNS = (
    *("runtime", "status", "requested_time", "begin", "cancel", "dependency", "dependency_type"),
    *("checkpoint", "restart_cost", "restartable", "job_type", "units", "serial", "resize_cost"),
    *("evolve_after", "evolve_to"),
)
#: How jobs end, by the log, that another one is not to follow.
UNSUCCESSFUL = frozenset(Status) - {Status.COMPLETED, Status.UNKNOWN}
#: Jobs that are packed at once.
_BLOCK = 1 << 14


class Block(NamedTuple):
    """
    Jobs ``[first, end)`` as the job store takes them.

    Attributes
    ----------
    rows
        Shape ``(end - first, NUM_SUBMIT)``.
    brings
        Whether a job brings a shape or string that no job before it had.
    """

    first: int
    end: int
    rows: IntArray
    brings: BoolArray


class JobStream:
    """
    The jobs of a fitted workload that can run, in submit order.

    The simulator alone holds this; it is the future.

    Parameters
    ----------
    fitted
        A workload mapped onto its system.

    Attributes
    ----------
    system
        Where they run.
    workload
        All jobs, rejected ones included.
    submit
        Seconds, by handle.
    relaxes
        Whether some job's limit of switches passes while it waits.
    workload_row
        Row of the workload of each job that can run, shape ``(A,)``. The position here is the
        job's handle and its row in the job store.
    """

    runtime: IntArray
    status: IntArray
    requested_time: IntArray
    begin: IntArray
    cancel: IntArray
    dependency: IntArray
    dependency_type: IntArray
    checkpoint: IntArray
    restart_cost: IntArray
    job_type: IntArray
    units: IntArray
    serial: IntArray
    resize_cost: IntArray
    evolve_after: IntArray
    evolve_to: IntArray
    restartable: BoolArray

    def __init__(self, fitted: Fitted) -> None:
        workload, system = fitted.workload, fitted.system
        workload.check_order()
        self.system = system
        self.workload = workload
        accepted = np.ones(len(workload), dtype=np.bool_)
        accepted[[row for row, _ in fitted.rejected]] = False
        self.workload_row: IntArray = put_away(np.flatnonzero(accepted))
        # Codes and shapes are numbered among accepted jobs, by first appearance, so that what
        # has been seen is always a prefix.
        jobs = workload.take(self.workload_row) if fitted.rejected else workload
        for name in _COLUMNS:
            setattr(self, name, getattr(jobs, name))
        self.submit = plain(jobs.submit)
        evolving = jobs.job_type == JobType.EVOLVING
        none = constant(0, jobs.evolve_to.shape)
        self.evolve_to = np.where(evolving, jobs.evolve_to, 0) if evolving.any() else none
        # Eligibility classes too are numbered by appearance.
        old = fitted.eligible_class[self.workload_row]
        classes, first = by_appearance(old)
        self._classes = old[first]
        self._eligible = fitted.eligible[self._classes]
        #: Jobs whose limit of switches passes: they bring the request that is left then, too.
        relaxes = (jobs.max_switches > 0) & (jobs.switch_wait != MISSING)
        self.relaxes = bool(relaxes.any())
        self._shapes, shape_of, max_units = map(put_away, _shapes_of(jobs, classes, relaxes))
        labels = {label: getattr(jobs, label).in_order() for label in LABELS}
        self._labels = {label: column.values for label, column in labels.items()}
        numbers = [max_units, *(column.codes for column in labels.values())]
        #: Where something comes that no job before had, and the highest numbers in use then.
        brings = np.zeros(len(jobs), dtype=np.bool_)
        for column in numbers:
            brings[1:] |= np.diff(np.maximum.accumulate(column)) > 0
        brings[:1] = True
        self._brings = np.flatnonzero(brings)
        self._seen = np.stack(
            [np.maximum.accumulate(column)[self._brings] + 1 for column in numbers], axis=1
        )
        self._known = {
            **{name: getattr(jobs, name) for name in SUBMIT_COLUMNS if hasattr(jobs, name)},
            **{label: column.codes for label, column in labels.items()},
            "shape": shape_of,
            "not_before": jobs.begin,
        }
        jobs.let_go()
        waits = [system.expected_wait(queue) for queue in (*jobs.queue.values, None)]
        self._expected = np.array([-1 if wait is None else wait for wait in waits], dtype=np.int64)
        self._block = Block(0, 0, np.zeros((0, c.NUM_SUBMIT), dtype=np.int64), brings[:0])

    def followed_by(self, like: IntArray, submit: IntArray, runtime: IntArray) -> JobStream:
        """
        Return these arrivals, and copies of some of them that come later.

        Nothing is numbered anew: much faster than packing all of them again.

        Parameters
        ----------
        like
            The job, by handle, that each of m later ones is a copy of, shape ``(m,)``. A copy
            depends on no other job, and may begin at once.
        submit, runtime
            Seconds: of the m jobs, not before the others, and of all, shape ``(A + m,)``.
        """
        num = len(self)
        rows = np.concatenate([np.arange(num), like])
        both = copy(self)
        vars(both).pop("dependents", None)
        for name in (*_COLUMNS, "workload_row"):
            setattr(both, name, rows_of(getattr(self, name), rows))
        submits = np.concatenate([self.submit, submit])
        both.submit, both.runtime = plain(submits), runtime
        both.begin = np.concatenate([self.begin, np.full(len(like), MISSING)])
        both.dependency = np.concatenate([self.dependency, np.full(len(like), -1)])
        both._known = {name: rows_of(column, rows) for name, column in self._known.items()}
        both._known |= {"submit": submits, "not_before": both.begin}
        return both

    def __len__(self) -> int:
        return len(self.submit)

    def let_go(self, first: int, end: int) -> None:
        """Take what is only of jobs ``[first, end)`` out of memory, where it lies in files."""
        for column in (*(getattr(self, name) for name in _COLUMNS), *self._known.values()):
            let_go(column, first, end)

    def job_id(self, handle: int) -> str:
        """Return what the log calls a job."""
        return str(self.workload.job_id[self.workload_row[handle]])

    def coming(self, block: Block) -> JobStore:
        """Return a store of jobs that are to arrive, with all request classes and strings."""
        store = JobStore(self.system.resources, len(block.rows))
        store.add_shapes(self._shapes)
        store.append(block.rows)
        store.labels = self._labels
        return store

    @property
    def failed(self) -> BoolArray:
        """Which jobs end, by the log, as others that depend on their success do not accept."""
        return np.isin(self.status, [*UNSUCCESSFUL])

    @cached_property
    def dependents(self) -> tuple[IntArray, IntArray]:
        """Jobs by the one they depend on, and where those of each begin and the last end."""
        order = np.argsort(self.dependency, kind="stable")
        bounds = np.searchsorted(self.dependency, np.arange(len(self) + 1), sorter=order)
        return order, bounds

    @property
    def num_classes(self) -> int:
        """Number of eligibility classes of the whole workload."""
        return len(self._classes)

    def block(self, row: int) -> Block:
        """Return a job and those around it as the store takes them, up to the end of a second."""
        block = self._block
        if not block.first <= row < block.end:
            end = min(row + _BLOCK, len(self))
            end = int(np.searchsorted(self.submit, self.submit[end - 1], side="right"))
            known = {name: column[row:end] for name, column in self._known.items()}
            known["handle"] = np.arange(row, end)
            known["expected_wait"] = self._expected[known["queue"]]
            brings = np.zeros(end - row, dtype=np.bool_)
            new = self._brings[slice(*np.searchsorted(self._brings, (row, end)))]
            brings[new - row] = True
            block = self._block = Block(row, end, submit_rows(end - row, known), brings)
        return block

    def enter(self, store: JobStore, first: int, end: int) -> bool:
        """
        Copy jobs ``[first, end)`` into the store, with the shapes and strings they bring.

        Returns
        -------
        bool
            Whether new shapes came (and with them, perhaps, new eligibility classes).
        """
        brings = False
        while first < end:
            block = self.block(first)
            low, high = first - block.first, min(end, block.end) - block.first
            store.append(block.rows[low:high])
            brings = brings or bool(
                block.brings.item(low) if high == low + 1 else block.brings[low:high].any()
            )
            first += high - low
        return brings and self.bring(store, end)

    def bring(self, store: JobStore, end: int) -> bool:
        """Add the shapes and strings of jobs before ``end``; say whether there are new shapes."""
        last = int(np.searchsorted(self._brings, end)) - 1
        shapes, *codes = self._seen[last].tolist()
        for label, seen in zip(LABELS, codes, strict=True):
            known = len(store.labels[label])
            if seen > known:
                store.add_strings(label, self._labels[label][known:seen])
        if shapes > len(store.shapes):
            store.add_shapes(self._shapes[len(store.shapes) : shapes])
            return True
        return False

    def eligible(self, store: JobStore) -> BoolArray:
        """Return the node masks of the classes seen so far, copied, shape ``(C, N)``."""
        seen = int(store.shapes[:, c.SHAPE_CLASS].max(initial=-1)) + 1
        masks: BoolArray = self._eligible[:seen].copy()
        return masks


def _shapes_of(
    jobs: Workload, classes: IntArray, relaxes: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """
    Return the distinct requests of jobs, each job's, and the highest number that each brings.

    Jobs that relax bring two: with their limit of switches, and without it.
    """
    flags = {
        "class": classes,
        **{name: getattr(jobs, name) for name in ("split", "contiguous", "exclusive", "segment")},
        "max_switches": jobs.max_switches,
    }
    amounts = (jobs.request, jobs.per_node, jobs.per_node_max)
    columns = [*flags.values(), *(column for each in amounts for column in each.T)]
    if not relaxes.any():
        shapes, numbers = distinct_shapes(columns, len(jobs))
        return shapes, numbers, numbers
    job = np.repeat(np.arange(len(jobs)), 1 + relaxes)
    last = np.cumsum(1 + relaxes) - 1
    columns = [column[job] for column in columns]
    columns[len(flags) - 1][last[relaxes]] = 0
    shapes, numbers = distinct_shapes(columns, len(job))
    return shapes, numbers[last - relaxes], np.maximum(numbers[last - relaxes], numbers[last])
