"""
What a Slurm job asked for, from the columns of ``sacct``.

A job is ``cores`` units of one core on exactly ``nodes`` nodes:

- cores: ``ReqTRES`` cpu, else ``ReqCPUS``, else what was allocated (``AllocTRES``, ``AllocCPUS``,
  ``NCPUS``). What Slurm calls a CPU is a core or a hardware thread, as the site configured it.
- nodes: what was allocated where known (``AllocTRES`` node, ``AllocNodes``, ``NNodes``), else
  what was asked for (``ReqTRES`` node, ``ReqNodes``). sacct does not tell ``-N 2`` (exactly two)
  from no ``-N`` at all, so the number it got is taken as the number it needs.
- generic resources: ``ReqTRES``, else ``AllocTRES``, else ``ReqGRES``, ``AllocGRES``; totals over
  all nodes (``PER_NODE:``: each node's), so each node needs its share, rounded up. ``gpu`` of a
  type (``gres/gpu:v100``) counts only where the plain ``gpu`` is not given beside it.
- memory: ``ReqMem`` per core (``4Gc``) goes to the unit; per node (``4Gn``), or a total
  (``ReqMem`` without letter, ``ReqTRES`` mem, ``AllocTRES`` mem) divided by the nodes and rounded
  up, goes to the node. ``0`` (all the node's memory) cannot be known here and counts as none.
- segments and switches: ``--segment=N`` and ``--switches=N@time`` of ``SubmitLine``, the command
  that submitted the job. Without a time Slurm waits 300 s for so few switches, its default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.model.types import MISSING, UNBOUNDED
from cpsched.quantities import amount, minutes, whole
from cpsched.traces.collect import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cpsched.traces.text import Place

#: KB in a unit of memory; Slurm's own unit is MB.
MEMORY: Mapping[str, int] = {
    "": 2**10, "k": 1, "m": 2**10, "g": 2**20, "t": 2**30, "p": 2**40, "e": 2**50,
}  # fmt: skip
#: Slurm shortens large counts the same way.
COUNTS: Mapping[str, int] = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

_NOTHING = ("", "0", "(null)", "N/A", "None")
#: How busy GPUs were; nothing a job holds.
_MEASURED = ("gres/gpumem", "gres/gpuutil")
_SOCKETS = re.compile(r"\([^)]*\)")
_SEGMENT = re.compile(r"(?:^|\s)--segment[=\s]\s*(\S+)")
_SWITCHES = re.compile(r"(?:^|\s)--switches[=\s]\s*(\S+)")
#: Seconds for which a limit of switches counts that names no time (max_switch_wait of Slurm).
_SWITCH_WAIT = 300
_ENDLESS = ("INFINITE", "UNLIMITED")
_OLD_GRES = re.compile(r"(?:gres[:/])?([A-Za-z_][\w.\-]*)(?::([A-Za-z_][\w.\-]*))?(?::([0-9]\w*))?")


@dataclass(frozen=True, slots=True)
class Tres:
    """Trackable resources of a job: totals; memory in KB; None where not said."""

    cores: int | None
    nodes: int | None
    memory: int | None
    generic: Mapping[str, int]


def shape(row: Mapping[str, str], place: Place) -> Shape:
    """
    Return how a job lies on nodes.

    Parameters
    ----------
    row
        Columns of ``sacct`` by name in lower case, with empty ones left out.

    Raises
    ------
    TraceError
        If a value cannot be read, or cores or nodes cannot be told.
    """
    asked = tres(row.get("reqtres", ""), "ReqTRES", place)
    got = tres(row.get("alloctres", ""), "AllocTRES", place)
    nodes = _first(got.nodes, *_counts(row, ("AllocNodes", "NNodes"), place), asked.nodes)
    nodes = _first(nodes, *_counts(row, ("ReqNodes",), place))
    got_cores = _first(got.cores, *_counts(row, ("AllocCPUS", "NCPUS"), place))
    cores = _first(asked.cores, *_counts(row, ("ReqCPUS",), place), got_cores)
    if cores is None:
        raise place.error(
            "has no ReqTRES, ReqCPUS, AllocTRES, AllocCPUS or NCPUS to tell its cores"
        )
    if nodes is not None and cores < nodes:
        # Asked for nodes, not for cores: what it got tells the cores.
        cores = got_cores or 0
        if cores < nodes:
            raise place.error(f"are fewer than the {nodes} nodes", "cores", cores)
    generic = asked.generic or got.generic or _old_generic(row, nodes, place)
    on_node = {kind: _share(total, nodes, kind, place) for kind, total in generic.items()}
    request = {"core": 1}
    memory, each = _memory(row, asked, got, place)
    if memory and each == "core":
        request["mem"] = memory
    elif memory:
        on_node["mem"] = memory if each == "node" else _share(memory, nodes, "mem", place)
    segment, max_switches, switch_wait = _locality(row.get("submitline", ""), place)
    return Shape(
        units=cores,
        request=request,
        per_node=on_node,
        nodes_min=nodes or 1,
        nodes_max=nodes or UNBOUNDED,
        segment=segment,
        max_switches=max_switches,
        switch_wait=switch_wait,
        constraint=row.get("constraints"),
    )


def _locality(command: str, place: Place) -> tuple[int, int, int]:
    """Return segment, most switches and seconds to wait for them, from the submitting command."""
    match = _SEGMENT.search(command)
    segment = place.parse(_count, "SubmitLine --segment", match[1]) if match else 0
    match = _SWITCHES.search(command)
    if match is None:
        return segment, 0, MISSING
    count, _, text = match[1].partition("@")
    switches = place.parse(_count, "SubmitLine --switches", count)
    if text.upper() in _ENDLESS:
        return segment, switches, MISSING
    wait = place.parse(minutes, "SubmitLine --switches", text) if text else _SWITCH_WAIT
    return segment, switches, wait


def _count(text: str) -> int:
    number = whole(text)
    if not 0 <= number <= UNBOUNDED:
        raise ValueError(f"must be from 0 to {UNBOUNDED}")
    return number


def tres(text: str, column: str, place: Place) -> Tres:
    """
    Read ``cpu=4,gres/gpu=2,gres/gpu:v100=2,mem=16G,node=1``; what is not modelled is passed over.

    Raises
    ------
    TraceError
        If it is not of that form, or names something twice.
    """
    values: dict[str, str] = {}
    for item in text.split(",") if text not in _NOTHING else ():
        name, equals, value = item.partition("=")
        if not equals or name in values:
            raise place.error("name=amount,name=amount is expected, each once", column, text)
        values[name] = value

    def number(name: str, units: Mapping[str, int]) -> int | None:
        if name not in values:
            return None
        return place.parse(lambda value: amount(value, units), f"{column} {name}", values[name])

    generic = []
    for name in values:
        if name.startswith("gres/") and name not in _MEASURED:
            kind, _, model = name.removeprefix("gres/").partition(":")
            generic.append((kind, model, number(name, COUNTS) or 0))
    return Tres(
        cores=number("cpu", COUNTS),
        nodes=number("node", COUNTS) or None,  # 0: nothing was allocated
        memory=number("mem", MEMORY),
        generic=_untyped(generic),
    )


def _untyped(items: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Add up (name, type, count) by name, without counting types beside their own total."""
    plain: dict[str, int] = {}
    typed: dict[str, int] = {}
    for name, kind, count in items:
        into = typed if kind else plain
        into[name] = into.get(name, 0) + count
    return {name: plain.get(name, typed.get(name, 0)) for name in {**typed, **plain}}


