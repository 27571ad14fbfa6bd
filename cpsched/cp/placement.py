"""
The placement part of pure CP's model: how many units of each job on each target, at all times.

Remediani 2017, eq. 4.13 (``alternative``: every unit on exactly one node, and a node may hold
several units of one job) and eq. 4.11 (a cumulative per node and kind), with a count for each job
and target instead of an optional interval for each unit and node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp.capacity import CumulativeTask, add_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.cp import cpsat
    from cpsched.cp.targets import PlacementTarget, Requests
    from cpsched.util.types import BoolArray, IntArray


class Placement:
    """
    Adds the placement of jobs to a model that has their starts.

    Attributes
    ----------
    count
        Units by (job, target position).
    """

    def __init__(
        self,
        model: cpsat.CpModel,
        requests: Requests,
        targets: Sequence[PlacementTarget],
        start: Sequence[cpsat.IntVar],
        duration: Sequence[int],
        handle: Sequence[int],
    ) -> None:
        self.count: dict[tuple[int, int], cpsat.IntVar] = {}
        self._model = model
        self._requests = requests
        self._targets = targets
        self._start = start
        self._duration = duration
        self._handle = handle
        self._interval = [
            model.new_fixed_size_interval_var(variable, length, "")
            for variable, length in zip(start, duration, strict=True)
        ]
        #: Whether a job uses a target, where its request makes that matter.
        self._used: dict[tuple[int, int], cpsat.IntVar] = {}
        # For the hints: units on each node of even splits, and where runs begin, as (variable,
        # target, target before).
        self._each: dict[int, cpsat.IntVar] = {}
        self._rises: dict[int, list[tuple[cpsat.IntVar, int, int]]] = {}
        self._exact = True
        # As lists: these are asked for at every target.
        self._unit: list[list[int]] = requests.unit.tolist()
        self._exclusive: list[bool] = requests.exclusive.tolist()
        self._once: list[bool] = (requests.exclusive | requests.per_node.any(axis=1)).tolist()

    def add(self, capacity_of: IntArray, horizon: int) -> bool:
        """Add everything; return whether capacities are exact."""
        plain = self._requests.plain()
        self._add_counts(plain)
        self._add_bounds(plain)
        self._add_even()
        self._add_contiguous()
        self._add_symmetry()
        for position in range(len(self._targets)):
            self._add_capacity(position, capacity_of, horizon)
        return self._exact

    def _add_counts(self, plain: BoolArray) -> None:
        """x_ip in [0, max_units], sum_p x_ip = units_i."""
        of_job: list[list[cpsat.IntVar]] = [[] for _ in self._start]
        units = self._requests.units.tolist()
        bounded = (~plain).tolist()
        for position, target in enumerate(self._targets):
            for job, max_units in zip(target.jobs, target.max_units, strict=True):
                count = self._model.new_int_var(
                    0, max_units, f"units_{self._handle[job]}_{position}"
                )
                self.count[job, position] = count
                of_job[job].append(count)
                if bounded[job]:
                    self._add_used(job, position, count, max_units)
        for job, counts in enumerate(of_job):
            self._model.add(sum(counts) == units[job])

    def _add_used(self, job: int, position: int, count: cpsat.IntVar, max_units: int) -> None:
        """u_ip = 1 where x_ip is at least 1."""
        if max_units == 1:
            self._used[job, position] = count
            return
        used = self._model.new_bool_var(f"used_{self._handle[job]}_{position}")
        self._used[job, position] = used
        self._model.add(count >= used)
        self._model.add(count <= max_units * used)

    def _add_bounds(self, plain: BoolArray) -> None:
        """nodes_min_i <= sum_p u_ip <= nodes_max_i."""
        low, high = self._requests.nodes_min.tolist(), self._requests.nodes_max.tolist()
        for job in np.flatnonzero(~plain).tolist():
            used = self._used_by(job)
            if low[job] > 1:
                self._model.add(sum(used) >= low[job])
            if high[job] < len(used):
                self._model.add(sum(used) <= high[job])

    def _used_by(self, job: int) -> list[cpsat.IntVar]:
        return [used for (owner, _), used in self._used.items() if owner == job]

    def _add_even(self) -> None:
        """x_ip = e_i on every target of a job that splits evenly."""
        for job in np.flatnonzero(self._requests.even).tolist():
            units = int(self._requests.units[job])
            each = self._model.new_int_var(1, units, f"each_{self._handle[job]}")
            self._each[job] = each
            for (owner, position), used in self._used.items():
                if owner == job:
                    count = self.count[job, position]
                    self._model.add(count == each).only_enforce_if(used)

    def _add_contiguous(self) -> None:
        """A run begins at most once along the line: sum_n max(u_n - u_(n-1), 0) <= 1."""
        for job in np.flatnonzero(self._requests.contiguous).tolist():
            # Every target the job can use is a single node, and targets are in order of nodes.
            own = [position for owner, position in self._used if owner == job]
            rises: list[tuple[cpsat.IntVar, int, int]] = []
            before = -1
            for position in own:
                used = self._used[job, position]
                follows = before >= 0 and self._node(position) == self._node(before) + 1
                if follows:
                    rise = self._model.new_bool_var(f"rise_{self._handle[job]}_{position}")
                    self._model.add(rise >= used - self._used[job, before])
                else:
                    rise = used
                rises.append((rise, position, before if follows else -1))
                before = position
            self._model.add(sum(rise for rise, _, _ in rises) <= 1)
            self._rises[job] = [item for item in rises if item[2] >= 0]

    def _node(self, position: int) -> int:
        return int(self._targets[position].nodes[0])

    def _add_symmetry(self) -> None:
        """Of identical nodes, the first job that can use them has no more on a later one."""
        for position, target in enumerate(self._targets):
            if target.after is not None:
                job = target.jobs[0]
                self._model.add(self.count[job, target.after] >= self.count[job, position])

    def _add_capacity(self, position: int, capacity_of: IntArray, horizon: int) -> None:
        """A cumulative for each kind that can run short at a target."""
        target = self._targets[position]
        times = target.times.tolist()
        counted = [
            (job, max_units, *self._presence(job, position, max_units))
            for job, max_units in zip(target.jobs, target.max_units, strict=True)
        ]
        once = [
            (job, self._optional(job, self._used[job, position]))
            for job in target.jobs
            if self._once[job]
        ]
        for kind in target.kinds:
            tasks: list[CumulativeTask] = []
            for job, max_units, interval, units in counted:
                need = 1 if target.pool else self._unit[job][kind]
                if need and not self._exclusive[job]:
                    tasks.append(CumulativeTask(interval, need, max_units, units))
            for job, interval in once:
                alone = self._exclusive[job]
                amounts = (
                    capacity_of[self._node(position)] if alone else self._requests.per_node[job]
                )
                if amounts[kind]:
                    tasks.append(CumulativeTask(interval, int(amounts[kind])))
            self._exact &= add_kind(self._model, tasks, times, target.level[:, kind], horizon)

    def _presence(
        self, job: int, position: int, max_units: int
    ) -> tuple[cpsat.IntervalVar, cpsat.IntVar | None]:
        """Return a job's interval at a target, and its units; None: one, if it is present."""
        count = self.count[job, position]
        return (self._interval[job], count) if max_units > 1 else (self._optional(job, count), None)

    def _optional(self, job: int, presence: cpsat.IntVar) -> cpsat.IntervalVar:
        return self._model.new_optional_fixed_size_interval_var(
            self._start[job], self._duration[job], presence, ""
        )

    def hints(self, takes: IntArray) -> list[tuple[cpsat.IntVar, int]]:
        """Return every variable of the placement and its value in a plan, units by (job, node)."""
        on_target = [takes[:, target.nodes].sum(axis=1).tolist() for target in self._targets]
        value = {(job, position): on_target[position][job] for job, position in self.count}
        hints = [(variable, value[key]) for key, variable in self.count.items()]
        hints += [
            (used, int(value[key] > 0))
            for key, used in self._used.items()
            if used is not self.count[key]
        ]
        hints += [(each, int(takes[job].max())) for job, each in self._each.items()]
        for job, rises in self._rises.items():
            hints += [
                (rise, int(value[job, position] > 0 and value[job, before] == 0))
                for rise, position, before in rises
            ]
        return hints
