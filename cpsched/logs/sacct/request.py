"""
What a Slurm job asked for and held, from the columns of ``sacct``.

A job is ``cores`` units of one core on exactly ``nodes`` nodes. What it held counts
(``AllocTRES``), which may be more than it asked for: whole cores of several hardware threads, and
their memory. What Slurm calls a CPU is a core or a hardware thread, as the site configured it.

- exclusive: ``--exclusive`` in ``SubmitLine``, or more CPUs than hardware threads explain (over
  four times what was asked for). Such a job is alone on its nodes, and cores, memory and GPUs are
  what it asked for, not what the nodes have.
- cores: ``AllocTRES`` cpu (``AllocCPUS``, ``NCPUS``), at least ``ReqTRES`` cpu (``ReqCPUS``).
- nodes: what was allocated where known (``AllocTRES`` node, ``AllocNodes``, ``NNodes``), else
  what was asked for (``ReqTRES`` node, ``ReqNodes``). sacct does not tell ``-N 2`` (exactly two)
  from no ``-N`` at all, so the number it got is taken as the number it needs, unless ``SubmitLine``
  has a range (``-N 2-4``).
- generic resources: ``ReqTRES``, else ``AllocTRES`` (not of an exclusive job, for whole nodes come
  with all they have), else ``ReqGRES``, ``AllocGRES``; totals over all nodes (``PER_NODE:``: each
  node's), so each node needs its share. What does not divide is grouped with cores, in units that
  have as many cores and GPUs each, else rounded up for each node and counted. A request for a type
  (``gres/gpu:v100``) counts as ``gpu:v100`` and, unless a total is given beside it, as ``gpu``. A
  type is what was asked for, in ``ReqTRES``, ``ReqGRES`` or, where accounting does not track types,
  ``SubmitLine``; the type of what a job got says nothing. Where no column has any: ``--gres``,
  ``--gpus-per-node`` and ``--gpus`` of ``SubmitLine``.
- memory: ``ReqMem`` per core (``4Gc``) goes to the unit; per node (``4Gn``), or a total
  (``AllocTRES`` mem, ``ReqMem`` without letter, ``ReqTRES`` mem) divided by the nodes and rounded
  up, goes to the node. ``--mem=0``, all the node's memory, is the memory of the node it got; where
  no column tells that (``ReqMem`` 0), a job with ``--mem=0`` in ``SubmitLine`` is exclusive, and
  others ask for none.
- ``--contiguous``, ``--segment=N`` and ``--switches=N@time`` of ``SubmitLine``. Without a time
  Slurm waits 300 s for so few switches, its default.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.logs.collect import NotAJobError, ResourceRequest
from cpsched.util.quantities import integer
from cpsched.util.slurm_quantities import ENDLESS, amount, memory, seconds
from cpsched.util.types import MISSING, UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cpsched.logs.text import FilePosition

_NOTHING = ("", "0", "(null)", "N/A", "None")
#: How busy GPUs were; nothing a job holds.
_MEASURED = ("gres/gpumem", "gres/gpuutil")
_SOCKETS = re.compile(r"\([^)]*\)")
_NODES = re.compile(r"([0-9]+[kmKM]?)-([0-9]+[kmKM]?)?")
#: More CPUs for each one asked for than any hardware has threads on a core.
_MOST_THREADS = 4
#: Seconds for which a limit of switches counts that names no time (max_switch_wait of Slurm).
_SWITCH_WAIT = 300
#: ``gpu``, ``gpu:2``, ``gpu:a100:2``; a type may begin with a digit (``1g.5gb``), but is no count.
GRES = re.compile(
    r"(?:gres[:/])?([A-Za-z_][\w.\-]*)(?::((?![0-9]+\w?(?::|$))[\w.\-]+))?(?::([0-9]\w*))?"
)


@dataclass(frozen=True, slots=True)
class JobTres:
    """Trackable resources of a job: totals; memory in KB; None where not said."""

    cores: int | None
    nodes: int | None
    memory: int | None
    generic: Mapping[str, int]


#: The columns and options that a request is made of.
_COLUMNS = (
    *("reqtres", "alloctres", "reqmem", "nnodes", "allocnodes", "reqnodes", "alloccpus", "ncpus"),
    *("reqcpus", "reqgres", "allocgres", "constraints"),
)
_OPTIONS = (
    *("exclusive", "contiguous", "mem", "nodes", "gres", "gpus-per-node", "gpus"),
    *("gpus-per-task", "segment", "switches"),
)
_CORES = ("reqtres", "alloctres", "reqcpus", "alloccpus", "ncpus")
#: Why a row is no job whose columns of cores are empty or 0.
NO_CORES = "no cores recorded"
#: Requests remembered at once; logs have some thousands.
_MAX_KNOWN = 100_000


class ResourceRequests:
    """The requests of the jobs of a log; equal ones are worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, ...], ResourceRequest] = {}
        self._uneven: set[tuple[str | None, ...]] = set()
        #: How often a request was given that holds more than was asked for.
        self.num_uneven = 0

    def of(
        self, row: Mapping[str, str], options: Mapping[str, str], position: FilePosition
    ) -> ResourceRequest:
        """Return the request of a row; as :func:`resource_request`."""
        key = (*map(row.get, _COLUMNS), *(map(options.get, _OPTIONS) if options else ()))
        request = self._known.get(key)
        if request is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
                self._uneven.clear()
            uneven: list[str] = []
            request = self._known[key] = resource_request(row, options, position, uneven)
            if uneven:
                self._uneven.add(key)
        self.num_uneven += key in self._uneven
        return request


