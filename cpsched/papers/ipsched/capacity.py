"""
Capacities of IPSCHED's program (thesis 3.2 and 3.4) on classes of equal nodes.

The total amounts of a class are a weak constraint: jobs that fit beside each other on average need
not fit on any single node. Further constraints hold on every node, are summed over the class, and
bring the best value on classes close to the best on nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.cp import cpsat
    from cpsched.papers.ipsched.problem import CoAllocationProblem, CoAllocationProgram, JobPart
    from cpsched.util.types import BoolArray, IntArray

#: Rounded capacity constraints, of each kind and class: one for each of the largest amounts.
_DIVISORS = 6


def add_capacity(program: CoAllocationProgram, k: int, parts: Sequence[JobPart]) -> None:
    """
    Add 3.2 and 3.4 of a class: for every kind, at most what its nodes have together.

    On one node that is the thesis's constraint. On several, three families strengthen it: amounts
    rounded down to multiples of a divisor (Chvatal and Gomory), what is left beside jobs of which a
    node holds one, and which jobs cannot share a node.
    """
    problem, model = program.problem, program.model
    num = len(problem.members[k])
    for kind, free in enumerate(problem.free[k].tolist()):
        amounts = [_amounts(problem, part, kind, free) for part in parts]
        if not any(unit or node for unit, node in amounts):
            continue
        divisors = [1]
        if num > 1:
            sizes = {amount for pair in amounts for amount in pair if 1 < amount <= free}
            divisors += sorted(sizes)[-_DIVISORS:]
        for divisor in divisors:
            terms: list[cpsat.LinearExprT] = []
            for part, (unit, node) in zip(parts, amounts, strict=True):
                if unit >= divisor:
                    terms.append(unit // divisor * part.all_units)
                if node >= divisor:
                    terms.append(node // divisor * part.nodes)
            if terms:
                model.add(sum(terms) <= num * (free // divisor))
    if num > 1:
        _add_rest_of_shared(program, k, parts)
        _add_rivals(program, k, parts)


def _amounts(problem: CoAllocationProblem, part: JobPart, kind: int, free: int) -> tuple[int, int]:
    """Return how much of a kind a part takes for each unit, and for each node in addition."""
    if problem.exclusive[part.job]:
        return 0, free
    unit = int(problem.request[part.job, kind])
    node = int(problem.per_node[part.job, kind])
    return (0, unit * part.each + node) if part.each else (unit, node)


def _add_rest_of_shared(program: CoAllocationProgram, k: int, parts: Sequence[JobPart]) -> None:
    """
    Add what is left for a job beside jobs of which a node holds at most one.

    If each of a set Q takes more than half of some kind, a node holds at most one of them. There
    it takes ``a_q`` or more of a kind r, and a job j beside it ``r_j x_j`` of what is left::

        r_j x_j + p_j t_j <= free_r t_j - sum_q a_q t_q + a_max (1 - t_j)

    On a node of j, that is the capacity of the node; elsewhere the right side is not negative.
    """
    problem = program.problem
    free = problem.free[k].tolist()
    num = len(problem.members[k])
    amounts = {
        (index, kind): _amounts(problem, part, kind, have)
        for index, part in enumerate(parts)
        for kind, have in enumerate(free)
    }
    least = {key: unit + node for key, (unit, node) in amounts.items()}
    alone = {
        index
        for index in range(len(parts))
        if any(2 * least[index, kind] > have for kind, have in enumerate(free))
    }
    # All of them must exclude each other by the same kind.
    for rival, have in enumerate(free):
        group = [index for index in alone if 2 * least[index, rival] > have]
        if not group:
            continue
        for kind, total in enumerate(free):
            taken = [(least[index, kind], parts[index].nodes) for index in group]
            largest = max(amount for amount, _ in taken)
            others = [
                index
                for index in range(len(parts))
                if index not in set(group) and amounts[index, kind][0]
            ]
            if not (largest and others):
                continue
            taken_by_rivals = program.model.new_int_var(0, largest * num, "")
            program.model.add(taken_by_rivals == sum(amount * nodes for amount, nodes in taken))
            for index in others:
                unit, node = amounts[index, kind]
                part = parts[index]
                taken_here: list[cpsat.LinearExprT] = [unit * part.all_units, taken_by_rivals]
                limit = (total - node - largest) * part.nodes + largest * num
                program.model.add(sum(taken_here) <= limit)


def _add_rivals(program: CoAllocationProgram, k: int, parts: Sequence[JobPart]) -> None:
    """
    Add that a node holds at most one of a set of jobs no two of which fit on it together.

    Let Q be such a set. Of equal jobs j that do not fit beside any job of Q, a node without a job
    of Q holds at most c, and each of them once::

        sum_q t_q + t_j <= m_k            c sum_q t_q + sum_j t_j <= c m_k
    """
    problem, model = program.problem, program.model
    num, free = len(problem.members[k]), problem.free[k]
    if not parts:
        return
    equal, nodes = _equal_parts(problem, k, parts)
    rivals: BoolArray = (equal[:, None] + equal > free).any(axis=2)
    alone = rivals.diagonal()
    totals: dict[tuple[int, ...], cpsat.IntVar] = {}

    def total(clique: tuple[int, ...]) -> cpsat.IntVar:
        """Return how many nodes hold a job of a clique, at most ``m_k``."""
        terms = [each for code in clique for each in nodes[code]]
        if len(terms) == 1:
            return terms[0]
        if clique not in totals:
            totals[clique] = variable = model.new_int_var(0, num, "")
            model.add(sum(terms) == variable)
        return totals[clique]

    for clique in _cliques(rivals, np.flatnonzero(alone)):
        total(clique)
    for code in np.flatnonzero(~alone).tolist():
        copies = int(min(free[equal[code] > 0] // equal[code][equal[code] > 0], default=0))
        for clique in _cliques(rivals, np.flatnonzero(alone & rivals[code])):
            taken = total(clique)
            for each in nodes[code]:
                model.add(taken + each <= num)
            if len(nodes[code]) > copies:
                model.add(copies * taken + sum(nodes[code]) <= copies * num)


def _equal_parts(
    problem: CoAllocationProblem, k: int, parts: Sequence[JobPart]
) -> tuple[IntArray, list[list[cpsat.IntVar]]]:
    """Return the least amounts that parts take of a node, and ``t`` of the parts by amount."""
    job = np.array([part.job for part in parts])
    units = np.array([max(part.each, 1) for part in parts])
    least = problem.request[job] * units[:, None] + problem.per_node[job]
    least[problem.exclusive[job]] = problem.free[k]
    equal, code = np.unique(least, axis=0, return_inverse=True)
    nodes: list[list[cpsat.IntVar]] = [[] for _ in equal]
    for part, number in zip(parts, code.reshape(-1).tolist(), strict=True):
        nodes[number].append(part.nodes)
    return equal, nodes


def _cliques(rivals: BoolArray, among: IntArray) -> Iterator[tuple[int, ...]]:
    """Yield sets of mutual rivals that together contain all of some."""
    seen: set[int] = set()
    for seed in among.tolist():
        if seed not in seen:
            clique = [seed]
            for other in among.tolist():
                if other != seed and rivals[other, clique].all():
                    clique.append(other)
            seen.update(clique)
            yield tuple(sorted(clique))


def add_totals(program: CoAllocationProgram, fewest: list[int]) -> None:
    """
    Add the capacities of all classes together in terms of ``s`` alone.

    They follow from the rest, but the solver gains from constraints on the large decisions only.
    """
    problem, model = program.problem, program.model
    count = problem.count
    for kind in range(problem.free.shape[1]):
        free = problem.free[:, kind]
        unit = np.where(problem.exclusive, 0, problem.request[:, kind])
        node = np.where(problem.exclusive, free.min(), problem.per_node[:, kind])
        sizes = {amount for amount in (*unit.tolist(), *node.tolist()) if 1 < amount <= free.max()}
        for divisor in [1, *sorted(sizes)[-_DIVISORS:]]:
            demand = unit // divisor * problem.units + node // divisor * np.array(fewest)
            if demand.any():
                limit = int((free // divisor) @ count)
                model.add(
                    sum(
                        amount * selected
                        for amount, selected in zip(demand.tolist(), program.selected, strict=True)
                    )
                    <= limit
                )
