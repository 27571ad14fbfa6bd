"""
Which jobs share nodes: the fewest nodes for a few jobs that start, and where those are.

With two to six jobs there are few sets of them that a node of a class can hold together. A program
that counts the nodes of each set is exact where the program on classes is not, however many nodes
there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched import cpsat
from cpsched.ipsched.layout import Layout, layout_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.ipsched.problem import Problem
    from cpsched.model.types import IntArray

#: Of jobs, and of sets over all classes, for which this is tried.
MOST_JOBS = 6
MOST_SETS = 1500


class Member(NamedTuple):
    """A job on a node: as many units as on each other (``each``), or any number (0)."""

    job: int
    each: int


class Group(NamedTuple):
    """
    Nodes of a class with the same jobs on them.

    Attributes
    ----------
    nodes
        How many nodes.
    units
        Of each member with any number of units: its units on all of these nodes.
    """

    k: int
    members: tuple[Member, ...]
    nodes: cpsat.IntVar
    units: dict[int, cpsat.IntVar]


class Shared(NamedTuple):
    """
    What came out for some jobs.

    Attributes
    ----------
    feasible
        Whether they fit together.
    cost
        The least ``sum_j P_j nodes_j``.
    layout
        Where; None if they do not fit, or units of different sizes could not be dealt out.
    """

    solved: cpsat.Solved
    feasible: bool
    cost: int
    layout: Layout | None


def share(problem: Problem, jobs: Sequence[int], limits: cpsat.Limits) -> Shared | None:
    """
    Return the fewest nodes for some jobs, all of which start.

    Returns
    -------
    Shared or None
        None if they are too many, one of them needs neighbouring nodes, or the limit passed.
    """
    if len(jobs) > MOST_JOBS or problem.contiguous[list(jobs)].any():
        return None
    sets: list[tuple[int, tuple[Member, ...]]] = []
    for k in range(len(problem.members)):
        sets += [(k, members) for members in _sets(problem, k, jobs)]
        if len(sets) > MOST_SETS:
            return None
    model = cpsat.new_model("ipsched: shared nodes")
    groups = [_group(model, problem, k, members) for k, members in sets]
    for k, nodes in enumerate(problem.count.tolist()):
        model.add(sum(group.nodes for group in groups if group.k == k) <= nodes)
    nodes_of = {job: _add_job(model, problem, job, groups) for job in jobs}
    model.minimize(sum(problem.weight[job] * nodes for job, nodes in nodes_of.items()))
    variables = [group.nodes for group in groups]
    variables += [units for group in groups for units in group.units.values()]
    solved = cpsat.solve(model, variables, limits)
    if solved.status is cpsat.Status.INFEASIBLE:
        return Shared(solved, False, 0, None)
    if solved.status is not cpsat.Status.OPTIMAL:
        return None
    value = {v.index: n for v, n in zip(variables, solved.values, strict=True)}
    return Shared(solved, True, round(solved.objective), _deal(problem, jobs, groups, value))


def _each(problem: Problem, job: int) -> list[int]:
    """Return the units an even split may put on a node; 0 alone where any number may be."""
    if not problem.even[job]:
        return [0]
    units = int(problem.units[job])
    low, high = int(problem.nodes_min[job]), int(problem.nodes_max[job])
    return [units // nodes for nodes in range(low, high + 1) if units % nodes == 0]


def _least(problem: Problem, k: int, member: Member) -> IntArray:
    """Return what a member takes of a node at least, shape ``(R,)``."""
    units = max(member.each, 1)
    least: IntArray = units * problem.request[member.job] + problem.per_node[member.job]
    if problem.exclusive[member.job]:
        least = problem.free[k]
    return least


def _sets(problem: Problem, k: int, jobs: Sequence[int]) -> Iterator[tuple[Member, ...]]:
    """Return every set of jobs that a node of a class can hold."""
    able = [
        Member(job, each)
        for job in jobs
        for each in _each(problem, job)
        if problem.room[job, k] >= max(each, 1)
    ]

    def extend(
        begin: int, held: tuple[Member, ...], left: IntArray
    ) -> Iterator[tuple[Member, ...]]:
        for index in range(begin, len(able)):
            member = able[index]
            rest = left - _least(problem, k, member)
            if (rest < 0).any() or any(member.job == other.job for other in held):
                continue
            yield (*held, member)
            yield from extend(index + 1, (*held, member), rest)

    return extend(0, (), problem.free[k])


def _group(model: cpsat.CpModel, problem: Problem, k: int, members: tuple[Member, ...]) -> Group:
    """Add the nodes of a class that hold exactly these jobs."""
    num = len(problem.members[k])
    nodes = model.new_int_var(0, num, "")
    units: dict[int, cpsat.IntVar] = {}
    for member in members:
        if not member.each:
            room, total = int(problem.room[member.job, k]), int(problem.units[member.job])
            units[member.job] = model.new_int_var(0, min(room * num, total), "")
            model.add(units[member.job] >= nodes)
            model.add(units[member.job] <= room * nodes)
    for kind, free in enumerate(problem.free[k].tolist()):
        fixed, terms = 0, []
        for job, each in members:
            if problem.exclusive[job]:
                fixed += free
                continue
            request = int(problem.request[job, kind])
            fixed += each * request + int(problem.per_node[job, kind])
            if not each and request:
                terms.append(request * units[job])
        if terms:
            model.add(sum(terms) <= (free - fixed) * nodes)
    return Group(k, members, nodes, units)


def _add_job(
    model: cpsat.CpModel, problem: Problem, job: int, groups: Sequence[Group]
) -> cpsat.LinearExprT:
    """Add a job's units and bounds; return its number of nodes."""
    low, high, total = (
        int(column[job]) for column in (problem.nodes_min, problem.nodes_max, problem.units)
    )
    nodes = sum(group.nodes for group in groups if any(job == one.job for one in group.members))
    if problem.even[job]:
        chosen = []
        for each in _each(problem, job):
            one = model.new_bool_var("")
            chosen.append(one)
            held = sum(group.nodes for group in groups if Member(job, each) in group.members)
            model.add(held == total // each * one)
        model.add(sum(chosen) == 1)
    else:
        units = sum(group.units[job] for group in groups if job in group.units)
        model.add(units == total)
        model.add(nodes >= low)
        model.add(nodes <= high)
    return nodes


def _deal(
    problem: Problem, jobs: Sequence[int], groups: Sequence[Group], value: dict[int, int]
) -> Layout | None:
    """
    Deal units out to nodes, the same number to each and what is left over in turn.

    Units of one size then differ by one at most between nodes, so that what fits on the nodes
    together fits on each.
    """
    takes = {job: np.zeros(problem.num_nodes, dtype=np.int64) for job in jobs}
    used = [0] * len(problem.members)
    for group in groups:
        count = value[group.nodes.index]
        nodes = problem.members[group.k][used[group.k] : used[group.k] + count]
        used[group.k] += count
        if not count:
            continue
        turn = 0
        for job, each in group.members:
            if each:
                takes[job][nodes] = each
                continue
            units, over = divmod(value[group.units[job].index], count)
            takes[job][nodes] = units
            takes[job][nodes[(turn + np.arange(over)) % count]] += 1
            turn += over
    return layout_of(problem, takes) if _fits(problem, takes) else None


def _fits(problem: Problem, takes: dict[int, IntArray]) -> bool:
    """Tell whether no node holds more than it has left."""
    for k, nodes in enumerate(problem.members):
        taken = np.zeros((len(nodes), problem.free.shape[1]), dtype=np.int64)
        for job, on in takes.items():
            units = on[nodes][:, None]
            amounts = units * problem.request[job] + problem.per_node[job]
            if problem.exclusive[job]:
                amounts = np.broadcast_to(problem.free[k], amounts.shape)
            taken += np.where(units > 0, amounts, 0)
        if (taken > problem.free[k]).any():
            return False
    return True
