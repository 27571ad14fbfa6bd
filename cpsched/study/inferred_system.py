"""
A system for a log that comes without one, and in words what of it is assumed.

Its size is what the log's header says, else the most that jobs used at the same time by the log's
own starts, else one on which the jobs would be four fifths of the machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from cpsched import systems
from cpsched.errors import CpschedError
from cpsched.metrics.steps import StepFunction
from cpsched.systems.mapping import fit
from cpsched.util.toml_text import toml_value
from cpsched.util.types import MISSING, UNBOUNDED
from cpsched.util.words import brief, counted, percent

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.util.types import IntArray

#: Of the machine, what jobs without recorded starts are assumed to use.
_BUSY = 0.8


@dataclass(frozen=True, slots=True)
class InferredSystem:
    """
    A machine that a log may have run on.

    Attributes
    ----------
    system
        The name of a system that comes with cpsched, or the text of a system file.
    known
        Whether it is such a name.
    remarks
        Sentences: what it is, and why.
    """

    system: str
    known: bool
    remarks: tuple[str, ...]


def infer_system(workload: Workload) -> InferredSystem:
    """
    Return a machine for a log.

    Parameters
    ----------
    workload
        As it was read.
    """
    title = workload.title.lower()
    for name in systems.names():
        if re.match(rf"{re.escape(name)}(?![a-z])", title) and _fits(workload, name):
            remark = f"{systems.load(name).title}, the bundled system of this log"
            return InferredSystem(name, True, (remark,))
    if workload.layout == "processors":
        return _of_processors(workload)
    return _of_units(workload)


def _fits(workload: Workload, name: str) -> bool:
    """Return whether a system can run the log, but for one job in a hundred at most."""
    try:
        return len(fit(workload, systems.load(name)).rejected) <= len(workload) / 100
    except CpschedError:
        return False


def _of_processors(workload: Workload) -> InferredSystem:
    """Return one pool of processors: where on nodes they are, such a log does not say."""
    units = workload.units
    header = _number(workload, "MaxProcs") or _number(workload, "MaxNodes")
    size, why = header, "as the log's header says"
    largest = int(units.max())
    if size is None or size < largest:
        size, why = _size(workload, units, largest)
    remarks = (
        f"{counted(size, 'processor')}, {why}, as one pool without nodes",
        "memory and queues are ignored",
    )
    text = _text(workload.title, {"node": (size, {"core": 1})}, 'processors = "pool"')
    return InferredSystem(text, False, remarks)


def _of_units(workload: Workload) -> InferredSystem:
    """Return nodes that hold the largest unit of each kind, as many as were in use at once."""
    kinds = [kind for kind in workload.resources if kind != "mem"]
    columns = [workload.resources.index(kind) for kind in kinds]
    units = workload.units
    nodes_max = np.minimum(workload.nodes_max, units)
    # Units that must share a node need room on it together.
    together = -(-units // np.maximum(nodes_max, 1))
    per_node = workload.per_node[:, columns]
    needed = workload.request[:, columns] * together[:, None] + per_node
    per_new_node = {
        kind: max(int(needed_amount), 1)
        for kind, needed_amount in zip(kinds, needed.max(axis=0), strict=True)
    }
    total = workload.request[:, columns] * units[:, None]
    total = total + per_node * workload.nodes_min[:, None]
    groups: dict[str, tuple[int, dict[str, int]]] = {}
    remarks = []
    left = 0
    for kind, column in zip(reversed(kinds), reversed(total.T), strict=True):
        if not column.any():
            continue
        amount, why = _size(workload, column, int(column.max()))
        number = ceil(amount / per_new_node[kind])
        if kind == "core":
            number = max(number - left, 0 if left else 1)
        left += number
        if number:
            own = {"core": per_new_node["core"], kind: per_new_node[kind]}
            groups["node" if kind == "core" else kind] = (number, own)
            amounts = " and ".join(f"{amount:,} {name}" for name, amount in own.items())
            remarks.append(f"{counted(number, 'node')} with {amounts}, {why}")
    widest = int(np.where(workload.nodes_min < UNBOUNDED, workload.nodes_min, 1).max())
    if widest > left:
        groups["more"] = (widest - left, {"core": per_new_node["core"]})
        remarks.append(f"{counted(widest - left, 'node')} more, for the job on {widest:,}")
    remarks.append("memory, queues and names of nodes are ignored")
    return InferredSystem(
        _text(workload.title, groups, 'constraints = "ignore"'), False, tuple(remarks)
    )


def _size(workload: Workload, amount: IntArray, min_size: int) -> tuple[int, str]:
    """Return the assumed amount of a resource in a system, and the reason."""
    known = workload.recorded_start != MISSING
    if known.any():
        start = workload.recorded_start[known]
        used = StepFunction.over(start, start + workload.runtime[known], amount[known])
        peak = int(used.values.max(initial=0))
        if peak >= min_size:
            return peak, "the most in use at once by the log's own starts"
    span = max(int(workload.submit.max() - workload.submit.min()), 1)
    work = float((amount * workload.runtime.astype(np.float64)).sum())
    size = max(ceil(work / span / _BUSY), min_size)
    return size, f"on which the jobs would be {percent(_BUSY)} of the system"


def _number(workload: Workload, key: str) -> int | None:
    numbers = [
        int(m[0]) for k, text in workload.header if k == key and (m := re.match(r"\d+", text))
    ]
    return numbers[0] if numbers and numbers[0] > 0 else None


def _text(title: str, groups: dict[str, tuple[int, dict[str, int]]], log: str) -> str:
    """Return a system file."""
    kinds = list(dict.fromkeys(["core", *(kind for _, own in groups.values() for kind in own)]))
    lines = [
        f"title = {toml_value(f'A system for {brief(title)}')}",
        f"resources = {toml_value(kinds)}",
        'default_time = "24:00:00"',
        *(
            f'\n[[nodes]]\ngroup = "{name}"\ncount = {count}\n'
            + "\n".join(f"{kind} = {amount}" for kind, amount in own.items())
            for name, (count, own) in groups.items()
        ),
        f"\n[log]\n{log}\nmemory = \"ignored\"\n",
    ]  # fmt: skip
    return "\n".join(lines)
