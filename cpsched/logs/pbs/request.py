"""
What a PBS job asked for, from the ``Resource_List`` of its accounting record, and what it got.

In order of preference:

- PBS Pro: ``select=2:ncpus=8:ngpus=1:mem=1gb`` is two units (chunks) of 8 cores, 1 GPU, 1 GB.
- Torque: ``nodes=2:ppn=4:gpus=1`` is two units of 4 cores and 1 GPU; some sites write the same into
  ``nodect``. ``procs=8`` (Cray: ``size=8``) is eight units of one core; ``mppwidth=8`` with
  ``mppdepth=2`` and ``mppnppn=4`` eight units of two cores on two nodes.
- ``ncpus=8`` is one unit of 8 cores. Where ``nodect`` or ``exec_host`` says several nodes, it is
  eight units of one core on so many nodes.
- Without any of them: what the job got, see :class:`Allocated`. A note counts
  such jobs.

A chunk that names no cores has its share of the job's total ``ncpus``, or one core; one that
names no memory has its share of the job's total ``mem`` (in whole KB, rounded up; Torque: or
``pmem`` for each core), or none. Totals of GPUs and MICs go to the chunks; where they do not divide
evenly among chunks, to the nodes that the job got; where they do not divide among these either,
cores without a chunk of their own are grouped around each GPU. What is still uneven is rounded up,
and a note counts such jobs. Chunks of different kinds cannot be expressed.

``position``: ``scatter`` puts every chunk on a node of its own, ``pack`` all on one; ``excl`` and
``exclhost`` keep other jobs off its nodes. Everything else a chunk asks for (features, hosts, other
resources) goes into the constraint, as it is and in its order, and so do the job's ``host``,
``vnode`` and ``arch``. Any other key is not modelled; a note for each counts the jobs.

What it got is in ``exec_host``, ``exec_vnode`` and ``exec_gpus`` of its record.

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
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from cpsched.errors import TraceError
from cpsched.logs.collect import NotAJobError, ResourceRequest
from cpsched.util.quantities import amount as parse_amount
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
#: Bytes in a PBS size unit; a word has 8 bytes.
SIZES: Mapping[str, int] = {
    "": 1, "b": 1, "w": 8, "kb": 2**10, "kw": 2**13, "mb": 2**20, "mw": 2**23,
    "gb": 2**30, "gw": 2**33, "tb": 2**40, "tw": 2**43, "pb": 2**50, "pw": 2**53,
}  # fmt: skip

_CORES = {"select": ("ncpus",), "nodes": ("ppn", "tpn", "ncpus")}
#: How processes are started inside a chunk, and GPU modes: nothing the job takes or needs.
_IGNORED = {"mpiprocs", "ompthreads", "default", "shared", "reseterr"}
_IGNORED |= {"exclusive", "exclusive_process", "exclusive_thread"}
_LEADING_COUNT = re.compile(r"[0-9]+")

#: Keys that say nothing of what the job takes or where, and why.
IRRELEVANT: Mapping[str, str] = {
    "nodect": "the number of chunks, which select or nodes says too",
    "mppnodect": "the number of nodes, which follows from mppwidth and mppnppn",
    "neednodes": "what the scheduler made of nodes",
    "mpiprocs": "how processes are started on the cores",
    "ompthreads": "how threads are started on the cores",
    "nice": "a priority among the processes of a node",
    "ncpus": "the sum over the chunks. A note counts jobs where it differs",
}
#: Words of Torque's ``naccesspolicy`` that keep other jobs off a node.
_ALONE = ("singlejob", "singletask")
_CONDITIONS = ("host", "vnode", "arch")


class PbsRequest(NamedTuple):
    """
    What a job asks for.

    Attributes
    ----------
    resources
        How it lies on nodes.
    notes
        What jobs like it are counted for: the end of a sentence that begins with "jobs".
    unread
        Keys that are not modelled.
    """

    resources: ResourceRequest
    notes: tuple[str, ...]
    unread: tuple[str, ...]


@dataclass(slots=True)
class _Chunk:
    """
    One term of a select or nodes specification.

    Attributes
    ----------
    nodes
        How many nodes the job needs, 0 where it does not say.
    loose
        Whether its units are single cores, which may be grouped.
    """

    count: int = 1
    amounts: dict[str, int] = field(default_factory=dict)
    per_node: dict[str, int] = field(default_factory=dict)
    constraint: list[str] = field(default_factory=list)
    nodes: int = 0
    loose: bool = False

    def set(self, kind: str, amount: int) -> None:
        """Ask for an amount; asking for no GPU or MIC is the same as not asking."""
        if amount or kind in ("core", "mem"):
            self.amounts[kind] = amount

    def total(self, kind: str) -> int:
        """Return the amount of all chunks."""
        return self.count * self.amounts.get(kind, 0)


def request_of(
    resources: Mapping[str, str], position: FilePosition, allocated: Allocated | None = None
) -> PbsRequest:
    """
    Return what a job asks for.

    Parameters
    ----------
    resources
        The ``Resource_List``, keys without that prefix.
    allocated
        What the job got, where the record says it.

    Raises
    ------
    TraceError
        If a value cannot be read.
    NotAJobError
        If its chunks are not all alike, which a workload cannot express, or nothing tells its
        cores.
    """
    requested, notes = dict(resources), list[str]()
    chunk, exclusive = _chunks(requested, allocated, notes, position)
    alone, words = _take_place(requested.pop("place", ""), chunk)
    _fill_cores(chunk, requested, notes, position)
    _fill_counted(chunk, requested, allocated, notes, position)
    _fill_memory(chunk, requested, position)
    if allocated is not None and allocated.cores not in (0, chunk.total("core")):
        notes.append("have other cores in exec_host than requested (the request counts)")
    chunk.constraint += [f"{key}={requested.pop(key)}" for key in _CONDITIONS if key in requested]
    if requested.get("naccesspolicy", "").lower() in _ALONE:
        alone = bool(requested.pop("naccesspolicy"))
    resource_request = ResourceRequest(
        units=chunk.count,
        request=chunk.amounts,
        per_node=chunk.per_node,
        nodes_min=chunk.nodes or 1,
        nodes_max=chunk.nodes or UNBOUNDED,
        exclusive=exclusive or alone,
        constraint=":".join(chunk.constraint) or None,
    )
    # A sum over the chunks of what is a condition in each.
    sums = {item.partition("=")[0] for item in chunk.constraint}
    unread = (*(key for key in requested if key not in IRRELEVANT and key not in sums), *words)
    return PbsRequest(resource_request, tuple(notes), unread)


def kilobytes(value: str) -> int:
    """Read a PBS size as KB, rounded up; a plain number is bytes."""
    return parse_amount(value.lower(), SIZES, per=1024)


def _chunks(
    requested: dict[str, str], allocated: Allocated | None, notes: list[str], position: FilePosition
) -> tuple[_Chunk, bool]:
    """Take the chunks out of a request; return what they are, and whether their nodes are alone."""
    if "select" in requested:
        # What it was submitted as, if it was written in the older way.
        requested.pop("nodes", None)
        return _merged(_terms("select", requested.pop("select"), position)), False
    if key := _specification(requested):
        spec, *modifiers = requested.pop(key).split("#")
        alone = any(word.startswith("excl") for word in modifiers)
        return _merged(_terms("nodes", spec, position)), alone
    for key in ("procs", "size"):
        if key in requested:
            return _Chunk(_count(key, requested.pop(key), position), {"core": 1}, loose=True), False
    if "mppwidth" in requested:
        return _cray(requested, position), False
    if "ncpus" in requested:
        return _cores(requested, allocated, position), False
    return _got(allocated, notes), False


def _specification(requested: Mapping[str, str]) -> str | None:
    """Return the key that holds Torque's ``2:ppn=4``, None if no key does."""
    if "nodes" in requested:
        return "nodes"
    # Some sites write all of it into nodect, which else is a number.
    if ":" in requested.get("nodect", ""):
        return "nodect"
    others = ("procs", "size", "mppwidth", "ncpus")
    return "neednodes" if "neednodes" in requested and not any(map(requested.get, others)) else None


