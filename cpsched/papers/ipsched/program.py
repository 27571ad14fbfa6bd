"""
IPSCHED's program (thesis 3.1 to 3.7, paper 1 to 6) on classes of equal nodes.

For each job j and class k of m_k nodes, ``x_kj`` and ``t_kj`` are the sums of the thesis's
``x_nj`` and ``t_nj`` over the nodes of the class; with one node in it they are these themselves.
``c_j`` is replaced by its definition 3.5, and 3.1 multiplied by ``2 |N|`` is in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, nextafter
from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import cpsat
from cpsched.papers.ipsched import capacity
from cpsched.papers.ipsched.problem import CoAllocationProgram, JobPart, Share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.papers.ipsched.problem import CoAllocationProblem

#: A program counts as solved if the bound is at most this share above the solution.
RELATIVE_GAP = 1e-4
#: The solver's bound is a float; integers from here on may have been rounded down.
EXACT_FLOATS = 2**53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgramSolution:
    """
    What a solve came to.

    Attributes
    ----------
    shares
        Of the jobs that start, by position: what lies on each class, by position.
    value, bound
        Of the objective 3.1 times ``2 |N|``: no solution is above ``bound``.
    """

    solved: cpsat.Solved
    shares: Mapping[int, Mapping[int, Share]]
    value: int
    bound: int

    @property
    def is_solved(self) -> bool:
        """
        Whether it is proven best, or within a part in 10,000 of the bound.

        That is what CPLEX is content with unless it is told otherwise, and the papers tell it
        nothing.
        """
        return self.bound - self.value <= RELATIVE_GAP * self.bound


def build(problem: CoAllocationProblem) -> CoAllocationProgram:
    """Return the program of a problem; it minimises ``-2 |N|`` times 3.1."""
    program = CoAllocationProgram(problem=problem, model=cpsat.new_model("ipsched"))
    fewest = problem.fewest_nodes().tolist()
    for job in range(len(problem)):
        _add_job(program, job, fewest[job])
    by_class: list[list[JobPart]] = [[] for _ in problem.members]
    for part in program.parts:
        by_class[part.k].append(part)
    for k, parts in enumerate(by_class):
        capacity.add_capacity(program, k, parts)
    capacity.add_totals(program, fewest)
    _add_order(program)
    _add_objective(program)
    return program


def solve(program: CoAllocationProgram, limits: cpsat.SolverLimits) -> ProgramSolution:
    """Solve a program."""
    pairs = [(part.units if part.units is not None else part.nodes) for part in program.parts]
    variables = [*pairs, *(part.nodes for part in program.parts)]
    solved = cpsat.solve(program.model, variables, limits)
    problem, shares = program.problem, dict[int, dict[int, Share]]()
    if solved.has_solution:
        count = len(pairs)
        for part, units, nodes in zip(
            program.parts, solved.values[:count], solved.values[count:], strict=True
        ):
            placed_units = units * part.each if part.each else units
            if placed_units:
                shares.setdefault(part.job, {})[part.k] = Share(
                    placed_units, min(nodes, placed_units)
                )
    value = sum(
        problem.worth(job, sum(share.nodes for share in of_classes.values()))
        for job, of_classes in shares.items()
    )
    bound = cpsat.MAX_VALUE
    if solved.status in (cpsat.SolverStatus.OPTIMAL, cpsat.SolverStatus.INFEASIBLE):
        bound = value
    elif solved.has_solution:
        bound = ceil(-solved.bound)
        if bound >= EXACT_FLOATS:
            bound = int(nextafter(bound, inf))
    return ProgramSolution(solved=solved, shares=shares, value=value, bound=bound)


def bound_job_count(program: CoAllocationProgram, limits: cpsat.SolverLimits) -> cpsat.Solved:
    """
    Find out how many jobs can start at most, and add that to the program.

    It follows from the rest, but in 3.1 a bound of three and a half jobs cannot be rounded.
    """
    number = sum(program.selected)
    program.model.minimize(-number)
    solved = cpsat.solve(program.model, (), limits)
    _add_objective(program)
    if solved.has_solution:
        program.model.add(number <= round(-solved.bound))
    return solved


def _add_job(program: CoAllocationProgram, job: int, fewest: int) -> None:
    """Add 3.3, 3.5 and 3.6 of a job, and what ties ``x`` to ``t`` (3.7)."""
    problem, model = program.problem, program.model
    selected = model.new_bool_var(f"s_{problem.handle[job]}")
    program.selected.append(selected)
    total, nodes_max = int(problem.units[job]), int(problem.nodes_max[job])
    if problem.even[job]:
        parts = list(_even_parts(program, job, selected))
    else:
        parts = list(_parts(program, job, total, nodes_max))
        model.add(sum(part.all_units for part in parts) == total * selected)
    program.parts.extend(parts)
    nodes = sum(part.nodes for part in parts)
    # Also where 3.6 asks for one node only: it brings the relaxed program close to the whole one.
    model.add(nodes >= fewest * selected)
    if nodes_max < min(total, problem.num_nodes):
        model.add(nodes <= nodes_max * selected)
    if problem.contiguous[job] and len(problem.members) == problem.count.sum():
        _add_one_run(program, parts)


def _parts(program: CoAllocationProgram, job: int, total: int, nodes_max: int) -> Iterator[JobPart]:
    """Add ``x`` and ``t`` of a job that may have any number of units on a node."""
    problem, model = program.problem, program.model
    bounded = problem.nodes_min[job] > 1 or problem.contiguous[job]
    for k, fitting in enumerate(problem.fitting[job].tolist()):
        if not fitting:
            continue
        num = len(problem.members[k])
        nodes = model.new_int_var(0, min(num, total, nodes_max), f"t_{k}_{problem.handle[job]}")
        units = model.new_int_var(0, min(fitting * num, total), f"x_{k}_{problem.handle[job]}")
        model.add(units <= fitting * nodes)
        if bounded:
            model.add(nodes <= units)
        yield JobPart(job, k, 0, units, nodes)


def _even_parts(
    program: CoAllocationProgram, job: int, selected: cpsat.IntVar
) -> Iterator[JobPart]:
    """Add ``t`` of a job with as many units on each node as on any other, for each number."""
    problem, model = program.problem, program.model
    total, fitting = int(problem.units[job]), problem.fitting[job].tolist()
    handle = problem.handle[job]
    chosen = []
    for count in range(int(problem.nodes_min[job]), int(problem.nodes_max[job]) + 1):
        each = total // count
        if total % count or each > max(fitting):
            continue
        on_count = model.new_bool_var(f"on_{count}_{handle}")
        chosen.append(on_count)
        parts = [
            JobPart(
                job,
                k,
                each,
                None,
                model.new_int_var(0, min(len(nodes), count), f"t_{k}_{problem.handle[job]}"),
            )
            for k, nodes in enumerate(problem.members)
            if fitting[k] >= each
        ]
        model.add(sum(part.nodes for part in parts) == count * on_count)
        yield from parts
    model.add(sum(chosen) == selected)


def _add_one_run(program: CoAllocationProgram, parts: Sequence[JobPart]) -> None:
    """Keep a job to neighbouring nodes, where every class is a node."""
    model, problem = program.model, program.problem
    at: dict[int, list[cpsat.IntVar]] = {int(problem.members[part.k][0]): [] for part in parts}
    for part in parts:
        at[int(problem.members[part.k][0])].append(part.nodes)
    begins = []
    for node, here in at.items():
        begin = model.new_bool_var("")
        model.add(sum(here) - sum(at.get(node - 1, [])) <= begin)
        begins.append(begin)
    model.add(sum(begins) <= 1)


def _add_order(program: CoAllocationProgram) -> None:
    """Let no job start without those that can have its place and are worth no less."""
    before = program.problem.dominates().astype(np.float64)
    direct = (before > 0) & (before @ before == 0)
    for later, earlier in np.argwhere(direct).tolist():
        program.model.add_implication(program.selected[later], program.selected[earlier])


def _add_objective(program: CoAllocationProgram) -> None:
    """Minimise ``sum_j P_j (sum_k t_kj - 2 |N| s_j)``."""
    problem = program.problem
    gain = [2 * problem.num_nodes * weight for weight in problem.weight]
    program.model.minimize(
        sum(problem.weight[part.job] * part.nodes for part in program.parts)
        - sum(worth * variable for worth, variable in zip(gain, program.selected, strict=True))
    )
