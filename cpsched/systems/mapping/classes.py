"""Which nodes each job may use: its queue's groups, and its constraint as Slurm writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.arrays import compact, constant, put_away
from cpsched.model.distinct import distinct
from cpsched.util.words import quoted

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.util.types import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """
    Eligible nodes; J jobs, N nodes, C distinct masks.

    Attributes
    ----------
    of_job
        The class of each job, shape ``(J,)``.
    nodes
        The nodes of each class, shape ``(C, N)``.
    exclusive
        Jobs that want their nodes alone, shape ``(J,)``.
    rejected
        Reason by row, for constraints that nothing can satisfy.
    """

    of_job: IntArray
    nodes: BoolArray
    exclusive: BoolArray
    rejected: dict[int, str]


def classify(workload: Workload, system: System) -> Classes:
    """Return each job's eligible nodes; classes are numbered by first appearance."""
    honoured = system.log.constraints == "honour"
    codes = workload.constraint.codes if honoured else constant(-1, (workload.num_jobs,))
    pair_of_job, first_rows = distinct([workload.queue.codes, codes], workload.num_jobs)
    features = NodeFeatures(system)
    class_of_mask: dict[bytes, int] = {}
    masks: list[BoolArray] = []
    class_of_pair = np.zeros(len(first_rows), dtype=np.int64)
    exclusive = np.zeros(len(first_rows), dtype=np.bool_)
    rejected: dict[int, str] = {}
    for pair in np.argsort(first_rows).tolist():
        row = int(first_rows[pair])
        text = workload.constraint.values[codes[row]] if codes[row] >= 0 else ""
        constraint = parse(text) if text else Constraint()
        having, problem = features.mask(constraint)
        code = workload.queue.codes[row]
        queues = system.queues_of(workload.queue.values[code] if code >= 0 else None)
        groups = [group for queue in queues for group in queue.groups]
        anywhere = not all(queue.groups for queue in queues) or not queues
        mask = having & (anywhere | np.isin(system.node_groups, groups))
        if problem is None and not mask.any():
            problem = f"no node of its queue satisfies the constraint {quoted(text)}"
        if problem is not None:
            rejected.update(dict.fromkeys(np.flatnonzero(pair_of_job == pair).tolist(), problem))
        key = np.packbits(mask).tobytes()
        if key not in class_of_mask:
            class_of_mask[key] = len(masks)
            masks.append(mask)
        class_of_pair[pair] = class_of_mask[key]
        alone = bool(queues) and all(queue.exclusive for queue in queues)
        exclusive[pair] = constraint.exclusive or alone
    return Classes(
        of_job=put_away(compact(class_of_pair[pair_of_job])),
        nodes=np.array(masks, dtype=np.bool_).reshape(len(masks), system.num_nodes),
        exclusive=workload.exclusive | exclusive[pair_of_job],
        rejected=rejected,
    )


#: Different kinds of nodes in one request, counts, groups: more than one set of nodes can say.
_COMPOUND = re.compile(r"[+*()\[\]{}]")
_SEPARATORS = re.compile(r"[:&,]")
_NOT = "^"


@dataclass(frozen=True, slots=True)
class Constraint:
    """
    What one constraint string asks for.

    Attributes
    ----------
    required
        Every node used must satisfy each of these; an item is a tuple of alternatives, ``^name``
        meaning that the node must not have it.
    exclusive
        No other job on its nodes.
    problem
        Why the string cannot be honoured, or None.
    """

    required: tuple[tuple[str, ...], ...] = ()
    exclusive: bool = False
    problem: str | None = None


def parse(text: str) -> Constraint:
    """
    Return what a constraint string asks for.

    ``a:b``, ``a&b`` and ``a,b`` require both, ``a|b`` either, ``^a`` forbids; names are features,
    node names, or ``host=NAME``. ``#excl`` and ``exclusive`` (wherever it stands) ask for nodes
    alone. Compound requests (``1:ppn=1+2:ppn=2``, ``a*2&b*4``, ``[a|b]``) cannot be honoured.
    """
    if _COMPOUND.search(text):
        return Constraint(problem=f"its compound constraint {quoted(text)} cannot be honoured")
    required: list[tuple[str, ...]] = []
    exclusive = False
    for token in _SEPARATORS.split(text):
        names, *marks = token.split("#")
        unknown = next((mark for mark in marks if mark.strip() != "excl"), None)
        if unknown is not None:
            return Constraint(problem=f"{quoted('#' + unknown)} in its constraint is not known")
        alternatives = [name.strip() for name in names.split("|") if name.strip()]
        wanted = tuple(name for name in alternatives if name != "exclusive")
        exclusive |= bool(marks) or len(wanted) < len(alternatives)
        if wanted and wanted not in required:
            required.append(wanted)
    return Constraint(tuple(required), exclusive)


class NodeFeatures:
    """
    Which nodes of a system have what a constraint may name.

    A node has its features, its name, and its name up to the first dot.
    """

    def __init__(self, system: System) -> None:
        self._system = system

    def mask(self, constraint: Constraint) -> tuple[BoolArray, str | None]:
        """Return the nodes that satisfy a constraint, shape ``(N,)``, or why none ever can."""
        mask = np.ones(self._system.num_nodes, dtype=np.bool_)
        for alternatives in constraint.required:
            known = [having for name in alternatives if (having := self._having(name)) is not None]
            if not known:
                names = " or ".join(quoted(name) for name in alternatives)
                return np.zeros_like(mask), f"no node has the feature {names}"
            mask &= np.logical_or.reduce(known)
        return mask, constraint.problem

    def _having(self, name: str) -> BoolArray | None:
        """Return the nodes that have a feature (``^``: have not), None if no node has it."""
        nodes = self._by_name.get(name.removeprefix(_NOT).removeprefix("host="))
        if nodes is None and not name.startswith(_NOT):
            return None
        mask = np.zeros(self._system.num_nodes, dtype=np.bool_)
        mask[nodes or []] = True
        return ~mask if name.startswith(_NOT) else mask

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """Return the nodes that have each feature or name."""
        having: dict[str, list[int]] = {}
        for node, own in enumerate(self._system.features):
            host = self._system.node_names[node]
            for name in {*own, host, host.partition(".")[0]}:
                having.setdefault(name, []).append(node)
        return having