def _cores(
    requested: dict[str, str], allocated: Allocated | None, position: FilePosition
) -> _Chunk:
    """Return ``ncpus`` cores: on one node, or on as many as the job counts or got."""
    cores = _count("ncpus", requested.pop("ncpus"), position)
    nodes = allocated.nodes if allocated is not None else 0
    if not nodes and "nodect" in requested:
        nodes = _count("nodect", requested["nodect"], position)
    if nodes <= 1:
        return _Chunk(1, {"core": cores})
    if cores < nodes:
        raise position.error(
            f"is less than the {nodes} nodes of the job", "Resource_List.ncpus", cores
        )
    return _Chunk(cores, {"core": 1}, nodes=nodes, loose=True)


def _cray(requested: dict[str, str], position: FilePosition) -> _Chunk:
    """Return ``mppwidth`` processing elements of ``mppdepth`` cores, ``mppnppn`` on a node."""
    width, depth, on_node = (
        _count(key, requested.pop(key, str(usual)), position)
        for key, usual in (("mppwidth", 1), ("mppdepth", 1), ("mppnppn", UNBOUNDED - 1))
    )
    chunk = _Chunk(width, {"core": depth})
    if on_node < UNBOUNDED - 1:
        chunk.nodes = -(-width // on_node)
    if "mppmem" in requested:
        chunk.set("mem", position.parse(kilobytes, "Resource_List.mppmem", requested.pop("mppmem")))
    return chunk


def _got(allocated: Allocated | None, notes: list[str]) -> _Chunk:
    """Return single cores on as many nodes as the job got."""
    if allocated is None or not allocated.cores:
        raise NotAJobError("no request and no cores in exec_host")
    notes.append("request no cores (those of exec_host are taken)")
    return _Chunk(allocated.cores, {"core": 1}, nodes=allocated.nodes, loose=True)


def _terms(key: str, text: str, position: FilePosition) -> list[_Chunk]:
    return [_chunk(key, term, position) for term in text.split("+")]


def _chunk(key: str, term: str, position: FilePosition) -> _Chunk:
    """Read one term of ``select``, or of Torque's ``nodes``: ``4:ppn=8:gpus=1:property``."""
    chunk, selects = _Chunk(), key == "select"
    seen: dict[str, str] = {}
    for at, part in enumerate(term.split(":")):
        name, equals, value = part.partition("=")
        if at == 0 and not equals and (selects or _LEADING_COUNT.fullmatch(part)):
            chunk.count = _count(key, part, position)
        elif not name or (selects and not equals):
            form = "chunks are written N:resource=value" if selects else "terms are written N:ppn=M"
            raise position.error(f"{form}:...", key, term)
        elif equals and (kind := _kind(name, key)):
            if seen.setdefault(kind, value) != value:
                raise position.error("is given twice with different values", f"{key} {name}", value)
            reader = kilobytes if kind == "mem" else amount
            chunk.set(kind, position.parse(reader, f"{key} {name}", value))
        elif name not in _IGNORED:
            chunk.constraint.append(part)
    return chunk


def _kind(name: str, key: str) -> str | None:
    """Return the resource type that a name in a chunk stands for; None for anything else."""
    if name in _CORES[key]:
        return "core"
    return "mem" if name == "mem" else COUNTED.get(name)


def _merged(chunks: list[_Chunk]) -> _Chunk:
    """Return the one chunk kind of a job, with the counts of its terms added up."""
    first, *others = chunks
    for other in others:
        if (other.amounts, other.constraint) != (first.amounts, first.constraint):
            raise NotAJobError("heterogeneous chunks")
        first.count += other.count
    return first


def _fill_cores(
    chunk: _Chunk, requested: dict[str, str], notes: list[str], position: FilePosition
) -> None:
    """Give a chunk its share of the cores that only the job's total tells."""
    total = _count("ncpus", requested["ncpus"], position) if "ncpus" in requested else 0
    if "core" not in chunk.amounts:
        chunk.amounts["core"] = max(1, -(-total // chunk.count))
        if total > chunk.count and total % chunk.count:
            notes.append(_uneven("core"))
    elif total not in (0, chunk.total("core")):
        notes.append(
            "have other cores in Resource_List.ncpus than in their chunks (the chunks count)"
        )


def _fill_counted(
    chunk: _Chunk,
    requested: dict[str, str],
    allocated: Allocated | None,
    notes: list[str],
    position: FilePosition,
) -> None:
    """Give a chunk its share of the GPUs and MICs that only the job's total tells."""
    totals: dict[str, int] = {}
    for key in [key for key in requested if key in COUNTED]:
        kind, total = (
            COUNTED[key],
            position.parse(amount, f"Resource_List.{key}", requested.pop(key)),
        )
        if kind in chunk.amounts:
            if total not in (0, chunk.total(kind)):
                notes.append(
                    f"have another amount in Resource_List.{key} than in their chunks (the chunks"
                    " count)"
                )
        elif totals.setdefault(kind, total) != total:
            raise position.error(
                f"differs from another key for the same resource ({totals[kind]})",
                f"Resource_List.{key}",
                total,
            )
    for kind, total in allocated.counted.items() if allocated is not None else ():
        if total and kind not in chunk.amounts and not totals.get(kind):
            totals[kind] = total
            notes.append(f"got {kind}s that they did not request (taken as requested)")
    for kind, total in totals.items():
        if total and not _share(chunk, kind, total, allocated.nodes if allocated else 0):
            notes.append(_uneven(kind))


def _share(chunk: _Chunk, kind: str, total: int, nodes: int) -> bool:
    """Give a chunk or its nodes their share of a total; return False if it was rounded up."""
    nodes = chunk.nodes or (nodes if nodes <= chunk.count else 0)
    group = gcd(chunk.count, total)
    if total % chunk.count == 0:
        chunk.amounts[kind] = total // chunk.count
    elif nodes and total % nodes == 0:
        chunk.nodes = nodes
        chunk.per_node[kind] = total // nodes
    elif chunk.loose and group >= max(nodes, 1):
        size = chunk.count // group
        chunk.amounts = {name: size * own for name, own in chunk.amounts.items()}
        chunk.count, chunk.loose = group, False
        chunk.amounts[kind] = total // group
    elif nodes:
        chunk.nodes = nodes
        chunk.per_node[kind] = -(-total // nodes)
        return False
    else:
        chunk.amounts[kind] = -(-total // chunk.count)
        return False
    return True


def _uneven(kind: str) -> str:
    return f"request {kind}s that do not divide evenly (each share is rounded up)"


def _fill_memory(chunk: _Chunk, requested: dict[str, str], position: FilePosition) -> None:
    """Give a chunk its share of the memory that only the job's total tells."""
    total = requested.pop("mem", None)
    if "mem" in chunk.amounts:
        return
    if total is not None:
        amount_in_all = position.parse(kilobytes, "Resource_List.mem", total)
        chunk.amounts["mem"] = -(-amount_in_all // chunk.count)
    elif "pmem" in requested:
        each = position.parse(kilobytes, "Resource_List.pmem", requested.pop("pmem"))
        chunk.amounts["mem"] = each * chunk.amounts["core"]


def _take_place(text: str, chunk: _Chunk) -> tuple[bool, list[str]]:
    """
    Give a chunk the number of nodes that ``place`` says.

    Returns
    -------
    alone
        Whether other jobs are kept off its nodes.
    unread
        Words that are not modelled.
    """
    words = [word for word in text.split(":") if word not in ("", "free", "shared")]
    if "pack" in words:
        chunk.nodes = 1
    elif not chunk.loose and ("scatter" in words or "vscatter" in words):
        chunk.nodes = chunk.count
    known = ("scatter", "vscatter", "pack", "excl", "exclhost")
    unread = [f"place={word.partition('=')[0]}" for word in words if word not in known]
    return any(word in ("excl", "exclhost") for word in words), unread


def _count(name: str, value: str, position: FilePosition) -> int:
    count = position.parse(amount, f"Resource_List.{name}", value)
    if not 1 <= count < UNBOUNDED:
        raise position.error(f"must be from 1 to {UNBOUNDED - 1}", f"Resource_List.{name}", value)
    return count


# -- what a job got -----------------------------------------------------------------------------


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
            raise ValueError("is not a list such as n1/0+n1/1, n1/0-3 or n1/0*4+n2/0*4")
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
            raise ValueError("is not a list such as (n1:ncpus=4:mem=2gb)+(n2:ncpus=4)")
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
        raise ValueError("is not a list such as n1-gpu/0+n1-gpu/1")
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