def _old_generic(row: Mapping[str, str], nodes: int | None, place: Place) -> dict[str, int]:
    """Read ``gpu:2`` or ``gpu:tesla:2(S:0)`` from the columns Slurm had before 20.11, as totals."""
    for column in ("ReqGRES", "AllocGRES"):
        text = row.get(column.lower(), "")
        if text in _NOTHING:
            continue
        text, times = text.removeprefix("PER_NODE:"), 1
        if len(text) < len(row[column.lower()]):
            times = nodes or 1
        items = []
        for item in _SOCKETS.sub("", text).split(","):
            match = _OLD_GRES.fullmatch(item)
            if not match:
                raise place.error("name:count or name:type:count is expected", column, text)
            count = place.parse(lambda value: amount(value, COUNTS), column, match[3] or "1")
            items.append((match[1], match[2] or "", count * times))
        return _untyped(items)
    return {}


def _memory(row: Mapping[str, str], asked: Tres, got: Tres, place: Place) -> tuple[int, str]:
    """Return KB, and what for: ``core``, ``node`` or ``job``."""
    text = row.get("reqmem", "")
    each = {"c": "core", "n": "node"}.get(text[-1:], "job")
    if text:
        number = text if each == "job" else text[:-1]
        return place.parse(lambda value: amount(value, MEMORY), "ReqMem", number), each
    return _first(asked.memory, got.memory) or 0, "job"


def _share(total: int, nodes: int | None, kind: str, place: Place) -> int:
    if nodes is None:
        raise place.error(
            "needs AllocTRES, NNodes or ReqNodes beside it to tell each node's share", kind, total
        )
    return -(-total // nodes)


def _counts(row: Mapping[str, str], columns: Iterable[str], place: Place) -> Iterator[int | None]:
    """Yield the counts in columns, None where empty or 0 (nothing was allocated)."""
    for column in columns:
        text = row.get(column.lower())
        count = text and place.parse(lambda value: amount(value, COUNTS), column, text)
        yield count or None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
