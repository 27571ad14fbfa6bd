"""A site's nodes and partitions as a system file that a person can read and change."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.errors import ConfigError
from cpsched.slurm.config.conf import partition_nodes
from cpsched.slurm.dispatch.values import toml_table
from cpsched.util.node_lists import compress, natural
from cpsched.util.slurm_quantities import ENDLESS, INFINITE, amount, clock, whole_minutes
from cpsched.util.types import NO_TIME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cpsched.slurm.config.conf import Conf
    from cpsched.slurm.config.lines import ConfigLine, Setting

#: What slurm.conf means by no limit of time, in seconds: backfill plans with a year.
_YEAR = NO_TIME_LIMIT
#: States in slurm.conf of nodes that are not there yet.
_FUTURE = "FUTURE"
#: ``gpu``, ``gpu:4``, ``gpu:a100:4(S:0-1)``, ``gpu:1g.5gb:7``, ``bandwidth:lustre:no_consume:4G``.
_GRES = re.compile(
    r"([A-Za-z][\w.+/-]*)(?::((?![0-9]+[KMGTP]?(?:I?B)?(?:[:(]|$))[\w.+/-]+))?(:no_consume)?"
    r"(?::([0-9]+[KMGTP]?(?:I?B)?))?(?:\([^)]*\))?",
    re.IGNORECASE,
)
#: Words of SelectTypeParameters that say what jobs use up.
_COUNTED = (
    *("CR_CPU", "CR_CPU_MEMORY", "CR_CORE", "CR_CORE_MEMORY", "CR_SOCKET", "CR_SOCKET_MEMORY"),
    "CR_MEMORY",
)
#: A file or files in a row.
_BETWEEN = re.compile(r",(?![^(\[]*[)\]])")


@dataclass(frozen=True, slots=True)
class NodeGres:
    """
    Some of a node's resources.

    Attributes
    ----------
    name, type
        ``gpu`` and ``a100``; ``type`` is '' if none is given.
    count
        How many.
    consumed
        Whether jobs use them up (not ``no_consume``).
    """

    name: str
    type: str
    count: int
    consumed: bool = True


@dataclass(frozen=True, slots=True)
class SiteNode:
    """
    A node.

    Attributes
    ----------
    cpus
        CPUs for jobs, which are threads where ``threads`` is above 1 and slurm.conf counts them.
    mem
        MB for jobs.
    gres
        What it has of other resources.
    """

    name: str
    cpus: int
    threads: int
    mem: int
    gres: tuple[NodeGres, ...]
    features: tuple[str, ...]
    weight: int
    state: str

    def kind(self) -> tuple[object, ...]:
        """Return the properties that nodes of one entry of a system file share."""
        amounts = tuple(sorted(self.amounts().items()))
        return self.cpus, self.mem, amounts, self.all_features(), self.weight

    def amounts(self) -> dict[str, int]:
        """Return how much there is of what jobs use up: ``gpu`` in all, ``gpu:a100`` of a type."""
        total: Counter[str] = Counter()
        for gres in self.gres:
            if gres.consumed:
                total[gres.name.lower()] += gres.count
                if gres.type:
                    total[f"{gres.name}:{gres.type}".lower()] += gres.count
        return dict(total)

    def all_features(self) -> tuple[str, ...]:
        """Return its features, with the types of its resources."""
        types = (gres.type for gres in self.gres if gres.type)
        return tuple(dict.fromkeys((*self.features, *types)))


@dataclass(frozen=True, slots=True)
class SiteNodes:
    """
    The nodes, in Slurm's order, and the partitions with their nodes.

    Attributes
    ----------
    partitions
        Names of the nodes of each, none for a partition without nodes.
    """

    conf: Conf
    nodes: tuple[SiteNode, ...]
    partitions: Mapping[str, frozenset[str]]

    @property
    def has_memory(self) -> bool:
        """Whether any node says its memory: one that does not has 1 MB."""
        return any(node.mem > 1 for node in self.nodes)

    def amounts(self) -> dict[str, None]:
        """Return the generic resources that nodes have any of, ``gpu`` and ``gpu:a100``."""
        amounts = (item for node in self.nodes for item in node.amounts().items())
        return {kind: None for kind, amount in amounts if amount}

    def types(self) -> dict[str, tuple[str, ...]]:
        """Return the types of each generic resource that jobs use up, '' for none."""
        by_name: dict[str, dict[str, None]] = {}
        for gres in (gres for node in self.nodes for gres in node.gres if gres.consumed):
            by_name.setdefault(gres.name.lower(), {})[gres.type.lower()] = None
        return {name: tuple(types) for name, types in by_name.items()}


def read_nodes(conf: Conf) -> SiteNodes:
    """Return the nodes and partitions that a configuration describes."""
    nodes: dict[str, SiteNode] = {}
    future: set[str] = set()
    for entry in conf.nodes:
        counts = _cpus(entry)
        for name in entry.hosts():
            if name in nodes:
                raise entry.name.error(f"names {name!r}, which another line defines, too")
            nodes[name] = _node(entry, name, counts)
            if nodes[name].state.startswith(_FUTURE):
                future.add(name)
    if len(nodes) == len(future):
        raise ConfigError(
            "the file has no nodes. Give the output of scontrol show node if they register alone.",
            where=conf.where,
        )
    features = {name: frozenset(node.features) for name, node in nodes.items()}
    partitions = {
        name: frozenset(listed) - future for name, listed in partition_nodes(conf, features).items()
    }
    there = sorted((name for name in nodes if name not in future), key=natural)
    return SiteNodes(conf, tuple(nodes[name] for name in there), partitions)


class _Counts(NamedTuple):
    """Of a node, as Slurm counts them: cores in all, threads a core, CPUs."""

    cores: int
    threads: int
    cpus: int


def _cpus(entry: ConfigLine) -> _Counts:
    """
    Return how many CPUs the nodes of a line have.

    Of what is missing Slurm makes the rest; CPUs that contradict the rest it sets to the product.
    """
    boards = entry.number("Boards", 1)
    threads, each = entry.number("ThreadsPerCore", 1), entry.number("CoresPerSocket", 1)
    given = entry.number("CPUs", entry.number("Procs", 0))
    if entry.text("SocketsPerBoard"):
        sockets = entry.number("SocketsPerBoard", 1) * boards
    elif entry.text("Sockets") or not given or given % max(each * threads, 1):
        sockets = entry.number("Sockets", boards)
    else:
        sockets = given // max(each * threads, 1)
    cores = sockets * each
    fits = given in (sockets, cores, cores * threads)
    return _Counts(cores, threads, given if given and fits else cores * threads)


def _node(entry: ConfigLine, name: str, counts: _Counts) -> SiteNode:
    cpus = counts.cpus
    # With CPUs=cores on a machine of two threads a core, Slurm counts cores.
    each = 1 if cpus <= counts.cores else counts.threads
    special = entry.text("CpuSpecList")
    specialized = len(special.split(",")) if special else entry.number("CoreSpecCount", 0) * each
    usable = entry.number("CpuEffective", cpus - specialized)
    mem = entry.number("RealMemory", 1) - entry.number("MemSpecLimit", 0)
    if usable < 1:
        raise entry.name.error(
            f"has {cpus} CPUs, and CoreSpecCount or CpuSpecList leaves none for jobs"
        )
    feature = entry.text("Features") or entry.text("Feature")
    return SiteNode(
        name=name,
        cpus=usable,
        threads=each,
        mem=max(mem, 1),
        gres=read_gres(entry.values["gres"]) if entry.text("Gres") else (),
        features=tuple(dict.fromkeys(part for part in re.split(r"[,&]", feature) if part)),
        weight=entry.number("Weight", 1),
        state=entry.text("State").upper(),
    )


def read_gres(value: Setting) -> tuple[NodeGres, ...]:
    """Return the resources that ``Gres=`` of a node lists."""
    resources = []
    for item in _BETWEEN.split(value.text):
        match = _GRES.fullmatch(item.strip())
        if match is None:
            raise value.error(f"has {item.strip()!r}, which is not like gpu:4 or gpu:a100:4")
        name, kind, free, count = match.groups()
        if kind and kind.lower() == "no_consume":
            kind, free = None, kind
        resources.append(NodeGres(name, kind or "", amount(count or "1"), consumed=not free))
    return tuple(resources)


def system_file(cluster: SiteNodes, name: str, *, source: str, topology: str | None = None) -> str:
    """Return the text of a system file."""
    # If all are of one type, to name it is to name the kind.
    several_types = {name for name, types in cluster.types().items() if len(types) > 1}
    generic = [
        kind
        for kind in cluster.amounts()
        if ":" not in kind or kind.partition(":")[0] in several_types
    ]
    kinds = [*(("mem",) if cluster.has_memory else ()), *generic]
    title = f"# The system of {name}, made by cpsched slurm import. Correct it where necessary."
    about = {"name": name, "source": source, "resources": ["core", *kinds]}
    lines = list(toml_table(title, about))
    parts = cluster.conf.partitions
    if any(limit_of(entry, "MaxTime") is limit_of(entry, "DefaultTime") is None for entry in parts):
        lines.append(f'default_time = "{clock(_YEAR)}"  # no limit: Slurm plans with a year')
    threads = " or ".join(map(str, sorted({node.threads for node in cluster.nodes})))
    thread = f": a hardware thread, of which a real core has {threads}" if threads != "1" else ""
    lines += ["", f"# A core is a CPU of Slurm's{thread}."]
    groups = _groups(cluster)
    for group, run in groupby(cluster.nodes, key=lambda node: groups[node.name]):
        lines += ["", *_entry(group, list(run), kinds)]
    for entry in cluster.conf.partitions:
        for partition in entry.name.text.split(","):
            lines += ["", *_queue(cluster, entry, partition, groups)]
    if cluster.has_memory and not consumes_memory(cluster.conf):
        lines += ["", "[log]", 'memory = "ignored"  # SelectTypeParameters does not count memory']
    if topology is not None:
        lines += ["", *toml_table("[topology]", {"slurm": topology})]
    return "\n".join(lines) + "\n"


def _groups(cluster: SiteNodes) -> dict[str, str]:
    """
    Return the group of every node: alike, and in the same partitions.

    They are called by what their names begin with, in Slurm's order: ``gpu``, ``cn-1``, ``cn-2``.
    """
    members: dict[object, list[str]] = {}
    for node in cluster.nodes:
        within = frozenset(name for name, nodes in cluster.partitions.items() if node.name in nodes)
        members.setdefault((node.kind(), within), []).append(node.name)
    stems = [re.split(r"[0-9]", names[0])[0].rstrip("-_.") or "nodes" for names in members.values()]
    several = Counter(stems)
    used: Counter[str] = Counter()
    groups: dict[str, str] = {}
    for stem, names in zip(stems, members.values(), strict=True):
        used[stem] += 1
        title = stem if several[stem] == 1 else f"{stem}-{used[stem]}"
        groups |= dict.fromkeys(names, title)
    return groups


def _entry(group: str, nodes: Sequence[SiteNode], kinds: Iterable[str]) -> Iterator[str]:
    node = nodes[0]
    amounts: dict[str, Any] = {"mem": f"{node.mem} MB", **node.amounts()}
    return toml_table(
        "[[nodes]]",
        {
            "group": group,
            "names": compress(node.name for node in nodes),
            "core": node.cpus,
            **{kind: amounts[kind] for kind in kinds if amounts.get(kind)},
            "features": node.all_features(),
            "weight": node.weight,
        },
    )


def _queue(
    cluster: SiteNodes, entry: ConfigLine, name: str, groups: Mapping[str, str]
) -> Iterator[str]:
    """Return the lines of a partition."""
    nodes = cluster.partitions[name]
    own = list(dict.fromkeys(group for node, group in groups.items() if node in nodes))
    if not own:
        none = f"# Partition {name} has no nodes: jobs in it are rejected as of an unknown queue."
        return iter([none])
    longest, usual = limit_of(entry, "MaxTime"), limit_of(entry, "DefaultTime")
    mode = preempt_of(cluster.conf, entry)
    alone = is_linear(cluster.conf)
    least, largest = entry.number("MinNodes", 1), entry.number("MaxNodes", INFINITE)
    largest = 0 if largest == INFINITE else largest
    if 0 < largest < least:
        raise entry.values["maxnodes"].error(f"is less than MinNodes ({least})")
    return toml_table(
        "[[queues]]",
        {
            "name": name,
            "default": entry.flag("Default"),
            "max_time": None if longest is None else clock_of(longest),
            "default_time": None if usual is None else clock_of(min(usual, longest or usual)),
            "groups": own if len(own) < len(set(groups.values())) else None,
            "priority_tier": entry.number("PriorityTier", entry.number("Priority", 1)),
            "preempt": None if mode == "off" else mode,
            "grace": (mode != "off" and entry.number("GraceTime", 0)) or None,
            "exclusive": alone or oversubscribe(entry) == "EXCLUSIVE",
            "min_nodes": least if least > 1 else None,
            "max_nodes": largest or None,
        },
    )


def clock_of(seconds: int) -> str:
    """Return seconds as a system file writes them."""
    shown = clock(seconds)
    return shown if "-" in shown else shown.removeprefix("0")


def limit_of(entry: ConfigLine, key: str) -> int | None:
    """Return a limit of time in seconds, None for none."""
    if entry.text(key, "NONE").upper() == "NONE":
        return None
    seconds = entry.values[key.lower()].read(whole_minutes)
    return None if seconds == ENDLESS else seconds or None


def oversubscribe(entry: ConfigLine) -> str:
    """Return ``OverSubscribe`` (formerly ``Shared``) without its count."""
    text = entry.text("OverSubscribe") or entry.text("Shared", "NO")
    return text.upper().split(":")[0]


def is_linear(conf: Conf) -> bool:
    """Return whether jobs get whole nodes (``SelectType=select/linear``)."""
    return conf.text("SelectType").lower() == "select/linear"


def consumes_memory(conf: Conf) -> bool:
    """
    Tell whether jobs use up memory (``CR_Core_Memory`` and the like).

    Without a word on what is counted it is cores and memory, and whole nodes under select/linear.
    """
    words = [word.upper() for word in conf.words("SelectTypeParameters")]
    if not any(word in _COUNTED for word in words):
        return not is_linear(conf)
    return any(word.endswith("_MEMORY") for word in words)


def preempt_of(conf: Conf, entry: ConfigLine) -> str:
    """Return the preemption of a partition's running jobs where partitions preempt each other."""
    if conf.text("PreemptType", "preempt/none").lower() != "preempt/partition_prio":
        return "off"
    text = (entry.text("PreemptMode") or conf.text("PreemptMode", "OFF")).upper()
    known = {"REQUEUE": "requeue", "CANCEL": "kill", "SUSPEND": "suspend"}
    return next((mode for word, mode in known.items() if word in text.split(",")), "off")
