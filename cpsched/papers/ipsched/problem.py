"""One decision of IPSCHED as numbers: jobs that may start, classes of nodes, and weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import gcd
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from cpsched.cp import cpsat
from cpsched.model.jobtable import JobTable
from cpsched.model.node_sets import unit_capacity

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray


class Share(NamedTuple):
    """How much of a job lies on the nodes of a class: units, and nodes touched."""

    units: int
    nodes: int


class JobPart(NamedTuple):
    """
    What a job may have on a class of nodes.

    Attributes
    ----------
    job, k
        Positions in the problem.
    each
        Units on every node of it, for jobs that are split evenly; 0 where any number may be.
    units
        ``x_kj``; None for an even split: ``each`` times the nodes.
    nodes
        ``t_kj``.
    """

    job: int
    k: int
    each: int
    units: cpsat.IntVar | None
    nodes: cpsat.IntVar

    @property
    def all_units(self) -> cpsat.LinearExprT:
        """Units on the class."""
        return self.each * self.nodes if self.units is None else self.units


@dataclass(slots=True, kw_only=True, eq=False)
class CoAllocationProgram(cpsat.HasModel):
    """A program in the making: ``s_j`` of each job, and its parts."""

    problem: CoAllocationProblem
    model: cpsat.CpModel
    selected: list[cpsat.IntVar] = field(default_factory=list)
    parts: list[JobPart] = field(default_factory=list)

    def exclude(self, jobs: Collection[int]) -> None:
        """Forbid that all of some jobs start."""
        self.model.add(sum(self.selected[job] for job in jobs) <= len(jobs) - 1)

    def hint(self, shares: Mapping[int, Mapping[int, Share]]) -> None:
        """Propose a solution to the solver."""
        values: dict[int, tuple[cpsat.IntVar, int]] = {}
        for job, variable in enumerate(self.selected):
            values[variable.index] = (variable, int(job in shares))
        for part in self.parts:
            share = shares.get(part.job, {}).get(part.k, Share(0, 0))
            if part.each and share.units != part.each * share.nodes:
                share = Share(0, 0)
            if part.units is not None:
                values[part.units.index] = (part.units, share.units)
            values[part.nodes.index] = (part.nodes, share.nodes)
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        variables, hints = zip(*values.values(), strict=True)
        cpsat.add_hints(self.model, variables, hints)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoAllocationProblem:
    """
    The input of the program; J jobs in order of priority, K classes of nodes, R kinds.

    Attributes
    ----------
    rows, handle
        Row in the job store and handle of each job, shape ``(J,)``.
    weight
        ``P_j``, or ``P_j R_j``; shape ``(J,)``.
    units, nodes_min, nodes_max
        ``R_j^cpu`` in units, and the bounds of 3.6; shape ``(J,)``.
    request, per_node
        Amounts of one unit, and of the job in addition on every node it uses (``R_j^gres``); shape
        ``(J, R)``.
    even, contiguous, exclusive
        Requests that the papers do not have; shape ``(J,)``.
    unit_class, kind
        Equal numbers for jobs whose units are equal, and for jobs that are equal in everything;
        shape ``(J,)``.
    max_equal
        How many jobs equal to this one fit at once at most, shape ``(J,)``.
    members
        The nodes of each class, in ascending order.
    free
        Free amounts of each node of a class, shape ``(K, R)``.
    fitting
        How many units of a job one node of a class holds, at most its units; shape ``(J, K)``.
    num_nodes
        ``|N|``: all nodes of the machine.

    Notes
    -----
    Nodes are in one class if no job of the window can tell them apart. A class of one node has
    exactly the thesis's variables ``x_nj`` and ``t_nj``, a class of m equal nodes their sums: every
    solution on nodes is one on classes with the same value, so the best on classes is never below
    the best on nodes. Whether nodes attain it is checked afterwards
    (:mod:`cpsched.papers.ipsched.layout`).
    """

    rows: IntArray
    handle: IntArray
    weight: tuple[int, ...]
    units: IntArray
    nodes_min: IntArray
    nodes_max: IntArray
    request: IntArray
    per_node: IntArray
    even: BoolArray
    contiguous: BoolArray
    exclusive: BoolArray
    unit_class: IntArray
    kind: IntArray
    max_equal: IntArray
    members: tuple[IntArray, ...]
    free: IntArray
    fitting: IntArray
    num_nodes: int

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, view: View, rows: IntArray, weight: Sequence[int]) -> Self:
        """Return the problem of some rows of the store, by priority; weights are positive."""
        jobs = JobTable(view.waiting.store, rows)
        exclusive = jobs.exclusive.astype(np.bool_)
        request, per_node = jobs.request, jobs.per_node
        eligible_class = jobs.eligible_class
        if exclusive.any():
            kinds = np.arange(request.shape[1])
        else:
            kinds = np.flatnonzero((request + per_node).any(axis=0))
        members = _classes(view, np.unique(eligible_class), kinds, exclusive=bool(exclusive.any()))
        first = np.array([nodes[0] for nodes in members], dtype=np.int64)
        units = jobs.units
        fitting = unit_capacity(view.free[first], request, per_node, units * len(units))
        fitting[~view.eligible[eligible_class][:, first]] = 0
        in_use = (view.free[first] != view.system.capacity[first]).any(axis=1)
        fitting[np.ix_(exclusive, in_use)] = 0
        max_equal = fitting @ np.array([len(nodes) for nodes in members]) // units
        fitting = np.minimum(fitting, units[:, None])
        used = np.flatnonzero(fitting.sum(axis=0))
        return cls(
            rows=rows,
            handle=jobs.handle,
            weight=_in_range(weight, len(view.free)),
            units=units,
            nodes_min=jobs.nodes_min,
            nodes_max=np.minimum(jobs.nodes_max, np.minimum(units, len(view.free))),
            request=request,
            per_node=per_node,
            even=jobs.split.astype(np.bool_),
            contiguous=jobs.contiguous.astype(np.bool_),
            exclusive=exclusive,
            unit_class=jobs.shape,
            kind=jobs.distinct()[0],
            max_equal=max_equal,
            members=tuple(members[k] for k in used.tolist()),
            free=view.free[first[used]],
            fitting=fitting[:, used],
            num_nodes=len(view.free),
        )

    @property
    def count(self) -> IntArray:
        """Nodes in each class, shape ``(K,)``."""
        return np.array([len(nodes) for nodes in self.members], dtype=np.int64)

    def take(self, jobs: IntArray) -> CoAllocationProblem:
        """Return the problem of some of the jobs, given by position in ascending order."""
        names = ("rows", "handle", "units", "nodes_min", "nodes_max", "request", "per_node", "even",
                 "contiguous", "exclusive", "unit_class", "kind", "max_equal",
                 "fitting")  # fmt: skip
        return replace(
            self,
            weight=tuple(self.weight[job] for job in jobs.tolist()),
            **{name: getattr(self, name)[jobs] for name in names},
        )

    def on_nodes(self) -> CoAllocationProblem:
        """Return the same problem with every node in a class of its own, as the papers have it."""
        count = self.count
        return replace(
            self,
            members=tuple(np.array([node]) for nodes in self.members for node in nodes.tolist()),
            free=np.repeat(self.free, count, axis=0),
            fitting=np.repeat(self.fitting, count, axis=1),
        )

    def dominates(self) -> BoolArray:
        """
        Return at ``[b, a]`` whether a dominates b; shape ``(J, J)``.

        Then some best solution never starts b without a: a has at least the weight of b, asks for
        the same units and no more of them, and keeps its bounds on nodes wherever b does, so that
        it can have the place of b. Of equal jobs the first dominates.
        """
        weight, units = np.array(self.weight), self.units
        same = self.unit_class[:, None] == self.unit_class
        # An even split depends on what divides the units.
        same &= (units[:, None] == units) | ~self.even
        first: BoolArray = (
            same
            & (weight[:, None] <= weight)
            & (units[:, None] >= units)
            & (self.nodes_min[:, None] >= self.nodes_min)
            & (np.minimum(self.nodes_max[:, None], units) <= self.nodes_max)
            & (self.nodes_min <= units)
        )
        equal = first & first.T
        before: BoolArray = (first & ~equal) | np.tril(equal, -1)
        return before

    def without_dominated(self) -> CoAllocationProblem:
        """Return the problem without jobs that do not fit beside all that dominate them."""
        before = self.dominates() | np.eye(len(self), dtype=np.bool_)
        undominated = (before & (self.kind[:, None] == self.kind)).sum(axis=1) <= self.max_equal
        fewest = self.fewest_nodes()
        total = (self.free * self.count[:, None]).sum(axis=0)
        taken = self.request * self.units[:, None] + self.per_node * fewest[:, None]
        undominated &= (before @ taken <= total).all(axis=1)
        return self if undominated.all() else self.take(np.flatnonzero(undominated))

    def fewest_nodes(self) -> IntArray:
        """Return the fewest nodes on which each job fits by itself, shape ``(J,)``."""
        order = np.argsort(-self.fitting, axis=1, kind="stable")
        fitting = np.take_along_axis(self.fitting, order, axis=1)
        count = np.broadcast_to(self.count, fitting.shape)
        count = np.take_along_axis(count, order, axis=1)
        before = np.cumsum(fitting * count, axis=1) - fitting * count
        left = np.clip(self.units[:, None] - before, 0, None)
        nodes = np.minimum(-(-left // np.maximum(fitting, 1)), count)
        fewest: IntArray = np.maximum(nodes.sum(axis=1), self.nodes_min)
        return fewest

    def worth(self, job: int, nodes: int) -> int:
        """Return what a job on so many nodes adds to 3.1, times ``2 |N|``."""
        return self.weight[job] * (2 * self.num_nodes - nodes)


def _classes(
    view: View, eligible_classes: IntArray, kinds: IntArray, *, exclusive: bool
) -> list[IntArray]:
    """Return the nodes in classes, in order of their first node."""
    free = view.free[:, kinds]
    parts = [free, view.eligible[eligible_classes].T]
    if exclusive:
        untouched = (view.free == view.system.capacity).all(axis=1)
        parts.append(untouched[:, None])
    key = np.concatenate(parts, axis=1, dtype=np.int64)
    _, first, code = np.unique(key, axis=0, return_index=True, return_inverse=True)
    code = code.reshape(-1)
    by_class = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
    return [by_class[index] for index in np.argsort(first, kind="stable").tolist()]


def _in_range(weight: Sequence[int], num_nodes: int) -> tuple[int, ...]:
    """
    Return weights as the smallest integers that keep their ratios.

    If their sum times ``2 |N|`` would exceed 64 bits, they are divided, and rounded to 1 or more.
    """
    divisor = gcd(*weight)
    small = [value // divisor for value in weight]
    portion = -(-2 * num_nodes * sum(small) // (cpsat.MAX_VALUE // 2))
    return tuple(max(1, value // max(portion, 1)) for value in small)
