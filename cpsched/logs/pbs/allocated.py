"""
What a PBS job got, from ``exec_host``, ``exec_vnode`` and ``exec_gpus`` of its record.

``exec_host`` has a term for each core or chunk, with ``+`` between: ``c1/0+c1/1`` (Torque, a core
each), ``c1/0-3,6+c2/0-7`` (Torque, ranges of cores), ``c1/0*4+c2/0*4`` (PBS Pro, 4 cores each).
``exec_vnode`` has a group for each chunk: ``(c1:ncpus=4:ngpus=1)+(c2:ncpus=4:ngpus=1)``; in one
group there may be several vnodes: ``(c1[0]:ncpus=2+c1[1]:ncpus=2)``. ``exec_gpus`` (Torque) has a
term for each GPU: ``c1-gpu/0+c1-gpu/1``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.util.quantities import integer
from cpsched.util.types import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.logs.text import FilePosition

#: Names of what is counted: PBS Pro, Torque, Cray, and what sites call it (the manual of
#: Open XDMoD, "Job performance ... GPU", lists ``gpu``).
COUNTED: Mapping[str, str] = {
    **dict.fromkeys(("ngpus", "gpus", "gpu", "ngpu", "naccelerators"), "gpu"),
    **dict.fromkeys(("nmics", "mics", "mic", "nmic"), "mic"),
}
_HOST = re.compile(r"([^/*+]+)/([0-9][0-9,\-]*)(?:\*([0-9]+))?")


@dataclass(frozen=True, slots=True)
class Allocated:
    """
    What a job got.

    Attributes
    ----------
    cores, nodes
        How many; 0 where the record does not say.
    counted
        GPUs and MICs in all, by resource type.
    unread
        Keys that cannot be read.
    """

    cores: int = 0
    nodes: int = 0
    counted: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


def allocated_of(record: Mapping[str, str], position: FilePosition) -> Allocated | None:
    """Return what a job got; None where its record does not say."""
    parts = []
    unread = []
    for key, reader in _READERS.items():
        text = record.get(key)
        if not text:
            continue
        try:
            parts.append(position.parse(reader, key, text))
        except TraceError:
            unread.append(key)
    if not parts and not unread:
        return None
    counted: dict[str, int] = {}
    for part in parts:
        for kind, total in part.counted.items():
            counted.setdefault(kind, total)
    return Allocated(
        cores=next((part.cores for part in parts if part.cores), 0),
        nodes=next((part.nodes for part in parts if part.nodes), 0),
        counted=counted,
        unread=tuple(unread),
    )


def hosts(text: str) -> Allocated:
    """
    Read ``exec_host``.

    Raises
    ------
    ValueError
        If it has another form.
    """
    cores: Counter[str] = Counter()
    for term in text.split("+"):
        match = _HOST.fullmatch(term)
        if not match:
            raise ValueError("is not host/core, host/core-core or host/index*cores with + between")
        cores[match[1]] += _slots(match[2]) * int(match[3] or 1)
    return _within(Allocated(cores.total(), len(cores)))


def vnodes(text: str) -> Allocated:
    """
    Read ``exec_vnode``.

    Raises
    ------
    ValueError
        If it has another form.
    """
    names = set()
    totals: Counter[str] = Counter()
    for term in text.replace("(", "").replace(")", "").split("+"):
        name, *items = term.split(":")
        if not name or not all("=" in item for item in items):
            raise ValueError("is not (vnode:resource=amount:...) with + between")
        # The vnodes of a host are host[0], host[1], ...
        names.add(name.partition("[")[0])
        for item in items:
            resource, _, value = item.partition("=")
            kind = "core" if resource == "ncpus" else COUNTED.get(resource)
            if kind:
                totals[kind] += amount(value)
    cores = totals.pop("core", 0)
    return _within(Allocated(cores, len(names), {kind: n for kind, n in totals.items() if n}))


def gpus(text: str) -> Allocated:
    """
    Read ``exec_gpus``.

    Raises
    ------
    ValueError
        If it has another form.
    """
    if not all("/" in term for term in text.split("+")):
        raise ValueError("is not host-gpu/number with + between")
    return Allocated(counted={"gpu": len(text.split("+"))})


_READERS = {"exec_host": hosts, "exec_vnode": vnodes, "exec_gpus": gpus}


def _slots(text: str) -> int:
    """Return how many numbers ``0-3,8`` lists."""
    total = 0
    for part in text.split(","):
        first, dash, last = part.partition("-")
        total += integer(last) - integer(first) + 1 if dash else bool(part)
        if dash and integer(last) < integer(first):
            raise ValueError("has a range that ends before it begins")
    return total


def _within(got: Allocated) -> Allocated:
    if got.cores >= UNBOUNDED:
        raise ValueError("has more cores than a job can have")
    return got


def amount(value: str) -> int:
    """Read a whole number that is not negative."""
    number = integer(value)
    if number < 0:
        raise ValueError("must not be negative")
    return number
