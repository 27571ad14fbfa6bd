"""What will be submitted, packed so that one job enters the job store by one copy."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import MISSING, JobType
from cpsched.model import columns as c
from cpsched.model.distinct import by_appearance
from cpsched.model.jobstore import LABELS, SUBMIT_COLUMNS, JobStore, distinct_shapes, submit_rows

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.mapping import Fitted
    from cpsched.model.system import System
    from cpsched.model.workload import Workload


#: What there is of each job, as in the workload, and what the job store gets.
_COLUMNS = (
    *("runtime", "status", "requested_time", "begin", "cancel", "dependency", "dependency_type"),
    *("checkpoint", "restart_cost", "restartable", "job_type", "units", "serial", "resize_cost"),
    *("evolve_after", "evolve_to", "rows", "workload_row"),
)


class Arrivals:
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
    rows
        What the job store gets of each job, shape ``(A, NUM_SUBMIT)``.
    relaxes
        Whether some job's limit of switches passes while it waits.
    workload_row
        Row of the workload of each job that can run, shape ``(A,)``. The position here is the
        job's handle and its row in the job store.
    """

    def __init__(self, fitted: Fitted) -> None:
        workload, system = fitted.workload, fitted.system
        workload.check_order()
        self.system = system
        self.workload = workload
        accepted = np.ones(len(workload), dtype=np.bool_)
        accepted[[row for row, _ in fitted.rejected]] = False
        self.workload_row = np.flatnonzero(accepted).astype(np.int64)
        # Codes and shapes are numbered among accepted jobs, by first appearance, so that what
        # has been seen is always a prefix.
        jobs = workload.take(self.workload_row)
        self.runtime = jobs.runtime
        self.status = jobs.status
        self.requested_time = jobs.requested_time
        self.submit: list[int] = jobs.submit.tolist()
        self.begin = jobs.begin
        self.cancel = jobs.cancel
        self.dependency = jobs.dependency
        self.dependency_type = jobs.dependency_type
        self.checkpoint = jobs.checkpoint
        self.restart_cost = jobs.restart_cost
        self.restartable = jobs.restartable
        self.job_type = jobs.job_type
        self.units = jobs.units
        self.serial = jobs.serial
        self.resize_cost = jobs.resize_cost
        self.evolve_after = jobs.evolve_after
        self.evolve_to = np.where(jobs.job_type == JobType.EVOLVING, jobs.evolve_to, 0)
        # Eligibility classes too are numbered by appearance.
        old = fitted.eligible_class[self.workload_row]
        classes, first = by_appearance(old)
        self._classes = old[first]
        self._eligible = fitted.eligible[self._classes]
        #: Jobs whose limit of switches passes: they bring the request that is left then, too.
        relaxes = (jobs.max_switches > 0) & (jobs.switch_wait != MISSING)
        self.relaxes = bool(relaxes.any())
        job = np.repeat(np.arange(len(jobs)), 1 + relaxes)
        last = np.cumsum(1 + relaxes) - 1
        switches = jobs.max_switches[job]
        switches[last[relaxes]] = 0
        flags = [
            *(column[job] for column in (classes, jobs.split, jobs.contiguous, jobs.exclusive)),
            jobs.segment[job],
            switches,
        ]
        self._shapes, numbers = distinct_shapes(
            np.stack(flags, axis=1, dtype=np.int64, casting="unsafe"),
            *(amounts[job] for amounts in (jobs.request, jobs.per_node, jobs.per_node_max)),
        )
        shape_of = numbers[last - relaxes]
        self._labels = {label: getattr(jobs, label).values for label in LABELS}
        self.rows = _submit_block(jobs, system, shape_of)
        # Highest numbers in use up to and including each job.
        columns = [
            np.maximum(shape_of, numbers[last]),
            *(getattr(jobs, label).codes for label in LABELS),
        ]
        self._seen = np.maximum.accumulate(np.stack(columns, axis=1), axis=0) + 1
        # Whether a job brings a shape or string no job before it had.
        self._brings = np.ones(len(jobs), dtype=np.bool_)
        self._brings[1:] = (self._seen[1:] != self._seen[:-1]).any(axis=1)

    def followed_by(self, like: IntArray, submit: IntArray, runtime: IntArray) -> Arrivals:
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
        for name in _COLUMNS:
            setattr(both, name, getattr(self, name)[rows])
        both.submit = [*self.submit, *submit.tolist()]
        both.runtime = runtime
        both.begin[num:], both.dependency[num:] = MISSING, -1
        both.rows[num:, c.HANDLE], both.rows[num:, c.SUBMIT] = np.arange(num, len(rows)), submit
        both.rows[num:, c.NOT_BEFORE] = MISSING
        # Copies bring nothing that has not been seen.
        both._seen = np.concatenate([self._seen, np.repeat(self._seen[-1:], len(like), axis=0)])
        both._brings = np.concatenate([self._brings, np.zeros(len(like), dtype=np.bool_)])
        return both

    def __len__(self) -> int:
        return len(self.submit)

    def job_id(self, handle: int) -> str:
        """Return what the log calls a job."""
        return str(self.workload.job_id[self.workload_row[handle]])

    @property
    def num_classes(self) -> int:
        """Number of eligibility classes of the whole workload."""
        return len(self._classes)

    def enter(self, store: JobStore, first: int, end: int) -> bool:
        """
        Copy jobs ``[first, end)`` into the store, with the shapes and strings they bring.

        Returns
        -------
        bool
            Whether new shapes came (and with them, perhaps, new eligibility classes).
        """
        store.append(self.rows[first:end])
        brings = self._brings.item(first) if end == first + 1 else self._brings[first:end].any()
        return bool(brings) and self.bring(store, end)

    def bring(self, store: JobStore, end: int) -> bool:
        """Add the shapes and strings of jobs before ``end``; say whether there are new shapes."""
        shapes, *codes = self._seen[end - 1].tolist()
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
        return self._eligible[:seen].copy()


def _submit_block(jobs: Workload, system: System, shape_of: IntArray) -> IntArray:
    """Return what the job store gets of each job, one a row."""
    waits = [system.expected_wait(queue) for queue in (*jobs.queue.values, None)]
    expected = np.array([-1 if wait is None else wait for wait in waits], dtype=np.int64)
    known = {name: getattr(jobs, name) for name in SUBMIT_COLUMNS if hasattr(jobs, name)}
    known |= {label: getattr(jobs, label).codes for label in LABELS}
    known |= {
        "handle": np.arange(len(jobs)),
        "shape": shape_of,
        "expected_wait": expected[jobs.queue.codes],
        "not_before": jobs.begin,
    }
    return submit_rows(len(jobs), known)
