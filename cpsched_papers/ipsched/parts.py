"""What an integer program of IPSCHED is made of: the jobs, their parts on classes of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cpsched.cp import cpsat

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cpsched_papers.ipsched.problem import Problem


class Share(NamedTuple):
    """How much of a job lies on the nodes of a class: units, and nodes touched."""

    units: int
    nodes: int


class Part(NamedTuple):
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
class Program(cpsat.HasModel):
    """A program in the making: ``s_j`` of each job, and its parts."""

    problem: Problem
    model: cpsat.CpModel
    selected: list[cpsat.IntVar] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

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