def resource_request(
    row: Mapping[str, str],
    options: Mapping[str, str],
    position: FilePosition,
    uneven: list[str] | None = None,
) -> ResourceRequest:
    """
    Return how a job lies on nodes.

    Parameters
    ----------
    row
        Columns of ``sacct`` by name in lower case.
    options
        Options of the command that submitted it, see :mod:`cpsched.logs.sacct.options`.
    uneven
        Filled with the generic resources of which it cannot hold exactly what was asked for.

    Raises
    ------
    TraceError
        If a value cannot be read, or the log has no column of cores or of nodes.
    NotAJobError
        If the columns of cores say that it had none.
    """
    requested = tres(row.get("reqtres", ""), "ReqTRES", position)
    allocated_tres = tres(row.get("alloctres", ""), "AllocTRES", position)
    nodes = _first(
        allocated_tres.nodes, *_counts(row, ("AllocNodes", "NNodes"), position), requested.nodes
    )
    nodes = _first(nodes, *_counts(row, ("ReqNodes",), position))
    asked_cores = _first(requested.cores, *_counts(row, ("ReqCPUS",), position))
    got_cores = _first(allocated_tres.cores, *_counts(row, ("AllocCPUS", "NCPUS"), position))
    takes_nodes = (got_cores or 0) > _MOST_THREADS * (asked_cores or got_cores or 0)
    exclusive = takes_nodes or options.get("exclusive", "no").lower() in ("", "exclusive")
    cores = asked_cores if exclusive else max(got_cores or 0, asked_cores or 0)
    cores = cores or got_cores
    if not cores:
        if any(name in row for name in _CORES):
            raise NotAJobError(NO_CORES)
        raise position.error(
            "has no ReqTRES, ReqCPUS, AllocTRES, AllocCPUS or NCPUS to tell its cores"
        )
    if nodes is not None and cores < nodes:
        # Asked for nodes, not for cores: what it got tells the cores.
        cores = got_cores or 0
        if cores < nodes:
            raise position.error(f"are fewer than the {nodes} nodes", "cores", cores)
    # All GPUs of a node that a job has for itself are held, asked for or not.
    allocated = {} if exclusive and row.get("reqtres") else _untyped(allocated_tres.generic)
    on_node, totals = _generic(row, options, requested.generic or allocated, nodes, position)
    request = {"core": 1}
    size, each = _memory(
        row, requested.memory, None if exclusive else allocated_tres.memory, position
    )
    if size and each == "core":
        request["mem"] = size
    elif size:
        on_node["mem"] = size if each == "node" else _share(size, nodes, "mem", position)
    elif options.get("mem") == "0":
        exclusive = True
    segment, max_switches, switch_wait = _locality(options, position)
    min_nodes, max_nodes = _bounds(options, nodes, position)
    groups = _grouped(cores, totals, nodes or 1)
    units = groups or cores
    if groups:
        request = {kind: size * (cores // units) for kind, size in request.items()}
        request |= {kind: total // units for kind, total in totals.items()}
        on_node = {kind: size for kind, size in on_node.items() if kind not in totals}
    elif uneven is not None:
        uneven.extend(totals)
    return ResourceRequest(
        units=units,
        request=request,
        per_node=on_node,
        nodes_min=min_nodes,
        nodes_max=max_nodes,
        contiguous="contiguous" in options,
        exclusive=exclusive,
        segment=segment,
        max_switches=max_switches,
        switch_wait=switch_wait,
        constraint=row.get("constraints") or None,
    )


def _bounds(
    options: Mapping[str, str], nodes: int | None, position: FilePosition
) -> tuple[int, int]:
    """Return the fewest and most nodes: a range that was asked for, or what it got."""
    match = _NODES.fullmatch(options.get("nodes", ""))
    if match:
        min_nodes, max_nodes = (
            position.parse(amount, "SubmitLine --nodes", match[part] or "0") for part in (1, 2)
        )
        if 1 <= min_nodes <= (nodes or min_nodes) <= (max_nodes or UNBOUNDED) <= UNBOUNDED:
            return min_nodes, max_nodes or UNBOUNDED
    return nodes or 1, nodes or UNBOUNDED


def _generic(
    row: Mapping[str, str],
    options: Mapping[str, str],
    known: Mapping[str, int],
    nodes: int | None,
    position: FilePosition,
) -> tuple[dict[str, int], dict[str, int]]:
    """
    Return what a job needs of generic resources on each node; ``known`` are totals.

    Returns
    -------
    on_node
        Rounded up.
    uneven
        Totals of those that do not divide among the nodes.
    """
    totals = known or _old_generic(row, nodes, position)
    if totals:
        totals = {**totals, **_types_in_command(totals, options, position)}
        uneven = {kind: total for kind, total in totals.items() if total % (nodes or 1)}
        on_node = {
            kind: _share(total, nodes, kind, position)
            for kind, total in totals.items()
            # Of two types that are not on every node, it is not known which node has which.
            if total % (nodes or 1) == 0 or total == totals.get(kind.partition(":")[0])
        }
        return on_node, uneven
    on_node = _in_command(options, nodes or 1, position)
    totals = _in_command(options, 1, position)
    # What is asked for on a node is the same however many nodes there are.
    uneven = {
        kind: total
        for kind, total in totals.items()
        if total != on_node[kind] and total % (nodes or 1)
    }
    return {kind: count for kind, count in on_node.items() if count}, uneven


def _grouped(cores: int, totals: Mapping[str, int], nodes: int) -> int:
    """
    Return in how many units cores and totals that do not divide among nodes can be grouped.

    Twelve cores and three GPUs on two nodes are three units of four cores and a GPU. 0 where there
    is no such unit for each node, or nothing to group.
    """
    units = gcd(cores, *totals.values())
    return units if totals and units >= nodes else 0


def _in_command(options: Mapping[str, str], nodes: int, position: FilePosition) -> dict[str, int]:
    """Return what the options of a command ask for on each node."""
    on_node = _gres(options.get("gres", ""), "SubmitLine --gres", position)
    for name, times in (("gpus-per-node", 1), ("gpus", nodes)):
        if name in options and "gpu" not in on_node:
            # Of several types each is one of GPUs: --gpus=a100:2,v100:1.
            kinds = ",".join(f"gpu:{item}" for item in options[name].split(","))
            counts = _gres(kinds, f"SubmitLine --{name}", position)
            on_node.update({kind: -(-count // times) for kind, count in counts.items()})
    return on_node


def _types_in_command(
    totals: Mapping[str, int], options: Mapping[str, str], position: FilePosition
) -> dict[str, int]:
    """Return totals of the types that a command names, of kinds of which no type is known."""
    for_tasks = {"gpus": text} if (text := options.get("gpus-per-task")) else {}
    try:
        named = _in_command({**for_tasks, **options}, 1, position)
    except TraceError:
        # The columns say how much it is; Slurm has accepted what was written here.
        return {}
    of_types = {}
    for kind, count in named.items():
        name, colon, _ = kind.partition(":")
        if (
            colon
            and name in totals
            and not any(total_name.startswith(f"{name}:") for total_name in totals)
        ):
            of_types[kind] = -(-totals[name] * count // max(named[name], 1))
    return of_types


def _locality(options: Mapping[str, str], position: FilePosition) -> tuple[int, int, int]:
    """Return segment, most switches and seconds to wait for them."""
    text = options.get("segment")
    segment = position.parse(_count, "SubmitLine --segment", text) if text else 0
    text = options.get("switches")
    if not text:
        return segment, 0, MISSING
    count, _, text = text.partition("@")
    switches = position.parse(_count, "SubmitLine --switches", count)
    wait = position.parse(seconds, "SubmitLine --switches", text) if text else _SWITCH_WAIT
    return segment, switches, MISSING if wait == ENDLESS else wait


def _count(text: str) -> int:
    number = integer(text)
    if not 0 <= number <= UNBOUNDED:
        raise ValueError(f"must be from 0 to {UNBOUNDED}")
    return number


def tres(text: str, column: str, position: FilePosition) -> JobTres:
    """
    Read ``cpu=4,gres/gpu=2,gres/gpu:v100=2,mem=16G,node=1``; what is not modelled is passed over.
    """
    values: dict[str, str] = {}
    for item in text.split(",") if text not in _NOTHING else ():
        name, equals, value = item.partition("=")
        if not equals or name in values:
            raise position.error(
                "must be amounts such as cpu=4,mem=8G, each name once", column, text
            )
        values[name] = value

    def number(name: str, read: Callable[[str], int] = amount) -> int | None:
        if name not in values:
            return None
        return position.parse(read, f"{column} {name}", values[name])

    generic = []
    for name in values:
        if name.startswith("gres/") and name not in _MEASURED:
            kind, _, model = name.removeprefix("gres/").partition(":")
            generic.append((kind, model, number(name) or 0))
    return JobTres(
        cores=number("cpu"),
        nodes=number("node") or None,  # 0: nothing was allocated
        memory=number("mem", memory),
        generic=with_types(generic),
    )


def with_types(items: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """
    Add up (name, type, count), type '' for any, as ``gpu`` in all and ``gpu:v100`` of a type.

    A count of any type beside counts of types is their total.
    """
    totals: Counter[str] = Counter()
    of_types: Counter[str] = Counter()
    typed: Counter[str] = Counter()
    for name, kind, count in items:
        if kind:
            of_types[name.lower()] += count
            typed[f"{name}:{kind}".lower()] += count
        else:
            totals[name.lower()] += count
    return {**of_types, **totals, **typed}


def _untyped(generic: Mapping[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in generic.items() if ":" not in kind}


def _old_generic(
    row: Mapping[str, str], nodes: int | None, position: FilePosition
) -> dict[str, int]:
    """Read the columns Slurm had before 20.11, as totals."""
    for column in ("ReqGRES", "AllocGRES"):
        text = row.get(column.lower(), "")
        if text not in _NOTHING:
            times = nodes or 1 if text.startswith("PER_NODE:") else 1
            counts = _gres(text.removeprefix("PER_NODE:"), column, position)
            counts = counts if column == "ReqGRES" else _untyped(counts)
            return {kind: times * count for kind, count in counts.items()}
    return {}


def _gres(text: str, column: str, position: FilePosition) -> dict[str, int]:
    """Read ``gpu:2``, ``gpu:tesla:2(S:0)``, ``gres/gpu:tesla=2``, added up."""
    items = []
    for item in _SOCKETS.sub("", text).split(",") if text not in (*_NOTHING, "none") else ():
        match = GRES.fullmatch(item.replace("=", ":"))
        if not match:
            raise position.error("must be resources such as gpu:2 or gpu:a100:2", column, text)
        count = position.parse(amount, column, match[3] or "1")
        items.append((match[1], match[2] or "", count))
    return with_types(items)


def _memory(
    row: Mapping[str, str], requested: int | None, got: int | None, position: FilePosition
) -> tuple[int, str]:
    """Return KB, and what for: ``core``, ``node`` or ``job``."""
    text = row.get("reqmem", "")
    if not text:
        return _first(got, requested) or 0, "job"
    each = {"c": "core", "n": "node"}.get(text[-1], "job")
    number = text if each == "job" else text[:-1]
    size = position.parse(memory, "ReqMem", number)
    return (size, each) if size and each != "job" else (got or size, "job")


def _share(total: int, nodes: int | None, kind: str, position: FilePosition) -> int:
    if nodes is None:
        raise position.error(
            "also needs AllocTRES, NNodes or ReqNodes to tell each node's share", kind, total
        )
    return -(-total // nodes)


def _counts(
    row: Mapping[str, str], columns: Iterable[str], position: FilePosition
) -> Iterator[int | None]:
    """Yield the counts in columns, None where empty or 0 (nothing was allocated)."""
    for column in columns:
        text = row.get(column.lower())
        count = text and position.parse(amount, column, text)
        yield count or None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
