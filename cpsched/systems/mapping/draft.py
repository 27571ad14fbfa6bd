"""A log's jobs on their way to a system: rules change columns and reject jobs, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.system import Queue, System
    from cpsched.model.workload import Workload
    from cpsched.systems.mapping.classes import Classes
    from cpsched.util.types import IntArray


class Draft:
    """
    The jobs as the rules so far have them; J jobs, N nodes, C classes.

    Columns are not checked before all rules have been applied.

    Attributes
    ----------
    workload, system
        The jobs, and the machine that they are to run on.
    rejected
        Row and first reason of each job that can never run there.
    classes
        Which nodes each job may use, once that is known.
    """

    classes: Classes

    def __init__(self, workload: Workload, system: System) -> None:
        self.workload = workload
        self.system = system
        self.rejected: dict[int, str] = {}

    def change(self, **columns: Any) -> None:
        """Replace columns, or other fields of the workload."""
        self.workload = replace(self.workload, **columns)

    def reject(self, reasons: Mapping[int, str]) -> None:
        """Take up which rows can never run, and why; what an earlier rule said stays."""
        self.rejected = {**reasons, **self.rejected}

    def accepted(self) -> IntArray:
        """Return the rows that no rule has rejected."""
        left = np.ones(self.workload.num_jobs, dtype=np.bool_)
        left[list(self.rejected)] = False
        return np.flatnonzero(left)

    def queues(self) -> list[tuple[Queue, ...]]:
        """Return the queues of each code of the queue column; none for the last, which is -1."""
        return [self.system.queues_of(names) for names in (*self.workload.queue.values, None)]
