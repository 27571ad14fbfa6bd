"""
What a PBS job asked for, from the ``Resource_List`` of its accounting record.

In order of preference:

- PBS Pro: ``select=2:ncpus=8:ngpus=1:mem=1gb`` is two units (chunks) of 8 cores, 1 GPU, 1 GB.
- Torque: ``nodes=2:ppn=4:gpus=1`` is two units of 4 cores and 1 GPU, ``procs=8`` eight units of
  one core.
- ``ncpus=8`` is one unit of 8 cores.

A chunk that names no cores has its share of the job's total ``ncpus``, or one core; one that
names no memory has its share of the job's total ``mem`` (Torque: or ``pmem`` for each core), or
none. ``place``: ``scatter`` puts every chunk on a node of its own, ``pack`` all on one; ``excl``
and ``exclhost`` keep other jobs off its nodes; ``group`` is not modelled. Everything else a chunk
asks for (features, hosts, other resources) goes into the constraint, as it is and in its order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpsched.api.fields import parse_amount, whole
from cpsched.api.logs import NotAJobError, Shape
from cpsched.api.model import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.logs import Place

#: Bytes in a PBS size unit; a word has 8 bytes.
SIZES: Mapping[str, int] = {
    "": 1, "b": 1, "w": 8, "kb": 2**10, "kw": 2**13, "mb": 2**20, "mw": 2**23,
    "gb": 2**30, "gw": 2**33, "tb": 2**40, "tw": 2**43, "pb": 2**50, "pw": 2**53,
}  # fmt: skip

_COUNTED = {
    "select": {"ncpus": "core", "ngpus": "gpu", "nmics": "mic"},
    "nodes": {"ppn": "core", "gpus": "gpu", "mics": "mic"},
}
#: How processes are started inside a chunk, and GPU modes: nothing the job takes or needs.
_IGNORED = {"mpiprocs", "ompthreads", "default", "shared", "reseterr"}
_IGNORED |= {"exclusive", "exclusive_process", "exclusive_thread"}
_LEADING_COUNT = re.compile(r"[0-9]+")


@dataclass(slots=True)
class _Chunk:
    """One term of a select or nodes specification."""

    count: int = 1
    amounts: dict[str, int] = field(default_factory=dict)
    constraint: list[str] = field(default_factory=list)

    def set(self, kind: str, amount: int) -> None:
        """Ask for an amount; asking for no GPU or MIC is the same as not asking."""
        if amount or kind in ("core", "mem"):
            self.amounts[kind] = amount


def shape(resources: Mapping[str, str], place: Place) -> Shape:
    """
    Return how a job lies on nodes.

    Parameters
    ----------
    resources
        The ``Resource_List``, keys without that prefix.

    Raises
    ------
    TraceError
        If the request is missing or cannot be read.
    NotAJobError
        If its chunks are not all alike, which a workload cannot express.
    """
    exclusive = False
    if "select" in resources:
        chunk = _merged([_chunk("select", term, place) for term in resources["select"].split("+")])
    elif "nodes" in resources:
        spec, *modifiers = resources["nodes"].split("#")
        exclusive = any(word.startswith("excl") for word in modifiers)
        chunk = _merged([_chunk("nodes", term, place) for term in spec.split("+")])
    elif "procs" in resources:
        chunk = _Chunk(_count("procs", resources["procs"], place), {"core": 1})
    elif "ncpus" in resources:
        chunk = _Chunk(1, {"core": _count("ncpus", resources["ncpus"], place)})
    else:
        raise place.error("asks for nothing; Resource_List.select, nodes or ncpus is expected")
    _fill_shares(chunk, resources, place)
    lowest, highest, alone = _placement(resources.get("place", ""), chunk.count)
    return Shape(
        units=chunk.count,
        request=chunk.amounts,
        per_node={},
        nodes_min=lowest,
        nodes_max=highest,
        exclusive=exclusive or alone,
        constraint=":".join(chunk.constraint) or None,
    )


def kilobytes(value: str) -> int:
    """Read a PBS size as KB, rounded up; a plain number is bytes."""
    return parse_amount(value, SIZES, per=1024)


def _chunk(key: str, term: str, place: Place) -> _Chunk:
    """Read one term of ``select``, or of Torque's ``nodes``: ``4:ppn=8:gpus=1:property``."""
    chunk, selects = _Chunk(), key == "select"
    for position, part in enumerate(term.split(":")):
        name, equals, value = part.partition("=")
        if position == 0 and not equals and (selects or _LEADING_COUNT.fullmatch(part)):
            chunk.count = _count(key, part, place)
        elif not name or (selects and not equals):
            form = "chunks are written N:resource=value" if selects else "terms are written N:ppn=M"
            raise place.error(f"{form}:...", key, term)
        elif equals and name in _COUNTED[key]:
            chunk.set(_COUNTED[key][name], place.parse(_amount, f"{key} {name}", value))
        elif selects and name == "mem":
            chunk.set("mem", place.parse(kilobytes, "select mem", value))
        elif name not in _IGNORED:
            chunk.constraint.append(part)
    return chunk


def _merged(chunks: list[_Chunk]) -> _Chunk:
    """Return the one chunk kind of a job, with the counts of its terms added up."""
    first, *others = chunks
    for other in others:
        if (other.amounts, other.constraint) != (first.amounts, first.constraint):
            raise NotAJobError("heterogeneous chunks")
        first.count += other.count
    return first


def _fill_shares(chunk: _Chunk, resources: Mapping[str, str], place: Place) -> None:
    """Give a chunk what only the job's totals tell."""
    if "core" not in chunk.amounts:
        total = _count("ncpus", resources["ncpus"], place) if "ncpus" in resources else 0
        chunk.amounts["core"] = max(1, -(-total // chunk.count))
    if "mem" in chunk.amounts:
        return
    if "mem" in resources:
        total = place.parse(kilobytes, "Resource_List.mem", resources["mem"])
        chunk.amounts["mem"] = -(-total // chunk.count)
    elif "pmem" in resources:
        each = place.parse(kilobytes, "Resource_List.pmem", resources["pmem"])
        chunk.amounts["mem"] = each * chunk.amounts["core"]


def _placement(text: str, units: int) -> tuple[int, int, bool]:
    """Return the bounds on nodes and whether they are the job's alone, from ``place``."""
    words = text.split(":")
    alone = any(word in ("excl", "exclhost") for word in words)
    if "scatter" in words or "vscatter" in words:
        return units, units, alone
    return 1, 1 if "pack" in words else UNBOUNDED, alone


def _count(name: str, value: str, place: Place) -> int:
    count = place.parse(_amount, f"Resource_List.{name}", value)
    if not 1 <= count < UNBOUNDED:
        raise place.error(f"must be from 1 to {UNBOUNDED - 1}", f"Resource_List.{name}", value)
    return count


def _amount(value: str) -> int:
    number = whole(value)
    if number < 0:
        raise ValueError("must not be negative")
    return number
